"""Tables as the command line reads and writes them."""

import csv
import errno
import io
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from vanishing.app.cli.console import DataError, OutputError, UsageError, note, say, working
from vanishing.app.cli.options import Reading
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.atomic import FULL, followed
from vanishing.data.files import first_lines, guess_dialect, is_number
from vanishing.polynomials.monomials import variable_names

__all__ = ["Table", "check_inputs", "check_outputs", "read_table", "write_table"]


# --- What all kinds of files have in common before columns are chosen -----------------------------

Texts = npt.NDArray[np.object_]


class RawTable(Protocol):
    """A file that was opened, its columns not yet converted."""

    @property
    def where(self) -> str:
        """What the file is called in messages."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None where the file has none."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where there is no value.

        Raises ``DataError`` where there is text.
        """
        ...

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        ...


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns in memory, as Parquet and NumPy files have them."""

    where: str
    names: tuple[str, ...] | None
    arrays: Sequence[npt.NDArray[Any]]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.arrays)

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers."""
        refuse_texts(
            self.where,
            [
                (self.name(j), _first(self.arrays[j]))
                for j in columns
                if self.arrays[j].dtype.kind not in "biuf"
            ],
        )
        n_rows = len(self.arrays[0]) if self.arrays else 0
        values = np.empty((n_rows, len(columns)))
        for k, j in enumerate(columns):
            values[:, k] = self.arrays[j]
        return values

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        return as_texts(self.arrays[column])

    def name(self, column: int) -> str:
        """Return what a column is called in messages."""
        return column_name(self.names, column)


def as_texts(values: npt.NDArray[Any]) -> Texts:
    """Return values as people write them: 3 rather than 3.0."""
    if values.dtype.kind == "f" and np.all((values == np.trunc(values)) & (abs(values) < 2**53)):
        values = values.astype(np.int64)
    return np.array([str(value) for value in values.tolist()], dtype=object)


def column_name(names: Sequence[str] | None, column: int) -> str:
    """Return what a column is called in messages."""
    return f"column {column + 1}" if names is None else f"column {names[column]!r}"


