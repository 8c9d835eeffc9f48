"""Models as graphs of ONNX; what other layers add to them goes through ``hooks``."""

from vanishing.export.onnx.basis import sums_of_squares, values
from vanishing.export.onnx.graph import Graph, Value
from vanishing.export.onnx.hooks import Output, map_nodes, mapped, model_nodes
from vanishing.export.onnx.model import Float, to_onnx
from vanishing.export.onnx.stack import Polynomials

__all__ = [
    "Float",
    "Graph",
    "Output",
    "Polynomials",
    "Value",
    "map_nodes",
    "mapped",
    "model_nodes",
    "sums_of_squares",
    "to_onnx",
    "values",
]
