"""Products of rows, the inner loop of evaluating nested polynomials."""

from itertools import pairwise

import array_api_compat
import numpy as np

from vanishing._xp.namespace import Array, namespace


def multiply_rows(out: Array, first: Array, left: Array, last: Array, right: Array) -> None:
    """Set ``out[k] = first[left[k]] * last[right[k]]`` for all k.

    Parameters
    ----------
    out : array of shape (n_products, n_rows)
    first, last : arrays of shape (any, n_rows)
    left, right : int arrays of shape (n_products,)
        In the library of the values.
    """
    if array_api_compat.is_numpy_array(out):
        # Runs with one left factor and consecutive right ones need no gathered copies.
        new = np.flatnonzero((np.diff(left) != 0) | (np.diff(right) != 1)) + 1
        for start, stop in pairwise([0, *new.tolist(), len(left)]):
            if start < stop:
                i, j = left[start], right[start]
                np.multiply(first[i], last[j : j + stop - start], out=out[start:stop])
        return
    xp = namespace(out)
    product = xp.take(last, right, axis=0)
    product *= xp.take(first, left, axis=0)
    out[...] = product
