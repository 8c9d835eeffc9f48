"""Rows that a command gives back: a table, or JSON."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.cli.console import emit
from vanishing.cli.options import Writing
from vanishing.cli.tables import Table, write_table
from vanishing.cli.tables.read import PIPE

Columns = Mapping[str, npt.NDArray[Any]]


def row_column(table: Table, id: str | None) -> dict[str, npt.NDArray[Any]]:
    """Return what the rows are called: their ids, or their numbers in the file."""
    if table.ids is None:
        return {"row": table.rows}
    return {"id" if id is None or id.isdecimal() else id: table.ids}


def emit_or_write(columns: Columns, writing: Writing, *, json: bool) -> None:
    """Write rows where the user wants them; with ``json``, on standard output unless to a file."""
    if json and writing.out == PIPE:
        emit({"rows": records(columns)})
        return
    write_table(writing.out, columns, format=writing.out_format)
    if json:
        n_rows = len(next(iter(columns.values())))
        emit({"out": writing.out, "n_rows": n_rows, "columns": list(columns)})


def records(columns: Columns) -> list[dict[str, Any]]:
    """Return one mapping a row."""
    plain = {name: np.asarray(column).tolist() for name, column in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
