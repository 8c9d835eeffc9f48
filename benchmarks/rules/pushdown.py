"""A large file, checked in DuckDB: ``python -m benchmarks.rules.pushdown``.

Writes ``pushdown_results.md`` and ``.json`` beside this file. A Parquet file of ``--rows`` rows and
ten columns of numbers (net, tax, gross, quantity, price, amount and so on, with 4 laws) is written
in chunks into a temporary folder; one row in 100,000 has a wrong cell. One process after the other
is started on it: DuckDB's own sum of all columns, the discovery of laws on a sample that DuckDB
draws, the check by those laws pushed down to DuckDB, both in one process with one sample, and a
pandas script that a person would write on 1 % of the rows, whose time is multiplied by 100. Memory
is the largest of the process as the system counts it; the interpreter with its libraries is part of
it. ``--threads`` are DuckDB's.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.laws.report import describe, table, write

HERE = Path(__file__).parent
SEED = 0
CHUNK = 1_000_000
#: One row in so many has a wrong cell.
WRONG_IN = 100_000


def make_chunk(rng: np.random.Generator, n_rows: int) -> tuple[dict[str, np.ndarray], int]:
    """Draw rows of orders, and return how many are wrong."""
    quantity = rng.integers(1, 50, n_rows).astype(float)
    price = rng.uniform(1, 500, n_rows).round(2)
    net = (quantity * price).round(2)
    tax = (net * 0.19).round(2)
    shipping = rng.uniform(5, 2000, n_rows).round(2)
    gross = (net + tax + shipping).round(2)
    paid = (gross * rng.choice([0.0, 0.5, 1.0], n_rows)).round(2)
    columns = {
        "id": np.arange(n_rows, dtype=float) + rng.integers(1, 10**6), "quantity": quantity,
        "price": price, "net": net, "tax": tax, "shipping": shipping, "gross": gross,
        "paid": paid, "open": (gross - paid).round(2), "weight": rng.lognormal(1, 1, n_rows),
    }  # fmt: skip
    wrong = rng.choice(n_rows, n_rows // WRONG_IN, replace=False)
    for row in wrong:
        name = ("net", "tax", "gross", "open")[rng.integers(4)]
        columns[name][row] = round(columns[name][row] + 10, 2)
    return columns, len(wrong)


def make_file(path: str, n_rows: int) -> int:
    """Write the file, and return how many rows are wrong."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n_wrong, writer = np.random.default_rng(SEED), 0, None
    for start in range(0, n_rows, CHUNK):
        columns, n = make_chunk(rng, min(CHUNK, n_rows - start))
        n_wrong += n
        chunk = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, chunk.schema, compression="zstd")
        writer.write_table(chunk)
    assert writer is not None
    writer.close()
    return n_wrong


# --- What is measured, each in a process of its own -----------------------------------------------


