"""Squared deviations along lines z + t v, as polynomials in t.

Along a line every equation is a polynomial r_g(t) of low degree d. The squared deviation
D(t) = Σ_g w_g (r_g(t) - c_g)² is then known everywhere on the line from a triangle of (d + 1)²
numbers: with A the matrix whose columns are the coefficients of √w (r - c) in tᵈ, ..., t, 1, and
A = QR, it is ‖R (tᵈ, ..., t, 1)‖². Not being multiplied out, small deviations beside large
coefficients are as exact as those of evaluated equations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials import PolynomialBasis, lines

#: Numbers that are held for the lines at a time.
NUMBERS = 2**24


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

    def triangles(self, points: FloatArray, directions: Any, degree: int) -> FloatArray:
        """Return R for each line, shape (n_lines, degree + 1, degree + 1)."""
        n_lines = directions.shape[0]
        result = np.zeros((n_lines, degree + 1, degree + 1))
        widest = max((block.n_candidates for block in self.basis.blocks), default=1)
        at_a_time = max(1, NUMBERS // (widest * (degree + 1)))
        for start in range(0, n_lines, at_a_time):
            rows = slice(start, start + at_a_time)
            met = points if len(points) == 1 else points[rows]
            triangles = self._triangles(met, directions[rows], degree)
            result[rows, : triangles.shape[1]] = triangles
        return result

    def _triangles(self, points: FloatArray, directions: Any, degree: int) -> FloatArray:
        coefficients = lines.vanishing(self.basis.blocks, points, directions)
        coefficients[0] = coefficients[0] - self.center[:, None]
        roots = np.sqrt(self.weights)[:, None]
        stacked = np.zeros((directions.shape[0], degree + 1, len(self.center)))
        for power, coefficient in enumerate(coefficients):
            stacked[:, degree - power] = (roots * coefficient).T
        return np.asarray(np.linalg.qr(stacked.transpose(0, 2, 1), mode="r"))


class Deviations:
    """Several squared deviations along the same lines.

    Parameters
    ----------
    squares : sequence of Squares
    points : array of shape (n_lines, n_coordinates), or (1, n_coordinates)
        Where t is 0.
    directions : array or sparse array of shape (n_lines, n_coordinates)
    """

    def __init__(self, squares: Sequence[Squares], points: FloatArray, directions: Any) -> None:
        self.degree = max(int(one.basis.degrees().max(initial=0)) for one in squares)
        triangles = [one.triangles(points, directions, self.degree) for one in squares]
        #: By row and column of the triangle, then line and deviation.
        self.triangles = np.ascontiguousarray(np.stack(triangles).transpose(2, 3, 1, 0))

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
        for row in range(self.degree + 1):
            values = chosen[row, row]
            for column in range(row + 1, self.degree + 1):
                values = values * t + chosen[row, column]
            total += values**2
        # Where numbers overflow, nothing is near.
        return np.where(np.isnan(total), np.inf, total).reshape(-1, total.shape[-1])
