"""Numbers as people write them: $1,234.50, 1 234,50 €, 12 %, (1,200), and cells that are typos.

Whether a point or a comma is the decimal sign is decided here, once for all readers of tables:
1.361 alone may be a thousand or a fraction. Cells that only one sign explains, such as 6,69, decide
for their column, and the columns of a table decide together for those that have no such cell.
"""

import re
import unicodedata
from calendar import day_abbr, day_name, month_abbr, month_name
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray

#: Spellings of a missing value, those of pyarrow.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
    | {"1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)
#: Decimal signs; the last one is Arabic, and never means anything else.
DECIMALS = (".", ",", "\u066b")
#: What separates thousands: also narrow spaces, two kinds of apostrophes, and the Arabic sign.
THOUSANDS = (
    *(",", ".", " ", "\u00a0", "\u202f", "\u2009", "\u2007"),
    *("'", "\u2019", "\u066c"),
)
#: Share of typos among the cells of a column. If more are not numbers, the column is text.
STRAY_SHARE = 0.02
#: What stands after numbers in dates and times: 5 May, 3 pm.
DATES = frozenset(
    {each.lower() for each in (*month_name, *month_abbr, *day_name, *day_abbr) if each}
    | {"am", "pm", "ad", "bc", "a.m.", "p.m."}
)

_SIGNS = "$€£¥₹₩₽₺₴₫₪฿¢"
_CODES = (
    "US$|R$|A$|C$|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|TRY|USD|ZAR"
    "|kr|zł|Kč|Rs"
).replace("$", r"\$")
CURRENCY = re.compile(rf"[{_SIGNS}]|{_CODES}")
_MINUS = "\\-\u2212\u2013"
#: What spreadsheets show for zero.
_DASH = re.compile(
    rf"(?P<before>[{_SIGNS}]|{_CODES})?\s*[{_MINUS}\u2014]\s*(?P<after>[{_SIGNS}]|{_CODES})?"
)
_SPACES = " \u00a0\u202f\u2009\u2007"
# No space is tried twice, so that long cells take no longer than their length.
_WRITTEN = re.compile(
    rf"(?P<outer>[{_SIGNS}]|{_CODES})?\s*+(?P<open>\()?\s*+(?P<sign>[+{_MINUS}]?)\s*+(?P<before>[{_SIGNS}]|{_CODES})?\s*+"
    rf"(?P<inner>[+{_MINUS}]?)"
    rf"(?P<digits>(?:[0-9]|[.,\u066b][0-9])(?:[0-9.,\u066b\u066c'\u2019]|[{_SPACES}](?=[0-9]{{3}}))*"
    r"(?:[eE][+-]?[0-9]+)?)"
    rf"(?P<last>[{_MINUS}])?"
    # A unit next to the number is a word, maybe with a power: 5kg, 5m2; after a space, anything
    # that begins with a letter: 5 m/s2.
    rf"(?P<after>\s?[{_SIGNS}%‰]|\s[^\W\d_][^\s()]{{0,14}}|[^\W\d_][^\s\d()]{{0,9}}[23]?|\s?°[CFK]?)?"
    r"\s*(?P<close>\))?"
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written.

    ``decimal`` is empty where all are whole. ``unit`` is what stands before or after every number:
    a currency, which some numbers may lack, a percent sign, or another unit. ``brackets`` says
    whether some stand for a minus sign, and ``dashes`` whether a dash stands for zero.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    brackets: bool = False
    dashes: bool = False

    @property
    def is_of_accounts(self) -> bool:
        """Whether numbers are written as in accounts, where a dash is zero."""
        return bool(self.thousands or self.brackets or CURRENCY.fullmatch(self.unit))

    def read(self, cell: str) -> float | None:
        """Return the number in a cell, NaN if it is missing, None if there is none."""
        cell = cell.strip()
        if cell in MISSING:
            return float("nan")
        if self.dashes and _find_dash(cell) in ("", self.unit):
            return 0.0
        found = _split(cell)
        if found is None:
            return None
        digits, unit = found
        if unit != self.unit and (unit or not CURRENCY.fullmatch(self.unit)):
            return None
        if not _pattern(self.decimal, self.thousands).fullmatch(digits):
            return None
        if self.thousands:
            digits = digits.replace(self.thousands, "")
        return float(digits.replace(self.decimal, ".") if self.decimal else digits)


class WrittenColumn(NamedTuple):
    """Numbers that were read from texts; ``strays`` are the places and texts of other cells."""

    values: FloatArray
    format: NumberFormat
    strays: list[tuple[int, str]]


# --- The cells of a column, summarized ------------------------------------------------------------


class Form(NamedTuple):
    """Cells that are written alike: their number, the first one of them and its row, from 1."""

    number: int
    row: int
    text: str


class CellSummary:
    """How the cells of a column are written, without those that are missing.

    ``forms`` are by their outline, in which all digits are the same: 1.361 and 2.044 are 9.999. A
    column of a million numbers has a few dozen.
    """

    def __init__(self, cells: Iterable[str | None] = ()) -> None:
        self.forms: dict[str, Form] = {}
        self.n_rows = 0  # with those that are missing
        self.add(cells)

    def add(self, cells: Iterable[str | None]) -> None:
        """Add cells of further rows."""
        counts: Counter[str] = Counter()
        for cell in cells:
            self.n_rows += 1
            text = (cell or "").strip()
            if text in MISSING:
                continue
            form = outline(text)
            counts[form] += 1
            if form not in self.forms:
                self.forms[form] = Form(0, self.n_rows, text)
        for form, number in counts.items():
            found = self.forms[form]
            self.forms[form] = found._replace(number=found.number + number)

    @property
    def total(self) -> int:
        """Number of cells that are not missing."""
        return sum(form.number for form in self.forms.values())

    def numbers(self) -> Iterator[tuple[str, str, Form]]:
        """Yield the digits of those that are numbers, all alike, their unit and their form."""
        for form in self.forms.values():
            found = _split(form.text)
            if found is not None:
                yield outline(found[0]), found[1], form

    def dashes(self) -> Iterator[tuple[str, Form]]:
        """Yield the currency and the form of those that are only a dash."""
        for form in self.forms.values():
            unit = _find_dash(form.text)
            if unit is not None:
                yield unit, form


_DIGITS = str.maketrans("0123456789\0", "99999999990")
#: A zero before the sign is no group of thousands.
_ZERO = re.compile(r"(?<![0-9])0(?=[.,])")


def outline(text: str) -> str:
    """Return a text with all digits alike, except a zero that begins a fraction; 0 and 1 stay."""
    if text in ("0", "1"):  # which stand for truth values
        return text
    if not text.isascii():
        # Of other scripts, one digit stands for all of them.
        text = "".join(
            "\uff19" if char.isdecimal() and not char.isascii() else char for char in text
        )
    return _ZERO.sub("\0", text).translate(_DIGITS)


def _are_numbers(cells: CellSummary) -> bool:
    """Say whether at least half of the cells are numbers, in whatever format, or dashes."""
    number = sum(form.number for _, _, form in cells.numbers())
    n_dashes = sum(form.number for _, form in cells.dashes())
    return number > 0 and cells.total <= 2 * number + n_dashes


class _Signs(NamedTuple):
    """How many cells of a column speak for a decimal sign.

    ``sure`` are cells that no other sign explains, such as 0,125; ``short`` those of them that do
    not have three decimals, such as 6,69; ``open`` have this sign and may be read either way.
    """

    sure: int
    short: int
    open: int

    @property
    def evidence(self) -> int:
        """Number of cells that decide; 0 where they are so few that they are typos."""
        # 12,34 among fifty cells like 1,000 is a typo: of numbers with three decimals, without
        # zeros at their ends, a tenth has fewer.
        number = self.short + self.open
        if self.sure > self.short or not number:
            return self.sure
        fewest = NormalDist(number / 10, sqrt(number * 9) / 10).inv_cdf(0.05)
        return self.sure if self.short >= fewest else 0


def _count_signs(cells: CellSummary) -> dict[str, _Signs]:
    counts = {sign: [0, 0, 0] for sign in ".,"}
    for digits, _, form in cells.numbers():
        explained = _explain(digits)
        written = [sign for sign in digits if sign in ".,"]
        if explained in (".", ","):
            n_decimals = len(digits.partition(explained)[2])
            counts[explained][0] += form.number
            counts[explained][1] += form.number * (written == [explained] and n_decimals != 3)
        elif explained == ".," and written:
            counts[written[0]][2] += form.number
    return {sign: _Signs(*each) for sign, each in counts.items()}


@lru_cache(maxsize=1000)
def _explain(digits: str) -> str:
    """Return the decimal signs, a point and a comma, with which digits are a number."""
    return "".join(
        sign
        for sign in ".,"
        if any(_pattern(sign, each).fullmatch(digits) for each in ("", *THOUSANDS) if each != sign)
    )


def _vote(signs: Mapping[str, _Signs]) -> str:
    """Return the decimal sign that a column's own cells show; empty where they do not tell."""
    point, comma = signs["."].evidence, signs[","].evidence
    return "" if point == comma else "." if point > comma else ","


def _is_doubtful(n_sure: int, n_open: int) -> bool:
    """Say whether the cells that tell the decimal sign may be typos among those with the other."""
    return n_open > 0 and are_few(n_sure, n_sure + n_open)


def _has_groups(cells: CellSummary) -> bool:
    """Say whether a column has 920 beside 1.361, but nothing like 1361: points are of thousands."""
    plain = [len(digits.lstrip("-")) for digits, _, _ in cells.numbers() if "." not in digits]
    return bool(plain) and max(plain) <= 3


# --- The decision: one decimal sign for a table ---------------------------------------------------


class DecimalSign(NamedTuple):
    """The decimal sign of a table; ``is_sure`` is False where the cells allow another one."""

    sign: str
    is_sure: bool


def decide_decimal(
    columns: Iterable[CellSummary], delimiter: str = "", given: str | None = None
) -> DecimalSign:
    """Decide which sign is the decimal one, by all cells of all columns, unless it is given."""
    if given is not None:
        return DecimalSign(given, True)
    votes: Counter[str] = Counter()
    n_sure: Counter[str] = Counter()
    n_open: Counter[str] = Counter()
    undecided: list[CellSummary] = []
    for cells in filter(_are_numbers, columns):
        signs = _count_signs(cells)
        n_open.update({sign: each.open for sign, each in signs.items()})
        if own := _vote(signs):
            votes[own] += 1
            n_sure[own] += signs[own].sure
        elif signs["."].open or signs[","].open:
            undecided.append(cells)
    if votes["."] != votes[","]:
        sign, other = (".", ",") if votes["."] > votes[","] else (",", ".")
        is_unanimous = not votes[other] or not undecided
        return DecimalSign(sign, is_unanimous and not _is_doubtful(n_sure[sign], n_open[other]))
    if not undecided:
        return DecimalSign(".", True)
    if delimiter == ",":
        # Unquoted, a comma could not be in a number; in quotes, 1,000 is a thousand.
        return DecimalSign(".", not votes)
    if n_open[","]:
        return DecimalSign("," if delimiter else ".", False)
    return DecimalSign("," if all(map(_has_groups, undecided)) else ".", False)


def find_open(cells: CellSummary) -> dict[str, Form]:
    """Return cells that may be read either way, by their sign, if nothing in the column tells how.

    These are 1.361 or 1,361; a column that has both, 39.250 and 40,250, cannot be read.
    """
    found: dict[str, Form] = {}
    signs = _count_signs(cells)
    own = _vote(signs)
    if not own or _is_doubtful(signs[own].sure, signs["." if own == "," else ","].open):
        for digits, _, form in cells.numbers():
            written = [sign for sign in digits if sign in ".,"]
            if written and _explain(digits) == ".,":
                found.setdefault(written[0], form)
    return found


# --- Formats of columns, and reading them ---------------------------------------------------------


def guess_format(
    cells: Iterable[str] | CellSummary, decimal: str, *, given: bool = False
) -> NumberFormat | None:
    """Return the format that most cells have, by the sign of the table; None if they are texts."""
    if not isinstance(cells, CellSummary):
        cells = CellSummary(cells)
    units: Counter[str] = Counter()
    digits: Counter[str] = Counter()
    brackets = False
    for each, unit, form in cells.numbers():
        units[unit] += form.number
        digits[each] += form.number
        brackets = brackets or form.text.startswith("(")
    if not _are_numbers(cells):
        return None
    dashes = list(cells.dashes())
    for each, form in dashes:
        if each:  # without a currency, a dash may have any unit
            units[each] += form.number
    unit = units.most_common(1)[0][0]
    currencies = [each for each in units if CURRENCY.fullmatch(each)]
    if not unit and len(currencies) == 1:
        unit = currencies[0]
    best, most = None, 0
    for point, sign in _list_formats(cells, decimal, given=given):
        pattern = _pattern(point, sign)
        number = sum(n for each, n in digits.items() if pattern.fullmatch(each))
        if number > most:
            best, most = NumberFormat(point, sign, unit, brackets, bool(dashes)), number
    return best


def _list_formats(cells: CellSummary, decimal: str, *, given: bool) -> list[tuple[str, str]]:
    """Return decimal signs and signs of thousands to try, in order of preference."""
    own = decimal if given else _vote(_count_signs(cells)) or decimal
    if not given and len(find_open(cells)) > 1:
        return [(own, ""), ("", "." if own == "," else ",")]
    tried = [(own, sign) for sign in ("", *THOUSANDS) if sign != own]
    return [*tried, *((DECIMALS[2], sign) for sign in ("", "\u066c"))]


def read_texts(
    cells: Sequence[str | None], decimal: str = ".", *, given: bool = False
) -> WrittenColumn | None:
    """Read texts as numbers, as ``guess_format``; None if more than a few are something else."""
    summary = CellSummary(cells)
    chosen = guess_format(summary, decimal, given=given)
    if chosen is None:
        return None
    texts = [cell or "" for cell in cells]
    read = [chosen.read(text) for text in texts]
    strays = [(i, texts[i]) for i, value in enumerate(read) if value is None]
    if not are_few(len(strays), summary.total):
        return None
    values = np.array([np.nan if value is None else value for value in read])
    return WrittenColumn(values, chosen, strays)


def are_few(n_strays: int, n_cells: int) -> bool:
    """Say whether a column is one of numbers, with some cells that are not.

    Typos are few, up to two standard deviations of their number: one in 9 cells, 2 in 27, 3 in 50.
    """
    expected = STRAY_SHARE * n_cells
    return n_strays <= expected + 2 * sqrt(expected)


def is_number(cell: str, decimal: str) -> bool:
    """Say whether a cell holds a number as computers write it, or stands for a missing one."""
    cell = cell.strip()
    if cell in MISSING:
        return cell != ""  # a name may be left out, a word for missing is no name
    # Only Python reads 1_000 and digits of other scripts.
    if not cell.isascii() or "_" in cell or (decimal != "." and "." in cell):
        return False
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


class _PlainCharacters(dict[int, str]):
    """Digits of any script, and characters as wide as Chinese ones, as ASCII has them."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if unicodedata.east_asian_width(char) == "F":
            char = unicodedata.normalize("NFKC", char)
        elif not char.isascii() and char.isdecimal():
            char = str(unicodedata.decimal(char))
        self[code] = char
        return char


_PLAIN = _PlainCharacters()


def _split(cell: str) -> tuple[str, str] | None:
    """Return the digits of a number, with a sign if it is negative, and its unit."""
    found = _WRITTEN.fullmatch(cell if cell.isascii() else cell.translate(_PLAIN))
    if found is None:
        return None
    marks = [found["sign"], found["inner"], found["last"] or "", found["open"] or ""]
    if bool(found["open"]) != bool(found["close"]) or sum(map(bool, marks)) > 1:
        return None
    units = [each.strip() for each in found.group("outer", "before", "after") if each]
    if len(units) > 1 or (found["after"] or "").strip().lower() in DATES:
        return None
    is_negative = any(mark and mark != "+" for mark in marks)
    return "-" * is_negative + found["digits"], "".join(units)


def _find_dash(cell: str) -> str | None:
    """Return the currency of a cell that is only a dash, empty without one; None for others."""
    found = _DASH.fullmatch(cell)
    if found is None or (found["before"] and found["after"]):
        return None
    return found["before"] or found["after"] or ""


@lru_cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return the pattern of a number, whose thousands are separated or not."""
    fraction = rf"(?:{re.escape(decimal)}[0-9]*)?" if decimal else ""
    power = "(?:[eE][+-]?[0-9]+)?"
    numbers = [rf"[0-9]+{fraction}{power}"]
    if decimal:
        numbers.append(rf"{re.escape(decimal)}[0-9]+{power}")
    if thousands:
        sign = re.escape(thousands)
        numbers.append(rf"[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+{fraction}")
        if thousands == ",":  # as in India: 2,23,456.50
            numbers.append(rf"[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}{fraction}")
    return re.compile(rf"-?(?:{'|'.join(numbers)})")
