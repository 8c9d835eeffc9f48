"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


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
    target = given.resolve()  # where a link leads to, rather than the link
    # In the same folder, since only there a file can take the place of another at once.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with unfinished.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


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
