"""Rows of which laws do not speak: those in no case of a condition, and those without a row before.

No equation tells what they should be. But a country that is in no case of a tax may be a typing
error, and a check must not say that such a row keeps the laws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, IntArray
from vanishing.equations.text import join, printable
from vanishing.laws.check import BrokenRow, Fix, Outside
from vanishing.laws.conditions import ConditionCells, write_cells
from vanishing.laws.derived import DerivedColumn, Keys, describe
from vanishing.laws.law import Law


def list_outside(
    laws: Sequence[Law],
    derived: Sequence[DerivedColumn],
    spoken: BoolArray,
    keys: Keys,
    places: IntArray,
    row_names: Sequence[Any],
) -> Iterator[Outside]:
    """Yield the rows of which laws do not speak.

    ``spoken`` says which laws speak of which rows, shape (n_rows, n_laws); rows are called by their
    ``places`` in the table.
    """
    cells: dict[str, ConditionCells] = {**keys.labels, **keys.columns}

    def number(rows: IntArray) -> tuple[int, ...]:
        return tuple(places[rows].tolist())

    for family in _list_families(laws):
        where = laws[family[0]].where
        assert where is not None
        written = np.array(where.write(cells[where.column]), dtype=object)
        rows = np.flatnonzero(~spoken[:, family].any(axis=1) & (written != ""))  # or it is blank
        if len(rows):
            values = [
                f"{printable(text)} ({_call(number(rows[written[rows] == text]), row_names)})"
                for text in dict.fromkeys(written[rows].tolist())
            ]
            reason = f"{where.subject} = {join(values)}"
            yield Outside(tuple(family), number(rows), reason, is_case=True)
    n_columns = len(laws[0].names) - len(derived) if laws else 0
    chains: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for place, each in enumerate(derived, n_columns):
        if each.is_of_other_row and not each.starts_at_zero:
            first = number(np.flatnonzero(keys.find_rows(each) < 0))
            name = f"no {describe(each, 'row')} ({_call(first, row_names)})"
            chain = chains.setdefault((name, first), [])
            chain += [k for k, law in enumerate(laws) if law.involved[place] and k not in chain]
    for (reason, first), numbers in chains.items():
        if first and numbers:
            yield Outside(tuple(sorted(numbers)), first, reason, is_case=False)


def blame_conditions(
    found: BrokenRow, laws: Sequence[Law], is_kept: BoolArray, spoken: BoolArray, keys: Keys
) -> BrokenRow:
    """Add the cell of a condition to what would restore a row: with it, the row is another case.

    ``is_kept`` says which laws the row keeps, of whatever rows they speak, and ``spoken`` which of
    them speak of it.
    """
    if found.is_missing:
        return found
    columns: dict[str, ConditionCells] = {**keys.labels, **keys.columns}
    ways: list[tuple[Fix, ...]] = []
    for family in _list_families(laws):
        where = laws[family[0]].where
        if where is None or where.part or set(family).isdisjoint(found.laws):
            continue
        (text,) = write_cells(columns[where.column][found.row : found.row + 1])
        others = np.setdiff1d(np.flatnonzero(spoken), family)
        for k in family:
            other = laws[k].where
            if spoken[k] or not is_kept[[k, *others]].all() or other is None:
                continue
            for value in other.values:
                fix = Fix(where.column, np.nan, np.nan, np.nan, 1.0, text=text, wanted=value)
                ways.append((fix,))
    if not ways:
        return found
    # One wrong cell of the condition is as likely as one of the others.
    n_others = len(found.alternatives) + bool(found.fixes) + len(found.ways)
    share, left = 1 / (1 + n_others), n_others / (1 + n_others)
    known = [tuple(replace(fix, probability=fix.probability * left) for fix in way)
             for way in (found.fixes, found.alternatives, *found.ways)]  # fmt: skip
    ways = [(replace(fix, probability=share / len(ways)),) for (fix,) in ways]
    return replace(found, fixes=known[0], alternatives=known[1], ways=(*known[2:], *ways))


def _list_families(laws: Sequence[Law]) -> list[list[int]]:
    """Return the laws that are cases of the same: of the same columns, by the same column."""
    families: list[list[int]] = []
    for k, law in enumerate(laws):
        if law.where is None:
            continue
        for family in families:
            first = laws[family[0]]
            is_same = first.where is not None and first.where.subject == law.where.subject
            if is_same and not set(first.columns).isdisjoint(law.columns):
                family.append(k)
                break
        else:
            families.append([k])
    return families


def _call(rows: Sequence[int], row_names: Sequence[Any]) -> str:
    """Return what rows are called, or the first of them."""
    return f"row{'s' * (len(rows) > 1)} {join([printable(str(row_names[row])) for row in rows])}"
