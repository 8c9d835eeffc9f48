"""Rows in a temporary file, and the ways of handing them to the library."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.speed.cases import CHUNK, FloatArray
from benchmarks.speed.task import Source


def write(path: Path, chunks: Iterable[FloatArray]) -> None:
    """Write rows one chunk after the other; nothing is mapped and only one chunk is held."""
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk.tobytes())


def open_rows(path: Path, features: int, source: Source) -> Any:
    """Return the rows of a file as a memory map, a list of its slices, or a function."""
    if source == "callable":
        return _reader(path, features)
    mapped = np.memmap(path, dtype=np.float64, mode="r").reshape(-1, features)
    if source == "memmap":
        return mapped
    return [mapped[start : start + CHUNK] for start in range(0, len(mapped), CHUNK)]


def _reader(path: Path, features: int) -> Callable[[], Iterator[FloatArray]]:
    def read() -> Iterator[FloatArray]:
        with path.open("rb") as file:
            while (values := np.fromfile(file, dtype=np.float64, count=CHUNK * features)).size:
                yield values.reshape(-1, features)

    return read
