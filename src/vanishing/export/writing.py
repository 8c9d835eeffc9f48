"""Numbers and names as people write them."""

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np


def number(value: float, form: str) -> str:
    """Write a number, with a minus sign instead of a hyphen."""
    return format(value, form).replace("-", "−")


def significant(value: float, digits: int) -> str:
    """Write a number with some significant digits, with a power of ten only where it is far off.

    Examples
    --------
    >>> from vanishing.export.writing import significant
    >>> significant(421.7, 2), significant(-0.00123, 2), significant(1.26e-7, 2)
    ('420', '−0.0012', '1.3e−07')
    """
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0 or 1e-4 <= abs(rounded) < 1e6:
        return np.format_float_positional(rounded, trim="-").replace("-", "−")
    return number(rounded, f".{digits}g")


def shortened(name: str, length: int = 32) -> str:
    """Cut the middle out of a long name: beginnings tell groups apart, ends their members."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


def all_shortened(names: Sequence[str], length: int) -> list[str]:
    """Shorten names as long as they stay different: by their middle, or by what all have in common.

    Examples
    --------
    >>> from vanishing.export.writing import all_shortened
    >>> all_shortened([f"temperature_of_bearing_{i}_in_kelvin" for i in (1, 2)], 16)
    ['…1…', '…2…']
    """
    short = [shortened(name, length) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    # Of letters, as is meant here, and not of folders.
    head = len(commonprefix(list(names)))  # noqa: RUF071
    rests = [name[head:] for name in names]
    tail = len(commonprefix([rest[::-1] for rest in rests]))  # noqa: RUF071
    return [shortened(f"…{rest[: len(rest) - tail]}…", length) for rest in rests]
