"""Files read and written batch by batch: sources of paths of any kind, datasets of pyarrow."""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from io import DEFAULT_BUFFER_SIZE
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, import_extra, lazy, move_to_host
from vanishing.data.atomic import replace_atomic
from vanishing.data.csv_files import (
    COMPRESSED,
    REMEDIES,
    CsvFile,
    Note,
    TableError,
    as_numbers,
    import_arrow,
    is_numeric,
)
from vanishing.data.inputs import as_source
from vanishing.data.queries import Query, find_query
from vanishing.data.source import ArraySource, SampleSource, close_after
from vanishing.data.streams import Chunk, StoredArraySource, StreamedSource
from vanishing.data.whole_tables import index_columns, read_table, write_columns, write_npy
from vanishing.data.written_numbers import decide_decimal
from vanishing.levels import BLOCK

# --- The files of a table, each of which yields its rows in batches -------------------------------
#
# pyarrow's scanner of datasets reads ahead as fast as it can, whatever its options say: where
# computing takes longer than reading, much of a file ends up in memory. The readers of single files
# wait.


class ArrowFile:
    """A fragment of a dataset and its reader; or a dataset that only the scanner can read."""

    def __init__(
        self, opened: Any, schema: Any, read: Callable[..., Iterator[Any]] | None = None
    ) -> None:
        self.path: str | None = getattr(opened, "path", None)
        self.shown_names = tuple(schema.names)
        self.index = index_columns(schema)
        self._opened = opened
        self._types = schema.types
        self._read = read

    def check_numeric(self, columns: Sequence[int]) -> None:
        """Raise if one of the columns is not numeric."""
        kinds = {self.shown_names[j]: self._types[j] for j in columns}
        other = [f"{name!r} ({kind})" for name, kind in kinds.items() if not is_numeric(kind)]
        if other:
            raise ValueError(
                f"must hold real numbers, but these columns do not: {', '.join(other)}; choose "
                "the others by as_source(..., columns=[...])"
            )

    def is_single_precision(self, columns: Sequence[int]) -> bool:
        """Say whether the numbers of all columns fit into single precision."""
        return all(str(self._types[j]) in ("halffloat", "float") for j in columns)

    def count_rows(self) -> int:
        """Count the rows."""
        return int(self._opened.count_rows())

    def batches(self, columns: Sequence[int], n_rows: int) -> Iterator[tuple[list[Any], Any]]:
        """Yield the columns of some rows, None for a missing one, with the path of their file."""
        names = [self.shown_names[j] for j in columns]
        for batch, path in self._record_batches(names, n_rows):
            there = set(batch.schema.names)
            yield [batch.column(name) if name in there else None for name in names], path

    def _record_batches(self, names: list[str], n_rows: int) -> Iterator[tuple[Any, str | None]]:
        if self._read is not None:
            for batch in self._read(self._opened, names, n_rows):
                yield batch, self.path
            return
        formats, options = import_arrow("pyarrow.dataset"), None
        if isinstance(getattr(self._opened, "format", None), formats.ParquetFileFormat):
            # Otherwise all columns of a file are fetched before the first batch.
            options = formats.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        scanner = self._opened.scanner(
            columns=names,
            batch_size=n_rows,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=options,
            use_threads=False,  # would run ahead even further
        )
        for batch, fragment in scanner.scan_batches():
            yield batch, getattr(fragment, "path", None)


