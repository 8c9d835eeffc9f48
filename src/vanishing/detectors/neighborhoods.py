"""Views of how empty the place of a sample is: among the values of columns, and among the rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri

from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_like,
    move_to_host,
    namespace,
)
from vanishing.detectors.sample_weights import (
    CONCENTRATION_STEPS,
    ENOUGH_ROWS,
    EXACT_SHARE,
    mean_and_variance,
    root_of,
)
from vanishing.explain.record import BrokenEquation
from vanishing.explain.view import OnLines, Through, View
from vanishing.levels import BLOCK, FOLDS, SAME

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
    """Return how far from x ``NEIGHBORS`` values are, or the farthest; x weighs ``itself``."""
    reach = np.arange(-NEIGHBORS - 1, NEIGHBORS + 1)
    place = np.searchsorted(values, x)[:, None] + reach
    inside = (place >= 0) & (place < len(values))
    place = np.clip(place, 0, len(values) - 1)
    distances = np.where(inside, np.abs(values[place] - x[:, None]), np.inf)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    reached = np.cumsum(np.where(inside, weights[place], 0.0)[np.arange(len(x))[:, None], order], 1)
    enough = reached - itself >= NEIGHBORS
    farthest = np.max(distances, axis=1, where=np.isfinite(distances), initial=0.0)
    near = np.min(distances, axis=1, where=enough, initial=np.inf)
    return np.asarray(np.minimum(near, farthest))


# --- Views without polynomials --------------------------------------------------------------------

#: Points of a segment on which gradients of views without polynomials are averaged.
STEPS = 64


@dataclass(frozen=True, eq=False)
class PointwiseView(View):
    """A view without polynomials, whose s is the sum of D, known point by point."""

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return s."""
        return namespace(deviations).sum(deviations, axis=1)

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return ones."""
        return np.ones_like(deviations)

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
class KernelView(PointwiseView):
    """Minus the log density around the training rows, s = -log Σ_i w_i e^{-‖z - r_i‖² / 2}.

    Coordinates are those in which the kernel is round (``fit_bandwidth``). Rows r_i are kept once,
    with their weights w_i. A row that is a training row itself is judged by the others, so that
    rows which were fitted to are scored as new ones are.
    """

    rows: Annotated[FloatArray, "n_rows n_features"]
    row_weights: Annotated[FloatArray, "n_rows"]

    @property
    def width(self) -> int:
        """Numbers of a sample: its distances from all rows."""
        return len(self.rows)

    def measure(self, z: Array) -> Array:
        """Return s, shape (n_points, 1)."""
        blocks = [s for s, _ in self._blocks(np.asarray(move_to_host(z), dtype=np.float64))]
        found = np.concatenate(blocks)[:, None]
        return found if isinstance(z, np.ndarray) else move_like(found, z)

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z at each row."""
        blocks = [(s, shares @ self.rows) for s, shares in self._blocks(z)]
        s, means = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return np.asarray(self.factor(s)[:, None] * (z - means))

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the differences from the mean of the rows nearby, where density is largest."""
        ((_, shares),) = self._blocks(z)
        mean = shares @ self.rows
        covariance = (shares.T * self.rows).T @ self.rows - mean.T @ mean
        return (z - mean)[0], np.eye(z.shape[1]) - covariance

    def _blocks(self, z: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield s, and the share of each row in the density, of some samples at a time."""
        # Beyond this squares overflow.
        largest = np.finfo(np.float64).max ** 0.25
        z = np.clip(np.nan_to_num(z, nan=largest), -largest, largest)
        at_a_time = max(1, BLOCK // len(self.rows))
        for start in range(0, max(1, len(z)), at_a_time):
            logs = log_kernels(self.rows, self.row_weights, z[start : start + at_a_time])
            yield _add_up(logs)

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add s, of shape (n_samples,)."""
        n_rows = len(self.rows)
        graph.hold(n_rows)
        halves = np.sum(self.rows**2, axis=1) / 2
        near = z @ self.rows.T - halves
        nearest = graph.op("ArgMax", near, axis=1, keepdims=1)
        apart = z - graph.op("Gather", self.rows, graph.op("Squeeze", nearest, np.array([1])))
        same = max(EXACT_SHARE, graph.rounding) ** 2
        itself = apart.reduce("SumSquare", axis=1, keepdims=True) <= same
        itself = graph.op("And", itself, graph.op("Equal", nearest, np.arange(n_rows)))
        others = _log(self.row_weights - 1)
        logs = near + graph.where(itself, others, np.log(self.row_weights))
        largest = logs.reduce("Max", axis=1, keepdims=True)
        sums = (logs - largest).apply("Exp").reduce("Sum", axis=1)
        size = z.reduce("SumSquare", axis=1) * 0.5
        score: Value = size - largest.reshape(-1) - sums.apply("Log")
        return score

    def nodes(self, deviations: "Value") -> "Value":
        """Return s."""
        return deviations


def log_kernels(rows: FloatArray, row_weights: FloatArray, z: FloatArray) -> FloatArray:
    """Return log w_i - ‖z - r_i‖² / 2 of each sample and row, without the sample itself."""
    logs = z @ rows.T
    logs -= np.sum(rows**2, axis=1) / 2
    nearest = np.argmax(logs, axis=1)
    logs += np.log(row_weights)
    logs -= np.sum(z**2, axis=1, keepdims=True) / 2
    # A thousandth of the bandwidth is too little to tell rows apart.
    same = np.sum((z - rows[nearest]) ** 2, axis=1) <= EXACT_SHARE**2
    logs[same, nearest[same]] = _log(row_weights[nearest[same]] - 1)
    return logs


def _log(weights: FloatArray) -> FloatArray:
    """Return logarithms of weights; no weight is as good as the smallest number."""
    return np.log(np.maximum(weights, np.finfo(np.float64).tiny))


def _add_up(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return -log Σ e^l of each row, and the share of each term. Overwrites the logarithms."""
    largest = logs.max(axis=1, keepdims=True)
    logs -= largest
    terms = np.exp(logs, out=logs)
    sums = terms.sum(axis=1, keepdims=True)
    terms /= sums
    return -(np.log(sums) + largest)[:, 0], terms


def fit_bandwidth(rows: FloatArray, row_weights: FloatArray, seed: int) -> FloatArray:
    """Return the matrix that makes the kernel of the best density round, z ↦ A z.

    Its covariance maximizes the likelihood of rows that are left out, by expectation maximization
    (Leiva-Murillo and Artés-Rodríguez, 2012): each step takes the covariance of their differences
    from the other rows, weighted by their shares. It is shrunk as that of clusters is.
    """
    n_rows, n_columns = rows.shape
    total = row_weights.sum()
    # A fifth of the rows, judged by all others.
    judged = np.arange(n_rows)
    if n_rows > ENOUGH_ROWS // FOLDS:
        judged = np.random.default_rng(seed).choice(n_rows, ENOUGH_ROWS // FOLDS, replace=False)
    weights = (row_weights[judged] / row_weights[judged].sum())[:, None]
    covariance = np.eye(n_columns) * total ** (-2 / (n_columns + 4))  # Scott's rule
    for _ in range(CONCENTRATION_STEPS):
        factor = root_of(covariance, -0.5)
        z = rows @ factor
        _, shares = _add_up(log_kernels(z, row_weights, z[judged]))
        shares *= weights
        cross = rows[judged].T @ (shares @ rows)
        covariance = (rows[judged] * weights).T @ rows[judged] - cross - cross.T
        covariance += (rows * shares.sum(axis=0)[:, None]).T @ rows
        mean = max(np.trace(covariance) / n_columns, EXACT_SHARE**2)
        covariance = (total * covariance + n_columns * mean * np.eye(n_columns)) / (
            total + n_columns
        )
    return root_of(covariance, -0.5)


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
