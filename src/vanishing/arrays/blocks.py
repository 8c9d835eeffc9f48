"""Blocks of rows: how many rows a block has, and how many blocks are worked on at once.

A block is evaluated, multiplied and reduced by one thread from beginning to end. All cores then
stay busy, where threads inside of BLAS would be busy in its part of the work only, and the order
in which rows are summed does not depend on the number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import cache
from itertools import chain, islice
from threading import current_thread, main_thread
from typing import TypeVar

import array_api_compat
import numpy as np
from threadpoolctl import ThreadpoolController

from vanishing.arrays.namespace import Array, is_on_cpu
from vanishing.levels import BLOCK, MEMORY

# --- How many rows a block has, and what is too much memory ---------------------------------------

#: Rows of a block at least, so that matrices of coefficients are not read for each row anew.
FEWEST_AT_ONCE = 64


def limit_jobs(n_jobs: int | None, n_tasks: int) -> int | None:
    """Return no more jobs than there are tasks: each is a thread, whether it has work or not."""
    return n_jobs if n_jobs is None else min(n_jobs, max(n_tasks, 1))


class BudgetError(MemoryError):
    """A degree needs matrices beyond the memory budget."""


def format_bytes(n_bytes: int) -> str:
    """Write a number of bytes in the unit that suits it."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def block_rows(width: int, *, cpu: bool = True, budget_bytes: int | None = None) -> int:
    """Return how many rows a block has if work on a row takes ``width`` numbers."""
    # On an accelerator a launch costs more than a cache miss: blocks are as large as memory allows.
    elements = BLOCK if cpu else MEMORY // 8
    if budget_bytes is not None:
        elements = min(elements, budget_bytes // 8)
    return max(FEWEST_AT_ONCE, elements // max(1, width))


def row_slices(x: Array, *, width: int) -> Iterator[slice]:
    """Yield slices that cover the rows of ``x``, on a processor twice as long as in a pass."""
    cpu = is_on_cpu(x)
    step = block_rows(width, cpu=cpu) * (2 if cpu else 1)
    for start in range(0, x.shape[0], step):
        yield slice(start, min(start + step, x.shape[0]))


def apply_to_row_slices(work: Callable[[slice], None], x: Array, *, width: int) -> None:
    """Call a function for slices of rows, several at once, without warnings of overflow."""
    slices = list(row_slices(x, width=width))
    # The function itself, since each thread has its own floating-point error state.
    work = np.errstate(over="ignore", invalid="ignore")(work)
    with one_thread() if array_api_compat.is_numpy_array(x) else nullcontext():
        for _ in map_in_threads(work, slices, threads_for(x) if len(slices) > 1 else 1):
            pass


# --- How many blocks are worked on at once --------------------------------------------------------

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Blocks that are worked on at once. With 16 threads, on 16 virtual cores, fits took 1.4 times as
#: long as with 8.
MOST_THREADS = 8
#: How many threads BLAS had before it was limited to one; None while it is not limited.
_allowed: int | None = None


def threads_for(block: Array) -> int:
    """Return how many blocks like this one to work on at once: as many as BLAS may use."""
    if not array_api_compat.is_numpy_array(block) or not _in_main_thread():
        return 1
    return min(MOST_THREADS, _blas_threads() if _allowed is None else _allowed)


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Yield the results of a function in the order of the items, computing several at once."""
    if threads == 1:
        yield from map(function, items)
        return
    items = iter(items)
    ahead = list(islice(items, 2))
    if len(ahead) < 2:  # not worth a thread
        yield from map(function, ahead)
        return
    items = chain(ahead, items)
    with one_thread(), _allowing(1), ThreadPoolExecutor(threads, "vanishing") as pool:
        begun: deque[Future[Result]] = deque()
        try:
            for item in items:
                # Each in a copy of the caller's context, which holds NumPy's error state.
                begun.append(pool.submit(copy_context().run, function, item))
                if len(begun) > threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and LAPACK to one thread, in the main thread, to which limits belong."""
    threads = _blas_threads() if _in_main_thread() else 1
    if threads == 1:
        yield
        return
    with limit_threads(1, "blas"), _allowing(threads):
        yield


@contextmanager
def all_threads() -> Iterator[None]:
    """Give BLAS and LAPACK back the threads that ``one_thread`` took, for large matrices."""
    if not _in_main_thread() or _allowed is None or _allowed == 1:
        yield
        return
    with limit_threads(_allowed, "blas"):
        yield


@contextmanager
def limit_workers(threads: int) -> Iterator[None]:
    """Allow at most so many blocks to be worked on at once."""
    if not _in_main_thread():
        yield
        return
    with _allowing(min(threads, _blas_threads() if _allowed is None else _allowed)):
        yield


def own_threads(block: Array) -> AbstractContextManager[None]:
    """Give a library other than NumPy its threads back: it divides work on a block itself."""
    own = is_on_cpu(block) and not array_api_compat.is_numpy_array(block)
    return all_threads() if own else nullcontext()


def limit_threads(
    threads: int | None, user_api: str | None = None
) -> AbstractContextManager[object]:
    """Limit the libraries of an interface, "blas" or "openmp", or all, to so many threads."""
    if threads is None:
        return nullcontext()
    limit: AbstractContextManager[object] = _libraries(user_api).limit(
        limits=threads, user_api=user_api
    )
    return limit


@contextmanager
def _allowing(threads: int) -> Iterator[None]:
    global _allowed
    before, _allowed = _allowed, threads
    try:
        yield
    finally:
        _allowed = before


def _forget() -> None:
    """Reset the state in a forked process, where no ``with`` block of the parent ever ends."""
    global _allowed
    _allowed = None


if hasattr(os, "register_at_fork"):  # pragma: no branch - not on Windows
    os.register_at_fork(after_in_child=_forget)


def _in_main_thread() -> bool:
    return current_thread() is main_thread()


def _blas_threads() -> int:
    libraries = _libraries("blas").lib_controllers
    return max((lib.num_threads for lib in libraries if lib.user_api == "blas"), default=1)


@cache
def _libraries(user_api: str | None) -> ThreadpoolController:
    """Find the libraries once per interface, since searching takes milliseconds."""
    return ThreadpoolController()
