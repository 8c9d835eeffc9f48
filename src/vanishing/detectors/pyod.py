"""VanishingOD: the detectors as a detector of PyOD."""

from typing import Any, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import FloatArray
from vanishing.data.inputs import refuse_points_as_y
from vanishing.detectors.base import Detector, clone_for_scores
from vanishing.detectors.vanishing import VanishingDetector

try:
    from pyod.models.base import BaseDetector
except ImportError as error:
    reason = error

    class BaseDetector:  # type: ignore[no-redef]
        """Stands in for PyOD's, so that VanishingOD can be looked at but not made without it."""

        def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
            """Raise, in unpickling too."""
            raise ImportError(
                f'{cls.__name__} needs PyOD: pip install "vanishing[pyod]"'
            ) from reason


#: Scores end here: PyOD rescales and averages them, which infinity does not survive. Its square
#: is still far from overflow.
LARGEST_SCORE = float(np.finfo(np.float32).max)


class VanishingOD(BaseDetector):
    """A detector of this library with PyOD's scores and labels.

    Scores are minus those of the detector, so that larger is more anomalous, and labels are 1 for
    anomalies and 0 for the rest. Everything that PyOD derives from scores, such as
    ``predict_proba``, ``predict_confidence`` and ensembles, comes from PyOD itself.

    Parameters
    ----------
    detector : VanishingDetector, another detector or None, default=None
        None stands for ``VanishingDetector()``. A copy is fitted. Its own threshold is not used,
        so ``contamination`` and ``calibration`` have to be left out there.
    contamination : float, default=0.1
        Share of the training data that is labelled 1; it sets ``threshold_``. PyOD also
        takes a thresholder of the package pythresh.

    Attributes
    ----------
    detector_ : Detector
        Fitted.
    decision_scores_ : array of shape (n_samples,)
        Scores of the training data.
    threshold_ : float
        Larger scores are labelled 1.
    labels_ : int array of shape (n_samples,)
        Labels of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.detectors.pyod import VanishingOD
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> normal = np.column_stack([x, x**2 + 0.02 * rng.normal(size=500)])  # near a parabola
    >>> new = np.array([[0.5, 0.25], [0.5, 0.6]])
    >>> detector = VanishingOD(contamination=0.02).fit(normal)  # doctest: +SKIP
    >>> detector.predict(new)  # doctest: +SKIP
    array([0, 1])
    """

    def __init__(
        self,
        detector: Detector | None = None,
        *,
        contamination: Any = 0.1,
    ) -> None:
        super().__init__(contamination=contamination)
        self.detector = detector

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the detector, score the training data and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._check_parameters()
        detector = VanishingDetector() if self.detector is None else clone_for_scores(self.detector)
        detector.fit(X)
        before = vars(self).copy()
        try:
            self.detector_ = detector
            self.decision_scores_ = self.decision_function(X)
            # With y PyOD would give predict_proba as many columns as y has values.
            self._set_n_classes(None)
            self._process_decision_scores()
        except BaseException:  # a fit that fails leaves the estimator as it was
            self.__dict__ = before
            raise
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return anomaly scores, larger for more anomalous samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "detector_")
        return np.asarray(np.minimum(-self.detector_.score_samples(X), LARGEST_SCORE))

    def _check_parameters(self) -> None:
        detector, contamination = self.detector, self.contamination
        if not isinstance(detector, Detector | None):
            raise ValueError(
                f"detector must be a VanishingDetector, another detector or None, got {detector!r}"
            )
        # PyOD takes whatever is not a Python number for a thresholder, a float32 too.
        is_share = isinstance(contamination, float)
        if not (0 < contamination <= 0.5 if is_share else hasattr(contamination, "fit")):
            raise ValueError(
                "contamination must be a float in (0, 0.5], the fraction of the training data that "
                f"is labeled 1, or a thresholder of pythresh, got {contamination!r}"
            )
        unused = [
            name
            for name, default in (("contamination", "auto"), ("calibration", None))
            if detector is not None and getattr(detector, name) != default
        ]
        if unused:
            raise ValueError(
                f"{' and '.join(unused)} of the detector would have no effect: PyOD sets its own "
                f"threshold; leave them out, and pass contamination to {type(self).__name__}"
            )
