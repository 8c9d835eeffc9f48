"""Models as graphs of ONNX; what other layers add to them goes through ``hooks``."""

from vanishing.equations.onnx.graph import Graph, Output, Value, map_nodes, mapped, model_nodes
from vanishing.equations.onnx.model import Float, to_onnx
from vanishing.equations.onnx.polynomials import Polynomials, sums_of_squares, values

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
