"""From columns to a file, whole or not at all, or to a pipe."""

import csv
import errno
import io
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vanishing.cli.console import say, working
from vanishing.cli.exits import OutputError, UsageError
from vanishing.cli.tables.read import PIPE
from vanishing.samples.dialect import is_number
from vanishing.samples.whole import FULL, followed

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
}


#: What formulas of spreadsheets begin with, or what comes before it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_table(
    path: str, columns: Mapping[str, npt.NDArray[Any]], *, format: str | None = None
) -> None:
    """Write columns of equal length.

    Parameters
    ----------
    path : str
        A file, or "-" for standard output.
    columns : mapping of str to array
        Numbers, truth values or texts.
    format : str or None
        By default that of the file's suffix, and CSV on a pipe.
    """
    kind = output_format(path, format)
    if kind in ("npy", "npz", "parquet") and path == PIPE and sys.stdout.isatty():
        raise UsageError(f"{kind} is no text for a terminal; name a file with --out")
    with working(f"writing {path}"), output_file(path) as file:
        _WRITERS[kind](file, columns)


def output_format(path: str, format: str | None) -> str:
    """Return the kind of a file that is to be written, or raise an error before any work is done.

    Parameters
    ----------
    path : str
    format : str or None
        What the user says.
    """
    if format is not None:
        return format
    if path == PIPE:
        return "csv"
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix and not os.path.exists(path):
        raise UsageError(
            f"{path}: unknown kind of table {suffix!r}; expected {', '.join(SUFFIXES)}, or pass "
            "--out-format"
        )
    return "csv"  # /dev/null, a named pipe


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Refuse files that cannot be written, before any work is done."""
    if list(inputs).count(PIPE) > 1:
        raise UsageError("standard input can be read once; name a file in place of one -")
    used = {os.path.realpath(path) for path in inputs if path is not None and path != PIPE}
    seen: set[Path] = set()
    for path in outputs:
        if path in (None, PIPE):
            continue
        assert path is not None
        with refusals(path):  # a name that is too long, a link that leads to itself
            place = followed(path)
            there = place.exists()
        if place.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it")
        if not place.parent.is_dir():
            raise OutputError(f"there is no folder {Path(path).parent}; make it first")
        if not os.access(place if there else place.parent, os.W_OK):
            raise OutputError(f"{path} may not be written; choose another place")
        if str(place) in used:
            raise OutputError(f"{path} is also an input, which would be lost; choose another name")
        if place in seen:
            raise OutputError(f"{path} would be written twice; choose another name")
        if not there or place.is_file():  # anything may go to /dev/null
            seen.add(place)


@contextmanager
def output_file(path: str) -> Iterator[IO[bytes]]:
    """Open standard output, or a file that is there whole or not at all."""
    if path == PIPE:
        sys.stdout.flush()
        if sys.stdout.isatty():
            shown = io.BytesIO()
            yield shown
            say(shown.getvalue().decode(errors="replace").rstrip("\n"))
            return
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from vanishing.persistence.whole import whole_file

    with refusals(path), whole_file(path) as file:
        yield file


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """Turn what the system says about a file that cannot be written into one line."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in FULL:
            reason = "no space is left there; make room, or choose another place"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = "it may not be written there; choose another place"
        else:
            reason = f"{error.strerror or error}; choose another place"
        raise OutputError(f"{path} was not written: {reason}") from error


def no_formula(text: str) -> str:
    """Return a text that spreadsheets do not compute, with an apostrophe in front if it needs one.

    Numbers stay as they are.
    """
    return f"'{text}" if text.startswith(FORMULA) and not is_number(text, ".") else text


def _write_csv(
    file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]], *, delimiter: str = ","
) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    columns = {
        no_formula(name): np.array([no_formula(str(text)) for text in column], dtype=object)
        if column.dtype.kind in "OU"
        else column
        for name, column in columns.items()
    }
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(columns)
    file.write(header.getvalue().encode())
    special = {delimiter, '"', "\n", "\r"}
    quoted = any(
        special & set(cell)
        for column in columns.values()
        if column.dtype.kind == "O"
        for cell in column
    )
    # Floats come with the fewest digits that give the same number again.
    options = arrow_csv.WriteOptions(
        include_header=False,
        delimiter=delimiter,
        quoting_style="needed" if quoted else "none",
    )
    arrow_csv.write_csv(pa.table(dict(columns)), file, options)


def _write_tsv(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    _write_csv(file, columns, delimiter="\t")


def _write_parquet(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(dict(columns)), file)


def _write_npy(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    numbers = [each for name, each in columns.items() if each.dtype.kind != "O" and name != "row"]
    array = numbers[0] if len(numbers) == 1 else np.column_stack(numbers)
    # Not the file itself, whose errors NumPy would replace by its own.
    np.lib.format.write_array(SimpleNamespace(write=file.write), array, allow_pickle=False)


def _write_npz(file: IO[bytes], columns: Mapping[str, npt.NDArray[Any]]) -> None:
    # Not numpy.savez, whose own arguments could have the name of a column.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in columns.items():
            plain = array.astype(str) if array.dtype.kind == "O" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


_WRITERS = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "parquet": _write_parquet,
    "npy": _write_npy,
    "npz": _write_npz,
}
