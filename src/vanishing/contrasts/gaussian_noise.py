"""Rows of X moved by Gaussian noise."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.contrasts.base import Contrast, check_number


@dataclass(frozen=True)
class GaussianNoise(Contrast):
    """Add independent Gaussian noise to each row, in units of the columns' standard deviations.

    Rows come in the order of X if as many are drawn as X has, otherwise at random, each equally
    often up to one. Constant columns have standard deviation 0 and stay as they are.

    Parameters
    ----------
    scale : float, default=1.0
        Standard deviation of the noise, divided by that of the column.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_number("scale", self.scale, zero=False)

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Choose rows and move them."""
        Y = X[_row_numbers(len(X), rng, n_samples)]
        # The mean of equal numbers may be off by a rounding error: no noise of that size.
        varies = X.min(axis=0) < X.max(axis=0)
        spread = np.where(varies, X.std(axis=0, dtype=np.float64), 0.0)
        Y += (self.scale * spread * rng.standard_normal(Y.shape)).astype(X.dtype, copy=False)
        return Y


def _row_numbers(n_rows: int, rng: np.random.Generator, n_samples: int) -> IntArray:
    if n_samples == n_rows:
        return np.arange(n_rows, dtype=np.intp)
    repeats = -(-n_samples // n_rows)
    return np.concatenate([rng.permutation(n_rows) for _ in range(repeats)])[:n_samples]
