"""Turning what a user passes into a source."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vanishing.data.arrays import ArraySource
from vanishing.data.dask import DaskSource, as_dask_array, is_dask
from vanishing.data.files import TableSource, is_path, open_path, split_dataset
from vanishing.data.source import SampleSource, checked_block, comes_from, dense
from vanishing.data.streams import ChunkSource, StoredArraySource, as_array, columns_of, names_of
from vanishing.data.weights import with_weights


def is_chunked(data: object) -> bool:
    """Say whether ``data`` is a source or comes in chunks of rows, rather than being one table."""
    if isinstance(data, SampleSource | Iterator) or _is_opened(data) or is_path(data):
        return True
    if callable(data):
        return True
    if isinstance(data, list | tuple):
        return bool(data) and all(len(getattr(chunk, "shape", ())) == 2 for chunk in data)
    # Any other re-iterable that is no table: it has neither shape nor array interface.
    table_like = ("shape", "__array__", "__array_interface__", "__dataframe__")
    return hasattr(data, "__iter__") and not (
        isinstance(data, bytes | dict | set) or any(hasattr(data, a) for a in table_like)
    )


def _is_opened(data: object) -> bool:
    """Say whether ``data`` is an object of a package that reads in chunks."""
    return is_dask(data) or _is_zarr_array(data) or _is_dataset(data)


def _is_zarr_array(data: object) -> bool:
    return comes_from(data, "zarr") and hasattr(data, "chunks")


def _is_dataset(data: object) -> bool:
    return comes_from(data, "pyarrow") and hasattr(data, "scanner")


def as_source(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    name: str = "X",
    weights: Any = None,
) -> SampleSource:
    """Wrap data of any kind as a source.

    Parameters
    ----------
    data : array, path, dataset, chunks, or SampleSource
        An array of any library, a memory map, a ``zarr.Array``, a Dask array or frame; the path of
        a .npy or .npz file, of a .zarr folder, or of a Parquet, CSV, TSV or Feather file or a
        folder of such files, or a list of paths; a ``pyarrow.dataset.Dataset``; a re-iterable of
        chunks of rows, or a callable that returns a fresh iterator over them each time it is
        called.
    columns : sequence of str, optional
        Which columns of a table in files to use, in this order; all by default.
    header : bool, optional
        Whether the first line of CSV files holds names; guessed by default. Columns without names
        are chosen as x0, x1, ...
    name : str
        What the rows are called in error messages.
    weights : array-like of shape (n_samples,), optional
        How often each row counts, in the order of the rows, also where they come in chunks.

    Returns
    -------
    SampleSource
    """
    return with_weights(_unweighted(data, columns, header, name), weights)


def _unweighted(
    data: Any, columns: Sequence[str] | None, header: bool | None, name: str
) -> SampleSource:
    if is_path(data):
        return open_path(data, columns=columns, header=header, name=name)
    if header is not None:
        raise ValueError(f"header is for the paths of CSV files, got a {type(data).__name__}")
    if _is_dataset(data):
        return TableSource(split_dataset(data), columns=columns, name=name)
    if columns is not None:
        raise ValueError(
            f"columns were named, but {name} is a {type(data).__name__}; they can be chosen of "
            "tables in files only"
        )
    if isinstance(data, SampleSource):
        return data if data.name == name else data.named(name)
    if is_dask(data):
        return DaskSource(*as_dask_array(data, name), name=name)
    if isinstance(data, np.memmap) or _is_zarr_array(data):
        return StoredArraySource(data, name=name)
    if is_chunked(data):
        return ChunkSource(data, name=name)
    array = checked_block(as_array(dense(data, name), name), name=name)
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}: at least one row and one column are required"
        )
    source = ArraySource(array).named(name)
    source.feature_names = names_of(columns_of(data))
    return source
