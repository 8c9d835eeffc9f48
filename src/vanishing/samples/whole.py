"""Files and folders that are written whole or not at all."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vanishing.samples.unfinished import Unfinished, beside, sweep

#: What the system says where there is no space.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def written_whole(path: str | os.PathLike[str], *, folder: bool = False) -> Iterator[Path]:
    """Give a place to write to, which takes the place of ``path`` when all went well.

    What replaces a file has its mode, and its owner and group where the system allows it. What
    writers that were killed left in the folder is removed first.

    Parameters
    ----------
    path : path
        A file or folder that exists is replaced: a file at once, a folder in two steps. Of a
        link, what it leads to.
    folder : bool
        Whether a folder is written.

    Yields
    ------
    pathlib.Path
        An empty file or folder in the same folder. It is removed after an error.
    """
    target = followed(path)
    former = _status(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    sweep(target.parent)
    # In the same folder, since only there a file can take the place of another at once. Others
    # must not read there what they may not read in the file that is replaced.
    with Unfinished(target, folder=folder, private=former is not None) as unfinished:
        try:
            yield unfinished.path
            if former is not None:
                _take_over(unfinished.path, former)
            if folder:
                _replace_folder(unfinished.path, target)
            else:
                unfinished.synchronize()
                unfinished.path.replace(target)
        except OSError as error:
            remove(unfinished.path)
            if error.errno in FULL:
                raise OSError(
                    error.errno,
                    "no space is left there; make room, or choose another place (nothing was "
                    "left behind)",
                    str(target),
                ) from error
            raise
        except BaseException:
            remove(unfinished.path)
            raise


def remove(path: Path) -> None:
    """Remove a file or folder that may be gone already."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def followed(path: str | os.PathLike[str]) -> Path:
    """Return where a link leads to; raise if that is itself."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "the link leads to itself", str(path))
    return target


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _take_over(path: Path, former: os.stat_result) -> None:
    """Give a file the mode of another, and its owner and group as far as that is allowed."""
    if os.name != "posix":
        return
    mode = stat.S_IMODE(former.st_mode)
    try:
        os.chown(path, -1, former.st_gid)
    except OSError:
        # What the group may do is not for another group; those in it are as all others now.
        mode = (mode & ~0o2070) | (mode & 0o007) << 3
    with suppress(OSError):
        os.chown(path, former.st_uid, -1)
    os.chmod(path, mode)  # last: a change of the owner takes bits away


def _replace_folder(unfinished: Path, target: Path) -> None:
    """Put a folder where another may be, which is kept until the new one is there."""
    if not target.exists():
        unfinished.rename(target)
        return
    former = beside(target, "old")
    target.rename(former)
    try:
        unfinished.rename(target)
    except BaseException:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)  # what stays, the next writer sweeps
