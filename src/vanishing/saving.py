"""Writing fitted models to files, and to ONNX graphs.

A model file is a safetensors container: the arrays of the model, and in its metadata a JSON
manifest that says what they belong to. What is kept of a class follows from its annotations, so
that nothing is listed twice:

* of a dataclass its fields;
* of an estimator its parameters and, if it is fitted, the annotated attributes of its class.

A field or attribute that has a default may be missing in a file. Annotations also give the shapes
of arrays: ``Annotated[FloatArray, "n_rows names"]`` has as many columns as there are ``names``.
``persistence.py`` reads files, and compares them with the annotations.

Fields may be rows of the training data: a detector that compares with the nearest rows keeps up to
1,000 of them, and what is kept of partial fits may be rows as well.
"""

import hashlib
import inspect
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import numpy.typing as npt
import sklearn
from safetensors.numpy import save as to_bytes
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import vanishing
from vanishing import contrasts, equations, transformations
from vanishing.arrays.namespace import FloatArray
from vanishing.construction import border, normalizations, passes
from vanishing.data.atomic import write_atomic

FORMAT = "vanishing model"
#: Raised when files of an earlier version would be misread. From 0.2.0 on, files of every release
#: stay readable.
FORMAT_VERSION = 3


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file holds no model that can be read."""


def require(condition: bool, message: str) -> None:
    """Raise ``ModelFileError`` unless the condition holds."""
    if not condition:
        raise ModelFileError(message)


# --- The methods of all models --------------------------------------------------------------------


class Checked:
    """Mixin of estimators whose parameters are checked when a file is read."""

    def check_parameters(self) -> None:
        """Raise if a parameter is not valid."""
        self._validate_params()  # type: ignore[attr-defined]


class Saveable(Checked):
    """Mixin of the estimators that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into one file, from which ``vanishing.load`` reads it.

        The file is written completely or not at all, and holds no code. What explains scores keeps
        up to 1,000 rows of the training data in it.

        Parameters
        ----------
        path : path
            A file that exists is replaced.
        """
        save(self, path)

    def to_onnx(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        dtype: Literal["float32", "float64"] = "float32",
        arithmetic: Literal["float32", "float64"] = "float64",
    ) -> Any:
        """Return the fitted model as an ONNX graph, which runs without Python.

        See ``vanishing.equations.to_onnx``, which also takes pipelines.

        Parameters
        ----------
        path : path, optional
            Where to write it; a file that exists is replaced.
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and of the outputs.
        arithmetic : {"float64", "float32"}, default="float64"
            Type of the numbers in between.

        Returns
        -------
        onnx.ModelProto
        """
        graph = equations.to_onnx(self, dtype=dtype, arithmetic=arithmetic)
        if path is not None:
            write_atomic(path, graph.SerializeToString())
        return graph


class Preprocessor(Checked, ABC):
    """Base of the transformers of this library that files keep in front of a model."""

    @property
    @abstractmethod
    def n_features_out(self) -> int:
        """Number of columns of the output."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into one file.

    The file is written completely or not at all; a model that cannot be saved is rejected before
    anything is written.

    Parameters
    ----------
    model : VanishingIdeal, ClassVanishingFeatures, or a detector
        Fitted; or a ``Pipeline`` of ``PCA``, ``StandardScaler`` and ``OrientedGradients`` that ends
        in one of them.
    path : path
        A file that exists is replaced.

    Raises
    ------
    ModelFileError
        If the model holds something that a file cannot: a function, a class of your own, a
        preprocessor other than ``PCA``, ``StandardScaler``, ``OrientedGradients`` and pipelines of
        them.
    """
    last = model.steps[-1][1] if type(model) is Pipeline else model
    if not is_own(last, Saveable):
        raise ModelFileError(
            "model files hold the models of this library, and pipelines that end in one, got "
            f"{type(last).__name__}"
        )
    steps = get_steps(model)
    for step in steps:
        check_is_fitted(step)
    if type(model) is Pipeline:
        check_model_pipeline(model)
    write_model(path, model, get_input_width(steps[0]))


def write_model(path: str | os.PathLike[str], model: Any, n_columns: int) -> None:
    """Write a model that was checked, or a record such as laws, for rows of ``n_columns``."""
    encoder = Encoder()
    encoded = encoder.encode(model, "model", fitted=True)
    last = model.steps[-1][1] if type(model) is Pipeline else model
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": {
            "vanishing": vanishing.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "data": {
            "n_features": n_columns,
            "fingerprint": compute_fingerprint(last, encoder.arrays),
        },
        "model": encoded,
    }
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":"))
    write_atomic(path, pack(text, encoder.arrays))


def compute_fingerprint(model: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a digest of the column names and of all arrays of a fitted model."""
    found = hashlib.sha256()
    for name in getattr(model, "feature_names_in_", ()):
        found.update(repr(str(name)).encode())
    found.update(digest("", arrays).encode())
    return found.hexdigest()[:16]


