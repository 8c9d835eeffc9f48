"""write_laws_report: a page about the laws of a table, and the cells that break them."""

import os
from typing import Any

from vanishing.app.report.content import make_row, make_scrollable
from vanishing.app.report.page import date_line, make_glance, make_page
from vanishing.data.atomic import write_atomic
from vanishing.equations.mathml import Element, element, render
from vanishing.equations.text import changed_number, number
from vanishing.laws.fit import EXACT

#: Rows that are listed, at most.
MOST_ROWS = 200
#: Smaller p-values are not told apart.
LEAST = 1e-9


def write_laws_report(
    path: str | os.PathLike[str], laws: Any, check: Any = None, *, title: str = "Laws"
) -> None:
    """Write one page of HTML about laws and the rows that break them.

    Parameters
    ----------
    path : path
        A file that exists is replaced. It is written whole or not at all.
    laws : Laws
    check : Check, optional
        What ``laws.check`` found.
    title : str
    """
    figures = [
        (f"{laws.n_rows:,}", "rows"),
        (f"{len(laws.names):,}", "columns"),
        (f"{len(laws):,}", "law" if len(laws) == 1 else "laws"),
    ]
    sections = [("laws", "Laws", _laws_section(laws))]
    if check is not None:
        figures.append((f"{int(check.broken.sum()):,}", f"of {check.n_rows:,} rows break a law"))
        sections.insert(0, ("cells", "Broken cells", _cells_section(check)))
    page = make_page(title, date_line(), [make_glance(figures)], sections)
    write_atomic(path, ("<!DOCTYPE html>\n" + render(page) + "\n").encode())


def _laws_section(laws: Any) -> list[Element]:
    parts = [element("p", laws.summary())]
    if len(laws):
        rows = [
            (
                str(law),
                str(law.degree),
                "exact" if law.extent < EXACT else number(law.extent, ".2g"),
                f"< {number(LEAST, '.0e')}" if law.p_value < LEAST else number(law.p_value, ".1g"),
            )
            for law in laws
        ]
        kinds = (None, "number", "number", "number")
        parts.append(_table(("law", "degree", "extent", "p-value"), rows, kinds))
    parts += [element("p", note, class_="note") for note in laws.notes]
    return parts


def _cells_section(check: Any) -> list[Element]:
    found = check.rows[:MOST_ROWS]
    if not found:
        return [element("p", str(check))]
    sentences = check.sentences()[:MOST_ROWS]
    rows = []
    for each, sentence in zip(found, sentences, strict=True):
        for fix in each.fixes or (None,):
            change = ("", "", "") if fix is None else (fix.column, *_change(fix))
            sure = "" if fix is None else f"{100 * fix.probability:.0f}\u00a0%"
            rows.append((str(each.name), *change, sure, sentence.partition(": ")[2]))
    kinds = ("short", "short", "number", "number", "number")
    parts = [_table(("row", "cell", "value", "fix", "sure", "why"), rows, kinds)]
    if len(check.rows) > MOST_ROWS:
        parts.append(element("p", f"The first {MOST_ROWS} of {len(check.rows)} rows are shown."))
    return parts


def _change(fix: Any) -> tuple[str, str]:
    if fix.value != fix.value:
        return "missing", number(fix.fix, ".6g")
    return changed_number(fix.value, fix.fix)


def _table(
    titles: tuple[str, ...], rows: list[tuple[Any, ...]], kinds: tuple[str | None, ...]
) -> Element:
    head = element("thead", make_row("th", titles, kinds))
    body = element("tbody", [make_row("td", row, kinds) for row in rows])
    return make_scrollable(element("table", head, body), titles[0])
