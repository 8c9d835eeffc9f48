"""Which terms next to an order ideal O join it, and which become leading terms of generators."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lapack, solve_triangular
from scipy.optimize import nnls

from vanishing.arrays.kernels import norms
from vanishing.arrays.namespace import FloatArray
from vanishing.construction.candidates import EPS, Form
from vanishing.construction.gsvd import NO_DECISION, RankMargin, bound_trusted_error
from vanishing.construction.loop import decide
from vanishing.levels import SAFETY, SAME
from vanishing.polynomials.monomials import SQUARED_AWAY
from vanishing.polynomials.order_ideal import Border

# One pass over X gives R of [O B], the monomials of O and the terms of the border, in their order.
# The columns are then made orthogonal one after the other: if b joins O, one Householder reflection
# makes the remaining columns orthogonal to it; if not, they are left as they are.
#
# Let g_b = b - Σ c_o o be the least squares fit of b, r_b = ‖g_b‖ on X, and S a factor of the form
# of the normalization, ‖S p‖ the size of p. OAVI takes g_b itself, whose extent is r_b / ‖S g_b‖.
# ABM takes the polynomial of least extent in the span of O and b. The polynomials f_o = g_o / r_o
# are orthonormal on X. So with K = [S f_o] for all o in O and b, the extent of Σ z_o f_o is
# ‖z‖ / ‖K z‖, and the least is 1 / σ_max(K). Whether that is at most tol is decided without
# singular values: I - tol² K'K is positive definite for O, and stays so with b if and only if its
# last pivot is positive. Each term thus costs one row of a Cholesky factorization.
#
# r_b is known up to the rounding errors of the terms of g_b. If it is not larger than these, b
# depends on O on X, and g_b vanishes whatever the tolerance is.


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of the terms of O and of the border, one after the other, on X."""

    R: FloatArray  # upper triangular
    rms: FloatArray
    shift: FloatArray
    error: FloatArray  # size of the rounding errors
    terms: FloatArray  # size of the factors of each product, which may be large in different places
    expected: FloatArray  # what a fit left of a divisor, one degree below
    relative_error: float
    form: Form | None
    on_contrast: bool  # whether the form measures values on a contrast

    @property
    def trusted(self) -> float:
        """The largest rounding error, relative to the size of the terms, that is acceptable."""
        return bound_trusted_error(self.relative_error)


class Fit(NamedTuple):
    """The least squares fit g = b - Σ c_o o of a term on O."""

    coordinates: FloatArray  # of b, on the orthonormal polynomials of O
    coefficients: FloatArray
    residual: float  # root mean square of g on X
    noise: float  # up to this the residual is a rounding error
    doubt: float  # up to this it may be one

    @property
    def margin(self) -> RankMargin:
        """How far the residual is from a rounding error."""
        if self.residual > self.doubt:
            return RankMargin(accepted=self.residual / self.doubt if self.doubt else np.inf)
        return RankMargin(rejected=self.residual / self.doubt if self.doubt else 0.0)


class Generator(NamedTuple):
    """A vanishing polynomial."""

    number: int  # of its leading term, among the border
    terms: list[int]  # the columns of smaller terms
    coefficients: FloatArray
    leading: float
    extent: float


