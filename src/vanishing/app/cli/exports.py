"""Rules in the languages of other tools, and rules that are checked in a large file."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

from vanishing.app.cli.console import (
    DataError,
    Exit,
    UsageError,
    emit,
    fit_width,
    note,
    note_files,
    pick,
    say,
    state,
    working,
)
from vanishing.app.cli.options import Output, Reading, list_choices, option
from vanishing.app.cli.rules import (
    Limit,
    describe_cells,
    describe_rules,
    is_more,
    load_rules_of,
    show_rules,
)

#: Tools that rules are exported to.
RuleTarget = Literal[
    "sql", "checks", "dbt", "pandas", "pandera", "pointblank", "gx", "soda", "validate", "json",
    "excel",
]  # fmt: skip
RULE_TARGETS = get_args(RuleTarget)
Dialect = Literal["duckdb", "sqlite", "postgresql"]


class RuleWriting(Reading):
    """What is written, and for which table."""

    points: str | None = option(
        "Options",
        "TABLE",
        "Table of the points: used to shorten the equations (sympy, latex), or to prove "
        "exact ones on its numbers as they are written (rational, computer algebra). Of rules, the "
        "table that they are for: its digits and columns of text count (excel: it is written).",
    )
    dialect: Dialect = option(
        "Options",
        "NAME",
        f"SQL of which database (sql, checks, dbt, gx, soda): {list_choices(Dialect)}.",
        default="duckdb",
    )
    table: str | None = option("Options", "NAME", "Table that the SQL is about.")
    key: str | None = option(
        "Options",
        "COLUMN",
        "Column that tells the rows and their order (sql, dbt); rules about the row before "
        "need it.",
    )
    out: str = option(
        "Output", "FILE", "File to write.", "-o", default="-", show_default="standard output"
    )


def _choose_writer(
    target: RuleTarget, asked: RuleWriting, frame: Any, strays: Any
) -> Callable[..., Any]:
    """Return what writes rules for a tool."""
    from vanishing.rules import export

    if target in ("sql", "dbt", "checks", "gx", "soda") and asked.table is None:
        raise UsageError("name the table in the database with --table")
    if target == "excel" and frame is None:
        raise UsageError("a workbook holds a table; name it with --points")
    name = {"checks": "constraints", "gx": "great_expectations"}.get(target, target)
    write: Callable[..., Any] = getattr(export, f"to_{name}")
    known = pick(asked, "table", "dialect", "key")
    known |= {"frame": frame, "strays": strays, "formulas": True}
    taken = known.keys() & signature(write).parameters.keys()
    return partial(write, **{each: known[each] for each in taken})


def export_rules(path: str, target: RuleTarget, asked: RuleWriting) -> dict[str, Any]:
    """Write the rules of a file, or the laws of a model, and return what JSON says."""
    from vanishing.app.cli import tables
    from vanishing.rules import RuleError, Rules

    points, out = asked.points, asked.out
    if target == "excel" and out == tables.PIPE:
        raise UsageError("a workbook is not text; name a file with --out")
    if target == "dbt" and out == tables.PIPE:
        raise UsageError(
            "tests of dbt are several files; name the folder of the project with --out"
        )
    found = load_rules_of(path)
    rules = found if isinstance(found, Rules) else Rules.from_laws(found)
    frame, texts, strays = None, list[str](), None
    if points is not None:
        frame, texts, strays = _read_frame(points, asked)
    try:
        adapted = rules if frame is None else rules.adapt(frame)
        export = _choose_writer(target, asked, frame, strays)(adapted, texts=texts)
    except RuleError as error:
        raise DataError(f"{path}: {error}") from error
    except ValueError as error:  # such as a column without a name
        raise DataError(f"{points}: {error}") from error
    for each in export.unsaid:
        note(f"{target} cannot say {each}")
    if target == "dbt":
        for name, content in export.files.items():
            place = Path(out) / name
            with tables.refusals(str(place)):
                place.parent.mkdir(parents=True, exist_ok=True)
            _write(str(place), content)
        note(f"wrote {len(export.files)} files to {Path(out) / 'tests'}")
    else:
        (content,) = export.files.values()
        if out != tables.PIPE or not state.json:
            _write(out, content)
        note_files(out)
    shown = {} if target in ("excel", "dbt") else {"text": export.text}
    return {"target": target, "out": out, "files": list(export.files),
            "unsaid": list(export.unsaid)} | shown  # fmt: skip


def _write(path: str, content: str | bytes) -> None:
    from vanishing.app.cli.console import visible
    from vanishing.app.cli.tables import PIPE, output_file

    if isinstance(content, str):
        content = (visible(content) if path == PIPE else content).encode()
    with output_file(path) as file:
        file.write(content)


def _read_frame(path: str, reading: Reading) -> tuple[Any, list[str], dict[tuple[int, str], str]]:
    """Read the table of rules; tell its columns of text, and its cells that are not numbers."""
    import pandas as pd

    from vanishing.app.cli.tables import read_input
    from vanishing.laws.table import take_table

    read = read_input(path, reading, set_aside=True, gaps="keep", used=None)
    table = take_table(replace(read, notes=()))
    numbers = dict(zip(table.shown_names, table.values.T, strict=True))
    frame = pd.DataFrame({**numbers, **table.texts})
    return frame[sorted(frame, key=table.columns.index)], list(table.texts), read.stray_texts


# --- Large files ----------------------------------------------------------------------------------


def is_pushed_down(path: str) -> bool:
    """Say whether a file is so large that it is checked where it lies."""
    from vanishing.data.csv_files import is_read_whole
    from vanishing.data.source import URL, is_url

    url = URL.fullmatch(path) if is_url(path) else None
    if url is not None and url["kind"] == "duckdb" and url["table"]:
        path = url["place"].removeprefix("///")
    elif not path.endswith((".parquet", ".pq", ".csv")):
        return False
    return os.path.isfile(path) and not is_read_whole(path)


def check_large_file(path: str, rules_path: str, limit: Limit | None, output: Output) -> int:
    """Check a large file in DuckDB, and show the rows that break rules."""
    from vanishing.arrays.namespace import import_extra
    from vanishing.rules import RuleError, Rules
    from vanishing.rules.export.pushdown import LargeFile

    duckdb = import_extra("duckdb", extra="sql", purpose="checking a large file")
    stated = load_rules_of(rules_path)
    rules = stated if isinstance(stated, Rules) else Rules.from_laws(stated)
    if output.out is not None or output.report is not None:
        raise UsageError(f"{path} is checked in DuckDB, which writes no files; pass --json")
    with working("checking the rows in DuckDB"):
        try:
            found = LargeFile(path).check(rules)
        except (RuleError, duckdb.Error) as error:
            raise DataError(f"{path}: {error}") from error
    for each in found.unsaid:
        note(f"not checked: {each}")
    if state.json:
        cells = [{"row": row + 1} | cell for row, cell in describe_cells(found.check)]
        counts = {"rows": found.n_rows, "broken": found.n_broken, "unsaid": list(found.unsaid)}
        emit(describe_rules(rules, rules_path) | counts | {"cells": cells})
    else:
        show_rules(rules, rules_path)
        say()
        named = [replace(each, name=each.row + 1) for each in found.check]
        for line in replace(found.check, rows=named).ranked().lines(numbered=True):
            say(fit_width(line))
        n_shown = len({each.row for each in named})
        if found.n_broken > n_shown:
            say(f"{found.n_broken:,} rows break a law; the first {n_shown:,} were looked at.")
    if limit is not None and len(found.unsaid) == len(rules):
        raise DataError(f"{path}: no rule can be checked in DuckDB; drop --max-broken, or add one")
    too_many = limit is not None and is_more(found.n_broken, found.n_rows, limit)
    return Exit.ANOMALIES if too_many else Exit.DONE
