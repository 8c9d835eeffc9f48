"""The laws of a table: of all proposals, those that pay for themselves together."""

import heapq
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from itertools import permutations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.units import Dimension
from vanishing.laws.candidate import (
    Candidate,
    measure_length,
    measure_structure,
    predict,
)
from vanishing.laws.cells import Cells, find_last_unit, find_resolution
from vanishing.laws.model import ENOUGH_BITS, Evidence, bound_bits, judge
from vanishing.laws.noise import NoisyProposer, list_sizes
from vanishing.laws.propose import (
    MOST_COLUMNS,
    Proposer,
    tidy,
)
from vanishing.laws.soundness import is_sound
from vanishing.levels import SAME_NUMBER

#: Rows that laws are looked for in. Further ones hardly change which equations are laws.
MOST_ROWS = 1000


class Told(NamedTuple):
    """A target that several equations tell, each in its own rows, and the bits that they save."""

    target: int
    columns: frozenset[int]
    gains: FloatArray


class Selection:
    """Laws that are accepted one after the other, the one with most bits first."""

    def __init__(
        self, cells: Cells, sources: Mapping[int, frozenset[int]] = MappingProxyType({})
    ) -> None:
        self.cells = cells
        #: The columns that functions of a row are computed from.
        self.sources = sources
        #: Columns that are computed from others: they tell targets, and are none.
        self.derived = cells.derived
        self.laws: list[Evidence] = []
        #: Bits that the laws save, row by row, by target.
        self.known: dict[int, FloatArray] = {}
        #: Targets that laws of parts of the rows tell.
        self.told: list[Told] = []

    def find_free_targets(self, candidate: Candidate) -> list[int]:
        """Return the columns of a candidate that none of its other columns depends on."""
        columns = set(candidate.columns)
        return [
            j
            for j in sorted(columns - self.derived)
            if not self.find_dependents(j) & (columns - {j})
        ]

    def is_free(self, target: int, columns: Collection[int]) -> bool:
        """Say whether an equation of some columns may tell a target."""
        return target not in self.known and not self.find_dependents(target) & (
            set(columns) - {target}
        )

    def find_dependents(self, column: int) -> set[int]:
        """Return the targets that are computed from a column, by one law or several."""
        found: set[int] = set()
        todo = [column]
        links = [(law.target, law.candidate.columns) for law in self.laws]
        links += [(each.target, tuple(each.columns)) for each in self.told]
        links += [(function, tuple(sources)) for function, sources in self.sources.items()]
        while todo:
            source = todo.pop()
            for target, columns in links:
                if target != source and target not in found and source in columns:
                    found.add(target)
                    todo.append(target)
        return found

    def find_related(self, law: Evidence) -> set[int]:
        """Return the columns of a law, and the targets of exact laws that speak of them."""
        columns = set(law.candidate.columns)
        related = {
            other.target
            for other in self.laws
            if not other.noise and columns & set(other.candidate.columns)
        }
        return columns | related

    def accept(self, law: Evidence) -> None:
        """Add a law."""
        self.laws.append(law)
        self.known[law.target] = self.known.get(law.target, 0.0) + law.gains

    def tell(self, told: Told) -> None:
        """Add a target that several equations tell."""
        self.told.append(told)
        self.known[told.target] = self.known.get(told.target, 0.0) + told.gains

    def leave_out(self, *laws: Evidence) -> "Selection":
        """Return the other laws."""
        others = Selection(self.cells, self.sources)
        for law in self.laws:
            if not any(law is each for each in laws):
                others.accept(law)
        for told in self.told:
            others.tell(told)
        return others

    def _combine_linear(self) -> list[Candidate]:
        """Return differences of linear laws that are shorter than one of them."""
        linear = [dict(zip(law.candidate.terms, law.candidate.coefficients, strict=True))
                  for law in self.laws if law.candidate.degree == 1]  # fmt: skip
        found = []
        for first, second in permutations(linear, 2):
            for term in first.keys() & second.keys():
                factor = first[term] / second[term]
                left = {
                    each: first.get(each, 0.0) - factor * second.get(each, 0.0)
                    for each in {**first, **second}
                }
                largest = max(map(abs, left.values()))
                kept = {each: value for each, value in left.items() if abs(value) > 1e-9 * largest}
                if 1 < len(kept) < len(first):
                    found.append(Candidate(tuple(kept), tuple(kept.values())))
        return found

    def complete(self) -> None:
        """Add a factor to laws that some rows break: total = price (1 - discount), if few get one.

        A column that is zero wherever the law holds, and not where it is broken, may be that of the
        factor.
        """
        for law in list(self.laws):
            others = self.leave_out(law)
            for candidate in self._add_factors(law):
                targets = others.find_free_targets(candidate)
                found = judge(candidate, self.cells, others.known, targets)
                if found is not None and found.bits > law.bits:
                    others.accept(found)
                    self.laws, self.known = others.laws, others.known
                    break

    def _add_factors(self, law: Evidence) -> Iterator[Candidate]:
        values, candidate = self.cells.values, law.candidate
        alone = ((law.target, 1),)
        if not law.broken.any() or len(candidate.terms) != 2 or alone not in candidate.terms:
            return
        place = 1 - candidate.terms.index(alone)
        term, coefficient = candidate.terms[place], candidate.coefficients[place]
        product = Candidate((term,), (-coefficient / candidate.coefficients[1 - place],))
        predicted = product.evaluate_terms(values)[:, 0]
        for j in self.cells.varying.tolist():
            told = law.broken & (np.nan_to_num(values[:, j]) != 0) & (predicted != 0)
            if j in candidate.columns or told.sum() < 2:
                continue
            ratios = (values[told, law.target] / predicted[told] - 1) / values[told, j]
            factor = float(np.median(ratios))
            error = float(np.median(np.abs(ratios - factor))) / max(abs(factor), 1e-300)
            powers = tuple(sorted((*term, (j, 1))))
            for slope in {tidy(factor, 3 * error), tidy(factor, 0.0)}:
                scale = product.coefficients[0]
                if slope:
                    yield Candidate((powers, term, alone), (slope * scale, scale, -1.0))

    def simplify(self, candidates: list[Candidate], *, has_noise: bool = False) -> bool:
        """Replace laws by shorter ones that say the same beside the other laws.

        A wrong cell breaks every law that speaks of its column. So a longer law that avoids the
        column has more bits than the one that people wrote: sales = wages + rent + profit, where
        one of the costs is wrong, instead of sales = costs + profit. The shorter law may be broken
        in rows that break another law too. Returns whether something was replaced.
        """
        candidates = candidates + self._combine_linear()
        for law in [each for each in self.laws if bool(each.noise) is has_noise]:
            others = self.leave_out(law)
            shorter = [each for each in candidates if self._is_shorter(each, law)]
            for candidate in sorted(shorter, key=lambda each: (len(each.terms), each.degree)):
                found = others.find_replacement(law, candidate)
                if found is None:
                    continue
                others.accept(found)
                is_news = not others.implies(law.candidate)
                if is_news and (has_noise or not self._loses_bits(law, found)):
                    targets = others.find_free_targets(law.candidate)
                    again = others.judge(law.candidate, targets, has_noise, self._excuse())
                    is_news = again is not None
                if not is_news:
                    self.laws, self.known = others.laws, others.known
                    return True
                others = self.leave_out(law)
        return False

    def _is_shorter(self, candidate: Candidate, law: Evidence) -> bool:
        """Say whether a candidate may replace a law."""
        if law.noise:
            size = len(self.cells.varying), law.n_rows
            return bool(set(candidate.columns) & set(law.candidate.columns)) and (
                measure_length(candidate, *size) < measure_length(law.candidate, *size)
            )
        return (
            len(candidate.terms) < len(law.candidate.terms)
            and candidate.degree <= law.candidate.degree
        )

    def _excuse(self) -> BoolArray:
        """Return the rows that break a law."""
        return np.asarray(np.logical_or.reduce([each.broken for each in self.laws]))

    def find_replacement(self, law: Evidence, candidate: Candidate) -> Evidence | None:
        """Return the evidence for a candidate in place of a law, if it says as much."""
        targets = self.find_free_targets(candidate)
        if law.noise:
            found = self.judge(candidate, targets, True)
            return found if found is not None and self._is_sound(found) else None
        if law.target in candidate.columns:
            targets = [j for j in targets if j == law.target]
        excused = law.broken | self._excuse() if self.laws else law.broken
        bounds = bound_bits(candidate, self.cells, self.known, excused)
        targets = [j for j in targets if bounds[j] > ENOUGH_BITS]
        if not targets:
            return None
        found = judge(candidate, self.cells, self.known, targets, excluded=excused)
        if found is None or found.broken.any() or (found.rounded and not law.rounded):
            return None
        return found if self._is_sound(found) else None

    def _loses_bits(self, law: Evidence, found: Evidence) -> bool:
        """Say whether a shorter law of the same target has fewer bits where no cell is wrong."""
        lost = np.where(self._excuse(), 0.0, law.gains - found.gains).sum()
        lengths = [
            measure_structure(each.candidate, self.cells.count_choices(each.candidate.columns))
            for each in (law, found)
        ]
        return found.target == law.target and bool(lost > lengths[0] - lengths[1])

    def implies(self, candidate: Candidate) -> bool:
        """Say whether a candidate follows from the laws: it holds wherever these do.

        On a contrast, columns are permuted one by one, so that no law holds by the data. Then the
        targets are computed by the laws, one after the other.
        """
        rng = np.random.default_rng(0)
        values = rng.permuted(self.cells.values, axis=0)
        for _ in self.laws:
            for law in self.laws:
                values[:, law.target] = predict(law.candidate, values, law.target)
        terms = candidate.evaluate_terms(values)
        sizes = np.abs(terms).sum(axis=1)
        known = np.isfinite(sizes) & (sizes > 0)
        off = np.abs(terms.sum(axis=1))
        return 2 * known.sum() > len(known) and bool((off <= SAME_NUMBER * sizes)[known].all())

    def drop_refuted(self) -> None:
        """Leave out laws of derived columns that rows break whose cells other laws confirm.

        If other laws hold for all cells of a row that breaks such a law, the law is wrong and not
        the row. For laws of a row alone that would be too strict: if somebody overwrites a formula
        of a spreadsheet, the formulas that use its cell still hold.
        """
        derived = [law for law in self.laws if not self.derived.isdisjoint(law.candidate.columns)]
        for law in sorted(derived, key=lambda law: law.bits):
            others = self.leave_out(law)
            confirmed = law.broken.copy()
            for column in set(law.candidate.columns) - self.derived:
                confirmed &= np.any(
                    [each.gains > 0 for each in others.laws if column in each.candidate.columns],
                    axis=0,
                )
            if confirmed.any():
                self.laws, self.known = others.laws, others.known

    def run(self, candidates: list[Candidate], deadline: float, *, has_noise: bool = False) -> bool:
        """Accept laws until no candidate pays for itself; False if the time is over before.

        Bits only become fewer as laws become known. So a candidate is judged again only when its
        former bits are the most of all.
        """

        def bound(candidate: Candidate) -> float:
            if has_noise:
                return math.inf
            return max(bound_bits(candidate, self.cells, self.known).values())

        # Bits, the order of the proposals, number of laws that were known, evidence.
        queue: list[tuple[float, int, int, Evidence | None]] = [
            (-bits, i, -1, None)
            for i, bits in enumerate(map(bound, candidates))
            if bits > ENOUGH_BITS
        ]
        heapq.heapify(queue)
        while queue:
            _, i, n_known, evidence = heapq.heappop(queue)
            if time.thread_time() > deadline:
                return False
            if evidence is not None and n_known == len(self.laws):
                if self._is_sound(evidence):
                    self.accept(evidence)
                continue
            targets = self.find_free_targets(candidates[i])
            if not targets or bound(candidates[i]) <= ENOUGH_BITS:
                continue
            evidence = self.judge(candidates[i], targets, has_noise)
            if evidence is not None:
                heapq.heappush(queue, (-evidence.bits, i, len(self.laws), evidence))
        return True

    def _find_independent(self, target: int) -> list[int]:
        """Return the columns that do not depend on a target."""
        dependents = self.find_dependents(target) | {target} | self.derived
        return [j for j in self.cells.varying.tolist() if j not in dependents]

    def _is_sound(self, evidence: Evidence) -> bool:
        """Say whether a law needs all that it says, and nothing tells its residuals."""
        others = self._find_independent(evidence.target)
        return is_sound(evidence, self.cells, self.known, others)

    def judge(
        self,
        candidate: Candidate,
        targets: list[int],
        has_noise: bool,
        excluded: BoolArray | None = None,
    ) -> Evidence | None:
        """Return the evidence for a law without noise, or with noise if that is allowed."""
        bounds = bound_bits(candidate, self.cells, self.known, excluded)
        best: Evidence | None = None
        for target in targets:
            found = noisy = None
            if bounds[target] > ENOUGH_BITS:
                found = judge(candidate, self.cells, self.known, [target], excluded=excluded)
            if has_noise if found is None else found.rounded and found.broken.any():
                noisy = judge(
                    candidate, self.cells, self.known, [target], has_noise=True, excluded=excluded
                )
            # If noise explains it better than rounding, it is a law of the search that comes later.
            if noisy is not None and (found is None or found.bits + ENOUGH_BITS < noisy.bits):
                found = noisy if has_noise else None
            if found is not None and (best is None or found.bits > best.bits - SAME_NUMBER):
                best = found
        return best


