"""Frames of any library, lazy queries, and tables of databases: read alike, and as files are."""

import gc
import sqlite3
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vanishing import VanishingIdeal, discover, discover_invariants
from vanishing.data import TableError, TableSource, as_source, read_table
from vanishing.data.inputs import make_row_picker

N_ROWS = 60


def bills():
    rng = np.random.default_rng(0)
    net, tax = rng.integers(100, 10_000, (2, N_ROWS)) / 100
    return pd.DataFrame({"net": net, "tax": tax, "gross": np.round(net + tax, 2)})


def wrong_bills():
    frame = bills()
    frame.loc[7, "gross"] += 9
    return frame.assign(city=[f"city {i}" for i in range(N_ROWS)])


EAGER = {
    "pandas": lambda f: f,
    "pandas with Arrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with objects": lambda f: f.astype(object),
    "polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "record batch": pa.RecordBatch.from_pandas,
}
BLOCKS = {
    "chunks": lambda f: [f[:25], f[25:]],
    "Dask": lambda f: dd.from_pandas(f, npartitions=3),
    "Arrow dataset": lambda f: pyarrow.dataset.dataset(pa.Table.from_pandas(f)),
}
LAZY = {
    "polars": lambda f: pl.from_pandas(f).lazy(),
    "DuckDB": lambda f: duckdb.from_arrow(pa.Table.from_pandas(f)),
}


def to_duckdb(frame, folder, table="bills"):
    with duckdb.connect(folder / "shop.db") as connection:
        arrow = pa.Table.from_pandas(frame)
        connection.register("frame", arrow)
        connection.execute(f"CREATE TABLE {quoted(table)} AS FROM frame")
    return f"duckdb:{folder / 'shop.db'}#{table}"


def to_sqlite(frame, folder, table="bills", scheme="sqlite:"):
    with sqlite3.connect(folder / "shop.sqlite") as connection:
        columns = ", ".join(map(quoted, frame.columns))
        connection.execute(f"CREATE TABLE {quoted(table)} ({columns})")
        marks = ", ".join("?" * len(frame.columns))
        rows = frame.astype(object).to_numpy().tolist()
        connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
    connection.close()
    return f"{scheme}{folder / 'shop.sqlite'}#{table}"


def to_server(frame, folder, table="bills"):
    pytest.importorskip("sqlalchemy")
    return to_sqlite(frame.astype(float), folder, table, scheme="sqlite+pysqlite:///")


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


URLS = {"DuckDB": to_duckdb, "SQLite": to_sqlite}


def broken(laws, X):
    return [each.row for each in laws.check(X)]


@pytest.mark.parametrize(
    "make", [*EAGER.values(), *LAZY.values()], ids=[*EAGER, *map("lazy {}".format, LAZY)]
)
def test_frames_have_the_laws_of_their_numbers(make):
    frame = wrong_bills()
    expected = discover(frame[["net", "tax", "gross"]].to_numpy(), ["net", "tax", "gross"])
    found = discover(make(frame))
    assert [str(law) for law in found] == [str(law) for law in expected] == ["gross = net + tax"]
    assert found.notes == ("city is set aside: text, 'city 0' in row 0",)
    assert broken(found, make(frame)) == [7]


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_rows_in_blocks_have_the_laws_of_their_numbers(make):
    found = discover(make(bills()))
    assert [str(law) for law in found] == ["gross = net + tax"]
    assert broken(found, make(bills().assign(gross=wrong_bills().gross))) == [7]


@pytest.mark.parametrize("make", URLS.values(), ids=URLS)
def test_tables_of_databases_are_read_as_files_are(make, tmp_path):
    url = make(wrong_bills(), tmp_path)
    wrong_bills().to_csv(tmp_path / "bills.csv", index=False)
    expected, found = discover(tmp_path / "bills.csv"), discover(url)
    assert str(found) == str(expected)
    assert str(found.check(url)) == str(expected.check(tmp_path / "bills.csv"))
    table = read_table(url)
    assert table.names == ("net", "tax", "gross")
    assert table.where == url
    np.testing.assert_array_equal(table.values, bills().assign(gross=wrong_bills().gross))


