"""Anomaly detectors: a sample is normal if it satisfies the equations of normal data."""

from typing import TYPE_CHECKING

from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.detectors.christoffel import ChristoffelDetector
    from vanishing.detectors.contamination import fit_to_mixed, score_unseen
    from vanishing.detectors.preprocessing import OrientedGradients
    from vanishing.detectors.selection import Selection, image_anomalies, select_without_labels
    from vanishing.detectors.transformation import TransformationDetector, image_detector
    from vanishing.detectors.vanishing import VanishingDetector

__all__ = [
    "ChristoffelDetector",
    "OrientedGradients",
    "Selection",
    "TransformationDetector",
    "VanishingDetector",
    "fit_to_mixed",
    "image_anomalies",
    "image_detector",
    "score_unseen",
    "select_without_labels",
]

__getattr__, __dir__ = import_when_used(
    __name__,
    {
        "ChristoffelDetector": "christoffel",
        "OrientedGradients": "preprocessing",
        "Selection": "selection",
        "TransformationDetector": "transformation",
        "VanishingDetector": "vanishing",
        "fit_to_mixed": "contamination",
        "image_anomalies": "selection",
        "image_detector": "transformation",
        "score_unseen": "contamination",
        "select_without_labels": "selection",
    },
)
