"""The transcripts in docs/cli.md and docs/pipelines.md are what the program says."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.support.command_line import matches, run_in_shell, transcripts, write_files
from tests.support.paths import DOCS, ROOT

pytestmark = pytest.mark.programs


@pytest.mark.parametrize(("page", "fewest"), [("cli.md", 13), ("pipelines.md", 6)])
def test_transcripts(call, tmp_path, monkeypatch, page, fewest):
    text = (DOCS / page).read_text(encoding="utf-8")
    # tests/rules/test_exports.py runs these with the tools that they are for.
    text = re.sub(r"^## Five minutes .*?(?=^## |\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    shutil.copy(ROOT / "examples" / "data" / "accounts.csv", Path.cwd())
    write_files(text)
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
            said = run_in_shell(command, tmp_path)
        assert matches(expected, said.rstrip("\n")), f"$ {command}\n{said}"
