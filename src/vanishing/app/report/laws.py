"""write_laws_report: a page about laws and the cells that break them."""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing.app.report import page
from vanishing.app.report.charts import CHART, draw_chart
from vanishing.app.wording import NAMED, count_things, list_unused
from vanishing.arrays.namespace import FloatArray
from vanishing.data.source import get_columns
from vanishing.equations.mathml import Child, Element, element
from vanishing.equations.text import join, printable
from vanishing.laws.check import Findings
from vanishing.laws.domains import write_domains
from vanishing.laws.formulas import write_value
from vanishing.laws.table import take_table

#: A number with its standard error, in units of its last digit.
ERROR = re.compile(r"(?<![\w.])([\d.]+)\((\d+)\)(e[+-]?\d+)?")
#: What to do where there is no law.
DETECT = "The command vanishing detect finds rows that are unlike the others."


def write_laws_report(
    path: str | os.PathLike[str],
    laws: Any,
    check: Any = None,
    *,
    formulas: Any = None,
    X: Any = None,
    title: str = "Laws",
    notes: Sequence[str] = (),
) -> None:
    """Write one page of HTML about laws and the rows that break them.

    Parameters
    ----------
    path : path
        A file that exists is replaced. It is written whole or not at all.
    laws : Laws
    check : Check, optional
        What ``laws.check`` found.
    formulas : FormulaCheck, optional
        What ``check_formulas`` found in the workbook of the table.
    X : table with the columns of the laws, optional
        For a picture of each law, and a summary of the columns.
    title : str
    notes : sequence of str, optional
        Sentences about the table, such as how its rows are counted.
    """
    page.check_folder(path)
    columns = None if X is None else _take_columns(laws, X)
    n_laws = f"{len(laws):,}", "law" if len(laws) == 1 else "laws"
    counts = [(f"{laws.n_rows:,}", "rows"), (f"{len(laws.names):,}", "columns"), n_laws]
    sections = [("laws", "Laws", _laws_section(laws, X))]
    lead = [laws.summary()]
    if check is not None:
        found = check.ranked().sections()
        sections[:0] = [(each.kind, each.title, _cells_section(each)) for each in found]
        if check.coverage():  # otherwise, only cells that are not numbers were looked for
            sections[-1][2].insert(0, element("p", *lead))
            totals = {each.row for each in check if each.total_of}  # the verdict tells of them
            broken = set(np.flatnonzero(check.broken).tolist())
            n_broken, n_incomplete = len(broken - totals), len(check.incomplete)
            n_rows, n_columns = check.n_rows - check.n_totals, len(check.columns)
            n_covered = n_columns - len(check.in_no_law)
            counts = [(f"{n_broken:,}", f"of {n_rows:,} rows break a law")]
            counts += [(f"{n_incomplete:,}", "lack cells of a law")] if n_incomplete else []
            counts += [(f"{n_covered:,}", f"of {n_columns:,} columns are in a law"), n_laws]
            lead = [check.summary()]
        else:
            lead += [check.verdict()] * bool(check.rows) + [DETECT] * (not len(laws))
    if formulas is not None:
        sections.append(("formulas", "Formulas", _formulas_section(formulas)))
    if columns is not None:
        sections.append(("data", "Data", page.summarize_columns(columns, laws.names)))
    sections.append(("details", "Details", [page.fold("Versions", page.list_versions())]))
    page.write_page(path, title, " ".join(lead), counts, sections, notes=notes)


def _take_columns(laws: Any, X: Any) -> FloatArray:
    """Return the columns that laws were looked for in: by name, or all of a table without names."""
    table = take_table(X)
    if len(table.shown_names) == len(laws.names) and get_columns(X) is None:
        return table.values
    if lacking := [name for name in laws.names if name not in table.shown_names]:
        raise ValueError(f"X lacks {join(lacking)}; pass a table with the columns of the laws")
    return table.values[:, [table.shown_names.index(name) for name in laws.names]]


def _laws_section(laws: Any, X: Any) -> list[Element]:
    items = [
        element(
            "li",
            _write_law(law.with_errors),
            element("span", " · ".join(filter(None, law.evidence)), class_="note"),
        )
        for law in laws
    ]
    parts = [element("ol", items, class_="equations laws")] if items else []
    if items and (unused := list_unused(laws)):
        line = f"In no law: {join(unused, 20)}"
        parts.append(element("p", f"{line.removesuffix('.')}.", class_="note"))
    parts += [element("p", text) for text in write_domains(laws.domains)]
    if laws.totals:
        rows = [element("li", f"{each}, in {join(each.columns, 20)}") for each in laws.totals]
        parts += [element("h3", "Total rows"), element("ul", rows)]
    # Not with a capital letter: a note may begin with the name of a column.
    parts += [element("p", f"Note: {note}.", class_="note") for note in laws.notes]
    return parts if X is None or not items else [*parts, *_draw_laws(laws, X)]


