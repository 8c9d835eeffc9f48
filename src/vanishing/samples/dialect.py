"""How a text file is laid out: delimiter, decimal sign, header; guessed from its beginning."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

#: Bytes that are looked at, about.
SAMPLE_SIZE = 2**16
#: In order of preference: a comma may be a decimal sign, a space may be part of a name.
DELIMITERS = (";", "\t", "|", ",", " ")
#: Words for a value that is missing, as pyarrow has them.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
    | {"1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """Layout of a text file.

    Parameters
    ----------
    delimiter, decimal : str
        One character each.
    header : tuple of str or None
        The cells of the first row, if they are names.
    n_columns : int
    n_sampled : int
        Rows that were looked at, without the header.
    commented : bool
        Whether the header is a comment, as ``numpy.savetxt`` writes it.
    trimmed : bool
        Whether names were surrounded by spaces.
    """

    delimiter: str
    decimal: str
    header: tuple[str, ...] | None
    n_columns: int
    n_sampled: int
    commented: bool
    trimmed: bool

    @property
    def numbered(self) -> bool:
        """Whether the names are numbers, so that the guess may be wrong."""
        return self.header is not None and all(is_number(name, ".") for name in self.header)


def first_lines(file: IO[bytes]) -> bytes:
    """Read the first lines of a file, three at least where there are as many."""
    found = file.read(SAMPLE_SIZE)
    while found.count(b"\n") < 3 and (more := file.read(3 * SAMPLE_SIZE)):
        found += more
    if not file.read(1):
        return found
    last_end = found.rfind(b"\n")
    return found if last_end < 0 else found[: last_end + 1]


def guess_dialect(
    beginning: bytes, *, delimiter: str | None = None, header: bool | None = None
) -> Dialect:
    """Guess the layout of a file from its first lines.

    Parameters
    ----------
    beginning : bytes
        In UTF-8, with or without a byte order mark; whole lines.
    delimiter : str or None
    header : bool or None
        What the user says; None to guess.

    Raises
    ------
    ValueError
        If there is nothing in the file.
    """
    # At \n alone: names may hold other signs that Python takes for ends of lines.
    lines = re.findall(r"[^\n]*\n|[^\n]+", beginning.decode("utf-8-sig", "replace"))
    commented = bool(lines) and lines[0].startswith("#")
    if commented:
        lines[0] = lines[0].lstrip("# ")
    if delimiter is None:
        delimiter = _guess_delimiter(lines)
    rows = _rows(lines, delimiter)
    if not rows:
        raise ValueError("the file is empty; a table has a header and at least one row")
    first, rest = rows[0], rows[1:]
    cells = [cell for row in rest or rows for cell in row]
    # Where commas separate, "1,000" in quotes is as likely a thousand as a one: text, to be mended.
    comma = (
        delimiter != ","
        and any(map(_WITH_COMMA.fullmatch, cells))
        and not any(map(_WITH_POINT.fullmatch, cells))
    )
    decimal = "," if comma else "."
    if header is None:
        header = not all(is_number(cell, decimal) for cell in first) or _counts_columns(
            first, rest, decimal
        )
    names = tuple(cell.strip() for cell in first) if header else None
    trimmed = names is not None and list(names) != first
    n_sampled = len(rows) - int(header)
    return Dialect(delimiter, decimal, names, len(first), n_sampled, commented, trimmed)


def _counts_columns(first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str) -> bool:
    """Say whether numbers are names: whole ones that increase, above nothing but fractions.

    So pandas writes columns without names (0, 1, 2), and columns that are years.
    """
    if len(first) < 2 or not rest or not all(cell.strip().isdecimal() for cell in first):
        return False
    numbers = [int(cell) for cell in first]
    fraction = re.compile(rf"[+-]?\d*\{decimal}\d+([eE][+-]?\d+)?")
    return all(a < b for a, b in pairwise(numbers)) and all(
        fraction.fullmatch(cell.strip()) or cell.strip() in MISSING for row in rest for cell in row
    )


def is_number(cell: str, decimal: str) -> bool:
    """Say whether a cell holds a number, or stands for a missing one."""
    cell = cell.strip()
    if cell in MISSING:
        return cell != ""  # a name may be left out, a word for missing is no name
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # Python's own


def _guess_delimiter(lines: Sequence[str]) -> str:
    for delimiter in DELIMITERS:
        widths = {len(row) for row in _rows(lines, delimiter)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    # One column; or some rows are of another length, which reading will tell.
    first = lines[0] if lines else ""
    return max(DELIMITERS[:-1], key=lambda each: (first.count(each), each == ","))


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter)
    try:
        return [row for row in reader if row]
    except csv.Error:  # a cell longer than 128 kB, a null byte
        return [line.rstrip("\r\n").split(delimiter) for line in lines if line.strip()]
