"""The threshold of detectors: the score below which a row is anomalous.

The detectors keep it as ``offset_``, as scikit-learn calls it.
"""

from collections.abc import Callable
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betainc
from sklearn.utils.parallel import Parallel, delayed

from vanishing.arrays.blocks import limit_jobs
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    machine_epsilon,
    move_like,
    move_to_host,
    namespace,
    take_rows,
)
from vanishing.data.source import SampleSource, close_after
from vanishing.detectors.sample_weights import quantiles
from vanishing.levels import CHANCE, SAME

# --- Quantiles of scores --------------------------------------------------------------------------

#: Parts into which rows are split to be left out in turn.
FOLDS = 5
#: Rows that are enough for quantiles: the rate of a threshold that one in twenty exceeds is then
#: known to 0.7 %.
ENOUGH_ROWS = 1000
#: Rows that a fit works on at most; of more, so many are drawn: quantiles, means and covariances of
#: all would be about the same.
FITTED_ROWS = 20_000

#: Shares of normal rows that "auto" calls anomalous: the rule of box plots is made for scores like
#: those of a normal distribution, and flags up to a quarter of others.
FEWEST_ANOMALIES, MOST_ANOMALIES = 0.01, 0.05


class Scored(NamedTuple):
    """Scores of rows, higher is more normal, and the weights of the rows."""

    scores: FloatArray
    sample_weight: FloatArray | None = None


def quantile_threshold(
    scores: FloatArray,
    contamination: float | Literal["auto"],
    sample_weight: FloatArray | None = None,
    *,
    most: float = 0.25,
) -> float:
    """Choose the threshold by a quantile of the scores: the share ``contamination`` is below it.

    "auto" is the rule of box plots, one and a half times the distance of the quartiles below the
    lower one, but calls at least one sample in a hundred anomalous, and at most the share ``most``;
    the rule itself never calls more than a quarter anomalous.
    """
    if contamination == "auto":
        shares = [FEWEST_ANOMALIES, most, 0.25, 0.75]
        lowest, highest, lower, upper = finite_quantiles(scores, shares, sample_weight)
        return max(lowest, min(lower - 1.5 * (upper - lower), highest))
    return finite_quantiles(scores, [contamination], sample_weight)[0]


def choose_threshold(
    seen: Scored, unseen: Scored, contamination: float | Literal["auto"], *, most: float = 0.25
) -> float:
    """Choose the threshold of rows of which some were left out of the fit in turn.

    A number is the share of the seen rows. Unseen rows score lower than those that were fitted to,
    if all else is the same. It is not where fits without some rows differ from that to all, by a
    tiny shift of all scores or by other equations: then the rows that were fitted to say what is
    normal.
    """
    threshold = quantile_threshold(seen.scores, contamination, seen.sample_weight, most=most)
    if contamination != "auto":
        return threshold
    of_unseen = quantile_threshold(unseen.scores, "auto", unseen.sample_weight, most=most)
    return min(threshold, of_unseen)


def most_anomalies(n_rows: float) -> float:
    """Return the largest share of normal rows that "auto" calls anomalous.

    With k of n training rows below the threshold, the false alarm rate of new rows has the
    distribution Beta(k + 1, n - k). Small tables get the largest k for which it exceeds three times
    ``MOST_ANOMALIES`` by no more than chance (a one-sided tolerance limit).
    """
    n_rows = min(n_rows, ENOUGH_ROWS)
    below = np.arange(int(MOST_ANOMALIES * n_rows) + 1)
    certain = betainc(below + 1, n_rows - below, 3 * MOST_ANOMALIES) >= 1 - CHANCE
    return min(MOST_ANOMALIES, max(0, int(certain.sum()) - 1) / n_rows)


def finite_quantiles(
    scores: FloatArray, shares: list[float], sample_weight: FloatArray | None = None
) -> list[float]:
    """Return quantiles of scores of which some may be minus infinity, beyond all numbers.

    Where a quantile falls on those, the lowest finite score stands in: all of them are below it.
    """
    finite = scores[np.isfinite(scores)]
    if not finite.size:
        raise ValueError(
            "the scores of all training rows are infinite: their equations overflow; rescale the "
            "data, or lower max_degree"
        )
    bounded = np.maximum(scores, finite.min())
    return [float(found) for found in quantiles(bounded, shares, sample_weight)]


