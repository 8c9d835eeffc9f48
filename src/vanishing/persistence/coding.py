"""Models as JSON and arrays, and back."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from vanishing import transformations
from vanishing.persistence import format_1
from vanishing.persistence.container import DTYPES, LARGEST_STRINGS, Arrays, ModelFileError, require
from vanishing.persistence.schema import (
    ADDED_LATER,
    CHECKS,
    CLASSES,
    FITTED,
    NAMES,
    build,
    conforms,
    field_types,
    parameter_names,
    pipeline_types,
)

# --- Values of a model as JSON, with its arrays aside ---------------------------------------------
#
# None, booleans, integers, finite floats, strings and lists stand for themselves. Anything else is
# an
# object with a tag: ``{"array": "F"}`` for an array (stored under the path of the value; "F" if it
# lies in memory one column after the other, which decides the last digit of products),
# ``{"class": ..., "fields": ...}`` for a dataclass, and for an estimator ``{"class": ...,
# "parameters": ..., "fitted": ...}``, the last one only where it is fitted.

_ARRAY_TYPES = tuple(np.dtype(dtype) for dtype in DTYPES.values())


class Encoder:
    """Turns values into JSON and collects their arrays.

    Attributes
    ----------
    arrays : dict of arrays
        By the path of the value in the model.
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def encode(self, value: Any, path: str, *, fitted: bool) -> Any:
        """Return what stands for a value.

        Parameters
        ----------
        value : object
        path : str
            Where in the model it is.
        fitted : bool
            Whether estimators are kept as fitted, or, as templates, by their parameters only.
        """
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._encode_array(np.asarray(value), path)
        if type(value) in (list, tuple):
            items = [
                self.encode(each, f"{path}.{i}", fitted=fitted) for i, each in enumerate(value)
            ]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            require(all(type(key) is str for key in value), f"{path} has keys that are no strings")
            return {"dict": self._encode_all(value, path, fitted=fitted)}
        if type(value) not in NAMES:
            raise ModelFileError(_refusal(value, path))
        kept: type = type(value)
        name = NAMES[kept]
        if kept not in FITTED:
            parts = {each: getattr(value, each) for each in field_types(kept)}
            _check_written_types(parts, field_types(kept), path)
            return {"class": name, "fields": self._encode_all(parts, path, fitted=fitted)}
        return {"class": name} | self._encode_estimator(value, path, fitted=fitted)

    def _encode_all(self, values: dict[str, Any], path: str, *, fitted: bool) -> dict[str, Any]:
        return {
            name: self.encode(value, f"{path}.{name}", fitted=fitted)
            for name, value in values.items()
        }

    def _encode_estimator(self, estimator: Any, path: str, *, fitted: bool) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        # The steps of a pipeline are parameters and fitted at the same time.
        with_fit = fitted and isinstance(estimator, Pipeline)
        encoded = {"parameters": self._encode_all(parameters, path, fitted=with_fit)}
        if isinstance(estimator, Pipeline):
            _check_written_types(parameters, pipeline_types(path), path)
        if fitted:
            record = FITTED[type(estimator)]
            types = {**record.required, **record.optional}
            present = vars(estimator)
            state = {
                name: present[name] for name in types if name in record.required or name in present
            }
            _check_written_types(state, types, path)
            unknown = present.keys() - parameters.keys() - state.keys() - record.derived.keys()
            # Scikit-learn keeps notes to itself; ours are all needed.
            if unknown and type(estimator).__module__.startswith("vanishing."):
                raise ModelFileError(
                    f"{path} has the attributes {sorted(unknown)}, for which model files have no "
                    "place; remove them"
                )
            encoded["fitted"] = self._encode_all(state, path, fitted=True)
        return encoded

    def _encode_array(self, array: npt.NDArray[Any], path: str) -> dict[str, Any]:
        if array.dtype.kind in "OU":
            strings = array.tolist()
            if (
                array.ndim == 1
                and all(isinstance(each, str) for each in strings)
                and (array.dtype.kind == "O" or array.nbytes <= LARGEST_STRINGS)
            ):
                return {"strings": [str(each) for each in strings], "kind": array.dtype.kind}
        if array.dtype.newbyteorder("=") not in _ARRAY_TYPES or array.ndim > 2:
            raise ModelFileError(
                f"{path} is an array of {array.ndim} dimensions and dtype {array.dtype}; model "
                "files hold real numbers and strings in one or two dimensions"
            )
        by_columns = array.ndim == 2 and array.strides[0] < array.strides[1]
        self.arrays[path] = array.T if by_columns else array
        return {"array": "F" if by_columns else "C"}


def _check_written_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    """Refuse what would not be read again."""
    for name, hint in types.items():
        if name in values and not conforms(values[name], hint):
            raise ModelFileError(_refusal(values[name], f"{path}.{name}"))


