"""Where normal ends: the offset on the scores."""

from collections.abc import Callable
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vanishing._xp import FloatArray

#: Parts into which rows are split to be left out in turn.
FOLDS = 5
#: Left-out rows that are enough for quantiles: large tables need not leave out every part.
ENOUGH_ROWS = 1000


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
        lowest, lower, upper = finite_quantiles(scores, [0.01, 0.25, 0.75])
        return max(lowest, lower - 1.5 * (upper - lower))
    return finite_quantiles(scores, [contamination])[0]


def finite_quantiles(scores: FloatArray, shares: list[float]) -> list[float]:
    """Return quantiles of scores of which some may be minus infinity, beyond all numbers.

    Where a quantile falls on those, the lowest finite score stands in: all of them are below it.
    """
    finite = scores[np.isfinite(scores)]
    if not finite.size:
        raise ValueError(
            "the scores of all training rows are infinite: their equations overflow; rescale the "
            "data, or lower max_degree"
        )
    return [float(found) for found in np.quantile(np.maximum(scores, finite.min()), shares)]


def on_unseen_rows(
    rows: npt.NDArray[Any],
    fit_and_apply: Callable[[npt.NDArray[Any], npt.NDArray[Any]], FloatArray],
    *,
    seed: int,
) -> FloatArray:
    """Leave parts of the rows out in turn, and return what models of the others say of them.

    Parameters
    ----------
    rows : array of shape (n_rows, ...)
        The rows themselves, or their numbers.
    fit_and_apply : callable
        Takes the rows to fit to and those that were left out, returns one value, or one row of
        values, for each of the latter.
    seed : int

    Returns
    -------
    array of shape (n_unseen, ...)
        In no particular order; not of all rows, if there are many.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(len(rows)), FOLDS)
    values: list[FloatArray] = []
    for part in parts:
        rest = np.delete(rows, part, axis=0)
        values.append(fit_and_apply(rest, rows[part]))
        if sum(map(len, values)) >= ENOUGH_ROWS:
            break
    return np.concatenate(values)


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
    offset = float(np.sort(scores)[::-1][rank - 1])
    if not np.isfinite(offset):
        raise ValueError(
            f"a false alarm rate of {contamination} cannot be guaranteed: the scores of "
            f"{np.sum(~np.isfinite(scores))} of {len(scores)} calibration samples are infinite, "
            "since equations overflow there; rescale the data, or raise contamination"
        )
    return offset


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
