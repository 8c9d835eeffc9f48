"""The classes that a file may name, and what is kept of each: the one table to look things up in.

Names and attributes are part of the format: to change one is to raise the format's version.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, get_type_hints

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import contrasts, normalizations, reductions, transformations
from vanishing._xp import BoolArray, FloatArray
from vanishing.anomaly import TransformationDetector, VanishingDetector
from vanishing.anomaly.components import Component
from vanishing.anomaly.mixture import Mixture
from vanishing.anomaly.recipe import Member
from vanishing.anomaly.residuals import LocalResiduals
from vanishing.construction import DegreeTrace
from vanishing.construction.loop import StopReason
from vanishing.construction.step import Settings
from vanishing.construction.warm import Progress
from vanishing.estimators import ClassVanishingFeatures, VanishingIdeal
from vanishing.normalizations.frame import Frame
from vanishing.normalizations.kept import KeptRows
from vanishing.normalizations.moments import Moments, Seen
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.block import DegreeBlock
from vanishing.transformations.combined import Composition
from vanishing.transformations.gather import Gather
from vanishing.transformations.random_affine import Affine

CLASSES: Mapping[str, type] = {
    # models
    "VanishingIdeal": VanishingIdeal,
    "ClassVanishingFeatures": ClassVanishingFeatures,
    "VanishingDetector": VanishingDetector,
    "TransformationDetector": TransformationDetector,
    # what they are made of
    "PolynomialBasis": PolynomialBasis,
    "DegreeBlock": DegreeBlock,
    "DegreeTrace": DegreeTrace,
    "Settings": Settings,
    "Progress": Progress,
    "Factor": reductions.Factor,
    "Frame": Frame,
    "KeptRows": KeptRows,
    "Moments": Moments,
    "Seen": Seen,
    "LocalResiduals": LocalResiduals,
    "Member": Member,
    "Component": Component,
    "Mixture": Mixture,
    "Affine": Affine,
    "Composition": Composition,
    "Gather": Gather,
    # parameters
    "contrasts.GaussianNoise": contrasts.GaussianNoise,
    "contrasts.Mixture": contrasts.Mixture,
    "contrasts.Permuted": contrasts.Permuted,
    "contrasts.Uniform": contrasts.Uniform,
    "normalizations.Coefficient": normalizations.Coefficient,
    "normalizations.Contrastive": normalizations.Contrastive,
    "normalizations.Gradient": normalizations.Gradient,
    "normalizations.GradientWeighted": normalizations.GradientWeighted,
    "normalizations.Vca": normalizations.Vca,
    "reductions.Gram": reductions.Gram,
    "reductions.Tsqr": reductions.Tsqr,
    "transformations.Flips": transformations.Flips,
    "transformations.Identity": transformations.Identity,
    "transformations.Product": transformations.Product,
    "transformations.RandomAffine": transformations.RandomAffine,
    "transformations.Rotations": transformations.Rotations,
    "transformations.Translations": transformations.Translations,
    "transformations.Union": transformations.Union,
    # preprocessing
    "sklearn.PCA": PCA,
    "sklearn.Pipeline": Pipeline,
    "sklearn.StandardScaler": StandardScaler,
}
NAMES: Mapping[type, str] = {kept: name for name, kept in CLASSES.items()}

#: Fields that the first files of the format do not have; each has a default.
ADDED_LATER: Mapping[type, set[str]] = {
    DegreeTrace: {"undecided"},
    Progress: {"doubt", "contrast_terms"},
}

#: What ``save`` takes and ``load`` returns.
MODELS = (VanishingIdeal, ClassVanishingFeatures, VanishingDetector, TransformationDetector)


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves in an estimator.

    Parameters
    ----------
    required, optional : mapping of str to type annotation
        The attributes that are kept.
    derived : mapping of str to function
        Attributes that follow from the others: made from the estimator after loading.
    """

    required: Mapping[str, Any]
    optional: Mapping[str, Any] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


AnyArray = npt.NDArray[np.generic]
Names = npt.NDArray[np.object_]

#: Column names, and the wish to get frames back (``set_output``), in every estimator.
_EVERYWHERE = {"feature_names_in_": Names, "_sklearn_output_config": dict}
_DETECTOR = {
    "n_features_in_": int,
    "offset_": float,
    "_usual_score": float,
    "_mean_row": FloatArray,
    "_spread_row": FloatArray,
}


