"""Tables read from files, and written to files, as a whole: Parquet, Feather, NumPy, Excel, CSV."""

import csv
import io
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.csv_files import (
    MOST_TIMES,
    REMEDIES,
    Columns,
    CsvFile,
    Note,
    OpenTable,
    SetAside,
    Stray,
    TableError,
    check_expansion,
    import_arrow,
    open_stream,
    read_whole,
    readable,
)
from vanishing.data.excel_files import list_sheets, open_excel, open_region
from vanishing.data.excel_formulas import Book, read_formulas
from vanishing.data.frames import ColumnFile
from vanishing.data.queries import find_query
from vanishing.data.sheet_layout import CellPlaces, Region, find_regions, split_area
from vanishing.data.units import measure_unit
from vanishing.data.written_numbers import MISSING, is_number
from vanishing.polynomials.monomials import variable_names

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
    decimal: str | None = None,
    array: str | None = None,
    sheet: str | None = None,
    transposed: bool = False,
) -> CsvFile | ColumnFile:
    """Open a file, or the content of one; its columns are converted when they are asked for.

    ``read_table`` documents the options. ``where`` is what messages call the file, by default its
    path.
    """
    if (query := find_query(file)) is not None:
        return _open_arrow(str(query.path), query.where, "parquet", decimal)
    if not isinstance(file, bytes):
        file = os.fspath(file)
        where = where or file
        if not Path(file).is_file():
            file = Path(file).read_bytes()  # a pipe is read once; a folder raises an error
        elif file.lower().endswith((".xls", ".ods", ".numbers")) and format is None:
            raise TableError(f"{where} is a spreadsheet of another kind; save it as .xlsx or .csv")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ',', got {decimal!r}")
    where = where or "the table"
    format = format or _guess_format(file)
    if format == "npz" and _is_excel(file):
        format = "xlsx"
    if format == "csv":
        opened = CsvFile(file, where, delimiter=delimiter, header=header, decimal=decimal)
        area = split_area(sheet or "")[1]
        always = bool(area) or transposed
        regions = _find_regions(opened, always=always) if always or header is None else []
        if always or not _are_read_alike(opened, regions):
            return open_region(regions, area, where, "", decimal, transposed=transposed)
        opened.is_turnable = any(each.times for each in regions)
        if opened.n_above and regions and regions[0].first_line:
            opened.places = regions[0].read()[2]
        if not opened.dialect.n_sampled:
            opened.refuse_open_quotes()
            raise TableError(f"{where} has no rows, only a header; at least one is required")
        return opened
    if format in ("parquet", "feather"):
        return _open_arrow(file, where, format, decimal)
    if format == "xlsx":
        content = read_whole(file)
        _check_archive(content, where)
        with readable(where, "Excel"):
            return open_excel(content, where, sheet, header, decimal, transposed=transposed)
    return _open_numpy(file, where, array)


def _guess_format(file: str | bytes) -> str:
    with open_stream(file) as stream:
        return MAGIC.get(stream.read(4), "csv")


def _is_excel(file: str | bytes) -> bool:
    """Say whether a ZIP file is a workbook."""
    if isinstance(file, str) and file.lower().endswith((".xlsx", ".xlsm")):
        return True
    try:
        with zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except Exception:  # zipfile raises whatever a damaged directory leads to
        return False


