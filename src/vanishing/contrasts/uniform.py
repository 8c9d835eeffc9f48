"""Uniform in the box around X."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray
from vanishing.contrasts.base import Contrast, check_number


@dataclass(frozen=True)
class Uniform(Contrast):
    """Draw each column uniformly between its least and greatest value on X, and a little beyond.

    The box of a constant column has width 0: it stays constant.

    Parameters
    ----------
    margin : float, default=0.1
        By how much the box is widened on each side, as a share of its width.
    """

    margin: float = 0.1

    def __post_init__(self) -> None:
        check_number("margin", self.margin, zero=True)

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw from the widened box."""
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        beyond = self.margin * (high - low)
        Y = rng.uniform(low - beyond, high + beyond, (n_samples, X.shape[1]))
        return Y.astype(X.dtype, copy=False)
