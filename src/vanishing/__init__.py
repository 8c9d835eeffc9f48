"""Vanishing ideals learned from data: the equations that points satisfy, made discriminative.

The public names of the library, imported when they are first used: ``vanishing --help`` and shell
completion must not wait for scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vanishing.class_features import ClassVanishingFeatures
    from vanishing.detectors.transformation import TransformationDetector
    from vanishing.detectors.vanishing import VanishingDetector
    from vanishing.ideal import VanishingIdeal
    from vanishing.laws import discover
    from vanishing.persistence import load

__version__ = "0.1.0.dev0"

__all__ = [
    "ClassVanishingFeatures",
    "TransformationDetector",
    "VanishingDetector",
    "VanishingIdeal",
    "__version__",
    "discover",
    "load",
]

_HOMES = {
    "ClassVanishingFeatures": "vanishing.class_features",
    "TransformationDetector": "vanishing.detectors",
    "VanishingDetector": "vanishing.detectors",
    "VanishingIdeal": "vanishing.ideal",
    "discover": "vanishing.laws",
    "load": "vanishing.persistence",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vanishing' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
