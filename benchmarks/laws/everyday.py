"""Formulas of everyday life, with wrong cells: ``python -m benchmarks.laws.everyday --jobs 2``.

Writes ``everyday_results.md`` and ``.json`` beside this file. Each table has 20 to 400 rows, the
inputs of one formula that people compute (a tax, a discount, a mean, a conversion of units, an
area), rounded to the digits in which they are usually written, its rounded result, and up to three
columns that have nothing to do with it. Columns stand in any order. In three tables of four, up to
one cell in 60 rows is wrong: zero, ten times its value, off by the spread, or off by a few digits.

A formula is *found* if a law speaks of exactly its columns; any other law is *false*. A wrong row
is *named* if ``check`` names it, and any other row that it names is a *false alarm*.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import describe_seconds, run_limited
from joblib import Parallel, delayed

from vanishing import discover


class Formula(NamedTuple):
    """Inputs by lowest and highest value and decimals, the result, and its decimals."""

    inputs: tuple[tuple[float, float, int], ...]
    compute: Callable[..., np.ndarray]
    decimals: int


MONEY, SCORE, LENGTH, PERCENT = (10, 900, 2), (0, 100, 1), (1, 50, 1), (1, 9, 2)
FORMULAS = {
    "Fahrenheit": Formula(((-20, 40, 1),), lambda c: 1.8 * c + 32, 1),
    "Kelvin": Formula(((-20, 40, 2),), lambda c: c + 273.15, 2),
    "miles": Formula(((1, 500, 1),), lambda km: 0.621371 * km, 2),
    "pounds": Formula(((40, 120, 1),), lambda kg: 2.20462 * kg, 1),
    "body mass index": Formula(((45, 120, 1), (1.5, 2.0, 2)), lambda w, h: w / h**2, 1),
    "density": Formula(((10, 500, 1), LENGTH), lambda m, v: m / v, 3),
    "speed": Formula(((5, 400, 1), (10, 300, 0)), lambda d, t: 60 * d / t, 1),
    "power": Formula(((100, 240, 1), (0.1, 16, 2)), lambda v, i: v * i, 1),
    "tax": Formula((MONEY,), lambda net: 0.19 * net, 2),
    "price with tax": Formula((MONEY,), lambda net: 1.19 * net, 2),
    "discount": Formula((MONEY, (0, 40, 0)), lambda p, d: p * (1 - d / 100), 2),
    "interest": Formula(((1e3, 5e4, 2), PERCENT), lambda p, r: p * r / 100, 2),
    "compound interest": Formula(
        ((1e3, 9e3, 2), (1, 8, 1)), lambda p, r: p * (1 + r / 100) ** 2, 2
    ),
    "total": Formula(((1, 40, 0), (0.5, 90, 2)), lambda q, p: q * p, 2),
    "total with shipping": Formula(
        ((1, 40, 0), (0.5, 90, 2), (0, 20, 2)), lambda q, p, s: q * p + s, 2
    ),
    "margin": Formula((MONEY, MONEY), lambda a, b: 100 * (a - b) / a, 1),
    "change in percent": Formula((MONEY, MONEY), lambda a, b: 100 * (b - a) / a, 1),
    "mean of two": Formula((MONEY,) * 2, lambda a, b: (a + b) / 2, 2),
    "mean of three": Formula((SCORE,) * 3, lambda a, b, c: (a + b + c) / 3, 1),
    "grade": Formula(((0, 100, 0),) * 3, lambda a, b, c: 0.2 * a + 0.3 * b + 0.5 * c, 1),
    "points": Formula(((0, 40, 0), (0, 60, 0)), lambda a, b: a + b, 0),
    "sum of four": Formula((MONEY,) * 4, lambda a, b, c, d: a + b + c + d, 2),
    "balance": Formula((MONEY,) * 3, lambda a, b, c: a + b - c, 2),
    "exchange": Formula(((10, 9e3, 2), (1.02, 1.19, 4)), lambda x, r: x * r, 2),
    "fee": Formula(((10, 9e3, 2),), lambda x: 0.35 + 0.029 * x, 2),
    "gas bill": Formula(((10, 400, 0),), lambda x: 12.5 + 0.0832 * x, 2),
    "wage with overtime": Formula(
        ((100, 180, 1), (0, 30, 1), (12, 60, 2)), lambda h, o, r: h * r + 1.5 * o * r, 2
    ),
    "cost of energy": Formula(
        ((5, 3e3, 0), (1, 300, 1), (0.2, 0.4, 3)), lambda w, h, p: w * h * p / 1000, 2
    ),
    "fuel per 100 km": Formula(((5, 60, 2), (80, 900, 1)), lambda v, d: 100 * v / d, 1),
    "dose": Formula(((40, 120, 1),), lambda w: 15 * w, 0),
    "bill split": Formula(((10, 300, 2), (2, 8, 0)), lambda b, n: 1.15 * b / n, 2),
    "current": Formula(((1, 24, 2), (10, 990, 0)), lambda v, r: 1000 * v / r, 1),
    "kinetic energy": Formula(((1, 90, 1), (1, 40, 1)), lambda m, v: m * v**2 / 2, 0),
    "perimeter": Formula((LENGTH,) * 2, lambda a, b: 2 * (a + b), 1),
    "walls": Formula(((2, 9, 2), (2, 4, 2)), lambda a, b: 5 * (a + b), 2),
    "volume of a box": Formula((LENGTH,) * 3, lambda a, b, c: a * b * c, 1),
    "circumference": Formula((LENGTH,), lambda r: 2 * np.pi * r, 2),
    "area of a circle": Formula((LENGTH,), lambda r: np.pi * r**2, 1),
    "volume of a cylinder": Formula(((1, 20, 1), LENGTH), lambda r, h: np.pi * r**2 * h, 0),
    "hypotenuse": Formula((LENGTH,) * 2, lambda a, b: np.hypot(a, b), 2),
    "root": Formula(((0, 900, 0),), np.sqrt, 3),
    "logarithm": Formula(((1, 9e3, 0),), np.log10, 4),
    "reciprocal": Formula(((0.2, 90, 2),), lambda a: 1 / a, 4),
}


def make_table(name: str, rng: np.random.Generator) -> tuple[np.ndarray, set[int], set[int]]:
    """Draw a table; return it, the columns of the formula, and the rows with a wrong cell."""
    formula = FORMULAS[name]
    n_rows = int(np.exp(rng.uniform(np.log(20), np.log(400))))
    inputs = [np.round(rng.uniform(low, high, n_rows), d) for low, high, d in formula.inputs]
    decimals = [d for *_, d in formula.inputs] + [formula.decimals]
    columns = [*inputs, np.round(formula.compute(*inputs), formula.decimals)]
    unrelated = [
        np.round(rng.normal(50, 20, n_rows), 1),
        np.round(rng.lognormal(5, 1, n_rows), 2),
        rng.integers(0, 2, n_rows).astype(float),
        1000.0 + np.arange(n_rows),
        rng.integers(1, 13, n_rows).astype(float),
    ]
    n_unrelated = int(rng.integers(4))
    columns += [unrelated[k] for k in rng.permutation(len(unrelated))[:n_unrelated]]
    X = np.column_stack(columns)
    most = 1 + max(1, n_rows // 60) if rng.uniform() < 0.75 else 1
    wrong = set()
    for row in rng.permutation(n_rows)[: int(rng.integers(most))].tolist():
        j = int(rng.integers(len(decimals)))
        cell, unit = X[row, j], 10.0 ** -decimals[j]
        choices = (0.0, 10 * cell, cell + X[:, j].std(), cell + unit * rng.integers(5, 90))
        X[row, j] = np.round(choices[rng.integers(len(choices))], decimals[j])
        if X[row, j] != cell:
            wrong.add(row)
    order = rng.permutation(X.shape[1])
    return X[:, order], set(np.argsort(order)[: len(decimals)].tolist()), wrong


def look(X: np.ndarray) -> tuple[list[set[int]], list[str], set[int]]:
    """Return the columns of each law, the laws, and the rows that are named."""
    laws = discover(X, [f"c{j}" for j in range(X.shape[1])])
    symbols = [{str(each) for each in law.expression.free_symbols} for law in laws.equations]
    columns = [{int(name[1:]) for name in names if name[1:].isdigit()} for names in symbols]
    named = {broken.row for broken in laws.check(X) if not broken.is_missing}
    return columns, [str(law) for law in laws.equations], named


def measure(name: str, number: int, seed: int) -> dict[str, Any]:
    """Look for the formula of one table, and for its wrong cells."""
    place = list(FORMULAS).index(name)
    X, used, wrong = make_table(name, np.random.default_rng([seed, place, number]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found, status, seconds = run_limited(look, X)
    columns, laws, named = found or ([], [], set())
    return {
        "formula": name, "number": number, "rows": len(X), "status": status, "seconds": seconds,
        "found": used in columns, "laws": laws,
        "false": [law for law, each in zip(laws, columns, strict=True) if each != used],
        "wrong": len(wrong), "named": len(wrong & named), "alarms": len(named - wrong),
    }  # fmt: skip


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Formulas of everyday life.")
    parser.add_argument("--tables", type=int, default=10, help="for each formula")
    parser.add_argument("--seed", type=int, default=3107)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    rows = Parallel(n_jobs=options.jobs)(
        delayed(measure)(name, number, options.seed)
        for name in FORMULAS
        for number in range(options.tables)
    )
    report({"machine": describe(options.seed), "rows": rows})


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    by_formula: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in record["rows"]:
        by_formula[row["formula"]].append(row)
    lines = [summarize("all", record["rows"])]
    lines += [summarize(name, rows) for name, rows in by_formula.items()]
    false = [{"formula": row["formula"], "number": row["number"], "law": f"`{law}`"}
             for row in record["rows"] for law in row["false"]]  # fmt: skip
    parts = [table(lines), *(["## False laws", table(false)] if false else [])]
    write("everyday", "Formulas of everyday life", (__doc__ or "").split("\n", 2)[2], record, parts)


def summarize(name: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return the line of the tables of one formula, or of all."""
    return {
        "formula": name,
        "found": share(sum(row["found"] for row in rows), len(rows)),
        "tables with a false law": share(sum(bool(row["false"]) for row in rows), len(rows)),
        "wrong rows named": share(
            sum(row["named"] for row in rows), sum(row["wrong"] for row in rows)
        ),
        "tables with a false alarm": share(sum(bool(row["alarms"]) for row in rows), len(rows)),
        "exceptions": str(sum(row["status"] != "ok" for row in rows)),
        "seconds, median and most": describe_seconds([row["seconds"] for row in rows]),
    }


if __name__ == "__main__":
    main()
