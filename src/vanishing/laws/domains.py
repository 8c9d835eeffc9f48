"""What holds in every row besides equations: start <= end, amount >= 0, id is unique, zip -> city.

Such a rule saves bits, as a law does (``model.py``): a cell that may not be just anything is
shorter to write down. Where the rows keep a rule by chance, that chance is 2^-bits. So a rule is
judged by what the cells would have been without it: drawn from their column, or told by the row
before, since the rows of a time series are not independent. Rows to come must keep it, too. A bound
is therefore no rule if a smooth distribution would merely not have reached it yet, and the values
of a code are not known as long as some are rare.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import numpy as np
from scipy.special import log_ndtr, ndtr

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, lazy
from vanishing.data.whole_tables import Table
from vanishing.equations.text import MOST_NAMED, NAME_LENGTH, join, plain_symbol, printable
from vanishing.laws.check import Fix
from vanishing.laws.conditions import ConditionCells, measure_cells, write_cells
from vanishing.laws.derived import DerivedColumn
from vanishing.laws.law import Law
from vanishing.laws.model import ENOUGH_BITS
from vanishing.laws.selection import MOST_ROWS
from vanishing.laws.table import whole_columns
from vanishing.levels import CHANCE

#: Dates are ordered as texts are, if they are written like 2024-12-31; others are "of dates".
Kind = Literal[
    "order",
    "order of dates",
    "not negative",
    "not positive",
    "values",
    "key",
    "dependency",
    "equal",
]

ORDERS = ("order", "order of dates")
#: Share of a normal variable that is more than one standard deviation below its mean.
LOWER = float(ndtr(-1.0))


@dataclass(frozen=True)
class Domain:
    """Something that holds in every row of a table and would hardly by chance.

    Parameters
    ----------
    kind : str
        "order" or "order of dates" of two columns, "not negative", "not positive", "values" of a
        code, "key" if no value is there twice, "dependency" if the first column determines the
        second, "equal" if it is the same in each row.
    columns : tuple of str
    values : tuple of str
        What a code may be, as it is written.
    bits : float
        What the rule saves when the table is written down.
    """

    kind: Kind
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    bits: float = 0.0

    def __post_init__(self) -> None:
        n_columns = 2 if self.kind in (*ORDERS, "dependency", "equal") else 1
        if len(self.columns) != n_columns or bool(self.values) != (self.kind == "values"):
            raise ValueError(f"{self.kind!r} does not fit {self.columns} and {self.values}")

    def __str__(self) -> str:
        return f"{plain_symbol(self.columns[0])} {self.predicate}"

    @property
    def predicate(self) -> str:
        """What holds of the first column."""
        if self.kind in ORDERS:
            return f"<= {plain_symbol(self.columns[1])}"
        if self.kind == "equal":
            return f"= {plain_symbol(self.columns[1])}"
        if self.kind == "dependency":
            return f"determines {plain_symbol(self.columns[1])}"
        if self.kind == "values":
            return f"is {_join_values(self.values)}"
        return {"key": "is unique", "not negative": ">= 0", "not positive": "<= 0"}[self.kind]


def _join_values(values: Sequence[str]) -> str:
    """Write the values of a code: a range if these are whole numbers without a gap."""
    if len(values) > MOST_NAMED // 2 and all(each.lstrip("-").isdecimal() for each in values):
        numbers = sorted(map(int, values))
        if numbers[-1] - numbers[0] == len(numbers) - 1:
            return f"a whole number from {numbers[0]} to {numbers[-1]}"
    *first, last = [printable(each) for each in values[:MOST_NAMED]]
    if len(values) > MOST_NAMED:
        return f"{', '.join([*first, last])} or one of {len(values) - MOST_NAMED} others"
    return f"{', '.join(first)} or {last}" if first else last


def write_domains(domains: Sequence[Domain], first: int | None = None) -> list[str]:
    """Return what holds in every row as a line; with their numbers, if the first one is given."""
    if first is not None:
        said = [f"[{k}] {each}" for k, each in enumerate(domains, first)]
    else:  # what is the same of several columns is said once
        grouped: dict[tuple[str, str], list[str]] = {}
        for each in domains:
            name, what = plain_symbol(each.columns[0]), each.predicate
            if each.kind == "dependency":
                grouped.setdefault((f"{name} determines ", ""), []).append(what.split(" ", 1)[1])
            else:
                grouped.setdefault(("", f" {what}"), []).append(name)
        said = [
            f"{start}{join(names)}{end.replace(' is ', ' are ', 1) if names[1:] else end}"
            for (start, end), names in grouped.items()
        ]
    return [f"In every row: {'; '.join(said)}."] if said else []


# --- Cells ----------------------------------------------------------------------------------------


class DomainCells:
    """The columns of a table as numbers, as levels and as texts; each is computed once."""

    def __init__(self, n_rows: int, columns: Mapping[str, ConditionCells]) -> None:
        self.n_rows = n_rows
        self.columns = {name: np.asarray(each) for name, each in columns.items()}
        self._numbers: dict[str, FloatArray | None] = {}
        self._levels: dict[str, IntArray] = {}

    @classmethod
    def of(cls, table: Table) -> "DomainCells":
        """Return the columns of numbers, texts and dates of a table."""
        numbers = dict(zip(table.shown_names, table.values.T, strict=True))
        return cls(len(table.values), {**table.texts, **numbers})

    def take(self, rows: Sequence[int]) -> "DomainCells":
        """Return some rows."""
        columns = {name: each[rows] for name, each in self.columns.items()}
        return DomainCells(len(rows), columns)

    def find_sound(
        self, domains: Sequence[Domain], tried: list[tuple[int, Fix]], others: IntArray
    ) -> BoolArray:
        """Return which fixes, each of a cell of a row, keep all rules beside the other rows."""
        changed = self.take([row for row, _ in tried])
        for i, (_, fix) in enumerate(tried):
            if fix.column in changed.columns:
                changed.columns[fix.column][i] = fix.fix
        beside = self.take(others.tolist())
        broken = [find_broken(each, changed, beside) for each in domains]
        return np.asarray(~np.any(broken, axis=0))

    def is_text(self, name: str) -> bool:
        """Say whether a column holds texts or dates."""
        return self.columns[name].dtype.kind != "f"

    def is_code(self, name: str) -> bool:
        """Say whether a column holds texts or whole numbers."""
        return self.is_text(name) or bool(whole_columns(self.columns[name][:, None])[0])

    def numbers(self, name: str) -> FloatArray | None:
        """Return numbers in the order of the cells, NaN where there is none; None for texts."""
        if name not in self._numbers:
            cells = self.columns[name]
            self._numbers[name] = measure_cells(cells) if self.is_text(name) else cells
        return self._numbers[name]

    def levels(self, name: str) -> IntArray:
        """Return the number of the value of each cell, -1 where it is blank."""
        if name not in self._levels:
            cells = self.columns[name]
            codes: dict[str, int] = {"": -1}
            if self.is_text(name):
                texts = write_cells(cells)
                levels = np.array([codes.setdefault(each, len(codes) - 1) for each in texts])
            else:
                levels = np.unique(cells, return_inverse=True)[1].ravel()
                levels[~np.isfinite(cells)] = -1
            self._levels[name] = levels
        return self._levels[name]

    def count_values(self, name: str) -> int:
        """Return how many different values a column has."""
        return int(self.levels(name).max(initial=-1)) + 1

    def write(self, name: str) -> list[str]:
        """Return the cells as they are written, empty where they are blank."""
        return write_cells(self.columns[name])


def find_broken(domain: Domain, cells: DomainCells, others: DomainCells | None = None) -> BoolArray:
    """Return the rows that break the rule, shape (n_rows,); blanks do not.

    Of rows that agree in a column that determines another one, those break the rule that
    differ from most of them; all of them if there is no majority. If there are ``others``, each
    row is judged by itself among these.
    """
    if not cells.columns.keys() >= set(domain.columns):
        return np.zeros(cells.n_rows, dtype=bool)
    if domain.kind in ("key", "dependency"):
        rows, known = (list(zip(*map(each.write, domain.columns), strict=True))
                       for each in (cells, others or cells))  # fmt: skip
        alike, own = Counter(known), int(others is not None)
        if domain.kind == "key":
            return np.array([row[0] != "" and alike[row] + own > 1 for row in rows])
        beside = Counter(row[0] for row in known if all(row))
        return np.array([all(row) and 2 * (alike[row] + own) <= beside[row[0]] + own
                         for row in rows])  # fmt: skip
    if domain.kind == "values":
        written = cells.write(domain.columns[0])
        return np.array([text not in (*domain.values, "") for text in written])
    if domain.kind == "equal":
        pairs = zip(*map(cells.write, domain.columns), strict=True)
        return np.array([all(pair) and pair[0] != pair[1] for pair in pairs], dtype=bool)
    first, last = (cells.numbers(name) for name in (domain.columns[0], domain.columns[-1]))
    if first is None or last is None:
        return np.zeros(cells.n_rows, dtype=bool)
    with np.errstate(invalid="ignore"):
        if domain.kind in ORDERS:
            return np.asarray(first > last)
        return np.asarray(first < 0 if domain.kind == "not negative" else first > 0)


# --- Discovery ------------------------------------------------------------------------------------


def find_domains(
    cells: DomainCells,
    laws: Sequence[Law],
    derived: Sequence[DerivedColumn],
    units: Mapping[str, str],
) -> tuple[Domain, ...]:
    """Return what holds in every row besides laws, and does not follow from them.

    The laws also speak about columns that are ``derived`` from others. ``units`` are those of
    columns of numbers, "" where they are not known.
    """
    search = _Search(cells, laws, derived, units)
    codes, keys = list(search.list_codes()), list(search.list_keys())
    orders = _leave_out_implied(list(search.list_orders()))
    return (
        *orders,
        *search.list_signs(orders, {each.columns[0] for each in (*codes, *keys)}),
        *codes,
        *keys,
        *_find_equal(_leave_out_implied(list(search.list_dependencies())), cells),
    )


def _find_equal(found: list[Domain], cells: DomainCells) -> list[Domain]:
    """Say that columns are equal if they determine each other and are the same in each row.

    Few values that repeat do not tell the law a = b. But to name it takes fewer bits than a table
    of what stands beside what.
    """
    known = {each.columns for each in found}
    said = []
    for each in found:
        is_mutual = each.columns[::-1] in known
        equal = replace(each, kind="equal")
        if not is_mutual or find_broken(equal, cells).any():
            said.append(each)
        elif not any(other.columns == each.columns[::-1] for other in said):
            said.append(equal)
    return said


def _leave_out_implied(found: list[Domain]) -> list[Domain]:
    """Leave out that a <= c where a <= b and b <= c; the same of what determines what."""
    pairs = {each.columns for each in found}
    places = {name: k for k, each in enumerate(found) for name in each.columns[::-1]}

    def is_between(middle: str, first: str, last: str) -> bool:
        if not {(first, middle), (middle, last)} <= pairs:
            return False
        # Of columns that determine each other, one stands for all.
        is_same = (middle, first) in pairs or (last, middle) in pairs
        return not is_same or places[middle] < max(places[first], places[last])

    return [each for each in found if not any(is_between(name, *each.columns) for name in places)]


def _correlate(x: FloatArray) -> float:
    """Return the rank correlation of numbers with those of the row before, 0 if it is negative."""
    ranks = np.argsort(np.argsort(x, kind="stable"), kind="stable").astype(float)
    before, after = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    size = math.sqrt(float(before @ before) * float(after @ after))
    return min(max(float(before @ after) / size, 0.0), 1.0) if size else 0.0


def _measure_chance(x: FloatArray, bound: FloatArray) -> float:
    """Return -log₂ of the probability that numbers keep a lower bound; infinity if all are alike.

    Each is normal around what the one before tells, with the spread of the lower half.
    """
    middle = float(np.median(x))
    expected = middle + _correlate(x) * (x[:-1] - middle)
    off = x[1:] - expected
    centre = float(np.median(off))
    spread = centre - float(np.quantile(off, LOWER))
    if spread <= 0:
        return math.inf
    return -float(log_ndtr((expected + centre - bound[1:]) / spread).sum()) / math.log(2)


def _measure_bound(x: FloatArray) -> float:
    """Return the bits that numbers save which are known not to be negative.

    Whole numbers are rounded. Zeros that are more than half of the numbers say nothing; then every
    stretch of others is positive with a probability of one half.
    """
    x = x[:MOST_ROWS]
    if len(x) < 2:
        return 0.0
    if np.median(x) == 0:
        others = x > 0
        return float(others[0]) + float((others[1:] & ~others[:-1]).sum())
    bits = _measure_chance(x, np.full(len(x), -_find_unit(x) / 2))
    return bits if bits < math.inf else 0.0


def _find_unit(x: FloatArray) -> float:
    """Return 1 for whole numbers, which are rounded, and else 0."""
    return float((x == np.round(x)).all())


def _follow_density(x: FloatArray) -> float:
    """Return the same bits if the density goes on as it is between 0 and the median.

    Rows that repeat each other tell as much as fewer that are independent.
    """
    x = x[:MOST_ROWS] + _find_unit(x) / 2
    counts = np.histogram(x, bins=3, range=(0, float(np.median(x))))[0].astype(float)
    share = _correlate(x)
    return _extrapolate(np.maximum(counts, 1.0)) * (1 - share) / (1 + share) / math.log(2)


def _is_beyond(x: FloatArray) -> bool:
    """Say whether 0 is below any of so many further numbers: their tail is at most exponential."""
    lowest = np.sort(x)[: math.isqrt(len(x)) + 1]
    scale = float(np.mean(lowest[-1] - lowest))
    return len(lowest) * math.exp(-lowest[-1] / scale) < CHANCE if scale else bool(lowest[0] > 0)


class _Search:
    """The search for rules of each kind; ``choices`` are bits that name one among so many."""

    def __init__(
        self,
        cells: DomainCells,
        laws: Sequence[Law],
        derived: Sequence[DerivedColumn],
        units: Mapping[str, str],
    ) -> None:
        self.cells, self.units = cells, units
        #: Functions of cells of the same row.
        self.functions = {each.name: each for each in derived if not each.is_of_other_row}
        self.laws = laws
        self.names = list(cells.columns)

    @lazy
    def codes(self) -> list[str]:
        """Columns of texts and of whole numbers."""
        return [name for name in self.names if self.cells.is_code(name)]

    def _judge(self, domain: Domain, bits: float, n_choices: int) -> Iterator[Domain]:
        """Yield a rule with its bits, if these are enough to name it among others and to hold."""
        bits -= math.log2(max(n_choices, 1))
        if bits > ENOUGH_BITS:
            yield replace(domain, bits=bits)

    def _is_told(self, names: set[str]) -> bool:
        """Say whether a law tells one of two columns by the other."""
        for law in self.laws:
            sources = (self.functions[name].sources for name in law.columns
                       if name in self.functions)  # fmt: skip
            if names <= {*law.columns, *chain(*sources)} and _name_target(law) in names:
                return True
        return False

    def list_orders(self) -> Iterator[Domain]:
        """Yield pairs of columns, one of which is never larger than the other."""
        for is_date in (False, True):
            every = {
                name: numbers
                for name in self.names
                if self.cells.is_text(name) is is_date
                and (numbers := self.cells.numbers(name)) is not None
            }
            names, n_choices = list(every), len(every) * (len(every) - 1)
            # A row saves log₂(n_rows) bits at most; all of them must pay for naming the pair.
            most = self.cells.n_rows * math.log2(max(self.cells.n_rows, 1))
            if most <= ENOUGH_BITS + math.log2(max(n_choices, 1)):
                continue
            for i, j in _list_ordered(np.column_stack([*every.values()])) if n_choices else ():
                pair = names[i], names[j]
                # No order of 3 kUSD and 20 USD, nor of metres and seconds.
                units = {self.units.get(name, "") for name in pair} - {""}
                if self._is_told({*pair}) or len(units) > 1:
                    continue
                low, high = every[pair[0]], every[pair[1]]
                known = np.isfinite(low) & np.isfinite(high)
                bits = _measure_order(low[known], high[known])
                texts = (next(filter(None, self.cells.write(name))) for name in pair)
                is_iso = not is_date or all(text[4:5] == "-" for text in texts)
                kind: Kind = "order" if is_iso else "order of dates"
                yield from self._judge(Domain(kind, pair), bits, n_choices)

    def list_signs(self, orders: Sequence[Domain], others: set[str]) -> Iterator[Domain]:
        """Yield columns that never change their sign, unless laws or others tell them already."""
        others = others | {_name_target(law) for law in self.laws}
        found: list[Domain] = []
        for name in [each for each in self.names if not self.cells.is_text(each)]:
            numbers = self.cells.columns[name]
            known = numbers[np.isfinite(numbers)]
            if name in others or not len(known):
                continue
            kind: Kind = "not negative" if known.max() > 0 else "not positive"
            known = known if kind == "not negative" else -known
            # A column of 20 to 30 has a bound at 20, not at 0.
            if np.ptp(known) and 0 <= 2 * known.min() <= np.quantile(known, LOWER):
                domain = Domain(kind, (name,))
                found += self._judge(domain, _measure_bound(known), 2 * len(self.names))
        columns = {each.columns[0] for each in found}
        above = {order.columns[1] for order in orders if order.columns[0] in columns}
        return (each for each in found if each.columns[0] not in above)

    def list_codes(self) -> Iterator[Domain]:
        """Yield columns that have few values, and in which a further one would have been seen."""
        for name in self.codes:
            n_values = self.cells.count_values(name)
            if not 1 < n_values <= math.isqrt(self.cells.n_rows):
                continue
            is_text = self.cells.is_text(name)
            if is_text and self.cells.numbers(name) is not None:
                continue  # there will be other dates
            levels = self.cells.levels(name)
            levels = levels[levels >= 0]
            starts = np.append(True, levels[1:] != levels[:-1])
            # A stretch of rows with the same value counts once.
            counts = np.bincount(levels[starts], minlength=n_values).astype(float)
            # So many rows would have a further value, which is rarer than the rarest one.
            expected = _extrapolate(np.sort(counts))
            if not is_text:
                expected = min(expected, _extrapolate(counts), _extrapolate(counts[::-1]))
            written = dict(zip(self.cells.levels(name).tolist(), self.cells.write(name),
                               strict=True))  # fmt: skip
            values = [written[level] for level in range(n_values)]
            domain = Domain("values", (name,), tuple(sorted(values) if is_text else values))
            yield from self._judge(domain, expected / math.log(2), len(self.codes))

    def list_keys(self) -> Iterator[Domain]:
        """Yield columns in which no value is there twice, although chance would repeat some."""
        for name in self.codes:
            levels = self.cells.levels(name)
            n_known = int((levels >= 0).sum())
            if n_known < 2 or self.cells.count_values(name) < n_known:
                continue
            bits = _measure_key([text for text in self.cells.write(name) if text])
            numbers = self.cells.numbers(name)
            steps = np.empty(0) if numbers is None else np.diff(numbers[np.isfinite(numbers)])
            if len(steps) and ((steps > 0).all() or (steps < 0).all()) and np.ptp(steps):
                # It differs from the row before in any case, if it never goes back.
                bits = min(bits, _measure_bound(np.abs(steps) - np.abs(steps).min()))
            yield from self._judge(Domain("key", (name,)), bits, len(self.codes))

    def list_dependencies(self) -> Iterator[Domain]:
        """Yield pairs of columns, the first of which determines the second."""
        # Of other numbers, those that are mostly there more than once.
        most = min(MOST_ROWS, self.cells.n_rows)
        repeated = [name for name in self.names if name in self.codes
                    or 2 * len(np.unique(self.cells.columns[name][:most])) <= most]  # fmt: skip
        known = {name: self.cells.levels(name) for name in repeated}
        n_values = {name: self.cells.count_values(name) for name in repeated}
        sources = [name for name in self.codes if 1 < n_values[name] < self.cells.n_rows]
        n_choices = len(sources) * (len(self.names) - 1)
        for source in sources:
            for name in repeated:
                if name == source or not 1 < n_values[name] <= n_values[source]:
                    continue
                if any(set(law.columns) <= {source, name} for law in self.laws):
                    continue
                for part in (slice(MOST_ROWS), slice(None)):  # the first rows mostly refute it
                    bits = _measure_dependency(known[source][part], known[name][part])
                    if not bits:
                        break
                yield from self._judge(Domain("dependency", (source, name)), bits, n_choices)


def _extrapolate(counts: FloatArray) -> float:
    """Return how often the number before the first one is expected, from how often those are."""
    share = counts[0] / counts[1]
    # Of a normal distribution, the logarithms of the counts are a parabola.
    curvature = share / (counts[1] / counts[2]) if len(counts) > 2 else 1.0
    return float(counts[0] * min(share, 1.0) * min(curvature, 1.0))


def _list_ordered(values: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns of which the first is never larger, and their ranges overlap."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    start = values[: math.isqrt(len(values)) + 1]
    for i in range(values.shape[1]):
        with np.errstate(invalid="ignore"):
            ordered = ~(start[:, [i]] > start).any(axis=0) & (high[i] > low)
        ordered[i] = False
        for j in np.flatnonzero(ordered).tolist():
            if not (values[:, i] > values[:, j]).any():
                yield i, j


def _measure_order(low: FloatArray, high: FloatArray) -> float:
    """Return the bits that numbers save which are known to be at least as large as others."""
    gaps, low, high = high - low, low[:MOST_ROWS], high[:MOST_ROWS]
    n_rows = len(low)
    if n_rows < 2 or not gaps.any():
        return 0.0
    above = n_rows - np.searchsorted(np.sort(high), low, side="left")
    by_chance = -float(np.log2(above / n_rows).sum())
    by_chance = min(by_chance, _measure_chance(high, low))
    if _is_beyond(gaps):
        return by_chance
    # What has a bound above 0 is not negative either.
    moved = gaps - gaps.min()
    return min(by_chance, max(_measure_bound(gaps), _follow_density(gaps), _follow_density(moved)))


def _name_target(law: Law) -> str:
    """Return the column that a law tells: people compute columns from those before."""
    return law.target or law.columns[-1]


def _measure_key(texts: list[str]) -> float:
    """Return the bits that different texts save: chance would draw each character by its place."""
    width = min(max(map(len, texts)), NAME_LENGTH)
    letters = np.array([text[-width:].rjust(width) for text in texts], dtype=f"U{width}")
    places = letters.view(np.uint32).reshape(len(texts), width)
    log_same = 0.0
    for column in places.T:
        counts = np.unique(column, return_counts=True)[1] / len(texts)
        log_same += math.log2(float(counts @ counts))
    n_pairs = len(texts) * (len(texts) - 1) / 2
    return float(n_pairs * 2.0**log_same / math.log(2))


def _measure_dependency(first: IntArray, second: IntArray) -> float:
    """Return the bits that a column saves which another one determines; 0 if it does not.

    They are saved in rows whose first value is there above. Without the rule, a cell is that of the
    row before, or any other.
    """
    known = (first >= 0) & (second >= 0)
    first, second = first[known], second[known]
    beside = np.empty(int(first.max(initial=-1)) + 1, dtype=np.intp)
    beside[first] = second
    if len(first) < 2 or (beside[first] != second).any():
        return 0.0
    frequency = np.bincount(second) / len(second)
    by_chance = float(frequency @ frequency)
    same = np.append(False, second[1:] == second[:-1])
    stays = max(float(same[1:].mean()) - by_chance, 0.0) / (1 - by_chance) if by_chance < 1 else 1.0
    likelihood = stays * same + (1 - stays) * frequency[second]
    is_repeated = np.ones(len(first), dtype=bool)
    is_repeated[np.unique(first, return_index=True)[1]] = False
    return -float(np.log2(np.maximum(likelihood[is_repeated], np.finfo(float).tiny)).sum())
