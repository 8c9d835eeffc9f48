"""Sheets of Excel files, read as columns."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from vanishing.arrays.namespace import import_extra
from vanishing.data.csv_files import (
    Note,
    TableError,
    describe_header,
    guess_header,
    import_arrow,
    is_numeric,
    readable,
)
from vanishing.data.sheet_layout import Grid, Region, find_regions, split_area, write_cell
from vanishing.data.written_numbers import MISSING, is_number, read_texts

#: What Excel shows where a formula fails.
FAILED = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}
)

Row = Sequence[Any]


class Sheet(NamedTuple):
    """A table, with the names of its columns if it has any.

    ``first_line`` is the row of the sheet that is the first one below the names; None where empty
    rows were left out. ``notes`` say which sheet was read and what was guessed of its first row.
    ``regions`` are the tables of the sheet, unless it clearly is nothing but one.
    """

    names: list[str] | None
    columns: list[Any]
    first_line: int | None
    title: str
    notes: list[Note]
    regions: list[Region]


def read_sheet(
    content: bytes, where: str, *, sheet: str | None, header: bool | None, always: bool
) -> Sheet:
    """Read a sheet: the one of a name or number, or the first visible one with a table of numbers.

    Whether the first row holds names is guessed if ``header`` is None. Its tables are looked for
    then, or if ``always``.
    """
    books = [open_book(content, where, data_only=True)]
    if has_formulas(content):
        books.append(open_book(content, where, data_only=False))
    titles = [each.title for each in books[0].worksheets]
    hidden = [each.title for each in books[0].worksheets if each.sheet_state != "visible"]
    if sheet is None:
        chosen = [title for title in titles if title not in hidden] or titles
    else:
        chosen = [choose_sheet(titles, sheet, where)]
    grids = {title: _read_cells([book[title] for book in books]) for title in chosen}
    found = {title: _find_table(grid) for title, grid in grids.items()}
    regions = {
        title: find_regions(grid, always=always) if always or header is None else []
        for title, grid in grids.items()
    }
    filled = [title for title, (rows, _) in found.items() if rows]
    if not filled:
        raise TableError(f"{where} holds no table: its sheets are empty")
    split = {title: _split_columns(*found[title], header) for title in filled}
    title = next(
        (title for title in filled if regions[title] or _holds_numbers(split[title][1])), filled[0]
    )
    names, columns, places, notes = split[title]
    if not places:
        raise TableError(f"{where} has no rows, only a header; at least one is required")
    others = [repr(other) for other in filled if other != title]
    if sheet is None:
        others += [f"hidden: {other!r}" for other in hidden if other not in chosen]
    if others:
        why = "" if title == filled[0] else ", the first with a table of numbers"
        notes = [Note(f"sheet {title!r} is read{why}", "sheet", ", ".join(others)), *notes]
    follow = places == list(range(places[0], places[0] + len(places)))
    return Sheet(names, columns, places[0] if follow else None, title, notes, regions[title])


def choose_sheet(titles: Sequence[str], sheet: str, where: str) -> str:
    """Return the title of a sheet that is given by its title or number, maybe with cells on it."""
    sheet = sheet if sheet in titles else split_area(sheet)[0]
    if sheet in titles:
        return sheet
    if sheet.isdecimal() and 1 <= int(sheet) <= len(titles):
        return titles[int(sheet) - 1]
    raise TableError(f"{where} has no sheet {sheet!r}; it has {', '.join(map(repr, titles))}")


def list_sheets(content: bytes, where: str) -> tuple[list[str], list[str]]:
    """Return the names of visible sheets and tables on them, ``Budget!B4:F30``, and of others."""
    book = open_book(content, where, data_only=True)
    found, others = list[str](), list[str]()
    for each in book.worksheets:
        grid = _read_cells([each]) if each.sheet_state == "visible" else []
        regions, (rows, places) = find_regions(grid), _find_table(grid)
        if len(regions) > 1:
            found += [f"{each.title}!{region.area}" for region in regions]
        else:
            is_table = regions or (rows and _holds_numbers(_split_columns(rows, places, None)[1]))
            (found if is_table else others).append(each.title)
    return found, others


def open_book(content: bytes, where: str, *, data_only: bool) -> Any:
    """Open a workbook with the values of its formulas, or with the formulas themselves."""
    openpyxl = import_extra("openpyxl", extra="excel", purpose="reading Excel files")
    with readable(where, "Excel"):
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=data_only)
    for each in book.worksheets:
        each.reset_dimensions()  # a sheet may claim all rows and columns that there can be
    return book


def has_formulas(content: bytes) -> bool:
    """Say whether some sheet has formulas; most tables need not be read twice."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(re.search(rb"<(\w+:)?f[ >]", archive.read(name)) for name in sheets)


