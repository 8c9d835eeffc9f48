"""Views: the parts of a score, each a function of coordinates affine in the features."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.explain.record import BrokenEquation
from vanishing.ideal import VanishingIdeal
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import vanishing_along_lines

# --- One summand of a score, as a function of the coordinates that its equations are in -----------

#: From the numbers of some lines, shape (n_chosen,), and values of t for each of them, shape
#: (n_chosen, n_values), to what there is at these points, shape (n_chosen * n_values, ...).
OnLines = Callable[[IntArray, FloatArray], FloatArray]
Through = Callable[[FloatArray, IntArray], OnLines]


class View(ABC):
    """A summand s(z) of the score, a function of squared deviations D_1(z), ..., D_k(z)."""

    @abstractmethod
    def deviations(self, z: FloatArray) -> FloatArray:
        """Return D at each row of z, shape (n_points, k)."""

    @abstractmethod
    def lines(self, directions: Any) -> Through:
        """Return D(z + t v) for many t and z, from the restrictions of the equations to the lines.

        Parameters
        ----------
        directions : array or sparse array of shape (n_lines, n_coordinates)
            v.

        Returns
        -------
        callable
            From z, shape (n_chosen, n_coordinates) or (1, n_coordinates), and the numbers of the
            lines through it, shape (n_chosen,), to D on these lines.
        """

    @abstractmethod
    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return s, given D at each of several points."""

    def values(self, z: FloatArray) -> FloatArray:
        """Return s at each row of z."""
        return self.of_deviations(self.deviations(z))

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of s with respect to z at each row, shape of z.

        ``deviations`` are D at z, where that is known.
        """
        return self._gradients(z, self.deviations(z) if deviations is None else deviations)

    @abstractmethod
    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray: ...

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of the equations at one point, and their Jacobian.

        They are zero where the equations hold as on normal data.
        """
        return self._residuals(z, self.deviations(z) if deviations is None else deviations)

    @abstractmethod
    def _residuals(
        self, z: FloatArray, deviations: FloatArray
    ) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of this view at one point, each with how much it counts."""


def weighed(
    counts: FloatArray,
    ideal: VanishingIdeal,
    values: FloatArray,
    usual: FloatArray,
    typical: FloatArray,
    part: str,
    place: tuple[int, int],
) -> list[tuple[float, BrokenEquation]]:
    """Return the equations of an ideal at one point, each with how much it counts."""
    described = zip(counts, values, usual, typical, ideal.basis_.degrees(), strict=True)
    return [
        (
            float(count),
            BrokenEquation(
                value=float(value),
                usual=float(mean),
                typical=float(size),
                degree=int(degree),
                part=part,
                ideal=place,
                index=index,
            ),
        )
        for index, (count, value, mean, size, degree) in enumerate(described)
    ]


# --- The linear part of an affine map that is known by its values only ----------------------------

#: Features that are probed at a time.
PROBES = 512


def linear_part(
    function: Callable[[FloatArray], FloatArray], center: FloatArray, scale: FloatArray
) -> FloatArray:
    """Return the matrix of an affine map, or raise if the map is not affine.

    Parameters
    ----------
    function : callable
        Maps rows of n_features to rows of n_coordinates.
    center, scale : arrays of shape (n_features,)
        Where the map is probed, and by how much each feature is moved.

    Returns
    -------
    array of shape (n_coordinates, n_features)
    """
    n_features = len(center)
    origin = function(center[None, :])[0]
    matrix = np.empty((len(origin), n_features))
    for start in range(0, n_features, PROBES):
        moved = np.arange(start, min(start + PROBES, n_features))
        probes = np.repeat(center[None, :], len(moved), axis=0)
        probes[np.arange(len(moved)), moved] += scale[moved]
        steps = probes[np.arange(len(moved)), moved] - center[moved]
        matrix[:, moved] = (function(probes) - origin).T / steps
    moves = scale * np.random.default_rng(0).normal(size=(3, n_features))
    found = function(center + moves) - origin
    refuse_unless_equal(found, moves @ matrix.T, origin)
    return matrix


def refuse_unless_equal(found: FloatArray, expected: FloatArray, origin: FloatArray) -> None:
    """Raise if differences of coordinates from an origin are not those of an affine map."""
    size = np.abs(origin).max(initial=0) + np.abs(expected).max(initial=0)
    if not np.abs(found - expected).max(initial=0) <= 1e-6 * size:
        raise ValueError(
            "explain carries shares back to the features through the transformations and the "
            "preprocessor, which have to be affine for that (such as rotations, PCA, "
            "StandardScaler), and these are not; leave the nonlinear step out of the detector and "
            "explain its output instead"
        )


# --- Squared deviations along lines z + t v, as polynomials in t ----------------------------------
#
# Along a line every equation is a polynomial r_g(t) of low degree d. The squared deviation
# D(t) = Σ_g w_g (r_g(t) - c_g)² is then known everywhere on the line from a triangle of (d + 1)²
# numbers: with A the matrix whose columns are the coefficients of √w (r - c) in tᵈ, ..., t, 1, and
# A = QR, it is ‖R (tᵈ, ..., t, 1)‖². Not being multiplied out, small deviations beside large
# coefficients are as exact as those of evaluated equations.

#: Numbers that are worked on at a time, and those that are kept for further points.
NUMBERS, KEPT = 2**24, 2**25


@dataclass(frozen=True, eq=False)
class Squares:
    """D(z) = Σ_g w_g (g(z) - c_g)².

    Parameters
    ----------
    basis : PolynomialBasis
    center, weights : arrays of shape (n_polynomials,)
        c and w.
    """

    basis: PolynomialBasis
    center: FloatArray
    weights: FloatArray

    @property
    def degree(self) -> int:
        """Largest degree of the polynomials."""
        return int(self.basis.degrees().max(initial=0))

    def slopes(self, directions: Any) -> FloatArray:
        """Return what √w g changes by in each direction, where all g have degree 1."""
        origin = np.zeros((1, self.basis.n_features))
        slopes = vanishing_along_lines(self.basis.blocks, origin, directions)[1]
        return np.asarray(np.sqrt(self.weights) * slopes.T)

    def triangles_of_linear(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return R for each line, shape (n_lines, 2, 2), by Gram-Schmidt."""
        residuals = np.sqrt(self.weights) * (self.basis.evaluate(points) - self.center)
        lengths = np.linalg.norm(slopes, axis=1)
        units = slopes / np.where(lengths > 0, lengths, 1.0)[:, None]
        along = units @ residuals[0] if len(points) == 1 else np.sum(units * residuals, axis=1)
        units *= -along[:, None]
        units += residuals
        across = np.linalg.norm(units, axis=1)
        return np.stack([np.stack([lengths, along], 1), np.stack([0 * across, across], 1)], 1)

    def triangles(self, points: FloatArray, directions: Any) -> FloatArray:
        """Return R for each line, of as many rows as there are equations, d + 1 at most."""
        coefficients = vanishing_along_lines(self.basis.blocks, points, directions)
        coefficients[0] = coefficients[0] - self.center[:, None]
        roots = np.sqrt(self.weights)[:, None]
        stacked = np.empty((directions.shape[0], len(coefficients), len(self.center)))
        for column, coefficient in enumerate(reversed(coefficients)):
            stacked[:, column] = (roots * coefficient).T
        return np.asarray(np.linalg.qr(stacked.transpose(0, 2, 1), mode="r"))