def refuse_texts(where: str, found: Sequence[tuple[str, str]]) -> None:
    """Raise an error that names the columns that hold something else than numbers.

    Parameters
    ----------
    where : str
    found : sequence of (str, str)
        What the column is called, and what was found in it.
    """
    if not found:
        return
    listed = ", ".join(f"{name} ({text})" for name, text in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    dropped = ",".join(name.removeprefix("column ").strip("'") for name, _ in found[:5])
    raise DataError(
        f"{where}: expected numbers, found text in {listed}{more}; leave such columns out with "
        f"--drop '{dropped}', or name them with --id or --label"
    )


def _first(values: npt.NDArray[Any]) -> str:
    return f"{str(values[0])[:30]!r} in row 1" if len(values) else f"type {values.dtype}"


# --- Parquet and NumPy files ----------------------------------------------------------------------


def read_parquet(content: bytes, where: str) -> Columns:
    """Read a Parquet file.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{where} is no Parquet file that can be read: {error}") from error
    return Columns(where, tuple(table.column_names), [_as_numpy(each) for each in table.columns])


def _as_numpy(column: Any) -> npt.NDArray[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind) or (pa.types.is_boolean(kind) or pa.types.is_integer(kind)):
        if column.null_count or pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    return np.array(["" if cell is None else cell for cell in column.to_pylist()], dtype=object)


def read_npy(content: bytes, where: str) -> Columns:
    """Read a NumPy array."""
    return _as_columns(_load(content, where), where)


def read_npz(content: bytes, where: str, *, array: str | None) -> Columns:
    """Read one array of a NumPy archive, or its arrays of one dimension as columns.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    array : str or None
        Which one; not needed where there is one table only.
    """
    archive = _load(content, where)
    if isinstance(archive, np.ndarray):
        return _as_columns(archive, where)
    names = list(archive)
    found = {name: _member(archive, name, where) for name in names}
    if array is not None:
        if array not in found:
            raise DataError(f"{where} has no array {array!r}; it has {', '.join(names) or 'none'}")
        return _as_columns(found[array], where)
    tables = [name for name in names if found[name].ndim >= 2]
    if len(tables) == 1:
        return _as_columns(found[tables[0]], where)
    if tables:
        raise DataError(f"{where} has the tables {', '.join(tables)}; choose one with --array")
    lengths = {len(each) for each in found.values() if each.ndim == 1}
    if len(lengths) != 1:
        raise DataError(f"{where} holds no table: it has {', '.join(names) or 'no arrays'}")
    columns = {name: each for name, each in found.items() if each.ndim == 1}
    return Columns(where, tuple(columns), list(columns.values()))


def _load(content: bytes, where: str) -> Any:
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{where} is no NumPy file that can be read: {error}") from error


def _member(archive: Any, name: str, where: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{where}: the array {name!r} cannot be read: {error}") from error


def _as_columns(array: npt.NDArray[Any], where: str) -> Columns:
    if array.dtype.names is not None:
        return Columns(where, array.dtype.names, [array[name] for name in array.dtype.names])
    if array.ndim == 0:
        raise DataError(f"{where} holds a single value; a table has rows and columns")
    if array.dtype.kind == "c":
        raise DataError(f"{where} holds complex numbers; save their real and imaginary parts")
    if array.ndim > 2:
        note(f"{where}: each of the {len(array)} arrays of shape {array.shape[1:]} is one row")
        array = array.reshape(len(array), -1)
    if array.ndim == 1:
        array = array[:, None]
    return Columns(where, None, list(array.T))


# --- Columns by name or number --------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """Which columns play which part."""

    features: list[int]
    id: int | None
    label: int | None


def choose(
    raw: RawTable,
    *,
    columns: str | None,
    drop: str | None,
    id: str | None,
    label: str | None,
    model_names: Sequence[str] | None = None,
    lenient: bool = False,
) -> Chosen:
    """Find the columns that options name.

    Parameters
    ----------
    raw : RawTable
    columns, drop : str or None
        Names, numbers from 1 and ranges of numbers, separated by commas.
    id, label : str or None
        One name or number each.
    model_names : sequence of str or None
        The columns that a model was fitted to: those are taken, in that order, unless
        ``columns`` says otherwise.
    lenient : bool
        Whether columns that are no features need not be there.
    """
    id_column = None if id is None else _one(raw, id, lenient=lenient)
    if id is None and raw.names is not None and _is_index(raw.names[0]):
        id_column = 0
        note(f"{raw.where}: the first column has no name and is taken for the names of the rows")
    label_column = None if label is None else _one(raw, label, lenient=lenient)
    dropped = {id_column, label_column}
    if drop is not None:
        dropped.update(_many(raw, drop, lenient=lenient or model_names is not None))
    if columns is not None:
        features = [j for j in _many(raw, columns) if j not in dropped]
    elif model_names is not None and raw.names is not None:
        features = _of_model(raw, raw.names, model_names)
    else:
        features = [j for j in range(raw.n_columns) if j not in dropped]
    if not features:
        raise DataError(f"{raw.where}: no column is left to use; drop fewer")
    if raw.names is not None:
        _refuse_bad_names(raw.where, raw.names, features)
    return Chosen(features, id_column, label_column)


def _is_index(name: str) -> bool:
    """Whether a column is one that pandas writes along with the table."""
    return not name or name.startswith("__index_level_")


def _refuse_bad_names(where: str, names: Sequence[str], features: Sequence[int]) -> None:
    number = Counter(names[j] for j in features)
    for j in features:
        name = names[j]
        if not name:
            raise DataError(f"{where}: column {j + 1} has no name; add one, or pass --drop {j + 1}")
        if number[name] > 1:
            raise DataError(
                f"{where}: two columns are called {name!r}; rename one, or drop it by its number "
                f"(--drop {j + 1})"
            )


def _of_model(raw: RawTable, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    present = set(names)
    lacking = [name for name in wanted if name not in present]
    if lacking:
        raise DataError(
            f"{raw.where} lacks {_listed(lacking)}, which the model was fitted to; it has "
            f"{_listed(names)}; rename its columns, or say which ones to take with --columns"
        )
    places = {name: j for j, name in reversed(list(enumerate(names)))}  # the first of each
    return [places[name] for name in wanted]


def _split(raw: RawTable, text: str) -> list[str]:
    """Split a list at its commas, except inside of a column's own name."""
    if raw.names is not None and text in raw.names:
        return [text]
    return [part.strip() for part in text.split(",") if part.strip()]


def _many(raw: RawTable, text: str, *, lenient: bool = False) -> list[int]:
    found: list[int | None] = []
    for part in _split(raw, text):
        first, dash, last = part.partition("-")
        named = raw.names is not None and part in raw.names
        if dash and not named and first.isdecimal() and last.isdecimal():
            found += range(_number(raw, first), _number(raw, last) + 1)
        else:
            found.append(_one(raw, part, lenient=lenient))
    return [j for j in dict.fromkeys(found) if j is not None]


def _number(raw: RawTable, text: str) -> int:
    column = _one(raw, text, lenient=False)
    assert column is not None
    return column


def _one(raw: RawTable, text: str, *, lenient: bool) -> int | None:
    if raw.names is not None and text in raw.names:
        return raw.names.index(text)
    if text.isdecimal() and 1 <= int(text) <= raw.n_columns:
        return int(text) - 1
    if raw.names is None and text.startswith("x") and text[1:].isdecimal():
        number = int(text[1:])  # the name that a column without one is shown by
        if number < raw.n_columns:
            return number
    if lenient:
        return None
    has = f"the columns {_listed(raw.names)}" if raw.names is not None else "no names for columns"
    raise DataError(
        f"{raw.where} has no column {text!r}; it has {has}: name one of them, or a number "
        f"from 1 to {raw.n_columns}"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:12]))
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


