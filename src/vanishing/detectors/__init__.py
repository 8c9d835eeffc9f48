"""Anomaly detectors: a sample is normal if it keeps the equations of normal data."""

from vanishing.detectors.contamination import fit_to_mixed, score_unseen
from vanishing.detectors.selection import Selection, select_without_labels
from vanishing.detectors.transformation import TransformationDetector, image_detector
from vanishing.detectors.vanishing import VanishingDetector

__all__ = [
    "Selection",
    "TransformationDetector",
    "VanishingDetector",
    "fit_to_mixed",
    "image_detector",
    "score_unseen",
    "select_without_labels",
]
