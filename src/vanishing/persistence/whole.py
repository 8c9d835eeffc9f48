"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vanishing.samples.whole import written_whole


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write, so that at any time there is the old one or the new one.

    What is written goes to a file beside it, which takes its place when the block ends, and is
    removed if it ends by an exception, an interruption included. Pipes and devices, which nothing
    can take the place of, are written to as they are.

    Parameters
    ----------
    path : path
        A file that exists is replaced.

    Yields
    ------
    binary file
    """
    given = Path(path)
    if given.is_dir():
        raise IsADirectoryError(f"{given} is a folder; name a file in it")
    if given.exists() and not given.is_file():
        with given.open("wb") as file:
            yield file
        return
    with written_whole(given) as unfinished, unfinished.open("wb") as file:
        yield file


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, so that at any time there is the old one or the new one.

    Parameters
    ----------
    path : path
        A file that exists is replaced.
    content : bytes
    """
    with whole_file(path) as file:
        file.write(content)
