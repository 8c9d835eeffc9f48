"""Finitely many points."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray
from vanishing.datasets.variety.sampler import FractionArray, RationalSampler, exact_rows


@dataclass(frozen=True)
class FinitePoints(RationalSampler):
    """Given points with whole coordinates, each equally often up to one, in random order."""

    points: tuple[tuple[int, ...], ...]

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        repeats = -(-n_samples // len(self.points))
        numbers = np.concatenate([rng.permutation(len(self.points)) for _ in range(repeats)])
        rows = [self.points[number] for number in rng.permutation(numbers[:n_samples])]
        return np.array(rows, dtype=np.float64)

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw the same points as fractions."""
        return exact_rows(tuple(self.draw(rng, n_samples).T))
