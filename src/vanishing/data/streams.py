"""Rows that come in chunks: iterables, frames, memory maps and Zarr arrays."""

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vanishing.arrays.namespace import (
    Array,
    import_extra,
    is_on_cpu,
    lazy,
    move_to_host,
    namespace,
    require_dense,
)
from vanishing.data.inputs import as_source
from vanishing.data.source import (
    ArraySource,
    OneArraySource,
    SampleSource,
    WrappedSource,
    as_array,
    check_block,
    get_column_names,
    get_columns,
)
from vanishing.levels import BLOCK

# --- Reading the next item while the current one is worked on -------------------------------------

Item = TypeVar("Item")


def prefetch(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the items of an iterator while a thread makes the next one.

    An error of the iterator is raised in place of its item, and ends the thread.
    """
    end: Any = object()
    context = copy_context()  # holds the NumPy error state of the caller

    def take() -> Any:
        return context.run(next, items, end)

    with ThreadPoolExecutor(1, thread_name_prefix="vanishing-prefetch") as reader:
        coming = reader.submit(take)
        try:
            while (item := coming.result()) is not end:
                coming = reader.submit(take)
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                coming.exception()  # the thread may be in the middle of the next item
                context.run(close)
            del coming  # an error refers to this frame, which would refer to the error: a cycle


# --- Sources that are read chunk by chunk ---------------------------------------------------------


class Chunk(NamedTuple):
    """Rows as they were read, and where they come from, for error messages."""

    rows: Any
    where: str = ""


class StreamedSource(SampleSource):
    """Rows that are read chunk by chunk, by ``_read`` of subclasses, in a thread of their own."""

    #: Columns of the first chunk, if it was a frame, its array library, and the number of rows of
    #: the first complete pass: later ones are compared with these.
    _columns: list[Any] | None = None
    _library: str | None = None
    _rows_before: int | None = None

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """Start again, and yield all chunks in order."""

    @property
    def _prefetches(self) -> bool:
        """Whether reading the next chunk while computing saves time."""
        return True

    @lazy
    def _first(self) -> tuple[int, bool]:
        """Width of the first chunk with rows, and whether it is in the processor's memory."""
        with closing(self._checked(None)) as chunks:
            for chunk in chunks:
                return int(chunk.shape[1]), is_on_cpu(chunk)
        raise ValueError(f"{self.name} has no chunks: at least one row is required")

    @property
    def n_features(self) -> int:
        """Number of columns of the first chunk."""
        return self._first[0]

    @property
    def cpu(self) -> bool:
        """Whether the first chunk is in the memory of the processor."""
        return self._first[1]

    @lazy
    def n_samples(self) -> int:
        """Number of rows, counted in one pass."""
        with closing(self._chunks()) as chunks:
            return sum(int(chunk.shape[0]) for chunk in chunks)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the chunks, long ones in slices."""
        with closing(self._chunks()) as chunks:
            for chunk in chunks:
                yield from ArraySource(chunk).blocks(max_rows)

    def _chunks(self) -> Generator[Array, None, None]:
        checked = self._checked(self.n_features)
        return prefetch(checked) if self._prefetches else checked

    def _checked(self, n_features: int | None) -> Generator[Array, None, None]:
        n_rows = 0
        for index, chunk in enumerate(self._reading()):
            where = f" ({chunk.where})" if chunk.where else ""
            name = f"chunk {index}{where} of {self.name}"
            rows = require_dense(chunk.rows, name)
            columns = get_columns(rows)
            self._columns = columns if self._columns is None else self._columns
            if columns is not None and columns != self._columns:  # which go by position
                raise ValueError(
                    f"{name} has columns {columns}, but the first chunk has {self._columns}; give "
                    "all chunks the same columns in the same order"
                )
            block = check_block(as_array(rows, name), name=name, n_features=n_features)
            library = namespace(block).__name__.rpartition(".")[2]
            self._library = self._library or library
            if library != self._library:  # summaries of blocks are merged
                raise TypeError(
                    f"{name} is an array of {library}, but the first chunk is one of "
                    f"{self._library}; use arrays of one library for all chunks"
                )
            n_rows += int(block.shape[0])
            if block.shape[0]:
                yield block
        if self._rows_before is None:
            self._rows_before = n_rows
        if n_rows != self._rows_before:  # each degree would see different data
            raise ValueError(
                f"{self.name} had {self._rows_before} rows in an earlier pass, and {n_rows} in "
                "this one; every pass must see the same rows, and files must not change"
            )

    def _reading(self) -> Iterator[Chunk]:
        """Yield the chunks of ``_read``; its errors say which chunk failed."""
        index, where = 0, ""
        reading = self._read()
        try:
            for chunk in reading:
                yield chunk
                index, where = index + 1, chunk.where
        except Exception as error:
            after = f" (after {where})" if where else ""
            raise reword_error(
                error,
                f"chunk {index} of {self.name} could not be read{after}: "
                f"{type(error).__name__}: {error}",
            ) from error


def reword_error(error: Exception, message: str) -> Exception:
    """Return an error of the same class with another message, or a RuntimeError."""
    try:
        return type(error)(message)
    except Exception:  # its class takes other arguments
        return RuntimeError(message)


# --- Chunks of rows from anything that can be iterated over again ---------------------------------


class ChunkSource(StreamedSource):
    """The rows of a sequence of chunks, one after the other.

    A thread makes the next chunk while the current one is worked on, except for a list or a tuple,
    whose chunks are all there already.

    Parameters
    ----------
    chunks : re-iterable of arrays, or a callable that returns a fresh iterator over arrays
        Each chunk has shape (n_rows, n_features). Fitting passes over them once per degree, so a
        generator, which can be read only once, is refused: pass the function that makes it. Every
        pass must yield the same rows. Columns of frames keep their names.
    name : str
        What error messages call the rows.
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
        self._made_by = chunks
        self._last: Any = None
        self.name = name

    @lazy
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if the first chunk is a frame."""
        assert self.n_features  # reads the first chunk
        return get_column_names(self._columns)

    @property
    def _prefetches(self) -> bool:
        return not isinstance(self._made_by, list | tuple)

    def _read(self) -> Iterator[Chunk]:
        return map(Chunk, self._fresh())

    def _fresh(self) -> Iterable[Array]:
        if not callable(self._made_by):
            return self._made_by
        try:
            chunks = self._made_by()
        except Exception as error:
            raise reword_error(
                error,
                f"the function passed for {self.name} failed before chunk 0: "
                f"{type(error).__name__}: {error}",
            ) from error
        if not isinstance(chunks, Iterable):
            raise TypeError(
                f"the function passed for {self.name} must return an iterable of chunks, got "
                f"{chunks!r}"
            )
        if isinstance(chunks, Iterator) and chunks is self._last:
            raise ValueError(
                f"the function passed for {self.name} returned the same iterator twice; it must "
                "make a fresh iterator each time, since fitting passes over the data once per "
                "degree"
            )
        self._last = chunks
        return chunks


# --- One array on disk: a memory map of NumPy, or a Zarr array ------------------------------------


class StoredArraySource(OneArraySource, StreamedSource):
    """The rows of an array that is read from a file slice by slice.

    Parameters
    ----------
    array : numpy.memmap or zarr.Array of shape (n_samples, n_features)
        Chunks of a Zarr array are read as a whole, several at a time if they are small.
    name : str
        What error messages call the rows.
    """

    #: Rows are in the memory of the processor.
    cpu = True

    def __init__(self, array: Any, *, name: str = "X") -> None:
        self.array = array
        self.name = name
        shape = tuple(array.shape)
        if len(shape) != 2:
            raise ValueError(
                f"{name} must be 2-D, of shape (n_samples, n_features), got an array of shape "
                f"{shape} in {self._file or 'a file'}"
            )
        if 0 in shape:
            raise ValueError(
                f"{name} has shape {shape}: at least one row and one column are required"
            )

    @property
    def _file(self) -> str:
        """The file of the array, or an empty string if that is unknown."""
        place = getattr(self.array, "filename", None) or getattr(self.array, "store_path", None)
        return "" if place is None else str(place)

    def _read(self) -> Iterator[Chunk]:
        # A chunk of Zarr is decompressed as a whole, so no slice should end inside one.
        unit, n_rows = int(getattr(self.array, "chunks", (1,))[0]), self.n_samples
        step = unit * max(1, BLOCK // (unit * self.n_features))
        file = f"{self._file}, " if self._file else ""
        first = 1 if file else 0  # rows of files are numbered from 1
        array = _opened_anew(self.array)
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            rows = array[start:stop]
            if isinstance(rows, np.memmap):
                rows = np.array(rows)  # read now, by this thread
            yield Chunk(rows, f"{file}rows {start + first} to {stop - 1 + first}")
        _opened_anew(self.array)


def _opened_anew(array: Any) -> Any:
    """Open a Zarr array again: if its files were gone, it would read as zeros without an error."""
    if not hasattr(array, "store_path"):
        return array
    zarr = import_extra("zarr", extra="io", purpose="reading Zarr arrays")
    return zarr.open_array(array.store_path, mode="r")


# --- Rows that are kept on the host and processed on another device -------------------------------


class DeviceSource(WrappedSource):
    """Blocks of another source, moved to a device while it works on the block before.

    For data that does not fit into the memory of the accelerator. Move data that fits there once:
    ``torch.asarray(X, device="cuda")``.

    Parameters
    ----------
    data : array, memory map, SampleSource or chunks
        Anything that ``as_source`` takes, in the memory of the processor.
    device : str or torch.device
        As torch names it, ``"cuda"`` for instance.
    dtype : {None, "float32", "float64"}
        Precision on the device; that of the data by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.data import DeviceSource
    >>> angle = np.linspace(0, 6, 100)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(DeviceSource(circle, "cpu"))
    >>> len(ideal.extents_)
    1
    """

    def __init__(self, data: Any, device: Any, *, dtype: str | None = None) -> None:
        torch = import_extra("torch", extra="torch", purpose="DeviceSource")
        if dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}")
        super().__init__(as_source(data))
        self.device = torch.device(device)
        self.dtype = dtype
        if self.source.weighted:
            raise ValueError(
                "the data has weights, which DeviceSource does not move; add them later, as in "
                "as_source(DeviceSource(X, device), weights=...)"
            )
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r} was asked for, but torch sees no CUDA device; pass 'cpu', or "
                "the data itself"
            )
        if not self.source.cpu:  # pragma: no cover - needs CUDA
            raise ValueError("the data is on a device already; pass it without DeviceSource")

    @property
    def cpu(self) -> bool:
        """Whether the device is the processor."""
        return str(self.device.type) == "cpu"

    # Blocks are summarized on the device.
    map_reduce = SampleSource.map_reduce

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the rows on the device."""
        import torch

        # The bus runs at full speed, and the first transfer, while the device waits, is short.
        max_rows = max(1, min(max_rows, BLOCK // self.n_features))
        host_blocks = (self._on_host(block) for block in self.source.blocks(max_rows))
        if self.device.type != "cuda":
            for block in host_blocks:
                yield torch.asarray(block).to(self.device)
            return
        yield from _through_pinned_memory(  # pragma: no cover - needs CUDA
            host_blocks, self.device, max_rows
        )

    def _on_host(self, block: Array) -> np.ndarray[Any, Any]:
        return np.asarray(move_to_host(block), dtype=self.dtype)


def _through_pinned_memory(  # pragma: no cover - needs CUDA
    host_blocks: Iterator[np.ndarray[Any, Any]], device: Any, max_rows: int
) -> Iterator[Array]:
    """Copy through two pinned buffers, on a stream of its own.

    Work on a block is queued on the device and does not block this loop, so that the next block is
    copied in the meantime.
    """
    import torch

    copying = torch.cuda.Stream(device)
    buffers: list[Any] = [None, None]
    copied: list[Any] = [None, None]
    for number, block in enumerate(host_blocks):
        turn = number % 2
        rows = torch.from_numpy(np.ascontiguousarray(block))
        if buffers[turn] is None or buffers[turn].dtype != rows.dtype:
            shape = (max_rows, rows.shape[1])
            buffers[turn] = torch.empty(shape, dtype=rows.dtype, pin_memory=True)
        if copied[turn] is not None:
            copied[turn].synchronize()  # the buffer is free again
        pinned = buffers[turn][: rows.shape[0]]
        pinned.copy_(rows)
        working = torch.cuda.current_stream(device)
        with torch.cuda.stream(copying):
            moved = pinned.to(device, non_blocking=True)
            copied[turn] = copying.record_event()
        working.wait_event(copied[turn])
        moved.record_stream(working)  # its memory is not reused before the work is done
        yield moved
