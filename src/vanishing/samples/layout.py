"""How CSV files that are read through pyarrow are laid out, all of them alike."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vanishing.samples.dialect import Dialect, first_lines, guess_dialect
from vanishing.samples.extras import imported


def csv_format(files: Sequence[str], *, header: bool | None, name: str) -> tuple[Any, bool]:
    """Return the format of the CSV files of one table.

    Parameters
    ----------
    files : sequence of str
    header : bool or None
        Whether the first lines hold names; None to guess.
    name : str
        What the rows are called in error messages.

    Returns
    -------
    file_format : pyarrow.dataset.CsvFileFormat
    named : bool
        Whether the files name their columns; x0, x1, ... otherwise.
    """
    csv = imported("pyarrow.csv", extra="io", purpose="reading tables")
    formats = imported("pyarrow.dataset", extra="io", purpose="reading tables")
    dialects = [_dialect_of(file, header) for file in files]
    first = dialects[0]
    for file, dialect in zip(files, dialects, strict=True):
        _check_alike(f"{name} ({file})", dialect, files[0], first)
    # Whole numbers do not tell what the decimal sign is.
    decimal = "," if any(dialect.decimal == "," for dialect in dialects) else "."
    file_format = formats.CsvFileFormat(
        csv.ParseOptions(delimiter=first.delimiter),
        read_options=_read_options(dialects),
        convert_options=csv.ConvertOptions(decimal_point=decimal),
    )
    return file_format, first.header is not None


def _dialect_of(file: str, header: bool | None) -> Dialect:
    try:
        with Path(file).open("rb") as opened:
            return guess_dialect(first_lines(opened), header=header)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _check_alike(where: str, dialect: Dialect, first_file: str, first: Dialect) -> None:
    if dialect.delimiter != first.delimiter:
        raise ValueError(
            f"{where} has {dialect.delimiter!r} between its columns, but {first_file} has "
            f"{first.delimiter!r}; write all files alike"
        )
    if (dialect.header is None) != (first.header is None):
        with_names, without = (first_file, where) if dialect.header is None else (where, first_file)
        raise ValueError(
            f"{with_names} begins with the names of its columns, and {without} with a row; write "
            "all files alike, or say what they are by as_source(..., header=True or False)"
        )


def _read_options(dialects: Sequence[Dialect]) -> Any:
    csv = imported("pyarrow.csv", extra="io", purpose="reading tables")
    first = dialects[0]
    if first.header is None:
        return csv.ReadOptions(column_names=[f"x{j}" for j in range(first.n_columns)])
    if not any(dialect.commented or dialect.trimmed for dialect in dialects):
        return csv.ReadOptions()  # pyarrow finds the names, in another order in each file
    if any(dialect.header != first.header for dialect in dialects):
        raise ValueError(
            "the first lines of the files differ, and have comments or spaces around names; write "
            "all files alike"
        )
    return csv.ReadOptions(
        column_names=list(first.header),
        skip_rows=1,  # not skip_rows_after_names, which count_rows does not look at
    )
