"""Moments of points without their noise, and the equations that these moments show."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
from vanishing.construction.moments import Frame, Moments
from vanishing.construction.passes import NINE_DIGITS, Factor
from vanishing.data.source import SampleSource
from vanishing.levels import CHANCE, FOLDS, SAFETY
from vanishing.polynomials.monomials import (
    SQUARED_AWAY,
    count,
    monomials,
    multiples,
    normalize_columns,
)

# --- Moments, corrected for noise -----------------------------------------------------------------
#
# If x = x₀ + ε with Gaussian ε of covariance σ²C, then E exp(-σ²/2 Σ C_jl ∂_j ∂_l) p(x) = p(x₀) for
# every polynomial p: in one variable the operator turns powers into Hermite polynomials. Moments of
# the true points are therefore combinations of those of the observed ones, polynomials in t = σ²,
# and so is the matrix M(t) of the means of x₀^a x₀^b. On the points of a variety M(σ²) is singular,
# and its null vectors are the equations (adjusted least squares). M(0) - t B with B of the
# gradients, which the gradient normalization solves, is its first-order part.

#: Factor by which two levels of noise differ clearly.
CLEARLY = 1.6


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Sums of the monomials of points up to twice a degree, by parts of the rows.

    ``degree``: of the polynomials whose products the moments give. ``sums`` has shape (n_parts,
    n_moments).
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
    """Moments as polynomials in t, the variance of the noise that is taken out of them.

    ``terms`` of shape (degree + 1, n_moments): coefficients of the powers of t.
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
        while True:  # three to six times
            roots = positive_roots(self.along(vector, degree))
            if not len(roots) or roots[0] >= t * (1 - NINE_DIGITS):
                break
            t = float(roots[0])
            matrix = self.matrix(t, degree) * scale * scale[:, None]
            vector = eigh(matrix, subset_by_index=[0, 0])[1][:, 0] * scale
        return t, vector

    def correct(
        self, t: float, degree: int, n_rows: float, equations: FloatArray | None = None
    ) -> Moments:
        """Return moments in which the noise is gone, as far as they are those of points.

        ``equations`` of shape (n_monomials, n_equations): polynomials of one degree that vanish,
        and their multiples with them.
        """
        scale = np.sqrt(np.diag(self.matrix(0.0, degree)))
        matrix: FloatArray = self.matrix(t, degree) / scale / scale[:, None]
        if equations is not None:
            matrix = _annihilate(matrix, self._multiples(equations, degree) * scale[:, None])
        values, vectors = np.linalg.eigh(matrix)
        root = np.sqrt(np.clip(values, 1e-14, None))[:, None] * vectors.T * scale
        error = SAFETY * float(np.finfo(np.float64).eps)
        factor = Factor(triangular_factor(root.T.copy()), n_rows, error)
        return Moments(self.frame, degree, factor, error * factor.column_rms)

    def _multiples(self, equations: FloatArray, degree: int) -> FloatArray:
        """Return equations and their multiples up to a degree, as columns."""
        own = next(d for d in range(degree + 1) if count(self.n_features, d) == len(equations))
        factors = monomials(self.n_features, degree - own).exponents
        return multiples(equations, monomials(self.n_features, degree), factors)


#: Multiples of equations of norm 1 that are dependent but for errors, by their singular values.
NEARLY_DEPENDENT = 0.1


def _annihilate(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the nearest matrix of moments in which some polynomials vanish."""
    left, sizes, _ = np.linalg.svd(normalize_columns(columns), full_matrices=False)
    left = left[:, sizes > NEARLY_DEPENDENT * sizes[0]]
    rest = np.eye(len(matrix)) - left @ left.T
    return np.asarray(rest @ matrix @ rest)


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
    real = np.abs(roots.imag) <= SQUARED_AWAY * np.abs(roots.real)  # double roots
    return np.sort(roots.real[real & (roots.real > 0)])


def noise_of(coefficients: FloatArray) -> tuple[float, float]:
    """Return the variance of the noise that explains a polynomial, and its condition.

    ``coefficients``: of the powers of t in the mean square of the polynomial. Returns ``variance``,
    ``condition``: the smallest root, and by how much relative errors of the mean square are larger
    in it. A square of an equation has a double root, which sampling moves apart or makes complex:
    it says little about the noise.
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


# --- Moment conditions ----------------------------------------------------------------------------
#
# Adjusted least squares asks for M(t) θ = 0: the mean of m g without noise is zero for every
# monomial m of the degree of g. Monomials of one more degree give more conditions than unknowns,
# which no θ satisfies exactly. The efficient compromise weights them by the inverse of the
# covariance of their sampling errors (the generalized method of moments, in steps: the covariance
# depends on θ). How badly they are satisfied tests whether there is an equation of that degree.

#: Rows for each condition at least, to estimate their covariance.
ROWS_PER_CONDITION = 10


@dataclass(frozen=True, eq=False)
class MomentConditions:
    """The conditions on polynomials of one degree that vanish on the points without noise.

    ``source``: rows to estimate sampling errors with.
    """

    noisy: NoisyMoments
    degree: int
    source: SampleSource
    memory_budget: int

    @lazy
    def series(self) -> MomentSeries:
        """The moments of all rows."""
        return self.noisy.series(range(FOLDS))

    @property
    def n_redundant(self) -> int:
        """How many more conditions than coefficients there are."""
        n_features = self.source.n_features
        return count(n_features, self.degree + 1) - count(n_features, self.degree)

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
        kept = values > NINE_DIGITS * values[-1]
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
        return Compromise(t, polynomials, squares / self.n_redundant)

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
        """Return by which factor one polynomial is more accurate than by M(t) θ = 0 alone.

        By the standard errors of both, as root mean squares on the points. Where further
        conditions say nothing, they only add the errors of their weights.
        """
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
    """Polynomials that meet moment conditions as well as possible.

    ``polynomials`` has shape (n_monomials, n_polynomials). ``misfits``: mean squares of the
    conditions for these polynomials and all others, ascending, in variances of one row. They are
    about 1 over the number of rows for polynomials that vanish.
    """

    variance: float
    polynomials: FloatArray
    misfits: FloatArray
