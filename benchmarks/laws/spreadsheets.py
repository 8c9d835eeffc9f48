"""Formulas of real spreadsheets: ``python -m benchmarks.laws.spreadsheets``.

Writes ``spreadsheets_results.md`` and ``.json`` beside this file. The tables are read from the
folder ``spreadsheets`` of ``VANISHING_DATA``, with the formulas that people wrote in them and
``evaluate.py``, which judges. They are not part of this repository.

*Recall* is the share of the formulas, of those that the data determines, that are found or follow
from what is found. A table has a *false law* if an equation neither is a formula, nor follows from
them, nor holds in 98 % of the rows. It has a *false alarm* if ``check`` names a row in which no
formula was overwritten by a number that breaks it. Tables with even numbers, in the order of their
names, were used for development, the others to confirm it. The baseline is a search by brute force.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.laws.report import describe, share, table, write

KINDS = {"as computed": [], "as displayed": ["--shown"], "baseline": ["--baseline"]}


def run(folder: Path, options: list[str], jobs: int) -> list[dict[str, Any]]:
    """Judge all tables, and return a record of each."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "report.json"
        script = [str(folder / "evaluate.py"), "--jobs", str(jobs), "--out", str(out)]
        subprocess.run([sys.executable, *script, *options], check=True)
        return json.loads(out.read_text())


def summarize(kind: str, half: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what is right and wrong in some tables."""
    marks = Counter(mark for row in rows for mark in row["marks"])
    found = marks["found"] + marks["implied"]
    seconds = sorted(row["seconds"] for row in rows if row["seconds"] is not None)
    named = [set(row["named"]) for row in rows]
    return {
        "values": kind,
        "tables": f"{len(rows)} ({half})",
        "exceptions": sum(row["status"].startswith("exception") for row in rows),
        "over 60 s": sum(row["status"] == "timeout" for row in rows),
        "recall": share(found, found + marks["missed"]),
        "with a false law": share(sum("false" in row["kinds"] for row in rows), len(rows)),
        "with a false alarm": share(
            sum(bool(each - set(row["bad"])) for each, row in zip(named, rows, strict=True)),
            len(rows),
        ),
        "broken rows named": share(
            sum(len(each & set(row["determined"])) for each, row in zip(named, rows, strict=True)),
            sum(len(row["determined"]) for row in rows),
        ),
        "seconds, median and most": f"{seconds[len(seconds) // 2]:.2f}, {seconds[-1]:.1f}",
    }


def main() -> None:
    """Run all tables and write the results."""
    parser = argparse.ArgumentParser(description="Laws of real spreadsheets.")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    data = os.environ.get("VANISHING_DATA")
    if data is None:
        parser.error("set VANISHING_DATA to the folder that holds spreadsheets/")
    records = {
        kind: run(Path(data) / "spreadsheets", flags, options.jobs) for kind, flags in KINDS.items()
    }
    rows = []
    for kind, tables in records.items():
        halves = {"all": tables, "development": tables[::2], "confirmation": tables[1::2]}
        rows += [summarize(kind, half, some) for half, some in halves.items()]
    kept = ("table", "rows", "columns", "status", "laws", "kinds", "marks", "named", "bad")
    stored = {
        kind: [{key: row[key] for key in kept} for row in tables]
        for kind, tables in records.items()
    }
    false = [
        {"values": kind, "table": row["table"], "rows": row["rows"], "false laws": "; ".join(laws)}
        for kind, tables in records.items()
        if kind != "baseline"
        for row in tables
        if (laws := [law for law, k in zip(row["laws"], row["kinds"], strict=True) if k == "false"])
    ]
    parts = [table(rows), "## False laws", table(false) if false else "None."]
    record = {"machine": describe(0), "tables": stored}
    write("spreadsheets", "Formulas of real spreadsheets", __doc__ or "", record, parts)


if __name__ == "__main__":
    main()
