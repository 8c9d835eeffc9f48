"""Tables with wrong cells in all columns: ``python -m benchmarks.laws.wrong_cells --jobs 2``.

Writes ``wrong_cells_results.md`` and ``.json`` beside this file. Each table has 200, 500 or 1,500
rows and six or more columns. One or two of them follow from others by a random law: a sum, a
difference, a product, or a product plus a column. Numbers are exact, rounded to cents, or have
noise of 0.1 or 1 % of the spread in every column. Then each cell is wrong with a probability of 0,
1 or 5 %: ten times its value, the value of another row, or off by the spread. With 5 %, a law of
three columns is broken in 14 % of the rows.

A law is *true* if it holds on the table without noise and wrong cells: its median residual, divided
by that on shuffled columns, is at most 1e-4 for exact numbers, 0.02 for cents and 0.1 % noise, and
0.1 for 1 % noise. A table is *complete* if it gives as many true laws as were planted, and no
other. Tables without a law, those of ``null_tables.py`` with other seeds, get 5 % wrong cells too;
any equation is a false discovery there.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from benchmarks.laws import null_tables
from benchmarks.laws.report import describe, share, table, write
from joblib import Parallel, delayed

from vanishing import discover

#: Noise of all columns, and the residual up to which a law is true.
NOISES = {"none": 1e-4, "cents": 0.02, "0.1 %": 0.02, "1 %": 0.1}
SIZES = {"none": 0.0, "cents": 0.0, "0.1 %": 0.001, "1 %": 0.01}
WRONG = (0.0, 0.01, 0.05)
FEWEST_COLUMNS = 6


def draw_column(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Draw an independent column."""
    kinds = (
        lambda: rng.uniform(1, 9, n_rows),
        lambda: rng.lognormal(3, 0.6, n_rows),
        lambda: rng.gamma(3, 20, n_rows) + 1,
        lambda: rng.integers(1, 60, n_rows).astype(float),
        lambda: rng.uniform(100, 5000, n_rows),
    )
    return kinds[rng.integers(len(kinds))]()


def draw_law(rng: np.random.Generator, columns: list[np.ndarray]) -> np.ndarray:
    """Return a column that follows from others."""
    a, b, *rest = (columns[j] for j in rng.permutation(len(columns)))
    c = rest[0] if rest else b
    choices = (a + b, a * b, a - b, a + b + c, a * b + c, 0.2 * a + b)
    return choices[rng.integers(len(choices))]


def make_table(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Draw a table without noise, and return the number of its laws."""
    n_rows, n_free = int(rng.choice([200, 500, 1500])), int(rng.integers(2, 5))
    columns = [draw_column(rng, n_rows) for _ in range(n_free)]
    n_laws = int(rng.integers(1, 3))
    while len(columns) < n_free + n_laws:
        new = draw_law(rng, columns)
        if all(abs(np.corrcoef(new, each)[0, 1]) < 0.9999 for each in columns):
            columns.append(new)
    while len(columns) < FEWEST_COLUMNS:
        columns.append(draw_column(rng, n_rows))
    return np.column_stack(columns)[:, rng.permutation(len(columns))], n_laws


def spoil(X: np.ndarray, rng: np.random.Generator, probability: float) -> np.ndarray:
    """Make cells wrong."""
    wrong = rng.uniform(size=X.shape) < probability
    others = rng.permuted(X, axis=0)
    moved = X + X.std(axis=0) * rng.normal(size=X.shape)
    kind = rng.integers(3, size=X.shape)
    return np.where(wrong, np.choose(kind, [10 * X, others, moved]), X)


def measure(number: int, seed: int, noise: str, probability: float) -> dict[str, Any]:
    """Look for the laws of one table."""
    rng = np.random.default_rng([seed, number])
    clean, n_laws = make_table(rng)
    X = clean + SIZES[noise] * clean.std(axis=0) * rng.normal(size=clean.shape)
    if noise == "cents":
        X = np.round(clean, 2)
    X = spoil(X, rng, probability)
    started = time.process_time()
    laws = discover(X)
    seconds = time.process_time() - started
    false = []
    if len(laws):
        shuffled = np.random.default_rng(0).permuted(clean, axis=0)
        off, usual = (np.median(np.abs(laws.residuals(rows)), axis=0) for rows in (clean, shuffled))
        false = [
            str(law) for law, ratio in zip(laws, off / usual, strict=True) if ratio > NOISES[noise]
        ]
    row = {"number": number, "noise": noise, "wrong": probability, "planted": n_laws}
    row |= {"true": len(laws) - len(false), "false": false, "seconds": round(seconds, 2)}
    return row | {"laws": [str(law) for law in laws]}


def measure_null(number: int, seed: int) -> dict[str, Any]:
    """Look for laws in a table without one."""
    X, names = null_tables.make_table(number, seed)
    X = spoil(X, np.random.default_rng([seed, number, 1]), WRONG[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        laws = [str(law) for law in discover(X)]
    return {"number": number, "laws": laws, "distributions": names}


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Laws of tables with wrong cells.")
    parser.add_argument("--tables", type=int, default=30, help="for each noise and probability")
    parser.add_argument("--null-tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=777)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(
        delayed(measure)(number, options.seed, noise, probability)
        for noise in NOISES
        for probability in WRONG
        for number in range(options.tables)
    )
    nulls = run(
        delayed(measure_null)(number, options.seed) for number in range(options.null_tables)
    )
    report({"machine": describe(options.seed), "rows": rows, "null_tables": nulls})


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    lines = []
    for noise in NOISES:
        for probability in WRONG:
            rows = [r for r in record["rows"] if (r["noise"], r["wrong"]) == (noise, probability)]
            complete = sum(row["true"] == row["planted"] and not row["false"] for row in rows)
            lines.append(
                {
                    "noise": noise,
                    "wrong cells": f"{probability:.0%}",
                    "complete tables": share(complete, len(rows)),
                    "laws found": f"{sum(min(r['true'], r['planted']) for r in rows)} of "
                    f"{sum(r['planted'] for r in rows)}",
                    "false laws": sum(len(row["false"]) for row in rows),
                    "seconds, median": f"{np.median([row['seconds'] for row in rows]):.2f}",
                }
            )
    nulls = record["null_tables"]
    false = [row for row in nulls if row["laws"]]
    parts = [table(lines)]
    parts.append(
        f"Tables without a law, with {WRONG[-1]:.0%} wrong cells: "
        f"**{share(len(false), len(nulls))}** have an equation."
    )
    if false:
        shown = [{"number": r["number"], "equations": f"`{'; '.join(r['laws'])}`"} for r in false]
        parts.append(table(shown))
    about = (__doc__ or "").split("\n", 2)[2]
    write("wrong_cells", "Tables with wrong cells", about, record, parts)


if __name__ == "__main__":
    main()
