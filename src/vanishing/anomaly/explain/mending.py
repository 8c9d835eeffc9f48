"""Changes of single features that make up for most of what is unusual."""

from typing import TYPE_CHECKING

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.changes import Changes

if TYPE_CHECKING:
    from vanishing.anomaly.explain.landscape import Landscape

#: Values that are tried for a single feature, in units of its spread around its mean.
VALUES = np.linspace(-4, 4, 129)
#: The lowest of them are looked at more closely: so many for each feature, with values around.
LOWEST, AROUND = 2, np.linspace(-1, 1, 9)
#: This ends when what could still be gained is a small share of the excess, or in rounding.
SETTLED, MOST_ZOOMS = 1e-3, 20
#: A change has to make up for this share of the excess.
WORTHWHILE = 0.5
#: A feature that leaves this share of the excess more than the best one does is to blame as well.
SLACK = 0.1
#: Features that are mended one by one, at most.
MOST_MENDED = 3


def mend_single_features(
    landscape: "Landscape", point: FloatArray, score: float
) -> tuple[FloatArray, float]:
    """Change one feature after the other, as long as one alone makes up for most of the excess.

    Takes and returns a point with its score.
    """
    for _ in range(MOST_MENDED):
        excess = score - landscape.usual
        if excess <= 0:
            break
        features, values, scores = _offers(landscape, point, excess)
        best = scores.min()
        if score - best < WORTHWHILE * excess:
            break
        # A feature that is to blame makes the sample fully normal again, others just about usual.
        lowest = np.full(len(point), np.inf)
        np.minimum.at(lowest, features, scores)
        to_blame = lowest <= best + SLACK * excess
        # Of all changes that help as much as is needed or can be, the smallest.
        enough = np.maximum(lowest + SETTLED * excess, landscape.usual)
        helps = to_blame[features] & (scores <= enough[features])
        changes = np.abs(values - point[features]) / landscape.scale[features]
        chosen = np.argmin(np.where(helps, changes, np.inf))
        point = point.copy()
        point[features[chosen]] = values[chosen]
        score = float(landscape.score(point[None, :])[0])
    return point, score


def _offers(
    landscape: "Landscape", point: FloatArray, excess: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return single features with other values for them, and the scores that they lead to.

    The less noise normal data has, the fewer values of a feature are usual. A grid may miss them
    all, or all but those of one feature by chance, so that its lowest points are looked at closely.
    """
    changes = Changes(landscape, point)
    features = np.arange(len(point))
    tried = landscape.center[:, None] + landscape.scale[:, None] * VALUES
    scores = changes.scores(features, tried)
    offers = [(np.repeat(features, len(VALUES)), tried.ravel(), scores.ravel())]
    lowest = _lowest(scores)
    features, values = offers[0][0][lowest], offers[0][1][lowest]
    width = VALUES[1] - VALUES[0]
    for _ in range(MOST_ZOOMS):
        nearby = values[:, None] + width * landscape.scale[features, None] * AROUND
        scores = changes.scores(features, nearby)
        offers.append((np.repeat(features, len(AROUND)), nearby.ravel(), scores.ravel()))
        best = np.argmin(scores, axis=1)
        unsettled = scores.min(axis=1) > landscape.usual
        unsettled &= np.ptp(scores, axis=1) > SETTLED * excess
        if not unsettled.any():
            break
        features, values = features[unsettled], nearby[unsettled, best[unsettled]]
        width *= AROUND[1] - AROUND[0]
    features, values, scores = (np.concatenate(parts) for parts in zip(*offers, strict=True))
    return features, values, scores


def _lowest(scores: FloatArray) -> IntArray:
    """Return where the lowest of the local minima of each row are, as flat indices."""
    padded = np.pad(scores, ((0, 0), (1, 1)), constant_values=np.inf)
    is_minimum = (scores <= padded[:, :-2]) & (scores <= padded[:, 2:])
    order = np.argsort(np.where(is_minimum, scores, np.inf), axis=1, kind="stable")
    flat = order[:, :LOWEST] + scores.shape[1] * np.arange(len(scores))[:, None]
    return np.asarray(flat.ravel())
