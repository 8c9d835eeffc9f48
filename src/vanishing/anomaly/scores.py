"""The score of the paper (eq. score), in log space.

Components j = (k, c) are ideals: piece c of the data under transformation T_k; with one piece this
is the paper. D_j(z) = ‖G_j(z) - c_j‖² is the squared deviation of a point from ideal j. For
z = T_i x

    P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   Score(x) = -Σ_i log P_i(x).
"""

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
    ours, _ = smoothed_log_sum(-deviations[:, own], smoothing)
    every, _ = smoothed_log_sum(-deviations, n_transformations * smoothing)
    return every - ours


def value_and_slopes(deviations: Array, own: slice, smoothing: float) -> tuple[Array, Array]:
    """Return -log P_i and its derivative with respect to each D_j; parameters as above.

    The derivative is what the own components gain less what all of them hold.
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every, slopes = smoothed_log_sum(-deviations, n_transformations * smoothing)
    ours, our_shares = smoothed_log_sum(-deviations[:, own], smoothing)
    slopes *= -1
    slopes[:, own] += our_shares
    return every - ours, slopes


def smoothed_log_sum(exponents: Array, smoothing: float) -> tuple[Array, Array]:
    """Return log(Σ_j e^{a_j} + ε) for each row, and the share of each term in the sum."""
    xp = namespace(exponents)
    largest = xp.max(exponents, axis=1, keepdims=True)
    # Rows that are infinitely far from every component have nothing to be measured from.
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    terms = xp.exp(exponents - largest)
    sums = xp.sum(terms, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = (xp.log(sums) + largest)[:, 0]
        shares = terms / sums
    if smoothing > 0:
        smoothed = xp.logaddexp(total, xp.full_like(total, log(smoothing)))
        shares = shares * xp.exp(total - smoothed)[:, None]
        total = smoothed
    return total, shares
