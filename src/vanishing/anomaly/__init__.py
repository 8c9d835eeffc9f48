"""Anomaly detectors: a sample is normal if it keeps the equations of normal data."""

from vanishing.anomaly import onnx  # noqa: F401  (tells export about the detectors)
from vanishing.anomaly.images import image_detector
from vanishing.anomaly.mixed import fit_to_mixed, score_unseen
from vanishing.anomaly.selection import Selection, select_without_labels
from vanishing.anomaly.transformation import TransformationDetector
from vanishing.anomaly.vanishing import VanishingDetector

__all__ = [
    "Selection",
    "TransformationDetector",
    "VanishingDetector",
    "fit_to_mixed",
    "image_detector",
    "score_unseen",
    "select_without_labels",
]
