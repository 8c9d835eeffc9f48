"""Tables without a law: ``python -m benchmarks.laws.null_tables --tables 1000``.

Writes ``null_tables_results.md`` and ``.json`` beside this file. Each table has 2 to 8 independent
columns, each of one of nine distributions, and 50 to 5,000 rows (uniform in the logarithm). Any
equation is a false discovery. At most 5 % of the tables may have one.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from joblib import Parallel, delayed

from vanishing import discover

Draw = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(1, 5, n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "0 or 1": lambda rng, n: rng.integers(0, 2, n),
    "0 to 9": lambda rng, n: rng.integers(0, 10, n),
    "Student, 3 degrees of freedom": lambda rng, n: rng.standard_t(3, n),
    "normal, far from 0": lambda rng, n: rng.normal(1000, 10, n),
    "beta (1/2, 1/2)": lambda rng, n: rng.beta(0.5, 0.5, n),
}


def make_table(number: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Draw a table, and return the distributions of its columns with it."""
    rng = np.random.default_rng([seed, number])
    n_columns = int(rng.integers(2, 9))
    n_rows = int(np.exp(rng.uniform(np.log(50), np.log(5000))))
    names = [str(name) for name in rng.choice(list(DISTRIBUTIONS), n_columns)]
    columns = [np.asarray(DISTRIBUTIONS[name](rng, n_rows), dtype=float) for name in names]
    return np.column_stack(columns), names


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="False discoveries in tables without a law.")
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(delayed(measure)(number, options.seed) for number in range(options.tables))
    report({"machine": describe(options.seed), "tables": options.tables, "rows": rows})


def measure(number: int, seed: int) -> dict[str, Any]:
    """Look for laws in one table."""
    X, names = make_table(number, seed)
    started = time.process_time()
    try:
        laws = [str(law) for law in discover(X)]
        answer = f"{len(laws)} equations" if laws else "no law"
    except Exception as error:  # what a user would see is a result too
        laws, answer = [f"{type(error).__name__}: {error}"], "error"
    seconds = time.process_time() - started
    row = {"number": number, "rows": len(X), "columns": X.shape[1], "answer": answer}
    return row | {"equations": laws, "distributions": names, "seconds": round(seconds, 2)}


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    rows = record["rows"]
    errors = [row for row in rows if row["answer"] == "error"]
    false = [row for row in rows if row["equations"] and row not in errors]
    record["false"], record["errors"] = len(false), len(errors)
    seconds = [row["seconds"] for row in rows]
    parts = [
        f"Tables with an equation: **{share(len(false), len(rows))}**; with an error: "
        f"{share(len(errors), len(rows))}. Seconds for each: median {np.median(seconds):.2f}, "
        f"largest {max(seconds):.1f}."
    ]
    by_size = []
    for low, high in ((50, 150), (150, 500), (500, 1500), (1500, 5001)):
        part = [row for row in rows if low <= row["rows"] < high]
        hits = sum(row in false for row in part)
        by_size.append({"rows": f"{low} to {high - 1}", "with an equation": share(hits, len(part))})
    parts.append(table(by_size))
    shown = [
        {key: row[key] for key in ("number", "rows", "columns", "answer")}
        | {"equations": "`" + "; ".join(row["equations"])[:150] + "`"}
        | {"distributions": ", ".join(row["distributions"])}
        for row in [*false, *errors]
    ]
    if shown:
        parts += ["## False discoveries and errors", table(shown)]
    write("null_tables", "Tables without a law", (__doc__ or "").split("\n", 2)[2], record, parts)


if __name__ == "__main__":
    main()
