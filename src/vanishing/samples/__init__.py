"""Where the rows come from: arrays, chunks, files, Dask, and lazy compositions of these."""

from vanishing.samples.array import ArraySource
from vanishing.samples.chunks import ChunkSource
from vanishing.samples.coerce import as_source
from vanishing.samples.compose import ConcatenatedSource, MappedSource
from vanishing.samples.dask import DaskSource
from vanishing.samples.device import DeviceSource
from vanishing.samples.source import SampleSource
from vanishing.samples.stored import StoredArraySource
from vanishing.samples.tables import TableSource
from vanishing.samples.weighted import WeightedSource
from vanishing.samples.write import write

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
