"""Holding LAPACK to one thread where more of them get in each other's way."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import current_thread, main_thread
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and LAPACK to one thread while inside.

    NumPy and SciPy bring a library each, whose idle threads keep a core busy for a while. Where
    calls of the two alternate, threads that gain nothing by themselves cost several times the work.

    In the main thread of Python only: limits are those of the process, and threads that set and
    restore them at once leave one that nobody wanted.
    """
    if current_thread() is not main_thread():
        return nullcontext()
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries once; that takes milliseconds, and setting a limit microseconds."""
    return ThreadpoolController()
