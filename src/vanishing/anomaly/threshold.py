"""Where normal ends: the offset on the scores."""

from math import ceil
from typing import Literal

import numpy as np

from vanishing._xp import FloatArray


def quantile_offset(scores: FloatArray, contamination: float | Literal["auto"]) -> float:
    """Choose an offset below which samples are anomalous.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Of the training data, higher is more normal.
    contamination : float or "auto"
        Share of the training data below the offset. "auto" is the rule of box plots, one and a
        half times the distance of the quartiles below the lower one, but calls at least one
        sample in a hundred anomalous.
    """
    if contamination == "auto":
        lowest, lower, upper = np.quantile(scores, [0.01, 0.25, 0.75])
        return float(max(lowest, lower - 1.5 * (upper - lower)))
    return float(np.percentile(scores, 100.0 * contamination))


def conformal_offset(scores: FloatArray, contamination: float) -> float:
    """Choose an offset with a guaranteed rate of false alarms.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Of normal samples that were not used in fitting.
    contamination : float
        A new normal sample, exchangeable with these, falls below the offset with at most this
        probability (split conformal prediction).
    """
    rank = check_attainable(len(scores), contamination)
    return float(np.sort(scores)[::-1][rank - 1])


def check_attainable(n_samples: int, contamination: float) -> int:
    """Return the rank of the conformal threshold, or raise if there are too few samples for it."""
    rank = ceil((n_samples + 1) * (1 - contamination))
    if rank > n_samples:
        raise ValueError(
            f"a false alarm rate of {contamination} cannot be guaranteed with {n_samples} "
            f"calibration samples: at least {ceil(1 / contamination) - 1} are required; raise "
            "contamination or calibration"
        )
    return rank
