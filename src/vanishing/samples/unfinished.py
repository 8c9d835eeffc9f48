"""Files that are being written, told from those that a killed writer left behind.

A writer holds a lock on its file, which the system takes away when the process ends, however it
ends: what can be locked has no writer any more. That needs no numbers of processes, which are given
to others later, and mean nothing on another computer that has the same folder.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing swept
    LOCKS = False
else:
    LOCKS = True

#: ``.table.csv.0123456789abcdef.vanishing.tmp`` is being written, and ``.old`` was replaced.
NAME = re.compile(r"\.(.*)\.[0-9a-f]{16}\.vanishing\.(tmp|old)", re.DOTALL)
#: Bytes of the name that are kept: with the rest, it must not be longer than 255.
LONGEST = 200


def beside(target: Path, ending: str) -> Path:
    """Return a new name in the same folder."""
    name = os.fsencode(target.name)[:LONGEST].decode(errors="ignore")
    return target.with_name(f".{name}.{secrets.token_hex(8)}.vanishing.{ending}")


class Unfinished:
    """An empty file or folder beside the one that is to be written, locked while inside.

    Parameters
    ----------
    target : pathlib.Path
    folder : bool
        Whether to make a folder.
    private : bool
        Whether nobody else may read it.
    """

    def __init__(self, target: Path, *, folder: bool, private: bool) -> None:
        self._target = target
        self._folder = folder
        self._private = private

    def __enter__(self) -> Self:
        while True:
            self.path = beside(self._target, "tmp")
            self._descriptor = self._make()
            if self._descriptor is None or _locked(self._descriptor, self.path, wait=True):
                return self
            os.close(self._descriptor)  # swept before it was locked

    def __exit__(self, *_: Any) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def synchronize(self) -> None:
        """Wait until the file is on the disk."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def _make(self) -> int | None:
        """Return a descriptor to be locked, None where there are no locks."""
        if self._folder:
            self.path.mkdir(0o700 if self._private else 0o777)
            return os.open(self.path, os.O_RDONLY) if LOCKS else None
        mode = 0o600 if self._private else 0o666
        made = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if LOCKS:
            return made
        os.close(made)
        return None


def sweep(folder: Path) -> None:
    """Remove the files of writers that were killed: our own, which nobody has locked."""
    if not LOCKS:
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
    if found.st_uid != os.geteuid():
        return
    if stat.S_ISDIR(found.st_mode):
        with _opened(path, os.O_RDONLY) as descriptor:
            if _locked(descriptor, path, wait=False):
                shutil.rmtree(path)
    elif stat.S_ISREG(found.st_mode):
        with _opened(path, os.O_RDWR) as descriptor:
            if _locked(descriptor, path, wait=False):
                path.unlink()


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: Path, *, wait: bool) -> bool:
    """Lock a file; say whether it is still the one at this path, and whether it could be locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait  # a writer goes on without a lock where the file system has none
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
