"""Where the rows come from: one array, re-iterable chunks, and lazy compositions of these."""

from vanishing.samples.array import ArraySource
from vanishing.samples.chunks import ChunkSource
from vanishing.samples.coerce import as_source
from vanishing.samples.compose import ConcatenatedSource, MappedSource
from vanishing.samples.source import SampleSource
from vanishing.samples.weighted import WeightedSource

__all__ = [
    "ArraySource",
    "ChunkSource",
    "ConcatenatedSource",
    "MappedSource",
    "SampleSource",
    "WeightedSource",
    "as_source",
]
