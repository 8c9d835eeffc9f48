"""Rows that are totals: sums of the rows above, of blocks of them, or of other totals.

A total row is worth what it saves, as a law is (``model.py``). A cell that is the sum of its rows
to the last digit need not be written down, which saves -log₂ p₀ bits (``cells.py``); one that is
not costs log₂ ε. The rows that are totals, the rows that each adds up, and the columns that are
sums must be named. A column of prices or of years is not a sum, and rows in which other columns
agree tell that a sum is wrong.

Rows are read from the first to the last. Each total closes what it adds up: the rows since the last
total, or since the last total of a higher level, or the totals themselves. Which rows to try is
told by their sums, by words such as "Total", and by columns that are blank in few rows.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.whole_tables import Table
from vanishing.equations.text import count_decimals, join, printable
from vanishing.laws.cells import Cells, round_normal
from vanishing.laws.check import BrokenRow, Check, Fix
from vanishing.laws.law import Law
from vanishing.laws.model import ENOUGH_BITS, RATES_OF_ERRORS
from vanishing.levels import OUTLYING, ROUNDING, SAME

#: What total rows are called, in some languages.
WORDS = re.compile(
    r"\b(sub|grand)?[- ]?(totals?|totaux|totale|sum|summe|somme|suma|soma)\b"
    r"|\b(zwischen|gesamt|end)summe\b|\bgesamt\b|\binsgesamt\b|\boverall\b",
    re.IGNORECASE,
)
#: Bits that such a word saves: chance does not write it, but it also stands beside other rows.
BITS_OF_A_WORD = ENOUGH_BITS / 2
#: A total and two rows.
FEWEST_ROWS = 3
#: Rows that are named one by one.
MOST_TOTALS = 6
#: Rows that are named as totals in vain, all of which are hardly wrong sums.
MOST_WRONG = math.ceil(math.log(SAME) / math.log(RATES_OF_ERRORS[-1]))
#: Rows that are compared with the sums above them at a time.
WINDOW = 256


@dataclass(frozen=True, eq=False)
class TotalRow:
    """A row that is the sum of others.

    Parameters
    ----------
    row : int
        Number of the row, from 0.
    members : int array
        Numbers of the rows that it adds up.
    columns : tuple of str
        Columns that are sums.
    name : str
        What the row is called.
    of : str
        What the rows are called that it adds up, such as "rows 1 to 16".
    level : int
        1 for a total of rows, 2 for a total of totals of level 1, or of their rows.
    """

    row: int
    members: Annotated[IntArray, "members"]
    columns: tuple[str, ...]
    name: str
    of: str
    level: int = 1

    def __str__(self) -> str:
        return f"row {printable(self.name)} is the total of {self.of}"


@dataclass(frozen=True)
class Totals:
    """The total rows of a table, what they save in bits, and how sums are compared."""

    rows: tuple[TotalRow, ...] = ()
    bits: float = 0.0
    #: Whether numbers were rounded after they were added up.
    is_rounded: bool = False
    resolution: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Columns that were not rounded, since laws hold to the last digit in their rows.
    exact: frozenset[str] = frozenset()

    def add_columns(self, names: Iterable[str]) -> "Totals":
        """Return totals of further columns."""
        return replace(self, rows=tuple(
            replace(each, columns=tuple(dict.fromkeys([*each.columns, *names])))
            for each in self.rows
        ))  # fmt: skip

    def extend(self, laws: Sequence[Law]) -> "Totals":
        """Return totals of the columns that are sums if others are.

        If all rows keep gross = net + tax to the last digit, their sums do, too.
        """
        found = self
        linear = [set(law.columns) for law in laws if _holds_for_sums(law)]
        while found.rows:
            known = set(found.rows[0].columns)
            told = set().union(*(each for each in linear if len(each - known) == 1)) - known
            if not told:
                break
            found = found.add_columns(sorted(told))
        return found

    def describe(self) -> str:
        """Say which rows are totals, in one line."""
        names = [printable(each.name) for each in self.rows]
        are = "row {} is a total" if len(names) == 1 else "rows {} are totals"
        columns = join([printable(name) for name in self.rows[0].columns], MOST_TOTALS)
        return (
            f"{are.format(join(names, MOST_TOTALS))} of {columns}, and set aside for the other laws"
        )


def _holds_for_sums(law: Law) -> bool:
    """Say whether sums of rows keep a law that rows keep: it is exact, linear, and for all rows."""
    is_linear = law.logs is None and bool((law.exponents.sum(axis=1) == 1).all())
    is_exact = law.resolution is not None and not law.resolution.any()
    is_of_row = not law.involved[len(law.names) - law.n_derived :].any()
    return is_linear and is_exact and is_of_row and law.where is None and law.choices is None


def find_totals(
    values: FloatArray,
    names: Sequence[str],
    row_names: Sequence[Any],
    labels: Mapping[str, Sequence[str]],
) -> Totals:
    """Return the total rows of a table; ``labels`` are the columns of text."""
    best = Totals()
    if len(values) < FEWEST_ROWS or not values.shape[1]:
        return best
    search = _Search(values, labels)
    for rounded in (False, True):
        for forced, bonus in search.propose(rounded):
            found = search.judge(forced, rounded)
            if found is None or found[0] + bonus <= max(ENOUGH_BITS, best.bits):
                continue
            bits, rows, summed = found
            columns = tuple(names[j] for j in np.flatnonzero(summed).tolist())
            totals = [
                TotalRow(
                    each.row, each.members, columns, str(row_names[each.row]),
                    _write_rows(each.members, row_names), each.level,
                )
                for each in rows
            ]  # fmt: skip
            best = Totals(tuple(totals), bits + bonus, rounded, search.cells.resolution)
        if best.rows and not find_wrong_sums(best, values, names):
            break
    return best


def _write_rows(members: IntArray, row_names: Sequence[Any]) -> str:
    """Return what rows are called: from the first to the last if no row between is left out."""
    names = [printable(str(row_names[i])) for i in members.tolist()]
    if len(names) == 1:
        return f"row {names[0]}"
    if len(names) > 2 and np.ptp(members) == len(members) - 1:
        return f"rows {names[0]} to {names[-1]}"
    if len(names) > MOST_TOTALS:
        return f"{len(names)} rows from {names[0]} to {names[-1]}"
    return f"rows {join(names)}"


def find_wrong_sums(
    totals: Totals, values: FloatArray, names: Sequence[str]
) -> list[tuple[TotalRow, int, float]]:
    """Return the cells of total rows that are not the sums: the row, the column, the sum."""
    compared = [
        (each, j, *_compare(totals, each, values, j, name))
        for each in totals.rows
        for j, name in enumerate(names)
        if name in each.columns
    ]
    # Blanks count as 0 in columns in which some total agrees with that.
    zeros = {j for _, j, off, tolerance, n_blank in compared if n_blank and off <= tolerance}
    wrong = []
    for each, j, off, tolerance, n_blank in compared:
        if off > tolerance and (not n_blank or j in zeros):
            unit = 10 ** -math.floor(math.log10(totals.resolution[j]) + ROUNDING)
            total = float(np.nansum(values[each.members, j]))
            wrong.append((each, j, round(total * unit) / unit))
    return wrong


def _compare(
    totals: Totals, total: TotalRow, values: FloatArray, column: int, name: str
) -> tuple[float, float, int]:
    """Return how far a cell is off the sum, how far it may be, and the number of blanks."""
    cells = values[total.members, column]
    off = abs(float(np.nansum(cells)) - values[total.row, column])
    unit = totals.resolution[column]
    tolerance = unit / 2 + ROUNDING * len(cells) * float(np.nansum(np.abs(cells)))
    if totals.is_rounded and name not in totals.exact:
        tolerance += OUTLYING * unit * math.sqrt(len(cells) / 12)
    return off, tolerance, int(np.isnan(cells).sum())


def check_totals(
    totals: Totals, table: Table, row_names: Sequence[Any], check: Callable[[IntArray], Check]
) -> Check:
    """Check the total rows of a table, and the laws in its other rows, by ``check``."""
    sums = [each.row for each in totals.rows]
    kept = np.setdiff1d(np.arange(len(table.values)), sums)
    found = check(kept)
    rows = [replace(each, row=int(kept[each.row])) for each in found.rows]
    wrong: list[_WrongSum] = []
    for total, j, expected in find_wrong_sums(totals, table.values, table.shown_names):
        value, decimals = float(table.values[total.row, j]), count_decimals(totals.resolution[j])
        each = _WrongSum(total, Fix(table.shown_names[j], value, expected, 0.0, 1.0, decimals))
        if not _blame_member(each, rows):
            wrong.append(each)
    for total in totals.rows:
        own = [each for each in wrong if each.total is total]
        if own:
            fixes = tuple(each.fix for each in own)
            is_fixed = not any(_is_confirmed(each, wrong, totals) for each in own)
            rows.append(
                BrokenRow(
                    total.row, row_names[total.row], (), fixes if is_fixed else (),
                    score=float("inf"), total_of=total.of, sums=fixes,
                )
            )  # fmt: skip
    rows.sort(key=lambda each: each.row)
    unchecked = tuple(kept[list(found.unchecked)].tolist())
    return replace(
        found, rows=rows, n_rows=len(table.values), unchecked=unchecked, n_totals=len(sums)
    )


class _WrongSum(NamedTuple):
    """A cell of a total row that is not the sum, which ``fix`` holds."""

    total: TotalRow
    fix: Fix


def _blame_member(wrong: _WrongSum, rows: list[BrokenRow]) -> bool:
    """Say whether one of the rows breaks a law, or lacks a cell, by as much."""
    missing = wrong.fix.value - wrong.fix.fix
    members = set(wrong.total.members.tolist())
    for k, found in enumerate(rows):
        for fix in (*found.fixes, *found.alternatives) if found.row in members else ():
            change = fix.fix - (0.0 if found.is_missing else fix.value)  # sums skip blanks
            if fix.column == wrong.fix.column and abs(change - missing) <= SAME * abs(missing):
                certain = (replace(fix, probability=1.0),)
                rows[k] = replace(found, fixes=certain, alternatives=(), ways=())
                return True
    return False


def _is_confirmed(wrong: _WrongSum, others: Sequence[_WrongSum], totals: Totals) -> bool:
    """Say whether a total of totals agrees with a cell that is not the sum of its own rows."""
    return any(
        wrong.total.row in higher.members
        and not any(each.total is higher and each.fix.column == wrong.fix.column for each in others)
        for higher in totals.rows
    )


class _Found(NamedTuple):
    """A total row: what it adds up, and what that saves in each column.

    ``right`` is 1 where a cell is the sum, -1 where it is not, 0 where that is unknown. ``cost``
    are the bits that name the row, and what it adds up.
    """

    row: int
    members: IntArray
    level: int
    gains: FloatArray
    right: IntArray
    cost: float


class _Search:
    """The search for the total rows of a table."""

    def __init__(self, values: FloatArray, labels: Mapping[str, Sequence[str]]) -> None:
        self.values, self.cells = values, Cells(values)
        self.n_rows, self.n_columns = values.shape
        #: Bits of each cell. One that goes on in the steps of the two cells above has none: in
        #: 0, 1, 2, 3, the last is no total.
        self.worth: FloatArray = -self.cells.log_alone
        last, before = values[1:-1], values[:-2]
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(values[2:] - (2 * last - before))
            rounding = ROUNDING * (2 * np.abs(last) + np.abs(before))
        self.worth[2:][off <= 2 * self.cells.resolution + rounding] = 0.0
        #: Cells, their sizes, whether they are not 0, whether they are blank, and a 1 for each row.
        self.parts = np.stack(
            [
                np.nan_to_num(values),
                np.abs(np.nan_to_num(values)),
                np.nan_to_num(values) != 0,
                np.isnan(values),
                np.ones(values.shape),
            ]
        )
        self.labels = [
            [str(text) for text in texts] for texts in labels.values() if len(texts) == self.n_rows
        ]
        blanks = [*np.isnan(values).T]
        blanks += [np.array([not text.strip() for text in texts]) for texts in self.labels]
        #: Rows in which a column is blank, if these are few.
        self.blanks = [rows for rows in blanks if 0 < 2 * rows.sum() < self.n_rows]

    def propose(self, rounded: bool) -> Iterator[tuple[BoolArray, float]]:
        """Yield rows that are totals in any case, and the bits that this saves."""
        nothing = np.zeros(self.n_rows, dtype=bool)
        yield nothing, 0.0
        called = np.array(
            [any(map(WORDS.search, texts)) for texts in zip(*self.labels, strict=True)] or nothing
        )
        if called.any():
            yield called, BITS_OF_A_WORD
        # Total rows often lack what all other rows have, such as a date or a price.
        patterns = {rows.tobytes(): rows for rows in self.blanks}
        for rows in patterns.values():
            yield rows, -math.log2(len(patterns))
        # What all total rows are called that were told by their sums, others may be called too.
        found = self.judge(nothing, rounded)
        if found is not None:
            told = [each.row for each in found[1]]
            for texts in self.labels:
                words = [set(text.lower().split()) for text in texts]
                for word in sorted(set.intersection(*(words[i] for i in told))):
                    rows = np.array([word in each for each in words])
                    if len(told) < rows.sum() < self.n_rows / 2:
                        yield rows, -math.log2(len(self.labels))

    def judge(
        self, forced: BoolArray, rounded: bool
    ) -> tuple[float, list[_Found], BoolArray] | None:
        """Return bits, total rows, and the columns that are sums; None if nothing is a total."""
        summed: BoolArray | None = None
        worth = self.worth
        for _ in range(2):
            rows = self._parse(forced, rounded, summed, worth)
            if not rows:
                return None
            gains = np.array([each.gains for each in rows])
            right = np.array([each.right for each in rows])
            # A column is a sum if that saves the bit to say so, and most of the totals, or all but
            # one, are right.
            n_right, n_wrong = ((sign * right > 0).sum(axis=0) for sign in (1, -1))
            summed = (gains.sum(axis=0) > 1) & (n_wrong <= np.maximum(n_right - 1, 1))
            if not summed.any():
                return None
            worth = self._limit_worth(summed, n_wrong, [each.row for each in rows])
        assert summed is not None
        places = [each.row for each in rows]
        if np.isnan(self.values[places][:, summed]).all(axis=1).any():
            return None  # a total is a number
        n_right, n_wrong = ((sign * right[:, summed] > 0).sum() for sign in (1, -1))
        likelihoods = n_wrong * np.log2(RATES_OF_ERRORS) + n_right * np.log2(1 - RATES_OF_ERRORS)
        gains = gains - np.where(right < 0, np.log2(RATES_OF_ERRORS[-1]), 0.0)
        bits = float(gains[:, summed].sum() + likelihoods.max())
        bits -= float(np.isfinite(self.values[places]).any(axis=0).sum())
        bits += self._measure_places(forced, places) - sum(each.cost for each in rows)
        return bits, rows, summed | self._find_wrong_columns(rows, summed, right)

    def _find_wrong_columns(
        self, rows: list[_Found], summed: BoolArray, right: IntArray
    ) -> BoolArray:
        """Return columns in which the only total that is not the sum must be a wrong sum.

        It is nearer to the sum than to any of the cells that it adds up, and half of the cells of
        its row are sums. A mean, a price or a year is not.
        """
        found = np.zeros(self.n_columns, dtype=bool)
        for j in np.flatnonzero(~summed & ((right < 0).sum(axis=0) == 1)).tolist():
            k = int(np.argmin(right[:, j]))
            cell, added = self.values[rows[k].row, j], self.parts[0][rows[k].members, j]
            is_near = abs(cell - added.sum()) < np.abs(cell - added).min()
            found[j] = is_near and (right[k][summed] > 0).sum() >= (right[k] < 0).sum()
        return found

    def _measure_places(self, forced: BoolArray, rows: list[int]) -> float:
        """Return the bits that rows save by being totals: half of the tables end with one.

        Columns that are blank in these rows alone need not name them again.
        """
        is_total = np.zeros(self.n_rows, dtype=bool)
        is_total[rows] = True
        n_told = sum(np.array_equal(each, is_total) for each in self.blanks)
        n_told -= np.array_equal(forced, is_total) and n_told > 0
        bits = n_told * (math.log2(math.comb(self.n_rows, len(rows))) - 1)
        return bits + math.log2(self.n_rows) * bool(is_total[-1]) - 1

    def _limit_worth(self, summed: BoolArray, n_wrong: IntArray, totals: list[int]) -> FloatArray:
        """Return the bits that cells are worth beside those of the columns before.

        Sums of columns that are linear in others follow from the sums of these. What regression on
        the columns before tells of a column, it tells of its sums. Columns with wrong sums come
        last.
        """
        order = np.argsort(np.where(summed, n_wrong, np.inf), kind="stable")[: summed.sum()]
        columns = np.delete(self.parts[0], totals, axis=0)[:, order]
        sizes = np.maximum(np.abs(columns).max(axis=0), np.finfo(float).tiny)
        norms, own = np.linalg.norm(columns / sizes, axis=0), np.zeros(len(sizes))
        triangle = np.abs(np.diag(np.linalg.qr(columns / sizes, mode="r")))
        own[: len(triangle)] = triangle
        digits = own * sizes / math.sqrt(len(columns)) / self.cells.resolution[order]
        worth = np.zeros(self.values.shape)
        told = np.log2(norms / np.maximum(own, np.finfo(float).tiny))
        worth[:, order] = np.where(digits > 1, np.maximum(self.worth[:, order] - told, 0.0), 0.0)
        return worth

    def _parse(
        self, forced: BoolArray, rounded: bool, summed: BoolArray | None, worth: FloatArray
    ) -> list[_Found]:
        """Read the rows from the first to the last, and return those that are totals.

        If it is not known which columns are summed, each row chooses its own.
        """
        above = np.concatenate([np.zeros((5, 1, self.n_columns)), self.parts.cumsum(axis=1)], 1)
        levels = np.zeros(self.n_rows, dtype=np.intp)
        starts = [0]  # for each level, the row below the last total of a higher one
        found: list[_Found] = []
        place = 0
        while place < self.n_rows:
            stop = min(place + WINDOW, self.n_rows)
            named = np.flatnonzero(forced[place:stop])
            stop = place + int(named[0]) + 1 if len(named) else stop
            ways = list(self._list_sums(above, levels, starts, place, stop))
            names = np.where(forced[place:stop], 0.0, math.log2(self.n_rows))
            names += math.log2(max(len(ways), 1))
            costs = names.copy()
            if summed is None:
                costs += np.isfinite(self.values[place:stop]).sum(axis=1)
            best = np.full(stop - place, -np.inf)
            chosen: dict[int, tuple[int, IntArray | None, FloatArray, IntArray]] = {}
            for level, rows, sums in ways:
                n = sums.shape[1]
                gains, right = self._compare(sums, slice(place, place + n), rounded, worth)
                bits = (np.maximum(gains, 0) if summed is None else gains[:, summed]).sum(axis=1)
                bits[sums[4, :, 0] == 0] = -np.inf  # nothing to add up
                for k in np.flatnonzero(bits > best[:n]).tolist():
                    best[k], chosen[k] = bits[k], (level, rows, gains[k], right[k])
            pays = (best > costs) | (forced[place:stop] & np.isfinite(best))
            if not pays.any():
                place = stop
                continue
            k = int(np.argmax(pays))
            level, rows, gains, right = chosen[k]
            cost = float(names[k])
            place += k
            if rows is None:
                start = starts[level]
                rows = start + np.flatnonzero(levels[start:place] == 0)
            found.append(_Found(place, rows, level + 1, gains, right, cost))
            if len(found) == MOST_WRONG and not any((each.right > 0).any() for each in found):
                return []  # blank somewhere, but no sums
            levels[place] = level + 1
            above[:, place + 1 :] -= self.parts[:, [place]]
            starts += [0] * (level + 2 - len(starts))
            place += 1
            starts[: level + 1] = [place] * (level + 1)
        return found

    def _list_sums(
        self, above: FloatArray, levels: IntArray, starts: list[int], place: int, stop: int
    ) -> Iterator[tuple[int, IntArray | None, FloatArray]]:
        """Yield what rows may be totals of: the level, the totals if it is these, and the sums."""
        for level, start in enumerate(starts):
            if not level or start < starts[level - 1]:
                yield level, None, above[:, place:stop] - above[:, [start]]
        if place == starts[0]:  # totals of totals follow at once
            for level, start in enumerate(starts[1:], 1):
                rows = start + np.flatnonzero(levels[start:place] == level)
                if len(rows) > 1:
                    yield level, rows, self.parts[:, rows].sum(axis=1)[:, None]

    def _compare(
        self, sums: FloatArray, rows: slice, rounded: bool, worth: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Return the bits that sums save of each cell, and 1 if it is the sum, -1 if it is not."""
        total, sizes, n_filled, n_blank, n_added = sums
        unit = self.cells.resolution
        off = np.abs(self.values[rows] - total)
        tolerance = unit / 2 + ROUNDING * sizes
        gains = worth[rows]
        if rounded:
            noise = unit * np.sqrt(np.maximum(n_added, 1) / 12)
            tolerance = tolerance + OUTLYING * noise
            gains = gains + np.log2(
                np.column_stack(
                    [round_normal(off[:, j], noise[:, j], unit[j]) for j in range(self.n_columns)]
                )
            )
        is_sum = off <= tolerance
        # A wrong cell is off by a number of any size, d with a probability of about 1/d: of units,
        # or of tens of them, of hundreds, and so on.
        with np.errstate(invalid="ignore", over="ignore"):
            n_units, most = np.maximum(np.round(off / unit), 1.0), np.maximum(sizes / unit, 1.0)
            near = np.zeros(off.shape)
            largest = min(float(np.nanmax(most)), sys.float_info.max)
            places = np.arange(1 + math.floor(math.log10(largest)))
            for ten in 10.0**places:
                number = np.where(n_units % ten == 0, n_units / ten, np.inf)
                cost = np.log2(2 * number * (1 + np.log(most)) * len(places))
                near = np.maximum(near, np.where(n_units <= most, worth[rows] - cost, 0.0))
        gains = np.where(is_sum, gains, near)
        # The only number above it would be repeated, which is not a sum.
        gains = np.where(n_filled > 1, gains, 0.0)
        gains = gains + np.where(is_sum, 0.0, np.log2(RATES_OF_ERRORS[-1]))
        right = np.where(is_sum, 1, -1)
        unknown = np.isnan(off) | (~is_sum & (n_blank > 0))
        return np.where(unknown, 0.0, gains), np.where(unknown, 0, right)
