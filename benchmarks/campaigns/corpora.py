"""Every command on real tables, as they are and damaged: does each end as the documentation says?

The tables are those below ``VANISHING_DATA``: spreadsheets as computed and as displayed, macrOData
and ADBench. Most runs damage them: cells are blanked, swapped, replaced by text or by numbers of
other sizes; one row or one column is left; columns become constant, copies or huge. Each table goes
through ``info``, ``laws``, ``check``, ``detect``, ``explain``, ``fit``, ``show``, ``score``,
``transform`` and ``export``, with their reports and files.

A run fails if it takes more than a minute of processor time, ends in an exit code that is not
documented or is 70 (an internal error), prints no valid JSON where it should, or leaves a report
half written. A command may refuse a table, with a message.

    python -m benchmarks.campaigns.corpora                # 400 tables; writes corpora_results.json
    python -m benchmarks.campaigns.corpora --tables 20 --out FOLDER
"""

import argparse
import contextlib
import csv
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from benchmarks.machine import describe

HERE = Path(__file__).parent
#: More rows and columns add time, not kinds of cells.
MOST_ROWS, MOST_COLUMNS = 120, 10
#: Processor time of a command, after which it counts as hanging.
SECONDS = 60
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}
#: What each command may say besides 0: broken rows, a table or a model that it cannot use.
REFUSALS = {1, 3, 4}
CELLS = (
    "",
    "n/a",
    "12 apples",
    "1,234.5",
    "-",
    "(3)",
    "5 %",
    "#REF!",
    "1e300",
    "-1e-300",
    "inf",
    "é",
)


def list_tables(data):
    """Return the files of all corpora, the same number of each corpus in turn."""
    corpora = [
        sorted(data.glob("spreadsheets/*[0-9].csv")),
        sorted(data.glob("spreadsheets/*.shown.csv")),
        sorted(data.glob("macrodata/*.npz")),
        sorted([*data.glob("adbench/*.npz"), *data.glob("adbench-validation/*.npz")]),
    ]
    corpora = [corpus for corpus in corpora if corpus]
    longest = max(map(len, corpora), default=0)
    return [corpus[i % len(corpus)] for i in range(longest) for corpus in corpora]


