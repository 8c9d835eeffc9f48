"""Estimators in the manner of scikit-learn."""

from vanishing.estimators import onnx  # noqa: F401  (tells export about the estimators)
from vanishing.estimators.class_features import ClassVanishingFeatures
from vanishing.estimators.fitting import InterpolationWarning, UndecidedWarning
from vanishing.estimators.ideal import VanishingIdeal

__all__ = ["ClassVanishingFeatures", "InterpolationWarning", "UndecidedWarning", "VanishingIdeal"]
