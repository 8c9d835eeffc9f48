"""Rows that a query yields: lazy frames of any library, and tables of databases.

Fitting passes over the rows once per degree, and all passes must see the same ones in the same
order, which databases do not promise. So a query runs once: its own engine writes the rows to a
temporary Parquet file, in batches, and everything else reads that file.
"""

import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as narwhals

from vanishing.arrays.namespace import import_extra
from vanishing.data.csv_files import TableError, import_arrow, list_names
from vanishing.data.source import URL, is_lazy, is_url
from vanishing.levels import BLOCK


class Query:
    """The rows of a query in a temporary Parquet file, which is removed with this object."""

    def __init__(self, write: Callable[[Path], object], where: str) -> None:
        folder = tempfile.mkdtemp(prefix="vanishing-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.where = where
        self.path = Path(folder, "rows.parquet")
        write(self.path)
        if self.path.is_dir():  # Spark writes a file for each partition
            parts = self.path.rename(Path(folder, "parts"))
            dataset = import_arrow("pyarrow.dataset").dataset(parts, format="parquet")
            _write_batches(self.path, dataset.schema, dataset.to_batches())


def find_query(data: Any, name: str = "the table") -> Query | None:
    """Run the query that a lazy frame or the URL of a table stands for; None for other data."""
    if is_url(data):
        return _open_url(data)
    if not is_lazy(data):
        return None
    import_arrow()
    return Query(narwhals.from_native(data).sink_parquet, name)


# --- Tables of databases --------------------------------------------------------------------------


def _open_url(url: str) -> Query:
    found = URL.fullmatch(url)
    assert found is not None
    kind, place, table = found["kind"], found["place"].removeprefix("///"), found["table"]
    if kind not in ("duckdb", "sqlite"):
        return _open_server(f"{kind}:{found['place']}", table)
    if not Path(place).is_file():
        raise FileNotFoundError(f"{url} names {place!r}, but there is no such file")
    return (_open_duckdb if kind == "duckdb" else _open_sqlite)(place, table, url)


def _open_duckdb(place: str, table: str | None, url: str) -> Query:
    duckdb = import_extra("duckdb", extra="sql", purpose="reading DuckDB files")
    try:
        with duckdb.connect(place, read_only=True) as connection:
            every = connection.sql("FROM duckdb_tables() SELECT table_name").fetchall()
            every += connection.sql(
                "FROM duckdb_views() SELECT view_name WHERE NOT internal"
            ).fetchall()
            _check_table(table, [name for (name,) in every], url)
            rows = narwhals.from_native(connection.sql(f"FROM {_quote(table)}"))
            return Query(rows.sink_parquet, url)
    except duckdb.Error as error:
        raise TableError(f"{url} cannot be read: {error}") from error


def _open_sqlite(place: str, table: str | None, url: str) -> Query:
    try:
        with closing(
            sqlite3.connect(f"{Path(place).resolve().as_uri()}?mode=ro", uri=True)
        ) as opened:
            every = opened.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            _check_table(table, [name for (name,) in every], url)
            cursor = opened.execute(f"SELECT * FROM {_quote(table)}")
            names = [each[0] for each in cursor.description]
            # Cells have types of their own there, whatever their column is declared to be.
            types = ", ".join(f"group_concat(DISTINCT typeof({_quote(name)}))" for name in names)
            found = opened.execute(f"SELECT {types} FROM {_quote(table)}").fetchone()
            kinds = [_kind_of_sqlite(each or "null") for each in found]
            return Query(lambda path: _write_rows(path, names, kinds, cursor), url)
    except sqlite3.Error as error:
        raise TableError(f"{url} cannot be read: {error}") from error


def _kind_of_sqlite(types: str) -> type:
    said = set(types.split(",")) - {"null"}
    return str if said & {"text", "blob"} else float if "real" in said or not said else int


def _open_server(address: str, table: str) -> Query:
    """Read a table of a database that SQLAlchemy has a driver for."""
    sql = import_extra("sqlalchemy", extra="sql", purpose="reading tables of databases")
    try:
        url = sql.make_url(address)
        engine = sql.create_engine(url)
    except (sql.exc.ArgumentError, sql.exc.NoSuchModuleError) as error:
        raise TableError(f"{address.partition(':')[0]} is no kind of database: {error}") from error
    except ImportError as error:
        raise ImportError(
            f"reading {url.drivername} needs the driver {error.name}; install it with pip, or name "
            "another one, as in postgresql+psycopg://..."
        ) from error
    where = f"{url.render_as_string(hide_password=True)}#{table}"
    schema, _, name = table.rpartition(".")
    try:
        seen = sql.inspect(engine)
        every = [*seen.get_table_names(), *seen.get_view_names()]
        if table in every or not schema:
            schema, name = "", table
            _check_table(table, every, where)
        found = sql.Table(name, sql.MetaData(), autoload_with=engine, schema=schema or None)
        kinds = [_kind_of_type(column.type) for column in found.columns]
        with engine.connect().execution_options(stream_results=True) as connection:
            rows = connection.execute(sql.select(found))
            return Query(lambda path: _write_rows(path, list(rows.keys()), kinds, rows), where)
    except sql.exc.SQLAlchemyError as error:
        raise TableError(f"{where} cannot be read: {error}") from error
    finally:
        engine.dispose()


def _kind_of_type(declared: Any) -> type:
    try:
        kind = declared.python_type
    except NotImplementedError:
        return str
    if kind in (int, bool):
        return kind  # type: ignore[no-any-return]
    return float if kind.__name__ in ("float", "Decimal") else str


def _check_table(table: str | None, every: Sequence[str], where: str) -> None:
    if table not in every:
        lacks = "names no table" if table is None else f"has no table {table!r}"
        raise TableError(
            f"{where} {lacks}; it has {list_names(every) or 'none'}: name one after a #, as in "
            f"{where.partition('#')[0]}#{every[0] if every else 'table'}"
        )


def _quote(name: str | None) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _write_rows(path: Path, names: Sequence[str], kinds: Sequence[type], cursor: Any) -> None:
    """Write the rows of a cursor in batches, as numbers or texts."""
    arrow = import_arrow()
    types = {int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(), str: arrow.string()}
    schema = arrow.schema([(name, types[kind]) for name, kind in zip(names, kinds, strict=True)])

    def batches() -> Iterable[Any]:
        while rows := cursor.fetchmany(max(1, BLOCK // len(names))):
            columns = zip(*rows, strict=True)
            cells = [
                [None if cell is None else kind(cell) for cell in column]
                for column, kind in zip(columns, kinds, strict=True)
            ]
            yield arrow.record_batch(
                [arrow.array(each, kind) for each, kind in zip(cells, schema.types, strict=True)],
                schema=schema,
            )

    _write_batches(path, schema, batches())


def _write_batches(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    with import_arrow("pyarrow.parquet").ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
