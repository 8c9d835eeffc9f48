"""Sources of rows: what a source is, one array, rows with weights, sources made of others."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from copy import copy
from functools import reduce
from itertools import chain, groupby
from typing import Any, Self, TypeVar

import narwhals.stable.v2 as narwhals
import numpy as np

from vanishing.arrays.blocks import (
    block_rows,
    map_in_threads,
    one_thread,
    own_threads,
    threads_for,
)
from vanishing.arrays.kernels import PANEL
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    import_extra,
    is_array,
    is_from,
    is_on_cpu,
    lazy,
    move_like,
    move_to_host,
    namespace,
    require_dense,
    take_rows,
    unmask,
)
from vanishing.levels import BLOCK, SAME

# --- What the algorithm asks of data: a summary of all rows, made of summaries of blocks ----------

Summary = TypeVar("Summary")
#: Makes a summary of a block of rows and, if rows have weights, the square roots of these.
Kernel = Callable[..., Summary]
#: Makes one summary of those of two neighbors.
Merge = Callable[[Summary, Summary], Summary]
Weights = FloatArray | None

#: Neighbouring blocks whose summaries are merged by one thread, or by one task of Dask. Large, so
#: that the thread that merges groups does not hold up the others; small, so that all threads get
#: some. It does not depend on the number of threads or workers, and so results do not.
GROUPED = 4


class SampleSource(ABC):
    """Rows that can be read repeatedly, a block at a time.

    A source is not an array: it has neither length nor shape, so that utilities which split
    arrays by rows (scikit-learn's cross-validation splits every fit parameter that is as long as
    X) leave it whole.
    """

    #: What error messages call the rows.
    name: str = "X"
    #: Names of the columns, if they have some.
    feature_names: tuple[str, ...] | None = None

    def named(self, name: str) -> Self:
        """Return the same source under another name.

        Parameters
        ----------
        name : str
            What error messages call the rows.

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
    def n_weighted(self) -> int:
        """Number of rows of positive weight."""
        return self.n_samples

    @property
    @abstractmethod
    def cpu(self) -> bool:
        """Whether the blocks are in the memory of the processor."""

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
            The largest number of rows of a block.

        Yields
        ------
        array of shape (n_rows, n_features)
            Of a floating-point type. Several are worked on at once, so each has its own memory.
        """

    def map_reduce(
        self, kernel: Kernel[Summary], merge: Merge[Summary], *, max_rows: int,
        weights: Weights = None,
    ) -> Summary:  # fmt: skip
        """Summarize every block and merge the summaries.

        Parameters
        ----------
        kernel : callable
            Makes a summary of a block. Called by several threads at once.
        merge : callable
            Makes one summary of those of two neighbours, in any grouping.
        max_rows : int
            The largest number of rows of a block.
        weights : array of shape (n_samples,), optional
            The kernel is then called as ``kernel(rows, root_weights)``: values of polynomials are
            multiplied by the square roots, so that squares get the weights themselves. Rows of
            weight 0 are left out.

        Returns
        -------
        summary
            That of all rows.

        Raises
        ------
        NoRowsError
            If there are no rows, or none of positive weight.
        """
        with closing(self._kernel_arguments(max_rows, weights)) as arguments:
            first = next(arguments, None)
            if first is None:
                raise NoRowsError(self.name)
            numbered = enumerate(chain([first], arguments))
            groups = (group for _, group in groupby(numbered, lambda item: item[0] // GROUPED))

            def summarize_group(group: Iterable[tuple[int, tuple[Array, ...]]]) -> Summary:
                return reduce(merge, (kernel(*block) for _, block in group))

            threads = threads_for(first[0])
            # Work on blocks of fewer columns than a panel of LAPACK is many short calls: threads
            # would wait for each other longer than they work.
            longest = BLOCK // (3 * PANEL)
            if threads > 1 and max_rows > longest:
                with one_thread():  # BLAS would gain nothing by more, either
                    return reduce(merge, map(summarize_group, groups))
            # A group is read before it is handed to a thread.
            ready = groups if threads == 1 else map(list, groups)
            with (
                own_threads(first[0]),
                closing(map_in_threads(summarize_group, ready, threads)) as parts,
            ):
                return reduce(merge, parts)

    def _kernel_arguments(
        self, max_rows: int, weights: Weights
    ) -> Generator[tuple[Array, ...], None, None]:
        """Yield the rows of each block, with the square roots of their weights if there are any."""
        start = 0
        with close_after(self.blocks(max_rows)) as blocks:
            for rows in blocks:
                if weights is None:
                    yield (rows,)
                    continue
                stop = start + int(rows.shape[0])
                if stop > len(weights):
                    raise ValueError(describe_mismatch(len(weights), self.name, f"at least {stop}"))
                own = weights[start:stop]
                start = stop
                positive = np.flatnonzero(own)
                if positive.size < own.size:
                    rows, own = take_rows(rows, positive), own[positive]
                if own.size:
                    yield rows, move_like(np.sqrt(own), rows)
        if weights is not None and start < len(weights):
            raise ValueError(describe_mismatch(len(weights), self.name, str(start)))

    def map_rows(self, function: Callable[[Array], Array], n_columns: int | None) -> Any:
        """Return what a function makes of the rows, computed when it is needed.

        ``n_columns`` is None for one number per row.
        """
        return MappedSource(self, function)


def describe_mismatch(n_weights: int, name: str, n_rows: str) -> str:
    """Say that there are more or fewer weights than rows."""
    return (
        f"there are {n_weights} weights, but {name} has {n_rows} rows; pass one weight for each row"
    )


class NoRowsError(ValueError):
    """Data has no rows."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no rows: at least one row is required")


