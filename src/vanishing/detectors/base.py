"""What both detectors share: scores, thresholds, explanations, rows in chunks."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    move_to_host,
    move_to_numpy,
    namespace,
    take_rows,
)
from vanishing.data.dask import DaskSource
from vanishing.data.inputs import (
    check_new_points,
    check_new_table,
    check_training_rows,
    is_chunked,
    too_large,
)
from vanishing.data.source import SampleSource, close_after, too_large_to_square
from vanishing.detectors.sample_weights import counted, mean_and_variance
from vanishing.detectors.threshold import (
    MOST_ANOMALIES,
    Scored,
    check_attainable,
    conformal_offset,
    finite_quantiles,
    last_digits_moved,
    quantile_offset,
    some_rows,
)
from vanishing.explain.attribution import Landscape
from vanishing.explain.record import Explanation
from vanishing.ideal import HasIdeal
from vanishing.polynomials.monomials import variable_names
from vanishing.saving import Saveable

# --- What detectors need to know of rows that are too many to be held at once ---------------------

#: Numbers of the rows that contrasts are made of.
DRAWN_NUMBERS = 2**22


class Moments(NamedTuple):
    """Number of rows, their mean, and the sum of squared deviations from it, by column."""

    n_rows: int
    mean: FloatArray
    squares: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Mean squared deviation of each column."""
        return self.squares / self.n_rows


def moments(source: SampleSource) -> Moments:
    """Pass over the rows once."""
    rows = block_rows(2 * source.n_features, cpu=source.cpu)
    return source.map_reduce(_of_block, _joined, max_rows=rows)


def _of_block(x: Array) -> Moments:
    rows = move_to_numpy(x)
    mean = rows.mean(axis=0)
    return Moments(len(rows), mean, np.sum((rows - mean) ** 2, axis=0))


def _joined(first: Moments, second: Moments) -> Moments:
    """Chan, Golub and LeVeque: no difference of large sums is taken."""
    n_rows = first.n_rows + second.n_rows
    step = second.mean - first.mean
    mean = first.mean + step * (second.n_rows / n_rows)
    between = step**2 * (first.n_rows * second.n_rows / n_rows)
    return Moments(n_rows, mean, first.squares + second.squares + between)


