"""What a path names: a NumPy file, a Zarr array, or a table of one file or many."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.samples.extras import imported
from vanishing.samples.layout import csv_format
from vanishing.samples.source import SampleSource
from vanishing.samples.stored import StoredArraySource
from vanishing.samples.tables import TableSource

#: What pyarrow calls the kinds of tables, by how their files end.
TABLES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
}
KNOWN = f".npy, .zarr, {', '.join(TABLES)}"
#: Files that mark the folder of a Zarr array, of version 3 and 2 of the format.
ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")


def is_path(data: object) -> bool:
    """Say whether ``data`` is a path, or a list of paths."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(part, str | os.PathLike) for part in data)
    return isinstance(data, str | os.PathLike)


def is_zarr(path: Path) -> bool:
    """Say whether a folder holds a Zarr array, or a group of them."""
    return path.is_dir() and any((path / mark).is_file() for mark in ZARR_MARKS)


def is_zarr_array(path: Path) -> bool:
    """Say whether a folder is a single Zarr array, and no group."""
    if not is_zarr(path) or not (path / "zarr.json").is_file():
        return (path / ".zarray").is_file()
    try:
        return bool(json.loads((path / "zarr.json").read_bytes())["node_type"] == "array")
    except (ValueError, KeyError, TypeError):
        return False


def open_path(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    name: str = "X",
) -> SampleSource:
    """Open the file, folder or list of files that ``data`` names."""
    paths = [Path(part) for part in (data if isinstance(data, list | tuple) else [data])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{name} names {str(path)!r}, but there is no such file")
    first = paths[0]
    if len(paths) == 1 and (is_zarr(first) or first.suffix.lower() == ".npy"):
        if columns is not None:
            raise ValueError(
                f"{name} is an array without column names, so columns must be left out"
            )
        open_array = _open_zarr if first.is_dir() else _open_npy
        return StoredArraySource(open_array(first, name), name=name)
    dataset = imported("pyarrow.dataset", extra="io", purpose="reading tables")
    try:
        # Of one folder its own files; a list is taken as it is.
        files: Any = str(first) if len(paths) == 1 else [str(path) for path in paths]
        file_format: Any = _table_format(paths, name)
        schema, named = None, True
        if file_format == "csv":
            arrow = imported("pyarrow", extra="io", purpose="reading tables")
            listed = dataset.dataset(files, format=file_format, schema=arrow.schema([])).files
            file_format, named = csv_format(listed, header=header, name=name)
            schema = _without_guesses(dataset.dataset(files, format=file_format).schema)
        opened = dataset.dataset(files, format=file_format, schema=schema)
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these
        raise ValueError(f"{name} cannot be opened: {error}") from error
    try:
        return TableSource(opened, columns=columns, name=name, by_path=True, named=named)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} cannot be opened: its column names are no utf-8 text ({error}); save the file "
            "as UTF-8"
        ) from error


class NumpyFile:
    """A .npy file, mapped anew for each slice of rows, so that pages do not stay in memory."""

    def __init__(self, path: Path) -> None:
        self.filename = path.resolve()
        self.shape = self._mapped().shape

    def __getitem__(self, rows: slice) -> Any:
        return np.array(self._mapped()[rows])

    def _mapped(self) -> Any:
        return np.load(self.filename, mmap_mode="r", allow_pickle=False)


def _open_npy(path: Path, name: str) -> NumpyFile:
    try:
        return NumpyFile(path)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} cannot be opened: {path} is no plain array: {error}") from error


def _open_zarr(path: Path, name: str) -> Any:
    zarr = imported("zarr", extra="io", purpose="reading Zarr arrays")
    opened = zarr.open(path, mode="r")
    if isinstance(opened, zarr.Group):
        arrays = sorted(opened.array_keys())
        raise ValueError(
            f"{name} names {str(path)!r}, a group of Zarr arrays; name one of them, as in "
            f"{str(path / (arrays[0] if arrays else 'array'))!r}; it has {arrays}"
        )
    return opened


def _without_guesses(schema: Any) -> Any:
    """Read numbers of a CSV file as such, though the first ones be whole or missing."""
    arrow = imported("pyarrow", extra="io", purpose="reading tables")
    return arrow.schema(
        field.with_type(arrow.float64())
        if arrow.types.is_integer(field.type) or arrow.types.is_null(field.type)
        else field
        for field in schema
    )


def _table_format(paths: list[Path], name: str) -> str:
    """Return the one format of all files, seen by how their names end."""
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        # pyarrow leaves these out of folders
        if file.is_file() and not (path.is_dir() and file.name.startswith((".", "_")))
    ]
    endings = sorted({file.suffix.lower() for file in files})
    formats = {TABLES.get(ending) for ending in endings}
    if len(formats) != 1 or None in formats:
        raise ValueError(
            f"{name} names files that end in {endings or 'nothing'}; files of one kind are "
            f"required, out of {KNOWN}"
        )
    (found,) = formats
    assert found is not None
    return found
