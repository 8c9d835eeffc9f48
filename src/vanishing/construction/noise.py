"""The noise of points: how large it is, which polynomials it explains, and moments without it.

Every coordinate of a point is taken to have noise of one standard deviation σ. A polynomial g that
vanishes on the true points is then about σ‖∇g‖ on the observed ones. With growing degree the
smallest such distance falls until it reaches σ, and stays there: that plateau is the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import log, sqrt

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.kernels import triangular_factor
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    lazy,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.construction.gsvd import REGULAR
from vanishing.construction.moments import Frame, Moments, factor_affine
from vanishing.construction.passes import Factor
from vanishing.data.source import ArraySource, SampleSource, sample_rows
from vanishing.levels import BLOCK, CHANCE, FOLDS, MEMORY, OUTLYING, SAFETY, SAME, UNINFORMATIVE
from vanishing.polynomials.basis import CLEARLY, STANDARD_ERRORS, largest_by_chance
from vanishing.polynomials.monomials import (
    NEARLY_DEPENDENT,
    SQUARED_AWAY,
    count,
    monomials,
    multiples,
    multiples_up_to,
    normalize_columns,
)

# --- What is found --------------------------------------------------------------------------------

#: From this share of the spread on, second-order terms of the noise matter and are corrected.
WORTH_CORRECTING = 3e-3


@dataclass(frozen=True)
class Noise:
    """The noise of points, as their polynomials show it."""

    level: float  # standard deviation; 0 if equations are exact, NaN if there are none
    spread: float  # of the points, for one column
    degree: int | None  # the lowest whose polynomials are as close as those of any other
    levels: tuple[float, ...]  # per degree from 1, the distance of the closest polynomial
    corrected: bool = False  # whether the moments of the points are corrected for the noise
    n_equations: int | None = None  # of that degree, at most; None if moments were not asked

    @property
    def share(self) -> float:
        """The level as a share of the spread."""
        return self.level / self.spread if self.spread > 0 else 0.0

    def closest(self, degree: int) -> float:
        """Return the level of a degree, NaN where it was not looked at."""
        return self.levels[degree - 1] if degree <= len(self.levels) else np.nan

    def most_distant(
        self, degree: int, extents: FloatArray, lengths: FloatArray, n_rows: float
    ) -> float:
        """Return the largest distance from a polynomial that the noise explains."""
        if not self.level > 0 or self.degree is None or degree < self.degree:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.sort(np.nan_to_num(extents / lengths, nan=np.inf))
        too_far = distances > self.level * largest_by_chance(
            np.arange(1.0, len(distances) + 1), n_rows
        )
        number = int(np.argmax(too_far)) if too_far.any() else len(distances)
        if degree == self.degree and self.n_equations is not None:
            number = min(number, self.n_equations)
        return float(distances[number - 1]) * (1 + 1e-9) if number else 0.0

    def __str__(self) -> str:
        looked_at = f"degree {len(self.levels)} or less"
        if self.degree is None:
            return f"no equation of {looked_at} holds to within noise"
        degree = f"equations from degree {self.degree} on"
        if self.level == 0:
            return f"no noise; {degree}"
        above = len(self.levels) > self.degree
        return f"noise {100 * self.share:.2g} % of the spread; {degree}; " + (
            f"degree {self.degree + 1} is no closer" if above else "no higher degree looked at"
        )

    def __repr__(self) -> str:
        return f"<Noise: {self}>"


# --- Moments, corrected for noise -----------------------------------------------------------------
#
# If x = x₀ + ε with Gaussian ε of covariance σ²C, then E exp(-σ²/2 Σ C_jl ∂_j ∂_l) p(x) = p(x₀) for
# every polynomial p: in one variable the operator turns powers into Hermite polynomials. Moments of
# the true points are therefore combinations of those of the observed ones, polynomials in t = σ²,
# and so is the matrix M(t) of the means of x₀^a x₀^b. On the points of a variety M(σ²) is singular,
# and its null vectors are the equations (adjusted least squares). M(0) - t B with B of the
# gradients, which the gradient normalization solves, is its first-order part.


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Sums of the monomials of points up to twice a degree, by parts of the rows."""

    frame: Frame
    degree: int
    sums: FloatArray

    @classmethod
    def compute(
        cls, source: SampleSource, frame: Frame, degree: int, memory_budget: int
    ) -> "NoisyMoments":
        """Pass over the rows of a source once."""
        table = monomials(source.n_features, 2 * degree)
        # A row's part depends on its values alone, so that it is the same in any order and any
        # division into blocks, and equal rows are in the same part.
        directions = np.sqrt(np.arange(2.0, 2.0 + source.n_features))

        def add_up(x: Array, root_weights: Array | None = None) -> Array:
            xp = namespace(x)
            u = frame(xp.astype(x, xp.float64))
            with np.errstate(over="ignore", invalid="ignore"):
                values = table.values(u)
                phase = 1e3 * (move_like(directions, u) @ u)
                part = xp.floor(FOLDS * (phase - xp.floor(phase)))
            member = [xp.astype(part == k, xp.float64) for k in range(FOLDS)]
            members = xp.stack(member)
            if root_weights is not None:
                members = members * xp.astype(root_weights, xp.float64) ** 2
            return members @ values.T

        rows = block_rows(2 * len(table), cpu=source.cpu, budget_bytes=memory_budget)
        total = source.map_reduce(add_up, lambda a, b: a + b, max_rows=rows)
        return cls(frame, degree, move_to_numpy(total))

    def series(self, parts: Sequence[int]) -> "MomentSeries":
        """Return the moments of some parts of the rows as a function of t."""
        sums = self.sums[list(parts)].sum(axis=0)
        terms = [sums / sums[0]]
        for power in range(1, self.degree + 1):
            terms.append(self.diffusion @ terms[-1] / power)
        return MomentSeries(self.frame, self.degree, np.stack(terms), len(self.frame.origin))

    @lazy
    def diffusion(self) -> csr_array:
        """-½ Σ C_jl ∂_j ∂_l of each monomial, on the monomials: the derivative by t."""
        n_features = len(self.frame.origin)
        table = monomials(n_features, 2 * self.degree)
        lower = np.arange(count(n_features, 2 * self.degree - 2))
        covariance = self.frame.axes.T @ self.frame.axes  # for noise of deviation 1 in x
        rows, factors = [], []
        for j in range(n_features):
            for k in range(n_features):
                raised = table.times_variable[j][table.times_variable[k][lower]]
                powers = table.exponents[raised]
                rows.append(raised)
                factors.append(-covariance[j, k] / 2 * powers[:, j] * (powers[:, k] - (j == k)))
        columns = np.tile(lower, n_features**2)
        entries = np.concatenate(factors), (np.concatenate(rows), columns)
        return csr_array(entries, shape=(len(table), len(table)))


