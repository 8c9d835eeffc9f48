"""Rules in the languages of other tools, and rules that are checked in a large file."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from vanishing.app.cli.console import (
    DataError,
    Exit,
    UsageError,
    emit,
    fit_width,
    note,
    say,
    state,
    working,
)
from vanishing.app.cli.options import Output, Reading
from vanishing.app.cli.rules import load_rules_of, read_limit

#: Tools that rules are exported to.
RuleTarget = Literal[
    "sql", "checks", "dbt", "pandas", "pandera", "pointblank", "gx", "soda", "validate", "json",
    "excel",
]  # fmt: skip
RULE_TARGETS = get_args(RuleTarget)
Dialect = Literal["duckdb", "sqlite", "postgresql"]


@dataclass(frozen=True)
class Wanted:
    """What rules are written as, and for which table."""

    dialect: Dialect
    table: str | None
    key: str | None


def _list_writers(wanted: Wanted, frame: Any) -> dict[str, Callable[..., Any]]:
    """Return what writes rules for each tool."""
    from vanishing.rules import export

    def need_table() -> str:
        if wanted.table is None:
            raise UsageError("name the table in the database with --table")
        return wanted.table

    def need_frame() -> Any:
        if frame is None:
            raise UsageError("a workbook holds a table; name it with --points")
        return frame

    keyed: dict[str, Any] = {"dialect": wanted.dialect, "key": wanted.key}
    return {
        "sql": lambda rules, **texts: export.to_sql(rules, need_table(), **keyed, **texts),
        "dbt": lambda rules, **texts: export.to_dbt(rules, need_table(), **keyed, **texts),
        "checks": lambda rules, **texts: export.to_constraints(
            rules, need_table(), wanted.dialect, **texts
        ),
        "gx": lambda rules, **texts: export.to_great_expectations(
            rules, need_table(), wanted.dialect, **texts
        ),
        "soda": lambda rules, **texts: export.to_soda(
            rules, need_table(), wanted.dialect, **texts
        ),
        "excel": lambda rules, **texts: export.to_excel(
            rules, need_frame(), formulas=True, **texts
        ),
        "pandas": export.to_pandas, "pandera": export.to_pandera, "json": export.to_json,
        "pointblank": export.to_pointblank, "validate": export.to_validate,
    }  # fmt: skip


def export_rules(
    path: str, target: RuleTarget, wanted: Wanted, points: str | None, out: str, reading: Reading
) -> dict[str, Any]:
    """Write the rules of a file, or the laws of a model, and return what JSON says."""
    from vanishing.app.cli import tables
    from vanishing.rules import RuleError, Rules

    if target == "excel" and out == tables.PIPE:
        raise UsageError("a workbook is not text; name a file with --out")
    if target == "dbt" and out == tables.PIPE:
        raise UsageError(
            "tests of dbt are several files; name the folder of the project with --out"
        )
    found = load_rules_of(path)
    rules = found if isinstance(found, Rules) else Rules.from_laws(found)
    frame, texts = (None, []) if points is None else _read_frame(points, rules, reading)
    try:
        adapted = rules if frame is None else rules.adapt(frame)
        export = _list_writers(wanted, frame)[target](adapted, texts=texts)
    except RuleError as error:
        raise DataError(f"{path}: {error}") from error
    for each in export.unsaid:
        note(f"{target} cannot say {each}")
    if target == "dbt":
        for name, content in export.files.items():
            place = Path(out) / name
            with tables.refusals(str(place)):
                place.parent.mkdir(parents=True, exist_ok=True)
            _write(str(place), content)
    else:
        (content,) = export.files.values()
        if out != tables.PIPE or not state.json:
            _write(out, content)
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


def _read_frame(path: str, rules: Any, reading: Reading) -> tuple[Any, list[str]]:
    """Read the table of rules, and tell its columns of text."""
    from vanishing.app.cli.tables import read_input
    from vanishing.laws.table import take_table

    table = take_table(replace(read_input(path, reading, set_aside=True, gaps="keep"), notes=()))
    import pandas as pd

    columns = {name: table.values[:, j] for j, name in enumerate(table.shown_names)}
    return pd.DataFrame({**columns, **table.texts}), list(table.texts)


# --- Large files ----------------------------------------------------------------------------------


def is_pushed_down(path: str) -> bool:
    """Say whether a file is so large that it is checked where it lies."""
    from vanishing.data.csv_files import WHOLE_BYTES

    is_known = path.endswith((".parquet", ".pq", ".csv"))
    return is_known and os.path.isfile(path) and os.path.getsize(path) > WHOLE_BYTES


def check_large_file(path: str, rules_path: str, limit: str | None, output: Output) -> int:
    """Check a large file in DuckDB, and show the rows that break rules."""
    from vanishing.rules import RuleError, Rules
    from vanishing.rules.export.pushdown import LargeFile

    stated = load_rules_of(rules_path)
    rules = stated if isinstance(stated, Rules) else Rules.from_laws(stated)
    if output.out is not None or output.report is not None:
        raise UsageError(f"{path} is checked in DuckDB, which writes no files; pass --json")
    with working("checking the rows in DuckDB"):
        try:
            found = LargeFile(path).check(rules)
        except (RuleError, ImportError) as error:
            raise DataError(f"{path}: {error}") from error
    for each in found.unsaid:
        note(f"not checked: {each}")
    if output.json:
        cells = [
            {"row": each.row + 1, "cell": fix.column, "value": fix.value, "fix": fix.fix,
             "rules": [rules[k].id for k in each.laws]}
            for each in found.check for fix in each.fixes
        ]  # fmt: skip
        emit({"rows": found.n_rows, "broken": found.n_broken, "unsaid": list(found.unsaid),
              "cells": cells})  # fmt: skip
    else:
        say(f"{found.n_broken:,} of {found.n_rows:,} rows are broken.")
        for line in found.check.ranked().lines(numbered=True):
            say(fit_width(line))
    most = read_limit(limit, False)
    if most is None:
        return Exit.DONE
    value, is_share = most
    too_many = found.n_broken > (value * found.n_rows if is_share else value)
    return Exit.ANOMALIES if too_many else Exit.DONE
