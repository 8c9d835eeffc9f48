"""Rows that count more or less than once."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import reduce
from typing import Any, Self

import numpy as np

from vanishing._xp import Array, FloatArray, is_array, move_like, on_host, take_rows
from vanishing.samples.array import ArraySource
from vanishing.samples.source import SampleSource, Summary, closed_after


class WeightedSource(SampleSource):
    """The rows of another source, each with a weight.

    Whole numbers count a row so many times; a row of weight 0 is left out of all summaries.

    Parameters
    ----------
    source : SampleSource
    weights : array of shape (n_samples,)
        Not negative, in the order of the rows.
    """

    def __init__(self, source: SampleSource, weights: FloatArray) -> None:
        self.source = source
        self.weights = weights
        self.name = source.name
        self.feature_names = source.feature_names

    def named(self, name: str) -> Self:
        """Return the same source under another name, by which its rows go in errors, too.

        Parameters
        ----------
        name : str

        Returns
        -------
        WeightedSource
        """
        renamed = super().named(name)
        renamed.source = self.source.named(name)
        return renamed

    @property
    def weighted(self) -> bool:
        """True."""
        return True

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    @property
    def n_samples(self) -> int:
        """Number of rows, those that do not count included."""
        return len(self.weights)

    @property
    def n_counted(self) -> int:
        """Number of rows that count."""
        return int(np.count_nonzero(self.weights))

    @property
    def cpu(self) -> bool:
        """Whether the blocks live in the memory of the processor."""
        return self.source.cpu

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield all rows without their weights: what is made of rows is made of each of them."""
        with closed_after(self.source.blocks(max_rows)) as blocks:
            yield from blocks

    def summarize(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary | None:
        """Summarize every block by ``kernel(rows, root_weights)`` and join the summaries.

        Values of polynomials are multiplied by the square roots of the weights, so that squares
        get the weights themselves.
        """
        with closing(self._with_weights(max_rows)) as weighted_blocks:
            summaries = (
                kernel(rows, move_like(np.sqrt(weights), rows)) for rows, weights in weighted_blocks
            )
            first = next(summaries, None)
            return None if first is None else reduce(merge, summaries, first)

    def _with_weights(self, max_rows: int) -> Generator[tuple[Array, FloatArray], None, None]:
        start = 0
        with closed_after(self.source.blocks(max_rows)) as blocks:
            for rows in blocks:
                stop = start + int(rows.shape[0])
                if stop > len(self.weights):
                    raise ValueError(_mismatch(len(self.weights), self.name, f"at least {stop}"))
                weights = self.weights[start:stop]
                start = stop
                counted = np.flatnonzero(weights)
                if counted.size == weights.size:
                    yield rows, weights
                elif counted.size:
                    yield take_rows(rows, counted), weights[counted]
        if start < len(self.weights):
            raise ValueError(_mismatch(len(self.weights), self.name, str(start)))


def with_weights(source: SampleSource, weights: Any) -> SampleSource:
    """Give the rows of a source weights, after checking them; None stands for none.

    Parameters
    ----------
    source : SampleSource
    weights : array-like of shape (n_samples,) or None

    Returns
    -------
    SampleSource
    """
    if weights is None:
        return source
    if source.weighted:
        raise ValueError(f"{source.name} has weights already; pass one set of weights only")
    n_rows = source.n_samples if isinstance(source, ArraySource) else None
    return WeightedSource(source, checked_weights(weights, source.name, n_rows))


def checked_weights(weights: Any, name: str, n_rows: int | None = None) -> FloatArray:
    """Return weights as an array, or say what is wrong with them.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
    name : str
        What the rows are called in error messages.
    n_rows : int, optional
        How many there must be, where that is known.
    """
    what = f"the weights of {name}"
    try:
        numbers = on_host(weights) if is_array(weights) else np.asarray(weights)
        numbers = np.array(numbers, dtype=np.float64)  # a copy: the caller's may change
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be real numbers: {error}") from error
    if numbers.ndim != 1:
        raise ValueError(f"{what} must be 1-D, one number a row, got shape {numbers.shape}")
    if n_rows is not None and len(numbers) != n_rows:
        raise ValueError(_mismatch(len(numbers), name, str(n_rows)))
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} contain NaN or infinity; give those rows weight 0 or drop them")
    if (numbers < 0).any():
        raise ValueError(f"{what} contain negative numbers; weights say how often a row counts")
    if not numbers.any():
        raise ValueError(f"{what} are all zero: no row is left to fit to")
    return numbers


def _mismatch(n_weights: int, name: str, n_rows: str) -> str:
    return (
        f"there are {n_weights} weights, but {name} has {n_rows} rows; pass one weight for each row"
    )
