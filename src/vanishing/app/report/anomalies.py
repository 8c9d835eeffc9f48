"""write_report: a page about scored data."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve
from sklearn.utils.validation import check_is_fitted

from vanishing.app.report import charts, page
from vanishing.app.report.equations import (
    MEASURED_ROWS,
    Formulas,
    equations_section,
    spectrum_section,
)
from vanishing.app.wording import (
    NAMED,
    TOGETHER,
    count_things,
    describe_fix,
    have_enough_rows,
    list_changes,
)
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, move_to_host, unmask
from vanishing.data.inputs import get_feature_names
from vanishing.detectors.base import Detector
from vanishing.detectors.score import Normal
from vanishing.equations.mathml import Child, Element, element
from vanishing.equations.text import changed_number, number, significant
from vanishing.explain.record import Bar, Explanation
from vanishing.style import INK, LESS, MORE, NOTE

# --- What a report is made of, checked before any work is done ------------------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """Scored data and its detector; labels of one kind only are None, with ``one_class``."""

    detector: Detector
    X: FloatArray
    scores: FloatArray
    anomalous: BoolArray
    labels: BoolArray | None
    one_class: bool
    ids: tuple[str, ...]
    names: tuple[str, ...]
    train: FloatArray | None
    train_scores: FloatArray | None
    image_shape: tuple[int, ...] | None

    @property
    def threshold(self) -> float:
        """The anomaly score above which rows are called anomalous."""
        return -float(self.detector.offset_)

    @property
    def normal(self) -> Normal:
        """Mean and spread of the training data."""
        assert self.detector.anomaly_score_.normal is not None
        return self.detector.anomaly_score_.normal

    @property
    def unit(self) -> str:
        """What a row is."""
        return "row" if self.image_shape is None else "image"

    @property
    def pixels_or_columns(self) -> str:
        """What a row consists of."""
        return "columns" if self.image_shape is None else "pixels"

    @property
    def order(self) -> list[int]:
        """Rows, most anomalous first."""
        return [int(row) for row in np.argsort(-self.scores, kind="stable")]

    def name_label(self, row: int) -> str:
        """Return what the label of a row says."""
        return "anomaly" if self.labels is not None and self.labels[row] else "normal"


def check_given(
    detector: Any, X: Any, scores: Any, labels: Any, ids: Any, feature_names: Any, train: Any
) -> Given:
    """Check what ``write_report`` is given, and score what has no scores yet."""
    if not isinstance(detector, Detector):
        raise TypeError(
            "detector must be a fitted VanishingDetector or TransformationDetector, got "
            f"{type(detector).__name__}"
        )
    check_is_fitted(detector)
    table = page.take_rows(detector, X)
    n_rows = len(table)
    found = detector.score_samples(X) if scores is None else scores
    normality = _take_vector("scores", move_to_host(found), n_rows).astype(np.float64)
    if np.isnan(normality).any():
        raise ValueError(
            "scores contain NaN; pass the result of detector.score_samples(X), or None"
        )
    kinds, one_class = _check_labels(labels, n_rows)
    return Given(
        detector=detector,
        X=table,
        scores=-normality,
        anomalous=normality < detector.offset_,
        labels=kinds,
        one_class=one_class,
        ids=page.take_row_names(ids, X, n_rows),
        names=tuple(get_feature_names(detector, feature_names)),
        train=None if train is None else page.take_rows(detector, train),
        train_scores=None if train is None else -move_to_host(detector.score_samples(train)),
        image_shape=image_shape_of(detector),
    )


def image_shape_of(detector: Any) -> tuple[int, ...] | None:
    """Return the shape of the images that the transformations of a detector act on, if any."""
    waiting = [getattr(detector, "transformations", None)]
    while waiting:
        each = waiting.pop()
        if (shape := getattr(each, "image_shape", None)) is not None:
            shape = tuple(shape)
            drawable = len(shape) == 2 or shape[2] in (1, 3)
            return shape if drawable and prod(shape) == detector.n_features_in_ else None
        waiting += getattr(each, "sets", ())
    return None


def _take_vector(name: str, values: Any, n_rows: int) -> Any:
    vector = np.asarray(unmask(values, name))
    if vector.ndim == 2 and vector.shape[1] == 1:  # a column of a frame
        vector = vector[:, 0]
    if vector.shape != (n_rows,):
        raise ValueError(
            f"{name} must be one value for each of the {n_rows} rows of X, got shape {vector.shape}"
        )
    return vector


def _check_labels(labels: Any, n_rows: int) -> tuple[BoolArray | None, bool]:
    """Return which rows are anomalies, and whether all labels are the same."""
    if labels is None:
        return None, False
    vector = _take_vector("labels", labels, n_rows)
    expected = "labels must be 1 for anomalies and 0 for normal rows, or -1 and +1 as of predict"
    try:
        numbers = vector.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}, got {str(vector[0])!r}") from error
    if n_missing := int(np.isnan(numbers).sum()):
        raise ValueError(
            f"labels are missing in {n_missing} of {n_rows} rows; label every row, or leave labels "
            "out"
        )
    values = set(np.unique(numbers).tolist())
    if not (values <= {0.0, 1.0} or values <= {-1.0, 1.0}):
        raise ValueError(f"{expected}, got the values {sorted(values)[:6]}")
    if len(values) < 2:
        return None, True
    return (numbers == (-1.0 if -1.0 in values else 1.0)), False


# --- The page -------------------------------------------------------------------------------------


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
    page.check_folder(path)
    given = check_given(detector, X, scores, labels, ids, feature_names, train)
    parts, unit = given.detector.anomaly_score_.parts, given.unit
    about = (_normal_rows(given), given.names, given.normal.mean, given.normal.spread)
    formulas = [Formulas(part, *about) for part in parts]
    explained, note = explain_anomalies(given, callback)
    anomalies = anomalies_section(given, explained, note, formulas)
    equations = equations_section(parts, formulas, unit, list(explained.values()))
    learned = [
        ("threshold on the anomaly score", number(given.threshold, ".6g")),
        (given.pixels_or_columns, f"{given.detector.n_features_in_:,}"),
    ]
    chosen = getattr(given.detector, "chosen_", ())
    learned += [(f"part {k}", " ".join(str(each).split())) for k, each in enumerate(chosen, 1)]
    details = [
        page.fold("Spectrum", *spectrum_section(parts)),
        page.fold("What was fitted", page.list_facts("What was fitted", learned)),
        page.fold("Parameters and versions", *page.describe_model(given.detector)),
    ]
    n_rows, n_columns = given.X.shape
    n_anomalous = int(given.anomalous.sum())
    share = f"{number(100 * n_anomalous / n_rows, '.2g')}\u00a0%"
    figures = [
        (f"{n_rows:,}", unit if n_rows == 1 else f"{unit}s"),
        (f"{n_columns:,}", given.pixels_or_columns),
        (f"{n_anomalous:,}", f"anomalous ({share})"),
        (page.format_score(given.threshold), "threshold on the score"),
    ]
    if given.labels is not None:
        figures.append((f"{int(given.labels.sum()):,}", "labelled anomalies"))
    sections = [
        ("anomalies", f"Anomalous {unit}s", anomalies),
        ("scores", "Scores", scores_section(given)),
        ("equations", "Equations", equations),
        ("data", "Data", _data_section(given)),
        ("details", "Details", details),
    ]
    lead, model = _headline(given, explained), type(detector).__name__
    page.write_page(
        path, title or "Anomaly report", lead, figures, sections, model=model, notes=notes
    )


def _headline(given: Given, explained: Mapping[int, Explanation]) -> str:
    """Return what somebody reads who reads one sentence."""
    n_anomalous, unit = int(given.anomalous.sum()), given.unit
    words = f"{n_anomalous:,} of {count_things(len(given.X), unit)} "
    words += "is anomalous." if n_anomalous == 1 else "are anomalous."
    worst = given.order[0]
    if not n_anomalous:
        score = page.format_score(float(given.scores[worst]))
        return f"{words} The highest score is {score} ({unit} {given.ids[worst]})."
    words += f" The most anomalous is {unit} {given.ids[worst]}"
    if given.image_shape is None and worst in explained:
        return f"{words}: {describe_fix(explained[worst], page.raise_power)}"
    return f"{words}."


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


def _data_section(given: Given) -> list[Element]:
    """Return a summary of every column, or of the images."""
    if given.image_shape is not None:
        size = " × ".join(map(str, given.image_shape))
        words = f"{count_things(len(given.X), 'image')} of {size} pixels."
        return [element("p", words), charts.summary_images(given.X, given.image_shape)]
    moved = np.abs(given.X.mean(axis=0) - given.normal.mean) / given.normal.spread
    return page.summarize_columns(given.X, given.names, given.train, moved)


# --- The anomalous rows: a ranked list, a sentence about each, and why ----------------------------

#: Explaining stops after so many seconds, which people wait for a page, and does not begin if a row
#: would take longer. It takes about as long as scoring this many rows; a wide one less.
SECONDS, SCORED_PER_ROW = 20.0, 2000

HOW_TO_READ_IMAGES = (
    "Each image is compared with the nearest one that is as typical as nine of ten training "
    "images. Colors show what each pixel adds to the score: orange raises it, blue lowers it."
)
HOW_TO_READ_ROWS = (
    "Each row is compared with the nearest one that is as typical as nine of ten training rows. "
    "Bars show what each column adds to the score: orange raises it, blue lowers it. Another "
    "column may be the cause: with few equations, changing any of several columns could fix the "
    "row."
)

Explanations = Mapping[int, Explanation]


def anomalies_section(
    given: Given, explained: Explanations, note: str, formulas: Sequence[Formulas]
) -> list[Element]:
    """Return the ranked list of anomalous rows, and details of the first ones."""
    anomalous = [row for row in given.order if given.anomalous[row]]
    others = [row for row in given.order if not given.anomalous[row]][: page.LISTED]
    unit = given.unit
    found: list[Element] = []
    if not anomalous:
        found.append(element("p", f"No {unit} is above the threshold."))
    caption = f"{count_things(len(anomalous), f'anomalous {unit}')}, highest score first"
    detailed, how_to_read = anomalous, HOW_TO_READ_IMAGES
    if given.image_shape is None:  # pictures of images say more than a list
        found += page.fold_rest(
            anomalous, lambda rows, _: _list_rows(given, explained, rows, caption), unit
        )
        detailed, how_to_read = [row for row in anomalous if row in explained], HOW_TO_READ_ROWS
        if detailed:
            found.append(element("h3", "The rows in detail"))

    def show_cards(rows: Sequence[int], _: int) -> Element:
        cards = [_card(given, row, explained.get(row), formulas) for row in rows]
        return element("div", cards, class_="cards")

    if detailed:
        found.append(element("p", how_to_read))
        found += page.fold_rest(detailed, show_cards, unit, is_large=True)
    if note:
        found.append(page.write_note(note))
    if others:
        words = f"The {count_things(len(others), unit)} just below the threshold"
        below = _list_rows(given, explained, others, words)
        found.append(element("div", below) if not anomalous else page.fold(words, below))
    return found


def explain_anomalies(
    given: Given, callback: Callable[[float], object] | None = None
) -> tuple[dict[int, Explanation], str]:
    """Explain anomalous rows until time is up; say in words what is left."""
    rows = [row for row in given.order if given.anomalous[row]][: page.LISTED + page.FOLDED]
    if not rows:
        return {}, ""
    started = time.perf_counter()
    expected = _expected_seconds(given)
    if expected > SECONDS:
        return {}, (
            f"Not explained: with {count_things(given.X.shape[1], 'column')} that would take about "
            f"{number(expected, '.1g')} seconds per {given.unit}; use detector.explain for those "
            "that matter."
        )
    near = [row for row in rows if np.isfinite(given.scores[row])]
    found: dict[int, Explanation] = {}
    try:
        landscape = given.detector.anomaly_score_.landscape
        for row in near:
            found[row] = landscape.explain(given.X[row], NAMED, given.names)
            if callback is not None:
                callback(len(found) / len(near))
            elapsed = time.perf_counter() - started
            if elapsed * (1 + 1 / len(found)) > SECONDS:  # with another row as long as the others
                break
    except ValueError as error:  # a preprocessor that is not affine
        return {}, f"Not explained: {error}"
    words = ""
    if len(found) < len(near):
        words = (
            f"Explained: the {count_things(len(found), given.unit)} with the highest scores. More "
            f"would have taken longer than {SECONDS:g} seconds."
        )
    if n_beyond := len(rows) - len(near):
        words += (
            f" {count_things(n_beyond, given.unit)} with an infinite score too far from normal "
            "data to be explained."
        )
    return found, words.strip()


def _expected_seconds(given: Given) -> float:
    """Guess how long explaining one row takes; images, which change as a whole, are quick."""
    if given.image_shape is not None:
        return 0.0
    rows = np.repeat(given.normal.mean[None, :], 50, axis=0)
    started = time.perf_counter()
    given.detector.anomaly_score_.score_samples(rows)
    seconds = (time.perf_counter() - started) / len(rows)
    return float(seconds * SCORED_PER_ROW)


def _list_rows(given: Given, explained: Explanations, rows: Sequence[int], caption: str) -> Element:
    """Return a table of rows with scores and what would be typical."""
    largest = float(given.scores[np.isfinite(given.scores)].max(initial=0.0)) or 1.0

    def draw(row: int) -> Element:
        return _draw_bar(given.scores[row] / largest, "more" if given.anomalous[row] else "rest")

    def write_fix(row: int) -> Child:
        changes = list_changes(explained[row]) if row in explained else []
        fixes = [page.write_change(*each) for each in changes]
        return fixes or (TOGETHER if row in explained else "–")

    columns: list[tuple[Child, str, list[Child]]] = [
        (given.unit, "row-name", [given.ids[row] for row in rows]),
        ("score", "number", [page.format_score(given.scores[row]) for row in rows]),
        (element("span", "bar", class_="unseen"), "score-bar", [draw(row) for row in rows]),
    ]
    if any(row in explained for row in rows):
        columns.append(("typical value", "fix", [write_fix(row) for row in rows]))
    if given.labels is not None:
        columns.append(("label", "short", [given.name_label(row) for row in rows]))
    titles, kinds, cells = zip(*columns, strict=True)
    lines = list(zip(*cells, strict=True))
    return page.make_table(titles, lines, kinds, caption=caption, class_="ranked")


def _draw_bar(share: float, kind: str) -> Element:
    """Return a bar that fills a share of its cell."""
    width = f"width: {100 * float(np.clip(share, 0.0, 1.0)):.1f}%"
    return element("div", element("div", class_=f"bar {kind}", style=width), class_="track")


def _card(
    given: Given, row: int, explanation: Explanation | None, formulas: Sequence[Formulas]
) -> Element:
    fixed = explanation if explanation is not None and explanation.attribution.any() else None
    score = f"score {page.format_score(float(given.scores[row]))}"
    if fixed is not None:
        score += f", {page.format_score(fixed.counterfactual_score)} when fixed"
    if given.labels is not None:
        score += f", labelled {given.name_label(row)}"
    head = element(
        "h4" if given.image_shape is None else "h3",
        f"{given.unit.capitalize()} {given.ids[row]}",
        element("span", score, class_="note"),
    )
    if given.image_shape is not None:
        about = given.image_shape, given.ids[row]
        if fixed is None:
            return element("article", head, charts.picture(given.X[row], *about))
        return element("article", head, charts.draw_explanation(fixed, *about))
    assert explanation is not None
    bars = explanation.bars(page.LARGE_LISTED, "column")
    return element(
        "article",
        head,
        element("p", describe_fix(explanation, page.raise_power)),
        _table_of_bars(bars, given.ids[row]) if sum(not bar.is_rest for bar in bars) > 1 else None,
        _fold_equations(explanation, formulas),
    )


def _table_of_bars(bars: Sequence[Bar], row: str) -> Element:
    largest = max(abs(bar.attribution) for bar in bars)
    rows = []
    for bar in bars:
        kind = "rest" if bar.is_rest else "more" if bar.attribution > 0 else "less"
        change = " → ".join(map(page.raise_power, bar.change.split(" → ")))
        drawn = _draw_bar(abs(bar.attribution) / largest, kind)
        rows.append([bar.name, change, drawn, bar.written])
    return page.make_table(
        ["column", "value → typical value", "adds to the score", "points"],
        rows,
        [None, "change", "wide", "number"],
        caption=f"What each column of row {row} adds to the score",
        is_caption_seen=False,
        class_="bars",
    )


def _fold_equations(explanation: Explanation, formulas: Sequence[Formulas]) -> Element | None:
    """List the broken equations in a fold, solved for the column to change most if possible."""
    column = int(np.argmax(explanation.attribution))
    name, here = explanation.feature_names[column], explanation.sample[column]
    items = []
    # Those in coordinates that nobody knows are left out beside others.
    readable = [each for each in explanation.equations if formulas[each.ideal[0]].in_columns]
    for equation in readable or explanation.equations:
        part, cluster = equation.ideal
        formula = formulas[part].formula(cluster, equation.index)
        times = (
            f"{page.raise_power(significant(equation.times_typical, 3))} times as far off as usual"
        )
        words = f"{equation.part}, degree {equation.degree}: {times}"
        written = None if formula is None else formula.element
        in_columns = formulas[part].in_columns and list_changes(explanation)
        solved = formula.solve_for(column, explanation.sample) if formula and in_columns else None
        if solved is not None:
            written, value = solved
            has, fix = map(page.raise_power, changed_number(here, value))
            words = f"{name} is {has}, this gives {fix}: {times}"
        items.append(element("li", written, element("span", words, class_="note")))
    if not items:
        return None
    words = "equation that it breaks" if len(items) == 1 else "equations that it breaks most"
    return page.fold(f"The {words}", element("ul", items, class_="equations"))


# --- How well scores find labelled anomalies, with the uncertainty of a finite sample -------------


class Curves(NamedTuple):
    """ROC and precision-recall curve, areas, and the share of anomalies, which is chance."""

    roc: tuple[FloatArray, FloatArray]
    precision_recall: tuple[FloatArray, FloatArray]
    auc: float
    auc_interval: tuple[float, float]
    precision: float
    share: float


def compare_with_labels(scores: FloatArray, labels: BoolArray) -> Curves:
    """Compare anomaly scores, which may be infinite, with labels of both kinds."""
    # Only their order counts, and metrics refuse infinite scores.
    ranks = np.unique(scores, return_inverse=True)[1]
    roc = roc_curve(labels, ranks)[:2]
    precisions, recall, _ = precision_recall_curve(labels, ranks)
    precision = float(average_precision_score(labels, ranks))
    area = _measure_area(ranks, labels)
    return Curves(roc, (recall[::-1], precisions[::-1]), *area, precision, float(labels.mean()))


def _measure_area(ranks: IntArray, labels: BoolArray) -> tuple[float, tuple[float, float]]:
    """Return the area under the ROC curve and its 95 % interval, by DeLong's method.

    The area is the mean share of normal rows below an anomaly, and of anomalies above a normal row,
    ties counting half. The variances of these two means add up to that of the area. On the scale of
    log(area / (1 - area)) the interval stays between 0 and 1.
    """
    kinds = ranks[labels], ranks[~labels]
    anomalies, normal = (np.bincount(kind, minlength=ranks.max() + 1) for kind in kinds)
    below = ((np.cumsum(normal) - normal / 2) / normal.sum())[kinds[0]]
    above = ((np.cumsum(anomalies) - anomalies / 2) / anomalies.sum())[kinds[1]]
    area = float(below.mean())
    variance = below.var() / len(below) + above.var() / len(above)
    if not 0 < area < 1:
        return area, (area, area)
    width = NormalDist().inv_cdf(0.975) * np.sqrt(variance) / (area * (1 - area))
    low, high = expit(logit(area) + np.array([-width, width]))
    return area, (float(low), float(high))


# --- The section on the scores: their distribution, and how well they find labelled anomalies -----


def scores_section(given: Given) -> list[Element]:
    """Return the histogram and, with labels, the curves."""
    threshold = page.format_score(given.threshold)
    words = (
        f"Larger scores are more anomalous. Above the threshold of {threshold} {given.unit}s are "
        "called anomalies."
    )
    views = given.detector.anomaly_score_.views
    if any(view.capacity is not None for view in views):
        words += (
            f" A score adds up evidence: how rare what the model sees in a {given.unit} is among "
            f"normal ones. It is never negative, and small for typical {given.unit}s."
        )
    elif any(view.shift for view in views):
        words += (
            f" {given.unit.capitalize()}s with a typical deviation from the equations have scores "
            "near 0; smaller deviations give negative scores."
        )
    found = [element("p", words), _histogram(given)]
    if given.labels is not None:
        curves = compare_with_labels(given.scores, given.labels)
        caught = int(given.labels[given.anomalous].sum())
        false_alarms = count_things(int(given.anomalous.sum()) - caught, "false alarm")
        low, high = curves.auc_interval
        words = (
            f"{int(given.labels.sum()):,} of {count_things(len(given.labels), given.unit)} are "
            f"labelled as anomalies. The threshold finds {caught:,} of them, with {false_alarms}. "
            f"Area under the ROC curve {curves.auc:.3f} (95 % interval {low:.3f} to {high:.3f}), "
            f"average precision {curves.precision:.3f}."
        )
        roc = _draw_curve(
            f"ROC curve, area {curves.auc:.3f}",
            ("false positive rate", "true positive rate"),
            curves.roc,
            (0.0, 1.0),
        )
        precision_recall = _draw_curve(
            f"Precision and recall, average precision {curves.precision:.3f}",
            ("recall", "precision"),
            curves.precision_recall,
            (curves.share, curves.share),
        )
        found += [element("p", words), element("div", roc, precision_recall, class_="charts")]
    elif given.one_class:
        found.append(page.write_note("All labels are the same, so there is no ROC curve."))
    return found


def _histogram(given: Given) -> Element:
    """Return the histogram in two widths, of which the page shows the one that fits."""
    low, high = _range(given)
    edges = np.linspace(low, high, charts.BINS + 1)
    groups = [(given.scores, "normal", f"{given.unit}s")]
    if given.labels is not None:
        groups = [
            (given.scores, "anomaly", "labelled as anomalies"),
            (given.scores[~given.labels], "normal", "labelled as normal"),
        ]
    counts = [np.histogram(np.clip(scores, low, high), edges)[0] for scores, _, _ in groups]
    legend = [(kind, words) for _, kind, words in reversed(groups)]
    if given.train_scores is not None:
        legend.append(("train", "training data, on its own scale"))
    caption: list[object] = []
    for kind, words in legend:
        key = element("span", class_=f"key {kind}", aria_hidden="true")
        caption.append(element("span", key, f" {words} ", class_="named"))
    largest = page.format_score(float(given.scores.max()))
    if beyond := int(np.sum(given.scores > high)):
        are = "a larger score is" if beyond == 1 else "larger scores are"
        caption.append(
            f" {count_things(beyond, given.unit)} with {are} in the last bar (largest: {largest})."
        )
    most = float(max(1, counts[0].max()))
    threshold = page.format_score(given.threshold)

    def paint(ax: Any) -> None:
        # Anomalies stand on top of normal rows: the whole is drawn first.
        for (_, kind, _), heights in zip(groups, counts, strict=True):
            ax.stairs(heights, edges, fill=True, color=MORE if kind == "anomaly" else LESS)
        if given.train_scores is not None:
            heights = np.histogram(np.clip(given.train_scores, low, high), edges)[0]
            ax.stairs(heights * (most / max(1, heights.max())), edges, color=INK, baseline=None)
        ax.set(xlim=(low, high), ylim=(0, most * 1.02))
        charts.name_axes(ax, "anomaly score", f"{given.unit}s", counts=True)
        if low <= given.threshold <= high:
            charts.mark_place(ax, given.threshold, f"threshold {threshold}")

    label = (
        f"Histogram of the anomaly scores of {count_things(len(given.scores), given.unit)}: "
        f"median {page.format_score(float(np.median(given.scores)))}, largest {largest}, "
        f"threshold {threshold}"
    )
    narrow = charts.draw_chart(paint, label)
    wide = charts.draw_chart(paint, label, size=charts.WIDE_CHART)
    wide.set("class", "wide")
    return page.figure(element("div", narrow, wide, class_="either"), caption)


def _range(given: Given) -> tuple[float, float]:
    """Return the ends of the histogram."""
    finite = given.scores[np.isfinite(given.scores)]
    known = np.append(finite, given.threshold)
    lower, upper = np.quantile(known, [0.25, 0.75])
    # A single score far away would leave the others in one bar. The last bar counts what is further
    # off, so that the middle half of the scores keeps three bars.
    far = max(upper + charts.BINS / 3 * (upper - lower), 2 * given.threshold - lower)
    low, high = float(known.min()), float(min(known.max(), far))
    if not high > low:
        return low - 0.5, low + 0.5
    return low, high


def _draw_curve(
    words: str,
    names: tuple[str, str],
    curve: tuple[FloatArray, FloatArray],
    chance: tuple[float, float],
) -> Element:
    def paint(ax: Any) -> None:
        ax.plot([0, 1], chance, color=NOTE, linewidth=1, linestyle=(0, (4, 3)))
        ax.plot(*curve, color=LESS, linewidth=2, clip_on=False)
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        charts.name_axes(ax, *names)
        ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])

    return page.figure(charts.draw_chart(paint, words), f"{words}; dashed: chance")
