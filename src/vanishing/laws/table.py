"""The numeric columns of whatever a table is given as, and a line about what was left out."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vanishing.arrays.namespace import (
    BoolArray,
    FloatArray,
    IntArray,
    move_to_host,
    require_dense,
)
from vanishing.data.csv_files import REMEDIES, Note, TableError, describe_numbers, find_kinds
from vanishing.data.source import check_weights, close_after, get_columns
from vanishing.data.whole_tables import Table, open_table, take_columns
from vanishing.data.written_numbers import CellSummary, decide_decimal, read_texts
from vanishing.levels import BLOCK, SAME

#: Rows that are kept of a table that does not fit into memory: more change no coefficient in the
#: first two digits.
MOST_DRAWN = 100_000
#: Bytes of a file that is read whole: with its numbers, a gigabyte of memory.
MOST_READ_WHOLE = 2**28


@dataclass
class NumericTable:
    """Numbers with names; NaN where one is missing.

    ``notes`` are sentences about what was set aside, ``texts`` what cells hold that are not
    numbers, by the place of the row and the column, and ``set_aside`` the columns of other kinds.
    ``labels`` are the cells of the latter, as texts. If rows were drawn, they are not ``in_order``.
    """

    values: FloatArray
    names: list[str]
    row_names: Sequence[Any]
    notes: list[str] = field(default_factory=list)
    texts: dict[tuple[int, str], str] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    labels: dict[str, Any] = field(default_factory=dict)
    in_order: bool = True

    def __post_init__(self) -> None:
        self.sample_weight: FloatArray = np.ones(len(self.values))

    @classmethod
    def from_columns(
        cls, columns: Mapping[Any, FloatArray | str | None], row_names: Sequence[Any]
    ) -> "NumericTable":
        """Return the columns that are numbers; of others, say why they are set aside."""
        found = {name: each for name, each in columns.items() if isinstance(each, np.ndarray)}
        aside = {name: each for name, each in columns.items() if name not in found}
        values = np.column_stack([np.empty((len(row_names), 0)), *found.values()])
        notes = [f"{name} is set aside: {why or 'not numeric'}" for name, why in aside.items()]
        return cls(values, list(map(str, found)), row_names, notes, set_aside=list(map(str, aside)))

    def drop(self, columns: Sequence[int], note: str) -> None:
        """Set columns aside."""
        kept = [j for j in range(len(self.names)) if j not in set(columns)]
        self.values = self.values[:, kept]
        self.names = [self.names[j] for j in kept]
        self.notes.append(note)

    def keep_rows(self, kept: IntArray) -> None:
        """Leave out all other rows."""
        places = {row: place for place, row in enumerate(kept.tolist())}
        self.values, self.sample_weight = self.values[kept], self.sample_weight[kept]
        self.row_names = [self.row_names[i] for i in kept.tolist()]
        self.texts = {
            (places[row], name): text for (row, name), text in self.texts.items() if row in places
        }
        self.labels = {name: np.asarray(each)[kept] for name, each in self.labels.items()}

    def read_labels(self) -> dict[str, list[str]]:
        """Return what rows are called: columns of text, cells that are not numbers, names."""
        labels = {
            name: ["" if each is None or each != each else str(each) for each in texts]
            for name, texts in self.labels.items()
        }
        written = [""] * len(self.values)
        for (row, _), text in self.texts.items():
            written[row] = f"{written[row]} {text}"
        if any(written):
            labels["cells that are not numbers"] = written
        if any(isinstance(name, str) and not name.isdecimal() for name in self.row_names):
            labels["names of rows"] = [str(name) for name in self.row_names]
        return labels


def take_table(
    X: Any, feature_names: Any = None, sample_weight: Any = None, *, tells_notes: bool = False
) -> NumericTable:
    """Return the numeric columns of a table of any kind; those of text and of dates are set aside.

    If the caller does not pass the notes on to the user, guesses that may well be wrong give a
    warning.
    """
    is_path = isinstance(X, (str, os.PathLike))
    doubtful: list[Note] = []
    if isinstance(X, NumericTable):
        table = X
    elif is_path and os.path.isfile(X) and os.path.getsize(X) <= MOST_READ_WHOLE:
        table = _from_file(take_columns(open_table(X)), doubtful)
    elif isinstance(X, Table):
        table = _from_file(X, [])  # who read it was warned
    elif is_path or _is_chunked(X):
        table = _sample(X, doubtful)
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        table = _from_frame(require_dense(X, "X"), doubtful)
    else:
        table = _from_array(X)
    if not tells_notes:
        for note in doubtful:
            where = f"{X}: " if is_path else ""
            warnings.warn(f"{where}{note.with_remedies(REMEDIES)}", UserWarning, stacklevel=3)
    if feature_names is not None:
        given = [str(name) for name in feature_names]
        if len(given) != len(table.names):
            raise ValueError(
                f"feature_names has {len(given)} names, but the table has {len(table.names)} "
                "numeric columns; give one name for each"
            )
        table.names = given
    _refuse_equal_names(table.names)
    if any(not name.strip() for name in table.names):
        place = next(j for j, name in enumerate(table.names) if not name.strip())
        raise ValueError(
            f"column {place} of the numeric columns has no name, so that laws cannot be written; "
            "name it, or pass feature_names"
        )
    if sample_weight is not None:
        table.sample_weight = check_weights(sample_weight, "X", len(table.values))
    return table


def _refuse_equal_names(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"columns must have different names, got {twice[0]!r} more than once")


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


def _is_chunked(X: Any) -> bool:
    if isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        return False
    if type(X).__module__.partition(".")[0] == "pandas":
        return False
    # Here, since it imports scikit-learn, which takes longer than the laws of a small table.
    from vanishing.data.inputs import is_chunked

    return is_chunked(X)


def describe_reading(read: Table) -> list[str]:
    """Say what was guessed and set aside when a file was read."""
    notes = [note.with_remedies(REMEDIES) for note in read.notes]
    return [*notes, *(f"{each.name} is set aside: {each.reason}" for each in read.set_aside)]


def _from_file(read: Table, doubtful: list[Note]) -> NumericTable:
    """Return a table that was read from a file: its rows are numbered from 1, or have names."""
    doubtful.extend(note for note in read.notes if note.is_doubtful)
    names = [str(name) for name in read.shown_names]
    rows = [read.row_name(i) for i in range(len(read))]
    places = {int(number): i for i, number in enumerate(read.rows)}
    texts = {
        (places[each.row], each.column): each.text for each in read.strays if each.row in places
    }
    notes = describe_reading(read)
    aside = [each.name for each in read.set_aside]
    return NumericTable(read.values, names, rows, notes, texts, aside, dict(read.texts))


def _from_frame(X: Any, doubtful: list[Note]) -> NumericTable:
    labels = get_columns(X) or []
    _refuse_equal_names([str(label) for label in labels])
    columns: dict[Any, FloatArray | str | None] = {}
    cells: dict[Any, list[str | None]] = {}
    dates: dict[str, Any] = {}
    for name in labels:
        column = X[name]
        # Arrow's dates beyond the year 9999 have no counterpart in Python.
        problem = _problem(getattr(column, "dtype", None))
        values: Any = None if problem else _as_numpy(column)
        columns[name] = problem or _problem(values.dtype) or _numbers(column, values)
        if columns[name] is None and (listed := _list_texts(values)) is not None:
            cells[name] = listed
        elif isinstance(columns[name], str) and columns[name] == "dates":
            dates |= _list_dates(str(name), column)
    # Numbers that are texts are read as those of files are.
    summaries = [CellSummary(each) for each in cells.values()]
    kinds = find_kinds(summaries, decide_decimal(summaries))
    decimal = kinds.decimal.sign
    read = {name: read_texts(each, decimal) for name, each in cells.items()}
    written = {name: each for name, each in read.items() if each is not None}
    formats = {str(name): each.format for name, each in written.items()}
    unclear = {str(name): kinds.open[j] for j, name in enumerate(cells) if j in kinds.open}
    said = describe_numbers(formats, decimal, unclear)
    said = [note._replace(remedy="convert") if note.remedy else note for note in said]
    doubtful.extend(note for note in said if note.is_doubtful)
    index = getattr(X, "index", None)
    rows = list(index) if index is not None and not callable(index) else list(range(len(X)))
    columns |= {name: each.values for name, each in written.items()}
    table = NumericTable.from_columns(columns, rows)
    table.notes = [note.with_remedies(REMEDIES) for note in said] + table.notes
    table.texts = {
        (i, str(name)): text for name, each in written.items() for i, text in each.strays
    }
    table.labels = dates | {
        str(name): np.array([text or "" for text in each], dtype=object)
        for name, each in cells.items()
        if name not in written
    }
    return table


def _list_dates(name: str, column: Any) -> dict[str, Any]:
    """Return the name and the dates of a column as texts, empty where one is missing."""
    try:
        values = _as_numpy(column)
        texts = np.datetime_as_string(values.astype("datetime64[s]"))
    except (TypeError, ValueError, OverflowError):  # beyond the year 9999, or durations
        return {}
    return {name: np.where(texts == "NaT", "", texts).astype(object)}


def _as_numpy(column: Any) -> Any:
    """Return the cells of a column: objects where NumPy has no type for them."""
    try:
        values = np.asarray(getattr(column, "array", column))
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        values = None
    except Exception as error:  # polars raises its own, for types such as Int128
        if not type(error).__module__.startswith("polars"):
            raise
        values = None
    if values is not None and values.ndim == 1:
        return values
    cells = np.empty(len(column), dtype=object)
    cells[:] = list(column.to_list())
    return cells


def _list_texts(values: Any) -> list[str | None] | None:
    """Return the cells of a column of texts, some of which may be numbers; None for others."""
    cells = [None if _is_missing(each) else each for each in values.tolist()]
    if not all(each is None or isinstance(each, (str, int, float)) for each in cells):
        return None
    cells = [None if each != each else each for each in cells]
    return [None if each is None else str(each) for each in cells]


def _problem(dtype: Any) -> str | None:
    kind = getattr(dtype, "kind", None)  # polars has its own types
    if kind == "c":
        return "complex; give its real and imaginary parts as columns"
    return "dates" if kind in ("m", "M") else None


def _numbers(column: Any, values: Any) -> FloatArray | None:
    """Return a column as floating-point numbers, or None if it is not numeric."""
    if values.dtype.kind in "US":
        return None
    try:
        if hasattr(column, "to_numpy") and values.dtype.kind == "O":
            values = np.array([np.nan if _is_missing(v) else v for v in values], dtype=object)
            if any(isinstance(v, (str, bytes)) for v in values):
                return None
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if numbers.ndim == 1 else None  # cells may be lists


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _from_array(X: Any) -> NumericTable:
    X = require_dense(X, "X")
    if str(getattr(X, "dtype", None)) == "torch.bfloat16":  # NumPy has no such type
        X = X.float()
    array = np.asarray(move_to_host(X) if hasattr(X, "dtype") else X)
    if array.ndim != 2:
        raise ValueError(
            f"expected a table of rows and columns, got an array of {array.ndim} dimension"
            f"{'s' * (array.ndim != 1)}; one column is X.reshape(-1, 1)"
        )
    problem = _problem(array.dtype)
    columns = {f"x{j}": problem or _numbers(array, column) for j, column in enumerate(array.T)}
    return NumericTable.from_columns(columns, range(len(array)))


def _sample(X: Any, doubtful: list[Note]) -> NumericTable:
    """Return rows of a table that may be larger than memory, at random if there are many."""
    from vanishing.data.inputs import as_source
    from vanishing.data.streamed_tables import TableSource

    source = as_source(X)
    said = source.notes() if isinstance(source, TableSource) else []
    doubtful.extend(note for note in said if note.is_doubtful)
    rng = np.random.default_rng(0)
    kept: FloatArray | None = None
    keys = np.empty(0)
    n_rows = 0
    first = int(isinstance(X, (str, os.PathLike)))  # rows of files are numbered from 1
    numbers = np.empty(0, dtype=np.intp)
    with close_after(source.blocks(max(BLOCK // source.n_features, 1))) as blocks:
        for block in blocks:
            rows = np.asarray(move_to_host(block), dtype=float)
            keys = np.concatenate([keys, rng.random(len(rows))])
            numbers = np.concatenate([numbers, first + np.arange(n_rows, n_rows + len(rows))])
            kept = rows if kept is None else np.concatenate([kept, rows])
            n_rows += len(rows)
            if len(keys) > 2 * MOST_DRAWN:
                chosen = np.sort(np.argpartition(keys, MOST_DRAWN)[:MOST_DRAWN])
                kept, keys, numbers = kept[chosen], keys[chosen], numbers[chosen]
    assert kept is not None
    notes = [note.with_remedies(REMEDIES) for note in said]
    if len(kept) > MOST_DRAWN:
        chosen = np.sort(np.argpartition(keys, MOST_DRAWN)[:MOST_DRAWN])
        kept, numbers = kept[chosen], numbers[chosen]
    if len(kept) < n_rows:
        notes.append(f"laws were looked for in {len(kept)} of {n_rows} rows, drawn at random")
    names = source.feature_names or tuple(f"x{j}" for j in range(kept.shape[1]))
    in_order = len(kept) == n_rows
    return NumericTable(kept, list(names), numbers.tolist(), notes, in_order=in_order)


def whole_columns(values: FloatArray) -> BoolArray:
    """Return which columns hold whole numbers, not so large that all numbers are whole."""
    with np.errstate(invalid="ignore"):
        is_small = np.abs(values) < 1 / np.finfo(float).eps
        return np.asarray(
            (((values == np.round(values)) & is_small) | np.isnan(values)).all(axis=0)
        )


def frame_like(X: Any, values: FloatArray, names: Sequence[str]) -> Any:
    """Return values as a frame of the same kind as X and with its index, or as an array."""
    kind = type(X).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(X, "columns"):
        return type(X)(values, index=X.index, columns=list(names))
    if kind == "polars" and hasattr(X, "columns") and not hasattr(X, "collect"):
        return type(X)(dict(zip(names, values.T, strict=True)))
    return values
