"""The score of the paper (eq. score), in log space.

Components j = (k, c) are ideals: piece c of the data under transformation T_k; with one piece this
is the paper. D_j(z) = ‖G_j(z) - c_j‖² is the squared deviation of a point from ideal j. For
z = T_i x

    P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   Score(x) = -Σ_i log P_i(x).
"""

from dataclasses import dataclass
from math import log

import numpy as np

from vanishing._xp import Array, namespace


def negative_log_probability(deviations: Array, own: slice, smoothing: float) -> Array:
    """Return -log P_i for points that were transformed by T_i.

    Parameters
    ----------
    deviations : array of shape (n_points, n_components)
        D_j of each point.
    own : slice
        The components of T_i.
    smoothing : float
        ε.

    Returns
    -------
    array of shape (n_points,)
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    return every.minus(_LogSum.of(-deviations[:, own], smoothing))


def value_and_slopes(deviations: Array, own: slice, smoothing: float) -> tuple[Array, Array]:
    """Return -log P_i and its derivative with respect to each D_j; parameters as above.

    The derivative is what the own components gain less what all of them hold.
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    ours = _LogSum.of(-deviations[:, own], smoothing)
    slopes = -every.shares
    slopes[:, own] += ours.shares
    return every.minus(ours), slopes


@dataclass(frozen=True, eq=False)
class _LogSum:
    """log(Σ_j e^{a_j} + ε) of each row, as log(sum) + largest.

    Parameters
    ----------
    terms : array of shape (n_points, n_components)
        e^{a_j - largest}.
    sums, largest : arrays of shape (n_points, 1)
    """

    terms: Array
    sums: Array
    largest: Array

    @classmethod
    def of(cls, exponents: Array, smoothing: float) -> "_LogSum":
        xp = namespace(exponents)
        largest = xp.max(exponents, axis=1, keepdims=True)
        if smoothing > 0:
            largest = xp.maximum(largest, xp.full_like(largest, log(smoothing)))
        # Rows that are infinitely far from every component have nothing to be measured from.
        largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        terms = xp.exp(exponents - largest)
        sums = xp.sum(terms, axis=1, keepdims=True)
        if smoothing > 0:
            sums = sums + xp.exp(log(smoothing) - largest)
        return cls(terms, sums, largest)

    def minus(self, other: "_LogSum") -> Array:
        """Return the difference of two logarithms, one a row.

        The largest exponents are the same for normal samples. Taken from each other first they
        leave no rounding errors of their own size behind.
        """
        xp = namespace(self.sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xp.log(self.sums) - xp.log(other.sums)
            return (logs + (self.largest - other.largest))[:, 0]

    @property
    def shares(self) -> Array:
        """Share of each term in its sum."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.terms / self.sums
