"""Numbers and names as people write them."""

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
