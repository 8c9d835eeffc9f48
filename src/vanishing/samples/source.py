"""What the algorithm asks of data: blocks of rows, as often as it likes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
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
    #: Names of the columns, where they have some.
    feature_names: tuple[str, ...] | None = None

    def named(self, name: str) -> Self:
        """Return the same source under another name.

        Parameters
        ----------
        name : str
            What the rows are called in error messages.

        Returns
        -------
        SampleSource
            The rows are shared.
        """
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
        """Yield the rows in order, block by block.

        Parameters
        ----------
        max_rows : int
            The most rows that a block may have.

        Yields
        ------
        array of shape (n_rows, n_features)
            In a floating-point type.
        """

    def map_reduce(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary:
        """Summarize every block and join the summaries.

        Parameters
        ----------
        kernel : callable
            Makes a summary out of a block.
        merge : callable
            Makes one summary out of two.
        max_rows : int
            The most rows that a block may have.

        Returns
        -------
        summary
            That of all rows.
        """
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
        """Do what ``map_reduce`` does, or return None where there are no rows.

        Parameters
        ----------
        kernel, merge : callable
        max_rows : int

        Returns
        -------
        summary or None
        """
        with closed_after(self.blocks(max_rows)) as blocks:
            summaries = map(kernel, blocks)
            first = next(summaries, None)
            return None if first is None else reduce(merge, summaries, first)


def closed_after(blocks: Iterator[Array]) -> AbstractContextManager[Iterator[Array]]:
    """Close a generator of blocks at once, also after an error: nothing is read any more then."""
    return closing(blocks) if isinstance(blocks, Generator) else nullcontext(blocks)
