"""What the detectors share: scikit-learn's contract for outlier detectors, and the threshold."""

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.threshold import check_attainable, conformal_offset, quantile_offset
from vanishing.estimators.inputs import DTYPES


class Detector(OutlierMixin, BaseEstimator):
    """Base of the detectors; subclasses define ``fit`` and ``_score``."""

    contamination: float | Literal["auto"]
    calibration: float | None
    random_state: int
    offset_: float

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

    def _offset(self, train_scores: FloatArray, held_out_scores: FloatArray | None) -> float:
        if held_out_scores is None:
            return quantile_offset(train_scores, self.contamination)
        assert self.contamination != "auto"
        return conformal_offset(held_out_scores, self.contamination)
