"""What model files may hold: classes, attributes and their types, and the checks of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import contrasts, transformations
from vanishing.arrays.namespace import FloatArray
from vanishing.class_features import ClassVanishingFeatures
from vanishing.construction import normalizations, reductions
from vanishing.construction.loop import Progress, StopReason
from vanishing.construction.moments import Frame, KeptRows, Moments, Seen
from vanishing.construction.step import DegreeTrace, Settings
from vanishing.detectors.base import Detector
from vanishing.detectors.score import VIEWS, ConstantColumns, Coordinates, Mixture, Normal, Score
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import VanishingDetector
from vanishing.explain.view import Component, NearestView, View
from vanishing.ideal import VanishingIdeal
from vanishing.persistence.container import ModelFileError, require
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.monomials import count
from vanishing.transformations import Affine, Composition, Gather, Transformation

# --- The classes that a file may name, and what is kept of each: the one table to look things up --
# in
#
# Names and attributes are part of the format: to change one is to raise the format's version.

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
    "Component": Component,
    "ConstantColumns": ConstantColumns,
    "Coordinates": Coordinates,
    "Normal": Normal,
    "Score": Score,
    **{f"views.{kind.__name__}": kind for kind in VIEWS},
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
    "transformations.Union": transformations.AnyOf,
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

#: Fields that may hold anything in memory, but not in a file.
NARROWED: Mapping[type, Mapping[str, Any]] = {
    Coordinates: {
        "maps": tuple[Gather | Affine | Composition | PCA | None, ...],
        "preprocessor": PCA | StandardScaler | Pipeline | None,
    },
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
_DETECTOR = {"n_features_in_": int, "offset_": float, "anomaly_score_": Score}

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
    VanishingDetector: Fitted({**_DETECTOR, "chosen_": list[str]}, _EVERYWHERE),
    TransformationDetector: Fitted(_DETECTOR, _EVERYWHERE),
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
    if kept in (transformations.Product, transformations.AnyOf):
        return kept(*values["sets"])
    return kept(**values)


@cache
def parameter_names(kept: Any) -> frozenset[str]:
    """Return the parameters of an estimator's constructor."""
    return frozenset(signature(kept).parameters)


@cache
def field_types(kept: type) -> Mapping[str, Any]:
    """Return the fields of a dataclass with their annotations."""
    hints = {**get_type_hints(kept), **NARROWED.get(kept, {})}
    return {each.name: hints[each.name] for each in fields(kept)}


# --- Whether a value that was read is of the type that a field is annotated with ------------------


