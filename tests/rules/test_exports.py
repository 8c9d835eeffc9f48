"""Exported rules name the same rows in the tools that they are written for."""

import io
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from benchmarks.rules import engines
from benchmarks.rules.agreement import compare
from benchmarks.rules.tables import list_tables, list_versions
from tests.support.command_line import matches, run_in_shell, transcripts, write_files
from tests.support.hostile import HOSTILE_NAMES
from tests.support.paths import DOCS, ROOT

from vanishing import discover
from vanishing.laws import check_formulas
from vanishing.rules import Rule, Rules, parse, save_rules
from vanishing.rules.export import (
    to_constraints,
    to_dbt,
    to_excel,
    to_json,
    to_soda,
    to_sql,
    to_validate,
)
from vanishing.rules.export.pushdown import LargeFile, describe_sample
from vanishing.rules.export.sql import quote
from vanishing.rules.expression import COMPARISONS, write_name

#: Some of each kind that ``benchmarks.rules.agreement`` compares all of.
TABLES = [
    "I.8.14, noise 0.0",
    "wrong 1",
    "running balance by account 0",
    "subtotals 0",
    "invoices 0",
    "power law 0",
]
NOT_HERE = {"pandera", "pointblank", "great_expectations"}
OTHERS = [
    pytest.param(name, marks=[
        pytest.mark.skipif(
            find_spec(name) is None, reason=f"needs {name}, which make test-exports installs"
        ),
        # What these tools import and call is theirs.
        pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    ])
    for name in sorted(NOT_HERE)
]  # fmt: skip


@pytest.fixture
def run(request):
    """The tool of a parameter: given a table and rules, it names the broken rows."""
    if request.param == "PostgreSQL":
        return request.getfixturevalue("postgresql")
    return engines.list_tools()[request.param]


every_tool = pytest.mark.parametrize(
    "run", ["DuckDB", "SQLite", "pandas", "PostgreSQL", *OTHERS], indirect=True
)
databases = pytest.mark.parametrize("run", ["DuckDB", "SQLite", "PostgreSQL"], indirect=True)


@cache
def find_laws(name):
    (make,) = (makers[name] for makers in list_tables().values() if name in makers)
    frame = make()
    return frame, discover(frame)


@every_tool
@pytest.mark.parametrize("name", TABLES)
def test_tools_name_the_rows_that_break_laws(run, name):
    frame, laws = find_laws(name)
    for _, table in list_versions(name, lambda: frame):
        found = compare(table, laws, {"tool": run})
        assert (found["tool"]["rows"], found["tool"]["by rule"]) == (0, 0)
    assert found["broken"] or not found["tool"]["said"]


def of_people(*texts):
    return Rules(tuple(Rule(f"rule {k}", parse(text)) for k, text in enumerate(texts)))


def make_bills():
    return pd.DataFrame({"c": [3.0, 4.0], "a": 1.0, "b": 2.0}), of_people("c == a + b", "a <= 1")


FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.5, np.nan, 0.0, -3.0, 1e200, 4.0],
        "b": [2.0, 0.0, 1.0, 0.0, -1.5, 1e200, np.nan],
        "c": [2.0, 2.5, 1.0, np.nan, 2.0, 0.0, 9.0],
        "status": ["open", "closed", "it's", None, "open", "x", "closed"],
        "start": ["2024-01-01", "2024-02-01", None, "2024-01-01", "2024-03-01", "2023-01-01", "2"],
        "end": ["2024-01-02", "2024-01-01", "2024-01-01", None, "2024-03-01", "2024-01-01", "2"],
    }
)  # fmt: skip
TEXTS = [
    "a / b == 0.5", "a / b >= 0", "log(a) <= c", "b ** 0.5 >= 0", "b ** -1 < 1", "not a / b > 1",
    "min(a, b) <= c", "max(a, b, c) == c", "round(a * 0.5, 1) != b", "coalesce(a, 0) <= 3",
    "abs(a - c) <= 1 or b is null", "a is not null and c is not null", "not (a > 1 and b > 1)",
    "b in [2, 0, -1.5]", "b not in [2, 0]", "status in ['open', \"it's\"]", "status != 'open'",
    "status == 'open' or a > 2", "a < b < c", "-a <= 2", "round(b) == b", "a in []", "log(b) > 0",
    "coalesce(a, 0) is not null", "coalesce(a, 0) is null",
    "floor(a / 0.1) == b", "ceil(a / 2) <= b", "ceil(-a / 2) / ceil(b) < 1", "floor(-c) > -2.5",
    "unique(b)", "unique(status)", "determines(status, start)", "not determines(b, c)",
    "unique(c) or a > 1", "determines(start, b) and status is not null",
]  # fmt: skip


