"""What the detectors share: scikit-learn's contract for outlier detectors, and the threshold."""

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain import Explanation, Landscape
from vanishing.anomaly.threshold import check_attainable, conformal_offset, quantile_offset
from vanishing.estimators.inputs import DTYPES

#: Share of the training data whose score is called usual in explanations.
USUAL = 0.9


class Detector(OutlierMixin, BaseEstimator):
    """Base of the detectors; subclasses define ``fit`` and ``_score``."""

    contamination: float | Literal["auto"]
    calibration: float | None
    random_state: int
    offset_: float
    #: What explanations compare with: usual score, means and spreads of the training data.
    _usual_score: float
    _mean_row: FloatArray
    _spread_row: FloatArray

    def score_samples(self, X: Any) -> FloatArray:
        """Return minus the anomaly score, so that higher is more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._score(validate_data(self, X, dtype=DTYPES, reset=False))

    def _score(self, X: FloatArray) -> FloatArray:
        """Score checked rows."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """Return ``score_samples`` minus ``offset_``: negative for anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> IntArray:
        """Return +1 for normal samples and -1 for anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        int array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _split(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Keep a share of the rows out of the fit, where a guarantee is asked for."""
        if self.calibration is None:
            return X, None
        if self.contamination == "auto":
            raise ValueError(
                "calibration guarantees a rate of false alarms, so contamination must be that "
                "rate, a number such as 0.05, got 'auto'"
            )
        n_held_out = round(self.calibration * len(X))
        if not 0 < n_held_out < len(X) - 1:
            raise ValueError(
                f"calibration={self.calibration} of {len(X)} rows leaves {n_held_out} to calibrate "
                f"on and {len(X) - n_held_out} to fit; both need some"
            )
        check_attainable(n_held_out, self.contamination)
        order = np.random.default_rng(self.random_state).permutation(len(X))
        return X[order[n_held_out:]], X[order[:n_held_out]]

    def _finish(self, X: FloatArray, held_out: FloatArray | None) -> None:
        """Set the threshold, and what explanations need to know of the training data."""
        scores = self._score(X)
        self._usual_score = -float(np.quantile(scores, 1 - USUAL))
        self._mean_row = X.mean(axis=0, dtype=np.float64)
        spread = X.std(axis=0, dtype=np.float64)
        # A constant column is measured in units of its size.
        self._spread_row = np.where(spread > 0, spread, np.abs(self._mean_row) + 1.0)
        if held_out is None:
            self.offset_ = quantile_offset(scores, self.contamination)
        else:
            assert self.contamination != "auto"
            self.offset_ = conformal_offset(self._score(held_out), self.contamination)

    def explain(self, X: Any, *, n_equations: int = 5) -> list[Explanation]:
        """Say for each sample which equations it breaks, and which features break them.

        The difference between the score of a sample and that of its projection, the nearest point
        that keeps the equations as well as nine of ten training samples, is shared out among the
        features by integrated gradients. A sample that does so itself has shares of 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Few samples: each costs as much as scoring hundreds.
        n_equations : int, default=5
            Equations to name, at most.

        Returns
        -------
        list of Explanation
            One for each sample. ``vanishing.plotting.ExplanationDisplay`` draws them.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=DTYPES, reset=False).astype(np.float64)
        if n_equations < 0:
            raise ValueError(f"n_equations must not be negative, got {n_equations}")
        beyond = np.flatnonzero(~np.isfinite(self._score(X)))
        if beyond.size:
            raise ValueError(
                f"the score of row {beyond[0]} is not finite: it is too far from normal data for "
                "its score to be shared out among features; leave it out"
            )
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        landscape = self._landscape()
        return [landscape.explain(x, n_equations, tuple(map(str, names))) for x in X]

    def _landscape(self) -> Landscape:
        """Return the score as a function of the features."""
        raise NotImplementedError
