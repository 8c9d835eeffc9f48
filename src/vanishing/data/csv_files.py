"""CSV files: how their text is laid out, and reading their columns, whole or in batches.

``fit("table.csv")``, ``read_table`` and the command line read through this module: they agree on
delimiters, decimal signs, encodings, headers and on what a missing value is.
"""

import codecs
import csv
import io
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, import_extra, lazy
from vanishing.data.written_numbers import (
    MISSING,
    CellSummary,
    DecimalSign,
    NumberFormat,
    WrittenColumn,
    are_few,
    decide_decimal,
    find_open,
    guess_format,
    is_number,
    outline,
    read_texts,
)
from vanishing.levels import MEMORY
from vanishing.polynomials.monomials import variable_names

Texts = npt.NDArray[np.object_]
#: Columns of equal length by name: numbers, truth values or texts.
Columns = Mapping[str, npt.NDArray[Any]]

#: What users of the library can do about an error; the command line names its options instead.
REMEDIES = {
    "array": "choose one with array=...",
    "convert": "if that is wrong, convert the column to numbers first",
    "dash": "if dashes are missing values, empty these cells",
    "decimal": "if that is wrong, pass decimal={other!r} to read_table or as_source",
    "delimiter": "fix the row, or pass a delimiter other than {delimiter!r} to read_table",
    "encoding": "save the file as UTF-8",
    "format": "name its kind by a suffix (.csv, .parquet, .npy, .npz)",
    "names": "if it contains names, pass header=True to read_table or as_source",
    "row": "if it is a row, pass header=False to read_table or as_source",
    "sheet": "read_table(path, sheet=...) reads another ({other})",
    "sign": "pass decimal='.' or decimal=',' to read_table or as_source",
    "text": "choose other columns with as_source(path, columns=[...])",
}


class TableError(ValueError):
    """A table that cannot be read.

    Parameters
    ----------
    problem : str
        What is wrong, and where.
    remedy : str
        A key of ``REMEDIES``; empty if there is nothing to add.
    **details
        What the text of the remedy names.
    """

    def __init__(self, problem: str, remedy: str = "", **details: Any) -> None:
        self.problem, self.remedy, self.details = problem, remedy, details
        super().__init__(self.with_remedies(REMEDIES))

    def with_remedies(self, remedies: Mapping[str, str]) -> str:
        """Return the message with the remedy in other words.

        Parameters
        ----------
        remedies : mapping
            Texts by the keys of ``REMEDIES``.

        Returns
        -------
        str
        """
        if not self.remedy:
            return self.problem
        return f"{self.problem}; {remedies[self.remedy].format(**self.details)}"


class Note(NamedTuple):
    """What was guessed or left out; ``remedy`` is a key of ``REMEDIES``, as for ``TableError``.

    ``is_doubtful`` says whether the guess may well be wrong.
    """

    text: str
    remedy: str = ""
    other: str = ""
    is_doubtful: bool = False

    def with_remedies(self, remedies: Mapping[str, str]) -> str:
        """Return the note with what to do if it is wrong, where there is something."""
        remedy = remedies.get(self.remedy, "").format(other=self.other)
        return f"{self.text}; {remedy}" if remedy else self.text


