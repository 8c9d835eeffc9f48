"""Counterfactuals: the nearest sample whose score is usual."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.explain.record import NOTICED_SHARE
from vanishing.explain.view import OnLines
from vanishing.levels import BLOCK, ROUNDING, SAME

if TYPE_CHECKING:
    from vanishing.explain.attribution import Landscape

# --- The score after changes of one feature -------------------------------------------------------


class Changes:
    """The score on all lines through a point along single features."""

    def __init__(self, landscape: "Landscape", point: FloatArray) -> None:
        self.landscape = landscape
        # A feature that is far beyond the values that are tried has a line that starts at the mean:
        # from its own value it would lose digits on the way.
        far = np.abs(point - landscape.center) > 2 * VALUES[-1] * landscape.scale
        #: Where each line starts.
        self.origins = np.where(far, landscape.center, point)
        near, rest = np.flatnonzero(~far), np.flatnonzero(far)
        #: Features, and per view the deviations on their lines. The first lines meet in the point.
        self.groups = [(near, self._deviations(point[None, :], near))] if len(near) else []
        size = max(1, BLOCK // len(point))
        for some in (rest[i : i + size] for i in range(0, len(rest), size)):
            moved = np.tile(point, (len(some), 1))
            moved[np.arange(len(some)), some] = self.origins[some]
            self.groups.append((some, self._deviations(moved, some)))
        self.by_themselves = landscape.by_itself(point)

    def scores(self, features: IntArray, values: FloatArray) -> FloatArray:
        """Return the scores after changes of single features, each to some values."""
        others = self.by_themselves.sum() - self.by_themselves[features]
        result = others[:, None] + self.landscape.by_itself(values.T, features).T
        steps = [self._steps(v, features, values) for v in range(len(self.landscape.views))]
        widest = max((view.width for view in self.landscape.views), default=1)
        size = max(1, BLOCK // (values.shape[1] * widest))
        for lines, on_lines in self.groups:
            place = np.full(len(self.origins), -1)
            place[lines] = np.arange(len(lines))
            rows = np.flatnonzero(place[features] >= 0)
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                pairs = zip(self.landscape.views, on_lines, steps, strict=True)
                for view, deviations, t in pairs:
                    found = deviations(place[features[some]], t[some])
                    result[some] += view.contribution(found).reshape(t[some].shape)
        return np.asarray(result)

    def _steps(self, v: int, features: IntArray, values: FloatArray) -> FloatArray:
        """Return how far values are from the origins of their lines, in units of a view."""
        landscape = self.landscape
        start = landscape.bend(v, self.origins[features], features)
        moved = landscape.bend(v, values.T, features).T - start[:, None]
        return np.asarray(moved / landscape.bent_scale(v)[features, None])

    def _deviations(self, starts: FloatArray, features: IntArray) -> list[OnLines]:
        landscape = self.landscape
        return [
            through(landscape.locate(v, starts), features)
            for v, through in enumerate(landscape.lines)
        ]


# --- Changes of single features that make up for most of what is unusual --------------------------

#: Values that are tried for a single feature, in units of its spread around its mean.
VALUES = np.linspace(-4, 4, 129)
#: The lowest of them are looked at more closely, by values around them, in steps of the last ones.
AROUND = np.linspace(-1, 1, 9)
#: A feature that leaves this part of the excess more than the best one does is to blame as well.
SLACK = 0.1
#: Features that are changed one by one, at most: a row of more wrong cells is wrong as a whole.
MOST_CHANGED = 3


def change_single_features(
    landscape: "Landscape", point: FloatArray, score: float
) -> tuple[FloatArray, float]:
    """Change one feature after the other, as long as one alone makes up for most of the excess.

    Takes and returns a point with its score.
    """
    for _ in range(MOST_CHANGED):
        excess = score - landscape.usual
        if excess <= 0:
            break
        features, values, scores = _offers(landscape, point, excess)
        best = scores.min()
        if 2 * (score - best) < excess:
            break
        # A feature that is to blame makes the sample fully normal again, others just about usual.
        lowest = np.full(len(point), np.inf)
        np.minimum.at(lowest, features, scores)
        to_blame = lowest <= best + SLACK * excess
        # Of all changes that help as much as is needed or can be, the smallest.
        enough = np.maximum(lowest + NOTICED_SHARE * excess, landscape.usual)
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
    while width > ROUNDING:
        nearby = values[:, None] + width * landscape.scale[features, None] * AROUND
        scores = changes.scores(features, nearby)
        offers.append((np.repeat(features, len(AROUND)), nearby.ravel(), scores.ravel()))
        best = np.argmin(scores, axis=1)
        unsettled = scores.min(axis=1) > landscape.usual
        unsettled &= np.ptp(scores, axis=1) > NOTICED_SHARE * excess
        if not unsettled.any():
            break
        features, values = features[unsettled], nearby[unsettled, best[unsettled]]
        width *= AROUND[1] - AROUND[0]
    features, values, scores = (np.concatenate(parts) for parts in zip(*offers, strict=True))
    return features, values, scores


def _lowest(scores: FloatArray) -> IntArray:
    """Return where the two lowest local minima of each row are, as flat indices.

    A line meets a quadric in two points, and higher equations seldom in more that matter.
    """
    padded = np.pad(scores, ((0, 0), (1, 1)), constant_values=np.inf)
    is_minimum = (scores <= padded[:, :-2]) & (scores <= padded[:, 2:])
    order = np.argsort(np.where(is_minimum, scores, np.inf), axis=1, kind="stable")
    flat = order[:, :2] + scores.shape[1] * np.arange(len(scores))[:, None]
    return np.asarray(flat.ravel())


# --- The nearest point that satisfies the equations as well as normal data usually does -----------
#
# Equations of noisy data hold up to noise, and together they may have no common zero at all. What x
# is compared with is therefore the nearest point whose score is usual for normal data: with r the
# residuals of the equations, the minimizer of λ‖y‖² + ‖r(x + y)‖² for the largest λ at which the
# score has come down to that (the discrepancy principle). On exact data the usual residual is
# rounding, and this is the projection onto the variety.
#
# Columns of a table fail one by one. There, changes of a single column are tried first.

#: λ falls by this factor, from the size of the Jacobian down to rounding. Steps that do not help
#: are damped more by the same factor.
FACTOR = 8.0
#: Gauss-Newton steps for each λ, at most, and halvings (in the logarithm) of its last interval:
#: λ is then known to 14 %.
DAMPING_ROUNDS = 4


def find_counterfactual(landscape: "Landscape", sample: FloatArray) -> FloatArray:
    """Return x₀ for one sample; the sample itself if its score is usual.

    Where no such point is found, the best one on the way is returned.
    """
    start = sample.copy()
    # Terms of single features are removed one by one.
    alone = landscape.by_itself(sample[None, :])[0] > 0
    start[alone] = landscape.center[alone]
    score = float(landscape.score(start[None, :])[0])
    if score > landscape.usual and landscape.views and landscape.few_features:
        start, score = change_single_features(landscape, start, score)
    if score <= landscape.usual or not landscape.views:
        return start
    return _descend(Way(landscape, start))


class Way:
    """Points x + y, with y in units of the features' scale, in the directions that matter."""

    def __init__(self, landscape: "Landscape", start: FloatArray) -> None:
        self.landscape = landscape
        self.start = start
        self.moves, _ = landscape.moves

    def point(self, y: FloatArray) -> FloatArray:
        """Return x + y."""
        return np.asarray(self.start + self.moves @ y)

    def place(self, y: FloatArray) -> "Place":
        """Return what there is at x + y."""
        point = self.point(y)
        score, parts = self.landscape.score_and_residuals(point)
        values = np.concatenate([value for value, _ in parts])
        pairs = zip(parts, self.landscape.moves_of_views(point), strict=True)
        return Place(
            y, score, values, np.vstack([jacobian @ move for (_, jacobian), move in pairs])
        )

    def descend(self, place: "Place", damping: float) -> "Place":
        """Minimize λ‖y‖² + ‖r‖² by Gauss-Newton steps, damped more where they do not help.

        Where the variety is curved more than the sample is near, steps along it go too far by any
        factor. More damping shortens these first, and leaves those towards it as they are.
        """
        objective, more = place.objective(damping), 0.0
        for _ in range(DAMPING_ROUNDS):
            step, largest = place.steps(damping), place.size
            # Less damping would be lost in rounding, and steps with far more would not be seen.
            least = len(place.y) * ROUNDING * largest
            while True:
                tried = self.place(place.y - step(max(damping + more, least)))
                reached = tried.objective(damping)
                if reached < objective:
                    break
                more = max(FACTOR * more, damping)
                if not more * SAME < largest:
                    return place
            gain, place, objective, more = objective - reached, tried, reached, more / FACTOR
            if gain <= NOTICED_SHARE * objective:
                break
        return place


