"""Clebsch's diagonal cubic surface, the one with 27 real lines, and its rational points."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.datasets.variety.sampler import (
    FractionArray,
    RationalSampler,
    exact_rows,
    nearby_fractions,
)
from vanishing.datasets.variety.sections import LineSections

# In the five coordinates x, y, z, 1, -(x + y + z + 1), whose sum is 0, the sum of cubes.
CLEBSCH_EQUATION = "x**3 + y**3 + z**3 + 1 - (x + y + z + 1)**3"

#: Rounding of the parameters moves most points by less than a hundredth of this.
_FAR = 0.01


@dataclass(frozen=True)
class ClebschSampler(RationalSampler):
    """Points spread evenly by area, drawn by lines; exact ones by its rational parametrization.

    Two of the lines on the surface, in the five coordinates, are those through (1, -1, u, -u, 0)
    and through (1, v, -1, 0, -v) for all u and v. They do not meet. Through each other point of
    the surface goes one line that meets both of them; u and v are its parameters.
    """

    sections: LineSections

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        return self.sections.draw(rng, n_samples)

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw points, and round their parameters.

        All points of certain lines have the same parameters, so that rounding moves points near
        them far, or to none. Those few are left out.
        """
        found: FractionArray = np.empty((0, 3), dtype=object)
        while len(found) < n_samples:
            points = self.draw(rng, n_samples - len(found))
            u, v = map(nearby_fractions, _parameters(points))
            defined = _denominator(u, v) != 0
            exact = exact_rows(_point(u[defined], v[defined]))
            moved = np.abs(exact.astype(np.float64) - points[defined]).max(axis=1)
            found = np.concatenate([found, exact[moved < _FAR]])
        return found


def _parameters(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return u and v of points of the surface."""
    x, y, z = points.T
    last = -(x + y + z + 1)
    return -1 / (x + z + 1), -last / (x + y + last)


def _point(u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return the third point of the surface on the line through those of u and v.

    With p and q these two, the sum of cubes of p + λq is 3λ (Σ p²q + λ Σ pq²): it vanishes for
    λ = -Σ p²q / Σ pq².
    """
    ppq = 1 + v - u * u
    pqq = 1 - v * v + u
    fourth = _denominator(u, v)
    return (pqq - ppq) / fourth, (-pqq - v * ppq) / fourth, (u * pqq + ppq) / fourth


def _denominator(u: Any, v: Any) -> Any:
    """Return the fourth coordinate of the point, which is 1 in affine space."""
    return -u * (1 - v * v + u)
