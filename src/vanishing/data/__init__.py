"""Where the rows come from: arrays, chunks, files, Dask, and lazy compositions of these."""

from vanishing.data.dask import DaskSource
from vanishing.data.device import DeviceSource
from vanishing.data.inputs import as_source
from vanishing.data.output import write
from vanishing.data.source import (
    ArraySource,
    ConcatenatedSource,
    MappedSource,
    SampleSource,
    WeightedSource,
)
from vanishing.data.streamed_tables import TableSource
from vanishing.data.streams import ChunkSource, StoredArraySource
from vanishing.data.whole_tables import Table, TableError, read_table

__all__ = [
    "ArraySource",
    "ChunkSource",
    "ConcatenatedSource",
    "DaskSource",
    "DeviceSource",
    "MappedSource",
    "SampleSource",
    "StoredArraySource",
    "Table",
    "TableError",
    "TableSource",
    "WeightedSource",
    "as_source",
    "read_table",
    "write",
]