@every_tool
def test_tools_decide_rules_of_people(run):
    # 1e200 squared overflows, which PostgreSQL answers by an error.
    rules = of_people(*TEXTS)
    broken, unsaid = run(FRAME, rules)
    assert not unsaid
    for rule in rules:
        expected = set(np.flatnonzero(rules.find_broken(rule, FRAME)[0]).tolist())
        assert broken[rule.id] == expected, rule


CELLS = [0, 0.5, 1, 2, 3, -1, -2.5, 100.25, 0.1, 0.3, np.nan]
DATES = ["2024-01-02", "2024-05-01", "2023-12-31", None]


def draw_number(rng, depth):
    if not depth or rng.random() < 0.3:
        return rng.choice([*"abcabc", "0", "1", "0.5", "3"])
    x, y = draw_number(rng, depth - 1), draw_number(rng, depth - 1)
    return rng.choice([
        f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} / {y})", f"(-{x})", f"abs({x})",
        f"max({x}, {y})", f"min({x}, {y})", f"round({x}, 1)", f"round({x})", f"log({x})",
        f"floor({x})", f"ceil({x} / 0.3)",
        f"coalesce({rng.choice('abc')}, 1)", f"({x}) ** 2", f"({x}) ** 0.5", f"({x}) ** -1",
    ])  # fmt: skip


def draw_condition(rng, depth):
    if depth and rng.random() < 0.6:
        x, y = draw_condition(rng, depth - 1), draw_condition(rng, depth - 1)
        return rng.choice([f"({x} and {y})", f"({x} or {y})", f"not ({x})"])
    sign, x, y = rng.choice(list(COMPARISONS)), draw_number(rng, 2), draw_number(rng, 2)
    return rng.choice([
        *[f"{x} {sign} {y}"] * 4, f"{x} in [0, 1, -1, 0.5]", f"{rng.choice('abcst')} is null",
        f"s {rng.choice(['==', '!='])} 'x'", "s not in ['x', 'y']", "t <= u", "t < '2024-02'",
    ])  # fmt: skip


@every_tool
def test_tools_decide_random_rules(run):
    rng, cells = random.Random(0), np.random.default_rng(0)
    frame = pd.DataFrame({name: cells.choice(CELLS, 60) for name in "abc"})
    frame["s"] = cells.choice(np.array(["x", "y", "z", None], dtype=object), 60)
    for name in "tu":
        frame[name] = cells.choice(np.array(DATES, dtype=object), 60)
    rules = [
        Rule(f"rule {k}", parse(draw_condition(rng, 2)),
             where=parse(draw_condition(rng, 1)) if k % 5 == 0 else None)
        for k in range(100)
    ]  # fmt: skip
    rules = Rules(tuple(rules))
    broken, unsaid = run(frame, rules)
    assert not unsaid
    for rule in rules:
        expected = set(np.flatnonzero(rules.find_broken(rule, frame)[0]).tolist())
        assert broken[rule.id] == expected, rule


@databases
def test_dates_are_compared_as_texts(run):
    frame = FRAME.iloc[:6]
    rules = of_people("start <= end", "status == 'open'")
    rules = Rules((Rule("r", rules[0].expression, where=rules[1].expression), rules[0]))
    broken, _ = run(frame, rules)
    assert broken == {"r": set(), "rule 0": {1}}


