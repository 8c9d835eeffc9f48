"""Rows that count more or less than once."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vanishing.arrays.namespace import Array, FloatArray, is_array, on_host, unmasked
from vanishing.data.arrays import ArraySource
from vanishing.data.source import SampleSource, Summary, WrappedSource, closed_after, mismatch

#: The largest weight must be between these. The scale of weights does not matter, and roots of
#: them times polynomials must stay within single precision.
LEAST, MOST = 1e-60, 1e60


class WeightedSource(WrappedSource):
    """The rows of another source, each with a weight.

    Whole numbers count a row so many times; a row of weight 0 is left out of all summaries.

    Parameters
    ----------
    source : SampleSource
    weights : array of shape (n_samples,)
        Not negative, in the order of the rows.
    """

    def __init__(self, source: SampleSource, weights: FloatArray) -> None:
        super().__init__(source)
        self.weights = weights

    @property
    def weighted(self) -> bool:
        """True."""
        return True

    @property
    def n_samples(self) -> int:
        """Number of rows, those that do not count included."""
        return len(self.weights)

    @property
    def n_counted(self) -> int:
        """Number of rows that count."""
        return int(np.count_nonzero(self.weights))

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
        """Let the rows' own source do it, where they are, with their weights."""
        return self.source.summarize_weighted(kernel, merge, self.weights, max_rows=max_rows)


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
    weights = unmasked(weights, f"the array of weights of {name}")
    try:
        numbers = on_host(weights) if is_array(weights) else np.asarray(weights)
        if np.iscomplexobj(numbers):
            raise TypeError("they are complex")
        numbers = np.array(numbers, dtype=np.float64)  # a copy: the caller's may change
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be real numbers: {error}") from error
    if numbers.ndim != 1:
        raise ValueError(f"{what} must be 1-D, one number a row, got shape {numbers.shape}")
    if n_rows is not None and len(numbers) != n_rows:
        raise ValueError(mismatch(len(numbers), name, str(n_rows)))
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} contain NaN or infinity; give those rows weight 0 or drop them")
    if (numbers < 0).any():
        raise ValueError(f"{what} contain negative numbers; weights say how often a row counts")
    if not numbers.any():
        raise ValueError(f"{what} are all zero: no row is left to fit to")
    if not LEAST <= numbers.max() <= MOST:
        raise ValueError(
            f"{what} go up to {numbers.max():g}, which is not between {LEAST:g} and {MOST:g}; "
            "divide them by their mean, since their scale does not matter"
        )
    return numbers
