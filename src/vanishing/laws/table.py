"""The numeric columns of whatever a table is given as, and a line about what was left out."""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as narwhals
import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, is_from
from vanishing.data.csv_files import REMEDIES, TableError, is_read_whole
from vanishing.data.frames import open_frame, refuse_equal_names
from vanishing.data.queries import find_query
from vanishing.data.source import check_weights, draw_rows
from vanishing.data.whole_tables import Table, open_table, take_columns
from vanishing.levels import SAME

#: Rows that are kept of a table that does not fit into memory: more change no coefficient in the
#: first two digits.
MOST_DRAWN = 100_000


def read_labels(table: Table) -> dict[str, list[str]]:
    """Return what rows are called: columns of text, cells that are not numbers, names."""
    labels = {name: list(map(str, texts)) for name, texts in table.texts.items()}
    written = [""] * len(table)
    for (row, _), text in table.stray_texts.items():
        written[row] = f"{written[row]} {text}"
    if any(written):
        labels["cells that are not numbers"] = written
    if any(isinstance(name, str) and not name.isdecimal() for name in table.row_names):
        labels["names of rows"] = list(map(str, table.row_names))
    return labels


def take_table(
    X: Any, feature_names: Any = None, sample_weight: Any = None, *, tells_notes: bool = False
) -> Table:
    """Return the numeric columns of a table of any kind; those of text and of dates are set aside.

    If the caller does not pass the notes on to the user, guesses that may well be wrong give a
    warning.
    """
    table = X if isinstance(X, Table) else _read(X)
    if not (tells_notes or isinstance(X, Table)):  # who read a Table was warned
        for note in table.notes:
            if note.is_doubtful:
                where = f"{X}: " if isinstance(X, str | os.PathLike) else ""
                text = f"{where}{note.with_remedies(REMEDIES)}"
                warnings.warn(text, UserWarning, stacklevel=3)
    names = table.shown_names
    if feature_names is not None:
        given = tuple(str(name) for name in feature_names)
        if len(given) != len(names):
            raise ValueError(
                f"feature_names has {len(given)} names, but the table has {len(names)} "
                "numeric columns; give one name for each"
            )
        renamed = dict(zip(names, given, strict=True))
        strays = tuple(each._replace(column=renamed[each.column]) for each in table.strays)
        units = {renamed[name]: unit for name, unit in table.units.items()}
        table, names = replace(table, strays=strays, units=units), given
    refuse_equal_names(names)
    if any(not name.strip() for name in names):
        place = next(j for j, name in enumerate(names) if not name.strip())
        raise ValueError(
            f"column {place} of the numeric columns has no name, so that laws cannot be written; "
            "name it, or pass feature_names"
        )
    weights = table.sample_weight
    if sample_weight is not None:
        weights = check_weights(sample_weight, "X", len(table))
    table = replace(table, names=names, sample_weight=weights)
    return table.tell(*(f"{each.name} is set aside: {each.reason}" for each in table.set_aside))


def _read(X: Any) -> Table:
    """Read a table of any kind: at most ``MOST_DRAWN`` rows of one that may not fit into memory."""
    query = find_query(X)
    is_path = isinstance(X, str | os.PathLike)
    path = X if query is None else query.path
    if (is_path or query) and os.path.isfile(path) and is_read_whole(path):
        opened = open_table(path, where=None if query is None else query.where)
        if not is_path:
            opened.row_ids = np.arange(opened.count_rows())
        return take_columns(opened)
    if is_path or query is not None or _is_chunked(X):
        return _draw(X)
    return take_columns(open_frame(X))


def _is_chunked(X: Any) -> bool:
    if is_from(X, "pandas") or (isinstance(X, np.ndarray) and not isinstance(X, np.memmap)):
        return False
    # Here, since it imports scikit-learn, which takes longer than the laws of a small table.
    from vanishing.data.inputs import is_chunked

    return is_chunked(X)


def _draw(X: Any) -> Table:
    """Return rows of a table that may be larger than memory, at random if there are many."""
    from vanishing.data.inputs import as_source
    from vanishing.data.streamed_tables import TableSource

    source = as_source(X)
    notes = source.notes() if isinstance(source, TableSource) else []
    values, places, n_rows = draw_rows(source, MOST_DRAWN, seed=0)
    is_path = isinstance(X, str | os.PathLike)
    row_ids, in_order = None if is_path else places, len(values) == n_rows
    table = Table(
        values, source.feature_names, row_ids, rows=places + is_path, notes=tuple(notes),
        in_order=in_order,
    )  # fmt: skip
    if in_order:
        return table
    return table.tell(f"laws were looked for in {len(values)} of {n_rows} rows, drawn at random")


def refuse_sizes(
    names: Sequence[str], values: FloatArray, degree: int, place: Callable[[int], str]
) -> None:
    """Raise where sums of products of columns would overflow, or products underflow.

    ``place`` says what a row is called.
    """
    # Squares of squares are taken in any case, and sums over up to 1 / SAME rows.
    most = (np.finfo(float).max * SAME) ** (1 / max(degree, 4))
    for name, column in zip(names, values.T, strict=True):
        sizes = np.abs(column)
        largest = float(sizes.max(initial=0.0))
        if largest > most:
            row = int(sizes.argmax())
            raise TableError(
                f"column {name!r} holds {column[row]:.3g} in {place(row)}, too large for products "
                "of columns; use another unit, or leave such rows out"
            )
        if 0 < largest < 1 / most:
            raise TableError(
                f"column {name!r} holds numbers up to {largest:.3g} only, too small for products "
                "of columns; use another unit"
            )


def whole_columns(values: FloatArray) -> BoolArray:
    """Return which columns hold whole numbers, not so large that all numbers are whole."""
    with np.errstate(invalid="ignore"):
        is_small = np.abs(values) < 1 / np.finfo(float).eps
        return np.asarray(
            (((values == np.round(values)) & is_small) | np.isnan(values)).all(axis=0)
        )


def frame_like(X: Any, values: FloatArray, names: Sequence[str]) -> Any:
    """Return values as a frame of the same kind as X and with its index, or as an array."""
    frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, narwhals.DataFrame):
        return values
    columns = [
        narwhals.new_series(name, column, backend=frame.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    return frame.with_columns(columns).select(names).to_native()
