"""Rows that differ by no more than rounding errors."""

import numpy as np

from vanishing._xp import Array, machine_epsilon, move_like, namespace, take_rows
from vanishing.samples import SampleSource
from vanishing.samples.source import closed_after

#: Units in the last place by which numbers that stand for the same may differ: a relation such as
#: a change of units takes a few operations, and so do the equations that are found.
UNITS = 8


def last_digits_moved(X: Array) -> Array:
    """Return the rows with the last digits of all numbers changed, each up or down at random."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=tuple(X.shape))
    xp = namespace(X)
    steps = xp.astype(move_like(UNITS * machine_epsilon(X) * signs, X), X.dtype)
    return X + X * steps


def some_rows(X: Array | SampleSource, most: int) -> Array:
    """Return at most so many rows, spread over all of an array, or the first of a source."""
    if isinstance(X, SampleSource):
        with closed_after(X.blocks(most)) as blocks:
            return next(iter(blocks))
    n_rows = X.shape[0]
    if n_rows <= most:
        return X
    return take_rows(X, np.linspace(0, n_rows - 1, most).astype(np.intp))
