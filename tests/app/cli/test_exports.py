"""``vanishing export`` of rules, and ``check`` of large files."""

import json
import sqlite3
from pathlib import Path

import duckdb
import jsonschema
import numpy as np
import openpyxl
import pandas as pd
import pytest

from vanishing.app import cli

RULES = 'format = 1\n[[rule]]\nid = "sum"\nrule = "gross == net + tax"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    frame = pd.DataFrame({"id": np.arange(50), "net": np.arange(50) + 0.5, "tax": 0.25})
    frame.insert(1, "name", "row " + frame.id.astype(str))
    frame = frame.assign(gross=frame.net + frame.tax)
    frame.loc[7, "gross"] += 10
    frame.to_csv("orders.csv", index=False)
    frame.to_parquet("orders.parquet", index=False)
    return tmp_path


def write_duckdb(request, frame):
    with duckdb.connect("warehouse.db") as connection:
        connection.execute("CREATE TABLE orders AS FROM read_csv('orders.csv')")
    return "duckdb:warehouse.db#orders"


def write_postgresql(request, frame):
    pytest.importorskip("psycopg")
    server = request.getfixturevalue("postgresql")
    server.ask(
        "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id BIGINT, day DATE, name TEXT, "
        "net NUMERIC(9, 2), tax NUMERIC(9, 2), gross NUMERIC(9, 2));\n"
        f"COPY orders FROM STDIN (FORMAT csv);\n{frame.to_csv(index=False, header=False)}\\.\n"
    )
    return f"{server.url}#orders"


@pytest.mark.parametrize("write", [write_duckdb, write_postgresql], ids=["DuckDB", "PostgreSQL"])
def test_tables_of_databases_are_checked_as_their_files(call, folder, request, write):
    frame = pd.read_csv("orders.csv")
    frame.insert(1, "day", pd.date_range("2026-01-01", periods=len(frame)).astype(str))
    frame.loc[3, "day"] = "2025-12-31"
    frame.to_csv("orders.csv", index=False)
    with open("rules.toml", "a") as file:
        file.write('[[rule]]\nid = "this year"\nrule = "day >= \'2026-01\'"\n')
    url = write(request, frame)
    said = []
    for table in ("orders.csv", url):
        done = call("check", table, "--rules", "rules.toml", "--max-broken", "1")
        assert done.code == 1
        said.append(done.out.splitlines())
        done = call("check", table, "--rules", "rules.toml", "--max-broken", "5%", "--json")
        assert done.code == 0
        assert [each["row"] for each in json.loads(done.out)["cells"]] == [4, 8]
    assert said[0] == said[1]
    assert "row 8: breaks [1]" in "".join(said[1])
    kind = "duckdb" if write is write_duckdb else "postgresql"
    query = call("export", "rules.toml", "sql", "--dialect", kind, "--table", "orders", "--key",
                 "id", "--points", url).out  # fmt: skip
    if write is write_duckdb:
        with duckdb.connect("warehouse.db") as connection:
            rows = [tuple(map(str, row)) for row in connection.execute(query).fetchall()]
    else:
        rows = [tuple(row) for row in request.getfixturevalue("postgresql").ask(query)]
    assert rows == [("sum", "7"), ("this year", "3")]


def test_a_query_names_the_broken_rows(call, folder):
    done = call(
        *("export", "rules.toml", "sql", "--dialect", "sqlite", "--table", "orders"),
        *("--key", "id", "--points", "orders.csv"),
    )
    with sqlite3.connect(":memory:") as connection:
        pd.read_csv("orders.csv").to_sql("orders", connection, index=False)
        assert connection.execute(done.out).fetchall() == [("sum", 7)]
    connection.close()


