"""Options of the suites, and runs that are stopped after a minute."""

import argparse
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.laws.report import HERE
from joblib import Parallel, delayed

#: Processor time of one run, in seconds.
LIMIT = 60.0
OVER = f"over {LIMIT:.0f} s"


class _TooLongError(Exception):
    pass


def _stop(*_: Any) -> None:
    raise _TooLongError


def make_parser(about: str, tables: int, null_tables: int, seed: int) -> argparse.ArgumentParser:
    """Return the options of a suite: how many tables it has, their seed, and where results go."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tables", type=int, default=tables, help="of each kind, if it has kinds")
    if null_tables:
        parser.add_argument("--null-tables", type=int, default=null_tables, help="without a law")
    parser.add_argument("--seed", type=int, default=seed, help="of the first table")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    return parser


def run_limited(function: Callable[..., Any], *given: Any) -> tuple[Any, str, float]:
    """Run a function; return its result or None, "ok" or what went wrong, and its seconds."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    started = time.process_time()
    result, status = None, "ok"
    try:
        result = function(*given)
    except _TooLongError:
        status = OVER
    except Exception as error:  # what a user would see is a result too
        status = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return result, status, round(time.process_time() - started, 2)


def describe_seconds(seconds: list[float]) -> str:
    """Write the median and the largest of some times."""
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.2f}, {ordered[-1]:.1f}" if ordered else "none"


def run_all(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], jobs: int) -> list[Any]:
    """Call a function with each of several arguments, in so many processes."""
    found: list[Any] = Parallel(n_jobs=jobs)(delayed(function)(*given) for given in calls)
    return found
