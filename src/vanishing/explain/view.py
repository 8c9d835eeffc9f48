"""Views: the summands of a score, each a function of coordinates affine in the features."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, Self

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import expit

from vanishing.arrays.namespace import Array, FloatArray, IntArray, lazy, move_like, namespace
from vanishing.explain.record import BrokenEquation
from vanishing.ideal import VanishingIdeal
from vanishing.levels import BLOCK, SAME
from vanishing.polynomials.evaluation import vanishing_along_lines

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value

# --- Deviations from many linear ideals at once, by a few large products --------------------------
#
# D(z) = Σ_g u_g (g(z) - c_g)² of linear g is a quadratic form. One ideal after the other would
# multiply z by thousands of small matrices. Here the first polynomials of all ideals make one
# matrix, the second ones another, and so on: each of them takes one product.
#
# Ideals that have a contrast in common have most of their form in common, too. If g runs through
# all polynomials of size 1 on the contrast, vanishing or not, then Σ_g g(z)² is the squared
# Mahalanobis distance of z from the middle of the cluster, up to one direction. In coordinates w in
# which that is a distance, the nonvanishing ones are subtracted, of which there are few:
#
#     D(z) = ‖w - w_j‖² - Σ_a (q_a · (w - w_j))².


@dataclass(frozen=True, eq=False)
class LinearForms:
    """The residuals of one ideal, √u (g(z) - c) = slopes' z - offsets."""

    slopes: FloatArray
    offsets: FloatArray


class LinearDeviations:
    """D of many linear ideals.

    In the coordinates w = W' z of a metric W, the common part of all forms is the identity.
    """

    def __init__(self, ideals: Sequence[LinearForms], metric: FloatArray | None) -> None:
        self._squares = _Squares([np.column_stack([i.slopes.T, -i.offsets]) for i in ideals])
        self._differences = None if metric is None else _find_differences(ideals, metric)

    def __call__(self, z: Array) -> Array:
        """Return D of each ideal at each row of z, shape (n_points, n_ideals)."""
        if self._differences is None:
            return -self._squares(z.T).T
        deviations, distances = self._differences(z)
        xp = namespace(z)
        # There, or where it is not a number, a difference of squares has lost half of its digits.
        is_far = ~(distances <= 1 / SAME)
        if bool(xp.any(is_far)):
            far = xp.nonzero(is_far)[0]
            deviations[:, far] = -self._squares(xp.take(z, far, axis=0).T)
        return deviations.T


class _Moved:
    """Copies of matrices in the library and on the device of the data, made once."""

    def __init__(self) -> None:
        self._copies: dict[tuple[object, ...], tuple[npt.NDArray[Any], Array]] = {}

    def __call__(self, matrix: npt.NDArray[Any], like: Array) -> Array:
        if isinstance(like, np.ndarray):
            return matrix if like.dtype == np.float64 else move_like(matrix, like)
        key = (id(matrix), type(like), like.dtype, array_api_compat.device(like))
        if key not in self._copies:
            # The matrix is kept with its copy, so that its id is not reused.
            self._copies[key] = (matrix, move_like(matrix, like))
        return self._copies[key][1]