@dataclass(frozen=True, eq=False)
class Place:
    """A point x + y with its score, all residuals and their Jacobian with respect to y."""

    y: FloatArray
    score: float
    residuals: FloatArray
    jacobian: FloatArray

    @property
    def size(self) -> float:
        """Squared size of the Jacobian."""
        return float(np.sum(self.jacobian**2))

    def objective(self, damping: float) -> float:
        """Return λ‖y‖² + ‖r‖²."""
        return damping * float(self.y @ self.y) + float(self.residuals @ self.residuals)

    def steps(self, damping: float) -> Callable[[float], FloatArray]:
        """Return the function μ ↦ (J'J + μI)⁻¹ (J'r + λy), of Gauss-Newton steps.

        Few equations in many features move their own span and nothing else: with J' = QR the
        system is (RR' + μI) Q's there, and μ outside of it.
        """
        slope = self.jacobian.T @ self.residuals + damping * self.y
        n_residuals, n_moves = self.jacobian.shape
        if n_residuals >= n_moves:
            normal = self.jacobian.T @ self.jacobian
            return lambda more: cho_solve(cho_factor(normal + more * np.eye(n_moves)), slope)
        orthogonal, triangle = qr(self.jacobian.T, mode="economic")
        inner, normal = orthogonal.T @ slope, triangle @ triangle.T
        outside = slope - orthogonal @ inner

        def step(more: float) -> FloatArray:
            factor = cho_factor(normal + more * np.eye(n_residuals))
            return np.asarray(orthogonal @ cho_solve(factor, inner) + outside / more)

        return step


def _descend(way: Way) -> FloatArray:
    """Lower λ until the score is usual."""
    place = way.place(np.zeros(way.moves.shape[1]))
    largest = place.size
    if largest == 0.0 or not np.isfinite(largest):
        return way.start
    damping, above = largest, largest
    best = place
    while damping > ROUNDING * largest:
        reached = way.descend(place, damping)
        if reached.score <= way.landscape.usual:
            return way.point(_largest_damping(way, place, reached, above, damping).y)
        if reached.score < best.score:
            best = reached
        place, above, damping = reached, damping, damping / FACTOR
    return way.point(best.y)


def _largest_damping(way: Way, before: Place, after: Place, above: float, below: float) -> Place:
    """Close in on the largest λ whose minimizer is usual: it is nearest to the sample."""
    for _ in range(DAMPING_ROUNDS):
        damping = float(np.sqrt(above * below))
        tried = way.descend(before, damping)
        if tried.score <= way.landscape.usual:
            after, below = tried, damping
        else:
            before, above = tried, damping
    return after
