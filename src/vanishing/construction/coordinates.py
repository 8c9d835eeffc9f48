"""The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep) for forms of any grading.

The sizes under a form of polynomials that are alike on the points may differ by any power of the
units of the data. Extents then say little about what is a rounding error: that of a relation that
holds exactly, but is small under the form, may exceed the extent of a polynomial that is none and
large under it. Exact relations are therefore found first, in coordinates of ordinary size. They
vanish whatever the form is.

The form on the rest is the size of what is orthogonal to the relations. In coordinates w in which
it is the identity the problem is the singular value decomposition of A K, v = K w. Columns of K are
of as different sizes as the form makes them; a decomposition that is accurate relative to the
largest would take the small ones for rounding errors. Jacobi's method, on the columns, is accurate
relative to each of them (Demmel and Veselić, 1992).
"""

import numpy as np
from scipy.linalg import qr, solve_triangular, svd

from vanishing._xp import FloatArray, norms
from vanishing.construction.pair import (
    EPS,
    SAFETY,
    PairSolution,
    Side,
    right_singular_vectors,
    with_fixed_signs,
    without_arbitrary_rotation,
)
from vanishing.normalizations.stage import Coordinates


def solve_in_coordinates(points: Side, coordinates: Coordinates) -> PairSolution:
    """Solve the problem for A = ``points`` and a form in coordinates of ordinary size.

    Parameters
    ----------
    points : Side
    coordinates : Coordinates
        Directions outside of them are zero under the form and on the points.
    """
    plain, B = coordinates.plain, coordinates.factor
    null, free = _null_directions(points, plain)
    n_null = null.shape[1]
    relations = null @ inverse_factor(B @ null)  # size 1 under the form
    q = qr(B @ null, check_finite=False)[0]
    K = free @ inverse_factor(q[:, n_null:].T @ (B @ free))
    K, relations = (np.ldexp(each, -coordinates.exponent) for each in (K, relations))

    rest = plain @ (K @ right_singular_vectors(points.factor @ (plain @ K)))
    (exact, small), (others, extents) = (
        without_arbitrary_rotation(part, points.norms(part), points, SAFETY * EPS)
        for part in (plain @ relations, rest)
    )
    # Made orthogonal to the relations under the form. That may add large multiples of them; F
    # does without these, which are zero on the points.
    sizes = norms(plain)
    y = ((plain / sizes).T @ others) / sizes[:, None]
    multiples = np.ldexp((B @ relations).T @ (B @ y), 2 * coordinates.exponent)
    vanishing = others - plain @ (relations @ multiples)
    # What is a rounding error is settled.
    doubt = np.concatenate(
        [
            np.maximum(points.noise(exact), small),
            np.minimum(points.noise(others), 0.5 * extents),
        ]
    )
    vectors = with_fixed_signs(np.hstack([exact, vanishing]))
    return PairSolution(
        vectors=vectors,
        extents=np.concatenate([small, extents]),
        noise=np.minimum(doubt, points.negligible(np.hstack([exact, others]))),
        doubt=doubt,
        unbounded=np.zeros((len(plain), 0)),
        dropped=len(plain) - plain.shape[1] - coordinates.lost,
        lost=coordinates.lost,
        condition=coordinates.condition,
        reduced=with_fixed_signs(np.hstack([exact, others])),
    )


def inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return K with ``matrix @ K`` orthonormal, for rows of any sizes.

    A QR factorization with rows sorted by size and pivoted columns keeps every row to a unit of
    its own rounding (Cox and Higham, 1998).

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)
        With independent columns.

    Returns
    -------
    array of shape (n_columns, n_columns)
    """
    n_columns = matrix.shape[1]
    rows = np.argsort(-norms(matrix.T), kind="stable")
    triangle, pivots = qr(matrix[rows], mode="r", pivoting=True, check_finite=False)
    inverse = np.zeros((n_columns, n_columns))
    # A column at a time: entries of R decrease along a row, so that nothing grows.
    inverse[pivots] = solve_triangular(
        triangle[:n_columns], np.eye(n_columns), trans="T", check_finite=False
    ).T
    return inverse


def _null_directions(points: Side, plain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal y for which ``plain @ y`` is zero on the points, and all others."""
    on_points = points.factor @ plain
    y = svd(on_points, full_matrices=True, check_finite=False)[2].T
    null = norms(on_points @ y) <= points.noise(plain @ y)
    return np.asarray(y[:, null]), np.asarray(y[:, ~null])