def find_zeros(values: FloatArray, seed: int, deadline: float) -> list[int]:
    """Return the columns whose blanks are zeros: sums say ten bits more if they count as 0.

    Only rows that have the total count.
    """
    blanks = np.isnan(values)
    if not blanks.any() or values.shape[1] > MOST_COLUMNS:
        return []
    rng = np.random.default_rng(seed)
    if len(values) > MOST_ROWS:
        values = values[np.sort(rng.choice(len(values), MOST_ROWS, replace=False))]
        blanks = np.isnan(values)
    resolution = Cells(values).resolution
    filled = Cells(np.where(blanks, 0.0, values), resolution)
    sums: dict[object, Candidate] = {}
    with np.errstate(all="ignore"):
        for propose in Proposer(filled, rng, deadline).list_proposals(only_sums=True):
            for candidate in propose():
                if candidate.degree == 1 and () not in candidate.terms:
                    sums.setdefault(candidate.key, candidate)
        found: set[int] = set()
        beside: dict[int, Cells] = {}
        for candidate in sums.values():
            columns = np.array(candidate.columns)
            for target in candidate.columns:
                others = columns[columns != target]
                told = ~blanks[:, target]
                zeros = others[blanks[np.ix_(told, others)].any(axis=0)]
                if found.issuperset(zeros.tolist()) or time.thread_time() > deadline:
                    continue
                if target not in beside:
                    completed = np.where(blanks, 0.0, values)
                    completed[:, target] = values[:, target]
                    beside[target] = Cells(completed, resolution)
                if bound_bits(candidate, beside[target], {})[target] <= ENOUGH_BITS:
                    continue
                with_zeros = judge(candidate, beside[target], {}, [target])
                if with_zeros is None:
                    continue
                # The sum stands by the rows that have a column, and those that lack it agree.
                for j in zeros.tolist():
                    there = judge(candidate, beside[target], {}, [target], excluded=blanks[:, j])
                    if there is not None and with_zeros.bits > there.bits + ENOUGH_BITS:
                        found.add(j)
    return sorted(found)


