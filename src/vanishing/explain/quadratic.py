"""Deviations from many linear ideals at once, by a few large products.

D(z) = Σ_g u_g (g(z) - c_g)² of linear g is a quadratic form. One ideal after the other would
multiply z by thousands of small matrices. Here the first polynomials of all ideals make one matrix,
the second ones another, and so on: each of them takes one product.

Ideals that have a contrast in common have most of their form in common, too. If g runs through all
polynomials of size 1 on the contrast, vanishing or not, then Σ_g g(z)² is the squared Mahalanobis
distance of z from the middle of the cluster, up to one direction. In coordinates w in which that is
a distance, the nonvanishing ones are subtracted, of which there are few:

    D(z) = ‖w - w_j‖² - Σ_a (q_a · (w - w_j))².
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import Array, FloatArray, IntArray, move_like, namespace
from vanishing.levels import SAME


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
        self._sums = _Sums(ideals)
        self._differences = None if metric is None else _find_differences(ideals, metric)

    def __call__(self, z: Array) -> Array:
        """Return D of each ideal at each row of z, shape (n_points, n_ideals)."""
        if self._differences is None:
            return self._sums(z).T
        deviations, squares = self._differences(z)
        xp = namespace(z)
        # There, or where it is not a number, a difference of squares has lost half of its digits.
        is_far = ~(squares <= 1 / SAME)
        if bool(xp.any(is_far)):
            far = xp.nonzero(is_far)[0]
            deviations[:, far] = self._sums(xp.take(z, far, axis=0))
        return deviations.T


class _Layers:
    """Vectors of many ideals: one matrix of the first ones, one of the second ones, ...

    Ideals are sorted by the number of their vectors, so that each matrix belongs to the first of
    them.
    """

    def __init__(self, vectors: Sequence[FloatArray]) -> None:
        counts = np.array([len(each) for each in vectors])
        self.order: IntArray = np.argsort(-counts, kind="stable")
        self.place: IntArray = np.argsort(self.order, kind="stable")
        self.matrices = [
            np.stack([vectors[j][layer] for j in self.order[: int(np.sum(counts > layer))]])
            for layer in range(int(counts.max(initial=0)))
        ]

    def subtract_squares(self, total: Array, points: Array, moved: "_Moved") -> None:
        """Subtract the squares of all products from the rows of ``total``, which are sorted."""
        buffer = np.empty_like(total) if isinstance(total, np.ndarray) else None
        for matrix in self.matrices:
            layer = moved(matrix, points)
            n_ideals = layer.shape[0]
            if buffer is None:
                products = layer @ points
            else:  # without new memory, which would take as long as the squares
                products = np.matmul(layer, points, out=buffer[:n_ideals])
            products *= products
            total[:n_ideals, :] -= products


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


def _append_ones(columns: Array) -> Array:
    xp = namespace(columns)
    ones = xp.ones((1, columns.shape[1]), dtype=columns.dtype, device=columns.device)
    return xp.concat([columns, ones], axis=0)


class _Sums:
    """D as sums of squares."""

    def __init__(self, ideals: Sequence[LinearForms]) -> None:
        self._layers = _Layers([np.column_stack([each.slopes.T, -each.offsets]) for each in ideals])
        self._moved = _Moved()

    def __call__(self, z: Array) -> Array:
        """Return D, shape (n_ideals, n_points)."""
        xp, layers = namespace(z), self._layers
        shape = (len(layers.order), z.shape[0])
        negative = xp.zeros(shape, dtype=z.dtype, device=z.device)
        layers.subtract_squares(negative, _append_ones(z.T), self._moved)
        return -xp.take(negative, self._moved(layers.place, z), axis=0)


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
        self._metric, self._origin = metric, origin
        self._layers = _Layers(
            [
                np.column_stack([each, -each @ center])
                for each, center in zip(directions, centers, strict=True)
            ]
        )
        distances = np.column_stack([-2 * centers, np.sum(centers**2, axis=1)])
        self._distances = distances[self._layers.order]
        self._moved = _Moved()

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Return D, shape (n_ideals, n_points), and ‖w‖², shape (n_points,)."""
        xp, moved = namespace(z), self._moved
        w = moved(self._metric, z).T @ (z - moved(self._origin, z)).T
        squares = xp.sum(w * w, axis=0)
        points = _append_ones(w)
        deviations = moved(self._distances, z) @ points
        deviations += squares
        self._layers.subtract_squares(deviations, points, moved)
        return xp.take(deviations, moved(self._layers.place, z), axis=0), squares


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
