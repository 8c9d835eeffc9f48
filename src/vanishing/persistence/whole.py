"""Files that are written whole or not at all."""

import os
import secrets
from pathlib import Path


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
    # In the same folder, since only there a file can take the place of another at once.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