class _Squares:
    """Affine functions of points x less squares of such functions: l (x, 1) - Σ_a (v_a (x, 1))².

    ``vectors`` are v_a of each ideal, and ``affine`` is l of each, 0 by default. Ideals are sorted
    by the number of their vectors, so that one matrix has the first vectors of all, another the
    second ones of the first ideals, and so on.
    """

    def __init__(self, vectors: Sequence[FloatArray], affine: FloatArray | None = None) -> None:
        counts = np.array([len(each) for each in vectors])
        order = np.argsort(-counts, kind="stable")
        self._place = np.argsort(order, kind="stable")
        self._matrices = [
            np.stack([vectors[j][layer] for j in order[: int(np.sum(counts > layer))]])
            for layer in range(int(counts.max(initial=0)))
        ]
        self._affine = None if affine is None else affine[order]
        self._moved = _Moved()

    def __call__(self, columns: Array, start: Array | None = None) -> Array:
        """Return the values at points, one a column, plus ``start``: shape (n_ideals, n_points)."""
        xp, like = namespace(columns), {"dtype": columns.dtype, "device": columns.device}
        points = xp.concat([columns, xp.ones((1, columns.shape[1]), **like)], axis=0)
        if self._affine is None:
            total = xp.zeros((len(self._place), columns.shape[1]), **like)
        else:
            total = self._moved(self._affine, columns) @ points
        if start is not None:
            total += start
        buffer = np.empty_like(total) if isinstance(total, np.ndarray) else None
        for matrix in self._matrices:
            layer = self._moved(matrix, points)
            n_ideals = layer.shape[0]
            if buffer is None:
                products = layer @ points
            else:  # without new memory, which would take as long as the squares
                products = np.matmul(layer, points, out=buffer[:n_ideals])
            products *= products
            total[:n_ideals, :] -= products
        return xp.take(total, self._moved(self._place, columns), axis=0)


