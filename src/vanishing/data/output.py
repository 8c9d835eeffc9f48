"""Writing the rows of a source to a file, a block at a time, whole or not at all."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import import_extra, move_to_host
from vanishing.data.atomic import replace_atomic
from vanishing.data.inputs import as_source
from vanishing.data.source import close_after
from vanishing.data.streamed_tables import is_zarr_array
from vanishing.data.streams import CHUNK_NUMBERS
from vanishing.data.whole_tables import write_columns, write_npy

Batches = Iterator[npt.NDArray[Any]]

#: How the names of files may end, which chooses the format.
ENDINGS = (".parquet", ".csv", ".npy", ".zarr")


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
    names = [f"c{i}" for i in range(n_columns)] if given is None else list(map(str, given))
    if len(names) != n_columns or len(set(names)) != n_columns:
        raise ValueError(f"{n_columns} different column names are required, got {names}")
    n_rows = max(1, CHUNK_NUMBERS // n_columns)
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
