"""The fitted score of a detector: the object that scoring, explanations, ONNX and files read.

A score is a sum of views (``explain/view.py``). Each view looks at images of the sample: the
coordinates after scaling, a transformation and preprocessing. To add a kind of score, write a
subclass of ``View`` or ``NearestView`` here and list it in ``VIEWS``, so that model files know it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from math import log
from operator import add
from types import EllipsisType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.blocks import block_rows, map_in_threads, one_thread, threads_for
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    is_array,
    is_on_cpu,
    lazy,
    machine_epsilon,
    make_columns_contiguous,
    move_like,
    namespace,
    require_dense,
)
from vanishing.construction.linear import make_linear
from vanishing.data.inputs import prepare_for_sklearn
from vanishing.detectors.neighborhoods import ColumnView, KernelView, NormalScores
from vanishing.detectors.preprocessing import split_gradients
from vanishing.detectors.sample_weights import EXACT_SHARE
from vanishing.explain.attribution import Bend, Landscape
from vanishing.explain.record import BrokenEquation
from vanishing.explain.view import Component, Deviations, NearestView, OnLines, Through, View
from vanishing.ideal import VanishingIdeal
from vanishing.levels import LONG_SUM, OUTLYING, SAME_NUMBER
from vanishing.polynomials.evaluation import Complement
from vanishing.saving import Preprocessor
from vanishing.transformations import Affine, Composition, Gather, Transformation

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value

# --- Images of a sample: the coordinates that equations are in ------------------------------------


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Maps from features to the coordinates of each image.

    Samples are scaled, ``columns`` of them are taken, each of ``maps`` makes an image, and all
    images are preprocessed. Images that are ``ranked`` are made of normal scores of the columns.
    """

    scaler: StandardScaler | None = None
    columns: Annotated[IntArray | None, "n_columns"] = None
    maps: Annotated[tuple[Any, ...], tuple[Transformation | PCA | None, ...]] = (None,)
    preprocessor: Annotated[Any, PCA | StandardScaler | Preprocessor | Pipeline | None] = None
    normal_scores: NormalScores | None = None
    ranked: tuple[int, ...] = ()

    def scale(self, X: Array) -> Array:
        """Return the scaled columns in double precision: scores do not depend on the batch."""
        xp = namespace(X)
        X = xp.astype(X, xp.float64, copy=False)
        if self.scaler is not None:
            X = (X - move_like(self.scaler.mean_, X)) / move_like(self.scaler.scale_, X)
        if self.columns is not None:
            X = xp.take(X, move_like(self.columns, X), axis=1)
        return X

    def transform(self, i: int, scaled: Array) -> Array:
        """Return image i of rows that ``scale`` returned, before preprocessing."""
        applied = self.maps[i]
        if applied is None:
            return scaled
        return applied(scaled) if isinstance(applied, Transformation) else apply(applied, scaled)

    def preprocess(self, image: Array) -> Array:
        """Return the coordinates of an image."""
        if self.preprocessor is not None:
            image = apply(self.preprocessor, image)
        elif not any(isinstance(each, Transformation) for each in self.maps):
            return image
        # One feature after the other: evaluation works through the columns.
        return make_columns_contiguous(image)

    def image(self, i: int, X: Array) -> Array:
        """Return the coordinates of image i of samples."""
        scaled = self.scale(X)
        if i in self.ranked:
            scaled = self._ranks(scaled)
        return self.preprocess(self.transform(i, scaled))

    def images(self, which: Sequence[int], X: FloatArray) -> FloatArray:
        """Return the coordinates of several images side by side; ranked ones of bent features."""
        if self._projection is not None and len(which) == len(self.maps):
            return np.hstack(list(self.each(X)))
        scaled = X[:, self.columns] if which[0] in self.ranked else self.scale(X)
        return np.hstack([self.preprocess(self.transform(i, scaled)) for i in which])

    @lazy
    def bend(self) -> Bend:
        """Replaces features by normal scores; the rest of the way to ranked images is affine."""
        assert self.scaler is not None
        assert self.columns is not None
        means, scales, columns = self.scaler.mean_, self.scaler.scale_, self.columns
        places = np.full(len(scales), -1)  # of each feature among the columns
        places[columns] = np.arange(len(columns))

        def bend(X: FloatArray, /, features: IntArray | EllipsisType = ...) -> FloatArray:
            which = np.arange(len(places))[features]
            bent, ranked = X.copy(), np.flatnonzero(places[which] >= 0)
            some = which[ranked]
            scaled = (X[..., ranked] - means[some]) / scales[some]
            bent[..., ranked] = self._ranks(scaled, places[some])
            return bent

        def find_slopes(x: FloatArray) -> FloatArray:
            slopes = np.ones_like(x)
            slopes[columns] = self._ranks.slopes(self.scale(x[None, :]))[0] / scales[columns]
            return slopes

        return Bend(bend, find_slopes)

    @property
    def _ranks(self) -> NormalScores:
        assert self.normal_scores is not None
        return self.normal_scores

    def each(self, X: Array) -> Iterator[Array]:
        """Yield the coordinates of all images, one after the other."""
        scaled = self.scale(X)
        if self._projection is None:
            ranks = self._ranks(scaled) if self.ranked else scaled
            for i in range(len(self.maps)):
                yield self.preprocess(self.transform(i, ranks if i in self.ranked else scaled))
            return
        # One product for all images, and no image in full.
        center, matrix, offsets = (move_like(part, scaled) for part in self._projection)
        projected = matrix @ (scaled - center).T + offsets[:, None]
        width = projected.shape[0] // len(self.maps)
        for start in range(0, projected.shape[0], width):
            yield projected[start : start + width, :].T

    @lazy
    def _projection(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Matrix, center and offsets of all images: moved pixels and their principal components."""
        gathers = [each for each in self.maps if isinstance(each, Gather)]
        if type(self.preprocessor) is not PCA or len(gathers) < len(self.maps):
            return None
        if not isinstance(self.preprocessor.components_, np.ndarray):  # fitted in another library
            return None
        components = self.preprocessor.components_.astype(np.float64)
        center = self.preprocessor.mean_.astype(np.float64)
        if self.preprocessor.whiten:
            components = components / np.sqrt(self.preprocessor.explained_variance_)[:, None]
        matrices, offsets = [], []
        for gather in gathers:
            moved = np.zeros((len(center), len(components)))
            np.add.at(moved, gather.columns, components.T)
            matrices.append(moved.T)
            offsets.append(components @ (center[gather.columns] - center))
        return center, np.concatenate(matrices), np.concatenate(offsets)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def nodes(self, graph: "Graph", x: "Value", which: Sequence[int]) -> "Value":
        """Add the coordinates of several images to a graph, one image below the other."""
        from vanishing.equations.onnx import map_samples  # a fit needs none of it

        if self.scaler is not None:
            x = map_samples(self.scaler, graph, x)
        if self.columns is not None:
            x = x.take(self.columns, axis=1)
        if which[0] in self.ranked:
            x = self._ranks.nodes(graph, x)
        z = graph.concat([_map_nodes(self.maps[i], graph, x) for i in which], axis=0)
        return z if self.preprocessor is None else map_samples(self.preprocessor, graph, z)


def apply(transformer: Any, X: Array) -> Array:
    """Apply a transformer of scikit-learn to an array of any library."""
    gradients, last = split_gradients(transformer)
    if gradients is not None:  # which know every library
        return apply(last, gradients.measure(X))
    found = transformer.transform(prepare_for_sklearn(X))
    if not is_array(found):  # a frame, where scikit-learn is told to make them
        found = np.asarray(require_dense(found, "the output of the preprocessor"))
    return move_like(found, X) if isinstance(found, np.ndarray) else found


def _map_nodes(applied: Any, graph: "Graph", x: "Value") -> "Value":
    from vanishing.equations.onnx import map_samples

    match applied:
        case None:
            return x
        case Gather():
            return x.take(applied.columns, axis=1)
        case Affine():
            return x @ applied.matrix.T + applied.offset
        case Composition():
            return reduce(lambda image, part: _map_nodes(part, graph, image), applied.parts, x)
        case Transformation():
            raise TypeError(
                f"the transformation {applied.name!r} is a {type(applied).__name__}, which cannot "
                "be exported to ONNX; use Rotations, Translations, Flips, RandomAffine, Identity, "
                "or a Product or AnyOf of them"
            )
    return map_samples(applied, graph, x)


# --- Kinds of views -------------------------------------------------------------------------------

#: Deviations up to which exact equations hold: residuals are ten times as large as usual there.
ALLOWED = (2 * OUTLYING) ** 2
#: Powers of e below this are less than every float64.
UNDERFLOW = log(np.finfo(np.float64).smallest_subnormal)


class NormView(NearestView):
    """Norm of the polynomials of one ideal, s = ‖G(z)‖."""

    def of_nearest(self, deviation: Array) -> Array:
        """Return √D."""
        return namespace(deviation).sqrt(deviation)

    def slope_of_nearest(self, deviation: FloatArray) -> FloatArray:
        """Return the derivative of √D; 0 where D is 0."""
        roots = 2 * np.sqrt(deviation)
        return np.asarray(np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0))

    def importance(self, component: Component, values: FloatArray) -> FloatArray:
        """Return what each equation adds to D."""
        return np.asarray(component.weights * (values - component.center) ** 2)

    def nodes(self, deviations: "Value") -> "Value":
        """Add √D."""
        return deviations.take(0, axis=0).apply("Sqrt")


class ClusterView(NearestView):
    """Logarithm of the deviation from the nearest cluster, s = log min_j D_j.

    D is the mean square of the polynomials of a cluster, in units of what is typical there. What is
    rounding in such sums is added to it before the logarithm.
    """

    def of_nearest(self, deviation: Array) -> Array:
        """Return log D."""
        return namespace(deviation).log(deviation + LONG_SUM)

    def slope_of_nearest(self, deviation: FloatArray) -> FloatArray:
        """Return the derivative of log D."""
        return 1 / (deviation + LONG_SUM)

    def nodes(self, deviations: "Value") -> "Value":
        """Add the logarithm of the smallest D."""
        graph = deviations.graph
        deviations = graph.where(deviations.apply("IsNaN"), np.inf, deviations)
        return (deviations.reduce("Min", axis=0) + LONG_SUM).apply("Log")


class ExactView(NearestView):
    """Equations that hold exactly, up to noise far below the spread: s = log(1 + D / allowed).

    Close to zero as long as they hold. A row that breaks one by far more than noise is anomalous,
    whatever the other views say of it.
    """

    def of_nearest(self, deviation: Array) -> Array:
        """Return log(1 + D / allowed)."""
        return namespace(deviation).log1p(deviation / ALLOWED)

    def slope_of_nearest(self, deviation: FloatArray) -> FloatArray:
        """Return the derivative of log(1 + D / allowed)."""
        return 1 / (deviation + ALLOWED)

    def nodes(self, deviations: "Value") -> "Value":
        """Add log(1 + D / allowed)."""
        return (deviations.take(0, axis=0) / ALLOWED + 1.0).apply("Log")


def make_linear_component(
    center: FloatArray, coefficients: FloatArray | Complement, spreads: FloatArray, weight: float
) -> Component:
    """Return a component of linear equations that are zero at the center, with unit gradients."""
    found = make_linear(
        center,
        coefficients,
        np.zeros((len(center), 0)),
        spreads,
        tol=float(spreads.max(initial=0.0)),
        condition=1.0,
        n_rows=0.0,
        seconds=0.0,
    )
    ideal = VanishingIdeal(max_degree=1, tol=found.trace[0].tol).adopt(found)
    return Component(ideal, np.zeros(len(spreads)), spreads, weight / spreads**2)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChristoffelView(NearestView):
    """Minus the logarithm of the Christoffel function, s = log(1 + D).

    D is the sum of squares of all polynomials but the constant, in units of their extents. Those
    whose extent is at most ``tol`` are equations, which explanations name.
    """

    tol: float

    def of_nearest(self, deviation: Array) -> Array:
        """Return log(1 + D)."""
        return namespace(deviation).log1p(deviation)

    def slope_of_nearest(self, deviation: FloatArray) -> FloatArray:
        """Return the derivative of log(1 + D)."""
        return 1 / (1 + deviation)

    def importance(self, component: Component, values: FloatArray) -> FloatArray:
        """Return what each equation adds to D."""
        return np.asarray(component.weights * (values - component.center) ** 2)

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the polynomials that are small on normal data, each with how much it counts."""
        every = super().equations(z, deviations)
        return [(count, equation) for count, equation in every if equation.typical <= self.tol]

    def nodes(self, deviations: "Value") -> "Value":
        """Add log(1 + D)."""
        return (deviations.take(0, axis=0) + 1.0).apply("Log")


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelihoodView(View):
    """Minus the log likelihood of a mixture, s = ℓ = -log Σ_j e^{m_j - D_j / 2}.

    D_j = ‖A_j (z - c_j)‖² is the sum of squares of all linear polynomials of a cluster, in units of
    their spread: its squared Mahalanobis distance. m_j is the logarithm of the share of a cluster
    less that of the volume it fills; ``factors`` are A_1, A_2, ..., one below the other.
    """

    log_masses: Annotated[FloatArray, "n_clusters"]
    centers: Annotated[FloatArray, "n_clusters n_features"]
    factors: Annotated[FloatArray, "n_rows n_features"]

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return ℓ."""
        every = self._log_sum(deviations)
        with np.errstate(divide="ignore"):
            return -(namespace(deviations).log(every.sums) + every.largest)[:, 0]

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return half the probability that a sample belongs to each cluster."""
        return np.asarray(self._log_sum(deviations).parts / 2)

    @property
    def width(self) -> int:
        """Numbers of a sample: its residuals from all clusters."""
        return len(self.factors)

    @property
    def clusters(self) -> list[tuple[FloatArray, FloatArray]]:
        """Centre c and matrix A of each cluster."""
        return list(zip(self.centers, np.split(self.factors, len(self.centers)), strict=True))

    @lazy
    def described(self) -> list[Component]:
        """The equations of each cluster, with gradients of length 1."""
        found = []
        for center, factor in self.clusters:
            lengths = np.linalg.norm(factor, axis=1)
            order = np.argsort(-lengths, kind="stable")  # smallest extents first
            units = (factor[order] / lengths[order, None]).T
            found.append(make_linear_component(center, units, 1 / lengths[order], 1.0))
        return found

    def measure(self, z: Array) -> Array:
        """Return D of each cluster, shape (n_points, n_clusters)."""
        xp = namespace(z)
        n_clusters, width = self.centers.shape
        # One sample a column: sums over the short axis are slow where it is the last.
        residuals = move_like(self.factors, z) @ z.T - move_like(self._offsets[:, None], z)
        residuals *= residuals
        near = xp.sum(xp.reshape(residuals, (n_clusters, width, -1)), axis=1)
        # Where numbers overflow, nothing is near.
        return xp.where(xp.isnan(near), xp.full_like(near, xp.inf), near).T

    def _nearest(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[int, Component, FloatArray]]:
        # The cluster that a point most likely belongs to.
        cluster = int(np.argmin(deviations[0] - 2 * self.log_masses))
        return [(cluster, self.described[cluster], z)]

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add D, of shape (n_samples, n_clusters)."""
        n_clusters, width = self.centers.shape
        graph.hold(n_clusters * width)
        residuals = z @ self.factors.T - self._offsets
        return residuals.reshape(-1, n_clusters, width).reduce("SumSquare", axis=2)

    def nodes(self, deviations: "Value") -> "Value":
        """Add ℓ."""
        deviations = deviations.graph.where(deviations.apply("IsNaN"), np.inf, deviations)
        logs, largest = _log_sum(deviations * -0.5 + self.log_masses, axis=1)
        return -(logs + largest)

    @lazy
    def _offsets(self) -> FloatArray:
        """A c of all clusters."""
        return np.concatenate([factor @ center for center, factor in self.clusters])

    def _log_sum(self, deviations: Array) -> "_LogSum":
        return _LogSum.of(move_like(self.log_masses, deviations) - deviations / 2, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpanView(View):
    """Logarithm of the deviation from one linear ideal of few rows and many columns, s = log D.

    D is the mean square of the principal components of the rows (orthonormal ``directions``), in
    units of their shrunk spread, and of the distance from their span, in units of √rest. The
    distance stands for the exact equations of all other directions, which are one projector.
    """

    center: Annotated[FloatArray, "n_features"]
    directions: Annotated[FloatArray, "n_directions n_features"]
    variances: Annotated[FloatArray, "n_directions"]
    rest: float

    @lazy
    def described(self) -> list[Component]:
        """The equations outside of the span, then the principal components of the rows."""
        n_outside = len(self.center) - len(self.directions)
        matrix = Complement.of_span(self.directions.T, 1.0, self.directions.T)
        spreads = np.sqrt(np.append(np.full(n_outside, self.rest), self.variances))
        return [make_linear_component(self.center, matrix, spreads, 1 / len(self.center))]

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return log D."""
        return namespace(deviations).log(deviations[:, 0] + LONG_SUM)

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return the derivative of log D."""
        return 1 / (deviations + LONG_SUM)

    def measure(self, z: Array) -> Array:
        """Return D, shape (n_points, 1)."""
        xp = namespace(z)
        inside, outside = self._project(z - move_like(self.center, z))
        total = xp.sum(inside**2 / move_like(self.variances, z), axis=1)
        total = total + xp.sum(outside**2, axis=1) / self.rest
        return total[:, None] / len(self.center)

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z."""
        inside, outside = self._project(z - self.center)
        slopes = (inside / self.variances) @ self.directions + outside / self.rest
        found = self.measure(z)
        outer = self.factor(self.value(found))[:, None] * self.slopes(found)
        return np.asarray(2 / len(self.center) * outer * slopes)

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the coordinates in the span and the distance from it, in units of their spread.

        One distance stands for all equations outside of the span: at this point it has the same
        square, and the same slope, as all of them together.
        """
        inside, outside = self._project(z - self.center)
        distance = np.linalg.norm(outside)
        away = outside / (distance if distance > 0 else 1.0)
        spreads = np.sqrt(len(self.center) * np.append(self.variances, self.rest))
        values = np.append(inside[0], distance) / spreads
        return values, np.vstack([self.directions, away]) / spreads[:, None]

    def lines(self, directions: Any) -> Through:
        """Return D(z + t v): v has a part in the span, one away from it, and a rest."""
        inner = directions @ self.directions.T
        if isinstance(directions, np.ndarray):
            squares = np.sum((directions - inner @ self.directions) ** 2, axis=1)
        else:  # single features: what is outside of the span is not written out
            squares = (directions * directions).sum(axis=1) - np.sum(inner**2, axis=1)
        inside_spreads, spread = (
            np.sqrt(len(self.center) * each) for each in (self.variances, self.rest)
        )

        def through(points: FloatArray, which: IntArray) -> OnLines:
            inside, outside = self._project(points - self.center)
            distances = np.linalg.norm(outside, axis=1, keepdims=True)
            units = outside / np.where(distances > 0, distances, 1.0)
            away = (directions[which] * units).sum(axis=1)
            beside = np.sqrt(np.maximum(squares[which] - away**2, 0.0))
            starts = np.hstack([inside / inside_spreads, distances / spread, 0 * distances])
            steps = np.hstack(
                [inner[which] / inside_spreads, np.stack([away, beside], axis=1) / spread]
            )
            lengths = np.linalg.norm(steps, axis=1, keepdims=True)
            steps = steps / np.where(lengths > 0, lengths, 1.0)
            along = np.sum(steps * starts, axis=1, keepdims=True)
            across = np.linalg.norm(starts - along * steps, axis=1, keepdims=True)
            return Deviations(np.array([[lengths, along], [0 * across, across]]))

        return through

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add D, of shape (n_samples,)."""
        graph.hold(2 * len(self.center))
        moved = z - self.center
        inside = moved @ self.directions.T
        outside = moved - inside @ self.directions
        total = (inside * (1 / np.sqrt(self.variances))).reduce("SumSquare", axis=1)
        total = total + outside.reduce("SumSquare", axis=1) * (1 / self.rest)
        return total * (1 / len(self.center))

    def nodes(self, deviations: "Value") -> "Value":
        """Add log D."""
        return (deviations + LONG_SUM).apply("Log")

    def _project(self, moved: Array) -> tuple[Array, Array]:
        """Return the principal components of rows, and what is left of them outside the span."""
        directions = move_like(self.directions, moved)
        inside = moved @ directions.T
        return inside, moved - inside @ directions


# The score of the paper (eq. score), in log space. Components j = (k, c) are the ideals of cluster
# c under transformation T_k; with one cluster this is the paper. For the image z = T_i x
#
# P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   s(x) = -Σ_i log P_i(x).


@dataclass(frozen=True, eq=False)
class Mixture(View):
    """Loss of telling transformations apart, s = -Σ_i log P_i, or its logarithm.

    Components are the ``n_clusters`` of the first transformation, of the second, and so on; each
    transformation has an image. ``smoothing`` is ε; with ``logarithm``, s is log(loss + δ).
    ``metric`` is W with W W' the inverse covariance of the contrast, if all clusters share it.
    """

    n_clusters: int = 1
    smoothing: float = 0.0
    logarithm: bool = False
    metric: Annotated[FloatArray | None, "n_coordinates n_coordinates"] = None

    @property
    def common_metric(self) -> FloatArray | None:
        """Coordinates in which deviations are distances less a few squares."""
        return self.metric

    def own(self, k: int) -> slice:
        """Return the components of transformation k."""
        return slice(k * self.n_clusters, (k + 1) * self.n_clusters)

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return -log P_k."""
        return negative_log_probability(deviations, self.own(k), self.smoothing)

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return the derivative of -log P_k with respect to each D."""
        return np.asarray(value_and_slopes(deviations, self.own(k), self.smoothing)[1])

    def combine(self, values: Sequence[Array]) -> Array:
        """Return the loss, or its logarithm."""
        loss = reduce(add, values)
        if not self.logarithm:
            return loss
        xp = namespace(loss)
        # Less than zero by rounding only. Small chances of an error count as none.
        return xp.log(xp.maximum(loss, xp.zeros_like(loss)) + EXACT_SHARE)

    def combined_slope(self, values: Sequence[FloatArray]) -> Any:
        """Return the derivative of the logarithm."""
        return 1 / (np.maximum(reduce(add, values), 0.0) + EXACT_SHARE) if self.logarithm else 1.0

    def importance(self, component: Component, values: FloatArray) -> FloatArray:
        """Return what each equation adds to D beyond what is typical."""
        excess = (values - component.center) ** 2 - component.typical**2
        return np.asarray(component.weights * excess)

    def nodes(self, deviations: "Value") -> "Value":
        """Add the loss, or its logarithm."""
        graph, n_images = deviations.graph, len(self.images)
        # Axes: transformation of the component, its cluster, image, sample.
        deviations = deviations.reshape(n_images, self.n_clusters, n_images, -1)
        logs, largest = _log_sum(-deviations, axis=1)
        by_transformation = logs + largest
        if self.smoothing > 0:
            by_transformation = _log_add(by_transformation, log(self.smoothing))
        logs, largest = _log_sum(by_transformation, axis=0)
        own = np.arange(n_images) * (n_images + 1)  # the diagonal: image i under transformation i
        ours = by_transformation.reshape(n_images**2, -1).take(own, axis=0)
        # As in ``_LogSum.minus``: the largest exponents first, which are often the same.
        loss = (logs + (largest - ours)).reduce("Sum", axis=0)
        if not self.logarithm:
            return loss
        # Less than zero by rounding only. Where nothing is a number, it stays so.
        return (graph.where(loss < 0.0, 0.0, loss) + EXACT_SHARE).apply("Log")


def negative_log_probability(deviations: Array, own: slice, smoothing: float) -> Array:
    """Return -log P_i for points that were transformed by T_i, whose components are ``own``."""
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    return every.minus(_LogSum.of(-deviations[:, own], smoothing))


def value_and_slopes(deviations: Array, own: slice, smoothing: float) -> tuple[Array, Array]:
    """Return -log P_i, and its derivative with respect to each D_j."""
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    ours = _LogSum.of(-deviations[:, own], smoothing)
    slopes = -every.parts
    slopes[:, own] += ours.parts
    return every.minus(ours), slopes


@dataclass(frozen=True, eq=False)
class _LogSum:
    """log(Σ_j e^{a_j} + ε) of each row, as log(sum) + largest; terms are e^{a_j - largest}."""

    terms: Array
    sums: Array
    largest: Array

    @classmethod
    def of(cls, exponents: Array, smoothing: float) -> "_LogSum":
        xp = namespace(exponents)
        largest = xp.max(exponents, axis=1, keepdims=True)
        if smoothing > 0:
            largest = xp.maximum(largest, xp.full_like(largest, log(smoothing)))
        # Rows that are infinitely far from every component have nothing to be measured from.
        largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        terms = xp.exp(exponents - largest)
        sums = xp.sum(terms, axis=1, keepdims=True)
        if smoothing > 0:
            sums = sums + xp.exp(log(smoothing) - largest)
        return cls(terms, sums, largest)

    def minus(self, other: "_LogSum") -> Array:
        """Return the difference of two logarithms, one a row.

        The largest exponents are the same for normal samples. Subtracted first, they leave no
        rounding errors of their own size behind.
        """
        xp = namespace(self.sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xp.log(self.sums) - xp.log(other.sums)
            return (logs + (self.largest - other.largest))[:, 0]

    @property
    def parts(self) -> Array:
        """Part of each term in its sum."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.terms / self.sums


def _log_sum(exponents: "Value", axis: int) -> "tuple[Value, Value]":
    """Return log Σ e^a along an axis in two parts, the second of them the largest a."""
    largest = exponents.reduce("Max", axis, keepdims=True)
    # Rows that are infinitely far from every component have nothing to be measured from.
    largest = exponents.graph.where(largest.apply("Abs") < np.inf, largest, 0.0)
    shifted = exponents - largest
    # Some releases of onnxruntime answer the smallest number for e^-∞, which would make rows that
    # are infinitely far from every component as near to one as to the others.
    powers = exponents.graph.where(shifted < UNDERFLOW, 0.0, shifted.apply("Exp"))
    return powers.reduce("Sum", axis).apply("Log"), largest.take(0, axis)


def _log_add(total: "Value", other: float) -> "Value":
    """Return log(e^a + e^b)."""
    largest = total.graph.op("Max", total, other)
    return ((total - largest).apply("Exp") + (-largest + other).apply("Exp")).apply("Log") + largest


#: All kinds of views, for model files.
VIEWS = (
    NormView,
    ClusterView,
    ExactView,
    ChristoffelView,
    LikelihoodView,
    SpanView,
    Mixture,
    ColumnView,
    KernelView,
)


# --- Columns that are constant in training, as exact equations ------------------------------------


@dataclass(frozen=True, eq=False)
class ConstantColumns:
    """What columns add to a score if they differ from a constant: ``least``, and more far away."""

    constant: Annotated[BoolArray, "n_features"]
    values: Annotated[FloatArray, "n_features"]
    least: float

    def __call__(
        self, X: Array, /, features: IntArray | EllipsisType = ..., same: float = SAME_NUMBER
    ) -> Array:
        """Return what each column adds; relative differences up to ``same`` are rounding."""
        xp = namespace(X)
        constants = move_like(self.values[features], X)
        constant = move_like(self.constant[features], X)
        distance = xp.abs(xp.where(constant, X - constants, xp.zeros_like(X)))
        sizes = move_like(self._sizes[features], X)
        broken = distance > same * sizes
        # log(1 + distance / size), where the ratio might overflow.
        added = self.least + (xp.log(sizes + distance) - xp.log(sizes))
        return xp.where(broken, added, xp.zeros_like(X))

    @property
    def _sizes(self) -> FloatArray:
        """The size of each constant; 1 for zero, which has no units."""
        return np.where(self.values == 0, 1.0, np.abs(self.values))

    def nodes(self, graph: "Graph", x: "Value") -> "Value":
        """Add what all columns together add."""
        columns = np.flatnonzero(self.constant)
        distance = (x.take(columns, axis=1) - self.values[columns]).apply("Abs")
        sizes = self._sizes[columns]
        kept = distance <= max(SAME_NUMBER, graph.rounding) * sizes
        added = (distance + sizes).apply("Log") + (self.least - np.log(sizes))
        # NaN differs from every constant.
        return graph.where(kept, 0.0, added).reduce("Sum", axis=1)


# --- Columns far outside of their range in training -----------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnRanges:
    """What columns add to a score by being far outside of their range in training.

    The loss of telling transformations apart says little there. It is small wherever the images are
    nearer to their own ideals than to the others, and may be zero however far they are from all.
    """

    middles: Annotated[FloatArray, "n_features"]
    half_widths: Annotated[FloatArray, "n_features"]

    def __call__(self, X: Array, /, features: IntArray | EllipsisType = ...) -> Array:
        """Return what each column adds: its distance in half widths where that is large."""
        xp = namespace(X)
        distance = xp.abs(X - move_like(self.middles[features], X))
        distance = distance / move_like(self.half_widths[features], X)
        return xp.where(distance > 2 * OUTLYING, distance, xp.zeros_like(X))

    def nodes(self, graph: "Graph", x: "Value") -> "Value":
        """Add what all columns together add."""
        distance = ((x - self.middles) / self.half_widths).apply("Abs")
        return graph.where(distance <= 2 * OUTLYING, 0.0, distance).reduce("Sum", axis=1)


# --- The score ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Normal:
    """What explanations compare with: a score that normal data seldom exceeds, and its columns.

    ``units`` are those of the last digits of the training data; 0 for numbers that are not rounded.
    """

    score: float
    mean: Annotated[FloatArray, "n_features"]
    spread: Annotated[FloatArray, "n_features"]
    units: Annotated[FloatArray | None, "n_features"] = None


@dataclass(frozen=True, eq=False)
class Part:
    """The ideals that look at one image, and the map from features to its coordinates."""

    name: str
    components: list[Component]
    coordinates: Callable[[FloatArray], FloatArray]
    in_features: bool


@dataclass(frozen=True, eq=False)
class Score:
    """Anomaly score S(x) = Σ_v weight_v · (s_v(x) - shift_v) / spread_v, larger for anomalies.

    What single columns add (``constants``, ``ranges``) is added to the views. A counterfactual
    changes as few features as possible (columns of a table, which fail one by one), or with
    ``few_features`` False all of them evenly (pixels). ``normal`` is None before the threshold is
    set.
    """

    coordinates: Coordinates
    views: list[View]
    constants: ConstantColumns | None = None
    ranges: ColumnRanges | None = None
    few_features: bool = True
    normal: Normal | None = None

    def measure(self, X: Array) -> Array:
        """Return s of each view in the array library of X, shape (n_views, n_samples)."""
        widest = max(X.shape[1], *(view.width for view in self.views))
        # A view holds residuals, their products and their squares.
        n_rows = block_rows(4 * widest, cpu=is_on_cpu(X))
        blocks = [X[start : start + n_rows, :] for start in range(0, max(1, X.shape[0]), n_rows)]
        # Many products of a block are small: threads of BLAS would wait for each other.
        with one_thread() if isinstance(X, np.ndarray) else nullcontext():
            measured = list(map_in_threads(self._measure, blocks, threads_for(X)))
        return namespace(X).concat(measured, axis=1)

    def _measure(self, X: Array) -> Array:
        values: list[list[Array]] = [[] for _ in self.views]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # in each thread
            for i, z in enumerate(self.coordinates.each(X)):
                for view, found in zip(self.views, values, strict=True):
                    if i in view.images:
                        found.append(view.value(view.measure(z), len(found)))
            combined = [view.combine(found) for view, found in zip(self.views, values, strict=True)]
            return namespace(X).stack(combined)

    def add_up(self, measured: Array) -> Array:
        """Return the sum of the views, given s of each."""
        xp = namespace(measured)
        with np.errstate(invalid="ignore"):
            added = [view.add(measured[v, :]) for v, view in enumerate(self.views)]
            total = reduce(add, added)
        # Infinitely far from every ideal, or not a number: as anomalous as can be.
        return xp.where(xp.isnan(total), xp.full_like(total, xp.inf), total)

    def score_samples(self, X: Array) -> Array:
        """Return minus the score of checked rows, in their array library."""
        xp = namespace(X)
        scores = xp.zeros(X.shape[0], dtype=xp.float64, device=X.device)
        if self.views:
            scores = self.add_up(self.measure(X))
        if self.constants is not None:
            # In single precision the constants themselves are rounded.
            same = max(SAME_NUMBER, machine_epsilon(X))
            with np.errstate(over="ignore"):
                broken = self.constants(xp.astype(X, xp.float64), same=same)
            scores = scores + xp.sum(broken, axis=1)
        if self.ranges is not None:
            with np.errstate(over="ignore"):
                scores = scores + xp.sum(self.ranges(xp.astype(X, xp.float64)), axis=1)
        return -scores

    def standardize(self, shifts: FloatArray, spreads: FloatArray) -> "Score":
        """Return the score whose views have another shift and spread."""
        views = [
            view.standardize(float(shift), float(spread))
            for view, shift, spread in zip(self.views, shifts, spreads, strict=True)
        ]
        return replace(self, views=views)

    @property
    def parts(self) -> list[Part]:
        """The ideals of each image, in the order of ``detector.ideals_``."""
        found = []
        for i in range(len(self.coordinates.maps)):
            views = [
                (view, view.images.index(i))
                for view in self.views
                if i in view.images and view.described and not view.borrows
            ]
            components = [c for view, k in views for c in view.described[view.own(k)]]
            if views:
                (view, k), at = views[0], self.coordinates
                applied = (at.scaler, at.columns, at.maps[i], at.preprocessor)
                in_features = all(each is None for each in applied)
                found.append(Part(view.names[k], components, partial(at.image, i), in_features))
        return found

    @lazy
    def landscape(self) -> Landscape:
        """The score as a function of the features, for explanations."""
        assert self.normal is not None
        center, scale = self.normal.mean, self.normal.spread
        if not self.few_features:  # pixels have one unit in common
            scale = np.full(len(scale), np.sqrt(np.mean(scale**2)))
        if self.constants is not None:
            # Rows that were kept out of the fit may break a constant, and with it the mean.
            center = np.where(self.constants.constant, self.constants.values, center)
        ranked = self.coordinates.ranked
        return Landscape(
            [partial(self.coordinates.images, view.images) for view in self.views],
            [self.coordinates.bend if view.images[0] in ranked else None for view in self.views],
            self.views,
            center,
            scale,
            self.normal.score,
            self.few_features,
            self._measure_columns,
            self.normal.units,
        )

    def _measure_columns(
        self, x: FloatArray, /, features: IntArray | EllipsisType = ...
    ) -> FloatArray:
        """Return what single columns add."""
        added = np.zeros_like(x)
        for columns in (self.constants, self.ranges):
            if columns is not None:
                added += columns(x, features)
        return added

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def nodes(self, graph: "Graph", x: "Value") -> "Value":
        """Add the nodes of S, of shape (n_samples,), to a graph."""
        points: dict[tuple[int, ...], Value] = {}
        columns = (self.constants, self.ranges)
        terms = [each.nodes(graph, x) for each in columns if each is not None]
        for view in self.views:
            if view.images not in points:
                points[view.images] = self.coordinates.nodes(graph, x, view.images)
            s = view.nodes(view.measure_nodes(graph, points[view.images]))
            terms.append(view.add_nodes(s))
        return reduce(add, terms)
