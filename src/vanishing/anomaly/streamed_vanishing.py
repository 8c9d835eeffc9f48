"""Fitting one ideal of a vanishing detector to rows that are too many to be held at once."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from vanishing.anomaly.residuals import LocalResiduals, check_vanishing
from vanishing.anomaly.streaming import drawn_rows, moments
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import too_large
from vanishing.normalizations import resolve_normalization
from vanishing.samples import MappedSource, SampleSource

if TYPE_CHECKING:
    from vanishing.anomaly.vanishing import VanishingDetector


def check_streams(detector: "VanishingDetector") -> None:
    """Raise if a detector is set to something that needs all rows at once."""
    needs = (
        (detector.ideal is None, "the recipe, which is used without an ideal,"),
        (detector.n_components > 1, f"n_components={detector.n_components}"),
        (detector.calibration is not None, f"calibration={detector.calibration}"),
    )
    for present, what in needs:
        if present:
            raise ValueError(
                f"{too_large(what)}; or fit one ideal, which passes over X, as "
                "VanishingDetector(VanishingIdeal(normalization='contrastive'))"
            )


def fit_streamed(
    detector: "VanishingDetector", source: SampleSource, smallest_scale: float
) -> None:
    """Set what ``_fit_ideal`` of a detector sets, by passes over the rows."""
    detector._form = "single"
    ideal: VanishingIdeal = clone(detector.ideal)
    contrast = None
    if resolve_normalization(ideal.normalization).needs_contrast:
        contrast = detector._contrast_of(drawn_rows(source, seed=detector.random_state))
    ideal._fit(source, contrast, by_itself=False)
    check_vanishing(ideal)
    values = moments(MappedSource(source, ideal.basis_.evaluate))
    scale = np.sqrt(values.variance + smallest_scale**2)
    detector._residuals = LocalResiduals([ideal], [values.mean], [scale])
    detector.ideals_ = [[ideal]]
    detector.chosen_ = [f"1 x {clone(ideal)}"]
