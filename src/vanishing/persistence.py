"""Reading model files: ``vanishing.load``.

Nothing in a file is executed when it is loaded. ``saving.py`` writes files, and says what is kept.
"""

import inspect
import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vanishing.class_features import ClassVanishingFeatures
from vanishing.construction.moments import KeptRows, Moments, Seen
from vanishing.detectors.mixture import Component, Mixture
from vanishing.detectors.recipe import Member
from vanishing.detectors.residuals import LocalResiduals
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import VanishingDetector
from vanishing.ideal import VanishingIdeal
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import count
from vanishing.saving import (
    DTYPES,
    FORMAT,
    FORMAT_VERSION,
    LARGEST_HEADER,
    LARGEST_STRINGS,
    PIPELINE,
    Arrays,
    ModelFileError,
    check_model_pipeline,
    collect_classes,
    conforms,
    digest,
    get_fields,
    get_fitted,
    get_input_width,
    get_parameter_names,
    get_steps,
    is_estimator,
    require,
    save,
)
from vanishing.transformations import Affine, Composition, Gather, Transformation

__all__ = ["ModelFileError", "load", "save"]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file that ``save`` wrote.

    Nothing in the file is executed, so that files of others can be opened. The model has the scores
    of the model that was saved, to the last bit on the same machine.

    Parameters
    ----------
    path : path

    Returns
    -------
    VanishingIdeal, ClassVanishingFeatures, VanishingDetector, TransformationDetector or Pipeline

    Raises
    ------
    ModelFileError
        If the file is damaged, of a later version of the format, or no model file.
    """
    try:
        with Path(path).open("rb") as file:
            text, sha256, arrays = unpack(file, os.fstat(file.fileno()).st_size)
        manifest = parse_json(text, "manifest")
        _check_version(manifest)
        require(sha256 == digest(text, arrays), "it is damaged: its checksum does not match")
        model = Decoder(arrays).decode(manifest.get("model"), "model", fitted=True)
        if type(model) is Pipeline:
            check_pipeline(model)
        else:
            require(type(model) in MODELS, "it holds no model")
        require(not arrays, f"it holds arrays that belong to nothing: {sorted(arrays)[:3]}")
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {error}") from error
    return model


def _check_version(manifest: Any) -> None:
    require(
        isinstance(manifest, dict) and manifest.get("format") == FORMAT,
        "it is no model file: its manifest says something else",
    )
    found = manifest.get("format_version")
    require(
        type(found) is int and found == FORMAT_VERSION,
        f"its format has the version {found!r}, and this version of vanishing reads "
        f"{FORMAT_VERSION}; a newer one may read it",
    )


# --- The bytes of a file --------------------------------------------------------------------------


def unpack(file: IO[bytes], size: int) -> tuple[str, str, Arrays]:
    """Read a file of known size; nothing is allocated that it does not hold.

    Parameters
    ----------
    file : binary file
    size : int
        Its number of bytes.

    Returns
    -------
    manifest : str
    sha256 : str
        The digest as it was written, not yet compared.
    arrays : dict of arrays
    """
    start = file.read(8)
    header_size = int.from_bytes(start, "little")
    require(
        len(start) == 8 and 0 < header_size <= min(LARGEST_HEADER, size - 8),
        "this is no model file, or it is cut off: the length of its header does not fit",
    )
    header = file.read(header_size)
    described = parse_json(header, "header")
    metadata = described.get("__metadata__") if isinstance(described, dict) else None
    if not (
        isinstance(metadata, dict)
        and isinstance(manifest := metadata.get("manifest"), str)
        and isinstance(sha256 := metadata.get("sha256"), str)
    ):
        raise ModelFileError("this is no model file: it has no manifest")
    content = start + header + file.read(size - 8 - header_size)
    try:
        # Checks that arrays have the size of their shape, do not overlap and fill the file.
        tensors = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"the arrays do not fit the file: {error}") from error
    return manifest, sha256, {name: _array(name, tensor, size) for name, tensor in tensors}


def parse_json(text: str | bytes, what: str) -> Any:
    """Parse JSON that may be damaged or hostile."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {what} is no valid JSON: {error}") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not part of JSON")


def _array(name: str, tensor: Mapping[str, Any], size: int) -> npt.NDArray[Any]:
    dtype = DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise ModelFileError(f"array {name!r} has the dtype {tensor['dtype']}, which no model has")
    shape = tensor["shape"]
    # An empty array may claim any length in its other dimension.
    require(
        len(shape) <= 2 and max(shape, default=0) <= size,
        f"array {name!r} has the shape {tuple(shape)}, which no model has",
    )
    if dtype is np.bool_:
        # What NumPy does with other bytes, as in counting and selecting rows, is not defined.
        truths = np.frombuffer(tensor["data"], dtype=np.uint8)
        require(bool(np.all(truths <= 1)), f"array {name!r} holds other values than true and false")
    stored = np.frombuffer(tensor["data"], dtype=np.dtype(dtype).newbyteorder("<"))
    return stored.reshape(shape).astype(dtype, copy=False)


