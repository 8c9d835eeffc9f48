"""Chunks of rows from anything that can be iterated over again."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vanishing._xp import Array
from vanishing._xp.lazy import lazy
from vanishing.samples.frames import names_of
from vanishing.samples.streamed import Chunk, StreamedSource, same_kind


class ChunkSource(StreamedSource):
    """The rows of a sequence of chunks, one after the other.

    The next chunk is made by a thread while the present one is worked on, except where all of them
    are there already, in a list or a tuple.

    Parameters
    ----------
    chunks : re-iterable of arrays, or a callable that returns a fresh iterator over arrays
        Each chunk has shape (n_rows, n_features). Fitting goes through them once per degree, so a
        generator, which can be read only once, is refused: pass the function that makes it. Every
        pass must give the same rows. Columns of frames keep their names.
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
        self._made_by = chunks
        self._last: Any = None
        self.name = name

    @lazy
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the first chunk is a frame."""
        assert self.n_features  # sees the first chunk
        return names_of(self._columns)

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
            raise same_kind(
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