def list_tables(file: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Return sheets and tables on them, ``Budget!B4:F30``, and others; none for a single table."""
    file = os.fspath(file)
    if not Path(file).is_file():
        return [], []
    if not zipfile.is_zipfile(file) or not _is_excel(file):
        regions = _find_regions(CsvFile(file, file)) if _guess_format(file) == "csv" else []
        return [each.area for each in regions] if len(regions) > 1 else [], []
    content = Path(file).read_bytes()
    _check_archive(content, file)
    with readable(file, "Excel"):
        return list_sheets(content, file)


def read_workbook_formulas(file: str | os.PathLike[str] | bytes) -> Book:
    """Return the cells and formulas of a workbook by sheet; nothing if the file is no workbook."""
    where = "the workbook" if isinstance(file, bytes) else os.fspath(file)
    content = file if isinstance(file, bytes) else Path(file).read_bytes()
    if not zipfile.is_zipfile(io.BytesIO(content)) or not _is_excel(content):
        return {}
    _check_archive(content, where)
    with readable(where, "Excel"):
        return read_formulas(content, where)


def _check_archive(content: bytes, where: str) -> None:
    """Raise if a ZIP file expands as only those do that are made to fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            expanded = sum(member.file_size for member in archive.infolist())
    except Exception:
        return  # who reads it says what is wrong
    check_expansion(expanded, len(content), where)


def _find_regions(opened: CsvFile, *, always: bool = False) -> list[Region]:
    """Return the tables of a text file."""
    rows = opened.read_cells()
    width = max(map(len, rows), default=0)
    if width * len(rows) > MOST_TIMES * sum(map(len, rows)):
        return []
    cells = [[None if cell.strip() in MISSING else cell for cell in row] for row in rows]
    regions = find_regions([[*row, *[None] * (width - len(row))] for row in cells], always=always)
    lengths = {len(rows[i]) for each in regions for i in (*each.header, *each.body)}
    return [] if len(regions) == 1 < len(lengths) else regions  # different lengths are an error


def _are_read_alike(opened: CsvFile, regions: Sequence[Region]) -> bool:
    """Say whether a text file is nothing but a table, maybe with lines above its header."""
    names = ["" if name in MISSING else name for name in opened.dialect.first]
    return not regions or (
        opened.dialect.has_names
        and [(names, 1)] == [(each.names, len(each.header)) for each in regions]
        and not any(filter(None, chain.from_iterable(regions[0].grid[regions[0].body[-1] + 1 :])))
    )


def _open_arrow(file: str | bytes, where: str, format: str, decimal: str | None) -> ColumnFile:
    arrow, reader = import_arrow(), import_arrow(f"pyarrow.{format}")
    with readable(where, format.capitalize()):
        content = read_whole(file)
        # Equal numbers take no space in such files, but do in memory.
        check_expansion(_count_bytes(arrow.BufferReader(content), format), len(content), where)
        table = reader.read_table(arrow.BufferReader(content))
        index = index_columns(table.schema)
        names, columns, n_rows = table.column_names, table.columns, table.num_rows
        return ColumnFile(where, names, columns, n_rows=n_rows, index=index, decimal=decimal)


def _count_bytes(content: Any, format: str) -> int:
    """Return the memory that the numbers of an Arrow file take, by what it says of itself."""
    if format == "parquet":
        described = import_arrow("pyarrow.parquet").read_metadata(content)
        return int(8 * described.num_rows * described.num_columns)
    fragment = import_arrow("pyarrow.dataset").IpcFileFormat().make_fragment(content)
    with suppress(import_arrow().ArrowInvalid):  # who reads it says what is wrong
        return int(8 * fragment.count_rows() * len(fragment.physical_schema))
    return 0


def index_columns(schema: Any) -> tuple[int, ...]:
    """Return which columns hold the index of a pandas frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(j for j, name in enumerate(schema.names) if name in index)


def _open_numpy(file: str | bytes, where: str, array: str | None) -> ColumnFile:
    content = read_whole(file)
    _check_archive(content, where)
    with readable(where, "NumPy"):
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
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
    except Exception as error:  # a header may claim anything
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
    return ColumnFile(where, None, list(columns.T), n_rows=len(array), row_shape=row_shape)


def _split_columns(columns: Columns, where: str) -> ColumnFile:
    return ColumnFile(where, list(columns), list(columns.values()))


# --- A table as it was read: numbers, and what belongs to their rows ------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        NaN where a value is missing.
    names : tuple of str or None
        Of the columns; None where the file has none.
    row_ids : array of shape (n_rows,) or None
        What the user calls the rows.
    set_aside : tuple of SetAside
        Columns that are not numeric.
    rows : int array of shape (n_rows,)
        The number of each row: in a file from 1, without the header, in memory from 0.
    labels : array of str of shape (n_rows,) or None
    where : str
        What the table is called in messages: its file.
    strays : tuple of Stray
        Cells that are not numbers in columns that are; of all rows of the file.
    first_line : int or None
        The line of the file that holds row 1; None unless every row is one line.
    n_above : int
        Lines of a text file above the header, such as a title, that were left out.
    notes : tuple of Note
        What was guessed of the layout and the numbers.
    unfiltered : Table or None
        The table with the rows that lack a value, if some were left out.
    texts : mapping of str to array of str of shape (n_rows,)
        The cells of the columns that are not numeric.
    columns : tuple of str
        All columns of the file, in their order.
    sample_weight : array of shape (n_rows,)
        1 by default.
    in_order : bool
        False for rows that were drawn at random.
    units : mapping of str to str
        Units of columns that stood in a row of their own, below the header.
    places : CellPlaces or None
        Where the cells stand on their sheet, if the table is not the only thing there.
    is_turnable : bool
        Whether the rows may be variables: the columns are times, such as years.
    """

    values: FloatArray
    names: tuple[str, ...] | None
    row_ids: Any = None
    set_aside: tuple[SetAside, ...] = ()
    rows: Any = None
    labels: Any = None
    where: str = "the table"
    strays: tuple[Stray, ...] = ()
    first_line: int | None = None
    n_above: int = 0
    notes: tuple[Note, ...] = ()
    unfiltered: "Table | None" = None
    texts: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sample_weight: Any = None
    in_order: bool = True
    units: Mapping[str, str] = field(default_factory=dict)
    places: CellPlaces | None = None
    is_turnable: bool = False

    def __post_init__(self) -> None:
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(1, len(self.values) + 1))
        if self.sample_weight is None:
            object.__setattr__(self, "sample_weight", np.ones(len(self.values)))

    @property
    def file_name(self) -> str:
        """What the table is called, without the folder."""
        return os.path.basename(self.where)

    @property
    def for_model(self) -> Any:
        """What estimators take: with the names of the columns, if there are any."""
        if self.names is None:
            return self.values
        columns = [np.ascontiguousarray(column) for column in self.values.T]
        return import_arrow().table(columns, names=list(self.names))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        return variable_names(self.values.shape[1]) if self.names is None else self.names

    @property
    def row_names(self) -> list[Any]:
        """What the user calls the rows, or their numbers as texts."""
        return list((self.rows.astype(str) if self.row_ids is None else self.row_ids).tolist())

    @property
    def stray_texts(self) -> dict[tuple[int, str], str]:
        """The texts of cells that are not numbers, by the place of the row and the column."""
        places = {number: place for place, number in enumerate(self.rows.tolist())}
        return {
            (places[each.row], each.column): each.text for each in self.strays if each.row in places
        }

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

    def find_line(self, row: int) -> int | None:
        """Return the line of the file that holds a row.

        Parameters
        ----------
        row : int
            Number of the row, from 1.

        Returns
        -------
        int or None
            None where rows are no lines of text.
        """
        return None if self.first_line is None else row + self.first_line - 1

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
        return replace(
            self,
            values=self.values[kept],
            row_ids=None if self.row_ids is None else self.row_ids[kept],
            rows=self.rows[kept],
            labels=None if self.labels is None else self.labels[kept],
            texts={name: each[kept] for name, each in self.texts.items()},
            sample_weight=self.sample_weight[kept],
        )

    def drop(self, columns: BoolArray) -> "Table":
        """Return a table without some of the columns of numbers.

        Parameters
        ----------
        columns : array of bool of shape (n_columns,)

        Returns
        -------
        Table
        """
        names = None if self.names is None else tuple(compress(self.names, ~columns))
        return replace(self, values=self.values[:, ~columns], names=names)

    def tell(self, *notes: str) -> "Table":
        """Return the table with further notes.

        Parameters
        ----------
        *notes : str

        Returns
        -------
        Table
        """
        return replace(self, notes=(*self.notes, *map(Note, notes)))

    def sentences(self, remedies: Mapping[str, str] = REMEDIES) -> list[str]:
        """Return what was guessed and set aside when the table was read, and noted since.

        Parameters
        ----------
        remedies : mapping, optional
            Texts by the keys of ``REMEDIES``.

        Returns
        -------
        list of str
        """
        return [note.with_remedies(remedies) for note in self.notes]


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
    path : path or URL
        Of a CSV, TSV, Excel (.xlsx), Parquet, Arrow, NPY or NPZ file, compressed or not; or a table
        of a database: "duckdb:shop.db#orders", "sqlite:shop.db#orders", or the URL of SQLAlchemy
        with "#orders" after it.
    columns : sequence of str, optional
        Which columns to read; each must be numeric. By default all numeric ones, and the others are
        named in ``set_aside``. A column of numbers may have a few cells that are none, such as
        typos: these are NaN, and listed in ``strays``.
    row_ids : str, optional
        The column that names the rows; by default the index of a pandas frame, if there is one.
    **layout
        ``format`` ("csv", "parquet", "feather", "xlsx", "npy" or "npz"; by default what the first
        bytes say), ``delimiter`` and ``header`` (whether the first line or row holds names),
        ``decimal`` ("." or ","), ``array`` (which one of an NPZ file) and ``sheet`` (name or number
        of an Excel sheet, by default the first visible one with numbers, or cells of one of its
        tables, by default the largest: "Budget!B4:F30"; of a text file, "B4:F30"). All are guessed.
        With ``transposed=True``, the rows of a sheet are read as columns.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be read, or a column that was asked for is not numeric.

    Warns
    -----
    UserWarning
        If numbers such as 1.361, or a header, may as well be read otherwise.

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
    table = take_columns(open_table(path, **layout), columns=columns, row_ids=row_ids)
    for note in table.notes:
        if note.is_doubtful:
            warnings.warn(f"{path}: {note.with_remedies(REMEDIES)}", UserWarning, stacklevel=2)
    return table


