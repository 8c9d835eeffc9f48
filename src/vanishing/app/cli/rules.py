"""Files of rules: written by ``laws``, checked by ``check``, exported to other tools."""

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

from vanishing.app.cli.console import (
    DataError,
    Exit,
    ModelError,
    UsageError,
    emit,
    fit_width,
    note,
    say,
    state,
    visible,
    working,
)
from vanishing.app.cli.options import Annotation, Output, Reading

#: Of SARIF, the version and the schema that editors and servers know.
SARIF = "2.1.0", "https://json.schemastore.org/sarif-2.1.0.json"


# --- Files ----------------------------------------------------------------------------------------


def check_rules_files(save: str | None, update: str | None) -> None:
    """Refuse files of rules that cannot be written, before laws are looked for."""
    if save and update:
        raise UsageError("--save writes a new file of rules, --update an old one; choose one")
    if save and Path(save).exists():
        raise UsageError(f"{save} is there already; pass --update {save}, which keeps your rules")
    if update:
        load_rules_of(update)


def write_rules_of(found: Any, save: str | None, update: str | None) -> dict[str, Any]:
    """Write laws as a file of rules, or into one; return what JSON says of that."""
    from vanishing.app.cli.tables import refusals
    from vanishing.data.atomic import write_atomic
    from vanishing.rules import Rules, update_rules, write_rules

    path = save or update
    if path is None:
        return {}
    rules = Rules.from_laws(found)
    for text in rules.unsaid:
        note(f"a rule cannot say {text}")
    changes: list[Any] = []
    if update:
        text, changes = update_rules(Path(update).read_text(encoding="utf-8"), rules)
    else:
        text = write_rules(rules)
    with refusals(path):
        write_atomic(path, text.encode())
    record: dict[str, Any] = {"saved": path, "unsaid": list(rules.unsaid)}
    if update:
        listed = [{"kind": each.kind, "id": each.rule.id, "text": each.text} for each in changes]
        record["changes"] = listed
    return record


def show_changes(record: dict[str, Any]) -> None:
    """Print what is new, gone or different in a file of rules."""
    if "changes" in record:
        said = len(record["changes"]) or "nothing"
        say(f"Since {record['saved']} was written, {said} changed{':' * (said != 'nothing')}")
        for each in record["changes"]:
            say(f"  {each['kind']:<7}  {each['id']}: {each['text']}")


def load_rules_of(path: str) -> Any:
    """Load a file of rules, or laws from a model file."""
    from vanishing import load
    from vanishing.app.cli.models import is_model_file
    from vanishing.app.cli.tables import check_inputs
    from vanishing.laws.laws import Laws
    from vanishing.rules import RuleError, load_rules
    from vanishing.saving import ModelFileError

    check_inputs([path])
    try:
        found = load(path) if is_model_file(path) else load_rules(path)
    except (RuleError, ModelFileError) as error:
        raise ModelError(str(error)) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    if isinstance(found, Laws):
        return found
    if not hasattr(found, "rules"):
        raise ModelError(f"{path} has no laws; it is a {type(found).__name__}")
    return found


# --- What is shown --------------------------------------------------------------------------------


def summarize(rules: Any, path: str) -> str:
    """Say in one line what a file holds."""
    n_own = sum(rule.source == "person" for rule in rules)
    what = "One rule" if len(rules) == 1 else f"{len(rules)} rules"
    own = f", {n_own} written by people" if n_own else ""
    return f"{what} in {path}{own}."


def list_rules(rules: Any) -> list[str]:
    """Return the rules as numbered lines, with their notes."""
    width = len(str(len(rules))) + 2
    lines = []
    for k, rule in enumerate(rules, 1):
        where = "" if rule.where is None else f" where {rule.where}"
        said = f"  ({rule.note})" if rule.note else ""
        lines.append(f"{f'[{k}]':<{width}} {rule.text}{where}{said}")
    return lines


def describe_rules(rules: Any, path: str) -> dict[str, Any]:
    """Return what JSON says of rules."""
    return {
        "summary": summarize(rules, path),
        "rules": [
            {
                "id": rule.id,
                "text": str(rule),
                "kind": rule.kind,
                "source": rule.source,
                "note": rule.note,
                "columns": list(rule.columns),
            }
            for rule in rules
        ],
    }


# --- How many broken rows are too many ------------------------------------------------------------


def read_limit(text: str | None, fails: bool) -> tuple[float, bool] | None:
    """Return how many rows may be broken, and whether that is a share of them."""
    if text is None:
        return (0.0, False) if fails else None
    is_share = text.endswith("%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (not is_share and value != int(value)):
        raise UsageError(
            f"--max-broken takes a number of rows or a share such as 0.1%, got {text!r}"
        )
    return (value / 100, True) if is_share else (value, False)


def exceeds(limit: tuple[float, bool], checked: Any) -> bool:
    """Say whether more rows are broken than may be, typos included."""
    wrong = {each.row for each in checked if not each.is_missing}
    wrong |= {each.row for each in checked for fix in each.fixes if fix.text}
    most, is_share = limit
    return len(wrong) > (most * checked.n_rows if is_share else most)


# --- Annotations ----------------------------------------------------------------------------------


def annotate(kind: Annotation, found: Any, checked: Any, table: Any) -> Any:
    """Return what is wrong as lines of GitHub, or as an object of SARIF; rows in their order."""
    names = [getattr(law, "id", str(law)) for law in found]
    wrong = []
    for each, sentence in zip(checked, checked.sentences(), strict=True):
        has_text = any(fix.text for fix in each.fixes)
        if each.is_missing and not has_text:
            continue  # it can be filled in
        name = "not-a-number" if has_text else names[each.laws[0]] if each.laws else "total"
        wrong.append((name, sentence, table.find_line(int(table.rows[each.row]))))
    path = Path(table.where).as_posix()
    if kind == "github":
        return [_write_github(path, *each) for each in wrong]
    return _write_sarif(path, wrong, dict(zip(names, map(str, checked.laws), strict=True)))


def _write_github(path: str, name: str, sentence: str, line: int | None) -> str:
    """Return a workflow command, in which some characters are escaped."""

    def escape(text: str, more: str = "") -> str:
        return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)

    place = f",line={line}" if line else ""
    return (
        f"::error file={escape(path, ':,')}{place},title={escape(name, ':,')}::{escape(sentence)}"
    )


