"""The noise of points: how large it is, which polynomials it explains, and moments without it.

Every coordinate of a point is taken to have noise of one standard deviation σ. A polynomial g that
vanishes on the true points is then about σ‖∇g‖ on the observed ones. With growing degree the
smallest such distance falls until it reaches σ, and stays there: that plateau is the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log

import numpy as np
from scipy.linalg import eigh

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.kernels import triangular_factor
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.construction.moments import Frame, Moments, factor_affine
from vanishing.construction.passes import Factor
from vanishing.data.source import ArraySource, SampleSource, sample_rows
from vanishing.polynomials.basis import largest_by_chance
from vanishing.polynomials.monomials import count, monomials

# --- What is found --------------------------------------------------------------------------------

#: Noise above this share of the spread of the points is no noise: nothing is a law.
MOST_NOISE = 0.3
#: From this share of the spread on, second-order terms of the noise matter and are corrected.
WORTH_CORRECTING = 3e-3


@dataclass(frozen=True)
class Noise:
    """The noise of points, as their polynomials show it.

    Parameters
    ----------
    level : float
        Standard deviation of the noise of each coordinate, in the units of the points. 0 if the
        equations are exact, NaN if there are none.
    spread : float
        Root mean square distance of the points from their mean, over the square root of the number
        of columns.
    degree : int or None
        The lowest degree whose polynomials are as close to the points as those of any other one.
    levels : tuple of float
        Per degree from 1, how far the points are from the closest polynomial, by rows that it was
        not fitted to.
    corrected : bool
        Whether the moments of the points are corrected for the noise.
    """

    level: float
    spread: float
    degree: int | None
    levels: tuple[float, ...]
    corrected: bool = False

    @property
    def share(self) -> float:
        """The level as a share of the spread."""
        return self.level / self.spread if self.spread > 0 else 0.0

    def closest(self, degree: int) -> float:
        """Return the level of a degree, NaN where it was not looked at."""
        return self.levels[degree - 1] if degree <= len(self.levels) else np.nan

    def most_distant(self, extents: FloatArray, lengths: FloatArray, n_rows: float) -> float:
        """Return the largest distance from a polynomial that the noise explains.

        Parameters
        ----------
        extents, lengths : arrays of shape (n_polynomials,)
            Root mean squares of polynomials and of their gradients on the points.
        n_rows : float
        """
        if not self.level > 0:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.sort(np.nan_to_num(extents / lengths, nan=np.inf))
        too_far = distances > self.level * largest_by_chance(
            np.arange(1.0, len(distances) + 1), n_rows
        )
        number = int(np.argmax(too_far)) if too_far.any() else len(distances)
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


# --- Moments, corrected for noise -----------------------------------------------------------------
#
# If x = x₀ + ε with Gaussian ε of covariance σ²C, then E exp(-σ²/2 Σ C_jl ∂_j ∂_l) p(x) = p(x₀) for
# every polynomial p: in one variable the operator turns powers into Hermite polynomials. Moments of
# the true points are therefore combinations of those of the observed ones, polynomials in t = σ²,
# and so is the matrix M(t) of the means of x₀^a x₀^b. On the points of a variety M(σ²) is singular,
# and its null vectors are the equations (adjusted least squares). M(0) - t B with B of the
# gradients, which the gradient normalization solves, is its first-order part.

#: Parts of the rows, each of which is left out in turn.
FOLDS = 5
#: Most monomials of the matrix M, and of the moments that it is made of.
MOST_MONOMIALS, MOST_MOMENTS = 400, 60_000
#: Moments times rows, at most: of more rows some are drawn.
MOST_WORK = 4e8
#: Steps towards the smallest t at which M(t) is singular; three to six are enough.
MOST_STEPS = 30


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Sums of the monomials of points up to twice a degree, by parts of the rows.

    Parameters
    ----------
    frame : Frame
    degree : int
        Of the polynomials whose products the moments give.
    sums : array of shape (n_parts, n_moments)
    """

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

    @property
    def _covariance(self) -> FloatArray:
        """C: that of the coordinates u for noise of standard deviation 1 in x."""
        return np.asarray(self.frame.axes.T @ self.frame.axes)

    def series(self, parts: Sequence[int]) -> "MomentSeries":
        """Return the moments of some parts of the rows as a function of t."""
        sums = self.sums[list(parts)].sum(axis=0)
        table = monomials(len(self.frame.origin), 2 * self.degree)
        terms = [sums / sums[0]]
        for power in range(1, self.degree + 1):
            terms.append(-self._diffuse(terms[-1]) / (2 * power))
        return MomentSeries(self.frame, self.degree, np.stack(terms), table.n_variables)

    def _diffuse(self, moments: FloatArray) -> FloatArray:
        """Return the moments of Σ C_jl ∂_j ∂_l applied to each monomial."""
        n_features = len(self.frame.origin)
        table = monomials(n_features, 2 * self.degree)
        lower = np.arange(count(n_features, 2 * self.degree - 2))
        found = np.zeros_like(moments)
        for j in range(n_features):
            for k in range(j, n_features):
                raised = table.times_variable[j][table.times_variable[k][lower]]
                powers = table.exponents[raised]
                if j == k:
                    factor = self._covariance[j, j] * powers[:, j] * (powers[:, j] - 1)
                else:
                    factor = 2 * self._covariance[j, k] * powers[:, j] * powers[:, k]
                found[raised] += factor * moments[lower]
        return found


