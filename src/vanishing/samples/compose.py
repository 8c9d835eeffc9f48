"""Sources made of sources, without copying a row."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vanishing._xp import Array
from vanishing._xp.lazy import lazy
from vanishing.samples.dask import DaskSource
from vanishing.samples.source import SampleSource, Summary, closed_after


class MappedSource(SampleSource):
    """Blocks of another source, each passed through a function of rows.

    Parameters
    ----------
    source : SampleSource
    function : callable
        Takes a block of rows and returns as many rows, of one width.
    """

    def __init__(self, source: SampleSource, function: Callable[[Array], Array]) -> None:
        self.source = source
        self.function = function

    @lazy
    def n_features(self) -> int:
        """Number of columns that the function returns, seen on one row."""
        with closed_after(self.source.blocks(1)) as blocks:
            row = next(blocks, None)
            if row is None:
                raise ValueError(f"{self.source.name} has no rows: at least one row is required")
            return int(self.function(row).shape[1])

    @property
    def n_samples(self) -> int:
        """Number of rows of the underlying source."""
        return self.source.n_samples

    @property
    def cpu(self) -> bool:
        """Whether the underlying blocks live in the memory of the processor."""
        return self.source.cpu

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the images of the blocks."""
        with closed_after(self.source.blocks(max_rows)) as blocks:
            yield from map(self.function, blocks)

    @property
    def weighted(self) -> bool:
        """Whether the underlying rows have weights."""
        return self.source.weighted

    def summarize(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary | None:
        """Let the underlying source do it, where its rows are, with their weights."""
        function = self.function  # alone: the kernel may travel, and the source must not
        return self.source.summarize(
            lambda x, *weights: kernel(function(x), *weights), merge, max_rows=max_rows
        )


class ConcatenatedSource(SampleSource):
    """The rows of several sources, one source after the other.

    Parameters
    ----------
    sources : sequence of SampleSource
        At least one, all of one width.
    """

    def __init__(self, sources: Sequence[SampleSource]) -> None:
        self.sources = tuple(sources)
        widths = sorted({source.n_features for source in self.sources})
        if len(widths) != 1:
            raise ValueError(f"sources of one width are required, got widths {widths}")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.sources[0].n_features

    @property
    def n_samples(self) -> int:
        """Number of rows of all sources together."""
        return sum(source.n_samples for source in self.sources)

    @property
    def cpu(self) -> bool:
        """Whether all blocks live in the memory of the processor."""
        return all(source.cpu for source in self.sources)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the blocks of each source in turn."""
        for source in self.sources:
            yield from source.blocks(max_rows)

    @property
    def weighted(self) -> bool:
        """Whether the rows of any source have weights."""
        return any(source.weighted for source in self.sources)

    def summarize(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary | None:
        """Let each source do its part, where its rows are, with their weights."""
        joined: Summary | None = None
        for source in self.sources:
            part = source.summarize(kernel, merge, max_rows=max_rows)
            if joined is None or part is None:
                joined = part if joined is None else joined
            else:
                joined = merge(joined, part)
        return joined


def lazily(source: SampleSource, function: Callable[[Array], Array], n_features: int) -> Any:
    """Return what a function makes of the rows, computed when it is asked for.

    Parameters
    ----------
    source : SampleSource
    function : callable
        Takes a block of rows and returns as many rows.
    n_features : int
        Columns that the function returns.

    Returns
    -------
    dask.array.Array or MappedSource
        The former for the rows of a Dask array.
    """
    if isinstance(source, DaskSource):
        return source.map_rows(function, n_features)
    return MappedSource(source, function)
