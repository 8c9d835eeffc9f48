"""Least squares with few terms, or with a bound on the sum of absolute coefficients.

The oracles of OAVI. They work on the triangular factor of the columns, never on rows.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from vanishing.arrays.namespace import FloatArray

#: Steps of conditional gradients, at most.
MOST_STEPS = 10_000


def fit_with_few_terms(R: FloatArray, target: FloatArray) -> Iterator[FloatArray]:
    """Yield fits R c ≈ target with one nonzero coefficient more each time.

    The column that explains most of what is left joins the support, and all coefficients of the
    support are fitted again: conditional gradients with the inverse Hessian of the active set.

    Parameters
    ----------
    R : array of shape (n_columns, n_columns)
        With independent columns.
    target : array of shape (n_columns,)

    Yields
    ------
    array of shape (n_columns,)
        First zeros, at last the fit on all columns.
    """
    n_columns = len(target)
    basis, triangle = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    rest, columns = target.copy(), R.copy()  # what is orthogonal to the support
    sizes = np.linalg.norm(R, axis=0)
    support: list[int] = []
    coefficients = np.zeros(n_columns)
    yield coefficients
    for n_support in range(n_columns):
        lengths = np.linalg.norm(columns, axis=0)
        gains = np.zeros(n_columns)
        is_free = lengths > 1e-14 * sizes
        is_free[support] = False
        if not is_free.any():
            return
        gains[is_free] = np.abs(rest @ columns[:, is_free]) / lengths[is_free]
        chosen = int(np.argmax(np.where(is_free, gains, -1.0)))
        unit = columns[:, chosen] / lengths[chosen]
        basis[:, n_support] = unit
        triangle[: n_support + 1, n_support] = basis[:, : n_support + 1].T @ R[:, chosen]
        columns -= np.outer(unit, unit @ columns)
        rest = rest - unit * (unit @ rest)
        support.append(chosen)
        n = n_support + 1
        coefficients = np.zeros(n_columns)
        coefficients[support] = solve_triangular(
            triangle[:n, :n], basis[:, :n].T @ target, check_finite=False
        )
        yield coefficients


def fit_in_ball(
    R: FloatArray, target: FloatArray, radius: float, bound: float, residual: float = 0.0
) -> FloatArray:
    """Fit R c ≈ target in the ℓ1 ball, by blended pairwise conditional gradients.

    Parameters
    ----------
    R : array of shape (n_rows, n_columns)
    target : array of shape (n_rows,)
    radius : float
        Bound on Σ |c|.
    bound : float
        Stop as soon as the residual is at most this, or known to be larger for all c.
    residual : float
        What no c explains: the residual is √(‖target - R c‖² + residual²).

    Returns
    -------
    array of shape (n_columns,)
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
    for _ in range(MOST_STEPS):
        missing = target - R @ coefficients
        loss = float(missing @ missing)
        slopes = radius * np.concatenate([gradient, -gradient])
        toward = int(np.argmin(slopes))
        active = np.flatnonzero(weights)
        away, near = (int(active[i(slopes[active])]) for i in (np.argmax, np.argmin))
        gap = float(gradient @ coefficients - slopes[toward])
        if loss <= goal or loss - 2 * gap > goal or gap <= 1e-15 * float(target @ target):
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
