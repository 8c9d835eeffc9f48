"""Hypersurfaces that are given by their equation: points on random lines."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import BoolArray, FloatArray
from vanishing.datasets.variety.polynomial import Polynomial
from vanishing.datasets.variety.sampler import Sampler

#: Points drawn for each one that is returned, so that few that are returned share their line.
_OVERSAMPLING = 4
_NEWTON_STEPS = 3
#: Larger values of the equation than this, in units of those elsewhere on the line, mean that
#: Newton's method has failed, as it may where a line is all but tangent.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class LineSections(Sampler):
    """Points of a hypersurface within a ball around the origin, spread evenly by length or area.

    Lines are drawn so that all those that meet the ball are equally likely (isotropic direction,
    uniform offset). By Crofton's formula a piece of the hypersurface then is hit in proportion to
    its area, wherever it lies and however it is inclined. Points that share a line are not quite
    independent of each other.

    Parameters
    ----------
    polynomial : Polynomial
    degree : int
    radius : float
        Of the ball.
    """

    polynomial: Polynomial
    degree: int
    radius: float

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        found = np.empty((0, len(self.polynomial.variables)))
        while len(found) < _OVERSAMPLING * n_samples:
            found = np.concatenate([found, self._points_on_lines(rng, 4 * n_samples)])
        return found[rng.choice(len(found), n_samples, replace=False)]

    def _points_on_lines(self, rng: np.random.Generator, n_lines: int) -> FloatArray:
        """Draw lines and return all their points on the hypersurface, within the ball."""
        origin, direction = self._lines(rng, n_lines)

        def value(line: Any, position: Any) -> Any:
            """Value at positions, in units of the radius, on lines."""
            return self.polynomial(origin[line] + position[..., None] * direction[line])

        nodes = np.cos(np.pi * (np.arange(self.degree + 1) + 0.5) / (self.degree + 1))
        every_line = np.arange(n_lines)[:, None]
        values = value(every_line, np.broadcast_to(nodes, (n_lines, len(nodes))))
        line, position = _real_roots(values @ np.linalg.inv(np.vander(nodes)).T)
        # Where Newton's method goes astray, it may end at infinity or NaN, and is not solved.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for _ in range(_NEWTON_STEPS):
                slope = value(line, position + 1e-30j).imag / 1e-30
                position = position - value(line, position) / slope
            solved = np.abs(value(line, position)) <= _ROUNDING * np.abs(values).max(axis=1)[line]
        line, position = line[solved], position[solved]
        points: FloatArray = origin[line] + position[:, None] * direction[line]
        inside: BoolArray = np.linalg.norm(points, axis=1) <= self.radius
        return points[inside]

    def _lines(self, rng: np.random.Generator, n_lines: int) -> tuple[FloatArray, FloatArray]:
        """Draw lines: the point of each that is nearest to the origin, and its direction."""
        n_features = len(self.polynomial.variables)
        direction = rng.standard_normal((n_lines, n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        offset = rng.standard_normal((n_lines, n_features))
        offset -= np.sum(offset * direction, axis=1, keepdims=True) * direction
        offset /= np.linalg.norm(offset, axis=1, keepdims=True)
        length = rng.uniform(size=(n_lines, 1)) ** (1 / (n_features - 1))
        return self.radius * length * offset, self.radius * direction


def _real_roots(coefficients: FloatArray) -> tuple[Any, FloatArray]:
    """Return row numbers and real roots of polynomials, leading coefficients first."""
    degree = coefficients.shape[1] - 1
    companion = np.zeros((len(coefficients), degree, degree))
    companion[:, 0] = -coefficients[:, 1:] / coefficients[:, :1]
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1
    roots = np.linalg.eigvals(companion)
    row, column = np.nonzero(np.isreal(roots))
    return row, np.real(roots[row, column])