def select_laws(
    values: FloatArray,
    *,
    max_degree: int | None,
    noise: FloatArray | None,
    seed: int,
    deadline: float,
    callback: Callable[[int, float], object],
    derived: frozenset[int] = frozenset(),
    functions: Mapping[int, frozenset[int]] = MappingProxyType({}),
    dimensions: Sequence[Dimension | None] = (),
    proposed: Sequence[Candidate] = (),
    divide: Callable[[Selection, IntArray, bool], object] | None = None,
) -> tuple[list[Evidence], Cells, list[str]]:
    """Return the laws of a table, the cells of all its rows, and what was not tried.

    The search ends at the ``deadline`` by the thread's time. ``callback`` is called with the number
    of laws and the share of the search that is done. ``dimensions`` are what the units of columns
    measure, None if unknown. Some columns may be ``derived`` from others, and equations be
    ``proposed`` already; only these speak of ``functions`` of a row, which are given with the
    columns that they are computed from. Between the laws without noise and those with noise,
    ``divide`` is called with what is selected and the rows that laws are looked for in: it may add
    laws of parts of the rows. At the end it is called again, and told that it is the last time.
    """
    rng = np.random.default_rng(seed)
    # What is computed here from the cells of a row is not rounded.
    find_units = [find_last_unit if j in functions else find_resolution
                  for j in range(values.shape[1])]  # fmt: skip
    resolution = np.array([find(each) for find, each in zip(find_units, values.T, strict=True)])
    everything = Cells(values, resolution, noise, derived, dimensions)
    cells, drawn = everything, np.arange(len(values))
    if len(values) > MOST_ROWS:
        drawn = np.sort(rng.choice(len(values), MOST_ROWS, replace=False))
        cells = Cells(values[drawn], everything.resolution, noise, derived, dimensions)
    for each in {id(each): each for each in (cells, everything)}.values():
        each.see_sources(functions)
    n_columns = len(cells.varying)
    selection = Selection(cells, functions)
    if n_columns < 2:
        return [], everything, []
    if n_columns > MOST_COLUMNS:
        return [], everything, [
            f"{n_columns} columns are too many for a search of laws: select up to {MOST_COLUMNS}"
        ]  # fmt: skip
    notes: list[str] = []
    is_complete = _select_exact(selection, max_degree, rng, deadline, callback, proposed)
    if is_complete and divide is not None:
        divide(selection, drawn, False)
    if is_complete:
        is_complete = _select_noisy(selection, max_degree, deadline, callback, notes)
    if is_complete and divide is not None:
        divide(selection, drawn, True)
    if not is_complete:
        notes.append(
            "the search ended before everything was tried; select columns or set time_limit"
        )
    # Products of equations were kept, so that nothing else imitates them.
    sizes = np.abs(np.nan_to_num(cells.values)).max(axis=0)
    laws = [law for law in selection.laws if not law.candidate.is_product(sizes)]
    return sorted(laws, key=lambda law: law.target), everything, notes


