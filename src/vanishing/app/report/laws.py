"""write_laws_report: a page about laws and the cells that break them."""

import os
import re
from collections.abc import Sequence
from typing import Any

from vanishing.app.report.content import (
    fold,
    format_count,
    format_power,
    join,
    list_versions,
    make_row,
    make_scrollable,
    summarize_columns,
)
from vanishing.app.report.page import check_folder, date_line, make_glance, make_page, write_page
from vanishing.arrays.namespace import FloatArray
from vanishing.equations.mathml import Child, Element, element
from vanishing.laws.fit import EXACT
from vanishing.laws.table import take_table

#: Rows that are listed at once, and in a fold, at most.
LISTED, FOLDED = 50, 450
#: Smaller p-values are not told apart.
LEAST = 1e-9


def write_laws_report(
    path: str | os.PathLike[str],
    laws: Any,
    check: Any = None,
    *,
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
    X : table with the columns of the laws, optional
        For a summary of the columns.
    title : str
    notes : sequence of str, optional
        Sentences about the table, such as how its rows are counted.
    """
    check_folder(path)
    figures = [
        (f"{laws.n_rows:,}", "rows" if check is None else "complete rows"),
        (f"{len(laws.names):,}", "columns"),
        (f"{len(laws):,}", "law" if len(laws) == 1 else "laws"),
    ]
    sections = [("laws", "Laws", _laws_section(laws))]
    lead = laws.summary()
    if check is not None:
        figures.append((f"{int(check.broken.sum()):,}", f"of {check.n_rows:,} rows break a law"))
        sections.insert(0, ("cells", "Broken cells", _cells_section(check)))
        lead = check.summary()
    if X is not None:
        sections.append(("data", "Data", summarize_columns(_take_columns(laws, X), laws.names)))
    sections.append(("details", "Details", [fold("Versions", list_versions())]))
    first = [element("p", lead, class_="lead"), make_glance(figures)]
    first += [element("p", each, class_="note") for each in notes]
    write_page(path, make_page(title, date_line(), first, sections))


def _take_columns(laws: Any, X: Any) -> FloatArray:
    """Return the columns that laws were looked for in: by name, or all of a table without names."""
    table = take_table(X)
    if len(table.names) == len(laws.names) and not hasattr(X, "columns"):
        return table.values
    if lacking := [name for name in laws.names if name not in table.names]:
        raise ValueError(f"X lacks {join(lacking)}; pass a table with the columns of the laws")
    return table.values[:, [table.names.index(name) for name in laws.names]]


def _laws_section(laws: Any) -> list[Element]:
    parts = [element("p", laws.summary())]
    items = []
    for law in laws:
        how = "exact" if law.extent < EXACT else f"off by {100 * law.extent:.2g} % of the spread"
        chance = format_power(max(law.p_value, LEAST), ".1g")
        chance = f"less than {chance}" if law.p_value < LEAST else chance
        words = f"degree {law.degree}, {how}, p-value {chance}"
        items.append(element("li", _write_law(law), element("span", words, class_="note")))
    if items:
        parts.append(element("ol", items, class_="equations laws"))
    used = {name for law in laws for name in law.columns}
    if items and (unused := [name for name in laws.names if name not in used]):
        parts.append(element("p", f"In no law: {join(unused, 20)}.", class_="note"))
    parts += [element("p", f"{note[:1].upper()}{note[1:]}.", class_="note") for note in laws.notes]
    return parts


def _write_law(law: Any) -> Element:
    """Return a law with raised powers and dots for products."""
    children: list[Child] = []
    # Names that are not a word stand in brackets, with whatever signs they have.
    for part in re.split(r"(\[[^\]]*\]|\^\d+)", str(law)):
        if re.fullmatch(r"\^\d+", part):
            children.append(element("sup", part[1:]))
        else:
            children.append(part if part.startswith("[") else part.replace("*", " · "))
    return element("span", children, class_="law")


def _cells_section(check: Any) -> list[Element]:
    ranked = check.ranked()
    if not len(ranked):
        return [element("p", check.summary())]
    parts = [_table_of_cells(ranked.rows[:LISTED], ranked.sentences()[:LISTED], "List of cells")]
    if len(ranked) > LISTED:
        rest = slice(LISTED, LISTED + FOLDED)
        caption = f"{format_count(len(ranked.rows[rest]), 'row')} that follow"
        parts.append(
            fold(caption, _table_of_cells(ranked.rows[rest], ranked.sentences()[rest], caption))
        )
    if len(ranked) > LISTED + FOLDED:
        words = f"The first {LISTED + FOLDED} of {len(ranked):,} rows are shown."
        parts.append(element("p", words, class_="note"))
    return parts


def _table_of_cells(found: list[Any], sentences: list[str], caption: str) -> Element:
    titles = ("row", "what is wrong", "cell", "value", "fix", "sure")
    kinds = ("short", "why", "short", "number", "number", "number")
    lines = []
    for each, sentence in zip(found, sentences, strict=True):
        why = sentence.partition(": ")[2]
        for place, fix in enumerate(each.fixes or (None,)):
            change = ("–", "–", "–") if fix is None else (fix.column, *fix.written)
            sure = "–" if fix is None else f"{100 * fix.probability:.0f}\u00a0%"
            words = why if place == 0 else ""
            lines.append(make_row("td", (str(each.name), words, *change, sure), kinds))
    table = element(
        "table",
        element("caption", "Rows that are furthest off come first", class_="unseen"),
        element("thead", make_row("th", titles, kinds)),
        element("tbody", lines),
        class_="ranked",
    )
    return make_scrollable(table, caption)
