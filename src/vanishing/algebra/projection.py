"""Nearest points of a variety.

Points first land on the variety, by Gauss-Newton steps on the equations, damped where they do not
help (Levenberg-Marquardt). From there they slide along it until the way back is at right angles to
it: Newton steps in the tangent space for half the squared distance, each followed by a few steps
back onto the variety.

With y the current point, x the given one, J the Jacobian of the equations G and λ the multipliers
for which y - x + Jᵀλ is tangent, the second derivative of the objective along the variety is
that of the Lagrangian, I + Σ λ_i ∇²g_i, in tangent directions. Equations may be more than the
codimension r: of J only the r largest singular values count.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.algebra.hilbert import ScaledEquations, check_points, most_frequent
from vanishing.arrays.namespace import BoolArray, FloatArray
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.levels import SAME
from vanishing.polynomials.basis import PolynomialBasis


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
    """Normal and tangent directions at points of a variety of codimension r.

    ``normal`` (m, n, r) and ``tangent`` (m, n, n - r) are orthonormal; ``back`` (m, r, k) takes the
    values of the equations to steps along ``normal``; ``regular`` says where J has rank r.
    """

    normal: FloatArray
    tangent: FloatArray
    back: FloatArray
    regular: BoolArray

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
