"""A table and its rules as an Excel workbook that marks broken rows itself."""

import io
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from vanishing.arrays.namespace import import_extra
from vanishing.equations.text import count_decimals
from vanishing.laws.candidate import EXACT_DIGITS
from vanishing.laws.cells import find_resolution
from vanishing.laws.laws import find_table_totals
from vanishing.laws.table import take_table
from vanishing.levels import ROUNDING
from vanishing.rules.evaluation import compute
from vanishing.rules.export.printer import Notation, Printer, call
from vanishing.rules.export.sql import Export
from vanishing.rules.expression import Call, Column, Previous, RuleError
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules

_EXCEL = {
    "abs": "ABS({})", "log": "LN({})", "coalesce": "IF(ISBLANK({0}),{1},{0})",
    "/": "({}/{})", "**": "POWER({},{})", "root": "SQRT({})", "defined": "{1}",
    "floor": "INT({})", "sign": "SIGN({})",
}  # fmt: skip


def _make_notation(columns: list[str], row: int, n_rows: int) -> Notation:
    """Return how a row is written, which is numbered from 1 as in Excel."""
    utility: Any = import_extra("xlsxwriter.utility", extra="excel", purpose="a workbook")
    letters = {name: utility.xl_col_to_name(j) for j, name in enumerate(columns)}

    def write_cell(name: str, other: int = row) -> str:
        if name not in letters:
            raise RuleError(f"the table does not have the column {name!r}")
        return f"${letters[name]}{other}"

    def write_previous(node: Previous) -> str:
        if node.by or node.order:
            raise RuleError("rows before in a group or in another order cannot be said")
        cell = write_cell(node.column, row - node.step)
        return f"N({cell})" if node.starts_at_zero else cell

    def write_across(node: Call, cells: list[str]) -> str:
        """Write that a cell is there twice, or differs from most cells beside equal ones."""
        places = [letters[name] for each in node.arguments for name in each.columns]
        columns = [f"${place}$2:${place}${n_rows + 1}" for place in places]
        same = [f"({column}={cell})" for column, cell in zip(columns, cells, strict=True)]
        if node.name == "unique":
            return f"SUMPRODUCT(1*{same[0]})>1"
        beside = f"{same[0]}*NOT(ISBLANK({columns[1]}))"
        return f"2*SUMPRODUCT({'*'.join(same)})<=SUMPRODUCT({beside})"

    return Notation(
        write_cell, write_cell, lambda text: '"' + text.replace('"', '""') + '"', _EXCEL,
        {"min": call("MIN"), "max": call("MAX")},
        {"==": "=", "!=": "<>", "<=": "<=", ">=": ">=", "<": "<", ">": ">"},
        both=call("AND"), either=call("OR"), known="NOT(ISBLANK({}))", unknown="ISBLANK({})",
        is_in=lambda cell, values: call("OR")([f"{cell}={each}" for each in values]),
        sure="IFERROR({},FALSE)", unsure="NOT(IFERROR({},FALSE))",
        guard="IFERROR(IF({},{},TRUE),TRUE)", false="FALSE()", previous=write_previous,
        negated="NOT({})", across=write_across,
    )  # fmt: skip