class Sequence:
    """Terms of the border fitted on O one after the other, while O grows."""

    def __init__(self, columns: Columns, n_lower: int) -> None:
        self.columns, self.n_lower = columns, n_lower
        n_columns = len(columns.rms)
        self.triangle = np.zeros((n_columns, n_columns))
        self.triangle[:n_lower, :n_lower] = columns.R[:n_lower, :n_lower]
        self.above = columns.R[:n_lower, n_lower:]
        self.rest = columns.R[n_lower:, n_lower:].copy()
        self.terms = list(range(n_lower))

    @property
    def R(self) -> FloatArray:
        """R of the terms of O."""
        return self.triangle[: len(self.terms), : len(self.terms)]

    def fit(self, number: int) -> Fit:
        """Fit a term of the border."""
        n_joined = len(self.terms) - self.n_lower
        coordinates = np.append(self.above[:, number], self.rest[:n_joined, number])
        # Not SciPy's function around it, which takes ten times as long on small matrices.
        coefficients = lapack.dtrtrs(self.R, coordinates)[0]
        residual = float(np.linalg.norm(self.rest[n_joined:, number]))
        columns, own = self.columns, self.n_lower + number
        doubt = SAFETY * (columns.error[own] + np.abs(coefficients) @ columns.error[self.terms])
        noise = min(doubt, columns.trusted * columns.terms[own])
        # What a fit leaves of a term falls with the degree, to rounding errors in the end. If they
        # hide more than a quarter of the digits of what was left of a divisor, nothing can be
        # decided, unless O has as many terms as there are points.
        known = max(np.sqrt(SAME), columns.trusted) * columns.expected[own]
        if len(self.rest) > n_joined and doubt > known:
            noise = 0.0
        return Fit(coordinates, coefficients, residual, float(noise), float(doubt))

    def join(self, number: int, fit: Fit) -> None:
        """Add a term to O, and make the remaining ones orthogonal to it."""
        n_terms, row = len(self.terms), len(self.terms) - self.n_lower
        mirror = self.rest[row:, number].copy()
        # The sign of LAPACK would spare a cancellation; with the positive one the polynomials
        # g / r have the signs of g.
        below = float(np.linalg.norm(mirror[1:]))
        others = self.rest[row:, number + 1 :]
        if below > 0:
            mirror[0] = (
                mirror[0] - fit.residual
                if mirror[0] <= 0
                else -(below**2) / (mirror[0] + fit.residual)
            )
            others -= np.outer(mirror, (2 / (mirror @ mirror)) * (mirror @ others))
        elif mirror[0] < 0:
            others[0] *= -1
        self.triangle[:n_terms, n_terms] = fit.coordinates
        self.triangle[n_terms, n_terms] = fit.residual
        self.terms.append(self.n_lower + number)

    def clear_rounding(self, number: int, fit: Fit) -> Fit:
        """Set coefficients to zero whose terms are no larger than rounding errors of the fit."""
        sizes = np.abs(fit.coefficients) * self.columns.rms[self.terms]
        # In coarse arithmetic the bound is far above most errors, and a term below it may count.
        is_coarse = fit.doubt > SAME * self.columns.rms[self.n_lower + number]
        limit = fit.doubt / SAFETY if is_coarse else fit.doubt
        return fit._replace(coefficients=np.where(sizes > limit, fit.coefficients, 0.0))

    def generate(self, number: int, fit: Fit, size: float) -> Generator:
        """Return the fit of a term with size 1."""
        extent = fit.residual / size
        return Generator(number, [*self.terms], -fit.coefficients / size, 1 / size, extent)

    def generate_least(
        self, number: int, fit: Fit, coordinates: FloatArray, extent: float
    ) -> Generator:
        """Return the polynomial of least extent, by orthonormal coordinates."""
        coordinates = coordinates * np.copysign(1.0, coordinates[-1])
        leading = float(coordinates[-1] / fit.residual)
        lower = coordinates[:-1] - leading * fit.coordinates
        coefficients = solve_triangular(self.R, lower, check_finite=False)
        return Generator(number, [*self.terms], coefficients, leading, extent)


class LeastExtent:
    """Whether the least extent in the span of O is at most a positive ``tol`` (ABM)."""

    def __init__(self, sizes: FloatArray, R: FloatArray, tol: float, capacity: int) -> None:
        self.tol, self.n_terms = tol, len(R)
        n = self.n_terms
        self.images = np.zeros((len(sizes), capacity))  # tol K
        self.images[:, :n] = tol * solve_triangular(R, sizes.T, trans="T", check_finite=False).T
        self.root = np.zeros((capacity, capacity))
        self.root[:n, :n] = _root(np.eye(n) - self.images[:, :n].T @ self.images[:, :n])

    def vanishes(self, image: FloatArray) -> bool:
        """Say whether the least extent is at most ``tol`` with the polynomial of an image."""
        n = self.n_terms
        self.images[:, n] = self.tol * image
        if norms(self.images[:, n : n + 1])[0] >= 1:
            return True
        products = self.images[:, : n + 1].T @ self.images[:, n]
        row = lapack.dtrtrs(self.root[:n, :n], -products[:n], lower=1)[0]
        pivot = 1 - products[n] - row @ row
        self.root[n, :n], self.root[n, n] = row, np.sqrt(max(pivot, 0.0))
        return bool(pivot <= 0)

    def join(self) -> None:
        """Add the polynomial that ``vanishes`` was asked about to O."""
        self.n_terms += 1

    def find(self) -> tuple[FloatArray, float]:
        """Return the polynomial of least extent, by orthonormal coordinates, and its extent."""
        n = self.n_terms
        # The last image may be so large that its square overflows.
        unit = max(1.0, float(norms(self.images[:, n : n + 1])[0]))
        images = self.images[:, : n + 1] / unit
        values, vectors = eigh(images.T @ images, subset_by_index=[n, n], overwrite_a=True)
        extent = float(self.tol / (unit * np.sqrt(values[0])))
        return vectors[:, 0] * extent, extent


