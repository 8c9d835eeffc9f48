"""Columns that are computed from other cells: those of the row before, or max(a, b) of a row.

A running balance is a law of two rows: balance = previous balance + credit - debit. With the cells
of the row before as a further column, it is a law of one row, as all others are. Rows may belong to
groups, such as accounts or years, each of which has its own rows before.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.text import plain_symbol
from vanishing.levels import ROUNDING

Sides = tuple[FloatArray, FloatArray]
#: Functions of two columns, by the way in which they are written: the larger or the smaller one of
#: two sides.
FUNCTIONS: Mapping[str, tuple[np.ufunc, Callable[[FloatArray, FloatArray], Sides]]] = {
    "max({}, {})": (np.maximum, lambda a, b: (a, b)),
    "min({}, {})": (np.minimum, lambda a, b: (a, b)),
    "|{} - {}|": (np.maximum, lambda a, b: (a - b, b - a)),
    "max({} - {}, 0)": (np.maximum, lambda a, b: (a - b, 0.0 * a)),
    "max({1} - {0}, 0)": (np.maximum, lambda a, b: (b - a, 0.0 * a)),
    "max({} + {}, 0)": (np.maximum, lambda a, b: (a + b, 0.0 * a)),
}
#: Functions of one column divided by a number: floor(a/7) complete packs, ceil(a/7) packs needed.
STEPS = ("floor", "ceil")
_STEP = re.compile(rf"({'|'.join(STEPS)})\(\{{\}}(?:/([^)]+))?\)")
#: The row above, and the one below for tables that begin with the last day.
ROWS = ("previous {}", "next {}")
#: What groups of rows are in which a column of numbers does not fall.
CYCLE = "cycle"
#: A column, and the part of its dates that counts, "" for all of a cell.
Key = tuple[str, str]


def write_step(name: str, divisor: float) -> str:
    """Return a function of one column, such as "floor({}/7)"."""
    return f"{name}({{}}/{divisor:.12g})" if divisor != 1 else f"{name}({{}})"


def read_step(function: str) -> tuple[str, float] | None:
    """Return the name and the divisor of a function of one column, None if it is none."""
    found = _STEP.fullmatch(function)
    try:
        return (found[1], float(found[2] or 1)) if found else None
    except ValueError:
        return None


def compute_function(function: str, *cells: FloatArray) -> FloatArray:
    """Return a function of one or two columns."""
    step = read_step(function)
    if step is not None:
        return compute_step(*step, *cells)
    choose, divide = FUNCTIONS[function]
    return np.asarray(choose(*divide(*cells)))


def compute_step(name: str, divisor: float, cells: FloatArray) -> FloatArray:
    """Return the whole numbers below or above a column divided by a number, up to rounding."""
    quotients = cells / divisor
    slack = ROUNDING * np.abs(quotients)
    whole = np.floor(quotients + slack) if name == "floor" else np.ceil(quotients - slack)
    return np.asarray(whole)


def find_after(before: IntArray) -> IntArray:
    """Return the row after each row, -1 where there is none."""
    after = np.full(len(before), -1, dtype=np.intp)
    after[before[before >= 0]] = np.flatnonzero(before >= 0)
    return after


_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


@dataclass(frozen=True)
class DerivedColumn:
    """A column that is computed from other cells of the table.

    Parameters
    ----------
    function : str
        How it is computed: "previous {}" or "next {}" for the cell of another row, "max({}, {})"
        and the like for functions of the same row.
    sources : tuple of str
        The columns that it is computed from.
    by : tuple of (str, str)
        Columns that tell the groups, each with "", or with the "year" or "month" of its dates that
        does, or with "cycle" if a group begins where the column falls, as months do in January.
        The row before is one of the same group.
    order : str
        Column of dates that orders the rows; by default they are in the order of the table.
    starts_at_zero : bool
        Whether the first row of a group has 0 before it, as sums do; by default a blank.
    """

    function: str
    sources: tuple[str, ...]
    by: tuple[Key, ...] = ()
    order: str = ""
    starts_at_zero: bool = False

    def __post_init__(self) -> None:
        expected = {**dict.fromkeys(ROWS, 1), **dict.fromkeys(FUNCTIONS, 2)}.get(self.function)
        if read_step(self.function) is not None:
            expected = 1
        if len(self.sources) != expected:
            raise ValueError(f"there is no column {self.function!r} of {self.sources!r}")

    @property
    def name(self) -> str:
        """What it is called, such as "previous balance by account"."""
        return describe(self, *map(plain_symbol, self.sources))

    @property
    def is_of_other_row(self) -> bool:
        """Whether it holds cells of another row."""
        return self.function in ROWS

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns of the table that it takes."""
        groups = (column for column, _ in self.by)
        return (*self.sources, *groups, *filter(None, [self.order]))


