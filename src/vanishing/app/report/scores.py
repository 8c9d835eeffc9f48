"""The scores of a report, and how well they agree with labels."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from vanishing.app.report.charts import WIDE, WIDTH, Chart, round_ticks
from vanishing.app.report.content import Given, figure, format_count, format_score
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.mathml import Element, element

# --- How well scores find labelled anomalies, with the uncertainty of a finite sample -------------

#: Resamples of the bootstrap, and numbers that all of them together may draw.
RESAMPLES, MOST_DRAWS = 1000, 50_000_000


@dataclass(frozen=True, eq=False)
class Curves:
    """ROC curve and precision-recall curve.

    Parameters
    ----------
    false_rate, true_rate : arrays
        Of the ROC curve.
    recall, precisions : arrays
        Of the other one.
    auc : float
        Area under the ROC curve.
    auc_interval : tuple of float
        Its 95 % interval by the bootstrap.
    precision : float
        Average precision.
    share : float
        Of anomalies among all rows: the precision of chance.
    """

    false_rate: FloatArray
    true_rate: FloatArray
    recall: FloatArray
    precisions: FloatArray
    auc: float
    auc_interval: tuple[float, float]
    precision: float
    share: float


def compare_with_labels(scores: FloatArray, labels: BoolArray) -> Curves:
    """Compare anomaly scores with labels.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Larger is more anomalous; may be infinite.
    labels : bool array of shape (n_rows,)
        True for anomalies; both kinds occur.
    """
    # Only their order counts, and metrics refuse infinite scores.
    ranks = np.unique(scores, return_inverse=True)[1]
    false_rate, true_rate, _ = roc_curve(labels, ranks)
    precisions, recall, _ = precision_recall_curve(labels, ranks)
    return Curves(
        false_rate=false_rate,
        true_rate=true_rate,
        recall=recall[::-1],
        precisions=precisions[::-1],
        auc=_area(_weighted_histogram(ranks, labels), _weighted_histogram(ranks, ~labels)),
        auc_interval=_interval(ranks, labels),
        precision=float(average_precision_score(labels, ranks)),
        share=float(labels.mean()),
    )


def _weighted_histogram(ranks: IntArray, chosen: BoolArray) -> FloatArray:
    return np.bincount(ranks[chosen], minlength=int(ranks.max()) + 1).astype(np.float64)


def _area(anomalies: FloatArray, normal: FloatArray) -> float:
    """Return the area under the ROC curve of counts per rank, ties counting half."""
    below = np.cumsum(normal) - normal / 2
    return float(anomalies @ below / (anomalies.sum() * normal.sum()))


def _interval(ranks: IntArray, labels: BoolArray) -> tuple[float, float]:
    """Return the 95 % interval of the area, rows of each kind drawn anew with replacement."""
    rng = np.random.default_rng(0)
    n_resamples = int(np.clip(MOST_DRAWS // len(ranks), 100, RESAMPLES))
    n_ranks = int(ranks.max()) + 1
    kinds = [ranks[labels], ranks[~labels]]
    areas = []
    for _ in range(n_resamples):
        drawn = [kind[rng.integers(len(kind), size=len(kind))] for kind in kinds]
        anomalies, normal = (np.bincount(d, minlength=n_ranks).astype(float) for d in drawn)
        areas.append(_area(anomalies, normal))
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


# --- The section on the scores: their distribution, and how well they find labelled anomalies -----

#: Bars of the histogram.
BINS = 40
#: Scores further above the middle than this many times the spread of the middle half are counted
#: in the last bar, which would otherwise be alone far away.
FAR = 12.0
#: Points of a curve that are drawn, at most.
MOST_POINTS = 400


def scores_section(given: Given) -> list[Element]:
    """Return the histogram and, with labels, the curves."""
    found = [
        element(
            "p",
            "Larger scores are more anomalous. Above the threshold of "
            f"{format_score(given.threshold)} {given.unit}s are called anomalies."
            f"{_meaning(given)}",
        ),
        _histogram(given),
    ]
    if given.labels is not None:
        curves = compare_with_labels(given.scores, given.labels)
        found.append(element("p", _describe_curves(curves, given)))
        found.append(element("div", _roc(curves), _precision_recall(curves), class_="charts"))
    elif given.one_class:
        found.append(
            element("p", "All labels are the same, so there is no ROC curve.", class_="note")
        )
    return found


def _meaning(given: Given) -> str:
    """Say what a score of standardized views is, which may be negative."""
    if not any(view.shift for view in given.detector.anomaly_score_.views):
        return ""
    return (
        f" {given.unit.capitalize()}s with a typical deviation from the equations have scores near "
        "0; smaller deviations give negative scores."
    )


def _describe_curves(curves: Curves, given: Given) -> str:
    assert given.labels is not None
    caught = int(np.sum(given.labels & given.anomalous))
    false_alarms = int(np.sum(~given.labels & given.anomalous))
    low, high = curves.auc_interval
    return (
        f"{int(given.labels.sum()):,} of {format_count(len(given.labels), given.unit)} are "
        f"labelled as anomalies. The threshold finds {caught:,} of them, with "
        f"{format_count(false_alarms, 'false alarm')}. Area under the ROC curve {curves.auc:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}, bootstrap), average precision "
        f"{curves.precision:.3f}."
    )


def _histogram(given: Given) -> Element:
    """Return the histogram in two widths, of which the page shows the one that fits."""
    low, high = _range(given)
    edges = np.linspace(low, high, BINS + 1)
    groups = [(given.scores, "normal", f"{given.unit}s")]
    if given.labels is not None:
        groups = [
            (given.scores, "anomaly", "labelled as anomalies"),
            (given.scores[~given.labels], "normal", "labelled as normal"),
        ]
    counts = [np.histogram(np.clip(scores, low, high), edges)[0] for scores, _, _ in groups]
    legend = [_key(kind, words) for _, kind, words in reversed(groups)]
    if given.train_scores is not None:
        legend.append(_key("train", "training data, on its own scale"))
    caption: list[object] = [legend]
    if beyond := int(np.sum(given.scores > high)):
        are = "a larger score is" if beyond == 1 else "larger scores are"
        caption.append(
            f" {format_count(beyond, given.unit)} with {are} in the last bar"
            f" (largest: {format_score(float(given.scores.max()))})."
        )
    charts = []
    for width, n_ticks in ((WIDTH, 5), (WIDE, 10)):
        most = float(max(1, counts[0].max()))
        chart = Chart((low, high), (0.0, most), _describe(given), width)
        ticks = [tick for tick in round_ticks(0.0, most, 4) if tick[0] % 1 == 0]
        chart.y_axis(ticks, f"{given.unit}s")
        # Anomalies stand on top of normal rows: the whole is drawn first.
        for (_, kind, _), heights in zip(groups, counts, strict=True):
            chart.bars(edges, heights, kind)
        if given.train_scores is not None:
            heights = np.histogram(np.clip(given.train_scores, low, high), edges)[0]
            heights = heights * (most / max(1, heights.max()))
            chart.line(np.repeat(edges, 2)[1:-1], np.repeat(heights, 2), "train")
        chart.x_axis(round_ticks(low, high, n_ticks), "anomaly score")
        if low <= given.threshold <= high:
            chart.upright(given.threshold, f"threshold {format_score(given.threshold)}")
        charts.append(chart.svg())
    return figure(element("div", charts, class_="either"), caption)


def _describe(given: Given) -> str:
    middle = float(np.median(given.scores))
    return (
        f"Histogram of the anomaly scores of {format_count(len(given.scores), given.unit)}: median "
        f"{format_score(middle)}, largest {format_score(float(given.scores.max()))}, threshold "
        f"{format_score(given.threshold)}"
    )


def _range(given: Given) -> tuple[float, float]:
    """Return the ends of the histogram."""
    finite = given.scores[np.isfinite(given.scores)]
    known = np.append(finite, given.threshold)
    lower, upper = np.quantile(known, [0.25, 0.75])
    far = max(upper + FAR * (upper - lower), given.threshold + (given.threshold - lower))
    low, high = float(known.min()), float(min(known.max(), far))
    if not high > low:
        return low - 0.5, low + 0.5
    return low, high


def _roc(curves: Curves) -> Element:
    words = f"ROC curve, area {curves.auc:.3f}"
    chart = _unit_chart(words, "false positive rate", "true positive rate")
    chart.line([0, 1], [0, 1], "chance")
    chart.line(*_thin_out(curves.false_rate, curves.true_rate), "main")
    return figure(chart.svg(), f"{words}; dashed: chance")


def _precision_recall(curves: Curves) -> Element:
    words = f"Precision and recall, average precision {curves.precision:.3f}"
    chart = _unit_chart(words, "recall", "precision")
    chart.line([0, 1], [curves.share, curves.share], "chance")
    chart.line(*_thin_out(curves.recall, curves.precisions), "main")
    return figure(chart.svg(), f"{words}; dashed: chance")


def _unit_chart(words: str, x_name: str, y_name: str) -> Chart:
    chart = Chart((0.0, 1.0), (0.0, 1.0), words)
    ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
    chart.y_axis(ticks, y_name)
    chart.x_axis(ticks, x_name)
    return chart


def _thin_out(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out points of a curve that nobody would see."""
    if len(x) <= MOST_POINTS:
        return x, y
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    places = np.searchsorted(length, np.linspace(0, length[-1], MOST_POINTS))
    kept = np.unique(np.clip(places, 0, len(x) - 1))
    return x[kept], y[kept]


def _key(kind: str, words: str) -> Element:
    return element(
        "span",
        element("span", class_=f"key {kind}", aria_hidden="true"),
        f" {words} ",
        class_="named",
    )
