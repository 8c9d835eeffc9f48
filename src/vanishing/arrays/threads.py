"""Threads: several blocks of rows at once, instead of several threads inside of BLAS.

A block is evaluated, multiplied and reduced by one thread from beginning to end. That keeps all
cores busy where BLAS would keep them busy in its own part of the work only, and the order in which
rows are summed up does not depend on how many threads there are.
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
from threadpoolctl import ThreadpoolController

from vanishing.arrays.namespace import Array, on_cpu

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Blocks that are worked on at once. With 16 threads, on 16 virtual cores, fits took 1.4 times as
#: long as with 8.
MOST = 8
#: As many threads as BLAS had before it was held to one, and None where it is not held.
_allowed: int | None = None


def threads_for(block: Array) -> int:
    """Return how many blocks like this one may be worked on at once.

    As many as BLAS may use threads (``OMP_NUM_THREADS``, ``threadpoolctl``), for NumPy arrays:
    other libraries have threads of their own. One where the caller is a thread itself, since
    whoever made it divides the work already.
    """
    if not array_api_compat.is_numpy_array(block) or not _in_main_thread():
        return 1
    return min(MOST, _blas_threads() if _allowed is None else _allowed)


def mapped(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Yield what a function makes of items, in their order, several being worked on at once.

    Items are taken as they are needed, by the thread of the caller: one more than there are
    threads. After an error, or when the generator is closed, nothing is begun any more, and what
    was begun is waited for.
    """
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
                # Each in a context of its own: NumPy's handling of overflow belongs to the caller.
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
    """Hold BLAS and LAPACK to one thread while inside.

    NumPy and SciPy bring a library each, whose idle threads keep a core busy for a while. Where
    calls of the two alternate, threads that gain nothing by themselves cost several times the work.
    So a fit is held as a whole.

    In the main thread of Python only: limits are those of the process, and threads that set and
    restore them at once leave one that nobody wanted.
    """
    threads = _blas_threads() if _in_main_thread() else 1
    if threads == 1:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"), _allowing(threads):
        yield


@contextmanager
def all_threads() -> Iterator[None]:
    """Give BLAS and LAPACK back, while inside, the threads that ``one_thread`` took from them.

    For matrices that are large enough.
    """
    if not _in_main_thread() or _allowed is None or _allowed == 1:
        yield
        return
    with _controller().limit(limits=_allowed, user_api="blas"):
        yield


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Allow not more than so many blocks at once while inside."""
    if not _in_main_thread():
        yield
        return
    with _allowing(min(threads, _blas_threads() if _allowed is None else _allowed)):
        yield


def own_threads(block: Array) -> AbstractContextManager[None]:
    """Give its threads back to another library than NumPy, which divides work on a block itself."""
    own = on_cpu(block) and not array_api_compat.is_numpy_array(block)
    return all_threads() if own else nullcontext()


def limited(threads: int | None, user_api: str | None = None) -> AbstractContextManager[object]:
    """Hold the libraries of an interface, "blas" or "openmp", or all, to so many threads.

    Like ``threadpool_limits``, which looks for the libraries every time.
    """
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
    """Allow a forked process what BLAS has there: nobody leaves the blocks that others are in."""
    global _allowed
    _allowed = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _in_main_thread() -> bool:
    return current_thread() is main_thread()


def _blas_threads() -> int:
    libraries = _controller().lib_controllers
    return max((lib.num_threads for lib in libraries if lib.user_api == "blas"), default=1)


@cache
def _libraries(user_api: str | None) -> ThreadpoolController:
    """Find the libraries once for each interface, when it is first needed and thus loaded."""
    return ThreadpoolController()


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries once; that takes milliseconds, and setting a limit microseconds."""
    return ThreadpoolController()
