"""A table as it was read: numbers, and what belongs to their rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Parameters
    ----------
    where : str
        What the table is called in messages: its file.
    values : array of shape (n_rows, n_columns)
        Finite.
    names : tuple of str or None
        Of the columns; None where the file has none.
    rows : int array of shape (n_rows,)
        The number of each row in the file, from 1, without the header.
    ids : array of shape (n_rows,) or None
        What the user calls the rows.
    labels : array of str of shape (n_rows,) or None
    """

    where: str
    values: FloatArray
    names: tuple[str, ...] | None
    rows: IntArray
    ids: Any = None
    labels: Any = None

    @property
    def for_model(self) -> Any:
        """What estimators take: with the names of the columns, if there are any."""
        if self.names is None:
            return self.values
        import pyarrow as pa

        columns = [np.ascontiguousarray(column) for column in self.values.T]
        return pa.table(columns, names=list(self.names))

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names of the columns, x0, x1, ... where the file has none."""
        if self.names is not None:
            return self.names
        return tuple(f"x{j}" for j in range(self.values.shape[1]))

    def __len__(self) -> int:
        return len(self.rows)

    def row_name(self, index: int) -> str:
        """Return what the user calls a row."""
        return str(self.rows[index] if self.ids is None else self.ids[index])

    def keep(self, kept: BoolArray | IntArray) -> "Table":
        """Return a table of some of the rows."""
        return Table(
            self.where,
            self.values[kept],
            self.names,
            self.rows[kept],
            None if self.ids is None else self.ids[kept],
            None if self.labels is None else self.labels[kept],
        )
