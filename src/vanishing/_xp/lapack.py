"""LAPACK's blocked QR for NumPy arrays, called without the lock of the interpreter.

SciPy's wrappers of these routines hold the lock while LAPACK works, so that threads would wait for
each other. The same routines come as C functions in ``scipy.linalg.cython_lapack``, which ctypes
calls with the lock let go.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import LowLevelCallable
from scipy.linalg import cython_lapack

from vanishing._xp.threads import one_thread

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
