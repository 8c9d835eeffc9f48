"""What the algorithm asks of data: blocks of rows, as often as it likes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from functools import reduce
from typing import Self, TypeVar

from vanishing._xp import Array

Summary = TypeVar("Summary")


class SampleSource(ABC):
    """Rows that can be gone through again and again, a block at a time.

    A source is not an array: it has neither length nor shape, so that utilities which split
    arrays by rows (scikit-learn's cross-validation does so with every fit parameter that is as
    long as X) leave it whole.
    """

    #: What the rows are called in error messages.
    name: str = "X"

    def named(self, name: str) -> Self:
        """Return the same source under another name."""
        renamed = copy(self)
        renamed.name = name
        return renamed

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of rows; may cost a pass over the data."""

    @property
    @abstractmethod
    def cpu(self) -> bool:
        """Whether the blocks live in the memory of the processor."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights: kernels are then called as ``kernel(rows, root_weights)``."""
        return False

    @abstractmethod
    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the rows in order, as floating-point arrays of at most ``max_rows`` rows."""

    def map_reduce(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary:
        """Summarize every block by ``kernel`` and join the summaries by ``merge``."""
        summary = self.summarize(kernel, merge, max_rows=max_rows)
        if summary is None:
            raise ValueError(f"{self.name} has no rows: at least one row is required")
        return summary

    def summarize(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary | None:
        """Do what ``map_reduce`` does, or return None where there are no rows."""
        summaries = map(kernel, self.blocks(max_rows))
        first = next(summaries, None)
        return None if first is None else reduce(merge, summaries, first)
