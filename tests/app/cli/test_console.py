"""Progress, bars, and equations in text."""

import io
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vanishing import VanishingIdeal
from vanishing.app.cli import console, describe, main
from vanishing.app.cli.console import ModelError, bar
from vanishing.app.cli.describe import equation_texts


@pytest.mark.parametrize(
    ("terminal", "quiet", "seconds", "shown"),
    [
        (True, False, 0.3, True),
        (True, False, 0.0, False),
        (True, True, 0.3, False),
        (False, False, 0.3, False),
    ],
)
def test_progress_is_for_terminals_and_long_work(monkeypatch, terminal, quiet, seconds, shown):
    monkeypatch.setenv("TERM", "xterm")
    written = io.StringIO()
    screen = Console(file=written, force_terminal=terminal, width=60)
    monkeypatch.setattr(console, "out", lambda **_: screen)
    monkeypatch.setattr(console, "SECONDS_BEFORE_PROGRESS", 0.1)
    monkeypatch.setattr(console.state, "quiet", quiet)
    with console.working("digging", 2) as step:
        step(1, what="digging on")
        with console.working("inside of it"):
            time.sleep(seconds)
    assert ("digging on" in written.getvalue()) == shown
    assert ("left" in written.getvalue()) == shown
    assert "inside" not in written.getvalue()


def test_progress_ends_with_an_error(monkeypatch):
    screen = Console(file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr(console, "out", lambda **_: screen)
    with pytest.raises(KeyboardInterrupt), console.working("digging"):
        raise KeyboardInterrupt
    with console.working("again"):  # two live displays would be refused
        pass


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(1, 40))
def test_bars_stay_in_their_width(share, width):
    assert len(bar(share, width)) <= width
    assert bar(1.0, width) in ("█" * width, "#" * width)


@given(st.integers(0, 2**32 - 1))
def test_texts_say_what_the_polynomials_are(seed):
    import sympy

    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 2))
    points = np.column_stack([points, points[:, 0] * points[:, 1]])
    ideal = VanishingIdeal(tol=1e-6).fit(points)
    texts = equation_texts(ideal, ["a", "b", "c"], digits=15)
    x = rng.normal(size=(1, 3))
    for text, value in zip(texts, ideal.basis_.evaluate(x)[0], strict=True):
        left, _, right = text.partition(" = ")
        assert right == "0"
        left = left.replace("²", "**2")
        for name in "abc":
            left = left.replace(f" {name}", f"*{name}")
        left = left.replace("+*", "+ ").replace("-*", "- ")
        found = sympy.sympify(left).subs(dict(zip("abc", x[0], strict=True)))
        assert np.isclose(float(found), value, rtol=1e-9, atol=1e-9)


def test_long_equations_are_cut_and_enormous_ones_refused(monkeypatch):
    points = np.random.default_rng(0).normal(size=(200, 6))
    points[:, 5] = (points[:, :5] * [1, 2, 3, 4, 5]).sum(axis=1)
    ideal = VanishingIdeal(max_degree=1, tol=1e-9).fit(points)
    (text,) = equation_texts(ideal, list("abcdef"), terms=3)
    assert text.endswith("+ (3 smaller terms) = 0")
    monkeypatch.setattr(describe, "MOST_LISTED_TERMS", 6)  # seven with the constant
    with pytest.raises(ModelError, match="too many"):
        equation_texts(ideal, list("abcdef"))


def test_json_has_no_numbers_of_its_own(capsys):
    console.emit({"a": np.array([1.0, np.inf]), "b": (float("nan"), np.int64(3), "ü")})
    assert capsys.readouterr().out == (
        '{\n  "a": [\n    1.0,\n    null\n  ],\n  "b": [\n    null,\n    3,\n    "ü"\n  ]\n}\n'
    )


def test_sentences_are_broken_at_the_width_of_a_terminal(terminal, call, tables, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = terminal("info", "normal.csv").out
    sentence = next(
        line for line in call("info", "normal.csv").out.splitlines() if "enough" in line
    )
    assert len(sentence) > 40
    assert sentence not in shown
    assert " ".join(sentence.split()) in " ".join(shown.split())


def test_a_terminal_gets_text_only(terminal, tables, models):
    done = terminal("score", "new.csv", "-m", "detector.safetensors", "--out", "-")
    assert done.out.splitlines()[0] == "row,score,anomaly"
    arguments = ("score", "new.csv", "-m", "detector.safetensors", "--out", "-")
    done = terminal(*arguments, "--out-format", "npy")
    assert done.code == 2
    assert "npy cannot be shown on a terminal; name a file with --out" in done.err


def test_a_table_that_is_typed(terminal):
    done = terminal("info", "-", given=b"a,b\n1,2\n2,3\n")
    assert "end it with Ctrl-D" in done.err
    assert "standard input: 2 rows, 2 columns" in done.out


def test_terminals_without_unicode(call, tables, models):
    done = call("explain", "new.csv", "-m", "ideal.safetensors", "-r", "3", encoding="ascii")
    assert "####" in done.out
    assert "x^2" in done.out
    assert done.out.isascii()


def test_output_that_is_kept_as_text(tables, tmp_path, monkeypatch):
    """Notebooks keep what is printed in streams that have no encoding."""
    monkeypatch.chdir(tmp_path)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert main(["info", "normal.csv"]) == 0
    assert "normal.csv: 300 rows, 2 columns" in out.getvalue()
    assert err.getvalue() == ""


def test_options_of_python_about_warnings_come_first(call, monkeypatch):
    table = b"x,y\n0,0\n1,1\n2,4\n"
    said = call("fit", "-", "--degree", "4", given=table)
    assert said.code == 0
    assert "warning: " in said.err
    monkeypatch.setattr("sys.warnoptions", ["ignore"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "warning: " not in call("fit", "-", "--degree", "4", given=table).err
