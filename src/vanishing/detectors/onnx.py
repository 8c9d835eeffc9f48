"""The detectors as parts of an ONNX graph."""

from functools import reduce
from math import log
from operator import add

import numpy as np

from vanishing.detectors.base import Detector
from vanishing.detectors.combination import SMALL_LOSS
from vanishing.detectors.mixture import Mixture
from vanishing.detectors.recipe import Member
from vanishing.detectors.residuals import TINY, LocalResiduals
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import BROKEN_CONSTANT, SAME, VanishingDetector
from vanishing.equations.onnx.graph import Graph, Output, Value, mapped, model_nodes
from vanishing.equations.onnx.polynomials import Polynomials, sums_of_squares
from vanishing.transformations import Affine, Composition, Gather, Transformation

# --- Nodes that both detectors are made of: their outputs, and the distance from the nearest ------
# piece


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


# --- TransformationDetector in ONNX ---------------------------------------------------------------
#
# The images T_1 x, ..., T_M x of all samples stand one below the other as points, so that the
# polynomials of all transformations and pieces are evaluated on all of them at once.

#: Powers of e below this are less than every float64.
UNDERFLOW = -746.0


@model_nodes(TransformationDetector)
def _transformation_detector(
    detector: TransformationDetector, graph: Graph, x: Value
) -> list[Output]:
    n_images = len(detector.transformations_)
    if detector._scaler is not None:
        x = mapped(detector._scaler, graph, x)
    z = graph.concat([_transformed(each, x) for each in detector.transformations_], axis=0)
    if detector.preprocessor_ is not None:
        z = mapped(detector.preprocessor_, graph, z)
    losses = [_loss(mixture, n_images, graph, z) for mixture in detector.mixtures_]
    combination = detector._combination
    if not combination.has_parts:
        return detector_outputs(detector, graph, -losses[0])
    # Less than zero by rounding only. Where nothing is a number, it stays so.
    positive = [graph.where(loss < 0.0, 0.0, loss) for loss in losses]
    parts = [(loss + SMALL_LOSS).apply("Log") for loss in positive]
    if combination.distance_weight > 0:
        width = detector.mixtures_[0].components[0].ideal.basis_.n_features
        first = z.reshape(n_images, -1, width).take(0, axis=0)
        residuals = [mixture.local_residuals() for mixture in detector.mixtures_]
        parts += [log_deviation(each, graph, first) for each in residuals]
    weighed = zip(parts, detector._means, detector._spreads, combination.weights, strict=True)
    combined = [(part - mean) / spread * weight for part, mean, spread, weight in weighed]
    return detector_outputs(detector, graph, -reduce(add, combined))


def _transformed(transformation: Transformation, x: Value) -> Value:
    """Return the image of all samples under one transformation."""
    if type(transformation) is Gather:
        return x.take(transformation.columns, axis=1)
    if type(transformation) is Affine:
        return x @ transformation.matrix.T + transformation.offset
    if type(transformation) is Composition:
        return reduce(lambda image, part: _transformed(part, image), transformation.parts, x)
    raise TypeError(
        f"the transformation {transformation.name!r} is a {type(transformation).__name__}, which "
        "cannot be exported to ONNX; use Rotations, Translations, Flips, RandomAffine, Identity, "
        "or a Product or AnyOf of them"
    )


def _loss(mixture: Mixture, n_images: int, graph: Graph, z: Value) -> Value:
    """Add the nodes of -Σ_i log P_i, of shape (n_samples,)."""
    stack = [Polynomials(c.ideal.basis_, c.center, np.sqrt(c.weights)) for c in mixture.components]
    # Axes: transformation of the component, its piece, image, sample.
    shape = n_images, mixture.n_pieces, n_images, -1
    deviations = sums_of_squares(stack, graph, z, n_images=n_images).reshape(*shape)
    logs, largest = _log_sum(-deviations, axis=1)
    by_transformation = logs + largest
    if mixture.smoothing > 0:
        by_transformation = _log_add(by_transformation, log(mixture.smoothing))
    logs, largest = _log_sum(by_transformation, axis=0)
    own = np.arange(n_images) * (n_images + 1)  # the diagonal: image i under transformation i
    ours = by_transformation.reshape(n_images**2, -1).take(own, axis=0)
    # As in ``scores``, the largest exponents first, which are often the same.
    return (logs + (largest - ours)).reduce("Sum", axis=0)


def _log_sum(exponents: Value, axis: int) -> tuple[Value, Value]:
    """Return log Σ e^a along an axis in two parts, the second of them the largest a."""
    largest = exponents.reduce("Max", axis, keepdims=True)
    # Rows that are infinitely far from every component have nothing to be measured from.
    largest = exponents.graph.where(largest.apply("Abs") < np.inf, largest, 0.0)
    shifted = exponents - largest
    # Some releases of onnxruntime answer the smallest number for e^-∞, which would make rows that
    # are infinitely far from every component as near to one as to the others.
    powers = exponents.graph.where(shifted < UNDERFLOW, 0.0, shifted.apply("Exp"))
    return powers.reduce("Sum", axis).apply("Log"), largest.take(0, axis)


def _log_add(total: Value, other: float) -> Value:
    """Return log(e^a + e^b)."""
    largest = total.graph.op("Max", total, other)
    return ((total - largest).apply("Exp") + (-largest + other).apply("Exp")).apply("Log") + largest


# --- VanishingDetector in ONNX --------------------------------------------------------------------


@model_nodes(VanishingDetector)
def _vanishing_detector(detector: VanishingDetector, graph: Graph, x: Value) -> list[Output]:
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
