"""Tables as options of the command line choose, read and write them."""

import errno
import io
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from vanishing.app.cli.console import (
    DataError,
    OutputError,
    UsageError,
    list_some,
    note,
    pick,
    say,
    state,
    working,
)
from vanishing.app.cli.options import Output, Reading
from vanishing.data.atomic import FULL, followed, open_atomic
from vanishing.data.csv_files import (
    Columns,
    CsvFile,
    Note,
    OpenTable,
    SetAside,
    Stray,
    TableError,
    list_names,
)
from vanishing.data.source import is_url
from vanishing.data.whole_tables import (
    SUFFIXES,
    Table,
    make_table,
    no_numbers,
    open_table,
    write_columns,
)

PIPE = "-"

Gaps = Literal["refuse", "skip", "keep"]
#: Names of columns that count the rows, as R and pandas write them.
COUNTERS = frozenset({"", "index", "no", "nr", "number", "obs", "row", "rowname", "rownames", "#"})

#: What to do about an error of the reader, in options of ours.
REMEDIES = {
    "array": "choose one with --array",
    "dash": "if dashes are missing values, empty these cells",
    "decimal": "if that is wrong, pass --decimal {other}",
    "delimiter": "fix the row, or pass a --delimiter other than {delimiter!r}",
    "encoding": "save the file in UTF-8",
    "names": "if the first line contains names, pass --header",
    "row": "if it is a row, pass --no-header",
    "sheet": "--sheet reads another ({other})",
    "sign": "pass --decimal . or --decimal ,",
    "format": "name its kind by a suffix (.csv, .xlsx, .parquet, .npy, .npz) or with --format",
    "text": "leave such columns out with --drop '{names}', or name them with --id or --label",
}

# --- Columns by name or number --------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """Which columns play which part."""

    features: list[int]
    id: int | None
    label: int | None
    #: Those that are left, and that --drop does not name.
    others: list[int]


def choose(
    raw: OpenTable,
    reading: Reading,
    *,
    model_names: Sequence[str] | None = None,
    lenient: bool = False,
) -> Chosen:
    """Find the columns that options name, or a model; with ``lenient`` others may be missing."""
    id_column = None if reading.id is None else _one(raw, reading.id, lenient=lenient)
    if reading.id is None and raw.index:
        id_column = raw.index[0]
        note(f"{raw.where}: {raw.column_name(id_column)} is an index and is used for row names")
    elif reading.id is None and reading.columns is None and model_names is None:
        id_column = _find_counter(raw)
    label_column = None if reading.label is None else _one(raw, reading.label, lenient=lenient)
    dropped = {id_column, label_column}
    if reading.drop is not None:
        dropped.update(_many(raw, reading.drop, lenient=lenient or model_names is not None))
    if reading.columns is not None:
        features = [j for j in _many(raw, reading.columns) if j not in dropped]
    elif model_names is not None and raw.names is not None:
        features = _of_model(raw, raw.names, model_names)
    else:
        features = [j for j in range(raw.n_columns) if j not in dropped]
    if not features:
        raise DataError(f"{raw.where}: no column is left to use; drop fewer")
    if raw.names is not None:
        _refuse_bad_names(raw.where, raw.names, features)
    others = [j for j in range(raw.n_columns) if j not in dropped.union(features)]
    return Chosen(features, id_column, label_column, others)


def _find_counter(raw: OpenTable) -> int | None:
    """Return the first column if it numbers the rows, by its name and by its numbers."""
    if raw.names is None or raw.names[0].lower() not in COUNTERS or raw.n_columns == 1:
        return None
    cells = raw.texts(0).tolist()
    if cells not in ([str(i + start) for i in range(len(cells))] for start in (0, 1)):
        return None
    note(f"{raw.where}: {raw.column_name(0)} numbers the rows and is used for their names")
    return 0


def _refuse_bad_names(where: str, names: Sequence[str], features: Sequence[int]) -> None:
    number = Counter(names[j] for j in features)
    for j in features:
        name = names[j]
        if not name:
            raise DataError(f"{where}: column {j + 1} has no name; add one, or pass --drop {j + 1}")
        if number[name] > 1:
            raise DataError(
                f"{where}: two columns are called {name!r}; rename one, or drop it by its number "
                f"(--drop {j + 1})"
            )


