"""Columns shuffled independently: every column as it was, all that ties them together gone."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray
from vanishing.contrasts.base import Contrast


@dataclass(frozen=True)
class Permuted(Contrast):
    """Shuffle each column by itself.

    More rows than X has are made of several shuffles, fewer are the first rows of one: every value
    of a column is drawn equally often, up to one.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.contrasts import Permuted
    >>> X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    >>> Y = Permuted().make(X, np.random.default_rng(0))
    >>> np.sort(Y, axis=0)
    array([[ 1., 10.],
           [ 2., 20.],
           [ 3., 30.],
           [ 4., 40.]])
    """

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Shuffle as often as the rows require."""
        Y = np.empty((n_samples, X.shape[1]), dtype=X.dtype)
        for start in range(0, n_samples, len(X)):
            part = Y[start : start + len(X)]
            part[...] = rng.permuted(X, axis=0)[: len(part)]
        return Y
