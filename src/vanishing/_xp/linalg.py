"""The factorizations that the array API standard lacks or does slowly.

Values of polynomials come as ``(n_polynomials, n_rows)``: one polynomial a row. Products of
polynomials then run over contiguous memory, and the transpose of such an array is already in the
column-major order that LAPACK wants.
"""

import array_api_compat
import numpy as np

from vanishing._xp.cholesky import factor_by_cholesky
from vanishing._xp.lapack import merged_factor, qr_factor
from vanishing._xp.namespace import Array, FloatArray, namespace, on_cpu

#: Between these sizes squares neither overflow nor lose digits, even if many are added up.
SMALLEST, LARGEST = 1e-140, 1e140


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


def norms(matrix: FloatArray) -> FloatArray:
    """Return the Euclidean norms of the columns, also of numbers too large or small to square."""
    with np.errstate(over="ignore"):
        found = np.asarray(np.linalg.norm(matrix, axis=0))
    if found.size and np.all((found > SMALLEST) & (found < LARGEST)):
        return found
    largest = np.max(np.abs(matrix), axis=0, initial=0.0)
    unit = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
    return np.asarray(np.linalg.norm(matrix / unit, axis=0) * unit)