def close_after(blocks: Iterator[Array]) -> AbstractContextManager[Iterator[Array]]:
    """Close a generator of blocks at the end, also after an error, so that it stops reading."""
    return closing(blocks) if isinstance(blocks, Generator) else nullcontext(blocks)


# --- Tables in memory: the names of their columns, and their values -------------------------------


#: A kind of database and its place, as in sqlite:orders.db#lines; the table may be missing.
URL = re.compile(r"(?P<kind>[a-z][a-z0-9+_]+):(?P<place>[^#]+)(?:#(?P<table>.+))?", re.DOTALL)


def is_url(data: Any) -> bool:
    """Say whether data names a table of a database, and no file."""
    found = URL.fullmatch(data) if isinstance(data, str) else None
    if found is None or os.path.exists(data):
        return False
    return found["table"] is not None or found["kind"] in ("duckdb", "sqlite")


def is_lazy(data: Any) -> bool:
    """Say whether data is a query of polars, DuckDB, Ibis, Spark or SQLFrame."""
    if not is_from(data, "polars", "duckdb", "_duckdb", "ibis", "pyspark", "sqlframe"):
        return False
    frame = narwhals.from_native(data, pass_through=True, allow_series=True)
    return isinstance(frame, narwhals.LazyFrame)


def wrap_frame(data: Any) -> narwhals.DataFrame[Any]:
    """Return a frame in memory as one of narwhals; as a table of Arrow if that is all it speaks."""
    frame = narwhals.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, narwhals.DataFrame):
        return frame
    arrow = import_extra("pyarrow", extra="io", purpose=f"reading a {type(data).__name__}")
    return narwhals.from_native(arrow.table(data), eager_only=True)


def get_columns(data: Any) -> list[Any] | None:
    """Return the column labels of a frame or an Arrow table; None for anything else."""
    if is_lazy(data):
        return None
    # Columns of Arrow are the data itself.
    columns = getattr(data, "column_names" if is_from(data, "pyarrow") else "columns", None)
    return None if columns is None else list(columns)


def get_column_names(columns: list[Any] | None) -> tuple[str, ...] | None:
    """Return the labels of columns if all of them are strings, as scikit-learn does."""
    if not columns or not all(isinstance(column, str) for column in columns):
        return None
    return tuple(columns)


