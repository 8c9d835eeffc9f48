"""Gram matrices and triangular factors, in the fastest form that each array library has.

LAPACK is called with the GIL released, so that threads factor blocks in parallel; on an accelerator
Cholesky QR does the same by matrix products.

Values of polynomials have shape ``(n_polynomials, n_rows)``: one polynomial per row. Products then
run over contiguous memory, and the transpose has the column-major order that LAPACK expects.
"""

import ctypes
import math
from functools import cache
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy import LowLevelCallable
from scipy.linalg import cython_lapack, lapack, solve_triangular

from vanishing.arrays.blocks import one_thread
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    is_on_cpu,
    machine_epsilon,
    move_to_host,
    move_to_numpy,
    namespace,
)
from vanishing.levels import SAFETY

# --- Symmetric products of matrices ---------------------------------------------------------------

#: From so many columns on, the work on square matrices outweighs the calls.
MANY_COLUMNS = 128
#: On an accelerator, large products are computed in so many strips. That is 1.5 times as fast as
#: the whole product for 1,001 and 1,771 polynomials (H200, float64), and slower for 286.
STRIPS = 4
#: Columns of a panel of blocked Householder factorizations, which are fastest with it, as measured.
PANEL = 32


def gram(values: Array) -> Array:
    """Return ``values @ values.T``, through a symmetric rank-k update where there is one."""
    n_polynomials = values.shape[0]
    if is_on_cpu(values) or n_polynomials < STRIPS * MANY_COLUMNS:
        return values @ values.T  # NumPy recognizes the transposed operand and calls syrk
    # Accelerators have no such update behind this operator: compute strips of the upper triangle.
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


# --- R of tall matrices on accelerators: Cholesky QR, twice ---------------------------------------
#
# Householder QR reaches a tenth of the rate of matrix products on an H200, or less. The Cholesky
# factor R₁ of the Gram matrix is computed by matrix products alone, but squaring the condition
# number κ costs it half of the digits. A R₁⁻¹ has a condition number near 1 as long as κ² eps is
# small, so that its own factor R₂ loses none: R = R₂ R₁ is as accurate as that of Householder
# (Yamamoto et al., 2015, "CholeskyQR2"). The pivots tell whether κ is small enough. Where it is
# not, as for relations that hold exactly, nothing is returned.


def factor_by_cholesky(values: Array) -> Array | None:
    """Return R of the QR factorization of ``values.T``, or None if that needs Householder QR."""
    import torch

    if values.shape[1] < values.shape[0]:
        return None
    matrix = gram(values)
    scale = torch.sqrt(torch.diagonal(matrix))  # makes pivots relative to each column
    first, failed = torch.linalg.cholesky_ex(matrix / scale[:, None] / scale, upper=True)
    smallest = SAFETY * math.sqrt(machine_epsilon(values))
    # NaN where squares overflow or a column is zero: no comparison holds then.
    if not bool((failed == 0) & (torch.diagonal(first).min() > smallest)):
        return None
    first = first * scale
    # Q R = A and not Rᵀ Qᵀ = Aᵀ: cuBLAS takes seconds for the latter with a million columns.
    orthonormal = torch.linalg.solve_triangular(first, values.T, upper=True, left=False)
    second, failed = torch.linalg.cholesky_ex(gram(orthonormal.T), upper=True)
    # Near 1 if the first factor is accurate; up to half of that, the second one loses nothing.
    departure = torch.abs(torch.diagonal(second) - 1).max()
    if not bool((failed == 0) & (departure < 0.5)):
        return None
    return torch.triu(second @ first)


# --- LAPACK's blocked QR for NumPy arrays, with the GIL released ----------------------------------
#
# SciPy's wrappers hold the GIL while LAPACK works, so that threads would wait for each other. The
# same routines are C functions in ``scipy.linalg.cython_lapack``, which ctypes calls with the GIL
# released. Where that is not possible (an interpreter other than CPython, a LAPACK with integers of
# 64 bits) NumPy does the work.

#: Squares of numbers between this and its inverse neither overflow nor lose digits.
SQUARABLE = float(np.sqrt(np.finfo(np.float64).tiny / np.finfo(np.float64).eps))

Matrix = npt.NDArray[Any]


def qr_factor(values: Matrix) -> Matrix:
    """Return R of the QR factorization of ``values.T``; ``values`` may be overwritten."""
    values = np.ascontiguousarray(values, dtype=_precision(values))
    n_columns, n_rows = values.shape
    rank = min(n_columns, n_rows)
    if rank == 0:
        return np.zeros((0, n_columns), dtype=values.dtype)
    if not _has_pointers():
        return np.asarray(np.linalg.qr(values.T, mode="r"))
    panel = min(PANEL, rank)
    reflectors = np.empty((rank, panel), dtype=values.dtype)
    work = np.empty((n_columns, panel), dtype=values.dtype)
    # A matrix in row-major order is its transpose in the column-major order of LAPACK.
    _call("geqrt", n_rows, n_columns, panel, values, n_rows, reflectors, panel, work)
    return np.triu(values[:, :rank].T)


