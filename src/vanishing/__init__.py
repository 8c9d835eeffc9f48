"""Vanishing ideals learned from data: the equations that points satisfy, made discriminative.

The public names of the library.
"""

from vanishing.anomaly import TransformationDetector, VanishingDetector
from vanishing.estimators import ClassVanishingFeatures, VanishingIdeal
from vanishing.persistence import load

__version__ = "0.1.0.dev0"

__all__ = [
    "ClassVanishingFeatures",
    "TransformationDetector",
    "VanishingDetector",
    "VanishingIdeal",
    "__version__",
    "load",
]
