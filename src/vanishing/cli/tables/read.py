"""From a file or a pipe to a table of finite numbers."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.cli.console import note, working
from vanishing.cli.exits import DataError
from vanishing.cli.options import Reading
from vanishing.cli.tables.binary import read_npy, read_npz, read_parquet
from vanishing.cli.tables.columns import choose
from vanishing.cli.tables.delimited import DelimitedFile
from vanishing.cli.tables.raw import RawTable, column_name
from vanishing.cli.tables.table import Table

PIPE = "-"
#: First bytes of the binary formats.
MAGIC = {b"PAR1": "parquet", b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def read_table(
    path: str,
    reading: Reading,
    *,
    label: str | None = None,
    model: Any = None,
    secondary: bool = False,
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input.
    reading : Reading
        What the user says of columns and layout.
    label : str or None
        A column that is no feature.
    model : estimator or Table, optional
        Fitted or read before: its columns are taken, and their number is checked.
    secondary : bool
        Whether the options were meant for another table, so that columns to be left out need not
        be there.

    Raises
    ------
    DataError
        If the file cannot be read; if it holds text, missing values or other columns.
    """
    known_names, known_width = _columns_of(model)
    with working(f"reading {path}"):
        raw = open_raw(path, reading)
        chosen = choose(
            raw,
            columns=reading.columns,
            drop=reading.drop,
            id=reading.id,
            label=label,
            model_names=known_names,
            lenient=secondary,
        )
        if known_width not in (None, len(chosen.features)):
            raise DataError(
                f"{raw.where} has {len(chosen.features)} columns to use, expected {known_width} "
                f"as in {_whose(model)}; choose them with --columns"
            )
        try:
            values = raw.numbers(chosen.features)
        except DataError as error:
            if secondary:  # whose columns to be left out need not be there, but may be misspelt
                _refuse_unknown(raw, reading, error)
            raise
        if not len(values):
            raise DataError(f"{raw.where} has no rows; at least one is required")
        names = None if raw.names is None else tuple(raw.names[j] for j in chosen.features)
        table = Table(
            raw.where,
            values,
            names if model is None else known_names,
            np.arange(1, len(values) + 1),
            None if chosen.id is None else raw.texts(chosen.id),
            None if chosen.label is None else raw.texts(chosen.label),
        )
    shown = [column_name(raw.names, j) for j in chosen.features]
    return _without_gaps(table, shown, skip=reading.skip_missing)


def check_inputs(paths: Sequence[str | None]) -> None:
    """Refuse files that are not there, before any of them is read."""
    for path in paths:
        if path is None or path == PIPE:
            continue
        try:
            os.stat(path)
        except FileNotFoundError as error:
            raise DataError(_no_file(path)) from error
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _no_file(path: str) -> str:
    return f"there is no file {path}; check its name, or pass - for a pipe"


def _refuse_unknown(raw: RawTable, reading: Reading, error: DataError) -> None:
    """Add to an error that a column to be left out is not there."""
    try:
        choose(raw, columns=None, drop=reading.drop, id=reading.id, label=None)
    except DataError as unknown:
        raise DataError(f"{error}; is a name misspelt? {unknown}") from error


def open_raw(path: str, reading: Reading) -> RawTable:
    """Read a file, its columns not yet converted."""
    where = "standard input" if path == PIPE else path
    content = _content(path)
    kind = reading.format or MAGIC.get(content[:4], "csv")
    if path.endswith((".xlsx", ".xls", ".ods")) and reading.format is None:
        raise DataError(f"{where} is a spreadsheet; save the sheet as CSV")
    if kind == "parquet":
        return read_parquet(content, where)
    if kind == "npy":
        return read_npy(content, where)
    if kind == "npz":
        return read_npz(content, where, array=reading.array)
    return DelimitedFile(content, where, delimiter=reading.delimiter, header=reading.header)


def _content(path: str) -> bytes:
    if path == PIPE:
        if sys.stdin.isatty():
            note("reading a table from the terminal; end it with Ctrl-D")
        return sys.stdin.buffer.read()
    try:
        if Path(path).suffix in COMPRESSED:
            import pyarrow as pa

            with pa.input_stream(path, compression=COMPRESSED[Path(path).suffix]) as stream:
                return bytes(stream.read())
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise DataError(_no_file(path)) from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _columns_of(model: Any) -> tuple[tuple[str, ...] | None, int | None]:
    """Return names and number of the columns that a model or a table has."""
    if model is None:
        return None, None
    if isinstance(model, Table):
        return model.names, model.values.shape[1]
    names: Sequence[str] | None = getattr(model, "feature_names_in_", None)
    return (None if names is None else tuple(map(str, names))), int(model.n_features_in_)


def _whose(model: Any) -> str:
    return model.where if isinstance(model, Table) else "the data that the model was fitted to"


def _without_gaps(table: Table, shown: Sequence[str], *, skip: bool) -> Table:
    """Refuse or skip rows that have a missing or an infinite value."""
    finite = np.isfinite(table.values)
    complete = np.asarray(finite.all(axis=1))
    if complete.all():
        return table
    n_bad = int(np.sum(~complete))
    if skip:
        if n_bad == len(table):
            raise DataError(f"{table.where}: every row has a missing value; drop columns instead")
        note(f"{table.where}: {n_bad} of {len(table)} rows have missing values and are left out")
        return table.keep(complete)
    row = int(np.argmin(complete))
    column = int(np.argmin(finite[row]))
    what = "no value" if np.isnan(table.values[row, column]) else "an infinite value"
    others = f" ({n_bad} such rows in all)" if n_bad > 1 else ""
    raise DataError(
        f"{table.where}: row {row + 1} has {what} in {shown[column]}{others}; fill it in, leave "
        "such rows out with --skip-missing, or the column with --drop"
    )
