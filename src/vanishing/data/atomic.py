"""Files that are written completely or not at all.

A file is written under a hidden name in the same folder and renamed at the end. It keeps the mode
of the file that it replaces, and the next writer removes what a killed one left behind.
"""

import atexit
import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

# --- Files that are being written, told from those that a killed writer left behind ---------------
#
# A writer holds a lock on its file, which the system takes away when the process ends, however it
# ends: what can be locked has no writer any more. That needs no numbers of processes, which are
# given to others later, and mean nothing on another computer that has the same folder.

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: nothing is locked, and nothing swept
    LOCKS = False
else:
    LOCKS = True

#: ``.table.csv.0123456789abcdef.vanishing.tmp`` is being written, and ``.old`` was replaced.
NAME = re.compile(r"\.(.*)\.[0-9a-f]{16}\.vanishing\.(tmp|old)", re.DOTALL)


def beside(target: Path, ending: str) -> Path:
    """Return a new name in the same folder."""
    rest = f".{secrets.token_hex(8)}.vanishing.{ending}"
    # Windows does not tell how long names may be.
    longest = os.pathconf(target.parent, "PC_NAME_MAX") if LOCKS else sys.maxsize
    name = os.fsencode(f".{target.name}")[: longest - len(rest)].decode(errors="ignore")
    return target.with_name(f"{name}{rest}")


#: What this process is writing, with its number: a fork must not remove what its parent writes.
_unfinished: dict[Path, int] = {}


@atexit.register
def remove_unfinished() -> None:
    """Remove what this process has not finished.

    An exception removes its file. Signals raise exceptions anywhere, though, also where a ``with``
    statement has made the file and not begun to watch over it.
    """
    for path, process in list(_unfinished.items()):
        if process == os.getpid():
            with suppress(OSError):
                remove(path)
            _unfinished.pop(path, None)


@contextmanager
def lock_unfinished(target: Path, *, folder: bool, private: bool) -> Iterator[Path]:
    """Make a file or folder beside its target, locked in use; not for others if ``private``."""
    while True:
        path = beside(target, "tmp")
        _unfinished[path] = os.getpid()
        try:
            descriptor = _make(path, folder=folder, private=private)
        except OSError:
            del _unfinished[path]
            raise
        if descriptor is None or _locked(descriptor, path, wait=True):
            break
        os.close(descriptor)  # swept before it was locked
        del _unfinished[path]
    try:
        yield path
    finally:
        if descriptor is not None:  # pragma: no branch - not on Windows
            os.close(descriptor)
        if not os.path.lexists(path):
            _unfinished.pop(path, None)


def _make(path: Path, *, folder: bool, private: bool) -> int | None:
    """Return the descriptor of a new file or folder, None where there are no locks."""
    if folder:
        path.mkdir(0o700 if private else 0o777)
        return os.open(path, os.O_RDONLY) if LOCKS else None
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    if LOCKS:
        return made
    os.close(made)  # pragma: no cover - Windows
    return None  # pragma: no cover - Windows


def sweep(folder: Path) -> None:
    """Remove the files of killed writers: those of our own names that are not locked."""
    if not LOCKS:  # pragma: no cover - Windows
        return
    with suppress(OSError):  # a folder that may not be listed
        for name in os.listdir(folder):
            if (found := NAME.fullmatch(name)) is None:
                continue
            with suppress(OSError):  # gone, or not ours
                # What was replaced is all there is until the new one has its name.
                if found[2] == "tmp" or (folder / found[1]).exists():
                    _sweep(folder / name)


