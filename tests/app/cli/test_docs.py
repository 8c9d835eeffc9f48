"""The transcripts in docs/cli.md and docs/pipelines.md are what the program says."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.command_line import environment
from tests.support.paths import DOCS, ROOT

pytestmark = pytest.mark.programs


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


@pytest.mark.parametrize(("page", "fewest"), [("cli.md", 13), ("pipelines.md", 6)])
def test_transcripts(call, tmp_path, monkeypatch, page, fewest):
    import subprocess

    text = (DOCS / page).read_text(encoding="utf-8")
    shutil.copy(ROOT / "examples" / "data" / "accounts.csv", Path.cwd())
    for name, content in re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(f"\n{content}")

    shim = tmp_path / "bin" / "vanishing"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m vanishing "$@"\n')
    shim.chmod(0o755)
    found = transcripts(text)
    assert len(found) >= fewest
    for command, expected in found:
        words = shlex.split(command)
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        if words[0] == "vanishing" and not {"|", ">", "||"} & set(words):
            done = call(*words[1:])
            said = done.out + done.err
        else:
            folders = [str(shim.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
            done = subprocess.run(
                ["bash", "-c", command],
                env=environment() | {"PATH": os.pathsep.join(folders)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            said = done.stdout.decode()
        assert matches(expected, said.rstrip("\n")), f"$ {command}\n{said}"
