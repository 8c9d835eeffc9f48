"""The factorizations that the array API standard lacks or does slowly.

Values of polynomials come as ``(n_polynomials, n_rows)``: one polynomial a row. Products of
polynomials then run over contiguous memory, and the transpose of such an array is already in the
column-major order that LAPACK wants.
"""

import array_api_compat

from vanishing._xp.lapack import merged_factor, qr_factor
from vanishing._xp.namespace import Array, namespace, on_cpu

#: On an accelerator, products of this many polynomials or more are made in so many strips. For
#: 1,001 and 1,771 polynomials 1.5 times as fast as the whole product (H200, float64), slower for
#: 286.
STRIPPED, STRIPS = 512, 4


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
        return xp.linalg.qr(values.T, mode="r").R
    return xp.linalg.qr(values.T, mode="reduced").R


def merge_triangular(first: Array, second: Array) -> Array:
    """Return R of the QR factorization of two stacked triangular factors."""
    if array_api_compat.is_numpy_array(first) and first.shape[0] == first.shape[1] > 0:
        return merged_factor(first, second)
    xp = namespace(first)
    return triangular_factor(xp.concat([first, second], axis=0).T)


def gram(values: Array) -> Array:
    """Return ``values @ values.T``, through a symmetric rank-k update where there is one."""
    n_polynomials = values.shape[0]
    if on_cpu(values) or n_polynomials < STRIPPED:
        return values @ values.T  # NumPy recognizes the transposed operand and calls syrk
    # Accelerators have no such update behind this operator: strips of the upper triangle.
    xp = namespace(values)
    shape = (n_polynomials, n_polynomials)
    product = xp.empty(shape, dtype=values.dtype, device=values.device)
    height = -(-n_polynomials // STRIPS)
    for start in range(0, n_polynomials, height):
        stop = min(start + height, n_polynomials)
        strip = values[start:stop, :] @ values[start:, :].T
        product[start:stop, start:] = strip
        product[start:, start:stop] = strip.T
    return product
