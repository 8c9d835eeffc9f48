"""Conditions: the rows that a law speaks of, told by a category, a date or the size of a number."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, TypeGuard

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.text import plain_symbol, printable
from vanishing.levels import SIGNIFICANT_DIGITS

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: Parts of a date that may be a condition, and how their values are written.
PARTS_OF_DATES: Mapping[str, Callable[[datetime], str]] = {
    "year": lambda date: str(date.year),
    "month": lambda date: str(date.month),
    "weekday": lambda date: WEEKDAYS[date.weekday()],
}
#: Dates beside those of ISO 8601 that can be read in one way only, unlike 03/04/2021.
DATE_FORMATS = ("%Y-%m", "%d.%m.%Y", "%Y/%m/%d")

#: The time of a date without one, as different libraries write it.
MIDNIGHT = re.compile(r"(?<=\d\d)[T ]00:00:00$")

#: The cells of a column that conditions are about: numbers, or texts and None where they are blank.
ConditionCells = FloatArray | Sequence[str | None]


@dataclass(frozen=True)
class Condition:
    """The rows of a table in which a column has some values, or is within bounds.

    Parameters
    ----------
    column : str
        A column of texts, dates or numbers.
    values : tuple of str
        What the column may be, as it is written; empty if there are bounds.
    part : str
        "year", "month" or "weekday", if the values are those of dates.
    low, high : str
        The first and the last number or date; empty if there is no such bound. A law that changed
        between two rows says nothing about what is between them.
    """

    column: str
    values: tuple[str, ...] = ()
    part: str = ""
    low: str = ""
    high: str = ""

    def __post_init__(self) -> None:
        if self.part not in ("", *PARTS_OF_DATES) or not (self.values or self.low or self.high):
            raise ValueError(f"there is no condition of {self.part!r} without values or bounds")

    def holds(self, cells: ConditionCells) -> BoolArray:
        """Say in which rows the condition holds; not in those that lack the cell.

        Parameters
        ----------
        cells : array of float, or sequence of str or None
            The column, one cell a row.

        Returns
        -------
        bool array of shape (n_rows,)
        """
        if self.values:
            return np.isin(self.write(cells), self.values)
        numbers = measure_cells(cells)
        if numbers is None:
            return np.zeros(len(cells), dtype=bool)
        low, high = (_read_bound(text, cells) for text in (self.low, self.high))
        with np.errstate(invalid="ignore"):
            inside = np.isfinite(numbers)
            if low is not None:
                inside &= numbers >= low
            if high is not None:
                inside &= numbers <= high
        return np.asarray(inside)

    def write(self, cells: ConditionCells) -> list[str]:
        """Return what cells are that the condition is about, empty where they are blank.

        Parameters
        ----------
        cells : array of objects, or texts

        Returns
        -------
        list of str
        """
        return write_cells(cells, self.part)

    @property
    def subject(self) -> str:
        """What the condition is about, such as "month of date"."""
        name = plain_symbol(self.column)
        return f"{self.part} of {name}" if self.part else name

    def __str__(self) -> str:
        name = self.subject
        if self.values:
            *first, last = [printable(value) for value in self.values]
            return f"{name} = {', '.join(first)} or {last}" if first else f"{name} = {last}"
        if self.low and self.high:
            return f"{printable(self.low)} <= {name} <= {printable(self.high)}"
        return f"{name} {'>=' if self.low else '<='} {printable(self.low or self.high)}"


class Division(NamedTuple):
    """A column that divides the rows: the number of each row's value, -1 where it is blank.

    ``values`` are as they are written, in the order of numbers or dates. Each of them may tell
    something, or ``bounds`` between them do. Numbers that are neither two values nor count time
    are rather part of an equation: such a division ``comes_last``.
    """

    column: str
    part: str
    levels: IntArray
    values: list[str]
    bounds: bool
    comes_last: bool

    def make_condition(self, chosen: Sequence[int]) -> Condition:
        """Return the condition that a row has one of some values."""
        values = sorted((self.values[i] for i in chosen), key=_sort_value)
        return Condition(self.column, tuple(values), self.part)

    def make_bounds(self, first: int, last: int) -> Condition:
        """Return the condition that a row is from one value on and up to another one."""
        low = self.values[first] if first else ""
        high = self.values[last] if last + 1 < len(self.values) else ""
        return Condition(self.column, low=low, high=high)


def _sort_value(value: str) -> tuple[int, int, str]:
    """Return a key by which months, weekdays and codes come in their usual order."""
    day = WEEKDAYS.index(value) if value in WEEKDAYS else 0
    return day, len(value) if value.isdecimal() else 0, value


def list_divisions(columns: Mapping[str, ConditionCells]) -> Iterator[Division]:
    """Yield what may divide the rows of a table: columns, and the parts of their dates."""
    for name, cells in columns.items():
        numbers = measure_cells(cells)
        yield from _divide(name, "", cells, write_cells(cells), numbers)
        if numbers is not None and not _are_numbers(cells):
            for part in PARTS_OF_DATES:
                values = write_cells(cells, part)
                # A month that does not come again says no more than the date does.
                in_order = [values[i] for i in np.argsort(numbers).tolist() if values[i]]
                if part == "year" or len(list(groupby(in_order))) > len(set(in_order)):
                    yield from _divide(name, part, cells, values, None)


def _divide(
    name: str, part: str, cells: ConditionCells, values: Sequence[str], numbers: FloatArray | None
) -> Iterator[Division]:
    """Yield the divisions by a column of more than one value."""
    present = np.array([bool(value) for value in values], dtype=bool)
    if numbers is not None:
        present &= np.isfinite(numbers)
    keys = np.asarray(values, dtype=object) if numbers is None else numbers
    distinct, first, which = np.unique(keys[present], return_index=True, return_inverse=True)
    if len(distinct) > 1:
        levels = np.full(len(values), -1, dtype=np.intp)
        levels[present] = which
        written = np.asarray(values, dtype=object)[present][first].tolist()
        is_number, is_binary = _are_numbers(cells), len(distinct) == 2
        is_whole = is_number and bool((distinct == np.round(distinct)).all())
        # Whole numbers may be a code of few values, and other numbers are amounts.
        is_code = is_whole and len(distinct) <= math.isqrt(len(which))
        if not is_number or is_binary or is_code:
            last = is_number and not is_binary
            yield Division(name, part, levels, written, bounds=False, comes_last=last)
        if numbers is not None and (len(distinct) > 2 or not is_number):
            steps = np.diff(which)
            is_in_order = bool((steps >= 0).all() or (steps <= 0).all())
            # Years and periods: sizes may be in order, too, but not at equal distances.
            is_clock = is_in_order and bool(np.ptp(np.diff(distinct)) == 0)
            if is_whole or is_clock or not is_number:
                last = is_number and not is_clock
                yield Division(name, part, levels, written, bounds=True, comes_last=last)


def _are_numbers(cells: ConditionCells) -> TypeGuard[FloatArray]:
    return isinstance(cells, np.ndarray) and cells.dtype.kind == "f"


def write_cells(cells: ConditionCells, part: str = "") -> list[str]:
    """Return the values of cells as people write them, empty where there is none."""
    if _are_numbers(cells):
        return [_write_number(x) if np.isfinite(x) else "" for x in cells.tolist()]
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if not part:
        return [MIDNIGHT.sub("", text) for text in texts]
    read = [_read_date(text) for text in texts]
    return ["" if date is None else PARTS_OF_DATES[part](date) for date in read]


def _write_number(x: float) -> str:
    """Write a number up to rounding errors, whole ones with all digits, as ids need them."""
    return str(int(x)) if x == int(x) and abs(x) < 2**53 else f"{x:.{SIGNIFICANT_DIGITS}g}"


def measure_cells(cells: ConditionCells) -> FloatArray | None:
    """Return numbers in the order of the cells, NaN where there is none; None if they have none."""
    if _are_numbers(cells):
        # Digits beyond those of ``write_cells`` are rounding errors.
        return np.array([float(text or "nan") for text in write_cells(cells)])
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    first = next(filter(None, texts), "")
    if _read_date(first) is None:
        return None
    read = [_read_date(text) for text in texts]
    if any(date is None and text for date, text in zip(read, texts, strict=True)):
        return None
    return np.array([np.nan if date is None else _count_days(date) for date in read])


def _read_bound(text: str, cells: ConditionCells) -> float | None:
    """Return the number or the date of a bound as ``measure_cells`` gives it."""
    if not text:
        return None
    if _are_numbers(cells):
        return float(text)
    date = _read_date(text)
    return None if date is None else _count_days(date)


@lru_cache(maxsize=65536)
def _read_date(text: str) -> datetime | None:
    """Return a date if a text is one, without its time zone."""
    if not text[:1].isdigit() or text.isalnum():
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        pass
    for form in DATE_FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _count_days(date: datetime) -> float:
    """Return the days of a date since the year 1."""
    seconds = (date - datetime.combine(date, datetime.min.time())).total_seconds()
    return date.toordinal() + seconds / 86400
