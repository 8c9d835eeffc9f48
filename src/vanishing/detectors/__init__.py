"""Anomaly detectors: a sample is normal if it satisfies the equations of normal data."""

from typing import TYPE_CHECKING

from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.detectors.christoffel import ChristoffelDetector
    from vanishing.detectors.preprocessing import OrientedGradients
    from vanishing.detectors.transformation import TransformationDetector, image_detector
    from vanishing.detectors.unlabeled import (
        Selection,
        fit_to_mixed,
        image_anomalies,
        score_unseen,
        select_without_labels,
    )
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
        "Selection": "unlabeled",
        "TransformationDetector": "transformation",
        "VanishingDetector": "vanishing",
        "fit_to_mixed": "unlabeled",
        "image_anomalies": "unlabeled",
        "image_detector": "transformation",
        "score_unseen": "unlabeled",
        "select_without_labels": "unlabeled",
    },
)
