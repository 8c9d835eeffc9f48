"""What both detectors share: scores, thresholds, explanations, rows in chunks."""

import warnings
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, ndtri
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import block_rows, limit_jobs, one_thread
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    machine_epsilon,
    move_like,
    move_to_host,
    move_to_numpy,
    namespace,
    take_rows,
)
from vanishing.arrays.parameters import check_whole
from vanishing.data.inputs import (
    NumberRange,
    check_new_points,
    check_new_table,
    check_training_rows,
    get_feature_names,
    is_chunked,
    too_large,
)
from vanishing.data.source import SampleSource, close_after, too_large_to_square
from vanishing.detectors.sample_weights import (
    ENOUGH_ROWS,
    drop_zero_weights,
    mean_and_variance,
    quantiles,
    take_weights,
    total_weight,
)
from vanishing.detectors.score import Normal, Score
from vanishing.equations.text import last_digits
from vanishing.explain.record import Explanation
from vanishing.ideal import VanishingIdeal, warn_of_overflow
from vanishing.levels import BLOCK, FOLDS, LONG_SUM, OUTLYING, SAME
from vanishing.saving import Saveable

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Output, Value

# --- Progress of a fit ----------------------------------------------------------------------------

Callback = Callable[[float], object]


class Progress:
    """Counts the work of a fit, and calls ``callback`` with its share of ``total``, 0 to 1."""

    def __init__(self, callback: Callback | None, total: float) -> None:
        self.callback = callback
        self.total = total
        self.done = 0.0

    def step(self, work: float = 1.0) -> None:
        """Add to the work that is done."""
        self.done += work
        if self.callback is not None:
            self.callback(min(1.0, self.done / self.total))


# --- Rows that are too many to be held at once ----------------------------------------------------


class Moments(NamedTuple):
    """Number of rows, their mean, and the sum of squared deviations from it, by column."""

    n_rows: int
    mean: FloatArray
    squares: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Mean squared deviation of each column."""
        return self.squares / self.n_rows


def find_moments(source: SampleSource) -> Moments:
    """Pass over the rows once."""
    rows = block_rows(2 * source.n_features, cpu=source.cpu)
    return source.map_reduce(_moments_of_block, _merge, max_rows=rows)


def _moments_of_block(x: Array) -> Moments:
    rows = move_to_numpy(x)
    mean = rows.mean(axis=0)
    return Moments(len(rows), mean, np.sum((rows - mean) ** 2, axis=0))


def _merge(first: Moments, second: Moments) -> Moments:
    """Chan, Golub and LeVeque: no difference of large sums is taken."""
    n_rows = first.n_rows + second.n_rows
    step = second.mean - first.mean
    mean = first.mean + step * (second.n_rows / n_rows)
    between = step**2 * (first.n_rows * second.n_rows / n_rows)
    return Moments(n_rows, mean, first.squares + second.squares + between)


def _score_and_warn(score: Score, rows: Array) -> Array:
    """Score rows. Infinite scores of ordinary rows are no overflow: these break exact equations."""
    scores, xp = score.score_samples(rows), namespace(rows)
    if not bool(xp.all(xp.isfinite(scores))):
        is_large = xp.max(xp.abs(rows), axis=1) > xp.finfo(rows.dtype).max ** 0.25
        warn_of_overflow(xp.where(is_large | xp.isnan(scores), scores, 0.0), "scores")
    return scores


def score_blocks(source: SampleSource, score: Callable[[Array], Array]) -> Any:
    """Score the rows block by block: 8 bytes a row in NumPy, lazy for a Dask array."""
    mapped = source.map_rows(score, None)
    if not isinstance(mapped, SampleSource):  # of Dask, which computes it when it is asked
        return mapped
    scores = array("d")  # grows in place, where joining arrays would take twice the memory
    with close_after(source.blocks(block_rows(8 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            scores.frombytes(move_to_numpy(score(block)).tobytes())
    if not scores:
        raise ValueError(f"{source.name} has no rows: at least one row is required")
    return np.frombuffer(scores, dtype=np.float64)


# --- The threshold: quantiles of scores -----------------------------------------------------------

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

    "auto" is the rule of box plots, with at least one sample in a hundred below, but no more than
    the share ``most``, and those that are lower than even skewed distributions reach.
    """
    if contamination == "auto":
        shares = [FEWEST_ANOMALIES, 0.25, 0.5, 0.75]
        lowest, lower, median, upper = finite_quantiles(scores, shares, sample_weight)
        beyond = scores < skewed_fence(lower, median, upper)
        most = min(0.25, most + _least_share(beyond, sample_weight))
        highest = finite_quantiles(scores, [most], sample_weight)[0]
        return min(highest, max(lowest, lower - 1.5 * (upper - lower)))
    return finite_quantiles(scores, [contamination], sample_weight)[0]


