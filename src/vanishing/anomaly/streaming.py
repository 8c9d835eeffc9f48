"""What detectors need to know of rows that are too many to be held at once."""

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vanishing._xp import Array, FloatArray, move_to_numpy, on_host, take_rows
from vanishing.polynomials.memory import block_rows
from vanishing.samples import DaskSource, SampleSource
from vanishing.samples.source import closed_after

#: Numbers of the rows that contrasts are made of.
DRAWN_NUMBERS = 2**22


class Moments(NamedTuple):
    """Number of rows, their mean, and the sum of squared deviations from it, by column."""

    n_rows: int
    mean: FloatArray
    squares: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Mean squared deviation of each column."""
        return self.squares / self.n_rows


def moments(source: SampleSource) -> Moments:
    """Pass over the rows once."""
    rows = block_rows(2 * source.n_features, cpu=source.cpu)
    return source.map_reduce(_of_block, _joined, max_rows=rows)


def _of_block(x: Array) -> Moments:
    rows = move_to_numpy(x)
    mean = rows.mean(axis=0)
    return Moments(len(rows), mean, np.sum((rows - mean) ** 2, axis=0))


def _joined(first: Moments, second: Moments) -> Moments:
    """Chan, Golub and LeVeque: no difference of large sums is taken."""
    n_rows = first.n_rows + second.n_rows
    step = second.mean - first.mean
    mean = first.mean + step * (second.n_rows / n_rows)
    between = step**2 * (first.n_rows * second.n_rows / n_rows)
    return Moments(n_rows, mean, first.squares + second.squares + between)


def scores_of(source: SampleSource, score: Callable[[Array], Array]) -> Any:
    """Score the rows block by block.

    Returns
    -------
    array of shape (n_samples,)
        Of NumPy, 8 bytes a row; lazy for the rows of a Dask array.
    """
    if isinstance(source, DaskSource):
        return source.map_rows(score, None)
    scores = array("d")  # grows in place, where joining arrays would take twice the memory
    with closed_after(source.blocks(block_rows(8 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            scores.frombytes(move_to_numpy(score(block)).tobytes())
    if not scores:
        raise ValueError(f"{source.name} has no rows: at least one row is required")
    return np.frombuffer(scores, dtype=np.float64)


def drawn_rows(source: SampleSource, *, seed: int) -> FloatArray:
    """Draw rows without replacement, as many as there are up to a bound, in their order.

    Every row gets a random number, and those with the smallest are kept: all are equally likely
    to be drawn, whatever the blocks.
    """
    most = max(2, DRAWN_NUMBERS // source.n_features)
    rng = np.random.default_rng(seed)
    kept: list[FloatArray] = []
    keys = np.empty(0)
    with closed_after(source.blocks(block_rows(2 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            new = rng.random(int(block.shape[0]))
            highest = np.inf if len(keys) < most else float(keys.max())
            chosen = np.flatnonzero(new < highest)
            if not chosen.size:
                continue
            rows = np.concatenate([*kept, on_host(take_rows(block, chosen))])
            keys = np.concatenate([keys, new[chosen]])
            if len(keys) > most:
                lowest = np.sort(np.argpartition(keys, most)[:most])
                rows, keys = rows[lowest], keys[lowest]
            kept = [rows]
    return np.asarray(kept[0], dtype=np.float64)
