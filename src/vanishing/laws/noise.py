"""Proposals of laws with noise: short polynomials that are small for their gradients.

``search.py`` finds the supports, and each is fitted with noise in all columns. Beside the columns,
their logarithms are letters of these polynomials: so products of real powers are linear. As all
proposals, they are judged by ``model.judge`` alone.
"""

import math
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import Candidate, Term, find_complete, measure_structure
from vanishing.laws.cells import LEAST_PROBABILITY, Cells
from vanishing.laws.fit import Relation, evaluate, fit_beside, fit_relation
from vanishing.laws.law import simplify
from vanishing.laws.model import NOISE_OF_CORRELATIONS
from vanishing.laws.search import (
    HIGHEST_DEGREE,
    MOST_ELIMINATED,
    MOST_TERMS,
    Support,
    Terms,
    choose_degree,
    eliminate,
    make_terms,
    primitive,
    search_supports,
    shorten,
    smallest_extent,
)
from vanishing.levels import OUTLYING
from vanishing.polynomials.monomials import count

#: Supports of one size that are fitted, equations that are judged, and those of a set of columns.
MOST_FITTED, MOST_JUDGED, OF_EACH = 40, 12, 2
#: Supports that are looked at for one size, which takes about a second.
MOST_SUPPORTS = 1.2e7
#: Rows that equations are fitted to at first.
SCREENED_ROWS = 300
#: Terms of the longest law of which all supports are tried.
LONGEST = HIGHEST_DEGREE
#: Extents between which supports are looked for. A few wrong cells lift that of a law.
LEAST_EXTENT, MOST_EXTENT = 1e-4, 0.5
#: Ratio of two extents that are tried one after the other. A term that lowers the extent by less is
#: not seen.
STEP = 1.4


def list_sizes() -> range:
    """Return the sizes of supports, one after the other; the last is that of all longer ones."""
    return range(2, LONGEST + 2)


