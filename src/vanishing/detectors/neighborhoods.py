"""Views of how empty the place of a sample is: among the values of columns, and among the rows."""

from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    lazy,
    move_like,
    move_to_host,
    namespace,
)
from vanishing.detectors.sample_weights import ENOUGH_ROWS, mean_and_variance
from vanishing.explain.record import BrokenEquation
from vanishing.explain.view import OnLines, Through, View
from vanishing.levels import SAME

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value

# --- Functions of single columns, linear between knots --------------------------------------------
#
# By Sklar's theorem a density is the product of the densities of its columns and of a copula, which
# does not depend on their shapes. Normal scores are the columns in which the copula is looked at.
# What they lose, rare values and gaps between values, the evidence of the columns says.

#: Neighbors that a density is estimated by: the usual number, of which a few may be anomalies too.
NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """A function of each column, linear between ``knots[starts[j]:starts[j + 1]]``."""

    knots: Annotated[FloatArray, "n_knots"]
    values: Annotated[FloatArray, "n_knots"]
    starts: Annotated[IntArray, "n_ends"]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.starts) - 1

    @classmethod
    def join(cls, functions: list[tuple[FloatArray, FloatArray]]) -> Self:
        """Return the functions whose knots and values are given column by column."""
        starts = np.cumsum([0, *(len(knots) for knots, _ in functions)])
        knots, values = (np.concatenate(parts) for parts in zip(*functions, strict=True))
        return cls(knots, values, starts)

    def of_column(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Return the knots of one column, and the values there."""
        own = slice(self.starts[j], self.starts[j + 1])
        return self.knots[own], self.values[own]

    def __call__(self, z: Array, columns: IntArray | EllipsisType = ...) -> Array:
        """Return the functions of ``columns``, which are along the last axis of z."""
        x = np.asarray(move_to_host(z), dtype=np.float64)
        found = np.empty_like(x)
        for place, j in enumerate(np.arange(self.n_columns)[columns]):
            knots, values = self.of_column(j)
            at = x[..., place]
            found[..., place] = np.interp(at, knots, values)
            beyond = (at < knots[0]) | (at > knots[-1])
            if beyond.any():
                found[..., place][beyond] = self.extend(j, at[beyond])[0]
        return found if isinstance(z, np.ndarray) else move_like(found, z)

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the derivatives at each row, those on the right at a knot."""
        found = np.empty_like(z)
        for j in range(self.n_columns):
            knots, values = self.of_column(j)
            after = np.clip(np.searchsorted(knots, z[:, j], side="right"), 1, len(knots) - 1)
            found[:, j] = (values[after] - values[after - 1]) / (knots[after] - knots[after - 1])
            beyond = (z[:, j] < knots[0]) | (z[:, j] > knots[-1])
            if beyond.any():
                found[beyond, j] = self.extend(j, z[beyond, j])[1]
        return found

    def extend(self, j: int, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return value and slope of one function outside of its knots: their mean slope."""
        knots, values = self.of_column(j)
        steep = (values[-1] - values[0]) / (knots[-1] - knots[0])
        above = x > knots[-1]
        start, level = np.where(above, knots[-1], knots[0]), np.where(above, values[-1], values[0])
        return level + steep * (x - start), np.full_like(x, steep)

    def nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add the functions of all columns, side by side."""
        return graph.concat([self._column_nodes(graph, z, j) for j in range(self.n_columns)], 1)

    def _column_nodes(self, graph: "Graph", z: "Value", j: int) -> "Value":
        knots, values = self.of_column(j)
        graph.hold(len(knots))
        x = z.take([j], axis=1)
        steep = np.diff(values) / np.diff(knots)
        # How many inner knots are not above x is the number of the line that it is on.
        passed = graph.cast(graph.op("LessOrEqual", knots[None, 1:-1], x), graph.arithmetic)
        place = graph.cast(passed.reduce("Sum", axis=1, keepdims=True), np.int64)
        offsets = values[:-1] - steep * knots[:-1]
        line, offset = (graph.op("Gather", each, place, axis=0) for each in (steep, offsets))
        inside = line * x + offset
        outside = self.extend_nodes(j, x)
        inside = graph.where(x < knots[0], outside, inside)
        return graph.where(graph.op("Greater", x, knots[-1]), outside, inside)

    def extend_nodes(self, j: int, x: "Value") -> "Value":
        """Add one function outside of its knots."""
        knots, values = self.of_column(j)
        steep = float((values[-1] - values[0]) / (knots[-1] - knots[0]))
        graph = x.graph
        above = graph.op("Greater", x, knots[-1])
        start = graph.where(above, knots[-1], knots[0])
        return graph.where(above, values[-1], values[0]) + (x - start) * steep


class NormalScores(ColumnFunctions):
    """Normal scores Φ⁻¹(F(z)) of columns, standardized; F counts rows of the same value half."""

    @classmethod
    def fit(cls, z: FloatArray, sample_weight: FloatArray | None, rounding: FloatArray) -> Self:
        """Fit to the columns of rows, with rounding errors so large."""
        pairs = zip(z.T, rounding, strict=True)
        return cls.join([_fit_scores(column, sample_weight, error) for column, error in pairs])


def _fit_scores(
    z: FloatArray, sample_weight: FloatArray | None, rounding: float
) -> tuple[FloatArray, FloatArray]:
    values, weights = _merge_equal(z, sample_weight)
    # Values that differ by rounding are ties: a step between them would blow it up to a rank.
    first = np.flatnonzero(np.append(True, np.diff(values) > 2 * rounding))
    if len(first) > 1:
        values, weights = values[first], np.add.reduceat(weights, first)
    if len(values) == 1:
        return _extend_to_both_sides(values[0], 1.0), np.zeros(3)
    total = weights.sum()
    scores = ndtri((np.cumsum(weights) - weights / 2) / total)
    mean, variance = mean_and_variance(scores, weights)
    scores = (scores - mean) / np.sqrt(variance)
    kept = _thin_out(len(values))
    return values[kept], scores[kept]


def _extend_to_both_sides(value: float, width: float) -> FloatArray:
    """Return knots around the only value of a column."""
    return np.array([value - width, value, value + width])


class ColumnEvidence(ColumnFunctions):
    """Evidence -log p of single values: p is the share of training rows in places as empty.

    How empty a place is, is measured by the distance to the fifth value there, in training rows
    without the row itself, so that a value between others or a rare code counts as one beyond them.
    """

    @classmethod
    def fit(cls, z: FloatArray, sample_weight: FloatArray | None, resolution: float) -> Self:
        """Fit to the columns of rows; distances below the resolution are not told apart."""
        return cls.join([_fit_evidence(column, sample_weight, resolution) for column in z.T])

    def extend(self, j: int, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what a Pareto tail says: the logarithm of the distance, in units of the range."""
        knots, values = self.of_column(j)
        above = x > knots[-1]
        beyond, width = np.where(above, x - knots[-1], knots[0] - x), knots[-1] - knots[0]
        level = np.where(above, values[-1], values[0])
        return level + np.log1p(beyond / width), np.where(above, 1.0, -1.0) / (width + beyond)

    def extend_nodes(self, j: int, x: "Value") -> "Value":
        """Add one function outside of its knots."""
        knots, values = self.of_column(j)
        width = float(knots[-1] - knots[0])
        graph = x.graph
        above = graph.op("Greater", x, knots[-1])
        beyond = graph.op("Max", graph.where(above, x - knots[-1], -x + knots[0]), 0.0)
        level = graph.where(above, values[-1], values[0])
        return level + (beyond / width + 1.0).apply("Log")


def _fit_evidence(
    z: FloatArray, sample_weight: FloatArray | None, resolution: float
) -> tuple[FloatArray, FloatArray]:
    values, weights = _merge_equal(z, sample_weight)
    kept = _thin_out(len(values))
    values, weights = values[kept], weights[kept]
    most = np.log(weights.sum() + 1)
    if len(values) == 1:
        return _extend_to_both_sides(values[0], resolution), np.array([most, 0.0, most])
    own = _measure_emptiness(values, weights, values, resolution, itself=1.0)
    order = np.argsort(own, kind="stable")
    # At each training value, the weight of those in places that are as empty or more.
    emptier = np.cumsum(weights[order][::-1])[::-1]
    levels, first = np.unique(own[order], return_index=True)
    evidence = -np.log((emptier[first] + 1) / (weights.sum() + 1))
    between = (values[1:] + values[:-1]) / 2
    # Outside, from the narrowest gap to as far as the values reach.
    gap, width = np.diff(values).min(), values[-1] - values[0]
    outside = np.minimum(gap * 2.0 ** np.arange(1 + np.ceil(np.log2(width / gap))), width)
    knots = np.concatenate([values, between, values[0] - outside, values[-1] + outside])
    places = _measure_emptiness(values, weights, knots[len(values) :], resolution, itself=0.0)
    beyond = np.append(levels, levels[-1] + np.log(2.0)), np.append(evidence, most)
    found = np.interp(np.append(own, places), *beyond)
    order = np.argsort(knots, kind="stable")
    knots, found = knots[order], found[order]
    distinct = np.append(True, np.diff(knots) > 0)
    return knots[distinct], found[distinct]


def _measure_emptiness(
    values: FloatArray, weights: FloatArray, x: FloatArray, resolution: float, *, itself: float
) -> FloatArray:
    """Return the logarithm of the distance to the neighbors.

    Half of the digits: gaps of a grid are the same, and their rounding errors, which are others in
    other units, must not rank them.
    """
    distances = _distance_to_neighbors(values, weights, x, itself=itself)
    return np.asarray(SAME * np.round(np.log(distances + resolution) / SAME))


def _merge_equal(z: FloatArray, sample_weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values in increasing order, with their weights."""
    values, inverse = np.unique(z, return_inverse=True)
    return values, np.bincount(inverse, weights=sample_weight).astype(np.float64)


def _thin_out(n_values: int) -> IntArray:
    """Return which of the values in increasing order are kept: quantiles, of many of them."""
    kept = np.linspace(0, n_values - 1, min(n_values, ENOUGH_ROWS))
    return np.asarray(np.round(kept), dtype=np.intp)


def _distance_to_neighbors(
    values: FloatArray, weights: FloatArray, x: FloatArray, *, itself: float
) -> FloatArray:
    """Return how far from x so many values are; ``itself`` is the weight of x among them."""
    reach = np.arange(-NEIGHBORS - 1, NEIGHBORS + 1)
    place = np.searchsorted(values, x)[:, None] + reach
    inside = (place >= 0) & (place < len(values))
    place = np.clip(place, 0, len(values) - 1)
    distances = np.where(inside, np.abs(values[place] - x[:, None]), np.inf)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    reached = np.cumsum(np.where(inside, weights[place], 0.0)[np.arange(len(x))[:, None], order], 1)
    return take_neighbor(distances, reached, np.full(len(x), itself))


def take_neighbor(distances: FloatArray, reached: FloatArray, itself: FloatArray) -> FloatArray:
    """Return the distance within which there are so many neighbors, or that of the farthest.

    Distances increase; ``reached`` are the weights up to there, of which ``itself`` do not
    count.
    """
    enough = reached - itself[:, None] >= NEIGHBORS
    farthest = np.max(distances, axis=1, where=np.isfinite(distances), initial=0.0)
    near = np.min(distances, axis=1, where=enough, initial=np.inf)
    return np.asarray(np.minimum(near, farthest))


# --- Views without polynomials --------------------------------------------------------------------

#: Points of a segment on which gradients of views without polynomials are averaged.
STEPS = 64


@dataclass(frozen=True, eq=False)
class PointwiseView(View):
    """A view without polynomials, whose D is known point by point."""

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return D of the only image."""
        return np.asarray(self.measure(z))

    def lines(self, directions: Any) -> Through:
        """Return D(z + t v), at each point by itself."""

        def through(points: FloatArray, which: IntArray) -> OnLines:
            starts = np.broadcast_to(points, (len(which), points.shape[1]))

            def on_lines(chosen: IntArray, t: FloatArray) -> FloatArray:
                steps = directions[which[chosen]]
                steps = steps.toarray() if issparse(steps) else np.asarray(steps)
                met = starts[chosen][:, None, :] + t[:, :, None] * steps[:, None, :]
                return self.deviations(met.reshape(-1, met.shape[2]))

            return on_lines

        return through

    def mean_gradient(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Return the mean of the gradient on a segment, by the midpoints of equal parts.

        Kinks are everywhere. What they add to the increment is attributed to the direction.
        """
        direction = end - start
        at = (np.arange(STEPS)[:, None] + 0.5) / STEPS
        mean = self.gradients(start + at * direction).mean(axis=0)
        first, last = self.contributions(np.stack([start, end]))
        size = direction @ direction
        missing = (last - first) - mean @ direction
        return np.asarray(mean + (missing / size if size > 0 else 0.0) * direction)

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return none: there are no equations."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnView(PointwiseView):
    """Evidence of single values, s = Σ_j -log p_j(z_j)."""

    evidence: ColumnEvidence

    @property
    def width(self) -> int:
        """Numbers of a sample: the evidence of each column."""
        return self.evidence.n_columns

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return the sum."""
        return namespace(deviations).sum(deviations, axis=1)

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return ones."""
        return np.ones_like(deviations)

    def measure(self, z: Array) -> Array:
        """Return the evidence of each column, shape of z."""
        return self.evidence(z)

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z at each row."""
        found = self.measure(z) if deviations is None else deviations
        return self.factor(self.value(found))[:, None] * self.evidence.slopes(z)

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the roots of the evidence of each column, whose squares add up to s."""
        roots = np.sqrt(np.asarray(self.measure(z))[0])
        slopes = self.evidence.slopes(z)[0]
        halves = np.divide(slopes, 2 * roots, out=np.zeros_like(roots), where=roots > 0)
        return roots, np.diag(halves)

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add the evidence of each column."""
        return self.evidence.nodes(graph, z)

    def nodes(self, deviations: "Value") -> "Value":
        """Add the sum."""
        return deviations.reduce("Sum", axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighborView(PointwiseView):
    """Logarithm of the distance to the fifth of the nearest training rows, s = log(D + d²) / 2.

    D is its square. Rows are kept once, with their weights. A row that is a training row itself is
    judged by the others, so that rows which were fitted to are scored as new ones are. d is the
    distance below which rows are not told apart: a row that differs by rounding is the same row.
    """

    rows: Annotated[FloatArray, "n_rows n_features"]
    row_weights: Annotated[FloatArray, "n_rows"]
    resolution: float

    @property
    def width(self) -> int:
        """Numbers of a sample: its differences from the neighbors."""
        return (NEIGHBORS + 1) * int(self.rows.shape[1])

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return s."""
        return namespace(deviations).log(deviations[:, 0] + self.resolution**2) / 2

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return the derivative of s."""
        return 0.5 / (deviations + self.resolution**2)

    def measure(self, z: Array) -> Array:
        """Return D, shape (n_points, 1)."""
        squares, _ = self._neighbors(np.asarray(move_to_host(z), dtype=np.float64))
        found = squares[:, None]
        return found if isinstance(z, np.ndarray) else move_like(found, z)

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z at each row."""
        squares, fifth = self._neighbors(z)
        near = squares[:, None]
        outer = self.factor(self.value(near))[:, None] * self.slopes(near)
        return np.asarray(2 * outer * (z - self.rows[fifth]))

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the differences from the fifth neighbor, in units of the usual distance."""
        _, fifth = self._neighbors(z)
        unit = np.exp(-self.shift)
        return unit * (z - self.rows[fifth])[0], unit * np.eye(z.shape[1])

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add D, of shape (n_samples,)."""
        n_rows, n_columns = self.rows.shape
        graph.hold(max(n_rows, self.width))
        k = min(NEIGHBORS + 1, n_rows)
        # One row more: onnxruntime 1.20 to 1.23 divide by the number of rows, which may be 0.
        z = graph.concat([z, graph.op("Identity", np.zeros((1, n_columns)))], 0)
        near = z @ (-2 * self.rows.T) + np.sum(self.rows**2, axis=1)
        ranked = graph.new_name("nearest"), graph.new_name("places")
        inputs = [near.name, graph.constant(np.array([k])).name]
        node = graph.helper.make_node("TopK", inputs, list(ranked), axis=1, largest=0)
        graph.nodes.append(node)
        places = type(z)(graph, ranked[1])
        apart = graph.op("Gather", self.rows, places, axis=0) - z.reshape(-1, 1, n_columns)
        squares = apart.reduce("SumSquare", axis=2)
        weights = graph.op("Gather", self.row_weights, places, axis=0)
        same = max(self.resolution, graph.rounding) ** 2
        itself = graph.where(squares <= same, 1.0, 0.0)
        itself = itself.reduce("Max", axis=1, keepdims=True)
        reached = graph.op("CumSum", weights, np.array(1)) - itself
        farthest = squares.reduce("Max", axis=1, keepdims=True)
        enough = graph.op("GreaterOrEqual", reached, float(NEIGHBORS))
        found = graph.where(enough, squares, farthest).reduce("Min", axis=1)
        return graph.op("Slice", found, np.array([0]), np.array([-1]), np.array([0]))

    def nodes(self, deviations: "Value") -> "Value":
        """Add s."""
        return (deviations + self.resolution**2).apply("Log") * 0.5

    @lazy
    def _tree(self) -> Any:
        # By products of matrices, which take the same time for all rows.
        k = min(NEIGHBORS + 1, len(self.rows))
        return NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.rows)

    def _neighbors(self, z: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return D, and which training row is that far."""
        if not len(z):
            return np.zeros(0), np.zeros(0, dtype=np.intp)
        # Beyond this squares overflow.
        largest = np.finfo(np.float64).max ** 0.25
        z = np.clip(np.nan_to_num(z, nan=largest), -largest, largest)
        distances, places = self._tree.kneighbors(z)
        squares = distances**2
        # Products of matrices have lost the digits of small distances, all the more far away.
        lost = SAME * np.sqrt(np.sum(z**2, axis=1))
        close = np.flatnonzero(distances[:, 0] <= self.resolution + lost)
        if close.size:
            exact = np.sum((self.rows[places[close]] - z[close, None, :]) ** 2, axis=2)
            order = np.argsort(exact, axis=1, kind="stable")
            squares[close] = np.take_along_axis(exact, order, axis=1)
            places[close] = np.take_along_axis(places[close], order, axis=1)
        reached = np.cumsum(self.row_weights[places], axis=1)
        itself = np.where(squares[:, 0] <= self.resolution**2, 1.0, 0.0)
        found = take_neighbor(squares, reached, itself)
        fifth = places[np.arange(len(z)), np.argmax(squares >= found[:, None], axis=1)]
        return found, fifth


def keep_rows(
    z: FloatArray, sample_weight: FloatArray | None, n_rows: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return distinct rows with their weights; of more than ``n_rows``, so many are drawn."""
    weights = np.ones(len(z)) if sample_weight is None else sample_weight
    if len(z) > n_rows:
        drawn = np.sort(np.random.default_rng(seed).choice(len(z), n_rows, replace=False))
        z, weights = z[drawn], weights[drawn]
    rows, inverse = np.unique(z, axis=0, return_inverse=True)
    return rows, np.bincount(inverse.ravel(), weights=weights).astype(np.float64)