def is_own(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Say whether a value is a model or a transformer of this library, not a user's subclass."""
    return isinstance(value, kind) and type(value).__module__.startswith("vanishing.")


def get_steps(model: Any) -> list[Any]:
    """Return the estimators that a model applies one after the other."""
    if type(model) is not Pipeline:
        return [model]
    return [step for _, step in model.steps if step not in (None, "passthrough")]


def get_input_width(estimator: Any) -> int:
    """Return the width of the rows that a fitted estimator takes."""
    if not isinstance(estimator, Pipeline):
        return int(estimator.n_features_in_)
    steps = get_steps(estimator)
    require(len(steps) > 0, "a pipeline has no steps")
    return get_input_width(steps[0])


def check_model_pipeline(pipeline: Pipeline) -> None:
    """Check that a pipeline ends in a model, and that its steps have proper names."""
    *before, (_, last) = pipeline.steps or [("", None)]
    require(
        is_own(last, Saveable) and not any(is_own(step, Saveable) for _, step in before),
        "a pipeline must end in a model, and have no other one",
    )
    names = [name for name, _ in pipeline.steps]
    require(
        len(set(names)) == len(names)
        and not any("__" in name or name in get_parameter_names(Pipeline) for name in names),
        f"the steps of a pipeline have no proper names: {names}",
    )


# --- What is kept of each class -------------------------------------------------------------------

AnyArray = npt.NDArray[np.generic]

#: Classes that parameters may be. In files their names begin with that of their module.
PARAMETERS: tuple[type, ...] = (
    border.Abm,
    border.AbmGradient,
    border.Oavi,
    contrasts.GaussianNoise,
    contrasts.Mixture,
    contrasts.Permuted,
    contrasts.Uniform,
    normalizations.Coefficient,
    normalizations.Contrastive,
    normalizations.Gradient,
    normalizations.GradientWeighted,
    normalizations.Vca,
    passes.Auto,
    passes.Gram,
    passes.Tsqr,
    transformations.AnyOf,
    transformations.Flips,
    transformations.Identity,
    transformations.Product,
    transformations.RandomAffine,
    transformations.Rotations,
    transformations.Translations,
)

#: The fitted attributes of scikit-learn's estimators, which have no annotations.
PREPROCESSORS: Mapping[type, Mapping[str, Any]] = {
    PCA: {
        "n_features_in_": int,
        "mean_": Annotated[FloatArray, "n_features_in_"],
        "components_": Annotated[FloatArray, "n_components n_features_in_"],
        "explained_variance_": Annotated[FloatArray, "n_components"],
        "explained_variance_ratio_": FloatArray,
        "singular_values_": FloatArray,
        "noise_variance_": float,
        "n_components_": int,
        "n_samples_": int,
    },
    StandardScaler: {
        "n_features_in_": int,
        "mean_": Annotated[FloatArray | None, "n_features_in_"],
        "var_": Annotated[FloatArray | None, "n_features_in_"],
        "scale_": Annotated[FloatArray | None, "n_features_in_"],
        "n_samples_seen_": float | AnyArray,
    },
    # Its steps are parameters and fitted at the same time.
    Pipeline: {},
}
#: Attributes that scikit-learn adds: column names, and the frames that ``set_output`` asks for.
ADDED: Mapping[str, Any] = {
    "feature_names_in_": Annotated[npt.NDArray[np.object_], "n_features_in_"],
    "_sklearn_output_config": dict[
        Literal["transform"], Literal["default", "pandas", "polars"] | None
    ],
}
#: What pipelines and searches pass to ``fit``: files hold fitted models, which need none of it.
LEFT_OUT = frozenset({"_metadata_request"})
#: Parameters of pipelines, which scikit-learn itself checks when they are used.
PIPELINE: Mapping[str, Any] = {
    "steps": list[
        tuple[str, PCA | StandardScaler | Preprocessor | Pipeline | Literal["passthrough"] | None]
    ],
    "memory": None,
}


#: Classes of this library that hold functions, which are code.
CODE = (transformations.Function, transformations.FunctionTransformation)


class Kept(NamedTuple):
    """The types of what is kept and the shapes of arrays, by name; the names that must be there."""

    types: Mapping[str, Any]
    shapes: Mapping[str, tuple[str, ...]]
    required: frozenset[str]

    @classmethod
    def of(cls, hints: Mapping[str, Any], required: Iterable[str]) -> "Kept":
        """Split annotations into types and what ``Annotated`` adds: shapes, types in files."""
        types, shapes = dict(hints), {}
        for name, hint in hints.items():
            if get_origin(hint) is Annotated:
                kind, note = get_args(hint)
                types[name] = kind if isinstance(note, str) else note
                if isinstance(note, str):
                    shapes[name] = tuple(note.split())
        return cls(types, shapes, frozenset(required))


def get_file_name(kept: type) -> str:
    """Return the name of a class in files. Names are part of the format."""
    if kept in PREPROCESSORS:
        return f"sklearn.{kept.__name__}"
    if kept in PARAMETERS:
        return f"{kept.__module__.rpartition('.')[2]}.{kept.__name__}"
    return kept.__name__


def is_estimator(kept: type) -> bool:
    """Say whether a class has parameters and fitted attributes, rather than fields."""
    return kept in PREPROCESSORS or issubclass(kept, Checked)


def is_record(kept: type) -> bool:
    """Say whether a class is a concrete dataclass of this library that holds no code."""
    return (
        is_dataclass(kept)
        and kept.__module__.startswith("vanishing.")
        and not inspect.isabstract(kept)
        and kept not in CODE
    )


@cache
def get_parameter_names(kept: Any) -> frozenset[str]:
    """Return the parameters of an estimator's constructor."""
    return frozenset(inspect.signature(kept).parameters)


@cache
def get_fields(kept: Any) -> Kept:
    """Return the fields of a dataclass."""
    hints = get_type_hints(kept, include_extras=True)
    optional = {
        name
        for name, parameter in inspect.signature(kept).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    names = [each.name for each in fields(kept)]
    return Kept.of({name: hints[name] for name in names}, set(names) - optional)


@cache
def get_fitted(kept: Any) -> Kept:
    """Return the attributes that a fit leaves in an estimator."""
    if kept in PREPROCESSORS:
        found = dict(PREPROCESSORS[kept])
    else:
        found = {
            name: hint
            for name, hint in get_type_hints(kept, include_extras=True).items()
            if get_origin(hint) is not ClassVar and name not in get_parameter_names(kept)
        }
    return Kept.of({**found, **ADDED}, [name for name in found if not hasattr(kept, name)])


def collect_classes(models: Iterable[type]) -> dict[str, type]:
    """Return the models, parameters, and what their annotations name, by their names in files."""
    found: dict[str, type] = {}
    waiting: list[Any] = [*models, *PARAMETERS, *PREPROCESSORS]
    while waiting:
        hint = resolve_alias(waiting.pop())
        waiting.extend(get_args(hint))
        if not isinstance(hint, type) or hint in found.values():
            continue
        if inspect.isabstract(hint) and hint.__module__.startswith("vanishing."):
            waiting.extend(hint.__subclasses__())
        elif is_estimator(hint):
            found[get_file_name(hint)] = hint
            waiting.extend(get_fitted(hint).types.values())
        elif is_record(hint):
            found[get_file_name(hint)] = hint
            waiting.extend(get_fields(hint).types.values())
    return found


def conforms(value: object, hint: Any) -> bool:
    """Say whether a value has a type, down to the elements of lists, tuples and arrays."""
    if hint is Any:
        return True
    if hint in (None, NoneType):
        return value is None
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, float | np.floating) or conforms(value, int)
    hint = resolve_alias(hint)
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
    if origin is dict:
        return isinstance(value, dict) and all(
            conforms(key, args[0]) and conforms(each, args[1]) for key, each in value.items()
        )
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        expected = args[:1] * len(value) if args[-1] is Ellipsis else args
        return len(value) == len(expected) and all(map(conforms, value, expected))
    return isinstance(value, hint)


def resolve_alias(hint: Any) -> Any:
    """Return what an alias of the ``type`` statement stands for; NDArray is one since NumPy 2.5."""
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):  # pragma: no branch - Python 3.12
        return hint
    meant, given = alias.__value__, dict(zip(alias.__type_params__, get_args(hint), strict=True))
    parameters = getattr(meant, "__parameters__", ())
    return resolve_alias(meant[tuple(given[each] for each in parameters)] if parameters else meant)


