"""Where the tables of a sheet are, and which of its rows are titles, names and notes.

A sheet is cut at blank rows and columns, again and again; what continues the table above is joined
to it. Where the rows of a table begin and end is decided in bits: each of its columns has cells of
one kind, so that kinds take few bits by columns; above and below, all kinds are equally likely.
"""

import re
from calendar import month_abbr, month_name
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import IntEnum
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, lazy
from vanishing.data.csv_files import guess_header
from vanishing.data.written_numbers import guess_format, is_number

#: The cells of a sheet, None where one is blank. Rows are equally long, or empty.
Grid = Sequence[Sequence[Any]]


class Kind(IntEnum):
    """What a cell holds; dates are texts."""

    BLANK = 0
    TEXT = 1
    NUMBER = 2


BLANK, TEXT, NUMBER = Kind


def write_address(row: int, column: int) -> str:
    """Return what a cell is called, such as ``D17``."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def split_area(text: str) -> tuple[str, str]:
    """Split ``Budget!B4:F30`` into the sheet and the cells; either may be empty."""
    sheet, _, area = text.rpartition("!")
    return (sheet, area) if re.fullmatch("[A-Z]+[0-9]+:[A-Z]+[0-9]+", area) else (text, "")


@dataclass(frozen=True)
class CellPlaces:
    """Where the rows and the named columns of a table stand on its sheet, counted from 0."""

    rows: list[int]
    columns: Mapping[str, int]
    is_transposed: bool = False

    def address(self, row: int, column: str) -> str:
        """Return what the cell of a row, from 1, and a column is called; empty for others."""
        if column not in self.columns:
            return ""
        places = self.rows[row - 1] + 1, self.columns[column] + 1
        return write_address(*(reversed(places) if self.is_transposed else places))


def write_cell(cell: Any) -> str:
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


def _find_kind(cell: Any) -> Kind:
    if cell is None:
        return BLANK
    if not isinstance(cell, str):
        return NUMBER if isinstance(cell, int | float) else TEXT
    if not any(map(str.isalnum, cell)):  # a dash stands for zero
        return NUMBER
    if not any(map(str.isdigit, cell)):
        return TEXT
    return NUMBER if is_number(cell, ".") or not np.isnan(_read_number(cell)) else TEXT


def _read_number(cell: Any) -> float:
    """Return a number that may be written as people do; NaN for what is none, or has a unit."""
    form = guess_format([str(cell)], ".")
    value = None if form is None or form.unit.isalpha() else form.read(str(cell))
    return float("nan") if value is None else value


_MONTHS = frozenset(each.lower() for each in (*month_name, *month_abbr, "Sept") if each)
_COUNTED = frozenset({"q", "quarter", "h", "half", "fy", "cy", "year", "month", "week", "period"})


def _is_period(label: str) -> bool:
    """Say whether a label is a time: a year, a month, a quarter, a date, or "week 3"."""
    parts = re.findall(r"[^\W\d_]+|[0-9]+", label.lower())
    words = [part for part in parts if not part.isdecimal()]
    if not all(word in _MONTHS or word in _COUNTED for word in words):
        return False
    is_year = any(re.fullmatch("(19|20)[0-9]{2}", part) for part in parts)
    return is_year or not _MONTHS.isdisjoint(words) or 0 < len(words) < len(parts)


# --- One table on a sheet -------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """A table on a sheet, counted from 0; ``left_out`` are cells around it, such as titles."""

    grid: Grid = field(repr=False)
    header: list[int]
    body: list[int]
    columns: list[int]
    names: list[str]
    left_out: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """What the cells of the table are called, such as ``B4:F30``."""
        first = write_address(self.header[0] + 1, self.columns[0] + 1)
        return f"{first}:{write_address(self.body[-1] + 1, self.columns[-1] + 1)}"

    @property
    def first_line(self) -> int | None:
        """The row of the sheet below the names, from 1, if the others follow."""
        top, bottom = self.body[0], self.body[-1]
        return top + 1 if bottom - top + 1 == len(self.body) else None

    @lazy
    def times(self) -> list[int]:
        """The columns of times, such as years, and their sums, if the rows may be variables."""
        are_times = [*map(_is_period, self.names), False]
        start = are_times.index(True) if True in are_times else 0
        end = are_times.index(False, start)
        labels = [write_cell(self.grid[i][self.columns[0]]) for i in self.body]
        are_names = not any(_is_period(each) or _find_kind(each) == NUMBER for each in labels)
        if not (start and are_names and end > start + 1):
            return []
        cells = [[self.grid[i][j] for j in self.columns] for i in self.body]
        values = np.array([list(map(_read_number, row)) for row in cells])
        total = values[:, start:end].sum(axis=1)
        are_sums = np.isclose(values[:, end:], total[:, None]).sum(axis=0)
        sums = np.flatnonzero(2 * are_sums > np.isfinite(total).sum()) + end
        return [self.columns[k] for k in (*range(start, end), *sums)]

    def read(self, *, transposed: bool = False) -> tuple[list[str], list[list[Any]], CellPlaces]:
        """Return the names of the columns, the columns, and where they stand on the sheet."""
        rows, columns, names = self.body, self.columns, self.names
        if not transposed:
            cells = [[self.grid[i][j] for i in rows] for j in columns]
            return names, cells, CellPlaces(rows, dict(zip(names, columns, strict=True)))
        times = self.times or columns[1:]
        rows = [i for i in rows if NUMBER in [_find_kind(self.grid[i][j]) for j in times]]
        labels = {write_cell(self.grid[i][columns[0]]): i for i in rows}
        if len(labels) < len(rows):  # names of rows that are not unique
            labels = {f"{write_cell(self.grid[i][columns[0]])} (row {i + 1})": i for i in rows}
        shown = [names[columns.index(j)] for j in times]
        cells = [shown, *([self.grid[i][j] for j in times] for i in rows)]
        return ["", *labels], cells, CellPlaces(times, labels, is_transposed=True)

    def describe(self, *, transposed: bool = False) -> str:
        """Say in one line what was taken for what."""
        said = f"the table in {self.area} is read" + "; its rows are columns here" * transposed
        if len(self.header) > 1:
            said += f"; rows {self.header[0] + 1} to {self.header[-1] + 1} are its names"
        if self.left_out:
            more = f" and {len(self.left_out) - 3} more" * (len(self.left_out) > 3)
            said += f"; left out: {', '.join(self.left_out[:3])}{more}"
        return said


def find_regions(grid: Grid, *, always: bool = False) -> list[Region]:
    """Return the tables with names and two rows of numbers; if ``always``, also of plain sheets."""
    # The first row is full of names, no row is blank, and the last one has numbers.
    is_plain = not grid or (
        all(_find_kind(cell) == TEXT and not _is_period(cell) for cell in grid[0])
        and all(any(cell is not None for cell in row) for row in grid)
        and NUMBER in map(_find_kind, grid[-1])
    )
    if is_plain and not (grid and always):
        return []
    sheet = _Sheet(grid)
    found = sheet.cut(*map(np.arange, sheet.kinds.shape))
    left = sheet.kinds != BLANK
    for table in found:
        rows = np.searchsorted(sheet.lines, [*table.header, *table.body])
        left[rows[:, None], table.columns] = False
    for row in np.flatnonzero(left.any(axis=1)) if found else ():
        i, j = sheet.lines[row], left[row].argmax()
        said = f"{write_cell(grid[i][j])[:30]!r} in {write_address(i + 1, j + 1)}"
        # A title stands above its table.
        k = next((k for k, table in enumerate(found) if table.header[0] > i), -1)
        found[k] = replace(found[k], left_out=(*found[k].left_out, said))
    return found


# --- Cutting a sheet ------------------------------------------------------------------------------


class _Sheet:
    """The cells of a sheet, without blank rows, and their kinds; ``lines`` are its other rows."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.lines = [i for i, row in enumerate(grid) if any(cell is not None for cell in row)]
        kinds = [list(map(_find_kind, grid[i])) for i in self.lines]
        self.kinds: Any = np.array(kinds, dtype=np.int8).reshape(len(kinds), max(map(len, grid)))

    def cut(self, rows: IntArray, columns: IntArray) -> list[Region]:
        """Cut at blank rows, then at blank columns, and return the tables."""
        filled = self.kinds[np.ix_(rows, columns)] != BLANK
        rows, columns = rows[filled.any(axis=1)], columns[filled.any(axis=0)]
        if not len(rows):
            return []
        groups: list[list[IntArray]] = []
        for band in _split(rows, np.array(self.lines)[rows]):
            if groups and self._continues(groups[-1], band, columns):
                groups[-1].append(band)
            else:
                groups.append([band])
        if len(groups) > 1:
            return [each for group in groups for each in self.cut(np.concatenate(group), columns)]
        parts = _split(columns, columns)
        found: list[tuple[IntArray, list[Region]]] = []
        for part in parts:
            side = part, self.cut(rows, part) if len(parts) > 1 else self._find_table(rows, part)
            if found and self._belong_together(found[-1], side):
                joined = np.concatenate([found.pop()[0], part])
                side = joined, self._find_table(rows, joined)
            found.append(side)
        return [each for _, tables in found for each in tables]

    def _continues(self, group: list[IntArray], band: IntArray, columns: IntArray) -> bool:
        """Say whether rows below blank ones belong to the table above: they have no names."""
        below = _summarize(self.kinds[np.ix_(band, columns)])
        if NUMBER not in below or self._find_table(band, columns[below != BLANK], fewest=1):
            return False
        table = self._find_table(np.concatenate(group[:2]), columns, fewest=1)
        if not table:  # names, with a blank row below them
            return bool(np.all(self.kinds[group[-1][-1], columns[below == NUMBER]] == TEXT))
        rows = np.searchsorted(self.lines, table[0].body)
        body = _summarize(self.kinds[np.ix_(rows, columns)])
        return bool(np.all((below == body) | (below == BLANK)))

    def _belong_together(
        self, one: tuple[IntArray, list[Region]], other: tuple[IntArray, list[Region]]
    ) -> bool:
        """Say whether cells on both sides of a blank column are one table."""
        (columns, left), (others, right) = one, other
        if not (left or right) or max(len(left), len(right)) > 1:
            return not (left or right)
        if left and right:
            extents = [(each.header[-1], each.body[0], each.body[-1]) for each in left + right]
            return extents[0] == extents[1] and not set(left[0].names) & set(right[0].names)
        # Cells without a table, such as texts, have a name in its header, or are in all its rows.
        (table,) = left or right
        filled = (self.kinds[:, others if left else columns] != BLANK).any(axis=1)
        lines = {line for line, is_filled in zip(self.lines, filled, strict=True) if is_filled}
        return table.header[-1] in lines or lines >= set(table.body)

    def _find_table(self, rows: IntArray, columns: IntArray, fewest: int = 2) -> list[Region]:
        """Return the table of some cells, if any: names, and ``fewest`` rows with numbers."""
        kinds = self.kinds[np.ix_(rows, columns)]
        start, end = _find_body(kinds)
        numeric = _summarize(kinds[start:end]) == NUMBER
        header = self._find_header(kinds, rows, columns, numeric, start)
        has_numbers = (kinds[:, numeric] == NUMBER).any(axis=1)
        is_row = has_numbers | (kinds != BLANK).all(axis=1)  # a note leaves columns blank
        end = max(end, 1 + int(np.flatnonzero(is_row).max(initial=-1)))
        first = header[-1] + 1 if header else end
        if has_numbers[first:end].sum() < fewest:
            return []
        used = columns[(kinds[header[0] : end] != BLANK).any(axis=0)].tolist()
        lines = [self.lines[i] for i in rows]
        *above, names = [[write_cell(self.grid[lines[i]][j]) for j in used] for i in header]
        for groups in reversed(above):
            names = [" ".join(filter(None, pair)) for pair in _spread(groups, names)]
        return [Region(self.grid, [lines[i] for i in header], lines[first:end], used, names)]

    def _find_header(
        self, kinds: IntArray, rows: IntArray, columns: IntArray, numeric: BoolArray, start: int
    ) -> list[int]:
        """Return the rows with names, as places among ``rows``."""
        lines, are_texts = [self.lines[i] for i in rows], kinds[:, numeric] == TEXT

        def has_times(row: int) -> bool:
            numbers = [self.grid[lines[row]][j] for j in columns[kinds[row] == NUMBER]]
            return bool(numbers) and all(_is_period(write_cell(each)) for each in numbers)

        if 2 * are_texts[:start].any(axis=0).sum() >= max(1, numeric.sum()):
            last = first = int(np.flatnonzero(are_texts[:start].any(axis=1))[-1])
            # Names that are numbers below those of groups, such as years.
            last += not are_texts[last].all() and has_times(last + 1)
        else:
            last = first = next(filter(has_times, range(start, -1, -1)), len(rows))
            texts = [[write_cell(self.grid[i][j]) for j in columns] for i in lines[first:]]
            if not (texts and guess_header(texts[0], texts[1:])[0]):
                return []
        # Names of groups stand directly above those of columns, and not above the first one.
        while first and lines[first - 1] == lines[first] - 1:
            is_title = kinds[first - 1, 0] and kinds[first, 0]
            if is_title or not kinds[first - 1, 1:].any():
                break
            first -= 1
        return list(range(first, last + 1))


