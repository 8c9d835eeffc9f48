"""Equations as plain text: numbers, names, and sums of terms in any notation."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.levels import ROUNDING, SIGNIFICANT_DIGITS

# --- Numbers and names as people write them -------------------------------------------------------

#: Digits of a number where nothing else is said: a column of them is still easy to read.
SHOWN_DIGITS = 4
#: Equations or features that are listed, and terms of each equation: about a screen.
SHOWN_LINES, SHOWN_TERMS = 10, 24
#: Letters of a name in a picture or a table.
NAME_LENGTH = 32
#: Share of a change, or of the noise, that a reader does not miss: rounding may hide it.
UNNOTICED = 0.05
MINUS = "\u2212"
#: Characters that are not printed and belong to words of some scripts.
JOINERS = "\u200c\u200d"


def number(value: float, form: str) -> str:
    """Write a number, with a minus sign instead of a hyphen."""
    return format(value, form).replace("-", MINUS)


def significant(value: float, digits: int) -> str:
    """Write a number with some significant digits, with a power of ten only where it is far off."""
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0 or 1e-4 <= abs(rounded) < 1e6:
        return np.format_float_positional(rounded, trim="-").replace("-", MINUS)
    return number(rounded, f".{digits}g")


def changed_number(value: float, other: float, decimals: int | None = None) -> tuple[str, str]:
    """Write a number, and the one that it is changed to, with the digits that the change needs."""
    if decimals is not None and (rounded := round(other, decimals)) != value:
        return as_given(value, 10.0**-decimals / 20), exact_number(rounded)
    error = UNNOTICED * abs(other - value)
    return as_given(value, error), _within(other, error)


def as_given(value: float, error: float = np.inf) -> str:
    """Write a number as it is in the data; round it, by an error at most, if it is long."""
    written = exact_number(value)
    digits = "".join(filter(str.isdigit, written.split("e")[0])).strip("0")
    return written if len(digits) <= SIGNIFICANT_DIGITS else _within(value, error)


def _within(value: float, error: float) -> str:
    """Write a number with the fewest digits, four at least, that are off by at most an error."""
    is_long = "e" in repr(value)  # so that it is written with a power of ten
    for digits in range(SHOWN_DIGITS, sys.float_info.dig + 2):
        rounded = float(f"{value:.{digits}g}")
        # Whole numbers are not rounded to tens or hundreds.
        if abs(rounded - value) <= error and (is_long or abs(value) < 10.0**digits):
            return exact_number(rounded)
    return exact_number(value)


def exact_number(value: float) -> str:
    """Write the fewest digits that give the same number again, as it is in a file."""
    # Python writes a power of ten below 1e-4 and from 1e16 on. The sum is 0 for -0.
    return repr(float(value) + 0.0).removesuffix(".0").replace("-", MINUS)


def last_digits(X: FloatArray) -> FloatArray:
    """Return the unit of the last digit of each column, 0 if its numbers are not rounded."""
    return np.array([_last_digit(column) for column in X.T])


def _last_digit(column: FloatArray) -> float:
    # Numbers may be running sums over the rows, with as many rounding errors.
    largest = ROUNDING * len(column) * np.abs(column)
    for decimals in range(SIGNIFICANT_DIGITS // 2 + 1):  # as many digits before the point
        rounded = np.round(column, decimals)
        # Much faster than np.allclose, and tables of images have many columns.
        with np.errstate(invalid="ignore"):  # the difference of infinite numbers, which are equal
            if np.all((rounded == column) | (np.abs(rounded - column) <= largest)):
                return float(10.0**-decimals)
    return 0.0


def count_decimals(unit: float) -> int | None:
    """Return the decimals of numbers by the unit of their last digit; None if it is 0."""
    return round(-np.log10(unit)) if unit else None


def printable(text: str) -> str:
    """Return a text in one line, without characters that control a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else ascii(c)[1:-1] for c in text)


#: Names that an error or a note lists: as many as a line holds.
MOST_NAMED = 8