@dataclass(frozen=True, eq=False)
class MomentSeries:
    """Moments as polynomials in t, the variance of the noise that is taken out of them.

    Parameters
    ----------
    frame : Frame
    degree : int
    terms : array of shape (degree + 1, n_moments)
        Coefficients of the powers of t.
    n_features : int
    """

    frame: Frame
    degree: int
    terms: FloatArray
    n_features: int

    def matrix(self, t: float, degree: int) -> FloatArray:
        """Return M(t): the mean of the product of each two monomials up to a degree."""
        powers = t ** np.arange(len(self.terms))
        return np.asarray((powers @ self.terms)[self._products(degree)])

    def gradients(self, t: float, degree: int) -> FloatArray:
        """Return the mean of ∇p·∇q for each two monomials p and q up to a degree."""
        table = monomials(self.n_features, degree)
        below = self.matrix(t, degree - 1)
        by_u = np.stack([table.derivative(np.eye(len(table)), k) for k in range(self.n_features)])
        by_x = np.tensordot(self.frame.axes, by_u, axes=1)
        return np.asarray(np.einsum("iab,ac,icd->bd", by_x, below, by_x, optimize=True))

    def _products(self, degree: int) -> IntArray:
        return _products(self.n_features, degree, 2 * self.degree)

    def along(self, coefficients: FloatArray, degree: int) -> FloatArray:
        """Return the mean of the square of one polynomial, as coefficients of powers of t."""
        products = self._products(degree)
        return np.array([coefficients @ term[products] @ coefficients for term in self.terms])

    def extents(self, t: float, degree: int) -> FloatArray:
        """Return by how much the mean squares of polynomials exceed noise of variance t.

        Those of gradient 1, ascending: the eigenvalues of M(t) and the gradients, without the
        constant, plus t.
        """
        matrix, gradients = self.matrix(t, degree), self.gradients(t, degree)
        centered = matrix[1:, 1:] - np.outer(matrix[1:, 0], matrix[0, 1:])
        return np.asarray(eigh(centered, gradients[1:, 1:], eigvals_only=True) + t)

    def first_singular(self, degree: int) -> tuple[float, FloatArray]:
        """Return the smallest t at which M(t) is singular, and its null vector.

        From above: M(t) is definite below it, so that no polynomial has a mean square of zero
        there. The eigenvector of the smallest eigenvalue gives the next t, where its own mean
        square is zero.
        """
        plain = self.matrix(0.0, degree)
        scale = 1 / np.sqrt(np.diag(plain))
        centered = plain[1:, 1:] - np.outer(plain[1:, 0], plain[0, 1:])
        gradients = self.gradients(0.0, degree)[1:, 1:]
        _, vectors = eigh(centered, gradients, subset_by_index=[0, 0])  # to first order in t
        vector = np.concatenate([-plain[0, 1:] @ vectors, vectors[:, 0]])
        t = np.inf
        for _ in range(MOST_STEPS):
            roots = positive_roots(self.along(vector, degree))
            if not len(roots) or roots[0] >= t * (1 - 1e-9):
                break
            t = float(roots[0])
            matrix = self.matrix(t, degree) * scale * scale[:, None]
            vector = eigh(matrix, subset_by_index=[0, 0])[1][:, 0] * scale
        return t, vector

    def correct(self, t: float, degree: int, n_rows: float) -> Moments:
        """Return moments in which the noise is gone, as far as they are those of points."""
        matrix = self.matrix(t, degree)
        scale = np.sqrt(np.diag(self.matrix(0.0, degree)))
        values, vectors = np.linalg.eigh(matrix / scale / scale[:, None])
        root = np.sqrt(np.clip(values, 1e-14, None))[:, None] * vectors.T * scale
        error = 64 * float(np.finfo(np.float64).eps)
        factor = Factor(triangular_factor(root.T.copy()), n_rows, error)
        return Moments(self.frame, degree, factor, error * factor.column_rms)