def _summarize(kinds: IntArray) -> IntArray:
    """Return the most frequent kind of the filled cells of each column."""
    most = np.where((kinds == NUMBER).sum(axis=0) > (kinds == TEXT).sum(axis=0), NUMBER, TEXT)
    return np.where((kinds != BLANK).any(axis=0), most, BLANK)


def _split(chosen: IntArray, places: IntArray) -> list[IntArray]:
    """Split rows or columns where others lie between their places."""
    return np.split(chosen, np.flatnonzero(np.diff(places) > 1) + 1)


def _spread(groups: list[str], names: list[str]) -> list[tuple[str, str]]:
    """Return the group of each column beside its name; what stands above nothing is a name.

    A group has the names of the one before: after "net, tax, net, tax", a "total" is not in it.
    """
    found, group, members, before = [], "", list[str](), list[str]()
    for text, name in zip(groups, names, strict=True):
        if text:
            group, before, members = text if name else "", members if group else [], []
        elif not name or members == before:
            group = ""
        members.append(name)
        found.append((text or group, name))
    return found


def _find_body(kinds: IntArray) -> tuple[int, int]:
    """Return the first row of a table, and the one after its last, for the fewest bits."""
    n, p = kinds.shape
    every = kinds == np.array(Kind)[:, None, None]
    counts = np.pad(np.cumsum(every, axis=1), ((0, 0), (1, 0), (0, 0)))
    outside = np.log2(len(Kind)) * p * np.arange(n + 1)
    start = int(np.argmin((_measure(counts[:, -1:] - counts) + outside)[:-1]))
    inside = _measure(counts[:, start + 1 :] - counts[:, start, None])
    return start, start + 1 + int(np.argmin(inside + outside[: n - start][::-1]))


def _measure(counts: IntArray) -> FloatArray:
    """Return the bits of kinds, by Krichevsky and Trofimov; counts are of (kind, row, column)."""
    most = np.arange(counts.sum(axis=0).max(initial=0))
    seen, total = (np.cumsum([0.0, *np.log2(most + half / 2)]) for half in (1, len(Kind)))
    return np.asarray((total[counts.sum(axis=0)] - seen[counts].sum(axis=0)).sum(axis=-1))
