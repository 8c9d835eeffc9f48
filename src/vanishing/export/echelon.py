"""Reduced echelon form of floating point rows, stable, with pivots that people would choose.

Polynomials are rows of coefficients on monomials. Their span is what the data determines; which
polynomials span it is a matter of coordinates, and after fitting they are dense mixtures. In
reduced echelon form every row is the only one that has its pivot monomial, so that simple equations
show.
"""

import numpy as np

from vanishing._xp import FloatArray, IntArray

#: A column is a pivot if it is at least this share of the largest one. Lower, and the form comes
#: closer to the textbook's, whose pivots are the first columns possible; higher, and it is stabler.
PIVOT_SHARE = 0.05
#: Rows of norm 1 that are smaller than this after reduction are rounding errors.
NEGLIGIBLE = 1e-8


def reduced_echelon(
    rows: FloatArray, order: IntArray, *, pivot_share: float = PIVOT_SHARE
) -> tuple[FloatArray, IntArray]:
    """Bring the span of some rows to reduced echelon form.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    order : int array of shape (n_columns,)
        Columns in the order in which they are wanted as pivots.
    pivot_share : float
        How large a pivot has to be beside the largest column that could be one.

    Returns
    -------
    echelon : array of shape (rank, n_columns)
        The identity on the pivots.
    pivots : int array of shape (rank,)

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.export.echelon import reduced_echelon
    >>> rows = np.array([[2.0, 1.0, 5.0], [4.0, 3.0, 13.0], [6.0, 4.0, 18.0]])
    >>> echelon, pivots = reduced_echelon(rows, np.arange(3))
    >>> np.abs(echelon).round(12), pivots
    (array([[1., 0., 1.],
           [0., 1., 3.]]), array([0, 1]))
    """
    span = _orthonormal(rows)
    pivots = _pivots(span, order, pivot_share)
    echelon = np.linalg.solve(span[:, pivots], span)
    echelon[:, pivots] = np.eye(len(pivots))
    return echelon, pivots


def reduced_modulo(rows: FloatArray, echelon: FloatArray, pivots: IntArray) -> FloatArray:
    """Subtract from rows what an echelon form spans, so that they are zero on its pivots.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    echelon, pivots
        As ``reduced_echelon`` returns them.

    Returns
    -------
    array of shape (n_rows, n_columns)
    """
    reduced = rows - rows[:, pivots] @ echelon
    reduced[:, pivots] = 0.0
    return reduced


def _orthonormal(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of rows of norm 1 or less."""
    if not rows.size:
        return np.zeros((0, rows.shape[1]))
    _, singular, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[singular > NEGLIGIBLE])


def _pivots(span: FloatArray, order: IntArray, pivot_share: float) -> IntArray:
    """Choose the first columns, in the given order, that are independent and not small."""
    remaining = span.copy()
    pivots: list[int] = []
    for _ in range(len(span)):
        sizes = np.linalg.norm(remaining[:, order], axis=0)
        pivot = int(order[np.argmax(sizes >= pivot_share * sizes.max())])
        direction = remaining[:, pivot] / np.linalg.norm(remaining[:, pivot])
        remaining -= np.outer(direction, direction @ remaining)
        pivots.append(pivot)
    return np.array(pivots, dtype=np.intp)
