"""One array on disk: a memory map of NumPy, or a Zarr array."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vanishing.samples.extras import imported
from vanishing.samples.streamed import CHUNK_NUMBERS, Chunk, StreamedSource


class StoredArraySource(StreamedSource):
    """The rows of an array that is read from a file slice by slice.

    Parameters
    ----------
    array : numpy.memmap or zarr.Array of shape (n_samples, n_features)
        Chunks of a Zarr array are read whole, several at a time if they are small.
    name : str
        What the rows are called in error messages.
    """

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
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def cpu(self) -> bool:
        """True."""
        return True

    @property
    def _file(self) -> str:
        """Where the array lies, or nothing where that is unknown."""
        place = getattr(self.array, "filename", None) or getattr(self.array, "store_path", None)
        return "" if place is None else str(place)

    @property
    def _chunk_rows(self) -> int:
        # A chunk of Zarr is decompressed as a whole, so that no slice may end inside of one.
        unit = getattr(self.array, "chunks", (1,))[0]
        return int(unit * max(1, CHUNK_NUMBERS // (unit * self.n_features)))

    def _read(self) -> Iterator[Chunk]:
        step, n_rows = self._chunk_rows, self.n_samples
        file = f"{self._file}, " if self._file else ""
        array = _opened_anew(self.array)
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            rows = array[start:stop]
            if isinstance(rows, np.memmap):
                rows = np.array(rows)  # read now, by the thread that is here
            yield Chunk(rows, f"{file}rows {start} to {stop - 1}")
        _opened_anew(self.array)


def _opened_anew(array: Any) -> Any:
    """Open a Zarr array again: one whose files are gone would read as zeros without an error."""
    if not hasattr(array, "store_path"):
        return array
    zarr = imported("zarr", extra="io", purpose="reading Zarr arrays")
    return zarr.open_array(array.store_path, mode="r")
