"""Rows in files: Parquet, CSV and Feather by pyarrow, and paths of any kind."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, import_extra, lazy
from vanishing.data.source import SampleSource
from vanishing.data.streams import CHUNK_NUMBERS, Chunk, StoredArraySource, StreamedSource
from vanishing.polynomials.monomials import variable_names

# --- Batches of rows out of the files of a dataset, read when they are asked for ------------------
#
# The scanner of pyarrow reads ahead as fast as it can, whatever its options say: where computing
# takes longer than reading, much of a file ends up in memory. The readers of single files wait.

#: Bytes of a CSV file that are parsed at a time; pyarrow reads some thirty such blocks ahead.
CSV_BLOCK = 2**20
#: Bytes of each column of a Parquet file that are read at a time.
PARQUET_BUFFER = 2**16


def reader_of(dataset: Any, *, plain: bool) -> Callable[..., Iterator[Any]] | None:
    """Return the function that reads a file of a dataset, or None where only the scanner can.

    That is for rows in memory, filters, and columns that are in the names of folders.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    plain : bool
        Whether CSV files are known to be neither compressed nor encoded in an unusual way: a
        dataset does not tell.

    Returns
    -------
    callable or None
        ``read(fragment, names, schema, n_rows)`` yields record batches, less the columns that the
        file does not have.
    """
    formats = import_extra("pyarrow.dataset", extra="io", purpose="reading tables")
    if not isinstance(dataset, formats.FileSystemDataset):
        return None
    if getattr(
        dataset, "_scan_options", {"unknown": None}
    ):  # there is no public way to see filters
        return None
    everything = formats.scalar(True)
    if not all(part.partition_expression.equals(everything) for part in dataset.get_fragments()):
        return None
    readers = (
        (formats.ParquetFileFormat, _read_parquet),
        (formats.IpcFileFormat, _read_feather),
        (formats.CsvFileFormat, _read_csv if plain else None),
    )
    return next((read for kind, read in readers if isinstance(dataset.format, kind)), None)


def _read_parquet(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    parquet = import_extra("pyarrow.parquet", extra="io", purpose="reading tables")
    row_groups = [group.id for group in fragment.row_groups]  # a fragment may be a part of a file
    with fragment.open() as file:
        opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=PARQUET_BUFFER)
        yield from opened.iter_batches(n_rows, row_groups=row_groups, columns=list(names))


def _read_csv(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    csv = import_extra("pyarrow.csv", extra="io", purpose="reading tables")
    said = fragment.format.default_fragment_scan_options  # by whoever opened the dataset
    convert = csv.ConvertOptions(
        decimal_point=said.convert_options.decimal_point,
        column_types={name: schema.field(name).type for name in names},
        include_columns=list(names),
        include_missing_columns=True,
    )
    read = csv.ReadOptions(
        block_size=CSV_BLOCK,
        column_names=said.read_options.column_names,
        skip_rows=said.read_options.skip_rows,
    )
    parse = fragment.format.parse_options
    with (
        fragment.open() as file,
        csv.open_csv(file, read, parse, convert) as batches,
    ):
        yield from batches


def _read_feather(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    ipc = import_extra("pyarrow.ipc", extra="io", purpose="reading tables")
    with fragment.open() as file:
        opened = ipc.open_file(file)
        for index in range(opened.num_record_batches):
            batch = opened.get_batch(index)
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


# --- How a text file is laid out: delimiter, decimal sign, header; guessed from its beginning -----

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


# --- How CSV files that are read through pyarrow are laid out, all of them alike ------------------


def csv_format(files: Sequence[str], *, header: bool | None, name: str) -> tuple[Any, bool]:
    """Return the format of the CSV files of one table.

    Parameters
    ----------
    files : sequence of str
    header : bool or None
        Whether the first lines hold names; None to guess.
    name : str
        What the rows are called in error messages.

    Returns
    -------
    file_format : pyarrow.dataset.CsvFileFormat
    named : bool
        Whether the files name their columns; x0, x1, ... otherwise.
    """
    csv = import_extra("pyarrow.csv", extra="io", purpose="reading tables")
    formats = import_extra("pyarrow.dataset", extra="io", purpose="reading tables")
    dialects = [_dialect_of(file, header) for file in files]
    first = dialects[0]
    for file, dialect in zip(files, dialects, strict=True):
        _check_alike(f"{name} ({file})", dialect, files[0], first)
    # Whole numbers do not tell what the decimal sign is.
    decimal = "," if any(dialect.decimal == "," for dialect in dialects) else "."
    file_format = formats.CsvFileFormat(
        csv.ParseOptions(delimiter=first.delimiter),
        read_options=_read_options(dialects),
        convert_options=csv.ConvertOptions(decimal_point=decimal),
    )
    return file_format, first.header is not None


def _dialect_of(file: str, header: bool | None) -> Dialect:
    try:
        with Path(file).open("rb") as opened:
            return guess_dialect(first_lines(opened), header=header)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _check_alike(where: str, dialect: Dialect, first_file: str, first: Dialect) -> None:
    if dialect.delimiter != first.delimiter:
        raise ValueError(
            f"{where} has {dialect.delimiter!r} between its columns, but {first_file} has "
            f"{first.delimiter!r}; write all files alike"
        )
    if (dialect.header is None) != (first.header is None):
        with_names, without = (first_file, where) if dialect.header is None else (where, first_file)
        raise ValueError(
            f"{with_names} begins with the names of its columns, and {without} with a row; write "
            "all files alike, or say what they are by as_source(..., header=True or False)"
        )


def _read_options(dialects: Sequence[Dialect]) -> Any:
    csv = import_extra("pyarrow.csv", extra="io", purpose="reading tables")
    first = dialects[0]
    if first.header is None:
        return csv.ReadOptions(column_names=list(variable_names(first.n_columns)))
    if not any(dialect.commented or dialect.trimmed for dialect in dialects):
        return csv.ReadOptions()  # pyarrow finds the names, in another order in each file
    if any(dialect.header != first.header for dialect in dialects):
        raise ValueError(
            "the first lines of the files differ, and have comments or spaces around names; write "
            "all files alike"
        )
    return csv.ReadOptions(
        column_names=list(first.header),
        skip_rows=1,  # not skip_rows_after_names, which count_rows does not look at
    )


# --- What the columns of a table in several files are: they may differ in type from file to file --


class Columns:
    """The columns that are used of a table, checked in every file.

    Parameters
    ----------
    schemas : sequence of (str, pyarrow.Schema)
        Of each file, with its name; of a single table under the name of the whole.
    names : sequence of str or None
        Which columns to use; None for all but the index of a pandas frame, and then the same in
        all files.
    """

    def __init__(self, schemas: Sequence[tuple[str, Any]], names: Sequence[str] | None) -> None:
        first_file, first = schemas[0]
        self.names = _without_index(first) if names is None else tuple(names)
        if not self.names:
            raise ValueError(f"{first_file} has no columns: at least one is required")
        for file, schema in schemas:
            self._check_names(file, schema)
            if names is None:
                _refuse_more(file, schema, first_file, first)
            _check_types(file, schema, self.names)
        #: Of each column, one a file.
        self.types = [schema.field(name).type for _, schema in schemas for name in self.names]

    def _check_names(self, file: str, schema: Any) -> None:
        missing = [name for name in self.names if name not in schema.names]
        if missing:
            raise ValueError(
                f"{file} has no columns {missing}; its columns are {schema.names}; choose by "
                "as_source(..., columns=[...])"
            )
        repeated = sorted(
            name
            for name in set(self.names)
            if max(self.names.count(name), schema.names.count(name)) > 1
        )
        if repeated:
            raise ValueError(f"{file} has several columns that are called {repeated}")

    @property
    def dtype(self) -> Any:
        """Single precision if no column is wider in any file."""
        arrow = import_extra("pyarrow", extra="io", purpose="reading tables")
        narrow = (arrow.float16(), arrow.float32())
        return np.float32 if all(kind in narrow for kind in self.types) else np.float64


def _refuse_more(file: str, schema: Any, first_file: str, first: Any) -> None:
    more = [name for name in _without_index(schema) if name not in first.names]
    if more:
        raise ValueError(
            f"{file} has the columns {more}, which {first_file} has not; choose those that all "
            "files have by as_source(..., columns=[...])"
        )


def _check_types(file: str, schema: Any, names: Sequence[str]) -> None:
    other = [
        f"{name!r} ({schema.field(name).type})"
        for name in names
        if not _is_number(schema.field(name).type)
    ]
    if other:
        raise ValueError(
            f"{file} must hold real numbers, but these columns do not: {', '.join(other)}; choose "
            "the others by as_source(..., columns=[...])"
        )


def _without_index(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns; the index of a pandas frame, stored as one, is none."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(name for name in schema.names if name not in index)


def _is_number(kind: Any) -> bool:
    """Say whether a type of Arrow is one of numbers, truth values included."""
    types = import_extra("pyarrow.types", extra="io", purpose="reading tables")
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


# --- Parquet, CSV and Feather files through pyarrow -----------------------------------------------


class TableSource(StreamedSource):
    """The rows of a dataset of pyarrow: one file or many, of one table.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Columns of integers, floating-point numbers and booleans; missing entries are NaN, and
        refused as such.
    columns : sequence of str, optional
        Which columns to use, in this order; by default all but the index of a pandas frame.
    name : str
        What the rows are called in error messages.
    by_path : bool
        Whether the dataset was opened by the paths of files and nothing else: CSV files are then
        plain ones, and columns of other files have the type that each file says, rather than that
        of the dataset, which is that of the first file.
    named : bool
        Whether the names of the columns are those of the files, rather than our own.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        columns: Sequence[str] | None = None,
        name: str = "X",
        by_path: bool = False,
        named: bool = True,
    ) -> None:
        self.dataset = dataset
        self.by_path = by_path
        self.name = name
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a list of names, got {columns!r}; write [{columns!r}]"
            )
        checked = Columns(self._schemas(), columns)
        self._used = checked.names
        # Our own names tell something only where some columns were chosen by them.
        self.feature_names = self._used if named or columns is not None else None
        self._dtype = checked.dtype

    def _schemas(self) -> list[tuple[str, Any]]:
        """Return the columns that the files have, or that the dataset says they have."""
        files = list(self.dataset.get_fragments()) if self._has_types_of_files else []
        if len(files) <= 1:
            return [(self.name, self.dataset.schema)]
        schemas = []
        for file in files:
            where = f"{self.name} ({file.path})"
            try:
                schemas.append((where, file.physical_schema))
            except (OSError, ValueError) as error:  # pyarrow's own errors are of these
                raise ValueError(f"{where} cannot be opened: {error}") from error
        return schemas

    @property
    def _has_types_of_files(self) -> bool:
        """Whether columns are of the type that each file says; those of CSV files are guesses."""
        formats = import_extra("pyarrow.dataset", extra="io", purpose="reading tables")
        return self.by_path and not isinstance(self.dataset.format, formats.CsvFileFormat)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._used)

    @lazy
    def n_samples(self) -> int:
        """Number of rows: from the headers of Parquet files, counted in CSV files."""
        return int(self.dataset.count_rows())

    @property
    def cpu(self) -> bool:
        """True."""
        return True

    def _read(self) -> Iterator[Chunk]:
        file, start = None, 0
        for batch, fragment in self._batches(max(1, CHUNK_NUMBERS // self.n_features)):
            path = getattr(fragment, "path", None)
            start = start if path == file else 0
            file, stop = path, start + batch.num_rows
            place = f"{path}, " if path else ""
            yield Chunk(self._rows(batch), f"{place}rows {start} to {stop - 1}")
            start = stop

    def _batches(self, n_rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield batches of at most so many rows, each with the file that it is of."""
        names = list(self._used)
        read = reader_of(self.dataset, plain=self.by_path)
        if read is not None:
            for fragment in self.dataset.get_fragments():
                for batch in read(fragment, names, self.dataset.schema, n_rows):
                    yield batch, fragment
            return
        scanner = self.dataset.scanner(
            columns=names,
            batch_size=n_rows,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=self._scan_options(),
            use_threads=False,  # would run ahead even further
        )
        yield from scanner.scan_batches()

    def _scan_options(self) -> Any:
        """Bounds on what is held of a file."""
        formats = import_extra("pyarrow.dataset", extra="io", purpose="reading tables")
        file_format = getattr(self.dataset, "format", None)
        if isinstance(file_format, formats.ParquetFileFormat):
            # Otherwise all columns of a file are fetched before the first batch.
            return formats.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        return None

    def _rows(self, batch: Any) -> FloatArray:
        """Copy the columns of a batch into a matrix that lies one column after the other."""
        columns = np.full((self.n_features, batch.num_rows), np.nan, dtype=self._dtype)
        arrow_type = "float" if self._dtype == np.float32 else "double"
        there = set(batch.schema.names)
        for row, name in zip(columns, self._used, strict=True):
            if name in there:
                column = batch.column(name).cast(arrow_type, safe=False)
                row[:] = column.to_numpy(zero_copy_only=False)
        return columns.T


# --- What a path names: a NumPy file, a Zarr array, or a table of one file or many ----------------

#: What pyarrow calls the kinds of tables, by how their files end.
TABLES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
}
KNOWN = f".npy, .zarr, {', '.join(TABLES)}"
#: Files that mark the folder of a Zarr array, of version 3 and 2 of the format.
ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(path: Path) -> bool:
    """Say whether a folder holds a Zarr array, or a group of them."""
    return path.is_dir() and any((path / mark).is_file() for mark in ZARR_MARKS)


def is_zarr_array(path: Path) -> bool:
    """Say whether a folder is a single Zarr array, and no group."""
    if not is_zarr(path) or not (path / "zarr.json").is_file():
        return (path / ".zarray").is_file()
    try:
        return bool(json.loads((path / "zarr.json").read_bytes())["node_type"] == "array")
    except (ValueError, KeyError, TypeError):
        return False


def open_path(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    name: str = "X",
) -> SampleSource:
    """Open the file, folder or list of files that ``data`` names."""
    paths = [Path(part) for part in (data if isinstance(data, list | tuple) else [data])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{name} names {str(path)!r}, but there is no such file")
    first = paths[0]
    if len(paths) == 1 and (is_zarr(first) or first.suffix.lower() == ".npy"):
        if columns is not None:
            raise ValueError(
                f"{name} is an array without column names, so columns must be left out"
            )
        open_array = _open_zarr if first.is_dir() else _open_npy
        return StoredArraySource(open_array(first, name), name=name)
    dataset = import_extra("pyarrow.dataset", extra="io", purpose="reading tables")
    try:
        # Of one folder its own files; a list is taken as it is.
        files: Any = str(first) if len(paths) == 1 else [str(path) for path in paths]
        file_format: Any = _table_format(paths, name)
        schema, named = None, True
        if file_format == "csv":
            arrow = import_extra("pyarrow", extra="io", purpose="reading tables")
            listed = dataset.dataset(files, format=file_format, schema=arrow.schema([])).files
            file_format, named = csv_format(listed, header=header, name=name)
            schema = _without_guesses(dataset.dataset(files, format=file_format).schema)
        opened = dataset.dataset(files, format=file_format, schema=schema)
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these
        raise ValueError(f"{name} cannot be opened: {error}") from error
    try:
        return TableSource(opened, columns=columns, name=name, by_path=True, named=named)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} cannot be opened: its column names are no utf-8 text ({error}); save the file "
            "as UTF-8"
        ) from error


class NumpyFile:
    """A .npy file, mapped anew for each slice of rows, so that pages do not stay in memory."""

    def __init__(self, path: Path) -> None:
        self.filename = path.resolve()
        self.shape = self._mapped().shape

    def __getitem__(self, rows: slice) -> Any:
        return np.array(self._mapped()[rows])

    def _mapped(self) -> Any:
        return np.load(self.filename, mmap_mode="r", allow_pickle=False)


def _open_npy(path: Path, name: str) -> NumpyFile:
    try:
        return NumpyFile(path)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} cannot be opened: {path} is no plain array: {error}") from error


def _open_zarr(path: Path, name: str) -> Any:
    zarr = import_extra("zarr", extra="io", purpose="reading Zarr arrays")
    opened = zarr.open(path, mode="r")
    if isinstance(opened, zarr.Group):
        arrays = sorted(opened.array_keys())
        raise ValueError(
            f"{name} names {str(path)!r}, a group of Zarr arrays; name one of them, as in "
            f"{str(path / (arrays[0] if arrays else 'array'))!r}; it has {arrays}"
        )
    return opened


def _without_guesses(schema: Any) -> Any:
    """Read numbers of a CSV file as such, though the first ones be whole or missing."""
    arrow = import_extra("pyarrow", extra="io", purpose="reading tables")
    return arrow.schema(
        field.with_type(arrow.float64())
        if arrow.types.is_integer(field.type) or arrow.types.is_null(field.type)
        else field
        for field in schema
    )


def _table_format(paths: list[Path], name: str) -> str:
    """Return the one format of all files, seen by how their names end."""
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        # pyarrow leaves these out of folders
        if file.is_file() and not (path.is_dir() and file.name.startswith((".", "_")))
    ]
    endings = sorted({file.suffix.lower() for file in files})
    formats = {TABLES.get(ending) for ending in endings}
    if len(formats) != 1 or None in formats:
        raise ValueError(
            f"{name} names files that end in {endings or 'nothing'}; files of one kind are "
            f"required, out of {KNOWN}"
        )
    (found,) = formats
    assert found is not None
    return found