class NoisyProposer:
    """Proposes equations of some measured columns, with fitted coefficients.

    Nothing is proposed after the ``deadline`` by the thread's time.
    """

    def __init__(
        self, cells: Cells, columns: IntArray, max_degree: int | None, deadline: float
    ) -> None:
        self.cells = cells
        self.deadline = deadline
        #: In which some rows are taken, so that no part of the table is preferred.
        self.order = np.random.default_rng(0).permutation(len(cells.values))
        self.max_degree = HIGHEST_DEGREE if max_degree is None else max_degree
        self.columns, rows = _choose_block(cells.present, columns)
        values = cells.values[np.ix_(rows, self.columns)]
        values = values[_find_usual(values)]
        self.is_positive = is_positive = (values > 0).all(axis=0)
        #: Factors of the terms, and their values.
        self.letters = [(int(j), 1) for j in self.columns]
        self.letters += [(int(j), 0) for j in self.columns[is_positive]]
        self.rows = np.column_stack([_scale(values)[0], np.log(values[:, is_positive])])
        self.spreads = self.rows.std(axis=0)
        self.powers = np.array([len(np.unique(column)) for column in self.rows.T], dtype=np.intp)

    @property
    def limits(self) -> list[str]:
        """What is not looked for, since there are many columns."""
        n_columns = len(self.columns)
        degree = self._choose_degree(n_columns, 2)
        if degree == self.max_degree:
            return []
        return [f"laws of degree {degree + 1} and more were not looked for in {n_columns} columns"]

    def propose(self, size: int) -> list[Candidate]:
        """Propose polynomials of some terms of the columns, and some with their logarithms.

        Those that are likely to have most bits, a few of each set of columns. The largest size is
        that of all longer equations.
        """
        n_columns = len(self.columns)
        if n_columns < 2 or len(self.rows) <= n_columns:
            return []
        fitted: dict[tuple[Term, ...], float] = {}
        for terms, is_proportional in self._find_terms(size):
            if time.thread_time() > self.deadline:
                break
            # Supports of logarithms were found with noise that all rows of these have alike.
            each = Candidate(terms, (1.0,) * len(terms))
            proportional = frozenset(each.columns) if is_proportional else each.logs
            score, _ = self._fit(terms, proportional, SCREENED_ROWS)
            if score > fitted.get(terms, 0.0):
                fitted[terms] = score
        best = sorted(fitted, key=lambda terms: -fitted[terms])
        # Longer equations and those of high powers come closer, and are worse all the same.
        equations = [Candidate(terms, (1.0,) * len(terms)) for terms in best]
        kinds = [(len(each.terms), each.degree, each.has_logs) for each in equations]
        sets = [(each.columns, kind) for each, kind in zip(equations, kinds, strict=True)]
        few = _take_few(sets, OF_EACH)
        chosen = [best[few[i]] for i in _take_few([kinds[i] for i in few], MOST_JUDGED)]
        found: dict[object, Candidate] = {}
        for terms in chosen:
            # Of these, the noise of the rows tells which one is right.
            every = Candidate(terms, (1.0,) * len(terms))
            for proportional in dict.fromkeys((frozenset(), every.logs, frozenset(every.columns))):
                for candidate in self._fit(terms, proportional)[1]:
                    found.setdefault(candidate.key, candidate)
        return list(found.values())

    def _find_terms(self, size: int) -> Iterator[tuple[tuple[Term, ...], bool]]:
        """Yield the terms of equations, and whether their noise is in proportion to the values."""
        if size > LONGEST:
            for exponents in self._find_longer():
                yield self._name_all(exponents), False
            return
        n_columns, n_letters = len(self.columns), len(self.letters)
        kinds = [(n_columns, False), (n_columns, True)]
        if n_letters > n_columns:
            kinds.append((n_letters, False))
        for n_used, is_proportional in kinds:
            terms = self._make_terms(n_used, size, is_proportional)
            for support in self._find_supports(terms, size, n_used > n_columns):
                yield self._name_all(terms.exponents[support]), is_proportional

    def _find_longer(self) -> Iterator[IntArray]:
        """Yield the exponents of longer equations, linear and quadratic."""
        chosen = slice(len(self.columns))
        for degree, find in ((1, shorten), (2, _eliminate)):
            n_terms = count(len(self.columns), degree)
            # In few rows, chance makes some of many terms vanish.
            if degree > self.max_degree or LONGEST * n_terms > min(
                len(self.rows), LONGEST * MOST_ELIMINATED
            ):
                break
            terms = make_terms(
                self.rows[:, chosen], self.spreads[chosen], degree, self.powers[chosen]
            )
            level = LEAST_EXTENT
            found: set[Support] = set()
            while level < NOISE_OF_CORRELATIONS:
                found.update(find(terms, level))
                level *= STEP
            for support in sorted(found):
                if len(support) > LONGEST:
                    yield terms.exponents[list(support)]

    def _make_terms(self, n_letters: int, size: int, is_proportional: bool) -> Terms:
        n_columns, degree = len(self.columns), self._choose_degree(n_letters, size)
        terms = make_terms(
            self.rows[:, :n_letters], self.spreads[:n_letters], degree, self.powers[:n_letters],
            proportional=is_proportional,
        )  # fmt: skip
        return terms.take(np.flatnonzero(terms.exponents[:, n_columns:].sum(axis=1) <= 1))

    def _choose_degree(self, n_letters: int, size: int) -> int:
        """Return the highest degree whose supports of a size can all be tried."""
        degree = min(self.max_degree, choose_degree(n_letters, self.max_degree, notes=[]))
        if n_letters > len(self.columns):
            degree = min(degree, HIGHEST_DEGREE // 2)
        # Of more terms than rows, some vanish by chance.
        while degree > 1 and (
            math.comb(count(n_letters, degree), size) > MOST_SUPPORTS
            or count(n_letters, degree) > (len(self.rows) if size > 2 else MOST_TERMS)
        ):
            degree -= 1
        return degree

    def _find_supports(self, terms: Terms, size: int, with_logs: bool) -> IntArray:
        """Return the supports of a size with the smallest extents, a few of each set of columns.

        None of them has a smaller one inside. With logarithms, each has one at least, and a column
        stands for itself or for its logarithm, not for both.
        """
        n_columns = len(self.columns)
        found = np.empty((0, size), dtype=np.intp)
        least = LEAST_EXTENT
        if len(terms.exponents) <= terms.factor.shape[0]:
            least = max(least, smallest_extent(terms))
        most = MOST_EXTENT if size < LONGEST else NOISE_OF_CORRELATIONS
        levels = least * STEP ** np.arange(max(math.ceil(math.log(most / least, STEP)), 0))

        def has_relation(level: float) -> bool:
            return any(len(search_supports(terms, level, k)) for k in range(2, size + 1))

        # Relations at one level are relations at all higher ones.
        first = bisect_left(levels, True, key=has_relation)
        for level in levels[first:].tolist():
            supports = search_supports(terms, level, size)
            supports = supports[primitive(terms.exponents, supports)]
            if with_logs:
                used = np.asarray(terms.exponents[supports].any(axis=1))
                as_logs = used[:, n_columns:]
                both = (used[:, np.flatnonzero(self.is_positive)] & as_logs).any(axis=1)
                supports = supports[as_logs.any(axis=1) & ~both]
            found = np.unique(np.vstack([found, supports]), axis=0)
            if len(found) >= MOST_FITTED:
                break
        found = found[np.argsort(terms.extents(found), kind="stable")]
        sets = [row.tobytes() for row in np.asarray(terms.exponents[found].any(axis=1))]
        most = max(6 * OF_EACH, MOST_FITTED // max(len(set(sets)), 1))
        return found[_take_few(sets, most)[:MOST_FITTED]]

    def _fit(
        self, terms: tuple[Term, ...], proportional: frozenset[int], n_rows: int | None = None
    ) -> tuple[float, list[Candidate]]:
        """Return an equation with simple coefficients and with fitted ones, and about its bits."""
        candidate = Candidate(terms, (1.0,) * len(terms))
        if len(candidate.columns) < 2:
            return 0.0, []
        values = self.cells.values[self.order[find_complete(candidate, self.cells)[self.order]]]
        values = values[:n_rows]
        # For a look at some rows, the bias of the first fit is small.
        relation, found = fit_candidate(
            candidate, values, proportional, self.cells.resolution, unbiased=n_rows is None
        )
        if not relation.noise <= NOISE_OF_CORRELATIONS:
            return 0.0, []
        if not found:
            return 0.0, []
        score = -relation.sound.sum() * math.log2(max(relation.noise, LEAST_PROBABILITY))
        score -= measure_structure(candidate, len(self.cells.varying))
        score -= np.count_nonzero(found[0][1]) * math.log2(len(values))
        candidates = {}
        for coefficients, _ in found:
            if np.isfinite(coefficients).all() and coefficients.all():
                fitted = Candidate(terms, tuple(coefficients.tolist()))
                polynomial = _as_polynomial(fitted)
                if polynomial is not None:
                    return self._fit(polynomial, proportional, n_rows)
                candidates[fitted.key] = fitted
        return score, list(candidates.values())

    def _name_all(self, exponents: IntArray) -> tuple[Term, ...]:
        return tuple(self._name(powers) for powers in exponents.tolist())

    def _name(self, powers: list[int]) -> Term:
        used = ((letter, power) for letter, power in zip(self.letters, powers, strict=False))
        return tuple(sorted((j, kind * power) for (j, kind), power in used if power))


def _eliminate(terms: Terms, level: float) -> list[Support]:
    found = eliminate(terms, level)
    return [] if found is None else [found]


def _take_few(keys: Sequence[Hashable], most: int) -> list[int]:
    """Return the places of the first few of each key."""
    seen: Counter[Hashable] = Counter()
    chosen = []
    for i, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= most:
            chosen.append(i)
    return chosen


def _as_polynomial(candidate: Candidate) -> tuple[Term, ...] | None:
    """Return the terms of y = k x² for log(y) = 2 log(x) + log(k), if the powers are low."""
    logs = {term[0][0]: c for term, c in zip(candidate.terms, candidate.coefficients, strict=True)
            if len(term) == 1 and not term[0][1]}  # fmt: skip
    is_whole = all(power == int(power) for power in logs.values())
    if len(logs) + (() in candidate.terms) < len(candidate.terms) or not is_whole:
        return None
    sides = tuple(
        tuple(sorted((j, int(abs(power))) for j, power in logs.items() if power * sign > 0))
        for sign in (1, -1)
    )
    # Not y^4 = k x^3: people write that as y = k x^0.75.
    degree = max(sum(power for _, power in side) for side in sides)
    is_plain = min(power for side in sides for _, power in side) == 1
    return sides if is_plain and degree <= HIGHEST_DEGREE else None


def fit_candidate(
    candidate: Candidate,
    values: FloatArray,
    proportional: frozenset[int],
    resolution: FloatArray,
    row_weights: FloatArray | None = None,
    *,
    unbiased: bool = True,
) -> tuple[Relation, list[tuple[FloatArray, FloatArray]]]:
    """Fit the coefficients of a candidate to rows, with noise in all columns.

    It is in proportion to the values of some columns, and to the spreads of the others. Returns
    the relation of the letters, and coefficients with their standard errors: simple ones first,
    then as they were fitted. If these are to be ``unbiased``, the fit is repeated beside the rows.
    """
    letters = sorted({(j, power > 0) for term in candidate.terms for j, power in term})
    place = {letter: k for k, letter in enumerate(letters)}
    exponents = np.zeros((len(candidate.terms), len(letters)), dtype=np.intp)
    for i, term in enumerate(candidate.terms):
        for j, power in term:
            exponents[i, place[j, power > 0]] = power or 1
    columns = [values[:, j] if is_column else np.log(values[:, j]) for j, is_column in letters]
    rows, sizes = _scale(np.column_stack(columns))

    def measure_units(rows: FloatArray) -> FloatArray:
        """Return the noise of letters that have some values."""
        units = np.empty(rows.shape)
        for k, (j, is_column) in enumerate(letters):
            x = np.abs(rows[:, k] * sizes[k] if is_column else np.exp(rows[:, k] * sizes[k]))
            # d log x = dx / x
            noise = x if j in proportional else values[:, j].std()
            units[:, k] = noise / (1.0 if is_column else x) / sizes[k]
        return units

    weights = np.ones(len(rows)) if row_weights is None else row_weights
    # Rows that are off by the last digit of the finest column are sound, even if most are exact.
    used = list(candidate.columns)
    finest = np.min(resolution[used] / np.maximum(values[:, used].std(axis=0), 1e-300))
    is_even = proportional.issuperset(used)
    relation = fit_relation(
        rows, measure_units(rows), exponents, weights, start=_find_usual(values[:, used]),
        proportional=is_even, least_noise=float(finest),
    )  # fmt: skip
    # Gradients of sums are constant, unless the noise is in proportion to the values.
    if unbiased and (candidate.degree > 1 or candidate.has_logs or proportional):
        relation = fit_beside(relation, rows, measure_units, weights, is_even, float(finest))
    relation = replace(relation, noise=max(relation.noise, float(finest)))
    # Each term must be seen in the rows that keep the law.
    slopes = np.median(np.linalg.norm(relation.gradients[relation.sound], axis=1))
    terms = evaluate(exponents, rows)
    sizes_of_terms = np.abs(terms[relation.sound] * relation.coefficients)
    if not sizes_of_terms.max(axis=0, initial=0.0).min() > relation.noise * slopes > 0:
        return relation, []
    return relation, simplify(relation, sizes, terms)


def _find_usual(values: FloatArray) -> BoolArray:
    """Return the rows without a cell that is far from the others of its column, most rows."""
    low, middle, high = np.quantile(values, [0.16, 0.5, 0.84], axis=0)
    width = np.where(high > low, high - low, 2 * values.std(axis=0))
    usual = (np.abs(values - middle) <= OUTLYING * width).all(axis=1)
    return np.asarray(usual if 2 * usual.sum() > len(usual) else np.ones(len(usual), dtype=bool))


def _scale(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns divided by their sizes, and these."""
    largest = np.abs(values).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    sizes = largest * np.sqrt(np.mean((values / largest) ** 2, axis=0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    return values / sizes, sizes


def _choose_block(present: BoolArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return columns and the rows that have all of them, with as many cells as possible."""
    order = columns[np.argsort(-present[:, columns].sum(axis=0), kind="stable")]
    complete = np.logical_and.accumulate(present[:, order], axis=1)
    n_cells = complete.sum(axis=0) * np.arange(1, len(order) + 1)
    n_kept = int(np.argmax(n_cells)) + 1
    return np.sort(order[:n_kept]), np.flatnonzero(complete[:, n_kept - 1])
