"""The laws of a table without noise: of all proposals, those that pay for themselves together."""

import heapq
import time
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.laws.cells import Cells
from vanishing.laws.model import (
    ENOUGH_BITS,
    Candidate,
    Evidence,
    bound_bits,
    judge,
    measure_structure,
)
from vanishing.laws.propose import MOST_COLUMNS, Proposer, tidy

#: Rows that laws are looked for in. Further ones hardly change which equations are laws.
MOST_ROWS = 1000


class Selection:
    """Laws that are accepted one after the other, the one with most bits first.

    Parameters
    ----------
    cells : Cells
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.laws: list[Evidence] = []
        #: Bits that the laws save, row by row, by target.
        self.known: dict[int, FloatArray] = {}

    def find_free_targets(self, candidate: Candidate) -> list[int]:
        """Return the columns of a candidate that none of its other columns depends on."""
        columns = set(candidate.columns)
        return [j for j in columns if not self._dependents(j) & (columns - {j})]

    def _dependents(self, column: int) -> set[int]:
        """Return the targets that are computed from a column, by one law or several."""
        found: set[int] = set()
        todo = [column]
        while todo:
            source = todo.pop()
            for law in self.laws:
                if (
                    law.target != source
                    and law.target not in found
                    and source in law.candidate.columns
                ):
                    found.add(law.target)
                    todo.append(law.target)
        return found

    def accept(self, law: Evidence) -> None:
        """Add a law."""
        self.laws.append(law)
        self.known[law.target] = self.known.get(law.target, 0.0) + law.gains

    def _leave_out(self, law: Evidence) -> "Selection":
        """Return the other laws."""
        others = Selection(self.cells)
        for other in self.laws:
            if other is not law:
                others.accept(other)
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
            others = self._leave_out(law)
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

    def simplify(self, candidates: list[Candidate]) -> bool:
        """Replace laws by shorter ones that say the same beside the other laws.

        A wrong cell breaks every law that speaks of its column. So a longer law that avoids the
        column has more bits than the one that people wrote: sales = wages + rent + profit, where
        one of the costs is wrong, instead of sales = costs + profit. The shorter law may be broken
        in rows that break another law too. Returns whether something was replaced.
        """
        combined = self._combine_linear()
        n_columns = len(self.cells.varying)
        for law in list(self.laws):
            others = self._leave_out(law)
            length = measure_structure(law.candidate, n_columns)
            excused = np.logical_or.reduce([each.broken for each in self.laws])
            terms = law.candidate.terms
            shorter = [each for each in candidates if law.target in each.columns] + combined
            shorter = [each for each in shorter if len(each.terms) < len(terms)]
            shorter = [each for each in shorter if each.degree <= law.candidate.degree]
            for candidate in sorted(shorter, key=lambda each: len(each.terms)):
                targets = others.find_free_targets(candidate)
                if law.target in candidate.columns:
                    targets = [j for j in targets if j == law.target]
                found = judge(candidate, self.cells, others.known, targets, excluded=excused)
                if found is None or found.broken.any() or (found.rounded and not law.rounded):
                    continue
                # As many bits where no cell is wrong.
                lost = np.where(excused, 0.0, law.gains - found.gains).sum()
                saved = length - measure_structure(candidate, n_columns)
                if found.target == law.target and lost > saved:
                    continue
                others.accept(found)
                targets = others.find_free_targets(law.candidate)
                again = judge(law.candidate, self.cells, others.known, targets, excluded=excused)
                if again is None:
                    self.laws, self.known = others.laws, others.known
                    return True
                others = self._leave_out(law)
        return False

    def _is_noise(self, evidence: Evidence, targets: list[int]) -> bool:
        """Say whether noise explains better what rounding of a column explains."""
        if not evidence.rounded:
            return False
        noisy = judge(evidence.candidate, self.cells, self.known, targets, has_noise=True)
        return noisy is not None and noisy.bits > evidence.bits

    def run(self, candidates: list[Candidate], deadline: float) -> bool:
        """Accept laws until no candidate pays for itself; False if the time is over before.

        Bits only become fewer as laws become known. So a candidate is judged again only when its
        former bits are the most of all.
        """
        bounds = (bound_bits(each, self.cells, self.known) for each in candidates)
        # Bits, the order of the proposals, number of laws that were known, evidence.
        queue: list[tuple[float, int, int, Evidence | None]] = [
            (-bits, i, -1, None) for i, bits in enumerate(bounds) if bits > ENOUGH_BITS
        ]
        heapq.heapify(queue)
        while queue:
            _, i, n_known, evidence = heapq.heappop(queue)
            if time.monotonic() > deadline:
                return False
            if evidence is not None and n_known == len(self.laws):
                self.accept(evidence)
                continue
            targets = self.find_free_targets(candidates[i])
            if not targets or bound_bits(candidates[i], self.cells, self.known) <= ENOUGH_BITS:
                continue
            evidence = judge(candidates[i], self.cells, self.known, targets)
            if evidence is not None and not self._is_noise(evidence, targets):
                heapq.heappush(queue, (-evidence.bits, i, len(self.laws), evidence))
        return True


def select_laws(
    values: FloatArray,
    *,
    max_degree: int | None,
    seed: int,
    deadline: float,
    callback: Callable[[float], object],
) -> tuple[list[Evidence], Cells, bool]:
    """Find the laws that hold to the last digit, or up to rounding, but for a few wrong cells.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        NaN where a cell is blank.
    max_degree : int, optional
    seed : int
    deadline : float
        By ``time.monotonic``.
    callback : callable
        Called with the share of the search that is done.

    Returns
    -------
    laws : list of Evidence
    cells : Cells
        Of all rows.
    is_complete : bool
        Whether the time was enough for everything.
    """
    rng = np.random.default_rng(seed)
    start = time.monotonic()
    everything = Cells(values)
    cells = everything
    if len(values) > MOST_ROWS:
        drawn = np.sort(rng.choice(len(values), MOST_ROWS, replace=False))
        cells = Cells(values[drawn], everything.resolution)
    candidates: dict[object, Candidate] = {}
    is_complete = True
    half = (start + deadline) / 2  # the rest is for the decision
    is_narrow = 1 < len(cells.varying) <= MOST_COLUMNS
    proposers = Proposer(cells, rng, half).proposers() if is_narrow else []
    for done, propose in enumerate(proposers):
        callback(done / (len(proposers) + 1))
        if time.monotonic() > half:
            is_complete = False
            break
        with np.errstate(all="ignore"):  # units may be so large that products overflow
            proposed = list(propose())
        for candidate in proposed:
            if len(candidate.columns) > 1 and (
                max_degree is None or candidate.degree <= max_degree
            ):
                candidates.setdefault(candidate.key, candidate)
    selection = Selection(cells)
    is_complete &= selection.run(list(candidates.values()), deadline)
    with np.errstate(all="ignore"):
        selection.complete()
    while selection.simplify(list(candidates.values())):
        pass
    return sorted(selection.laws, key=lambda law: law.target), everything, is_complete
