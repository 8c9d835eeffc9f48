"""The program as people run it: pipes, signals, a full disk, one exit code for each kind of end."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import environment, parabola, write_csv

pytestmark = pytest.mark.programs

#: Creates the file "there" when a function is reached, and goes on: so that a signal can be sent
#: at that moment.
PAUSED = """
import sys, time, {module} as module
real = module.{name}
def reached(*arguments, **options):
    open("there", "w").close()
    {then}
    return real(*arguments, **options)
module.{name} = reached
from vanishing.app.cli import main
sys.argv = ["vanishing", *sys.argv[1:]]
main()
"""


def leftovers(folder):
    return [each.name for each in folder.iterdir() if each.name.endswith(".tmp")]


def test_files_and_pipes(program, tables, tmp_path):
    """Each command is run as a program by test_docs.py."""
    done = program("fit", "normal.csv", "--tol", "0.05", "--save", "m.safetensors")
    assert done.code == 0, done.err
    assert "saved to m.safetensors" in done.out
    scored = program("score", "-", "-m", "m.safetensors", given=(tmp_path / "new.csv").read_bytes())
    assert scored.code == 0
    assert scored.out.count("\n") == 21
    assert scored.err == ""
    assert leftovers(tmp_path) == []


def test_serve_answers_and_stops(tmp_path):
    httpx = pytest.importorskip("httpx")
    process = subprocess.Popen(
        [sys.executable, "-m", "vanishing", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=tmp_path,
    )
    try:
        url = re.search(r"http://\S+", process.stderr.readline()).group()
        assert httpx.get(url, timeout=30).status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "Traceback" not in err


def test_errors_are_one_line(program, tables):
    done = program("fit", "new.csv", "--columns", "z")
    assert (done.code, done.out) == (3, "")
    assert "no column 'z'" in done.err
    assert re.fullmatch(r"vanishing: [^\n]+\n", done.err)


def test_help_does_not_wait_for_the_libraries():
    code = (
        "import sys; from vanishing.app.cli import main; main(['detect', '--help']);"
        "slow = {'sklearn', 'scipy', 'torch', 'matplotlib', 'pyarrow', 'sympy', 'numpy'};"
        "sys.exit(str(slow & set(sys.modules)) if slow & set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("vanishing de", "demo"), ("vanishing show m.safetensors sp", "spectrum")],
)
def test_shell_completion(typed, offered):
    asked = {"_VANISHING_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    asked["COMP_CWORD"] = str(len(typed.split()) - 1)
    done = subprocess.run(
        [sys.executable, "-m", "vanishing"],
        env=environment() | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered in done.stdout.split()


def test_reader_that_goes_away(tables, models, tmp_path):
    np.save(tmp_path / "many.npy", parabola(50_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "vanishing", "score", "many.npy", "-m", "ideal.safetensors"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=tmp_path,
    )
    assert process.stdout.readline() == b"row,score\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert err == b""


# --- nothing half written ----------------------------------------------------------------------


def started(tmp_path, module, name, then, *arguments):
    """Start a command, and return when it has reached a function."""
    process = subprocess.Popen(
        [sys.executable, "-c", PAUSED.format(module=module, name=name, then=then), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=tmp_path,
        # Shells let what they start in the background ignore interrupts, and so the tests too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(1200):
        if (tmp_path / "there").exists():
            return process
        if process.poll() is not None:
            break
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate()[1].decode())


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"interrupted"),
        (signal.SIGTERM, 143, b"terminated"),
        pytest.param(signal.SIGHUP, 129, b"terminated", marks=pytest.mark.slow),
    ],
)
def test_signal_in_the_middle_of_a_write(tables, models, tmp_path, number, code, said):
    (tmp_path / "scores.csv").write_text("the old one")
    process = started(
        *(tmp_path, "os", "fsync", "time.sleep(60)"),
        *("score", "new.csv", "-m", "ideal.safetensors", "-o", "scores.csv"),
    )
    assert len(leftovers(tmp_path)) == 1  # what is being written
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert re.fullmatch(rb"vanishing: " + said + rb"[^\n]+\n", err)
    assert leftovers(tmp_path) == []
    assert (tmp_path / "scores.csv").read_text() == "the old one"


def test_interrupt_in_the_middle_of_a_fit(tmp_path):
    np.save(tmp_path / "large.npy", np.random.default_rng(0).normal(size=(60_000, 12)))
    process = started(
        *(tmp_path, "vanishing.construction.loop", "grow", "pass"),
        *("fit", "large.npy", "--degree", "6", "--tol", "0", "--save", "m.safetensors"),
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith(b"vanishing: interrupted")
    assert b"Traceback" not in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["large.npy", "there"]


@pytest.fixture
def full_disk(tmp_path):
    """A disk of 64 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "npz"])
