"""Fitting a transformation detector to rows that are too many to be held at once.

Every copy of the data is the source seen through a transformation, and its contrast the other
copies one after the other; no row is kept.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from vanishing._xp import Array, move_to_numpy, namespace
from vanishing.anomaly.components import Component, fit_component
from vanishing.anomaly.mixture import Mixture, identical_pairs, refuse_identical
from vanishing.anomaly.streaming import moments
from vanishing.estimators.inputs import for_scikit_learn, too_large
from vanishing.polynomials.memory import block_rows
from vanishing.samples import ConcatenatedSource, MappedSource, SampleSource
from vanishing.samples.source import closed_after

if TYPE_CHECKING:
    from vanishing.anomaly.transformation import TransformationDetector


def check_streams(detector: "TransformationDetector", resolutions: list[int]) -> None:
    """Raise if a detector is set to something that needs all rows at once."""
    needs = (
        (resolutions != [1], f"n_components={detector.n_components}"),
        (detector.weighting is not None, f"weighting={detector.weighting!r}"),
        (detector.calibration is not None, f"calibration={detector.calibration}"),
    )
    for present, what in needs:
        if present:
            raise ValueError(f"{too_large(what)}, or leave this parameter at its default")
    preprocessor = detector.preprocessor
    if preprocessor is not None and not hasattr(preprocessor, "partial_fit"):
        name = type(preprocessor).__name__
        raise ValueError(
            f"{too_large(name)}, or choose a preprocessor with partial_fit, such as IncrementalPCA"
        )


def fit_streamed(detector: "TransformationDetector", source: SampleSource) -> None:
    """Set what ``_fit_models`` of a detector sets, by passes over the rows."""
    detector._distance_weight = detector.distance_weight
    detector._scaler = _fit_scaler(source) if detector.transformations is None else None
    detector.preprocessor_ = _fit_preprocessor(detector, source)
    images = [partial(detector._image, i) for i in range(len(detector.transformations_))]
    copies = [MappedSource(source, image) for image in images]
    pairs = source.map_reduce(
        lambda x: identical_pairs([image(x) for image in images]),
        frozenset.intersection,
        max_rows=block_rows(4 * source.n_features * len(copies), cpu=source.cpu),
    )
    refuse_identical(pairs, detector.transformations_)
    components = [_fit_component(detector, copies, i) for i in range(len(copies))]
    detector.mixtures_ = [Mixture(components, 1, detector.smoothing)]
    of_parts = moments(MappedSource(source, lambda x: detector._parts(x).T))
    detector._means = of_parts.mean
    detector._spreads = np.sqrt(of_parts.variance) + 1e-9


def _fit_scaler(source: SampleSource) -> Any:
    scaler = StandardScaler()
    for block in _long_blocks(source, 1):
        scaler.partial_fit(move_to_numpy(block))
    return scaler


def _fit_preprocessor(detector: "TransformationDetector", source: SampleSource) -> Any:
    """Fit to the copies of every block, one after the other."""
    if detector.preprocessor is None:
        return None
    fitted = clone(detector.preprocessor)
    # Incremental methods need as many rows at a time as there are components.
    for block in _long_blocks(source, getattr(fitted, "n_components", None) or source.n_features):
        scaled = detector._scaled(block)
        for transformation in detector.transformations_:
            fitted.partial_fit(for_scikit_learn(transformation(scaled)))
    return fitted


def _long_blocks(source: SampleSource, fewest: int) -> Iterator[Array]:
    """Yield blocks of at least ``fewest`` rows, if there are as many in all."""
    rows = max(fewest, block_rows(4 * source.n_features, cpu=source.cpu))
    last: list[Array] = []  # long enough, and held back for a short end to join
    held: list[Array] = []
    with closed_after(source.blocks(rows)) as blocks:
        for block in blocks:
            held.append(block)
            if sum(int(part.shape[0]) for part in held) >= fewest:
                if last:
                    yield _joined(last)
                last, held = held, []
    yield _joined(last + held)


def _joined(blocks: list[Array]) -> Array:
    return blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks)


def _fit_component(
    detector: "TransformationDetector", copies: list[MappedSource], own: int
) -> Component:
    name = f"transformation {own} ({detector.transformations_[own].name!r})"
    others = ConcatenatedSource([part for i, part in enumerate(copies) if i != own])
    ideal = fit_component(copies[own], others, detector.ideal, name)
    values = moments(MappedSource(copies[own], ideal.basis_.evaluate))
    if detector.center:
        mean, squared = values.mean, values.variance
    else:
        mean, squared = np.zeros_like(values.mean), values.variance + values.mean**2
    return Component(ideal, mean, np.sqrt(squared), np.ones_like(mean))