def _of_model(raw: OpenTable, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    present = set(names)
    lacking = [name for name in wanted if name not in present]
    if lacking:
        raise DataError(
            f"{raw.where} lacks {list_names(lacking)}, which the model was fitted to; it has "
            f"{list_names(names)}; rename its columns, or say which ones to take with --columns"
        )
    places = {name: j for j, name in reversed(list(enumerate(names)))}  # the first of each
    return [places[name] for name in wanted]


def _many(raw: OpenTable, text: str, *, lenient: bool = False) -> list[int]:
    if text in raw.shown_names:  # which may hold commas
        return [raw.shown_names.index(text)]
    found: list[int | None] = []
    for part in filter(None, map(str.strip, text.split(","))):
        ends = part.split("-")
        if part in raw.shown_names or len(ends) != 2 or not all(map(str.isdecimal, ends)):
            found.append(_one(raw, part, lenient=lenient))
            if found[-1] is None:
                note(f"{raw.where} has no column {part!r} to leave out")
        else:
            for end in ends:
                _one(raw, end, lenient=False)  # it must be there
            found += range(int(ends[0]) - 1, int(ends[1]))
    return [j for j in dict.fromkeys(found) if j is not None]


def _one(raw: OpenTable, text: str, *, lenient: bool) -> int | None:
    if text in raw.shown_names:
        return raw.shown_names.index(text)
    if text.isdecimal() and 1 <= int(text) <= raw.n_columns:
        return int(text) - 1
    if lenient:
        return None
    has = (
        f"the columns {list_names(raw.names)}" if raw.names is not None else "no names for columns"
    )
    raise DataError(
        f"{raw.where} has no column {text!r}; it has {has}: name one of them, or a number "
        f"from 1 to {raw.n_columns}"
    )


# --- From a file or a pipe to a table of finite numbers -------------------------------------------


def read_input(
    path: str,
    reading: Reading,
    *,
    model: Any = None,
    secondary: bool = False,
    set_aside: bool = False,
    gaps: Gaps = "refuse",
    lists_strays: bool = False,
    used: Collection[str] | None = (),
) -> Table:
    """Read a table of numbers, with the columns of a model or of another table if one is given.

    With ``secondary``, the options were meant for another table, so that columns to leave out may
    be missing. With ``set_aside``, columns that are not numeric are left out with a note, unless
    ``--columns`` names them. Rows with missing values are refused, skipped together with columns
    that are mostly missing, or kept. With ``lists_strays`` the command itself lists the cells that
    are not numbers. ``used`` are columns that it needs even if they are texts, None all of them.
    """
    known_names, known_width = _columns_of(model)
    with working(f"reading {path}"), table_errors():
        opened = open_input(path, reading)
        chosen = choose(opened, reading, model_names=known_names, lenient=secondary)
        features = chosen.features
        aside: tuple[SetAside, ...] = ()
        by_place = known_names is None or opened.names is None
        if set_aside and reading.columns is None and by_place:
            features, aside = opened.set_texts_aside(features)
            if not features:
                raise no_numbers(opened.where, aside)
            if unused := [each for each in aside if used is not None and each.name not in used]:
                note(f"{opened.where}: {_say_left_out(unused)}")
        elif not by_place:
            why = f"not in {_whose(model)}"
            aside = tuple(SetAside(opened.shown_names[j], why) for j in chosen.others)
        if known_width not in (None, len(features)):
            raise DataError(
                f"{opened.where} has {len(features)} columns to use, expected {known_width} "
                f"as in {_whose(model)}; choose them with --columns"
            )
        is_named = opened.names is not None or bool(aside)
        table = make_table(opened, features, aside, chosen.id, is_named=is_named)
        if not len(table):
            raise DataError(f"{opened.where} has no rows; at least one is required")
        tell(opened, opened.number_notes(features))
        if table.strays and not lists_strays:
            note(f"{opened.where}: {_say_strays(table.strays)}")
        texts = dict(table.texts)
        if chosen.id is not None:
            texts[opened.shown_names[chosen.id]] = table.row_ids
        table = replace(
            table,
            names=table.names if model is None else known_names,
            labels=None if chosen.label is None else opened.texts(chosen.label),
            notes=(),
            texts=texts,
        )
    if gaps == "keep":
        return table
    if gaps == "skip" and set_aside and reading.columns is None and known_width is None:
        table = _without_sparse_columns(table)
    return _without_gaps(table, skip=gaps == "skip")


def open_input(path: str, reading: Reading) -> OpenTable:
    """Open a table, and tell what was guessed of its layout."""
    file: str | bytes = path
    if path == PIPE:
        if sys.stdin.isatty():
            note("reading a table from the terminal; end it with Ctrl-D")
        file = sys.stdin.buffer.read()
    check_inputs([path])
    try:
        opened = open_table(
            file,
            where="standard input" if path == PIPE else path,
            delimiter=_one_character(reading.delimiter),
            transposed=bool(reading.transposed),
            **pick(reading, "format", "header", "decimal", "array", "sheet"),
        )
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if not isinstance(opened, CsvFile) and opened.row_shape:
        note(f"{opened.where}: each array of shape {opened.row_shape} is one row")
    tell(opened, opened.layout_notes)
    return opened


def tell(opened: OpenTable, notes: Sequence[Note]) -> None:
    """Print notes about a table, with the options that help where they are wrong."""
    for each in notes:
        note(f"{opened.where}: {each.with_remedies(REMEDIES)}")


@contextmanager
def table_errors() -> Iterator[None]:
    """Turn an error of the reader into one that names our options."""
    try:
        yield
    except TableError as error:
        raise DataError(error.with_remedies(REMEDIES)) from error


def _one_character(delimiter: str | None) -> str | None:
    if delimiter in ("\\t", "tab"):
        return "\t"
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'
    ):
        raise UsageError(f"--delimiter takes one plain character or 'tab', got {delimiter!r}")
    return delimiter


