"""Requests to the playground: limits, refusals, and what they hold, checked before any work."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import isfinite
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

    def body(self) -> dict[str, str]:
        """Return the answer as it is sent."""
        sentence = f"Expected {self.expected}; got {self.got}. {self.remedy}"
        return {
            "error": self.error,
            "message": self.message or sentence,
            "expected": self.expected,
            "got": self.got,
            "remedy": self.remedy,
        }


def internal_error() -> RefusalError:
    """Return what is said of an error that nobody foresaw: nothing of what happened where."""
    remedy = (
        "The terminal of the server shows it; please report it together with the link of this page."
    )
    return RefusalError(500, "internal", "an answer", "an error inside the server", remedy)


def bad_value(name: str, expected: str, got: str, remedy: str) -> RefusalError:
    """Return the refusal of one field of a request."""
    return RefusalError(422, "bad-value", f"{expected} in {name!r}", got, remedy)


def too_many_points(limits: Limits, count: int) -> RefusalError:
    """Return the refusal of more points than the limit."""
    expected = f"at most {limits.points} points, X and Y together"
    remedy = "Send a random part of them."
    return RefusalError(413, "too-many-points", expected, str(count), remedy)


# --- Reading what comes with a request, within limits ---------------------------------------------


async def read_json(request: Any, limits: Limits) -> Any:
    """Return what the body of a request says that is JSON; refuse others, large and slow ones."""
    _check_kind(request, "application/json", "not-json", "Send JSON.")
    content = await _read(request, limits, limits.body_bytes, "Send fewer points.")
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also numbers of too many digits, bytes that are not text
        got = f"{len(content)} bytes that are not JSON, or contain NaN or infinity"
        remedy = "Send numbers, lists and objects as defined in RFC 8259."
        raise RefusalError(422, "not-json", "JSON", got, remedy) from None


async def read_csv(request: Any, limits: Limits) -> bytes:
    """Read the body of a request as the content of a CSV file; refuse as ``read_json`` does."""
    _check_kind(request, "text/csv", "not-csv", "Send a CSV file.")
    return await _read(request, limits, limits.table_bytes, "Keep a part of the rows.")


def _check_kind(request: Any, expected: str, error: str, remedy: str) -> None:
    """Check the content type: pages of other origins cannot send these without asking first."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != expected:
        got = repr(kind[:60]) if kind else "none"
        raise RefusalError(415, error, f"the content type {expected}", got, remedy)


async def _read(request: Any, limits: Limits, most: int, remedy: str) -> bytes:
    def refuse(got: str) -> RefusalError:
        return RefusalError(413, "too-large", f"a request of at most {most} bytes", got, remedy)

    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise refuse(f"{announced} bytes")
    content = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    raise refuse("more")
    except TimeoutError:
        expected = f"a request that arrives within {limits.body_seconds:g} s"
        raise RefusalError(
            408, "too-slow-to-arrive", expected, "a part of it", "Send it again."
        ) from None
    return bytes(content)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


# --- What requests hold ---------------------------------------------------------------------------

#: Beyond it powers of coordinates overflow.
LARGEST_COORDINATE = 1e6
#: Pixels of the digits of scikit-learn, 8 × 8.
N_PIXELS = 64
#: Digits that are normal: one of them, or all even or odd ones.
NORMAL = ("even", "odd", *"0123456789")
#: Normalizations that need no contrast.
PLAIN = ("gradient", "gradient-weighted", "coefficient", "vca")

#: Takes the name and the value of a field, and returns the value or raises a refusal.
Check = Callable[[str, Any], Any]


def check_fields(body: Any, fields: dict[str, Check]) -> dict[str, Any]:
    """Check the fields of a request: all of them are there, and no others."""
    known = _list(fields)
    remedy = f"Send the fields {known}."
    if not isinstance(body, dict):
        raise RefusalError(422, "bad-value", "an object", shown(body), remedy)
    for name in body:
        if name not in fields:
            expected, got = f"the fields {known}", f"a field {shown(name)}"
            raise RefusalError(422, "unknown-field", expected, got, "Leave it out.")
    for name in fields:
        if name not in body:
            raise bad_value(name, "a value", "none", remedy)
    return {name: check(name, body[name]) for name, check in fields.items()}


def passing(is_valid: Callable[[Any], bool], expected: str, remedy: str) -> Check:
    """Return the check of a value, by a function that says whether it is valid."""

    def check(name: str, value: Any) -> Any:
        if not is_valid(value):
            raise bad_value(name, expected, shown(value), remedy)
        return value

    return check


def whole(low: int, high: int) -> Check:
    """Return the check of a whole number between two others."""
    return passing(
        lambda value: type(value) is int and low <= value <= high,
        f"a whole number from {low} to {high}",
        "Choose one in this range.",
    )


def real(low: float, high: float) -> Check:
    """Return the check of a finite number between two others."""
    return passing(
        lambda value: _is_number(value) and low <= value <= high,
        f"a number from {low:g} to {high:g}",
        "Choose one in this range.",
    )


def one_of(names: Collection[str]) -> Check:
    """Return the check of a name out of a list."""
    return passing(
        lambda value: isinstance(value, str) and value in names,
        f"one of {_list(names)}",
        "Choose one of these.",
    )


def points(limits: Limits) -> Check:
    """Return the check of a list of pairs of numbers."""
    expected = f"points [x, y] of finite numbers up to {LARGEST_COORDINATE:g}"

    def is_point(point: Any) -> bool:
        is_pair = isinstance(point, list) and len(point) == 2
        return is_pair and all(_is_number(c) and abs(c) <= LARGEST_COORDINATE for c in point)

    def check(name: str, value: Any) -> list[list[float]]:
        if not isinstance(value, list):
            raise bad_value(name, "a list of points [x, y]", shown(value), "Send pairs of numbers.")
        if len(value) > limits.points:
            raise too_many_points(limits, len(value))
        for index, point in enumerate(value):
            if not is_point(point):
                got = f"{shown(point)} as point {index}"
                raise bad_value(name, expected, got, "Leave this point out or scale the data.")
        return value

    return check


#: Checks an image of 8 × 8 grey values from 0 to 1, row by row.
pixels = passing(
    lambda value: (
        isinstance(value, list)
        and len(value) == N_PIXELS
        and all(_is_number(grey) and 0 <= grey <= 1 for grey in value)
    ),
    f"a list of {N_PIXELS} numbers from 0 to 1",
    "Send an image of 8 × 8 grey values, row by row.",
)


def shown(value: Any, length: int = 40) -> str:
    """Return a value of a request as text that is not too long."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of length {len(value)}"
    is_plain = value is None or isinstance(value, str | int | float)
    text = repr(value) if is_plain else "something else"
    return text if len(text) <= length else f"{text[:length]}…"


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
