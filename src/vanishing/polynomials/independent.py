"""A maximal set of independent columns, chosen the same way every time."""

import numpy as np
from scipy.linalg import qr

from vanishing._xp import FloatArray, IntArray

#: Columns whose residuals differ by less than this are tied; ties go to the lower index.
TIE = 1e-6
#: A column is dependent if its residual is below this share of its own norm.
DEPENDENT = 1e-8


def independent_columns(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Choose columns by pivoted QR.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)

    Returns
    -------
    chosen : int array of shape (rank,)
        Indices of the columns, ascending.
    triangle : array of shape (rank, n_columns)
        The leading rows of R, columns in the order of ``matrix``: they span its row space.
    """
    n_columns = matrix.shape[1]
    norms = np.linalg.norm(matrix, axis=0)
    # A slope far above rounding and far below any difference that matters settles ties.
    slope = 1.0 - TIE * np.arange(n_columns) / max(1, n_columns)
    triangle, order = qr(matrix * slope, mode="r", pivoting=True, check_finite=False)
    residuals = np.abs(np.diag(triangle))
    independent = residuals > DEPENDENT * norms[order[: len(residuals)]]
    rank = len(residuals) if independent.all() else int(np.argmin(independent))
    unpermuted = np.empty((rank, n_columns))
    unpermuted[:, order] = triangle[:rank]
    return np.sort(order[:rank]), unpermuted / slope
