"""The cell that breaks a law of two rows: a wrong amount breaks one row, a wrong balance two.

A row is looked at together with the row after it. The laws of that row speak of cells of the first
one as its previous cells: if a balance is changed, both rows must keep their laws. So a wrong
balance is found where it stands, and not in the row after it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.check import BrokenRow, Check, Checker, Restored, _add_texts, _find_roots
from vanishing.laws.derived import DerivedColumn, Keys
from vanishing.laws.law import Law


def check_derived(
    checker: Checker,
    derived: Sequence[DerivedColumn],
    values: FloatArray,
    keys: Keys,
    row_names: Sequence[Any],
    callback: Callable[[int], object] | None = None,
    texts: Mapping[tuple[int, str], str] | None = None,
    spoken: BoolArray | None = None,
) -> Check:
    """Check rows against laws that speak of derived columns.

    ``spoken`` says which laws speak of which rows, by default all of them.
    A cell is changed as soon as it is found wrong or missing: rows after it are checked with the
    value that it should have.
    """
    table = _Rows(values.copy(), derived, keys, checker.names)
    both = _join(checker, derived, table)
    own = len(checker.laws)
    joined = np.array([table.join(row) for row in range(len(values))]).reshape(len(values), -1)
    both = both.read_units(joined)
    with np.errstate(over="ignore", invalid="ignore"):
        scores, lacking = both.scores(joined), both.lack(joined)
    if spoken is None:
        spoken = np.ones((len(values), own), dtype=bool)
    suspects = ~(np.abs(scores[:, :own]) <= checker.threshold) | lacking[:, :own]
    suspects = np.any(suspects & spoken, axis=1)
    found: list[BrokenRow] = []
    for row in table.order[np.asarray(suspects)[table.order]].tolist():
        with np.errstate(over="ignore", invalid="ignore"):
            for each in both.select(spoken[row]).examine(table.join(row), row, row_names[row]):
                found.append(each)
                table.change(row, each)
        if callback is not None:
            callback(row + 1)
    if callback is not None:
        callback(len(values))
    lacking[:, :own] |= ~spoken
    unchecked = tuple(np.flatnonzero(lacking.all(axis=1)).tolist())
    laws = checker.laws
    return Check(laws, _add_texts(found, texts or {}, row_names), len(values), unchecked)


def read_derived_digits(
    checker: Checker, derived: Sequence[DerivedColumn], values: FloatArray, keys: Keys
) -> tuple[FloatArray, FloatArray]:
    """Return the units of the last digits of rows, and those that are coarser than learned."""
    if not derived:
        read = checker.read_units(values)
    else:
        table = _Rows(values.copy(), derived, keys, checker.names)
        joined = np.array([table.join(row) for row in range(len(values))]).reshape(len(values), -1)
        read = _join(checker, derived, table).read_units(joined)
    n_columns = len(checker.names)
    units, coarser = (
        np.broadcast_to(each, joined.shape[1] if derived else n_columns)[:n_columns]
        for each in (read.units, read.coarser)
    )
    return units, coarser


class _Rows:
    """Rows of a table, each with its derived cells and the row after it."""

    def __init__(
        self,
        values: FloatArray,
        derived: Sequence[DerivedColumn],
        keys: Keys,
        names: Sequence[str],
    ) -> None:
        self.values = values
        self.derived = derived
        self.places = {name: j for j, name in enumerate(names)}
        self.before = [
            each.find_rows(keys) if each.is_of_other_row else np.empty(0, dtype=np.intp)
            for each in derived
        ]
        #: Which row comes after each row, for each way in which one may.
        self.after: list[IntArray] = []
        self.ways: list[list[int]] = []
        self.order: IntArray = np.arange(len(values))
        for i, before in enumerate(self.before):
            if not derived[i].is_of_other_row:
                continue
            after = np.full(len(values), -1, dtype=np.intp)
            after[before[before >= 0]] = np.flatnonzero(before >= 0)
            for known, way in zip(self.after, self.ways, strict=True):
                if (known == after).all():
                    way.append(i)
                    break
            else:
                self.after.append(after)
                self.ways.append([i])
        if self.after:
            # A row that is further from the beginning of its group comes later.
            depth = np.zeros(len(values), dtype=np.intp)
            before = self.before[self.ways[0][0]]
            order = np.arange(len(values))
            order = order if (before < order).all() else order[::-1]
            for row in order.tolist():
                depth[row] = depth[before[row]] + 1 if before[row] >= 0 else 0
            self.order = np.argsort(depth, kind="stable")

    def compute(self, row: int) -> FloatArray:
        """Return a row with its derived cells."""
        found = np.full(self.values.shape[1] + len(self.derived), np.nan)
        found[: self.values.shape[1]] = self.values[row]
        for i, each in enumerate(self.derived):
            place = self.values.shape[1] + i
            if each.is_of_other_row:
                before, source = self.before[i][row], self.places[each.sources[0]]
                outside = 0.0 if each.starts_at_zero else np.nan
                found[place] = self.values[before, source] if before >= 0 else outside
        return self.evaluate(found)

    def evaluate(self, cells: FloatArray) -> FloatArray:
        """Compute the functions of a row again."""
        n_columns = self.values.shape[1]
        for i, each in enumerate(self.derived):
            if not each.is_of_other_row:
                columns = {name: cells[[self.places[name]]] for name in each.sources}
                cells[n_columns + i] = each.compute(columns, Keys(1, {}, {}))[0]
        return cells

    def join(self, row: int) -> FloatArray:
        """Return a row, followed by the rows after it, NaN where there is none."""
        own = self.compute(row)
        empty = np.full(len(own), np.nan)
        return np.concatenate(
            [own, *(self.compute(after[row]) if after[row] >= 0 else empty for after in self.after)]
        )

    def change(self, row: int, found: BrokenRow) -> None:
        """Put the cells right that were found wrong or missing."""
        for fix in found.fixes:
            if np.isfinite(fix.fix):
                self.values[row, self.places[fix.column]] = fix.fix


def _join(checker: Checker, derived: Sequence[DerivedColumn], rows: _Rows) -> "_JoinedChecker":
    """Return a checker of rows that are joined with the rows after them."""
    n_columns = len(checker.names)
    n_own = n_columns - len(derived)
    n_blocks = 1 + len(rows.after)
    names = tuple(f"{name}{chr(0) * block}" for block in range(n_blocks) for name in checker.names)
    laws: list[Law] = []
    numbers: list[int] = []
    for block in range(n_blocks):
        moved = np.arange(n_columns) + block * n_columns
        for i in rows.ways[block - 1] if block else ():
            # What is the previous cell of the row after is a cell of the row itself.
            moved[n_own + i] = rows.places[derived[i].sources[0]]
        others = {n_own + i for i in rows.ways[block - 1]} if block else set()
        for k, law in enumerate(checker.laws):
            if block and others.isdisjoint(np.flatnonzero(law.involved).tolist()):
                continue
            laws.append(_move(law, names, moved))
            numbers.append(k)

    def repeat(array: Any) -> Any:
        return None if array is None else np.concatenate([array] * n_blocks, axis=-1)

    return _JoinedChecker(
        laws, repeat(checker.spreads), repeat(checker.ranges), repeat(checker.whole),
        checker.n_rows, repeat(checker.learned_units), repeat(checker.noise),
        checker.proportional, checker.threshold,
        rows=rows, numbers=numbers, n_laws=len(checker.laws), n_own=n_own,
    )  # fmt: skip


def _move(law: Law, names: tuple[str, ...], places: IntArray) -> Law:
    """Return a law of a longer row in which its columns stand at some places."""

    def spread(array: Any) -> Any:
        if array is None:
            return None
        wide = np.zeros((*array.shape[:-1], len(names)), dtype=array.dtype)
        for j, place in enumerate(places.tolist()):
            wide[..., place] = np.maximum(wide[..., place], array[..., j])
        return wide

    return replace(
        law, names=names, exponents=spread(law.exponents), resolution=spread(law.resolution),
        logs=spread(law.logs), n_derived=0, target=None,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _JoinedChecker(Checker):
    """Checks rows that are joined with the rows after them: only cells of the first may be wrong.

    ``numbers`` say which law each of the laws is; the first ``n_laws`` are those of the row itself.
    ``n_own`` is how many columns the table has.
    """

    rows: _Rows = field(kw_only=True)
    numbers: list[int] = field(kw_only=True)
    n_laws: int = field(kw_only=True)
    n_own: int = field(kw_only=True)

    def select(self, spoken: BoolArray) -> "_JoinedChecker":
        """Return a checker of the laws that speak of a row; conditions are about single rows."""
        if spoken.all():
            return self
        kept = [k for k in range(len(self.laws)) if k >= len(spoken) or spoken[k]]
        laws, numbers = [self.laws[k] for k in kept], [self.numbers[k] for k in kept]
        return replace(self, laws=laws, numbers=numbers, n_laws=int(spoken.sum()))

    def examine(self, x: FloatArray, row: int, name: Any) -> Iterator[BrokenRow]:
        """Yield what is missing in a row, and what is broken."""
        n_laws = self.n_laws
        if self.lack(x[None])[0, :n_laws].any():
            for each in self.fill(x, row, name):
                own = set(self.names[: self.n_own])
                fixes = tuple(fix for fix in each.fixes if fix.column in own)
                if fixes:
                    yield self._translate(replace(each, fixes=fixes))
        broken = ~(np.abs(self.scores(x[None])[0]) <= self.threshold)
        if broken[:n_laws].any():
            found = self._translate(self.explain(x, row, name))
            if not found.fixes:
                # The row after it has a wrong cell, too.
                alone = replace(self, laws=self.laws[:n_laws], numbers=self.numbers[:n_laws])
                found = self._translate(alone.explain(x, row, name))
            yield found

    def _translate(self, found: BrokenRow) -> BrokenRow:
        """Return what was found with the numbers of the laws in the list of the user."""
        return replace(found, laws=tuple(dict.fromkeys(self.numbers[k] for k in found.laws)))

    @property
    def involved(self) -> BoolArray:
        """Whether each law speaks about each column, or about a function of it."""
        involved = super().involved
        for i, each in enumerate(self.rows.derived):
            if not each.is_of_other_row:
                for name in each.sources:
                    involved[:, self.rows.places[name]] |= involved[:, self.n_own + i]
        return involved

    def _list_cells(self, scores: FloatArray, n_cells: int) -> Iterator[list[int]]:
        yield from (
            cells for cells in super()._list_cells(scores, n_cells) if max(cells) < self.n_own
        )

    def _restore(self, x: FloatArray, cells: list[int], before: FloatArray) -> Restored | None:
        functions = [
            (self.n_own + i, each)
            for i, each in enumerate(self.rows.derived)
            if not each.is_of_other_row
            and any(self.rows.places[name] in cells for name in each.sources)
        ]
        if not functions:
            return super()._restore(x, cells, before)
        if len(cells) > 1:
            return None
        return self._restore_source(x, cells[0], functions, before)

    def _restore_source(
        self,
        x: FloatArray,
        cell: int,
        functions: list[tuple[int, DerivedColumn]],
        before: FloatArray,
    ) -> Restored | None:
        """Return the value of a cell that functions are computed from, None if none does."""
        laws = np.flatnonzero(self.involved[:, cell]).tolist()
        direct = chain(*(_find_roots(self.laws[k], x, cell).tolist() for k in laws
                         if self.laws[k].involved[cell]))  # fmt: skip
        tried = list(direct)
        for place, function in functions:
            sources = [self.rows.places[name] for name in function.sources]
            at = sources.index(cell)
            for k in laws:
                if self.laws[k].involved[place]:
                    for root in _find_roots(self.laws[k], x, place).tolist():
                        others = [float(x[j]) for j in sources if j != cell]
                        tried += function.invert(at, others, root)
        best: Restored | None = None
        for value in tried:
            changed = x.copy()
            changed[cell] = np.round(value) if self.whole[cell] else value
            changed = self.rows.evaluate(changed)
            scores = before.copy()
            scores[laws] = [self.score(k, changed[None])[0] for k in laws]
            if changed[cell] == x[cell] or not (np.abs(scores) <= self._limits).all():
                continue
            fix = self.make_fix(cell, x[cell], changed[cell], 0.0)
            restored = Restored((fix,), float(np.sum(scores**2)), self.weigh(fix, cell))
            if fix.typed[0] != fix.typed[1] and (best is None or restored.prior > best.prior):
                best = restored
        return best
