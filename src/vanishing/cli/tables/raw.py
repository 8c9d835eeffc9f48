"""What all kinds of files have in common before columns are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vanishing._xp import FloatArray
from vanishing.cli.exits import DataError

Texts = npt.NDArray[np.object_]


class RawTable(Protocol):
    """A file that was opened, its columns not yet converted."""

    @property
    def where(self) -> str:
        """What the file is called in messages."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None where the file has none."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where there is no value.

        Raises ``DataError`` where there is text.
        """
        ...

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        ...


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns in memory, as Parquet and NumPy files have them."""

    where: str
    names: tuple[str, ...] | None
    arrays: Sequence[npt.NDArray[Any]]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.arrays)

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers."""
        refuse_texts(
            self.where,
            [
                (self.name(j), _first(self.arrays[j]))
                for j in columns
                if self.arrays[j].dtype.kind not in "biuf"
            ],
        )
        n_rows = len(self.arrays[0]) if self.arrays else 0
        values = np.empty((n_rows, len(columns)))
        for k, j in enumerate(columns):
            values[:, k] = self.arrays[j]
        return values

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        return as_texts(self.arrays[column])

    def name(self, column: int) -> str:
        """Return what a column is called in messages."""
        return column_name(self.names, column)


def as_texts(values: npt.NDArray[Any]) -> Texts:
    """Return values as people write them: 3 rather than 3.0."""
    if values.dtype.kind == "f" and np.all((values == np.trunc(values)) & (abs(values) < 2**53)):
        values = values.astype(np.int64)
    return np.array([str(value) for value in values.tolist()], dtype=object)


def column_name(names: Sequence[str] | None, column: int) -> str:
    """Return what a column is called in messages."""
    return f"column {column + 1}" if names is None else f"column {names[column]!r}"


def refuse_texts(where: str, found: Sequence[tuple[str, str]]) -> None:
    """Raise an error that names the columns that hold something else than numbers.

    Parameters
    ----------
    where : str
    found : sequence of (str, str)
        What the column is called, and what was found in it.
    """
    if not found:
        return
    listed = ", ".join(f"{name} ({text})" for name, text in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    dropped = ",".join(name.removeprefix("column ").strip("'") for name, _ in found[:5])
    raise DataError(
        f"{where}: expected numbers, found text in {listed}{more}; leave such columns out with "
        f"--drop '{dropped}', or name them with --id or --label"
    )


def _first(values: npt.NDArray[Any]) -> str:
    return f"{str(values[0])[:30]!r} in row 1" if len(values) else f"type {values.dtype}"
