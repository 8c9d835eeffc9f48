"""Anomaly detectors: a sample is normal if it keeps the equations of normal data."""

from vanishing.anomaly.transformation import TransformationDetector
from vanishing.anomaly.vanishing import VanishingDetector

__all__ = ["TransformationDetector", "VanishingDetector"]
