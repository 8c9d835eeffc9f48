"""Whether a value that was read is of the type that a field is annotated with."""

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np


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