def _root(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a matrix that is positive definite up to rounding."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return np.linalg.cholesky((vectors * np.maximum(values, np.sqrt(EPS))) @ vectors.T)


@dataclass
class Found:
    """What the terms of a degree become."""

    joined: list[int]  # numbers of the terms that join O
    generators: list[Generator]
    extents: list[float]  # of the best polynomial of each term, if finite
    dropped: int = 0
    undecided: int = 0
    unbounded: int = 0
    margin: RankMargin = NO_DECISION  # of the decision which terms depend on O


def sort_out(
    columns: Columns,
    border: Border,
    n_lower: int,
    tol: float,
    *,
    minimize: bool,
    radius: float | None,
) -> tuple[Found, Sequence]:
    """Decide for each term of the border whether it joins O or is a leading term."""
    sequence, found, form = Sequence(columns, n_lower), Found([], [], []), columns.form
    least = None
    if minimize and form is not None and tol > 0:
        least = LeastExtent(form.factor[:, :n_lower], sequence.R, tol, len(columns.rms) + 1)
    for number in range(len(border.exponents)):
        fit = sequence.fit(number)
        measure = Measure(form, sequence.terms, n_lower + number)
        image, size = measure(fit.coefficients)
        is_known = fit.residual > fit.doubt
        if not is_known:
            settled = _settle(found, columns, sequence, measure, number, fit, size, tol)
            if settled is None:
                continue
            fit, size = settled
        extent = fit.residual / size if size > 0 else np.inf
        generator = None
        if not is_known or (least is None and extent <= tol):
            generator = sequence.generate(number, fit, size)
        elif least is not None and least.vanishes(image / fit.residual):
            generator = sequence.generate_least(number, fit, *least.find())
        if generator is None or extent > tol:  # rounding errors decide, and not the tolerance
            found.margin = found.margin.join(fit.margin)
        if radius is not None and generator is not None:
            sparse = _fit_sparse(radius, sequence, number, fit, measure, tol)
            generator = generator if sparse is None and not is_known else sparse
        if generator is not None:
            found.generators.append(generator)
            extent = generator.extent
        elif border.is_corner[number]:
            found.unbounded += size == 0
            found.joined.append(number)
            sequence.join(number, fit)
            if least is not None:
                least.join()
        if np.isfinite(extent):
            found.extents.append(extent)
    return found, sequence


def _settle(
    found: Found,
    columns: Columns,
    sequence: Sequence,
    measure: "Measure",
    number: int,
    fit: Fit,
    size: float,
    tol: float,
) -> tuple[Fit, float] | None:
    """Return a fit that vanishes up to rounding and its size; None if it is only counted."""
    if size == 0 and measure.form is not None and measure.form.definite:
        size = measure.bound(fit.coefficients)  # lost in rounding errors
    if size == 0:
        found.dropped += 1
        return None
    # Errors of the coefficients, which cancel on X, do not on the contrast.
    if columns.on_contrast and size <= fit.doubt * measure.amplify(sequence.R):
        # Zero on the contrast, too, if it is tiny beside its terms there.
        is_zero = size <= columns.trusted * measure.add_terms(fit.coefficients)
        found.dropped += is_zero
        found.undecided += not is_zero
        return None
    extents, noise, doubt = np.array([[fit.residual], [fit.noise], [fit.doubt]]) / size
    if not decide(extents, noise, doubt, tol)[0][0]:
        found.undecided += 1
        return None
    fit = sequence.clear_rounding(number, fit)
    return fit, measure(fit.coefficients)[1] or size


class Measure:
    """Sizes of polynomials b - Σ c_o o, by the columns of O and of b; all are 1 without a form."""

    def __init__(self, form: Form | None, terms: list[int], own: int) -> None:
        self.form, self.terms, self.own = form, terms, own

    def __call__(self, coefficients: FloatArray) -> tuple[FloatArray, float]:
        """Return the factor of the form times the polynomial, and its norm; 0 if it is rounding."""
        if self.form is None:
            return np.ones(1), 1.0
        factor = self.form.factor
        image = factor[:, self.own] - factor[:, self.terms] @ coefficients
        size = float(norms(image[:, None])[0])
        if size <= self.bound(coefficients):
            return np.zeros_like(image), 0.0
        return image, size

    def amplify(self, R: FloatArray) -> float:
        """Return the largest size of a polynomial of O whose root mean square on X is 1."""
        assert self.form is not None
        sizes = self.form.factor[:, self.terms]
        return float(np.linalg.norm(solve_triangular(R, sizes.T, trans="T", check_finite=False)))

    def add_terms(self, coefficients: FloatArray) -> float:
        """Return the sum of the sizes of the terms of a polynomial."""
        assert self.form is not None
        scale = self.form.scale
        return float(scale[self.own] + np.abs(coefficients) @ scale[self.terms])

    def bound(self, coefficients: FloatArray) -> float:
        """Return the size up to which the size of a polynomial is a rounding error."""
        assert self.form is not None
        error = self.form.error
        return SAFETY * float(error[self.own] + np.abs(coefficients) @ error[self.terms])


def _fit_sparse(
    radius: float, sequence: Sequence, number: int, fit: Fit, measure: Measure, tol: float
) -> Generator | None:
    """Return a polynomial of few terms that vanishes within the tolerance and the ℓ1 ball."""

    def find_extent(residual: float, size: float) -> float:
        if size == 0:
            return np.inf
        return 0.0 if residual <= fit.noise else residual / size

    coefficients, residual = fit.coefficients, fit.residual
    for part, found in fit_with_few_terms(sequence.R, fit.coordinates):
        missing = hypot(part, fit.residual)
        if find_extent(missing, measure(found)[1]) <= tol:
            coefficients, residual = found, missing
            break
    if np.abs(coefficients).sum() > radius:
        coefficients = fit_in_ball(sequence.R, fit.coordinates, radius)
        residual = hypot(np.linalg.norm(fit.coordinates - sequence.R @ coefficients), fit.residual)
    size = measure(coefficients)[1]
    if find_extent(residual, size) > tol:
        return None
    return Generator(number, [*sequence.terms], -coefficients / size, 1 / size, residual / size)


# --- Least squares with few terms, or with a bound on the sum of absolute coefficients ------------
#
# The oracles of OAVI. They work on the triangular factor of the columns, never on rows.


def fit_with_few_terms(R: FloatArray, target: FloatArray) -> Iterator[tuple[float, FloatArray]]:
    """Yield ‖target - R c‖ and c of fits, each with the column more that explains most."""
    n_columns = len(target)
    basis, triangle = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    coordinates = np.zeros(n_columns)
    rest, columns = target.copy(), R.copy()  # what of them is orthogonal to the support
    # What is left of columns that depend on the support.
    smallest = SQUARED_AWAY**2 * np.einsum("ij,ij->j", R, R)
    support: list[int] = []
    for n in range(n_columns + 1):
        found = np.zeros(n_columns)
        if support:
            # Not SciPy's function around it, which takes ten times as long on small matrices.
            found[support] = lapack.dtrtrs(triangle[:n, :n], coordinates[:n])[0]
        yield float(np.sqrt(rest @ rest)), found
        squares = np.einsum("ij,ij->j", columns, columns)
        gains = (rest @ columns) ** 2 / np.maximum(squares, smallest)
        gains[squares <= smallest] = -1.0
        chosen = int(gains.argmax()) if n < n_columns else 0
        if gains[chosen] < 0:
            return
        unit = columns[:, chosen] / np.sqrt(squares[chosen])
        basis[n] = unit
        triangle[: n + 1, n] = basis[: n + 1] @ R[:, chosen]
        coordinates[n] = unit @ target
        columns -= unit[:, None] * (unit @ columns)
        rest -= (unit @ rest) * unit
        support = [*support, chosen]


def fit_in_ball(R: FloatArray, target: FloatArray, radius: float) -> FloatArray:
    """Fit R c ≈ target in the ℓ1 ball, by shares of its vertices and of its center."""
    n_columns = len(target)
    vertices = radius * np.hstack([np.eye(n_columns), -np.eye(n_columns), np.zeros((n_columns, 1))])
    images = R @ vertices
    # One heavy row makes the shares add up to 1 (Haskell and Hanson, 1981). It comes first, so that
    # the factorization does not lose the digits of the others.
    heavy = float(np.linalg.norm(images) + np.linalg.norm(target)) / SAME
    shares, _ = nnls(np.vstack([np.full(len(vertices.T), heavy), images]), np.append(heavy, target))
    return np.asarray(vertices @ (shares / max(1.0, shares.sum())))
