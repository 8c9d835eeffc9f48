"""Hilbert functions, estimates of dimension and degree, and nearest points of varieties."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vanishing.algebra.generators import check_basis, minimal_generators
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, unmask
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.levels import OUTLYING, SAME
from vanishing.polynomials.basis import CLEARLY, PolynomialBasis, Which, largest_by_chance

# --- The affine Hilbert function, and what it says about dimension and degree ---------------------


class Growth(NamedTuple):
    """Dimension d and degree e of a Hilbert polynomial e t^d / d! + ..."""

    dimension: int
    degree: int


def check_points(basis: PolynomialBasis, X: Any) -> FloatArray:
    """Return points of as many coordinates as a basis has variables, all of them finite."""
    check_basis(basis)
    points = np.asarray(unmask(X, "X"))
    if points.ndim != 2 or points.shape[1] != basis.n_features or not len(points):
        raise ValueError(
            f"expected points of shape (n_samples, {basis.n_features}), at least one, got shape "
            f"{points.shape}"
        )
    if points.dtype.kind == "c":
        raise ValueError("expected points with real coordinates, got complex ones")
    points = points.astype(np.float64)
    largest = float(np.finfo(np.float64).max) ** 0.25  # squares of quadratic terms do not overflow
    if not (np.isfinite(points).all() and np.abs(points).max() < largest):
        raise ValueError(
            f"X contains NaN, infinity, or numbers beyond {largest:.0e}, whose powers overflow; "
            "leave such rows out, or rescale the data before fitting"
        )
    return points


def hilbert_function(basis: PolynomialBasis) -> IntArray:
    """Count the polynomials of degree at most t that are linearly independent on the variety.

    These are the nonvanishing polynomials of a fit. The counts are right if the fit kept all of
    them, that is without ``max_nonvanishing`` and within the memory budget.

    Parameters
    ----------
    basis : PolynomialBasis

    Returns
    -------
    int array of shape (max_degree + 1,)
        H(0) = 1, H(1), ...: the affine Hilbert function of the coordinate ring.

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import hilbert_function
    >>> from vanishing.datasets import make_variety
    >>> ideal = VanishingIdeal(max_degree=4, tol=1e-9).fit(make_variety("sphere", 300))
    >>> hilbert_function(ideal.basis_)  # (t + 1)²
    array([ 1,  4,  9, 16, 25])
    """
    check_basis(basis)
    degrees = basis.degrees(which="nonvanishing")
    counts = np.bincount(degrees, minlength=len(basis.blocks) + 1)
    # A border basis with the full border keeps all variables, those that depend on others too.
    counts[1] = min(counts[1], basis.n_features - np.sum(basis.degrees() == 1))
    return np.cumsum(counts)


def growth(hilbert: IntArray) -> Growth | None:
    """Read d and e off the first difference whose last two values agree; None if there is none."""
    differences = hilbert
    n_variables = int(hilbert[:2].max()) - 1  # that are independent on the points
    for dimension in range(n_variables + 1):
        if len(differences) >= 2 and differences[-1] == differences[-2] > 0:
            return Growth(dimension, int(differences[-1]))
        # H(-1) = 0 adds a value at the start that is right for each difference.
        differences = np.diff(differences, prepend=0)
    return None


# --- What the equations say near single points: distances, and the dimension by the Jacobian ------
#
# At a point where a variety is smooth, the gradients of its equations span the normal space: its
# dimension there is n - rank. Near it, by a distance δ, gradients turn by about δ over the size of
# the variety, which is how small a singular value may be without meaning anything.


class ScaledEquations:
    """Vanishing polynomials g, scaled to root mean square gradient 1 at some points."""

    def __init__(self, basis: PolynomialBasis, points: FloatArray) -> None:
        self.basis = basis
        scale = np.sqrt(np.mean(np.sum(basis.jacobian(points) ** 2, axis=2), axis=0))
        self.scale = np.where(scale > 0, scale, 1.0)
        # At degree 1 the candidates are the variables, and their projection on 1 is the mean.
        away = points - basis.blocks[0].projection[0]
        self.size = float(np.sqrt(np.mean(np.sum(away**2, axis=1)))) or 1.0

    def values(self, y: FloatArray) -> FloatArray:
        """Return g at each point."""
        return np.asarray(self.basis.evaluate(y) / self.scale)

    def jacobian(self, y: FloatArray) -> FloatArray:
        """Return ∇g at each point."""
        return np.asarray(self.basis.jacobian(y) / self.scale[:, None])

    def gradient(self, y: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return Σ λ_i ∇g_i at each point."""
        return np.asarray(self.basis.pullback(y, multipliers / self.scale))

    def hold_at(self, y: FloatArray) -> BoolArray:
        """Whether values are not outliers beside those on the points of the fit."""
        usual = float(np.linalg.norm(self.basis.extents / self.scale))
        values = np.linalg.norm(self.values(y), axis=1)
        return np.asarray(values <= OUTLYING * usual + SAME * self.size)

    def ranks_at(self, y: FloatArray) -> IntArray:
        """Return the rank of the Jacobian at each point, up to noise relative to the points."""
        noise = float(np.max(self.basis.extents / self.scale, initial=0.0)) / self.size
        singular = np.linalg.svd(self.jacobian(y), compute_uv=False)
        # Beside the usual gradient, 1, as well: at a singular point all of them are small.
        largest = np.maximum(singular.max(axis=1, initial=0.0), 1.0)
        negligible = max(SAME, OUTLYING * noise)
        return np.asarray(np.sum(singular > negligible * largest[:, None], axis=1))