def scores_of(source: SampleSource, score: Callable[[Array], Array]) -> Any:
    """Score the rows block by block.

    Returns
    -------
    array of shape (n_samples,)
        Of NumPy, 8 bytes a row; lazy for the rows of a Dask array.
    """
    if isinstance(source, DaskSource):
        return source.map_rows(score, None)
    scores = array("d")  # grows in place, where joining arrays would take twice the memory
    with close_after(source.blocks(block_rows(8 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            scores.frombytes(move_to_numpy(score(block)).tobytes())
    if not scores:
        raise ValueError(f"{source.name} has no rows: at least one row is required")
    return np.frombuffer(scores, dtype=np.float64)


def drawn_rows(source: SampleSource, *, seed: int) -> FloatArray:
    """Draw rows without replacement, as many as there are up to a bound, in their order.

    Every row gets a random number, and those with the smallest are kept: all are equally likely
    to be drawn, whatever the blocks.
    """
    most = max(2, DRAWN_NUMBERS // source.n_features)
    rng = np.random.default_rng(seed)
    kept: list[FloatArray] = []
    keys = np.empty(0)
    with close_after(source.blocks(block_rows(2 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            new = rng.random(int(block.shape[0]))
            highest = np.inf if len(keys) < most else float(keys.max())
            chosen = np.flatnonzero(new < highest)
            if not chosen.size:
                continue
            rows = np.concatenate([*kept, move_to_host(take_rows(block, chosen))])
            keys = np.concatenate([keys, new[chosen]])
            if len(keys) > most:
                lowest = np.sort(np.argpartition(keys, most)[:most])
                rows, keys = rows[lowest], keys[lowest]
            kept = [rows]
    return np.asarray(kept[0], dtype=np.float64)


# --- What the detectors share: scikit-learn's contract for outlier detectors, and the threshold ---

#: Share of the training data whose score is called usual in explanations.
USUAL = 0.9
#: Rows that are scored to see what rounding does, at most.
ROUNDED_ROWS = 1000
#: Rounding that moves a threshold by a smaller part of it is left out.
NEGLIGIBLE = 1e-6


class Detector(HasIdeal, Saveable, OutlierMixin, BaseEstimator):
    """Base of the detectors; subclasses define ``fit`` and ``_score``."""

    contamination: float | Literal["auto"]
    calibration: float | None
    random_state: int
    n_features_in_: int
    offset_: float
    #: What explanations compare with: usual score, means and spreads of the training data.
    _usual_score: float
    _mean_row: FloatArray
    _spread_row: FloatArray

    def score_samples(self, X: Any) -> Array:
        """Return minus the anomaly score, so that higher is more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            As for ``VanishingIdeal.fit``.

        Returns
        -------
        array of shape (n_samples,)
            Of files and chunks, which are read once, a NumPy array; lazy for a Dask array.
        """
        check_is_fitted(self)
        if is_chunked(X):
            return scores_of(check_new_points(self, X), self._score)
        return self._score(check_new_table(self, X))

    def _score(self, X: Array) -> Array:
        """Score checked rows, in their array library."""
        raise NotImplementedError

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

    def _checked_rows(self, X: Any, sample_weight: Any) -> tuple[Any, FloatArray | None]:
        """Check training data: rows in an array or a source, and how often each counts."""
        if sample_weight is not None and self.calibration is not None:
            raise ValueError(
                "calibration guarantees a rate of false alarms for rows that are exchangeable, "
                "which rows with a sample_weight are not; leave one of the two out"
            )
        rows = check_training_rows(self, X)
        if isinstance(rows, SampleSource):
            if sample_weight is not None:
                raise too_large("sample_weight of a detector")
            return rows, None
        rows, counts = counted(rows, sample_weight)
        if (place := too_large_to_square(rows)) is not None:
            raise ValueError(
                f"X holds {float(rows[place]):.3g} in column {place[1]}, too large to be squared; "
                "rescale the column, or leave such rows out"
            )
        return rows, counts

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
                f"on and {n_rows - n_held_out} to fit; both need some"
            )
        check_attainable(n_held_out, self.contamination)
        order = np.random.default_rng(self.random_state).permutation(n_rows)
        return take_rows(X, order[n_held_out:]), take_rows(X, order[:n_held_out])

    def _finish(
        self,
        X: Array | SampleSource,
        held_out: Array | None,
        scores: FloatArray | None = None,
        unseen: Scored | None = None,
        counts: FloatArray | None = None,
    ) -> None:
        """Set the threshold, and what explanations need to know of the training data.

        ``unseen`` are rows that were left out of the fit in turn; without them those of the
        training data stand in. ``counts`` say how often each row of X counts.
        """
        if scores is None:
            streamed = isinstance(X, SampleSource)
            scores = (
                np.asarray(scores_of(X, self._score)) if streamed else move_to_host(self._score(X))
            )
        seen = Scored(scores, counts)
        unseen = seen if unseen is None else unseen
        self._usual_score = -finite_quantiles(unseen.scores, [1 - USUAL], unseen.counts)[0]
        self._mean_row, spread = _means_and_spreads(X, counts)
        # A constant column, whose spread is rounding, is measured in units of its size.
        constant = spread <= 1e-12 * np.abs(self._mean_row)
        self._spread_row = np.where(constant, np.abs(self._mean_row) + 1.0, spread)
        if held_out is None:
            self.offset_ = self._offset(seen, unseen)
        else:
            assert self.contamination != "auto"
            held_out_scores = move_to_host(self._score(held_out))
            self.offset_ = conformal_offset(held_out_scores, self.contamination)
        rounding = self._rounding(X, self.offset_)
        self.offset_ -= rounding
        self._usual_score += rounding

    def _offset(self, seen: Scored, unseen: Scored) -> float:
        """Return the threshold, up to rounding.

        Unseen rows score lower than those that were fitted to, if all else is the same. It is not
        where fits without some rows differ from that to all, by a tiny shift of all scores or by
        other equations: then the rows that were fitted to say what is normal.
        """
        share = self.contamination
        offset = quantile_offset(seen.scores, share, seen.counts, most=MOST_ANOMALIES)
        if share == "auto":
            of_unseen = quantile_offset(unseen.scores, share, unseen.counts, most=MOST_ANOMALIES)
            offset = min(offset, of_unseen)
        return offset

    def _rounding(self, X: Array | SampleSource, offset: float) -> float:
        """Return how far rounding errors of the training data move a threshold.

        Where equations are exact, scores are made of nothing else. Rows that differ in their last
        digits are not told apart. Zero where scores are far larger, as usual.
        """
        rows = some_rows(X, ROUNDED_ROWS)
        scores, moved = (move_to_host(self._score(x)) for x in (rows, last_digits_moved(rows)))
        worse = np.minimum(scores, moved)
        if not np.isfinite(worse).any():
            return 0.0
        share = self.contamination
        rounding = quantile_offset(scores, share) - quantile_offset(worse, share)
        return rounding if rounding > NEGLIGIBLE * abs(offset) else 0.0

    def explain(self, X: Any, *, n_equations: int = 5) -> list[Explanation]:
        """Say for each sample which equations it breaks, and which features break them.

        The difference between the score of a sample and that of its projection, the nearest point
        that keeps the equations as well as nine of ten training samples, is shared out among the
        features by integrated gradients. A sample that does so itself has shares of 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Few samples: each costs as much as scoring hundreds or thousands.
        n_equations : int, default=5
            Equations to name, at most.

        Returns
        -------
        list of Explanation
            One for each sample. ``vanishing.plotting.ExplanationDisplay`` draws them.
        """
        check_is_fitted(self)
        X = move_to_numpy(check_new_table(self, X))
        if n_equations < 0:
            raise ValueError(f"n_equations must not be negative, got {n_equations}")
        names = getattr(self, "feature_names_in_", variable_names(X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.flatnonzero(~np.isfinite(self._score(X)))
            if beyond.size:
                raise ValueError(
                    f"the score of row {beyond[0]} is not finite: it is too far from normal data "
                    "for its score to be shared out among features; leave it out"
                )
        return list(self._explanations(X, n_equations, tuple(map(str, names))))

    def _explanations(
        self, X: FloatArray, n_equations: int, names: tuple[str, ...]
    ) -> Iterator[Explanation]:
        """Explain checked rows of finite score one by one, as they are asked for."""
        landscape = self._landscape()
        for x in X:
            # Far from normal data, equations that do not count any more may overflow.
            with np.errstate(over="ignore", invalid="ignore"):
                explanation = landscape.explain(x, n_equations, names)
            yield explanation

    def _landscape(self) -> Landscape:
        """Return the score as a function of the features."""
        raise NotImplementedError


def _means_and_spreads(
    X: Array | SampleSource, counts: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column."""
    if isinstance(X, SampleSource):
        of_rows = moments(X)
        return of_rows.mean, np.sqrt(of_rows.variance)
    if counts is not None:
        mean, variance = mean_and_variance(np.asarray(move_to_host(X), dtype=np.float64), counts)
        return mean, np.sqrt(variance)
    xp = namespace(X)
    doubles = xp.astype(X, xp.float64, copy=False)
    return move_to_numpy(xp.mean(doubles, axis=0)), move_to_numpy(xp.std(doubles, axis=0))