def scan(path: str, threads: int) -> dict[str, Any]:
    """Let DuckDB sum all columns."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "1GB", "threads": threads})
    names = [each[0] for each in connection.execute(f"DESCRIBE FROM '{path}'").fetchall()]
    sums = ", ".join(f'SUM("{name}")' for name in names)
    connection.execute(f"SELECT {sums} FROM '{path}'").fetchall()
    return {}


def find_laws(path: str, threads: int) -> dict[str, Any]:
    """Find laws in a sample, and write them as rules."""
    from vanishing import discover
    from vanishing.rules import Rules
    from vanishing.rules.export.pushdown import LargeFile, describe_sample
    from vanishing.rules.file import save_rules

    drawn = LargeFile(path, threads=threads).draw()
    laws = discover(drawn)
    save_rules(Rules.from_laws(laws), f"{path}.toml")
    return {"laws": [str(law) for law in laws], "sample": describe_sample(len(drawn), laws)}


def push_down(path: str, threads: int) -> dict[str, Any]:
    """Check the file by the rules."""
    from vanishing.rules.export.pushdown import LargeFile
    from vanishing.rules.file import load_rules

    found = LargeFile(path, threads=threads).check(load_rules(f"{path}.toml"))
    fixed = sum(bool(row.fixes) for row in found.check)
    return {"broken": found.n_broken, "rows": found.n_rows, "located": fixed}


def find_and_check(path: str, threads: int) -> dict[str, Any]:
    """Find laws in a sample, and check the file by them."""
    from vanishing import discover
    from vanishing.rules import Rules
    from vanishing.rules.export.pushdown import LargeFile

    file = LargeFile(path, threads=threads)
    drawn = file.draw()
    found = file.check(Rules.from_laws(discover(drawn)), sample=drawn)
    return {"broken": found.n_broken, "rows": found.n_rows}


def run_pandas(path: str, threads: int) -> dict[str, Any]:
    """Do what a person would write, on the first 1 % of the rows."""
    import pandas as pd
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    frame: pd.DataFrame = next(file.iter_batches(file.metadata.num_rows // 100)).to_pandas()
    wrong = (
        ((frame.net - frame.quantity * frame.price).abs() > 0.006)
        | ((frame.tax - 0.19 * frame.net).abs() > 0.006)
        | ((frame.gross - frame.net - frame.tax - frame.shipping).abs() > 0.001)
        | ((frame.open - frame.gross + frame.paid).abs() > 0.001)
    )
    return {"broken": int(wrong.sum())}


STEPS = {each.__name__: each for each in (scan, find_laws, push_down, find_and_check, run_pandas)}


def run_step(step: str, path: str, threads: int) -> dict[str, Any]:
    """Run a step in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.rules.pushdown", "--step", step, "--path", path,
               "--threads", str(threads)]  # fmt: skip
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3, help="times that each step is run")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.step:
        start, before = time.perf_counter(), time.process_time()
        result = STEPS[wanted.step](wanted.path, wanted.threads)
        result |= {"seconds": time.perf_counter() - start, "cpu": time.process_time() - before}
        result["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "orders.parquet")
        n_wrong = make_file(path, wanted.rows)
        size = os.path.getsize(path)
        runs = [
            {step: run_step(step, path, wanted.threads) for step in STEPS}
            for _ in range(wanted.runs)
        ]
    report(runs, wanted, n_wrong, size)


def report(runs: list[dict[str, Any]], wanted: Any, n_wrong: int, size: int) -> None:
    """Write the results."""
    labels = {
        "scan": "DuckDB, sum of all columns", "find_laws": "laws of a sample",
        "push_down": "check, pushed down", "find_and_check": "laws and check, one sample",
        "run_pandas": "pandas script on 1 %",
    }  # fmt: skip
    best = {step: min((run[step] for run in runs), key=lambda each: each["cpu"]) for step in STEPS}
    lines = [
        {
            "step": labels[step],
            "seconds": f"{best[step]['seconds']:.1f}",
            "processor seconds": f"{best[step]['cpu']:.1f}",
            "times the scan (processor)": f"{best[step]['cpu'] / best['scan']['cpu']:.1f}",
            "MB": f"{max(run[step]['MB'] for run in runs):.0f}",
        }
        for step in STEPS
    ]
    found, laws = best["push_down"], best["find_laws"]
    facts = [
        f"{wanted.rows:,} rows, {size / 1e9:.1f} GB of Parquet, {n_wrong} rows with a wrong cell. "
        f"Called broken: {found['broken']}; in {found['located']} of them the cell is named. "
        f"The pandas script on all rows would take 100 times as long: "
        f"{100 * best['run_pandas']['seconds']:.0f} s, or more than memory holds.",
        f"Laws ({laws['sample']}):", "\n".join(f"- `{law}`" for law in laws["laws"]),
    ]  # fmt: skip
    record = {"machine": describe(SEED), "rows": wanted.rows, "threads": wanted.threads,
              "wrong": n_wrong, "bytes": size, "runs": runs}  # fmt: skip
    parts = [table(lines), *facts]
    write("pushdown", "A large file, checked in DuckDB", str(__doc__), record, parts, HERE)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
