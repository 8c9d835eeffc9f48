"""What the detectors are in ONNX; importing this tells ``export`` about them."""

from vanishing.anomaly.onnx import transformation, vanishing

__all__ = ["transformation", "vanishing"]
