"""The equations that a detector is made of, whatever its kind, with the coordinates they are in."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import VanishingDetector
from vanishing.ideal import VanishingIdeal


@dataclass(frozen=True, eq=False)
class Part:
    """Ideals that look at the same coordinates: a view of the recipe, or a transformation.

    Parameters
    ----------
    name : str
        As in ``BrokenEquation.part``, except for the distance of a TransformationDetector, whose
        equations are those of the first transformation.
    ideals : list of VanishingIdeal
        One a piece, as in ``detector.ideals_``.
    centers, typical : lists of arrays
        What each polynomial usually is on normal data, and how far it usually is from that.
    coordinates : callable
        From rows of features to rows of the coordinates that the ideals are in.
    """

    name: str
    ideals: list[VanishingIdeal]
    centers: list[FloatArray]
    typical: list[FloatArray]
    coordinates: Callable[[FloatArray], FloatArray]


def parts_of(detector: Any) -> list[Part]:
    """Return the parts of a fitted detector, in the order of ``detector.ideals_``.

    Parameters
    ----------
    detector : VanishingDetector or TransformationDetector
    """
    if isinstance(detector, TransformationDetector):
        return _transformations(detector)
    assert isinstance(detector, VanishingDetector)
    if detector._form == "recipe":
        return [
            Part(
                name=member.name.partition(":")[0],
                ideals=member.residuals.ideals,
                centers=member.residuals.centers,
                typical=member.residuals.scales,
                coordinates=partial(detector._seen, member),
            )
            for member in detector._members
        ]
    residuals = detector._residuals
    centers, typical = residuals.centers, residuals.scales
    if detector._form == "single":  # its score is ‖G(x)‖, without a center
        centers = [np.zeros_like(center) for center in centers]
        typical = [ideal.extents_ for ideal in residuals.ideals]
    name = "pieces" if detector._form == "pieces" else "ideal"
    return [Part(name, residuals.ideals, centers, typical, np.asarray)]


def _transformations(detector: TransformationDetector) -> list[Part]:
    parts = []
    for i, transformation in enumerate(detector.transformations_):
        components = [
            c for mixture in detector.mixtures_ for c in mixture.components[mixture.own(i)]
        ]
        parts.append(
            Part(
                name=transformation.name,
                ideals=[component.ideal for component in components],
                centers=[component.center for component in components],
                typical=[component.typical for component in components],
                coordinates=partial(detector._image, i),
            )
        )
    return parts
