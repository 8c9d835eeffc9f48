"""Files are replaced with their rights, and killed writers leave nothing for long."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.data import as_source, atomic, write
from vanishing.data.atomic import (
    beside,
    remove_unfinished,
    replace_atomic,
    sweep,
    write_atomic,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")

ROWS = np.random.default_rng(0).standard_normal((20, 2))
ENDINGS = [".csv", ".npy", ".parquet", ".zarr"]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o664, 0o700])
def test_rights_of_a_file_that_is_replaced(tmp_path, usual_umask, ending, rights):
    path = tmp_path / f"x{ending}"
    write(ROWS, path)
    assert mode(path) == (0o755 if ending == ".zarr" else 0o644)  # what the user wants of new ones
    path.chmod(rights)
    write(2 * ROWS, path)
    assert mode(path) == rights
    np.testing.assert_array_equal(next(as_source(path).blocks(50)), 2 * ROWS)


def test_rights_of_a_model(tmp_path, usual_umask):
    path = tmp_path / "m.safetensors"
    ideal = VanishingIdeal(max_degree=1).fit(ROWS)
    ideal.save(path)
    path.chmod(0o600)
    ideal.save(path)
    assert mode(path) == 0o600
    path.chmod(0o444)
    ideal.save(path)
    assert mode(path) == 0o444


def test_others_read_nothing_before_it_is_there(tmp_path, usual_umask):
    path = tmp_path / "x"
    path.touch(0o604)
    with replace_atomic(path) as unfinished:
        assert mode(unfinished) == 0o600
        unfinished.write_text("secret")
    assert mode(path) == 0o604


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group(tmp_path):
    path = tmp_path / "x"
    path.touch(0o640)
    os.chown(path, 1234, 4321)
    write_atomic(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (1234, 4321, 0o640)


def test_group_that_may_not_be_given(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.touch()
    path.chmod(0o664)

    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    write_atomic(path, b"new")
    assert mode(path) == 0o644  # another group gets what all have


def test_links_are_followed(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "x.csv", tmp_path / "link.csv"
    target.touch(0o600)
    link.symlink_to(target)
    write(ROWS, link)
    assert link.is_symlink()
    assert mode(target) == 0o600
    assert as_source(target).n_samples == 20
    dangling = tmp_path / "dangling.csv"
    dangling.symlink_to(tmp_path / "there" / "new.csv")
    write(ROWS, dangling)
    assert dangling.is_symlink()
    assert as_source(tmp_path / "there" / "new.csv").n_samples == 20


def test_links_that_lead_nowhere(tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.symlink_to(b)
    b.symlink_to(a)
    with pytest.raises(OSError, match="link leads to itself") as caught:
        write(ROWS, a)
    assert caught.value.errno == errno.ELOOP
    assert a.is_symlink()
    assert sorted(tmp_path.iterdir()) == [a, b]


def test_long_names(tmp_path):
    for name in ("n" * 251 + ".csv", "ü" * 125 + ".csv"):
        write(ROWS, tmp_path / name)
        assert as_source(tmp_path / name).n_samples == 20
    with pytest.raises(OSError, match="name too long"):
        write(ROWS, tmp_path / ("n" * 252 + ".csv"))
    assert len(list(tmp_path.iterdir())) == 2


# --- what killed writers leave -------------------------------------------------------------------

WRITER = """
import sys, time
from vanishing.data.atomic import replace_atomic
folder = sys.argv[2] == "folder"
with replace_atomic(sys.argv[1], folder=folder) as unfinished:
    (unfinished / "part" if folder else unfinished).write_text("half")
    print("there", flush=True)
    time.sleep(600)
