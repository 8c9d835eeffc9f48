"""Which library an array belongs to, and moving small matrices to it and back."""

from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

#: An array of any library that follows the array API standard.
Array = Any
#: A NumPy array: what the small matrices of a basis are kept in.
FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def namespace(array: Array) -> Any:
    """Return the array API namespace of ``array``."""
    return array_api_compat.array_namespace(array)


def is_array(value: object) -> bool:
    """Say whether ``value`` is an array of a library that follows the standard."""
    return bool(array_api_compat.is_array_api_obj(value))


def on_cpu(array: Array) -> bool:
    """Say whether ``array`` lives in the memory of the processor."""
    if array_api_compat.is_torch_array(array):
        return bool(array.device.type == "cpu")
    return not array_api_compat.is_cupy_array(array)


def machine_epsilon(array: Array) -> float:
    """Return the unit of rounding of the dtype of ``array``."""
    return float(namespace(array).finfo(array.dtype).eps)


def same_dtype(first: Array, second: Array) -> tuple[Array, Array]:
    """Promote two arrays of one library to the wider dtype of the two."""
    if first.dtype == second.dtype:
        return first, second
    xp = namespace(first)
    dtype = xp.result_type(first.dtype, second.dtype)
    return xp.astype(first, dtype), xp.astype(second, dtype)


def move_like(matrix: npt.NDArray[Any], like: Array) -> Array:
    """Move a NumPy matrix to the library and device of ``like``; floats take its dtype too."""
    xp = namespace(like)
    dtype = like.dtype if matrix.dtype.kind == "f" else None
    if array_api_compat.is_numpy_namespace(xp):
        return np.asarray(matrix, dtype=dtype)
    # The matrices of a basis are read-only; other libraries want memory they may write to.
    return xp.asarray(matrix.copy(), dtype=dtype, device=array_api_compat.device(like))


def move_to_numpy(array: Array) -> FloatArray:
    """Copy a small matrix from any library and device to NumPy, in double precision."""
    return np.asarray(on_host(array), dtype=np.float64)


def on_host(array: Array) -> npt.NDArray[Any]:
    """Return an array of any library and device as a NumPy array of the same dtype."""
    if array_api_compat.is_torch_array(array):
        array = array.detach().cpu().numpy()
    elif array_api_compat.is_cupy_array(array):
        array = array.get()
    return np.asarray(array)


def take_rows(array: Array, rows: IntArray) -> Array:
    """Return some rows of an array of any library."""
    return namespace(array).take(array, move_like(rows, array), axis=0)


def with_contiguous_columns(array: Array) -> Array:
    """Return a matrix that lies in memory one column after the other, where the library knows."""
    if array_api_compat.is_numpy_array(array):
        return np.asfortranarray(array)
    return array.T.contiguous().T if array_api_compat.is_torch_array(array) else array
