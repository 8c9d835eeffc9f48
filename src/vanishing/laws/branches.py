"""Laws of few numbers: y = k x with another k for each category, or with one of a few.

Each row keeps one of several equations f = k t that differ in the number k alone: the rate of a tax
in each country, an hourly wage that changed at a date. ``model.judge`` gives the bits that each
equation saves in its own rows. What is to be paid in addition is to say which equation a row keeps:

- if a column tells it, once for each of its values, or for each bound between them;
- otherwise for each row, -log₂ of the share of the rows that keep the same equation.

The latter is tried last, when no other law tells the column. Rows that keep none of the equations,
or another one than their value says, are broken.
"""

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice

import numpy as np
from scipy.special import rel_entr

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import Candidate, Term, measure_number, measure_structure, predict
from vanishing.laws.cells import LEAST_PROBABILITY, Cells
from vanishing.laws.conditions import Condition, ConditionCells, Division, list_divisions
from vanishing.laws.model import ENOUGH_BITS, Evidence, can_be_errors, judge
from vanishing.laws.propose import MOST_COMBINATIONS, SOME_ROWS, multiply, tidy
from vanishing.laws.selection import Selection, Told
from vanishing.levels import ROUNDING, SAME_NUMBER


@dataclass(frozen=True)
class Form:
    """Equations f = k t: a column and what it is divided by, or two columns and their difference.

    ``fixed`` are the terms of f with their coefficients, ``free`` is the term t.
    """

    target: int
    fixed: tuple[tuple[Term, float], ...]
    free: Term

    @property
    def columns(self) -> set[int]:
        """The columns of the equations."""
        return {j for term, _ in (*self.fixed, (self.free, 1.0)) for j, _ in term}

    def make(self, number: float) -> Candidate:
        """Return the equation f = k t with one number."""
        terms = [*self.fixed, (self.free, -number)] if number else list(self.fixed)
        return Candidate(tuple(term for term, _ in terms), tuple(value for _, value in terms))

    def measure(self, cells: Cells, rows: IntArray) -> tuple[FloatArray, ...]:
        """Return f and t in rows, NaN for blanks, and by how much rounding may change each.

        Whole numbers in t are not rounded.
        """
        values, free = cells.values[rows], Candidate((self.free,), (1.0,))
        fixed = Candidate(*zip(*self.fixed, strict=True))
        parts = fixed.evaluate_terms(values)
        off = 16 * ROUNDING * np.abs(parts).sum(axis=1)
        for j in fixed.columns:
            off = off + np.abs(fixed.differentiate(values, j)) * cells.resolution[j] / 2
        slack = np.zeros(len(rows))
        for j in free.columns:
            if cells.resolution[j] < 1:
                slack = slack + np.abs(free.differentiate(values, j)) * cells.resolution[j] / 2
        return parts.sum(axis=1), free.evaluate_terms(values)[:, 0], off, slack


@dataclass(frozen=True)
class Branch:
    """One equation of a form, and the rows that it speaks about; None if any row may keep it."""

    number: float
    bits: float
    rounded: tuple[int, ...]
    condition: Condition | None


@dataclass(frozen=True)
class Branches:
    """The equations of a form that pay for themselves together."""

    form: Form
    branches: tuple[Branch, ...]
    bits: float
    #: Bits that they save, row by row.
    gains: FloatArray


