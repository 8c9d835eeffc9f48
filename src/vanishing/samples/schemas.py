"""What the columns of a table in several files are: they may differ in type from file to file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing.samples.extras import imported


class Columns:
    """The columns that are used of a table, checked in every file.

    Parameters
    ----------
    schemas : sequence of (str, pyarrow.Schema)
        Of each file, with its name; of a single table under the name of the whole.
    names : sequence of str or None
        Which columns to use; None for all but the index of a pandas frame, and then the same in
        all files.
    """

    def __init__(self, schemas: Sequence[tuple[str, Any]], names: Sequence[str] | None) -> None:
        first_file, first = schemas[0]
        self.names = _without_index(first) if names is None else tuple(names)
        if not self.names:
            raise ValueError(f"{first_file} has no columns: at least one is required")
        for file, schema in schemas:
            self._check_names(file, schema)
            if names is None:
                _refuse_more(file, schema, first_file, first)
            _check_types(file, schema, self.names)
        #: Of each column, one a file.
        self.types = [schema.field(name).type for _, schema in schemas for name in self.names]

    def _check_names(self, file: str, schema: Any) -> None:
        missing = [name for name in self.names if name not in schema.names]
        if missing:
            raise ValueError(
                f"{file} has no columns {missing}; its columns are {schema.names}; choose by "
                "as_source(..., columns=[...])"
            )
        repeated = sorted(
            name
            for name in set(self.names)
            if max(self.names.count(name), schema.names.count(name)) > 1
        )
        if repeated:
            raise ValueError(f"{file} has several columns that are called {repeated}")

    @property
    def dtype(self) -> Any:
        """Single precision if no column is wider in any file."""
        arrow = imported("pyarrow", extra="io", purpose="reading tables")
        narrow = (arrow.float16(), arrow.float32())
        return np.float32 if all(kind in narrow for kind in self.types) else np.float64


def _refuse_more(file: str, schema: Any, first_file: str, first: Any) -> None:
    more = [name for name in _without_index(schema) if name not in first.names]
    if more:
        raise ValueError(
            f"{file} has the columns {more}, which {first_file} has not; choose those that all "
            "files have by as_source(..., columns=[...])"
        )


def _check_types(file: str, schema: Any, names: Sequence[str]) -> None:
    other = [
        f"{name!r} ({schema.field(name).type})"
        for name in names
        if not _is_number(schema.field(name).type)
    ]
    if other:
        raise ValueError(
            f"{file} must hold real numbers, but these columns do not: {', '.join(other)}; choose "
            "the others by as_source(..., columns=[...])"
        )


def _without_index(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns; the index of a pandas frame, stored as one, is none."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(name for name in schema.names if name not in index)


def _is_number(kind: Any) -> bool:
    """Say whether a type of Arrow is one of numbers, truth values included."""
    types = imported("pyarrow.types", extra="io", purpose="reading tables")
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
