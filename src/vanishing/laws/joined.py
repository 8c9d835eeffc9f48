"""Laws between tables: totals by key in one table are cells of another.

The rows of a table of lines are added up for each key, and the sums stand as further columns beside
the table in which the key names the rows. What is a law there is judged by the same bits as the
laws of any table; the choice of the two columns that hold the key costs bits, too.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.data.whole_tables import Table
from vanishing.equations.text import count_decimals, join, printable
from vanishing.laws.cells import find_resolution
from vanishing.laws.check import BrokenRow, Check
from vanishing.laws.discovery import discover
from vanishing.laws.domains import Domain
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws
from vanishing.laws.model import ENOUGH_BITS, are_errors
from vanishing.laws.table import read_labels, take_table
from vanishing.levels import SAME

#: Keys that a note names.
MOST_KEYS = 3


@dataclass(frozen=True)
class JoinedLaws:
    """Laws between a table and the sums of another table, by key.

    Parameters
    ----------
    table, lines : str
        Names of the tables. A key names a row of the first, and any number of rows of the second.
    key, lines_key : str
        Columns that hold the key.
    laws : tuple of Law or Domain
        Equations of columns of the table and ``sum of lines.amount``, ``number of lines``.
    check : Check
        The rows of the table that break a law, which are named by their key.
    wrong_lines : mapping of str to BrokenRow
        For keys whose row breaks a law: the line that breaks a law of its own by the same amount,
        and is the wrong one then.
    without_lines : tuple of str
        Keys of the table that no line has. Such rows are not checked.
    without_row : tuple of str
        Keys of lines that the table does not have.
    key_rows : mapping of str to tuple of int
        Numbers of the rows of the table that have a key, from 0. Rows with a key that occurs twice
        are not checked.
    row_names : tuple of str
        What these rows are called.
    """

    table: str
    lines: str
    key: str
    lines_key: str
    laws: tuple[Law | Domain, ...]
    check: Check
    wrong_lines: Mapping[str, BrokenRow]
    without_lines: tuple[str, ...]
    without_row: tuple[str, ...]
    key_rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    row_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.write_laws(), *self.sentences(), *self.notes])

    def write_laws(self) -> list[str]:
        """Return the laws, with the key.

        Returns
        -------
        list of str
        """
        by = f"by {printable(self.key)}"
        if self.key != self.lines_key:
            by += f" ({printable(self.lines_key)} in {self.lines})"
        return [f"{self.table}: {law}, {by}" for law in self.laws]

    def sentences(self) -> list[str]:
        """Return a sentence for each row that breaks a law.

        Returns
        -------
        list of str
        """
        found = []
        for row, sentence in zip(self.check.rows, self.check.sentences(), strict=True):
            line = self.wrong_lines.get(str(row.name))
            if line is not None:
                fix = line.fixes[0]
                value, right = fix.typed
                sentence = (
                    f"row {printable(str(row.name))}: row {line.name} of {self.lines} is wrong: "
                    f"{printable(fix.column)} {value} should be {right}."
                )
            found.append(sentence)
        return found

    def find_wrong(self, row: BrokenRow) -> tuple[str, int]:
        """Return where a row that breaks a law is wrong.

        Parameters
        ----------
        row : BrokenRow
            A row of ``check``.

        Returns
        -------
        table : str
            What the table is called: that of the lines if one of these is wrong.
        row : int
            Number of its row, from 0.
        """
        line = self.wrong_lines.get(str(row.name))
        if line is not None:
            return self.lines, line.row
        return self.table, self.key_rows[str(row.name)][0]

    @property
    def notes(self) -> list[str]:
        """What has no counterpart in the other table, and which keys are not unique."""
        notes = []
        often = {key: rows for key, rows in self.key_rows.items() if len(rows) > 1}
        for key, rows in list(often.items())[:MOST_KEYS]:
            times = "twice" if len(rows) == 2 else f"{len(rows)} times"
            listed = join([printable(self.row_names[row]) for row in rows])
            notes.append(
                f"{printable(key)} occurs {times} in {self.table}: rows {listed}, which are not "
                "checked"
            )
        n_more = len(often) - MOST_KEYS
        if n_more > 0:
            keys = "1 more key occurs" if n_more == 1 else f"{n_more} more keys occur"
            notes.append(f"{keys} more than once in {self.table}")
        if self.without_lines:
            notes.append(f"{_count(self.without_lines)} of {self.table} without {self.lines}")
        if self.without_row:
            notes.append(f"{_count(self.without_row)} of {self.lines} not in {self.table}")
        return notes


def discover_joined(
    tables: Mapping[str, Any], *, time_limit: float | None = 20.0
) -> list[JoinedLaws]:
    """Find laws between tables that have a key in common, and the rows that break them.

    Parameters
    ----------
    tables : mapping of str to table
        Anything that ``discover`` takes, by name.
    time_limit : float, optional
        Seconds of processor time for each pair of tables, about.

    Returns
    -------
    list of JoinedLaws
        One for each pair of tables with a law.

    Examples
    --------
    >>> import pandas as pd
    >>> from vanishing.laws import discover_joined
    >>> lines = pd.DataFrame({"order": [i // 3 for i in range(60)], "amount": range(100, 160)})
    >>> orders = lines.groupby("order", as_index=False).sum().rename(columns={"amount": "total"})
    >>> orders.loc[7, "total"] += 10
    >>> (found,) = discover_joined({"orders": orders, "lines": lines})
    >>> print(*found.write_laws())
    orders: total = [sum of lines.amount], by order
    >>> [row.name for row in found.check]
    ['7']
    """
    read = {name: take_table(table, tells_notes=True) for name, table in tables.items()}
    found = []
    for name, table in read.items():
        for other, lines in read.items():
            if other != name:
                joined = _join(name, table, other, lines, time_limit)
                if joined is not None:
                    found.append(joined)
    return found


class _Key(NamedTuple):
    """Columns of two tables with the same keys."""

    name: str
    lines_name: str
    rows: Mapping[str, list[int]]
    cells: list[str]

    @property
    def places(self) -> dict[str, int]:
        """The row of each key that occurs once."""
        return {cell: rows[0] for cell, rows in self.rows.items() if len(rows) == 1}


def _join(
    name: str, table: Table, other: str, lines: Table, time_limit: float | None
) -> JoinedLaws | None:
    """Return the laws of the pair of columns that explains most."""
    keys = list(_list_keys(table, lines))
    own_names = tuple(map(str, table.row_names))
    best: tuple[float, JoinedLaws] | None = None
    for key in keys:
        beside = _add_up(other, lines, key, len(table.values))
        columns = {column: table.values[:, j] for j, column in enumerate(table.shown_names)}
        columns.pop(key.name, None)
        if not columns or not columns.keys().isdisjoint(beside):
            continue
        named = sorted((row, cell) for cell, row in key.places.items())
        kept = [row for row, _ in named]
        values = np.column_stack([*columns.values(), *beside.values()])
        row_ids = np.array([cell for _, cell in named], dtype=object)
        joined = Table(values[kept], (*columns, *beside), row_ids=row_ids)
        laws = discover(joined, time_limit=time_limit)
        stated = (*laws, *laws.domains)
        # Sums are computed: an equation with noise is what products of sums have in common.
        between = [
            k
            for k, law in enumerate(stated)
            if (law.resolution is not None if isinstance(law, Law) else law.kind == "equal")
            and set(law.columns) & set(beside)
            and set(law.columns) & set(columns)
            and (law.bits or 0.0) > ENOUGH_BITS + math.log2(len(keys))
        ]
        bits = sum(stated[k].bits or 0.0 for k in between)
        if between and (best is None or bits > best[0]):
            best = bits, _check(name, other, lines, key, own_names, joined, laws, between)
    return None if best is None else best[1]


def _list_keys(table: Table, lines: Table) -> Iterator[_Key]:
    """Yield pairs of columns: the first names the rows of a table, the second has most of these."""
    columns, others = _read_keys(table), _read_keys(lines)
    for name, cells in columns.items():
        rows = defaultdict[str, list[int]](list)
        for i, cell in enumerate(cells):
            if cell:
                rows[cell].append(i)
        n_rows = sum(map(len, rows.values()))
        n_twice = sum(len(each) for each in rows.values() if len(each) > 1)
        if n_twice and not are_errors(n_twice, n_twice, n_rows, 1):
            continue
        for other, texts in others.items():
            said = [text for text in texts if text]
            known = sum(len(rows.get(text, ())) == 1 for text in said)
            if 2 * known > len(said) > len(set(said)):
                yield _Key(name, other, rows, texts)


def _read_keys(table: Table) -> dict[str, list[str]]:
    """Return the columns of texts and of whole numbers, as texts; empty where a cell is missing."""
    found = read_labels(table)
    found = {name: [text.strip() for text in found[name]] for name in table.texts if name in found}
    for name, column in zip(table.shown_names, table.values.T, strict=True):
        known = column[np.isfinite(column)]
        if len(known) and np.array_equal(known, np.round(known)):
            found[name] = ["" if np.isnan(each) else f"{each:.0f}" for each in column]
    return found


def _add_up(other: str, lines: Table, key: _Key, n_rows: int) -> dict[str, FloatArray]:
    """Return the sums of the columns of lines for each row of the table, and their number."""
    places = key.places
    rows = np.array([places.get(cell, n_rows) for cell in key.cells])
    number = np.bincount(rows, minlength=n_rows + 1)[:n_rows].astype(float)
    number[number == 0] = np.nan
    found = {}
    for name, column in zip(lines.shown_names, lines.values.T, strict=True):
        if name != key.lines_name:
            # A sum with a missing part is not known.
            sums = np.bincount(rows, weights=column, minlength=n_rows + 1)[:n_rows]
            decimals = count_decimals(find_resolution(column))
            sums = sums if decimals is None else np.round(sums, decimals)
            found[f"sum of {other}.{name}"] = np.where(np.isnan(number), np.nan, sums)
    return {**found, f"number of {other}": number}


def _check(
    name: str,
    other: str,
    lines: Table,
    key: _Key,
    row_names: tuple[str, ...],
    joined: Table,
    laws: Laws,
    between: list[int],
) -> JoinedLaws:
    """Return the laws between two tables, with the rows and lines that break them."""
    checked = laws.check(joined)
    rows = [row for row in checked.rows if set(row.laws) & set(between) and not row.is_missing]
    wrong_lines = {}
    if rows:
        sheet = Table(lines.values, tuple(lines.shown_names))
        own = discover(sheet).check(sheet, row_names=lines.row_names)
        broken = [each for each in own.rows if not each.is_missing]
        found = {str(row.name): _find_line(row, broken, key, other) for row in rows}
        wrong_lines = {cell: line for cell, line in found.items() if line is not None}
    seen = set(key.cells)
    return JoinedLaws(
        name,
        other,
        key.name,
        key.lines_name,
        tuple((*laws, *laws.domains)[k] for k in between),
        replace(checked, rows=rows),
        wrong_lines,
        tuple(cell for cell in key.places if cell not in seen),
        tuple(sorted(cell for cell in seen if cell and cell not in key.rows)),
        {cell: tuple(rows) for cell, rows in key.rows.items()},
        row_names,
    )


def _find_line(row: BrokenRow, broken: list[BrokenRow], key: _Key, other: str) -> BrokenRow | None:
    """Return the line of a row that breaks a law of its own by as much, with that fix."""
    for line in broken:
        if key.cells[line.row] != str(row.name):
            continue
        for fix in (*line.fixes, *line.alternatives):
            for change in (*row.fixes, *row.alternatives):
                missing = change.fix - change.value
                is_same = abs(fix.fix - fix.value - missing) <= SAME * abs(missing)
                if change.column == f"sum of {other}.{fix.column}" and is_same:
                    return replace(line, fixes=(replace(fix, probability=1.0),), alternatives=())
    return None


def _count(keys: tuple[str, ...]) -> str:
    shown = ", ".join(printable(key) for key in keys[:MOST_KEYS])
    more = f" and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
    return f"{len(keys)} key{'s' * (len(keys) > 1)} ({shown}{more})"