@lru_cache(maxsize=16)
def _products(n_features: int, degree: int, highest: int) -> IntArray:
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
    real = np.abs(roots.imag) <= 1e-7 * np.abs(roots.real)
    return np.sort(roots.real[real & (roots.real > 0)])


def noise_of(coefficients: FloatArray) -> tuple[float, float]:
    """Return the variance of the noise that explains a polynomial, and its condition.

    Parameters
    ----------
    coefficients : array
        Of the powers of t in the mean square of the polynomial.

    Returns
    -------
    variance, condition : float
        The smallest root, and by how much relative errors of the mean square are larger in it. A
        square of an equation has a double root, which sampling moves apart or makes complex: it
        says little about the noise.
    """
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


# --- The plateau ----------------------------------------------------------------------------------

#: Steps from one degree to another that are no gain, as logarithms of distances: of 1000 rows, and
#: however many there are. Without rows that were left out, a gain is a factor.
SMALLEST_GAIN, LEAST_GAIN, CLEAR_GAIN = 0.13, 0.02, log(1.6)
#: Conditions of a noise that is trusted: of equations they are near 1, of their squares anything.
TRUSTED = (0.65, 1.6)
#: Standard errors of a gain, by five parts of the rows.
SIGNIFICANT = 2.8
#: Below this share of the spread, moments say nothing about noise.
RESOLVED = 1e-5


def highest_degree(n_features: int, n_rows: float, wanted: int) -> int:
    """Return up to which degree, at most one above the wanted one, noise can be looked for."""
    for degree in range(wanted + 1, 0, -1):
        n_monomials = count(n_features, degree)
        if n_monomials <= min(MOST_MONOMIALS, n_rows / 4) and (
            count(n_features, 2 * degree) <= MOST_MOMENTS
        ):
            return degree
    return 0


