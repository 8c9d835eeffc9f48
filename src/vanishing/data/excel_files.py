"""Sheets of Excel files, read as columns."""

import io
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from vanishing.arrays.namespace import import_extra
from vanishing.data.csv_files import TableError, guess_header, import_arrow
from vanishing.data.written_numbers import MISSING, is_number

#: What Excel shows where a formula fails.
FAILED = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}
)
#: A row of this share of the cells of the longest one is part of the table; what is above it is a
#: title.
PART_OF_TABLE = 0.5

Row = Sequence[Any]


class Sheet(NamedTuple):
    """A table, with the names of its columns if it has any.

    ``others`` are the other sheets of the file that hold data. ``first_line`` is the row of the
    sheet that is the first one below the names; None where empty rows were left out. ``first`` are
    the cells of the first row, and ``is_doubtful`` says whether they may as well be names, or the
    names a row.
    """

    title: str
    names: list[str] | None
    columns: list[Any]
    others: list[str]
    first_line: int | None
    first: list[str]
    is_doubtful: bool


def read_sheet(content: bytes, where: str, *, sheet: str | None, header: bool | None) -> Sheet:
    """Read a sheet: the one that is named, or the first that holds data.

    Parameters
    ----------
    content : bytes
        Of an Excel file (.xlsx).
    where : str
        What the file is called in messages.
    sheet : str or None
        Name of a sheet, or its number from 1.
    header : bool or None
        Whether the first row holds names; guessed for None.
    """
    openpyxl = import_extra("openpyxl", extra="excel", purpose="reading Excel files")
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises whatever its parsers do
        raise TableError(f"{where} is not a readable Excel file: {error}") from error
    for each in book.worksheets:
        each.reset_dimensions()  # a sheet may claim all rows and columns that there can be
    titles = [each.title for each in book.worksheets]
    chosen = book.worksheets
    if sheet is not None:
        chosen = [each for each in book.worksheets if each.title == sheet]
        if not chosen and sheet.isdecimal() and 1 <= int(sheet) <= len(titles):
            chosen = [book.worksheets[int(sheet) - 1]]
        if not chosen:
            listed = ", ".join(map(repr, titles))
            raise TableError(f"{where} has no sheet {sheet!r}; it has {listed}")
    filled = [(each.title, found) for each in chosen if (found := _find_table(each))[0]]
    if not filled:
        raise TableError(f"{where} holds no table: its sheets are empty")
    title, (rows, places) = filled[0]
    first = [_write(cell) for cell in rows[0]]
    is_doubtful = False
    if header is None:
        below = [[_write(cell) for cell in row] for row in rows[1:]]
        header, is_doubtful = guess_header(first, below)
    names = first if header else None
    rows = rows[1:] if header else rows
    if not rows:
        raise TableError(f"{where} has no rows, only a header; at least one is required")
    columns = [_make_column([row[j] for row in rows]) for j in range(len(rows[0]))]
    places = places[int(header) :]
    follow = places == list(range(places[0], places[0] + len(places)))
    others = [name for name, _ in filled[1:]]
    first_line = places[0] if follow else None
    return Sheet(title, names, columns, others, first_line, first, is_doubtful)


def _find_table(sheet: Any) -> tuple[list[Row], list[int]]:
    """Return the rows of the table on a sheet, without empty rows and titles, and their numbers."""
    every = [
        [None if cell is None or _is_missing(cell) else cell for cell in row]
        for row in sheet.iter_rows(values_only=True)
    ]
    places = [i for i, row in enumerate(every, 1) if any(cell is not None for cell in row)]
    rows = [every[i - 1] for i in places]
    if not rows:
        return [], []
    sizes = [sum(cell is not None for cell in row) for row in rows]
    start = next(i for i, size in enumerate(sizes) if size >= PART_OF_TABLE * max(sizes))
    rows, places = rows[start:], places[start:]
    width = max(map(len, rows))
    rows = [[*row, *[None] * (width - len(row))] for row in rows]
    used = [j for j in range(width) if any(row[j] is not None for row in rows)]
    return [[row[j] for j in used] for row in rows], places


def _is_missing(cell: Any) -> bool:
    return isinstance(cell, str) and (cell.strip() in MISSING or cell in FAILED)


def _make_column(cells: list[Any]) -> Any:
    """Return cells as numbers, if all of them are, or else as texts."""
    arrow = import_arrow()
    said = [cell for cell in cells if cell is not None]
    if said and all(isinstance(cell, bool) for cell in said):
        return arrow.array(cells, arrow.bool_())
    are_texts = bool(said) and all(isinstance(cell, str) for cell in said)
    if not are_texts and all(
        isinstance(cell, int | float) or (isinstance(cell, str) and is_number(cell, "."))
        for cell in said
    ):
        return arrow.array([None if cell is None else float(cell) for cell in cells])
    written = [None if cell is None else _write(cell) for cell in cells]
    for i, cell in enumerate(cells):
        if isinstance(cell, float) and re.fullmatch(r"-?\d{1,3}\.\d{3}", str(cell)):
            written[i] = f"{cell}0"  # with four decimals, the point is not of thousands
    return arrow.array(written, arrow.string())


def _write(cell: Any) -> str:
    """Write a cell as people do: a date without a time that it does not have, 3 and not 3.0."""
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == datetime.min.time():
        cell = cell.date()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip()
