"""Values of a model as JSON, with its arrays aside.

None, booleans, integers, finite floats, strings and lists stand for themselves. Anything else is an
object with a tag: ``{"array": "F"}`` for an array (stored under the path of the value; "F" if it
lies in memory one column after the other, which decides the last digit of products),
``{"class": ..., "fields": ...}`` for a dataclass, and for an estimator ``{"class": ...,
"parameters": ..., "fitted": ...}``, the last one only where it is fitted.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from vanishing import transformations
from vanishing.persistence.classes import FITTED, NAMES, field_types, pipeline_types
from vanishing.persistence.conform import conforms
from vanishing.persistence.container import DTYPES, LARGEST_STRINGS, Arrays
from vanishing.persistence.errors import ModelFileError, require

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
            _check_types(parts, field_types(kept), path)
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
            _check_types(parameters, pipeline_types(path), path)
        if fitted:
            record = FITTED[type(estimator)]
            types = {**record.required, **record.optional}
            present = vars(estimator)
            state = {
                name: present[name] for name in types if name in record.required or name in present
            }
            _check_types(state, types, path)
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


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], path: str) -> None:
    """Refuse what would not be read again."""
    for name, hint in types.items():
        if name in values and not conforms(values[name], hint):
            raise ModelFileError(_refusal(values[name], f"{path}.{name}"))


def _refusal(value: Any, path: str) -> str:
    """Say why a value cannot be kept, and what to do."""
    name = type(value).__name__
    if isinstance(value, str | int | float | list | tuple | np.ndarray):
        return f"{path} is {value!r}, which cannot be saved in a model file"
    if isinstance(value, transformations.Callable) or callable(value):
        reason = "functions are code, which model files do not hold"
    elif hasattr(value, "fit"):
        reason = "of other estimators they keep PCA, StandardScaler and pipelines of these"
    else:
        reason = "they keep classes of this library only"
    return f"{path} is a {name}, and cannot be saved in a model file: {reason}"