def conforms(value: object, hint: Any) -> bool:
    """Say whether a value has a type, down to the elements of lists, tuples and arrays.

    Parameters
    ----------
    value : object
    hint : type annotation
        Of the kinds that occur in the classes that are kept in files.
    """
    if hint is Any:
        return True
    if hint in (None, NoneType):
        return value is None
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, float | np.floating) or conforms(value, int)
    hint = _without_alias(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(conforms(value, option) for option in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is np.ndarray:
        (scalar,) = get_args(args[1])
        return isinstance(value, np.ndarray) and np.issubdtype(
            value.dtype, get_origin(scalar) or scalar
        )
    if origin is list:
        return isinstance(value, list) and all(conforms(each, args[0]) for each in value)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        expected = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(value) == len(expected) and all(map(conforms, value, expected))
    return isinstance(value, hint)


def _without_alias(hint: Any) -> Any:
    """Return what an alias of the ``type`` statement stands for; NDArray is one since NumPy 2.5."""
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    meant, given = alias.__value__, dict(zip(alias.__type_params__, get_args(hint), strict=True))
    parameters = getattr(meant, "__parameters__", ())
    return _without_alias(meant[tuple(given[each] for each in parameters)] if parameters else meant)


# --- Whether the parts of a model that was read fit each other ------------------------------------
#
# Types were looked at before. What is checked here is what evaluation relies on: widths, shapes and
# indices. A model that passes can be used on data of its width.

#: No fit gets there; larger numbers would only take long to count with.
LARGEST_DEGREE = 1000


def check_basis(basis: PolynomialBasis) -> None:
    """Check the matrices of all degrees."""
    require(
        len(basis.blocks) > 0
        and np.array_equal(basis.blocks[0].left, np.arange(len(basis.blocks[0].left)))
        and len(basis.blocks[0].left) == basis.n_features > 0,
        "the polynomials of degree 1 are not made of the features",
    )
    n_lower = 1
    n_first, n_last = basis.n_features, 1  # factors of the products of each degree
    for degree, block in enumerate(basis.blocks, start=1):
        n_candidates = len(block.left)
        n_nonvanishing, n_vanishing = block.nonvanishing.shape[-1], block.vanishing.shape[-1]
        require(
            block.left.shape == block.right.shape == (n_candidates,)
            and block.projection.shape == (n_lower, n_candidates)
            and block.nonvanishing.shape == (n_candidates, n_nonvanishing)
            and block.vanishing.shape == (n_candidates, n_vanishing)
            and block.extents.shape == (n_vanishing,)
            # They are linearly independent.
            and n_nonvanishing + n_vanishing <= n_candidates,
            f"the matrices of degree {degree} do not fit each other",
        )
        require(
            _all_below(block.left, n_first) and _all_below(block.right, n_last),
            f"products of degree {degree} have factors that do not exist",
        )
        n_lower += n_nonvanishing
        n_first, n_last = basis.blocks[0].nonvanishing.shape[1], n_nonvanishing


def check_ideal(ideal: VanishingIdeal) -> None:
    """Check a fitted ideal."""
    _check_columns(ideal)
    require(
        ideal.basis_.n_features == ideal.n_features_in_,
        "the polynomials of an ideal have another number of variables than its data",
    )
    require(len(ideal.trace_) > 0, "an ideal has no account of its degrees")
    require(all(step.spectrum.ndim == 1 for step in ideal.trace_), "a spectrum is no list")
    kept = vars(ideal)
    if "_progress" in kept:
        _check_progress(ideal, kept["_progress"])
    if "_seen" in kept:
        check_seen(kept["_seen"], ideal.n_features_in_)


def _check_progress(ideal: VanishingIdeal, progress: Progress) -> None:
    """Check that a warm start finds something to go on from at every degree."""
    n_degrees = len(ideal.trace_)
    require(
        len(ideal.basis_.blocks) == len(progress.noise) == n_degrees
        and len(progress.references) == len(progress.rounding) == n_degrees + 1
        and progress.rounding[0].shape == (1,)
        and len(progress.doubt) in (0, n_degrees)
        and len(progress.contrast_terms) in (0, 1, n_degrees + 1),
        "what a warm start needs is not there for every degree",
    )
    for step, block, noise, rounding in zip(
        ideal.trace_, ideal.basis_.blocks, progress.noise, progress.rounding[1:], strict=True
    ):
        require(
            noise.shape == step.spectrum.shape
            and rounding.shape == (block.nonvanishing.shape[1],)
            and block.nonvanishing.shape[1] == step.nonvanishing,
            f"what a warm start needs does not fit degree {step.degree}",
        )
    for step, doubt in zip(ideal.trace_, progress.doubt, strict=False):
        require(
            doubt.shape == step.spectrum.shape,
            f"what a warm start needs does not fit degree {step.degree}",
        )
    for rounding, terms in zip(progress.rounding, progress.contrast_terms, strict=False):
        require(
            terms.shape == rounding.shape, "what a warm start needs of the contrast does not fit"
        )


def check_seen(seen: Seen, width: int) -> None:
    """Check what is kept of the rows of partial fits."""
    for kept in (seen.points, seen.contrast):
        if kept is None:
            continue
        # Compared before counting: the number of monomials of a huge degree is never made.
        require(0 < kept.degree <= LARGEST_DEGREE, "partial fits have an impossible degree")
        require(kept.degree == seen.points.degree, "partial fits have two degrees")
        if isinstance(kept, KeptRows):
            _check_rows(kept, width)
        else:
            _check_moments(kept, width)


def _check_rows(kept: KeptRows, width: int) -> None:
    """Check rows of partial fits that are kept themselves."""
    require(
        len(kept.parts) > 0
        and all(part.ndim == 2 and part.shape[1] == width for part in kept.parts)
        and all(len(part) > 0 and np.isfinite(part).all() for part in kept.parts),
        f"the rows of partial fits are not those of {width} columns",
    )
    if kept.weights is not None:
        require(
            kept.weights.shape == (len(kept),)
            and bool(np.isfinite(kept.weights).all())
            and bool((kept.weights > 0).all()),
            "the weights of partial fits are not those of their rows",
        )


def _check_moments(moments: Moments, width: int) -> None:
    """Check the factor of the monomials of partial fits."""
    frame = moments.frame
    require(
        frame.origin.shape == (width,)
        and frame.axes.shape == frame.inverse.shape == (width, width),
        f"the coordinates of partial fits are not those of {width} columns",
    )
    require(
        all(np.isfinite(part).all() for part in (frame.origin, frame.axes, frame.inverse)),
        "the coordinates of partial fits are not finite",
    )
    n_monomials = count(width, moments.degree)
    R = moments.factor.R
    require(
        R.ndim == 2
        and R.shape[1] == n_monomials
        and 0 < R.shape[0] <= n_monomials
        and moments.error.shape == (n_monomials,)
        and bool(np.isfinite(R).all())
        and bool(np.isfinite(moments.error).all())
        and moments.factor.n_rows > 0,
        "the monomials of partial fits are not those of their degree",
    )


def check_class_features(features: ClassVanishingFeatures) -> None:
    """Check the ideals of all classes."""
    _check_columns(features)
    require(
        features.classes_.shape == (len(features.ideals_),) and len(features.ideals_) > 0,
        "classes and ideals are not equally many",
    )
    _check_widths(features.ideals_, features.n_features_in_)


def check_component(component: Component) -> None:
    """Check what is known of each polynomial."""
    shape = (component.ideal.basis_.count(),)
    require(
        component.center.shape == component.typical.shape == component.weights.shape == shape,
        "what is known of the polynomials does not fit their number",
    )


def check_detector(detector: Detector) -> None:
    """Check a fitted detector: that its score takes rows of its width."""
    _check_columns(detector)
    score, width = detector.anomaly_score_, detector.n_features_in_
    described = [(width,)]
    if score.constants is not None:
        described += [score.constants.constant.shape, score.constants.values.shape]
    if score.normal is not None:
        described += [score.normal.mean.shape, score.normal.spread.shape]
    require(
        score.normal is not None and len(set(described)) == 1,
        "the columns of the detector are not described",
    )
    widths = _check_coordinates(score.coordinates, width)
    for view in score.views:
        _check_view(view, widths)


def _check_coordinates(coordinates: Coordinates, width: int) -> list[int]:
    """Check the maps from rows of a width, and return the width of each image."""
    scaler, columns = coordinates.scaler, coordinates.columns
    if scaler is not None:
        output_width(scaler, width)
        require(
            scaler.mean_ is not None and scaler.scale_ is not None,
            "the scaler of the detector has no mean or no scale",
        )
    if columns is not None:
        require(
            columns.ndim == 1 and _all_below(columns, width),
            f"the columns of the detector are not among {width}",
        )
        width = len(columns)
    widths = []
    for applied in coordinates.maps:
        image = width
        if isinstance(applied, Transformation):
            check_transformation(applied, width)
        elif applied is not None:
            image = output_width(applied, width)
        if coordinates.preprocessor is not None:
            image = output_width(coordinates.preprocessor, image)
        widths.append(image)
    return widths


def _check_view(view: View, widths: list[int]) -> None:
    """Check a view of images of some widths."""
    images, n_components = list(view.images), len(view.components)
    require(
        0 < len(images) == len(view.names)
        and images == sorted(set(images))
        and 0 <= images[0] <= images[-1] < len(widths),
        "a view looks at images that do not exist",
    )
    fits = n_components > 0
    if isinstance(view, NearestView):
        fits &= len(images) == 1
    if isinstance(view, Mixture):
        fits &= 0 < view.n_clusters <= n_components == view.n_clusters * len(images)
    require(fits and view.first_cluster >= 0, "a view has not the ideals of its images")
    for component in view.components:
        check_component(component)
        _check_widths([component.ideal], widths[images[0]])
    require(len({widths[i] for i in images}) == 1, "the images of a view have several widths")


def check_transformation(transformation: Transformation, width: int) -> None:
    """Check that a transformation takes rows of a width and keeps it."""
    match transformation:
        case Gather(columns=columns):
            fits = columns.shape == (width,) and _all_below(columns, width)
        case Affine(matrix=matrix, offset=offset):
            fits = matrix.shape == (width, width) and offset.shape == (width,)
        case Composition(parts=parts):
            for part in parts:
                check_transformation(part, width)
            fits = True
        case _:
            fits = False
    require(fits, f"a transformation is not one of rows of {width} columns")


def output_width(preprocessor: Any, width: int) -> int:
    """Check that a preprocessor takes rows of a width, and return the width of what it makes."""
    if isinstance(preprocessor, Pipeline):
        require(len(preprocessor.steps) > 0, "a pipeline has no steps")
        for _, step in preprocessor.steps:
            if step not in (None, "passthrough"):
                width = output_width(step, width)
        return width
    name = type(preprocessor).__name__
    require(isinstance(preprocessor, PCA | StandardScaler), f"{name} is no preprocessor")
    require(preprocessor.n_features_in_ == width, f"{name} does not fit {width} columns")
    _check_columns(preprocessor)
    if isinstance(preprocessor, StandardScaler):
        used = (
            (preprocessor.mean_, preprocessor.with_mean),
            (preprocessor.scale_, preprocessor.with_std),
        )
        for numbers, is_used in used:
            fits = not is_used if numbers is None else numbers.shape == (width,)
            require(fits, f"{name} does not fit {width} columns")
        return width
    n_components = len(preprocessor.components_)
    require(
        preprocessor.mean_.shape == (width,)
        and preprocessor.components_.shape == (n_components, width)
        and preprocessor.explained_variance_.shape == (n_components,),
        f"the matrices of {name} do not fit each other",
    )
    return n_components


def check_model_pipeline(pipeline: Pipeline, models: tuple[type, ...]) -> None:
    """Check that preprocessing leads to the columns of the model at the end."""
    *before, (_, model) = pipeline.steps or [("", None)]
    require(
        isinstance(model, models) and not any(isinstance(step, models) for _, step in before),
        "a pipeline has to end in a model, and to have no other one",
    )
    names = [name for name, _ in pipeline.steps]
    require(
        len(set(names)) == len(names)
        and not parameter_names(Pipeline) & set(names)
        and not any("__" in name for name in names),
        "the steps of a pipeline have no proper names",
    )
    steps = [step for _, step in before if step not in (None, "passthrough")]
    width = input_width(steps[0]) if steps else model.n_features_in_
    for step in steps:
        width = output_width(step, width)
    require(model.n_features_in_ == width, f"the model does not fit {width} columns")


def input_width(preprocessor: Any) -> int:
    """Return the width of the rows that a preprocessor takes."""
    if not isinstance(preprocessor, Pipeline):
        return int(preprocessor.n_features_in_)
    steps = [step for _, step in preprocessor.steps if step not in (None, "passthrough")]
    require(len(steps) > 0, "a pipeline has no steps")
    return input_width(steps[0])


def _check_columns(estimator: Any) -> None:
    """Check names of columns, and the kind of frame that is wished for."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        require(names.shape == (estimator.n_features_in_,), "columns and names are not as many")
    config = getattr(estimator, "_sklearn_output_config", {})
    require(
        config in ({}, *({"transform": kind} for kind in (None, "default", "pandas", "polars"))),
        "the kind of frame to return is not known",
    )


def _check_widths(ideals: list[VanishingIdeal], width: int) -> None:
    if any(ideal.n_features_in_ != width for ideal in ideals):
        raise ModelFileError(f"an ideal is not one of points with {width} coordinates")


def _all_below(indices: Any, bound: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < bound)


#: What is checked of each class, as soon as an object of it was read.
CHECKS: Mapping[type, Callable[[Any], None]] = {
    PolynomialBasis: check_basis,
    VanishingIdeal: check_ideal,
    ClassVanishingFeatures: check_class_features,
    VanishingDetector: check_detector,
    TransformationDetector: check_detector,
}
