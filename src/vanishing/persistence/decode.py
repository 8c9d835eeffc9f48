"""Values of a model from the JSON that ``encode`` makes, with checks at every step.

Classes come from the table only, every array is used once and none may be left, so that a file
makes no more objects and no larger arrays than it has bytes for.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from vanishing.persistence.checks import CHECKS
from vanishing.persistence.classes import (
    ADDED_LATER,
    CLASSES,
    FITTED,
    build,
    field_types,
    parameter_names,
    pipeline_types,
)
from vanishing.persistence.conform import conforms
from vanishing.persistence.container import LARGEST_STRINGS, Arrays
from vanishing.persistence.errors import ModelFileError, require

#: Of objects in objects; a detector has about ten levels, a pipeline in a pipeline a few more.
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
        _check_types(values, types, path)
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
            _check_types(parameters, pipeline_types(path), path)
        estimator = kept(**parameters)
        estimator._validate_params()
        if fitted:
            record = FITTED[kept]
            types = {**record.required, **record.optional}
            _check_names(nodes["fitted"], record.required, types, path)
            state = self._decode_all(nodes["fitted"], path, fitted=True, depth=depth)
            _check_types(state, types, path)
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


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    for name, value in values.items():
        if name in types and not conforms(value, types[name]):
            raise ModelFileError(f"{path}.{name} is not of the type that it has to be")