def _read_parquet(fragment: Any, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    row_groups = [group.id for group in fragment.row_groups]  # a fragment may be a part of a file
    with fragment.open() as file:
        opened = import_arrow("pyarrow.parquet").ParquetFile(
            file, pre_buffer=False, buffer_size=DEFAULT_BUFFER_SIZE
        )
        yield from opened.iter_batches(n_rows, row_groups=row_groups, columns=list(names))


def _read_feather(fragment: Any, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    with fragment.open() as file:
        opened = import_arrow("pyarrow.ipc").open_file(file)
        for index in range(opened.num_record_batches):
            batch = opened.get_batch(index)
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


def split_dataset(dataset: Any, *, own_types: bool = False) -> list[ArrowFile]:
    """Return the files of a dataset; all in one, where only the scanner can read them.

    That is for rows in memory, filters, CSV files, and columns that are in the names of folders.
    With ``own_types``, columns have the types of each file, not those of the first.
    """
    formats = import_arrow("pyarrow.dataset")
    readers = ((formats.ParquetFileFormat, _read_parquet), (formats.IpcFileFormat, _read_feather))
    kind = getattr(dataset, "format", None)
    read = next((read for each, read in readers if isinstance(kind, each)), None)
    filters = getattr(dataset, "_scan_options", True)  # there is no public way to see them
    fragments = [] if read is None or filters else list(dataset.get_fragments())
    everything = formats.scalar(True)
    if not fragments or not all(each.partition_expression.equals(everything) for each in fragments):
        return [ArrowFile(dataset, dataset.schema)]
    if not own_types or len(fragments) == 1:
        return [ArrowFile(each, dataset.schema, read) for each in fragments]
    return [ArrowFile(each, each.physical_schema, read) for each in fragments]


def open_csv_files(
    paths: Sequence[str], *, header: bool | None, decimal: str | None
) -> list[CsvFile]:
    """Open the CSV files of one table, which must be laid out alike."""
    files = [CsvFile(path, path, header=header, decimal=decimal) for path in paths]
    first = files[0]
    for file in files:
        if file.dialect.delimiter != first.dialect.delimiter:
            raise TableError(
                f"{file.where} has {file.dialect.delimiter!r} between its columns, but "
                f"{first.where} has {first.dialect.delimiter!r}; write all files alike"
            )
        if (file.names is None) != (first.names is None):
            named, other = (first, file) if file.names is None else (file, first)
            raise TableError(
                f"{named.where} begins with the names of its columns, and {other.where} with a "
                "row; write all files alike, or say what they are by as_source(..., header=True "
                "or False)"
            )
    return files


def _settle(files: Sequence[CsvFile]) -> None:
    """Decide what the columns of files hold, by all rows of all of them."""
    for file in files:
        file.settle()
    given = files[0].kinds.decimal.sign if files[0].kinds.given else None
    every = [cells for file in files for cells in file.columns]
    decimal = decide_decimal(every, files[0].dialect.delimiter, given)
    for file in files:
        file.decide(decimal, file.columns)


# --- The rows of all files as one source ----------------------------------------------------------


class TableSource(StreamedSource):
    """The rows of one table in one file or many.

    Parameters
    ----------
    files : sequence of CsvFile or ArrowFile
        Columns of integers, floating-point numbers and booleans; missing entries become NaN, which
        is rejected.
    columns : sequence of str, optional
        Which columns to use, in this order; by default all but the index of a pandas frame, and
        then the same in all files.
    name : str
        What the rows are called in error messages.
    named : bool
        Whether the names of the columns are those of the files, rather than our own.
    """

    def __init__(
        self,
        files: Sequence[CsvFile | ArrowFile],
        *,
        columns: Sequence[str] | None = None,
        name: str = "X",
        named: bool = True,
    ) -> None:
        self.name = name
        self._files = files
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a list of names, got {columns!r}; write [{columns!r}]"
            )
        names = names_without_index(files[0]) if columns is None else tuple(columns)
        if not names:
            raise ValueError(f"{name} has no columns: at least one is required")
        for file in files:
            try:
                _check_names(file, names)
                more = set(names_without_index(file)) - set(files[0].shown_names)
                if columns is None and more:
                    raise ValueError(
                        f"has the columns {sorted(more)}, which {files[0].path} has not; choose "
                        "those that all files have by as_source(..., columns=[...])"
                    )
                file.check_numeric(_places(file, names))
            except TableError:  # names the file
                raise
            except ValueError as error:
                where = f"{name} ({file.path})" if len(files) > 1 else name
                raise ValueError(f"{where} {error}") from error
        self._names = names
        # Our own names mean something only where some columns were chosen by them.
        self.feature_names = names if named or columns is not None else None
        single = all(file.is_single_precision(_places(file, names)) for file in files)
        self._dtype: Any = np.float32 if single else np.float64
        self._told = False

    #: Rows are in the memory of the processor.
    cpu = True
    #: The query that the rows come from, whose file is removed with it.
    query: Query | None = None

    def notes(self) -> list[Note]:
        """Say what was guessed of text files, after reading all rows.

        Returns
        -------
        list of Note
        """
        texts = [file for file in self._files if isinstance(file, CsvFile)]
        if not texts:
            return []
        _settle(texts)
        self._told = True
        found = [
            note
            for file in texts
            for note in (*file.layout_notes, *file.number_notes(_places(file, self._names)))
        ]
        return list(dict.fromkeys(found))

    def _warn(self) -> None:
        """Warn of guesses that may well be wrong, before the first rows are taken."""
        if not self._told:
            for note in self.notes():
                if note.is_doubtful:
                    text = f"{self.name}: {note.with_remedies(REMEDIES)}"
                    warnings.warn(text, UserWarning, stacklevel=2)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._names)

    @lazy
    def n_samples(self) -> int:
        """Number of rows: from the headers of Parquet files, counted in CSV files."""
        self._warn()
        return sum(file.count_rows() for file in self._files)

    def _read(self) -> Iterator[Chunk]:
        self._warn()
        before, start = None, 0
        n_rows = max(1, BLOCK // self.n_features)
        for file in self._files:
            for columns, path in file.batches(_places(file, self._names), n_rows):
                rows = self._rows(columns)
                start = start if path == before else 0
                before, stop = path, start + len(rows)
                place = f"{path}, " if path else ""
                first = 1 if path else 0  # rows of files are numbered from 1
                yield Chunk(rows, f"{place}rows {start + first} to {stop - 1 + first}")
                start = stop

    def _rows(self, columns: Sequence[Any]) -> FloatArray:
        """Copy columns into a matrix that lies one column after the other."""
        n_rows = max((len(column) for column in columns if column is not None), default=0)
        matrix = np.full((self.n_features, n_rows), np.nan, dtype=self._dtype)
        arrow_type = "float" if self._dtype == np.float32 else "double"
        for row, column in zip(matrix, columns, strict=True):
            if column is not None:
                row[:] = as_numbers(column, arrow_type)
        return matrix.T


def names_without_index(file: CsvFile | ArrowFile) -> tuple[str, ...]:
    """Return the names of the columns of a file, except the index of a pandas frame."""
    return tuple(name for j, name in enumerate(file.shown_names) if j not in file.index)


def _places(file: CsvFile | ArrowFile, names: Sequence[str]) -> list[int]:
    return [file.shown_names.index(name) for name in names]


def _check_names(file: CsvFile | ArrowFile, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in file.shown_names]
    if missing:
        raise ValueError(
            f"has no columns {missing}; its columns are {list(file.shown_names)}; choose by "
            "as_source(..., columns=[...])"
        )
    several = {each for each in names if (*names, *file.shown_names).count(each) > 2}
    if several:
        raise ValueError(f"has several columns that are called {sorted(several)}")


# --- What a path names: a NumPy file, a Zarr array, or a table of one file or many ----------------

#: The kinds of tables, as pyarrow calls them, by how their files end.
TABLES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".feather": "feather",
    ".arrow": "feather",
}
KNOWN = f".npy, .npz, .zarr, {', '.join(TABLES)}"
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
    decimal: str | None = None,
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
    try:
        if len(paths) == 1 and first.suffix.lower() == ".npz":
            table = read_table(first, columns=columns)
            source = ArraySource(table.values).named(name)
            source.feature_names = table.names
            return source
        files = _list_files(paths)
        if (kind := _table_format(files, name)) == "csv":
            texts = open_csv_files(files, header=header, decimal=decimal)
            named = texts[0].names is not None
            return TableSource(texts, columns=columns, name=name, named=named)
        dataset = import_arrow("pyarrow.dataset").dataset(files, format=kind)
        opened = split_dataset(dataset, own_types=True)
    except TableError:  # names the file
        raise
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these
        raise ValueError(f"{name} cannot be opened: {error}") from error
    return TableSource(opened, columns=columns, name=name)


