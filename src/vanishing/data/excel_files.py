"""Sheets of Excel files, read as columns."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import import_extra
from vanishing.data.csv_files import Note, TableError, describe_header, guess_header, readable
from vanishing.data.frames import ColumnFile, read_cells
from vanishing.data.sheet_layout import Grid, Region, find_regions, split_area, write_cell
from vanishing.data.written_numbers import MISSING, is_number, read_texts

#: What Excel shows where a formula fails.
FAILED = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"}
)

Row = Sequence[Any]


def open_excel(
    content: bytes, where: str, sheet: str | None, header: bool | None, decimal: str | None, *,
    transposed: bool,
) -> ColumnFile:  # fmt: skip
    """Open a sheet: the one of a name or number, or the first visible one with a table of numbers.

    Whether the first row holds names is guessed if ``header`` is None. Its tables are looked for
    then, or if one is named or transposed.
    """
    area = split_area(sheet or "")[1]
    always = bool(area) or transposed
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
    grids = {title: grid for title, grid in grids.items() if any(grid)}
    if not grids:
        raise TableError(f"{where} holds no table: its sheets are empty")
    regions = {
        title: find_regions(grid, always=always) if always or header is None else []
        for title, grid in grids.items()
    }
    plain = {title: _find_plain(grid, header) for title, grid in grids.items()}
    with_numbers = (each for each in grids if regions[each] or _holds_numbers(plain[each][0]))
    title = next(with_numbers, next(iter(grids)))
    region, notes = plain[title]
    if not region.body:
        raise TableError(f"{where} has no rows, only a header; at least one is required")
    found = regions[title]
    if always or [(each.left_out, len(each.header)) for each in found] not in ([], [((), 1)]):
        opened = open_region(found, area, where, f"{title}!", decimal, transposed=transposed)
    else:
        opened = _open(region, where, decimal)
        opened.layout_notes += notes
        opened.is_turnable = any(each.times for each in found)
    others = [repr(other) for other in grids if other != title]
    if sheet is None:
        others += [f"hidden: {other!r}" for other in hidden if other not in chosen]
    if others:
        why = "" if title == next(iter(grids)) else ", the first with a table of numbers"
        note = Note(f"sheet {title!r} is read{why}", "sheet", ", ".join(others))
        opened.layout_notes.insert(0, note)
    return opened


def open_region(
    regions: Sequence[Region], area: str, where: str, title: str, decimal: str | None, *,
    transposed: bool,
) -> ColumnFile:  # fmt: skip
    """Open the table in an area of a sheet, or its largest."""
    tables = {each.area: each for each in regions}
    if not tables or area not in ("", *tables):
        has = f"has the tables {', '.join(tables)}" if tables else "has no names above numbers"
        raise TableError(f"{where} {has}; expected the cells of a table on a sheet, got {area!r}")
    region = tables.get(area) or max(regions, key=lambda each: len(each.body) * len(each.columns))
    opened = _open(region, where, decimal, transposed=transposed)
    others = ", ".join(repr(title + each) for each in tables if not area and each != region.area)
    said = region.describe(transposed=transposed)
    opened.layout_notes.append(Note(said, "sheet" if others else "", others))
    opened.places = region.read(transposed=transposed)[2]
    opened.is_turnable = bool(region.times) and not transposed
    return opened


def _open(
    region: Region, where: str, decimal: str | None, *, transposed: bool = False
) -> ColumnFile:
    names, cells, _ = region.read(transposed=transposed)
    return ColumnFile(
        where, names if region.header else None, list(map(make_column, cells)),
        index=(0,) if region.header and not names[0] else (),
        first_line=None if transposed else region.first_line, decimal=decimal,
    )  # fmt: skip


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
        regions = find_regions(grid)
        if len(regions) > 1:
            found += [f"{each.title}!{region.area}" for region in regions]
        else:
            is_table = regions or (any(grid) and _holds_numbers(_find_plain(grid, None)[0]))
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


def _find_plain(grid: Grid, header: bool | None) -> tuple[Region, list[Note]]:
    """Return the table of a sheet with nothing else than titles above it, and notes."""
    lines = [i for i, row in enumerate(grid) if any(cell is not None for cell in row)]
    sizes = [sum(cell is not None for cell in grid[i]) for i in lines]
    # Rows above the first that is half as full as the fullest one are titles.
    start = next(k for k, size in enumerate(sizes) if 2 * size >= max(sizes))
    top, *rest = lines[start:]
    used = [j for j in range(len(grid[top])) if any(grid[i][j] is not None for i in (top, *rest))]
    first = [write_cell(grid[top][j]) for j in used]
    notes = []
    if header is None:
        header, is_doubtful = guess_header(
            first, [[write_cell(grid[i][j]) for j in used] for i in rest]
        )
        notes = describe_header(first, has_names=header, is_doubtful=is_doubtful)
    names, body = ([top], rest) if header else ([], [top, *rest])
    return Region(grid, names, body, used, first), notes


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


def _holds_numbers(region: Region) -> bool:
    """Say whether a column has numbers, written as computers or as people do."""
    columns = [read_cells(make_column(cells)) for cells in region.read()[1]]
    return any(
        read_texts(cells.tolist()) is not None for cells in columns if cells.dtype == object
    ) or any(np.isfinite(cells).any() for cells in columns if cells.dtype != object)


def _is_missing(cell: Any) -> bool:
    return isinstance(cell, str) and (cell.strip() in MISSING or cell in FAILED)


def make_column(cells: list[Any]) -> npt.NDArray[Any]:
    """Return cells as numbers, if all of them are, or else as texts; None where one is blank."""
    said = [cell for cell in cells if cell is not None]
    if said and all(isinstance(cell, bool) for cell in said):
        return np.array(cells, dtype=object)
    are_texts = bool(said) and all(isinstance(cell, str) for cell in said)
    if not are_texts and all(
        isinstance(cell, int | float) or (isinstance(cell, str) and is_number(cell, "."))
        for cell in said
    ):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    written = [None if cell is None else write_cell(cell) for cell in cells]
    for i, cell in enumerate(cells):
        if isinstance(cell, float) and re.fullmatch(r"-?\d{1,3}\.\d{3}", str(cell)):
            written[i] = f"{cell}0"  # with four decimals, the point is not of thousands
    return np.array(written, dtype=object)
