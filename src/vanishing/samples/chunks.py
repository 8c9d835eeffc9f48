"""Chunks of rows from anything that can be iterated over again."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from vanishing._xp import Array, is_array, on_cpu
from vanishing.samples.array import ArraySource
from vanishing.samples.checks import check_block, refuse_sparse
from vanishing.samples.source import SampleSource


class ChunkSource(SampleSource):
    """The rows of a sequence of chunks, one after the other.

    Parameters
    ----------
    chunks : re-iterable of arrays, or a callable that returns a fresh iterator over arrays
        Each chunk has shape (n_rows, n_features). Fitting goes through them once per degree, so a
        generator, which can be read only once, is refused: pass the function that makes it.
    name : str
        What the rows are called in error messages.
    """

    def __init__(
        self, chunks: Iterable[Array] | Callable[[], Iterable[Array]], *, name: str = "X"
    ) -> None:
        if isinstance(chunks, Iterator):
            raise TypeError(
                f"{name} is a {type(chunks).__name__}, which can be read only once, but fitting "
                "passes over the data once per degree; pass a list of chunks, or the function "
                "that makes the generator (without calling it)"
            )
        self._chunks = chunks
        self._read: Any = None
        self.name = name

    @cached_property
    def _first(self) -> Array:
        for chunk in islice(self._checked(None), 1):
            return chunk
        raise ValueError(f"{self.name} has no chunks: at least one row is required")

    @property
    def n_features(self) -> int:
        """Number of columns of the first chunk."""
        return int(self._first.shape[1])

    @cached_property
    def n_samples(self) -> int:
        """Number of rows, counted in one pass."""
        return sum(int(chunk.shape[0]) for chunk in self._checked(self.n_features))

    @property
    def cpu(self) -> bool:
        """Whether the first chunk lives in the memory of the processor."""
        return on_cpu(self._first)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the chunks, those that are too long in slices."""
        for chunk in self._checked(self.n_features):
            yield from ArraySource(chunk).blocks(max_rows)

    def _checked(self, n_features: int | None) -> Iterator[Array]:
        for index, chunk in enumerate(self._fresh()):
            name = f"chunk {index} of {self.name}"
            refuse_sparse(chunk, name)
            block = chunk if is_array(chunk) else np.asarray(chunk)
            check_block(block, name=name, n_features=n_features)
            if block.shape[0]:
                yield block

    def _fresh(self) -> Iterable[Array]:
        if not callable(self._chunks):
            return self._chunks
        chunks = self._chunks()
        if not isinstance(chunks, Iterable):
            raise TypeError(
                f"the function passed for {self.name} must return an iterable of chunks, got "
                f"{chunks!r}"
            )
        if isinstance(chunks, Iterator) and chunks is self._read:
            raise ValueError(
                f"the function passed for {self.name} returned the same iterator twice; it must "
                "make a fresh iterator each time, since fitting passes over the data once per "
                "degree"
            )
        self._read = chunks
        return chunks