def _draw_laws(laws: Any, X: Any) -> list[Element]:
    """Return a picture of each law on the rows, the first of them at once."""
    painted: list[Element] = []
    for k, law in enumerate(list(laws)[: page.LARGE_LISTED + page.LARGE_FOLDED]):
        chart = draw_chart(
            lambda *axes, k=k: laws.plot(X, which=[k], axes=[axes], titles=False),
            f"Measured against predicted: {law}",
            size=(CHART[0], CHART[0]),
            ratios=(3, 2),
        )
        painted.append(page.figure(chart, [f"{k + 1}. ", _write_law(str(law))]))
    words = (
        "Each dot is a row. The line is where the law holds, and the grey band is what noise and "
        "rounding explain; below is the difference. Rows that break the law are orange diamonds, "
        "or triangles where they are beyond the axes."
    )

    def show(some: Sequence[Element], _: int) -> Element:
        return element("div", list(some), class_="charts")

    listed = page.fold_rest(painted, show, "law", is_large=True)
    return [element("h3", "Measured and predicted"), page.write_note(words), *listed]


def _write_law(law: str) -> Element:
    """Return a law with raised powers, dots for products, and standard errors."""

    def write_error(found: re.Match[str]) -> str:  # "12.552(5)" as "(12.552 ± 0.005)"
        value, error, power = found.groups()
        n_decimals = len(value.partition(".")[2])
        both = f"({value} ± {int(error) / 10**n_decimals:.{n_decimals}f})"
        return f"{both}{page.raise_power(f'1{power}').removeprefix('1') if power else ''}"

    children: list[Child] = []
    # Names that are not a word stand in brackets, with whatever signs they have.
    for part in re.split(r"(\[[^\]]*\]|\^[\d.]+)", law):
        if re.fullmatch(r"\^[\d.]+", part):
            children.append(element("sup", part[1:]))
        elif part.startswith("["):
            children.append(part)
        else:
            children.append(ERROR.sub(write_error, part).replace("*", " · "))
    return element("span", children, class_="law")


def _cells_section(found: Findings) -> list[Element]:
    check, rows = found.check, found.check.rows
    caption = count_things(len(rows), "row") + ", furthest off first" * (found.kind == "broken")
    return page.fold_rest(rows, lambda some, _: _table_of_cells(check, some, caption), "row")


def _formulas_section(found: Any) -> list[Element]:
    caption = count_things(len(found.cells), "cell")

    def make(some: Sequence[Any], _: int) -> Element:
        lines = []
        for each in some:
            has = each.text if each.kind == "formula" else write_value(each.value)
            place = f"{each.sheet}!{each.address}"
            lines.append((place, has, each.formula, write_value(each.expected)))
        titles = ("cell", "has", "formula of the cells around", "which gives")
        kinds = ("row-name", "fix", "why", "fix")
        return page.make_table(titles, lines, kinds, caption=caption, class_="ranked")

    listed = page.fold_rest(found.cells, make, "cell") if found.cells else []
    notes = [page.write_note(f"Note: {note}.") for note in found.notes]
    return [element("p", found.summary()), *listed, *notes]


def _table_of_cells(check: Any, found: Sequence[Any], caption: str) -> Element:
    lines = []
    for each in found:
        others = f", and {len(each.laws) - NAMED} more" if len(each.laws) > NAMED else None
        laws = [
            element("span", f"{k + 1}. ", _write_law(str(check.laws[k])), class_="broken")
            for k in each.laws[:NAMED]
        ]
        if each.total_of:
            laws = [element("span", f"total of {each.total_of}", class_="broken")]
        lines.append((str(each.name), _write_fixes(each), [laws, others]))
    return page.make_table(
        ("row", "suggested fix", "laws of the row" if found[0].is_missing else "breaks the law"),
        lines,
        ("row-name", "fix", "why"),
        caption=caption,
        class_="ranked",
    )


def _write_fixes(found: Any) -> list[Child]:
    """Return the cells to change, together, or each instead of the others."""
    if found.total_of and not found.fixes:
        return ["one of its rows is wrong: other totals agree with it"]
    if found.cells and not found.fixes:
        held = ", ".join(f"{printable(name)} {text}" for name, text in found.cells)
        return ["; ".join([held, *found.beside])]
    if not found.fixes:  # of what is no equation, none is looked for
        return ["no change of one or two cells would fix it"] if found.is_searched else []
    written: list[Child] = []
    for place, fix in enumerate((*found.fixes, *found.alternatives)):
        word = ("or " if found.alternatives else "and ") if place else None
        # How likely this is the wrong cell, given that the row is wrong.
        percent = f"{100 * fix.probability:.0f}"
        percent = {"100": "over 99", "0": "under 1"}.get(percent, percent)
        note: str | None = f"wrong cell: {percent}\u00a0%"
        if found.is_missing:
            note = "not a number" if fix.text else None
        value, right = fix.written
        written += [page.write_change(fix.column, value, right, word, note), " "]
    return written
