"""Text files: CSV and its relatives."""

import io
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from vanishing._xp import FloatArray
from vanishing.cli.console import note
from vanishing.cli.exits import DataError, UsageError
from vanishing.cli.tables.raw import Texts, column_name, refuse_texts
from vanishing.samples.dialect import first_lines, guess_dialect, is_number


class DelimitedFile:
    """A text file whose columns are converted as they are asked for.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name.
    delimiter : str or None
    header : bool or None
        What the user says of the layout; None to guess.
    """

    def __init__(
        self, content: bytes, where: str, *, delimiter: str | None, header: bool | None
    ) -> None:
        self.where = where
        self._content = _in_utf8(content, where)
        beginning = first_lines(io.BytesIO(self._content))
        delimiter = _one_character(delimiter)
        try:
            self._dialect = guess_dialect(beginning, delimiter=delimiter, header=header)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        self.names = self._dialect.header
        self.n_columns = self._dialect.n_columns
        if not self._dialect.n_sampled:
            raise DataError(f"{where} has no rows, only a header; at least one is required")
        if self.names is None and header is None:
            note(f"{where} has no header: its columns are called x0, x1, ... (or pass --header)")
        if self._dialect.numbered and header is None:
            note(f"{where}: the numbers of its first line are taken for names (or --no-header)")

    def numbers(self, columns: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN where there is no value."""
        try:
            table = self._read(columns, pa.float64())
        except pa.ArrowInvalid as error:
            self._refuse_ragged()
            self._refuse_texts(columns)
            raise DataError(f"{self.where} cannot be read: {error}") from error
        values = np.empty((table.num_rows, len(columns)))
        for k, column in enumerate(table.columns):
            values[:, k] = column.to_numpy()
        return values

    def texts(self, column: int) -> Texts:
        """Return a column as text."""
        try:
            found = self._read([column], pa.string()).column(0)
        except pa.ArrowInvalid as error:
            self._refuse_ragged()
            raise DataError(
                f"{self.where}: {column_name(self.names, column)} cannot be read as text "
                f"({error}); save the file in UTF-8"
            ) from error
        return np.asarray(pc.fill_null(found, "").to_numpy(zero_copy_only=False), dtype=object)

    def _read(self, columns: Sequence[int], kind: Any, *, skip_row: Any = None) -> Any:
        names = [str(j) for j in range(self.n_columns)]
        chosen = [names[j] for j in columns]
        has_header = self.names is not None
        return csv.read_csv(
            pa.BufferReader(self._content),
            csv.ReadOptions(
                column_names=names,
                # A comment has more cells than there are columns, so that it is no row.
                skip_rows=int(has_header and self._dialect.commented),
                skip_rows_after_names=int(has_header and not self._dialect.commented),
                use_threads=skip_row is None,
                # A row must not be longer than a block.
                block_size=2**20 if self.n_columns < 1000 else 2**26,
            ),
            csv.ParseOptions(
                delimiter=self._dialect.delimiter,
                newlines_in_values=True,
                invalid_row_handler=skip_row,
            ),
            csv.ConvertOptions(
                column_types=dict.fromkeys(chosen, kind),
                include_columns=chosen,
                strings_can_be_null=True,
                decimal_point=self._dialect.decimal,
            ),
        )

    def _refuse_ragged(self) -> None:
        """Name the first row of another length, if there is one."""
        found: list[Any] = []

        def skip(row: Any) -> str:
            found.append(row)
            return "skip"

        with suppress(pa.ArrowInvalid):  # it is something else
            self._read([0], pa.binary(), skip_row=skip)
        if found:
            number = found[0].number - int(self.names is not None)
            raise DataError(
                f"{self.where}: row {number} has {found[0].actual_columns} cells, expected "
                f"{self.n_columns} as in the first line; mend the row, or name another --delimiter "
                f"than {self._dialect.delimiter!r}"
            )

    def _refuse_texts(self, columns: Sequence[int]) -> None:
        """Name the columns that hold something else than numbers, with an example each."""
        found = []
        for j in columns:
            with suppress(pa.ArrowInvalid):
                self._read([j], pa.float64())
                continue
            for row, cell in enumerate(self.texts(j), start=1):
                if cell and not is_number(cell, self._dialect.decimal):
                    found.append((column_name(self.names, j), f"{cell[:30]!r} in row {row}"))
                    break
        refuse_texts(self.where, found)


def _one_character(delimiter: str | None) -> str | None:
    if delimiter in ("\\t", "tab"):
        return "\t"
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'
    ):
        raise UsageError(f"--delimiter takes one plain character or 'tab', got {delimiter!r}")
    return delimiter


def _in_utf8(content: bytes, where: str) -> bytes:
    """Return the content in UTF-8; the tables of other offices come in other encodings."""
    beginning = first_lines(io.BytesIO(content))
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace").encode()
    if b"\0" in beginning:
        raise DataError(
            f"{where} is no text file; name its kind by a suffix (.csv, .parquet, .npy, .npz) or "
            "with --format"
        )
    try:
        beginning.decode()
    except UnicodeDecodeError:
        note(f"{where} is not in UTF-8: read as Windows text (cp1252)")
        return content.decode("cp1252", "replace").encode()
    return content
