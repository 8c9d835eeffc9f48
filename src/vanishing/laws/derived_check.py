"""The cell that breaks a law of two rows: a wrong amount breaks one row, a wrong balance two.

A row is looked at together with the row after it. The laws of that row speak of cells of the first
one as its previous cells: if a balance is changed, both rows must keep their laws. So a wrong
balance is found where it stands, and not in the row after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.check import BrokenRow
from vanishing.laws.derived import DerivedColumn, Keys, compute_function, find_after
from vanishing.laws.law import Law
from vanishing.laws.wrong_cells import Checker, Rows, find_roots
from vanishing.levels import SAME


class _JoinedRows(Rows):
    """Rows of a table, each with its derived cells and the rows after it."""

    def __init__(
        self, values: FloatArray, derived: Sequence[DerivedColumn], keys: Keys, names: Sequence[str]
    ) -> None:
        super().__init__(values)
        self.derived = derived
        self.places = {name: j for j, name in enumerate(names)}
        self.before = {
            i: keys.find_rows(each) for i, each in enumerate(derived) if each.is_of_other_row
        }
        #: The row after each row, for each way in which one may come after, and the columns of
        #: which the row after tells the cells.
        ways: dict[bytes, tuple[IntArray, list[int]]] = {}
        for i, before in self.before.items():
            after = find_after(before)
            ways.setdefault(after.tobytes(), (after, []))[1].append(i)
        self.ways = list(ways.values())
        if self.ways:
            # A row that is further from the beginning of its group comes later.
            depth = np.zeros(len(values), dtype=np.intp)
            before = self.before[self.ways[0][1][0]]
            order = np.arange(len(values))
            order = order if (before < order).all() else order[::-1]
            for row in order.tolist():
                depth[row] = depth[before[row]] + 1 if before[row] >= 0 else 0
            self.order = np.argsort(depth, kind="stable")

    def compute(self, row: int) -> FloatArray:
        """Return a row with its derived cells."""
        cells = np.full(self.values.shape[1] + len(self.derived), np.nan)
        cells[: self.values.shape[1]] = self.values[row]
        for i, before in self.before.items():
            column = self.derived[i]
            outside = 0.0 if column.starts_at_zero else np.nan
            cell = self.values[before[row], self.places[column.sources[0]]]
            cells[self.values.shape[1] + i] = cell if before[row] >= 0 else outside
        return self.evaluate(cells)

    def evaluate(self, cells: FloatArray) -> FloatArray:
        """Compute the functions of a row again."""
        n_columns = self.values.shape[1]
        for i, each in enumerate(self.derived):
            if not each.is_of_other_row:
                sources = (cells[[self.places[name]]] for name in each.sources)
                cells[n_columns + i] = compute_function(each.function, *sources)[0]
        return cells

    def join(self, row: int) -> FloatArray:
        own = self.compute(row)
        empty = np.full(len(own), np.nan)
        return np.concatenate(
            [
                own,
                *(self.compute(after[row]) if after[row] >= 0 else empty for after, _ in self.ways),
            ]
        )

    def join_all(self) -> FloatArray:
        return np.array(list(map(self.join, range(len(self.values))))).reshape(len(self.values), -1)

    def change(self, row: int, found: BrokenRow) -> None:
        for fix in found.fixes:
            if np.isfinite(fix.fix):
                self.values[row, self.places[fix.column]] = fix.fix


def join_rows(
    checker: Checker, derived: Sequence[DerivedColumn], values: FloatArray, keys: Keys
) -> tuple[Checker, Rows]:
    """Return a checker of rows, and the rows, with the derived columns of the laws.

    A cell is changed as soon as it is found wrong or missing: rows after it are checked with the
    value that it should have.
    """
    if not derived:
        return checker, Rows(values)
    rows = _JoinedRows(values.copy(), derived, keys, checker.names)
    n_columns = len(checker.names)
    n_own = n_columns - len(derived)
    blocks: list[list[int]] = [[], *(columns for _, columns in rows.ways)]
    names = tuple(f"{name}{chr(0) * k}" for k in range(len(blocks)) for name in checker.names)
    laws: list[Law] = []
    numbers: list[int] = []
    for block, columns in enumerate(blocks):
        moved = np.arange(n_columns) + block * n_columns
        for i in columns:
            # What is the previous cell of the row after is a cell of the row itself.
            moved[n_own + i] = rows.places[derived[i].sources[0]]
        for k, law in enumerate(checker.laws):
            if not block or law.involved[[n_own + i for i in columns]].any():
                laws.append(law.move(names, moved, n_derived=0, target=None))
                numbers.append(k)

    def repeat(array: Any) -> Any:
        return None if array is None else np.concatenate([array] * len(blocks), axis=-1)

    joined = _JoinedChecker(
        laws, repeat(checker.spreads), repeat(checker.ranges), repeat(checker.whole),
        checker.n_rows, repeat(checker.learned_units), repeat(checker.noise),
        repeat(checker.proportional), checker.threshold, numbers, len(checker.laws), rows=rows,
    )  # fmt: skip
    return joined, rows


@dataclass(frozen=True, eq=False)
class _JoinedChecker(Checker):
    """Checks rows with the rows after them; only cells of the first may be wrong."""

    rows: _JoinedRows = field(kw_only=True)

    @property
    def n_cells(self) -> int:
        return int(self.rows.values.shape[1])

    @property
    def involved(self) -> BoolArray:
        """Whether each law speaks about each column, or about a function of it."""
        involved = super().involved
        for i, each in enumerate(self.rows.derived):
            if not each.is_of_other_row:
                for name in each.sources:
                    involved[:, self.rows.places[name]] |= involved[:, self.n_cells + i]
        return involved

    def _find_functions(self, cells: Sequence[int]) -> list[tuple[int, DerivedColumn]]:
        """Return the places of the columns that are computed from cells of the same row."""
        return [
            (self.n_cells + i, each)
            for i, each in enumerate(self.rows.derived)
            if not each.is_of_other_row
            and any(self.rows.places[name] in cells for name in each.sources)
        ]

    def complete(self, x: FloatArray) -> FloatArray:
        return self.rows.evaluate(x)

    def solve(self, x: FloatArray, columns: list[int], laws: Sequence[int]) -> FloatArray:
        # Functions have no slopes here: laws are solved for them one by one.
        return x if self._find_functions(columns) else super().solve(x, columns, laws)

    def find_error(self, x: FloatArray, j: int, laws: Sequence[int]) -> float:
        return 0.0 if self._find_functions([j]) else super().find_error(x, j, laws)

    def list_starts(self, x: FloatArray, cells: list[int], laws: list[int]) -> Iterator[FloatArray]:
        functions = self._find_functions(cells)
        if functions and len(cells) > 1:
            return
        yield from super().list_starts(x, cells, laws)
        for place, function in functions:
            sources = [self.rows.places[name] for name in function.sources]
            others = [float(x[j]) for j in sources if j != cells[0]]
            roots = (root for k in laws for root in find_roots(self.laws[k], x, place).tolist())
            for root in roots:
                for value in _invert(function, sources.index(cells[0]), others, root):
                    start = x.copy()
                    start[cells] = value
                    yield start


def _invert(
    function: DerivedColumn, place: int, others: Sequence[float], value: float
) -> list[float]:
    """Return cells of one of its sources for which a function of the row has a value.

    Those of a step are not determined: any number between two steps is one.
    """
    if not others:
        return []
    (other,) = others
    tried = np.array([value, other + value, other - value, value - other])
    beside = np.full(len(tried), other)
    cells = (tried, beside) if place == 0 else (beside, tried)
    off = np.abs(compute_function(function.function, *cells) - value)
    return list(tried[off <= SAME * (abs(value) + abs(other))].tolist())