def as_array(data: Any, name: str) -> Array:
    """Return arrays as they are, and anything else as a NumPy array, objects as numbers."""
    if is_array(data):
        return data
    try:
        array = np.asarray(data)
        return array if array.dtype != object else np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be made an array of numbers: {error}") from error


# --- What a block must be: finite real numbers in two dimensions ----------------------------------

#: Squares of numbers up to this can be summed over a block.
LARGEST = float(np.sqrt(np.finfo(np.float64).max / BLOCK))


def check_block(block: Array, *, name: str, n_features: int | None = None) -> Array:
    """Return a block without a mask; raise unless it is a finite real matrix of ``n_features``."""
    block = require_dense(block, name)
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


def have_lost_digits(values: FloatArray) -> BoolArray:
    """Say of each column whether its numbers are so large and near that rounding makes them equal.

    Numbers of accounts and tweets have 18 digits and more. As floating-point numbers they are
    multiples of 256 or all the same: their differences have fewer digits than single precision.
    """
    steps = np.spacing(np.max(np.abs(values), axis=0, initial=0.0))
    if not (steps > 1).any():
        return np.zeros(len(steps), dtype=bool)
    n_steps = np.ptp(values, axis=0) / steps
    return np.asarray((steps > 1) & (n_steps < 1 / np.finfo(np.float32).eps))


def too_large_to_square(block: Array) -> tuple[int, int] | None:
    """Return row and column of the largest number if sums of squares overflow with it."""
    xp = namespace(block)
    if block.dtype != xp.float64:  # single precision has other limits; the fit reports those
        return None
    sizes = xp.abs(block)
    largest = xp.max(sizes)
    if not bool(largest > LARGEST):
        return None
    place = int(xp.argmax(xp.reshape(sizes, (-1,))))
    return place // int(block.shape[1]), place % int(block.shape[1])


def _refuse_nonfinite(block: Array, name: str) -> None:
    xp = namespace(block)
    # A finite sum has finite terms only, and needs no array of its own. It may also overflow.
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


# --- One array of any library ---------------------------------------------------------------------


class OneArraySource(SampleSource):
    """The rows of one array, wherever it is."""

    array: Array

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])


class ArraySource(OneArraySource):
    """The rows of one two-dimensional array.

    Parameters
    ----------
    array : array of shape (n_samples, n_features)
        Integers are converted a block at a time.
    """

    def __init__(self, array: Array) -> None:
        self.array = unmask(array, "X")

    @property
    def cpu(self) -> bool:
        """Whether the array is in the memory of the processor."""
        return is_on_cpu(self.array)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield slices of the array."""
        for start in range(0, self.n_samples, max_rows):
            stop = min(start + max_rows, self.n_samples)
            yield make_floating(self.array[start:stop, :])


def make_floating(block: Array) -> Array:
    """Return a block of single or double precision as it is, others in double precision."""
    xp = namespace(block)
    if block.dtype in (xp.float32, xp.float64):
        return block
    return xp.astype(block, xp.float64)


# --- Sources made of other sources, without copying a row -----------------------------------------


class CompositeSource(SampleSource):
    """A source with the columns of other ones, which have them in common, and their rows."""

    def __init__(self, sources: Sequence[SampleSource]) -> None:
        self.sources = tuple(sources)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.sources[0].n_features

    @property
    def n_samples(self) -> int:
        """Number of rows of all sources together."""
        return sum(source.n_samples for source in self.sources)

    @property
    def n_weighted(self) -> int:
        """Number of rows of positive weight."""
        return sum(source.n_weighted for source in self.sources)

    @property
    def cpu(self) -> bool:
        """Whether all blocks are in the memory of the processor."""
        return all(source.cpu for source in self.sources)

    @property
    def weighted(self) -> bool:
        """Whether the rows of any source have weights."""
        return any(source.weighted for source in self.sources)


class WrappedSource(CompositeSource):
    """A source with the rows, the columns and the names of another one, which summarizes them."""

    #: Weights of the rows, where the other source has none.
    weights: Weights = None

    def __init__(self, source: SampleSource) -> None:
        super().__init__([source])
        self.name = source.name
        self.feature_names = source.feature_names

    @property
    def source(self) -> SampleSource:
        """The other one."""
        return self.sources[0]

    def named(self, name: str) -> Self:
        """Return the same source under another name, which errors of its rows use too."""
        renamed = super().named(name)
        renamed.sources = (self.source.named(name),)
        return renamed

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the rows of the other one, without their weights."""
        with close_after(self.source.blocks(max_rows)) as blocks:
            yield from blocks

    def _change_kernel(self, kernel: Kernel[Summary]) -> Kernel[Summary]:
        """Return a kernel for blocks of the other source."""
        return kernel

    def map_reduce(
        self, kernel: Kernel[Summary], merge: Merge[Summary], *, max_rows: int,
        weights: Weights = None,
    ) -> Summary:  # fmt: skip
        """Summarize the rows where they are, with their weights."""
        if weights is None:
            weights = self.weights
        kernel = self._change_kernel(kernel)
        return self.source.map_reduce(kernel, merge, max_rows=max_rows, weights=weights)


