"""Columns in memory: frames of any library, arrays, and what readers of files leave there."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import narwhals.stable.v2 as narwhals
import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, lazy, move_to_host, require_dense
from vanishing.data.csv_files import (
    ColumnKinds,
    Note,
    OpenTable,
    Texts,
    as_numbers,
    find_kinds,
    is_numeric,
)
from vanishing.data.source import get_columns, wrap_frame
from vanishing.data.written_numbers import CellSummary, decide_decimal, is_number, read_texts


class ColumnFile(OpenTable):
    """Columns in memory: NumPy arrays, lists of cells, or series of any library of frames.

    ``row_shape`` is the shape of what became a row, and ``first_line`` the row of a sheet of Excel
    that is the first one of the table. ``row_ids`` is the index of a frame, or counts its rows.
    """

    def __init__(
        self,
        where: str,
        names: Sequence[str] | None,
        columns: Sequence[Any],
        *,
        index: tuple[int, ...] = (),
        row_shape: tuple[int, ...] = (),
        n_rows: int | None = None,
        row_ids: npt.NDArray[Any] | None = None,
        first_line: int | None = None,
        decimal: str | None = None,
    ) -> None:
        super().__init__()
        self.where = where
        self.names = None if names is None else tuple(names)
        self.n_columns = len(columns)
        self.n_rows = len(columns[0]) if n_rows is None else n_rows
        self.index = index
        self.row_shape = row_shape
        self.row_ids = row_ids
        self.first_line = first_line
        self._columns = columns
        self._given = decimal
        self._cells: dict[int, npt.NDArray[Any]] = {}

    def count_rows(self) -> int:
        """Count the rows."""
        return self.n_rows

    def _read(self, column: int) -> npt.NDArray[Any]:
        """Return a column as floating-point numbers, or as objects if it is not numeric."""
        if column not in self._cells:
            self._cells[column] = read_cells(self._columns[column])
        return self._cells[column]

    def _write(self, column: int) -> list[str | None]:
        """Return the cells of a column that hold numbers or texts; nothing for other cells."""
        cells = self._read(column)
        if cells.dtype != object or not all(isinstance(each, _WRITABLE) for each in cells):
            return []
        return [None if each is None else str(each) for each in cells]

    @lazy
    def kinds(self) -> ColumnKinds:
        """What the columns of texts hold; all of them tell what the decimal sign is."""
        cells = [CellSummary(self._write(j)) for j in range(self.n_columns)]
        decimal = decide_decimal(cells, given=self._given)
        return find_kinds(cells, decimal, given=self._given is not None)

    def find_texts(self, columns: Sequence[int]) -> list[tuple[int, str]]:
        """Return those of the columns that are not numeric, each with an example and its row."""
        found = []
        for j in columns:
            if j in self.written or self._read(j).dtype != object:
                continue
            decimal, given = self.kinds.decimal.sign, self.kinds.given
            written = read_texts(self._write(j), decimal, given=given)
            if written is not None:
                self.written[j] = written
                continue
            texts = enumerate(map(str.strip, self.texts(j).tolist()))
            example = ((i, text) for i, text in texts if text and not is_number(text, "."))
            row, text = next(example, (None, ""))
            if row is None:
                found.append((j, "every cell is missing"))
            else:
                name = row + 1 if self.row_ids is None else self.row_ids[row]
                found.append((j, f"{text[:30]!r} in row {name}"))
        return found

    def number_notes(self, columns: Sequence[int]) -> list[Note]:
        """Say how the numbers of columns were read, after they were."""
        notes = super().number_notes(columns)
        if self.first_row:
            return notes
        return [note._replace(remedy="convert") if note.remedy else note for note in notes]

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where a value is missing."""
        self.refuse_texts(columns)
        values = np.empty((self.n_rows, len(columns)))
        for k, j in enumerate(columns):
            values[:, k] = self.written[j].values if j in self.written else self._read(j)
        return values

    def texts(self, column: int) -> Texts:
        """Return a column as people write it: 3 rather than 3.0."""
        cells = list_cells(self._columns[column])
        if all(isinstance(cell, float) and cell.is_integer() for cell in cells):
            cells = list(map(int, cells))
        return np.array(["" if _is_missing(cell) else str(cell) for cell in cells], dtype=object)


#: Cells that may hold a number as people write it.
_WRITABLE = (str, int, float, type(None))


def read_cells(column: Any) -> npt.NDArray[Any]:
    """Return a column as floating-point numbers if it is numeric, otherwise as objects."""
    values = column if isinstance(column, np.ndarray) else _make_array(column)
    if values.dtype.kind in "biuf":
        return values.astype(float, copy=False)
    listed = values if values.dtype == object else list_cells(values)
    cells = _make_objects(None if _is_missing(each) else each for each in listed)
    if not any(isinstance(each, str | bytes) for each in cells):
        with suppress(TypeError, ValueError, OverflowError):  # dates, lists, huge integers
            return cells.astype(float)
    return cells


def _make_array(column: Any) -> npt.NDArray[Any]:
    """Return the cells of a series, as NumPy has them."""
    series = narwhals.from_native(column, series_only=True)
    if not series.implementation.is_pyarrow():
        with suppress(Exception):  # polars raises errors of its own, for numbers of 128 bits
            if (values := np.asarray(series.to_numpy())).ndim == 1:
                return values
    elif is_numeric(column.type):
        return as_numbers(column)  # to_numpy imports pandas, which takes longer than most tables
    return _make_objects(list_cells(column))


def _make_objects(cells: Iterable[Any]) -> npt.NDArray[np.object_]:
    return np.fromiter(cells, dtype=object)


def list_cells(column: Any) -> list[Any]:
    """Return the cells of a column, as texts if they are dates beyond the year 9999."""
    if isinstance(column, np.ndarray):
        kind = column.dtype.kind
        listed = list((column.astype(f"{kind}8[us]") if kind in "mM" else column).tolist())
        if kind == "M" and any(isinstance(each, int) for each in listed):
            return [None if np.isnat(each) else str(each) for each in column]
        return listed
    series = narwhals.from_native(column, series_only=True)
    try:
        return list(series.to_list())
    except (OverflowError, ValueError):
        return list(series.cast(narwhals.String).to_list())


def _is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN, or the missing value of pandas."""
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan or type(cell).__name__ in ("NAType", "NaTType")


def open_frame(X: Any) -> ColumnFile:
    """Open a frame of any library, a table of Arrow, or an array: rows are numbered from 0."""
    X = require_dense(X, "X")
    if get_columns(X) is None:
        if str(getattr(X, "dtype", None)) == "torch.bfloat16":  # NumPy has no such type
            X = X.float()
        array = np.asarray(move_to_host(X) if hasattr(X, "dtype") else X)
        if array.ndim != 2:
            raise ValueError(
                f"expected a table of rows and columns, got an array of {array.ndim} dimension"
                f"{'s' * (array.ndim != 1)}; one column is X.reshape(-1, 1)"
            )
        row_ids: npt.NDArray[Any] = np.arange(len(array))
        return ColumnFile("X", None, list(array.T), n_rows=len(array), row_ids=row_ids)
    names = list(map(str, get_columns(X) or []))
    refuse_equal_names(names)
    frame = wrap_frame(X)
    index = narwhals.maybe_get_index(frame)
    row_ids = _make_objects(range(len(frame)) if index is None else index)
    columns = [series.to_native() for series in frame.iter_columns()]
    return ColumnFile("X", names, columns, n_rows=len(frame), row_ids=row_ids)


def refuse_equal_names(names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"columns must have different names, got {twice[0]!r} more than once")
