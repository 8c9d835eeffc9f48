"""Rows of which most, and not all, are normal, judged by each other.

A row that is far from all others would be given equations of its own by a fit that sees it. So
parts of the rows are left out of the fit in turn, as for thresholds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from vanishing.arrays.namespace import FloatArray, IntArray, move_to_host, move_to_numpy
from vanishing.arrays.parameters import check_whole
from vanishing.data.inputs import (
    check_new_table,
    check_training_table,
    is_frame,
    make_row_picker,
)
from vanishing.detectors.base import (
    UNUSUAL_SHARE,
    Detector,
    Scored,
    choose_threshold,
    clone_for_scores,
    measure_rounding,
)
from vanishing.detectors.sample_weights import sort_rows
from vanishing.levels import FOLDS


def count_fits(n_rows: int) -> int:
    """Return how many fits ``fit_to_mixed`` makes: one where two rows are not left out."""
    return 1 if UNUSUAL_SHARE * n_rows < 2 else FOLDS + 1


def score_unseen(
    detector: Any,
    X: Any,
    *,
    random_state: int = 0,
    callback: Callable[[int], object] | None = None,
) -> FloatArray:
    """Score every row by a detector that was fitted without it.

    A fifth of the rows is left out of the fit in turn.

    Parameters
    ----------
    detector : detector
        Anything with ``fit`` and ``score_samples``, pipelines included. It is left as it is.
    X : array-like of shape (n_samples, n_features)
        At least 3 rows, and as many as a fit to four fifths of them needs.
    random_state : int, default=0
        Seed of the parts.
    callback : callable, optional
        Called with the number of fits so far, after each of them.

    Returns
    -------
    array of shape (n_samples,)
        As ``score_samples`` returns them, higher is more normal, in the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.detectors import score_unseen
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 200)
    >>> X = np.column_stack([x, x**2 + 0.02 * rng.normal(size=200)])  # near a parabola
    >>> X[7, 1] += 1
    >>> int(np.argmin(score_unseen(VanishingDetector(), X)))
    7
    """
    check_whole("random_state", random_state, 0)
    table, rows_of = _checked(X)
    n_rows = len(table)
    if n_rows < 3:
        raise ValueError(
            f"X has {n_rows} rows, but at least 3 are required to leave some out and fit to others"
        )
    copies = _find_copies(table)
    order = np.random.default_rng(random_state).permutation(len(copies))
    scores = np.empty(n_rows)
    for part, left_out in enumerate(np.array_split(order, min(FOLDS, len(copies))), start=1):
        unseen = copies[left_out].ravel()
        fitted = clone_for_scores(detector).fit(rows_of(np.delete(copies, left_out, 0).ravel()))
        scores[unseen] = move_to_host(fitted.score_samples(rows_of(unseen)))
        if callback is not None:
            callback(part)
    return scores


def fit_to_mixed(
    detector: Detector, X: Any, *, callback: Callable[[int], object] | None = None
) -> Detector:
    """Fit a detector to rows of which most, and not all, are normal.

    The rows that break the equations of the others most, by ``score_unseen``, are left out of the
    fit that counts: a tenth of them, or the share ``contamination`` of the detector, if that is
    more. The threshold is that of all rows.

    Parameters
    ----------
    detector : VanishingDetector or TransformationDetector
        Left as it is. Its ``random_state`` is the seed of the parts; ``calibration`` is refused,
        since its guarantee is about rows that are known to be normal.
    X : array-like of shape (n_samples, n_features)
        With fewer than 20 rows none is left out: that is then ``fit``.
    callback : callable, optional
        Called with the number of fits so far, after each of them; there are 6.

    Returns
    -------
    VanishingDetector or TransformationDetector
        A copy, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.detectors import fit_to_mixed
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 200)
    >>> X = np.column_stack([x, x**2 + 0.02 * rng.normal(size=200)])  # near a parabola
    >>> X[:5, 1] += [1.0, -1.0, 2.0, -2.0, 1.5]
    >>> detector = fit_to_mixed(VanishingDetector(contamination=0.05), X)
    >>> detector.predict(X)[:7]
    array([-1, -1, -1, -1, -1,  1,  1])
    """
    if not isinstance(detector, Detector):
        raise TypeError(
            "expected a VanishingDetector or TransformationDetector, got "
            f"{type(detector).__name__}; score_unseen takes any detector"
        )
    if detector.calibration is not None:
        raise ValueError(
            "calibration needs rows that are known to be normal, which these are not; leave it "
            "out, or fit to known normal rows"
        )
    fitted: Detector = clone(detector)
    table, rows_of = _checked(X)
    one_copy = _find_copies(table)[:, 0]
    n_fits = count_fits(len(one_copy))
    if n_fits == 1:
        fitted.fit(X if is_frame(X) else table)
        return fitted
    rows = rows_of(one_copy)
    scores = score_unseen(detector, rows, random_state=detector.random_state, callback=callback)
    share = detector.contamination
    left_out = max(UNUSUAL_SHARE, 0.0 if share == "auto" else share)
    # No mean of two scores, one of which may be infinite.
    worst = np.quantile(scores, left_out, method="lower")
    better = scores > worst
    if not better.any():  # rows that are all alike
        better = scores == worst
    fitted.fit(rows_of(one_copy[better]))
    final = np.asarray(move_to_host(fitted.score_samples(rows)))
    threshold = choose_threshold(Scored(final), Scored(scores), share)
    normality = fitted.anomaly_score_.score_samples
    rounding = measure_rounding(normality, check_new_table(fitted, rows), share, threshold)
    fitted.offset_ = threshold - rounding
    if callback is not None:
        callback(n_fits)
    return fitted


def _checked(X: Any) -> tuple[Any, Callable[[IntArray], Any]]:
    """Return all rows as an array, and a function that returns some of them as they came."""
    table = check_training_table(BaseEstimator(), X)
    return table, make_row_picker(X, table)


def _find_copies(table: Any) -> IntArray:
    """Return the rows in a fixed order, side by side those that are left out together."""
    rows = sort_rows(move_to_numpy(table))
    n_copies = 1 if len(rows.counts) < 3 else rows.n_copies
    return rows.order.reshape(-1, n_copies)
