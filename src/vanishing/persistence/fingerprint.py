"""Which data a model was fitted to, without the data."""

import hashlib
from typing import Any

import numpy as np

from vanishing.anomaly.detector import Detector
from vanishing.estimators import ClassVanishingFeatures, VanishingIdeal


def fingerprint(model: Any) -> str:
    """Return a digest of the statistics of the training data that a fitted model holds.

    Models of one class that were fitted to the same data with the same parameters have the same
    fingerprint, and other data has another one: means and spreads of the columns for a detector,
    the extents of all polynomials, of every degree, for an ideal.

    Parameters
    ----------
    model : fitted estimator
    """
    found = hashlib.sha256()
    for name in getattr(model, "feature_names_in_", ()):
        found.update(repr(str(name)).encode())
    for statistic in _statistics(model):
        found.update(repr(statistic.shape).encode())
        found.update(np.ascontiguousarray(statistic, dtype="<f8").data)
    return found.hexdigest()[:16]


def _statistics(model: Any) -> list[Any]:
    if isinstance(model, Detector):
        return [model._mean_row, model._spread_row]
    ideals = model.ideals_ if isinstance(model, ClassVanishingFeatures) else [model]
    assert all(isinstance(ideal, VanishingIdeal) for ideal in ideals)
    return [step.spectrum for ideal in ideals for step in ideal.trace_]