def test_columns_of_dates_are_compared_with_parts_of_dates():
    rules = of_people("day >= '2025-02'", "day != '2025'", "day in ['2025-01-31']", "day < '2026'")
    text = to_sql(rules, "t", key="id", texts=["day"]).text
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INT, day DATE)")
        connection.execute("INSERT INTO t VALUES (1, '2025-01-31'), (2, '2025-02-01'), (3, NULL)")
        assert connection.execute(text).fetchall() == [("rule 0", 1), ("rule 2", 2)]


def make_hostile():
    """A table whose second row breaks a rule of each hostile name."""
    names = [name for name in HOSTILE_NAMES.values() if "\0" not in name and name.strip()]
    frame = pd.DataFrame({"x": [1.0, 2.0]} | {name: [1.0, 9.0] for name in names})
    frame = frame.loc[:, ~frame.columns.str.lower().duplicated()]  # SQL does not tell E from e
    return frame, Rules(tuple(
        Rule(name, parse(f"{write_name(name)} == x")) for name in frame.columns if name != "x"
    ))  # fmt: skip


@every_tool
def test_hostile_names_are_names(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, rules = make_hostile()
    broken, unsaid = run(frame, rules)
    assert not unsaid
    assert len(broken) > 50
    assert all(rows == {1} for rows in broken.values())
    assert not list(tmp_path.iterdir())


def test_hostile_names_in_texts_that_nothing_runs_here():
    _, rules = make_hostile()
    for export in (to_validate(rules), to_soda(rules, "t"), to_json(rules)):
        assert not export.unsaid
    assert len(yaml.safe_load(to_soda(rules, "t").text)['checks for "t"']) == len(rules)
    assert [each["id"] for each in json.loads(to_json(rules).text)["rules"]] == [
        rule.id for rule in rules
    ]


@databases
def test_a_column_that_is_not_there_is_an_error(run):
    rules = of_people("gros == a + b", "stat != 'open'", "unique(stat)")
    for rule in rules:
        with pytest.raises(Exception, match=r"no such column|not found|does not exist"):
            run(FRAME, Rules((rule,)))


def test_a_name_with_a_null_is_named_as_unsaid():
    rules = of_people("`a\\u{0}b` <= 1", "c <= 1")
    export = to_sql(rules, "t")
    (unsaid,) = export.unsaid
    assert unsaid.startswith("rule 0 (")
    assert "-- not said: rule 0" in export.text


# --- Constraints, dbt -----------------------------------------------------------------------------


def test_constraints_refuse_broken_rows():
    rules = of_people("c == a + b", "a > 0", "unique(b)")
    for dialect, connect in (("sqlite", sqlite3.connect), ("duckdb", duckdb.connect)):
        text = to_constraints(rules, "t", dialect).text
        connection = connect(":memory:")
        connection.execute(f"CREATE TABLE t (a DOUBLE, b DOUBLE, c DOUBLE,\n{text})")
        connection.execute("INSERT INTO t VALUES (1, 2, 3), (NULL, 1, 1)")
        for row in ("(1, 3, 5)", "(-1, 3, 2)", "(5, 2, 7)"):
            with pytest.raises((sqlite3.IntegrityError, duckdb.ConstraintException)):
                connection.execute(f"INSERT INTO t VALUES {row}")
        connection.close()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql"])
def test_constraints_of_hostile_names(dialect, request):
    frame, rules = make_hostile()
    columns = ", ".join(f"{quote(name)} DOUBLE PRECISION" for name in frame)
    rows = [f"INSERT INTO t VALUES ({', '.join(map(str, row))})" for row in frame.values.tolist()]
    text = to_constraints(rules, "t", dialect).text
    if dialect == "postgresql":
        server = request.getfixturevalue("postgresql")
        make = f"SET client_min_messages = error; CREATE TEMP TABLE t ({columns}); {text}"
        server.ask(f"{make} {rows[0]};")
        with pytest.raises(RuntimeError, match="violates check constraint"):
            server.ask(f"{make} {rows[1]};")
        return
    connection = (duckdb if dialect == "duckdb" else sqlite3).connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns},\n{text})")
    connection.execute(rows[0])
    with pytest.raises((sqlite3.IntegrityError, duckdb.ConstraintException)):
        connection.execute(rows[1])
    connection.close()