class WeightedSource(WrappedSource):
    """The rows of another source, each with a weight.

    A row of weight k stands for k equal rows; a row of weight 0 is left out of all summaries.

    Parameters
    ----------
    source : SampleSource
    weights : array of shape (n_samples,)
        Not negative, in the order of the rows.
    """

    #: Rows have weights.
    weighted = True

    weights: FloatArray

    def __init__(self, source: SampleSource, weights: FloatArray) -> None:
        super().__init__(source)
        self.weights = weights

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight 0 included."""
        return len(self.weights)

    @property
    def n_weighted(self) -> int:
        """Number of rows of positive weight."""
        return int(np.count_nonzero(self.weights))


def add_weights(source: SampleSource, weights: Any) -> SampleSource:
    """Give the rows of a source weights, after checking them; None stands for none."""
    if weights is None:
        return source
    if source.weighted:
        raise ValueError(f"{source.name} has weights already; pass one set of weights only")
    n_rows = source.n_samples if isinstance(source, ArraySource) else None
    return WeightedSource(source, check_weights(weights, source.name, n_rows))


def check_weights(weights: Any, name: str, n_rows: int | None = None) -> FloatArray:
    """Return weights as an array, or raise an error that says what is wrong with them."""
    what = f"the weights of {name}"
    weights = unmask(weights, f"the array of weights of {name}")
    try:
        numbers = move_to_host(weights) if is_array(weights) else np.asarray(weights)
        if np.iscomplexobj(numbers):
            raise TypeError("they are complex")
        numbers = np.array(numbers, dtype=np.float64)  # a copy: the caller's may change
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be real numbers: {error}") from error
    if numbers.ndim != 1:
        raise ValueError(f"{what} must be 1-D, one number per row, got shape {numbers.shape}")
    if n_rows is not None and len(numbers) != n_rows:
        raise ValueError(describe_mismatch(len(numbers), name, str(n_rows)))
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} contain NaN or infinity; give those rows weight 0 or drop them")
    if (numbers < 0).any():
        raise ValueError(f"{what} contain negative numbers; weights must not be negative")
    if not numbers.any():
        raise ValueError(f"{what} are all zero: no row is left to fit to")
    # Their square roots times polynomials must stay within single precision.
    most = (SAME * float(np.finfo(np.float32).max)) ** 2
    if not 1 / most <= numbers.max() <= most:
        raise ValueError(
            f"{what} go up to {numbers.max():g}, which is not between {1 / most:.0e} and "
            f"{most:.0e}; divide them by their mean, since their scale does not matter"
        )
    return numbers


class MappedSource(WrappedSource):
    """Blocks of another source, each passed through a function of rows.

    Parameters
    ----------
    source : SampleSource
    function : callable
        Takes a block of rows and returns as many rows, always of the same width.
    n_columns : int, optional
        That width, if it is known.
    """

    def __init__(
        self,
        source: SampleSource,
        function: Callable[[Array], Array],
        n_columns: int | None = None,
    ) -> None:
        super().__init__(source)
        self.feature_names = None
        self.function = function
        self.n_columns = n_columns

    @lazy
    def n_features(self) -> int:
        """Number of columns that the function returns, found by applying it to a row if needed."""
        if self.n_columns is not None:
            return self.n_columns
        with close_after(self.source.blocks(1)) as blocks:
            row = next(blocks, None)
            if row is None:
                raise NoRowsError(self.source.name)
            return int(self.function(row).shape[1])

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the images of the blocks."""
        with close_after(self.source.blocks(max_rows)) as blocks:
            yield from map(self.function, blocks)

    def _change_kernel(self, kernel: Kernel[Summary]) -> Kernel[Summary]:
        """Return a kernel that applies the function first."""
        function = self.function  # alone: the kernel may travel, and the source must not
        return lambda x, *roots: kernel(function(x), *roots)


