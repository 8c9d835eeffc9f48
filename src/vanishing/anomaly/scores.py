"""The score of the paper (eq. score), in log space.

Components j = (k, c) are ideals: piece c of the data under transformation T_k; with one piece this
is the paper. D_j(z) = ‖G_j(z) - c_j‖² is the squared deviation of a point from ideal j. For
z = T_i x

    P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   Score(x) = -Σ_i log P_i(x).
"""

import numpy as np
from scipy.special import expit, logsumexp

from vanishing._xp import FloatArray


def negative_log_probability(deviations: FloatArray, own: slice, smoothing: float) -> FloatArray:
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
    return np.asarray(every - ours)


def value_and_slopes(
    deviations: FloatArray, own: slice, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Return -log P_i and its derivative with respect to each D_j; parameters as above.

    The derivative is what the own components gain less what all of them hold.
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every, slopes = smoothed_log_sum(-deviations, n_transformations * smoothing)
    ours, our_shares = smoothed_log_sum(-deviations[:, own], smoothing)
    slopes *= -1
    slopes[:, own] += our_shares
    return every - ours, slopes


def smoothed_log_sum(exponents: FloatArray, smoothing: float) -> tuple[FloatArray, FloatArray]:
    """Return log(Σ_j e^{a_j} + ε) for each row, and the share of each term in the sum."""
    total = logsumexp(exponents, axis=1)
    shares = np.exp(exponents - total[:, None])
    if smoothing > 0:
        shares *= expit(total - np.log(smoothing))[:, None]
        total = np.logaddexp(total, np.log(smoothing))
    return total, shares
