"""Tools that run exported rules: each is given a table and rules, and names the broken rows."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from vanishing.rules import Rules
from vanishing.rules.export import (
    Export,
    to_constraints,
    to_dbt,
    to_great_expectations,
    to_pandas,
    to_pandera,
    to_pointblank,
    to_sql,
)

#: Column that numbers the rows.
KEY = "number of the row"
TABLE = "orders"
#: Rows that break each rule, by its id.
Broken = dict[str, set[int]]
Engine = Callable[[pd.DataFrame, Rules], tuple[Broken, tuple[str, ...]]]


def list_texts(frame: pd.DataFrame, rules: Rules) -> list[str]:
    """Return the columns of text and dates."""
    numbers = {each.name for each in rules.columns}
    return [
        str(name) for name in frame
        if frame[name].dtype.kind not in "iufb" and str(name) not in numbers
    ]  # fmt: skip


def number_rows(frame: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Return a table with dates as texts and a column that numbers the rows."""
    columns: dict[str, Any] = {}
    texts = list_texts(frame, rules)
    for name in frame:
        cells = frame[name]
        if str(name) not in texts:
            columns[str(name)] = pd.to_numeric(cells, errors="coerce").astype(float)
            continue
        if cells.dtype.kind == "M":
            cells = cells.dt.strftime("%Y-%m-%d")
        columns[str(name)] = [None if each != each or each in ("", None) else str(each)
                              for each in cells.tolist()]  # fmt: skip
    return pd.DataFrame(columns | {KEY: range(len(frame))}, dtype=None)


def _collect(rules: Rules, found: Iterator[tuple[str, int]]) -> Broken:
    broken: Broken = {rule.id: set() for rule in rules}
    for rule, row in found:
        broken[rule].add(int(row))
    return broken


def _has_query(text: str) -> bool:
    return any(not line.startswith("--") for line in text.splitlines())