def _sweep(path: Path) -> None:
    found = path.lstat()
    is_folder = stat.S_ISDIR(found.st_mode)
    if found.st_uid != os.geteuid() or not (is_folder or stat.S_ISREG(found.st_mode)):
        return
    flags = os.O_RDONLY if is_folder else os.O_RDWR
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _locked(descriptor, path, wait=False):
            remove(path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: Path, *, wait: bool) -> bool:
    """Lock a file; return whether that succeeded and it is still the file at this path."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait  # a writer continues without a lock if the file system has none
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


# --- Files and folders that are written completely or not at all ----------------------------------

#: Errors of the system if there is no space.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def replace_atomic(path: str | os.PathLike[str], *, folder: bool = False) -> Iterator[Path]:
    """Yield a new file or folder to write to, which replaces ``path`` if there was no error.

    It gets the mode of the file that it replaces, and its owner and group if the system allows it.
    A folder is replaced in two steps where the system cannot swap names, as Linux can. A link is
    followed. Files that killed writers left in the folder are removed first, the new one after an
    error.
    """
    target = followed(path)
    former = target.stat() if target.exists() else None
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    sweep(target.parent)
    # In the same folder, since a rename is atomic only there. Others must not read from it what
    # they may not read from the file that is replaced.
    with lock_unfinished(target, folder=folder, private=former is not None) as unfinished:
        try:
            yield unfinished
            if former is not None:
                _take_over(unfinished, former)
            if folder:
                _replace_folder(unfinished, target)
            else:
                with unfinished.open("rb") as file:
                    os.fsync(file.fileno())  # it is on the disk before it has its name
                unfinished.replace(target)
        except OSError as error:
            remove(unfinished)
            if error.errno in FULL:
                problem = "no space left on the device; free some space, or choose another place"
                raise OSError(
                    error.errno, f"{problem} (nothing was left behind)", str(target)
                ) from error
            raise
        except BaseException:
            remove(unfinished)
            raise


def remove(path: Path) -> None:
    """Remove a file or folder that may be gone already."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def followed(path: str | os.PathLike[str]) -> Path:
    """Return the target of a link; raise if it leads to itself."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "the link leads to itself", str(path))
    return target


def _take_over(path: Path, former: os.stat_result) -> None:
    """Give a file the mode of another one, and its owner and group if that is allowed."""
    if os.name != "posix":  # pragma: no cover - Windows
        return
    mode = stat.S_IMODE(former.st_mode)
    try:
        os.chown(path, -1, former.st_gid)
    except OSError:
        # Another group must not get the rights of the group; its members count as others now.
        mode = (mode & ~0o2070) | (mode & 0o007) << 3
    with suppress(OSError):
        os.chown(path, former.st_uid, -1)
    os.chmod(path, mode)  # last, since changing the owner clears bits


def _replace_folder(unfinished: Path, target: Path) -> None:
    """Move a folder to a place where another may be, which is kept until the new one is there."""
    if not target.exists():
        unfinished.rename(target)
        return
    if _exchange(unfinished, target):
        shutil.rmtree(unfinished, ignore_errors=True)  # the next writer removes what is left
        return
    former = beside(target, "old")
    target.rename(former)
    try:
        unfinished.rename(target)
    except BaseException:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)  # the next writer removes what is left


#: The flag of Linux for swapping names.
RENAME_EXCHANGE = 2


def _exchange(first: Path, second: Path) -> bool:
    """Swap the names of two files or folders at once; return whether the system could."""
    if sys.platform != "linux":  # pragma: no cover - other systems
        return False
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # pragma: no cover - the C library is too old
        return False
    paths = os.fsencode(first.absolute()), os.fsencode(second.absolute())
    # Descriptors of folders are for relative paths.
    failed: int = rename(-1, paths[0], -1, paths[1], RENAME_EXCHANGE)
    return failed == 0  # some file systems cannot


# --- One file -------------------------------------------------------------------------------------


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file, so that the old or the new one exists at any time; pipes are opened directly."""
    given = Path(path)
    if given.is_dir():
        raise IsADirectoryError(f"{given} is a folder; name a file in it")
    if given.exists() and not given.is_file():
        with given.open("wb") as file:
            yield file
        return
    with replace_atomic(given) as unfinished, unfinished.open("wb") as file:
        yield file


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, so that at any time either the old or the new one exists."""
    with open_atomic(path) as file:
        file.write(content)