def first_order_distances(
    basis: PolynomialBasis, points: FloatArray, *, which: Which
) -> FloatArray:
    """Return how far points are from zeros of each polynomial: values over gradients."""
    values = np.sqrt(np.mean(basis.evaluate(points, which=which) ** 2, axis=0))
    squared = np.sum(basis.jacobian(points, which=which) ** 2, axis=2)
    gradients = np.sqrt(np.mean(squared, axis=0))
    moves = gradients > 0
    return np.asarray(values[moves] / gradients[moves])


def most_frequent(numbers: IntArray) -> int:
    """Return the number that occurs most often, the smallest of several."""
    return int(np.argmax(np.bincount(numbers)))


# --- Dimension and degree of a variety, from a fit to points on it --------------------------------


@dataclass(frozen=True, eq=False)
class VarietyEstimate:
    """What a fit says about the variety of its points.

    Parameters
    ----------
    dimension : int
        By the Hilbert function, or by the Jacobian if ``degree`` is None.
    degree : int or None
        Number of complex points in which a general linear space of complementary dimension meets
        the variety. None if the fit does not reach the degrees where that shows.
    local_dimension : int
        Number of variables less the rank of the Jacobian, at most of the points.
    hilbert : int array of shape (max_degree + 1,)
        The affine Hilbert function.
    doubts : tuple of str
        Evidence against the estimate.
    """

    dimension: int
    degree: int | None
    local_dimension: int
    hilbert: IntArray
    doubts: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether all checks passed. Equations above ``max_degree`` can never be ruled out."""
        return not self.doubts

    def __repr__(self) -> str:
        degree = "unknown" if self.degree is None else self.degree
        doubts = "" if self.settled else f", {len(self.doubts)} doubts"
        return f"<VarietyEstimate: dimension {self.dimension}, degree {degree}{doubts}>"


def _has_one_noise(vanishing: FloatArray, degrees: IntArray, others: float, n_points: int) -> bool:
    """Say whether one noise explains all polynomials that vanish, and none of the others."""
    noise = float(np.median(vanishing))
    per_degree = np.bincount(degrees)[degrees]
    chance = largest_by_chance(per_degree, n_points)
    alike = np.abs(vanishing - noise) <= (chance - 1) * noise
    return bool(alike.all() and others > noise * largest_by_chance(1, n_points))


def estimate_variety(basis: PolynomialBasis, X: Any) -> VarietyEstimate:
    """Estimate dimension and degree of the variety that points lie on.

    Two ways that see different things: the Hilbert function counts independent polynomials degree
    by degree and gives both numbers; the rank of the Jacobian of the equations gives the dimension
    at each point. The estimate is settled if they agree, the last degree brought no new equation,
    the points outnumber the polynomials that they determine, and there is a clear margin between
    polynomials that vanish and polynomials that do not.

    Parameters
    ----------
    basis : PolynomialBasis
        Fitted one degree higher, at least, than the equations that are looked for, with all
        nonvanishing polynomials kept (see :func:`hilbert_function`). On points with
        noise of standard deviation σ, ``VanishingIdeal(tol=1.5 * σ)`` does well: with the gradient
        normalization, extents of equations are about σ.
    X : array of shape (n_samples, n_features)
        The points of the fit.

    Returns
    -------
    VarietyEstimate

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import estimate_variety
    >>> from vanishing.datasets import make_variety
    >>> X = make_variety("twisted-cubic", 200)
    >>> found = estimate_variety(VanishingIdeal(max_degree=3, tol=1e-9).fit(X).basis_, X)
    >>> found.dimension, found.degree, found.settled
    (1, 3, True)
    >>> low = estimate_variety(VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_, X)
    >>> low.doubts
    ('equations of degree 2, the last one, are new: there may be more above it',)
    """
    points = check_points(basis, X)
    hilbert = hilbert_function(basis)
    ranks = ScaledEquations(basis, points).ranks_at(points)
    local_dimension = basis.n_features - most_frequent(ranks)
    generators = minimal_generators(basis)
    found = growth(hilbert)

    last = len(basis.blocks)
    doubts = []
    if not generators.count():
        doubts.append(f"there are no equations of degree {last} or less")
    elif generators.degrees()[-1] == last and hilbert[-1] > hilbert[-2]:
        doubts.append(
            f"equations of degree {last}, the last one, are new: there may be more above it"
        )
    if found is None:
        doubts.append(f"degree {last} is too low for the Hilbert function to be a polynomial")
    elif found.dimension != local_dimension:
        doubts.append(
            f"the Hilbert function gives dimension {found.dimension}, "
            f"the Jacobian {local_dimension}"
        )
    if hilbert[-1] >= len(points):
        doubts.append(
            f"{len(points)} points determine no more than {len(points)} polynomials: equations "
            "may hold on these points only"
        )
    if generators.count():
        vanishing = first_order_distances(basis, points, which="vanishing")
        others = first_order_distances(basis, points, which="nonvanishing").min(initial=np.inf)
        if others < CLEARLY * vanishing.max() and not _has_one_noise(
            vanishing, basis.degrees(), float(others), len(points)
        ):
            doubts.append(
                f"points are up to {vanishing.max():.3g} from polynomials that vanish and from "
                f"{others:.3g} on from others: with another tolerance there would be other ones"
            )
    return VarietyEstimate(
        dimension=local_dimension if found is None else found.dimension,
        degree=None if found is None else found.degree,
        local_dimension=local_dimension,
        hilbert=hilbert,
        doubts=tuple(doubts),
    )


# --- Nearest points of a variety ------------------------------------------------------------------
#
# Points first land on the variety, by Gauss-Newton steps on the equations, damped where they do not
# help (Levenberg-Marquardt). From there they slide along it until the way back is at right angles:
# Newton steps in the tangent space for half the squared distance, each followed by a few steps back
# onto the variety.
#
# With y the current point, x the given one, J the Jacobian of the equations G and λ the multipliers
# for which y - x + Jᵀλ is tangent, the second derivative of the objective along the variety is
# that of the Lagrangian, I + Σ λ_i ∇²g_i, in tangent directions. Equations may be more than the
# codimension r: of J only the r largest singular values count.


@dataclass(frozen=True, eq=False)
class Projection:
    """Points of a variety near given ones.

    Parameters
    ----------
    points : array of shape (n_samples, n_features)
        On the variety, where ``converged``.
    distances : array of shape (n_samples,)
        From the given points.
    converged : bool array of shape (n_samples,)
        Whether, up to the tolerance, the point is on the variety and the line to it is
        perpendicular. False near singular points, and where the equations have no common zero.
    """

    points: FloatArray
    distances: FloatArray
    converged: BoolArray

    def __repr__(self) -> str:
        n_points, n_converged = len(self.points), int(np.sum(self.converged))
        return f"<Projection: {n_points} points, {n_converged} converged>"


def project(
    basis: PolynomialBasis,
    X: Any,
    *,
    dimension: int | None = None,
    max_steps: int = 100,
    tol: float = 1e-9,
) -> Projection:
    """Find the points of the variety that are nearest to given points.

    The result is a local minimum of the distance. If a point is about as far from several branches,
    another branch may be nearer.

    Parameters
    ----------
    basis : PolynomialBasis
        Its vanishing polynomials are the equations.
    X : array of shape (n_samples, n_features)
    dimension : int, optional
        Of the variety. By default n less the rank of the Jacobian, up to the noise of the fit, at
        most of the points reached.
    max_steps : int
        Onto the variety, and again along it.
    tol : float
        Length of the last step, relative to the size of the points.

    Returns
    -------
    Projection

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import project
    >>> from vanishing.datasets import make_variety
    >>> circle = VanishingIdeal(max_degree=2, tol=1e-9).fit(make_variety("circle", 100)).basis_
    >>> nearest = project(circle, [[3.0, 4.0], [0.3, -0.4]])
    >>> nearest.points.round(6)
    array([[ 0.6,  0.8],
           [ 0.6, -0.8]])
    >>> nearest.distances.round(6), nearest.converged
    (array([4. , 0.5]), array([ True,  True]))
    """
    given = check_points(basis, X)
    check_whole("max_steps", max_steps)
    check_real("tol", tol, zero=False)
    if not basis.count():
        raise ValueError("there are no equations to project onto: nothing vanishes")
    nearby = _land(ScaledEquations(basis, given), given, 0, max_steps, tol)
    equations = ScaledEquations(basis, nearby)
    if dimension is None:
        # The rank is 0 at singular points only, where some points may end.
        ranks = np.maximum(equations.ranks_at(nearby), 1)
        dimension = basis.n_features - most_frequent(ranks)
    if check_whole("dimension", dimension, 0) >= basis.n_features:
        raise ValueError(
            f"dimension must be at least 0 and less than {basis.n_features}, got {dimension}"
        )
    # Noise leaves equations that hold together at few points only, or nowhere, and these may be
    # far. In normal directions alone, points land near where they come from.
    landed = _land(equations, given, dimension, max_steps, tol)
    # From far off, though, they may come to where the other equations do not hold.
    astray = ~equations.hold_at(landed)
    landed[astray] = _land(equations, nearby[astray], dimension, max_steps, tol)
    points, converged = _slide(equations, given, landed, dimension, max_steps, tol)
    return Projection(points, np.linalg.norm(points - given, axis=1), converged)


@dataclass(frozen=True, eq=False)
class _Frame:
    """Orthonormal normal and tangent directions at points of a variety of codimension r."""

    normal: FloatArray
    tangent: FloatArray
    back: FloatArray  # from values of the equations to steps along ``normal``
    regular: BoolArray  # where the Jacobian has rank r

    @classmethod
    def at(cls, equations: ScaledEquations, y: FloatArray, dimension: int) -> "_Frame":
        rank = y.shape[1] - dimension
        left, singular, right = np.linalg.svd(equations.jacobian(y))
        strong = singular[:, :rank] > SAME
        inverse = np.where(strong, 1.0 / np.where(strong, singular[:, :rank], 1.0), 0.0)
        directions = np.swapaxes(right, 1, 2)
        back = inverse[:, :, None] * np.swapaxes(left[:, :, : inverse.shape[1]], 1, 2)
        regular = np.all(strong, axis=1) & (strong.shape[1] == rank)
        normal = directions[:, :, : strong.shape[1]]
        return cls(normal, directions[:, :, rank:], back, regular)

    def onto(self, values: FloatArray) -> FloatArray:
        """The Gauss-Newton step onto the variety."""
        return -_apply(self.normal, _apply(self.back, values))


def _land(
    equations: ScaledEquations, given: FloatArray, dimension: int, max_steps: int, tol: float
) -> FloatArray:
    """Go to zeros of the equations by Levenberg-Marquardt steps, in normal directions only."""
    rank = given.shape[1] - dimension
    y = given.copy()
    values = equations.values(y)
    damping = np.full(len(y), 0.1**3)
    moving = np.arange(len(y))
    for _ in range(max_steps):
        left, singular, right = np.linalg.svd(equations.jacobian(y[moving]), full_matrices=False)
        left, singular, right = left[:, :, :rank], singular[:, :rank], right[:, :rank]
        added = np.sum(singular**2, axis=1) * damping[moving]
        denominator = singular**2 + np.where(added > 0, added, 1.0)[:, None]
        slope = singular * _apply(np.swapaxes(left, 1, 2), values[moving])
        step = -_apply(np.swapaxes(right, 1, 2), slope / denominator)
        tried = y[moving] + step
        reached = equations.values(tried)
        better = np.sum(reached**2, axis=1) < np.sum(values[moving] ** 2, axis=1)
        accepted = moving[better]
        y[accepted], values[accepted] = tried[better], reached[better]
        damping[moving] *= np.where(better, 0.1, 10.0)
        damping = np.maximum(damping, np.finfo(np.float64).eps)
        moving = moving[np.linalg.norm(step, axis=1) > tol * equations.size]
        if not len(moving):
            break
    return y


def _slide(
    equations: ScaledEquations,
    given: FloatArray,
    landed: FloatArray,
    dimension: int,
    max_steps: int,
    tol: float,
) -> tuple[FloatArray, BoolArray]:
    """Shorten the distance along the variety; return the points and which of them converged."""
    y = landed.copy()
    converged = np.zeros(len(y), dtype=bool)
    moving = np.arange(len(y))
    shortest = tol * equations.size
    for _ in range(max_steps):
        here, x = y[moving], given[moving]
        frame = _Frame.at(equations, here, dimension)
        off = frame.onto(equations.values(here))
        along = _newton_step(equations, here, x, frame)
        arrived = np.linalg.norm(off, axis=1) + np.linalg.norm(along, axis=1) <= shortest
        converged[moving[arrived]] = (frame.regular & equations.hold_at(here))[arrived]
        going = frame.regular & ~arrived
        moving = moving[going]
        if not len(moving):
            break
        y[moving] = _shortened(equations, here[going], x[going], along[going], dimension, shortest)
    return y, converged


def _newton_step(
    equations: ScaledEquations, y: FloatArray, x: FloatArray, frame: _Frame
) -> FloatArray:
    """The step in the tangent space that minimizes the distance from x, to second order."""
    n_tangent = frame.tangent.shape[2]
    if n_tangent == 0:
        return np.zeros_like(y)
    transposed = np.swapaxes(frame.tangent, 1, 2)
    slope = _apply(transposed, y - x)
    multipliers = -_apply(
        np.swapaxes(frame.back, 1, 2), _apply(np.swapaxes(frame.normal, 1, 2), y - x)
    )
    # Central differences are most accurate for this step: their errors are h² and eps / h.
    h = float(np.cbrt(np.finfo(np.float64).eps)) * equations.size
    second = np.empty_like(transposed)
    for number in range(n_tangent):
        direction = h * frame.tangent[:, :, number]
        ahead = equations.gradient(y + direction, multipliers)
        behind = equations.gradient(y - direction, multipliers)
        second[:, number] = (ahead - behind) / (2 * h)
    hessian = second @ frame.tangent
    hessian = np.eye(n_tangent) + (hessian + np.swapaxes(hessian, 1, 2)) / 2
    curvatures, axes = np.linalg.eigh(hessian)
    # Away from saddles and maxima as from minima towards them, and not further than the points go.
    bounded = np.maximum(np.abs(curvatures), SAME)
    steps = _apply(np.swapaxes(axes, 1, 2), slope) / bounded
    steps = np.clip(steps, -equations.size, equations.size)
    return -_apply(frame.tangent, _apply(axes, steps))


def _shortened(
    equations: ScaledEquations,
    y: FloatArray,
    x: FloatArray,
    along: FloatArray,
    dimension: int,
    tolerated: float,
) -> FloatArray:
    """Go along the variety, by a half, a quarter, ... of the step where the whole is too long."""
    start = _returned(equations, y, dimension)
    found = start.copy()
    before = np.linalg.norm(start - x, axis=1)
    rest = np.linalg.norm(equations.values(start), axis=1)
    left = np.arange(len(y))
    length = 1.0
    while len(left) and length > SAME:
        tried = _returned(equations, y[left] + length * along[left], dimension)
        # On the variety as well as before, and nearer. Of equations that noise keeps from
        # holding together a rest remains, and distances are known up to it.
        values = np.linalg.norm(equations.values(tried), axis=1)
        distances = np.linalg.norm(tried - x[left], axis=1)
        good = (values <= 2 * rest[left] + tolerated) & (
            distances <= before[left] + rest[left] + tolerated
        )
        found[left[good]] = tried[good]
        left = left[~good]
        length /= 2
    return found


def _returned(equations: ScaledEquations, y: FloatArray, dimension: int) -> FloatArray:
    """Go back onto the variety. Each step doubles the digits: four take 4 bits to all of them."""
    for _ in range(4):
        y = y + _Frame.at(equations, y, dimension).onto(equations.values(y))
    return y


def _apply(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Multiply each matrix by its vector."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])