# --- Values of a model from JSON, checked at every step -------------------------------------------
#
# A file may name only the classes that models are made of, every array is used once, and none may
# be left: so a file makes no more objects and no larger arrays than it has bytes for.

#: What ``save`` takes and ``load`` returns.
MODELS = (VanishingIdeal, ClassVanishingFeatures, VanishingDetector, TransformationDetector)
#: The classes that a file may name.
CLASSES = collect_classes(MODELS)
#: Parameters and attributes of earlier versions, which are ignored.
FORMER: Mapping[type, frozenset[str]] = {
    VanishingIdeal: frozenset({"warm_start", "_progress", "n_samples_seen_", "extents_"}),
}
#: Parameters of a pipeline that is the model itself, and ends in one.
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
#: Levels of objects in objects; a detector has about ten, a pipeline in a pipeline a few more.
DEEPEST = 40


class Decoder:
    """Turns JSON back into values, and checks each of them.

    Parameters
    ----------
    arrays : dict of arrays
        Each is taken out when it is used.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def decode(self, node: Any, path: str, *, fitted: bool, depth: int = 0) -> Any:
        """Return the value that JSON stands for.

        Parameters
        ----------
        node : object
            Parsed JSON.
        path : str
            Where in the model it is.
        fitted : bool
            Whether estimators have to be fitted, or must not be.
        depth : int
            Number of objects around it.
        """
        require(depth <= DEEPEST, f"{path} is nested too deeply")
        if isinstance(node, list):
            return [
                self.decode(each, f"{path}.{i}", fitted=fitted, depth=depth + 1)
                for i, each in enumerate(node)
            ]
        if not isinstance(node, dict):
            return node
        match node:
            case {"array": "C" | "F" as order, **rest} if not rest:
                return self._take_array(path, order)
            case {"strings": list(strings), "kind": "O" | "U" as kind, **rest} if not rest:
                require(conforms(strings, list[str]), f"{path} holds no strings")
                return _string_array(strings, kind, path)
            case {"float": "nan" | "inf" | "-inf" as number, **rest} if not rest:
                return float(number)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.decode(items, path, fitted=fitted, depth=depth))
            case {"dict": dict(items), **rest} if not rest:
                require(max(map(len, items), default=0) <= 100, f"{path} has too long keys")
                return self._decode_all(items, path, fitted=fitted, depth=depth)
            case {"class": str(name), **parts} if name in CLASSES:
                return self._decode_object(CLASSES[name], parts, path, fitted=fitted, depth=depth)
        raise ModelFileError(f"{path} is of no kind that model files know")

    def _decode_all(
        self, nodes: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> dict[str, Any]:
        return {
            name: self.decode(node, f"{path}.{name}", fitted=fitted, depth=depth + 1)
            for name, node in nodes.items()
        }

    def _take_array(self, path: str, order: str) -> Any:
        array = self.arrays.pop(path, None)
        if array is None:
            raise ModelFileError(f"the array {path} is missing")
        if array.ndim == 0:
            return array[()]
        return np.array(array.T if order == "F" else array, order="K")

    def _decode_object(
        self, kept: type, parts: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> Any:
        try:
            if is_estimator(kept):
                value = self._decode_estimator(kept, parts, path, fitted=fitted, depth=depth)
            else:
                value = self._decode_dataclass(kept, parts, path, fitted=fitted, depth=depth)
            if fitted and kept in CHECKS:
                CHECKS[kept](value)
        except ModelFileError:
            raise
        except (TypeError, ValueError, OverflowError) as error:  # raised by constructors
            raise ModelFileError(f"{path} is not valid: {error}") from error
        return value

    def _decode_dataclass(
        self, kept: type, parts: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> Any:
        types, required = get_fields(kept)
        nodes = _sections(parts, ("fields",), path)["fields"]
        _check_names(nodes, required, types, path)
        values = self._decode_all(nodes, path, fitted=fitted, depth=depth)
        _check_types(values, types, path)
        positional: list[Any] = []
        for name, parameter in inspect.signature(kept).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional.extend(values.pop(name))
        return kept(*positional, **values)

    def _decode_estimator(
        self, kept: Any, parts: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> Any:
        sections = ("parameters", "fitted") if fitted else ("parameters",)
        nodes = _sections(parts, sections, path)
        for name in FORMER.get(kept, ()):
            self._ignore(nodes, name, path)
        _check_names(nodes["parameters"], (), get_parameter_names(kept), path)
        with_fit = fitted and kept is Pipeline
        parameters = self._decode_all(nodes["parameters"], path, fitted=with_fit, depth=depth)
        if kept is Pipeline:
            _check_types(parameters, MODEL_PIPELINE if path == "model" else PIPELINE, path)
        estimator = kept(**parameters)
        # The check of scikit-learn, which has no public name.
        estimator._validate_params()
        if fitted:
            types, required = get_fitted(kept)
            _check_names(nodes["fitted"], required, types, path)
            state = self._decode_all(nodes["fitted"], path, fitted=True, depth=depth)
            _check_types(state, types, path)
            vars(estimator).update(state)
        return estimator

    def _ignore(self, nodes: dict[str, Any], name: str, path: str) -> None:
        """Remove a parameter or attribute of an earlier version, and its arrays."""
        present = [section.pop(name, None) is not None for section in nodes.values()]
        if any(present):
            place = f"{path}.{name}"
            for key in [key for key in self.arrays if f"{key}.".startswith(f"{place}.")]:
                del self.arrays[key]


def _string_array(strings: list[str], kind: str, path: str) -> Any:
    if kind == "O":
        return np.array(strings, dtype=object)
    n_bytes = 4 * len(strings) * max(map(len, strings), default=0)
    require(n_bytes <= LARGEST_STRINGS, f"{path} has too long strings")
    return np.array(strings, dtype=np.str_)


def _sections(parts: dict[str, Any], expected: tuple[str, ...], path: str) -> dict[str, Any]:
    """Return the parts of an object, each a mapping of names."""
    require(
        parts.keys() == set(expected) and all(isinstance(each, dict) for each in parts.values()),
        f"{path} does not have the parts {list(expected)}",
    )
    return parts


def _check_names(
    found: Collection[str], required: Collection[str], known: Collection[str], path: str
) -> None:
    missing, unknown = set(required) - set(found), set(found) - set(known)
    require(not missing, f"{path} lacks {sorted(missing)}")
    require(not unknown, f"{path} has {sorted(unknown)}, which are not known")


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    for name, value in values.items():
        if name in types and not conforms(value, types[name]):
            raise ModelFileError(f"{path}.{name} is not of the type that it has to be")


# --- Whether the parts of a model fit each other --------------------------------------------------
#
# Types were checked before. These checks are about what evaluation relies on: widths, shapes and
# indices. A model that passes them can be used on data of its width.

#: No fit reaches it; counting the monomials of a larger degree would take long.
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
        "the polynomials of an ideal do not have as many variables as its data has columns",
    )
    require(len(ideal.trace_) > 0, "an ideal has no trace")
    require(all(step.spectrum.ndim == 1 for step in ideal.trace_), "a spectrum is not 1-D")
    if (seen := vars(ideal).get("_seen")) is not None:
        check_seen(seen, ideal.n_features_in_)


def check_seen(seen: Seen, width: int) -> None:
    """Check what is kept of the rows of partial fits."""
    for kept in (seen.points, seen.contrast):
        if kept is None:
            continue
        # Compared before monomials of a huge degree are counted.
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
        "the numbers of classes and ideals differ",
    )
    _check_widths(features.ideals_, features.n_features_in_)


def check_residuals(residuals: LocalResiduals) -> None:
    """Check the clusters."""
    require(
        0 < len(residuals.ideals) == len(residuals.centers) == len(residuals.scales),
        "the numbers of clusters and ideals differ",
    )
    _check_widths(residuals.ideals, residuals.ideals[0].n_features_in_)
    for ideal, center, scale in zip(
        residuals.ideals, residuals.centers, residuals.scales, strict=True
    ):
        _check_each_polynomial(ideal, center, scale)


def check_component(component: Component) -> None:
    """Check the statistics of each polynomial."""
    _check_each_polynomial(component.ideal, component.center, component.typical, component.weights)


def check_mixture(mixture: Mixture) -> None:
    """Check that every transformation has its clusters."""
    n_components = len(mixture.components)
    require(
        n_components > 0 and mixture.n_pieces > 0 and n_components % mixture.n_pieces == 0,
        "a mixture does not have the same number of clusters for every transformation",
    )
    ideals = [component.ideal for component in mixture.components]
    _check_widths(ideals, ideals[0].n_features_in_)


def check_member(member: Member) -> None:
    """Check that the reduction leads to the coordinates of the ideals."""
    if member.reduction is not None:
        width = check_preprocessor(member.reduction, member.reduction.n_features_in_)
        _check_widths(member.residuals.ideals, width)


def check_vanishing_detector(detector: VanishingDetector) -> None:
    """Check a fitted detector of tables."""
    _check_training_statistics(detector)
    width, state = detector.n_features_in_, vars(detector)
    if detector.ideal is not None:
        require(state.get("_residuals") is not None, "the equations of the detector are missing")
        _check_widths(state["_residuals"].ideals, width)
        return
    require(
        all(state.get(name) is not None for name in ("_scaler", "_constant", "_members")),
        "the parts of the recipe are missing",
    )
    scaler, constant = state["_scaler"], state["_constant"]
    require(
        constant.shape == (width,) and scaler.mean_ is not None,
        "the columns of the detector are not described",
    )
    check_preprocessor(scaler, width)
    n_varying = width - int(np.count_nonzero(constant))
    for member in state["_members"]:
        first = member.residuals.ideals[0] if member.reduction is None else member.reduction
        require(first.n_features_in_ == n_varying, f"{member.name!r} has other columns")


def check_transformation_detector(detector: TransformationDetector) -> None:
    """Check a fitted detector with transformations."""
    _check_training_statistics(detector)
    width, state = detector.n_features_in_, vars(detector)
    if (scaler := state["_scaler"]) is not None:
        check_preprocessor(scaler, width)
        require(
            scaler.mean_ is not None and scaler.scale_ is not None,
            "the scaler of the detector has no mean or no scale",
        )
    for transformation in detector.transformations_:
        check_transformation(transformation, width)
    if detector.preprocessor_ is not None:
        width = check_preprocessor(detector.preprocessor_, width)
    require(len(detector.mixtures_) > 0, "the detector has no ideals")
    for mixture in detector.mixtures_:
        require(
            len(mixture.components) == mixture.n_pieces * len(detector.transformations_),
            "a mixture does not have as many parts as there are transformations",
        )
        _check_widths([component.ideal for component in mixture.components], width)
    n_parts = len(detector.mixtures_) * (2 if detector.distance_weight > 0 else 1)
    require(
        state["_means"].shape == state["_spreads"].shape == (n_parts,),
        "the parts of the score are not described",
    )


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


def check_preprocessor(preprocessor: Any, width: int) -> int:
    """Check that a preprocessor takes rows of a width, and return the width of its output."""
    if isinstance(preprocessor, Pipeline):
        require(len(preprocessor.steps) > 0, "a pipeline has no steps")
        for _, step in preprocessor.steps:
            if step not in (None, "passthrough"):
                width = check_preprocessor(step, width)
        return width
    name = type(preprocessor).__name__
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
        isinstance(preprocessor, PCA)
        and preprocessor.mean_.shape == (width,)
        and preprocessor.components_.shape == (n_components, width)
        and preprocessor.explained_variance_.shape == (n_components,),
        f"the matrices of {name} do not fit each other",
    )
    return n_components


def check_pipeline(pipeline: Pipeline) -> None:
    """Check that preprocessing leads to the columns of the model at the end."""
    check_model_pipeline(pipeline)
    *steps, model = get_steps(pipeline)
    width = get_input_width(steps[0]) if steps else model.n_features_in_
    for step in steps:
        width = check_preprocessor(step, width)
    require(model.n_features_in_ == width, f"the model does not fit {width} columns")


def _check_training_statistics(detector: Any) -> None:
    _check_columns(detector)
    shape, state = (detector.n_features_in_,), vars(detector)
    require(
        state["_mean_row"].shape == state["_spread_row"].shape == shape,
        "the columns of the detector are not described",
    )


def _check_columns(estimator: Any) -> None:
    """Check names of columns, and the kind of frame that is to be returned."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        require(
            names.shape == (estimator.n_features_in_,), "the numbers of columns and names differ"
        )
    config = getattr(estimator, "_sklearn_output_config", {})
    require(
        config in ({}, *({"transform": kind} for kind in (None, "default", "pandas", "polars"))),
        "the kind of frame to return is unknown",
    )


def _check_widths(ideals: list[VanishingIdeal], width: int) -> None:
    if any(ideal.n_features_in_ != width for ideal in ideals):
        raise ModelFileError(f"an ideal is not one of points with {width} coordinates")


def _check_each_polynomial(ideal: VanishingIdeal, *about: Any) -> None:
    shape = (ideal.basis_.count(),)
    require(
        all(numbers.shape == shape for numbers in about),
        "the statistics of the polynomials do not fit their number",
    )


def _all_below(indices: Any, bound: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < bound)


#: The check of each class, made as soon as an object of it has been read.
CHECKS: Mapping[type, Callable[[Any], None]] = {
    PolynomialBasis: check_basis,
    VanishingIdeal: check_ideal,
    ClassVanishingFeatures: check_class_features,
    LocalResiduals: check_residuals,
    Component: check_component,
    Mixture: check_mixture,
    Member: check_member,
    VanishingDetector: check_vanishing_detector,
    TransformationDetector: check_transformation_detector,
}
