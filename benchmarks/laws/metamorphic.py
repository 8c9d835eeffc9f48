"""Changes of a table that keep its laws: ``python -m benchmarks.laws.metamorphic``.

Writes ``metamorphic_results.md`` and ``.json`` beside this file. The tables have one to three known
laws beside unrelated columns: whole numbers without noise, sums and products of prices rounded to
cents, and physical laws with noise of 1 % of the spread in every column. Each table is searched as
it is and after each change. A law of the table that is neither found nor implied after the change
is a *loss*. A law that appears is *new and false* if it follows neither from what was found before
nor from what is true: the laws that the table was made of, and what the change added.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from benchmarks.laws.implied import SPAN, Equation, follows, read_equation, read_laws
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import describe_seconds, run_limited
from joblib import Parallel, delayed

from vanishing import discover

NOISE = 0.01
#: Deviation of gradients that rounding to cents and noise explain.
TOLERANCES = {"whole numbers": SPAN, "cents": 0.01, "noise 1 %": 5 * NOISE}
Generator = np.random.Generator


@dataclass(frozen=True)
class Table:
    """A table, its names, and expressions of them that are zero."""

    X: np.ndarray
    names: list[str]
    laws: list[sympy.Expr]

    def append(self, column: Any, law: str | None = None) -> "Table":
        """Return the table with a further column, and the law that it brings."""
        names = [*self.names, "added"]
        brought = [read_equation(law, names).expression] if law else []
        return Table(np.column_stack([self.X, column]), names, [*self.laws, *brought])


# --- Tables ---------------------------------------------------------------------------------------


def whole_numbers(rng: Generator, n: int) -> dict[str, Any]:
    """Draw sums, differences, products and squares of whole numbers."""
    a, b, c, d = rng.integers(2, 200, (4, n))
    laws = {
        "s = a + b + c": a + b + c,
        "p = a*b": a * b,
        "q = c^2": c**2,
        "m = 12*d": 12 * d,
        "r = a*d - b": a * d - b,
        "u = a - c": a - c,
    }
    chosen = rng.choice(list(laws), int(rng.integers(1, 4)), replace=False)
    return {"a": a, "b": b, "c": c, "d": d} | {law: laws[law] for law in chosen.tolist()}


def cents(rng: Generator, n: int) -> dict[str, Any]:
    """Draw an invoice or accounts, rounded to cents."""
    quantity, price = rng.integers(1, 60, n), rng.uniform(2, 90, n).round(2)
    amount = (quantity * price).round(2)
    if rng.random() < 0.5:
        tax = (0.19 * amount).round(2)
        invoice = {"quantity": quantity, "price": price, "amount = quantity*price": amount}
        total = (amount + tax).round(2)
        return invoice | {"tax = 0.19*amount": tax, "total = amount + tax": total}
    wages, rent, goods = rng.uniform(100, 9000, (3, n)).round(2)
    costs = (wages + rent + goods).round(2)
    sales = rng.uniform(500, 30000, n).round(2)
    accounts = {"wages": wages, "rent": rent, "goods": goods, "sales": sales}
    return accounts | {
        "costs = wages + rent + goods": costs,
        "profit = sales - costs": (sales - costs).round(2),
    }


def noisy(rng: Generator, n: int) -> dict[str, Any]:
    """Draw a physical law, whose noise comes later."""
    a, b, c = rng.uniform(1, 5, (3, n))
    return (
        {"m": a, "v": b, "E = m*v^2/2": a * b**2 / 2},
        {"n": a, "T": 60 * b + 200, "V": c, "P = 8.314*n*T/V": 8.314 * a * (60 * b + 200) / c},
        {"R": a, "I": b, "U = R*I": a * b, "P = U*I": a * b**2},
        {"x": a, "y": b, "z": c, "s = x + y + z": a + b + c},
    )[rng.integers(4)]


BASES: dict[str, Callable[[Generator, int], dict[str, Any]]] = {
    "whole numbers": whole_numbers,
    "cents": cents,
    "noise 1 %": noisy,
}


def make_table(number: int, seed: int) -> tuple[str, Table]:
    """Draw a table, and return its kind with it; columns are called by the laws that give them."""
    rng = np.random.default_rng([seed, number])
    kind = list(BASES)[number % len(BASES)]
    n = int(rng.integers(150, 500) if kind == "noise 1 %" else rng.integers(40, 200))
    columns = BASES[kind](rng, n)
    for j in range(rng.integers(0, 3)):
        columns[f"other{j}"] = rng.lognormal(3, 1, n).round(2)
    X = np.column_stack(list(columns.values())).astype(float)
    if kind == "noise 1 %":
        X += NOISE * X.std(axis=0) * rng.normal(size=X.shape)
    names = [text.split(" = ")[0] for text in columns]
    laws = [read_equation(text, names).expression for text in columns if " = " in text]
    return kind, Table(X, names, laws)


# --- Changes --------------------------------------------------------------------------------------


def change_units(table: Table, units: np.ndarray) -> Table:
    """Return the table in other units."""
    symbols = [sympy.Symbol(name) for name in table.names]
    old = {each: each / unit for each, unit in zip(symbols, units.tolist(), strict=True)}
    return Table(table.X * units, table.names, [law.xreplace(old) for law in table.laws])


def copy(table: Table, rng: Generator) -> Table:
    """Append a copy of a column."""
    j = rng.integers(table.X.shape[1])
    return table.append(table.X[:, j], f"added = {table.names[j]}")


def multiple(table: Table, rng: Generator) -> Table:
    """Append a thousand times a column."""
    j = rng.integers(table.X.shape[1])
    return table.append(1000 * table.X[:, j], f"added = 1000*{table.names[j]}")


def add_two(table: Table, rng: Generator) -> Table:
    """Append the sum of two columns."""
    i, j = rng.choice(table.X.shape[1], 2, replace=False)
    law = f"added = {table.names[i]} + {table.names[j]}"
    return table.append(table.X[:, i] + table.X[:, j], law)


def permute(table: Table, rng: Generator) -> Table:
    """Permute the rows and the columns."""
    order = rng.permutation(table.X.shape[1])
    return Table(rng.permutation(table.X)[:, order], [table.names[j] for j in order], table.laws)


def append_blanks(table: Table, rng: Generator) -> Table:
    """Append an unrelated column with blanks in a third of the rows."""
    column = rng.normal(size=len(table.X)).round(3)
    return table.append(np.where(rng.random(len(column)) < 1 / 3, np.nan, column))


def halve(table: Table, rng: Generator) -> Table:
    """Take half of the rows."""
    return replace(table, X=rng.permutation(table.X)[: len(table.X) // 2])


def repeat(table: Table, rng: Generator) -> Table:
    """Repeat a part of the rows."""
    return replace(table, X=np.vstack([table.X, table.X[: rng.integers(1, len(table.X) + 1)]]))


CHANGES: dict[str, Callable[[Table, Generator], Table]] = {
    "a copied column": copy,
    "a column times 1000": multiple,
    "the sum of two columns": add_two,
    "units of powers of ten": lambda table, rng: change_units(
        table, 10.0 ** rng.integers(-3, 4, table.X.shape[1])
    ),
    "units of 3.7": lambda table, rng: change_units(
        table, np.where(rng.random(table.X.shape[1]) < 0.5, 3.7, 1.0)
    ),
    "half of the rows": halve,
    "an unrelated column": lambda table, rng: table.append(rng.normal(size=len(table.X)).round(3)),
    "row numbers": lambda table, _: table.append(np.arange(1, len(table.X) + 1)),
    "a constant column": lambda table, _: table.append(np.full(len(table.X), 7.0), "added = 7"),
    "a column of 0 and 1": lambda table, rng: table.append(rng.integers(0, 2, len(table.X))),
    "repeated rows": repeat,
    "permuted rows and columns": permute,
    "blanks in an unrelated column": append_blanks,
}


# --- Measurements ---------------------------------------------------------------------------------


def lacking(
    asked: Sequence[Equation], known: Sequence[Equation], X: np.ndarray, tolerance: float
) -> list[Equation]:
    """Return the equations that do not follow from known ones on a table."""
    return [each for each in asked if not follows(each, known, X, each.is_there(X), tolerance)]


def write_down(equations: Sequence[Equation]) -> list[str]:
    """Write equations as expressions that are zero."""
    return [str(sympy.N(equation.expression, 4)) for equation in equations]


def measure(number: int, seed: int) -> dict[str, Any]:
    """Look for the laws of one table, before and after each change."""
    kind, base = make_table(number, seed)
    laws, status, seconds = run_limited(discover, base.X, base.names)
    found = list(read_laws(laws or (), base.names).values())
    truth = [Equation(law, base.names) for law in base.laws]
    tolerance = TOLERANCES[kind]
    return {
        "number": number,
        "kind": kind,
        "rows": len(base.X),
        "columns": base.names,
        "laws": [str(law) for law in laws or ()],
        "missed": write_down(lacking(truth, found, base.X, tolerance)),
        "false": write_down(lacking(found, truth, base.X, tolerance)),
        "status": status,
        "seconds": seconds,
        "changes": [
            compare(change, base, found, tolerance, np.random.default_rng([seed, number, j]))
            for j, change in enumerate(CHANGES)
        ],
    }


def compare(
    change: str, base: Table, found: list[Equation], tolerance: float, rng: Generator
) -> dict[str, Any]:
    """Look for the laws of a changed table, and compare them with those from before."""
    both = replace(base, laws=[*base.laws, *(each.expression for each in found)])
    changed = CHANGES[change](both, rng)
    equations = [Equation(law, changed.names) for law in changed.laws]
    n_true, n_both = len(base.laws), len(both.laws)
    truth, before, added = equations[:n_true], equations[n_true:n_both], equations[n_both:]
    laws, status, seconds = run_limited(discover, changed.X, changed.names)
    now = list(read_laws(laws or (), changed.names).values())
    new = lacking(now, before + added, changed.X, tolerance)
    return {
        "change": change,
        "laws": [str(law) for law in laws or ()],
        "losses": write_down(lacking(before, now, changed.X, tolerance)),
        "new_false": write_down(lacking(new, truth + added, changed.X, tolerance)),
        "status": status,
        "seconds": seconds,
    }


def summarize(change: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the losses after one change, for each kind of table."""
    line: dict[str, Any] = {"change": change}
    changed = [(row, each) for row in rows for each in row["changes"] if each["change"] == change]
    for kind in BASES:
        some = [(row, each) for row, each in changed if row["kind"] == kind]
        lost = sum(len(each["losses"]) for _, each in some)
        line[f"laws lost, {kind}"] = share(lost, sum(len(row["laws"]) for row, _ in some))
    line["new and false laws"] = sum(len(each["new_false"]) for _, each in changed)
    line["exceptions and over time"] = sum(each["status"] != "ok" for _, each in changed)
    line["seconds, median and most"] = describe_seconds([each["seconds"] for _, each in changed])
    return line


