"""Correlated columns without a law: ``python -m benchmarks.laws.correlated``.

Writes ``correlated_results.md`` and ``.json`` beside this file. Columns are combinations of one or
two common factors, exponentials of these, or columns of their own that go on from row to row
(autoregressive, and random walks), each with noise of 0.05 to 0.35 of its spread. Common factors
are independent from row to row, or go on as well. Half of the tables are in other units, half are
written with four digits. With noise of 0.12 and more any equation is a false discovery. Below, a
linear one is true if the columns without noise are no farther from it than the noise; of
exponentials, so is one that is linear in the logarithms.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from benchmarks.laws.implied import Equation, read_laws
from benchmarks.laws.null_tables import round_digits
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import describe_seconds, run_limited
from joblib import Parallel, delayed

from vanishing import discover

NOISES = (0.05, 0.08, 0.12, 0.2, 0.35)
#: From this noise on no law is true.
NO_LAW = 0.12
#: What a row keeps of the row before, in autoregressive columns and in random walks.
AUTOREGRESSIVE, WALK = 0.9, 1.0
DIGITS = 4
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def go_on(rng: np.random.Generator, n: int, d: int, kept: float) -> np.ndarray:
    """Return columns that keep a share of the row before."""
    steps = rng.normal(size=(n, d))
    for i in range(1, n):
        steps[i] += kept * steps[i - 1]
    return steps


def combine(rng: np.random.Generator, factors: np.ndarray, d: int) -> np.ndarray:
    """Return combinations of common factors, all with the spread 1."""
    count = factors.shape[1]
    common = factors @ (np.ones((1, d)) if count == 1 else rng.normal(size=(count, d)))
    return (common - common.mean(axis=0)) / common.std(axis=0)


KINDS: dict[str, Draw] = {
    "one factor": lambda rng, n, d: combine(rng, rng.normal(size=(n, 1)), d),
    "two factors": lambda rng, n, d: combine(rng, rng.normal(size=(n, 2)), d),
    "exp of one factor": lambda rng, n, d: combine(rng, rng.normal(size=(n, 1)), d),
    "exp of two factors": lambda rng, n, d: combine(rng, rng.normal(size=(n, 2)), d),
    "autoregressive factor": lambda rng, n, d: combine(rng, go_on(rng, n, 1, AUTOREGRESSIVE), d),
    "two random walks as factors": lambda rng, n, d: combine(rng, go_on(rng, n, 2, WALK), d),
    "autoregressive columns": lambda rng, n, d: go_on(rng, n, d, AUTOREGRESSIVE),
    "random walks": lambda rng, n, d: go_on(rng, n, d, WALK),
}


def make_table(number: int, seed: int) -> tuple[str, float, np.ndarray, np.ndarray]:
    """Draw a table; return its kind, its noise, its columns without noise, and itself."""
    rng = np.random.default_rng([seed, number])
    kind = list(KINDS)[number // len(NOISES) % len(KINDS)]
    noise = NOISES[number % len(NOISES)]
    n, d = int(rng.integers(30, 500)), int(rng.integers(3, 9))
    clean = KINDS[kind](rng, n, d)
    X = clean + noise * clean.std(axis=0) * rng.normal(size=clean.shape)
    if kind.startswith("exp"):
        clean, X = np.exp(clean), np.exp(X)
    if rng.random() < 0.5:
        units, zero = 10 ** rng.uniform(-3, 3, d), rng.uniform(-5, 5, d)
        zero[:] = 0 if kind.startswith("exp") else zero
        clean, X = units * (clean + zero), units * (X + zero)
    return kind, noise, clean, round_digits(X, DIGITS) if rng.random() < 0.5 else X


def is_made_true(law: Equation, kind: str, clean: np.ndarray, noise: float) -> bool:
    """Return whether a law is linear, or one of products of powers, and holds without noise."""
    scales = clean.std(axis=0)
    if kind.startswith("exp") and is_product(law.expression):
        scales = clean * np.log(clean).std(axis=0)
    elif not law.expression.is_polynomial() or sympy.Poly(law.expression).total_degree() > 1:
        return False
    sizes = np.linalg.norm(law.gradients(clean) * scales, axis=1)
    distances = law.terms(clean).sum(axis=1) / sizes
    return bool(np.sqrt(np.mean(distances**2)) <= noise)


def is_product(expression: sympy.Expr) -> bool:
    """Return whether an equation has two terms, or is a sum of logarithms."""
    terms = sympy.Add.make_args(expression)
    names = [term.as_coeff_Mul()[1] for term in terms if not term.is_number]
    return len(terms) == 2 or all(isinstance(each, sympy.log) for each in names)


def measure(number: int, seed: int) -> dict[str, Any]:
    """Look for laws in one table."""
    kind, noise, clean, X = make_table(number, seed)
    names = [f"x{j}" for j in range(X.shape[1])]
    laws, status, seconds = run_limited(discover, X, names)
    read = read_laws(laws or (), names)
    true = [text for text, law in read.items() if is_made_true(law, kind, clean, noise)]
    found = [str(law) for law in laws or ()]
    false = [text for text in found if noise >= NO_LAW or text not in true]
    row = {"number": number, "kind": kind, "noise": noise, "rows": len(X), "columns": X.shape[1]}
    return row | {"laws": found, "false": false, "status": status, "seconds": seconds}


def summarize(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the tables with laws, below and above the noise from which on there is none."""
    below, above = ([r for r in rows if (r["noise"] >= NO_LAW) == is_above] for is_above in (0, 1))
    return {
        "columns": label,
        f"with a law, noise {NO_LAW} and more": share(
            sum(bool(r["laws"]) for r in above), len(above)
        ),
        "with a law, less noise": share(sum(bool(r["laws"]) for r in below), len(below)),
        "of these false": sum(bool(r["false"]) for r in below),
        "exceptions and over time": sum(r["status"] != "ok" for r in rows),
        "seconds, median and most": describe_seconds([r["seconds"] for r in rows]),
    }


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Correlated tables without a law.")
    parser.add_argument("--tables", type=int, default=500, help="of which 3 in 5 have no law")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(delayed(measure)(number, options.seed) for number in range(options.tables))
    groups = {"all": rows} | {kind: [r for r in rows if r["kind"] == kind] for kind in KINDS}
    shown = ("number", "kind", "noise", "rows", "columns", "status")
    wrong = [
        {key: row[key] for key in shown} | {"false": f"`{'; '.join(row['false'])}`"}
        for row in rows
        if row["false"] or row["status"] != "ok"
    ]
    parts = [table([summarize(label, some) for label, some in groups.items()])]
    parts += ["## False laws and exceptions", table(wrong) if wrong else "None."]
    record = {"machine": describe(options.seed), "rows": rows}
    write("correlated", "Correlated columns without a law", __doc__ or "", record, parts)


if __name__ == "__main__":
    main()
