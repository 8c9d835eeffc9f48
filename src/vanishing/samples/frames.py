"""Tables in memory: the names of their columns, and their numbers."""

from typing import Any

import numpy as np

from vanishing._xp import Array, is_array
from vanishing.samples.extras import comes_from


def columns_of(data: Any) -> list[Any] | None:
    """Return what the columns of a frame or an Arrow table are called; None for other things."""
    # Columns of Arrow are the data itself.
    columns = getattr(data, "column_names" if comes_from(data, "pyarrow") else "columns", None)
    return None if columns is None else list(columns)


def names_of(columns: list[Any] | None) -> tuple[str, ...] | None:
    """Return the names of columns if all of them are text, as scikit-learn takes them."""
    if not columns or not all(isinstance(column, str) for column in columns):
        return None
    return tuple(columns)


def as_array(data: Any, name: str) -> Array:
    """Return arrays as they are, and anything else as an array of NumPy.

    Frames with columns of several kinds, such as truth values beside numbers, come as objects, and
    are read as double precision.
    """
    if is_array(data):
        return data
    try:
        array = np.asarray(data)
        return array if array.dtype != object else np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be made an array of numbers: {error}") from error
