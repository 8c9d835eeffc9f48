"""Numbers and names as people write them."""

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np

#: Digits of a number that is changed, at least; and the most that somebody would have written.
FEWEST_DIGITS, LONGEST_WRITTEN = 4, 9
#: Share of a change that rounding may hide.
VISIBLE = 0.05


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


def changed_number(value: float, other: float) -> tuple[str, str]:
    """Write a number, and the one that it is changed to, with the digits that the change needs.

    Parameters
    ----------
    value : float
        Written as it is in the data. One with more digits than people write is rounded.
    other : float
        Has at least four digits, no fewer than the integer part, and so many that rounding hides
        no more than a twentieth of the change.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from vanishing.export.writing import changed_number
    >>> changed_number(113094.0, 112873.4182)
    ('113094', '112873')
    >>> changed_number(1013.25, 1013.31000007)
    ('1013.25', '1013.31')
    >>> changed_number(2 / 3, 0.1)
    ('0.6667', '0.1')
    """
    error = VISIBLE * abs(other - value)
    return as_given(value, error), _within(other, error)


def as_given(value: float, error: float = np.inf) -> str:
    """Write a number as it is in the data; round it, by an error at most, if it is long.

    Examples
    --------
    >>> from vanishing.export.writing import as_given
    >>> as_given(113094.0), as_given(1e-5), as_given(113094 + 1 / 3)
    ('113094', '1e−05', '113094')
    """
    exact = _plain(value)
    return exact if len(_digits_of(exact)) <= LONGEST_WRITTEN else _within(value, error)


def _within(value: float, error: float) -> str:
    """Write a number with the fewest digits, four at least, that are off by at most an error."""
    for digits in range(FEWEST_DIGITS, 17):
        rounded = float(f"{value:.{digits}g}")
        # Whole numbers are not rounded to tens or hundreds.
        if abs(rounded - value) <= error and not 10.0**digits <= abs(value) < 1e16:
            return _plain(rounded)
    return _plain(value)


def _plain(value: float) -> str:
    """Write the fewest digits that give the same number again."""
    if value == 0 or 1e-4 <= abs(value) < 1e16:
        return np.format_float_positional(value, trim="-").replace("-", "−")
    return repr(float(value)).replace("-", "−")


def _digits_of(text: str) -> str:
    return "".join(filter(str.isdigit, text.split("e")[0])).strip("0")


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
