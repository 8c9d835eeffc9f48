"""Laws of two columns: ``python -m benchmarks.laws.curves``.

Writes ``curves_results.md`` and ``.json`` beside this file. A column is a function of another, as
in a lab: a power, a reciprocal, an exponential or a logarithm. Both have noise of 0.1 to 3 % of
their spreads, and up to two unrelated columns stand beside them. These tables are small, 40 to 400
rows, and polynomial regression fits each of them well: the question is whether the law says more.
A law is *found* if it is the only one, and has the terms that it should have.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import describe_seconds, run_limited
from joblib import Parallel, delayed

from vanishing import discover
from vanishing.laws import Law

NOISES = (0.001, 0.003, 0.01, 0.03)


class Curve(NamedTuple):
    """A function of x, and the terms of its law: powers of x and y, 0 for a logarithm."""

    function: Callable[[np.ndarray], np.ndarray]
    terms: tuple[str, ...]


CURVES = {
    "y = k x^2": Curve(lambda x: 3.7 * x**2, ("x^2", "y")),
    "y = k x^3": Curve(lambda x: 0.31 * x**3, ("x^3", "y")),
    "y^2 = k x": Curve(lambda x: 2.006 * np.sqrt(x), ("x", "y^2")),
    "x y = k": Curve(lambda x: 13.3 / x, ("1", "x y")),
    "y = k / x^2": Curve(lambda x: 5.3 / x**2, ("1", "x^2 y")),
    "y^2 = k x^3": Curve(lambda x: 1.7 * x**1.5, ("x^3", "y^2")),
    "y = a + b x^2": Curve(lambda x: 2.9 + 1.31 * x**2, ("1", "x^2", "y")),
    "y = a + b / x": Curve(lambda x: 1.2 + 4.7 / x, ("1", "x", "x y")),
    "y = k exp(b x)": Curve(lambda x: 1.9 * np.exp(0.41 * x), ("1", "log y", "x")),
    "y = a + b log x": Curve(lambda x: 2.1 + 1.7 * np.log(x), ("1", "log x", "y")),
    "y = k x^0.75": Curve(lambda x: 3.4 * x**0.75, ("1", "log x", "log y")),
    "y = x^2 / 2": Curve(lambda x: x**2 / 2, ("x^2", "y")),
}


def make_table(number: int, seed: int) -> tuple[str, float, np.ndarray]:
    """Draw a table; return the name of its curve, its noise, and itself."""
    rng = np.random.default_rng([seed, number, 7])
    name = list(CURVES)[number % len(CURVES)]
    noise = NOISES[number // len(CURVES) % len(NOISES)]
    n_rows = int(np.exp(rng.uniform(np.log(40), np.log(400))))
    low = rng.uniform(0.3, 2)
    x = rng.uniform(low, low * rng.uniform(3, 8), n_rows)
    unrelated = [rng.normal(10, 2, n_rows) for _ in range(rng.integers(0, 3))]
    X = np.column_stack([x, CURVES[name].function(x), *unrelated])
    return name, noise, X + noise * X.std(axis=0) * rng.normal(size=X.shape)


def list_terms(law: Law) -> tuple[str, ...]:
    """Write the terms of a law without their coefficients."""
    logs = np.zeros_like(law.exponents) if law.logs is None else law.logs
    written = []
    for powers, are_logs in zip(law.exponents.tolist(), logs.tolist(), strict=True):
        factors = [
            f"log {name}" for name, is_log in zip(law.names, are_logs, strict=True) if is_log
        ]
        factors += [
            name if power == 1 else f"{name}^{power}"
            for name, power in zip(law.names, powers, strict=True)
            if power
        ]
        written.append(" ".join(factors) or "1")
    return tuple(sorted(written))


def measure(number: int, seed: int) -> dict[str, Any]:
    """Look for the law of one table."""
    name, noise, X = make_table(number, seed)
    laws, status, seconds = run_limited(discover, X, ["x", "y", "u", "v"][: X.shape[1]])
    found = [list_terms(law) for law in laws or ()]
    return {
        "number": number,
        "law": name,
        "noise": noise,
        "rows": len(X),
        "columns": X.shape[1],
        "laws": [str(law) for law in laws or ()],
        "found": found == [tuple(sorted(CURVES[name].terms))],
        "status": status,
        "seconds": seconds,
    }


def summarize(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what is found of some tables, at each level of noise."""
    line: dict[str, Any] = {"law": name}
    for noise in NOISES:
        some = [row for row in rows if row["noise"] == noise]
        line[f"noise {noise:.1%}"] = share(sum(row["found"] for row in some), len(some))
    line["other equations"] = sum(bool(row["laws"]) and not row["found"] for row in rows)
    line["exceptions and over time"] = sum(row["status"] != "ok" for row in rows)
    line["seconds, median and most"] = describe_seconds([row["seconds"] for row in rows])
    return line


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Laws of two columns.")
    parser.add_argument("--tables", type=int, default=480)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(delayed(measure)(number, options.seed) for number in range(options.tables))
    lines = [summarize("all", rows)]
    lines += [summarize(name, [row for row in rows if row["law"] == name]) for name in CURVES]
    others = [
        {key: row[key] for key in ("number", "law", "noise", "rows")}
        | {"equations": f"`{'; '.join(row['laws'])}`"}
        for row in rows
        if row["laws"] and not row["found"]
    ]
    parts = [table(lines), "## Other equations", table(others) if others else "None."]
    record = {"machine": describe(options.seed), "rows": rows}
    write("curves", "Laws of two columns", __doc__ or "", record, parts)


if __name__ == "__main__":
    main()
