"""Correlated columns without a law: ``python -m benchmarks.laws.correlated``.

Writes ``correlated_results.md`` and ``.json`` beside this file. Columns are one or two common
factors plus noise of 0.05 to 0.35 of their spread, exponentials of these, autoregressive columns
and random walks; half of the tables are rounded. Others are smooth functions outside the
dictionary: sines, logistic curves, Bessel functions, sums of two exponentials. Any equation is a
false discovery, but linear ones at noise below 0.12, which the factors make true.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from joblib import Parallel, delayed
from scipy.special import j0

from vanishing import discover

NOISES = (0.05, 0.08, 0.12, 0.2, 0.35)
#: From this noise on no law is true.
NO_LAW = 0.12
Draw = Callable[[np.random.Generator, int, int, float], np.ndarray]


def factors(rng: np.random.Generator, n: int, d: int, noise: float, count: int) -> np.ndarray:
    """Return combinations of common factors plus noise."""
    common = rng.normal(size=(n, count)) @ (
        np.ones((1, d)) if count == 1 else rng.normal(size=(2, d))
    )
    return common / common.std(axis=0) + noise * rng.normal(size=(n, d))


def regress(rng: np.random.Generator, n: int, d: int, share: float) -> np.ndarray:
    """Return columns that go on from row to row."""
    steps = rng.normal(size=(n, d))
    for i in range(1, n):
        steps[i] += share * steps[i - 1]
    return steps


KINDS: dict[str, Draw] = {
    "one factor": lambda rng, n, d, noise: factors(rng, n, d, noise, 1),
    "two factors": lambda rng, n, d, noise: factors(rng, n, d, noise, 2),
    "exp of a factor": lambda rng, n, d, noise: np.exp(factors(rng, n, d, noise, 1)),
    "autoregressive": lambda rng, n, d, _: regress(rng, n, d, 0.9),
    "random walk": lambda rng, n, d, _: regress(rng, n, d, 1.0),
}
SMOOTH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sine": np.sin,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "Bessel": j0,
    "two exponentials": lambda x: np.exp(-x) + 0.5 * np.exp(-3.1 * x),
}


def make_table(number: int, seed: int) -> tuple[str, float, np.ndarray]:
    """Draw a table; return its kind and noise with it."""
    rng = np.random.default_rng([seed, number])
    n, d = int(rng.integers(30, 500)), int(rng.integers(3, 9))
    if number % 4 == 3:
        kind = list(SMOOTH)[number // 4 % len(SMOOTH)]
        x = rng.uniform(0, 4, n)
        columns = [x, SMOOTH[kind](x), rng.normal(size=n)]
        noise = float(rng.choice([0.0, 0.01]))
        X = np.column_stack(columns)
        return kind, noise, X + noise * X.std(axis=0) * rng.normal(size=X.shape)
    kind = list(KINDS)[number % len(KINDS)]
    noise = float(rng.choice(NOISES))
    X = KINDS[kind](rng, n, d, noise)
    return kind, noise, np.round(X, 2) if rng.random() < 0.5 else X


def measure(number: int, seed: int) -> dict[str, Any]:
    """Look for laws in one table."""
    kind, noise, X = make_table(number, seed)
    started = time.process_time()
    laws = discover(X)
    seconds = round(time.process_time() - started, 2)
    may_be_linear = kind in KINDS and noise < NO_LAW
    false = [str(law) for law in laws if not (may_be_linear and law.degree == 1)]
    return {"kind": kind, "noise": noise, "rows": len(X), "false": false, "seconds": seconds}


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Correlated tables without a law.")
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(delayed(measure)(number, options.seed) for number in range(options.tables))
    summary = []
    for kind in (*KINDS, *SMOOTH):
        some = [row for row in rows if row["kind"] == kind]
        seconds = sorted(row["seconds"] for row in some)
        summary.append(
            {
                "columns": kind,
                "tables with a false law": share(sum(bool(r["false"]) for r in some), len(some)),
                "seconds, median and most": f"{seconds[len(some) // 2]:.2f}, {seconds[-1]:.1f}",
            }
        )
    false = [row for row in rows if row["false"]]
    parts = [table(summary), "## False laws", table(false) if false else "None."]
    record = {"machine": describe(options.seed), "rows": rows}
    write("correlated", "Correlated columns without a law", __doc__ or "", record, parts)


if __name__ == "__main__":
    main()
