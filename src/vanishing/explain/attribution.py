"""Explanations of a score: counterfactuals, and what each feature adds to the difference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Protocol

import numpy as np
from scipy.integrate import cubature
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.sparse import diags_array, issparse

from vanishing.arrays.namespace import FloatArray, IntArray, lazy
from vanishing.explain.record import NOTICED_SHARE, Explanation
from vanishing.explain.view import OnLines, Through, View, linear_part, refuse_unless_equal
from vanishing.levels import BLOCK, CHANCE, LONG_SUM, ROUNDING, SAME

Map = Callable[[FloatArray], FloatArray]

# --- The score as a function of the features, and the explanation of a sample by it ---------------


class ByItself(Protocol):
    """Terms of single features: own_j(x_j)."""

    def __call__(self, x: FloatArray, /, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return own_j at values of some features, all by default, along the last axis of x."""


@dataclass(frozen=True, eq=False)
class Bend:
    """A function φ of single features, φ_j(x_j), such as their normal scores.

    ``values`` takes features as ``ByItself`` does, ``slopes`` returns φ' at one point.
    """

    values: ByItself
    slopes: Map


@dataclass(frozen=True, eq=False)
class Landscape:
    """S(x) = Σ_v s_v(map_v(φ_v(x))) + Σ_j own_j(x_j), with affine maps to coordinates of views.

    φ_v is a ``Bend``, or None where it is the identity. The way from the counterfactual to a sample
    is straight in φ_v(x): what a view adds is attributed to φ_j(x_j), and so to the feature.

    Distances are measured in units of ``scale``; ``usual`` is a score that normal data seldom
    exceeds. ``few_features`` and ``units`` are those of the fitted score.
    """

    maps: Sequence[Map]
    bends: Sequence[Bend | None]
    views: Sequence[View]
    center: FloatArray
    scale: FloatArray
    usual: float
    few_features: bool
    by_itself: ByItself
    units: FloatArray | None = None

    @lazy
    def matrices(self) -> list[Any]:
        """Per view, the derivative of its coordinates with respect to the features; maybe sparse.

        Raises if a map is not affine.
        """
        return [
            linear_part(function, self.bend(v, self.center), self.bent_scale(v))
            for v, function in enumerate(self.maps)
        ]

    def bend(self, v: int, x: FloatArray, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return φ_v of features, along the last axis of x."""
        bend = self.bends[v]
        return x if bend is None else bend.values(x, features)

    def bent_scale(self, v: int) -> FloatArray:
        """Return the unit of each feature after φ_v: normal scores are in units of their spread."""
        return self.scale if self.bends[v] is None else np.ones_like(self.scale)

    def locate(self, v: int, x: FloatArray) -> FloatArray:
        """Return the coordinates of a view at each row."""
        return self.maps[v](self.bend(v, x))

    def moves_of_views(self, x: FloatArray) -> list[Any]:
        """Return how far the directions of ``moves`` move the coordinates of each view at x."""
        moves, of_views = self.moves
        # Views share bends. Each is computed once.
        bent = {
            bend: diags_array(bend.slopes(x), format="csr") @ moves
            for bend in set(self.bends)
            if bend is not None
        }
        return [
            moved if bend is None else matrix @ bent[bend]
            for bend, matrix, moved in zip(self.bends, self.matrices, of_views, strict=True)
        ]

    @lazy
    def moves(self) -> tuple[Any, list[Any]]:
        """Orthonormal directions, in units of the scale, that move the coordinates of any view.

        As columns of features, and as columns of the coordinates of each view.
        """
        # Coordinates of one feature each, as after scaling, are moved by that feature alone.
        unmixed = [m for m in self.matrices if issparse(m) and (np.diff(m.indptr) <= 1).all()]
        seen = np.zeros(len(self.scale), dtype=bool)
        for matrix in unmixed:
            seen[matrix.indices] = True
        if not seen.all() and len(unmixed) < len(self.matrices):
            dense = [each.toarray() if issparse(each) else each for each in self.directions]
            spanning = np.hstack(dense)
            orthogonal, triangle, _ = qr(spanning, mode="economic", pivoting=True)
            sizes = np.abs(np.diag(triangle))
            spanned = sizes > LONG_SUM * sizes.max()
            if spanned.sum() < len(self.scale):
                moves = self.scale[:, None] * orthogonal[:, spanned]
                return moves, [matrix @ moves for matrix in self.matrices]
            seen[:] = True  # every direction: the features do as well
        moves = diags_array(self.scale, format="csc")[:, np.flatnonzero(seen)]
        return moves, [matrix @ moves for matrix in self.matrices]

    @lazy
    def directions(self) -> list[Any]:
        """Per view, how far each feature moves its coordinates by one unit of the scale.

        Rows of features; sparse where the matrices are.
        """
        found = [
            (matrix @ diags_array(self.bent_scale(v), format="csr")).T
            for v, matrix in enumerate(self.matrices)
        ]
        return [each.tocsr() if issparse(each) else each for each in found]

    @lazy
    def lines(self) -> list[Through]:
        """Per view, the deviations on lines along single features."""
        pairs = zip(self.views, self.directions, strict=True)
        return [view.lines(directions) for view, directions in pairs]

    def score(self, x: FloatArray) -> FloatArray:
        """Return S at each row."""
        total = self.by_itself(x).sum(axis=1)
        for v, view in enumerate(self.views):
            total = total + view.contributions(self.locate(v, x))
        return np.asarray(total)

    # Far from normal data, equations that do not count any more may overflow.
    @np.errstate(over="ignore", invalid="ignore")
    def explain(
        self, sample: FloatArray, n_equations: int, feature_names: tuple[str, ...]
    ) -> Explanation:
        """Explain one sample."""
        counterfactual = find_counterfactual(self, sample)
        both = np.stack([sample, counterfactual])
        alone = self.by_itself(both)
        scores = alone.sum(axis=1)
        ways, equations = [], []
        for v, (view, matrix) in enumerate(zip(self.views, self.matrices, strict=True)):
            bent = self.bend(v, np.vstack([both, self.center]))
            *ends, origin = self.maps[v](bent)
            # The map may be affine on normal data only.
            for x, z in zip(bent[:2], ends, strict=True):
                refuse_unless_equal(z - origin, matrix @ (x - bent[2]), origin)
            z = np.stack(ends)
            deviations = view.deviations(z)
            scores = scores + view.contribution(deviations)
            equations += view.equations(z[:1], deviations[:1])
            ways.append((view, z, (bent[0] - bent[1]), matrix))
        total = alone[0] - alone[1]
        negligible = SAME * abs(scores[0] - scores[1])
        for view, (end, start), change, matrix in ways:
            gradient = view.mean_gradient(start, end)
            if gradient is None:
                gradient = mean_gradient(view, start, end, negligible)
            total += change * (gradient @ matrix)
        equations.sort(key=lambda weighed: -weighed[0])
        return Explanation(
            sample=sample,
            counterfactual=counterfactual,
            score=float(scores[0]),
            counterfactual_score=float(scores[1]),
            attribution=total,
            equations=tuple(equation for _, equation in equations[:n_equations]),
            feature_names=feature_names,
            spread=self.scale,
            units=self.units,
        )


# --- Integrated gradients along a segment ---------------------------------------------------------


def mean_gradient(view: View, start: FloatArray, end: FloatArray, negligible: float) -> FloatArray:
    """Return the mean of ∇s on the segment, whose product with end - start is s(end) - s(start).

    Logarithms all but have poles near the start: with t = u⁴, these are as wide as the rest. The
    minimum over clusters has kinks, and intervals close in on them. An error of ``negligible`` in
    the product does not matter, whatever the size of s.
    """
    direction = end - start
    if not direction.any():
        return direction
    line = np.zeros(1, dtype=np.intp)  # the number of the only line there is
    on_line = view.lines(direction[None, :])(start[None, :], line)

    def find_gradients(u: FloatArray) -> FloatArray:
        t = u**4
        gradients = 4 * u**3 * view.gradients(start + t * direction, on_line(line, t.T))
        return np.column_stack([gradients, gradients @ direction])

    ends = view.contribution(on_line(line, np.array([[0.0, 1.0]])))
    # What the product leaves open of single derivatives is the error that is asked for.
    errors = np.full(len(direction) + 1, np.inf)
    errors[-1] = max(SAME * np.abs(ends).max(), negligible)
    # What is not known after many intervals is rounding.
    found = cubature(
        find_gradients, [0.0], [1.0], rtol=0.0, atol=errors, max_subdivisions=round(1 / CHANCE)
    )
    return np.asarray(found.estimate[:-1])


# --- The score after changes of one feature -------------------------------------------------------


class Changes:
    """The score on all lines through a point along single features."""

    def __init__(self, landscape: Landscape, point: FloatArray) -> None:
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
        landscape = self.landscape
        others = self.by_themselves.sum() - self.by_themselves[features]
        result = others[:, None] + landscape.by_itself(values.T, features).T
        steps = []  # from the origins of the lines, in units of each view
        for v in range(len(landscape.views)):
            origins = landscape.bend(v, self.origins[features], features)
            moved = landscape.bend(v, values.T, features).T - origins[:, None]
            steps.append(moved / landscape.bent_scale(v)[features, None])
        widest = max((view.width for view in landscape.views), default=1)
        size = max(1, BLOCK // (values.shape[1] * widest))
        for lines, on_lines in self.groups:
            place = np.full(len(self.origins), -1)
            place[lines] = np.arange(len(lines))
            rows = np.flatnonzero(place[features] >= 0)
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                for view, deviations, t in zip(landscape.views, on_lines, steps, strict=True):
                    found = deviations(place[features[some]], t[some])
                    result[some] += view.contribution(found).reshape(t[some].shape)
        return np.asarray(result)

    def _deviations(self, starts: FloatArray, features: IntArray) -> list[OnLines]:
        landscape = self.landscape
        return [
            through(landscape.locate(v, starts), features)
            for v, through in enumerate(landscape.lines)
        ]


# --- Changes of single features that make up for most of what is unusual --------------------------

#: Values that are tried for a single feature, in units of its spread around its mean.
VALUES = np.linspace(-4, 4, 129)
#: A feature that leaves this part of the excess more than the best one does is to blame as well.
SLACK = 0.1
#: Features that are changed one by one, at most: a row of more wrong cells is wrong as a whole.
MOST_CHANGED = 3


def change_single_features(
    landscape: Landscape, point: FloatArray, score: float
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
    landscape: Landscape, point: FloatArray, excess: float
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
    # The two lowest local minima of each feature: a line meets a quadric in two points, and higher
    # equations seldom in more that matter.
    padded = np.pad(scores, ((0, 0), (1, 1)), constant_values=np.inf)
    is_minimum = (scores <= padded[:, :-2]) & (scores <= padded[:, 2:])
    lowest = np.argsort(np.where(is_minimum, scores, np.inf), axis=1, kind="stable")[:, :2]
    values = np.take_along_axis(tried, lowest, axis=1).ravel()
    features = np.repeat(features, lowest.shape[1])
    width = VALUES[1] - VALUES[0]
    around = VALUES[::16] / VALUES[-1]  # a few values between the last ones
    while width > ROUNDING:
        nearby = values[:, None] + width * landscape.scale[features, None] * around
        scores = changes.scores(features, nearby)
        offers.append((np.repeat(features, len(around)), nearby.ravel(), scores.ravel()))
        best = np.argmin(scores, axis=1)
        unsettled = scores.min(axis=1) > landscape.usual
        unsettled &= np.ptp(scores, axis=1) > NOTICED_SHARE * excess
        if not unsettled.any():
            break
        features, values = features[unsettled], nearby[unsettled, best[unsettled]]
        width *= around[1] - around[0]
    features, values, scores = (np.concatenate(parts) for parts in zip(*offers, strict=True))
    return features, values, scores


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


def find_counterfactual(landscape: Landscape, sample: FloatArray) -> FloatArray:
    """Return x₀ for one sample; the sample itself if its score is usual.

    Views may draw to points that are not usual for all of them together. From there the way goes on
    straight to the center. Where this is not usual either, the best point is returned.
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
    end = Way(landscape, start).end()
    ahead = np.linspace(end, landscape.center, len(VALUES))
    is_usual = landscape.score(ahead) <= landscape.usual
    return np.asarray(ahead[np.argmax(is_usual)])  # the first, which is the end where none is


class Way:
    """Points x + y, with y in units of the features' scale, in the directions that matter."""

    def __init__(self, landscape: Landscape, start: FloatArray) -> None:
        self.landscape = landscape
        self.start = start
        self.moves, _ = landscape.moves

    def point(self, y: FloatArray) -> FloatArray:
        """Return x + y."""
        return np.asarray(self.start + self.moves @ y)

    def place(self, y: FloatArray) -> "Place":
        """Return what there is at x + y."""
        landscape, point = self.landscape, self.point(y)
        score, residuals, jacobians = float(landscape.by_itself(point).sum()), [], []
        for v, moves in enumerate(landscape.moves_of_views(point)):
            view, z = landscape.views[v], landscape.locate(v, point[None, :])
            deviations = view.deviations(z)
            score += float(view.contribution(deviations)[0])
            values, jacobian = view.residuals(z, deviations)
            residuals.append(values)
            jacobians.append(jacobian @ moves)
        return Place(y, score, np.concatenate(residuals), np.vstack(jacobians))

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

    def end(self) -> FloatArray:
        """Lower λ until the score is usual, then close in on the largest λ for which it is."""
        place = best = self.place(np.zeros(self.moves.shape[1]))
        largest = place.size
        if largest == 0.0 or not np.isfinite(largest):
            return self.start
        usual, damping, above = self.landscape.usual, largest, largest
        while damping > ROUNDING * largest:
            reached = self.descend(place, damping)
            if reached.score <= usual:
                break
            if reached.score < best.score:
                best = reached
            place, above, damping = reached, damping, damping / FACTOR
        else:
            return self.point(best.y)
        below = damping
        for _ in range(DAMPING_ROUNDS):
            damping = float(np.sqrt(above * below))
            tried = self.descend(place, damping)
            if tried.score <= usual:
                reached, below = tried, damping
            else:
                place, above = tried, damping
        return self.point(reached.y)


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
