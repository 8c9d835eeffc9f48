"""The frame of all pages of HTML, and what their sections are made of."""

import os
import platform
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vanishing.app.report.charts import tiny_histogram
from vanishing.app.wording import MOST_IN_FULL, MOST_SHOWN_COLUMNS, count_things, find_version
from vanishing.arrays.namespace import FloatArray, move_to_host
from vanishing.data.atomic import write_atomic
from vanishing.data.inputs import check_new_table
from vanishing.equations.expansion import steps_of
from vanishing.equations.mathml import Child, Element, element, render
from vanishing.equations.text import number, significant

T = TypeVar("T")

# --- The frame ------------------------------------------------------------------------------------

#: Nothing is loaded and nothing runs, whatever the names of columns hold.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if there is no folder to write to, before any work is done."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} for the report; make it first")


def write_page(
    path: str | os.PathLike[str],
    title: str,
    lead: str,
    figures: Sequence[tuple[str, str]],
    sections: Sequence[tuple[str, str, list[Element]]],
    *,
    model: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Write a page completely or not at all; a section has an anchor, a heading and elements."""
    date = datetime.now(UTC).strftime("written on %Y-%m-%d %H:%M UTC")
    date = f"{model}, {date}" if model else date[:1].upper() + date[1:]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", files("vanishing.app.report").joinpath("page.css").read_text("utf-8")),
    )
    links = [element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in sections]
    glance = [element("div", element("dt", words), element("dd", each)) for each, words in figures]
    main = [
        element("p", lead, class_="lead"),
        element("dl", glance, class_="glance"),
        *(write_note(each) for each in notes),
    ]
    for anchor, name, children in sections:
        heading = element("h2", name, id=f"{anchor}-heading")
        labelled = f"{anchor}-heading"
        main.append(element("section", heading, children, id=anchor, aria_labelledby=labelled))
    body = element(
        "body",
        element("header", element("h1", title), write_note(date)),
        element("nav", element("ul", links), aria_label="Sections"),
        element("main", *main),
    )
    page = element("html", head, body, lang="en")
    write_atomic(path, ("<!DOCTYPE html>\n" + render(page) + "\n").encode())


# --- Numbers as text ------------------------------------------------------------------------------


def format_score(score: float) -> str:
    """Write a score with four digits, as the terminal does."""
    return format_power(score + 0.0, ".4g") if np.isfinite(score) else "infinite"  # never -0


def raise_power(written: str) -> str:
    """Write a number with a raised exponent where it has one: "3×10⁻⁷"; a text as it is.

    >>> raise_power("0.012"), raise_power("3e−07"), raise_power("1e-9"), raise_power("'1e-9'")
    ('0.012', '3×10⁻⁷', '10⁻⁹', "'1e-9'")
    """
    found = re.fullmatch(r"(.*[0-9])e([-−+]?[0-9]+)", written)
    if found is None:
        return written
    digits, power = found.groups()
    exponent = int(power.replace("−", "-"))
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}×10{raised}"


def format_power(value: float, form: str) -> str:
    """Write a number by a format, with a raised exponent where it has one."""
    return raise_power(number(value, form))


def format_value(value: float) -> str:
    """Write a number of a table: whole numbers in full, others with four digits or more.

    >>> format_value(129726.0), format_value(129726.25), format_value(0.012345)
    ('129726', '129726', '0.01235')
    """
    if not np.isfinite(value):
        return "infinite"
    is_short = abs(value) < MOST_IN_FULL
    if is_short and value == round(value):
        return number(int(value), "d")
    if is_short and abs(value) >= 1:
        return significant(value, max(4, len(str(int(abs(value))))))
    return format_power(value, ".4g")


# --- Parts of the page that several sections use --------------------------------------------------

#: Lines of a list that are seen at once, about a screen, and those that follow in a fold.
LISTED, FOLDED = 20, 180
#: The same for formulas, pictures and rows in detail, which take more space.
LARGE_LISTED, LARGE_FOLDED = 6, 24


def write_note(words: Child) -> Element:
    """Return a paragraph that stands back."""
    return element("p", words, class_="note")


def figure(drawing: Element, caption: Child) -> Element:
    """Return a drawing with its caption."""
    return element("figure", drawing, element("figcaption", caption))


def fold(words: str, *children: Child) -> Element:
    """Return what is seen when it is asked for, and not in print."""
    return element("details", element("summary", words), *children)


def fold_rest(
    items: Sequence[T],
    show: Callable[[Sequence[T], int], Element],
    what: str,
    *,
    is_large: bool = False,
    all_folded: bool = False,
) -> list[Element]:
    """Show the first items at once, the next ones in a fold, and say how many are left."""
    n_seen, n_folded = (LARGE_LISTED, LARGE_FOLDED) if is_large else (LISTED, FOLDED)
    n_seen = 0 if all_folded else n_seen
    found = [show(items[:n_seen], 0)] if items[:n_seen] else []
    if following := items[n_seen : n_seen + n_folded]:
        words = count_things(len(following), f"more {what}" if n_seen else what)
        found.append(fold(words, show(following, n_seen)))
    if (n_left := len(items) - n_seen - n_folded) > 0:
        found.append(write_note(f"{count_things(n_left, f'more {what}')} not listed."))
    return found


def list_formulas(items: Sequence[Element], start: int) -> Element:
    """Return a numbered list of equations that follow on others."""
    return element("ol", list(items), class_="equations", start=start + 1 if start else None)


def write_change(
    name: str, value: str, fix: str, word: str | None = None, note: str | None = None
) -> Element:
    """Return a column, its value and the one that it should have, with a word before and a note."""
    values = " → ".join(map(raise_power, filter(None, (value, fix))))
    return element(
        "span",
        word,
        element("strong", name),
        " ",
        element("span", values, class_="values"),
        [" ", element("span", note, class_="note")] if note else None,
        class_="change",
    )


def make_table(
    titles: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    kinds: Sequence[str | None],
    *,
    caption: str,
    class_: str,
    is_caption_seen: bool = True,
) -> Element:
    """Return a table, whose rows narrow screens show as blocks of several lines.

    The first cell is the name of the row. A block has those titles that are strings beside the
    cells; ``kinds`` are the classes of the cells, by column.
    """
    heads = [
        element("th", title, scope="col", class_=kind)
        for title, kind in zip(titles, kinds, strict=True)
    ]
    lines = []
    for name, *cells in rows:
        line = [element("th", name, scope="row", class_=kinds[0])]
        for cell, title, kind in zip(cells, titles[1:], kinds[1:], strict=True):
            words = title if isinstance(title, str) else None
            line.append(element("td", cell, class_=kind, data_title=words))
        lines.append(element("tr", line))
    table = element(
        "table",
        element("caption", caption, class_=None if is_caption_seen else "unseen"),
        element("thead", element("tr", heads)),
        element("tbody", lines),
        class_=class_,
    )
    # What is too wide even so is moved sideways, with the keyboard as well.
    return element("div", table, class_="scrolled", tabindex=0, role="region", aria_label=caption)


# --- The data -------------------------------------------------------------------------------------


def take_rows(model: Any, X: Any) -> FloatArray:
    """Return the rows of a table that a model may be applied to."""
    table: FloatArray = np.asarray(move_to_host(check_new_table(model, X)), dtype=np.float64)
    return table


def take_row_names(ids: Any, X: Any, n_rows: int) -> tuple[str, ...]:
    """Return what the rows are called: by default the index of a frame, or their numbers."""
    if ids is None:
        ids = getattr(X, "index", None)
        ids = range(n_rows) if ids is None or callable(ids) else ids
    names = tuple(map(str, ids))
    if len(names) != n_rows:
        raise ValueError(f"ids must name each of the {n_rows} rows of X, got {len(names)}")
    return names


def summarize_columns(
    X: FloatArray,
    names: Sequence[str],
    train: FloatArray | None = None,
    importance: FloatArray | None = None,
) -> list[Element]:
    """Return statistics of every column, or of those of largest importance, beside ``train``."""
    n_rows, n_columns = X.shape
    words = f"{count_things(n_rows, 'row')} and {count_things(n_columns, 'column')}."
    if train is not None:
        words += (
            f" The detector was fitted to {count_things(len(train), 'row')}; lines over the "
            "histograms show these rows."
        )
    shown = list(range(n_columns))
    if n_columns > MOST_SHOWN_COLUMNS:
        by = np.zeros(n_columns) if importance is None else -importance
        shown = [int(j) for j in np.argsort(by, kind="stable")[:MOST_SHOWN_COLUMNS]]
    gaps = np.isnan(X).sum(axis=0)
    titles = ["column", "distribution", "min", "median", "max", "mean", "std"]
    titles += ["missing"] if gaps.any() else []
    titles += [] if train is None else ["outside training range"]
    rows = []
    for j in shown:
        other = None if train is None else train[:, j]
        cells = _summarize_column(names[j], X[~np.isnan(X[:, j]), j], other)
        if gaps.any():
            cells.insert(7, f"{gaps[j]:,}" if gaps[j] else "–")
        rows.append(cells)
    table = make_table(
        titles,
        rows,
        [None, "distribution"] + ["number"] * (len(titles) - 2),
        caption="Statistics of the columns",
        class_="columns small" if len(shown) <= LISTED else "columns",
    )
    found = [element("p", words), table]
    if len(shown) < n_columns:
        left = count_things(n_columns - len(shown), "more column")
        how = "" if importance is None else "; those furthest from the training mean come first"
        found.append(write_note(f"{left} not shown{how}."))
    return found


def _summarize_column(name: str, values: FloatArray, train: FloatArray | None) -> list[Child]:
    if not len(values):
        return [name, "empty", *["–"] * 5]
    known = values if train is None else np.concatenate([values, train])
    histogram = tiny_histogram(values, train, (float(known.min()), float(known.max())))
    with np.errstate(over="ignore"):
        statistics = [values.min(), np.median(values), values.max(), values.mean(), values.std()]
    cells = [name, histogram, *(format_value(float(each) + 0.0) for each in statistics)]
    if train is not None:
        outside = int(np.sum((values < train.min()) | (values > train.max())))
        cells.append(f"{outside:,}" if outside else "–")
    return cells


# --- How the report came about: parameters and versions -------------------------------------------

LIBRARIES = ("vanishing", "numpy", "scipy", "scikit-learn")


def describe_model(model: Any) -> list[Element]:
    """Return tables of parameters and versions."""
    tables = []
    for step in steps_of(model):
        parameters = step.get_params(deep=False).items()
        facts = [(name, " ".join(repr(value).split())) for name, value in parameters]
        tables.append(list_facts(f"Parameters of {type(step).__name__}", facts))
    return [*tables, list_versions()]


def list_versions() -> Element:
    """Return a table of versions."""
    versions = [(name, find_version(name) or "unknown") for name in LIBRARIES]
    return list_facts("Versions", [("Python", platform.python_version()), *versions])


def list_facts(caption: str, facts: Sequence[tuple[str, str]]) -> Element:
    """Return a table of names and values."""
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in facts
    ]
    return element("table", element("caption", caption), element("tbody", rows), class_="facts")
