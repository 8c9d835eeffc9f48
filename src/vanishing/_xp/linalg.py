"""The factorizations that the array API standard lacks or does slowly.

Values of polynomials come as ``(n_polynomials, n_rows)``: one polynomial a row. Products of
polynomials then run over contiguous memory, and the transpose of such an array is already in the
column-major order that LAPACK wants.
"""

import array_api_compat

from vanishing._xp.cholesky import factor_by_cholesky
from vanishing._xp.lapack import merged_factor, qr_factor
from vanishing._xp.namespace import Array, namespace, on_cpu


def triangular_factor(values: Array) -> Array:
    """Return R of the QR factorization of ``values.T``; ``values`` may be overwritten.

    Parameters
    ----------
    values : array of shape (n_polynomials, n_rows)

    Returns
    -------
    array of shape (min(n_rows, n_polynomials), n_polynomials)
        Upper triangular (or trapezoidal), with ``R.T @ R == values @ values.T``.
    """
    if array_api_compat.is_numpy_array(values):
        return qr_factor(values)
    xp = namespace(values)
    if array_api_compat.is_torch_array(values):
        factor = None if on_cpu(values) else factor_by_cholesky(values)
        return xp.linalg.qr(values.T, mode="r").R if factor is None else factor
    return xp.linalg.qr(values.T, mode="reduced").R


def merge_triangular(first: Array, second: Array) -> Array:
    """Return R of the QR factorization of two stacked triangular factors."""
    if array_api_compat.is_numpy_array(first) and first.shape[0] == first.shape[1] > 0:
        return merged_factor(first, second)
    xp = namespace(first)
    return triangular_factor(xp.concat([first, second], axis=0).T)
