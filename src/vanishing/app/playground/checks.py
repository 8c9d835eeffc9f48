"""What requests hold, checked before any work is done."""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

from vanishing.app.playground.requests import Limits, RefusalError

#: Beyond it powers of coordinates overflow.
LARGEST_COORDINATE = 1e6
N_PIXELS = 64
#: Digits that are normal: one of them, or all even or odd ones.
NORMAL = ("even", "odd", *"0123456789")
#: Normalizations that need no contrast.
PLAIN = ("gradient", "gradient-weighted", "coefficient", "vca")

Check = Callable[[str, Any], Any]


def unprocessable(name: str, expected: str, got: str, remedy: str) -> RefusalError:
    """Return the refusal of one field of a request."""
    return RefusalError(
        422, "bad-value", expected=f"{expected} in {name!r}", got=got, remedy=remedy
    )


def checked(body: Any, fields: dict[str, Check]) -> dict[str, Any]:
    """Check the fields of a request: all of them are there, and no others."""
    if not isinstance(body, dict):
        raise RefusalError(
            422,
            "bad-value",
            expected="an object",
            got=shown(body),
            remedy=f"Send the fields {_listed(fields)}.",
        )
    for name in body:
        if name not in fields:
            raise RefusalError(
                422,
                "unknown-field",
                expected=f"the fields {_listed(fields)}",
                got=f"a field {shown(name)}",
                remedy="Leave it out.",
            )
    for name in fields:
        if name not in body:
            raise unprocessable(name, "a value", "none", f"Send the fields {_listed(fields)}.")
    return {name: check(name, body[name]) for name, check in fields.items()}


def whole(low: int, high: int) -> Check:
    """Return the check of a whole number between two others."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise unprocessable(
                name,
                f"a whole number from {low} to {high}",
                shown(value),
                "Choose one in this range.",
            )
        return value

    return check


def real(low: float, high: float) -> Check:
    """Return the check of a finite number between two others."""

    def check(name: str, value: Any) -> float:
        if not _is_number(value) or not low <= value <= high:
            raise unprocessable(
                name,
                f"a number from {low:g} to {high:g}",
                shown(value),
                "Choose one in this range.",
            )
        return float(value)

    return check


def one_of(names: Iterable[str]) -> Check:
    """Return the check of a name out of a list."""
    known = tuple(names)

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise unprocessable(
                name, f"one of {_listed(known)}", shown(value), "Choose one of these."
            )
        return value

    return check


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
            if not (
                isinstance(point, list)
                and len(point) == 2
                and all(_is_number(c) and abs(c) <= LARGEST_COORDINATE for c in point)
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
        expected=f"at most {limits.points} points, X and Y together",
        got=f"{count}",
        remedy="Send a random part of them.",
    )


def pixels(name: str, value: Any) -> list[float]:
    """Check an image of 8 × 8 grey values from 0 to 1, row by row."""
    if (
        not isinstance(value, list)
        or len(value) != N_PIXELS
        or not all(_is_number(grey) and 0 <= grey <= 1 for grey in value)
    ):
        raise unprocessable(
            name,
            f"a list of {N_PIXELS} numbers from 0 to 1",
            f"a list of {len(value)}" if isinstance(value, list) else shown(value),
            "Send an image of 8 × 8 grey values, row by row.",
        )
    return [float(grey) for grey in value]


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