def apply_to_unseen(
    n_rows: int,
    fit_and_apply: Callable[[IntArray, IntArray], FloatArray],
    *,
    seed: int,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Leave parts of the rows out in turn, and return what models of the others say of them.

    ``fit_and_apply`` takes the numbers of the rows to fit to and of those that were left out, and
    returns a value, or a row of values, for each of the latter. The values come with the numbers of
    their rows: in no particular order, and not of all rows, if there are many.
    """
    parts = np.array_split(np.random.default_rng(seed).permutation(n_rows), FOLDS)
    parts = parts[: count_folds(n_rows)]
    values = Parallel(n_jobs=limit_jobs(n_jobs, len(parts)), prefer="threads")(
        delayed(fit_and_apply)(np.delete(np.arange(n_rows), part), part) for part in parts
    )
    return np.concatenate(values), np.concatenate(parts)


def count_folds(n_rows: int) -> int:
    """Return how many parts of the rows are left out in turn: one is enough if it is large."""
    sizes = [n_rows // FOLDS + (part < n_rows % FOLDS) for part in range(FOLDS)]
    return min(FOLDS, 1 + int(np.searchsorted(np.cumsum(sizes), ENOUGH_ROWS)))


def can_leave_out(n_rows: int) -> bool:
    """Return whether each part that is left out has two rows."""
    return n_rows >= 2 * FOLDS


def conformal_threshold(scores: FloatArray, contamination: float) -> float:
    """Choose a threshold by scores of normal samples that were not used in fitting.

    A new normal sample, exchangeable with these, falls below it with at most the probability
    ``contamination`` (split conformal prediction).
    """
    rank = check_attainable(len(scores), contamination)
    threshold = float(np.sort(scores)[::-1][rank - 1])
    if not np.isfinite(threshold):
        raise ValueError(
            f"a false alarm rate of {contamination} cannot be guaranteed: the scores of "
            f"{np.sum(~np.isfinite(scores))} of {len(scores)} calibration samples are infinite, "
            "since equations overflow there; rescale the data, or raise contamination"
        )
    return threshold


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


# --- Rows that differ by no more than rounding errors ---------------------------------------------

#: Units in the last place by which numbers that stand for the same may differ: a relation such as
#: a change of units takes a few operations, and so do the equations that are found.
UNITS = 8


def move_last_digits(X: Array) -> Array:
    """Return the rows with the last digits of all numbers changed, each up or down at random."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=tuple(X.shape))
    xp = namespace(X)
    steps = xp.astype(move_like(UNITS * machine_epsilon(X) * signs, X), X.dtype)
    return X + X * steps


def measure_rounding(
    score: Callable[[Array], Array],
    X: Array | SampleSource,
    contamination: float | Literal["auto"],
    threshold: float,
    *,
    known: FloatArray | None = None,
) -> float:
    """Return how far rounding errors of the training data move a threshold.

    Where equations are exact, scores are made of nothing else. Rows that differ in their last
    digits are not told apart. Zero where scores are far larger, as usual. ``known`` are scores of
    all rows.
    """
    rows = pick_rows(X)
    scores = move_to_host(score(rows)) if known is None else pick_rows(known)
    moved = move_to_host(score(move_last_digits(rows)))
    worse = np.minimum(scores, moved)
    if not np.isfinite(worse).any():
        return 0.0
    rounding = quantile_threshold(scores, contamination) - quantile_threshold(worse, contamination)
    return rounding if rounding > SAME * abs(threshold) else 0.0


def pick_rows(X: Array | SampleSource) -> Array:
    """Return enough rows, spread over all of an array, or the first of a source."""
    if isinstance(X, SampleSource):
        with close_after(X.blocks(ENOUGH_ROWS)) as blocks:
            return next(iter(blocks))
    n_rows = X.shape[0]
    if n_rows <= ENOUGH_ROWS:
        return X
    return take_rows(X, np.linspace(0, n_rows - 1, ENOUGH_ROWS).astype(np.intp))
