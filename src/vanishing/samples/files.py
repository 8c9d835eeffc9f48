"""Batches of rows out of the files of a dataset, read when they are asked for.

The scanner of pyarrow reads ahead as fast as it can, whatever its options say: where computing
takes longer than reading, much of a file ends up in memory. The readers of single files wait.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vanishing.samples.extras import imported

#: Bytes of a CSV file that are parsed at a time; pyarrow reads some thirty such blocks ahead.
CSV_BLOCK = 2**20
#: Bytes of each column of a Parquet file that are read at a time.
PARQUET_BUFFER = 2**16


def reader_of(dataset: Any, *, plain: bool) -> Callable[..., Iterator[Any]] | None:
    """Return the function that reads a file of a dataset, or None where only the scanner can.

    That is for rows in memory, filters, and columns that are in the names of folders.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    plain : bool
        Whether CSV files are known to be neither compressed nor encoded in an unusual way: a
        dataset does not tell.

    Returns
    -------
    callable or None
        ``read(fragment, names, schema, n_rows)`` yields record batches, less the columns that the
        file does not have.
    """
    formats = imported("pyarrow.dataset", extra="io", purpose="reading tables")
    if not isinstance(dataset, formats.FileSystemDataset):
        return None
    if getattr(
        dataset, "_scan_options", {"unknown": None}
    ):  # there is no public way to see filters
        return None
    everything = formats.scalar(True)
    if not all(part.partition_expression.equals(everything) for part in dataset.get_fragments()):
        return None
    readers = (
        (formats.ParquetFileFormat, _read_parquet),
        (formats.IpcFileFormat, _read_feather),
        (formats.CsvFileFormat, _read_csv if plain else None),
    )
    return next((read for kind, read in readers if isinstance(dataset.format, kind)), None)


def _read_parquet(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    parquet = imported("pyarrow.parquet", extra="io", purpose="reading tables")
    row_groups = [group.id for group in fragment.row_groups]  # a fragment may be a part of a file
    with fragment.open() as file:
        opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=PARQUET_BUFFER)
        yield from opened.iter_batches(n_rows, row_groups=row_groups, columns=list(names))


def _read_csv(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    csv = imported("pyarrow.csv", extra="io", purpose="reading tables")
    said = fragment.format.default_fragment_scan_options  # by whoever opened the dataset
    convert = csv.ConvertOptions(
        decimal_point=said.convert_options.decimal_point,
        column_types={name: schema.field(name).type for name in names},
        include_columns=list(names),
        include_missing_columns=True,
    )
    read = csv.ReadOptions(
        block_size=CSV_BLOCK,
        column_names=said.read_options.column_names,
        skip_rows=said.read_options.skip_rows,
    )
    parse = fragment.format.parse_options
    with (
        fragment.open() as file,
        csv.open_csv(file, read, parse, convert) as batches,
    ):
        yield from batches


def _read_feather(fragment: Any, names: Sequence[str], schema: Any, n_rows: int) -> Iterator[Any]:
    ipc = imported("pyarrow.ipc", extra="io", purpose="reading tables")
    with fragment.open() as file:
        opened = ipc.open_file(file)
        for index in range(opened.num_record_batches):
            batch = opened.get_batch(index)
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)
