"""Dask arrays: every pass over the rows is one tree of tasks, run where the blocks are.

A leaf of the tree summarizes one block, a node merges the summaries of neighbours, and the root is
the result. The kernel, which holds the basis, is a task of its own: it is sent to each worker once,
and the scheduler runs it again if a worker is lost, which it could not do with scattered data.
Only summaries, mostly triangular factors, travel between workers; blocks stay where they are,
unless Dask moves one to an idle worker.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from math import isnan
from typing import Any
from uuid import uuid4

import numpy as np

from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    import_extra,
    is_from,
    is_on_cpu,
    lazy,
)
from vanishing.data.source import (
    GROUPED,
    ArraySource,
    Kernel,
    Merge,
    NoRowsError,
    Summary,
    Weights,
    check_block,
    describe_mismatch,
    get_column_names,
    make_floating,
)
from vanishing.data.streams import Chunk, StreamedSource, reword_error

WARN_OF_LARGE_GRAPHS = "distributed.admin.large-graph-warning-threshold"


def as_dask_array(data: Any, name: str) -> tuple[Any, tuple[str, ...] | None]:
    """Return the array of a Dask array or frame, and the names of its columns."""
    if not hasattr(data, "to_dask_array"):
        return data, None
    if data.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, of shape (n_samples, n_features), got a Dask series; make it a "
            "frame of one column by to_frame()"
        )
    kinds = zip(data.columns, data.dtypes, strict=True)
    other = [str(column) for column, kind in kinds if getattr(kind, "kind", "O") not in "fiub"]
    if other:
        raise ValueError(f"{name} must hold real numbers, but the columns {other} do not")
    array = data.to_dask_array()
    if array.dtype == object:  # columns of several kinds, such as booleans and numbers
        array = data.astype("float64").to_dask_array()
    return array, get_column_names(list(data.columns))


class DaskSource(StreamedSource):
    """The rows of a Dask array, whose blocks are arrays of NumPy, CuPy or torch.

    Passes are computed by the current scheduler of Dask: that of a ``distributed.Client``, or
    threads. Each pass computes the blocks again, unless the array was persisted. Empty blocks and
    unknown numbers of rows are allowed.

    Parameters
    ----------
    array : dask.array.Array of shape (n_samples, n_features)
        Blocks hold whole rows.
    feature_names : sequence of str, optional
    name : str
        What error messages call the rows.
    """

    def __init__(
        self, array: Any, feature_names: Sequence[str] | None = None, *, name: str = "X"
    ) -> None:
        if array.ndim != 2:
            raise ValueError(
                f"{name} must be 2-D, of shape (n_samples, n_features), got a Dask array of "
                f"{array.ndim} dimensions"
            )
        if isnan(array.shape[1]):
            raise ValueError(
                f"{name} is a Dask array of unknown width; call its compute_chunk_sizes() first"
            )
        if array.shape[1] == 0 or array.shape[0] == 0:
            raise ValueError(
                f"{name} has shape {array.shape}: at least one row and one column are required"
            )
        if array.numblocks[1] > 1:
            raise ValueError(
                f"the columns of {name} are split over {array.numblocks[1]} blocks, but "
                "polynomials need whole rows; rechunk it, as in X.rechunk({0: 'auto', 1: -1}), and "
                "persist the result where it fits, since that moves rows between workers"
            )
        self.array = array
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.name = name

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @lazy
    def n_samples(self) -> int:
        """Number of rows; costs a pass where Dask does not know."""
        return sum(self._sizes)

    @property
    def cpu(self) -> bool:
        """Whether the blocks are in the memory of the processor, as far as Dask knows."""
        return is_on_cpu(_dask("dask.array.utils").meta_from_array(self.array))

    @lazy
    def _rows_of_blocks(self) -> list[Any]:
        """One ``Delayed`` for each block."""
        return list(self.array.to_delayed().ravel())

    @lazy
    def _sizes(self) -> list[int]:
        """How many rows each block holds; costs a pass where Dask does not know."""
        sizes = self.array.chunks[0]
        if not any(map(isnan, sizes)):
            return list(map(int, sizes))
        length = _dask().delayed(len, pure=False)
        return list(_dask().compute(*map(length, self._rows_of_blocks)))

    @lazy
    def _places(self) -> list[str]:
        """Which rows each block holds, where that is known."""
        sizes = self.array.chunks[0]
        if any(map(isnan, sizes)):
            return [""] * len(sizes)
        stops = np.cumsum(sizes).tolist()
        starts = [stop - size for stop, size in zip(stops, sizes, strict=True)]
        return [f"rows {a} to {b - 1}" for a, b in zip(starts, stops, strict=True)]

    def _chunk_name(self, index: int) -> str:
        where = f" ({self._places[index]})" if self._places[index] else ""
        return f"chunk {index}{where} of {self.name}"

    def _read(self) -> Iterator[Chunk]:
        dask = _dask()
        for rows, where in zip(self._rows_of_blocks, self._places, strict=True):
            yield Chunk(dask.compute(rows)[0], where)

    def map_reduce(
        self, kernel: Kernel[Summary], merge: Merge[Summary], *, max_rows: int,
        weights: Weights = None,
    ) -> Summary:  # fmt: skip
        """Summarize the blocks on the workers and merge neighbours in a tree.

        The weights of each block are sent to where the block is.
        """
        split = None
        if weights is not None:
            sizes = self._sizes
            if sum(sizes) != len(weights):
                raise ValueError(describe_mismatch(len(weights), self.name, str(sum(sizes))))
            split = _dask("dask.array").from_array(weights[:, None], chunks=(tuple(sizes), (1,)))
        names = [self._chunk_name(index) for index in range(len(self._places))]
        payload = _packed((kernel, merge, names))
        delayed = _dask().delayed
        broadcast = delayed(payload, name=_key("kernel"))
        # As a map over blocks, which Dask fuses with other such maps into one task per block.
        leaves = _dask("dask.array").map_blocks(
            _summarize_block,
            self.array,
            split,
            broadcast,
            max_rows,
            self.n_features,
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
            chunks=((1,) * len(names), (1,)),
        )
        summaries = list(leaves.to_delayed().ravel())
        node = delayed(_merge_all, pure=False)
        while len(summaries) > 1:
            groups = range(0, len(summaries), GROUPED)
            summaries = [node(summaries[i : i + GROUPED], broadcast) for i in groups]
        n_bytes = len(payload) + (0 if weights is None else int(weights.nbytes))
        found: Summary | None = self._compute(summaries[0], n_bytes)
        if found is None:
            raise NoRowsError(self.name)
        return found

    def map_rows(self, function: Callable[[Array], Array], n_columns: int | None) -> Any:
        """Return a Dask array of what a function makes of the rows, as in the base class."""
        array = self.array
        meta = make_floating(_dask("dask.array.utils").meta_from_array(array))
        broadcast = _dask().delayed(_packed(function), name=_key("function"))
        mapped = _dask("dask.array").map_blocks(
            _apply_to_block,
            array,
            broadcast,
            self.name,
            self.n_features,
            dtype=meta.dtype,
            meta=meta,
            chunks=(array.chunks[0], (n_columns or 1,)),
        )
        # Not by drop_axis: Dask then concatenates blocks, which it can with arrays of NumPy only.
        return mapped[:, 0] if n_columns is None else mapped

    def _compute(self, root: Any, n_bytes: int) -> Any:
        """Compute a task; if a block of the user fails, the error names it."""
        try:
            with _large_graphs_allowed(n_bytes):
                return _dask().compute(root)[0]
        except Exception as error:
            if is_from(error, "distributed") or str(error).startswith("chunk "):
                raise
            index = self._failing_block()
            if index is None:
                raise
            raise reword_error(
                error,
                f"{self._chunk_name(index)} could not be computed: {type(error).__name__}: {error}",
            ) from error

    def _failing_block(self) -> int | None:
        """Find the first block that fails, computing twice as many at a time as before."""
        delayed = _dask().delayed(_nothing_of, pure=False)
        tasks = [delayed(rows) for rows in self._rows_of_blocks]
        start, stop = 0, 1
        while start < len(tasks):
            if _fails(tasks[start:stop]):
                return next((i for i in range(start, stop) if _fails(tasks[i : i + 1])), None)
            start, stop = stop, 2 * stop
        return None


def _dask(module: str = "dask") -> Any:
    return import_extra(module, extra="dask", purpose="passing over Dask arrays")


def _large_graphs_allowed(more_bytes: int) -> AbstractContextManager[Any]:
    """Do not warn of the basis and of weights, which are in the graph on purpose."""
    if "distributed" not in sys.modules:  # then there is no cluster, and no such setting yet
        return nullcontext()
    dask = _dask()
    usual = dask.utils.parse_bytes(dask.config.get(WARN_OF_LARGE_GRAPHS, "10MB"))
    return dask.config.set({WARN_OF_LARGE_GRAPHS: usual + 2 * more_bytes})  # type: ignore[no-any-return]


def _key(what: str) -> str:
    """Return a unique name for a task."""
    return f"vanishing-{what}-{uuid4().hex}"


def _packed(what: Any) -> bytes:
    """Turn functions into bytes, closures included."""
    packed: bytes = _dask("cloudpickle").dumps(what)
    return packed


def _unpacked(packed: bytes) -> Any:
    # Each task has its own copy: functions may cache results, and tasks run in threads.
    return _dask("cloudpickle").loads(packed)


def _summarize_block(
    rows: Array,
    weights: FloatArray | None,
    packed: bytes,
    max_rows: int,
    n_features: int,
    block_id: tuple[int, ...] = (0,),
) -> Any | None:
    kernel, merge, names = _unpacked(packed)
    rows = check_block(rows, name=names[block_id[0]], n_features=n_features)
    source = ArraySource(rows).named(names[block_id[0]])
    own = None if weights is None else weights[:, 0]
    try:
        return source.map_reduce(kernel, merge, max_rows=max_rows, weights=own)
    except NoRowsError:  # an empty block, or one of weight 0
        return None


def _merge_all(summaries: list[Any | None], packed: bytes) -> Any | None:
    _, merge, _ = _unpacked(packed)
    present = [summary for summary in summaries if summary is not None]
    return reduce(merge, present) if present else None


def _apply_to_block(
    rows: Array, packed: bytes, name: str, n_features: int, block_id: tuple[int, ...] = (0,)
) -> Array:
    rows = check_block(rows, name=f"chunk {block_id[0]} of {name}", n_features=n_features)
    found = _unpacked(packed)(make_floating(rows))
    return found[:, None] if found.ndim == 1 else found


def _fails(tasks: list[Any]) -> bool:
    try:
        _dask().compute(*tasks)
    except Exception:
        return True
    return False


def _nothing_of(rows: Array) -> None:
    """Depend on the rows without returning them."""