def _read_cells(sheets: Sequence[Any]) -> Grid:
    """Return the cells of a sheet.

    ``sheets`` is the sheet with values, and the same with formulas if there are any.
    """
    cells = _take_formulas(sheets) if len(sheets) > 1 else sheets[0].iter_rows(values_only=True)
    every = [[None if cell is None or _is_missing(cell) else cell for cell in row] for row in cells]
    width = max(map(len, every), default=0)
    return [row + [None] * (width - len(row)) if set(row) - {None} else [] for row in every]


def _find_table(every: Grid) -> tuple[list[Row], list[int]]:
    """Return the rows of the table on a sheet, without empty rows and titles, and their numbers."""
    places = [i for i, row in enumerate(every, 1) if any(cell is not None for cell in row)]
    rows = [every[i - 1] for i in places]
    if not rows:
        return [], []
    sizes = [sum(cell is not None for cell in row) for row in rows]
    # Rows above the first that is half as full as the fullest one are titles.
    start = next(i for i, size in enumerate(sizes) if 2 * size >= max(sizes))
    rows, places = rows[start:], places[start:]
    used = [j for j in range(len(rows[0])) if any(row[j] is not None for row in rows)]
    return [[row[j] for j in used] for row in rows], places


def _take_formulas(sheets: Sequence[Any]) -> Iterator[Row]:
    """Yield rows of cells: the value of a formula, or its text if no program has computed it."""
    for values, formulas in zip(*(sheet.iter_rows() for sheet in sheets), strict=True):
        # What a formula leaves empty has the type of a text.
        yield [
            getattr(formula.value, "text", formula.value)
            if cell.value is None and cell.data_type == "n" and formula.data_type == "f"
            else cell.value
            for cell, formula in zip(values, formulas, strict=True)
        ]


def _split_columns(
    rows: list[Row], places: list[int], header: bool | None
) -> tuple[list[str] | None, list[Any], list[int], list[Note]]:
    """Return the names of the columns, the columns, the numbers of their rows, and notes."""
    first = [write_cell(cell) for cell in rows[0]]
    notes = []
    if header is None:
        below = [[write_cell(cell) for cell in row] for row in rows[1:]]
        header, is_doubtful = guess_header(first, below)
        notes = describe_header(first, has_names=header, is_doubtful=is_doubtful)
    columns = [make_column([row[j] for row in rows[int(header) :]]) for j in range(len(rows[0]))]
    return first if header else None, columns, places[int(header) :], notes


def _holds_numbers(columns: Sequence[Any]) -> bool:
    return any(
        is_numeric(column.type)
        or ("string" in str(column.type) and read_texts(column.to_pylist()) is not None)
        for column in columns
        if column.null_count < len(column)
    )


def _is_missing(cell: Any) -> bool:
    return isinstance(cell, str) and (cell.strip() in MISSING or cell in FAILED)


def make_column(cells: list[Any]) -> Any:
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
    written = [None if cell is None else write_cell(cell) for cell in cells]
    for i, cell in enumerate(cells):
        if isinstance(cell, float) and re.fullmatch(r"-?\d{1,3}\.\d{3}", str(cell)):
            written[i] = f"{cell}0"  # with four decimals, the point is not of thousands
    return arrow.array(written, arrow.string())
