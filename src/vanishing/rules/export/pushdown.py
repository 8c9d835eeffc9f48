"""Large tables, checked where they lie: DuckDB reads them, and only broken rows travel."""

import math
import os
from dataclasses import dataclass, replace
from typing import Any

from vanishing.arrays.namespace import import_extra
from vanishing.data.source import URL, is_url
from vanishing.laws.check import Check
from vanishing.laws.laws import Laws
from vanishing.laws.table import MOST_DRAWN
from vanishing.rules.export.sql import SqlPrinter, quote, quote_text
from vanishing.rules.rules import Rules

#: Column of the number of a row in its file.
ROW = "file_row_number"


@dataclass(frozen=True)
class PushedCheck:
    """What was found in a large file.

    ``check`` has the broken rows that were looked at, by their numbers in the file from 0, and
    ``n_broken`` counts all that DuckDB found. ``unsaid`` are the rules that were not checked, each
    with the reason.
    """

    check: Check
    n_rows: int
    n_broken: int
    unsaid: tuple[str, ...]


class LargeFile:
    """A Parquet or CSV file that DuckDB reads, or a table such as "duckdb:warehouse.db#orders".

    DuckDB may take so much ``memory`` and so many ``threads``, by default as many as there are
    processors.
    """

    def __init__(
        self, path: str | os.PathLike[str], memory: str = "1GB", threads: int | None = None
    ) -> None:
        duckdb: Any = import_extra("duckdb", extra="sql", purpose="checking a large file")
        name = os.fspath(path)
        url = URL.fullmatch(name) if is_url(name) else None
        is_parquet = name.endswith((".parquet", ".pq")) and url is None
        # Rows need no order in the result: they are numbered.
        self.connection = duckdb.connect(
            config={"memory_limit": memory, "preserve_insertion_order": not is_parquet}
            | ({} if threads is None else {"threads": threads})
        )
        if url is not None:
            file = quote_text(url["place"].removeprefix("///"))
            self.connection.execute(f"ATTACH {file} AS given (READ_ONLY)")
            self.source = f"given.{quote(url['table'] or '')}"
        else:
            text = quote_text(os.path.abspath(name))
            self.source = f"read_{'parquet' if is_parquet else 'csv'}({text})"
        numbered = f"read_parquet({text}, file_row_number = true)" if is_parquet else ""
        others = f"(SELECT *, ROW_NUMBER() OVER () - 1 AS {ROW} FROM {self.source})"
        self.numbered = numbered or others
        described = self.connection.execute(f"DESCRIBE SELECT * FROM {self.source}").fetchall()
        self.kinds = {name: kind for name, kind, *_ in described}

    @property
    def texts(self) -> list[str]:
        """Columns that are not numbers."""
        return [name for name, kind in self.kinds.items() if not kind.startswith(_NUMBERS)]

    def draw(self, n_rows: int = MOST_DRAWN, seed: int = 0) -> Any:
        """Return rows that DuckDB draws at random, as a frame of pandas."""
        return self.connection.execute(
            f"SELECT * FROM {self.source} USING SAMPLE reservoir({n_rows} ROWS) REPEATABLE ({seed})"
        ).df()

    def check(self, rules: Rules, most: int = 1000, sample: Any = None) -> PushedCheck:
        """Find the rows that break rules in DuckDB, and their cells as ``Rules.check`` does.

        The digits that rounding allows for are those of a sample, from ``draw`` if it is not given.
        At most so many broken rows are looked at. Missing cells are not filled in.
        """
        drawn = self.draw() if sample is None else sample
        adapted = rules.adapt(drawn)
        said, unsaid = SqlPrinter(adapted, "duckdb", texts=self.texts).write_rules()
        broken = " OR ".join(f"({text})" for _, text in said) or "FALSE"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE broken AS SELECT * FROM {self.numbered} WHERE {broken}"
        )
        (n_broken,) = self.connection.execute("SELECT COUNT(*) FROM broken").fetchone()
        (n_rows,) = self.connection.execute(f"SELECT COUNT(*) FROM {self.source}").fetchone()
        found = self.connection.execute(
            f"SELECT * FROM broken ORDER BY {quote(ROW)} LIMIT {most}"
        ).df()
        numbers = found.pop(ROW).to_numpy()
        kept = replace(rules, rules=tuple(rule for rule, _ in said))
        check = replace(_check_with(drawn, found, numbers, kept), n_rows=n_rows)
        return PushedCheck(check, n_rows, n_broken, unsaid)


#: Beginnings of the names of types of numbers.
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
            "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")  # fmt: skip


def _check_with(drawn: Any, found: Any, numbers: Any, rules: Rules) -> Check:
    """Check rows beside those of a sample, which tell the digits of the columns."""
    import pandas as pd

    both = pd.concat([drawn, found], ignore_index=True)
    checked = rules.check(both)
    rows = [
        replace(
            each, row=int(numbers[each.row - len(drawn)]), name=int(numbers[each.row - len(drawn)])
        )
        for each in checked
        if each.row >= len(drawn) and not each.is_missing
    ]
    return replace(checked, rows=rows, unchecked=(), gaps={}, outside=())


def describe_sample(n_rows: int, laws: Laws) -> str:
    """Say how large a sample is, and what it tells about the table.

    With a chance of 95 %, a law that none of n rows breaks is broken by a share p of all of at most
    1 - 0.05^(1/n).
    """
    most = 1 - math.pow(0.05, 1 / max(n_rows, 1))
    return (
        f"{len(laws)} laws were found in {n_rows:,} rows drawn at random; what none of them "
        f"breaks, at most {100 * most:.2g} % of all rows break (95 % confidence)"
    )
