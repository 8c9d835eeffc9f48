"""Reading model files: ``vanishing.load``.

Nothing in a file is executed when it is loaded. ``saving.py`` writes files, and says what is kept.
"""

import inspect
import json
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from vanishing.arrays.blocks import one_thread
from vanishing.class_features import ClassVanishingFeatures
from vanishing.construction.moments import KeptRows, Seen
from vanishing.detectors.base import Detector
from vanishing.detectors.christoffel import ChristoffelDetector
from vanishing.detectors.neighborhoods import ColumnFunctions, ColumnView
from vanishing.detectors.preprocessing import OrientedGradients, check_image_shape
from vanishing.detectors.score import Coordinates
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import VanishingDetector
from vanishing.ideal import VanishingIdeal
from vanishing.laws.invariants import Invariant, Invariants
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws
from vanishing.laws.odes import Ode, Odes
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import Complement
from vanishing.polynomials.monomials import count
from vanishing.saving import (
    DTYPES,
    FORMAT,
    FORMAT_VERSION,
    LARGEST_HEADER,
    PIPELINE,
    Arrays,
    Checked,
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
from vanishing.transformations import Gather

__all__ = ["ModelFileError", "load", "save"]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file that ``save`` wrote.

    Nothing in the file is executed, so files from others can be opened safely. The model has the
    scores of the model that was saved, to the last bit on the same machine.

    Parameters
    ----------
    path : path

    Returns
    -------
    a model, a Pipeline that ends in one, Laws, Invariants or Odes

    Raises
    ------
    ModelFileError
        If the file is damaged, of another version of the format, or not a model file.
    """
    try:
        with Path(path).open("rb") as file:
            text, sha256, arrays = unpack(file, os.fstat(file.fileno()).st_size)
        manifest = parse_json(text, "manifest")
        _check_version(manifest)
        require(sha256 == digest(text, arrays), "it is damaged: its checksum does not match")
        with one_thread():  # models are used on single rows
            model = Decoder(arrays).decode(manifest.get("model"), "model", fitted=True)
            if type(model) is Pipeline:
                check_pipeline(model)
        if type(model) is not Pipeline:
            require(type(model) in (*MODELS, *RECORDS), "it contains no model")
        require(not arrays, f"it contains arrays that belong to nothing: {sorted(arrays)[:3]}")
    except (ModelFileError, RecursionError) as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {error}") from error
    return model


def _check_version(manifest: Any) -> None:
    require(
        isinstance(manifest, dict) and manifest.get("format") == FORMAT,
        "it is not a model file, according to its manifest",
    )
    found = manifest.get("format_version")
    require(
        type(found) is int and found == FORMAT_VERSION,
        f"its format has the version {found!r}, and this version of vanishing reads "
        f"{FORMAT_VERSION}; use the version that wrote it, or fit the model again",
    )


# --- The bytes of a file --------------------------------------------------------------------------


def unpack(file: IO[bytes], size: int) -> tuple[str, str, Arrays]:
    """Read manifest, digest and arrays; nothing is allocated that the file does not hold."""
    start = file.read(8)
    header_size = int.from_bytes(start, "little")
    rest = size - len(start)
    require(
        0 < header_size <= min(LARGEST_HEADER, rest),
        "this is not a model file, or it is cut off: the length of its header does not match",
    )
    header = file.read(header_size)
    described = parse_json(header, "header")
    metadata = described.get("__metadata__") if isinstance(described, dict) else None
    if not (
        isinstance(metadata, dict)
        and isinstance(manifest := metadata.get("manifest"), str)
        and isinstance(sha256 := metadata.get("sha256"), str)
    ):
        raise ModelFileError("this is not a model file: it has no manifest")
    content = start + header + file.read(rest - header_size)
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
        raise ModelFileError(f"the {what} is not valid JSON: {error}") from error


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
MODELS = (
    VanishingIdeal,
    ClassVanishingFeatures,
    VanishingDetector,
    TransformationDetector,
    ChristoffelDetector,
)
#: Equations, which have a method ``save`` of their own.
RECORDS = (Laws, Invariants, Odes)
#: The classes that a file may name.
CLASSES = collect_classes([*MODELS, *RECORDS])
#: Parameters of a pipeline that is the model itself; ``check_pipeline`` says which estimators.
MODEL_PIPELINE: Mapping[str, Any] = {
    "steps": list[tuple[str, BaseEstimator | Literal["passthrough"] | None]],
    "memory": None,
}


class Decoder:
    """Turns JSON back into values, and checks each; arrays are taken out when they are used."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def decode(self, node: Any, path: str, *, fitted: bool) -> Any:
        """Return the value that parsed JSON stands for; estimators are fitted, or must not be."""
        if isinstance(node, list):
            return [self.decode(each, f"{path}.{i}", fitted=fitted) for i, each in enumerate(node)]
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
                return tuple(self.decode(items, path, fitted=fitted))
            case {"dict": dict(items), **rest} if not rest:
                return self._decode_all(items, path, fitted=fitted)
            case {"class": str(name), **parts} if name in CLASSES:
                return self._decode_object(CLASSES[name], parts, path, fitted=fitted)
        raise ModelFileError(f"{path} is not of a kind that model files support")

    def _decode_all(self, nodes: dict[str, Any], path: str, *, fitted: bool) -> dict[str, Any]:
        return {
            name: self.decode(node, f"{path}.{name}", fitted=fitted) for name, node in nodes.items()
        }

    def _take_array(self, path: str, order: str) -> Any:
        array = self.arrays.pop(path, None)
        if array is None:
            raise ModelFileError(f"the array {path} is missing")
        if array.ndim == 0:
            return array[()]
        return np.array(array.T if order == "F" else array, order="K")

    def _decode_object(self, kept: type, parts: dict[str, Any], path: str, *, fitted: bool) -> Any:
        try:
            if is_estimator(kept):
                value = self._decode_estimator(kept, parts, path, fitted=fitted)
            else:
                value = self._decode_dataclass(kept, parts, path, fitted=fitted)
            if fitted and kept in CHECKS:
                CHECKS[kept](value)
        except ModelFileError:
            raise
        except (TypeError, ValueError, OverflowError) as error:  # raised by constructors
            raise ModelFileError(f"{path} is not valid: {error}") from error
        return value

    def _decode_dataclass(
        self, kept: type, parts: dict[str, Any], path: str, *, fitted: bool
    ) -> Any:
        types, shapes, required = get_fields(kept)
        nodes = _sections(parts, ("fields",), path)["fields"]
        _check_keys(nodes, required, types, path)
        values = self._decode_all(nodes, path, fitted=fitted)
        _check_types(values, types, path)
        positional: list[Any] = []
        for name, parameter in inspect.signature(kept).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                positional.extend(values.pop(name))
        made = kept(*positional, **values)
        check_shapes(made, shapes, path)
        return made

    def _decode_estimator(
        self, kept: Any, parts: dict[str, Any], path: str, *, fitted: bool
    ) -> Any:
        sections = ("parameters", "fitted") if fitted else ("parameters",)
        nodes = _sections(parts, sections, path)
        _check_keys(nodes["parameters"], (), get_parameter_names(kept), path)
        with_fit = fitted and kept is Pipeline
        parameters = self._decode_all(nodes["parameters"], path, fitted=with_fit)
        if kept is Pipeline:
            _check_types(parameters, MODEL_PIPELINE if path == "model" else PIPELINE, path)
        estimator = kept(**parameters)
        if isinstance(estimator, Checked):  # scikit-learn's check theirs in a fit
            estimator.check_parameters()
        if fitted:
            types, shapes, required = get_fitted(kept)
            _check_keys(nodes["fitted"], required, types, path)
            state = self._decode_all(nodes["fitted"], path, fitted=True)
            _check_types(state, types, path)
            vars(estimator).update(state)
            check_shapes(estimator, shapes, path)
        return estimator


def _string_array(strings: list[str], kind: str, path: str) -> Any:
    if kind == "O":
        return np.array(strings, dtype=object)
    n_bytes = 4 * len(strings) * max(map(len, strings), default=0)
    require(n_bytes <= LARGEST_HEADER, f"{path} has strings that are too long")
    return np.array(strings, dtype=np.str_)


def _sections(parts: dict[str, Any], expected: tuple[str, ...], path: str) -> dict[str, Any]:
    """Return the parts of an object, each a mapping of names."""
    require(
        parts.keys() == set(expected) and all(isinstance(each, dict) for each in parts.values()),
        f"{path} does not have the parts {list(expected)}",
    )
    return parts


def _check_keys(
    found: Collection[str], required: Collection[str], known: Collection[str], path: str
) -> None:
    missing, unknown = set(required) - set(found), set(found) - set(known)
    require(not missing, f"{path} lacks {sorted(missing)}")
    require(not unknown, f"{path} has {sorted(unknown)}, which are not known")


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    for name, value in values.items():
        if name in types and not conforms(value, types[name]):
            raise ModelFileError(f"{path}.{name} does not have the required type")


# --- Whether the parts of a model fit each other --------------------------------------------------
#
# Types and shapes were compared with annotations before. What follows is about indices. What else
# does not fit shows when the model is used on a row of its width.

#: Fits stay far below this degree. Counting the monomials of a huge one would take for ever.
LARGEST_DEGREE = 1000


def check_shapes(value: Any, shapes: Mapping[str, tuple[str, ...]], path: str) -> None:
    """Check that arrays have the shapes of their annotations."""
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        array = vars(value).get(name)
        if not isinstance(array, np.ndarray | Complement):
            continue
        fits = len(array.shape) == len(shape)
        for dimension, size in zip(shape, array.shape, strict=False):
            given = int(dimension) if dimension.isdecimal() else vars(value).get(dimension)
            if given is None:
                given = sizes.setdefault(dimension, size)
            fits &= size == (given if isinstance(given, int) else len(given))
        require(
            fits,
            f"{path}.{name} has the shape {array.shape}, which does not fit the other columns and "
            f"numbers: it should be ({', '.join(shape)})",
        )


def check_basis(basis: PolynomialBasis) -> None:
    """Check that each degree is made of products of lower ones."""
    require(
        len(basis.blocks) > 0
        and np.array_equal(basis.blocks[0].left, np.arange(len(basis.blocks[0].left)))
        and len(basis.blocks[0].left) == basis.n_features > 0,
        "the polynomials of degree 1 are not made of the features",
    )
    n_lower = 1
    n_first, n_last = basis.n_features, 1  # factors of the products of each degree
    for degree, block in enumerate(basis.blocks, start=1):
        n_nonvanishing, n_vanishing = block.nonvanishing.shape[1], block.vanishing.shape[1]
        require(
            len(block.projection) == n_lower
            # Each of the two is linearly independent. With the Christoffel function, some are both.
            and max(n_nonvanishing, n_vanishing) <= block.n_candidates
            and _all_below(block.left, n_first)
            and _all_below(block.right, n_last),
            f"products of degree {degree} have factors that do not exist",
        )
        n_lower += n_nonvanishing
        n_first, n_last = basis.blocks[0].nonvanishing.shape[1], n_nonvanishing


def check_ideal(ideal: VanishingIdeal) -> None:
    """Check a fitted ideal."""
    width = ideal.n_features_in_
    require(
        ideal.basis_.n_features == width,
        "the polynomials of an ideal do not have as many variables as its data has columns",
    )
    require(len(ideal.trace_) > 0, "an ideal has no trace")
    _use(ideal.basis_.evaluate, np.zeros((1, width)))
    if (border := ideal.order_ideal_) is not None:
        require(
            all(
                each.shape[1] == width and bool((each >= 0).all())
                for each in (border.terms, border.leading_terms)
            )
            and np.array_equal(border.leading_terms.sum(axis=1), ideal.basis_.degrees())
            and 0 < len(border.terms) <= ideal.basis_.count("nonvanishing"),
            "an order ideal does not fit its polynomials",
        )
    if (seen := vars(ideal).get("_seen")) is not None:
        check_seen(seen, width)


def check_seen(seen: Seen, width: int) -> None:
    """Check what is kept of the rows of partial fits."""
    _check_numbers("ranges", seen.ranges is None or seen.ranges.shape[1] == width, seen.ranges)
    for kept in (seen.points, seen.contrast):
        if kept is None:
            continue
        # Compared before monomials of a huge degree are counted.
        require(
            0 < kept.degree <= LARGEST_DEGREE and kept.degree == seen.points.degree,
            "partial fits have an impossible degree",
        )
        if isinstance(kept, KeptRows):
            fits = len(kept.parts) > 0 and all(
                part.ndim == 2 and part.shape[1] == width and len(part) for part in kept.parts
            )
            if kept.weights is not None:
                fits &= len(kept.weights) == len(kept) and bool((kept.weights > 0).all())
            _check_numbers("rows", fits, *kept.parts, kept.weights)
            continue
        frame, R = kept.frame, kept.factor.R
        n_monomials = count(width, kept.degree)
        fits = len(frame.origin) == width and len(kept.error) == R.shape[1] == n_monomials
        fits &= 0 < len(R) <= n_monomials and kept.factor.n_rows > 0
        _check_numbers("monomials", fits, frame.origin, frame.axes, frame.inverse, R, kept.error)


def _check_numbers(what: str, fits: bool, *arrays: Any) -> None:
    is_finite = all(bool(np.isfinite(array).all()) for array in arrays if array is not None)
    require(fits and is_finite, f"the {what} of partial fits are not those of the columns")


def check_class_features(features: ClassVanishingFeatures) -> None:
    """Check the ideals of all classes."""
    widths = {ideal.n_features_in_ for ideal in features.ideals_}
    require(widths == {features.n_features_in_}, "the ideals of classes do not fit the columns")


def check_detector(detector: Detector) -> None:
    """Check a fitted detector: that its score takes rows of its width."""
    score, width = detector.anomaly_score_, detector.n_features_in_
    described = [each for each in (score.normal, score.constants, score.ranges) if each is not None]
    arrays = [array for each in described for array in vars(each).values() if np.ndim(array)]
    if score.normal is None or any(len(array) != width for array in arrays):
        raise ModelFileError("the columns of the detector are not described")
    n_images = len(score.coordinates.maps)
    require(
        all(_all_below(np.array(view.images, int), n_images) for view in score.views),
        "a view looks at images that do not exist",
    )
    row = score.normal.mean[None, :]
    for view in score.views:
        if isinstance(view, ColumnView):
            image = _use(partial(score.coordinates.image, view.images[0]), row)
            fits = _are_functions(view.evidence, image.shape[1])
            require(fits, "a view does not fit its columns")
    _use(score.score_samples, row)


def check_coordinates(coordinates: Coordinates) -> None:
    """Check the columns that are taken, and their functions."""
    columns, scores = coordinates.columns, coordinates.normal_scores
    require(
        columns is None or int(columns.min(initial=0)) >= 0, "a column of a detector is negative"
    )
    require(
        not coordinates.ranked
        or (columns is not None and scores is not None and _are_functions(scores, len(columns))),
        "the normal scores of the detector do not fit its columns",
    )


def _use(method: Callable[[Any], Any], row: npt.NDArray[Any]) -> Any:
    """Apply a method of a model to a row: it fails if the parts do not fit each other."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method(row)
    except Exception as error:
        raise ModelFileError(f"its parts do not fit each other: {error}") from error


def check_christoffel(detector: ChristoffelDetector) -> None:
    """Check a detector, and what it keeps of the rows of partial fits."""
    check_detector(detector)
    kept, width = vars(detector), detector.n_features_in_
    ideal, reservoir = kept.get("_ideal"), kept.get("_reservoir")
    require((ideal is None) == (reservoir is None), "a part of partial fits is missing")
    if ideal is not None and reservoir is not None:
        require("_seen" in vars(ideal), "the rows of partial fits are missing")
        rows = reservoir.rows
        fits = ideal.n_features_in_ == rows.shape[1] == width and 0 < len(rows) <= reservoir.n_seen
        _check_numbers("rows", fits and bool((reservoir.weights > 0).all()), rows)


def _are_functions(functions: ColumnFunctions, width: int) -> bool:
    """Say whether each of so many columns has a function, with knots in increasing order."""
    starts, knots = functions.starts, functions.knots
    fits = len(starts) == width + 1 and starts[0] == 0 and starts[-1] == len(knots)
    if not (fits and bool((np.diff(starts) >= 2).all())):
        return False
    numbers = np.isfinite(knots).all() and np.isfinite(functions.values).all()
    steps = np.delete(np.diff(knots), starts[1:-1] - 1)
    return bool(numbers and (steps > 0).all())


def check_gather(gather: Gather) -> None:
    """Check that columns are among those of the rows."""
    require(_all_below(gather.columns, len(gather.columns)), "a transformation moves no columns")


def check_gradients(gradients: OrientedGradients) -> None:
    """Check that rows are images of a shape."""
    check_image_shape(gradients.image_shape)
    require(
        prod(gradients.image_shape) == gradients.n_features_in_,
        f"images of shape {gradients.image_shape} do not have {gradients.n_features_in_} pixels",
    )


def check_pipeline(pipeline: Pipeline) -> None:
    """Check that preprocessing leads to the columns of the model at the end."""
    check_model_pipeline(pipeline)
    *steps, model = get_steps(pipeline)
    if steps:
        image = _use(
            Pipeline(pipeline.steps[:-1]).transform, np.zeros((1, get_input_width(steps[0])))
        )
        require(model.n_features_in_ == np.shape(image)[1], "the model does not fit its steps")


def check_law(law: Law) -> None:
    """Check the terms of an equation."""
    require(
        len(law.coefficients) > 0
        and _all_below(law.exponents, LARGEST_DEGREE)
        and bool(np.isfinite(law.coefficients).all()),
        "an equation has terms that are no numbers or have an impossible degree",
    )


def check_laws(laws: Laws) -> None:
    """Check that laws speak about columns that there are."""
    _check_names(laws.equations, (*laws.names, *(each.name for each in laws.derived)))
    require(
        all(name in laws.names for each in laws.derived for name in each.sources),
        "a derived column has sources that there are not",
    )
    require(
        laws.units is None or bool(np.all((laws.units >= 0) & (laws.units <= 1))),
        "the units of laws are not last digits",
    )


def check_invariants(invariants: Invariants) -> None:
    """Check that invariants speak about columns and trajectories that there are."""
    _check_names([*invariants.equations, *invariants.laws], invariants.names)
    require(
        all(len(each.levels) == len(invariants.labels) for each in invariants.equations),
        "an invariant does not fit its trajectories",
    )


def check_odes(odes: Odes) -> None:
    """Check that differential equations speak about columns that there are, and a derivative."""
    for ode in odes.equations:
        _check_names([ode], (*odes.names, *ode.names[-1:]))


def _check_names(laws: Iterable[Law], names: tuple[str, ...]) -> None:
    require(all(law.names == names for law in laws), "an equation does not fit its columns")


def _all_below(indices: Any, bound: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < bound)


#: The checks of classes, made as soon as an object of one has been read.
CHECKS: Mapping[type, Callable[[Any], None]] = {
    PolynomialBasis: check_basis,
    VanishingIdeal: check_ideal,
    ClassVanishingFeatures: check_class_features,
    Coordinates: check_coordinates,
    Gather: check_gather,
    VanishingDetector: check_detector,
    TransformationDetector: check_detector,
    ChristoffelDetector: check_christoffel,
    OrientedGradients: check_gradients,
    Law: check_law,
    Invariant: check_law,
    Ode: check_law,
    Laws: check_laws,
    Invariants: check_invariants,
    Odes: check_odes,
}