def run_duckdb(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Run the query of DuckDB."""
    export = to_sql(rules, TABLE, "duckdb", key=KEY, texts=list_texts(frame, rules))
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        numbered = number_rows(frame, rules)
        connection.register("given", pa.Table.from_pandas(numbered, preserve_index=False))
        connection.execute(f'CREATE TABLE "{TABLE}" AS SELECT * FROM given')
        rows = connection.execute(export.text).fetchall() if _has_query(export.text) else []
    return _collect(rules, iter(rows)), export.unsaid


def write_sqlite_table(
    connection: sqlite3.Connection, numbered: pd.DataFrame, constraints: str = ""
) -> None:
    """Write a table into a database, without rows that break a constraint."""
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in numbered)
    connection.execute(f'CREATE TABLE "{TABLE}" ({names}{constraints})')
    marks = ", ".join("?" * numbered.shape[1])
    cells = numbered.astype(object).where(numbered.notna(), None)
    insert = f'INSERT OR IGNORE INTO "{TABLE}" VALUES ({marks})'
    connection.executemany(insert, cells.values.tolist())


def run_sqlite(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Run the query of SQLite."""
    export = to_sql(rules, TABLE, "sqlite", key=KEY, texts=list_texts(frame, rules))
    connection = sqlite3.connect(":memory:")
    write_sqlite_table(connection, number_rows(frame, rules))
    rows = connection.execute(export.text).fetchall() if _has_query(export.text) else []
    connection.close()
    return _collect(rules, iter(rows)), export.unsaid


def run_checks(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Insert the rows into a table of SQLite with one constraint, and read which it refuses."""
    texts, numbered = list_texts(frame, rules), number_rows(frame, rules)
    broken: Broken = {}
    for rule in rules:
        export = to_constraints(replace(rules, rules=(rule,)), TABLE, "sqlite", texts=texts)
        constraint = f",\n{export.text}" if _has_query(export.text) else ""
        broken[rule.id] = set()
        for rows in (numbered, numbered[::-1]):  # UNIQUE keeps the first of equal cells
            with closing(sqlite3.connect(":memory:")) as connection:
                write_sqlite_table(connection, rows, constraint)
                kept = connection.execute(f'SELECT "{KEY}" FROM "{TABLE}"').fetchall()
            broken[rule.id] |= set(range(len(frame))) - {row for (row,) in kept}
    return broken, to_constraints(rules, TABLE, "sqlite", texts=texts).unsaid


# --- dbt ------------------------------------------------------------------------------------------

#: Schema of the tables in which failures are stored.
AUDIT = "main_dbt_test__audit"
_PROJECT = """\
name: example
version: "1.0"
profile: example
flags: {send_anonymous_usage_stats: false}
data_tests: {+store_failures: true}
"""
_PROFILES = """\
example:
  target: dev
  outputs:
    dev: {{type: duckdb, path: {}}}
"""


@contextmanager
def start_dbt() -> Iterator[Engine]:
    """Make a project of dbt in a temporary folder, in which tests are run."""
    from dbt.cli.main import dbtRunner

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dbt_project.yml").write_text(_PROJECT)
        database = str(folder / "example.duckdb")
        (folder / "profiles.yml").write_text(_PROFILES.format(json.dumps(database)))
        (folder / "models").mkdir()
        (folder / "models" / f"{TABLE}.sql").write_text("SELECT * FROM given")
        place = ["--project-dir", name, "--profiles-dir", name]

        def run(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
            """Run the tests, and read the failures that they store."""
            export = to_dbt(rules, TABLE, key=KEY, texts=list_texts(frame, rules))
            shutil.rmtree(folder / "tests", ignore_errors=True)
            for path, content in export.files.items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_text(content, encoding="utf-8")
            numbered = pa.Table.from_pandas(number_rows(frame, rules), preserve_index=False)
            with duckdb.connect(database) as connection:
                connection.register("numbered", numbered)
                connection.execute(f"DROP SCHEMA IF EXISTS {AUDIT} CASCADE")
                connection.execute("CREATE OR REPLACE TABLE given AS FROM numbered")
            done = dbtRunner().invoke(["--log-level", "none", "build", *place])
            if done.exception is not None:
                raise done.exception
            rows = []
            with duckdb.connect(database) as connection:
                for node in done.result:
                    if node.node.resource_type == "test":
                        name = node.node.name
                        rows += connection.execute(f'FROM {AUDIT}."{name}"').fetchall()
            return _collect(rules, iter(rows)), export.unsaid

        yield run


# --- PostgreSQL -----------------------------------------------------------------------------------


def find_postgresql() -> Path | None:
    """Return the folder of the server's programs, None where it is not installed."""
    folders = [*Path("/usr/lib/postgresql").glob("*/bin")]
    if found := shutil.which("initdb"):
        folders.insert(0, Path(found).resolve().parent)
    return next((each for each in folders if (each / "initdb").exists()), None)


class Postgresql(NamedTuple):
    """A server that listens in a folder; called like the other tools."""

    folder: str
    port: int

    @property
    def url(self) -> str:
        """What SQLAlchemy connects to, by the driver psycopg."""
        return f"postgresql+psycopg://tester@/postgres?host={self.folder}&port={self.port}"

    def ask(self, text: str) -> list[list[str]]:
        """Run SQL and return the cells of the last result."""
        server = ["-h", self.folder, "-p", str(self.port), "-U", "tester", "-d", "postgres"]
        command = ["psql", "-XqAt0", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", *server]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return [line.split("\x1f") for line in done.stdout.decode().split("\0")[:-1]]

    def __call__(self, frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
        """Run the query of PostgreSQL."""
        export = to_sql(rules, TABLE, "postgresql", key=KEY, texts=list_texts(frame, rules))
        rows: list[Any] = self.ask(write_postgresql_table(frame, rules) + export.text)
        return _collect(rules, ((rule, int(float(row))) for rule, row in rows)), export.unsaid


@contextmanager
def start_postgresql() -> Iterator[Postgresql]:
    """Start a server in a temporary folder, as a user other than root."""
    programs = find_postgresql()
    assert programs is not None
    user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    prefix = user if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if prefix:
            shutil.chown(folder, "nobody", "nogroup")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        data = f"{folder}/data"

        def run(program: str, *given: str) -> None:
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8"}
            subprocess.run([*prefix, str(programs / program), *given], check=True, cwd=folder,
                           env=environment, stdout=subprocess.DEVNULL)  # fmt: skip

        run("initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync")
        options = f"-k {folder} -h '' -p {port} -F"
        run("pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield Postgresql(folder, port)
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def write_postgresql_table(frame: pd.DataFrame, rules: Rules) -> str:
    """Return commands that make a table anew."""
    numbered, texts = number_rows(frame, rules), list_texts(frame, rules)
    columns = ", ".join(
        '"' + name.replace('"', '""') + '" ' + ("TEXT" if name in texts else "DOUBLE PRECISION")
        for name in numbered
    )
    cells = numbered.to_csv(index=False, header=False)
    return (
        f'SET client_min_messages = error; DROP TABLE IF EXISTS "{TABLE}";\n'
        f'CREATE TABLE "{TABLE}" ({columns});\n'
        f'COPY "{TABLE}" FROM STDIN (FORMAT csv);\n{cells}\\.\n'
    )


# --- Python ---------------------------------------------------------------------------------------


def _run_code(export: Export) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(export.text, next(iter(export.files)), "exec"), scope)
    return scope


def run_pandas(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Run the generated functions."""
    export = to_pandas(rules, texts=list_texts(frame, rules))
    numbered = number_rows(frame, rules)
    with np.errstate(all="ignore"):
        found = {
            name: set(np.flatnonzero(np.asarray(function(numbered), dtype=bool)).tolist())
            for name, function in _run_code(export)["BROKEN"].items()
        }
    return {rule.id: found.get(rule.id, set()) for rule in rules}, export.unsaid


def run_pandera(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Validate by the generated schema, and read its failure cases."""
    from pandera.errors import SchemaErrors

    export = to_pandera(rules, texts=list_texts(frame, rules))
    broken: Broken = {rule.id: set() for rule in rules}
    try:
        with np.errstate(all="ignore"):
            _run_code(export)["schema"].validate(number_rows(frame, rules), lazy=True)
    except SchemaErrors as errors:
        for error in errors.schema_errors:
            broken[error.check.name] |= set(error.failure_cases["index"])
    return broken, export.unsaid


def run_pointblank(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Run the generated validation, and read the rows that fail each step."""
    export = to_pointblank(rules, texts=list_texts(frame, rules))
    scope = _run_code(export)
    broken: Broken = {rule.id: set() for rule in rules}
    if scope["BROKEN"]:
        with np.errstate(all="ignore"):
            validation = scope["validate"](number_rows(frame, rules))
        for step, name in enumerate(scope["BROKEN"], 1):
            rows = validation.get_data_extracts(i=step, frame=True)
            broken[name] |= set() if rows is None else set(map(int, rows[KEY]))
    return broken, export.unsaid


def run_great_expectations(frame: pd.DataFrame, rules: Rules) -> tuple[Broken, tuple[str, ...]]:
    """Run the generated suite on a table of SQLite, and read the unexpected rows."""
    import great_expectations as gx

    export = to_great_expectations(rules, TABLE, key=KEY, texts=list_texts(frame, rules))
    suite = gx.ExpectationSuite(**json.loads(export.text))
    numbered = number_rows(frame, rules)
    broken: Broken = {rule.id: set() for rule in rules}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table.db"
        with sqlite3.connect(path) as connection:
            write_sqlite_table(connection, numbered)
        connection.close()
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_sqlite("file", connection_string=f"sqlite:///{path}")
        asset = source.add_table_asset("asset", table_name=TABLE)
        batch = asset.add_batch_definition_whole_table("all").get_batch()
        for each in suite.expectations:
            result = batch.validate(each, result_format="COMPLETE")
            rows = result.result["details"]["unexpected_rows"]
            broken[each.meta["rule"]] |= {int(row[KEY]) for row in rows}
    return broken, export.unsaid


def list_tools() -> dict[str, Engine]:
    """Return the tools that are installed; PostgreSQL is started apart."""
    tools: dict[str, Engine] = {
        "DuckDB": run_duckdb, "SQLite": run_sqlite, "CHECK constraints": run_checks,
        "pandas": run_pandas,
    }  # fmt: skip
    others = {
        "pandera": run_pandera, "pointblank": run_pointblank,
        "great_expectations": run_great_expectations,
    }  # fmt: skip
    return tools | {name: run for name, run in others.items() if find_spec(name) is not None}