# --- Values of a model as JSON, and its arrays ----------------------------------------------------
#
# None, booleans, integers, finite floats, strings and lists stand for themselves. Anything else is
# an object with a tag: ``{"array": "F"}`` for an array (stored under the path of the value; "F" for
# column-major order, which decides the last digit of products), ``{"class": ..., "fields": ...}``
# for a dataclass, and ``{"class": ..., "parameters": ..., "fitted": ...}`` for an estimator, the
# last one only if it is fitted.

Arrays = dict[str, npt.NDArray[Any]]

#: Types of arrays, by their names in safetensors.
DTYPES: dict[str, type[np.generic]] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
#: Bytes of the header, which holds the manifest; a detector of a thousand ideals has about 5 MB.
#: An array of strings takes no more, though each of them takes as much as the longest.
LARGEST_HEADER = 2**26


class Encoder:
    """Turns values into JSON and collects their arrays, by the path of the value in the model."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def encode(self, value: Any, path: str, *, fitted: bool) -> Any:
        """Return the JSON of a value; of estimators the parameters only, unless ``fitted``."""
        kind: Any = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._encode_array(np.asarray(value), path)
        if kind in (list, tuple):
            items = [
                self.encode(each, f"{path}.{i}", fitted=fitted) for i, each in enumerate(value)
            ]
            return items if kind is list else {"tuple": items}
        if kind is dict:
            require(all(type(key) is str for key in value), f"{path} has keys that are not strings")
            return {"dict": self._encode_all(value, path, fitted=fitted)}
        name = get_file_name(kind)
        if kind in PREPROCESSORS or is_own(value, Checked):
            return {"class": name} | self._encode_estimator(value, path, fitted=fitted)
        if not is_record(kind):
            raise ModelFileError(_refusal(value, path))
        types = get_fields(kind).types
        parts = {each: getattr(value, each) for each in types}
        _check_types(parts, types, path)
        return {"class": name, "fields": self._encode_all(parts, path, fitted=fitted)}

    def _encode_all(self, values: dict[str, Any], path: str, *, fitted: bool) -> dict[str, Any]:
        return {
            name: self.encode(value, f"{path}.{name}", fitted=fitted)
            for name, value in values.items()
        }

    def _encode_estimator(self, estimator: Any, path: str, *, fitted: bool) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        is_pipeline = isinstance(estimator, Pipeline)
        encoded = {"parameters": self._encode_all(parameters, path, fitted=fitted and is_pipeline)}
        if is_pipeline:
            steps = parameters["steps"]
            before = steps[:-1] if path == "model" else steps
            _check_types({**parameters, "steps": before}, PIPELINE, path)
        if fitted:
            present = vars(estimator)
            kind: Any = type(estimator)
            types, _, required = get_fitted(kind)
            state = {name: present[name] for name in types if name in required or name in present}
            _check_types(state, types, path)
            unknown = present.keys() - parameters.keys() - state.keys() - LEFT_OUT
            # Scikit-learn keeps notes to itself; ours are all needed.
            if unknown and is_own(estimator, Checked):
                raise ModelFileError(
                    f"{path} has the attributes {sorted(unknown)}, for which model files have no "
                    "place; remove them"
                )
            encoded["fitted"] = self._encode_all(state, path, fitted=True)
        return encoded

    def _encode_array(self, array: npt.NDArray[Any], path: str) -> dict[str, Any]:
        if array.dtype.kind in "OU" and array.ndim == 1:
            strings, is_short = array.tolist(), array.nbytes <= LARGEST_HEADER
            if all(isinstance(each, str) for each in strings) and (
                is_short or array.dtype.kind == "O"
            ):
                return {"strings": [str(each) for each in strings], "kind": array.dtype.kind}
        known = {np.dtype(dtype) for dtype in DTYPES.values()}
        if array.dtype.newbyteorder("=") not in known or array.ndim > 2:
            raise ModelFileError(
                f"{path} is an array of {array.ndim} dimensions and dtype {array.dtype}; model "
                "files hold real numbers and strings in one or two dimensions"
            )
        by_columns = array.ndim == 2 and array.strides[0] < array.strides[1]
        self.arrays[path] = array.T if by_columns else array
        return {"array": "F" if by_columns else "C"}


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    """Refuse values that could not be read again."""
    for name, hint in types.items():
        if name in values and not conforms(values[name], hint):
            raise ModelFileError(_refusal(values[name], f"{path}.{name}"))


def _refusal(value: Any, path: str) -> str:
    """Say why a value cannot be kept."""
    name = type(value).__name__
    if isinstance(value, str | int | float | list | tuple | np.ndarray):
        return f"{path} is {value!r}, which cannot be saved in a model file"
    if isinstance(value, CODE) or callable(value):
        reason = "functions are code, which model files do not contain"
    elif hasattr(value, "fit"):
        reason = (
            "the only other estimators they support are PCA, StandardScaler, OrientedGradients and "
            "pipelines of these"
        )
    else:
        reason = "they support only classes of this library"
    return f"{path} is a {name}, and cannot be saved in a model file: {reason}"


# --- The bytes of a file --------------------------------------------------------------------------
#
# The metadata of the container holds the manifest and a digest of manifest and arrays. The digest
# detects damage, such as a flipped bit in a coefficient, but not intent: whoever changes a file can
# write a new digest as well.


def pack(manifest: str, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the content of a file."""
    plain = {name: _plain(array) for name, array in arrays.items()}
    content = to_bytes(plain, {"manifest": manifest, "sha256": digest(manifest, arrays)})
    start = 8 + int.from_bytes(content[:8], "little")
    # The order of the metadata is random; the same model makes the same file.
    header = json.loads(content[8:start])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at multiples of 8 bytes
    require(
        len(text) <= LARGEST_HEADER,
        f"the model has too many parts for a file: their list takes {len(text)} bytes, over "
        f"{LARGEST_HEADER}",
    )
    return len(text).to_bytes(8, "little") + text + content[start:]


def digest(manifest: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the digest of all that a file says."""
    found = hashlib.sha256(manifest.encode(errors="surrogatepass"))
    for name in sorted(arrays):
        array = _plain(arrays[name])
        found.update(repr((name, array.dtype.str, array.shape)).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the format of files: row by row, the least significant byte first."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
