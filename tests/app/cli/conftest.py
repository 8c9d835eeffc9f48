"""Calls of the command line: in this process, which is quick, and as a program of its own."""

import functools
import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest
from tests.support.command_line import environment, parabola, write_csv

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.app.cli import main


class Screen(io.TextIOWrapper):
    """A stream of a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own; on a terminal if ``kind`` is one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")

    def run(*arguments, given=b"", kind=io.TextIOWrapper, encoding="utf-8"):
        out, err = (kind(io.BytesIO(), encoding, write_through=True) for _ in "ab")
        monkeypatch.setattr("sys.stdin", kind(io.BytesIO(given), "utf-8"))
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(each) for each in arguments])
        raw = out.buffer.getvalue() if not out.closed else b""
        return SimpleNamespace(
            code=int(code),
            raw=raw,
            out=raw.decode("utf-8", "replace"),
            err=err.buffer.getvalue().decode(),
        )

    return run


@pytest.fixture
def terminal(call):
    """Run a command in this process, on a terminal."""
    return functools.partial(call, kind=Screen)


@pytest.fixture
def program(tmp_path):
    """Run a command as a program of its own, in a folder of its own."""

    def run(*arguments, given=b"", **options):
        done = subprocess.run(
            [sys.executable, "-m", "vanishing", *map(str, arguments)],
            input=given,
            capture_output=True,
            cwd=tmp_path,
            env=environment(),
            timeout=120,
            check=False,
            **options,
        )
        return SimpleNamespace(
            code=done.returncode,
            raw=done.stdout,
            out=done.stdout.decode("utf-8", "replace"),
            err=done.stderr.decode(),
        )

    return run


@pytest.fixture
def tables(tmp_path):
    """normal.csv, and new.csv whose rows 3 and 5 are far from the parabola."""
    new = parabola(20, seed=1)
    new[2, 1] += 1.0
    new[4, 1] -= 1.5
    write_csv(tmp_path / "normal.csv", ["x", "y"], parabola(300))
    write_csv(tmp_path / "new.csv", ["x", "y"], new)
    return SimpleNamespace(normal=parabola(300), new=new)


@pytest.fixture(scope="session")
def fitted():
    """A detector and an ideal of the parabola, with names of columns."""
    import pyarrow as pa

    points = parabola(300)
    frame = pa.table([points[:, 0], points[:, 1]], names=["x", "y"])
    return SimpleNamespace(
        detector=VanishingDetector().fit(frame),
        ideal=VanishingIdeal(max_degree=2, tol=0.05).fit(frame),
    )


@pytest.fixture
def models(tmp_path, fitted):
    """detector.safetensors and ideal.safetensors."""
    fitted.detector.save(tmp_path / "detector.safetensors")
    fitted.ideal.save(tmp_path / "ideal.safetensors")
    return fitted