def test_constraints_do_not_say_other_rows():
    _, laws = find_laws("running balance by account 0")
    export = to_constraints(Rules.from_laws(laws), "t", "postgresql")
    (unsaid,) = export.unsaid
    assert "rows" in unsaid
    assert export.text.count("ALTER") == len(laws.domains)
    chains = Rules((Rules.from_laws(laws)[0],))
    for dialect in ("duckdb", "postgresql"):
        assert to_constraints(chains, "t", dialect).text.endswith("-- no rule can be said\n")


@pytest.mark.skipif(find_spec("dbt") is None, reason="needs dbt, which make test-exports installs")
@pytest.mark.parametrize("make", [make_hostile, make_bills], ids=["hostile names", "bills"])
def test_dbt_fails_where_rules_are_broken(tmp_path, make):
    frame, rules = make()
    for name, content in to_dbt(rules, "orders", key=frame.columns[0]).files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    with duckdb.connect(tmp_path / "example.duckdb") as connection:
        connection.register("frame", pa.Table.from_pandas(frame))
        connection.execute("CREATE TABLE given AS FROM frame")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "orders.sql").write_text("SELECT * FROM given\n")
    (tmp_path / "dbt_project.yml").write_text(
        "name: example\nversion: '1.0'\nprofile: example\n"
        "flags:\n  send_anonymous_usage_stats: false\n"
    )
    (tmp_path / "profiles.yml").write_text(
        "example:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: example.duckdb}\n"
    )
    command = [sys.executable, "-m", "dbt.cli.main", "build", "--profiles-dir", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    results = json.loads((tmp_path / "target" / "run_results.json").read_text())["results"]
    found = {each["unique_id"].split(".")[2]: each["status"] for each in results}
    assert found.pop("orders") == "success", done
    assert len(found) == len(rules)
    expected = {rule.id: "fail" if rules.find_broken(rule, frame)[0].any() else "pass"
                for rule in rules}  # fmt: skip
    assert sorted(found.values()) == sorted(expected.values()), done
    if make is make_bills:
        assert found == {f"orders_{name.replace(' ', '_')}": expected[name] for name in expected}


def test_a_project_of_dbt_has_rules_of_several_tables():
    _, rules = make_bills()
    files = [to_dbt(rules, table, key="c").files for table in ("orders", "bills")]
    assert len(files[0].keys() | files[1].keys()) == 2 * (1 + len(rules))


# --- Documentation --------------------------------------------------------------------------------


@pytest.mark.programs
@pytest.mark.parametrize(("title", "needed"), [("SQL", "duckdb"), ("dbt", "dbt"), ("pandera",) * 2])
def test_five_minutes_of_the_documentation(title, needed, tmp_path, monkeypatch):
    if find_spec(needed) is None:
        pytest.skip(f"needs {needed}, which make test-exports installs")
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "data" / "accounts.csv", tmp_path)
    page = (DOCS / "pipelines.md").read_text(encoding="utf-8")
    first, *parts = re.split(r"^### ", page.partition("## Five minutes")[2], flags=re.MULTILINE)
    (part,) = (each for each in parts if each.startswith(f"{title}\n"))
    write_files(part)
    for command, expected in transcripts(first + part):
        said = run_in_shell(command, tmp_path).rstrip("\n")
        assert matches(expected, said), f"$ {command}\n{said}"