# --- Text files: CSV and its relatives ------------------------------------------------------------


class DelimitedFile:
    """A text file whose columns are converted as they are asked for.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    delimiter : str or None
    header : bool or None
        What the user says of the layout; None to guess.
    """

    def __init__(
        self, content: bytes, where: str, *, delimiter: str | None, header: bool | None
    ) -> None:
        self.where = where
        self._content = _in_utf8(content, where)
        beginning = first_lines(io.BytesIO(self._content))
        delimiter = _one_character(delimiter)
        try:
            self._dialect = guess_dialect(beginning, delimiter=delimiter, header=header)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        self.names = self._dialect.header
        self.n_columns = self._dialect.n_columns
        if not self._dialect.n_sampled:
            raise DataError(f"{where} has no rows, only a header; at least one is required")
        if self.names is None and header is None:
            note(f"{where} has no header: its columns are called x0, x1, ... (or pass --header)")
        if self._dialect.numbered and header is None:
            note(f"{where}: the numbers of its first line are taken for names (or --no-header)")

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where there is no value."""
        try:
            table = self._read(columns, pa.float64())
        except pa.ArrowInvalid as error:
            self._refuse_ragged()
            self._refuse_texts(columns)
            raise DataError(f"{self.where} cannot be read: {error}") from error
        values = np.empty((table.num_rows, len(columns)))
        for k, column in enumerate(table.columns):
            values[:, k] = column.to_numpy()
        return values

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        try:
            found = self._read([column], pa.string()).column(0)
        except pa.ArrowInvalid as error:
            self._refuse_ragged()
            raise DataError(
                f"{self.where}: {column_name(self.names, column)} cannot be read as text "
                f"({error}); save the file in UTF-8"
            ) from error
        return np.asarray(pc.fill_null(found, "").to_numpy(zero_copy_only=False), dtype=object)

    def _read(self, columns: Sequence[int], kind: Any, *, skip_row: Any = None) -> Any:
        names = [str(j) for j in range(self.n_columns)]
        chosen = [names[j] for j in columns]
        has_header = self.names is not None
        return arrow_csv.read_csv(
            pa.BufferReader(self._content),
            arrow_csv.ReadOptions(
                column_names=names,
                # A comment has more cells than there are columns, so that it is no row.
                skip_rows=int(has_header and self._dialect.commented),
                skip_rows_after_names=int(has_header and not self._dialect.commented),
                use_threads=skip_row is None,
                # A row must not be longer than a block.
                block_size=2**20 if self.n_columns < 1000 else 2**26,
            ),
            arrow_csv.ParseOptions(
                delimiter=self._dialect.delimiter,
                newlines_in_values=True,
                invalid_row_handler=skip_row,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(chosen, kind),
                include_columns=chosen,
                strings_can_be_null=True,
                decimal_point=self._dialect.decimal,
            ),
        )

    def _refuse_ragged(self) -> None:
        """Name the first row of another length, if there is one."""
        found: list[Any] = []

        def skip(row: Any) -> str:
            found.append(row)
            return "skip"

        with suppress(pa.ArrowInvalid):  # it is something else
            self._read([0], pa.binary(), skip_row=skip)
        if found:
            number = found[0].number - int(self.names is not None)
            raise DataError(
                f"{self.where}: row {number} has {found[0].actual_columns} cells, expected "
                f"{self.n_columns} as in the first line; mend the row, or name another --delimiter "
                f"than {self._dialect.delimiter!r}"
            )

    def _refuse_texts(self, columns: Sequence[int]) -> None:
        """Name the columns that hold something else than numbers, with an example each."""
        found = []
        for j in columns:
            with suppress(pa.ArrowInvalid):
                self._read([j], pa.float64())
                continue
            for row, cell in enumerate(self.texts(j), start=1):
                if cell and not is_number(cell, self._dialect.decimal):
                    found.append((column_name(self.names, j), f"{cell[:30]!r} in row {row}"))
                    break
        refuse_texts(self.where, found)


def _one_character(delimiter: str | None) -> str | None:
    if delimiter in ("\\t", "tab"):
        return "\t"
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'
    ):
        raise UsageError(f"--delimiter takes one plain character or 'tab', got {delimiter!r}")
    return delimiter


def _in_utf8(content: bytes, where: str) -> bytes:
    """Return the content in UTF-8; the tables of other offices come in other encodings."""
    beginning = first_lines(io.BytesIO(content))
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace").encode()
    if b"\0" in beginning:
        raise DataError(
            f"{where} is no text file; name its kind by a suffix (.csv, .parquet, .npy, .npz) or "
            "with --format"
        )
    try:
        beginning.decode()
    except UnicodeDecodeError:
        note(f"{where} is not in UTF-8: read as Windows text (cp1252)")
        return content.decode("cp1252", "replace").encode()
    return content


# --- A table as it was read: numbers, and what belongs to their rows ------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Parameters
    ----------
    where : str
        What the table is called in messages: its file.
    values : array of shape (n_rows, n_columns)
        Finite.
    names : tuple of str or None
        Of the columns; None where the file has none.
    rows : int array of shape (n_rows,)
        The number of each row in the file, from 1, without the header.
    ids : array of shape (n_rows,) or None
        What the user calls the rows.
    labels : array of str of shape (n_rows,) or None
    """

    where: str
    values: FloatArray
    names: tuple[str, ...] | None
    rows: IntArray
    ids: Any = None
    labels: Any = None

    @property
    def for_model(self) -> Any:
        """What estimators take: with the names of the columns, if there are any."""
        if self.names is None:
            return self.values
        import pyarrow as pa

        columns = [np.ascontiguousarray(column) for column in self.values.T]
        return pa.table(columns, names=list(self.names))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        if self.names is not None:
            return self.names
        return variable_names(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    def row_name(self, index: int) -> str:
        """Return what the user calls a row."""
        return str(self.rows[index] if self.ids is None else self.ids[index])

    def keep(self, kept: BoolArray | IntArray) -> "Table":
        """Return a table of some of the rows."""
        return Table(
            self.where,
            self.values[kept],
            self.names,
            self.rows[kept],
            None if self.ids is None else self.ids[kept],
            None if self.labels is None else self.labels[kept],
        )


# --- From a file or a pipe to a table of finite numbers -------------------------------------------

PIPE = "-"
#: First bytes of the binary formats.
MAGIC = {b"PAR1": "parquet", b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def read_table(
    path: str,
    reading: Reading,
    *,
    label: str | None = None,
    model: Any = None,
    secondary: bool = False,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    reading : Reading
        What the user says of columns and layout.
    label : str or None
        A column that is no feature.
    model : estimator or Table, optional
        Fitted or read before: its columns are taken, and their number is checked.
    secondary : bool
        Whether the options were meant for another table, so that columns to be left out need not
        be there.

    Raises
    ------
    DataError
        If the file cannot be read; if it holds text, missing values or other columns.
    """
    known_names, known_width = _columns_of(model)
    with working(f"reading {path}"):
        raw = open_raw(path, reading)
        chosen = choose(
            raw,
            columns=reading.columns,
            drop=reading.drop,
            id=reading.id,
            label=label,
            model_names=known_names,
            lenient=secondary,
        )
        if known_width not in (None, len(chosen.features)):
            raise DataError(
                f"{raw.where} has {len(chosen.features)} columns to use, expected {known_width} "
                f"as in {_whose(model)}; choose them with --columns"
            )
        try:
            values = raw.numbers(chosen.features)
        except DataError as error:
            if secondary:  # whose columns to be left out need not be there, but may be misspelt
                _refuse_unknown(raw, reading, error)
            raise
        if not len(values):
            raise DataError(f"{raw.where} has no rows; at least one is required")
        names = None if raw.names is None else tuple(raw.names[j] for j in chosen.features)
        table = Table(
            raw.where,
            values,
            names if model is None else known_names,
            np.arange(1, len(values) + 1),
            None if chosen.id is None else raw.texts(chosen.id),
            None if chosen.label is None else raw.texts(chosen.label),
        )
    shown = [column_name(raw.names, j) for j in chosen.features]
    return _without_gaps(table, shown, skip=reading.skip_missing)


def check_inputs(paths: Sequence[str | None]) -> None:
    """Refuse files that are not there, before any of them is read."""
    for path in paths:
        if path is None or path == PIPE:
            continue
        try:
            os.stat(path)
        except FileNotFoundError as error:
            raise DataError(_no_file(path)) from error
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _no_file(path: str) -> str:
    return f"there is no file {path}; check its name, or pass - for a pipe"


def _refuse_unknown(raw: RawTable, reading: Reading, error: DataError) -> None:
    """Add to an error that a column to be left out is not there."""
    try:
        choose(raw, columns=None, drop=reading.drop, id=reading.id, label=None)
    except DataError as unknown:
        raise DataError(f"{error}; is a name misspelt? {unknown}") from error


def open_raw(path: str, reading: Reading) -> RawTable:
    """Read a file, its columns not yet converted."""
    where = "standard input" if path == PIPE else path
    content = _content(path)
    kind = reading.format or MAGIC.get(content[:4], "csv")
    if path.endswith((".xlsx", ".xls", ".ods")) and reading.format is None:
        raise DataError(f"{where} is a spreadsheet; save the sheet as CSV")
    if kind == "parquet":
        return read_parquet(content, where)
    if kind == "npy":
        return read_npy(content, where)
    if kind == "npz":
        return read_npz(content, where, array=reading.array)
    return DelimitedFile(content, where, delimiter=reading.delimiter, header=reading.header)


def _content(path: str) -> bytes:
    if path == PIPE:
        if sys.stdin.isatty():
            note("reading a table from the terminal; end it with Ctrl-D")
        return sys.stdin.buffer.read()
    try:
        if Path(path).suffix in COMPRESSED:
            import pyarrow as pa

            with pa.input_stream(path, compression=COMPRESSED[Path(path).suffix]) as stream:
                return bytes(stream.read())
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise DataError(_no_file(path)) from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _columns_of(model: Any) -> tuple[tuple[str, ...] | None, int | None]:
    """Return names and number of the columns that a model or a table has."""
    if model is None:
        return None, None
    if isinstance(model, Table):
        return model.names, model.values.shape[1]
    names: Sequence[str] | None = getattr(model, "feature_names_in_", None)
    return (None if names is None else tuple(map(str, names))), int(model.n_features_in_)


def _whose(model: Any) -> str:
    return model.where if isinstance(model, Table) else "the data that the model was fitted to"


def _without_gaps(table: Table, shown: Sequence[str], *, skip: bool) -> Table:
    """Refuse or skip rows that have a missing or an infinite value."""
    finite = np.isfinite(table.values)
    complete = np.asarray(finite.all(axis=1))
    if complete.all():
        return table
    n_bad = int(np.sum(~complete))
    if skip:
        if n_bad == len(table):
            raise DataError(f"{table.where}: every row has a missing value; drop columns instead")
        note(f"{table.where}: {n_bad} of {len(table)} rows have missing values and are left out")
        return table.keep(complete)
    row = int(np.argmin(complete))
    column = int(np.argmin(finite[row]))
    what = "no value" if np.isnan(table.values[row, column]) else "an infinite value"
    others = f" ({n_bad} such rows in all)" if n_bad > 1 else ""
    raise DataError(
        f"{table.where}: row {row + 1} has {what} in {shown[column]}{others}; fill it in, leave "
        "such rows out with --skip-missing, or the column with --drop"
    )


# --- From columns to a file, whole or not at all, or to a pipe ------------------------------------

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}


#: What formulas of spreadsheets begin with, or what comes before it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_table(
    path: str, columns: Mapping[str, npt.NDArray[Any]], *, format: str | None = None
) -> None:
    """Write columns of equal length.

    Parameters
    ----------
    path : str
        A file, or "-" for standard output.
    columns : mapping of str to array
        Numbers, truth values or texts.
    format : str or None
        By default that of the file's suffix, and CSV on a pipe.
    """
    kind = output_format(path, format)
    if kind in ("npy", "npz", "parquet") and path == PIPE and sys.stdout.isatty():
        raise UsageError(f"{kind} is no text for a terminal; name a file with --out")
    with working(f"writing {path}"), output_file(path) as file:
        _WRITERS[kind](file, columns)


def output_format(path: str, format: str | None) -> str:
    """Return the kind of a file that is to be written, or raise an error before any work is done.

    Parameters
    ----------
    path : str
    format : str or None
        What the user says.
    """
    if format is not None:
        return format
    if path == PIPE:
        return "csv"
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix and not os.path.exists(path):
        raise UsageError(
            f"{path}: unknown kind of table {suffix!r}; expected {', '.join(SUFFIXES)}, or pass "
            "--out-format"
        )
    return "csv"  # /dev/null, a named pipe


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Refuse files that cannot be written, before any work is done."""
    if list(inputs).count(PIPE) > 1:
        raise UsageError("standard input can be read once; name a file in place of one -")
    used = {os.path.realpath(path) for path in inputs if path is not None and path != PIPE}
    seen: set[Path] = set()
    for path in outputs:
        if path in (None, PIPE):
            continue
        assert path is not None
        with refusals(path):  # a name that is too long, a link that leads to itself
            place = followed(path)
            there = place.exists()
        if place.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it")
        if not place.parent.is_dir():
            raise OutputError(f"there is no folder {Path(path).parent}; make it first")
        if not os.access(place if there else place.parent, os.W_OK):
            raise OutputError(f"{path} may not be written; choose another place")
        if str(place) in used:
            raise OutputError(f"{path} is also an input, which would be lost; choose another name")
        if place in seen:
            raise OutputError(f"{path} would be written twice; choose another name")
        if not there or place.is_file():  # anything may go to /dev/null
            seen.add(place)


@contextmanager
def output_file(path: str) -> Iterator[IO[bytes]]:
    """Open standard output, or a file that is there whole or not at all."""
    if path == PIPE:
        sys.stdout.flush()
        if sys.stdout.isatty():
            shown = io.BytesIO()
            yield shown
            say(shown.getvalue().decode(errors="replace").rstrip("\n"))
            return
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from vanishing.data.atomic import open_atomic

    with refusals(path), open_atomic(path) as file:
        yield file


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """Turn what the system says about a file that cannot be written into one line."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in FULL:
            reason = "no space is left there; make room, or choose another place"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = "it may not be written there; choose another place"
        else:
            reason = f"{error.strerror or error}; choose another place"
        raise OutputError(f"{path} was not written: {reason}") from error


def no_formula(text: str) -> str:
    """Return a text that spreadsheets do not compute, with an apostrophe in front if it needs one.

    Numbers stay as they are.
    """
    return f"'{text}" if text.startswith(FORMULA) and not is_number(text, ".") else text


def _write_csv(
    file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]], *, delimiter: str = ","
) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    columns = {
        no_formula(name): np.array([no_formula(str(text)) for text in column], dtype=object)
        if column.dtype.kind in "OU"
        else column
        for name, column in columns.items()
    }
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(columns)
    file.write(header.getvalue().encode())
    special = {delimiter, '"', "\n", "\r"}
    quoted = any(
        special & set(cell)
        for column in columns.values()
        if column.dtype.kind == "O"
        for cell in column
    )
    # Floats come with the fewest digits that give the same number again.
    options = arrow_csv.WriteOptions(
        include_header=False,
        delimiter=delimiter,
        quoting_style="needed" if quoted else "none",
    )
    arrow_csv.write_csv(pa.table(dict(columns)), file, options)


def _write_tsv(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    _write_csv(file, columns, delimiter="\t")


def _write_parquet(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(columns)), file)


def _write_npy(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    numbers = [each for name, each in columns.items() if each.dtype.kind != "O" and name != "row"]
    array = numbers[0] if len(numbers) == 1 else np.column_stack(numbers)
    # Not the file itself, whose errors NumPy would replace by its own.
    np.lib.format.write_array(SimpleNamespace(write=file.write), array, allow_pickle=False)


def _write_npz(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    # Not numpy.savez, whose own arguments could have the name of a column.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in columns.items():
            plain = array.astype(str) if array.dtype.kind == "O" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


_WRITERS = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "npy": _write_npy,
    "npz": _write_npz,
}