def search_moments(
    source: SampleSource, max_degree: int, memory_budget: int
) -> tuple[Noise, Moments | None] | None:
    """Find the noise of points by moments that are corrected for it.

    Parameters
    ----------
    source : SampleSource
    max_degree : int
        Largest degree of the equations; one more is looked at.
    memory_budget : int

    Returns
    -------
    noise : Noise
    moments : Moments or None
        Without the noise, if it is worth correcting. Instead of both, None if moments do not tell:
        there are too many columns or too few rows, or some equations are exact.
    """
    affine = factor_affine(source, memory_budget)
    n_rows = float(source.n_weighted if source.weighted else affine.n_rows)
    highest = highest_degree(source.n_features, n_rows, max_degree)
    if highest < min(2, max_degree):
        return None
    frame = Frame.fit(affine)
    spread = spread_of(affine)
    if not spread > 0:
        return None
    most = int(MOST_WORK / count(source.n_features, 2 * highest))
    if n_rows > most and not source.weighted:
        source, n_rows = ArraySource(sample_rows(source, most, seed=0)), float(most)
    noisy = NoisyMoments.compute(source, frame, highest, memory_budget)
    if not np.isfinite(noisy.sums).all() or np.any(noisy.sums[:, 0] <= 0):
        return None
    whole = noisy.series(range(FOLDS))
    try:
        lowest = min(whole.extents(0.0, degree)[0] for degree in range(1, highest + 1))
        if lowest < (RESOLVED * spread) ** 2:
            return None
        trials = [_held_out(noisy, degree) for degree in range(1, highest + 1)]
    except np.linalg.LinAlgError:  # the gradients of some polynomial vanish: exact equations
        return None
    variances = np.array([[variance for variance, _ in trial] for trial in trials])
    conditions = np.array([[condition for _, condition in trial] for trial in trials])
    levels = tuple(float(np.sqrt(np.nanmedian(row))) for row in variances)
    degree = _plateau(variances, conditions, n_rows)
    none = Noise(np.nan, spread, None, levels), None
    if degree is None or degree > max_degree:
        return none
    level = _pool(whole, degree, n_rows)
    if level > MOST_NOISE * spread:
        return none
    if level < WORTH_CORRECTING * spread or highest < max_degree:
        return Noise(level, spread, degree, levels), None
    noise = Noise(level, spread, degree, levels, corrected=True)
    # What is taken out leaves moments of points: the pooled level may be a little more than that.
    variance, _ = whole.first_singular(degree)
    return noise, whole.correct(min(variance, level**2), highest, affine.n_rows)


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


def _plateau(variances: FloatArray, conditions: FloatArray, n_rows: float) -> int | None:
    """Return the lowest degree that no higher one improves on."""
    for degree in range(1, len(variances) + 1):
        if not any(
            _improves(variances, conditions, degree, higher, n_rows)
            for higher in range(degree + 1, len(variances) + 1)
        ):
            return degree
    return None


def _improves(
    variances: FloatArray, conditions: FloatArray, degree: int, higher: int, n_rows: float
) -> bool:
    """Say whether a higher degree is closer to rows that it was not fitted to."""
    trusted = (conditions[higher - 1] > TRUSTED[0]) & (conditions[higher - 1] < TRUSTED[1])
    if trusted.mean() < 0.75:
        return False
    here, above = variances[degree - 1][trusted], variances[higher - 1][trusted]
    error = float(np.std(np.log(here / above) / 2, ddof=1) / np.sqrt(trusted.sum()))
    gain = float(np.log(here.mean() / above.mean()) / 2)
    return gain > max(
        LEAST_GAIN, SMALLEST_GAIN * float(np.sqrt(1000 / n_rows)), SIGNIFICANT * error
    )


def _pool(whole: MomentSeries, degree: int, n_rows: float) -> float:
    """Return the noise of all polynomials of a degree that it explains."""
    t, _ = whole.first_singular(degree)
    variances = np.maximum(whole.extents(t, degree), 0.0)
    numbers = np.arange(1.0, len(variances) + 1)
    means = np.cumsum(variances) / numbers
    apart = variances[1:] > means[:-1] * largest_by_chance(numbers[1:], n_rows) ** 2
    n_explained = 1 + int(np.argmax(apart)) if apart.any() else len(variances)
    freedom = n_rows / (n_rows - count(whole.n_features, degree))
    return float(np.sqrt(means[n_explained - 1] * freedom))


def search_spectra(spectra: Sequence[FloatArray], spread: float) -> Noise:
    """Find the noise of points by the extents of their polynomials, degree by degree.

    To first order in the noise, and by the rows that the polynomials were fitted to: used where
    moments do not tell.

    Parameters
    ----------
    spectra : sequence of arrays
        Per degree, the extents of polynomials under the gradient normalization.
    spread : float
    """
    levels = tuple(float(np.min(extents, initial=np.inf)) for extents in spectra)
    for degree, (level, above) in enumerate(pairwise(levels), start=1):
        is_small = 0 < level <= MOST_NOISE * spread
        if is_small and log(level / max(above, 1e-300)) <= CLEAR_GAIN:
            return Noise(level, spread, degree, levels)
    return Noise(np.nan, spread, None, levels)
