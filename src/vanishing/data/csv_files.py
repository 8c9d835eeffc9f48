"""CSV files: how their text is laid out, and reading their columns, whole or in batches.

``fit("table.csv")``, ``read_table`` and the command line read through this module: they agree on
delimiters, decimal signs, encodings, headers and on what a missing value is.
"""

import csv
import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, import_extra
from vanishing.data.written_numbers import (
    MISSING,
    NumberFormat,
    WrittenColumn,
    are_few,
    guess_format,
    is_number,
    read_texts,
    strip_unit,
)
from vanishing.polynomials.monomials import variable_names

Texts = npt.NDArray[np.object_]
#: Columns of equal length by name: numbers, truth values or texts.
Columns = Mapping[str, npt.NDArray[Any]]

#: What users of the library can do about an error; the command line names its options instead.
REMEDIES = {
    "array": "choose one with array=...",
    "delimiter": "fix the row, or pass a delimiter other than {delimiter!r} to read_table",
    "encoding": "save the file as UTF-8",
    "format": "name its kind by a suffix (.csv, .parquet, .npy, .npz)",
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


def import_arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow, or say how to install it."""
    return import_extra(module, extra="io", purpose="reading tables")


# --- How a text file is laid out: delimiter, decimal sign, header; guessed from its beginning -----

#: Bytes to look at, roughly.
SAMPLE_SIZE = 2**16
#: In order of preference: a comma may be a decimal sign, a space may be part of a name.
DELIMITERS = (";", "\t", "|", ",", " ")
#: Spellings of a truth value.
TRUTH = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
#: Cells that Arrow reads in a column of truth values.
READ_AS_TRUTH = TRUTH | {"0", "1"}
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
#: Numbers that no decimal comma explains, and those that no decimal point does.
_COMMA_GROUPS = re.compile(r"\s*[+-]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})\s*")
_POINT_GROUPS = re.compile(r"\s*[+-]?\d{1,3}((\.\d{3})+,\d+|(\.\d{3}){2,})\s*")


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
    truth : frozenset of int
        Columns of truth values.
    texts : mapping of int to str
        Columns that are not numeric, with an example each.
    doubtful : frozenset of int
        Those of them that hold numbers in nearly all rows.
    formats : mapping of int to NumberFormat
        Columns whose numbers have separated thousands, a currency or another unit.
    n_above : int
        Lines above the header, such as a title and an empty line.
    """

    delimiter: str
    decimal: str
    header: tuple[str, ...] | None
    n_columns: int
    n_sampled: int
    commented: bool
    truth: frozenset[int]
    texts: Mapping[int, str]
    doubtful: frozenset[int]
    formats: Mapping[int, NumberFormat]
    n_above: int = 0

    @property
    def numbered(self) -> bool:
        """Whether the names are numbers, so that the guess may be wrong."""
        return self.header is not None and all(is_number(name, ".") for name in self.header)


def first_lines(file: Any) -> bytes:
    """Read the first lines of a file, at least three if it has as many."""
    found: bytes = file.read(SAMPLE_SIZE)
    while found.count(b"\n") < 3 and (more := file.read(3 * SAMPLE_SIZE)):
        found += more
    if not file.read(1):
        return found
    last_end = found.rfind(b"\n")
    return found if last_end < 0 else found[: last_end + 1]


def guess_dialect(
    beginning: bytes, *, delimiter: str | None = None, header: bool | None = None
) -> Dialect:
    """Guess the layout of a file from its first lines in UTF-8, unless the user says it."""
    # At \n alone: names may hold other characters that Python takes for ends of lines.
    lines = re.findall(r"[^\n]*\n|[^\n]+", beginning.decode("utf-8-sig", "replace"))
    n_commented = next((i for i, line in enumerate(lines) if line[:1] != "#"), len(lines))
    lines[:n_commented] = [line.lstrip("# ") for line in lines[:n_commented]]
    if delimiter is None:
        delimiter = _guess_delimiter(lines)
    n_above = 0 if header is False else _count_lines_above(lines, delimiter)
    lines = lines[n_above:]
    commented = n_above < n_commented
    rows = _rows(lines, delimiter)
    if not rows:
        raise ValueError("the file is empty; a table has a header and at least one row")
    first, rest = rows[0], rows[1:]
    cells = [strip_unit(cell) for row in rest or rows for cell in row]
    # Where commas separate columns, "1,000" in quotes is a thousand.
    comma = delimiter != "," and (
        any(map(_POINT_GROUPS.fullmatch, cells))
        or (
            any(map(_WITH_COMMA.fullmatch, cells))
            and not any(map(_WITH_POINT.fullmatch, cells))
            and not any(map(_COMMA_GROUPS.fullmatch, cells))
        )
    )
    decimal = "," if comma else "."
    if header is None:
        header = not all(
            is_number(cell, decimal) or _is_formatted(cell, decimal) for cell in first
        ) or _counts_columns(first, rest, decimal)
    names = tuple(cell.strip() for cell in first) if header else None
    sampled = rest if header else rows
    truth, texts, doubtful, formats = set(), {}, set(), {}
    for j in range(len(first)):
        column = [row[j].strip() for row in sampled if j < len(row)]
        text = _first_text(column, partial(is_number, decimal=decimal))
        has_points = decimal == "," and any("." in cell for cell in column)
        if text is None and not has_points:
            continue
        said = [cell for cell in column if cell not in MISSING]
        if set(said) <= TRUTH:
            truth.add(j)
            continue
        form = guess_format(said, decimal)
        strays = said if form is None else [cell for cell in said if form.read(cell) is None]
        if form is not None and not strays:
            formats[j] = form
            continue
        texts[j] = text or f"{strays[0][:30]!r}"
        if are_few(len(strays), len(said)):
            doubtful.add(j)
    return Dialect(
        delimiter,
        decimal,
        names,
        len(first),
        len(sampled),
        commented,
        frozenset(truth),
        texts,
        frozenset(doubtful),
        formats,
        n_above,
    )


def _is_formatted(cell: str, decimal: str) -> bool:
    """Say whether a cell of the first line is a number with a currency or separated thousands."""
    form = guess_format([cell], decimal)
    return form is not None and not form.unit.isalpha()


def _first_text(cells: Iterable[str], is_value: Callable[[str], bool]) -> str | None:
    """Return the first cell that holds something else than a value, and its row."""
    for row, cell in enumerate(cells, start=1):
        if cell and not is_value(cell):
            return f"{cell[:30]!r} in row {row}"
    return None


def _counts_columns(first: Sequence[str], rest: Sequence[Sequence[str]], decimal: str) -> bool:
    """Say whether numbers are names: integers that increase, above nothing but fractions.

    pandas writes columns without names that way (0, 1, 2), and columns that are years.
    """
    if len(first) < 2 or not rest or not all(cell.strip().isdecimal() for cell in first):
        return False
    numbers = [int(cell) for cell in first]
    fraction = re.compile(rf"[+-]?\d*\{decimal}\d+([eE][+-]?\d+)?")
    return all(a < b for a, b in pairwise(numbers)) and all(
        fraction.fullmatch(cell.strip()) or cell.strip() in MISSING for row in rest for cell in row
    )


def _guess_delimiter(lines: Sequence[str]) -> str:
    for has_title in (False, True):
        for delimiter in DELIMITERS:
            n_above = _count_lines_above(lines, delimiter) if has_title else 0
            widths = {len(row) for row in _rows(lines[n_above:], delimiter)}
            if len(widths) == 1 and widths.pop() > 1:
                return delimiter
    # One column; or some rows have another length, which reading reports.
    first = lines[0] if lines else ""
    return max(DELIMITERS[:-1], key=lambda each: (first.count(each), each == ","))


#: A line with this share of the cells of a row is part of the table; what is above is a title.
PART_OF_TABLE = 0.5


def _count_lines_above(lines: Sequence[str], delimiter: str) -> int:
    """Return the number of lines above the header: titles and empty lines, 0 without a header."""
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
        if len(row) > 1 and n_filled >= PART_OF_TABLE * width:
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


# --- Files that were opened, their columns not yet converted --------------------------------------

#: Bytes of a CSV file to parse at a time; pyarrow reads some thirty such blocks ahead.
CSV_BLOCK = 2**20
#: Bytes that a cell takes, at most, on average over a row, which must fit into one block.
CELL_BYTES = 256
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


def describe_lines_above(number: int) -> str:
    """Say that lines above the header, at least one, are left out."""
    lines = "1 line above the header is" if number == 1 else f"{number} lines above the header are"
    return f"{lines} left out"


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
    """A file whose columns are converted when they are asked for.

    Attributes
    ----------
    where : str
        What the file is called in messages.
    names : tuple of str or None
        Names of the columns; None if the file has none.
    n_columns : int
    index : tuple of int
        Columns that hold the index of a pandas frame.
    n_above : int
        Lines of a text file above the header, such as a title, that are left out.
    sheet : SheetChoice or None
        Which sheet of an Excel file is read.
    written : dict of int to WrittenColumn
        Columns of texts that were read as numbers.
    """

    where: str
    names: tuple[str, ...] | None
    n_columns: int
    index: tuple[int, ...] = ()
    n_above: int = 0
    sheet: Any = None

    def __init__(self) -> None:
        self.written: dict[int, WrittenColumn] = {}

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        return variable_names(self.n_columns) if self.names is None else self.names

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
            Stray(row + 1, self.shown_names[j], text.strip())
            for j in columns
            if j in self.written
            for row, text in self.written[j].strays
        ]
        return tuple(sorted(found, key=lambda each: each.row))

    def find_formats(self, columns: Sequence[int]) -> dict[int, NumberFormat]:
        """Return how the numbers of columns are written that have units or separated thousands."""
        found = {j: self.written[j].format for j in columns if j in self.written}
        return {j: form for j, form in found.items() if any(form[1:])}

    def find_first_line(self, n_rows: int) -> int | None:
        """Return the line of the file that holds the first row; None unless each row is one."""
        return None

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
        listed = ", ".join(f"{self.column_name(j)} ({example})" for j, example in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        names = [str(j + 1) if self.names is None else self.names[j] for j, _ in found[:5]]
        raise TableError(
            f"{self.where}: expected numbers, found text in {listed}{more}",
            "text",
            names=",".join(names),
        )


class CsvFile(OpenTable):
    """A text file: its path or its content, and what the user says of the layout."""

    def __init__(
        self,
        file: str | bytes,
        where: str,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> None:
        super().__init__()
        self.where = where
        self._file = file
        #: None for UTF-8.
        self.encoding: str | None = None
        with open_stream(file) as stream:
            self.encoding = _guess_encoding(first_lines(stream), where)
        with self._text_errors(), self._open() as stream:
            beginning = first_lines(stream)
        try:
            self.dialect = guess_dialect(beginning, delimiter=delimiter, header=header)
        except ValueError as error:
            raise TableError(f"{where}: {error}") from error
        self.names = self.dialect.header
        self.n_columns = self.dialect.n_columns
        self.n_above = self.dialect.n_above
        if self.names is not None and not self.names[0]:
            self.index = (0,)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self.where

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""
        if not self.dialect.doubtful.intersection(columns):
            with suppress(import_arrow().ArrowInvalid):
                return join_columns(self._read(columns).columns)
        # Some cell is no number: it is one of few, or the column is refused.
        self._checked(columns, lambda: self.refuse_texts(columns))
        plain = [j for j in columns if j not in self.written]
        read = self._checked(plain, lambda: self._read(plain)).columns if plain else []
        found = dict(zip(plain, map(as_numbers, read), strict=True))
        return np.column_stack(
            [self.written[j].values if j in self.written else found[j] for j in columns]
        )

    def find_formats(self, columns: Sequence[int]) -> dict[int, NumberFormat]:
        """Return how the numbers of columns are written that have units or separated thousands."""
        formats = {j: form for j, form in self.dialect.formats.items() if j in columns}
        return formats | super().find_formats(columns)

    def find_first_line(self, n_rows: int) -> int | None:
        """Return the line of the file that holds the first row; None unless each row is one."""
        with self._open() as stream:
            # Block by block: what is compressed has no size that reading all of it asks for.
            content = b"".join(iter(lambda: stream.read(CSV_BLOCK), b""))
        n_lines = content.rstrip().count(b"\n") + 1
        n_before = self.n_above + int(self.names is not None)
        return n_before + 1 if n_lines == n_before + n_rows else None

    def batches(self, columns: Sequence[int], n_rows: int = 0) -> Iterator[tuple[list[Any], str]]:
        """Yield the columns of some rows, however many a block of text holds, with the path."""
        if not self.dialect.n_sampled:
            return
        with self._open() as stream:
            open_csv = import_arrow("pyarrow.csv").open_csv
            batches = self._checked(columns, lambda: open_csv(stream, *self._options(columns)))
            while (batch := self._checked(columns, lambda: next(batches, None))) is not None:
                read = batch
                yield (
                    self._checked(columns, lambda: self._convert(read, columns)).columns,  # noqa: B023
                    self.path,
                )

    def count_rows(self) -> int:
        """Count the rows."""
        return sum(len(columns[0]) for columns, _ in self.batches([0]))

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        arrow = import_arrow()
        try:
            found = self._read([column], arrow.string()).column(0)
        except arrow.ArrowInvalid as error:
            self._refuse_ragged()
            raise TableError(
                f"{self.where}: {self.column_name(column)} cannot be read as text ({error})",
                "encoding",
            ) from error
        return np.array(["" if cell is None else cell for cell in found.to_pylist()], dtype=object)

    def find_texts(self, columns: Sequence[int]) -> list[tuple[int, str]]:
        """Return those of the columns that are not numeric, each with an example and its row."""
        arrow = import_arrow()
        doubtful = self.dialect.doubtful
        found = {
            j: text for j, text in self.dialect.texts.items() if j in columns and j not in doubtful
        }
        others = [j for j in columns if j not in found and j not in self.written]
        if not doubtful.intersection(others):
            with suppress(arrow.ArrowInvalid):
                self._read(others or [0], None if others else arrow.binary())
                others = []  # what the first lines tell is all
        for j in others:
            if j not in doubtful:
                with suppress(arrow.ArrowInvalid):
                    self._read([j])
                    continue
            cells = self.texts(j)
            if j in self.dialect.truth:
                text = _first_text(cells, READ_AS_TRUTH.__contains__)
            elif (written := read_texts(cells.tolist(), self.dialect.decimal)) is not None:
                self.written[j] = written
                continue
            else:
                text = _first_text(cells, partial(is_number, decimal=self.dialect.decimal))
            if text is not None:
                found[j] = text
        return sorted(found.items())

    def check_numeric(self, columns: Sequence[int]) -> None:
        """Raise if a column is not numeric in the first lines."""
        texts = self.dialect.texts
        self._refuse([(j, texts[j]) for j in columns if j in texts])

    def is_single_precision(self, columns: Sequence[int]) -> bool:
        """Return False: decimal digits are read in double precision."""
        return False

    def _checked(self, columns: Sequence[int], read: Callable[[], Any]) -> Any:
        """Read, and replace an error of pyarrow by one that names row, column and remedy."""
        try:
            with self._text_errors():
                return read()
        except import_arrow().ArrowInvalid as error:
            self._refuse_ragged()
            self.refuse_texts(columns)
            # Few cells are no numbers, which only a table that is read whole may have.
            self._refuse(
                [
                    (j, f"{text[:30]!r} in row {row + 1}")
                    for j in columns
                    if j in self.written
                    for row, text in self.written[j].strays[:1]
                ]
            )
            raise TableError(f"{self.where} cannot be read: {error}") from error

    @contextmanager
    def _text_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            encoding = self.encoding or "UTF-8"
            raise TableError(f"{self.where} is not {encoding} text: {error}", "encoding") from error

    def _open(self) -> Any:
        stream = open_stream(self._file)
        if self.encoding is None:
            return stream
        return import_arrow().transcoding_input_stream(stream, self.encoding, "utf-8")

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
                decimal_point=self.dialect.decimal,
            ),
        ]

    @property
    def _block_size(self) -> int:
        return max(CSV_BLOCK, CELL_BYTES * self.n_columns)

    def _type(self, column: int) -> Any:
        arrow = import_arrow()
        if column in self.dialect.formats:
            return arrow.string()
        return arrow.bool_() if column in self.dialect.truth else arrow.float64()

    def _read(self, columns: Sequence[int], kind: Any = None, skip_row: Any = None) -> Any:
        with self._text_errors(), self._open() as stream:
            options = self._options(columns, kind, skip_row)
            table = import_arrow("pyarrow.csv").read_csv(stream, *options)
        return table if kind is not None else self._convert(table, columns)

    def _convert(self, table: Any, columns: Sequence[int]) -> Any:
        """Return a table or a batch whose texts with a format of numbers are numbers."""
        arrow = import_arrow()
        for place, j in enumerate(columns):
            if j not in self.dialect.formats:
                continue
            read = self.dialect.formats[j].read
            numbers = [read(cell or "") for cell in table.column(place).to_pylist()]
            if None in numbers:
                raise arrow.ArrowInvalid("a number has a different format than the first ones")
            table = table.set_column(place, str(j), arrow.array(numbers, arrow.float64()))
        return table

    def refuse_open_quotes(self) -> None:
        """Name the line of a quote that is not closed, or of a row that is too long to be read."""
        with self._open() as stream:
            content = b"".join(iter(lambda: stream.read(CSV_BLOCK), b"")).decode("utf-8", "replace")
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
                    f"{self._block_size:,} that fit into a row of {self.n_columns} columns; "
                    "shorten its texts"
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


#: A file may expand to so many bytes, or to so many times its size, whatever is more. What expands
#: further is made to fill the memory.
MOST_EXPANDED, MOST_TIMES = 2**28, 200


def check_expansion(expanded: float, size: int, where: str) -> None:
    """Raise if a file of some size expands as only those do that are made to fill the memory."""
    if expanded > max(MOST_EXPANDED, MOST_TIMES * size):
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
            while n_block := len(stream.read(CSV_BLOCK)):
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
    for encoding in (None, "cp1252"):  # UTF-8, or files of spreadsheets on Windows
        with suppress(UnicodeDecodeError):
            beginning.decode(encoding or "utf-8")
            return encoding
    return "latin-1"  # which reads any byte


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


def join_columns(columns: Sequence[Any]) -> FloatArray:
    """Return numeric columns of Arrow side by side."""
    values = np.empty((len(columns[0]) if columns else 0, len(columns)))
    for k, column in enumerate(columns):
        values[:, k] = as_numbers(column)
    return values
