"""The search for laws: shortest first, at the noise that the table shows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, permutations
from math import comb
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtr

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_whole
from vanishing.equations.text import last_digits
from vanishing.laws.fit import (
    EXACT,
    LEAST_DEVIATION,
    MOST_OUTLIERS,
    OUTLYING,
    Relation,
    differentiate,
    differentiate_along,
    evaluate,
    explained_share,
    find_outliers,
    fit_relation,
    largest_correlation,
    limit_steepness,
    project_out,
    robust_spread,
)
from vanishing.laws.search import (
    MOST_ELIMINATED,
    MOST_FACTORED,
    Terms,
    eliminate,
    even_weights,
    make_terms,
    primitive,
    scale_noise,
    search_supports,
    shorten,
    smallest_extent,
)
from vanishing.polynomials.monomials import count

#: Largest noise of a law of up to three terms, in spreads of the columns, and of longer ones: many
#: correlated columns have combinations of a few terms that nearly vanish.
MOST_NOISE, MOST_NOISE_OF_LONG = 0.1, 0.045
#: Factor between noise levels of one table. Linear laws are as close as any linear polynomial.
SAME_NOISE = 2.0
#: Degree up to which laws are looked for, and monomials that a search may have.
HIGHEST_DEGREE, MOST_TERMS = 4, 2000
#: Smallest noise that Gram matrices resolve.
LEAST_NOISE = 1e-7
#: Largest noise of numbers that are rounded to a few decimals.
ROUNDED = 1e-4
#: Levels that are tried above the smallest extent of a linear polynomial, where that is another
#: than the smallest of any.
LINEAR_STEPS = 3
#: How much longer than for short laws that takes, about; for the estimate of the time left.
LONGER_COST = 4.0
#: Supports that are tried one by one, at most.
MOST_SUPPORTS = 1.2e7
#: Draws of a few rows, their rows, and the supports that are tried in each.
DRAWS, ROWS_OF_DRAW, MOST_SUPPORTS_OF_DRAW = 10, 40, 1e6
#: Candidates of a size whose residuals are looked at.
MOST_CANDIDATES = 40
#: Terms of the longest law that is tried exhaustively.
EXHAUSTIVE = 4
#: Terms of the longest law that is not linear.
LONGEST = 10
#: Noise by which a law of a higher degree must be smaller, for each degree: of two terms, and of
#: more. Products and powers of laws of two terms have two terms themselves, and the same noise.
PER_DEGREE_OF_TWO, PER_DEGREE = 1.1, 1.03
#: Largest noise of a proportion that is preferred to a product of powers.
MOST_NOISE_OF_PROPORTIONS = 0.01
#: Ratio of the noise of a column by a proportion and by a product of powers that is the same.
SAME_PROPORTION = 3.0
#: Ratio of noises, and sine of the angle between gradients, up to which two laws say the same.
SAME_LAW, SAME_DIRECTION = 1.2, 0.05
#: Ratio of the spreads, of the ratio of two terms and of the terms, up to which it is the same.
SAME_RATIO = 0.1
#: Ratios of terms that are computed at once.
MOST_RATIOS = 3 * 10**6
#: Terms that are kept in turn when others are eliminated.
MOST_STARTS = 6
#: Smallest angle, as its sine, between the gradients of a law and those of known ones.
SMALLEST_ANGLE = 0.25
#: Largest share of wrong cells in the columns of a law, and of rows that break one that is long and
#: not linear. More are no errors, but rows of another kind.
MOST_WRONG, MOST_BROKEN_OF_LONG = 0.075, 0.1
#: Distance from a law, in units of the noise, up to which it may be rounding, and units of the last
#: digit, in spreads, up to which numbers are rounded. Others are counts, which are exact.
BEYOND_ROUNDING, LARGEST_DIGIT = 1e-3, 0.01
#: Size of a term, in units of the noise, up to which the law may hold without it.
SMALL_TERM = 20.0
#: Rows that break a law which a further term must explain: where the law is exact but for rounding,
#: and where it has noise.
FEWEST_EXACT, FEWEST_NOISY = 2, 4
#: Largest p-value of a law, corrected for the number of candidates.
SIGNIFICANT = 0.01
PERMUTATIONS = 30
#: Ratio of large and small values from which on noise in proportion to them is another noise, and
#: from which on it is tried first.
WIDE, VERY_WIDE = 3.0, 20.0
#: Share of rows with the same value from which on a column is left out of the search for outliers.
FREQUENT = 0.3
#: Relative size of a gradient below which it is zero.
FLAT = 1e-6
#: Share of rows that break a law, and the density of their distance from it, in spreads.
BROKEN, ANYWHERE = 0.02, 0.25
#: Largest correlation of the deviations from a law with a column, in standard errors.
UNCORRELATED = 4.5


@dataclass
class Search:
    """One search for the laws of a table.

    Attributes
    ----------
    step : float
        Ratio of two noise levels that are tried one after the other.
    steps : tuple of int
        Levels above the smallest extent of any polynomial, for short laws and others.
    fewest_terms : int
    proportional : bool
        Whether the noise of a cell is in proportion to its value; otherwise to the column's spread.
    half_digits : array of shape (n_columns,)
        What rounding changes at most.
    incomplete, least_noise : dict of bytes to bytes, and of bytes to float
        For laws with a term that is zero in most rows, by their exponents: those without it, and
        the noise of the rows that have it.
    """

    step: ClassVar[float] = 1.7
    steps: ClassVar[tuple[int, int]] = (7, 5)
    fewest_terms: ClassVar[int] = 2

    rows: FloatArray
    spreads: FloatArray
    row_weights: FloatArray
    degree: int
    powers: IntArray
    rng: np.random.Generator
    level: float | None = None
    callback: Callable[[int, float], object] | None = None
    proportional: bool = False
    half_digits: FloatArray = field(default_factory=lambda: np.zeros(1))
    found: list[tuple[Relation, float]] = field(default_factory=list)
    n_tested: int = 0
    _normals: list[FloatArray] = field(default_factory=list)
    _moments: dict[bytes, Terms] = field(default_factory=dict)
    _along: dict[bytes, tuple[int, FloatArray, FloatArray, FloatArray]] = field(
        default_factory=dict
    )
    _supports: dict[tuple[int, str], IntArray] = field(default_factory=dict)
    _attempt: tuple[float, float] = (0.0, 0.0)
    _share: float = 0.0
    _linear: float = np.inf
    _closest: float = np.inf
    _searched: BoolArray | None = None
    _rejected: set[bytes] = field(default_factory=set)
    incomplete: dict[bytes, bytes] = field(default_factory=dict)
    least_noise: dict[bytes, float] = field(default_factory=dict)
    _ratios: dict[bytes, list[tuple[float, IntArray]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.units = scale_noise(self.rows, self.spreads, self.proportional)
        low, high = np.quantile(self.rows, [0.25, 0.75], axis=0)
        self._narrowness = np.ones(len(self.spreads))
        known = (high > low) & (self.spreads > 0)
        usual = (high - low)[known] / 1.349
        self._narrowness[known] = np.minimum(usual / self.spreads[known], 1.0)

    def run(self) -> list[tuple[Relation, float]]:
        """Find laws until no polynomial is left that vanishes."""
        while self._run_once():
            pass
        while self._simplify_one():
            pass
        return self.found

    def is_exact(self) -> bool:
        """Say whether laws were found, none of which has noise."""
        return bool(self.found) and all(relation.noise <= EXACT for relation, _ in self.found)

    def with_other_noise(self) -> "Search":
        """Return the laws that were found, fitted to the other kind of noise."""
        same = replace(self, proportional=not self.proportional, found=[])
        same.found = [(same.fit(relation.exponents), p_value) for relation, p_value in self.found]
        return same

    def take_exact(self, other: "Search") -> None:
        """Begin with the laws of another search that have no noise: its kind does not matter."""
        for relation, p_value in other.found:
            if relation.noise <= EXACT:
                self.found.append((relation, p_value))
                self._add_normal(relation)
                key = relation.exponents.tobytes()
                if key in other.incomplete:
                    self.incomplete[key] = other.incomplete[key]
                    self.least_noise[key] = other.least_noise[key]

    def _simplify_one(self) -> bool:
        """Replace a law by a simpler one that follows from those found, if there is any."""
        self._closest = np.inf
        for k, exponents in self._simpler():
            # Where a term is zero in most rows, some others might say that it always is.
            fitted = self.fit(exponents, start=self.found[k][0].sound)
            relation, p_value = self.judge(fitted)
            if p_value is not None and relation.noise <= 3 * max(self.found[k][0].noise, EXACT):
                known = [sorted(law.exponents.tolist()) for law, _ in self.found]
                if sorted(relation.exponents.tolist()) in known:
                    del self.found[k]
                else:
                    self.found[k] = relation, p_value
                return True
        return False

    def _simpler(self) -> Iterator[tuple[int, IntArray]]:
        """Yield numbers of laws and the terms of simpler ones.

        Laws that few rows break are found first, even if combinations with others are shorter.
        """
        laws = [relation for relation, _ in self.found]
        for k, other in permutations(range(len(laws)), 2):
            if laws[k].degree == laws[other].degree == 1:
                yield from ((k, exponents) for exponents in combine(laws[k], laws[other]))
        proportions = find_proportions(self.rows)
        for k, law in enumerate(laws):
            others = [other for other in laws if other is not law and len(other.exponents) == 2]
            steps = [other.exponents[1] - other.exponents[0] for other in others] + proportions
            simpler = self._leave_out_small(law) + lower(law, steps)
            simpler += find_factors(law) + divide(law, steps)
            yield from ((k, exponents) for exponents in simpler)

    def _leave_out_small(self, law: Relation) -> list[IntArray]:
        """Return the terms of a law that are larger than its noise, if there are others."""
        terms = evaluate(law.exponents, self.rows[law.sound]) * law.coefficients
        steepness = np.median(np.linalg.norm(law.gradients[law.sound], axis=1))
        kept = np.sqrt(np.mean(terms**2, axis=0)) > SMALL_TERM * law.noise * steepness
        return [law.exponents[kept]] if 1 < kept.sum() < len(kept) else []

    def _run_once(self) -> bool:
        """Find the next laws, in the rows that are sound if some are not."""
        self._share, self._attempt = 0.0, (0.0, 0.0)
        self._report(0.0)
        outliers = self._find_outliers()
        everything = np.ones(len(self.rows), dtype=bool)
        # A known law times a polynomial that is zero in the rows that break it is zero everywhere.
        laws = [law for law, _ in self.found]
        for flags in ([law.sound for law in laws], [~self._find_broken(law) for law in laws], []):
            kept = np.logical_and.reduce([everything, *flags])
            if kept.mean() >= 1 - MOST_OUTLIERS and self._vary(kept):
                break
        tried = [kept]
        if outliers is not None and self._vary(kept & ~outliers):
            tried = [kept & ~outliers, kept]
        if self._searched is None:
            self._start(np.flatnonzero(kept))
        if self._try_ratios(kept, EXACT):
            return True
        for rows in tried:
            self._start(np.flatnonzero(rows))
            if self._find_next(kept):
                return True
        return self._try_draws(kept) or self._try_ratios(kept, MOST_NOISE)

    def _vary(self, rows: BoolArray) -> bool:
        """Say whether no column is constant in some rows."""
        return bool((np.ptp(self.rows[rows], axis=0) > 0).all()) if rows.any() else False

    def _find_outliers(self) -> BoolArray | None:
        # A column that has one value in most rows is a polynomial that vanishes there.
        frequent = [np.unique(column, return_counts=True)[1].max() for column in self.rows.T]
        columns = np.flatnonzero(np.array(frequent) > FREQUENT * len(self.rows))
        known = [*self._normals, *self._directions(columns)]
        # |∇g·h| / |∇g| is no larger than the length of h.
        rounding = float(np.linalg.norm(self.half_digits / self.spreads))
        return find_outliers(self.rows, self.units, known, self.rng, rounding)

    def _start(self, rows: IntArray) -> None:
        """Compute the moments of some rows."""
        self._searched = np.isin(np.arange(len(self.rows)), rows)
        self._rejected = set()
        key = rows.tobytes()
        if key not in self._moments:  # the rows are often the same as before
            self._moments = {key: self._make_terms(rows)}
        self.all_terms = self._moments[key]
        self._supports = {}
        self.terms = self._apart(rows) if self._normals else self.all_terms

    def _make_terms(self, rows: IntArray) -> Terms:
        return make_terms(
            self.rows[rows], self.spreads, self.degree, self.powers, proportional=self.proportional
        )

    def _try_ratios(self, rows: BoolArray, most: float) -> bool:
        """Try laws of two terms: their ratio is the same in most rows, however far others are off.

        A few rows that are far off hide such a law from the moments, and where the columns have few
        values or span orders of magnitude, others of a higher degree come closer.
        """
        terms = self._few_enough(2)
        key = rows.tobytes() + terms.exponents.tobytes()
        if key not in self._ratios:  # rows and terms are often the same as before
            self._ratios = {key: find_ratios(terms, self.rows[rows])}
        everything = np.log(np.maximum(np.abs(evaluate(terms.exponents, self.rows)), 1e-300))
        searched, self._closest = self._searched, most
        laws = []
        for middle, (i, j) in self._ratios[key]:
            off = np.abs(everything[:, i] - everything[:, j] - middle)
            if self._ratio_noise(terms.exponents[[i, j]], off, rows) > 2 * most:
                continue
            self._searched = rows & (off <= max(3 * float(np.median(off[rows])), EXACT))
            laws += self._judge_each([terms.exponents[[i, j]]])
        self._searched, self._closest = searched, np.inf
        return self._accept_best(laws)

    def _try_draws(self, rows: BoolArray) -> bool:
        """Try laws of three terms in a few rows: of several draws, one has no broken row.

        Broken rows are told by polynomials of all terms only where there are few columns.
        """
        if self.level is not None or rows.sum() < 2 * ROWS_OF_DRAW:
            return False
        self._closest = ROUNDED
        for _ in range(DRAWS):
            drawn = self.rng.choice(np.flatnonzero(rows), ROWS_OF_DRAW, replace=False)
            self._start(np.sort(drawn))
            terms = self.terms
            while comb(len(terms.exponents), 3) > MOST_SUPPORTS_OF_DRAW:
                terms = terms.take(np.flatnonzero(terms.degrees < terms.degrees.max()))
            for noise in (LEAST_NOISE, ROUNDED / 10):
                if self._accept_best(self._judge_all(terms, search_supports(terms, noise, 3))):
                    return True
        return False

    def _ratio_noise(self, exponents: IntArray, off: FloatArray, rows: BoolArray) -> float:
        """Return the noise of a law of two terms, by how far the log of their ratio is off."""
        columns = np.flatnonzero(exponents[1] != exponents[0])
        kept = np.flatnonzero(rows & self.rows[:, columns].all(axis=1))
        if not len(kept):
            return 0.0
        sizes = np.abs(evaluate(exponents[:1], self.rows[kept])[:, 0])
        powers = (exponents[1] - exponents[0])[columns]
        relative = powers * self.units[kept][:, columns] / self.rows[kept][:, columns]
        steepness = limit_steepness(
            sizes * np.linalg.norm(relative, axis=1), sizes if self.proportional else None
        )
        return robust_spread(sizes * off[kept] / steepness, self.row_weights[kept])

    def _find_next(self, kept: BoolArray) -> bool:
        """Find the shortest laws at the lowest noise that has any.

        Those of two terms are looked for in the rows ``kept``, others in the rows of the moments.
        """
        self._closest = np.inf
        most = self._most_noise()
        lows = self._lowest_extents()
        low = min(lows, default=0.0)
        self._linear = lows[0] if lows else np.inf
        if low > most:
            return False
        if low >= LEAST_NOISE or self.level is not None:
            return self._try_ratios(kept, ROUNDED) or self._find_from(low, most)
        # Polynomials of a high degree are nearly exact where columns span orders of magnitude, or
        # have few values. Those of lower degrees tell the noise: of rounding, or any other.
        others = [other for other in lows[::-1] if LEAST_NOISE < other <= most]
        return (
            self._find_from(low, most, longer=False)
            or self._try_ratios(kept, ROUNDED)
            or any(self._find_from(other, ROUNDED, longer=False) for other in others)
            or self._find_from(low, most, short=False)
            or any(self._find_from(other, most, longer=other == lows[0]) for other in others)
        )

    def _find_from(
        self, low: float, most: float, *, short: bool = True, longer: bool = True
    ) -> bool:
        """Find the shortest laws at the lowest noise from a level on that has any."""
        if low > most:
            return False
        self._closest = np.inf
        # Where columns span orders of magnitude, polynomials of a high degree are far closer.
        n_steps = self.steps[0] * (2 if self.proportional else 1)
        levels = [max(1.3 * low, LEAST_NOISE) * self.step**step for step in range(n_steps)]
        levels = [noise for noise in levels if noise <= 1.5 * most] or levels[:1]
        if low < LEAST_NOISE:
            levels = levels[:1]
            # Rounding errors of the moments hide squares of laws that are nearly exact.
            self._closest = max(EXACT / 1000, 30 * low)
        if self.level is not None:
            levels = [max(1.4 * self.level, LEAST_NOISE)]
        sizes = range(self.fewest_terms, 4)
        attempts = []
        if short:
            attempts += [
                partial(self._try_supports, noise, size) for size in sizes for noise in levels
            ]
        # Squares of laws are closer than laws, and with a few broken rows products are much closer.
        if LEAST_NOISE < self.step * low < self._linear <= most and self.level is None:
            linear = [1.3 * self._linear * self.step**step for step in range(LINEAR_STEPS)]
        else:
            linear = []
        if self.found and low > 1.5 * max(LEAST_NOISE, *(law.noise for law, _ in self.found)):
            levels = levels[:0]  # what is left is no law of the same noise: no long search
        levels = levels[: self.steps[1]]
        if longer:
            attempts += [partial(self._try_linear, noise) for noise in linear]
            attempts += [partial(self._try_longer, noise) for noise in levels]
            attempts += [partial(self._try_eliminated, noise, degree=3) for noise in levels]
        n_short = sum(attempt.func == self._try_supports for attempt in attempts)
        whole = n_short + LONGER_COST * (len(attempts) - n_short)
        done = 0.0
        for attempt in attempts:
            cost = (1.0 if attempt.func == self._try_supports else LONGER_COST) / whole
            self._attempt, done = (done, cost), done + cost
            self._report(0.0)
            if attempt():
                return True
        return False

    def _most_noise(self) -> float:
        """Return the largest noise of the next law: columns have one noise, up to a factor."""
        lowest = min((relation.noise for relation, _ in self.found), default=MOST_NOISE)
        return min(MOST_NOISE, SAME_NOISE * max(1e-3, lowest), self._closest)

    def _report(self, part: float) -> None:
        """Tell the callback how much of the search for the next law is done.

        ``part`` is what is done of the present attempt, which may begin anew with more candidates.
        """
        start, share = self._attempt
        self._share = max(self._share, start + part * share)
        if self.callback is not None:
            self.callback(len(self.found), self._share)

    def _try_longer(self, noise: float) -> bool:
        """Try laws of four terms, then linear and quadratic ones of more."""
        longer = [
            law
            for degree in (1, 2)
            for supports in self._eliminated(noise, degree)
            for law in self._judge_all(self.terms, supports)
        ]
        if self._try_supports(noise, 4) or (longer and self._try_supports(self.step * noise, 4)):
            return True
        return self._accept_best(longer)

    def _try_linear(self, noise: float) -> bool:
        """Try linear laws, the shortest first."""
        terms = self.terms.take(np.flatnonzero(self.terms.degrees <= 1))
        for size in range(2, EXHAUSTIVE + 1):
            if comb(len(terms.exponents), size) <= MOST_SUPPORTS and self._accept_best(
                self._judge_all(terms, search_supports(terms, noise, size))
            ):
                return True
        return self._try_eliminated(noise, degree=1)

    def _try_eliminated(self, noise: float, degree: int) -> bool:
        """Try what is left of all terms of a degree when needless ones are left out."""
        laws = [
            law
            for supports in self._eliminated(noise, degree)
            for law in self._judge_all(self.terms, supports)
        ]
        return self._accept_best(laws)

    def _try_supports(self, noise: float, size: int) -> bool:
        """Try all supports of a size at a noise level."""
        terms = self._few_enough(size)
        laws = self._judge_all(terms, self._search_supports(terms, noise, size))
        if laws and noise > LEAST_NOISE:  # a better one may be just beyond this level
            laws += self._judge_all(terms, self._search_supports(terms, 1.25 * noise, size))
        return self._accept_best(laws)

    def _search_supports(self, terms: Terms, noise: float, size: int) -> IntArray:
        """Return the supports of a size that carry a relation; levels are tried more than once."""
        key = size, f"{noise:.9e}"
        if key not in self._supports:
            self._supports[key] = search_supports(terms, noise, size)
        return self._supports[key]

    def _eliminated(self, noise: float, degree: int) -> list[IntArray]:
        """Return what is left of all terms of a degree when needless ones are left out."""
        chosen = np.flatnonzero(self.terms.degrees <= degree)
        most = MOST_FACTORED if degree == 1 else MOST_ELIMINATED
        if not 1 < len(chosen) <= most or degree > self.terms.degrees.max():
            return []
        if degree == 1:
            supports = shorten(self.all_terms.take(chosen), noise)
            return [np.array([support]) for support in supports if len(support) > 1]
        terms = self.terms.take(chosen)
        results = set()
        starts = np.flatnonzero(terms.degrees == degree)
        if len(chosen) > 30:
            starts = self.rng.permutation(starts)[:MOST_STARTS]
        for kept in starts:
            support = eliminate(terms, noise, int(kept))
            if support is None:
                break
            if len(support) <= LONGEST:
                results.add(support)
        return [np.array([support]) for support in sorted(results, key=len)[:MOST_CANDIDATES]]

    def _few_enough(self, size: int) -> Terms:
        """Return the terms up to the highest degree at which all supports can be tried."""
        degree = int(self.terms.degrees.max())
        while degree > 1:
            n_terms = int(np.sum(self.terms.degrees <= degree))
            if comb(n_terms, size) <= MOST_SUPPORTS:
                break
            degree -= 1
        return self.terms.take(np.flatnonzero(self.terms.degrees <= degree))

    def _judge_all(self, terms: Terms, supports: IntArray) -> list[tuple[Relation, float]]:
        """Return the laws among some supports that do not follow from known ones."""
        supports = supports[self._is_candidate(terms.exponents, supports)]
        if not len(supports):
            return []
        degrees = terms.degrees[supports].max(axis=1)
        extents = np.maximum(terms.extents(supports), LEAST_NOISE)  # smaller ones are not known
        cost = extents * per_degree(supports.shape[1]) ** degrees
        chosen = np.argsort(cost, kind="stable")[:MOST_CANDIDATES]
        return self._judge_each([terms.exponents[supports[i]] for i in chosen])

    def _judge_each(self, candidates: list[IntArray]) -> list[tuple[Relation, float]]:
        """Return the laws among some sets of terms that do not follow from known ones."""
        laws = []
        for number, exponents in enumerate(candidates):
            self._report(number / len(candidates))
            if exponents.tobytes() in self._rejected:
                continue
            relation, p_value = self.fit(exponents), None
            is_new = self._is_new(relation)
            if is_new:
                relation, p_value = self.judge(relation)
            if p_value is not None and self._is_new(relation):
                laws.append((relation, p_value))
            elif not is_new or relation.noise <= self._closest:  # not at a higher level either
                self._rejected.add(exponents.tobytes())
        return laws

    def _is_candidate(self, exponents: IntArray, supports: IntArray) -> BoolArray:
        return primitive(exponents, supports)

    def _accept_best(self, laws: list[tuple[Relation, float]]) -> bool:
        laws.sort(key=lambda law: (len(law[0].exponents), self._rank(law[0])))
        laws = self._prefer_proportions(laws)
        n_found = len(self.found)
        for relation, p_value in laws:
            if self._is_new(relation):
                self._accept(*self._lowest_degree(relation, p_value, laws))
        return len(self.found) > n_found

    def _complete(self, relation: Relation) -> Relation:
        """Add the terms that are zero in most rows, and explain rows that break a law.

        Where few employees get a bonus, gross = base holds in all rows but theirs. These are not
        broken if gross = base + bonus holds in them.
        """
        while (rare := self._find_rare_term(relation)) is not None:
            term, explained, noise = rare
            exponents = sort_terms(np.vstack([relation.exponents, term]))
            self.least_noise[exponents.tobytes()] = noise
            longer = self.fit(exponents, start=explained)
            is_close = longer.noise <= max(SAME_NOISE * relation.noise, ROUNDED)
            if not is_close or self._find_broken(longer).sum() >= self._find_broken(relation).sum():
                break
            relation = longer
        return relation

    def _find_rare_term(self, relation: Relation) -> tuple[IntArray, BoolArray, float] | None:
        """Return the term that explains most of the rows that break a law, if there is one.

        Returns
        -------
        (term, rows that keep the law with it, their largest deviation)
        """
        broken = self._find_broken(relation)
        fewest = FEWEST_EXACT if relation.noise <= ROUNDED else FEWEST_NOISY
        if broken.sum() < fewest:
            return None
        terms = evaluate(self.all_terms.exponents, self.rows)
        rare = np.flatnonzero(
            (np.count_nonzero(terms[broken], axis=0) >= fewest)
            & (np.count_nonzero(terms, axis=0) <= 2 * broken.sum())
        )
        if not len(rare):
            return None
        terms = terms[:, rare]
        sizes = evaluate(relation.exponents, self.rows) * relation.coefficients
        values = sizes.sum(axis=1)[:, None]
        with np.errstate(divide="ignore"):
            ratios = np.where(terms[broken] != 0, values[broken] / terms[broken], np.nan)
        steepness = limit_steepness(
            np.linalg.norm(relation.gradients, axis=1),
            np.linalg.norm(sizes, axis=1) if self.proportional else None,
        )
        off = np.abs(values - np.nanmedian(ratios, axis=0) * terms) / steepness[:, None]
        kept = off <= max(OUTLYING * relation.noise, ROUNDED)
        counts = np.sum(kept[broken], axis=0)
        gains = counts - np.sum(~kept[relation.sound], axis=0)
        best = int(np.argmax(gains))  # of the lowest degree
        if counts[best] < fewest or gains[best] <= 0:
            return None
        explained = kept[:, best]
        return self.all_terms.exponents[rare[best]], explained, float(off[explained, best].max())

    def _lowest_degree(
        self, relation: Relation, p_value: float, laws: list[tuple[Relation, float]]
    ) -> tuple[Relation, float]:
        """Return the law of the lowest degree that says the same beside the known laws.

        With z = x y, the equation x w = x u + z says that w = u + y.
        """
        chosen = relation, p_value
        slopes = self._new_slopes(relation)
        for other, its_p_value in laws:
            if (
                other.degree < chosen[0].degree
                and len(other.exponents) <= len(relation.exponents)
                and other.noise <= SAME_LAW * max(relation.noise, EXACT)
                and _median_sine(slopes, self._new_slopes(other)) < SAME_DIRECTION
                and _median_sine(relation.gradients, other.gradients) > SAME_DIRECTION
                and self._is_new(other)
            ):
                chosen = other, its_p_value
        return chosen

    def _rank(self, relation: Relation) -> float:
        """Return what orders laws of one length: the most likely first, and low degrees."""
        gain = self.log_likelihood(relation) / float(self.row_weights.sum())
        return relation.degree * float(np.log(per_degree(len(relation.exponents)))) - gain

    def _prefer_proportions(
        self, laws: list[tuple[Relation, float]]
    ) -> list[tuple[Relation, float]]:
        """Replace products of powers by proportions of their columns that are not much worse.

        If x, y and z are proportional, z^4 = c x^3 y. If the noise is in y alone, as that of a
        rounded rate, this is closer only because y is a small part of its gradient, and because
        z = x + y shares the noise of y: the noise of y that it implies is about the same.
        """
        if all(law.degree == 1 or len(law.exponents) > 2 for law, _ in laws):
            return laws
        closest, self._closest = self._closest, np.inf  # proportions may have more noise
        terms = self.terms.take(np.flatnonzero(self.terms.degrees == 1))
        supports = search_supports(terms, MOST_NOISE_OF_PROPORTIONS, 2)
        proportions = self._judge_all(terms, supports)
        self._closest = closest
        implied = [self._implied_noise(proportion) for proportion, _ in proportions]
        preferred = []
        for law, p_value in laws:
            chosen = law, p_value
            if law.degree > 1 and len(law.exponents) == 2:
                limit = SAME_PROPORTION * self._implied_noise(law)
                better = [
                    other
                    for other, noise in zip(proportions, implied, strict=True)
                    if np.isin(other[0].columns, law.columns).all() and np.any(noise <= limit)
                ]
                chosen = min(better, key=lambda each: each[0].noise, default=chosen)
            preferred.append(chosen)
        return preferred

    def _implied_noise(self, relation: Relation) -> FloatArray:
        """Return the noise of each column if it is the only one that has any; NaN without it."""
        values = np.abs(evaluate(relation.exponents, self.rows) @ relation.coefficients)
        noise = np.full(self.rows.shape[1], np.nan)
        for j in relation.columns:
            slopes = np.abs(relation.gradients[:, j])
            kept = relation.sound & (slopes > 0)
            if kept.any():
                noise[j] = max(float(np.median(values[kept] / slopes[kept])), EXACT)
        return noise

    def _accept(self, relation: Relation, p_value: float) -> None:
        complete = self._complete(relation)
        self.found.append((complete, p_value))
        self._add_normal(complete)
        if complete is not relation:  # powers of what holds in most rows are not new
            self._add_normal(relation)
            self.incomplete[complete.exponents.tobytes()] = relation.exponents.tobytes()

    def _add_normal(self, relation: Relation) -> None:
        """Keep the directions of the gradients of a law, orthogonal to those of known ones."""
        normal = relation.gradients
        for _ in range(2):  # once leaves rounding errors where little is left
            length = np.linalg.norm(normal, axis=1, keepdims=True)
            slopes = project_out(normal[:, :, None], self._normals)[:, :, 0]
            left = np.linalg.norm(slopes, axis=1, keepdims=True)
            normal = np.where(left > EXACT * length, slopes / np.maximum(left, 1e-300), 0.0)
        self._normals.append(normal)

    def _new_slopes(self, relation: Relation) -> FloatArray:
        """Return the gradients of a relation without the directions of known laws."""
        return project_out(relation.gradients[:, :, None], self._normals)[:, :, 0]

    def _is_new(self, relation: Relation) -> bool:
        """Whether a law restricts the rows further: its gradient is not one of known laws."""
        length = np.linalg.norm(relation.gradients, axis=1)
        steep = length > FLAT * length.max()  # multiples of laws are flat where the factor is zero
        slopes = self._new_slopes(relation)
        few = self.powers <= self.degree
        if self._normals and not few[relation.columns].all():
            # A column of few values is a law of its own: what follows from it is not new either.
            slopes = project_out(slopes[:, :, None], self._directions(np.flatnonzero(few)))[:, :, 0]
        if not steep.any():  # the gradient is zero in every row: this restricts nothing
            return False
        sines = np.linalg.norm(slopes[steep], axis=1) / length[steep]
        return bool(np.median(sines) > SMALLEST_ANGLE)

    def _directions(self, columns: IntArray) -> list[FloatArray]:
        """Return unit vectors along some columns, orthogonal to the normals of known laws."""
        found: list[FloatArray] = []
        for j in columns:
            direction = np.zeros((*self.rows.shape, 1))
            direction[:, j] = 1.0
            direction = project_out(direction, [*self._normals, *found])[:, :, 0]
            length = np.linalg.norm(direction, axis=1, keepdims=True)
            found.append(np.where(length > FLAT, direction / np.maximum(length, FLAT), 0.0))
        return found

    def _apart(self, rows: IntArray) -> Terms:
        """Return the terms with gradients that known laws do not explain.

        In each row the part of a gradient is left that is orthogonal to the gradients of known
        laws: multiples of these, and whatever else follows from them, have no small extent now.
        """
        known = self.all_terms
        most = int(min(2e7 / known.exponents.size, 1000))
        if len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
        key, cells = rows.tobytes(), self.rows[rows]
        if key not in self._along:
            roots = np.sqrt(even_weights(evaluate(known.exponents, cells).T))
            slopes = differentiate(known.exponents, cells, self.units[rows] * roots[:, None])
            flat = slopes.reshape(-1, slopes.shape[2])
            self._along[key] = 0, roots, flat.T @ flat, np.zeros_like(known.values)
            while len(self._along) > 2:  # with and without outliers
                del self._along[next(iter(self._along))]
        n_normals, roots, whole, along = self._along[key]
        for normal in self._normals[n_normals:]:
            directions = self.units[rows] * normal[rows] * roots[:, None]
            slopes = differentiate_along(known.exponents, cells, directions)
            along = along + slopes.T @ slopes
        self._along[key] = len(self._normals), roots, whole, along
        # What has no other gradient than known laws has no extent either, exact or not.
        values = known.values + LEAST_NOISE**2 / 4 * along
        return replace(known, values=values, gradients=whole - along, known=along)

    def judge(self, relation: Relation) -> tuple[Relation, float | None]:
        """Say whether a relation is a law: its p-value, or None."""
        if relation.exponents.tobytes() in self.incomplete.values():
            return relation, None
        self.n_tested += 1
        most = self._most_noise()
        if len(relation.exponents) > 3:
            most = min(most, MOST_NOISE_OF_LONG)
        if relation.degree == 1:
            most = min(most, SAME_NOISE * max(self._linear, 1e-3))
        if self.proportional:  # what is little of a value may be much of the spread
            most = min(most, MOST_NOISE * float(self.spreads[relation.columns].min()))
        elif relation.degree > 2:
            # A few values that are far off make a spread so large that all others are near. They
            # make no simple law, and the spread of columns with long tails is as large.
            most = min(most, MOST_NOISE * float(self._narrowness[relation.columns].min()))
        if relation.noise > most or (relation.noise > EXACT and self._is_rough(relation)):
            return relation, None
        # With noise, three terms of a high degree come close to most rows of many tables.
        most_terms = 3 if relation.degree == 2 or relation.noise <= EXACT else 2
        is_simple = len(relation.exponents) <= most_terms or relation.degree == 1
        # One wrong cell breaks a row: the more columns a law has, the more rows break it.
        by_columns = min(1 - (1 - MOST_WRONG) ** len(relation.columns), MOST_OUTLIERS)
        most_broken = by_columns if is_simple else MOST_BROKEN_OF_LONG
        broken = np.average(self._find_broken(relation), weights=self.row_weights)
        if broken > most_broken:  # not those that a rare term explains
            broken = np.average(
                self._find_broken(self._complete(relation)), weights=self.row_weights
            )
        if broken > most_broken:
            return relation, None
        if not self._is_reduced(relation):
            return relation, None
        p_value = min(1.0, self._p_value(relation) * self.n_tested)
        if p_value > SIGNIFICANT:
            return relation, None
        return relation, p_value

    def _find_broken(self, relation: Relation) -> BoolArray:
        """Return the rows that break a law.

        Where most rows are exact, others are off by rounding: these are not broken.
        """
        broken = ~relation.sound & (np.abs(relation.deviations) > BEYOND_ROUNDING)
        if relation.noise > EXACT or not self.half_digits.any() or not broken.any():
            return broken
        terms, rows = relation.exponents, self.rows[broken]
        off = np.abs(evaluate(terms, rows) @ relation.coefficients)
        slopes = differentiate(terms, rows, self.half_digits) @ relation.coefficients
        broken[broken] = off > np.abs(slopes).sum(axis=1) * (1 + EXACT)
        return broken

    def _is_reduced(self, relation: Relation) -> bool:
        """Say whether no term of a relation is a rounding error, and it is not a square of another.

        The gradient of a square, 2 g ∇g, is as small as g is.
        """
        terms = evaluate(relation.exponents, self.rows) * relation.coefficients
        told = relation.sound & terms.any(axis=1)  # rows of zeros say nothing
        if not told.any():
            return False
        sizes = np.sqrt(np.mean(terms[told] ** 2, axis=0))
        lengths = np.linalg.norm(relation.gradients[told], axis=1)
        steepness = np.median(lengths / np.linalg.norm(terms[told], axis=1))
        return bool(sizes.min() > EXACT * sizes.max() and steepness > 5 * relation.noise)

    def fit(self, exponents: IntArray, start: BoolArray | None = None) -> Relation:
        """Fit the coefficients of given terms, first to some rows."""
        # Without a discount, totals may be exact; with one, they are rounded. The rows that have
        # a rare term determine its coefficient, though most others have less noise.
        if start is None and exponents.tobytes() not in self.least_noise:
            start = self._searched
        return fit_relation(
            self.rows,
            self.units,
            exponents,
            self.row_weights,
            start=start,
            proportional=self.proportional,
            least_noise=self.least_noise.get(exponents.tobytes(), LEAST_DEVIATION),
        )

    def _is_rough(self, relation: Relation) -> bool:
        """Say whether the deviations from a relation depend on the columns, as noise does not."""
        sound = relation.sound & (self.row_weights > 0)
        deviations, rows = relation.deviations[sound], self.rows[sound]
        target, n_terms = solved_for(relation), len(relation.exponents)
        share, error = explained_share(deviations, rows, self.spreads, target)
        if share > max(0.01, (2 if n_terms <= EXHAUSTIVE else 1) * error):
            return True
        if largest_correlation(deviations, rows, target) > UNCORRELATED:
            return True
        # Many correlated columns have long combinations that nearly vanish, the less the larger
        # the columns are.
        sizes = np.abs(deviations)
        return n_terms > EXHAUSTIVE and largest_correlation(sizes, rows, target) > UNCORRELATED

    def _p_value(self, relation: Relation) -> float:
        """Return how likely chance makes one of the columns fit as well.

        The law is fitted to every other row and tested on the rest: there its deviations are
        compared with those after a permutation of each column alone. The largest of the p-values
        counts, so that a law needs every column it names. Rows in which all terms are zero do not
        determine coefficients: half of the others is among those that it is fitted to.
        """
        rows = np.flatnonzero((self.row_weights > 0) & relation.sound)
        rows = self.rng.permutation(rows)
        if len(rows) > 2000:
            rows = rows[:2000]
        half = len(rows) // 2
        speaks = evaluate(relation.exponents, self.rows[rows]).any(axis=1)
        if min(half, speaks.sum() // 2) < len(relation.exponents) + 1:
            return 1.0
        if not speaks.all():
            places = np.empty(len(rows))  # in an order in which both kinds are spread evenly
            for kind in (speaks, ~speaks):
                places[kind] = np.arange(kind.sum()) / max(kind.sum(), 1)
            rows = rows[np.argsort(places, kind="stable")]
        fitted = fit_relation(
            self.rows[rows[:half]],
            self.units[rows[:half]],
            relation.exponents,
            np.ones(half),
            proportional=self.proportional,
        )
        columns = relation.columns
        test, units = self.rows[rows[half:]][:, columns], self.spreads[columns]
        fitted = replace(fitted, exponents=fitted.exponents[:, columns])
        observed = self._log_deviations(fitted, test, units, 1)[0]
        worst = 0.0
        for column in range(len(columns)):
            changed = np.tile(test, (PERMUTATIONS, 1))
            changed[:, column] = np.concatenate(
                [self.rng.permutation(test[:, column]) for _ in range(PERMUTATIONS)]
            )
            shuffled = self._log_deviations(fitted, changed, units, PERMUTATIONS)
            spread = np.std(shuffled, ddof=1) * np.sqrt(1 + 1 / PERMUTATIONS)
            gap = (np.mean(shuffled) - observed) / max(spread, 1e-3)
            if np.mean(shuffled) - observed < np.log(1.15):  # the column hardly matters
                return 1.0
            worst = max(worst, float(stdtr(PERMUTATIONS - 1, -gap)))
        return worst

    def log_likelihood(self, relation: Relation) -> float:
        """Return how much more likely a law makes the rows, as a logarithm.

        A row is at a distance from the law that is normal with the standard deviation of its noise,
        or anywhere if the row is broken, as if there were no law.
        """
        slopes = differentiate(relation.exponents, self.rows, self.spreads)
        steepness = np.linalg.norm(slopes @ relation.coefficients, axis=1)
        terms = evaluate(relation.exponents, self.rows) * relation.coefficients
        # Where the gradient is zero, there is no distance: such rows are as likely as the others.
        steep = steepness > FLAT * np.linalg.norm(terms, axis=1)
        if not steep.any():
            return 0.0
        distances = terms[steep].sum(axis=1) / steepness[steep]
        units = np.linalg.norm(relation.gradients[steep], axis=1) / steepness[steep]
        noise = np.maximum(relation.noise * units, EXACT)
        density = np.exp(-0.5 * (distances / noise) ** 2) / (noise * np.sqrt(2 * np.pi))
        gains = np.log((1 - BROKEN) * density / ANYWHERE + BROKEN)
        return float(np.average(gains, weights=self.row_weights[steep]) * self.row_weights.sum())

    def _log_deviations(
        self, relation: Relation, rows: FloatArray, spreads: FloatArray, n_tables: int
    ) -> FloatArray:
        """Return the logarithm of the mean deviation in each of several tables of equal length."""
        values = evaluate(relation.exponents, rows) @ relation.coefficients
        units = scale_noise(rows, spreads, self.proportional)
        slopes = differentiate(relation.exponents, rows, units) @ relation.coefficients
        steepness = np.sqrt(np.sum(slopes**2, axis=1))
        deviations = np.abs(values) / np.maximum(steepness, 1e-300)
        return np.asarray(np.log(deviations.reshape(n_tables, -1).mean(axis=1) + 1e-16))

    def _lowest_extents(self) -> list[float]:
        """Return the smallest extent of each degree, of what does not follow from known laws."""
        lows = []
        for degree in range(1, int(self.terms.degrees.max()) + 1):
            chosen = np.flatnonzero(self.terms.degrees <= degree)
            if not len(chosen):
                continue
            if len(chosen) > min(len(self.terms.weights) / 2, MOST_FACTORED):
                break
            lows.append(smallest_extent(self.terms.take(chosen)))
        return lows


def _median_sine(first: FloatArray, second: FloatArray) -> float:
    """Return the sine of the angle between two gradients in the median row."""
    products = np.abs(np.sum(first * second, axis=1))
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosines = products / np.maximum(lengths, 1e-300)
    return float(np.median(np.sqrt(np.clip(1 - cosines**2, 0, None))))


def per_degree(n_terms: int) -> float:
    """Return the noise by which a law of a higher degree must be smaller, for each degree."""
    return PER_DEGREE_OF_TWO if n_terms == 2 else PER_DEGREE


def solved_for(relation: Relation) -> int:
    """Return the column that moves a relation most, for one spread."""
    squares = relation.gradients**2
    shares = squares / np.maximum(squares.sum(axis=1, keepdims=True), 1e-300)
    return int(np.argmax(shares.mean(axis=0)))


def find_relations(
    rows: FloatArray,
    *,
    max_degree: int | None = None,
    noise: FloatArray | None = None,
    row_weights: FloatArray | None = None,
    seed: int = 0,
    most_rows: int = 3000,
    callback: Callable[[int, float], object] | None = None,
    is_over: type[Exception] | tuple[()] = (),
) -> tuple[list[tuple[Relation, float, FloatArray, FloatArray]], list[str], bool]:
    """Find the laws of a table.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Without constant columns.
    max_degree : int, optional
    noise : array of shape (n_columns,), optional
        Standard deviations of the columns' noise.
    row_weights : array of shape (n_rows,), optional
    seed : int
    most_rows : int
        Rows that are searched; the relations are fitted to all.
    callback : callable, optional
        As in ``discover``.
    is_over : type of exception, optional
        Which the callback raises to end the search.

    Returns
    -------
    relations : list of (Relation, p-value, sizes of the columns, scaled rows)
    notes : list of str
        What the search restricted itself to.
    proportional : bool
        Whether the noise is in proportion to the values; otherwise to the spreads.
    """
    notes: list[str] = []
    n_rows, n_columns = rows.shape
    weights = np.ones(n_rows) if row_weights is None else row_weights
    sizes = np.sqrt(np.mean(rows**2, axis=0))
    scaled = rows / sizes
    spreads = scaled.std(axis=0)
    units, level = spreads, None
    if noise is not None:
        relative = noise / sizes / spreads
        level = float(np.sqrt(np.mean(relative**2)))
        if level > 0:
            units = noise / sizes / level
    degree = choose_degree(n_columns, max_degree, notes)
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) > most_rows:
        chosen = np.sort(rng.choice(chosen, most_rows, replace=False))
    powers = highest_powers(rows[chosen], spreads)
    digits = last_digits(rows[chosen]) / sizes
    half_digits = np.where(digits <= LARGEST_DIGIT * spreads, digits / 2, 0.0)
    table = scaled[chosen], units, weights[chosen], degree, powers, rng, level, callback
    ratio = _compare_sizes(scaled[chosen])
    is_wide = noise is None and ratio > VERY_WIDE
    search = Search(*table, is_wide, half_digits)
    try:
        search.run()
        if noise is None and ratio > WIDE and not search.is_exact():
            same = search.with_other_noise()
            if not search.found or _log_likelihood(same) > _log_likelihood(search):
                other = Search(*table, not search.proportional, half_digits)
                other.take_exact(same)
                other.run()
                search = max([search, same, other], key=_log_likelihood)
    except is_over:
        notes.append("the time was over before all laws with noise were looked for; set time_limit")
    relations = []
    for relation, p_value in search.found:
        full = relation
        if len(chosen) < n_rows:
            cells = scale_noise(scaled, units, search.proportional)
            full = fit_relation(
                scaled,
                cells,
                relation.exponents,
                weights,
                proportional=search.proportional,
                least_noise=search.least_noise.get(relation.exponents.tobytes(), LEAST_DEVIATION),
            )
        if full.coefficients.all():  # otherwise a term is zero wherever the law holds
            relations.append((full, p_value, sizes, scaled))
    return relations, notes, search.proportional


def _compare_sizes(rows: FloatArray) -> float:
    """Return how many times larger large values are than small ones, in the widest column."""
    low, high = np.quantile(np.abs(rows), [0.05, 0.95], axis=0)
    return float(np.max(high / np.maximum(low, 1e-300)))


def _log_likelihood(search: Search) -> float:
    return sum(search.log_likelihood(relation) for relation, _ in search.found)


def check_options(max_degree: Any, random_state: Any) -> None:
    """Raise if an option of a search is not a whole number in its range."""
    for name, value, least in (("max_degree", max_degree, 1), ("random_state", random_state, 0)):
        if value is not None:
            check_whole(name, value, least)


def choose_degree(n_columns: int, max_degree: int | None, notes: list[str]) -> int:
    """Return the highest degree whose monomials are few enough."""
    wanted = HIGHEST_DEGREE if max_degree is None else max_degree
    degree = 1
    while degree < wanted and count(n_columns, degree + 1) <= MOST_TERMS:
        degree += 1
    if degree < wanted:
        notes.append(
            f"laws of degree {degree + 1} and more were not looked for in {n_columns} columns"
        )
    if n_columns >= MOST_FACTORED:
        notes.append(f"laws of more than three terms were not looked for in {n_columns} columns")
    return degree


def combine(first: Relation, second: Relation) -> list[IntArray]:
    """Return the terms of combinations of two relations that are shorter than the first.

    Each term that both have is eliminated in turn; others may cancel with it.
    """
    exponents = sort_terms(np.unique(np.vstack([first.exponents, second.exponents]), axis=0))
    vectors = []
    for relation in (first, second):
        vector = np.zeros(len(exponents))
        places = (relation.exponents[:, None] == exponents[None]).all(axis=2).argmax(axis=1)
        vector[places] = relation.coefficients
        vectors.append(vector)
    a, b = vectors
    tol = max(1e-6, 10 * first.noise, 10 * second.noise)
    found = []
    for common in np.flatnonzero((a != 0) & (b != 0)):
        multiple = a[common] / b[common] * b
        left = np.abs(a - multiple) > tol * (np.abs(a) + np.abs(multiple))
        left[common] = False
        if 1 < left.sum() < np.count_nonzero(a):
            found.append(exponents[left])
    return sorted(found, key=len)


def lower(law: Relation, steps: list[IntArray]) -> list[IntArray]:
    """Return the terms of laws of two terms that follow from some, of lower degrees than the first.

    Without their coefficients these laws are x^v = 1, with whole numbers v of either sign.
    ``steps`` are the v of others.
    """
    if len(law.exponents) > 2:
        return []
    powers = law.exponents[1] - law.exponents[0]
    candidates = [powers // np.gcd.reduce(powers)]
    candidates += [powers + sign * step for step in steps for sign in (1, -1)]
    return _pairs_of_terms(candidates, law.degree, int(law.exponents.sum()))


def find_proportions(rows: FloatArray) -> list[IntArray]:
    """Return x^v = 1, without its coefficient, of the pairs of columns that are proportional.

    Such laws need not be listed: they may follow from others.
    """
    found = []
    for i, j in combinations(range(rows.shape[1]), 2):
        kept = (rows[:, i] != 0) & (rows[:, j] != 0)
        if not kept.any():
            continue
        ratios = rows[kept, i] / rows[kept, j]
        middle = np.median(ratios)
        if np.median(np.abs(ratios - middle)) <= MOST_NOISE_OF_PROPORTIONS * abs(middle):
            step = np.zeros(rows.shape[1], dtype=np.intp)
            step[[i, j]] = 1, -1
            found.append(step)
    return found


def find_factors(law: Relation) -> list[IntArray]:
    """Return the terms of possible factors of a law, of lower degrees.

    A law times a polynomial that is zero in the rows that break it is zero in all rows. Where a
    linear factor vanishes, its gradient and that of the product have the same direction. A factor
    of two terms has the direction of an edge of the product's Newton polytope.
    """
    if law.degree == 1 or len(law.exponents) == 2:
        return []
    found = []
    lengths = np.linalg.norm(law.gradients, axis=1)
    steep = lengths > FLAT * lengths.max()
    directions = law.gradients[steep] / lengths[steep, None]
    pivot = int(np.argmax(np.median(np.abs(directions), axis=0)))
    directions *= np.where(directions[:, [pivot]] < 0, -1.0, 1.0)
    usual = np.median(directions, axis=0)
    if np.median(np.abs(directions - usual).max(axis=1)) < SAME_DIRECTION:
        for least in (SAME_DIRECTION, FLAT):  # a column may be small beside others
            linear = np.eye(len(usual), dtype=np.intp)[np.abs(usual) > least]
            found += [linear, np.vstack([np.zeros_like(linear[:1]), linear])]
    steps = [second - first for first, second in combinations(law.exponents, 2)]
    steps = [step // np.gcd.reduce(step) for step in steps]
    return found + _pairs_of_terms(steps, law.degree)


def divide(law: Relation, steps: list[IntArray]) -> list[IntArray]:
    """Return the terms of a law of more than two terms, divided by a column.

    With z = x y, the equation x w = x u + z says that w = u + y: laws x^v = 1, whose v are
    ``steps``, give terms the column that the others have. Those with fewer such terms come first.
    """
    if len(law.exponents) == 2:
        return []
    found = []
    for column in law.columns:
        one = np.eye(law.exponents.shape[1], dtype=np.intp)[column]
        n_without = int(np.sum(law.exponents[:, column] == 0))
        for step in steps:
            same = [(term, term + step, term - step) for term in law.exponents - one]
            divided = [[each for each in terms if (each >= 0).all()] for terms in same]
            if all(divided):
                exponents = sort_terms(np.array([terms[0] for terms in divided]))
                if len(np.unique(exponents, axis=0)) == len(exponents):
                    found.append((n_without, exponents))
    return [exponents for _, exponents in sorted(found, key=lambda each: each[0])]


def order_terms(exponents: IntArray) -> IntArray:
    """Return the order that monomials have, by their exponents."""
    return np.lexsort((*-exponents.T[::-1], exponents.sum(axis=1)))


def sort_terms(exponents: IntArray) -> IntArray:
    """Return exponents in the order that monomials have."""
    return exponents[order_terms(exponents)]


def _pairs_of_terms(steps: list[IntArray], degree: int, n_factors: int = 0) -> list[IntArray]:
    """Return the terms of x^v = 1 for some v, the lowest degrees first.

    Their degrees are below the given one, or the same with fewer factors.
    """

    def size(pair: IntArray) -> tuple[int, int]:
        return int(pair.sum(axis=1).max()), int(pair.sum())

    found = [
        np.array([np.maximum(-each, 0), np.maximum(each, 0)])
        for each in steps
        if (each > 0).any() and (each < 0).any()
    ]
    return sorted((each for each in found if size(each) < (degree, n_factors)), key=size)


def find_ratios(terms: Terms, rows: FloatArray) -> list[tuple[float, IntArray]]:
    """Return the pairs of terms whose ratio is the same in most rows, the closest first.

    Returns
    -------
    list of (median of the logarithm of the ratio, pair)
    """
    having = (terms.exponents > 0).astype(float)
    pairs = np.argwhere(np.triu(having @ having.T == 0, 1))  # without a common factor
    n_rows = int(np.clip(MOST_RATIOS // max(len(pairs), 1), 50, len(rows)))
    chosen = np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(evaluate(terms.exponents, rows[chosen])))
    logs[np.isinf(logs)] = np.nan
    _, widths = _middles(logs)
    found: list[tuple[float, float, IntArray]] = []
    for some in np.array_split(pairs, max(1, len(pairs) // 2000)):
        middles, spreads = _middles(logs[:, some[:, 0]] - logs[:, some[:, 1]])
        width = np.max(widths[some], axis=1, initial=1e-300)
        close = np.flatnonzero(spreads < SAME_RATIO * width)
        costs = PER_DEGREE_OF_TWO ** terms.degrees[some[close]].max(axis=1, initial=0)
        costs = costs * spreads[close] / width[close]
        found += [
            (float(cost), float(middles[i]), some[i]) for cost, i in zip(costs, close, strict=True)
        ]
    found.sort(key=lambda each: each[0])
    return [(middle, pair) for _, middle, pair in found[:MOST_CANDIDATES]]


def _middles(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians and the median deviations of columns, NaN left out."""
    counts = np.sum(~np.isnan(columns), axis=0)
    half = np.maximum(counts - 1, 0) // 2
    every = np.arange(columns.shape[1])
    middles = np.sort(columns, axis=0)[half, every]
    spreads = np.sort(np.abs(columns - middles), axis=0)[half, every]
    enough = counts > 0.2 * len(columns)
    return middles, np.where(enough, np.nan_to_num(spreads, nan=np.inf), np.inf)


def highest_powers(rows: FloatArray, spreads: FloatArray) -> IntArray:
    """Return for each column the power from which on it is left out.

    A column with k values satisfies an equation of degree k of its own, which is no law. Powers of
    a column whose spread is tiny beside its size are the same up to rounding.
    """
    levels = np.array([len(np.unique(column)) for column in rows.T])
    resolved = np.floor(6.0 / np.maximum(-np.log10(np.clip(spreads, 1e-300, 1.0)), 1e-9))
    return np.asarray(np.minimum(levels, np.maximum(resolved, 1) + 1), dtype=np.intp)