class _Differences:
    """D as squared distances less some squares.

    ``metric`` is W, ``origin`` the z where w is 0, ``centers`` are w_j, ``directions`` q_a of each
    ideal.
    """

    def __init__(
        self,
        metric: FloatArray,
        origin: FloatArray,
        centers: FloatArray,
        directions: Sequence[FloatArray],
    ) -> None:
        self._metric, self._origin, self._moved = metric, origin, _Moved()
        self._squares = _Squares(
            [np.column_stack([q, -q @ w]) for q, w in zip(directions, centers, strict=True)],
            np.column_stack([-2 * centers, np.sum(centers**2, axis=1)]),
        )

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Return D, shape (n_ideals, n_points), and ‖w‖², shape (n_points,)."""
        w = self._moved(self._metric, z).T @ (z - self._moved(self._origin, z)).T
        distances = namespace(z).sum(w * w, axis=0)
        return self._squares(w, start=distances), distances


def _find_differences(ideals: Sequence[LinearForms], metric: FloatArray) -> _Differences | None:
    """Write the forms as differences, or return None if that takes more products."""
    n_coordinates = len(metric)
    try:
        inverse = np.linalg.inv(metric)
    except np.linalg.LinAlgError:
        return None
    centers, directions = [], []
    for each in ideals:
        slopes = inverse @ each.slopes
        eigenvalues, vectors = np.linalg.eigh(slopes @ slopes.T)
        differ = np.abs(eigenvalues - 1) > SAME
        if (eigenvalues[differ] > 1).any():
            return None
        # The center is where all residuals are zero.
        kept = eigenvalues > SAME
        along = vectors[:, kept].T @ (slopes @ each.offsets) / eigenvalues[kept]
        center = vectors[:, kept] @ along
        missed = np.abs(slopes.T @ center - each.offsets).max(initial=0.0)
        if missed > SAME * (1 + np.abs(each.offsets).max(initial=0.0)):
            return None
        centers.append(center)
        lacking = np.sqrt(np.maximum(1 - eigenvalues[differ], 0.0))
        directions.append(vectors[:, differ].T * lacking[:, None])
    n_products = sum(map(len, directions)) + len(ideals) + n_coordinates
    if n_products >= sum(len(each.offsets) for each in ideals):
        return None
    middle = np.mean(centers, axis=0)
    return _Differences(
        metric, np.linalg.solve(metric.T, middle), np.asarray(centers) - middle, directions
    )


# --- All polynomials side by side, for gradients and for lines z + t v ----------------------------


class WideForms:
    """The polynomials of one or more linear ideals as the columns of one matrix."""

    def __init__(self, ideals: Sequence[LinearForms]) -> None:
        self.slopes = np.hstack([each.slopes for each in ideals])
        self.offsets = np.concatenate([each.offsets for each in ideals])
        self.counts = np.array([len(each.offsets) for each in ideals])
        self._some = np.flatnonzero(self.counts)
        self._starts = np.cumsum(np.append(0, self.counts[self._some]))[:-1]

    def add_up(self, values: FloatArray) -> FloatArray:
        """Return the sums over the polynomials of each ideal, shape (n_rows, n_ideals)."""
        sums = np.zeros((len(values), len(self.counts)))
        if self._some.size:
            sums[:, self._some] = np.add.reduceat(values, self._starts, axis=1)
        return sums

    def triangles(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return R (see ``Component``) of each line z + t v and each ideal, by Gram-Schmidt.

        ``slopes`` are v times the slopes of the polynomials.
        """
        residuals = points @ self.slopes - self.offsets
        lengths = np.sqrt(self.add_up(slopes**2))
        along = self.add_up(slopes * residuals) / np.where(lengths > 0, lengths, 1.0)
        share = along / np.where(lengths > 0, lengths, 1.0)
        rest = residuals - np.repeat(share, self.counts, axis=1) * slopes
        across = np.sqrt(self.add_up(rest**2))
        found = np.stack([lengths, along, np.zeros_like(across), across], axis=-1)
        return np.asarray(found.reshape(*across.shape, 2, 2).transpose(1, 0, 2, 3))

    def pull_back(self, z: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return Σ_j s_j ∇D_j at each row of z, for slopes s of shape (n_points, n_ideals)."""
        kept = np.repeat((slopes != 0).any(axis=0), self.counts)
        columns = self.slopes[:, kept]
        residuals = z @ columns - self.offsets[kept]
        residuals *= np.repeat(2 * slopes, self.counts, axis=1)[:, kept]
        return np.asarray(residuals @ columns.T)


# --- What all scores are made of: an ideal, and what is usual for its polynomials -----------------


@dataclass(frozen=True, eq=False)
class Component:
    """An ideal of a detector, and the deviation D(z) = Σ_g u_g (g(z) - c_g)² from it.

    ``center`` is c, the mean on normal data, ``typical`` the root mean square deviation from it,
    and ``weights`` are u.
    """

    ideal: VanishingIdeal
    center: Annotated[FloatArray, "n_polynomials"]
    typical: Annotated[FloatArray, "n_polynomials"]
    weights: Annotated[FloatArray, "n_polynomials"]

    def restrict(self, weights: FloatArray) -> "Component":
        """Return the component with other weights, without polynomials whose weight is zero."""
        kept = weights > 0
        ideal = self.ideal if kept.all() else self.ideal.restrict(kept)
        return Component(ideal, self.center[kept], self.typical[kept], weights[kept])

    def residuals(self, z: Array) -> Array:
        """Return G(z) - c."""
        if self._linear is None:
            return self.ideal.basis_.evaluate(z) - move_like(self.center, z)
        return z @ move_like(self._linear.slopes, z) - move_like(self._linear.offsets, z)

    def jacobian(self, z: FloatArray) -> FloatArray:
        """Return the derivatives of G at one point, shape (n_polynomials, n_coordinates)."""
        if self._linear is None:
            return np.asarray(self.ideal.basis_.jacobian(z)[0])
        return self._linear.slopes.T

    def deviation(self, z: Array) -> Array:
        """Return D(z)."""
        return self.residuals(z) ** 2 @ move_like(self.weights, z)

    def pull_back(self, z: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return slope · ∇D at each row of z."""
        outer = 2 * slopes[:, None] * self.weights * self.residuals(z)
        if self._linear is None:
            return np.asarray(self.ideal.basis_.pullback(z, outer))
        return np.asarray(outer @ self._linear.slopes.T)

    def linear_forms(self) -> LinearForms:
        """Return √u (G(z) - c), where all g have degree 1."""
        assert self._linear is not None
        roots = np.sqrt(self.weights)
        return LinearForms(self._linear.slopes * roots, self._linear.offsets * roots)

    @lazy
    def _linear(self) -> LinearForms | None:
        """G(z) - c, if all g have degree 1: evaluating those takes one product."""
        if self.degree > 1:
            return None
        slopes = np.zeros((self.ideal.basis_.n_features, len(self.center)))
        if not len(self.center):
            return LinearForms(slopes, self.center)
        first = self.ideal.basis_.blocks[0]
        slopes[first.left] = first.vanishing
        return LinearForms(slopes, first.vanishing_lower[0] + self.center)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # Along a line z + t v every equation is a polynomial r_g(t) of low degree d, and D(t) is known
    # everywhere on the line from a triangle of (d + 1)² numbers: with A the matrix whose columns
    # are the coefficients of √u (r - c) in tᵈ, ..., t, 1, and A = QR, it is ‖R (tᵈ, ..., t, 1)‖².
    # Since it is not multiplied out, small deviations beside large coefficients are as exact as
    # those of evaluated equations.

    @property
    def degree(self) -> int:
        """Largest degree of the polynomials."""
        return int(self.ideal.basis_.degrees().max(initial=0))

    def triangles(self, points: FloatArray, directions: Any) -> FloatArray:
        """Return R for each line, of as many rows as there are equations, d + 1 at most."""
        coefficients = vanishing_along_lines(self.ideal.basis_.blocks, points, directions)
        coefficients[0] = coefficients[0] - self.center[:, None]
        roots = np.sqrt(self.weights)[:, None]
        stacked = np.empty((directions.shape[0], len(coefficients), len(self.center)))
        for column, coefficient in enumerate(reversed(coefficients)):
            stacked[:, column] = (roots * coefficient).T
        return np.asarray(np.linalg.qr(stacked.transpose(0, 2, 1), mode="r"))


# --- One summand of a score -----------------------------------------------------------------------

#: From the numbers of some lines, shape (n_chosen,), and values of t for each of them, shape
#: (n_chosen, n_values), to what there is at these points, shape (n_chosen * n_values, ...).
OnLines = Callable[[IntArray, FloatArray], FloatArray]
Through = Callable[[FloatArray, IntArray], OnLines]


@dataclass(frozen=True, eq=False)
class View(ABC):
    """A summand of a score: weight · (s(x) - shift) / spread, or the evidence of it.

    With a ``capacity`` L, the summand is weight · E(t) for t = (s - shift) / spread: E is
    -log p of the logistic distribution, log(1 + eᵗ), where that is at most L, the logarithm of the
    number of training rows. What is beyond all of them counts by its logarithm, L (1 + log(E / L)),
    so that the other views are heard.

    s is a function of the deviations D_1, ..., D_k from k ideals. Where a view looks at several
    images of a sample, all of the same coordinates, the deviations of each image give a number, and
    s is a function of their sum. Methods that take coordinates z take those of all images side by
    side.

    A kind of view is a subclass with ``value``, ``slopes`` and ``nodes``. ``names`` are those of
    its images in explanations; ``first_cluster`` is the position of the first component in
    ``detector.ideals_[image]``; a view that ``borrows`` has the ideals of another one.
    """

    names: tuple[str, ...]
    components: list[Component]
    images: tuple[int, ...] = (0,)
    first_cluster: int = 0
    shift: float = 0.0
    spread: float = 1.0
    weight: float = 1.0
    borrows: bool = False
    capacity: float | None = None

    # --- what makes a kind of view

    @abstractmethod
    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return the number that the k-th image gives at each point, in any array library.

        ``deviations`` are D in that image, shape (n_points, n_components).
        """

    @abstractmethod
    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return the derivative of ``value`` with respect to each D, shape of ``deviations``."""

    @abstractmethod
    def nodes(self, deviations: "Value") -> "Value":
        """Add s, shape (n_samples,), to an ONNX graph.

        ``deviations`` are D of shape (n_components, n_images * n_samples), one image after the
        other.
        """

    # --- what kinds of views may do in another way

    def combine(self, values: Sequence[Array]) -> Array:
        """Return s, given the numbers of all images."""
        return reduce(add, values)

    def combined_slope(self, values: Sequence[FloatArray]) -> Any:
        """Return the derivative of ``combine`` with respect to each number."""
        return 1.0

    def own(self, k: int) -> slice:
        """Return which components belong to the k-th image: those whose equations it breaks."""
        return slice(0, len(self.described))

    def importance(self, component: Component, values: FloatArray) -> FloatArray:
        """Return how much each equation of a component counts, given its values at one point."""
        return np.asarray(np.abs(values - component.center) / component.typical)

    @property
    def exported(self) -> list[Component]:
        """The components that a graph needs."""
        return self.components

    @property
    def described(self) -> list[Component]:
        """The components whose equations explanations and reports name."""
        return self.components

    @property
    def width(self) -> int:
        """Most numbers that are held of a sample while it is measured."""
        bases = [component.ideal.basis_ for component in self.components]
        return max(1, len(bases), *(part.n_candidates for basis in bases for part in basis.blocks))

    @property
    def common_metric(self) -> FloatArray | None:
        """Coordinates of all components, as in ``LinearDeviations``, if that makes them alike."""
        return None

    # --- what follows for all of them

    def measure(self, z: Array) -> Array:
        """Return D of each component at each row of one image, shape (n_points, n_components)."""
        if self._linear is not None:
            return self._linear(z)
        return namespace(z).stack([c.deviation(z) for c in self.components], axis=1)

    def measure_nodes(self, graph: "Graph", z: "Value") -> "Value":
        """Add D to a graph, given the coordinates of all images, one below the other."""
        from vanishing.equations.onnx import Polynomials, sums_of_squares  # a fit needs none of it

        stack = [Polynomials(c.ideal.basis_, c.center, np.sqrt(c.weights)) for c in self.exported]
        return sums_of_squares(stack, graph, z, n_images=len(self.images))

    def standardize(self, shift: float, spread: float) -> Self:
        """Return the view with another shift and spread."""
        view = replace(self, shift=shift, spread=spread)
        vars(view).update(_linear=self._linear)  # the components are the same
        return view

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return D in each image, shape (n_points, n_images * n_components)."""
        measured = self.measure(np.vstack(self._split(z)))
        return np.hstack(np.split(measured, len(self.images)))

    def add(self, s: Array) -> Array:
        """Return what the view adds to the score, given s, in any array library."""
        t = (s - self.shift) / self.spread
        if self.capacity is None:
            return self.weight * t
        xp = namespace(t)
        zero = xp.zeros_like(t)
        evidence = xp.maximum(t, zero) + xp.log1p(xp.exp(-xp.abs(t)))
        beyond = xp.maximum(evidence / self.capacity, zero + 1.0)
        return self.weight * xp.where(
            evidence > self.capacity, self.capacity * (1 + xp.log(beyond)), evidence
        )

    def factor(self, s: FloatArray) -> FloatArray:
        """Return the derivative of ``add``."""
        slope = np.full_like(s, self.weight / self.spread)
        if self.capacity is None:
            return slope
        t = (s - self.shift) / self.spread
        return np.asarray(slope * expit(t) / np.maximum(np.logaddexp(0, t) / self.capacity, 1.0))

    def add_nodes(self, s: "Value") -> "Value":
        """Add what the view adds to the score to a graph."""
        if (self.shift, self.spread) != (0.0, 1.0):
            s = (s - self.shift) / self.spread
        if self.capacity is not None:
            graph = s.graph
            powers = (-s.apply("Abs")).apply("Exp")
            evidence = graph.op("Max", s, 0.0) + (powers + 1.0).apply("Log")
            beyond = graph.op("Max", evidence / self.capacity, 1.0).apply("Log")
            s = graph.where(evidence <= self.capacity, evidence, (beyond + 1.0) * self.capacity)
        return s if self.weight == 1.0 else s * self.weight

    def contribution(self, deviations: FloatArray) -> FloatArray:
        """Return what the view adds to the score, given D in each image."""
        return np.asarray(self.add(self.combine(self._values(deviations))))

    def contributions(self, z: FloatArray) -> FloatArray:
        """Return what the view adds to the score at each row of z."""
        return self.contribution(self.deviations(z))

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of the contribution with respect to z at each row, shape of z.

        ``deviations`` are D at z, where they are known.
        """
        found = self.deviations(z) if deviations is None else deviations
        values = self._values(found)
        outer = self.combined_slope(values) * self.factor(np.asarray(self.combine(values)))
        result = np.zeros_like(z)
        images = zip(self._split(z), self._split(found), self._split(result), strict=True)
        for k, (part, near, gradient) in enumerate(images):
            slopes = self.slopes(near, k) * np.reshape(outer, (-1, 1))
            # Components that change a view by less than rounding are left out.
            sizes = np.abs(slopes)
            negligible = np.finfo(np.float64).eps * sizes.max(axis=1, keepdims=True)
            slopes = np.where(sizes > negligible, slopes, 0.0)
            if self._forms is not None:
                gradient += self._forms.pull_back(part, slopes)
                continue
            for slope, component in zip(slopes.T, self.described, strict=True):
                rows = slope != 0
                if rows.any():
                    gradient[rows] += component.pull_back(part[rows], slope[rows])
        return result

    def mean_gradient(self, start: FloatArray, end: FloatArray) -> FloatArray | None:
        """Return the mean of the gradient on a segment, if it is not found along its line."""
        return None

    def lines(self, directions: Any) -> Through:
        """Return D(z + t v) for many t and z, from the restrictions of the equations to the lines.

        ``directions`` are v, one row a line. The result maps z, one point for each chosen line or
        one for all, and the numbers of these lines to D on them.
        """
        width = directions.shape[1] // len(self.images)
        bundles = [
            Bundle(self.described, directions[:, k * width : (k + 1) * width])
            for k in range(len(self.images))
        ]

        def through(points: FloatArray, which: IntArray) -> OnLines:
            pairs = zip(bundles, self._split(points), strict=True)
            functions = [bundle.through(part, which) for bundle, part in pairs]
            return lambda which, t: np.hstack([function(which, t) for function in functions])

        return through

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of the nearest equations at one point, and their Jacobian.

        They are zero where the equations hold as on normal data.
        """
        found = self.deviations(z) if deviations is None else deviations
        values, jacobians = [], []
        for _, component, part in self._nearest(z, found):
            roots = np.sqrt(component.weights)
            values.append(roots * component.residuals(part)[0])
            jacobians.append(roots[:, None] * component.jacobian(part))
        return np.concatenate(values), block_diag(*jacobians)

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the nearest equations at one point, each with how much it counts."""
        found = []
        nearest = self._nearest(z, deviations)
        for name, image, (cluster, component, part) in zip(
            self.names, self.images, nearest, strict=True
        ):
            values = component.ideal.basis_.evaluate(part)[0]
            counts = self.importance(component, values)
            degrees = component.ideal.basis_.degrees()
            for index, count in enumerate(counts):
                equation = BrokenEquation(
                    value=float(values[index]),
                    usual=float(component.center[index]),
                    typical=float(component.typical[index]),
                    degree=int(degrees[index]),
                    part=name,
                    ideal=(image, self.first_cluster + cluster),
                    index=index,
                )
                found.append((float(count), equation))
        return found

    @lazy
    def _linear(self) -> LinearDeviations | None:
        """All components at once, if they are several and linear."""
        if len(self.components) < 2 or any(c.degree > 1 for c in self.components):
            return None
        return LinearDeviations([c.linear_forms() for c in self.components], self.common_metric)

    @lazy
    def _forms(self) -> WideForms | None:
        """The polynomials of all components side by side, if they are linear."""
        if any(c.degree > 1 for c in self.described):
            return None
        return WideForms([c.linear_forms() for c in self.described])

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _values(self, deviations: FloatArray) -> list[FloatArray]:
        return [self.value(part, k) for k, part in enumerate(self._split(deviations))]

    def _split(self, columns: FloatArray) -> list[FloatArray]:
        """Return the coordinates or the deviations of each image."""
        return np.split(columns, len(self.images), axis=1)

    def _nearest(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[int, Component, FloatArray]]:
        """Return the nearest component that belongs to each image of one point, and the image."""
        found = []
        for k, (part, near) in enumerate(zip(self._split(z), self._split(deviations), strict=True)):
            cluster = int(np.argmin(near[0, self.own(k)]))
            found.append((cluster, self.described[self.own(k)][cluster], part))
        return found


@dataclass(frozen=True, eq=False)
class NearestView(View):
    """A view that depends on the deviation from the nearest ideal only: s = f(min_j D_j)."""

    @abstractmethod
    def of_nearest(self, deviation: Array) -> Array:
        """Return f(D)."""

    @abstractmethod
    def slope_of_nearest(self, deviation: FloatArray) -> FloatArray:
        """Return f'(D)."""

    def value(self, deviations: Array, k: int = 0) -> Array:
        """Return f of the smallest D."""
        return self.of_nearest(namespace(deviations).min(self._reach(deviations), axis=1))

    def slopes(self, deviations: FloatArray, k: int = 0) -> FloatArray:
        """Return f' at the smallest D; zero for the others."""
        reached = self._reach(deviations)
        result: FloatArray = np.zeros_like(reached)
        rows, nearest = np.arange(len(reached)), np.argmin(reached, axis=1)
        result[rows, nearest] = self.slope_of_nearest(reached[rows, nearest])
        return result

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return f'(D) ∇D of the nearest ideal."""
        found = self.deviations(z) if deviations is None else deviations
        nearest = np.argmin(self._reach(found), axis=1)
        result = np.zeros_like(z)
        for j in np.unique(nearest):
            rows, component = nearest == j, self.components[j]
            # f' may divide by D: then the rounding errors of D have to be those of its gradient.
            near = component.deviation(z[rows])
            slope = self.factor(np.asarray(self.of_nearest(near))) * self.slope_of_nearest(near)
            result[rows] = component.pull_back(z[rows], slope)
        return result

    @property
    def exported(self) -> list[Component]:
        """The components that have equations."""
        return [component for component in self.components if len(component.center)]

    def _nearest(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[int, Component, FloatArray]]:
        return super()._nearest(z, self._reach(deviations))

    def _reach(self, deviations: Array) -> Array:
        """Return D, infinite where numbers overflow and for a cluster without equations."""
        xp = namespace(deviations)
        lost = move_like(np.array([not len(c.center) for c in self.components]), deviations)
        infinity = xp.full_like(deviations, xp.inf)
        return xp.where(xp.isnan(deviations) | lost, infinity, deviations)


# --- The linear part of an affine map that is known by its values only ----------------------------

#: Share of numbers that are not zero, up to which a matrix is sparse: products of sparse matrices
#: take about ten times as long for each number.
SPARSE = 0.1


def linear_part(
    function: Callable[[FloatArray], FloatArray], center: FloatArray, scale: FloatArray
) -> Any:
    """Return the matrix of an affine map, or raise if the map is not affine.

    It is probed around ``center`` by steps of ``scale``. The matrix is sparse where it is mostly
    zeros, as after scaling: of many features, it would not fit into memory otherwise.
    """
    n_features = len(center)
    origin = function(center[None, :])[0]
    parts: list[Any] = []
    at_a_time = max(1, BLOCK // n_features)
    for start in range(0, n_features, at_a_time):
        moved = np.arange(start, min(start + at_a_time, n_features))
        probes = np.repeat(center[None, :], len(moved), axis=0)
        probes[np.arange(len(moved)), moved] += scale[moved]
        steps = probes[np.arange(len(moved)), moved] - center[moved]
        found = (function(probes) - origin) / steps[:, None]
        is_sparse = np.count_nonzero(found) <= SPARSE * found.size
        parts.append(csr_array(found) if is_sparse else found)
    if all(map(issparse, parts)):
        matrix: Any = vstack(parts, format="csc").T
    else:
        matrix = np.vstack([each.toarray() if issparse(each) else each for each in parts]).T
    moves = scale * np.random.default_rng(0).normal(size=(3, n_features))
    found = function(center + moves) - origin
    refuse_unless_equal(found, moves @ matrix.T, origin)
    return matrix


def refuse_unless_equal(found: FloatArray, expected: FloatArray, origin: FloatArray) -> None:
    """Raise if differences of coordinates from an origin are not those of an affine map."""
    size = np.abs(origin).max(initial=0) + np.abs(expected).max(initial=0)
    rounding = 8 * np.finfo(np.float32).eps  # preprocessors may work in single precision
    if not np.abs(found - expected).max(initial=0) <= rounding * size:
        raise ValueError(
            "explain carries the attribution back to the features through the transformations and "
            "the preprocessor, which must be affine (such as rotations, PCA, StandardScaler), but "
            "these are not; leave the nonlinear step out of the detector and "
            "explain its output instead"
        )


# --- Squared deviations along lines z + t v, as polynomials in t ----------------------------------


class Bundle:
    """Lines of given directions, through points that are given later."""

    def __init__(self, components: Sequence[Component], directions: Any) -> None:
        self.directions = directions
        self.size = 1 + max(1, *(one.degree for one in components))
        self.n_components = len(components)
        self.curved = [(j, one) for j, one in enumerate(components) if one.degree > 1]
        self.straight = [j for j, one in enumerate(components) if one.degree <= 1]
        self.forms: WideForms | None = None
        if self.straight:
            self.forms = WideForms([components[j].linear_forms() for j in self.straight])
            # Slopes of linear equations are the same at every point.
            self.slopes = np.asarray(directions @ self.forms.slopes)

    def through(self, points: FloatArray, which: IntArray) -> "Deviations":
        """Return the deviations along some of the lines, each through its point or all of one."""
        size = self.size
        triangles = np.zeros((self.n_components, len(which), size, size))
        if self.forms is not None:
            for some, met in _cut(points, len(which), len(self.forms.offsets)):
                # Higher powers are zero. They come first, as rows that are empty.
                found = self.forms.triangles(met, self.slopes[which[some]])
                triangles[self.straight, some, -2:, -2:] = found
        for j, one in self.curved:
            widest = max(block.n_candidates for block in one.ideal.basis_.blocks)
            for some, met in _cut(points, len(which), widest * size):
                found = one.triangles(met, self.directions[which[some]])
                n_rows, n_columns = found.shape[1:]
                first = size - n_columns
                triangles[j, some, first : first + n_rows, first:] = found
        return Deviations(np.ascontiguousarray(triangles.transpose(2, 3, 1, 0)))


def _cut(points: FloatArray, n_lines: int, width: int) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of lines that take ``width`` numbers each, with the points they go through."""
    at_a_time = max(1, BLOCK // max(1, width))
    for start in range(0, n_lines, at_a_time):
        some = slice(start, start + at_a_time)
        yield some, points if len(points) == 1 else points[some]


@dataclass(frozen=True, eq=False)
class Deviations:
    """Several squared deviations along the same lines.

    ``triangles`` has the shape (degree + 1, degree + 1, n_lines, n_deviations).
    """

    triangles: FloatArray

    def __call__(self, which: IntArray, t: FloatArray) -> FloatArray:
        """Return D at values of t on some lines, shape (n_chosen * n_values, n_deviations)."""
        chosen, t = self.triangles[:, :, which, None], t[:, :, None]
        total = np.zeros((*t.shape[:2], chosen.shape[-1]))
        for row in range(len(chosen)):
            values = chosen[row, row]
            for column in range(row + 1, len(chosen)):
                values = values * t + chosen[row, column]
            total += values**2
        # Where numbers overflow, nothing is near.
        return np.where(np.isnan(total), np.inf, total).reshape(-1, total.shape[-1])
