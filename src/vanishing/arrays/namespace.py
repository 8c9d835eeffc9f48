"""Arrays of any library: namespaces, moving between them, and what is not a dense array."""

from collections.abc import Mapping, Set
from functools import cached_property
from importlib import import_module
from typing import Any, Self, TypeVar, overload

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy.sparse
from array_api_compat import numpy as standard_numpy

# --- Libraries that are optional ------------------------------------------------------------------


def import_extra(module: str, *, extra: str, purpose: str) -> Any:
    """Import a module, or say which extra brings it."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {package}: pip install 'vanishing[{extra}]'") from error


def is_from(data: object, *packages: str) -> bool:
    """Say whether the class of ``data`` comes from one of the packages, without importing them."""
    return any(kind.__module__.partition(".")[0] in packages for kind in type(data).__mro__)


# --- Which library an array belongs to, and moving small matrices to it and back ------------------

#: An array of any library that follows the array API standard.
Array = Any
#: NumPy arrays, such as the small matrices of a basis.
FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


def namespace(array: Array) -> Any:
    """Return the array API namespace of ``array``."""
    # array_api_compat takes longer to answer than NumPy to work on a small array.
    if type(array) is np.ndarray:
        return standard_numpy
    return array_api_compat.array_namespace(array)


def is_truth_value(value: object) -> bool:
    """Say whether ``value`` is True or False, of Python or NumPy: no number, although it adds."""
    return isinstance(value, bool | np.bool_)


def is_array(value: object) -> bool:
    """Say whether ``value`` is an array of a library that follows the array API standard."""
    return bool(array_api_compat.is_array_api_obj(value))


def is_on_cpu(array: Array) -> bool:
    """Say whether ``array`` lives in the memory of the processor."""
    if array_api_compat.is_torch_array(array):
        return bool(array.device.type == "cpu")
    return not array_api_compat.is_cupy_array(array)


def machine_epsilon(array: Array) -> float:
    """Return the unit of rounding of the dtype of ``array``."""
    return float(namespace(array).finfo(array.dtype).eps)


def promote_dtypes(first: Array, second: Array) -> tuple[Array, Array]:
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
    if xp is standard_numpy:
        return np.asarray(matrix, dtype=dtype)
    # The matrices of a basis are read-only, which other libraries do not accept.
    return xp.asarray(matrix.copy(), dtype=dtype, device=array_api_compat.device(like))


def move_to_numpy(array: Array) -> FloatArray:
    """Copy a small matrix from any library and device to NumPy, in double precision."""
    return np.asarray(move_to_host(array), dtype=np.float64)


def move_to_host(array: Array) -> npt.NDArray[Any]:
    """Return an array of any library and device as a NumPy array of the same dtype."""
    if array_api_compat.is_torch_array(array):
        array = array.detach().cpu().numpy()
    elif array_api_compat.is_cupy_array(array):  # pragma: no cover - needs CUDA
        array = array.get()
    return np.asarray(array)


def take_rows(array: Array, rows: IntArray) -> Array:
    """Return some rows of an array of any library."""
    return namespace(array).take(array, move_like(rows, array), axis=0)


def make_columns_contiguous(array: Array) -> Array:
    """Return a matrix in column-major order, if the library knows orders."""
    if array_api_compat.is_numpy_array(array):
        return np.asfortranarray(array)
    return array.T.contiguous().T if array_api_compat.is_torch_array(array) else array


# --- Attributes that are computed at their first use ----------------------------------------------

Value = TypeVar("Value")


class lazy(cached_property[Value]):  # noqa: N801  (a decorator)
    """A ``cached_property`` without a lock.

    Python 3.11 has one lock for all instances of a class and holds it while the attribute is
    computed. Fits in several threads would wait for each other, and a process forked in the
    meantime would wait forever. Without the lock two threads may compute the same value.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | Value:
        """Compute the value; the next time, the instance's own attribute is found first."""
        if instance is None:
            return self
        assert self.attrname is not None
        value: Value = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return value


# --- What is not a dense array: sparse matrices, and masked arrays that hide entries --------------
#
# Most functions of NumPy and scikit-learn ignore a mask and use the hidden values.


def require_dense(data: Any, name: str) -> Any:
    """Return data without a mask; raise if it is sparse, has hidden entries, or is not a table."""
    if scipy.sparse.issparse(data) or getattr(data, "is_sparse", False) is True:
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required: products of "
            f"polynomials fill up. Use '.toarray()' or '.to_dense()' to convert {name}."
        )
    if data is None or isinstance(data, Mapping | Set):
        raise TypeError(
            f"{name} must be a table of rows and columns, got {type(data).__name__}; pass an "
            "array or a frame, for instance pandas.DataFrame(...)"
        )
    if type(data).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy frame, which holds no rows yet; pass {name}.collect()")
    if isinstance(data, list | tuple) and all(isinstance(row, list | tuple) for row in data):
        widths = {len(row) for row in data}
        if len(widths) > 1:
            raise ValueError(
                f"the rows of {name} have from {min(widths)} to {max(widths)} cells, but all must "
                "have the same number; fill the gaps, or leave such rows out"
            )
    return unmask(data, name)


def unmask(data: Any, name: str) -> Any:
    """Return a masked array as a plain one; raise TypeError if it hides an entry."""
    if isinstance(data, np.ma.MaskedArray):
        _refuse_hidden([data], name)
        return np.asarray(data)
    if isinstance(data, list | tuple):
        _refuse_hidden([row for row in data if isinstance(row, np.ma.MaskedArray)], name)
    return data


def _refuse_hidden(arrays: list[Any], name: str) -> None:
    n_hidden = sum(int(np.sum(np.ma.getmaskarray(array))) for array in arrays)
    if n_hidden:
        raise TypeError(
            f"{name} is a masked array, which hides {n_hidden} of its entries, but all are needed; "
            "drop the rows with hidden entries, or replace these by '.filled(...)'"
        )