def test_full_disk(call, models, full_disk, tmp_path, kind):
    np.save(tmp_path / "many.npy", parabola(20_000))
    target = full_disk / f"scores.{kind}"
    target.write_text("the old one")
    done = call("score", "many.npy", "-m", "ideal.safetensors", "-o", target)
    assert done.code == 5
    assert "no space left on the device" in done.err
    assert done.err.count("\n") == 1
    assert [each.name for each in full_disk.iterdir()] == [target.name]
    assert target.read_text() == "the old one"


def test_full_disk_of_a_program(program, tables, full_disk):
    (full_disk / "filler").write_bytes(bytes(64 * 1024))
    done = program("fit", "normal.csv", "--tol", "0.05", "--save", "small/m.safetensors")
    assert done.code == 5, done.err
    assert "no space left on the device" in done.err
    assert [each.name for each in full_disk.iterdir()] == ["filler"]


def test_limit_on_the_size_of_files(program, models, tmp_path):
    np.save(tmp_path / "many.npy", parabola(20_000))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    done = program(
        *("score", "many.npy", "-m", "ideal.safetensors", "-o", "scores.csv"), preexec_fn=limit
    )
    assert done.code == 5
    assert "no space left on the device" in done.err
    assert not (tmp_path / "scores.csv").exists()
    assert leftovers(tmp_path) == []


def test_devices_are_not_replaced(call, tables, models):
    done = call("score", "new.csv", "-m", "ideal.safetensors", "-o", "/dev/null")
    assert done.code == 0, done.err
    assert not os.path.isfile("/dev/null")
    done = call("score", "new.csv", "-m", "ideal.safetensors", "-o", "/dev/full")
    assert done.code == 5
    assert "no space left on the device" in done.err


def test_links_are_followed(call, tables, models, tmp_path):
    (tmp_path / "real.csv").write_text("the old one")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert call("score", "new.csv", "-m", "ideal.safetensors", "-o", "link.csv").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("row,score")


def test_tables_written_by_hand(program, tmp_path):
    write_csv(tmp_path / "data.csv", ["x", "y"], parabola(60))
    with (tmp_path / "data.csv").open("a") as file:
        file.write("0.5,\n")
    done = program("detect", "data.csv")
    assert done.code == 0
    assert "data.csv: 1 of 61 rows lacks a value and is left out" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_standard_output_that_takes_no_more(tables, models, tmp_path):
    for arguments in (
        ["show", "ideal.safetensors"],
        ["score", "new.csv", "-m", "ideal.safetensors"],
    ):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "vanishing", *arguments],
                stdout=full,
                stderr=subprocess.PIPE,
                cwd=tmp_path,
                env=environment(),
                timeout=120,
                check=False,
            )
        assert done.returncode == 5, done.stderr
        assert b"no space" in done.stderr


AT_THE_END = """
import os, signal, sys
from vanishing.app.cli import main
sys.argv = ["vanishing", "--version"]
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""


@pytest.mark.programs
def test_an_interruption_when_all_is_done_is_too_late():
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
