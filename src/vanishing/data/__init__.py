"""Where the rows come from: arrays, chunks, files, Dask, and lazy compositions of these."""

from typing import TYPE_CHECKING

from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.data.csv_files import TableError
    from vanishing.data.dask import DaskSource
    from vanishing.data.inputs import as_source
    from vanishing.data.source import (
        ArraySource,
        ConcatenatedSource,
        MappedSource,
        SampleSource,
        WeightedSource,
    )
    from vanishing.data.streamed_tables import TableSource, write
    from vanishing.data.streams import ChunkSource, DeviceSource, StoredArraySource
    from vanishing.data.whole_tables import Table, read_table

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

__getattr__, __dir__ = import_when_used(
    __name__,
    {
        "ArraySource": "source",
        "ChunkSource": "streams",
        "ConcatenatedSource": "source",
        "DaskSource": "dask",
        "DeviceSource": "streams",
        "MappedSource": "source",
        "SampleSource": "source",
        "StoredArraySource": "streams",
        "Table": "whole_tables",
        "TableError": "csv_files",
        "TableSource": "streamed_tables",
        "WeightedSource": "source",
        "as_source": "inputs",
        "read_table": "whole_tables",
        "write": "streamed_tables",
    },
)
