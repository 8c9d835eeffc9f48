"""Files and folders that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a place to write to, which takes the place of ``path`` when all went well.

    Parameters
    ----------
    path : path
        A file or folder that exists is replaced: a file at once, a folder in two steps.

    Yields
    ------
    pathlib.Path
        In the same folder, where nothing is yet. It is removed after an error.
    """
    target = Path(path).resolve()  # where a link leads to, rather than the link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    # In the same folder, since only there a file can take the place of another at once.
    unfinished = _beside(target)
    try:
        yield unfinished
        if unfinished.is_dir():
            _replace_folder(unfinished, target)
        else:
            with unfinished.open("rb") as file:
                os.fsync(file.fileno())
            unfinished.replace(target)
    except BaseException:
        _remove(unfinished)
        raise


def _replace_folder(unfinished: Path, target: Path) -> None:
    """Put a folder where another may be, which is kept until the new one is there."""
    if not target.exists():
        unfinished.rename(target)
        return
    former = _beside(target)
    target.rename(former)
    try:
        unfinished.rename(target)
    except BaseException:
        former.rename(target)
        raise
    _remove(former)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