def factor_of_shifted(values: Matrix) -> Matrix:
    """Return R like ``qr_factor``, accurate for multiples of the first polynomial, the constant.

    Rounding errors in the sum of n equal numbers all have the same sign: they add up to n eps, not
    sqrt(n) eps, and how many numbers a kernel of BLAS adds in a row depends on the processor. With
    20,000 rows, a constant column was no longer a multiple of 1. So the multiples of the first
    polynomial, as far as a first sum tells, are taken out before, and put back into R.
    """
    values = np.ascontiguousarray(values, dtype=_precision(values))
    first = values[0] if len(values) else values.ravel()
    square = first @ first
    # Double precision only: in single precision the sums overflow where LAPACK's norms do not.
    if values.dtype != np.float64 or not SQUARABLE < square < 1 / SQUARABLE:
        return qr_factor(values)
    shifts = values[1:] @ first / square
    if not np.all(np.isfinite(shifts)):
        return qr_factor(values)
    for row, shift in zip(values[1:], shifts, strict=True):
        row -= shift * first
    R = qr_factor(values)
    R[0, 1:] += shifts * R[0, 0]
    return R


def factor_if_regular(values: Matrix, accuracy: float) -> Matrix | None:
    """Return R of the QR factorization of ``values.T`` by Cholesky, if it is accurate.

    The Gram matrix of columns of norm 1 has an error Δ of about eps in each of its k² entries. The
    Cholesky factor of RᵀR + Δ is that of I + R⁻ᵀ Δ R⁻¹, times R: no norm ‖R c‖ changes by more than
    the fraction ‖Δ‖ ‖R⁻¹‖² / 2. So the computed factor itself tells how accurate it is.

    None if a norm ‖R c‖ may have a relative error larger than ``accuracy``.
    """
    n_columns, n_rows = values.shape
    error = n_columns * machine_epsilon(values)
    if n_rows < 2 * n_columns or not 0 < error <= accuracy:
        return None
    matrix = gram(values)
    scale = np.sqrt(matrix.diagonal())
    if not (scale.min() > SQUARABLE and scale.max() < 1 / SQUARABLE):
        return None
    factor, failed = lapack.dpotrf(matrix / scale[:, None] / scale, clean=True)
    if failed:
        return None
    inverse, failed = lapack.dtrtri(factor)
    if failed or not error / 2 * np.vdot(inverse, inverse) <= accuracy:
        return None
    return np.asarray(factor * scale)


def merge_factors(first: Matrix, second: Matrix) -> Matrix:
    """Return R of the QR factorization of a square triangle stacked on a trapezoid."""
    n_columns, height = first.shape[1], second.shape[0]
    if height == 0:
        return first
    dtype = _precision(first)
    if not _has_pointers():
        return np.asarray(np.linalg.qr(np.vstack([first, second]).astype(dtype), mode="r"))
    upper = first.T.astype(dtype, order="C")  # a copy in the column-major order of LAPACK
    lower = second.T.astype(dtype, order="C")
    panel = min(PANEL, n_columns)
    # LAPACK takes the second factor as a pentagon: all of it is a triangle if it is square.
    triangle = height if height == n_columns else 0
    reflectors = np.empty((n_columns, panel), dtype=dtype)
    work = np.empty((n_columns, panel), dtype=dtype)
    sizes = (height, n_columns, triangle, panel)
    _call("tpqrt", *sizes, upper, n_columns, lower, height, reflectors, panel, work)
    return upper.T


def _call(routine: str, *arguments: int | Matrix) -> None:
    """Call a routine of LAPACK, whose last argument is ``info``."""
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
    # These routines fail for invalid arguments only.
    assert info.value == 0, f"LAPACK's {routine} returned info={info.value}"


@cache
def _has_pointers() -> bool:
    """Return whether ctypes can call the routines, and their integers have 32 bits."""
    try:
        signatures = [_callable(name).signature for name in ("dgeqrt", "dtpqrt")]
        _routine("geqrt", "d")
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(signature.startswith("void (int *, int *") for signature in signatures)


def _callable(name: str) -> Any:
    return LowLevelCallable.from_cython(cython_lapack, name)


@cache
def _routine(name: str, precision: str) -> Any:
    """Return a function of SciPy's LAPACK, which takes pointers only."""
    callable_ = _callable(precision + name)
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointer = address(callable_.function, callable_.signature.encode())
    return ctypes.CFUNCTYPE(None)(pointer)


