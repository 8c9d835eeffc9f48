"""Parquet and NumPy files."""

import io
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.cli.console import note
from vanishing.cli.exits import DataError
from vanishing.cli.tables.raw import Columns


def read_parquet(content: bytes, where: str) -> Columns:
    """Read a Parquet file.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{where} is no Parquet file that can be read: {error}") from error
    return Columns(where, tuple(table.column_names), [_as_numpy(each) for each in table.columns])


def _as_numpy(column: Any) -> npt.NDArray[Any]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind) or (pa.types.is_boolean(kind) or pa.types.is_integer(kind)):
        if column.null_count or pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    return np.array(["" if cell is None else cell for cell in column.to_pylist()], dtype=object)


def read_npy(content: bytes, where: str) -> Columns:
    """Read a NumPy array."""
    return _as_columns(_load(content, where), where)


def read_npz(content: bytes, where: str, *, array: str | None) -> Columns:
    """Read one array of a NumPy archive, or its arrays of one dimension as columns.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    array : str or None
        Which one; not needed where there is one table only.
    """
    archive = _load(content, where)
    if isinstance(archive, np.ndarray):
        return _as_columns(archive, where)
    names = list(archive)
    found = {name: _member(archive, name, where) for name in names}
    if array is not None:
        if array not in found:
            raise DataError(f"{where} has no array {array!r}; it has {', '.join(names) or 'none'}")
        return _as_columns(found[array], where)
    tables = [name for name in names if found[name].ndim >= 2]
    if len(tables) == 1:
        return _as_columns(found[tables[0]], where)
    if tables:
        raise DataError(f"{where} has the tables {', '.join(tables)}; choose one with --array")
    lengths = {len(each) for each in found.values() if each.ndim == 1}
    if len(lengths) != 1:
        raise DataError(f"{where} holds no table: it has {', '.join(names) or 'no arrays'}")
    columns = {name: each for name, each in found.items() if each.ndim == 1}
    return Columns(where, tuple(columns), list(columns.values()))


def _load(content: bytes, where: str) -> Any:
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{where} is no NumPy file that can be read: {error}") from error


def _member(archive: Any, name: str, where: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{where}: the array {name!r} cannot be read: {error}") from error


def _as_columns(array: npt.NDArray[Any], where: str) -> Columns:
    if array.dtype.names is not None:
        return Columns(where, array.dtype.names, [array[name] for name in array.dtype.names])
    if array.ndim == 0:
        raise DataError(f"{where} holds a single value; a table has rows and columns")
    if array.dtype.kind == "c":
        raise DataError(f"{where} holds complex numbers; save their real and imaginary parts")
    if array.ndim > 2:
        note(f"{where}: each of the {len(array)} arrays of shape {array.shape[1:]} is one row")
        array = array.reshape(len(array), -1)
    if array.ndim == 1:
        array = array[:, None]
    return Columns(where, None, list(array.T))