def _write_sarif(
    path: str, wrong: list[tuple[str, str, int | None]], laws: dict[str, str]
) -> dict[str, Any]:
    import vanishing

    version, schema = SARIF
    laws = laws | {name: name for name, _, _ in wrong if name not in laws}
    places = list(laws)
    results = []
    for name, sentence, line in wrong:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(path)}}
        if line:
            place["region"] = {"startLine": line}
        results.append(
            {
                "ruleId": name,
                "ruleIndex": places.index(name),
                "level": "error",
                "message": {"text": sentence},
                "locations": [{"physicalLocation": place}],
            }
        )
    driver = {
        "name": "vanishing",
        "version": vanishing.__version__,
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in laws.items()],
    }
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return {"$schema": schema, "version": version, "runs": [run]}


# --- Rules in the languages of other tools --------------------------------------------------------

#: Tools that rules are exported to.
RuleTarget = Literal[
    "sql", "checks", "dbt", "pandas", "pandera", "pointblank", "gx", "soda", "validate", "json",
    "excel",
]  # fmt: skip
RULE_TARGETS = get_args(RuleTarget)
#: What is called otherwise by the functions that write rules.
LONG_NAMES = {"checks": "constraints", "gx": "great_expectations"}
#: Options of those that write SQL.
SQL_OPTIONS = dict.fromkeys(("checks", "gx", "soda"), ("table", "dialect"))
SQL_OPTIONS |= dict.fromkeys(("sql", "dbt"), ("table", "dialect", "key"))
Dialect = Literal["duckdb", "sqlite", "postgresql"]


def export_rules(path: str, target: RuleTarget, asked: Any, reading: Reading) -> dict[str, Any]:
    """Write the rules of a file, or the laws of a model, and return what JSON says."""
    from vanishing.app.cli.tables import PIPE, refusals
    from vanishing.rules import RuleError, Rules
    from vanishing.rules import export as writers

    out, options = asked.out, {name: getattr(asked, name) for name in SQL_OPTIONS.get(target, ())}
    if target == "excel" and out == PIPE:
        raise UsageError("a workbook is not text; name a file with --out")
    if target == "dbt" and out == PIPE:
        raise UsageError(
            "tests of dbt are several files; name the folder of the project with --out"
        )
    if target == "excel" and asked.points is None:
        raise UsageError("a workbook holds a table; name it with --points")
    if options and asked.table is None:
        raise UsageError("name the table in the database with --table")
    found = load_rules_of(path)
    rules = found if isinstance(found, Rules) else Rules.from_laws(found)
    frame, texts = (None, []) if asked.points is None else _read_frame(asked.points, reading)
    if target == "excel":
        options = {"frame": frame, "formulas": True}
    write = getattr(writers, f"to_{LONG_NAMES.get(target, target)}")
    try:
        export = write(rules if frame is None else rules.adapt(frame), texts=texts, **options)
    except RuleError as error:
        raise DataError(f"{path}: {error}") from error
    for each in export.unsaid:
        note(f"{target} cannot say {each}")
    if target == "dbt":
        for name, content in export.files.items():
            place = Path(out) / name
            with refusals(str(place)):
                place.parent.mkdir(parents=True, exist_ok=True)
            _write(str(place), content)
    else:
        (content,) = export.files.values()
        if out != PIPE or not state.json:
            _write(out, content)
    record = {"target": target, "out": out, "files": list(export.files)}
    shown = {} if target in ("excel", "dbt") else {"text": export.text}
    return record | {"unsaid": list(export.unsaid)} | shown


def _write(path: str, content: str | bytes) -> None:
    from vanishing.app.cli.tables import PIPE, output_file

    if isinstance(content, str):
        content = (visible(content) if path == PIPE else content).encode()
    with output_file(path) as file:
        file.write(content)


def _read_frame(path: str, reading: Reading) -> tuple[Any, list[str]]:
    """Read the table of rules, and tell its columns of text."""
    import pandas as pd

    from vanishing.app.cli.tables import read_input
    from vanishing.laws.table import take_table

    table = take_table(replace(read_input(path, reading, set_aside=True, gaps="keep"), notes=()))
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
        cells = []
        for each in found.check:
            broken = [rules[k].id for k in each.laws]
            for fix in each.fixes:
                cell = {"row": each.row + 1, "cell": fix.column, "value": fix.value}
                cells.append(cell | {"fix": fix.fix, "rules": broken})
        record = {"rows": found.n_rows, "broken": found.n_broken, "unsaid": list(found.unsaid)}
        emit(record | {"cells": cells})
    else:
        say(f"{found.n_broken:,} of {found.n_rows:,} rows are broken.")
        for line in found.check.ranked().lines(numbered=True):
            say(fit_width(line))
    value, is_share = read_limit(limit, False) or (math.inf, False)
    too_many = found.n_broken > (value * found.n_rows if is_share else value)
    return Exit.ANOMALIES if too_many else Exit.DONE
