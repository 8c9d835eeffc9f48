"""Numbers as people write them: $1,234.50, 1 234,50 €, 12 %, (1,200), and cells that are typos."""

import re
from calendar import day_abbr, day_name, month_abbr, month_name
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray

#: Spellings of a missing value, those of pyarrow.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
    | {"1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)
#: What separates thousands: also spaces that do not break, and two kinds of apostrophes.
THOUSANDS = (",", ".", " ", "\u00a0", "\u202f", "'", "\u2019")
#: Cells of a column of numbers that may be something else: a share, or a few in a short column.
MOST_STRAYS, FEW_STRAYS = 0.02, 3
#: Numbers for each stray cell, at least.
NUMBERS_PER_STRAY = 8

#: Characters of a number with its unit, at most.
LONGEST = 60
#: What stands after numbers in dates and times: 5 May, 3 pm.
DATES = frozenset(
    {each.lower() for each in (*month_name, *month_abbr, *day_name, *day_abbr) if each}
    | {"am", "pm", "ad", "bc", "a.m.", "p.m."}
)

_SIGNS = "$€£¥₹₩₽₺₴₫₪฿¢"
_CODES = (
    "US$|R$|A$|C$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|TRY|USD|ZAR"
).replace("$", r"\$")
_CURRENCY = re.compile(rf"[{_SIGNS}]|{_CODES}")
_WRITTEN = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-\u2212]?)\s*(?P<before>[{_SIGNS}]|{_CODES})?\s*"
    r"(?P<inner>[+\-\u2212]?)"
    r"(?P<digits>(?:[0-9]|[.,][0-9])(?:[0-9.,'\u2019]|[ \u00a0\u202f](?=[0-9]{3}))*"
    r"(?:[eE][+-]?[0-9]+)?)"
    rf"(?P<last>-)?(?P<after>\s?[{_SIGNS}%‰]|\s[^\W\d_°%][^\s\d]{{0,9}}|\s?°[CFK]?)?\s*(?P<close>\))?"
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written.

    ``unit`` is what stands before or after every number: a currency, which some numbers may lack,
    a percent sign, or another unit. ``brackets`` says whether some stand for a minus sign.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    brackets: bool = False

    def read(self, cell: str) -> float | None:
        """Return the number in a cell, NaN if it is missing, None if there is none."""
        cell = cell.strip()
        if cell in MISSING:
            return float("nan")
        found = _split(cell)
        if found is None:
            return None
        digits, unit = found
        if unit != self.unit and (unit or not _CURRENCY.fullmatch(self.unit)):
            return None
        if not _pattern(self.decimal, self.thousands).fullmatch(digits):
            return None
        if self.thousands:
            digits = digits.replace(self.thousands, "")
        return float(digits.replace(self.decimal, "."))


class WrittenColumn(NamedTuple):
    """Numbers that were read from texts; ``strays`` are the cells that hold none, and their places.

    Strays are NaN, as missing cells are.
    """

    values: FloatArray
    format: NumberFormat
    strays: list[tuple[int, str]]


def read_texts(cells: Sequence[str | None], decimal: str = ".") -> WrittenColumn | None:
    """Read texts as numbers; None if more than a few of them are something else.

    Parameters
    ----------
    cells : sequence of str or None
    decimal : {".", ","}
        The decimal sign, unless the cells say otherwise.
    """
    texts = [cell or "" for cell in cells]
    said = [text for text in texts if text.strip() not in MISSING]
    chosen = guess_format(said, decimal)
    if chosen is None:
        return None
    read = [chosen.read(text) for text in texts]
    strays = [(i, texts[i]) for i, value in enumerate(read) if value is None]
    if not are_few(len(strays), len(said)):
        return None
    values = np.array([np.nan if value is None else value for value in read])
    return WrittenColumn(values, chosen, strays)


def are_few(n_strays: int, n_cells: int) -> bool:
    """Say whether a column is one of numbers, with some cells that are not."""
    most = max(FEW_STRAYS, MOST_STRAYS * n_cells)
    return n_strays <= most and n_strays * NUMBERS_PER_STRAY <= n_cells - n_strays


def guess_format(cells: Iterable[str], decimal: str) -> NumberFormat | None:
    """Return the format that most cells have; None if most are no numbers."""
    texts = [cell.strip() for cell in cells]
    parts = [_split(text) for text in texts]
    found = [each for each in parts if each is not None]
    if not found or 2 * len(found) < len(parts):
        return None
    units = Counter(unit for _, unit in found)
    unit = units.most_common(1)[0][0]
    currencies = [each for each in units if _CURRENCY.fullmatch(each)]
    if not unit and len(currencies) == 1:
        unit = currencies[0]
    digits = [each for each, _ in found]
    best = NumberFormat(decimal, "", unit)
    most = 0
    for point in (decimal, "," if decimal == "." else "."):
        # 1,000 beside the typo 12,34 is a thousand still.
        if most and are_few(len(parts) - most, len(parts)):
            break
        for sign in ("", *THOUSANDS):
            if sign == point:
                continue
            pattern = _pattern(point, sign)
            number = sum(bool(pattern.fullmatch(each)) for each in digits)
            if number > most:
                best, most = NumberFormat(point, sign, unit), number
    brackets = any(text.startswith("(") and part for text, part in zip(texts, parts, strict=True))
    return best._replace(brackets=brackets) if most else None


def is_number(cell: str, decimal: str) -> bool:
    """Say whether a cell holds a number as computers write it, or stands for a missing one."""
    cell = cell.strip()
    if cell in MISSING:
        return cell != ""  # a name may be left out, a word for missing is no name
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # only Python reads 1_000


def strip_unit(cell: str) -> str:
    """Return the digits of a number, without unit and brackets; other texts as they are."""
    found = _split(cell.strip())
    return cell if found is None else found[0]


def _split(cell: str) -> tuple[str, str] | None:
    """Return the digits of a number, with a sign if it is negative, and its unit."""
    found = _WRITTEN.fullmatch(cell) if len(cell) <= LONGEST else None
    if found is None:
        return None
    marks = [found["sign"], found["inner"], found["last"] or "", found["open"] or ""]
    if bool(found["open"]) != bool(found["close"]) or sum(map(bool, marks)) > 1:
        return None
    before, after = found["before"] or "", (found["after"] or "").strip()
    if (before and after) or after.lower() in DATES:
        return None
    is_negative = any(mark in ("-", "\u2212", "(") for mark in marks)
    return "-" * is_negative + found["digits"], before or after


@lru_cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return the pattern of a number, whose thousands are separated or not."""
    whole = "[0-9]+"
    if thousands:
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|[0-9]+)"
    point = re.escape(decimal)
    return re.compile(rf"-?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?")
