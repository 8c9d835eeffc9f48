"""What a row holds that breaks a rule without an equation, which does not say what is wrong."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from vanishing.data.whole_tables import Table
from vanishing.equations.text import printable, shorten_name
from vanishing.laws.check import BrokenRow
from vanishing.laws.domains import DomainCells


class RuleCells(NamedTuple):
    """The kind of a rule, "key", "dependency" or another, and its columns."""

    kind: str
    columns: tuple[str, ...]


def add_reasons(
    rows: list[BrokenRow], rules: Mapping[int, RuleCells], cells: DomainCells, table: Table
) -> list[BrokenRow]:
    """Add cells and their counterparts to rows that break rules and have no fix.

    Parameters
    ----------
    rows : list of BrokenRow
    rules : mapping of int to RuleCells
        By the numbers that the rows call them by.
    cells : DomainCells
    table : Table

    Returns
    -------
    list of BrokenRow
    """
    texts: dict[str, list[str]] = {}
    names_of_rows = table.row_names
    places: dict[str, dict[str, list[int]]] = {}

    def write(row: int, name: str) -> str:
        if name not in texts:
            texts[name] = cells.write(name)
        return texts[name][row]

    def find_alike(row: int, name: str) -> list[int]:
        if name not in places:
            found = places[name] = {}
            for i, text in enumerate(texts[name]):
                found.setdefault(text, []).append(i)
        return [i for i in places[name][write(row, name)] if i != row]

    told = []
    for each in rows:
        broken = [rules[k] for k in each.laws if k in rules]
        if not broken or each.fixes or each.total_of:
            told.append(each)
            continue
        names = dict.fromkeys(name for rule in broken for name in rule.columns)
        held = tuple((name, shorten_name(write(each.row, name)) or "blank") for name in names)
        beside = []
        for rule in broken:
            first, *others = rule.columns
            value = write(each.row, first)
            alike = find_alike(each.row, first) if rule.kind in ("dependency", "key") else []
            if rule.kind == "dependency":
                counts = Counter(filter(None, (write(i, others[0]) for i in alike)))
                most = counts.most_common(2)
                if most and (len(most) == 1 or most[0][1] > most[1][1]):
                    rest = "the other rows" if len(most) == 1 else "most other rows"
                    value = shorten_name(value)
                    beside.append(f"{value} is {shorten_name(most[0][0])} in {rest}")
            elif rule.kind == "key" and alike:
                more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
                first_name = _name(table, alike[0], names_of_rows)
                beside.append(f"{shorten_name(value)} is also in {first_name}{more}")
        name = each.name
        if table.row_ids is not None and (line := table.find_line(int(table.rows[each.row]))):
            name = f"{name}, line {line}"
        told.append(replace(each, name=name, cells=held, beside=tuple(beside)))
    return told


def _name(table: Table, row: int, names: list[Any]) -> str:
    """Return what a row is called; by its line if that is not its number."""
    line = table.find_line(int(table.rows[row]))
    if table.row_ids is not None and line is not None:
        return f"line {line}"
    return f"row {printable(str(names[row]))}"
