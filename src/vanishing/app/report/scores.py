"""The scores of a report, and how well they agree with labels."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from vanishing.app.report.charts import BINS, CHART, WIDE_CHART, draw_chart, mark_place, name_axes
from vanishing.app.report.content import Given, figure, format_count, format_score
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.mathml import Element, element
from vanishing.style import INK, LESS, MORE, NOTE

# --- How well scores find labelled anomalies, with the uncertainty of a finite sample -------------


@dataclass(frozen=True, eq=False)
class Curves:
    """ROC curve and precision-recall curve.

    ``auc_interval`` is the 95 % interval of the area under the ROC curve, ``precision`` the average
    one, and ``share`` that of anomalies among all rows: the precision of chance.
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
    """Compare anomaly scores, which may be infinite, with labels of both kinds."""
    # Only their order counts, and metrics refuse infinite scores.
    ranks = np.unique(scores, return_inverse=True)[1]
    false_rate, true_rate, _ = roc_curve(labels, ranks)
    precisions, recall, _ = precision_recall_curve(labels, ranks)
    area, interval = _measure_area(ranks, labels)
    return Curves(
        false_rate=false_rate,
        true_rate=true_rate,
        recall=recall[::-1],
        precisions=precisions[::-1],
        auc=area,
        auc_interval=interval,
        precision=float(average_precision_score(labels, ranks)),
        share=float(labels.mean()),
    )


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
    """Say what a score of evidence or of standardized views is; only the latter may be negative."""
    views = given.detector.anomaly_score_.views
    if any(view.capacity is not None for view in views):
        return (
            f" A score adds up evidence: how rare what the model sees in a {given.unit} is among "
            "normal ones. It is never negative, and small for typical "
            f"{given.unit}s."
        )
    if not any(view.shift for view in views):
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
        f"(95 % interval {low:.3f} to {high:.3f}), average precision "
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
    most = float(max(1, counts[0].max()))

    def paint(ax: Any) -> None:
        # Anomalies stand on top of normal rows: the whole is drawn first.
        for (_, kind, _), heights in zip(groups, counts, strict=True):
            ax.stairs(heights, edges, fill=True, color=MORE if kind == "anomaly" else LESS)
        if given.train_scores is not None:
            heights = np.histogram(np.clip(given.train_scores, low, high), edges)[0]
            ax.stairs(heights * (most / max(1, heights.max())), edges, color=INK, baseline=None)
        ax.set(xlim=(low, high), ylim=(0, most * 1.02))
        name_axes(ax, "anomaly score", f"{given.unit}s", counts=True)
        if low <= given.threshold <= high:
            mark_place(ax, given.threshold, f"threshold {format_score(given.threshold)}")

    charts = [draw_chart(paint, _describe(given), size=size) for size in (CHART, WIDE_CHART)]
    charts[1].set("class", "wide")
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
    # A single score far away would leave the others in one bar. The last bar counts what is further
    # off, so that the middle half of the scores keeps three bars.
    far = max(upper + BINS / 3 * (upper - lower), 2 * given.threshold - lower)
    low, high = float(known.min()), float(min(known.max(), far))
    if not high > low:
        return low - 0.5, low + 0.5
    return low, high


def _roc(curves: Curves) -> Element:
    words = f"ROC curve, area {curves.auc:.3f}"
    names = "false positive rate", "true positive rate"
    return _draw_curve(words, names, curves.false_rate, curves.true_rate, (0.0, 1.0))


def _precision_recall(curves: Curves) -> Element:
    words = f"Precision and recall, average precision {curves.precision:.3f}"
    names = "recall", "precision"
    return _draw_curve(words, names, curves.recall, curves.precisions, (curves.share, curves.share))


def _draw_curve(
    words: str, names: tuple[str, str], x: FloatArray, y: FloatArray, chance: tuple[float, float]
) -> Element:
    def paint(ax: Any) -> None:
        ax.plot([0, 1], chance, color=NOTE, linewidth=1, linestyle=(0, (4, 3)))
        ax.plot(x, y, color=LESS, linewidth=2, clip_on=False)
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        name_axes(ax, *names)
        ax.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])

    return figure(draw_chart(paint, words), f"{words}; dashed: chance")


def _key(kind: str, words: str) -> Element:
    return element(
        "span",
        element("span", class_=f"key {kind}", aria_hidden="true"),
        f" {words} ",
        class_="named",
    )
