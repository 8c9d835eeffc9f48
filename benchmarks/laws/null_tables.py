"""Tables without a law: ``python -m benchmarks.laws.null_tables --tables 1000``.

Writes ``null_tables_results.md`` and ``.json`` beside this file. Each table has 2 to 8 independent
columns, each of one of nine distributions, and 50 to 5,000 rows (uniform in the logarithm). Further
tables have a column, a smooth function of it that no law of ours describes (sine, logistic curve,
Bessel function, sum of two exponentials), and a third column; without noise or with noise of 1 % of
the spread in all columns, written with 3 to 6 digits. Any equation is a false discovery.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import describe_seconds, run_limited
from joblib import Parallel, delayed
from scipy.special import j0

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


SMOOTH: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "sine": lambda x, rate: np.sin(rate * x),
    "logistic": lambda x, rate: 1 / (1 + np.exp(-rate * (x - 3))),
    "Bessel": lambda x, rate: j0(rate * x),
    "two exponentials": lambda x, rate: np.exp(-x / 2) + np.exp(-rate * x),
}


def round_digits(X: np.ndarray, digits: int) -> np.ndarray:
    """Round to significant digits."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"))(X)


def make_smooth(number: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Draw a table with a smooth function; return what its columns are."""
    rng = np.random.default_rng([seed, number, 1])
    n_rows, digits = int(np.exp(rng.uniform(np.log(50), np.log(1000)))), int(rng.integers(3, 7))
    name, noise = list(SMOOTH)[number % len(SMOOTH)], (0.0, 0.01)[number // len(SMOOTH) % 2]
    x = rng.uniform(0, 6, n_rows)
    X = np.column_stack([x, SMOOTH[name](x, rng.uniform(1.2, 3)), rng.normal(size=n_rows)])
    X += noise * X.std(axis=0) * rng.normal(size=X.shape)
    return round_digits(X, digits), [name, f"noise {noise:.0%}", f"{digits} digits"]


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="False discoveries in tables without a law.")
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--smooth", type=int, default=100, help="tables with a smooth function")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    made = [(False, number) for number in range(options.tables)]
    made += [(True, number) for number in range(options.smooth)]
    rows = run(delayed(measure)(number, options.seed, smooth) for smooth, number in made)
    smooth = rows[options.tables :]
    report({"machine": describe(options.seed), "rows": rows[: options.tables], "smooth": smooth})


def measure(number: int, seed: int, is_smooth: bool) -> dict[str, Any]:
    """Look for laws in one table."""
    X, names = (make_smooth if is_smooth else make_table)(number, seed)
    laws, status, seconds = run_limited(discover, X)
    row = {"number": number, "rows": len(X), "columns": X.shape[1], "status": status}
    found = [str(law) for law in laws or ()]
    return row | {"equations": found, "distributions": names, "seconds": seconds}


def summarize(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the tables with an equation."""
    return {
        "tables": label,
        "with an equation": share(sum(bool(row["equations"]) for row in rows), len(rows)),
        "exceptions and over time": sum(row["status"] != "ok" for row in rows),
        "seconds, median and most": describe_seconds([row["seconds"] for row in rows]),
    }


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    rows, smooth = record["rows"], record["smooth"]
    groups = {"independent columns": rows}
    for low, high in ((50, 150), (150, 500), (500, 1500), (1500, 5001)):
        some = [row for row in rows if low <= row["rows"] < high]
        groups[f"independent columns, {low} to {high - 1} rows"] = some
    groups["smooth functions"] = smooth
    for name in SMOOTH:
        groups[f"smooth functions, {name}"] = [
            row for row in smooth if name in row["distributions"]
        ]
    shown = [
        {key: row[key] for key in ("number", "rows", "columns", "status")}
        | {"equations": f"`{'; '.join(row['equations'])[:150]}`"}
        | {"columns are": ", ".join(row["distributions"])}
        for row in [*rows, *smooth]
        if row["equations"] or row["status"] != "ok"
    ]
    parts = [table([summarize(label, some) for label, some in groups.items()])]
    parts += ["## False discoveries and exceptions", table(shown) if shown else "None."]
    write("null_tables", "Tables without a law", (__doc__ or "").split("\n", 2)[2], record, parts)


if __name__ == "__main__":
    main()
