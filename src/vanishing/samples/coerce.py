"""Turning what a user passes into a source."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vanishing._xp import is_array
from vanishing.samples.array import ArraySource
from vanishing.samples.checks import check_block, refuse_sparse
from vanishing.samples.chunks import ChunkSource
from vanishing.samples.source import SampleSource
from vanishing.samples.weighted import with_weights


def is_chunked(data: object) -> bool:
    """Say whether ``data`` is a source or chunks of rows, rather than one table."""
    if isinstance(data, SampleSource | Iterator) or callable(data):
        return True
    if isinstance(data, list | tuple):
        return bool(data) and all(len(getattr(chunk, "shape", ())) == 2 for chunk in data)
    # Any other re-iterable that is no table: it has neither shape nor array interface.
    table_like = ("shape", "__array__", "__array_interface__", "__dataframe__")
    return hasattr(data, "__iter__") and not (
        isinstance(data, str | bytes | dict | set) or any(hasattr(data, a) for a in table_like)
    )


def as_source(data: Any, *, name: str = "X", weights: Any = None) -> SampleSource:
    """Wrap an array, a memory map or re-iterable chunks as a source.

    Parameters
    ----------
    data : array, array-like, SampleSource, re-iterable of chunks, or callable
        A callable returns a fresh iterator over chunks of rows each time it is called.
    name : str
        What the rows are called in error messages.
    weights : array-like of shape (n_samples,), optional
        How often each row counts, in the order of the rows, also where they come in chunks.

    Returns
    -------
    SampleSource
    """
    return with_weights(_unweighted(data, name), weights)


def _unweighted(data: Any, name: str) -> SampleSource:
    if isinstance(data, SampleSource):
        return data if data.name == name else data.named(name)
    if is_chunked(data):
        return ChunkSource(data, name=name)
    refuse_sparse(data, name)
    array = data if is_array(data) else np.asarray(data)
    check_block(array, name=name)
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}: at least one row and one column are required"
        )
    return ArraySource(array).named(name)