def skewed_fence(lower: float, median: float, upper: float) -> float:
    """Return what no score is below, if their distribution is skewed as its quartiles are.

    That is ``OUTLYING`` standard deviations below the median, in steps of the distance of the
    quartiles. Where the lower one is r times as far as the upper one, each step is r times the
    last, as for a logarithm of normal numbers.
    """
    step, steps = max(median - lower, (upper - lower) / 2), OUTLYING / ndtri(0.75)
    if not upper > median:
        return -np.inf
    growth = max(1.0, (median - lower) / (upper - median))
    with np.errstate(over="ignore"):
        reach = steps if growth == 1 else (np.power(growth, steps) - 1) / (growth - 1)
        return float(median - step * reach)


def _least_share(chosen: BoolArray, sample_weight: FloatArray | None) -> float:
    """Return the share of the chosen that is exceeded nine times in ten, given these."""
    total = total_weight(sample_weight, len(chosen))
    count = float(np.sum(chosen if sample_weight is None else sample_weight * chosen))
    return float(betaincinv(count, total - count + 1, UNUSUAL_SHARE)) if count > 0 else 0.0


def choose_threshold(
    seen: Scored, unseen: Scored, contamination: float | Literal["auto"], *, most: float = 0.25
) -> float:
    """Choose the threshold of rows of which some were left out of the fit in turn.

    Unseen rows score lower than those that were fitted to. Where they do not, the fits without
    some rows found other equations: then the rows that were fitted to say what is normal.
    """
    threshold = quantile_threshold(seen.scores, contamination, seen.sample_weight, most=most)
    if contamination != "auto":
        return threshold
    of_unseen = quantile_threshold(unseen.scores, "auto", unseen.sample_weight, most=most)
    return min(threshold, of_unseen)


def most_anomalies(n_rows: float) -> float:
    """Return the largest share of normal rows that "auto" calls anomalous.

    With k of n training rows below the threshold, the false alarm rate of new rows has the
    distribution Beta(k + 1, n - k): k is the largest for which it is at most ``MOST_ANOMALIES``
    nine times in ten (a one-sided tolerance limit).
    """
    n_rows = min(n_rows, ENOUGH_ROWS)
    below = np.arange(int(MOST_ANOMALIES * n_rows) + 1)
    certain = betainc(below + 1, n_rows - below, MOST_ANOMALIES) >= 1 - UNUSUAL_SHARE
    return max(0, int(certain.sum()) - 1) / n_rows


def finite_quantiles(
    scores: FloatArray, shares: list[float], sample_weight: FloatArray | None = None
) -> list[float]:
    """Return quantiles of scores; the lowest finite one stands in for minus infinity."""
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

    ``fit_and_apply`` takes the numbers of the rows to fit to and of those left out. The values
    come with the numbers of their rows, and not of all rows, if there are many.
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

    Where equations are exact, scores are made of nothing else. Zero where scores are far larger.
    ``known`` are scores of all rows.
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


# --- What the detectors share: scikit-learn's contract for outlier detectors, and the threshold ---

#: Share of the training data whose score is not called usual in explanations, and that a fit to
#: mixed rows leaves out.
UNUSUAL_SHARE = 0.1


#: Of the parameters that all detectors have.
PARAMETERS: dict[str, list[Any]] = {
    "contamination": [StrOptions({"auto"}), NumberRange(Real, 0, 0.5, closed="right")],
    "calibration": [NumberRange(Real, 0, 1, closed="neither"), None],
    "random_state": [NumberRange(Integral, 0, None, closed="left")],
}


