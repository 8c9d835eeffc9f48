"""What requests hold, checked before any work is done."""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

from vanishing.app.playground.requests import Limits, RefusalError

#: Beyond it powers of coordinates overflow.
LARGEST_COORDINATE = 1e6
#: Pixels of the digits of scikit-learn, 8 × 8.
N_PIXELS = 64
#: Digits that are normal: one of them, or all even or odd ones.
NORMAL = ("even", "odd", *"0123456789")
#: Normalizations that need no contrast.
PLAIN = ("gradient", "gradient-weighted", "coefficient", "vca")

Check = Callable[[str, Any], Any]


def unprocessable(name: str, expected: str, got: str, remedy: str) -> RefusalError:
    """Return the refusal of one field of a request."""
    return RefusalError(422, "bad-value", f"{expected} in {name!r}", got, remedy)


def checked(body: Any, fields: dict[str, Check]) -> dict[str, Any]:
    """Check the fields of a request: all of them are there, and no others."""
    if not isinstance(body, dict):
        raise RefusalError(
            422, "bad-value", "an object", shown(body), f"Send the fields {_listed(fields)}."
        )
    for name in body:
        if name not in fields:
            raise RefusalError(
                422,
                "unknown-field",
                f"the fields {_listed(fields)}",
                f"a field {shown(name)}",
                "Leave it out.",
            )
    for name in fields:
        if name not in body:
            raise unprocessable(name, "a value", "none", f"Send the fields {_listed(fields)}.")
    return {name: check(name, body[name]) for name, check in fields.items()}


def passing(is_valid: Callable[[Any], bool], expected: str, remedy: str) -> Check:
    """Return the check of a value, by a function that says whether it is valid."""

    def check(name: str, value: Any) -> Any:
        if not is_valid(value):
            raise unprocessable(name, expected, shown(value), remedy)
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


def one_of(names: Iterable[str]) -> Check:
    """Return the check of a name out of a list."""
    known = tuple(names)
    return passing(
        lambda value: isinstance(value, str) and value in known,
        f"one of {_listed(known)}",
        "Choose one of these.",
    )


def points(limits: Limits) -> Check:
    """Return the check of a list of pairs of numbers."""

    def check(name: str, value: Any) -> list[list[float]]:
        if not isinstance(value, list):
            raise unprocessable(
                name, "a list of points [x, y]", shown(value), "Send pairs of numbers."
            )
        if len(value) > limits.points:
            raise too_many_points(limits, len(value))
        for index, point in enumerate(value):
            is_pair = isinstance(point, list) and len(point) == 2
            if not is_pair or not all(
                _is_number(c) and abs(c) <= LARGEST_COORDINATE for c in point
            ):
                raise unprocessable(
                    name,
                    f"points [x, y] of finite numbers up to {LARGEST_COORDINATE:g}",
                    f"{shown(point)} as point {index}",
                    "Leave this point out or scale the data.",
                )
        return value

    return check


def too_many_points(limits: Limits, count: int) -> RefusalError:
    """Return the refusal of more points than the limit."""
    return RefusalError(
        413,
        "too-many-points",
        f"at most {limits.points} points, X and Y together",
        f"{count}",
        "Send a random part of them.",
    )


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
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of length {len(value)}"
    text = (
        repr(value) if isinstance(value, (str, int, float)) or value is None else "something else"
    )
    return text if len(text) <= length else f"{text[:length]}…"


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