def summarize_base(kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what is found in the tables of one kind as they are."""
    some = [row for row in rows if row["kind"] == kind]
    return {
        "tables": f"{len(some)} ({kind})",
        "with a law that is missed": sum(bool(row["missed"]) for row in some),
        "with a false law": sum(bool(row["false"]) for row in some),
        "exceptions and over time": sum(row["status"] != "ok" for row in some),
        "seconds, median and most": describe_seconds([row["seconds"] for row in some]),
    }


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    rows = record["rows"]
    wrong = [
        {"number": row["number"], "kind": row["kind"], "change": each["change"]}
        | {"lost": f"`{'; '.join(each['losses'])}`", "new": f"`{'; '.join(each['new_false'])}`"}
        | {"status": each["status"]}
        for row in rows
        for each in row["changes"]
        if each["losses"] or each["new_false"] or each["status"] != "ok"
    ]
    false = [
        {"number": row["number"], "kind": row["kind"], "missed": f"`{'; '.join(row['missed'])}`"}
        | {"false": f"`{'; '.join(row['false'])}`", "status": row["status"]}
        for row in rows
        if row["missed"] or row["false"] or row["status"] != "ok"
    ]
    parts = [
        table([summarize_base(kind, rows) for kind in BASES]),
        table([summarize(change, rows) for change in CHANGES]),
        "## Before a change",
        table(false) if false else "Nothing missed, nothing false.",
        "## After a change",
        table(wrong) if wrong else "No loss.",
    ]
    write("metamorphic", "Changes that keep the laws", __doc__ or "", record, parts)


def main() -> None:
    """Run the tables and write the results."""
    parser = argparse.ArgumentParser(description="Changes of a table that keep its laws.")
    parser.add_argument("--tables", type=int, default=200, help="for each change")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    rows = run(delayed(measure)(number, options.seed) for number in range(options.tables))
    report({"machine": describe(options.seed), "rows": rows})


if __name__ == "__main__":
    main()