def find_branches(
    selection: Selection,
    names: Sequence[str],
    columns: Mapping[str, ConditionCells],
    deadline: float,
    *,
    is_last: bool,
) -> list[Branches]:
    """Find laws of few numbers among columns left to explain, and add them to what is selected.

    They replace those of the same columns, and those with noise, if they say more. ``columns`` are
    those that may tell which number a row has. What ``is_last`` is looked for after the laws of
    several columns: then any number may tell it, or each row has one of them by itself.
    """
    cells = selection.cells
    divisions = [each for each in list_divisions(columns) if is_last or not each.comes_last]
    if not divisions and not is_last:
        return []
    by_values = {each.column for each in divisions if not each.bounds}
    switches = {j for j in range(len(names)) if names[j] in by_values}
    proposed: list[tuple[float, Branches, list[Evidence]]] = []
    for form in _list_forms(selection):
        if time.thread_time() > deadline:
            break
        among = form.columns | switches
        told = form.columns | selection.find_dependents(form.target)
        rivals = [
            law
            for law in selection.laws
            if among.issuperset(law.candidate.columns)
            or (law.noise and form.target in law.candidate.columns)
            # Fitted numbers beside what tells the branches imitate these, such as
            # gross = 1.1 net - 0.1 reduced net where tax is 0 or 0.1 net.
            or (
                law.n_fitted
                and not switches.isdisjoint(law.candidate.columns)
                and not told.isdisjoint(law.candidate.columns)
            )
        ]
        others = selection.leave_out(*rivals)
        if others.is_free(form.target, form.columns):
            dependent = others.find_dependents(form.target) | {form.target}
            aside = {names[j] for j in dependent}
            beside = [each for each in divisions if each.column not in aside]
            found = _judge_form(form, cells, beside, by_chance=is_last)
            if found is not None:
                lost = [law for law in rivals if not _is_product(law.candidate, found, cells)]
                if any(_follows(found, law) for law in lost):
                    continue
                proposed.append((found.bits - sum(law.bits for law in lost), found, rivals))
    accepted = []
    for more, found, rivals in sorted(proposed, key=lambda each: -each[0]):
        others = selection.leave_out(*rivals)
        dependent = others.find_dependents(found.form.target)
        condition = found.branches[0].condition
        is_told = condition is not None and condition.column in {names[j] for j in dependent}
        if (
            more <= ENOUGH_BITS
            or is_told
            or not others.is_free(found.form.target, found.form.columns)
        ):
            continue
        selection.laws, selection.known = others.laws, others.known
        selection.tell(Told(found.form.target, frozenset(found.form.columns), found.gains))
        accepted.append(found)
    return accepted


def _follows(found: Branches, law: Evidence) -> bool:
    """Say whether an equation of fewer numbers holds wherever branches do: they are no news."""
    n_numbers = len({branch.number for branch in found.branches})
    is_shorter = not law.noise and len(law.candidate.terms) < n_numbers
    tells = law.target == found.form.target
    return is_shorter and tells and not law.broken[found.gains > 0].any()


def _is_product(candidate: Candidate, found: Branches, cells: Cells) -> bool:
    """Say whether an equation is a product of branches: it holds wherever several of them do."""
    values = np.random.default_rng(0).permuted(cells.values, axis=0)
    n_kept = 0
    for number in {each.number for each in found.branches}:
        equation = found.form.make(number)
        values[:, found.form.target] = predict(equation, values, found.form.target)
        terms = candidate.evaluate_terms(values)
        sizes = np.abs(terms).sum(axis=1)
        known = np.isfinite(sizes)
        n_kept += bool((np.abs(terms.sum(axis=1)) <= SAME_NUMBER * sizes)[known].all())
    return n_kept > 1


