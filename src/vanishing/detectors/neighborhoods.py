"""Views of how empty the place of a sample is: among the values of columns, and among the rows."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from scipy.sparse import issparse
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
from vanishing.detectors.columns import NEIGHBORS, ColumnEvidence, take_neighbor
from vanishing.explain.record import BrokenEquation
from vanishing.explain.view import OnLines, Through, View
from vanishing.levels import SAME

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value

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


@dataclass(frozen=True, eq=False)
class ColumnView(PointwiseView):
    """Evidence of single values, s = Σ_j -log p_j(z_j)."""

    evidence: ColumnEvidence | None = None

    @property
    def width(self) -> int:
        """Numbers of a sample: the evidence of each column."""
        return self._evidence.n_columns

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return the sum."""
        return namespace(deviations).sum(deviations, axis=1)

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return ones."""
        return np.ones_like(deviations)

    def measure(self, z: Array) -> Array:
        """Return the evidence of each column, shape of z."""
        return self._evidence(z)

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z at each row."""
        found = self.measure(z) if deviations is None else deviations
        return self.factor(self.value(found))[:, None] * self._evidence.slopes(z)

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the roots of the evidence of each column, whose squares add up to s."""
        roots = np.sqrt(np.asarray(self.measure(z))[0])
        slopes = self._evidence.slopes(z)[0]
        halves = np.divide(slopes, 2 * roots, out=np.zeros_like(roots), where=roots > 0)
        return roots, np.diag(halves)

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add the evidence of each column."""
        return self._evidence.nodes(graph, z)

    def nodes(self, deviations: "Value") -> "Value":
        """Add the sum."""
        return deviations.reduce("Sum", axis=1)

    @property
    def _evidence(self) -> ColumnEvidence:
        assert self.evidence is not None
        return self.evidence


@dataclass(frozen=True, eq=False)
class NeighborView(PointwiseView):
    """Logarithm of the distance to the fifth of the nearest training rows, s = log(D + d²) / 2.

    D is its square. Rows are kept once, with their weights. A row that is a training row itself is
    judged by the others, so that rows which were fitted to are scored as new ones are. d is the
    distance below which rows are not told apart: a row that differs by rounding is the same row.
    """

    rows: Annotated[FloatArray, "n_rows n_features"] = field(
        default_factory=lambda: np.zeros((0, 0))
    )
    row_weights: Annotated[FloatArray, "n_rows"] = field(default_factory=lambda: np.zeros(0))
    resolution: float = 1.0

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
