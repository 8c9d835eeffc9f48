"""Parquet, CSV and Feather files through pyarrow."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.samples.extras import imported
from vanishing.samples.schemas import Columns
from vanishing.samples.streamed import CHUNK_NUMBERS, Chunk, StreamedSource

#: Bytes of a CSV file that are parsed at a time.
CSV_BLOCK = 2**22


class TableSource(StreamedSource):
    """The rows of a dataset of pyarrow: one file or many, of one table.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Columns of integers, floating-point numbers and booleans; missing entries are NaN, and
        refused as such.
    columns : sequence of str, optional
        Which columns to use, in this order; all by default.
    name : str
        What the rows are called in error messages.
    file_types : bool
        Whether columns are of the type that each file says, rather than of that of the dataset,
        which is by default that of the first file.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        columns: Sequence[str] | None = None,
        name: str = "X",
        file_types: bool = False,
    ) -> None:
        self.dataset = dataset
        self.name = name
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a list of names, got {columns!r}; write [{columns!r}]"
            )
        checked = Columns(self._schemas(file_types), columns)
        self.feature_names = checked.names
        self._dtype = checked.dtype
        self._file_types = file_types

    def _schemas(self, file_types: bool) -> list[tuple[str, Any]]:
        """Return the columns that the files have, or that the dataset says they have."""
        files = list(self.dataset.get_fragments()) if file_types else []
        if len(files) <= 1:
            return [(self.name, self.dataset.schema)]
        schemas = []
        for file in files:
            where = f"{self.name} ({file.path})"
            try:
                schemas.append((where, file.physical_schema))
            except (OSError, ValueError) as error:  # pyarrow's own errors are of these
                raise ValueError(f"{where} cannot be opened: {error}") from error
        return schemas

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

    def _read(self) -> Iterator[Chunk]:
        file, start = None, 0
        for batch, fragment in self._batches():
            path = getattr(fragment, "path", None)
            start = start if path == file else 0
            file, stop = path, start + batch.num_rows
            place = f"{path}, " if path else ""
            yield Chunk(self._rows(batch), f"{place}rows {start} to {stop - 1}")
            start = stop

    def _batches(self) -> Iterator[tuple[Any, Any]]:
        """Yield batches of the columns, each with the file that it comes from."""
        # One batch ahead: the default keeps sixteen, of four files.
        options: dict[str, Any] = {
            "columns": list(self.feature_names or ()),
            "batch_size": max(1, CHUNK_NUMBERS // self.n_features),
            "batch_readahead": 1,
            "fragment_readahead": 1,
            "fragment_scan_options": self._scan_options(),
        }
        if not self._file_types:
            yield from self.dataset.scanner(**options).scan_batches()
            return
        for fragment in self.dataset.get_fragments():
            scanner = fragment.scanner(schema=fragment.physical_schema, **options)
            for batch in scanner.to_batches():
                yield batch, fragment

    def _scan_options(self) -> Any:
        """Bounds on what is held of a file."""
        formats = imported("pyarrow.dataset", extra="io", purpose="reading tables")
        file_format = getattr(self.dataset, "format", None)
        if isinstance(file_format, formats.ParquetFileFormat):
            # Otherwise all columns of a file are fetched before the first batch.
            return formats.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        if isinstance(file_format, formats.CsvFileFormat):
            options = file_format.default_fragment_scan_options
            options.read_options.block_size = CSV_BLOCK
            return options
        return None

    def _rows(self, batch: Any) -> FloatArray:
        """Copy the columns of a batch into a matrix that lies one column after the other."""
        columns = np.empty((batch.num_columns, batch.num_rows), dtype=self._dtype)
        arrow_type = "float" if self._dtype == np.float32 else "double"
        for row, column in zip(columns, batch.columns, strict=True):
            row[:] = column.cast(arrow_type, safe=False).to_numpy(zero_copy_only=False)
        return columns.T