@contextmanager
def readable(where: str, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises for a damaged file into an error that names the file."""
    try:
        yield
    except (TableError, ImportError):
        raise
    except Exception as error:
        raise TableError(f"{where} is not a readable {kind} file: {error}") from error


def import_arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow, or say how to install it."""
    return import_extra(module, extra="io", purpose="reading tables")


# --- How a text file is laid out: delimiter and header; guessed from its beginning ----------------

#: Bytes to look at, roughly.
SAMPLE_SIZE = 2**16
#: In order of preference: a comma may be a decimal sign, a space may be part of a name.
DELIMITERS = (";", "\t", "|", ",", " ")
#: Spellings of a truth value.
TRUTH = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
#: Cells that Arrow reads in a column of truth values.
READ_AS_TRUTH = TRUTH | {"0", "1"}
#: What Excel reads, and some programs write for it, as the first line.
_HINT = re.compile(r'"?sep=([ -~\t])"?[;,\t ]*\r?\n?', re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """Layout of a text file, as its first rows show it."""

    delimiter: str
    first: tuple[str, ...]  # the cells of the first row
    has_names: bool  # whether they are names
    n_sampled: int  # rows that were looked at, without the header
    commented: bool  # whether the header is a comment, as numpy.savetxt writes it
    n_above: int  # lines above the header, such as a title and an empty line
    has_hint: bool  # whether the first of these names the delimiter, as Excel reads it
    is_doubtful: bool  # whether the first row may as well be names, or the names a row
    columns: tuple[CellSummary, ...]


def first_lines(file: Any) -> tuple[bytes, bool]:
    """Read the first lines of a file, at least three if it has as many; say whether it has more."""
    found: bytes = file.read(SAMPLE_SIZE)
    while found.count(b"\n") <= 2 and (more := file.read(3 * SAMPLE_SIZE)):
        found += more
    if not file.read(1):
        return found, False
    last_end = found.rfind(b"\n")
    return found if last_end < 0 else found[: last_end + 1], True


def guess_dialect(
    beginning: bytes, *, delimiter: str | None = None, header: bool | None = None
) -> Dialect:
    """Guess the layout of a file from its first lines in UTF-8, unless the user says it."""
    # At \n alone: names may hold other characters that Python takes for ends of lines.
    lines = re.findall(r"[^\n]*\n|[^\n]+", beginning.decode("utf-8-sig", "replace"))
    hint = _HINT.fullmatch(lines[0]) if lines else None
    if hint is not None:
        delimiter = delimiter or hint[1]
        del lines[0]
    n_commented = next((i for i, line in enumerate(lines) if line[:1] != "#"), len(lines))
    marked = lines[:n_commented]
    lines[:n_commented] = [line.lstrip("# ") for line in marked]
    if delimiter is None:
        delimiter = _guess_delimiter(lines)
    n_above = 0 if header is False else _count_lines_above(lines, delimiter)
    lines = lines[n_above:]
    commented = n_above < n_commented
    rows = _rows(lines, delimiter)
    if commented and any(cell.lstrip()[:1] == "#" for cell in rows[0][1:]):
        as_names = _rows([marked[n_above], *lines[1:]], delimiter)
        if len(as_names[0]) == len(rows[0]):  # "# Sold" beside "# Returned"
            commented, rows = False, as_names
    if not rows:
        raise ValueError("the file is empty; a table has a header and at least one row")
    first = rows[0]
    is_doubtful = False
    if header is None:
        header, is_doubtful = guess_header(first, rows[1:], delimiter)
    sampled = rows[1:] if header else rows
    return Dialect(
        delimiter,
        tuple(cell.strip() for cell in first),
        header,
        len(sampled),
        commented,
        n_above + (hint is not None),
        hint is not None,
        is_doubtful,
        _summarize(sampled, len(first)),
    )


def _summarize(rows: Sequence[Sequence[str]], n_columns: int) -> tuple[CellSummary, ...]:
    return tuple(
        CellSummary([row[j] if j < len(row) else "" for row in rows]) for j in range(n_columns)
    )


def guess_header(
    first: Sequence[str], rest: Sequence[Sequence[str]], delimiter: str = ""
) -> tuple[bool, bool]:
    """Say whether the first row contains names, and whether that is doubtful.

    A text above a column of numbers is a name. If there is none, numbers can be names as well:
    0, 1, 2, as pandas writes them, or years.
    """
    first = [cell.strip() for cell in first]
    columns = _summarize(rest, len(first))
    kinds = find_kinds(columns, decide_decimal(columns, delimiter))
    texts = [j for j in kinds.texts if j not in kinds.doubtful]
    if all(j in texts or not column.forms for j, column in enumerate(columns)):
        alone = find_kinds([CellSummary([cell]) for cell in first], kinds.decimal)
        return any(not cell or j in alone.texts for j, cell in enumerate(first)), False
    filled = [j for j, cell in enumerate(first) if cell and j not in texts]
    if not filled or any(not kinds.reads(j, first[j]) for j in filled):
        return True, False
    cells = [first[j] for j in filled]
    counts = all(map(_is_whole, cells)) and all(int(a) < int(b) for a, b in pairwise(cells))
    if not first[0]:  # above an index
        return counts, not counts
    if names := [j for j in texts if first[j]]:
        # x1 above x2 and x3, or M above M and F, is one of them.
        is_alike = any(outline(first[j]) in columns[j].forms for j in names)
        return counts and not is_alike, True
    is_fraction = partial(_is_fraction, decimal=kinds.decimal.sign)
    are_fractions = all(is_fraction(cell.strip()) for row in rest for cell in row)
    return counts and 1 < len(filled) == len(first) and are_fractions, False


def _is_whole(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal()


def _is_fraction(cell: str, decimal: str) -> bool:
    return cell in MISSING or (decimal in cell and is_number(cell, decimal))


def _guess_delimiter(lines: Sequence[str]) -> str:
    for has_title in (False, True):
        for delimiter in DELIMITERS:
            n_above = _count_lines_above(lines, delimiter) if has_title else 0
            widths = {len(row) for row in _rows(lines[n_above:], delimiter)}
            if len(widths) == 1 and widths.pop() > 1:
                return delimiter
    # One column; or some rows have another length, which reading reports.
    first = lines[0] if lines else ""
    text = "".join(lines)
    return max(DELIMITERS[:-1], key=lambda each: (first.count(each), text.count(each), each == ","))


def _count_lines_above(lines: Sequence[str], delimiter: str) -> int:
    """Return the number of lines above the header: titles and empty lines, 0 without a header.

    The first line that fills half of the usual number of cells is part of the table.
    """
    reader = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error:
        return 0
    widths = Counter(len(row) for _, row in rows if row)
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    if width < 2:
        return 0
    n_above = 0
    for end, row in rows:
        n_filled = sum(bool(cell.strip()) for cell in row)
        if len(row) > 1 and 2 * n_filled >= width:
            is_header = len(row) == width and not all(
                is_number(cell, ".") or is_number(cell, ",") for cell in row
            )
            return n_above if is_header else 0
        n_above = end
    return 0


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter)
    try:
        return [row for row in reader if row]
    except csv.Error:  # a cell longer than 128 kB, a null byte
        return [line.rstrip("\r\n").split(delimiter) for line in lines if line.strip()]


# --- What the columns of a text file hold ---------------------------------------------------------


@dataclass(frozen=True)
class ColumnKinds:
    """What the columns of a text file hold, by their places."""

    decimal: DecimalSign
    given: bool  # whether the user says what the decimal sign is
    truth: set[int] = field(default_factory=set)  # columns of truth values
    texts: dict[int, str] = field(default_factory=dict)  # not numeric, with an example each
    doubtful: set[int] = field(default_factory=set)  # those that hold numbers in nearly all rows
    #: Columns whose numbers computers would write otherwise: with separated thousands, a unit or
    #: another decimal sign.
    formats: dict[int, NumberFormat] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)  # cells that another sign would change
    mixed: set[int] = field(default_factory=set)  # of texts: cells contradict each other about it

    def reads(self, column: int, cell: str) -> bool:
        """Say whether a cell is a number, or one as the others of its column are written."""
        if column in self.truth:
            return cell in READ_AS_TRUTH
        if is_number(cell, self.decimal.sign):
            return True
        if column in self.formats:
            return self.formats[column].read(cell) is not None
        form = guess_format([cell], self.decimal.sign)
        return form is not None and not form.unit.isalpha()


def find_kinds(
    columns: Sequence[CellSummary], decimal: DecimalSign, *, given: bool = False
) -> ColumnKinds:
    """Find out what columns hold, by the decimal sign of the table."""
    kinds = ColumnKinds(decimal, given)
    for j, cells in enumerate(columns):
        unclear = {} if given else find_open(cells)
        if unclear and not decimal.is_sure:
            kinds.open[j] = next(iter(unclear.values())).text
        if all(is_number(form, decimal.sign) for form in cells.forms):
            continue
        n_truths = sum(form.number for text, form in cells.forms.items() if text in TRUTH)
        are_truths = 2 * n_truths > cells.total
        form = None if are_truths else guess_format(cells, decimal.sign, given=given)
        strays = [
            each
            for text, each in cells.forms.items()
            if (text not in READ_AS_TRUTH if form is None else form.read(each.text) is None)
        ]
        if form is None and not are_truths:
            strays = list(cells.forms.values())
        if strays:
            kinds.texts[j] = f"{strays[0].text[:30]!r} in row {strays[0].row}"
            if len(unclear) > 1:
                kinds.mixed.add(j)
                one, other = unclear.values()
                kinds.texts[j] = (
                    f"{one.text!r} in row {one.row} and {other.text!r} in row {other.row}, so that "
                    "the decimal sign is unclear"
                )
            if form is not None and are_few(sum(each.number for each in strays), cells.total):
                kinds.doubtful.add(j)
            else:
                kinds.open.pop(j, None)
        elif form is None:
            kinds.truth.add(j)
        else:
            kinds.formats[j] = form
    return kinds


# --- Files that were opened, their columns not yet converted --------------------------------------

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class Stray(NamedTuple):
    """A cell of a column of numbers that holds something else; ``row`` is its number, from 1."""

    row: int
    column: str
    text: str


class SetAside(NamedTuple):
    """A column that was not read, and why: "text, 'Rome' in row 1"."""

    name: str
    reason: str


def describe_header(first: Sequence[str], *, has_names: bool, is_doubtful: bool) -> list[Note]:
    """Say what was guessed of the first row, unless it is clear that it contains names."""
    cells = ", ".join(repr(cell[:30]) for cell in first[:4]) + ", ..." * bool(first[4:])
    if not has_names:
        text = "there is no header: columns are called x0, x1, ..."
        if is_doubtful:
            text += f", and the first line ({cells}) is a row"
        return [Note(text, "names", is_doubtful=is_doubtful)]
    if is_doubtful:
        return [Note(f"the first line ({cells}) is used as names", "row", is_doubtful=True)]
    if all(is_number(name, ".") for name in first):
        return [Note("the numbers of the first line are used as names", "row")]
    return []


def describe_numbers(
    formats: Mapping[str, NumberFormat], decimal: str, unclear: Mapping[str, str]
) -> list[Note]:
    """Say what was left out of numbers, and what was assumed of those that may be read otherwise.

    ``unclear`` has a cell of each column that another decimal sign would give other numbers.
    """
    notes = []
    signs: dict[str, set[str]] = {}
    columns: dict[str, list[str]] = {}
    for name, form in formats.items():
        signs.setdefault(form.unit, set()).update({form.unit, form.thousands} - {""})
        columns.setdefault(form.unit, []).append(name)
    said = [
        f"without {' and '.join(sorted(map(_quote, signs[unit])))}: {list_names(names)}"
        for unit, names in columns.items()
        if signs[unit]
    ]
    own = {
        name: form.decimal for name, form in formats.items() if form.decimal not in ("", decimal)
    }
    for sign in dict.fromkeys(own.values()):
        names = [name for name, each in own.items() if each == sign]
        said.append(f"with {sign!r} as decimal sign: {list_names(names)}")
    if bracketed := [name for name, form in formats.items() if form.brackets]:
        said.append(f"with parentheses for minus signs: {list_names(bracketed)}")
    if said:
        notes.append(Note(f"read as numbers {'; '.join(said)}"))
    if dashed := [name for name, form in formats.items() if form.dashes]:
        is_doubtful = not any(form.is_of_accounts for form in formats.values())
        text = f"a dash is read as 0: {list_names(dashed)}"
        notes.append(Note(text, "dash", is_doubtful=is_doubtful))
    if unclear:
        read = [
            f"{text!r} in {name!r} is read as "
            f"{formats.get(name, NumberFormat(decimal)).read(text):.12g}"
            for name, text in unclear.items()
        ]
        text = f"{decimal!r} is taken for the decimal sign, so that {list_some(read, 3)}"
        other = "." if decimal == "," else ","
        notes.append(Note(text, "decimal", other, is_doubtful=True))
    return notes


def _quote(sign: str) -> str:
    return "spaces" if sign.isspace() else repr(sign)


def list_some(texts: Sequence[str], most: int) -> str:
    """Write texts in a row; of those beyond ``most`` only their number."""
    shown, others = ", ".join(texts[:most]), texts[most:]
    return f"{shown} and {len(others)} more" if others else shown


def list_names(names: Sequence[str]) -> str:
    """Write names in a row, a dozen at most."""
    return list_some([repr(name) for name in names], 12)


def _describe(example: str) -> str:
    """Say whether an example, such as "'Rome' in row 1", is a formula, a date or another text."""
    if example.startswith(("'=", '"=')):
        return (
            f"formulas without calculated values, {example}; open and save the file once in a "
            "spreadsheet program"
        )
    try:
        datetime.fromisoformat(example.partition("'")[2].partition("'")[0])
    except ValueError:
        return f"text, {example}"
    return f"date, {example}"


class OpenTable(ABC):
    """A file whose columns are converted when they are asked for."""

    where: str  # what the file is called in messages
    kinds: ColumnKinds  # what its columns hold
    names: tuple[str, ...] | None
    n_columns: int
    index: tuple[int, ...] = ()  # columns that hold the index of a pandas frame
    row_ids: Any = None  # what rows in memory are called; those of files are numbered from 1
    n_above: int = 0  # lines of a text file above the header, which are left out
    places: Any = None  # of the cells on a sheet, if the table is not the only thing there
    is_turnable = False  # whether the rows may be variables
    #: The line of the file that holds the first row; None unless each row is one.
    first_line: int | None = None

    def __init__(self) -> None:
        self.layout_notes: list[Note] = []  # what was guessed of names and rows
        self.written: dict[int, WrittenColumn] = {}  # columns of texts that were read as numbers

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        return variable_names(self.n_columns) if self.names is None else self.names

    @property
    def first_row(self) -> int:
        """The number of the first row: 1 in a file, 0 in memory."""
        return int(self.row_ids is None)

    @abstractmethod
    def count_rows(self) -> int:
        """Count the rows."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""

    @abstractmethod
    def texts(self, column: int) -> Texts:
        """Return a column as text."""

    @abstractmethod
    def find_texts(self, columns: Sequence[int]) -> list[tuple[int, str]]:
        """Return those of the columns that are not numeric, each with an example and its row."""

    def find_strays(self, columns: Sequence[int]) -> tuple[Stray, ...]:
        """Return the cells that are not numbers in columns that were read as such."""
        found = [
            Stray(row + self.first_row, self.shown_names[j], text.strip())
            for j in columns
            if j in self.written
            for row, text in self.written[j].strays
        ]
        return tuple(sorted(found, key=lambda each: each.row))

    def find_formats(self, columns: Sequence[int]) -> dict[int, NumberFormat]:
        """Return how the numbers of columns are written that have units or separated thousands."""
        found = {j: each.format for j, each in self.written.items() if any(each.format[1:])}
        found = self.kinds.formats | found
        return {j: found[j] for j in columns if j in found}

    def number_notes(self, columns: Sequence[int]) -> list[Note]:
        """Say how the numbers of columns were read, after they were."""
        names, found = self.shown_names, sorted(self.find_formats(columns).items())
        formats = {names[j]: form for j, form in found}
        unclear = {names[j]: text for j, text in self.kinds.open.items() if j in columns}
        return describe_numbers(formats, self.kinds.decimal.sign, unclear)

    def set_texts_aside(self, columns: Sequence[int]) -> tuple[list[int], tuple["SetAside", ...]]:
        """Split columns into numeric ones and those to set aside."""
        found = dict(self.find_texts(columns))
        return [j for j in columns if j not in found], tuple(
            SetAside(self.shown_names[j], _describe(text)) for j, text in found.items()
        )

    def column_name(self, column: int) -> str:
        """Return what a column is called in messages."""
        if self.names is None:
            return f"column {column + 1}"
        return f"column {self.names[column]!r}"

    def refuse_texts(self, columns: Sequence[int]) -> None:
        """Raise an error that names the columns that are not numeric."""
        self._refuse(self.find_texts(columns))

    def _refuse(self, found: Sequence[tuple[int, str]]) -> None:
        if not found:
            return
        listed = list_some([f"{self.column_name(j)} ({example})" for j, example in found], 5)
        names = [str(j + 1) if self.names is None else self.names[j] for j, _ in found[:5]]
        raise TableError(
            f"{self.where}: expected numbers, found text in {listed}", "text", names=",".join(names)
        )


class CsvFile(OpenTable):
    """A text file: its path or its content, and what the user says of the layout.

    The beginning tells the layout. What the columns hold is decided by all rows, when the first of
    them is read: ``settle``.
    """

    def __init__(
        self,
        file: str | bytes,
        where: str,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        decimal: str | None = None,
    ) -> None:
        super().__init__()
        if decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
        self.where = self.path = where
        self._file = file
        self._given = decimal
        self._n_rows: int | None = None
        self._is_settled = False
        #: None for UTF-8.
        self.encoding: str | None = None
        with open_stream(file) as stream:
            beginning, _ = first_lines(stream)
        self._is_ascii = beginning.isascii()
        self.encoding = _guess_encoding(beginning, where)
        beginning, self.has_more = self._checked(self._read_beginning)
        try:
            self.dialect = guess_dialect(beginning, delimiter=delimiter, header=header)
        except ValueError as error:
            raise TableError(f"{where}: {error}") from error
        # A row must fit into a block, and others may be longer than those below the header.
        longest = max(map(len, beginning.splitlines()[1:]), default=0)
        self._block_size = max(usual_block(), 16 * longest)
        columns = self.dialect.columns
        self.decide(decide_decimal(columns, self.dialect.delimiter, decimal), columns)
        self.names = self.dialect.first if self.dialect.has_names else None
        self.n_columns = len(self.dialect.first)
        self.n_above = self.dialect.n_above
        if self.names is not None and not self.names[0]:
            self.index = (0,)
        if n_above := self.n_above - self.dialect.has_hint:
            lines = "1 line above the header is"
            if n_above > 1:
                lines = f"{n_above} lines above the header are"
            self.layout_notes.append(Note(f"{lines} left out"))
        if header is None:
            self.layout_notes += describe_header(
                self.dialect.first,
                has_names=self.dialect.has_names,
                is_doubtful=self.dialect.is_doubtful,
            )

    def read_cells(self) -> list[list[str]]:
        """Return the rows of a short text, blank ones too; none if its first line is no row."""
        if self.has_more or self.dialect.commented or self.dialect.has_hint:
            return []
        lines = io.StringIO(self._read_beginning()[0].decode("utf-8-sig", "replace"), newline="")
        with suppress(csv.Error):  # a quote that is not closed
            return list(csv.reader(lines, delimiter=self.dialect.delimiter, strict=True))
        return []

    def decide(self, decimal: DecimalSign, columns: Sequence[CellSummary]) -> None:
        """Take a sign for the decimal one, and find out what the columns hold."""
        self.kinds = find_kinds(columns, decimal, given=self._given is not None)
        self.columns = columns

    # --- What all rows say ------------------------------------------------------------------------

    def settle(self) -> None:
        """Read all rows once, and decide again where they contradict the first ones."""
        if self._is_settled:
            return
        self._is_settled = True
        if not self.has_more:
            return
        if self._is_ascii and self.encoding is None:
            with open_stream(self._file) as stream:
                self.encoding = _find_encoding(iter(lambda: stream.read(SAMPLE_SIZE), b""))
        if not self._checked(self._agrees):
            self._checked(self._scan)

    def _agrees(self) -> bool:
        """Say whether all rows are as the first ones are, and these tell the decimal sign."""
        kinds = self.kinds
        columns = [j for j in range(self.n_columns) if j not in kinds.texts]
        if kinds.doubtful or kinds.open:
            return False
        # Whole numbers do not tell what a sign means that comes later.
        tells = (
            kinds.given
            or self.dialect.delimiter == ","
            or any("." in form or "," in form for j in columns for form in self.columns[j].forms)
        )
        n_rows = 0
        with suppress(import_arrow().ArrowInvalid):
            for batch in self._batches(
                columns or [0], None if columns else import_arrow().binary()
            ):
                n_rows += len(batch[0])
                numbers = [] if tells else map(as_numbers, batch)
                if any((np.isfinite(each) & (each != np.round(each))).any() for each in numbers):
                    return False
            self._n_rows = n_rows
            return True
        return False

    def _scan(self) -> None:
        """Decide by the cells of all rows."""
        texts, doubtful = self.kinds.texts, self.kinds.doubtful
        scanned = [j for j in range(self.n_columns) if j not in texts or j in doubtful]
        found = {j: CellSummary() for j in scanned}
        for batch in self._batches(scanned, import_arrow().string()):
            for j, column in zip(scanned, batch, strict=True):
                found[j].add(column.to_pylist())
        columns = [found.get(j, cells) for j, cells in enumerate(self.columns)]
        self.decide(decide_decimal(columns, self.dialect.delimiter, self._given), columns)

    # --- Reading ----------------------------------------------------------------------------------

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""
        self.refuse_texts(columns)
        plain = [j for j in columns if j not in self.written]
        read = self._checked(lambda: self._read(plain)).columns if plain else []
        found = dict(zip(plain, map(as_numbers, read), strict=True))
        return np.column_stack(
            [self.written[j].values if j in self.written else found[j] for j in columns]
        )

    def number_notes(self, columns: Sequence[int]) -> list[Note]:
        """Say how the text of the file and the numbers of columns were read."""
        notes = super().number_notes(columns)
        if self.encoding not in (None, "utf-16"):
            notes.insert(0, Note(f"not in UTF-8, read as Windows text ({self.encoding})"))
        mixed = self.kinds.mixed - self.kinds.doubtful
        notes += [
            Note(f"{self.column_name(j)} is not read: it has {self.kinds.texts[j]}", "sign")
            for j in columns
            if j in mixed
        ]
        return notes

    @lazy
    def first_line(self) -> int | None:
        """The line of the file that holds the first row; None unless each row is one."""
        n_lines = self._read_text().rstrip().count(b"\n") + 1
        n_before = self.n_above + int(self.names is not None)
        return n_before + 1 if n_lines == n_before + self.count_rows() else None

    def batches(self, columns: Sequence[int], n_rows: int = 0) -> Iterator[tuple[list[Any], str]]:
        """Yield the columns of some rows, however many a block of text holds, with the path."""
        if not self.dialect.n_sampled:
            return
        self.settle()
        self.check_numeric(columns)
        batches = self._batches(columns)
        while (batch := self._checked(lambda: next(batches, None))) is not None:
            yield batch, self.path

    def count_rows(self) -> int:
        """Count the rows."""
        if not self.dialect.n_sampled:
            return 0
        self.settle()
        if self._n_rows is None:
            batches = self._batches([0], import_arrow().binary())
            self._n_rows = self._checked(lambda: sum(len(batch[0]) for batch in batches))
        return self._n_rows

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        self.settle()
        kind = import_arrow().string()
        found = self._checked(lambda: self._read([column], kind)).column(0)
        return np.array(["" if cell is None else cell for cell in found.to_pylist()], dtype=object)

    def find_texts(self, columns: Sequence[int]) -> list[tuple[int, str]]:
        """Return those of the columns that are not numeric, each with an example and its row."""
        self.settle()
        kinds = self.kinds
        found = {}
        for j in columns:
            if j not in kinds.texts or j in self.written:
                continue
            written = None
            if j in kinds.doubtful:
                cells = self.texts(j).tolist()
                written = read_texts(cells, kinds.decimal.sign, given=kinds.given)
            if written is None:
                found[j] = kinds.texts[j]
            else:
                self.written[j] = written
        return sorted(found.items())

    def check_numeric(self, columns: Sequence[int]) -> None:
        """Raise if a column is not numeric in all cells that were looked at."""
        texts = self.kinds.texts
        self._refuse([(j, texts[j]) for j in columns if j in texts])

    def is_single_precision(self, columns: Sequence[int]) -> bool:
        """Return False: decimal digits are read in double precision."""
        return False

    def _checked(self, read: Callable[[], Any]) -> Any:
        """Read, and replace errors of the reader by one that names the row and the remedy."""
        try:
            return read()
        except UnicodeDecodeError as error:
            encoding = self.encoding or "UTF-8"
            raise TableError(f"{self.where} is not {encoding} text: {error}", "encoding") from error
        except import_arrow().ArrowInvalid as error:
            self._refuse_ragged()
            raise TableError(f"{self.where} cannot be read: {error}") from error

    def _read_beginning(self) -> tuple[bytes, bool]:
        with self._open() as stream:
            return first_lines(stream)

    def _open(self) -> Any:
        stream = open_stream(self._file)
        if self.encoding is None:
            return stream
        return import_arrow().transcoding_input_stream(stream, self.encoding, "utf-8")

    def _read_text(self) -> bytes:
        with self._open() as stream:
            # Block by block: what is compressed has no size that reading all of it asks for.
            return b"".join(iter(lambda: stream.read(SAMPLE_SIZE), b""))

    def _options(self, columns: Sequence[int], kind: Any = None, skip_row: Any = None) -> list[Any]:
        """Return the options of pyarrow; columns are called by their places."""
        arrow_csv = import_arrow("pyarrow.csv")
        names = [str(j) for j in range(self.n_columns)]
        types = {names[j]: kind or self._type(j) for j in columns}
        has_header = self.names is not None
        return [
            arrow_csv.ReadOptions(
                column_names=names,
                # A comment has more cells than there are columns, so it is no row.
                skip_rows=self.n_above + int(has_header and self.dialect.commented),
                skip_rows_after_names=int(has_header and not self.dialect.commented),
                use_threads=skip_row is None,
                block_size=self._block_size,
            ),
            arrow_csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                newlines_in_values=True,
                invalid_row_handler=skip_row,
            ),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                strings_can_be_null=True,
                decimal_point=self.kinds.decimal.sign,
            ),
        ]

    def _type(self, column: int) -> Any:
        arrow = import_arrow()
        if column in self.kinds.formats:
            return arrow.string()
        return arrow.bool_() if column in self.kinds.truth else arrow.float64()

    def _batches(self, columns: Sequence[int], kind: Any = None) -> Iterator[list[Any]]:
        """Yield columns of some rows, as numbers unless ``kind`` is another type of Arrow."""
        with self._open() as stream:
            reader = import_arrow("pyarrow.csv").open_csv(stream, *self._options(columns, kind))
            for batch in reader:
                yield (batch if kind is not None else self._convert(batch, columns)).columns

    def _read(self, columns: Sequence[int], kind: Any = None, skip_row: Any = None) -> Any:
        with self._open() as stream:
            options = self._options(columns, kind, skip_row)
            table = import_arrow("pyarrow.csv").read_csv(stream, *options)
        self._n_rows = table.num_rows if skip_row is None else None
        return table if kind is not None else self._convert(table, columns)

    def _convert(self, table: Any, columns: Sequence[int]) -> Any:
        """Return a table or a batch whose texts with a format of numbers are numbers."""
        arrow = import_arrow()
        for place, j in enumerate(columns):
            if j not in self.kinds.formats:
                continue
            read = self.kinds.formats[j].read
            numbers = [read(cell or "") for cell in table.column(place).to_pylist()]
            if None in numbers:
                raise arrow.ArrowInvalid("a number has a different format than the first ones")
            table = table.set_column(place, str(j), arrow.array(numbers, arrow.float64()))
        return table

    def refuse_open_quotes(self) -> None:
        """Name the line of a quote that is not closed, or of a row that is too long to be read."""
        content = self._read_text().decode("utf-8", "replace")
        # At \n alone, as in guess_dialect.
        lines = re.findall(r"[^\n]*\n|[^\n]+", content)
        reader = csv.reader(lines, delimiter=self.dialect.delimiter, strict=True)
        start = 0
        try:
            for _ in reader:
                start = reader.line_num
        except csv.Error:  # the file ends inside quotes, or a cell is longer than 128 kB
            if reader.line_num > start + 1:
                raise TableError(
                    f"{self.where}: a quote in line {start + 1} is not closed, so that the lines "
                    "after it become one cell; close it, or delete it"
                ) from None
        for number, line in enumerate(lines, start=1):
            if len(line) > self._block_size:
                raise TableError(
                    f"{self.where}: line {number} has {len(line):,} characters, more than the "
                    f"{self._block_size:,} that a row may have; shorten its texts"
                )

    def _refuse_ragged(self) -> None:
        """Name the first row of another length, if there is one."""
        self.refuse_open_quotes()
        arrow = import_arrow()
        found: list[Any] = []

        def skip(row: Any) -> str:
            found.append(row)
            return "skip"

        with suppress(arrow.ArrowInvalid):  # it is something else
            self._read([0], arrow.binary(), skip)
        if found:
            number = found[0].number - self.n_above - int(self.names is not None)
            first = "header" if self.n_above else "first line"
            raise TableError(
                f"{self.where}: row {number} has {found[0].actual_columns} cells, expected "
                f"{self.n_columns} as in the {first}",
                "delimiter",
                delimiter=self.dialect.delimiter,
            )


def open_stream(file: str | bytes) -> Any:
    """Open a path or the content of a file; what is compressed comes decompressed."""
    arrow = import_arrow()
    if isinstance(file, bytes):
        return arrow.BufferReader(file)
    compression = COMPRESSED.get(Path(file).suffix)
    if compression is not None:
        state = Path(file).stat()
        _refuse_bombs(file, state.st_size, state.st_mtime_ns)
    return arrow.input_stream(file, compression=compression)


#: A file may expand to what is read whole, or to so many times its size, whatever is more. What
#: expands further is made to fill the memory.
MOST_TIMES = 200


def is_read_whole(path: str | os.PathLike[str]) -> bool:
    """Say whether a file is read whole: its numbers take a few times as much memory."""
    return os.path.getsize(path) <= MEMORY // 8


def usual_block() -> int:
    """Return the bytes that pyarrow parses at a time; it reads some thirty such blocks ahead."""
    return int(import_arrow("pyarrow.csv").ReadOptions().block_size)


def read_whole(file: str | bytes) -> bytes:
    """Return the content of a file, decompressed."""
    with open_stream(file) as stream:
        return bytes(stream.read())


def check_expansion(expanded: float, size: int, where: str) -> None:
    """Raise if a file of some size expands as only those do that are made to fill the memory."""
    if expanded > max(MEMORY // 8, MOST_TIMES * size):
        raise TableError(
            f"{where} has {size} bytes and expands to {expanded:.3g} or more, over {MOST_TIMES} "
            "times as much, as files do that are made to fill the memory; if you trust it, unpack "
            "it, or read it with pandas and pass the frame"
        )


@lru_cache(maxsize=100)  # a process that lives long sees many files
def _refuse_bombs(path: str, size: int, changed: int) -> None:
    """Decompress a file once, without keeping anything of it, and raise if it does not end.

    Before anything else reads it: an error in the threads of a reader may never come out of them.
    """
    n_read = 0
    try:
        with import_arrow().input_stream(path, compression=COMPRESSED[Path(path).suffix]) as stream:
            while n_block := len(stream.read(SAMPLE_SIZE)):
                n_read += n_block
                check_expansion(n_read, size, path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error}") from error


def _guess_encoding(beginning: bytes, where: str) -> str | None:
    """Return the encoding of a text file, None for UTF-8."""
    if beginning.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise TableError(f"{where} is text in UTF-32; save the file in UTF-8")
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in beginning:
        raise TableError(f"{where} is not a text file", "format")
    return _find_encoding(iter([beginning]))


def _find_encoding(blocks: Iterator[bytes]) -> str | None:
    """Return the encoding of a text: None for UTF-8, that of Windows, or one with any byte."""
    encodings = ["utf-8", "cp1252"]
    decoders = {each: codecs.getincrementaldecoder(each)() for each in encodings}
    is_ascii = True
    for block in blocks:
        is_ascii = is_ascii and block.isascii()
        for each in [] if is_ascii else list(decoders):
            try:
                decoders[each].decode(block)
            except UnicodeDecodeError:
                del decoders[each]
    with suppress(KeyError, UnicodeDecodeError):
        decoders["utf-8"].decode(b"", final=True)
        return None
    return "cp1252" if "cp1252" in decoders else "latin-1"


def is_numeric(kind: Any) -> bool:
    """Say whether a type of Arrow is one of numbers, truth values included."""
    types = import_arrow("pyarrow.types")
    return any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    )


def as_numbers(column: Any, dtype: str = "double") -> FloatArray:
    """Return a numeric column of Arrow, NaN where a value is missing."""
    # By its buffers: to_numpy imports pandas, which takes longer than most tables.
    parts = [np.empty(0)]
    for chunk in getattr(column, "chunks", [column]):
        numbers = chunk.cast(dtype, safe=False)
        values = _view_buffer(numbers, np.float64 if dtype == "double" else np.float32)
        if chunk.null_count:
            is_missing = _view_buffer(chunk.is_null().cast("uint8"), np.uint8)
            values = np.where(is_missing, values.dtype.type(np.nan), values)
        parts.append(values)
    return np.concatenate(parts[1:] or parts)


def _view_buffer(array: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the numbers of an array of Arrow, whatever they are where a value is missing."""
    if not len(array):
        return np.empty(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array) + array.offset)[array.offset :]