def _ideals(detector: VanishingDetector) -> list[list[VanishingIdeal]]:
    if detector._form != "recipe":
        return [detector._residuals.ideals]
    return [member.residuals.ideals for member in detector._members]


FITTED: Mapping[type, Fitted] = {
    VanishingIdeal: Fitted(
        {
            "n_features_in_": int,
            "basis_": PolynomialBasis,
            "trace_": tuple[DegreeTrace, ...],
            "stop_reason_": StopReason,
        },
        {
            **_EVERYWHERE,
            # of warm starts
            "_progress": Progress,
            # of partial fits
            "_seen": Seen,
            "n_samples_seen_": float,
        },
        {"extents_": lambda ideal: ideal.basis_.extents},
    ),
    ClassVanishingFeatures: Fitted(
        {"n_features_in_": int, "classes_": AnyArray, "ideals_": list[VanishingIdeal]},
        _EVERYWHERE,
    ),
    VanishingDetector: Fitted(
        {**_DETECTOR, "chosen_": list[str], "_form": Literal["recipe", "pieces", "single"]},
        {
            **_EVERYWHERE,
            # of a single ideal
            "_residuals": LocalResiduals,
            # of the recipe
            "_scaler": StandardScaler,
            "_constant": BoolArray,
            "_members": list[Member],
        },
        {"ideals_": _ideals},
    ),
    TransformationDetector: Fitted(
        {
            **_DETECTOR,
            # The maps themselves: the same seed may give others in another version of NumPy.
            "transformations_": tuple[Gather | Affine | Composition, ...],
            "_distance_weight": float,
            "_scaler": StandardScaler | None,
            "preprocessor_": PCA | StandardScaler | Pipeline | None,
            "mixtures_": list[Mixture],
            "_means": FloatArray,
            "_spreads": FloatArray,
        },
        _EVERYWHERE,
    ),
    PCA: Fitted(
        {
            "n_features_in_": int,
            "mean_": FloatArray,
            "components_": FloatArray,
            "explained_variance_": FloatArray,
            "explained_variance_ratio_": FloatArray,
            "singular_values_": FloatArray,
            "noise_variance_": float,
            "n_components_": int,
            "n_samples_": int,
        },
        _EVERYWHERE,
    ),
    StandardScaler: Fitted(
        {
            "n_features_in_": int,
            "mean_": FloatArray | None,
            "var_": FloatArray | None,
            "scale_": FloatArray | None,
            "n_samples_seen_": float | AnyArray,
        },
        _EVERYWHERE,
    ),
    # Its steps are parameters and fitted at the same time.
    Pipeline: Fitted({}, {"_sklearn_output_config": dict}),
}

#: Parameters of pipelines, which scikit-learn itself checks when they are used.
PIPELINE: Mapping[str, Any] = {
    "steps": list[tuple[str, PCA | StandardScaler | Pipeline | Literal["passthrough"] | None]],
    "memory": None,
}
#: The same where the pipeline is the model, and ends in one.
MODEL_PIPELINE: Mapping[str, Any] = {
    "steps": list[
        tuple[
            str,
            PCA
            | StandardScaler
            | Pipeline
            | VanishingIdeal
            | ClassVanishingFeatures
            | VanishingDetector
            | TransformationDetector
            | Literal["passthrough"]
            | None,
        ]
    ],
    "memory": None,
}


def pipeline_types(path: str) -> Mapping[str, Any]:
    """Return the parameters of a pipeline at a place in a model."""
    return MODEL_PIPELINE if path == "model" else PIPELINE


def build(kept: type, values: Mapping[str, Any]) -> Any:
    """Return a dataclass with the given fields."""
    if kept is contrasts.Mixture:
        return contrasts.Mixture(*values["contrasts"], weights=values["weights"])
    if kept in (transformations.Product, transformations.Union):
        return kept(*values["sets"])
    return kept(**values)


@cache
def parameter_names(kept: Any) -> frozenset[str]:
    """Return the parameters of an estimator's constructor."""
    return frozenset(kept._get_param_names())


@cache
def field_types(kept: type) -> Mapping[str, Any]:
    """Return the fields of a dataclass with their annotations."""
    hints = get_type_hints(kept)
    return {each.name: hints[each.name] for each in fields(kept)}