def check_inputs(paths: Sequence[str | None]) -> None:
    """Refuse files that are not there, before any of them is read."""
    for path in paths:
        if path is None or path == PIPE or is_url(path):
            continue
        try:
            os.stat(path)
        except FileNotFoundError as error:
            raise DataError(
                f"there is no file {path}; check its name, or pass - for a pipe"
            ) from error
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _say_left_out(aside: Sequence[SetAside]) -> str:
    """Say in one line which columns are set aside, and why."""
    if len(aside) == 1:
        return f"column {aside[0].name!r} is left out ({aside[0].reason})"
    kinds = {reason.partition(",")[0] for _, reason in aside}
    what = " and ".join("dates" if kind == "date" else kind for kind in sorted(kinds))
    told = [(name, *_split_reason(reason)) for name, reason in aside]
    shown = list_some([f"{name!r} ({example})" for name, example, _ in told])
    remedies = "".join(f"; {each}" for each in dict.fromkeys(more for *_, more in told) if each)
    return f"columns of {what} are left out: {shown}{remedies}"


def _split_reason(reason: str) -> tuple[str, str]:
    """Return the example and the remedy of "text, 'Rome' in row 1; remedy"."""
    text, row, rest = reason.partition(", ")[2].rpartition(" in row ")
    number, _, remedy = rest.partition("; ")
    return (f"{text}{row}{number}", remedy) if row else (rest, "")


def _say_strays(strays: Sequence[Stray]) -> str:
    """Say in one line which cells are not numbers."""
    shown = list_some([f"row {each.row}, {each.column}: {each.text!r}" for each in strays], "; ")
    cells = "1 cell is not a number" if len(strays) == 1 else f"{len(strays)} cells are not numbers"
    return f"{cells}; treated as missing ({shown})"


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


def _without_sparse_columns(table: Table) -> Table:
    """Leave out columns that are mostly missing, which would cost most rows."""
    is_sparse = np.isnan(table.values).mean(axis=0) > 0.5
    if is_sparse.all() or not is_sparse.any():
        return table
    names = list(compress(table.shown_names, is_sparse))
    note(f"{table.where}: {list_names(names)}: mostly missing and left out")
    return table.drop(is_sparse)


