"""Masked arrays of NumPy, which other functions take together with the values that are hidden."""

from typing import Any

import numpy as np


def unmasked(data: Any, name: str) -> Any:
    """Return data as it is, and a masked array that hides nothing as a plain one.

    Parameters
    ----------
    data : object
    name : str
        What it is called in the error.

    Raises
    ------
    TypeError
        If a masked array hides an entry, also as one of the rows of a list.
    """
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
            "drop the rows that have some, or put numbers in their place by '.filled(...)'"
        )