@dataclass(frozen=True, eq=False)
class MomentSeries:
    """Moments as polynomials in t, the variance of the noise that is taken out of them."""

    frame: Frame
    degree: int
    terms: FloatArray  # coefficients of the powers of t
    n_features: int

    def matrix(self, t: float, degree: int) -> FloatArray:
        """Return M(t): the mean of the product of each two monomials up to a degree."""
        powers = t ** np.arange(len(self.terms))
        products = find_products(self.n_features, degree, 2 * self.degree)
        return np.asarray((powers @ self.terms)[products])

    def gradients(self, t: float, degree: int) -> FloatArray:
        """Return the mean of ∇p·∇q for each two monomials p and q up to a degree."""
        table = monomials(self.n_features, degree)
        below = self.matrix(t, degree - 1)
        by_u = np.stack([table.derivative(np.eye(len(table)), k) for k in range(self.n_features)])
        by_x = np.tensordot(self.frame.axes, by_u, axes=1)
        return np.asarray(np.einsum("iab,ac,icd->bd", by_x, below, by_x, optimize=True))

    def along(self, coefficients: FloatArray, degree: int) -> FloatArray:
        """Return the mean of the square of one polynomial, as coefficients of powers of t."""
        squares = self.terms[:, find_products(self.n_features, degree, 2 * self.degree)]
        return np.asarray(squares @ coefficients @ coefficients)

    def extents(self, t: float, degree: int) -> FloatArray:
        """Return by how much mean squares, at gradient 1, exceed noise of variance t."""
        matrix, gradients = self.matrix(t, degree), self.gradients(t, degree)
        centered = matrix[1:, 1:] - np.outer(matrix[1:, 0], matrix[0, 1:])
        return np.asarray(eigh(centered, gradients[1:, 1:], eigvals_only=True) + t)

    def first_singular(self, degree: int) -> tuple[float, FloatArray]:
        """Return the smallest t at which M(t) is singular, from above, and its null vector."""
        plain = self.matrix(0.0, degree)
        scale = 1 / np.sqrt(np.diag(plain))
        centered = plain[1:, 1:] - np.outer(plain[1:, 0], plain[0, 1:])
        gradients = self.gradients(0.0, degree)[1:, 1:]
        _, vectors = eigh(centered, gradients, subset_by_index=[0, 0])  # to first order in t
        vector = np.concatenate([-plain[0, 1:] @ vectors, vectors[:, 0]])
        t = np.inf
        while True:  # three to six times
            roots = positive_roots(self.along(vector, degree))
            if not len(roots) or roots[0] >= t * (1 - SAME):
                break
            t = float(roots[0])
            matrix = self.matrix(t, degree) * scale * scale[:, None]
            vector = eigh(matrix, subset_by_index=[0, 0])[1][:, 0] * scale
        return t, vector

    def correct(
        self, t: float, degree: int, n_rows: float, equations: FloatArray | None = None
    ) -> Moments:
        """Return the nearest moments without noise in which multiples of equations vanish."""
        scale = np.sqrt(np.diag(self.matrix(0.0, degree)))
        matrix: FloatArray = self.matrix(t, degree) / scale / scale[:, None]
        if equations is not None:
            table = monomials(self.n_features, degree)
            own = next(d for d in range(degree + 1) if count(self.n_features, d) == len(equations))
            columns = multiples_up_to(equations, own, degree, table) * scale[:, None]
            left, sizes, _ = np.linalg.svd(normalize_columns(columns), full_matrices=False)
            left = left[:, sizes > NEARLY_DEPENDENT * sizes[0]]
            rest = np.eye(len(matrix)) - left @ left.T
            matrix = rest @ matrix @ rest  # the nearest one in which they vanish
        values, vectors = np.linalg.eigh(matrix)
        root = np.sqrt(np.clip(values, 1e-14, None))[:, None] * vectors.T * scale
        error = SAFETY * float(np.finfo(np.float64).eps)
        factor = Factor(triangular_factor(root.T.copy()), n_rows, error)
        return Moments(self.frame, degree, factor, error * factor.column_rms)