def open_query(data: Any, columns: Sequence[str] | None, name: str) -> TableSource:
    """Run a query, whose rows lie in a file until the source is gone."""
    query = find_query(data, name)
    assert query is not None
    (file,) = split_dataset(import_arrow("pyarrow.dataset").dataset(query.path, format="parquet"))
    file.path = query.where
    source = TableSource([file], columns=columns, name=name)
    source.query = query
    return source


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
        raise ValueError(
            f"{name} cannot be opened: {path} is not a plain array: {error}"
        ) from error


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


def _list_files(paths: Sequence[Path]) -> list[str]:
    """Return paths of files, and those in folders but hidden ones."""
    return [
        str(file)
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file() and not (path.is_dir() and file.name.startswith((".", "_")))
    ]


def _table_format(files: Sequence[str], name: str) -> str:
    """Return the one format of all files, seen by how their names end."""
    endings = set()
    for file in files:
        path = Path(file.lower())
        endings.add(Path(path.stem).suffix if path.suffix in COMPRESSED else path.suffix)
    formats = {TABLES.get(ending) for ending in endings}
    if len(formats) != 1 or None in formats:
        raise ValueError(
            f"{name} names files that end in {sorted(endings) or 'nothing'}; files of one kind are "
            f"required, out of {KNOWN}"
        )
    (found,) = formats
    assert found is not None
    return found


