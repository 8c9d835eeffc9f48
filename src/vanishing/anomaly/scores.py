"""The score of the paper (eq. score), in log space.

Components j = (k, c) are ideals: piece c of the data under transformation T_k; with one piece this
is the paper. D_j(z) = ‖G_j(z) - c_j‖² is the squared deviation of a point from ideal j. For
z = T_i x

    P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   Score(x) = -Σ_i log P_i(x).
"""

import numpy as np
from scipy.special import logsumexp

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
    ours = logsumexp(-deviations[:, own], axis=1)
    all_of_them = logsumexp(-deviations, axis=1)
    if smoothing > 0:
        ours = np.logaddexp(ours, np.log(smoothing))
        all_of_them = np.logaddexp(all_of_them, np.log(n_transformations * smoothing))
    return np.asarray(all_of_them - ours)
