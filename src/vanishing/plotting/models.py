"""What displays of a fitted ideal are given, checked."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import FloatArray, move_to_numpy
from vanishing.data.inputs import check_new_table
from vanishing.detectors.base import Detector
from vanishing.equations.expansion import affine_map, compose_maps
from vanishing.ideal import VanishingIdeal
from vanishing.polynomials.monomials import AffineMap
from vanishing.transformations import Transformation


def fitted_ideal(model: Any) -> VanishingIdeal:
    """Return the ideal of a fitted model, in the columns of the data, or raise.

    The polynomials of a pipeline are carried back through its steps. Of a detector it is the first
    ideal, that of all rows.
    """
    if isinstance(model, VanishingIdeal):
        check_is_fitted(model)
        return model
    if isinstance(model, Pipeline):
        inner = fitted_ideal(model[-1])
        return _carry_back(inner, affine_map(model[:-1]), model) if len(model) > 1 else inner
    if isinstance(model, Detector):
        check_is_fitted(model)
        if not model.ideals_:
            raise ValueError("the detector has no ideal: all columns were constant in training")
        coordinates = model.anomaly_score_.coordinates
        if isinstance(coordinates.maps[0], Transformation):
            raise TypeError(
                f"a {type(model).__name__} has ideals of transformed data, and no single one to "
                "draw; pass one of detector.ideals_[transformation][cluster], with its points"
            )
        steps = [step for step in (coordinates.scaler, coordinates.maps[0]) if step is not None]
        maps = [AffineMap.identity(model.n_features_in_), *map(affine_map, steps)]
        if coordinates.columns is not None:
            # After the scaler, before the map of the image.
            chosen = np.eye(model.n_features_in_)[coordinates.columns]
            place = 1 + (coordinates.scaler is not None)
            maps.insert(place, AffineMap(chosen, np.zeros(len(chosen))))
        return _carry_back(model.ideals_[0][0], compose_maps(maps), model)
    raise TypeError(
        "expected a fitted VanishingIdeal, a pipeline that ends in one, or a detector, got "
        f"{type(model).__name__}"
    )


def _carry_back(ideal: VanishingIdeal, inner: AffineMap, model: Any) -> VanishingIdeal:
    """Return a copy of an ideal whose polynomials are in the columns of the model's data."""
    carried = copy(ideal)
    carried.basis_ = ideal.basis_.compose(inner)
    carried.n_features_in_ = inner.n_in
    carried.__dict__.pop("feature_names_in_", None)
    if (names := getattr(model, "feature_names_in_", None)) is not None:
        carried.feature_names_in_ = names
    return carried


def points_of(ideal: VanishingIdeal, X: Any) -> FloatArray | None:
    """Return points of the width of the ideal as a NumPy array; None stays None."""
    if X is None:
        return None
    points: FloatArray = np.asarray(move_to_numpy(check_new_table(ideal, X)), dtype=np.float64)
    return points
