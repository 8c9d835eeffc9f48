"""What the tests of the command line are run with."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.support.paths import SOURCE


def environment():
    """Of a process that finds the library, and says the same on every machine."""
    kept = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", "TERM": "dumb"}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def parabola(n_rows, *, seed=0):
    """Points near y = x²."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n_rows)
    return np.column_stack([x, x**2 + 0.02 * rng.normal(size=n_rows)])


def write_csv(path, names, rows):
    """Write what Python prints."""
    lines = [",".join(names), *(",".join(map(repr, row)) for row in np.asarray(rows).tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# --- Transcripts in the documentation -------------------------------------------------------------


def transcripts(text):
    """Return commands and what is expected of each, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


LONG_NUMBER = re.compile(r"(\d\.0*[1-9]\d{9})\d+")


def matches(expected, found):
    """Whether lines agree; "..." alone stands for any number of them.

    Of long numbers the first ten digits count: the last ones depend on the machine.
    """
    expected, found = (LONG_NUMBER.sub(r"\1", text) for text in (expected, found))
    pattern = ""
    for line in expected.splitlines():
        pattern += r"(.*\n)*?" if line == "..." else re.escape(line.rstrip()) + r" *\n"
    return re.fullmatch(pattern, found + "\n" if found else "") is not None


def write_files(text):
    """Write the files that begin with their name, in a comment."""
    for name, content in re.findall(r"```\w+\n(?:#|--) (\S+\.\w+)\n(.*?)```", text, re.DOTALL):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(f"\n{content}", encoding="utf-8")


def run_in_shell(command, folder):
    """Run a command with our program beside that of Python; ``folder`` holds what starts it."""
    shim = folder / "bin" / "vanishing"
    if not shim.exists():
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m vanishing "$@"\n')
        shim.chmod(0o755)
    folders = [str(shim.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment() | {"PATH": os.pathsep.join(folders)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode()