def join(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Write names in a row, the first ones if they are many."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def shorten_name(name: str, length: int = NAME_LENGTH) -> str:
    """Cut the middle out of a long name: beginnings tell groups apart, ends their members."""
    name = printable(name)
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


def shorten_names(names: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Shorten names that stay different: by their middle, or by what all have in common."""
    short = [shorten_name(name, length) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    # commonprefix compares letters, not folders, which is what is needed here.
    head = len(commonprefix(list(names)))  # noqa: RUF071
    rests = [name[head:] for name in names]
    tail = len(commonprefix([rest[::-1] for rest in rests]))  # noqa: RUF071
    return [shorten_name(f"…{rest[: len(rest) - tail]}…", length) for rest in rests]


# --- Sums of terms: one writer for all notations --------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sum:
    """The terms of one polynomial that are written; ``n_left_out`` terms count and are not."""

    exponents: IntArray
    coefficients: Sequence[float]
    digits: int | Sequence[int]  # significant ones, of all or of each
    n_left_out: int = 0

    def shorten(self, n_terms: int | None) -> "Sum":
        """Return the sum of the first terms, if there are more."""
        exponents, coefficients = self.exponents[:n_terms], self.coefficients[:n_terms]
        digits = self.digits if isinstance(self.digits, int) else self.digits[:n_terms]
        n_left_out = len(self.coefficients) - len(coefficients)
        return Sum(exponents, coefficients, digits, n_left_out)

    def terms(
        self, names: Sequence[str], write_number: Callable[[float, int], str]
    ) -> Iterator["Term"]:
        """Yield the terms, highest degree first, within a degree the first variable first."""
        each = np.broadcast_to(self.digits, len(self.coefficients)).tolist()
        order = np.lexsort((*-self.exponents.T[::-1], -self.exponents.sum(axis=1)))
        for k in order.tolist():
            powers = self.exponents[k]
            used = np.flatnonzero(powers).tolist()
            size = abs(self.coefficients[k])
            number = str(size) if isinstance(size, int) else write_number(size, each[k])
            yield Term(
                self.coefficients[k] < 0,
                "" if used and number == "1" else number,
                [(names[j], int(powers[j])) for j in used],
            )


@dataclass(frozen=True)
class Term:
    """One term: sign, absolute value of the coefficient (empty for 1), variables and exponents."""

    is_negative: bool
    number: str
    powers: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Notation:
    """Symbols of a way to write sums."""

    signs: tuple[str, str] = (" + ", " - ")  # plus and minus
    first_signs: tuple[str, str] = ("", "-")  # before the first term
    times: str = " "
    power: str = "{}^{}"
    ten: str | None = None  # a power of ten; None to write 1e-05
    write_number: Callable[[float, int], str] = lambda value, digits: f"{value:.{digits}g}"
    write_name: Callable[[str], str] = str
    function: str = "{}({})"
    superscripts: bool = False

    def write(self, terms: Sum, names: Sequence[str]) -> str:
        """Write a sum."""
        return self.write_terms(terms.terms(list(map(self.write_name, names)), self.write_number))

    def write_terms(self, terms: Iterable["Term"]) -> str:
        """Write terms whose numbers and names are written already."""
        text = ""
        for term in terms:
            signs = self.signs if text else self.first_signs
            factors = [self._write_power(name, power) for name, power in term.powers]
            if term.number:
                factors.insert(0, self._write_ten(term.number))
            text += signs[term.is_negative] + self.times.join(factors)
        return text or "0"

    def _write_power(self, name: str, power: float) -> str:
        if power == 1:
            return name
        if self.superscripts:
            return name + str(power).translate(_SUPERSCRIPTS)
        return self.power.format(name, f"{power:.12g}")  # which may be no whole number

    def _write_ten(self, number: str) -> str:
        mantissa, e, exponent = number.partition("e")
        return mantissa + self.ten.format(int(exponent)) if e and self.ten else number


def plain_symbol(name: str) -> str:
    """Write the name of a variable in one line; in brackets, unless it is a single word."""
    if name.rstrip("'").isidentifier():
        return name
    return f"[{printable(name)}]"


def latex_symbol(name: str) -> str:
    """Write the name of a variable, in which no character is a command."""
    letter, index = name[:1], name[1:]
    if letter.isalpha() and index.isdigit():
        return f"{letter}_{{{index}}}"
    if len(name) == 1 and name.isalpha():
        return name
    # Pages that show formulas would take "<b" for the beginning of an element.
    special = {"^": r"\hat{}", "~": r"\sim{}", "\\": r"\backslash{}", "<": "<{}"}
    escaped = "".join(f"\\{c}" if c in "_%&#$ {}" else special.get(c, c) for c in printable(name))
    return f"\\mathrm{{{escaped}}}"


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

#: For any terminal: 0.5 x^2 - y
ASCII = Notation()
#: 0.5 x² - y
UNICODE = Notation(superscripts=True)
#: Laws: 2*E = m*v^2
LAW = Notation(times="*", write_name=plain_symbol)
#: Laws in LaTeX: 2 E = m v^{2}
LAW_IN_LATEX = Notation(
    power="{}^{{{}}}",
    ten=r" \cdot 10^{{{}}}",
    write_name=latex_symbol,
    function=r"\{}({})",
)
#: 0.5 x^{2} -y
LATEX = replace(LAW_IN_LATEX, signs=(" +", " -"))
#: Comments of C and Python: +0.5*x^2 -y
CODE = Notation((" +", " -"), ("+", "-"), times="*")
#: For screen readers: 0.5 · x^2 − y
SPOKEN = Notation((" + ", f" {MINUS} "), ("", f"{MINUS} "), times=" · ", write_number=significant)