def _select_exact(
    selection: Selection,
    max_degree: int | None,
    rng: np.random.Generator,
    deadline: float,
    callback: Callable[[int, float], object],
    given: Sequence[Candidate],
) -> bool:
    """Accept the laws that hold to the last digit, or up to rounding, but for a few wrong cells.

    Returns whether the time was enough.
    """
    candidates: dict[object, Candidate] = {candidate.key: candidate for candidate in given}
    is_complete = True
    half = (time.thread_time() + deadline) / 2  # the rest is for the decision
    # Columns that are derived come with proposals of their own.
    own = copy(selection.cells)
    own.varying = np.setdiff1d(own.varying, list(selection.derived))
    proposers = Proposer(own, rng, half).list_proposals()
    with np.errstate(all="ignore"):  # units may be so large that products overflow
        for done, propose in enumerate(proposers):
            callback(0, done / (2 * len(proposers)))
            if time.thread_time() > half:
                is_complete = False
                break
            for candidate in propose():
                if time.thread_time() > half:
                    is_complete = False
                    break
                if (
                    len(candidate.columns) > 1
                    and (max_degree is None or candidate.degree <= max_degree)
                    and selection.sources.keys().isdisjoint(candidate.columns)
                    and candidate.key not in candidates
                    and max(bound_bits(candidate, selection.cells, {}).values()) > ENOUGH_BITS
                ):
                    candidates[candidate.key] = candidate
    with np.errstate(all="ignore"):
        # The decision has as much time as the proposals, even if these took longer.
        end = max(deadline, time.thread_time() + deadline - half)
        # Laws of the cells of a row come first: what is derived tells only what these leave open.
        same_row: list[Candidate] = []
        others: list[Candidate] = []
        for each in candidates.values():
            is_derived = not (selection.derived - selection.sources.keys()).isdisjoint(each.columns)
            (others if is_derived else same_row).append(each)
        is_complete &= selection.run(same_row, end)
        selection.complete()
        while time.thread_time() < end and selection.simplify(same_row):
            pass
        is_complete &= selection.run(others, end)
        selection.drop_refuted()
    return is_complete


