"""Functions of single columns, linear between knots: normal scores, and the evidence of values.

By Sklar's theorem a density is the product of the densities of its columns and of a copula, which
does not depend on their shapes. Normal scores are the columns in which the copula is looked at: a
unit, a logarithm or heavy tails change nothing there. What they lose, rare values and gaps between
values, the evidence of the columns says.
"""

from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import Array, FloatArray, IntArray, move_like, move_to_host
from vanishing.detectors.sample_weights import mean_and_variance
from vanishing.levels import SAME

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value

#: Values that are enough to know the shape of a column.
ENOUGH_VALUES = 1000
#: Neighbors that a density is estimated by: the usual number, of which a few may be anomalies too.
NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """A function of each column, linear between knots.

    Those of column j are ``knots[starts[j]:starts[j + 1]]``, in increasing order, with ``values``
    there. Outside of them the function goes on as ``extend`` says.
    """

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
    """Normal scores Φ⁻¹(F(z)) of columns, standardized: invertible, and the same for all shapes.

    F is the share of the training rows below, and of those with the same value half.
    """

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
    kept = np.linspace(0, n_values - 1, min(n_values, ENOUGH_VALUES))
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

    ``distances`` are in increasing order, infinite for none, and ``reached`` are the weights of the
    neighbors up to there, of which ``itself`` do not count.
    """
    enough = reached - itself[:, None] >= NEIGHBORS
    farthest = np.max(distances, axis=1, where=np.isfinite(distances), initial=0.0)
    near = np.min(distances, axis=1, where=enough, initial=np.inf)
    return np.asarray(np.minimum(near, farthest))