@lru_cache(maxsize=16)
def find_products(n_features: int, degree: int, highest: int) -> IntArray:
    """Return where the product of each two monomials is among those of the highest degree."""
    table = monomials(n_features, degree)
    times = monomials(n_features, highest).times_variable
    which = np.empty((len(table), len(table)), dtype=np.intp)
    which[0] = np.arange(len(table))
    for j, below, above in table.products():
        which[above] = times[j][which[below]]
    return which


def positive_roots(coefficients: FloatArray) -> FloatArray:
    """Return the positive roots of a polynomial, ascending powers first, ascending."""
    roots = np.roots(coefficients[::-1])
    real = np.abs(roots.imag) <= SQUARED_AWAY * np.abs(roots.real)  # double roots
    return np.sort(roots.real[real & (roots.real > 0)])


def noise_of(coefficients: FloatArray) -> tuple[float, float]:
    """Return the variance of the noise by the powers of t in a mean square, and its condition."""
    roots = positive_roots(coefficients)
    slopes = coefficients[1:] * np.arange(1, len(coefficients))
    if not len(roots):
        turns = positive_roots(slopes)
        return (float(turns[0]) if len(turns) else np.nan), np.inf
    root = float(roots[0])
    slope = float(np.polynomial.polynomial.polyval(root, slopes))
    condition = abs(coefficients[0] / (root * slope)) if slope else np.inf
    if len(roots) > 1 and roots[1] < 2 * root:
        root = float(roots[:2].mean())
    return root, condition


