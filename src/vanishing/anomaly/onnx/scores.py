"""Nodes that both detectors are made of: their outputs, and the distance from the nearest piece."""

import numpy as np

from vanishing.anomaly.detector import Detector
from vanishing.anomaly.residuals import TINY, LocalResiduals
from vanishing.export.onnx import Graph, Output, Polynomials, Value, sums_of_squares


def detector_outputs(detector: Detector, graph: Graph, scores: Value) -> list[Output]:
    """Return scores, decision and label, given what ``score_samples`` computes."""
    # Infinitely far from every ideal, or not a number: as anomalous as can be.
    scores = graph.where(scores.apply("IsNaN"), -np.inf, scores)
    decision = scores - detector.offset_
    label = graph.where(decision < 0.0, -1, 1)
    return [
        Output("scores", scores),
        Output("decision", decision),
        Output("label", label, is_label=True),
    ]


def log_deviation(residuals: LocalResiduals, graph: Graph, z: Value) -> Value:
    """Add the nodes of ``LocalResiduals.log_deviation``, of shape (n_points,)."""
    pieces = zip(residuals.ideals, residuals.centers, residuals.scales, strict=True)
    # The mean of squares is the sum of those of r / √n. Nothing is near a piece without equations.
    stack = [
        Polynomials(ideal.basis_, center, 1 / (scale * np.sqrt(len(scale))))
        for ideal, center, scale in pieces
        if len(scale)
    ]
    deviations = sums_of_squares(stack, graph, z)
    deviations = graph.where(deviations.apply("IsNaN"), np.inf, deviations)
    return (deviations.reduce("Min", axis=0) + TINY).apply("Log")
