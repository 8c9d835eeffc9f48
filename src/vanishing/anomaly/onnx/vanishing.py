"""VanishingDetector in ONNX."""

from functools import reduce
from operator import add

import numpy as np

from vanishing.anomaly.onnx.scores import detector_outputs, log_deviation
from vanishing.anomaly.recipe import Member
from vanishing.anomaly.vanishing import BROKEN_CONSTANT, SAME, VanishingDetector
from vanishing.export.onnx import (
    Graph,
    Output,
    Polynomials,
    Value,
    mapped,
    model_nodes,
    sums_of_squares,
)


@model_nodes(VanishingDetector)
def _detector(detector: VanishingDetector, graph: Graph, x: Value) -> list[Output]:
    return detector_outputs(detector, graph, -_anomaly(detector, graph, x))


def _anomaly(detector: VanishingDetector, graph: Graph, x: Value) -> Value:
    if detector._form == "recipe":
        return _recipe(detector, graph, x)
    if detector._form == "pieces":
        return log_deviation(detector._residuals, graph, x)
    polynomials = Polynomials.plain(detector.ideals_[0][0].basis_)
    return sums_of_squares([polynomials], graph, x).take(0, axis=0).apply("Sqrt")


def _recipe(detector: VanishingDetector, graph: Graph, x: Value) -> Value:
    """The mean of the members' standardized logarithms, and what broken constants add."""
    terms = []
    if detector._constant.any():
        terms.append(_broken_constants(detector, graph, x))
    if detector._members:
        z = mapped(detector._scaler, graph, x).take(np.flatnonzero(~detector._constant), axis=1)
        members = [_standardized(member, graph, z) for member in detector._members]
        terms.append(reduce(add, members) / float(len(members)))
    return reduce(add, terms)


def _broken_constants(detector: VanishingDetector, graph: Graph, x: Value) -> Value:
    constant = np.flatnonzero(detector._constant)
    means = detector._scaler.mean_[constant]
    distance = (x.take(constant, axis=1) - means).apply("Abs")
    kept = distance <= max(SAME, graph.rounding) * (1 + np.abs(means))
    added = (distance + 1.0).apply("Log") + BROKEN_CONSTANT
    # What is no number does not keep a constant.
    return graph.where(kept, 0.0, added).reduce("Sum", axis=1)


def _standardized(member: Member, graph: Graph, z: Value) -> Value:
    reduced = z if member.reduction is None else mapped(member.reduction, graph, z)
    deviation = log_deviation(member.residuals, graph, reduced)
    return (deviation - member.median) / member.spread
