"""Parameters that are numbers: checked in one way, by whatever takes them.

True and False are refused. They count as 1 and 0 in Python, so ``tol=True`` would be a tolerance
of 1, and ``max_degree=False`` no degree at all.
"""

from math import isfinite
from operator import index
from typing import Any

from vanishing.arrays.namespace import is_truth_value


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least ``least``, or raise."""
    try:
        number = least - 1 if is_truth_value(value) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def check_real(name: str, value: Any, *, zero: bool) -> float:
    """Return a finite positive number (or zero, if that is allowed), or raise."""
    try:
        number = -1.0 if is_truth_value(value) or isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not (isfinite(number) and (number > 0 or (zero and number == 0))):
        raise ValueError(
            f"{name} must be a finite {'number ≥ 0' if zero else 'positive number'}, got {value!r}"
        )
    return number
