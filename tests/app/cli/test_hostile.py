"""Names that others chose reach terminals and spreadsheets as text, and nothing else."""

import csv
import json
import os
import re
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command_line import environment, parabola
from tests.support.hostile import HOSTILE_NAMES

from vanishing.app.cli.console import visible, visible_json
from vanishing.app.cli.exports import RULE_TARGETS
from vanishing.app.cli.options import Reading
from vanishing.app.cli.show import Target
from vanishing.app.cli.tables import read_input, write_table
from vanishing.data.whole_tables import no_formula

#: Red; a title of the window; CSI in one character; back to the start of the line; right to left.
ESCAPES = ["\x1b[31m", "\x1b]0;owned\x07", "\x9b31m", "\b\b", "\x7f", "\u202e", "\u2066"]
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


#: All targets of ``export`` that are text and need no exact points.
TEXTS = [
    each
    for group in get_args(Target)
    for each in (get_args(group) or (group,))
    if each not in ("onnx", "rational", *RULE_TARGETS)
]


@pytest.fixture
def hostile(tmp_path):
    """Tables whose columns and rows have such names, and models of them."""
    names = [f"a{''.join(ESCAPES)}", f"{''.join(reversed(ESCAPES))}b"]
    for file, n_rows in (("normal.csv", 300), ("new.csv", 20)):
        points = parabola(n_rows)
        if file == "new.csv":
            points[4, 1] -= 1.5
        lines = [f"who,{names[0]},{names[1]}"]
        lines += [f"r{i}{''.join(ESCAPES)},{x!r},{y!r}" for i, (x, y) in enumerate(points.tolist())]
        (tmp_path / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return names


def test_terminals_get_no_escapes(call, hostile):
    row = f"r4{''.join(ESCAPES)}"
    trained = ("--train", "normal.csv", "--id", "who", "--degree", "2", "--tol", "0.1")
    commands = [
        ("fit", "normal.csv", "--drop", "who", "--tol", "0.1", "--save", "m.safetensors"),
        ("detect", "new.csv", *trained, "--save", "d.safetensors"),
        ("info", "m.safetensors"),
        ("info", "d.safetensors"),
        ("show", "m.safetensors"),
        ("show", "m.safetensors", "basis"),
        ("show", "d.safetensors"),
        ("explain", "new.csv", "-m", "d.safetensors", "--id", "who", "--row", row),
        ("explain", "new.csv", "-m", "m.safetensors", "--id", "who", "--row", row),
        ("detect", "new.csv", *trained, "--json"),
        ("show", "m.safetensors", "--json"),
        *(("export", "m.safetensors", target) for target in TEXTS),
        ("laws", "normal.csv", "--degree", "1"),
        ("laws", "normal.csv", "--degree", "1", "--json"),
        ("check", "normal.csv", "--id", "who", "--degree", "1"),
    ]
    for command in commands:
        done = call(*command)
        assert done.code == 0, (command, done.err)
        assert not FORBIDDEN.search(done.out + done.err), command
    assert r"a\x1b[31m" in call("info", "m.safetensors").out
    assert r"\x1b[31m" in call("detect", "new.csv", *trained).out
    shown = json.loads(call("show", "m.safetensors", "--json").out)
    assert shown["features"] == hostile  # unchanged for machines


def test_errors_have_no_escapes(call, hostile):
    evil = "".join(ESCAPES)
    for command in [
        ("fit", f"nowhere{evil}.csv"),
        ("fit", "normal.csv", "--columns", f"z{evil}"),
        ("show", f"m{evil}"),
        ("detect", "new.csv", "--out", f"nowhere{evil}/x.csv"),
        ("fit", "new.csv", f"--{evil}"),
        (f"x{evil}",),
        ("fit", "normal.csv", "--columns", "who,2"),  # text in a column
        ("fit", f"nowhere{evil}.csv", "--debug"),
    ]:
        done = call(*command)
        assert done.code != 0
        assert done.err
        assert not FORBIDDEN.search(done.out + done.err), command


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX's")
def test_tables_on_a_terminal(call, hostile, tmp_path):
    """Of ids, on a terminal; a pipe gets them as they are."""
    import pty

    arguments = ("score", "new.csv", "-m", "m.safetensors", "--id", "who")
    assert call("fit", "normal.csv", "--drop", "who", "--tol", "0.1", "--save", "m.safetensors").out
    assert "\x1b[31m" in call(*arguments).out
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        program = [sys.executable, "-m", "vanishing", *arguments, "--quiet"]
        os.execve(sys.executable, program, environment())
    seen = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.waitpid(child, 0)
    os.close(terminal)
    text = seen.decode().replace("\r\n", "\n")
    assert r"r4\x1b[31m" in text
    assert not FORBIDDEN.search(text)


@given(st.text())
def test_visible(text):
    shown = visible(text)
    assert not FORBIDDEN.search(shown)
    assert visible(shown) == shown
    if text.isprintable():
        assert shown == text
    dumped = visible_json(json.dumps(text, ensure_ascii=False))
    assert not FORBIDDEN.search(dumped)
    assert json.loads(dumped) == text


# --- formulas ------------------------------------------------------------------------------------

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1"]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_formulas_are_text(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    ids = np.array([*FORMULAS, "plain", "-5", "+1.5e3", "a=b"], dtype=object)
    numbers = -np.arange(float(len(ids)))
    write_table(str(path), {"=who": ids, "score": numbers})
    table = read_input(str(path), Reading(id="'=who"))
    kept = ["plain", "-5", "+1.5e3", "a=b"]
    assert table.row_ids.tolist() == [f"'{formula}" for formula in FORMULAS] + kept
    assert table.values[:, 0].tolist() == numbers.tolist()  # numbers stay numbers


def test_formulas_of_a_score_table(call, tmp_path):
    points = parabola(300)
    lines = ["=who,x,y", *(f"=r{i},{x!r},{y!r}" for i, (x, y) in enumerate(points.tolist()))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert (
        call("fit", "t.csv", "--drop", "=who", "--tol", "0.1", "--save", "m.safetensors").code == 0
    )
    done = call("score", "t.csv", "-m", "m.safetensors", "--id", "=who", "--out", "s.csv")
    assert done.code == 0, done.err
    for line in (tmp_path / "s.csv").read_text().splitlines():
        assert not re.match(r'"?[=+@-]', line)
    done = call("score", "t.csv", "-m", "m.safetensors", "--id", "=who", "--out", "s.parquet")
    assert read_input(str(tmp_path / "s.parquet"), Reading(id="1")).row_ids[0] == "=r0"


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize("command", ["detect", "check", "score", "transform"])
def test_every_table_that_is_written(call, tmp_path, command, kind):
    """Columns, rows and laws with any names: cells are text or numbers, and none is a formula."""
    names = [HOSTILE_NAMES[what] for what in ("formula", "plus", "at")]
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 50, (2, 60))
    rows = np.column_stack([a, b, a + b])
    rows[7, 2] += 900
    with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["-who", *names])
        writer.writerows([f"@{k}", *row] for k, row in enumerate(rows.tolist()))
    out = f"out.{kind}"
    given = ["t.csv", "--id", "-who", "--out", out]
    if command in ("score", "transform"):
        assert call("fit", "t.csv", "--drop", "-who", "--save", "m.safetensors").code == 0
        given += ["--model", "m.safetensors"]
    done = call(command, *given)
    assert done.code in (0, 1), done.err
    with open(tmp_path / out, newline="", encoding="utf-8") as file:
        written = list(csv.reader(file, delimiter="\t" if kind == "tsv" else ","))
    assert len(written) >= 2
    assert len({len(row) for row in written}) == 1
    for cell in (cell for row in written for cell in row):
        assert not re.match(r"[=@\t\r＝＠]", cell), cell
        if cell[:1] in ("+", "-"):
            float(cell)