# --- Writing the rows of a source a block at a time, whole or not at all --------------------------

Batches = Iterator[npt.NDArray[Any]]

#: How the names of files may end, which chooses the format.
ENDINGS = (".parquet", ".csv", ".npy", ".zarr")


def write(
    data: Any, path: str | os.PathLike[str], *, column_names: Sequence[str] | None = None
) -> None:
    """Write rows to a Parquet, CSV or NumPy file, or a Zarr array.

    Rows are taken a block at a time, so that they need not fit into memory. If reading them fails,
    nothing is written, and a file that was there before stays as it was.

    Parameters
    ----------
    data : anything that ``as_source`` takes
        For instance what ``VanishingIdeal.transform`` makes of chunks.
    path : path
        Ends in .parquet, .csv, .npy or .zarr, which chooses the format. A file or a Zarr array
        that exists is replaced.
    column_names : sequence of str, optional
        For Parquet and CSV; by default those of the data, or c0, c1, ...
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in ENDINGS:
        raise ValueError(
            f"{str(target)!r} must end in one of {', '.join(ENDINGS)}, which chooses the format"
        )
    to_folder = kind == ".zarr"
    if not to_folder and target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if to_folder and target.exists() and not is_zarr_array(target):
        raise FileExistsError(
            f"{target} already exists and is not a single Zarr array; it was not changed"
        )
    source = as_source(data)
    n_columns = source.n_features
    if n_columns == 0:
        raise ValueError(
            f"{source.name} has no columns, so there is nothing to write; if these are the "
            "features of an ideal, nothing vanishes: raise tol or max_degree"
        )
    given = source.feature_names if column_names is None else column_names
    names = [f"c{i}" for i in range(n_columns)] if given is None else list(map(str, given))
    if len(names) != n_columns or len(set(names)) != n_columns:
        raise ValueError(f"{n_columns} different column names are required, got {names}")
    n_rows = max(1, BLOCK // n_columns)
    with (
        close_after(source.blocks(n_rows)) as blocks,
        replace_atomic(target, folder=to_folder) as unfinished,
    ):
        batches = _of_one_type(_join(map(move_to_host, blocks), n_rows))
        first = next(batches, None)
        if first is None:
            raise ValueError(f"{source.name} has no rows: at least one row is required")
        batches = chain([first], batches)
        if to_folder:
            _write_zarr(unfinished, first, batches)
            return
        with unfinished.open("wb") as file:
            if kind == ".npy":
                write_npy(file, batches)
            else:
                columns = (dict(zip(names, batch.T, strict=True)) for batch in batches)
                write_columns(file, columns, kind[1:])


def _join(blocks: Batches, n_rows: int) -> Batches:
    """Join blocks into batches of ``n_rows`` rows, all but the last."""
    held: list[npt.NDArray[Any]] = []
    n_held = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part = block[start : start + n_rows - n_held]
            held.append(part)
            start, n_held = start + len(part), n_held + len(part)
            if n_held == n_rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, n_held = [], 0
    if held:
        yield np.concatenate(held)


def _of_one_type(batches: Batches) -> Batches:
    """Yield all batches in the dtype of the first, which loses nothing of the others."""
    dtype, n_rows = None, 0
    for batch in batches:
        if dtype is None:
            dtype = batch.dtype
        if not np.can_cast(batch.dtype, dtype):
            raise ValueError(
                f"rows {n_rows} to {n_rows + len(batch) - 1} are {batch.dtype}, but those before "
                f"them {dtype}, as which they would lose digits; make all chunks {batch.dtype}"
            )
        n_rows += len(batch)
        yield batch.astype(dtype, copy=False)


def _write_zarr(path: Path, first: npt.NDArray[Any], batches: Batches) -> None:
    zarr = import_extra("zarr", extra="io", purpose="writing Zarr arrays")
    array = zarr.create_array(
        store=path, shape=(0, first.shape[1]), chunks=first.shape, dtype=first.dtype
    )
    # Batches are as long as chunks, so that none is written twice.
    for batch in batches:
        array.append(batch)