class Bundle:
    """Lines of given directions, through points that are given later.

    Parameters
    ----------
    squares : sequence of Squares
        The deviations.
    directions : array or sparse array of shape (n_lines, n_coordinates)
    """

    def __init__(self, squares: Sequence[Squares], directions: Any) -> None:
        self.squares = squares
        self.directions = directions
        self.degree = max(one.degree for one in squares)
        # Slopes of linear equations are the same at every point.
        n_numbers = directions.shape[0] * sum(len(one.center) for one in squares)
        self.slopes = [
            one.slopes(directions) if one.degree == 1 and n_numbers <= KEPT else None
            for one in squares
        ]

    def through(self, points: FloatArray, which: IntArray) -> "Deviations":
        """Return the deviations along some of the lines.

        Parameters
        ----------
        points : array of shape (n_chosen, n_coordinates), or (1, n_coordinates)
            Where t is 0.
        which : int array of shape (n_chosen,)
        """
        size = self.degree + 1
        triangles = np.zeros((len(self.squares), len(which), size, size))
        for one, slopes, result in zip(self.squares, self.slopes, triangles, strict=True):
            widest = max((block.n_candidates for block in one.basis.blocks), default=1)
            at_a_time = max(1, NUMBERS // (widest * size))
            for start in range(0, len(which), at_a_time):
                some = slice(start, start + at_a_time)
                met = points if len(points) == 1 else points[some]
                found = self._triangles(one, slopes, met, which[some])
                n_rows, n_columns = found.shape[1:]
                # Powers that are not there are zero. They come first, as rows that are empty.
                first = size - n_columns
                result[some, first : first + n_rows, first:] = found
        return Deviations(np.ascontiguousarray(triangles.transpose(2, 3, 1, 0)))

    def _triangles(
        self, one: Squares, slopes: FloatArray | None, points: FloatArray, which: IntArray
    ) -> FloatArray:
        if one.degree != 1:
            return one.triangles(points, self.directions[which])
        kept = one.slopes(self.directions[which]) if slopes is None else slopes[which]
        return one.triangles_of_linear(points, kept)


@dataclass(frozen=True, eq=False)
class Deviations:
    """Several squared deviations along the same lines.

    Parameters
    ----------
    triangles : array of shape (degree + 1, degree + 1, n_lines, n_deviations)
    """

    triangles: FloatArray

    def __call__(self, which: IntArray, t: FloatArray) -> FloatArray:
        """Return D at points of some lines.

        Parameters
        ----------
        which : int array of shape (n_chosen,)
        t : array of shape (n_chosen, n_values)

        Returns
        -------
        array of shape (n_chosen * n_values, n_deviations)
        """
        chosen, t = self.triangles[:, :, which, None], t[:, :, None]
        total = np.zeros((*t.shape[:2], chosen.shape[-1]))
        for row in range(len(chosen)):
            values = chosen[row, row]
            for column in range(row + 1, len(chosen)):
                values = values * t + chosen[row, column]
            total += values**2
        # Where numbers overflow, nothing is near.
        return np.where(np.isnan(total), np.inf, total).reshape(-1, total.shape[-1])