def describe(column: DerivedColumn, *sources: str) -> str:
    """Return what a derived column is called if its sources are called so."""
    name = column.function.format(*sources)
    groups = [f"{part} of " * bool(part) + plain_symbol(key) for key, part in column.by]
    name += f" by {' and '.join(groups)}" if groups else ""
    return name + (f" in order of {plain_symbol(column.order)}" if column.order else "")


class Keys:
    """What tells groups and the order of rows: a number for each different cell of a column.

    ``labels`` are the cells of columns of text and dates, ``columns`` those of numbers.
    """

    def __init__(
        self, n_rows: int, labels: Mapping[str, Any], columns: Mapping[str, FloatArray]
    ) -> None:
        self.n_rows = n_rows
        self.labels = labels
        self.columns = columns
        self._found: dict[Key, IntArray] = {}

    def take(self, rows: IntArray) -> "Keys":
        """Return those of some rows."""
        labels = {name: np.asarray(each)[rows] for name, each in self.labels.items()}
        return Keys(len(rows), labels, {name: each[rows] for name, each in self.columns.items()})

    def compute(self, column: DerivedColumn, columns: Mapping[str, FloatArray]) -> FloatArray:
        """Return the cells of a derived column, NaN where one is missing."""
        cells = [columns[name] for name in column.sources]
        if column.is_of_other_row:
            before = self.find_rows(column)
            outside = 0.0 if column.starts_at_zero else np.nan
            return np.where(before >= 0, cells[0][before], outside)
        return compute_function(column.function, *cells)

    def find_rows(self, column: DerivedColumn) -> IntArray:
        """Return the row before each row, -1 where there is none."""
        place = self[column.order, ""] if column.order else np.arange(self.n_rows)
        step = 1 if column.function == ROWS[0] else -1
        codes = [self[key] for key in column.by]
        order = np.lexsort((step * np.arange(self.n_rows), step * place, *codes))
        known = np.all([each >= 0 for each in (place, *codes)], axis=0)
        order = order[known[order]]
        first, second = order[:-1], order[1:]
        same = np.all(
            [np.ones(len(first)), *(each[first] == each[second] for each in codes)], axis=0
        )
        before = np.full(self.n_rows, -1, dtype=np.intp)
        before[second[same]] = first[same]
        return before

    def __getitem__(self, key: Key) -> IntArray:
        """Return the numbers of a key, in the order of its cells; -1 where one is blank."""
        if key not in self._found:
            name, part = key
            if name in self.labels:
                cells = np.array([_cut(str(cell), part) for cell in self.labels[name]], dtype=str)
                blank = cells == ""
            elif name in self.columns:
                cells = self.columns[name]
                blank = np.isnan(cells)
                if part:
                    cells = _count_falls(cells)
            else:
                raise ValueError(
                    f"the table lacks {name!r}, by which the laws divide or order its rows"
                )
            codes = np.unique(cells, return_inverse=True)[1].ravel()
            self._found[key] = np.where(blank, -1, codes)
        return self._found[key]

    def list_groups(self) -> list[Key]:
        """Return the keys that divide the rows into groups of two rows and more on the average."""
        keys = [(name, "") for name in self.labels]
        for name, cells in self.labels.items():
            texts = [str(cell) for cell in cells]
            if all(len(_YEAR.findall(text)) == 1 for text in texts if text):
                is_iso = all(_ISO_DATE.match(text) for text in texts if text)
                keys += [(name, part) for part in ("year", "month")[: 1 + is_iso]]
        for name, cells in self.columns.items():
            if (cells == np.round(cells)).all():
                steps, n_values = np.diff(cells), len(np.unique(cells))
                # Years and ids stand together, and a cycle begins with the smallest number. Of two
                # numbers, every column does.
                if (steps != 0).sum() + 1 == n_values:
                    keys.append((name, ""))
                elif n_values > 2 and (cells[1:][steps < 0] == cells.min()).all():
                    keys.append((name, CYCLE))
        found = []
        for key in keys:
            known = self[key][self[key] >= 0]
            if 2 <= len(np.unique(known)) <= len(known) / 2 and 2 * len(known) >= self.n_rows:
                found.append(key)
        return found

    def list_orders(self) -> list[str]:
        """Return the columns of dates that would put the rows into another order."""
        found = []
        for name, cells in self.labels.items():
            if all(_ISO_DATE.match(str(cell)) for cell in cells if str(cell)):
                places = self[name, ""]
                steps = np.diff(places[places >= 0])
                if (steps < 0).any() and (steps > 0).any():
                    found.append(name)
        return found


def _count_falls(cells: FloatArray) -> FloatArray:
    """Return how often a column has fallen up to each row."""
    known = np.flatnonzero(np.isfinite(cells))
    counts = np.zeros(len(cells))
    counts[known[1:]] = np.cumsum(np.diff(cells[known]) < 0)
    return counts


def _cut(text: str, part: str) -> str:
    """Return a part of a date."""
    if not part or not text:
        return text
    if _ISO_DATE.match(text):
        return text[: len("2024" if part == "year" else "2024-01")]
    year = _YEAR.search(text)
    return year.group() if year and part == "year" else ""