def _refusal(value: Any, path: str) -> str:
    """Say why a value cannot be kept, and what to do."""
    name = type(value).__name__
    if isinstance(value, str | int | float | list | tuple | np.ndarray):
        return f"{path} is {value!r}, which cannot be saved in a model file"
    if isinstance(value, transformations.FunctionTransformation) or callable(value):
        reason = "functions are code, which model files do not hold"
    elif hasattr(value, "fit"):
        reason = "of other estimators they keep PCA, StandardScaler and pipelines of these"
    else:
        reason = "they keep classes of this library only"
    return f"{path} is a {name}, and cannot be saved in a model file: {reason}"


# --- Values of a model from the JSON that ``encode`` makes, with checks at every step -------------
#
# Classes come from the table only, every array is used once and none may be left, so that a file
# makes no more objects and no larger arrays than it has bytes for.

#: Of objects in objects; a detector has about ten levels, a pipeline in a pipeline a few more.
DEEPEST = 40


class Decoder:
    """Turns JSON back into values, and checks each of them.

    Parameters
    ----------
    arrays : dict of arrays
        Each is taken out when it is used.
    is_format_1 : bool
        Whether detectors are those of files of format 1.
    """

    def __init__(self, arrays: Arrays, *, is_format_1: bool = False) -> None:
        self.arrays = arrays
        self.is_format_1 = is_format_1
        self.classes = {**CLASSES, **format_1.CLASSES} if is_format_1 else CLASSES

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
            case {"class": str(name), **parts} if name in self.classes:
                return self._decode_object(
                    self.classes[name], parts, path, fitted=fitted, depth=depth
                )
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
            if kept in FITTED:
                value = self._decode_estimator(kept, parts, path, fitted=fitted, depth=depth)
            else:
                value = self._decode_dataclass(kept, parts, path, fitted=fitted, depth=depth)
            if fitted:
                _complete(value)
        except ModelFileError:
            raise
        except (TypeError, ValueError, OverflowError) as error:  # constructors check as well
            raise ModelFileError(f"{path} is not valid: {error}") from error
        return value

    def _decode_dataclass(
        self, kept: type, parts: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> Any:
        types = field_types(kept)
        nodes = _sections(parts, ("fields",), path)["fields"]
        _check_names(nodes, types.keys() - ADDED_LATER.get(kept, set()), types, path)
        values = self._decode_all(nodes, path, fitted=fitted, depth=depth)
        _check_read_types(values, types, path)
        return build(kept, values)

    def _decode_estimator(
        self, kept: Any, parts: dict[str, Any], path: str, *, fitted: bool, depth: int
    ) -> Any:
        sections = ("parameters", "fitted") if fitted else ("parameters",)
        nodes = _sections(parts, sections, path)
        _check_names(nodes["parameters"], (), parameter_names(kept), path)
        with_fit = fitted and kept is Pipeline
        parameters = self._decode_all(nodes["parameters"], path, fitted=with_fit, depth=depth)
        if kept is Pipeline:
            _check_read_types(parameters, pipeline_types(path), path)
        estimator = kept(**parameters)
        estimator._validate_params()  # noqa: SLF001  (scikit-learn has no public name for it)
        if fitted:
            record = FITTED[kept]
            required, optional = record.required, record.optional
            old = self.is_format_1 and kept in format_1.REQUIRED
            if old:
                required = {**required, **format_1.REQUIRED[kept]}
                required.pop("anomaly_score_")
                optional = {**optional, **format_1.OPTIONAL[kept]}
            types = {**required, **optional}
            _check_names(nodes["fitted"], required, types, path)
            state = self._decode_all(nodes["fitted"], path, fitted=True, depth=depth)
            _check_read_types(state, types, path)
            if old:
                state = format_1.upgrade(kept, state)
            vars(estimator).update(state)
        return estimator


def _string_array(strings: list[str], kind: str, path: str) -> Any:
    if kind == "O":
        return np.array(strings, dtype=object)
    n_bytes = 4 * len(strings) * max(map(len, strings), default=0)
    require(n_bytes <= LARGEST_STRINGS, f"{path} has too long strings")
    return np.array(strings, dtype=np.str_)


def _complete(value: Any) -> None:
    """Check a value whose parts are there, and add what follows from them."""
    kept = type(value)
    if kept in CHECKS:
        CHECKS[kept](value)
    if kept in FITTED:
        for name, derive in FITTED[kept].derived.items():
            setattr(value, name, derive(value))


def _sections(parts: dict[str, Any], expected: tuple[str, ...], path: str) -> dict[str, Any]:
    """Return the parts of an object, each a mapping of names."""
    require(
        parts.keys() == set(expected) and all(isinstance(each, dict) for each in parts.values()),
        f"{path} has not the parts {list(expected)}",
    )
    return parts


def _check_names(
    found: Collection[str], required: Collection[str], known: Collection[str], path: str
) -> None:
    missing, unknown = set(required) - set(found), set(found) - set(known)
    require(not missing, f"{path} lacks {sorted(missing)}")
    require(not unknown, f"{path} has {sorted(unknown)}, which are not known")


def _check_read_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    for name, value in values.items():
        if name in types and not conforms(value, types[name]):
            raise ModelFileError(f"{path}.{name} is not of the type that it has to be")
