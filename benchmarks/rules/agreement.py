"""Do other tools name the rows that we call broken? ``python -m benchmarks.rules.agreement``.

Writes ``agreement_results.md`` and ``.json`` beside this file. The laws of each table are found,
written as rules, exported to each tool, and run there on the table as it is and with six planted
errors (changed, moved and missing cells, zeros, a very large number). Rows that a tool names are
compared with those that break a rule by ``Laws.check``, and rule by rule with
``Rules.find_broken``.
Rules that a tool cannot say are counted and listed, and so are rows that break only such rules. Of
chains such as balance = previous balance + amount, ``check`` corrects a wrong cell and goes on, but
a query also names the row after it; these rows are listed apart.

CHECK constraints are those of SQLite. dbt, pandera, pointblank and Great Expectations are compared
where they are installed, as they are in the environment of ``make test-exports``. Spreadsheets that
people made are read from ``VANISHING_DATA`` if it is set.
"""

import argparse
import json
import sqlite3
import warnings
from collections import Counter
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import describe, table, write
from benchmarks.rules import engines
from benchmarks.rules.tables import list_tables, list_versions

from vanishing import discover
from vanishing.rules import Rules

SEED = 0
HERE = Path(__file__).parent


def compare(frame: pd.DataFrame, laws: Any, tools: dict[str, engines.Engine]) -> dict[str, Any]:
    """Export the laws of a table to each tool, and count the rows that are named differently."""
    checked = laws.check(frame)
    rules = Rules.from_laws(laws).adapt(frame)
    oracle = {
        rule.id: set(np.flatnonzero(rules.find_broken(rule, frame)[0]).tolist())
        for rule in rules if rule.kind != "total"
    }  # fmt: skip
    expected = {each.row for each in checked if not each.is_missing}
    kinds = {rule.id: rule.kind for rule in rules}
    ids = [f"law-{k + 1}" for k in range(len(laws))]
    ids += [f"domain-{k + 1}" for k in range(len(laws.domains))]
    record: dict[str, Any] = {"rules": len(rules), "broken": len(expected)}
    for name, run in tools.items():
        broken, unsaid = run(frame, rules)
        missing = {each.partition(" ")[0] for each in unsaid}
        said = {key: broken[key] for key in broken if key in oracle and key not in missing}
        by_rule = sum(len(rows ^ oracle[key]) for key, rows in said.items())
        named = set().union(*said.values())
        after = set().union(*(rows for key, rows in said.items() if kinds[key] == "chain"))
        after -= set().union(*(rows for key, rows in said.items() if kinds[key] != "chain"))
        only_unsaid = {
            each.row for each in checked
            if each.row in expected
            and not any(ids[k] in said for k in each.laws)
        }  # fmt: skip
        more, less = named - expected, expected - named - only_unsaid
        record[name] = {
            "said": len(said), "unsaid": list(unsaid), "by rule": by_rule,
            "rows": len(less) + len(more - after),
            "after a wrong cell": len(more & after), "only unsaid": len(only_unsaid),
        }  # fmt: skip
    return record


def run_tables(
    tools: dict[str, engines.Engine], fewest: int | None = None, kept: Path | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Compare the tables, the first few of each kind if wanted; name those that are left out.

    Records are ``kept`` in a file, so that a run that was stopped goes on where it was.
    """
    known = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    records: list[dict[str, Any]] = [json.loads(line) for line in known]
    done = {(each["kind"], each["table"]) for each in records if each["version"] == "errors"}
    records = [each for each in records if (each["kind"], each["table"]) in done]
    left_out = []
    for kind, makers in list_tables(SEED).items():
        for name, make in list(makers.items())[:fewest]:
            if (kind, name) in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                frame = make()
                if frame.columns.str.lower().duplicated().any():
                    left_out.append(f"{name}: SQL does not tell its columns apart")
                    continue
                try:
                    laws = discover(frame)
                except ValueError as error:
                    left_out.append(f"{name}: {error}")
                    continue
                for state, each in list_versions(name, lambda frame=frame: frame, SEED):
                    try:
                        record = compare(each, laws, tools)
                    except Exception as error:
                        raise RuntimeError(f"{kind}, {name}, {state}") from error
                    records.append({"kind": kind, "table": name, "version": state} | record)
                    for tool in tools:
                        found = records[-1][tool]
                        if found["rows"] or found["by rule"]:
                            print(f"{kind}, {name}, {state}, {tool}: {found}", flush=True)
            if kept is not None:
                kept.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return records, left_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, help="tables of each kind")
    parser.add_argument("--kept", type=Path, help="file of records, to go on after a stop")
    wanted = parser.parse_args()
    with ExitStack() as stack:
        tools = engines.list_tools()
        if find_spec("dbt") is not None:
            tools["dbt"] = stack.enter_context(engines.start_dbt())
        if engines.find_postgresql() is not None:
            tools["PostgreSQL"] = stack.enter_context(engines.start_postgresql())
        records, left_out = run_tables(tools, wanted.tables, wanted.kept)
    report(records, list(tools), left_out)


def report(records: list[dict[str, Any]], tools: list[str], left_out: list[str]) -> None:
    """Write the results."""
    lines = []
    for tool in tools:
        found = [each[tool] for each in records]
        lines.append(
            {"tool": tool}
            | {
                "tables with a rule": len({each["table"] for each in records if each["rules"]}),
                "checks": len(records),
                "rules said": sum(each["said"] for each in found),
                "rules unsaid": sum(len(each["unsaid"]) for each in found),
                "broken rows": sum(each["broken"] for each in records),
                "differences, rows": sum(each["rows"] for each in found),
                "differences, by rule": sum(each["by rule"] for each in found),
                "rows after a wrong cell": sum(each["after a wrong cell"] for each in found),
                "rows broken only by unsaid rules": sum(each["only unsaid"] for each in found),
            }
        )
    reasons = Counter(
        (tool, text.rpartition(": ")[2]) for each in records for tool in tools
        for text in each[tool]["unsaid"]
    )  # fmt: skip
    unsaid = [{"tool": tool, "reason": reason, "times": n} for (tool, reason), n in reasons.items()]
    kinds = Counter(
        each["kind"] for each in records if each["version"] == "sound" and each["rules"]
    )
    listed = [{"kind": kind, "tables with a rule": n} for kind, n in kinds.items()]
    record = {"machine": describe(SEED) | {"tools": _list_versions()}, "checks": records}
    parts = [table(lines), table(listed), *([table(unsaid)] if unsaid else [])]
    parts += [f"Left out: {each}." for each in left_out]
    write("agreement", "Exported rules name the same rows", str(__doc__), record, parts, HERE)
    print("\n\n".join(parts))


def _list_versions() -> dict[str, str]:
    names = ("duckdb", "pandas", "pandera", "pointblank", "great_expectations", "dbt-core")
    found = {name: version(name) for name in names if find_spec(name.partition("-")[0]) is not None}
    return found | {"sqlite": sqlite3.sqlite_version}


if __name__ == "__main__":
    main()