@pytest.mark.programs
def test_the_cluster_of_the_documentation(tmp_path, monkeypatch):
    pytest.importorskip("dask.dataframe")
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {
            "net": [1.0, 2.0, 3.0, 4.0], "tax": 0.5, "gross": [1.5, 9.0, 3.5, 9.0],
            "start": "2024-01-01", "end": ["2024-01-02", None, "2023", "2025"],
        }
    )  # fmt: skip
    frame.to_csv("orders.csv", index=False)
    (tmp_path / "orders").mkdir()
    for k in range(2):
        frame[2 * k : 2 * k + 2].to_parquet(f"orders/{k}.parquet", index=False)
    save_rules(Rules((Rule("gross", parse("gross == net + tax")),
                      Rule("dates", parse("start <= end")))), "rules.toml")  # fmt: skip
    part = (DOCS / "exports.md").read_text(encoding="utf-8").partition("## On a cluster")[2]
    write_files(part)
    for command, expected in transcripts(part):
        said = run_in_shell(command, tmp_path).rstrip("\n")
        assert matches(expected, said), f"$ {command}\n{said}"


# --- Files ----------------------------------------------------------------------------------------


def test_a_workbook_marks_broken_rows():
    frame = pd.DataFrame({"net": [1.0, 2.0], "tax": [0.5, 0.5], "gross": [1.5, 9.0],
                          "=1+1": ["=2+2", "b"]})  # fmt: skip
    rules = Rules((*of_people("gross == net + tax"), Rule("t", parse("totals(net, tax)"))))
    export = to_excel(rules, frame, texts=["=1+1"], formulas=True)
    (content,) = export.files.values()
    assert len(export.unsaid) == 1
    book = openpyxl.load_workbook(io.BytesIO(content))
    sheet = book["Table"]
    assert [cell.data_type for cell in sheet[2]] == ["n", "n", "f", "s"]
    assert sheet["C2"].value == "=($A2 + $B2)"
    assert sheet["C3"].value == 9
    (formula,) = {
        each.formula[0] for ranges in sheet.conditional_formatting for each in ranges.rules
    }
    assert formula.startswith("AND(NOT(ISBLANK($C2)), NOT(ISBLANK($A2)), NOT(ISBLANK($B2)), ABS(")
    assert "total rows" in book["Rules"]["B3"].value


def test_a_workbook_marks_cells_that_break_rules_about_all_rows():
    frame = pd.DataFrame({"zip": ["a", "a", None], "city": ["x", "y", "x"]})
    export = to_excel(of_people("unique(zip)", "determines(zip, city)"), frame, texts=list(frame))
    assert not export.unsaid
    sheet = openpyxl.load_workbook(io.BytesIO(export.files["table.xlsx"]))["Table"]
    zips, cities = (
        [each.formula[0] for each in marked.rules] for marked in sheet.conditional_formatting
    )
    same = "AND(NOT(ISBLANK($A2)), SUMPRODUCT(1*($A$2:$A$4=$A2))>1)"
    assert zips[0] == same
    assert cities == zips[1:]
    assert cities[0] == (
        "AND(NOT(ISBLANK($A2)), NOT(ISBLANK($B2)), 2*SUMPRODUCT(($A$2:$A$4=$A2)*($B$2:$B$4=$B2))"
        "<=SUMPRODUCT(($A$2:$A$4=$A2)*NOT(ISBLANK($B$2:$B$4))))"
    )


def test_a_tolerance_between_texts_cannot_be_said():
    rules = Rules((Rule("texts", parse('city == "x"'), tolerance=0.1),))
    (reason,) = to_json(rules).unsaid
    assert "only numbers can be computed with" in reason


def test_a_rule_about_texts_is_no_formula():
    frame = pd.DataFrame({"city": ["x", "y"], "n": [1.0, 2.0]})
    export = to_excel(of_people('city == "x"'), frame, texts=["city"], formulas=True)
    sheet = openpyxl.load_workbook(io.BytesIO(export.files["table.xlsx"]))["Table"]
    assert [cell.value for cell in sheet["A"]] == ["city", "x", "y"]