def take_columns(
    opened: OpenTable, *, columns: Sequence[str] | None = None, row_ids: str | None = None
) -> Table:
    """Read columns of a table that was opened, as ``read_table`` does; notes give no warnings."""
    shown = opened.shown_names
    for name in (*(columns or ()), *(() if row_ids is None else (row_ids,))):
        if name not in shown:
            raise TableError(f"{opened.where} has no column {name!r}; it has {', '.join(shown)}")
    index = opened.index if row_ids is None else (shown.index(row_ids),)
    set_aside: tuple[SetAside, ...] = ()
    if columns is None:
        others = [j for j in range(opened.n_columns) if j not in index]
        wanted, set_aside = opened.set_texts_aside(others)
        if not wanted and opened.first_row:
            raise no_numbers(opened.where, set_aside)
    else:
        wanted = [shown.index(name) for name in columns]
    # Without names, x0, x1, ... are places in the file, also where a column is left out.
    is_named = opened.names is not None or len(wanted) < opened.n_columns
    return make_table(opened, wanted, set_aside, index[0] if index else None, is_named=is_named)


def make_table(
    opened: OpenTable,
    wanted: Sequence[int],
    set_aside: tuple[SetAside, ...],
    row_ids: int | None,
    *,
    is_named: bool,
) -> Table:
    """Read columns of a table by their places."""
    values, shown = opened.numbers(wanted), opened.shown_names
    kept = {each.name for each in set_aside}
    table = Table(
        values,
        tuple(shown[j] for j in wanted) if is_named else None,
        opened.row_ids if row_ids is None else opened.texts(row_ids),
        set_aside,
        np.arange(len(values)) + opened.first_row,
        where=opened.where,
        strays=opened.find_strays(wanted),
        first_line=opened.first_line,
        n_above=opened.n_above,
        notes=(*opened.layout_notes, *opened.number_notes(wanted)),
        texts={name: opened.texts(j) for j, name in enumerate(shown) if name in kept},
        columns=shown,
        places=opened.places,
        is_turnable=opened.is_turnable,
    )
    return _take_units(table)


