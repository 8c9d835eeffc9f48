"""Requests to the playground: limits, bodies and refusals."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

# --- How much one request may ask for -------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """What the server of the playground accepts.

    Parameters
    ----------
    points : int, default=5000
        Of X and Y together.
    degree : int, default=8
        Largest degree.
    body_bytes : int, default=1_000_000
        Size of a request.
    body_seconds : float, default=10.0
        Time in which the body of a request has to arrive.
    work_seconds : float, default=5.0
        Time for the work of one request; then the process that does it is killed and replaced.
    workers : int, default=2
        Processes that work, each on one request at a time and with one thread.
    queue : int, default=500
        Requests that may wait for a process; more are told that the server is busy.
    queue_seconds : float, default=10.0
        How long a request waits before it is told so.
    table_bytes : int, default=5_000_000
        Size of a table whose laws are searched.
    table_columns : int, default=100
        Columns of such a table.
    table_seconds : float, default=60.0
        Time for the search.
    searches : int, default=1
        Tables that are searched at the same time, so that processes are left for other requests.
    """

    points: int = 5000
    degree: int = 8
    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    work_seconds: float = 5.0
    workers: int = 2
    queue: int = 500
    queue_seconds: float = 10.0
    table_bytes: int = 5_000_000
    table_columns: int = 100
    table_seconds: float = 60.0
    searches: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "queue" or name.endswith("_seconds"):
                if value < 0:
                    raise ValueError(f"{name} must not be negative, got {value!r}")
            elif value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")


# --- Answers other than the one that was asked for ------------------------------------------------


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that is not answered, and why: what was expected, what came, what helps.

    ``error`` is a word for programs, such as "too-many-points"; the others are for people, and none
    of them names anything of the machine. ``message`` replaces the sentence made of them.
    """

    status: int
    error: str
    expected: str
    got: str
    remedy: str
    retry_after: int | None = None
    message: str = ""

    def body(self) -> dict[str, Any]:
        """Return the answer as it is sent."""
        return {
            "error": self.error,
            "message": self.message or f"Expected {self.expected}; got {self.got}. {self.remedy}",
            "expected": self.expected,
            "got": self.got,
            "remedy": self.remedy,
        }

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def internal_error() -> RefusalError:
    """Return what is said of an error that nobody foresaw: nothing of what happened where."""
    return RefusalError(
        500,
        "internal",
        "an answer",
        "an error inside the server",
        "The terminal of the server shows it; please report it together with the link of "
        "this page.",
    )


# --- Reading what comes with a request, within limits ---------------------------------------------


async def read_json(request: Any, limits: Limits) -> bytes:
    """Read the body of a request that says it is JSON; refuse others, large and slow ones."""
    _check_kind(request, "application/json", "not-json", "Send JSON.")
    return await _read(request, limits, limits.body_bytes, "Send fewer points.")


async def read_csv(request: Any, limits: Limits) -> bytes:
    """Read the body of a request as the content of a CSV file; refuse as ``read_json`` does."""
    _check_kind(request, "text/csv", "not-csv", "Send a CSV file.")
    return await _read(request, limits, limits.table_bytes, "Keep a part of the rows.")


def _check_kind(request: Any, expected: str, error: str, remedy: str) -> None:
    """Check the content type.

    It is a guard, too: pages of other origins cannot send these types without asking first.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != expected:
        raise RefusalError(
            415, error, f"the content type {expected}", repr(kind[:60]) if kind else "none", remedy
        )


async def _read(request: Any, limits: Limits, most: int, remedy: str) -> bytes:
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _read_bytes(request, most, remedy)
    except TimeoutError:
        raise RefusalError(
            408,
            "too-slow-to-arrive",
            f"a request that arrives within {limits.body_seconds:g} s",
            "a part of it",
            "Send it again.",
        ) from None


async def _read_bytes(request: Any, most: int, remedy: str) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise _too_large(most, f"{announced} bytes", remedy)
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise _too_large(most, "more", remedy)
    return bytes(content)


def parse_json(content: bytes) -> Any:
    """Return what the body of a request says; raise a refusal if it is not JSON."""
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also numbers of too many digits, bytes that are not text
        raise RefusalError(
            422,
            "not-json",
            "JSON",
            f"{len(content)} bytes that are not JSON, or contain NaN or infinity",
            "Send numbers, lists and objects as defined in RFC 8259.",
        ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _too_large(most: int, got: str, remedy: str) -> RefusalError:
    return RefusalError(413, "too-large", f"a request of at most {most} bytes", got, remedy)
