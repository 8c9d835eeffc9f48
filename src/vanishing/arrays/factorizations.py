"""Factorizations that the array API lacks: triangular factors and symmetric products.

LAPACK is called with the GIL released, so that threads factor blocks side by side; on a device
Cholesky QR does the same work in matrix products.
"""

import ctypes
import math
from functools import cache
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy import LowLevelCallable
from scipy.linalg import cython_lapack

from vanishing.arrays.namespace import Array, FloatArray, machine_epsilon, namespace, on_cpu
from vanishing.arrays.threads import one_thread

# --- Symmetric products of matrices ---------------------------------------------------------------

#: On an accelerator, products of this many polynomials or more are made in so many strips. For
#: 1,001 and 1,771 polynomials 1.5 times as fast as the whole product (H200, float64), slower for
#: 286.
STRIPPED, STRIPS = 512, 4


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


# --- R of tall matrices on accelerators: Cholesky's method, twice ---------------------------------
#
# Householder's method, which LAPACK and its relatives use, reaches a tenth of the rate of matrix
# products on an H200 and less. Cholesky's factor R₁ of the Gram matrix is made of such products,
# and
# loses digits with the square of the condition number κ. The matrix A R₁⁻¹ has a condition number
# near 1 as long as κ² eps is small, so that a second factor R₂, of this one, loses none: R = R₂ R₁
# is
# as accurate as Householder's (Yamamoto and others, 2015). Whether κ is small enough shows in the
# pivots, and where it is not, as for relations that hold exactly, nothing is returned.

#: Pivots of the first factor below so many roots of a unit of rounding are too small.
SMALLEST_PIVOT = 64.0
#: Pivots of the second factor are this close to 1, if the first one was what it should be.
LARGEST_DEPARTURE = 0.1


def factor_by_cholesky(values: Array) -> Array | None:
    """Return R of the QR factorization of ``values.T``, or None where that needs Householder.

    Parameters
    ----------
    values : torch tensor of shape (n_polynomials, n_rows)
    """
    import torch

    if values.shape[1] < values.shape[0]:
        return None
    matrix = gram(values)
    scale = torch.sqrt(torch.diagonal(matrix))  # pivots are then relative to each column
    first, failed = torch.linalg.cholesky_ex(matrix / scale[:, None] / scale, upper=True)
    smallest = SMALLEST_PIVOT * math.sqrt(machine_epsilon(values))
    # Not finite, where squares overflow or a column is zero: then no comparison holds.
    if not bool((failed == 0) & (torch.diagonal(first).min() > smallest)):
        return None
    first = first * scale
    # Q R = A and not Rᵀ Qᵀ = Aᵀ: cuBLAS takes seconds for the latter, of a million columns.
    orthonormal = torch.linalg.solve_triangular(first, values.T, upper=True, left=False)
    second, failed = torch.linalg.cholesky_ex(gram(orthonormal.T), upper=True)
    departure = torch.abs(torch.diagonal(second) - 1).max()
    if not bool((failed == 0) & (departure < LARGEST_DEPARTURE)):
        return None
    return torch.triu(second @ first)


# --- LAPACK's blocked QR for NumPy arrays, called without the lock of the interpreter -------------
#
# SciPy's wrappers of these routines hold the lock while LAPACK works, so that threads would wait
# for
# each other. The same routines come as C functions in ``scipy.linalg.cython_lapack``, which ctypes
# calls with the lock let go.

#: Columns per panel of the blocked Householder factorization; fastest of 16, 32, 64 as measured.
PANEL = 32

Matrix = npt.NDArray[Any]


def qr_factor(values: Matrix) -> Matrix:
    """Return R of the QR factorization of ``values.T``; ``values`` may be overwritten."""
    values = np.ascontiguousarray(values, dtype=_precision(values))
    n_columns, n_rows = values.shape
    rank = min(n_columns, n_rows)
    if rank == 0:
        return np.zeros((0, n_columns), dtype=values.dtype)
    panel = min(PANEL, rank)
    reflectors = np.empty((rank, panel), dtype=values.dtype)
    work = np.empty((n_columns, panel), dtype=values.dtype)
    # A matrix in row-major order is its transpose in the column-major order of LAPACK.
    _call("geqrt", n_rows, n_columns, panel, values, n_rows, reflectors, panel, work)
    return np.triu(values[:, :rank].T)


def merged_factor(first: Matrix, second: Matrix) -> Matrix:
    """Return R of the QR factorization of a square triangle stacked on a trapezoid."""
    n_columns, height = first.shape[1], second.shape[0]
    if height == 0:
        return first
    dtype = _precision(first)
    upper = first.T.astype(dtype, order="C")  # copies, in the column-major order of LAPACK
    lower = second.T.astype(dtype, order="C")
    panel = min(PANEL, n_columns)
    # The second factor is a pentagon: a triangle as high as it is, where it is square.
    triangle = height if height == n_columns else 0
    reflectors = np.empty((n_columns, panel), dtype=dtype)
    work = np.empty((n_columns, panel), dtype=dtype)
    sizes = (height, n_columns, triangle, panel)
    _call("tpqrt", *sizes, upper, n_columns, lower, height, reflectors, panel, work)
    return upper.T


def _call(routine: str, *arguments: int | Matrix) -> None:
    """Call a routine, whose last argument is ``info``."""
    info = ctypes.c_int(0)
    pointers: list[Any] = []
    dtype = np.dtype(np.float64)
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            dtype = argument.dtype
            pointers.append(ctypes.c_void_p(argument.ctypes.data))
        else:
            pointers.append(ctypes.byref(ctypes.c_int(argument)))
    with one_thread():
        _routine(routine, "s" if dtype == np.float32 else "d")(*pointers, ctypes.byref(info))
    if info.value != 0:
        raise np.linalg.LinAlgError(f"LAPACK's {routine} returned info={info.value}")


@cache
def _routine(name: str, precision: str) -> Any:
    """Return a function of SciPy's LAPACK; all of its arguments are pointers."""
    callable_ = LowLevelCallable.from_cython(cython_lapack, precision + name)
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointer = address(callable_.function, callable_.signature.encode())
    return ctypes.CFUNCTYPE(None)(pointer)


def _precision(matrix: Matrix) -> np.dtype[Any]:
    return np.dtype(np.float32 if matrix.dtype == np.float32 else np.float64)


# --- The factorizations that the array API standard lacks or does slowly --------------------------
#
# Values of polynomials come as ``(n_polynomials, n_rows)``: one polynomial a row. Products of
# polynomials then run over contiguous memory, and the transpose of such an array is already in the
# column-major order that LAPACK wants.

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