def test_files_of_several_kinds(call, folder):
    call("export", "rules.toml", "excel", "--points", "orders.csv", "--out", "orders.xlsx")
    book = openpyxl.load_workbook("orders.xlsx")
    assert book.sheetnames == ["Table", "Rules"]
    assert [cell.value for cell in book["Table"][1]] == ["id", "name", "net", "tax", "gross"]
    call("export", "rules.toml", "dbt", "--table", "orders", "--out", "project")
    names = sorted(path.name for path in (folder / "project" / "tests").iterdir())
    assert names == ["orders_rules.yml", "orders_sum.sql"]
    done = call("export", "rules.toml", "json", "--json")
    assert json.loads(json.loads(done.out)["text"])["rules"][0]["id"] == "sum"


@pytest.mark.parametrize("table", ["orders.parquet", "orders.csv", "duckdb:warehouse.db#orders"])
def test_a_large_file_is_checked_in_duckdb(call, folder, monkeypatch, table, request):
    write_duckdb(request, None)
    schema = json.loads(Path(cli.__file__).with_name("output.schema.json").read_text())
    with open("rules.toml", "a") as file:
        file.write('[[rule]]\nid = "low"\nrule = "net <= 48"\n')
    whole = json.loads(call("check", table, "--rules", "rules.toml", "--json").out)
    whole_text = call("check", table, "--rules", "rules.toml")
    monkeypatch.setattr("vanishing.data.csv_files.MEMORY", 800)
    done = call("check", table, "--rules", "rules.toml")
    expected = whole_text.out.splitlines()
    assert done.code == 0
    assert done.out.splitlines()[:7] == expected[:7]
    assert expected[4] == "3 of 50 rows break a law."
    record = json.loads(call("check", table, "--rules", "rules.toml", "--json").out)
    jsonschema.validate(record, schema)
    assert record["rules"] == whole["rules"]
    assert record["broken"] == 3
    for cell, expected in zip(record["cells"], whole["cells"], strict=True):
        assert cell == pytest.approx({name: expected[name] for name in cell}, nan_ok=True)
    for limit, code in (("6%", 0), ("5.9%", 1), ("3", 0), ("2", 1)):
        options = ["--rules", "rules.toml", "--max-broken", limit]
        assert call("check", table, *options).code == code
    with open("rules.toml", "a") as file:
        file.write('[[rule]]\nrule = "other > 1"\n')
    done = call("check", table, "--rules", "rules.toml")
    assert done.code == 3
    assert "'other'" in done.err


def test_a_large_file_without_a_rule_that_duckdb_can_check(call, folder, monkeypatch):
    Path("rules.toml").write_text('format = 1\n[[rule]]\nid = "t"\nrule = "totals(net)"\n')
    monkeypatch.setattr("vanishing.data.csv_files.MEMORY", 800)
    done = call("check", "orders.csv", "--rules", "rules.toml", "--max-broken", "0")
    assert done.code == 3
    assert "no rule can be checked in DuckDB" in done.err


def test_the_schema_is_that_of_several_tables_too(call, folder):
    schema = json.loads(Path(cli.__file__).with_name("output.schema.json").read_text())
    frame = pd.read_csv("orders.csv")
    with pd.ExcelWriter("orders.xlsx") as book:
        frame.to_excel(book, sheet_name="one", index=False)
        frame.to_excel(book, sheet_name="two", index=False)
    Path("more.csv").write_bytes(Path("orders.csv").read_bytes())
    for options in (
        ["check", "orders.csv", "more.csv"], ["check", "orders.xlsx"], ["laws", "orders.xlsx"]
    ):  # fmt: skip
        jsonschema.validate(json.loads(call(*options, "--json").out), schema)


def test_a_column_without_a_name_beside_rules(call, folder):
    """It ended in an internal error."""
    frame = pd.read_csv("orders.csv").rename(columns={"id": " "})
    frame.to_csv("unnamed.csv", index=False)
    done = call("export", "rules.toml", "sql", "--points", "unnamed.csv")
    assert done.code == 3
    assert "unnamed.csv: column 0 of the numeric columns has no name" in done.err
