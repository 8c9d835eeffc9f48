"""Least squares with few terms, or with a bound on the sum of absolute coefficients.

The oracles of OAVI. They work on the triangular factor of the columns, never on rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from vanishing.arrays.namespace import FloatArray
from vanishing.levels import ROUNDING
from vanishing.polynomials.monomials import SQUARED_AWAY

#: Steps of conditional gradients at most; each takes as long as one product with a small matrix.
MOST_DESCENTS = 10_000


class SparseFit(NamedTuple):
    """A fit R c ≈ target on some of the columns.

    ``missing``: ‖target - R c‖. ``support``: the columns. ``triangle`` of shape (n_support,
    n_support): R of these columns. ``coordinates``: of the fit, on orthonormal columns.
    """

    missing: float
    support: list[int]
    triangle: FloatArray
    coordinates: FloatArray
    n_columns: int

    @property
    def coefficients(self) -> FloatArray:
        """The coefficients c, shape (n_columns,)."""
        found = np.zeros(self.n_columns)
        if self.support:
            # Not SciPy's function around it, which takes ten times as long on small matrices.
            found[self.support] = lapack.dtrtrs(self.triangle, self.coordinates)[0]
        return found


def fit_with_few_terms(R: FloatArray, target: FloatArray) -> Iterator[SparseFit]:
    """Yield fits R c ≈ target with one nonzero coefficient more each time.

    The column that explains most of what is left joins the support, and all coefficients of the
    support are fitted again: conditional gradients with the inverse Hessian of the active set.

    ``R`` of shape (n_columns, n_columns): with independent columns. First zeros, at last the fit on
    all columns, except for some that nearly depend on others.
    """
    n_columns = len(target)
    basis, triangle = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    coordinates = np.zeros(n_columns)
    # What of the target and of all columns is orthogonal to the support, with the squares of the
    # columns and their products with the target.
    rest, columns = target.copy(), R.copy()
    squares, products = np.einsum("ij,ij->j", R, R), target @ R
    smallest = SQUARED_AWAY**2 * squares  # what is left of columns that depend on the support
    support: list[int] = []
    for n in range(n_columns + 1):
        yield SparseFit(
            float(np.sqrt(rest @ rest)), support, triangle[:n, :n], coordinates[:n], n_columns
        )
        gains = products * products / np.maximum(squares, smallest)
        gains[squares <= smallest] = -1.0
        chosen = int(gains.argmax()) if n < n_columns else 0
        if gains[chosen] < 0:
            return
        unit = columns[:, chosen] / np.sqrt(squares[chosen])
        basis[n] = unit
        triangle[: n + 1, n] = basis[: n + 1] @ R[:, chosen]
        coordinates[n], explained = unit @ target, unit @ rest
        shares = unit @ columns
        columns -= unit[:, None] * shares
        squares -= shares * shares
        products -= explained * shares
        rest -= explained * unit
        squares[chosen] = 0.0
        support = [*support, chosen]


def fit_in_ball(
    R: FloatArray, target: FloatArray, radius: float, bound: float, residual: float = 0.0
) -> FloatArray:
    """Fit R c ≈ target in the ℓ1 ball, by blended pairwise conditional gradients.

    ``R`` has shape (n_rows, n_columns). ``radius``: bound on Σ |c|. ``bound``: stop as soon as the
    residual is at most this, or known to be larger for all c. ``residual``: what no c explains: the
    residual is √(‖target - R c‖² + residual²).
    """
    gram, cross = R.T @ R, R.T @ target
    n_columns = len(cross)
    # Weights of the vertices radius · e_i and -radius · e_i; half of each of a pair is 0.
    weights = np.zeros(2 * n_columns)
    weights[int(np.argmax(np.abs(cross)))] = weights[n_columns + int(np.argmax(np.abs(cross)))] = (
        0.5
    )
    coefficients = np.zeros(n_columns)
    gradient = -cross
    goal = bound**2 - residual**2
    for _ in range(MOST_DESCENTS):
        missing = target - R @ coefficients
        loss = float(missing @ missing)
        slopes = radius * np.concatenate([gradient, -gradient])
        toward = int(np.argmin(slopes))
        active = np.flatnonzero(weights)
        away, near = (int(active[i(slopes[active])]) for i in (np.argmax, np.argmin))
        gap = float(gradient @ coefficients - slopes[toward])
        if loss <= goal or loss - 2 * gap > goal or gap <= ROUNDING * float(target @ target):
            break
        if slopes[away] - slopes[near] >= gap:
            # A step between two vertices that are in use spares the others.
            start, stop, longest = away, near, weights[away]
            direction = _vertex(stop, n_columns, radius) - _vertex(start, n_columns, radius)
        else:
            start, stop, longest = -1, toward, 1.0
            direction = _vertex(stop, n_columns, radius) - coefficients
        image = gram @ direction
        curvature = float(direction @ image)
        slope = float(gradient @ direction)
        step = longest if curvature <= 0 else min(longest, -slope / curvature)
        coefficients = coefficients + step * direction
        gradient = gradient + step * image
        if start < 0:
            weights *= 1 - step
        else:
            weights[start] = 0.0 if step == longest else weights[start] - step
        weights[stop] += step
    return coefficients


def _vertex(number: int, n_columns: int, radius: float) -> FloatArray:
    vertex = np.zeros(n_columns)
    vertex[number % n_columns] = radius if number < n_columns else -radius
    return vertex