def _precision(matrix: Matrix) -> np.dtype[Any]:
    return np.dtype(np.float32 if matrix.dtype == np.float32 else np.float64)


# --- Triangular factors of any library ------------------------------------------------------------


def triangular_factor(values: Array) -> Array:
    """Return R of the QR factorization of ``values.T``; ``values`` may be overwritten."""
    if array_api_compat.is_numpy_array(values):
        return qr_factor(values)
    xp = namespace(values)
    if array_api_compat.is_torch_array(values):
        factor = None if is_on_cpu(values) else factor_by_cholesky(values)
        return xp.linalg.qr(values.T, mode="r").R if factor is None else factor
    return xp.linalg.qr(values.T, mode="reduced").R


def merge_triangular(first: Array, second: Array) -> Array:
    """Return R of the QR factorization of two stacked triangular factors."""
    if array_api_compat.is_numpy_array(first) and first.shape[0] == first.shape[1] > 0:
        return merge_factors(first, second)
    xp = namespace(first)
    return triangular_factor(xp.concat([first, second], axis=0).T)


def pivoted_cholesky(matrix: Array, smallest: float, most: int) -> tuple[IntArray, FloatArray]:
    """Return rows and sizes of the pivots above a smallest one, the largest first."""
    if array_api_compat.is_numpy_array(matrix):
        # A symmetric matrix is its transpose in the column-major order of LAPACK.
        triangle, order, rank, _ = lapack.dpstrf(matrix.T, tol=smallest, overwrite_a=True)
        return order[:rank] - 1, np.diag(triangle)[:rank].copy()
    if array_api_compat.is_torch_array(matrix):
        order, found = _pivot_rows(matrix, smallest, most)
        return order, np.sqrt(found)
    return pivoted_cholesky(move_to_numpy(matrix), smallest, most)


def _pivot_rows(matrix: Array, smallest: float, most: int) -> tuple[IntArray, FloatArray]:
    """Return the pivots of a torch tensor, their places and their sizes.

    Row by row, in few short calls and without waiting for the accelerator in between: the places of
    the pivots stay there until the end.
    """
    import torch

    rest = torch.diagonal(matrix).clone()
    triangle = torch.empty((most, matrix.shape[0]), dtype=matrix.dtype, device=matrix.device)
    order = torch.zeros(most, dtype=torch.int64, device=matrix.device)
    pivots = torch.zeros_like(rest[:most])
    for k in range(most):
        pivot, place = pivots[k : k + 1], order[k : k + 1]
        torch.max(rest, dim=0, keepdim=True, out=(pivot, place))
        row, known = triangle[k : k + 1, :], triangle[:k, :]
        along = torch.index_select(known, 1, place)
        torch.addmm(torch.index_select(matrix, 0, place), along.T, known, alpha=-1, out=row)
        # What is left of the last pivots is rounding; it may be negative.
        row *= torch.rsqrt(torch.clamp(pivot, min=smallest))
        rest.addcmul_(row[0], row[0], value=-1)
        rest.index_fill_(0, place, -torch.inf)
        # Asking for a pivot waits for the accelerator.
        if k % MANY_COLUMNS == MANY_COLUMNS - 1 and float(pivot) <= smallest:
            break
    found = move_to_numpy(pivots)
    rank = int(np.argmin(np.append(found > smallest, False)))
    return move_to_host(order)[:rank], found[:rank]


def cholesky_or_none(matrix: Array) -> Array | None:
    """Return R with R'R = A, upper triangular; None if A is not positive definite."""
    if array_api_compat.is_torch_array(matrix):
        import torch

        factor, failed = torch.linalg.cholesky_ex(matrix, upper=True)
        return factor if int(failed) == 0 else None
    try:
        return namespace(matrix).linalg.cholesky(matrix, upper=True)
    except np.linalg.LinAlgError:
        return None


def solve_upper(triangle: Array, right: Array) -> Array:
    """Return the solution of R x = b for an upper triangular R."""
    if array_api_compat.is_torch_array(triangle):
        import torch

        return torch.linalg.solve_triangular(triangle, right, upper=True)
    if array_api_compat.is_numpy_array(triangle):
        return solve_triangular(triangle, right, check_finite=False)
    return namespace(triangle).linalg.solve(triangle, right)


def norms(matrix: FloatArray) -> FloatArray:
    """Return the Euclidean norms of columns, even of numbers too large or small to square."""
    with np.errstate(over="ignore"):
        found = np.asarray(np.linalg.norm(matrix, axis=0))
    if found.size and np.all((found > SQUARABLE) & (found < 1 / SQUARABLE)):
        return found
    largest = np.max(np.abs(matrix), axis=0, initial=0.0)
    unit = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
    return np.asarray(np.linalg.norm(matrix / unit, axis=0) * unit)