def _take_units(table: Table) -> Table:
    """Return a table without its first row, if that holds the units of the columns."""
    texts = {name: text.strip() for (row, name), text in table.stray_texts.items() if row == 0}
    is_unit = [measure_unit(text) is not None for text in texts.values()]
    if len(table) < 2 or not "".join(texts.values()).strip("-–—") or not all(is_unit):
        return table
    if np.isfinite(table.values[0]).any():
        return table
    first = table.rows[0]
    strays = tuple(each for each in table.strays if each.row != first)
    said = ", ".join(f"{name} in {text}" for name, text in texts.items())
    kept = replace(table.keep(np.arange(1, len(table))), strays=strays, units=texts)
    return kept.tell(f"row {first} holds units: {said}")


def no_numbers(where: str, set_aside: Sequence[SetAside]) -> TableError:
    """Return the error about a table without a column of numbers."""
    reasons = "; ".join(f"{each.name!r} is {each.reason}" for each in set_aside[:3])
    return TableError(f"{where} has no column of numbers: {reasons or 'it is empty'}")


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
    arrow, arrow_csv = import_arrow(), import_arrow("pyarrow.csv")
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


def _write_parquet(file: IO[bytes], first: Columns, batches: Iterable[Columns]) -> None:
    arrow, parquet = import_arrow(), import_arrow("pyarrow.parquet")
    with parquet.ParquetWriter(file, arrow.table(dict(first)).schema) as writer:
        for batch in batches:
            writer.write_table(arrow.table(dict(batch)))


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
    "tsv": partial(_write_csv, delimiter="\t"),
    "parquet": _write_parquet,
    "npy": lambda file, _, batches: write_npy(file, map(_numeric_matrix, batches)),
    "npz": _write_npz,
}
