"""Parquet, CSV and Feather files through pyarrow."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.samples.extras import imported
from vanishing.samples.files import reader_of
from vanishing.samples.streamed import CHUNK_NUMBERS, Chunk, StreamedSource


class TableSource(StreamedSource):
    """The rows of a dataset of pyarrow: one file or many, of one table.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Columns of integers, floating-point numbers and booleans; missing entries are NaN, and
        refused as such.
    columns : sequence of str, optional
        Which columns to use, in this order; by default all but the index of a pandas frame.
    name : str
        What the rows are called in error messages.
    plain : bool
        Whether CSV files are as pyarrow takes them by default, and not compressed.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        columns: Sequence[str] | None = None,
        name: str = "X",
        plain: bool = False,
    ) -> None:
        self.dataset = dataset
        self.plain = plain
        self.name = name
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a list of names, got {columns!r}; write [{columns!r}]"
            )
        names = _without_index(dataset.schema) if columns is None else tuple(columns)
        self._check_columns(names)
        self.feature_names = names

    @property
    def n_features(self) -> int:
        """Number of columns."""
        assert self.feature_names is not None
        return len(self.feature_names)

    @cached_property
    def n_samples(self) -> int:
        """Number of rows: from the headers of Parquet files, counted in CSV files."""
        return int(self.dataset.count_rows())

    @property
    def cpu(self) -> bool:
        """True."""
        return True

    def _check_columns(self, names: tuple[str, ...]) -> None:
        schema = self.dataset.schema
        if not names:
            raise ValueError(f"{self.name} has no columns: at least one is required")
        missing = [name for name in names if name not in schema.names]
        if missing:
            raise ValueError(
                f"{self.name} has no columns {missing}; its columns are {list(schema.names)}"
            )
        repeated = sorted(
            {name for name in names if max(names.count(name), schema.names.count(name)) > 1}
        )
        if repeated:
            raise ValueError(f"{self.name} has several columns that are called {repeated}")
        other = [
            f"{name!r} ({schema.field(name).type})"
            for name in names
            if not is_number(schema.field(name).type)
        ]
        if other:
            raise ValueError(
                f"{self.name} must hold real numbers, but these columns do not: "
                f"{', '.join(other)}; choose the others by as_source(..., columns=[...])"
            )

    @cached_property
    def _dtype(self) -> Any:
        """Single precision if no column is wider."""
        arrow = imported("pyarrow", extra="io", purpose="reading tables")
        assert self.feature_names is not None
        narrow = (arrow.float16(), arrow.float32())
        kinds = [self.dataset.schema.field(name).type for name in self.feature_names]
        return np.float32 if all(kind in narrow for kind in kinds) else np.float64

    def _read(self) -> Iterator[Chunk]:
        file, start = None, 0
        for batch, fragment in self._batches(max(1, CHUNK_NUMBERS // self.n_features)):
            path = getattr(fragment, "path", None)
            start = start if path == file else 0
            file, stop = path, start + batch.num_rows
            place = f"{path}, " if path else ""
            yield Chunk(self._rows(batch), f"{place}rows {start} to {stop - 1}")
            start = stop

    def _batches(self, n_rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield batches of at most so many rows, each with the file that it is of."""
        names = list(self.feature_names or ())
        read = reader_of(self.dataset, plain=self.plain)
        if read is not None:
            for fragment in self.dataset.get_fragments():
                for batch in read(fragment, names, self.dataset.schema, n_rows):
                    yield batch, fragment
            return
        scanner = self.dataset.scanner(
            columns=names,
            batch_size=n_rows,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=self._scan_options(),
            use_threads=False,  # would run ahead even further
        )
        yield from scanner.scan_batches()

    def _scan_options(self) -> Any:
        """Bounds on what is held of a file."""
        formats = imported("pyarrow.dataset", extra="io", purpose="reading tables")
        file_format = getattr(self.dataset, "format", None)
        if isinstance(file_format, formats.ParquetFileFormat):
            # Otherwise all columns of a file are fetched before the first batch.
            return formats.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        return None

    def _rows(self, batch: Any) -> FloatArray:
        """Copy the columns of a batch into a matrix that lies one column after the other."""
        names = self.feature_names or ()
        columns = np.full((len(names), batch.num_rows), np.nan, dtype=self._dtype)
        arrow_type = "float" if self._dtype == np.float32 else "double"
        there = set(batch.schema.names)
        for row, name in zip(columns, names, strict=True):
            if name in there:
                column = batch.column(name).cast(arrow_type, safe=False)
                row[:] = column.to_numpy(zero_copy_only=False)
        return columns.T


def _without_index(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns; the index of a pandas frame, stored as one, is none."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(name for name in schema.names if name not in index)


def is_number(kind: Any) -> bool:
    """Say whether a type of Arrow is one of numbers, truth values included."""
    types = imported("pyarrow.types", extra="io", purpose="reading tables")
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