@given(st.text())
def test_no_formula(text):
    harmless = no_formula(text)
    assert harmless in (text, f"'{text}")
    if harmless.startswith(("=", "@", "\t", "\r")):
        raise AssertionError(harmless)
    if harmless.startswith(("+", "-")) and harmless not in ("-nan", "-NaN"):
        float(harmless.replace("#IND", "0").replace("#QNAN", "0"))


# --- names of files ------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--out", "--save", "--report"])
def test_outputs_that_cannot_be(call, tables, tmp_path, option):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name, said in (("a.csv", "link leads to itself"), ("n" * 300 + ".csv", "too long")):
        done = call("detect", "new.csv", "--train", "normal.csv", option, name)
        assert done.code == 5, done.err
        assert said in done.err
        assert "unexpected" not in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_unknown_kinds_with_long_names(call, models, tables):
    done = call("score", "new.csv", "-m", "ideal.safetensors", "--out", "n" * 300 + ".xyz")
    assert done.code == 2
    assert "unknown kind of table" in done.err


def test_inputs_that_cannot_be(call, tmp_path, tables, models):
    (tmp_path / "a.csv").symlink_to("a.csv")
    for name in ("a.csv", "n" * 300 + ".csv"):
        for command, code in (
            (("fit", name), 3),
            (("detect", "new.csv", "--train", name), 3),
            (("score", name, "-m", "ideal.safetensors"), 3),
            (("show", name), 4),
            (("score", "new.csv", "-m", name), 4),
        ):
            done = call(*command)
            assert done.code == code, (command[0], done.err)
            assert "cannot be read" in done.err


def test_replaced_outputs_keep_their_rights(call, models, tables, tmp_path):
    for name in ("s.csv", "s.npy", "s.parquet"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o600)
        assert call("score", "new.csv", "-m", "ideal.safetensors", "--out", name).code == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
