"""TransformationDetector in ONNX.

The images T_1 x, ..., T_M x of all samples stand one below the other as points, so that the
polynomials of all transformations and pieces are evaluated on all of them at once.
"""

from functools import reduce
from math import log
from operator import add

import numpy as np

from vanishing.anomaly.combination import SMALL_LOSS
from vanishing.anomaly.mixture import Mixture
from vanishing.anomaly.onnx.scores import detector_outputs, log_deviation
from vanishing.anomaly.transformation import TransformationDetector
from vanishing.export.onnx import (
    Graph,
    Output,
    Polynomials,
    Value,
    mapped,
    model_nodes,
    sums_of_squares,
)
from vanishing.transformations import Transformation
from vanishing.transformations.combined import Composition
from vanishing.transformations.gather import Gather
from vanishing.transformations.random_affine import Affine

#: Powers of e below this are less than every float64.
UNDERFLOW = -746.0


@model_nodes(TransformationDetector)
def _detector(detector: TransformationDetector, graph: Graph, x: Value) -> list[Output]:
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
        "or a Product or Union of them"
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
