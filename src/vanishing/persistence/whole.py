"""Files that are written whole or not at all."""

import os
from pathlib import Path

from vanishing.samples.whole import written_whole


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, so that at any time there is the old one or the new one.

    Parameters
    ----------
    path : path
        A file that exists is replaced.
    content : bytes
    """
    target = Path(path).resolve()  # where a link leads to, rather than the link
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    with written_whole(target) as unfinished:
        unfinished.write_bytes(content)
