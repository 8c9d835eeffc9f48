"""What a source of rows is, the checks of its values, and errors about missing extras."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from copy import copy
from functools import reduce
from itertools import chain, groupby
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse

from vanishing.arrays.namespace import Array, FloatArray, move_like, namespace, take_rows, unmasked
from vanishing.arrays.threads import mapped, one_thread, own_threads, threads_for

# --- What the algorithm asks of data: blocks of rows, as often as it likes ------------------------

Summary = TypeVar("Summary")

#: Blocks whose summaries are joined by the thread that made them. Many for the joining of groups,
#: which is done by one thread, not to hold up the others; few for all threads to have some. The
#: same whatever the number of threads, so that results do not depend on it.
GROUPED = 4
#: Blocks that may be longer have so few columns, about thirty, that the work on them is many short
#: calls: threads would wait for each other longer than they work.
LONGEST = 2**21 // 96


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
            In a floating-point type. Several are worked on at once, so that each has memory of its
            own.
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
            Makes a summary out of a block. Called by several threads at once.
        merge : callable
            Makes one summary out of two, of neighbours, in any grouping.
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
            return _summary(kernel, merge, ((rows,) for rows in blocks), max_rows)

    def summarize_weighted(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        weights: FloatArray,
        *,
        max_rows: int,
    ) -> Summary | None:
        """Summarize every block by ``kernel(rows, root_weights)`` and join the summaries.

        Values of polynomials are multiplied by the square roots of the weights, so that squares
        get the weights themselves. Rows of weight 0 are left out.

        Parameters
        ----------
        kernel, merge : callable
        weights : array of shape (n_samples,)
        max_rows : int

        Returns
        -------
        summary or None
        """
        with closing(self._with_weights(weights, max_rows)) as weighted_blocks:
            arguments = (
                (rows, move_like(np.sqrt(of_rows), rows)) for rows, of_rows in weighted_blocks
            )
            return _summary(kernel, merge, arguments, max_rows)

    def _with_weights(
        self, weights: FloatArray, max_rows: int
    ) -> Generator[tuple[Array, FloatArray], None, None]:
        start = 0
        with closed_after(self.blocks(max_rows)) as blocks:
            for rows in blocks:
                stop = start + int(rows.shape[0])
                if stop > len(weights):
                    raise ValueError(mismatch(len(weights), self.name, f"at least {stop}"))
                of_rows = weights[start:stop]
                start = stop
                counted = np.flatnonzero(of_rows)
                if counted.size == of_rows.size:
                    yield rows, of_rows
                elif counted.size:
                    yield take_rows(rows, counted), of_rows[counted]
        if start < len(weights):
            raise ValueError(mismatch(len(weights), self.name, str(start)))


def _summary(
    kernel: Callable[..., Summary],
    merge: Callable[[Summary, Summary], Summary],
    arguments: Iterator[tuple[Array, ...]],
    max_rows: int,
) -> Summary | None:
    """Join what the kernel makes of each block: first those of a group, then the groups'."""
    first = next(arguments, None)
    if first is None:
        return None
    numbered = enumerate(chain([first], arguments))
    groups = (group for _, group in groupby(numbered, lambda item: item[0] // GROUPED))

    def of_group(group: Iterable[tuple[int, tuple[Array, ...]]]) -> Summary:
        return reduce(merge, (kernel(*block) for _, block in group))

    threads = threads_for(first[0])
    if threads > 1 and max_rows > LONGEST:
        with one_thread():  # BLAS would gain nothing by others, either
            return reduce(merge, map(of_group, groups))
    taken = groups if threads == 1 else map(list, groups)
    with own_threads(first[0]), closing(mapped(of_group, taken, threads)) as parts:
        return reduce(merge, parts)


def mismatch(n_weights: int, name: str, n_rows: str) -> str:
    """Say that there are more or fewer weights than rows."""
    return (
        f"there are {n_weights} weights, but {name} has {n_rows} rows; pass one weight for each row"
    )


def closed_after(blocks: Iterator[Array]) -> AbstractContextManager[Iterator[Array]]:
    """Close a generator of blocks at once, also after an error: nothing is read any more then."""
    return closing(blocks) if isinstance(blocks, Generator) else nullcontext(blocks)


# --- The rows of another source, with something added to them -------------------------------------


class WrappedSource(SampleSource):
    """A source with the rows, the columns and the names of another one.

    Parameters
    ----------
    source : SampleSource
    """

    def __init__(self, source: SampleSource) -> None:
        self.source = source
        self.name = source.name
        self.feature_names = source.feature_names

    def named(self, name: str) -> Self:
        """Return the same source under another name, by which its rows go in errors, too.

        Parameters
        ----------
        name : str

        Returns
        -------
        SampleSource
        """
        renamed = super().named(name)
        renamed.source = self.source.named(name)
        return renamed

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    @property
    def n_samples(self) -> int:
        """Number of rows of the underlying source."""
        return self.source.n_samples

    @property
    def cpu(self) -> bool:
        """Whether the underlying blocks live in the memory of the processor."""
        return self.source.cpu


# --- What a block of numbers must be, said clearly when it is not ---------------------------------

#: The squares of so large numbers can be summed over some millions of rows.
LARGEST = 1e150


def dense(data: Any, name: str) -> Any:
    """Return data without a mask, or raise: if it is sparse, or has hidden entries.

    Sparse are matrices of SciPy and tensors of torch.
    """
    if scipy.sparse.issparse(data) or getattr(data, "is_sparse", False) is True:
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required: products of "
            f"polynomials fill up. Use '.toarray()' or '.to_dense()' to convert {name}."
        )
    return unmasked(data, name)


def checked_block(block: Array, *, name: str, n_features: int | None = None) -> Array:
    """Return a block without a mask; raise if it is no finite real matrix of ``n_features``."""
    block = dense(block, name)
    xp = namespace(block)
    if block.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, of shape (n_samples, n_features), got shape "
            f"{tuple(block.shape)}; reshape it with .reshape(-1, 1) if it has one feature or "
            ".reshape(1, -1) if it is one sample"
        )
    try:
        real = xp.isdtype(block.dtype, ("real floating", "integral", "bool"))
    except TypeError:  # strings and objects are no dtypes of the standard
        real = False
    if not real:
        raise ValueError(f"{name} must hold real numbers, got dtype {block.dtype}")
    if n_features is not None and block.shape[1] != n_features:
        raise ValueError(f"{name} has {block.shape[1]} features, expected {n_features}")
    if block.shape[1] == 0:
        raise ValueError(f"{name} has shape {tuple(block.shape)}: at least one column is required")
    if xp.isdtype(block.dtype, "real floating"):
        _refuse_nonfinite(block, name)
    return block


