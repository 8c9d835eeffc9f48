"""Models as graphs of ONNX."""

from vanishing.equations.onnx.model import to_onnx

__all__ = ["to_onnx"]
