"""Parquet, CSV and Feather files through pyarrow."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing._xp.lazy import lazy
from vanishing.samples.extras import imported
from vanishing.samples.files import reader_of
from vanishing.samples.schemas import Columns
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
    by_path : bool
        Whether the dataset was opened by the paths of files and nothing else: CSV files are then
        plain ones, and columns of other files have the type that each file says, rather than that
        of the dataset, which is that of the first file.
    named : bool
        Whether the names of the columns are those of the files, rather than our own.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        columns: Sequence[str] | None = None,
        name: str = "X",
        by_path: bool = False,
        named: bool = True,
    ) -> None:
        self.dataset = dataset
        self.by_path = by_path
        self.name = name
        if isinstance(columns, str):
            raise TypeError(
                f"columns must be a list of names, got {columns!r}; write [{columns!r}]"
            )
        checked = Columns(self._schemas(), columns)
        self._used = checked.names
        # Our own names tell something only where some columns were chosen by them.
        self.feature_names = self._used if named or columns is not None else None
        self._dtype = checked.dtype

    def _schemas(self) -> list[tuple[str, Any]]:
        """Return the columns that the files have, or that the dataset says they have."""
        files = list(self.dataset.get_fragments()) if self._has_types_of_files else []
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
    def _has_types_of_files(self) -> bool:
        """Whether columns are of the type that each file says; those of CSV files are guesses."""
        formats = imported("pyarrow.dataset", extra="io", purpose="reading tables")
        return self.by_path and not isinstance(self.dataset.format, formats.CsvFileFormat)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._used)

    @lazy
    def n_samples(self) -> int:
        """Number of rows: from the headers of Parquet files, counted in CSV files."""
        return int(self.dataset.count_rows())

    @property
    def cpu(self) -> bool:
        """True."""
        return True

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
        names = list(self._used)
        read = reader_of(self.dataset, plain=self.by_path)
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
        columns = np.full((self.n_features, batch.num_rows), np.nan, dtype=self._dtype)
        arrow_type = "float" if self._dtype == np.float32 else "double"
        there = set(batch.schema.names)
        for row, name in zip(columns, self._used, strict=True):
            if name in there:
                column = batch.column(name).cast(arrow_type, safe=False)
                row[:] = column.to_numpy(zero_copy_only=False)
        return columns.T