def to_excel(
    rules: Rules,
    frame: Any,
    *,
    texts: Collection[str] = (),
    formulas: bool = False,
    strays: Mapping[tuple[int, str], str] | None = None,
) -> Export:
    """Return a workbook with the table; cells of rows that break a rule are marked.

    The marks are conditional formats of the columns of each rule: they change as cells do. A second
    sheet lists the rules. Excel compares texts without regard to capitals.

    ``texts`` are the columns of text. With ``formulas``, columns that a rule computes, as in
    gross == net + tax, hold formulas in the rows where these give what the cell holds; so do total
    rows. ``strays`` are what cells of columns of numbers hold that are missing there, such as
    typos, by the place of the row, from 0, and the column.
    """
    xlsxwriter = import_extra("xlsxwriter", extra="excel", purpose="writing a workbook")
    names = [str(name) for name in frame.columns]
    said, unsaid = Printer(_make_notation(names, 2, len(frame)), rules, texts).write_rules()
    content = io.BytesIO()
    # Cells and names are data: texts that begin with = are not formulas.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(content, options) as book:
        sheet, listed = book.add_worksheet("Table"), book.add_worksheet("Rules")
        sheet.freeze_panes(1, 0)
        computed = _list_formulas(rules, frame, names, texts) if formulas else {}
        for j, name in enumerate(names):
            sheet.write_string(0, j, name)
            for i, cell in enumerate(frame.iloc[:, j].tolist()):
                cell = (strays or {}).get((i, name), cell)
                if (i, name) in computed:
                    sheet.write_formula(i + 1, j, computed[i, name], None, cell)
                elif isinstance(cell, (int, float)) and cell == cell:
                    sheet.write_number(i + 1, j, cell)
                elif cell is not None and cell == cell and cell != "":
                    sheet.write_string(i + 1, j, str(cell))
        mark = book.add_format({"bg_color": "#F8B4AB"})
        for rule, broken in said:
            for name in rule.columns:
                place = names.index(name)
                about = {"type": "formula", "criteria": f"={broken}", "format": mark}
                sheet.conditional_format(1, place, max(len(frame), 1), place, about)
        lines = [(rule.id, str(rule), rule.note) for rule, _ in said]
        lines += [("not said", each, "") for each in unsaid]
        for i, line in enumerate([("Rule", "What it says", "Note"), *lines]):
            for j, text in enumerate(line):
                listed.write_string(i, j, text)
    return Export({"table.xlsx": content.getvalue()}, unsaid)


def _list_formulas(
    rules: Rules, frame: Any, names: list[str], texts: Collection[str]
) -> dict[tuple[int, str], str]:
    """Write the formulas of computed cells, by the row and the name of the column."""
    units = {each.name: each.unit for each in rules.columns}
    columns = rules.read_columns(frame)
    found: dict[tuple[int, str], str] = {}
    computed: set[str] = set()
    for rule in rules:
        target = _find_target(rule)
        if target is None or target in texts or computed & {target, *rule.columns}:
            continue  # cells would be computed from each other
        computed.add(target)
        right = rule.expression.children[1]
        broken, known = rules.find_broken(rule, columns)
        decimals = count_decimals(units.get(target) or 0.0)
        stored = np.asarray(frame[target], dtype=float)
        values = np.broadcast_to(compute(right, columns).values, len(stored))
        for row in np.flatnonzero(known & ~broken & _agree(values, stored, decimals)).tolist():
            printer = Printer(_make_notation(names, row + 2, len(frame)), rules, texts)
            text = printer.write_number(right)
            text = text if decimals is None else f"ROUND({text},{decimals})"
            found[row, target] = f"={text}"
    return found | _list_sums(rules, frame, names)


def _list_sums(rules: Rules, frame: Any, names: list[str]) -> dict[tuple[int, str], str]:
    """Write the cells of total rows as sums, by the row and the name of the column."""
    if not any(rule.kind == "total" for rule in rules):
        return {}
    utility: Any = import_extra("xlsxwriter.utility", extra="excel", purpose="a workbook")
    table = take_table(frame)
    found = {}
    for total in find_table_totals(table).rows:
        members = np.sort(total.members)
        parts = np.split(members, np.flatnonzero(np.diff(members) > 1) + 1)
        for name in total.columns:
            j, place = table.shown_names.index(name), names.index(name)
            column = table.values[:, j]
            decimals = count_decimals(find_resolution(column))
            if _agree(np.nansum(column[members]), column[total.row], decimals):
                areas = [
                    utility.xl_range(part[0] + 1, place, part[-1] + 1, place) for part in parts
                ]
                sums = f"SUM({','.join(areas)})"
                text = sums if decimals is None else f"ROUND({sums},{decimals})"
                found[total.row, name] = f"={text}"
    return found


def _agree(values: Any, stored: Any, decimals: int | None) -> Any:
    """Say which values a spreadsheet would round to what is stored: half away from zero."""
    unit = 0.0 if decimals is None else 10.0**-decimals
    if unit:
        sizes = np.abs(values) / unit
        values = np.copysign(np.floor(sizes + 0.5 + ROUNDING * sizes) * unit, values)
    return np.abs(values - stored) <= EXACT_DIGITS * np.abs(stored)


def _find_target(rule: Rule) -> str | None:
    """Return the column that a rule computes from others."""
    match rule.expression:
        case Call("==", (Column(name), right)) if rule.where is None and name not in right.columns:
            return name
    return None