class ConcatenatedSource(CompositeSource):
    """The rows of several sources, one source after the other.

    Parameters
    ----------
    sources : sequence of SampleSource
        At least one, all of one width.
    """

    def __init__(self, sources: Sequence[SampleSource]) -> None:
        super().__init__(sources)
        widths = sorted({source.n_features for source in self.sources})
        if len(widths) != 1:
            raise ValueError(f"sources of one width are required, got widths {widths}")

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the blocks of each source in turn."""
        for source in self.sources:
            yield from source.blocks(max_rows)

    def map_reduce(
        self, kernel: Kernel[Summary], merge: Merge[Summary], *, max_rows: int,
        weights: Weights = None,
    ) -> Summary:  # fmt: skip
        """Summarize the rows of each source where they are, with their own weights."""
        if weights is not None:  # of all rows, across the sources
            return super().map_reduce(kernel, merge, max_rows=max_rows, weights=weights)
        parts: list[Summary] = []
        for source in self.sources:
            with suppress(NoRowsError):
                parts.append(source.map_reduce(kernel, merge, max_rows=max_rows))
        if not parts:
            raise NoRowsError(self.name)
        return reduce(merge, parts)


# --- Some rows of a source ------------------------------------------------------------------------


def sample_rows(source: SampleSource, most: int, *, seed: int) -> FloatArray:
    """Draw rows without replacement, as many as there are up to a bound, in their order."""
    return draw_rows(source, most, seed=seed)[0]


def draw_rows(source: SampleSource, most: int, *, seed: int) -> tuple[FloatArray, IntArray, int]:
    """Draw rows as ``sample_rows``, and return their places and the number of all rows as well.

    Every row gets a random number, and those with the smallest are kept: all are equally likely
    to be drawn, whatever the blocks.
    """
    rng = np.random.default_rng(seed)
    kept: list[FloatArray] = []
    keys, places, n_rows = np.empty(0), np.empty(0, dtype=np.intp), 0
    with close_after(source.blocks(block_rows(2 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            new = rng.random(int(block.shape[0]))
            highest = np.inf if len(keys) < most else float(keys.max())
            chosen = np.flatnonzero(new < highest)
            places, n_rows = np.concatenate([places, n_rows + chosen]), n_rows + len(new)
            if not chosen.size:
                continue
            rows = np.concatenate([*kept, move_to_host(take_rows(block, chosen))])
            keys = np.concatenate([keys, new[chosen]])
            if len(keys) > most:
                lowest = np.sort(np.argpartition(keys, most)[:most])
                rows, keys, places = rows[lowest], keys[lowest], places[lowest]
            kept = [rows]
    return np.asarray(kept[0], dtype=np.float64), places, n_rows