class Detector(Saveable, OutlierMixin, BaseEstimator):
    """Base of the detectors; subclasses define ``fit``, which sets the score and the threshold."""

    contamination: float | Literal["auto"] = "auto"
    calibration: float | None = None
    random_state: int = 0
    n_features_in_: int
    anomaly_score_: Score
    offset_: float

    @property
    def ideals_(self) -> list[list[VanishingIdeal]]:
        """Ideals per image of the data and cluster."""
        return [[c.ideal for c in part.components] for part in self.anomaly_score_.parts]

    def score_samples(self, X: Any) -> Array:
        """Return minus the anomaly score, so that higher is more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            As for ``VanishingIdeal.fit``.

        Returns
        -------
        array of shape (n_samples,)
            A NumPy array for files and chunks, which are read once; lazy for a Dask array. Minus
            infinity where polynomials overflow, which an ``OverflowWarning`` says.
        """
        check_is_fitted(self)
        # The score alone: the function may travel to the workers of a cluster.
        score = partial(_score_and_warn, self.anomaly_score_)
        if is_chunked(X):
            return score_blocks(check_new_points(self, X), score)
        return score(check_new_table(self, X))

    def decision_function(self, X: Any) -> Array:
        """Return ``score_samples`` minus ``offset_``: negative for anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """Return +1 for normal samples and -1 for anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        int array of shape (n_samples,)
        """
        anomalous = self.decision_function(X) < 0
        xp = namespace(anomalous)
        return 1 - 2 * xp.astype(anomalous, xp.int64)

    def explain(self, X: Any, *, n_equations: int = 5) -> list[Explanation]:
        """Explain which equations each sample breaks, and which features are responsible.

        The counterfactual of a sample is the nearest point that satisfies the equations as well as
        nine of ten training samples. The difference of their scores is attributed to the features
        by integrated gradients. A typical sample has an attribution of 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Few samples: explaining one costs as much as scoring hundreds or thousands.
        n_equations : int, default=5
            Largest number of equations to name.

        Returns
        -------
        list of Explanation
            One for each sample, with its label in the index if X is a pandas frame.
            ``vanishing.plotting.ExplanationDisplay`` draws them.
        """
        check_is_fitted(self)
        index = getattr(X, "index", None)
        rows = None if index is None or callable(index) else list(index)  # lists have a method
        X = move_to_numpy(check_new_table(self, X))
        check_whole("n_equations", n_equations, 0)
        beyond = np.flatnonzero(~np.isfinite(self.anomaly_score_.score_samples(X)))
        if beyond.size:
            raise ValueError(
                f"the score of row {beyond[0]} is not finite: it is too far from normal data "
                "to be explained; leave it out"
            )
        landscape = self.anomaly_score_.landscape
        names = tuple(get_feature_names(self))
        with one_thread():  # of BLAS, whose threads would wait for each other in small products
            found = [landscape.explain(x, n_equations, names) for x in X]
        if rows is None:
            return found
        return [replace(each, row=row) for each, row in zip(found, rows, strict=True)]

    def onnx_outputs(self, graph: "Graph", x: "Value") -> "list[Output]":
        """Add scores, decision and label to an ONNX graph.

        Parameters
        ----------
        graph : Graph
        x : Value
            Of shape (n_samples, n_features).

        Returns
        -------
        list of Output
        """
        from vanishing.equations.onnx import Output  # a fit needs none of it

        scores = -self.anomaly_score_.nodes(graph, x)
        # Infinitely far from every ideal, or not a number: as anomalous as can be.
        scores = graph.where(scores.apply("IsNaN"), -np.inf, scores)
        decision = scores - self.offset_
        label = graph.where(decision < 0.0, -1, 1)
        return [
            Output("scores", scores),
            Output("decision", decision),
            Output("label", label, is_label=True),
        ]

    def _split(self, X: Array) -> tuple[Array, Array | None]:
        """Keep a share of the rows out of the fit, where a guarantee is asked for."""
        if self.calibration is None:
            return X, None
        if self.contamination == "auto":
            raise ValueError(
                "calibration guarantees a rate of false alarms, so contamination must be that "
                "rate, a number such as 0.05, got 'auto'"
            )
        n_rows = X.shape[0]
        n_held_out = round(self.calibration * n_rows)
        if not 0 < n_held_out < n_rows - 1:
            raise ValueError(
                f"calibration={self.calibration} of {n_rows} rows leaves {n_held_out} to calibrate "
                f"on and {n_rows - n_held_out} to fit to; both need at least one"
            )
        check_attainable(n_held_out, self.contamination)
        order = np.random.default_rng(self.random_state).permutation(n_rows)
        return take_rows(X, order[n_held_out:]), take_rows(X, order[:n_held_out])

    def _score_unseen(
        self,
        X: Array,
        fit_score: Callable[[Array, FloatArray | None], Score],
        sample_weight: FloatArray | None,
        n_jobs: int | None = None,
    ) -> Scored | None:
        """Return scores of rows that are left out of the fit in turn, or None if a fit fails."""

        def fit_and_score(rest: IntArray, unseen: IntArray) -> FloatArray:
            fold = fit_score(take_rows(X, rest), take_weights(sample_weight, rest))
            return np.asarray(move_to_host(fold.score_samples(take_rows(X, unseen))))

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said of the fit to all rows
                scores, which = apply_to_unseen(
                    X.shape[0], fit_and_score, seed=self.random_state, n_jobs=n_jobs
                )
        except ValueError:  # nothing vanishes on some of the rows, though it does on all
            return None
        return Scored(scores, take_weights(sample_weight, which))

    def _calibrate(
        self,
        score: Score,
        X: Array | SampleSource,
        held_out: Array | None = None,
        *,
        seen: Scored | None = None,
        unseen: Scored | None = None,
        sample_weight: FloatArray | None = None,
        progress: Progress | None = None,
    ) -> tuple[Score, float]:
        """Return the score, with what explanations compare with, and the threshold.

        ``held_out`` are rows for a guaranteed rate of false alarms, ``seen`` rows of X whose scores
        are known, ``unseen`` rows that were left out of the fit in turn; ``seen`` stand in for
        them.
        """
        known = None
        if seen is None:
            seen = Scored(_score_rows(score, X, progress), sample_weight)
        elif not isinstance(X, SampleSource) and len(seen.scores) == X.shape[0]:
            known = seen.scores
        unseen = seen if unseen is None else unseen
        usual = -finite_quantiles(unseen.scores, [UNUSUAL_SHARE], unseen.sample_weight)[0]
        mean, spread = _means_and_spreads(X, sample_weight)
        # A constant column, whose spread is rounding, is measured in units of its size.
        constant = spread <= LONG_SUM * np.abs(mean)
        spread = np.where(constant, np.abs(mean) + 1.0, spread)
        if held_out is None:
            most = most_anomalies(total_weight(seen.sample_weight, len(seen.scores)))
            threshold = choose_threshold(seen, unseen, self.contamination, most=most)
        else:
            assert self.contamination != "auto"
            held_out_scores = move_to_host(score.score_samples(held_out))
            threshold = conformal_threshold(held_out_scores, self.contamination)
        rounding = measure_rounding(
            score.score_samples, X, self.contamination, threshold, known=known
        )
        units = None
        if not isinstance(X, SampleSource):
            units = last_digits(move_to_numpy(pick_rows(X)))
        normal = Normal(usual + rounding, mean, spread, units)
        return replace(score, normal=normal), threshold - rounding


def _score_rows(score: Score, X: Array | SampleSource, progress: Progress | None) -> FloatArray:
    """Return the scores of all rows; tell of those that are done."""
    if isinstance(X, SampleSource):
        return np.asarray(score_blocks(X, score.score_samples))
    parts, at_a_time = [], max(1, BLOCK // X.shape[1])
    for start in range(0, X.shape[0], at_a_time):
        rows = X[start : start + at_a_time, :]
        parts.append(np.asarray(move_to_host(score.score_samples(rows))))
        if progress is not None:
            progress.step(len(parts[-1]))
    return np.concatenate(parts)


def clone_for_scores(detector: Any) -> Any:
    """Return a copy of a detector that is used for scores only: its threshold is cheap."""
    copied = clone(detector)
    if isinstance(copied, Detector) and copied.contamination == "auto":
        copied.contamination = 0.1  # any number: "auto" leaves rows out of further fits
    return copied


def check_rows(
    detector: Detector, X: Any, sample_weight: Any
) -> tuple[Array | SampleSource, FloatArray | None]:
    """Check training data, and record its width and names; return rows of positive weight."""
    if sample_weight is not None and detector.calibration is not None:
        raise ValueError(
            "calibration guarantees a rate of false alarms for rows that are exchangeable, "
            "which rows with a sample_weight are not; leave one of the two out"
        )
    rows = check_training_rows(detector, X)
    if isinstance(rows, SampleSource):
        if sample_weight is not None:
            raise too_large("sample_weight of a detector")
        return rows, None
    rows, sample_weight = drop_zero_weights(rows, sample_weight)
    check_sizes(rows)
    return rows, sample_weight


def refuse_streams(needs: Mapping[str, bool], remedy: str) -> None:
    """Raise if something that is asked for needs all rows of a source at once."""
    for what, is_asked_for in needs.items():
        if is_asked_for:
            raise ValueError(f"{too_large(what)}, or {remedy}")


def check_sizes(rows: Array) -> None:
    """Raise if squares of the numbers overflow, or underflow."""
    if (place := too_large_to_square(rows)) is not None:
        raise ValueError(
            f"X holds {float(rows[place]):.3g} in column {place[1]}, too large to be squared; "
            "rescale the column, or leave such rows out"
        )
    largest = float(namespace(rows).max(namespace(rows).abs(rows)))
    if 0 < largest < float(np.finfo(np.float64).tiny) ** 0.5:
        raise ValueError(
            f"X holds numbers of at most {largest:.0e} in size, too small to be squared; rescale "
            "the data before fitting"
        )


def _means_and_spreads(
    X: Array | SampleSource, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column."""
    if isinstance(X, SampleSource):
        of_rows = find_moments(X)
        return of_rows.mean, np.sqrt(of_rows.variance)
    rows = np.asarray(move_to_host(X), dtype=np.float64)
    mean, variance = mean_and_variance(rows, sample_weight)
    return mean, np.sqrt(variance)
