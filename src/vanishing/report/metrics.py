"""How well scores find labelled anomalies, with the uncertainty of a finite sample."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from vanishing._xp import BoolArray, FloatArray, IntArray

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


def curves_of(scores: FloatArray, labels: BoolArray) -> Curves:
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
        auc=_area(_histogram(ranks, labels), _histogram(ranks, ~labels)),
        auc_interval=_interval(ranks, labels),
        precision=float(average_precision_score(labels, ranks)),
        share=float(labels.mean()),
    )


def _histogram(ranks: IntArray, chosen: BoolArray) -> FloatArray:
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
