"""Where the rows come from: arrays, chunks, files, Dask, and lazy compositions of these."""

from vanishing.data.dask import DaskSource
from vanishing.data.device import DeviceSource
from vanishing.data.files import TableSource
from vanishing.data.inputs import as_source
from vanishing.data.source import (
    ArraySource,
    ConcatenatedSource,
    MappedSource,
    SampleSource,
    WeightedSource,
)
from vanishing.data.streams import ChunkSource, StoredArraySource
from vanishing.data.writing import write

__all__ = [
    "ArraySource",
    "ChunkSource",
    "ConcatenatedSource",
    "DaskSource",
    "DeviceSource",
    "MappedSource",
    "SampleSource",
    "StoredArraySource",
    "TableSource",
    "WeightedSource",
    "as_source",
    "write",
]
