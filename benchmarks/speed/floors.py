"""The floors: what bare BLAS and LAPACK need for matrices of the shapes that a fit reduces.

A fit reduces one matrix [F C] for each degree and each set of points. Nothing that sees all rows
can be faster than one symmetric product of each (Gram), or one QR factorization of each (TSQR).
The gradient normalization goes over X once more, for derivatives; the floor does not count that.
Transform multiplies the values of candidates and of F by the small matrices of the basis; making
the candidates is not counted.
"""

import time
from typing import Literal

import numpy as np
from benchmarks.speed.cases import FloatArray
from scipy.linalg import get_lapack_funcs

Floor = Literal["syrk", "geqrf"]


def floor_seconds(
    floor: Floor,
    columns: tuple[int, ...],
    sets: tuple[int, ...],
    repeats: int,
    *,
    most_rows: int | None = None,
) -> float:
    """Return the seconds of one kernel for every degree and every set.

    Parameters
    ----------
    floor : {"syrk", "geqrf"}
    columns : tuple of int
        Columns of [F C], one number a degree.
    sets : tuple of int
        Rows of each set of points.
    repeats : int
        The shortest time of so many is taken.
    most_rows : int, optional
        Larger sets are timed on so many rows and the time is scaled up: it is linear in rows.
    """
    kernel = {"syrk": _syrk_seconds, "geqrf": _geqrf_seconds}[floor]
    seconds = 0.0
    for rows in sorted(set(sets)):
        timed = min(rows, most_rows or rows)
        for n_columns in columns:
            values = _values(n_columns, timed)
            best = min(kernel(values) for _ in range(repeats))
            seconds += best * sets.count(rows) * rows / timed
    return seconds


def products_seconds(
    shapes: tuple[tuple[int, int], ...], rows: int, repeats: int, *, most_rows: int
) -> float:
    """Return the seconds of bare products of small matrices with values at all rows.

    Parameters
    ----------
    shapes : tuple of pairs of int
        Of the small matrices.
    rows, repeats, most_rows : int
        As for ``floor_seconds``.
    """
    timed = min(rows, most_rows)
    seconds = 0.0
    for height, width in shapes:
        values = _values(width, timed)
        small = np.random.default_rng(1).standard_normal((height, width))
        best = min(_product_seconds(small, values) for _ in range(repeats))
        seconds += best * rows / timed
    return seconds


def _product_seconds(small: FloatArray, values: FloatArray) -> float:
    started = time.perf_counter()
    small @ values
    return time.perf_counter() - started


def _values(n_columns: int, n_rows: int) -> FloatArray:
    """Return numbers of full rank; the time does not depend on which."""
    few = np.random.default_rng(0).standard_normal((n_columns, 4096))
    values = np.empty((n_columns, n_rows))
    for start in range(0, n_rows, few.shape[1]):
        values[:, start : start + few.shape[1]] = few[:, : n_rows - start]
    return values


def _syrk_seconds(values: FloatArray) -> float:
    started = time.perf_counter()
    values @ values.T  # NumPy calls syrk for this
    return time.perf_counter() - started


def _geqrf_seconds(values: FloatArray) -> float:
    geqrf, geqrf_lwork = get_lapack_funcs(("geqrf", "geqrf_lwork"), (values,))
    tall = values.copy().T  # Fortran order: LAPACK works in place
    work, info = geqrf_lwork(*tall.shape)
    assert info == 0
    started = time.perf_counter()
    _, _, _, info = geqrf(tall, lwork=int(work), overwrite_a=True)
    elapsed = time.perf_counter() - started
    assert info == 0
    return elapsed