def _without_gaps(table: Table, *, skip: bool) -> Table:
    """Refuse or skip rows that have a missing or an infinite value."""
    finite = np.isfinite(table.values)
    complete = np.asarray(finite.all(axis=1))
    if complete.all():
        return table
    n_bad = int(np.sum(~complete))
    if skip:
        if n_bad == len(table):
            raise DataError(f"{table.where}: every row has a missing value; drop columns instead")
        what = "finite value" if np.isinf(table.values).any() else "value"
        verbs = ("lacks", "is") if n_bad == 1 else ("lack", "are")
        said = "{} of {} rows {} a {} and {} left out"
        note(f"{table.where}: {said.format(n_bad, len(table), verbs[0], what, verbs[1])}")
        return replace(table.keep(complete), unfiltered=table)
    row = int(np.argmin(complete))
    column = int(np.argmin(finite[row]))
    name = table.shown_names[column]
    what = "no value" if np.isnan(table.values[row, column]) else "an infinite value"
    if text := table.stray_texts.get((row, name)):
        what = f"{text!r}, which is not a number,"
    others = f" ({n_bad} such rows in all)" if n_bad > 1 else ""
    raise DataError(
        f"{table.where}: row {table.row_name(row)} has {what} in column {name!r}{others}; fill "
        "it in, leave such rows out with --skip-missing, or the column with --drop"
    )


def place_of(table: Table, index: int) -> dict[str, Any]:
    """Return the number of a row, its line in the file and its name, for JSON."""
    number = int(table.rows[index])
    name = None if table.row_ids is None else str(table.row_ids[index])
    return {"row": number, "line": table.find_line(number), "id": name}


def note_lines(table: Table, row: int) -> None:
    """Say once how rows are counted, where the file counts its lines otherwise."""
    for text in describe_lines(table, row):
        note(text)


def describe_lines(table: Table, row: int) -> list[str]:
    """Return how rows are counted; nothing where the lines of the file say the same."""
    line = table.find_line(row)
    if table.row_ids is not None or line in (None, row):
        return []
    return [
        f"rows are numbered from 1 below the header: row {row} is line {line} of {table.file_name}"
    ]


# --- From columns to a file, whole or not at all, or to a pipe ------------------------------------


def write_table(path: str, columns: Columns, *, format: str | None = None) -> None:
    """Write columns of equal length to a file, or to standard output for "-"."""
    kind = output_format(path, format)
    if kind in ("npy", "npz", "parquet") and path == PIPE and sys.stdout.isatty():
        raise UsageError(f"{kind} cannot be shown on a terminal; name a file with --out")
    with working(f"writing {path}"), output_file(path) as file:
        write_columns(file, [columns], kind)


def output_format(path: str, format: str | None) -> str:
    """Return the format of a file to write, or raise an error before any work is done."""
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
        raise UsageError("standard input can be read only once; name a file instead of one -")
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
            raise OutputError(f"{path} cannot be written: no permission; choose another place")
        if str(place) in used:
            raise OutputError(f"{path} is also an input, which would be lost; choose another name")
        if place in seen:
            raise OutputError(f"{path} would be written twice; choose another name")
        if not there or place.is_file():  # anything may go to /dev/null
            seen.add(place)


def check_files(inputs: Sequence[str | None], output: Output, *others: str | None) -> None:
    """Refuse outputs of a command that cannot be written, before any work is done."""
    if state.json and output.out == PIPE:
        raise UsageError("--json and --out - would share standard output; name a file with --out")
    check_report(output.report)
    check_outputs([output.out, output.report, *others], inputs)
    if output.out is not None:
        output_format(output.out, output.out_format)


def check_report(path: str | None) -> None:
    """Refuse a report to standard output."""
    if path == PIPE:
        raise UsageError("the report is a file; name one with --report")


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
    with refusals(path), open_atomic(path) as file:
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
            reason = "no space left on the device; free some space, or choose another place"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = "writing there is not permitted; choose another place"
        else:
            reason = f"{error.strerror or error}; choose another place"
        raise OutputError(f"{path} was not written: {reason}") from error
