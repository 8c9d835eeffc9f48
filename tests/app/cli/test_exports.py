"""``vanishing export`` of rules, and ``check`` of large files."""

import json
import sqlite3

import numpy as np
import openpyxl
import pandas as pd
import pytest

RULES = 'format = 1\n[[rule]]\nid = "sum"\nrule = "gross == net + tax"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    frame = pd.DataFrame({"id": np.arange(50), "net": np.arange(50) + 0.5, "tax": 0.25})
    frame = frame.assign(gross=frame.net + frame.tax)
    frame.loc[7, "gross"] += 10
    frame.to_csv("orders.csv", index=False)
    frame.to_parquet("orders.parquet", index=False)
    return tmp_path


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
    assert openpyxl.load_workbook("orders.xlsx").sheetnames == ["Table", "Rules"]
    call("export", "rules.toml", "dbt", "--table", "orders", "--out", "project")
    names = sorted(path.name for path in (folder / "project" / "tests").iterdir())
    assert names == ["orders_sum.sql", "schema.yml"]
    done = call("export", "rules.toml", "json", "--json")
    assert json.loads(json.loads(done.out)["text"])["rules"][0]["id"] == "sum"


def test_a_large_file_is_checked_in_duckdb(call, folder, monkeypatch):
    monkeypatch.setattr("vanishing.data.csv_files.WHOLE_BYTES", 100)
    done = call("check", "orders.parquet", "--rules", "rules.toml")
    assert "1 of 50 rows are broken." in done.out
    record = json.loads(call("check", "orders.parquet", "--rules", "rules.toml", "--json").out)
    assert (record["broken"], record["cells"][0]["row"]) == (1, 8)
