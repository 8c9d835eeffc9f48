"""The commands ``laws`` and ``check``."""

import json
import math
import re

import numpy as np
import pytest
from tests.support.paths import ROOT

ACCOUNTS = str(ROOT / "examples" / "data" / "accounts.csv")
LAWS = ["sales = units*price", "costs = wages + material + rent", "sales = costs + profit"]


def test_laws_need_no_option(call):
    done = call("laws", ACCOUNTS)
    first, *lines = done.out.splitlines()
    assert first == "3 laws in 8 columns of 60 rows; exact."
    assert [re.split(r" {2,}", line)[1] for line in lines] == LAWS
    assert [re.split(r" {2,}", line)[3:] for line in lines] == [
        ["exact", "60 rows"],
        ["exact", "59 rows", "1 breaks it"],
        ["exact", "58 rows", "2 break it"],
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
    assert lines[0] == ("row,line,id,cell,value,text,fix,low,high,law,probability,alternatives")
    assert [line.split(",")[:7] for line in lines[1:]] == [
        ["17", "18", "2021-05", "costs", "8078", "", "7778"],
        ["42", "43", "2023-06", "profit", "6458", "", "6548"],
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
    assert {law["text"] for law in record["laws"]} == set(LAWS)
    assert [(cell["row"], cell["cell"], cell["fix"]) for cell in record["cells"]] == [
        (17, "costs", 7778.0),
        (42, "profit", 6548.0),
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
    assert list(dict.fromkeys(looked))[:2] == ["looking for a law", "looking for law 4"]
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
    assert first[:-2] == every[:-2]
    assert first[-2] == "  ... and 1 more of 2 rows (--top, --out)"
    assert first[-1] == every[-1] == "All 8 columns are in a law."


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
    assert "row 30: b 61 breaks [1]; 60 would fix it." in done.out


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


@pytest.fixture
def invoices(tmp_path):
    """A table with currencies, a percentage, a typo that a law mends, and one that none does."""
    rng = np.random.default_rng(0)
    lines = ["invoice,net,rate,tax,gross,days"]
    for i in range(60):
        net, rate = rng.integers(5_000, 250_000) / 100, rng.choice([7, 19])
        tax = round(net * rate / 100, 2)
        gross = round(net + tax, 2) + (90 if i == 30 else 0)
        cells = [f'"${net:,.2f}"', f"{rate} %", f'"${tax:,.2f}"', f'"${gross:,.2f}"']
        cells.append(str(rng.integers(1, 60)))
        if i == 16:
            cells[2] = "$l2O.5"
            expected = tax
        if i == 40:
            cells[4] = "n/a?"
        lines.append(",".join([f"I{i}", *cells]))
    (tmp_path / "invoices.csv").write_text("\n".join(lines) + "\n")
    return expected


def test_currencies_and_typos(call, invoices):
    done = call("check", "invoices.csv")
    assert "  [2] gross = net + tax  " in done.out
    assert "1 of 60 rows breaks a law; 2 cells are not numbers." in done.out
    assert "5 of 6 columns are in a law or a rule; nothing checks days.\n" in done.out
    assert "1 row lacks cells that the laws need: tax in 1.\n" in done.out
    assert f"row 17: tax '$l2O.5' is not a number; it is {invoices:g} by [2]." in done.out
    assert "row 41: days 'n/a?' is not a number." in done.out
    assert "read as numbers without '$' and ',': 'net', 'tax', 'gross'; without '%': 'rate'" in (
        done.err
    )
    assert "rows are numbered from 1 below the header: row 31 is line 32" in done.err


def test_typos_are_findings_of_every_command(call, invoices):
    for command in ("laws", "detect"):
        done = call(command, "invoices.csv")
        assert "2 cells are not numbers:" in done.out
        assert f"it is {invoices:g} by gross = net + tax." in done.out
        first, second = json.loads(call(command, "invoices.csv", "--json").out)["not_numbers"]
        assert (first["row"], first["line"], first["cell"]) == (17, 18, "tax")
        assert (first["text"], first["fix"]) == ("$l2O.5", invoices)
        assert (second["text"], second["fix"]) == ("n/a?", None)
    cells = json.loads(call("check", "invoices.csv", "--id", "invoice", "--json").out)["cells"]
    assert [(each["row"], each["line"], each["id"], each["text"]) for each in cells] == [
        (17, 18, "I16", "$l2O.5"),
        (31, 32, "I30", ""),
        (41, 42, "I40", "n/a?"),
    ]
    assert cells[0]["fix"] == invoices
    assert "Row 17, tax: '$l2O.5' is not a number" in call("info", "invoices.csv").out
    done = call("fit", "invoices.csv", "--degree", "1")
    assert "2 cells are not numbers; treated as missing (row 17, tax: '$l2O.5'" in done.err


def test_typos_are_in_the_report(call, invoices, tmp_path):
    for command in ("laws", "check"):
        call(command, "invoices.csv", "--report", "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "not a number" in page
        assert f"'$l2O.5' → {invoices:g}" in page


def test_typos_fail_a_check(call, tmp_path):
    rows = "".join(f"{i},{2 * i}\n" for i in range(1, 30))
    (tmp_path / "sound.csv").write_text(f"a,b\n{rows}")
    assert call("check", "sound.csv", "--fail-on-broken").code == 0
    (tmp_path / "typo.csv").write_text(f"a,b\n{rows}3O,60\n")
    done = call("check", "typo.csv", "--fail-on-broken")
    assert done.code == 1
    assert "row 30: a '3O' is not a number; it is 30 by [1]." in done.out


def test_a_typo_in_a_table_without_laws(call, tmp_path):
    lines = [f"{x:.3f},{y:.3f}" for x, y in np.random.default_rng(0).normal(size=(40, 2))]
    lines[2] = "1.2,x"
    (tmp_path / "none.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    for command in ("laws", "check"):
        assert "row 3: b 'x' is not a number." in call(command, "none.csv").out


def test_fixes_have_the_decimals_of_their_column(call, tmp_path):
    rng = np.random.default_rng(2)
    a, b = rng.integers(1000, 99999, (2, 50)) / 100
    total = np.round(a + b, 2)
    lines = [f"{x:.2f},{y:.2f},{z:.2f}" for x, y, z in zip(a, b, total, strict=True)]
    lines[9] = f"{a[9]:.2f},{b[9]:.2f},{total[9] + 500:.2f}"
    (tmp_path / "sums.csv").write_text("\n".join(["a,b,total", *lines]) + "\n")
    (broken,) = json.loads(call("check", "sums.csv", "--json").out)["cells"]
    sentence = next(each for each in call("check", "sums.csv").out.splitlines() if "row 10" in each)
    ways = sentence.removesuffix(".").split(", or ")
    assert f"total {total[9] + 500:.12g} to {total[9]:.12g}" in ways
    assert f"total = {total[9]:.12g}" in broken["alternatives"]
    found = call("detect", "sums.csv").out
    assert f"to {total[9]:.12g})" in found


def test_brackets_of_accountants(call, tmp_path):
    lines = [f'"{3000 * i:,}","({1000 * i * i:,})",{3000 * i - 1000 * i * i}' for i in range(1, 30)]
    (tmp_path / "books.csv").write_text("\n".join(["in,out,profit", *lines]) + "\n")
    done = call("laws", "books.csv")
    assert "profit = in + out" in done.out
    assert "without ',': 'in', 'out'; with parentheses for minus signs: 'out'" in done.err


def test_constant_columns_of_normal_rows(call, tmp_path):
    numbers = np.random.default_rng(3).uniform(1, 9, (60, 2)).round(2)
    rows = [f"{a},{b},7" for a, b in numbers]
    (tmp_path / "normal.csv").write_text("\n".join(["a,b,site", *rows]) + "\n")
    rows[5] = rows[5].removesuffix("7") + "8"
    (tmp_path / "new.csv").write_text("\n".join(["a,b,site", *rows]) + "\n")
    done = call("detect", "new.csv", "--train", "normal.csv")
    assert "the same in every row: site = 7; a row with another value is called anomalous" in (
        done.err
    )
    assert "site (8 to 7)" in done.out
    explained = call("explain", "new.csv", "--train", "normal.csv", "--row", "6").out
    assert "site = 7 in every normal row; here it is 8" in explained


def test_a_table_without_laws_is_told_what_else_helps(call, tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    np.savetxt(tmp_path / "random.csv", rows, delimiter=",", header="a,b,c", comments="")
    done = call("check", "random.csv")
    assert "There are no laws to check." in done.out
    assert "vanishing detect random.csv finds rows that are unlike the others" in done.err


def test_laws_as_a_table(call, tmp_path):
    done = call("laws", ACCOUNTS, "--out", tmp_path / "laws.csv")
    lines = (tmp_path / "laws.csv").read_text().splitlines()
    assert lines[0] == "law,degree,bits,extent,rows,broken,p_value,latex"
    assert [line.split(",")[0] for line in lines[1:]] == LAWS
    assert "3 laws in 8 columns" in done.out
    done = call("laws", ACCOUNTS, "--out", "-")
    assert done.out.splitlines() == lines


def test_broken_cells_alone_on_standard_output(call):
    done = call("check", ACCOUNTS, "--out", "-")
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["row", "17", "42"]


def test_typos_along_trajectories(call, tmp_path):
    """Invariants fill nothing in, but the cells are listed."""
    angle = np.linspace(0, 6, 60)
    lines = ["run,x,y"]
    lines += [f"{r},{r * np.cos(a):.6f},{r * np.sin(a):.6f}" for r in (1, 2, 3) for a in angle]
    lines[5] = "1,oops,0.3"
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    done = call("laws", "runs.csv", "--trajectory", "run")
    assert "1 cell is not a number:" in done.out
    assert "x 'oops' is not a number" in done.out


def test_of_many_typos_the_first_are_listed(call, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["a,b,c"]
    for i in range(1210):
        a, b = rng.integers(10, 99, 2)
        lines.append(f"{a},{b},{'oops' if i % 55 == 7 else a + b}")
    (tmp_path / "typos.csv").write_text("\n".join(lines) + "\n")
    done = call("laws", "typos.csv")
    assert "22 cells are not numbers:" in done.out
    assert "... and 2 more rows (--json)" in done.out


def test_rows_that_cannot_be_checked(call, tmp_path):
    rows = np.random.default_rng(0).uniform(1, 5, (60, 2))
    lines = [f"{a},{b},{a * b}" for a, b in rows.tolist()]
    train, table = tmp_path / "train.csv", tmp_path / "table.csv"
    train.write_text("\n".join(["m,v,p", *lines]))
    table.write_text("m,v,p\n1.5,2,3\n,,2.5\n2,,5\n")
    done = call("check", str(table), "--train", str(train))
    assert "No row breaks a law; 1 missing cell can be filled in." in done.out
    assert "2 rows lack cells that the laws need: v in 2 and m in 1." in done.out
    record = json.loads(call("check", str(table), "--train", str(train), "--json").out)
    assert (record["incomplete"], record["missing"]) == (2, {"m": 1, "v": 2})
    assert [each["row"] for each in record["unchecked"]] == [2, 3]
    table.write_text("m,v,p\n" + 5 * ",,\n")
    done = call("check", str(table), "--train", str(train))
    assert "No row can be checked.\n" in done.out
    assert "5 rows lack cells that the laws need: m in 5, v in 5 and p in 5.\n" in done.out
    done = call("check", str(table), "--train", str(train), "--fail-on-broken")
    assert done.code == 3
    assert "no row can be checked, since every row lacks cells that the laws need" in done.err
    done = call("check", str(table), "--train", str(train), "--fail-on-broken", "--json")
    assert done.code == 3
    assert len(json.loads(done.out)["unchecked"]) == 5


def test_a_gate_needs_laws(call, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "\n".join(f"{i * 7 % 31},{i * i % 17}" for i in range(60)))
    done = call("check", str(table), "--fail-on-broken")
    assert done.code == 3
    assert "no row can be checked, since there are no laws" in done.err


def test_every_command_counts_rows_alike(call, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"r{i},{a:.3f},{b:.3f}" for i, (a, b) in enumerate(rng.uniform(1, 9, (50, 2)))]
    rows[40] = "r40,1e300,2"
    (tmp_path / "huge.csv").write_text("\n".join(["name,a,b", *rows]) + "\n")
    for command in ("laws", "check", "detect"):
        assert "row 41" in call(command, "huge.csv").err
        assert "row r40" in call(command, "huge.csv", "--id", "name").err
    sound = "\n".join(["name,a,b", *rows[:40]]) + "\n"
    (tmp_path / "sound.csv").write_text(sound)
    (tmp_path / "gap.csv").write_text(f"{sound}r40,,2\n")
    call("fit", "sound.csv", "--drop", "name", "--save", "model.safetensors")
    done = call("score", "gap.csv", "--model", "model.safetensors", "--id", "name")
    assert "row r40 has no value" in done.err


def test_missing_cells_are_listed_apart(call, tmp_path):
    rows = [[a, b, a + b] for a, b in np.random.default_rng(0).integers(1, 99, (40, 2)).tolist()]
    rows[4][2] += 50
    missing = rows[20][1]
    rows[20][1] = ""
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *(",".join(map(str, r)) for r in rows)]))
    done = call("check", "t.csv", "--report", "page.html")
    _, _, summary, *rest = done.out.splitlines()[1:]
    assert summary == "1 of 40 rows breaks a law; 1 missing cell can be filled in."
    assert rest[0] == "Broken cells:"
    assert rest[1].startswith("  row 5: ")
    assert rest[2:] == [
        "Missing cells:",
        f"  row 21: b is missing; it is {missing} by [1].",
        "All 3 columns are in a law.",
        "1 row lacks cells that the laws need: b in 1.",
    ]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    broken, missing = page.index("Broken cells</h2>"), page.index("Missing cells</h2>")
    assert broken < page.index('row-name">5<') < missing < page.index('row-name">21<')
    assert "1 row, furthest off first" in page
    assert page.index("1 row lacks cells that the laws need: b in 1.") < broken


def test_json_has_the_evidence_and_what_the_laws_cover(call):
    record = json.loads(call("check", ACCOUNTS, "--json").out)
    assert [(law["rows"], law["broken"]) for law in record["laws"]] == [(60, 0), (59, 1), (58, 2)]
    assert all(law["p_value"] == min(1.0, 2.0 ** -law["bits"]) for law in record["laws"])
    assert record["in_no_law"] == ["month"]
    assert record["coverage"] == "8 of 9 columns are in a law; nothing checks month."
    assert (record["incomplete"], record["missing"]) == (0, {})


def test_columns_that_the_laws_do_not_know_are_not_checked(call, tmp_path):
    rows = [(a, b, a + b) for a, b in np.random.default_rng(0).integers(1, 99, (40, 2)).tolist()]
    lines = [f"r{a}-{b},{a},{b},{c},{a % 7}" for a, b, c in rows]
    (tmp_path / "train.csv").write_text("\n".join(["name,a,b,c,more", *lines]))
    new = [f"{line},{i % 5}" for i, line in enumerate(lines)]
    (tmp_path / "new.csv").write_text("\n".join(["name,a,b,c,more,other", *new]))
    options = ["--train", "train.csv", "--id", "name", "--drop", "more"]
    done = call("check", "new.csv", *options)
    assert done.out.splitlines()[-2:] == [
        "All 40 rows keep the law.",
        "3 of 4 columns are in a law; nothing checks other.",
    ]


def test_laws_alone_say_nothing_of_rows(call, invoices, tmp_path):
    """Only the cells that are not numbers were looked at."""
    call("laws", "invoices.csv", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "2 cells are not numbers." in page
    assert "break a law" not in page
    assert "keep the law" not in page


def test_words_for_a_single_row(call, tmp_path):
    rows = np.random.default_rng(0).integers(1, 99, (40, 2)).tolist()
    (tmp_path / "train.csv").write_text(
        "\n".join(["a,b,c", *(f"{a},{b},{a + b}" for a, b in rows)])
    )
    for cells, said in (("1,2,3", "The row keeps the law."), ("1,2,9", "The row breaks a law.")):
        (tmp_path / "one.csv").write_text(f"a,b,c\n{cells}\n")
        assert f"\n{said}\n" in call("check", "one.csv", "--train", "train.csv").out


def test_logarithms_are_part_of_the_record(call, tmp_path):
    rows = "".join(f"{10 + 7 * i},{math.log(10 + 7 * i):.6f}\n" for i in range(60))
    (tmp_path / "prices.csv").write_text(f"price,lprice\n{rows}")
    done = call("laws", "prices.csv", "--json")
    assert done.code == 0, done.err
    (law,) = json.loads(done.out)["laws"]
    found = {(tuple(term["powers"]), tuple(term["logarithms"])) for term in law["terms"]}
    assert found == {((0, 0), ("price",)), ((0, 1), ())}