def test_a_workbook_of_a_sound_table_breaks_no_formula():
    """Ties may be rounded up or down, blanks leave products unknown, and totals are sums."""
    quantity, weight = np.arange(3, 43, dtype=float), np.tile([0.25, 0.5, 1.3, 2.7], 10)
    total = np.floor(quantity * weight * 10) / 10
    total[weight != 0.25] = np.round((quantity * weight)[weight != 0.25], 1)
    weight[7] = np.nan
    frame = pd.DataFrame({"quantity": quantity, "weight": weight, "total": total})
    frame["note"] = [""] * 39 + ["x"]
    frame.loc[40] = [quantity.sum(), np.nan, total.sum(), "sum"]
    rules = Rules.from_laws(discover(frame))
    strays = {(7, "weight"): "2.7kg"}
    export = to_excel(rules, frame, texts=["note"], formulas=True, strays=strays)
    content = export.files["table.xlsx"]
    sheet = openpyxl.load_workbook(io.BytesIO(content))["Table"]
    assert sheet["C42"].value == "=ROUND(SUM(C2:C41),1)"
    assert sheet["B9"].value == "2.7kg"
    assert sheet["D2"].data_type == "n"  # blank
    formulas = [cell.data_type == "f" for cell in sheet["C"][1:]]
    assert 20 < sum(formulas) < 39
    found = check_formulas(content)
    assert found.n_evaluated == found.n_formulas
    assert found.cells == ()


def test_a_workbook_with_hostile_names():
    frame, rules = make_hostile()
    export = to_excel(rules, frame, formulas=True)
    assert not export.unsaid
    (content,) = export.files.values()
    sheet = openpyxl.load_workbook(io.BytesIO(content))["Table"]
    assert {cell.data_type for cell in sheet[1]} == {"s"}
    assert sheet.max_column == frame.shape[1]
    assert len(sheet.conditional_formatting) == frame.shape[1]


def test_rules_for_tools_that_do_not_run_here():
    rules = of_people("c == a + b", "`it's` in ['x']", "totals(a, b)", "unique(a)")
    export = to_validate(rules)
    assert "(duplicated(`a`) | duplicated(`a`, fromLast = TRUE))" in export.text
    assert "!is.na(`it's`)) & (!(`it's` %in% c(\"x\"))" in export.text
    assert "# not said: rule 2" in export.text
    export = to_soda(rules, "orders")
    assert 'checks for "orders":\n  - failed rows:\n      name: "rule 0: c == a + b"' in export.text
    assert "# not said: rule 2" in export.text
    record = json.loads(to_json(rules).text)
    assert [each["rule"] for each in record["rules"]][:1] == ["c == a + b"]
    assert "condition" in record["rules"][0]
    assert len(record["not said"]) == 1


# --- Large files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_large_file_is_checked_where_it_lies(tmp_path, kind):
    frame, laws = find_laws("invoices 0")
    frame = pd.concat([frame] * 30, ignore_index=True)
    for row, name in ((7, "net"), (1000, "total"), (3500, "gross (19 %)")):
        frame.loc[row, name] += 100
    path = tmp_path / f"it's.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    file = LargeFile(path, threads=1)
    found = file.check(Rules.from_laws(laws), sample=file.draw(500))
    expected = [each for each in laws.check(frame) if not each.is_missing]
    assert found.n_rows == len(frame)
    assert found.n_broken == len(expected)
    assert not found.unsaid
    told = [(each.row, each.laws, [fix.column for fix in each.fixes]) for each in found.check]
    assert told == [(each.row, each.laws, [fix.column for fix in each.fixes]) for each in expected]
    assert [each[0] for each in told] == [7, 1000, 3500]


def test_what_a_sample_tells():
    _, laws = find_laws("invoices 0")
    assert "at most 0.003 % of all rows" in describe_sample(100_000, laws)