def test_tables_of_a_server_are_read_by_their_types(tmp_path):
    url = to_server(bills(), tmp_path)
    with sqlite3.connect(tmp_path / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE typed (day TEXT, n INTEGER, x REAL, price DECIMAL(9, 2))")
        rows = [("2026-01-05", 2**60 + 1, 0.5, "1.25"), (None, None, None, None)]
        connection.executemany("INSERT INTO typed VALUES (?, ?, ?, ?)", rows)
    connection.close()
    table = read_table(url.replace("#bills", "#typed"))
    assert table.names == ("n", "x", "price")
    np.testing.assert_array_equal(table.values, [[2.0**60, 0.5, 1.25], [np.nan] * 3])
    assert [each.name for each in table.set_aside] == ["day"]


@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY)
def test_lazy_rows_are_fitted_to_in_batches(make):
    frame = bills()
    source = as_source(make(frame))
    assert isinstance(source, TableSource)
    assert source.n_samples == N_ROWS
    assert [len(block) for block in source.blocks(25)] == [25, 25, 10]
    ideal, expected = VanishingIdeal(tol=0.1).fit(make(frame)), VanishingIdeal(tol=0.1).fit(frame)
    assert list(ideal.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    np.testing.assert_allclose(ideal.transform(frame), expected.transform(frame), atol=1e-12)
    two = VanishingIdeal(tol=0.1).fit(as_source(make(frame), columns=["tax", "net"]))
    assert two.n_features_in_ == 2


def test_a_query_runs_once_and_its_file_is_removed():
    n_runs = 0

    def count(frame):
        nonlocal n_runs
        n_runs += 1
        return frame

    lazy = pl.from_pandas(bills()).lazy().map_batches(count, schema=None)
    source = as_source(lazy)
    VanishingIdeal(tol=0.1, max_degree=3).fit(source)
    assert n_runs == 1
    file = Path(source.query.path)
    assert file.exists()
    del source
    gc.collect()
    assert not file.parent.exists()


@settings(max_examples=25, deadline=None)
@given(name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
@pytest.mark.parametrize("make", URLS.values(), ids=URLS)
def test_names_of_tables_are_quoted(make, name, tmp_path_factory):
    url = make(bills()[:3], tmp_path_factory.mktemp("hostile"), name)
    assert read_table(url).names == ("net", "tax", "gross")


def test_cells_of_sqlite_keep_their_own_types(tmp_path):
    frame = bills().astype(object)
    frame.loc[3, "tax"] = "typo"
    frame.loc[4, "net"] = None
    url = to_sqlite(frame.assign(note=None), tmp_path)
    table = read_table(url)
    assert [(each.row, each.column, each.text) for each in table.strays] == [(4, "tax", "typo")]
    assert np.isnan(table.values[4, 0])
    assert np.isnan(table.values[:, 3]).all()


@pytest.mark.parametrize("make", [*URLS.values(), to_server], ids=[*URLS, "server"])
def test_errors_name_the_tables_that_there_are(make, tmp_path):
    url = make(bills(), tmp_path)
    with pytest.raises(TableError, match="has no table 'bill'; it has 'bills': name one after a #"):
        read_table(url.removesuffix("s"))
    if make is not to_server:
        with pytest.raises(TableError, match="names no table; it has 'bills'"):
            read_table(url.partition("#")[0])
        with pytest.raises(FileNotFoundError, match="there is no such file"):
            read_table(f"{url.partition(':')[0]}:nowhere.db#bills")
        Path(tmp_path / "text.db").write_text("no database")
        with pytest.raises(TableError, match="cannot be read"):
            read_table(f"{url.partition(':')[0]}:{tmp_path / 'text.db'}#bills")


def test_errors_name_what_is_missing(monkeypatch, tmp_path):
    pytest.importorskip("sqlalchemy")
    with pytest.raises(ImportError, match="needs the driver pymssql; install it with pip"):
        read_table("mssql+pymssql://me:secret@localhost/shop#bills")
    with pytest.raises(TableError, match="oracles is no kind of database"):
        read_table("oracles://localhost#bills")
    url = to_duckdb(bills(), tmp_path)
    for module, address in (("duckdb", url), ("sqlalchemy", "mysql://localhost/shop#bills")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"needs {module}: pip install 'vanishing\[sql\]'"):
            read_table(address)


def test_passwords_stay_out_of_messages(tmp_path):
    url = to_server(bills(), tmp_path)
    hidden = url.replace("pysqlite:///", "pysqlite://me:secret@host/")
    with pytest.raises(Exception, match=r"\w") as raised:
        read_table(hidden)
    assert "secret" not in str(raised.value)


def test_a_file_whose_name_looks_like_a_url_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bills().to_csv("sqlite:x#y.csv", index=False)
    assert read_table("sqlite:x#y.csv").names == ("net", "tax", "gross")
    assert as_source("sqlite:x#y.csv").n_samples == N_ROWS


@pytest.mark.parametrize("make", [EAGER[k] for k in ("pandas", "polars", "Arrow")])
def test_residuals_are_a_frame_of_the_same_library(make):
    frame = make(bills())
    residuals = discover(bills()).residuals(frame)
    assert type(residuals) is type(frame)
    assert residuals.shape == (N_ROWS, 1)


CELLS = {
    "decimals": [Decimal(i) / 4 for i in range(N_ROWS)],
    "whole numbers": list(range(N_ROWS)),
    "truth values": [i % 3 == 0 for i in range(N_ROWS)],
    "numbers, some missing": [None if i % 7 == 0 else i / 2 for i in range(N_ROWS)],
    "written numbers": [f"{i}.5 kg" for i in range(N_ROWS)],
    "dates": [date(2026, 1, 1 + i % 28) for i in range(N_ROWS)],
    "texts": ["x" for _ in range(N_ROWS)],
    "lists": [[i] for i in range(N_ROWS)],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_columns_of_any_type_mean_the_same_in_every_library(cells):
    arrow = pa.table({"a": np.arange(N_ROWS) ** 2.0, "c": pa.array(cells)})
    frames = [arrow, pl.from_arrow(arrow), arrow.to_pandas(), pl.from_arrow(arrow).lazy()]
    frames.append(pd.DataFrame({"a": np.arange(N_ROWS) ** 2.0, "c": cells}))
    found = [discover(each, max_degree=1) for each in frames]
    assert len({each.names for each in found}) == 1
    assert len({each.n_rows for each in found}) == 1
    assert len({str(each.equations) for each in found}) == 1


@pytest.mark.parametrize("make", URLS.values(), ids=URLS)
def test_commands_take_urls(make, tmp_path, capsys):
    from vanishing.app.cli import main

    url = make(wrong_bills(), tmp_path)
    for command in ("laws", "check"):
        main([command, url])
        assert "gross = net + tax" in capsys.readouterr().out
    assert main(["check", url.removesuffix("s")]) != 0
    assert "has no table 'bill'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("make", [*EAGER.values(), *LAZY.values()], ids=[*EAGER, *LAZY.keys()])
def test_trajectories_are_divided_by_a_column(make):
    angle = np.linspace(0, 6, N_ROWS)
    radius, run = np.repeat([1.0, 2.0, 3.0], N_ROWS // 3), np.repeat(["a", "b", "c"], N_ROWS // 3)
    frame = pd.DataFrame({"x": radius * np.cos(angle), "y": radius * np.sin(angle), "run": run})
    found = discover_invariants(make(frame), "run")
    assert [str(each) for each in found] == ["x^2 + y^2 = const"]
    assert found.labels == ("a", "b", "c")


@pytest.mark.parametrize("make", URLS.values(), ids=URLS)
def test_trajectories_of_databases(make, tmp_path):
    frame = bills().assign(run=np.repeat([1, 2, 3], N_ROWS // 3))
    frame["gross"] += frame.run
    found = discover_invariants(make(frame, tmp_path), "run")
    assert found.labels == ("1", "2", "3")


@pytest.mark.parametrize("make", EAGER.values(), ids=EAGER)
def test_rows_of_frames_are_picked(make):
    frame = bills()
    chosen = make_row_picker(make(frame), frame.to_numpy())(np.array([3, 1]))
    assert np.array_equal(np.asarray(chosen, dtype=float), frame.to_numpy()[[3, 1]])
