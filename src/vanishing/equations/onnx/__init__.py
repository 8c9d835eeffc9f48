"""Models as graphs of ONNX."""
