"""Writing the rows of a source to a file, a block at a time, whole or not at all."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import import_extra, move_to_host
from vanishing.data.atomic import replace_atomic
from vanishing.data.files import is_zarr_array
from vanishing.data.inputs import as_source
from vanishing.data.source import close_after
from vanishing.data.streams import CHUNK_NUMBERS
from vanishing.polynomials.monomials import variable_names

Batches = Iterator[npt.NDArray[Any]]


def write(
    data: Any, path: str | os.PathLike[str], *, column_names: Sequence[str] | None = None
) -> None:
    """Write rows to a Parquet, CSV or NumPy file, or a Zarr array.

    Rows are taken a block at a time, so that they need not fit into memory. If they cannot be read
    to their end, nothing is written, and a file that was there before stays as it was.

    Parameters
    ----------
    data : anything that ``as_source`` takes
        For instance what ``VanishingIdeal.transform`` makes of chunks.
    path : path
        Ends in .parquet, .csv, .npy or .zarr, which chooses the format. A file, or a Zarr array,
        that exists is replaced.
    column_names : sequence of str, optional
        For Parquet and CSV; by default those of the data, or x0, x1, ...
    """
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise ValueError(
            f"{str(target)!r} must end in one of {', '.join(_WRITERS)}, which chooses the format"
        )
    to_folder = target.suffix.lower() == ".zarr"
    if not to_folder and target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if to_folder and target.exists() and not is_zarr_array(target):
        raise FileExistsError(
            f"{target} is there already and is no single Zarr array; it is left alone"
        )
    source = as_source(data)
    n_columns = source.n_features
    if n_columns == 0:
        raise ValueError(
            f"{source.name} has no columns, so there is nothing to write; if these are the "
            "features of an ideal, nothing vanishes: raise tol or max_degree"
        )
    given = source.feature_names if column_names is None else column_names
    names = variable_names(n_columns) if given is None else list(map(str, given))
    if len(names) != n_columns or len(set(names)) != n_columns:
        raise ValueError(f"{n_columns} different column names are required, got {names}")
    n_rows = max(1, CHUNK_NUMBERS // n_columns)
    with (
        close_after(source.blocks(n_rows)) as blocks,
        replace_atomic(target, folder=to_folder) as unfinished,
    ):
        batches = _batches(map(move_to_host, blocks), n_rows)
        first = next(batches, None)
        if first is None:
            raise ValueError(f"{source.name} has no rows: at least one row is required")
        writer(unfinished, first, batches, names)


def _batches(blocks: Batches, n_rows: int) -> Batches:
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


def _write_npy(path: Path, first: npt.NDArray[Any], rest: Batches, names: Sequence[str]) -> None:
    """Write the header again when the number of rows is known; NumPy leaves room for it."""

    def header(n_rows: int) -> None:
        file.seek(0)
        description = {
            "descr": np.lib.format.dtype_to_descr(first.dtype),
            "fortran_order": False,
            "shape": (n_rows, first.shape[1]),
        }
        np.lib.format.write_array_header_1_0(file, description)

    with path.open("wb") as file:
        header(len(first))
        begin, n_rows = file.tell(), 0
        for batch in _with_first(first, rest):
            # Not tofile, whose errors do not say that the disk is full.
            file.write(np.ascontiguousarray(batch).data)
            n_rows += len(batch)
        header(n_rows)
        assert file.tell() == begin


def _write_zarr(path: Path, first: npt.NDArray[Any], rest: Batches, names: Sequence[str]) -> None:
    zarr = import_extra("zarr", extra="io", purpose="writing Zarr arrays")
    array = zarr.create_array(
        store=path, shape=(0, first.shape[1]), chunks=first.shape, dtype=first.dtype
    )
    # Batches are as long as chunks, so that none is written twice.
    for batch in _with_first(first, rest):
        array.append(batch)


def _write_table(
    open_writer: Callable[[Path, Any], Any],
) -> Callable[[Path, npt.NDArray[Any], Batches, Sequence[str]], None]:
    def write_table(
        path: Path, first: npt.NDArray[Any], rest: Batches, names: Sequence[str]
    ) -> None:
        arrow = import_extra("pyarrow", extra="io", purpose="writing tables")
        kind = arrow.from_numpy_dtype(first.dtype)
        schema = arrow.schema([(name, kind) for name in names])
        with open_writer(path, schema) as writer:
            for batch in _with_first(first, rest):
                columns = [arrow.array(column, type=kind) for column in batch.T]
                writer.write_batch(arrow.record_batch(columns, schema=schema))

    return write_table


def _parquet_writer(path: Path, schema: Any) -> Any:
    parquet = import_extra("pyarrow.parquet", extra="io", purpose="writing Parquet files")
    return parquet.ParquetWriter(path, schema)


def _csv_writer(path: Path, schema: Any) -> Any:
    csv = import_extra("pyarrow.csv", extra="io", purpose="writing CSV files")
    return csv.CSVWriter(path, schema)


def _with_first(first: npt.NDArray[Any], rest: Batches) -> Batches:
    """Yield all batches in the dtype of the first, which loses nothing of the others."""
    n_rows = len(first)
    yield first
    for batch in rest:
        if not np.can_cast(batch.dtype, first.dtype):
            raise ValueError(
                f"rows {n_rows} to {n_rows + len(batch) - 1} are {batch.dtype}, but those before "
                f"them {first.dtype}, as which they would lose digits; make all chunks "
                f"{batch.dtype}"
            )
        n_rows += len(batch)
        yield batch.astype(first.dtype, copy=False)


_WRITERS = {
    ".parquet": _write_table(_parquet_writer),
    ".csv": _write_table(_csv_writer),
    ".npy": _write_npy,
    ".zarr": _write_zarr,
}
