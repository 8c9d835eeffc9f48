"""Sources made of other sources, and a digest of their rows."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.memory import block_rows
from vanishing.arrays.namespace import Array, lazy, on_host
from vanishing.data.dask import DaskSource
from vanishing.data.source import SampleSource, Summary, closed_after

# --- Sources made of sources, without copying a row -----------------------------------------------


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


# --- Whether two sets of rows are the same, without keeping either --------------------------------

#: Odd, so that no digit is lost when others are appended.
BASE = 2**128 + 51


class Digits(NamedTuple):
    """Digests of some blocks as the digits of a number, and how many there are."""

    value: int
    length: int

    def followed_by(self, other: "Digits") -> "Digits":
        """Append the digits of the blocks that come next."""
        shifted = self.value * pow(BASE, other.length, 2**256)
        return Digits((shifted + other.value) % 2**256, self.length + other.length)


def digest(source: SampleSource) -> str:
    """Return a digest of the rows, their weights, array library and precision.

    Blocks are digested one by one, and the digests are the digits of one number, so that their
    order counts, and neighbours may be joined in any grouping. Takes one pass over the rows.

    Parameters
    ----------
    source : SampleSource
    """

    def of_block(rows: Array, root_weights: Array | None = None) -> Digits:
        found = hashlib.blake2b(digest_size=32)
        found.update(f"{type(rows).__module__} {rows.dtype} {rows.device} {rows.shape}".encode())
        for array in (rows, root_weights):
            if array is not None:
                found.update(np.ascontiguousarray(on_host(array)).data)
        return Digits(int.from_bytes(found.digest(), "big"), 1)

    rows = block_rows(source.n_features, cpu=source.cpu)
    return f"{source.map_reduce(of_block, Digits.followed_by, max_rows=rows).value:064x}"
