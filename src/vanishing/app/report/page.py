"""write_report: a page about scored data. write_laws_report: one about laws."""

import os
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.app.report.anomalies import anomalies_section
from vanishing.app.report.content import (
    Given,
    check_given,
    data_section,
    facts_section,
    make_row,
    make_scrollable,
)
from vanishing.app.report.equations import Formulas, equations_section, spectrum_section
from vanishing.app.report.scores import scores_section
from vanishing.arrays.namespace import FloatArray
from vanishing.data.atomic import write_atomic
from vanishing.equations.mathml import Element, element, render
from vanishing.equations.text import changed_number, number
from vanishing.laws.fit import EXACT

# --- A page about scored data ---------------------------------------------------------------------

#: Nothing is loaded and nothing runs, whatever the names of columns hold.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

#: Fewer normal rows than this say little about sizes; so many are drawn then.
FEWEST_ROWS, DRAWN_ROWS = 20, 200


def write_report(
    path: str | os.PathLike[str],
    detector: Any,
    X: Any,
    *,
    scores: Any = None,
    labels: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    title: str | None = None,
    train: Any = None,
) -> None:
    """Write an HTML page about data and the scores of a detector.

    The page holds the distribution of the scores, ROC and precision-recall curves where there are
    labels, the most anomalous rows with explanations, the equations, the spectrum of each degree, a
    summary of the data, parameters and versions. It needs no network, runs no script, and is
    written completely or not at all.

    Parameters
    ----------
    path : path
        A file that exists is replaced.
    detector : VanishingDetector or TransformationDetector
        Fitted.
    X : array-like of shape (n_samples, n_features)
        The rows to report on.
    scores : array-like of shape (n_samples,), optional
        What ``detector.score_samples(X)`` returns (higher is more normal), if it is known already.
    labels : array-like of shape (n_samples,), optional
        1 for anomalies and 0 for normal rows, or -1 and +1 as ``predict`` gives them.
    ids : sequence of shape (n_samples,), optional
        Names of the rows. By default the index of a frame, or numbers from 0.
    feature_names : sequence of str, optional
        Names of the columns. By default those of the fit, or x0, x1, ...
    title : str, optional
        Heading of the page.
    train : array-like of shape (n_train, n_features), optional
        The data of the fit, to compare with.

    Notes
    -----
    Work is bounded, and the page says where: the six rows with the highest scores are explained,
    fewer if that takes longer than 20 seconds; of wide tables 40 columns are summarized; of many
    equations those that hold best are written out.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from vanishing import VanishingDetector
    >>> from vanishing.app.report import write_report
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> normal = np.column_stack([x, x**2 + 0.02 * rng.normal(size=500)])  # near a parabola
    >>> detector = VanishingDetector().fit(normal)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(page, detector, [[0.5, 0.25], [0.5, 0.6]], title="Two rows")
    >>> "Two rows" in page.read_text(encoding="utf-8")
    True
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} for the report; make it first")
    given = check_given(
        detector,
        X,
        scores=scores,
        labels=labels,
        ids=ids,
        feature_names=feature_names,
        train=train,
    )
    content = "<!DOCTYPE html>\n" + render(_page(given, title or "Anomaly report")) + "\n"
    write_atomic(path, content.encode())


def _page(given: Given, title: str) -> Element:
    parts = given.detector.anomaly_score_.parts
    rows = _normal_rows(given)
    about = (rows, given.names, given.normal.mean, given.normal.spread)
    formulas = [Formulas(part, *about) for part in parts]
    sections = [
        ("scores", "Scores", scores_section(given)),
        ("anomalies", f"Most anomalous {given.unit}s", anomalies_section(given, formulas)),
        ("equations", "Equations", equations_section(parts, formulas)),
        ("spectrum", "Spectrum", spectrum_section(parts)),
        ("data", "Data", data_section(given)),
        ("facts", "Parameters and versions", facts_section(given)),
    ]
    return make_page(title, _written_on(given), [_glance(given)], sections)


def make_page(
    title: str,
    note: str,
    first: list[Element],
    sections: list[tuple[str, str, list[Element]]],
) -> Element:
    """Return a whole page.

    Parameters
    ----------
    title, note : str
        The heading, and a line below it.
    first : list of Element
        What comes before the sections.
    sections : list of (anchor, heading, elements)
    """
    style = files("vanishing.app.report").joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    links = [element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in sections]
    body = element(
        "body",
        element("header", element("h1", title), element("p", note, class_="note")),
        element("main", *first, *(_section(*each) for each in sections)),
    )
    body.insert(1, element("nav", element("ul", links), aria_label="Sections"))
    return element("html", head, body, lang="en")


def _section(anchor: str, name: str, children: list[Element]) -> Element:
    heading = element("h2", name, id=f"{anchor}-heading")
    return element("section", heading, children, id=anchor, aria_labelledby=f"{anchor}-heading")


def _written_on(given: Given) -> str:
    return f"{type(given.detector).__name__}, {date_line()}"


def date_line() -> str:
    """Return when a page is written."""
    return datetime.now(UTC).strftime("written on %Y-%m-%d %H:%M UTC")


def _glance(given: Given) -> Element:
    """Return the figures that come first."""
    n_rows, n_columns = given.X.shape
    n_anomalous = int(given.anomalous.sum())
    share = f"{number(100 * n_anomalous / n_rows, '.2g')}\u00a0%"
    figures = [
        (f"{n_rows:,}", given.unit if n_rows == 1 else f"{given.unit}s"),
        (f"{n_columns:,}", "pixels" if given.image_shape else "columns"),
        (f"{n_anomalous:,}", f"called anomalies ({share})"),
        (number(given.threshold, ".3g"), "threshold"),
    ]
    if given.labels is not None:
        figures.append((f"{int(given.labels.sum()):,}", "labelled anomalies"))
    return make_glance(figures)


def make_glance(figures: list[tuple[str, str]]) -> Element:
    """Return figures with the words that say what they are."""
    entries = [
        element("div", element("dt", words), element("dd", figure)) for figure, words in figures
    ]
    return element("dl", entries, class_="glance")


def _normal_rows(given: Given) -> FloatArray:
    """Return rows on which the sizes of the terms of equations are taken."""
    if given.train is not None:
        return given.train
    normal = given.X[~given.anomalous]
    if len(normal) >= FEWEST_ROWS:
        return np.asarray(normal)
    # Too few to tell sizes: points spread as the training data is.
    drawn = np.random.default_rng(0).normal(size=(DRAWN_ROWS, len(given.names)))
    return np.asarray(given.normal.mean + given.normal.spread * drawn)


# --- A page about laws ----------------------------------------------------------------------------

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