def read(path, rng):
    """Return some rows and columns of a table as texts, the names first."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            names, *cells = list(csv.reader(file))
    else:
        arrays = np.load(path)
        values = arrays["X_test" if "X_test" in arrays else "X"]
        names = [f"c{j + 1}" for j in range(values.shape[1])]
        cells = [[repr(float(each)) for each in row] for row in values[: 2 * MOST_ROWS]]
    columns = np.sort(rng.permutation(len(names))[:MOST_COLUMNS])
    start = int(rng.integers(max(1, len(cells) - MOST_ROWS + 1)))
    rows = [[row[j] for j in columns] for row in cells[start : start + MOST_ROWS]]
    return [names[j] for j in columns], rows


def _blank(names, rows, rng):
    for row in rows:
        for j in range(len(names)):
            if rng.random() < 0.1:
                row[j] = ""


def _swap(names, rows, rng):
    for _ in range(5):
        (i, k), (j, m) = rng.integers(len(rows), size=2), rng.integers(len(names), size=2)
        rows[i][j], rows[k][m] = rows[k][m], rows[i][j]


def _write_text(names, rows, rng):
    for _ in range(5):
        rows[rng.integers(len(rows))][rng.integers(len(names))] = str(rng.choice(CELLS))


def _keep_one_row(names, rows, rng):
    del rows[1:]


def _keep_no_row(names, rows, rng):
    rows.clear()


def _keep_one_column(names, rows, rng):
    j = int(rng.integers(len(names)))
    names[:] = [names[j]]
    rows[:] = [[row[j]] for row in rows]


def _make_constant(names, rows, rng):
    j = rng.integers(len(names))
    for row in rows:
        row[j] = rows[0][j]


def _copy_column(names, rows, rng):
    j = rng.integers(len(names))
    names.append(f"{names[j]} again")
    for row in rows:
        row.append(row[j])


def _scale(names, rows, rng):
    j, power = rng.integers(len(names)), str(rng.choice(["e300", "e-300", "e150", "e18"]))
    for row in rows:
        with contextlib.suppress(ValueError):
            row[j] = str(float(f"{float(row[j]):.6f}{power}"))


def _repeat_rows(names, rows, rng):
    rows += [list(row) for row in rows]


def _rename(names, rows, rng):
    strange = ["", " ", "a,b", 'x"y', "=1+1", "<b>", "\\alpha", "1", "ß", "select", "c1", "row"]
    names[:] = [str(rng.choice(strange)) for _ in names]


def _shorten_lines(names, rows, rng):
    for i in rng.integers(len(rows), size=3):
        del rows[i][int(rng.integers(len(names))) :]


MUTATIONS = (
    _blank, _swap, _write_text, _keep_one_row, _keep_no_row, _keep_one_column, _make_constant,
    _copy_column, _scale, _repeat_rows, _rename, _shorten_lines,
)  # fmt: skip


def list_commands(folder, rng):
    """Return the commands of a table, in an order in which each has the files that it needs."""
    table, rules, model = "table.csv", "rules.toml", "model.safetensors"
    target = str(rng.choice(["sympy", "latex", "python", "c", "onnx", "macaulay2", "sage"]))
    dialect = str(rng.choice(["sql", "checks", "dbt", "pandera", "gx", "json", "validate"]))
    commands = [
        ["info", table, "--json"],
        ["laws", table, "--json", "--save", rules, "--report", "laws.html"],
        ["laws", table],
        ["check", table, "--json", "--report", "check.html", "--out", "broken.csv"],
        ["check", table, "--rules", rules, "--fail-on-broken"],
        ["export", rules, dialect, "--points", table, "--table", "data", "--out", "rules.out"],
        ["detect", table, "--json", "--save", "alarm.safetensors", "--report", "detect.html"],
        ["explain", table, "--model", "alarm.safetensors", "--row", "1", "--json"],
        ["explain", table],
        ["fit", table, "--json", "--save", model, "--report", "fit.html"],
        ["info", model, "--json"],
        ["show", model, "--json"],
        ["score", table, "--model", model, "--json"],
        ["transform", table, "--model", model, "--skip-missing", "--out", "features.parquet"],
        ["export", model, target, *(["--out", "law.onnx"] if target == "onnx" else [])],
    ]
    return [[str(folder / each) if "." in each else each for each in line] for line in commands]


class Overdue(BaseException):
    """A command has taken too long."""


def _interrupt(*_):
    raise Overdue


def judge(command):
    """Run a command; return its exit code and what is wrong with that, or an empty text."""
    from vanishing.app.cli import main

    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(command)
    except Overdue:
        return None, "hangs"
    except BaseException:  # whatever it is, a user would see it
        return None, traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    out.flush()
    printed, said = out.buffer.getvalue().decode(), err.getvalue()
    if code not in DOCUMENTED:
        return code, said
    if "Traceback" in said + printed:
        return code, f"prints a traceback: {said}"
    if code and not said.strip():
        return code, "says nothing"
    if code and code not in REFUSALS:
        return code, said
    if "--json" in command:
        try:
            json.loads(printed, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return code, f"no valid JSON: {printed[:200]!r}"
    if "--report" in command:
        report = Path(command[command.index("--report") + 1])
        if report.exists() and not report.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            return code, "a report without an end"
    return code, ""


def run(task):
    """Send one table through every command; return a record of each run."""
    number, path, seed = task
    signal.signal(signal.SIGPROF, _interrupt)
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, number])
    names, rows = read(path, rng)
    chosen = [] if rng.random() < 1 / 4 else list(rng.choice(MUTATIONS, rng.integers(1, 3)))
    chosen.sort(key=MUTATIONS.index)  # lines are shortened last: the others need all cells
    for mutation in chosen:
        if rows and names:
            mutation(names, rows, rng)
    records = []
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([names, *rows])
        for command in list_commands(folder, rng):
            start = time.process_time()
            code, wrong = judge(command)
            records.append(
                {
                    "table": f"{path.parent.name}/{path.name}",
                    "number": number,
                    "damage": [each.__name__.strip("_") for each in chosen],
                    "command": " ".join(command).replace(f"{folder}{os.sep}", ""),
                    "code": code,
                    "wrong": wrong,
                    "seconds": time.process_time() - start,
                }
            )
    return records


def main(arguments=None):
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args(arguments)
    data = Path(os.environ.get("VANISHING_DATA", HERE.parents[2] / "shared" / "data"))
    files = list_tables(data)
    if not files:
        parser.error(f"no tables below {data}: set VANISHING_DATA")
    tasks = [(i, files[i % len(files)], options.seed) for i in range(options.tables)]
    records = []
    # A new process for each table: what one leaves behind must not help or harm the next.
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=20) as pool:
        for found in pool.imap_unordered(run, tasks):
            records += found
            for each in found:
                if each["wrong"]:
                    print(each, flush=True)
    wrong = [each for each in records if each["wrong"]]
    result = {
        "machine": describe(),
        "seed": options.seed,
        "tables": options.tables,
        "runs": len(records),
        "by command": dict(Counter(each["command"].split()[0] for each in records)),
        "exit codes": {str(k): n for k, n in Counter(each["code"] for each in records).items()},
        "slowest, s": round(max(each["seconds"] for each in records), 1),
        "wrong": wrong,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1) + "\n"
    (options.out / "corpora_results.json").write_text(text, encoding="utf-8")
    print(f"{len(records):,} runs, {len(wrong)} wrong, exit codes {result['exit codes']}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
