"""write_report: a page about scored data; and the frame of all pages."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.app.report.anomalies import anomalies_section, explain_anomalies
from vanishing.app.report.content import (
    Given,
    check_given,
    data_section,
    describe_fit,
    describe_model,
    fold,
    format_count,
    format_score,
    raise_power,
)
from vanishing.app.report.equations import (
    MEASURED_ROWS,
    Formulas,
    equations_section,
    spectrum_section,
)
from vanishing.app.report.scores import scores_section
from vanishing.app.wording import describe_fix, have_enough_rows
from vanishing.arrays.namespace import FloatArray
from vanishing.data.atomic import write_atomic
from vanishing.equations.mathml import Element, element, render
from vanishing.equations.text import number
from vanishing.explain.record import Explanation

# --- A page about scored data ---------------------------------------------------------------------

#: Nothing is loaded and nothing runs, whatever the names of columns hold.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


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
    notes: Sequence[str] = (),
    callback: Callable[[float], object] | None = None,
) -> None:
    """Write an HTML page about data and the scores of a detector.

    The page lists the anomalous rows with a suggested fix for each, explains them, and shows the
    distribution of the scores, ROC and precision-recall curves where there are labels, the
    equations, a summary of the data, and in folds the spectrum of each degree, parameters and
    versions. It needs no network, runs no script, and is written completely or not at all.

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
    notes : sequence of str, optional
        Sentences about the table, such as cells that could not be read.
    callback : callable, optional
        Called with the share of the anomalous rows that have been explained, 0 to 1.

    Notes
    -----
    Work is bounded, and the page says where: of the anomalous rows the 200 with the highest scores
    are listed and explained, fewer if that takes longer than 20 seconds; of wide tables 40 columns
    are summarized; of many equations those that hold best are written out.

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
    check_folder(path)
    given = check_given(
        detector, X, scores=scores, labels=labels, ids=ids, feature_names=feature_names, train=train
    )
    parts = given.detector.anomaly_score_.parts
    rows = _normal_rows(given)
    about = (rows, given.names, given.normal.mean, given.normal.spread)
    formulas = [Formulas(part, *about) for part in parts]
    explained, note = explain_anomalies(given, callback)
    heading = f"Anomalous {given.unit}s"
    details = [
        fold("Spectrum", *spectrum_section(parts)),
        fold("What was fitted", describe_fit(given)),
        fold("Parameters and versions", *describe_model(given.detector)),
    ]
    sections = [
        ("anomalies", heading, anomalies_section(given, explained, note, formulas)),
        ("scores", "Scores", scores_section(given)),
        (
            "equations",
            "Equations",
            equations_section(parts, formulas, given.unit, list(explained.values())),
        ),
        ("data", "Data", data_section(given)),
        ("details", "Details", details),
    ]
    write_page(
        path,
        title or "Anomaly report",
        _headline(given, explained),
        _figures(given),
        sections,
        model=type(detector).__name__,
        notes=notes,
    )


def _headline(given: Given, explained: Mapping[int, Explanation]) -> str:
    """Return what somebody reads who reads one sentence."""
    n_anomalous, unit = int(given.anomalous.sum()), given.unit
    all_of = f"{n_anomalous:,} of {format_count(len(given.X), unit)}"
    words = f"{all_of} {'is' if n_anomalous == 1 else 'are'} anomalous."
    worst = given.order[0]
    if not n_anomalous:
        score = format_score(float(given.scores[worst]))
        return f"{words} The highest score is {score} ({unit} {given.ids[worst]})."
    words += f" The most anomalous is {unit} {given.ids[worst]}"
    if given.image_shape is None and worst in explained:
        return f"{words}: {describe_fix(explained[worst], raise_power)}"
    return f"{words}."


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
    """Write a page completely or not at all.

    It begins with a sentence, figures with what they are, and notes; a section has an anchor, a
    heading and elements. The line with the date names the model.
    """
    date = datetime.now(UTC).strftime("written on %Y-%m-%d %H:%M UTC")
    page = _frame(
        title,
        f"{model}, {date}" if model else date[:1].upper() + date[1:],
        [
            element("p", lead, class_="lead"),
            _glance(figures),
            *(element("p", each, class_="note") for each in notes),
        ],
        sections,
    )
    write_atomic(path, ("<!DOCTYPE html>\n" + render(page) + "\n").encode())


def _frame(
    title: str, note: str, first: list[Element], sections: Sequence[tuple[str, str, list[Element]]]
) -> Element:
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


def _glance(figures: Sequence[tuple[str, str]]) -> Element:
    entries = [
        element("div", element("dt", words), element("dd", figure)) for figure, words in figures
    ]
    return element("dl", entries, class_="glance")


def _figures(given: Given) -> list[tuple[str, str]]:
    """Return the figures that come first."""
    n_rows, n_columns = given.X.shape
    n_anomalous = int(given.anomalous.sum())
    share = f"{number(100 * n_anomalous / n_rows, '.2g')}\u00a0%"
    figures = [
        (f"{n_rows:,}", given.unit if n_rows == 1 else f"{given.unit}s"),
        (f"{n_columns:,}", "pixels" if given.image_shape else "columns"),
        (f"{n_anomalous:,}", f"anomalous ({share})"),
        (format_score(given.threshold), "threshold on the score"),
    ]
    if given.labels is not None:
        figures.append((f"{int(given.labels.sum()):,}", "labelled anomalies"))
    return figures


def _normal_rows(given: Given) -> FloatArray:
    """Return rows on which the sizes of the terms of equations are taken."""
    if given.train is not None:
        return given.train
    normal = given.X[~given.anomalous]
    if have_enough_rows(len(normal), len(given.names)):
        return np.asarray(normal)
    # Too few to tell sizes: points spread as the training data is.
    drawn = np.random.default_rng(0).normal(size=(MEASURED_ROWS, len(given.names)))
    return np.asarray(given.normal.mean + given.normal.spread * drawn)
