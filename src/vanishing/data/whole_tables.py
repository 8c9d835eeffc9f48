"""Files read and written as whole tables, and how the text of a CSV file is laid out.

``fit("table.csv")``, ``read_table`` and the command line read through this module: they agree on
delimiters, decimal signs, encodings, headers and on what a missing value is.
"""

import csv
import io
import os
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.polynomials.monomials import variable_names

Texts = npt.NDArray[np.object_]
#: Columns of equal length by name: numbers, truth values or texts.
Columns = Mapping[str, npt.NDArray[Any]]

#: What users of the library can do about an error; the command line names its options instead.
REMEDIES = {
    "array": "choose one with array=...",
    "delimiter": "fix the row, or pass another delimiter than {delimiter!r} to read_table",
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


def _arrow(module: str = "pyarrow") -> Any:
    return import_extra(module, extra="io", purpose="reading tables")


# --- How a text file is laid out: delimiter, decimal sign, header; guessed from its beginning -----

#: Bytes to look at, roughly.
SAMPLE_SIZE = 2**16
#: In order of preference: a comma may be a decimal sign, a space may be part of a name.
DELIMITERS = (";", "\t", "|", ",", " ")
#: Spellings of a missing value, those of pyarrow.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
    | {"1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)
#: Spellings of a truth value.
TRUTH = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
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
    truth : frozenset of int
        Columns of truth values.
    texts : mapping of int to str
        Columns that are not numeric, with an example each.
    """

    delimiter: str
    decimal: str
    header: tuple[str, ...] | None
    n_columns: int
    n_sampled: int
    commented: bool
    truth: frozenset[int]
    texts: Mapping[int, str]

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
    # Where commas separate columns, "1,000" in quotes may be a thousand or a one: it stays text.
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
    sampled = rest if header else rows
    truth, texts = set(), {}
    for j in range(len(first)):
        column = [row[j].strip() for row in sampled if j < len(row)]
        if (said := set(column) - MISSING) and said <= TRUTH:
            truth.add(j)
        elif (text := _first_text(column, decimal)) is not None:
            texts[j] = text
    return Dialect(
        delimiter, decimal, names, len(first), len(sampled), commented, frozenset(truth), texts
    )


def _first_text(cells: Iterable[str], decimal: str) -> str | None:
    """Return the first cell that is no number, and its row."""
    for row, cell in enumerate(cells, start=1):
        if cell and not is_number(cell, decimal):
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


def is_number(cell: str, decimal: str) -> bool:
    """Say whether a cell holds a number, or stands for a missing one."""
    cell = cell.strip()
    if cell in MISSING:
        return cell != ""  # a name may be left out, a word for missing is no name
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # only Python reads 1_000


def _guess_delimiter(lines: Sequence[str]) -> str:
    for delimiter in DELIMITERS:
        widths = {len(row) for row in _rows(lines, delimiter)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    # One column; or some rows have another length, which reading reports.
    first = lines[0] if lines else ""
    return max(DELIMITERS[:-1], key=lambda each: (first.count(each), each == ","))


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
    """

    where: str
    names: tuple[str, ...] | None
    n_columns: int
    index: tuple[int, ...] = ()

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
        self.where = where
        self._file = file
        #: None for UTF-8.
        self.encoding: str | None = None
        with _open_stream(file) as stream:
            self.encoding = _guess_encoding(first_lines(stream), where)
        with self._text_errors(), self._open() as stream:
            beginning = first_lines(stream)
        try:
            self.dialect = guess_dialect(beginning, delimiter=delimiter, header=header)
        except ValueError as error:
            raise TableError(f"{where}: {error}") from error
        self.names = self.dialect.header
        self.n_columns = self.dialect.n_columns
        if self.names is not None and not self.names[0]:
            self.index = (0,)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self.where

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""
        return _join_columns(self._checked(columns, lambda: self._read(columns)).columns)

    def batches(self, columns: Sequence[int], n_rows: int = 0) -> Iterator[tuple[list[Any], str]]:
        """Yield the columns of some rows, however many a block of text holds, with the path."""
        if not self.dialect.n_sampled:
            return
        with self._open() as stream:
            batches = self._checked(
                columns, lambda: _arrow("pyarrow.csv").open_csv(stream, *self._options(columns))
            )
            while (batch := self._checked(columns, lambda: next(batches, None))) is not None:
                yield batch.columns, self.path

    def count_rows(self) -> int:
        """Count the rows."""
        return sum(len(columns[0]) for columns, _ in self.batches([0]))

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        arrow = _arrow()
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
        arrow = _arrow()
        found = {j: self.dialect.texts[j] for j in columns if j in self.dialect.texts}
        others = [j for j in columns if j not in found]
        with suppress(arrow.ArrowInvalid):
            self._read(others or [0], None if others else arrow.binary())
            others = []  # what the first lines tell is all
        for j in others:
            with suppress(arrow.ArrowInvalid):
                self._read([j])
                continue
            cells = self.texts(j)
            if j in self.dialect.truth:
                cells[[cell in TRUTH for cell in cells]] = ""
            if (text := _first_text(cells, self.dialect.decimal)) is not None:
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
        except _arrow().ArrowInvalid as error:
            self._refuse_ragged()
            self.refuse_texts(columns)
            raise TableError(f"{self.where} cannot be read: {error}") from error

    @contextmanager
    def _text_errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            encoding = self.encoding or "UTF-8"
            raise TableError(f"{self.where} is no {encoding} text: {error}", "encoding") from error

    def _open(self) -> Any:
        stream = _open_stream(self._file)
        if self.encoding is None:
            return stream
        return _arrow().transcoding_input_stream(stream, self.encoding, "utf-8")

    def _options(self, columns: Sequence[int], kind: Any = None, skip_row: Any = None) -> list[Any]:
        """Return the options of pyarrow; columns are called by their places."""
        arrow, arrow_csv = _arrow(), _arrow("pyarrow.csv")
        names = [str(j) for j in range(self.n_columns)]
        types = {
            names[j]: kind or (arrow.bool_() if j in self.dialect.truth else arrow.float64())
            for j in columns
        }
        has_header = self.names is not None
        return [
            arrow_csv.ReadOptions(
                column_names=names,
                # A comment has more cells than there are columns, so it is no row.
                skip_rows=int(has_header and self.dialect.commented),
                skip_rows_after_names=int(has_header and not self.dialect.commented),
                use_threads=skip_row is None,
                block_size=max(CSV_BLOCK, CELL_BYTES * self.n_columns),
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

    def _read(self, columns: Sequence[int], kind: Any = None, skip_row: Any = None) -> Any:
        with self._text_errors(), self._open() as stream:
            options = self._options(columns, kind, skip_row)
            return _arrow("pyarrow.csv").read_csv(stream, *options)

    def _refuse_ragged(self) -> None:
        """Name the first row of another length, if there is one."""
        arrow = _arrow()
        found: list[Any] = []

        def skip(row: Any) -> str:
            found.append(row)
            return "skip"

        with suppress(arrow.ArrowInvalid):  # it is something else
            self._read([0], arrow.binary(), skip)
        if found:
            number = found[0].number - int(self.names is not None)
            raise TableError(
                f"{self.where}: row {number} has {found[0].actual_columns} cells, expected "
                f"{self.n_columns} as in the first line",
                "delimiter",
                delimiter=self.dialect.delimiter,
            )


def _open_stream(file: str | bytes) -> Any:
    """Open a path or the content of a file; what is compressed comes decompressed."""
    arrow = _arrow()
    if isinstance(file, bytes):
        return arrow.BufferReader(file)
    return arrow.input_stream(file, compression=COMPRESSED.get(Path(file).suffix))


def _guess_encoding(beginning: bytes, where: str) -> str | None:
    """Return the encoding of a text file, None for UTF-8."""
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in beginning:
        raise TableError(f"{where} is no text file", "format")
    # Files of spreadsheets on Windows; Latin-1 reads any byte.
    for encoding in ("utf-8", "cp1252", "latin-1"):
        with suppress(UnicodeDecodeError):
            beginning.decode(encoding)
            return None if encoding == "utf-8" else encoding
    return None


def is_numeric(kind: Any) -> bool:
    """Say whether a type of Arrow is one of numbers, truth values included."""
    types = _arrow("pyarrow.types")
    return any(
        is_kind(kind)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    )


def as_numbers(column: Any, dtype: str = "double") -> FloatArray:
    """Return a numeric column of Arrow, NaN where a value is missing."""
    return np.asarray(column.cast(dtype, safe=False).to_numpy(zero_copy_only=False))


def _join_columns(columns: Sequence[Any]) -> FloatArray:
    values = np.empty((len(columns[0]) if columns else 0, len(columns)))
    for k, column in enumerate(columns):
        values[:, k] = as_numbers(column)
    return values


class ColumnFile(OpenTable):
    """Columns of Arrow in memory; ``row_shape`` is the shape of what became a row."""

    def __init__(
        self,
        where: str,
        names: Sequence[str] | None,
        columns: Sequence[Any],
        *,
        index: tuple[int, ...] = (),
        row_shape: tuple[int, ...] = (),
    ) -> None:
        self.where = where
        self.names = None if names is None else tuple(names)
        self.n_columns = len(columns)
        self.index = index
        self.row_shape = row_shape
        self._columns = columns

    def find_texts(self, columns: Sequence[int]) -> list[tuple[int, str]]:
        """Return those of the columns that are not numeric, each with an example and its row."""
        found = []
        for j in columns:
            column = self._columns[j]
            if not is_numeric(column.type) and str(column.type) != "null":
                cells = ((row, cell) for row, cell in enumerate(column, start=1) if cell.is_valid)
                row, cell = next(cells, (0, column.type))
                found.append((j, f"{str(cell)[:30]!r} in row {row}" if row else f"type {cell}"))
        return found

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""
        self.refuse_texts(columns)
        return _join_columns([self._columns[j] for j in columns])

    def texts(self, column: int) -> Texts:
        """Return a column as people write it: 3 rather than 3.0."""
        cells = self._columns[column].to_pylist()
        if all(isinstance(cell, float) and cell.is_integer() for cell in cells):
            cells = list(map(int, cells))
        return np.array(["" if cell is None else str(cell) for cell in cells], dtype=object)


# --- Opening a file of any kind -------------------------------------------------------------------

#: First bytes of the binary formats.
MAGIC = {
    b"PAR1": "parquet",
    b"ARRO": "feather",
    b"\x93NUM": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
}


def open_table(
    file: str | os.PathLike[str] | bytes,
    *,
    where: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    array: str | None = None,
) -> CsvFile | ColumnFile:
    """Open a table; its columns are converted when they are asked for.

    Parameters
    ----------
    file : path or bytes
        A CSV, TSV, Parquet, Arrow, NPY or NPZ file, compressed or not; or the content of one.
    where : str, optional
        What it is called in messages; by default the path.
    format : {"csv", "parquet", "feather", "npy", "npz"}, optional
        By default what the first bytes say.
    delimiter : str, optional
        Of a text file; guessed by default.
    header : bool, optional
        Whether the first line of a text file holds names; guessed by default.
    array : str, optional
        Which array of an NPZ file; needed where it has several tables.
    """
    if not isinstance(file, bytes):
        file = os.fspath(file)
        where = where or file
        if not Path(file).is_file():
            file = Path(file).read_bytes()  # a pipe is read once; a folder raises an error
        elif file.lower().endswith((".xlsx", ".xls", ".ods")) and format is None:
            raise TableError(f"{where} is a spreadsheet; save the sheet as CSV")
    where = where or "the table"
    with _open_stream(file) as stream:
        start = stream.read(4)
    format = format or MAGIC.get(start, "csv")
    if format == "csv":
        opened = CsvFile(file, where, delimiter=delimiter, header=header)
        if not opened.dialect.n_sampled:
            raise TableError(f"{where} has no rows, only a header; at least one is required")
        return opened
    if format in ("parquet", "feather"):
        return _open_arrow(file, where, format)
    return _open_numpy(file, where, array)


def _open_arrow(file: str | bytes, where: str, format: str) -> ColumnFile:
    arrow, reader = _arrow(), _arrow(f"pyarrow.{format}")
    try:
        with _open_stream(file) as stream:
            table = reader.read_table(arrow.BufferReader(stream.read()))
    except (arrow.ArrowInvalid, OSError) as error:
        kind = format.capitalize()
        raise TableError(f"{where} is no {kind} file that can be read: {error}") from error
    index = index_columns(table.schema)
    return ColumnFile(where, table.column_names, table.columns, index=index)


def index_columns(schema: Any) -> tuple[int, ...]:
    """Return which columns hold the index of a pandas frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(j for j, name in enumerate(schema.names) if name in index)


def _open_numpy(file: str | bytes, where: str, array: str | None) -> ColumnFile:
    with _open_stream(file) as stream:
        content = stream.read()
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise TableError(f"{where} is no NumPy file that can be read: {error}") from error
    if isinstance(loaded, np.ndarray):
        return _split_array(loaded, where)
    found = {name: _load_member(loaded, name, where) for name in loaded}
    listed = ", ".join(found) or "no arrays"
    if array is not None:
        if array not in found:
            raise TableError(f"{where} has no array {array!r}; it has {listed}")
        return _split_array(found[array], where)
    tables = [name for name, each in found.items() if each.ndim >= 2]
    if len(tables) == 1:
        return _split_array(found[tables[0]], where)
    if tables:
        raise TableError(f"{where} has the tables {', '.join(tables)}", "array")
    columns = {name: each for name, each in found.items() if each.ndim == 1}
    if len({len(each) for each in columns.values()}) != 1:
        raise TableError(f"{where} holds no table: it has {listed}")
    return _split_columns(columns, where)


def _load_member(archive: Any, name: str, where: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise TableError(f"{where}: the array {name!r} cannot be read: {error}") from error


def _split_array(array: npt.NDArray[Any], where: str) -> ColumnFile:
    """Return the columns of an array; of one with more dimensions, each entry is a row."""
    if array.dtype.names is not None:
        return _split_columns({name: array[name] for name in array.dtype.names}, where)
    if array.ndim == 0:
        raise TableError(f"{where} holds a single value; a table has rows and columns")
    if array.dtype.kind == "c":
        raise TableError(f"{where} holds complex numbers; save their real and imaginary parts")
    columns = array.reshape(len(array), -1 if array.size else 0)
    row_shape = array.shape[1:] if array.ndim > 2 else ()
    return ColumnFile(where, None, list(map(_as_arrow, columns.T)), row_shape=row_shape)


def _split_columns(columns: Columns, where: str) -> ColumnFile:
    return ColumnFile(where, list(columns), list(map(_as_arrow, columns.values())))


def _as_arrow(column: npt.NDArray[Any]) -> Any:
    """Return a column of NumPy as one of Arrow; as text where Arrow has no such type."""
    if column.dtype.kind == "f" and column.dtype.itemsize > 8:
        column = column.astype(np.float64)
    if column.dtype.kind not in "biufmMSU":
        column = column.astype(str)
    return _arrow().array(column.astype(column.dtype.newbyteorder("="), copy=False))


# --- A table as it was read: numbers, and what belongs to their rows ------------------------------


class SetAside(NamedTuple):
    """A column that was not read, and why: "text, 'Rome' in row 1"."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        NaN where a value is missing.
    names : tuple of str or None
        Of the columns; None where the file has none.
    row_ids : array of str of shape (n_rows,) or None
        What the user calls the rows.
    set_aside : tuple of SetAside
        Columns that are not numeric.
    rows : int array of shape (n_rows,)
        The number of each row in the file, from 1, without the header.
    labels : array of str of shape (n_rows,) or None
    where : str
        What the table is called in messages: its file.
    """

    values: FloatArray
    names: tuple[str, ...] | None
    row_ids: Any = None
    set_aside: tuple[SetAside, ...] = ()
    rows: Any = None
    labels: Any = None
    where: str = "the table"

    def __post_init__(self) -> None:
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(1, len(self.values) + 1))

    @property
    def for_model(self) -> Any:
        """What estimators take: with the names of the columns, if there are any."""
        if self.names is None:
            return self.values
        columns = [np.ascontiguousarray(column) for column in self.values.T]
        return _arrow().table(columns, names=list(self.names))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        return variable_names(self.values.shape[1]) if self.names is None else self.names

    def __len__(self) -> int:
        return len(self.values)

    def row_name(self, index: int) -> str:
        """Return what the user calls a row.

        Parameters
        ----------
        index : int

        Returns
        -------
        str
        """
        return str(self.rows[index] if self.row_ids is None else self.row_ids[index])

    def keep(self, kept: BoolArray | IntArray) -> "Table":
        """Return a table of some of the rows.

        Parameters
        ----------
        kept : array of bool or int
            A mask, or the indices of the rows.

        Returns
        -------
        Table
        """
        return Table(
            self.values[kept],
            self.names,
            None if self.row_ids is None else self.row_ids[kept],
            self.set_aside,
            self.rows[kept],
            None if self.labels is None else self.labels[kept],
            self.where,
        )


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_ids: str | None = None,
    **layout: Any,
) -> Table:
    r"""Read a table into memory.

    Parameters
    ----------
    path : path
        Of a CSV, TSV, Parquet, Arrow, NPY or NPZ file, compressed or not.
    columns : sequence of str, optional
        Which columns to read; each must be numeric. By default all numeric ones, and the others are
        named in ``set_aside``.
    row_ids : str, optional
        The column that names the rows; by default the index of a pandas frame, if there is one.
    **layout
        ``format``, ``delimiter``, ``header`` and ``array``, as ``open_table`` takes them.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be read, or a column that was asked for is not numeric.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vanishing.data import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     _ = path.write_text("day;x;y\n2026-01-05;1,5;2\n2026-01-06;2,5;3\n")
    ...     table = read_table(path)
    >>> table.names, table.values.tolist()
    (('x', 'y'), [[1.5, 2.0], [2.5, 3.0]])
    >>> table.set_aside
    (SetAside(name='day', reason="date, '2026-01-05' in row 1"),)
    """
    opened = open_table(path, **layout)
    shown = opened.shown_names
    for name in (*(columns or ()), *(() if row_ids is None else (row_ids,))):
        if name not in shown:
            raise TableError(f"{opened.where} has no column {name!r}; it has {', '.join(shown)}")
    index = opened.index if row_ids is None else (shown.index(row_ids),)
    set_aside: tuple[SetAside, ...] = ()
    if columns is None:
        others = [j for j in range(opened.n_columns) if j not in index]
        wanted, set_aside = opened.set_texts_aside(others)
    else:
        wanted = [shown.index(name) for name in columns]
    return Table(
        opened.numbers(wanted),
        None if opened.names is None else tuple(shown[j] for j in wanted),
        opened.texts(index[0]) if index else None,
        set_aside,
        where=opened.where,
    )


def _describe(example: str) -> str:
    """Say whether an example, such as "'Rome' in row 1", is a date or another text."""
    try:
        datetime.fromisoformat(example.partition("'")[2].partition("'")[0])
    except ValueError:
        return f"text, {example}"
    return f"date, {example}"


# --- Writing columns ------------------------------------------------------------------------------

#: Kinds of tables by how the names of their files end.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}
#: How formulas of spreadsheets begin, or what may come before that.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_columns(file: IO[bytes], batches: Iterable[Columns], kind: str) -> None:
    """Write a table into a file or a pipe, a batch of rows at a time."""
    rest = iter(batches)
    first = next(rest)
    _WRITERS[kind](file, first, chain([first], rest))


def no_formula(text: str) -> str:
    """Put an apostrophe before a text that spreadsheets would compute; numbers stay as they are."""
    return f"'{text}" if text.startswith(FORMULA) and not is_number(text, ".") else text


def _write_csv(
    file: IO[bytes], first: Columns, batches: Iterable[Columns], *, delimiter: str = ","
) -> None:
    arrow, arrow_csv = _arrow(), _arrow("pyarrow.csv")
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(map(no_formula, first))
    file.write(header.getvalue().encode())
    special = {delimiter, '"', "\n", "\r"}
    for batch in batches:
        texts = {
            name: [no_formula(str(text)) for text in column]
            for name, column in batch.items()
            if column.dtype.kind in "OU"
        }
        quoted = any(special & set(cell) for cells in texts.values() for cell in cells)
        # Floats come with the fewest digits that give the same number again.
        options = arrow_csv.WriteOptions(
            include_header=False,
            delimiter=delimiter,
            quoting_style="needed" if quoted else "none",
        )
        columns = [arrow.array(texts.get(name, column)) for name, column in batch.items()]
        table = arrow.table(columns, names=[str(j) for j in range(len(columns))])
        arrow_csv.write_csv(table, file, options)


def _write_tsv(file: IO[bytes], first: Columns, batches: Iterable[Columns]) -> None:
    _write_csv(file, first, batches, delimiter="\t")


def _write_parquet(file: IO[bytes], first: Columns, batches: Iterable[Columns]) -> None:
    arrow, parquet = _arrow(), _arrow("pyarrow.parquet")
    with parquet.ParquetWriter(file, arrow.table(dict(first)).schema) as writer:
        for batch in batches:
            writer.write_table(arrow.table(dict(batch)))


def _write_npy(file: IO[bytes], first: Columns, batches: Iterable[Columns]) -> None:
    """Write the numbers alone."""
    write_npy(file, map(_numeric_matrix, batches))


def write_npy(file: IO[bytes], blocks: Iterable[npt.NDArray[Any]]) -> None:
    """Write arrays one below the other; the header twice if there are several."""

    def write_header(n_rows: int) -> None:
        description = np.lib.format.header_data_from_array_1_0(block)
        description["shape"] = (n_rows, *block.shape[1:])
        # Not the file itself, whose errors NumPy would replace by its own.
        np.lib.format.write_array_header_1_0(SimpleNamespace(write=file.write), description)

    n_rows = n_first = 0
    for each in blocks:
        block = np.ascontiguousarray(each)
        if not n_rows:
            n_first = len(block)
            write_header(n_first)
        file.write(block.data)
        n_rows += len(block)
    if n_rows != n_first:
        file.seek(0)
        write_header(n_rows)  # NumPy leaves room for more digits


def _numeric_matrix(batch: Columns) -> npt.NDArray[Any]:
    """Join the columns of numbers, without the number of the row; one column is an array."""
    numbers = [each for name, each in batch.items() if each.dtype.kind != "O" and name != "row"]
    return numbers[0] if len(numbers) == 1 else np.column_stack(numbers)


def _write_npz(file: IO[bytes], first: Columns, batches: Iterable[Columns]) -> None:
    several = list(batches)
    # Not numpy.savez, whose own arguments could have the name of a column.
    with zipfile.ZipFile(file, "w") as archive:
        for name, column in first.items():
            whole = np.concatenate([batch[name] for batch in several])
            plain = whole.astype(str) if column.dtype.kind == "O" else whole
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


_WRITERS: dict[str, Callable[[IO[bytes], Columns, Iterable[Columns]], None]] = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "npy": _write_npy,
    "npz": _write_npz,
}