# --- Moment conditions ----------------------------------------------------------------------------
#
# Adjusted least squares asks for M(t) θ = 0: the mean of m g without noise is zero for every
# monomial m of the degree of g. Monomials of one more degree give more conditions than unknowns,
# which no θ satisfies exactly. The efficient compromise weights them by the inverse of the
# covariance of their sampling errors (the generalized method of moments, in steps: the covariance
# depends on θ). How badly they are satisfied tests whether there is an equation of that degree.


@dataclass(frozen=True, eq=False)
class MomentConditions:
    """The conditions on polynomials of one degree that vanish on the points without noise."""

    noisy: NoisyMoments
    degree: int
    source: SampleSource
    memory_budget: int

    @lazy
    def series(self) -> MomentSeries:
        """The moments of all rows."""
        return self.noisy.series(range(FOLDS))

    def matrix(self, t: float) -> FloatArray:
        """Return the means of products of multipliers, by rows, and monomials of g."""
        n_monomials = count(self.source.n_features, self.degree)
        return self.series.matrix(t, self.degree + 1)[:, :n_monomials]

    def weights(self, t: float, polynomials: FloatArray) -> FloatArray:
        """Return a factor W of the inverse covariance WᵀW of the conditions in one row."""
        table = monomials(self.source.n_features, 2 * self.degree + 1)
        factors = monomials(self.source.n_features, self.degree + 1).exponents
        term = multiples(polynomials, table, factors)
        derivative = self.noisy.diffusion[: len(table), : len(table)].T
        corrected = term
        for power in range(1, self.degree + 1):
            term = t / power * (derivative @ term)
            corrected = corrected + term
        frame = self.noisy.frame

        def add_up(x: Array, root_weights: Array | None = None) -> Array:
            xp = namespace(x)
            found = move_like(corrected.T, x) @ table.values(frame(xp.astype(x, xp.float64)))
            if root_weights is not None:
                found = found * xp.astype(root_weights, xp.float64)
            found = xp.reshape(found, (len(factors), -1))
            return found @ found.T

        width = 2 * (len(table) + corrected.shape[1])
        rows = block_rows(width, cpu=self.source.cpu, budget_bytes=self.memory_budget)
        total = self.source.map_reduce(add_up, lambda a, b: a + b, max_rows=rows)
        n_rows = self.noisy.sums[:, 0].sum() if self.source.weighted else self.source.n_samples
        covariance = move_to_numpy(total) / (n_rows * (corrected.shape[1] // len(factors)))
        scale = np.sqrt(np.diag(covariance))
        values, vectors = np.linalg.eigh(covariance / scale / scale[:, None])
        kept = values > SAME * values[-1]
        return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T / scale)

    def solve(self, number: int) -> "Compromise":
        """Find the polynomials that meet the conditions best; ``number`` is how many there are."""
        start, vector = self.series.first_singular(self.degree)
        if not np.isfinite(start):  # no noise makes M(t) singular
            return Compromise(np.nan, vector[:, None], np.full(len(vector), np.nan))
        gradients = self.series.gradients(0.0, self.degree)
        plain = self.series.matrix(0.0, self.degree + 1)
        n_monomials = len(gradients)
        # Sampling errors are those of the gradient, about. The constant has no gradient and must
        # not be a solution: a share of its own size is enough.
        norm = gradients / np.trace(gradients)
        norm += CHANCE * plain[:n_monomials, :n_monomials] / np.trace(plain)
        # At first as if g had the same variance everywhere. Adjusted least squares may be so far
        # off that weights according to it lead elsewhere.
        weights = np.linalg.inv(np.linalg.cholesky(plain))
        t, squares, polynomials = self._minimize(weights, norm, start, number)
        for _ in range(2):  # by a covariance of that, and by one of what it gives
            weights = self.weights(t, polynomials)
            t, squares, polynomials = self._minimize(weights, norm, start, number)
        return Compromise(t, polynomials, squares / (len(plain) - n_monomials))

    def _minimize(
        self, weights: FloatArray, norm: FloatArray, start: float, number: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return t, the sums of squares of all polynomials, and those of the smallest."""

        def errors(log_variance: float) -> tuple[FloatArray, FloatArray]:
            weighted = weights @ self.matrix(float(np.exp(log_variance)))
            squares, vectors = eigh(weighted.T @ weighted, norm)
            return squares, vectors

        found = minimize_scalar(
            lambda log_variance: float(np.sum(errors(log_variance)[0][:number])),
            bounds=(np.log(start / CLEARLY), np.log(start * CLEARLY)),
            method="bounded",
            options={"xatol": 1e-5},
        )
        squares, vectors = errors(float(found.x))
        return float(np.exp(found.x)), squares, vectors[:, :number]

    def gain(self, best: "Compromise") -> float:
        """Return by which factor standard errors are less than by M(t) θ = 0 alone."""
        t, vector = best.variance, best.polynomials[:, 0]
        n_monomials = len(vector)
        matrix, step = self.matrix(t), 1e-4 * t
        by_t = (self.matrix(t + step) - self.matrix(t - step)) @ vector / (2 * step)
        others = np.linalg.svd(vector[None])[2][1:].T
        slopes = np.column_stack([matrix @ others, by_t])
        weights = self.weights(t, best.polynomials)
        covariance = np.linalg.pinv(weights.T @ weights)[:n_monomials, :n_monomials]
        inverse = np.linalg.pinv(slopes[:n_monomials])
        usual = inverse @ covariance @ inverse.T
        efficient = np.linalg.pinv((weights @ slopes).T @ (weights @ slopes))
        squares = others.T @ self.series.matrix(0.0, self.degree) @ others
        errors = [np.sum(each[:-1, :-1] * squares) for each in (usual, efficient)]
        return float(np.sqrt(errors[0] / errors[1]))


@dataclass(frozen=True, eq=False)
class Compromise:
    """Polynomials that meet moment conditions as well as possible, in the columns."""

    variance: float
    polynomials: FloatArray
    misfits: FloatArray  # of these and all others, ascending; about 1/n_rows if met


# --- The plateau ----------------------------------------------------------------------------------

#: Mean squares of moment conditions, in those of sampling errors, that are not chance.
REFUTED = STANDARD_ERRORS * STANDARD_ERRORS
#: Degrees that an unbounded fit looks for noise at.
UNBOUNDED = 6
#: Rows for each unknown at least, so that a fit leaves most of the noise as it is.
ROWS_PER_UNKNOWN = 4
#: Monomials of a polynomial at most: seconds of work.
MOST_UNKNOWNS = 400


def search_moments(
    source: SampleSource, max_degree: int, memory_budget: int
) -> tuple[Noise, Moments | None] | None:
    """Find the noise by corrected moments, and moments without it; None if they do not tell."""
    affine = factor_affine(source, memory_budget)
    n_rows = float(source.n_weighted if source.weighted else affine.n_rows)
    most_unknowns = min(MOST_UNKNOWNS, n_rows / ROWS_PER_UNKNOWN)
    highest = max_degree + 1
    while highest > 0 and count(source.n_features, highest) > most_unknowns:
        highest -= 1
    spread = spread_of(affine)
    if highest < min(2, max_degree) or not spread > 0:
        return None
    # Of more rows, some are drawn: as many as have values that fit into the memory of a step.
    most = MEMORY // (8 * count(source.n_features, 2 * highest))
    if n_rows > most and not source.weighted:
        source, n_rows = ArraySource(sample_rows(source, most, seed=0)), float(most)
    noisy = NoisyMoments.compute(source, Frame.fit(affine), highest, memory_budget)
    if not np.isfinite(noisy.sums).all() or np.any(noisy.sums[:, 0] <= 0):
        return None
    whole = noisy.series(range(FOLDS))
    try:
        lowest = min(whole.extents(0.0, degree)[0] for degree in range(1, highest + 1))
        if lowest < (REGULAR * spread) ** 2:
            return None
        trials = [_held_out(noisy, degree) for degree in range(1, highest + 1)]
    except np.linalg.LinAlgError:  # the gradients of some polynomial vanish: exact equations
        return None
    variances, conditions = np.moveaxis(np.array(trials), 2, 0)
    levels = tuple(float(np.sqrt(np.nanmedian(row))) for row in variances)
    equations = _conditions(noisy, source, n_rows, memory_budget)
    closest = [each.solve(1) for each in equations]
    misfits = np.full(highest, np.nan)
    misfits[: len(closest)] = [n_rows * each.misfits[0] for each in closest]
    degree = _plateau(variances, conditions, misfits, n_rows)
    none = Noise(np.nan, spread, None, levels), None
    if degree > max_degree:
        return none
    level, number = _pool(whole, degree, n_rows)
    if level > UNINFORMATIVE * spread:
        return none
    noise = Noise(level, spread, degree, levels)
    if level < WORTH_CORRECTING * spread or highest < max_degree:
        return noise, None
    noise = replace(noise, corrected=True)
    # What is taken out leaves moments of points: the pooled level may be a little more than that.
    variance, polynomials = min(whole.first_singular(degree)[0], level**2), None
    if degree > 1 and np.isfinite(misfits[degree - 1]):
        lower = np.array(levels[: degree - 1])
        if np.any((misfits[: degree - 1] > REFUTED) & (lower < CLEARLY * level)):
            number = 1  # multiples of what is nearly an equation of a lower degree are others
        best = _refine(equations[degree - 1], closest[degree - 1], number, n_rows)
        number = best.polynomials.shape[1]
        # The estimates of the weights have errors of their own, by chance.
        if number > 1 or equations[degree - 1].gain(best) > largest_by_chance(1, n_rows):
            variance, polynomials = best.variance, best.polynomials
        if number == 1:  # several average out what one misses
            level = float(np.sqrt(variance * _freedom(whole, degree, n_rows)))
        noise = replace(noise, level=level, n_equations=number)
    return noise, whole.correct(variance, highest, affine.n_rows, polynomials)


def _conditions(
    noisy: NoisyMoments, source: SampleSource, n_rows: float, memory_budget: int
) -> list[MomentConditions]:
    """Return the moment conditions of the degrees for which there are rows enough."""
    found = []
    for degree in range(1, noisy.degree):
        # The covariance of k conditions has relative errors of about √(k/N): these must be so small
        # that it is not 0 by chance.
        needed = int(REFUTED * count(source.n_features, degree + 1))
        if n_rows < needed:
            break
        sample = source
        if not source.weighted:  # as many rows as are worked on at a time
            most = max(needed, BLOCK // count(source.n_features, 2 * degree + 1))
            sample = ArraySource(sample_rows(source, most, seed=0))
        found.append(MomentConditions(noisy, degree, sample, memory_budget))
    return found


def _refine(
    conditions: MomentConditions, closest: Compromise, number: int, n_rows: float
) -> Compromise:
    """Return the polynomials, at most a number of them, that meet the conditions."""
    if number == 1:
        return closest
    best = conditions.solve(number)
    met = max(1, int(np.sum(n_rows * best.misfits[:number] < REFUTED)))
    return best if met == number else closest if met == 1 else conditions.solve(met)


def spread_of(affine: Factor) -> float:
    """Return the root mean square distance of points from their mean, for one column."""
    return float(np.linalg.norm(affine.R[1:, 1:]) / np.sqrt(affine.R.shape[1] - 1))


def _held_out(noisy: NoisyMoments, degree: int) -> list[tuple[float, float]]:
    """Fit the closest polynomial without a part of the rows, and find its noise in that part."""
    found = []
    for part in range(FOLDS):
        rest = noisy.series([other for other in range(FOLDS) if other != part])
        _, vector = rest.first_singular(degree)
        found.append(noise_of(noisy.series([part]).along(vector, degree)))
    return found


def _plateau(
    variances: FloatArray, conditions: FloatArray, misfits: FloatArray, n_rows: float
) -> int:
    """Return the lowest degree that no higher one improves on."""

    def is_closer(here: int, above: int) -> bool:
        """Say whether a higher degree is closer to rows that it was not fitted to."""
        # Of equations conditions are near 1, of their squares anything.
        trusted = (conditions[above] > 1 / CLEARLY) & (conditions[above] < CLEARLY)
        if trusted.sum() < FOLDS - 1:
            return False
        low, high = variances[here][trusted], variances[above][trusted]
        error = float(np.std(np.log(low / high) / 2, ddof=1) / np.sqrt(trusted.sum()))
        gain = float(np.log(low.mean() / high.mean()) / 2)
        # A degree that meets the moment conditions is left for variances that differ clearly only.
        # Symmetric points meet some conditions of too low a degree.
        least = log(CLEARLY) / 2 if misfits[here] < 2 else 0.0
        # A root mean square of N values has a relative standard error of 1/√(2N).
        return gain > max(least, OUTLYING / sqrt(2 * n_rows), STANDARD_ERRORS * error)

    def fits_better(here: int, above: int) -> bool:
        """Say whether moments refute a degree, and no equation of a higher one as close."""
        closer = np.nanmedian(variances[above]) < np.nanmedian(variances[here])
        return bool(closer and misfits[here] > REFUTED and misfits[above] < misfits[here] / REFUTED)

    numbers = range(len(variances))
    return 1 + next(
        here
        for here in numbers
        if not any(
            is_closer(here, above) or fits_better(here, above) for above in numbers[here + 1 :]
        )
    )


def _pool(whole: MomentSeries, degree: int, n_rows: float) -> tuple[float, int]:
    """Return the noise of all polynomials of a degree that it explains, and how many they are."""
    t, _ = whole.first_singular(degree)
    variances = whole.extents(t, degree)
    numbers = np.arange(1.0, len(variances) + 1)
    means = np.cumsum(variances) / numbers
    apart = variances[1:] > means[:-1] * largest_by_chance(numbers[1:], n_rows) ** 2
    n_explained = 1 + int(np.argmax(apart)) if apart.any() else len(variances)
    return float(np.sqrt(means[n_explained - 1] * _freedom(whole, degree, n_rows))), n_explained


def _freedom(whole: MomentSeries, degree: int, n_rows: float) -> float:
    """Return by which factor a variance is larger than that of the rows it was fitted to."""
    return n_rows / (n_rows - count(whole.n_features, degree))


def search_spectra(spectra: Sequence[FloatArray], spread: float) -> Noise:
    """Find the noise by extents under the gradient normalization, where moments do not tell."""
    levels = tuple(float(np.min(extents, initial=np.inf)) for extents in spectra)
    for degree, (level, above) in enumerate(pairwise(levels), start=1):
        if 0 < level <= min(UNINFORMATIVE * spread, CLEARLY * above):
            return Noise(level, spread, degree, levels)
    return Noise(np.nan, spread, None, levels)
