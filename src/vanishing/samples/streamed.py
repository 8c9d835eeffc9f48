"""What all sources that are read chunk by chunk have in common."""

from abc import abstractmethod
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from vanishing._xp import Array, namespace, on_cpu
from vanishing._xp.lazy import lazy
from vanishing.samples.array import ArraySource
from vanishing.samples.checks import checked_block, dense
from vanishing.samples.frames import as_array, columns_of
from vanishing.samples.prefetch import prefetched
from vanishing.samples.source import SampleSource

#: Numbers of a chunk, where the source may choose its size: 8 MiB in double precision.
CHUNK_NUMBERS = 2**20


class Chunk(NamedTuple):
    """Rows as they were read, and where they come from, in words for error messages."""

    rows: Any
    where: str = ""


class StreamedSource(SampleSource):
    """Rows that are read chunk by chunk, each chunk checked when it is read.

    Subclasses define ``_read``. The next chunk is read by a thread while the present one is worked
    on, so that two are in memory at a time.
    """

    #: Columns of the first chunk, if it was a frame, its array library, and the number of rows of
    #: the first whole pass: all others are compared with these.
    _columns: list[Any] | None = None
    _library: str | None = None
    _rows_before: int | None = None

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """Begin anew, and yield all chunks in order."""

    @property
    def _prefetches(self) -> bool:
        """Whether reading takes time that can be spent while computing."""
        return True

    @lazy
    def _first(self) -> tuple[int, bool]:
        """Width and place of the first chunk with rows."""
        with closing(self._checked(None)) as chunks:
            for chunk in chunks:
                return int(chunk.shape[1]), on_cpu(chunk)
        raise ValueError(f"{self.name} has no chunks: at least one row is required")

    @property
    def n_features(self) -> int:
        """Number of columns of the first chunk."""
        return self._first[0]

    @property
    def cpu(self) -> bool:
        """Whether the first chunk lives in the memory of the processor."""
        return self._first[1]

    @lazy
    def n_samples(self) -> int:
        """Number of rows, counted in one pass."""
        with closing(self._chunks()) as chunks:
            return sum(int(chunk.shape[0]) for chunk in chunks)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the chunks, those that are too long in slices."""
        with closing(self._chunks()) as chunks:
            for chunk in chunks:
                yield from ArraySource(chunk).blocks(max_rows)

    def _chunks(self) -> Generator[Array, None, None]:
        checked = self._checked(self.n_features)
        return prefetched(checked) if self._prefetches else checked

    def _checked(self, n_features: int | None) -> Generator[Array, None, None]:
        n_rows = 0
        for index, chunk in enumerate(self._reading()):
            where = f" ({chunk.where})" if chunk.where else ""
            name = f"chunk {index}{where} of {self.name}"
            rows = dense(chunk.rows, name)
            self._check_same_columns(columns_of(rows), name)
            block = checked_block(as_array(rows, name), name=name, n_features=n_features)
            self._check_library(block, name)
            n_rows += int(block.shape[0])
            if block.shape[0]:
                yield block
        self._check_rows(n_rows)

    def _check_same_columns(self, columns: list[Any] | None, name: str) -> None:
        """Refuse a frame whose columns are not those of the first: rows are joined by position."""
        if columns is None:
            return
        if self._columns is None:
            self._columns = columns
        if columns != self._columns:
            raise ValueError(
                f"{name} has columns {columns}, but the first chunk has {self._columns}; give all "
                "chunks the same columns in the same order"
            )

    def _check_library(self, block: Array, name: str) -> None:
        """Refuse arrays of another library than the first: what is made of them is merged."""
        library = namespace(block).__name__.rpartition(".")[2]
        if self._library is None:
            self._library = library
        if library != self._library:
            raise TypeError(
                f"{name} is an array of {library}, but the first chunk is one of {self._library}; "
                "make all chunks arrays of one library"
            )

    def _check_rows(self, n_rows: int) -> None:
        """Refuse rows that changed since the last pass: degrees would be of different data."""
        if self._rows_before is None:
            self._rows_before = n_rows
        if n_rows != self._rows_before:
            raise ValueError(
                f"{self.name} had {self._rows_before} rows in an earlier pass, and {n_rows} in "
                "this one; every pass must go over the same rows, and files must not change"
            )

    def _reading(self) -> Iterator[Chunk]:
        """Yield what ``_read`` does; its errors say how far it came."""
        index, where = 0, ""
        reading = self._read()
        try:
            for chunk in reading:
                yield chunk
                index, where = index + 1, chunk.where
        except Exception as error:
            after = f" (after {where})" if where else ""
            raise same_kind(
                error,
                f"chunk {index} of {self.name} could not be read{after}: "
                f"{type(error).__name__}: {error}",
            ) from error


def same_kind(error: Exception, message: str) -> Exception:
    """Return an error of the same class with another message, or a RuntimeError."""
    try:
        return type(error)(message)
    except Exception:  # its class wants other arguments
        return RuntimeError(message)