def _select_noisy(
    selection: Selection,
    max_degree: int | None,
    deadline: float,
    callback: Callable[[int, float], object],
    notes: list[str],
) -> bool:
    """Accept laws with noise, and those of higher degrees, among columns that no law determines.

    What follows from known laws is thus not proposed again. Returns whether the time was enough.
    """
    cells = selection.cells
    tried: set[tuple[int, ...]] = set()
    exact = list(selection.laws)
    candidates: list[Candidate] = []
    with np.errstate(all="ignore"):
        n_laws = -1
        while n_laws < len(selection.laws):
            n_laws = len(selection.laws)
            # Short laws come first. Their targets need not be looked at again.
            for size in list_sizes():
                callback(len(selection.laws), 0.5)
                left_out = selection.derived | selection.known.keys()
                free = [j for j in cells.varying.tolist() if j not in left_out]
                if len(free) < 2 or (size, *free) in tried:
                    continue
                proposer = NoisyProposer(cells, np.array(free), max_degree, deadline)
                if not tried:
                    notes.extend(proposer.limits)
                tried.add((size, *free))
                proposed = proposer.propose(size)
                if not selection.run(proposed, deadline, has_noise=True):
                    return False
                candidates += proposed
        # Columns that a law determines were left out: with them, some laws are shorter.
        for law in [each for each in selection.laws if each not in exact]:
            beside = selection.find_related(law)
            if beside > set(law.candidate.columns) and time.thread_time() < deadline:
                columns = np.array(sorted(beside))
                proposer = NoisyProposer(cells, columns, max_degree, deadline)
                candidates += [each for size in list_sizes() for each in proposer.propose(size)]
        for has_noise in (False, True):
            while time.thread_time() < deadline and selection.simplify(
                candidates, has_noise=has_noise
            ):
                pass
    return time.thread_time() <= deadline