"""


def start_writer(path, kind):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), kind], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "there\n"
    return process


def unfinished(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".tmp")]


@pytest.mark.programs
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_is_swept_and_a_live_one_is_not(tmp_path, kind):
    killed = start_writer(tmp_path / "x", kind)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    live = start_writer(tmp_path / "x", kind)
    try:
        left = unfinished(tmp_path)
        assert len(left) == 1  # swept by the second one, which is still at work
        write_atomic(tmp_path / "y", b"another file of the folder")
        assert unfinished(tmp_path) == left
    finally:
        live.kill()
        live.communicate()
    write_atomic(tmp_path / "y", b"again")
    assert [path.name for path in tmp_path.iterdir()] == ["y"]


def test_only_our_own_files_are_swept(tmp_path):
    names = [
        ".x.0123456789abcdef.tmp",  # of another program
        ".x.0123456789abcdef.vanishing.tmp.txt",
        "x.0123456789abcdef.vanishing.tmp",
        ".x.0123456789abcdeg.vanishing.tmp",
        ".gone.zarr.0123456789abcdef.vanishing.old",  # all there is: the new one has not come
    ]
    for name in names:
        (tmp_path / name).touch()
    link = tmp_path / ".x.1123456789abcdef.vanishing.tmp"
    link.symlink_to(tmp_path / names[0])
    os.mkfifo(tmp_path / ".x.2123456789abcdef.vanishing.tmp")
    swept = tmp_path / ".x.3123456789abcdef.vanishing.tmp"
    swept.touch()
    write_atomic(tmp_path / "y", b"")
    assert not swept.exists()
    assert len(list(tmp_path.iterdir())) == len(names) + 3
    (tmp_path / "gone.zarr").mkdir()
    write_atomic(tmp_path / "y", b"")
    assert not (tmp_path / names[-1]).exists()


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    make, made = atomic._make, []

    def swept_at_first(path, **options):
        descriptor = make(path, **options)
        made.append(path)
        if len(made) == 1:
            path.unlink()
        return descriptor

    monkeypatch.setattr(atomic, "_make", swept_at_first)
    write_atomic(tmp_path / "x", b"new")
    assert len(made) == 2
    assert (tmp_path / "x").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are swapped on Linux")
def test_a_folder_is_there_all_the_time(tmp_path, monkeypatch):
    """Between the old and the new one there is no moment without any."""
    target = tmp_path / "x.zarr"
    write(ROWS, target)
    monkeypatch.setattr("pathlib.Path.rename", None)  # which would take two of them
    write(2 * ROWS, target)
    np.testing.assert_array_equal(next(as_source(target).blocks(50)), 2 * ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_a_folder_where_names_cannot_be_swapped(tmp_path, monkeypatch):
    monkeypatch.setattr("vanishing.data.atomic._exchange", lambda *_: False)
    target = tmp_path / "x.zarr"
    for factor in (1, 2):
        write(factor * ROWS, target)
    np.testing.assert_array_equal(next(as_source(target).blocks(50)), 2 * ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_an_interruption_before_anybody_watches(tmp_path, monkeypatch):
    """Signals raise anywhere: here as soon as the file has been made."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("vanishing.data.atomic._locked", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "x", b"new")
    assert len(unfinished(tmp_path)) == 1
    remove_unfinished()  # by the command line, and at the end of the process
    assert list(tmp_path.iterdir()) == []


NOBODY_WATCHES = """
import sys
from pathlib import Path
from vanishing.data import atomic
atomic._locked = lambda *_, **__: sys.exit("interrupted")
atomic.write_atomic(Path(sys.argv[1]) / "x", b"new")
"""


@pytest.mark.programs
def test_nothing_is_left_at_the_end_of_a_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NOBODY_WATCHES, tmp_path], capture_output=True, text=True
    )
    assert done.stderr == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_fork_does_not_remove_what_its_parent_writes(tmp_path):
    with replace_atomic(tmp_path / "x") as path:
        pid = os.fork()
        if pid == 0:
            remove_unfinished()
            os._exit(0)
        os.waitpid(pid, 0)
        path.write_text("whole")
    assert (tmp_path / "x").read_text() == "whole"


AT_ONCE = """
import sys, time
from vanishing.data.atomic import write_atomic
end = time.monotonic() + 2
n = 0
while time.monotonic() < end:
    write_atomic(sys.argv[1] + "/" + sys.argv[2], sys.argv[2].encode() * 1000)
    n += 1
print(n)
"""


@pytest.mark.programs
def test_writers_at_once_do_not_remove_each_other(tmp_path):
    """Four writers of two files, and some that are killed in the middle of it."""
    processes = [
        subprocess.Popen([sys.executable, "-c", AT_ONCE, str(tmp_path), name]) for name in "aabb"
    ]
    killed = [
        subprocess.Popen([sys.executable, "-c", AT_ONCE, str(tmp_path), "c"]) for _ in range(2)
    ]
    time.sleep(1.2)
    for process in killed:
        process.kill()
        process.wait()
    assert [process.wait(60) for process in processes] == [0] * 4
    write_atomic(tmp_path / "c", b"c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    assert (tmp_path / "a").read_bytes() == b"a" * 1000


def test_a_file_that_cannot_be_made_is_not_unfinished(tmp_path):
    with pytest.raises(FileNotFoundError), replace_atomic(tmp_path / "none" / "a.csv"):
        pass
    assert not atomic._unfinished


def test_files_of_other_users_are_not_swept(tmp_path, monkeypatch):
    left = beside(tmp_path / "a.csv", "tmp")
    left.write_text("left by a killed writer")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    sweep(tmp_path)
    assert left.exists()
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    sweep(tmp_path)
    assert not left.exists()
