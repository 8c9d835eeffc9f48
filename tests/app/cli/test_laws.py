"""The commands ``laws`` and ``check``."""

import json
import re

import numpy as np
import pytest
from tests.support.paths import ROOT

ACCOUNTS = str(ROOT / "examples" / "data" / "accounts.csv")
LAWS = ["sales = units*price", "sales = costs + profit", "costs = wages + material + rent"]


def test_laws_need_no_option(call):
    done = call("laws", ACCOUNTS)
    assert done.out.splitlines() == [
        "3 laws in 8 columns of 60 rows; exact.",
        *(f"  {law}" for law in LAWS),
    ]
    assert "column 'month' is left out (text, '2020-01' in row 1)" in done.err


def test_readme_shows_what_check_says(call):
    done = call("check", ACCOUNTS, "--id", "month")
    (shown,) = re.findall(
        r"\$ vanishing check examples/data/accounts.csv --id month\n(.*?)```",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert done.out == shown


def test_files(call, tmp_path):
    out, report = tmp_path / "cells.csv", tmp_path / "page.html"
    call("check", ACCOUNTS, "--id", "month", "--out", str(out), "--report", str(report))
    lines = out.read_text().splitlines()
    assert lines[0] == "row,cell,value,fix,low,high,law,probability,alternatives"
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["2021-05", "costs", "8078", "7778"],
        ["2023-06", "profit", "6458", "6548"],
    ]
    page = report.read_text(encoding="utf-8")
    assert "8078 → 7778" in page
    assert "<script" not in page


def test_laws_of_another_table(call, tmp_path):
    good = tmp_path / "good.csv"
    rows = (ROOT / "examples" / "data" / "accounts.csv").read_text().splitlines()
    good.write_text("\n".join(row for row in rows if row[:7] not in ("2021-05", "2023-06")))
    done = call("check", ACCOUNTS, "--train", str(good), "--json")
    record = json.loads(done.out)
    assert [law["text"] for law in record["laws"]] == LAWS
    assert [(cell["row"], cell["cell"], cell["fix"]) for cell in record["cells"]] == [
        ("17", "costs", 7778.0),
        ("42", "profit", 6548.0),
    ]


def test_exit_code(call):
    assert call("check", ACCOUNTS, "--fail-on-broken").code == 1


def test_no_laws(call, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{i * 7 % 31},{i * i % 17}" for i in range(60)))
    assert call("laws", str(table)).out == "No law found in 2 columns of 60 rows.\n"
    assert "There are no laws to check." in call("check", str(table)).out


def test_hostile_names_reach_neither_page_nor_terminal(call, tmp_path):
    table = tmp_path / "table.csv"
    name = "<script>alert(1)</script>\x1b[31m"
    table.write_text(f'"{name}",b\n' + "\n".join(f"{i},{2 * i}" for i in range(1, 60)))
    report = tmp_path / "page.html"
    done = call("check", str(table), "--report", str(report))
    assert "\x1b[31m" not in done.out
    assert "<script>" not in report.read_text(encoding="utf-8")


def test_progress_of_the_search(call, monkeypatch):
    from contextlib import contextmanager

    from vanishing.app.cli import laws

    said = []

    @contextmanager
    def working(what, total=None):
        yield lambda steps=0, *, done=None, what=None: said.append((what, done, steps, total))

    monkeypatch.setattr(laws, "working", working)
    call("check", ACCOUNTS)
    looked = [what for what, done, *_ in said if done is not None]
    assert list(dict.fromkeys(looked))[:2] == ["looking for a law", "looking for law 2"]
    assert all(0 <= done <= total for _, done, _, total in said if done is not None)
    assert said[-1] == (None, 60, 0, 60)  # rows that are checked


def test_numbers_are_written_as_in_the_file(call, tmp_path):
    rows = [(i - 30, 2 * i - 60.125) for i in range(60)]
    rows[3] = (rows[3][0], -1234.0625)
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in rows))
    assert "row 4: b -1234.0625 breaks" in call("check", str(table)).out


@pytest.mark.parametrize("arguments", [["--report", "-"], ["--out", "-", "--json"]])
def test_refused_before_the_search(call, arguments):
    assert call("laws", ACCOUNTS, *arguments).code == 2


def test_top(call):
    every = call("check", ACCOUNTS, "--id", "month").out.splitlines()
    first = call("check", ACCOUNTS, "--id", "month", "--top", "1").out.splitlines()
    assert first[:-1] == every[:-1]
    assert first[-1] == "... and 1 more of 2 rows (--top, --out)"


def test_a_table_without_laws_gets_a_hint(call, tmp_path):
    lines = np.random.default_rng(0).normal(size=(40, 2))
    np.savetxt("none.csv", lines, header="a,b", comments="", delimiter=",")
    done = call("laws", "none.csv")
    assert "No law found" in done.out
    assert "vanishing detect none.csv" in done.err


def test_columns_that_are_mostly_missing(call, tmp_path):
    rows = "".join(f"{i},{2 * i},{i % 7},\n" for i in range(1, 30))
    (tmp_path / "sparse.csv").write_text(f"a,b,c,d\n{rows}30,61,3,5\n")
    done = call("check", "sparse.csv", "--report", "page.html")
    assert done.code == 0, done.err
    assert "row 30: b 61 breaks 2*a = b; 60 would fix it." in done.out


def test_invariants_of_trajectories(call, tmp_path):
    table = tmp_path / "runs.csv"
    t = np.linspace(0, 6, 80)
    lines = [
        f"{run},{x},{v}"
        for run, size in zip("abcd", (1, 2, 3, 4), strict=True)
        for x, v in zip(size * np.cos(2 * t + size), -2 * size * np.sin(2 * t + size), strict=True)
    ]
    table.write_text("run,x,v\n" + "\n".join(lines))
    assert call("laws", str(table), "--trajectory", "run").out.splitlines() == [
        "One invariant in 2 columns of 4 trajectories; exact.",
        "  4*x^2 + v^2 = const",
    ]
    record = json.loads(call("laws", str(table), "--trajectory", "run", "--json").out)
    assert [law["text"] for law in record["laws"]] == ["4*x^2 + v^2 = const"]
    refused = call("laws", str(table), "--trajectory", "run", "--report", str(tmp_path / "p.html"))
    assert refused.code == 2
    assert "leave out --trajectory" in refused.err