def _list_forms(selection: Selection) -> Iterator[Form]:
    """Return the forms of columns that no law tells yet, the simple ones first."""
    cells = selection.cells
    told = {
        law.target
        for law in selection.laws
        if not (law.noise or law.broken.any())
        and (law.candidate.degree == 1 or len(law.candidate.terms) == 2)  # not a product
    }
    own = [j for j in cells.varying.tolist() if j not in cells.derived]
    targets = [j for j in own if j not in told]
    alone = {j: (((j, 1),), 1.0) for j in targets}
    ratios = (Form(y, (alone[y],), ((x, 1),)) for y in targets for x in own if x != y)
    changes = (Form(y, (alone[y], (((x, 1),), -1.0)), ()) for y in targets for x in own if x < y)
    products = (
        Form(y, (alone[y],), multiply(i, j))
        for y in targets
        for i, j in combinations(own, 2)
        if y not in (i, j)
    )
    return islice(chain(ratios, changes, products), MOST_COMBINATIONS // SOME_ROWS)


class _Ratios:
    """The numbers k = f / t of the rows that have them, in order, and how far off each may be."""

    def __init__(self, form: Form, cells: Cells) -> None:
        complete = np.asarray(cells.present[:, sorted(form.columns)].all(axis=1))
        rows = _find_first(cells, form.columns, complete)
        top, bottom, off, slack = form.measure(cells, rows)
        with np.errstate(all="ignore"):
            values = top / bottom
            errors = (off + np.abs(values) * slack) / np.abs(bottom)
            errors += ROUNDING * np.abs(values)
        known = np.flatnonzero(np.isfinite(values) & np.isfinite(errors))
        known = known[np.argsort(values[known])]
        self.values, self.errors = values[known], errors[known]
        #: Bits that an equation needs to pay for itself.
        length = measure_structure(form.make(1.0), cells.count_choices(form.columns))
        self.enough = ENOUGH_BITS + length

    def agree(self, number: float) -> BoolArray:
        """Say which rows may have a number."""
        return np.asarray(np.abs(self.values - number) <= self.errors)

    def score(self, rows: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return how many bits the rows near each save beside their neighbors, and where they are.

        If k of m neighboring rows are within a part p of their range, that saves m times the
        divergence of k / m from p.
        """
        values, errors = self.values[rows], self.errors[rows]
        n_rows = len(values)
        first = np.searchsorted(values, values - 2 * errors, side="left")
        last = np.searchsorted(values, values + 2 * errors, side="right")
        n_near = last - first
        reach = math.isqrt(n_rows) // 2 + 1
        low, high = np.maximum(first - reach, 0), np.minimum(last + reach, n_rows) - 1
        n_around = high - low + 1
        widths = np.maximum(values[high] - values[low], np.finfo(float).tiny)
        # Rounding moves the rows at both ends, too.
        part = np.clip(6 * errors / widths, LEAST_PROBABILITY, 1.0)
        share = n_near / n_around
        bits = rel_entr(share, part) + rel_entr(1 - share, 1 - part)
        bits = np.where(share > part, n_around * bits / math.log(2), 0.0)
        return bits, first, last

    def find_numbers(self, rows: BoolArray, known: Sequence[float] = ()) -> Iterator[float]:
        """Yield numbers that several of some rows have, those that most of them speak for first.

        Rows that have ``known`` ones are neighbors of the others only.
        """
        values, errors = self.values[rows], self.errors[rows]
        bits, first, last = self.score(rows)
        bits[last - first < 3] = 0.0
        for each in known:
            bits[self.agree(each)[rows]] = 0.0
        while len(bits) and bits.max() >= self.enough:
            middle = int(np.argmax(bits))
            members = slice(first[middle], last[middle])
            number = _choose_number(values[members], errors[members])
            yield number
            bits[self.agree(number)[rows]] = 0.0
            bits[middle] = 0.0


def _choose_number(ratios: FloatArray, errors: FloatArray) -> float:
    """Return a short number that most ratios allow, of the shortest ones for some of them."""
    low, high = ratios - errors, ratios + errors
    surest = np.argsort(errors)[: math.isqrt(len(errors)) + 1]
    bounds = list(zip(low[surest].tolist(), high[surest].tolist(), strict=True))
    low, high = np.sort(low), np.sort(high)[::-1]
    for place in (len(low) - 1, 9 * len(low) // 10):  # nearly all: one may be wrong
        bounds.append((float(low[place]), float(high[place])))
    found: list[float] = []
    for first, last in bounds:
        if first <= 0 <= last:
            found.append(0.0)
        elif first <= last:
            middle = (first + last) / 2
            found.append(tidy(middle, (last - first) / 2 / abs(middle)))
    numbers = np.unique(found)
    # A row that a shorter number leaves out may be wrong: it must be worth the digits.
    bits = [min(measure_number(abs(each)), -2 * math.log2(LEAST_PROBABILITY)) if each else 0.0
            for each in numbers.tolist()]  # fmt: skip
    n_kept = (np.abs(ratios - numbers[:, None]) <= errors).sum(axis=1)
    return float(numbers[np.argmin(np.array(bits) - ENOUGH_BITS * n_kept)])


def _judge_form(
    form: Form, cells: Cells, divisions: Sequence[Division], *, by_chance: bool
) -> Branches | None:
    """Return the equations of a form with the cheapest way to tell which one a row keeps.

    It may be ``by_chance``, which is to be said for each row.
    """
    ratios = _Ratios(form, cells)
    if len(ratios.values) < 3:
        return None
    # Those that are known best tell the numbers: the others are compatible with many.
    numbers = list(ratios.find_numbers(ratios.errors <= np.median(ratios.errors)))
    if not numbers:
        return None
    numbers += list(ratios.find_numbers(np.ones(len(ratios.values), dtype=bool), numbers))
    top, bottom, off, slack = form.measure(cells, np.arange(len(cells.values)))
    complete = np.isfinite(top) & np.isfinite(bottom)
    k = np.array(numbers)
    tolerance = (off[:, None] + np.abs(k) * slack[:, None]) * (1 + SAME_NUMBER)
    with np.errstate(invalid="ignore"):
        fits = np.abs(top[:, None] - k * bottom[:, None]) <= tolerance
    # Rows that keep several equations are those of the one that most rows keep.
    order = np.argsort(-fits.sum(axis=0), kind="stable")
    numbers, fits = [numbers[b] for b in order], fits[:, order]
    chosen = np.where(fits.any(axis=1) & complete, fits.argmax(axis=1), -1)
    for estimate in (_bound_number, _judge_number):  # nearly all forms end at the first one
        judged = [estimate(form, k, chosen == b, cells) for b, k in enumerate(numbers)]
        able = [b for b, each in enumerate(judged) if each is not None]
        if not able or all(not numbers[b] for b in able):
            return None
        problem = _Problem(
            form, cells, [numbers[b] for b in able], fits[:, able], complete,
            [each for each in judged if each is not None],
        )  # fmt: skip
        found = problem.solve(divisions, by_chance=by_chance)
        if found is None:
            return None
    return found


@dataclass(frozen=True)
class _Judged:
    """What an equation saves in its rows, row by row, and what it costs."""

    gains: FloatArray
    cost: float
    rounded: tuple[int, ...]


def _bound_number(form: Form, number: float, rows: BoolArray, cells: Cells) -> _Judged | None:
    """Return at least the bits that ``_judge_number`` gives."""
    candidate = form.make(number)
    gains = np.where(rows, -cells.log_alone[:, form.target], 0.0)
    cost = measure_structure(candidate, cells.count_choices(form.columns)) if number else 1.0
    first = _find_first(cells, form.columns, rows)
    levels = cells.levels[first][:, list(candidate.columns)]
    if gains[first].sum() <= cost + ENOUGH_BITS * bool(number):
        return None
    if number and (levels == levels[0]).all(axis=0).any():
        return None  # a column of one value has no part in it
    return _Judged(gains, cost, ())


def _judge_number(form: Form, number: float, rows: BoolArray, cells: Cells) -> _Judged | None:
    """Judge the equation with one number in the rows that keep it."""
    candidate = form.make(number)
    if len(candidate.columns) == 1:  # 0, which the column alone tells about
        gains = np.where(rows, -cells.log_alone[:, form.target], 0.0)
        return _Judged(gains, measure_number(1.0), ())
    first = _find_first(cells, candidate.columns, rows)
    evidence = judge(candidate, cells, {}, [form.target], excluded=~rows)
    if evidence is None:
        return None
    cost = float(evidence.gains[first].sum()) - evidence.bits
    gains = np.where(evidence.broken, 0.0, evidence.gains)
    return _Judged(gains, cost, evidence.rounded)


def _find_first(cells: Cells, columns: Collection[int], rows: BoolArray) -> IntArray:
    """Return the first of rows that are alike in some columns, which are complete."""
    return cells.find_different(sorted(columns), np.flatnonzero(rows))[0]


@dataclass
class _Problem:
    """Which equation each row keeps, and how to tell it in the fewest bits."""

    form: Form
    cells: Cells
    numbers: list[float]
    fits: BoolArray
    complete: BoolArray
    judged: list[_Judged]

    def __post_init__(self) -> None:
        # Different rows of the columns count once, as in ``judge``.
        self.rows = _find_first(self.cells, self.form.columns, self.complete)
        self.gains = np.array([each.gains for each in self.judged]).T
        #: Bits of each row by each equation; a row that does not keep it is broken. Rows that
        #: repeat others are no evidence, but tell in which case they are if nothing else does.
        weights = np.where(self.complete, SAME_NUMBER, 0.0)
        weights[self.rows] = 1.0
        lost = math.log2(len(self.rows) + 2)
        self.worth = np.where(self.fits, self.gains, -lost) * weights[:, None]
        self.costs = np.array([each.cost for each in self.judged])

    def solve(self, divisions: Sequence[Division], *, by_chance: bool) -> Branches | None:
        """Return the best way to divide the rows among the equations."""
        alone, least = self._divide_by_chance()
        best = alone if by_chance else None
        for division in divisions:
            divide = self._divide_by_bounds if division.bounds else self._divide_by_values
            found = divide(division)
            if found is not None:
                bits = found.bits - math.log2(len(divisions))
                # What tells it for each row by itself tells nothing about other rows.
                if bits > max(least + ENOUGH_BITS, -math.inf if best is None else best.bits):
                    best = replace(found, bits=bits)
        return best if best is not None and best.bits > ENOUGH_BITS else None

    def _divide_by_chance(self) -> tuple[Branches | None, float]:
        """Pay for each row to say which equation it keeps; also return the bits with exceptions."""
        chosen = np.where(self.fits.any(axis=1), self.fits.argmax(axis=1), -1)
        for b, number in enumerate(self.numbers):
            if self._is_slip(number, self.numbers[:b], chosen == b):
                chosen[chosen == b] = -1
        broken = self.complete & (chosen < 0)
        there = chosen[self.rows]
        shares = np.bincount(there + 1, minlength=len(self.numbers) + 1) / len(there)
        gains = np.where(there >= 0, self.worth[self.rows, there], 0.0)
        bits = float((gains + np.log2(shares[there + 1])).sum() - self.costs.sum())
        kept = [b for b in range(len(self.numbers)) if (chosen == b).any()]
        # Zeros tell nothing about how many of the other rows are wrong.
        zeros = [b for b in kept if not self.numbers[b]]
        speaking = self.complete & ~np.isin(chosen, zeros)
        if len(kept) < 2 or not self._are_errors(broken, speaking):
            return None, bits
        branches = tuple(Branch(self.numbers[b], bits, self.judged[b].rounded, None) for b in kept)
        return Branches(self.form, branches, bits, self._take_gains(chosen)), bits

    def _is_slip(self, number: float, others: Sequence[float], rows: BoolArray) -> bool:
        """Say whether a number is one of others with a shifted decimal point or a lost sign."""
        shifts = [math.log10(abs(number / k)) for k in others if k and number]
        is_shifted = any(abs(each - round(each)) <= SAME_NUMBER for each in shifts)
        return is_shifted and self._are_errors(rows, self.complete)

    def _are_errors(self, broken: BoolArray, speaking: BoolArray) -> bool:
        """Say whether broken rows are rather wrong cells, if there are rows that speak."""
        n_columns = len(self.form.columns)
        return bool(speaking.any()) and can_be_errors(broken[speaking], n_columns)

    def _take_gains(self, chosen: IntArray) -> FloatArray:
        """Return the bits of each row by the equation that is chosen for it, -1 for none."""
        gains = np.where(self.fits, self.gains, 0.0)[np.arange(len(chosen)), chosen]
        return np.where(chosen >= 0, gains, 0.0)

    def _divide_by_values(self, division: Division) -> Branches | None:
        """Let each value of a column tell which equation its rows keep, or that they keep none."""
        return self._make(division, self._assign(self._add_up(division)), bounds=False)

    def _add_up(self, division: Division) -> FloatArray:
        """Return the bits of each value of a column by each equation."""
        sums = np.zeros((len(division.values), len(self.numbers)))
        known = division.levels >= 0
        np.add.at(sums, division.levels[known], self.worth[known])
        return sums

    def _assign(self, sums: FloatArray) -> IntArray:
        """Return the best equation of each value, -1 for none; each of them pays for itself."""
        able = np.ones(sums.shape[1], dtype=bool)
        while True:
            told = np.where(able, sums, -np.inf).argmax(axis=1)
            gains = sums[np.arange(len(sums)), told] - math.log2(able.sum() + 1)
            told = np.where((gains > 0) & able[told], told, -1)
            paid = np.array([gains[told == b].sum() - self.costs[b] for b in range(sums.shape[1])])
            poor = able & (paid <= 0) & (paid == paid[able].min(initial=np.inf))
            if not poor.any() or not (able & ~poor).any():
                return np.asarray(told)
            able &= ~poor

    def _divide_by_bounds(self, division: Division) -> Branches | None:
        """Let bounds between values tell it: the cheapest sequence of equations (Viterbi)."""
        n_values, n_numbers = len(division.values), len(self.numbers)
        sums = np.zeros((n_values, n_numbers + 1))  # the last one for rows without an equation
        sums[:, :-1] = self._add_up(division)
        # Each equation after a bound is a claim: one wrong row does not make two of them.
        price = np.full(n_numbers + 1, math.log2(n_values) + math.log2(n_numbers + 1))
        price[:-1] += ENOUGH_BITS
        before = np.cumsum(sums[:, :-1], axis=0) - sums[:, :-1]
        longest = before + sums[:, :-1] - np.minimum.accumulate(before, axis=0)
        if (longest.max(axis=0) <= self.costs + price[:-1]).all():
            return None  # no part of the rows pays for an equation
        total, origins = -np.append(self.costs, 0.0), np.zeros(sums.shape, dtype=np.intp)
        for i in range(n_values):
            best = int(np.argmax(total))
            is_new = total[best] - price > total
            origins[i] = np.where(is_new, best, np.arange(n_numbers + 1))
            total = np.where(is_new, total[best] - price, total) + sums[i]
        told, place = np.empty(n_values, dtype=np.intp), int(np.argmax(total))
        for i in range(n_values - 1, -1, -1):
            told[i] = place
            place = int(origins[i, place])
        return self._make(division, np.where(told == n_numbers, -1, told), bounds=True)

    def _make(self, division: Division, told: IntArray, *, bounds: bool) -> Branches | None:
        """Return the equations with their conditions, if these divide the rows."""
        for b in sorted(set(told.tolist()) - {-1}):
            mine = self.complete & (division.levels >= 0) & (told[division.levels] == b)
            if not self._are_errors(mine & ~self.fits[:, b], mine):
                told = np.where(told == b, -1, told)
        kept = set(told.tolist()) - {-1}
        if len(set(told.tolist())) < 2 or not any(self.numbers[b] for b in kept):
            return None
        chosen = np.where(division.levels >= 0, told[division.levels], -1)
        applies = self.complete & (chosen >= 0)
        branches, n_values = [], len(told)
        # A table of the equation of each value, also of those without any; or the bounds.
        _, which, counts = np.unique(told, return_inverse=True, return_counts=True)
        prices = -np.log2(counts[which] / n_values)
        for b in sorted(kept):
            mine = np.flatnonzero(told == b)
            parts = [mine]
            if bounds:
                parts = np.split(mine, np.flatnonzero(np.diff(mine) > 1) + 1)
                sure = self.complete & self.fits[:, b] & (self.fits.sum(axis=1) == 1)
                parts = [_trim(part, division.levels[sure], n_values) for part in parts]
            for i, part in enumerate(parts):
                price = float(prices[part].sum()) + math.log2(n_values)
                condition = division.make_condition(part.tolist())
                if bounds:
                    price = math.log2(n_values) + math.log2(len(self.numbers) + 1)
                    condition = division.make_bounds(int(part[0]), int(part[-1]))
                own = applies & np.isin(division.levels, part)
                bits = float(self.worth[own, b].sum()) - price
                bits -= 0.0 if i else self.costs[b]
                rounded = self.judged[b].rounded
                branches.append(Branch(self.numbers[b], bits, rounded, condition))
        total = sum(each.bits for each in branches)
        if not bounds:
            total -= float(prices[told < 0].sum())
        return Branches(self.form, tuple(branches), total, self._take_gains(chosen))


def _trim(part: IntArray, sure: IntArray, n_values: int) -> IntArray:
    """Return a part of the values from the first to the last one that rows tell of.

    A change is somewhere between rows that are right: blanks, wrong cells and amounts that are too
    small to tell do not say on which side of it they are.
    """
    told = np.flatnonzero(np.isin(part, sure))
    if not len(told):
        return part
    first = 0 if part[0] == 0 else told[0]
    last = len(part) - 1 if part[-1] == n_values - 1 else told[-1]
    return part[first : last + 1]