def too_large_to_square(block: Array) -> tuple[int, int] | None:
    """Return row and column of the largest number, if sums of squares overflow with it."""
    xp = namespace(block)
    if block.dtype != xp.float64:  # of single precision, whose limits are others: the fit says so
        return None
    sizes = xp.abs(block)
    largest = xp.max(sizes)
    if not bool(largest > LARGEST):
        return None
    place = int(xp.argmax(xp.reshape(sizes, (-1,))))
    return place // int(block.shape[1]), place % int(block.shape[1])


def _refuse_nonfinite(block: Array, name: str) -> None:
    xp = namespace(block)
    # A sum is finite only if its terms are; it needs no array of its own. Overflow is looked into.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(xp.isfinite(xp.sum(block)))
    if not finite:
        bad = ~xp.isfinite(block)
        if bool(xp.any(bad)):
            kind = "NaN" if bool(xp.any(xp.isnan(block))) else "infinity"
            raise ValueError(
                f"{name} contains {kind} in {int(xp.sum(xp.astype(bad, xp.int64)))} entries; "
                "impute or drop them before fitting"
            )


# --- Packages of the extras, imported when they are needed ----------------------------------------


def comes_from(data: object, *packages: str) -> bool:
    """Say whether the class of ``data`` is one of these packages'; nothing is imported."""
    return any(kind.__module__.partition(".")[0] in packages for kind in type(data).__mro__)
