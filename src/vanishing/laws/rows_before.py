"""Which columns are worth deriving from other cells: those that a law pays for.

Any column could be one that is told by the row before, or the larger one of two others. So a few
rows are asked first: is x - previous x a signed sum of up to three other columns, or a product of
two, in most of them? What is left is judged as all laws are (``model.py``), under two conditions.
The column must not be told as well by the rows above and below, as counters are, and rows in which
nothing happens do not count, since they only say that a value stays. The choice of the column, of
the groups and of the order costs bits, too.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import Candidate, Term, measure_number, measure_structure
from vanishing.laws.cells import Cells, find_last_unit, find_resolution
from vanishing.laws.derived import (
    FUNCTIONS,
    ROWS,
    DerivedColumn,
    Keys,
    compute_function,
    compute_step,
    find_after,
    read_step,
    write_step,
)
from vanishing.laws.model import ENOUGH_BITS, Evidence, can_be_errors, judge
from vanishing.laws.propose import MOST, tidy
from vanishing.laws.selection import MOST_ROWS
from vanishing.laws.soundness import is_sound
from vanishing.levels import BLOCK, SAME_NUMBER

#: Rows that are asked whether a derived column is worth a judgment; most of them must agree. An
#: eighth of them is asked first.
PROBE = 64
#: Equations of a column that are judged, those that most rows agree with first.
MOST_CHAINS = 4

#: Products of columns with signs: their sum is what is added to the row before.
Flow = tuple[tuple[Term, float], ...]


@dataclass
class Derivation:
    """Derived columns, their cells, and the equations that speak of them.

    In the equations, they come after the ``n_columns`` columns of the table.
    """

    n_columns: int
    columns: list[DerivedColumn] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def indices(self) -> frozenset[int]:
        """The places of the derived columns."""
        return frozenset(range(self.n_columns, self.n_columns + len(self.columns)))

    @property
    def functions(self) -> dict[int, tuple[str, ...]]:
        """The places of those that are functions of the same row, with the columns they take."""
        return {
            self.n_columns + i: each.sources
            for i, each in enumerate(self.columns)
            if not each.is_of_other_row
        }

    def add(self, found: "Found") -> None:
        """Add a derived column with its equation; cells are blank where one may be wrong."""
        if found.column not in self.columns:
            self.columns.append(found.column)
            self.values.append(found.values)
        place = self.columns.index(found.column)
        self.values[place] = np.where(np.isnan(found.values), np.nan, self.values[place])
        self.candidates.append(_write(found.target, self.n_columns + place, found.flow))


class Found(NamedTuple):
    """A law of a derived column: target = derived column + flow.

    ``blanks`` are the bits that tell in which rows with a row before a cell of it is blank.
    """

    bits: float
    target: int
    column: DerivedColumn
    values: FloatArray
    flow: Flow
    blanks: float = 0.0


def _write(target: int, derived: int, flow: Flow) -> Candidate:
    terms = ((target, 1),), ((derived, 1),), *(term for term, _ in flow)
    return Candidate(tuple(terms), (1.0, -1.0, *(-sign for _, sign in flow)))


class Deriver:
    """Proposes derived columns for the numbers of a table; ``keys`` tell groups and the order.

    Columns of other rows are proposed if the rows are ``in_order``.
    """

    def __init__(
        self, values: FloatArray, names: list[str], keys: Keys, *, in_order: bool = True
    ) -> None:
        self.in_order = in_order
        self.values = values
        self.names = names
        self.keys = keys
        self.columns = dict(zip(names, values.T, strict=True))
        # Evenly over the table, so that rows of all groups are asked.
        self.probe: IntArray = np.unique(np.linspace(0, len(values) - 1, PROBE).astype(np.intp))
        with np.errstate(invalid="ignore"):
            self.varying = [j for j in range(len(names)) if np.nanmax(values[:, j], initial=-np.inf)
                            > np.nanmin(values[:, j], initial=np.inf)]  # fmt: skip

    def derive(self) -> Derivation:
        """Return the columns that laws pay for."""
        derivation = Derivation(len(self.names))
        # All sums of two columns, in the rows that are asked, fit into a block.
        if len(self.varying) >= 2 and PROBE * len(self.varying) ** 2 <= BLOCK:
            chains = list(self._find_chains()) if self.in_order else []
            # Time goes one way.
            way = max(ROWS, key=lambda way: sum(
                each.bits for each in chains if each.column.function == way
            ))  # fmt: skip
            chains = [each for each in chains if each.column.function == way]
            for found in (*chains, *self._find_functions()):
                if found.column.name not in self.names:  # or a column of the table is called so
                    derivation.add(found)
        return derivation

    def find_zeros(self, blanks: BoolArray) -> set[int]:
        """Return the columns that are added to the row before where their blanks count as 0.

        Rows that lack one of them keep the equation then, but for a few that may be wrong.
        """
        found = set()
        derivation = self.derive()
        known = np.where(blanks, np.nan, self.values)
        columns = dict(zip(self.names, known.T, strict=True))
        for candidate in derivation.candidates:
            (((target, _),), ((place, _),), *terms), signs = candidate.terms, candidate.coefficients
            before = self.keys.compute(derivation.columns[place - len(self.names)], columns)
            flow = Candidate(tuple(terms), signs[2:]).evaluate_terms(self.values).sum(axis=1)
            off = np.abs(known[:, target] - before + flow)
            is_off = off > SAME_NUMBER * (np.abs(known[:, target]) + np.abs(before))
            for j in {j for term in terms for j, _ in term}:
                told = blanks[:, j] & np.isfinite(off)
                if told.any() and can_be_errors(is_off[told]):
                    found.add(j)
        return found

    # --- Other rows -------------------------------------------------------------------------------

    def _list_variants(self) -> list[DerivedColumn]:
        """Return the ways in which a row has one before it, for a column without a name."""
        groups = self.keys.list_groups()
        pairs = [each for each in combinations(groups, 2) if each[0][0] in self.keys.labels]
        by = [(), *((key,) for key in groups), *pairs]
        sides = [(function, "") for function in ROWS]
        sides += [(ROWS[0], order) for order in self.keys.list_orders()]
        return [
            DerivedColumn(function, ("",), keys, order)
            for keys, (function, order) in product(by, sides)
        ]

    def _find_chains(self) -> Iterator[Found]:
        """Yield the best law of each column that rows before tell, or rows after."""
        variants = [(each, self.keys.find_rows(each)) for each in self._list_variants()]
        flows = _Flows(self.values[self.probe], self.varying)
        # The number of columns that tell the group, which ones, and the column of the row before.
        n_variants = Counter(len(each.by) for each, _ in variants)
        costs = {n: 1 + n + math.log2(k * len(self.varying)) for n, k in n_variants.items()}
        for target in self.varying:
            ranked: list[tuple[int, int, int, DerivedColumn, Flow]] = []
            for variant, before in variants:
                groups = {name for name, _ in variant.by}
                for source, n_agree, flow in self._ask(flows, target, before):
                    terms = (j for term, _ in flow for j, _ in term)
                    used = {self.names[j] for j in (target, source, *terms)}
                    # x = next y says that y = previous x. Amounts may happen to be equal in groups.
                    is_news = source == target or variant.function == ROWS[0]
                    if is_news and groups.isdisjoint(used):
                        column = replace(variant, sources=(self.names[source],))
                        ranked.append((-n_agree, len(variant.by), len(flow), column, flow))
            ranked.sort(key=lambda each: each[:3])
            for way in ROWS:
                likely = [each[3:] for each in ranked if each[3].function == way][:MOST_CHAINS]
                # Changes that are blank in the first year of each account are of accounts.
                yield from _find_best(
                    self._judge_chain(
                        target, replace(column, starts_at_zero=starts), flow, costs[len(column.by)]
                    )
                    for column, flow in likely
                    for starts in (False, True)
                )

    def _ask(
        self, flows: "_Flows", target: int, before: IntArray
    ) -> Iterator[tuple[int, int, Flow]]:
        """Yield a source, how many rows of the probe agree, and the flow to the target."""
        there = before[self.probe] >= 0
        rows = self.probe[there]
        now, last = self.values[rows], self.values[before[rows]]
        x = now[:, target]
        for n_agree, flow in flows.match(x, last[:, target], np.flatnonzero(there), target):
            yield target, n_agree, flow
        # What another column was in the row before, where neither stays what it is.
        with np.errstate(invalid="ignore"):
            is_news = (now != x[:, None]) & (last[:, [target]] != x[:, None]) & np.isfinite(last)
            agree = (last == x[:, None]) & is_news
        for source in self.varying:
            if source != target and 2 * agree[:, source].sum() > is_news[:, source].sum():
                yield source, int(agree[:, source].sum()), ()

    def _judge_chain(
        self, target: int, column: DerivedColumn, flow: Flow, cost: float
    ) -> Found | None:
        """Return the law of a target and another row if it pays for itself."""
        cells = self.keys.compute(column, self.columns)
        before = self.keys.find_rows(column)
        source = self.names.index(column.sources[0])
        x = self.values[:, target]
        added = Candidate(*(tuple(each) for each in zip(*flow, strict=True))) if flow else None
        flowing = (
            np.zeros(len(x)) if added is None else added.evaluate_terms(self.values).sum(axis=1)
        )
        with np.errstate(invalid="ignore"):
            off = x - cells - flowing
            off[np.abs(off) <= SAME_NUMBER * (np.abs(x) + np.abs(cells))] = 0.0
            first = off[(before < 0) & np.isfinite(off)] != 0
            if column.starts_at_zero and 2 * first.sum() >= len(first):
                return None  # most of them do not
            if added is None:
                own = np.where(before >= 0, x[before], np.nan)
                stays = (x == self.values[:, source]) | (x == own)
            else:
                stays = (off == 0) & (flowing == 0)
        is_blank = np.isnan(flowing[before >= 0])  # of changes, not of balances
        n_blank, n_known = int(is_blank.sum()), int((~is_blank).sum())
        # The logarithm of the number of ways in which so many are blank.
        ways = betaln(n_blank + 1, n_known + 1) + math.log(n_blank + n_known + 1)
        blanks = -float(ways) / math.log(2)
        if source == target:
            cells[_follow(off, find_after(before), cells)] = np.nan
        evidence = self._judge(target, cells, flow, stays & (before >= 0))
        if evidence is None:
            return None
        bits = evidence.bits - cost
        return Found(bits, target, column, cells, flow, blanks) if bits > ENOUGH_BITS else None

    def _judge(
        self,
        target: int,
        derived: FloatArray,
        flow: Flow,
        excluded: BoolArray,
        *,
        sources: tuple[int, ...] = (),
        follows_trends: bool = True,
    ) -> Evidence | None:
        """Judge the equation: target = derived column + flow.

        ``sources`` are the columns that a function of a row is computed from. What
        ``follows_trends`` must say more than the rows above and below.
        """
        candidate = _write(target, len(self.names), flow)
        columns = [*candidate.columns, *sources]
        rows = slice(MOST_ROWS)
        cells = Cells(np.column_stack([self.values, derived])[rows, columns])
        place = {j: i for i, j in enumerate(columns)}
        if sources:  # it is not rounded, as it is computed here
            cells.resolution[place[len(self.names)]] = find_last_unit(derived)
            cells.see_sources({place[len(self.names)]: [place[j] for j in sources]})
        terms = tuple(tuple((place[j], power) for j, power in term) for term in candidate.terms)
        local = replace(candidate, terms=terms)
        at = place[target]
        if follows_trends and cells.log_between[:, at].sum() > cells.log_alone[:, at].sum():
            cells.log_alone[:, at] = cells.log_between[:, at]
        evidence = judge(local, cells, {}, [at], excluded=excluded[rows])
        if evidence is None or not is_sound(evidence, cells, {}, []):
            return None
        # There are more columns to choose from than those of the equation.
        length = measure_structure(local, len(cells.varying))
        longer = measure_structure(candidate, len(self.varying) + 1) - length
        return replace(evidence, bits=evidence.bits - longer)

    # --- Functions of a row -----------------------------------------------------------------------

    def _find_functions(self) -> Iterator[Found]:
        """Yield the best law of each column that is a function of one or two others."""
        first, second = np.array(list(combinations(self.varying, 2)), dtype=np.intp).T
        a, b = self.values[self.probe][:, first], self.values[self.probe][:, second]
        sizes = np.abs(a) + np.abs(b)
        cost = math.log2(len(FUNCTIONS) * len(first))
        proposed: dict[int, list[tuple[int, int, str]]] = {j: [] for j in self.varying}
        with np.errstate(invalid="ignore"):
            for function in FUNCTIONS:
                cells = compute_function(function, a, b)
                for target, found in proposed.items():
                    x = self.values[self.probe, target, None]
                    near = np.abs(cells - x) <= SAME_NUMBER * sizes
                    is_news = ((x != 0) | (cells != 0)) & np.isfinite(cells + x)
                    n_agree = (near & is_news).sum(axis=0)
                    is_other = (first != target) & (second != target)
                    kept = np.flatnonzero(is_other & (2 * n_agree > is_news.sum(axis=0)))
                    found += [(-int(n_agree[k]), k, function) for k in kept.tolist()]
        for target, found in proposed.items():
            judged = [
                self._judge_function(target, function, (int(first[k]), int(second[k])), cost)
                for _, k, function in sorted(found)[:MOST_CHAINS]
            ]
            yield from _find_best([*judged, *self._find_steps(target, cost)])

    def _find_steps(self, target: int, cost: float) -> Iterator[Found | None]:
        """Yield laws of a column that holds the whole numbers below or above a part of another.

        Each row of y = floor(x / k) says that x / (y + 1) < k <= x / y.
        """
        asked = self.values[self.probe]
        y = asked[:, [target]]
        if np.mean(np.isnan(y) | (y == np.round(y))) < MOST:  # some may be wrong
            return
        units = np.array([find_resolution(column) for column in asked.T])

        def bound(below: float, above: float, off: FloatArray) -> tuple[FloatArray, FloatArray]:
            with np.errstate(all="ignore"):
                is_told = (y + above > 0) & (asked > 0)
                low = np.where(is_told, (asked - off) / (y + below), -np.inf)
                high = np.where(is_told, (asked + off) / (y + above), np.inf)
            return np.sort(low, axis=0), np.sort(high, axis=0)

        rounded = bound(0.5, -0.5, units / 2)
        for name, below, above in (("floor", 1, 0), ("ceil", 0, -1)):
            low, high = bound(below, above, 0 * units)
            # All rows allow the number, or nearly all.
            for n_wrong in {0, len(asked) // 10}:
                least, most = low[-1 - n_wrong], high[n_wrong]
                possible = (most - least > SAME_NUMBER * np.abs(most)) & (least > 0)
                for source in np.flatnonzero(possible & np.isfinite(most)).tolist():
                    middle = (least[source] + most[source]) / 2
                    divisor = tidy(middle, (most[source] - middle) / middle + SAME_NUMBER)
                    # The rows leave an interval for the divisor. If numbers with as many digits are
                    # closer to each other than that, one of them is in it by chance.
                    digits = Decimal(str(divisor)).normalize().as_tuple().digits
                    written = int("".join(map(str, digits)))
                    if written * (most[source] - least[source]) > most[source] / 2:
                        continue
                    # Of large numbers, a step of one part is another part that is rounded.
                    first, last = float(rounded[0][-1, source]), float(rounded[1][0, source])
                    part = tidy((first + last) / 2, (last - first) / (first + last))
                    if first < last and measure_number(part) < measure_number(divisor):
                        continue
                    function = write_step(name, divisor)
                    cells = compute_step(name, divisor, asked[:, source])
                    n_known = np.isfinite(cells + y[:, 0]).sum()
                    if source != target and 2 * (cells == y[:, 0]).sum() > n_known:
                        length = cost + measure_number(divisor)
                        yield self._judge_function(target, function, (source,), length)

    def _judge_function(
        self, target: int, function: str, sources: tuple[int, ...], cost: float
    ) -> Found | None:
        """Return the law of a function if it says more than what is equal to it in many rows."""
        column = DerivedColumn(function, tuple(self.names[j] for j in sources))
        cells = self.keys.compute(column, self.columns)
        parts = self.values[:, sources].T
        x = self.values[:, target]
        with np.errstate(invalid="ignore"):
            holds = np.abs(x - cells) <= SAME_NUMBER * np.abs(parts).sum(axis=0)
        nothing = np.zeros(len(x), dtype=bool)
        step = read_step(function)  # its divisor is fitted
        evidence = self._judge(
            target, cells, (), nothing, sources=sources, follows_trends=step is not None
        )
        if evidence is None:
            return None
        # Where one side of the function is the same, it says no more than that side does.
        if step is None:
            sides: tuple[FloatArray, ...] = FUNCTIONS[function][1](parts[0], parts[1])
        else:
            quotients = parts[0] / step[1]
            sides = (quotients + np.nanmedian(cells - quotients),)  # linear in most rows
        with np.errstate(invalid="ignore"):
            told = [holds & (np.abs(cells - each) > SAME_NUMBER * np.abs(each)) for each in sides]
        gains = [float(evidence.gains[each[:MOST_ROWS]].sum()) for each in told if holds.any()]
        bits = min([evidence.bits, *gains]) - cost
        return Found(bits, target, column, cells, ()) if bits > ENOUGH_BITS else None


class _Flows:
    """Signed sums of up to three columns, and products of two, in the rows of a probe."""

    def __init__(self, values: FloatArray, columns: list[int]) -> None:
        self.terms: list[Term] = [((j, 1),) for j in columns]
        self.terms += [((i, 1), (j, 1)) for i, j in combinations(columns, 2)]
        cells = Candidate(tuple(self.terms), (1.0,) * len(self.terms)).evaluate_terms(values)
        #: The places of the terms, and their signs, of which the first is positive.
        self.chosen: list[tuple[tuple[int, ...], tuple[float, ...]]] = [
            ((i,), (1.0,)) for i in range(len(self.terms))
        ]
        for n_terms in (2, 3) if PROBE * len(columns) ** 3 <= BLOCK else (2,):
            ways: list[tuple[float, ...]] = [
                (1.0, *signs) for signs in product((1.0, -1.0), repeat=n_terms - 1)
            ]
            self.chosen += product(combinations(range(len(columns)), n_terms), ways)
        self.sums = np.column_stack([cells[:, [*i]] @ signs for i, signs in self.chosen])
        self.used: BoolArray = np.zeros((len(self.chosen), values.shape[1]), dtype=bool)
        for k, (places, _) in enumerate(self.chosen):
            self.used[k, [j for i in places for j, _ in self.terms[i]]] = True

    def match(
        self, x: FloatArray, last: FloatArray, rows: IntArray, target: int
    ) -> Iterator[tuple[int, Flow]]:
        """Yield how many rows agree with a flow from the last to the present cell, and the flow."""
        change, size = x - last, SAME_NUMBER * (np.abs(x) + np.abs(last))
        moving = np.flatnonzero(np.isfinite(change) & (change != 0))
        if len(moving) < 2:
            return
        first = moving[np.unique(np.linspace(0, len(moving) - 1, PROBE // 8).astype(np.intp))]
        free = np.flatnonzero(~self.used[:, target])
        with np.errstate(invalid="ignore"):
            for sign in (1.0, -1.0):
                off = np.abs(change[first, None] - sign * self.sums[np.ix_(rows[first], free)])
                agree = (off <= size[first, None]).sum(axis=0)
                kept = free[2 * agree >= len(first)]
                sums = sign * self.sums[np.ix_(rows, kept)]
                near = np.abs(change[:, None] - sums) <= size[:, None]
                is_news = ((change != 0)[:, None] | (sums != 0)) & np.isfinite(
                    change[:, None] + sums
                )
                n_agree = (near & is_news).sum(axis=0)
                for k in np.flatnonzero(2 * n_agree > is_news.sum(axis=0)).tolist():
                    places, signs = self.chosen[kept[k]]
                    flow = (
                        (self.terms[i], sign * each) for i, each in zip(places, signs, strict=True)
                    )
                    yield int(n_agree[k]), tuple(flow)


def _find_best(found: Iterable[Found | None]) -> list[Found]:
    """Return the law that says most beside its blanks, if there is one."""
    laws = [each for each in found if each is not None]
    return [max(laws, key=lambda each: each.bits - each.blanks)] if laws else []


def _follow(off: FloatArray, after: IntArray, cells: FloatArray) -> BoolArray:
    """Return the rows that are off only because the cell before is wrong: it is off by as much."""
    follows = np.zeros(len(off), dtype=bool)
    tolerance = SAME_NUMBER * np.abs(np.nan_to_num(cells))
    for row in np.flatnonzero(np.nan_to_num(off) != 0).tolist():
        following = after[row]
        # A row that follows is not a wrong cell itself, whatever the order of the rows.
        if following >= 0 and not follows[row] and np.isfinite(off[following]):
            follows[following] = abs(off[row] + off[following]) <= tolerance[following]
    return follows
