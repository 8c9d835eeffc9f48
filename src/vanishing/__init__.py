"""Vanishing ideals learned from data: the equations that points satisfy, made discriminative.

The public names of the library, imported when they are first used: ``vanishing --help`` and shell
completion must not wait for scikit-learn.
"""

from typing import TYPE_CHECKING

from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.class_features import ClassVanishingFeatures
    from vanishing.detectors.transformation import TransformationDetector
    from vanishing.detectors.vanishing import VanishingDetector
    from vanishing.ideal import VanishingIdeal, vca
    from vanishing.laws import discover, discover_invariants, discover_odes
    from vanishing.persistence import load

__version__ = "0.2.0"

__all__ = [
    "ClassVanishingFeatures",
    "TransformationDetector",
    "VanishingDetector",
    "VanishingIdeal",
    "__version__",
    "discover",
    "discover_invariants",
    "discover_odes",
    "load",
    "vca",
]

__getattr__, __dir__ = import_when_used(
    __name__,
    {
        "ClassVanishingFeatures": "class_features",
        "TransformationDetector": "detectors.transformation",
        "VanishingDetector": "detectors.vanishing",
        "VanishingIdeal": "ideal",
        "discover": "laws",
        "discover_invariants": "laws",
        "discover_odes": "laws",
        "load": "persistence",
        "vca": "ideal",
    },
)
