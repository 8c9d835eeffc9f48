"""Conditional laws: ``python -m benchmarks.laws.conditions --seed 2000``.

Writes ``conditions_results.md`` and ``.json`` beside this file. Each table has 60 to 1,000 rows. A
column is another one, or a product of two, times a number that depends on a category, a date, a
part of a date, a code of whole numbers, a truth value or the size of a quantity; or on nothing in
the table; each number has five rows or more. Half of the tables also have a sum of two columns.
Amounts are rounded to cents. Two cells of the column are wrong: swapped digits, a decimal point at
another place, a changed digit, or the number of another branch. In a quarter of the tables, 2 % of
the amounts are blank.

A table counts as *found* if each branch with eight rows or more is: of 5 sound rows, those whose
cell is changed by 10 % are broken. It counts as *nothing false* if all of 300 other sound rows keep
its laws. A wrong cell counts as *located* if its row is broken and the cell is among those that
would fix it; it is *first* if it is named first, which only the tables with a sum determine. A
value that another branch gives, which is sound where nothing tells the branch, is not planted
there.

Tables without a law: random walks, independent amounts and whole numbers, and columns whose means
depend on the category, each with two categories, a date and a code. Any law is false.
"""

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import count, describe, share, table, write
from benchmarks.laws.runs import make_parser, run_all, run_limited

from vanishing import discover

RATES = (0.0, 0.05, 0.07, 0.08, 0.1, 0.12, 0.15, 0.16, 0.19, 0.2, 0.21, 0.25)
#: Rows of a branch; fewer may be wrong cells.
FEWEST = 5
#: Share of blank amounts, where there are any.
BLANKS = 0.02
COUNTRIES = ("DE", "FR", "CH", "AT", "IT", "ES", "PL")


def draw_rates(rng: np.random.Generator, number: int) -> np.ndarray:
    """Draw different rates."""
    return rng.choice(RATES, number, replace=False)


class Kind:
    """A kind of tables: what the rates depend on, fixed by ``plan``, and the rows that it gives."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.name = name
        self.has_sum = bool(rng.integers(2))
        self.is_product = bool(rng.integers(2)) or name == "size"
        n_rates = int(rng.integers(2, 5))
        self.rates = draw_rates(rng, n_rates)
        self.shares = rng.dirichlet(np.full(n_rates, 5.0))
        self.of_level = np.append(np.arange(n_rates), rng.integers(n_rates, size=7 - n_rates))
        self.cut = np.sort(rng.choice(np.arange(200, 900), n_rates - 1, replace=False))
        self.part = str(rng.choice(["year", "month", "weekday"]))
        if name == "part of a date":
            self.of_level = np.append(np.arange(n_rates), rng.integers(n_rates, size=12 - n_rates))

    def draw(self, rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Draw sound rows; return them and the branch of each."""
        days = np.sort(rng.integers(0, 1100, n_rows)) if self.name != "part of a date" else None
        days = rng.integers(0, 1100, n_rows) if days is None else days
        dates = np.datetime64("2020-01-01") + days
        quantity = rng.integers(1, 60, n_rows)
        columns: dict[str, Any] = {"date": dates.astype(str)}
        if self.name == "category":
            level = rng.integers(0, 7, n_rows)
            columns["country"] = np.array(COUNTRIES)[level]
            branch = self.of_level[level]
        elif self.name == "code":
            level = rng.integers(0, 7, n_rows)
            columns["code"] = level + 1
            branch = self.of_level[level]
        elif self.name == "truth value":
            level = rng.integers(0, 2, n_rows)
            columns["reduced"] = level.astype(bool)
            branch = level
        elif self.name == "date":
            branch = np.searchsorted(self.cut, days, side="right")
        elif self.name == "part of a date":
            index = pd.DatetimeIndex(dates)
            level = {"year": index.year - 2020, "month": index.month - 1}.get(
                self.part, index.day_of_week
            )
            branch = self.of_level[np.asarray(level)]
        elif self.name == "size":
            branch = np.searchsorted(self.cut * 60 // 1100, quantity, side="right")
        elif self.name == "only some":
            self.rates[0] = max(self.rates[0], min(RATES[1:]))  # 0 alone is no law
            level = rng.integers(0, 4, n_rows)
            columns["kind"] = np.array(["a", "b", "c", "d"])[level]
            branch = np.where(level == 0, 0, -1)
        else:
            branch = rng.choice(len(self.rates), n_rows, p=self.shares)
        net = np.round(rng.lognormal(4.5, 1, n_rows), 2)
        columns["net"] = net
        base = net
        if self.is_product:
            columns["quantity"] = quantity
            base = net * quantity
        rates = np.where(branch < 0, rng.uniform(0, 0.3, n_rows), self.rates[branch])
        columns["tax"] = np.round(base * rates + 1e-9, 2)
        if self.has_sum:
            columns["gross"] = np.round(net + columns["tax"], 2)
        columns["weight"] = np.round(rng.gamma(2, 3, n_rows), 1)
        return pd.DataFrame(columns), branch


KINDS = (
    *("category", "code", "truth value", "date", "part of a date", "size", "only some"),
    "few numbers",
)


def spoil(
    frame: pd.DataFrame, branch: np.ndarray, kind: Kind, rng: np.random.Generator
) -> tuple[pd.DataFrame, list[int]]:
    """Plant two wrong taxes."""
    changed, rows = frame.copy(), []
    for row in rng.permutation(len(frame)).tolist():
        value, other = frame.at[row, "tax"], None
        way = int(rng.integers(4))
        if branch[row] < 0 or not value >= 1 or np.isnan(frame.at[row, "net"]):
            continue
        if way == 0:
            digits = f"{value:.2f}"
            other = float(digits[1] + digits[0] + digits[2:]) if digits[1] != "." else None
        elif way == 1:
            other = round(value * 10, 2)
        elif way == 2:
            other = round(value + int(rng.integers(1, 9)), 2)
        elif kind.name not in ("few numbers", "only some"):
            rate = kind.rates[(branch[row] + 1) % len(kind.rates)]
            other = round(value / kind.rates[branch[row]] * rate, 2)
        if other is None or abs(other - value) < 0.05:
            continue
        ratio = other / value * kind.rates[branch[row]]
        if kind.name == "few numbers" and np.abs(ratio - kind.rates).min() < 1e-3:
            continue
        changed.at[row, "tax"] = other
        rows.append(row)
        if len(rows) == 2:
            break
    return changed, rows


def measure(name: str, number: int, seed: int) -> dict[str, Any]:
    """Find the laws of one table, and check sound and changed rows."""
    rng = np.random.default_rng([seed, KINDS.index(name), number])
    kind = Kind(name, rng)
    n_rows = round(float(np.exp(rng.uniform(np.log(60), np.log(1000)))))
    frame, branch = kind.draw(rng, n_rows)
    while min(np.unique(branch, return_counts=True)[1]) < FEWEST:
        frame, branch = kind.draw(rng, n_rows)
    if rng.random() < 0.25:
        blank = rng.random((n_rows, 2)) < BLANKS
        frame[["net", "tax"]] = frame[["net", "tax"]].mask(blank)
    spoiled, wrong = spoil(frame, branch, kind, rng)
    laws, status, seconds = run_limited(discover, spoiled)
    row: dict[str, Any] = {"kind": name, "number": number, "rows": len(frame), "status": status}
    row |= {"rates": kind.rates.tolist(), "seconds": seconds, "not ok": status != "ok"}
    if laws is None:
        return row | {"laws": [], "found": False, "false": 0, "cells": []}
    row["laws"] = [str(law) for law in laws]
    by_row = {each.row: each for each in laws.check(spoiled)}
    ways = [[fix.column for fix in (*each.fixes, *each.alternatives)] if each else []
            for each in map(by_row.get, wrong)]  # fmt: skip
    row["cells"] = [
        {"kind": name, "located": "tax" in way, "first": way[:1] == ["tax"], "sum": kind.has_sum}
        for way in ways
    ]
    fresh, _ = kind.draw(rng, 300)
    row["false"] = int(laws.check(fresh).broken.sum())
    return row | {"found": _are_found(laws, frame, branch, wrong, rng)}


def _are_found(
    laws: Any, frame: pd.DataFrame, branch: np.ndarray, wrong: list[int], rng: np.random.Generator
) -> bool:
    """Say whether changed rows of each branch are broken."""
    sound = frame.notna().all(axis=1).to_numpy().copy()
    sound[wrong] = False
    for b in sorted(set(branch.tolist()) - {-1}):
        rows = np.flatnonzero(sound & (branch == b))
        large = rows[frame["tax"].to_numpy()[rows] >= 1]
        rows = large if len(large) else rows
        if len(rows) < 8:
            continue
        some = frame.iloc[rng.choice(rows, 5, replace=False)].copy()
        change = np.round(some["tax"] * 0.1, 2) + (0.37 if not len(large) else 0.0)
        some["tax"] = np.round(some["tax"] + change, 2)
        if "gross" in some:
            some["gross"] = np.round(some["gross"] + change, 2)
        if not laws.check(some).broken.all():
            return False
    return True


def make_null(number: int, seed: int) -> pd.DataFrame:
    """Draw a table without a law."""
    rng = np.random.default_rng([seed, 99, number])
    n_rows = int(rng.integers(40, 401))
    country = rng.choice(COUNTRIES, n_rows)
    means = {each: rng.uniform(50, 500, 3) for each in COUNTRIES}
    way = number % 4
    if way == 0:
        numbers = np.round(np.cumsum(rng.normal(0, 10, (n_rows, 3)), axis=0) + 500, 2)
    elif way == 1:
        numbers = np.round(rng.lognormal(4, 1, (n_rows, 3)), 2)
    elif way == 2:
        numbers = rng.integers(1, int(rng.integers(5, 200)), (n_rows, 3))
    else:
        mean = np.array([means[each] for each in country])
        numbers = np.round(mean * rng.lognormal(0, 0.1, (n_rows, 3)), 2)
    days = np.datetime64("2020-01-01") + np.sort(rng.integers(0, 1100, n_rows))
    columns = {"date": days.astype(str), "country": country, "a": numbers[:, 0]}
    columns |= {"b": numbers[:, 1], "c": numbers[:, 2], "code": rng.integers(1, 5, n_rows)}
    return pd.DataFrame(columns | {"shop": rng.choice(list("ABCDEFGHIJKL"), n_rows)})


def measure_null(number: int, seed: int) -> dict[str, Any]:
    """Find the laws of a table that has none."""
    laws, status, seconds = run_limited(discover, make_null(number, seed))
    found = [str(law) for law in laws or ()]
    return {"number": number, "status": status, "laws": found, "seconds": seconds}


def main() -> None:
    """Run the tables and write the results."""
    options = make_parser("Laws that depend on a condition.", 100, 300, 2000).parse_args()
    calls = [(name, number, options.seed) for name in KINDS for number in range(options.tables)]
    rows = run_all(measure, calls, options.jobs)
    calls = [(number, options.seed) for number in range(options.null_tables)]
    nulls = run_all(measure_null, calls, options.jobs)
    tables = count(rows, "kind", KINDS, {
        "found": "found", "with a false law": "false", "exceptions and over time": "not ok",
    })  # fmt: skip
    planted = [cell for row in rows for cell in row["cells"]]
    columns = {"wrong cells located": "located", "first, with a sum": "first / sum"}
    located = count(planted, "kind", KINDS, columns)
    lines = [line | other for line, other in zip(tables, located, strict=True)]
    failures = [
        {key: row[key] for key in ("kind", "number", "rows", "found", "false", "rates", "laws")}
        for row in rows
        if not row["found"] or row["false"] or not all(cell["located"] for cell in row["cells"])
    ]
    false = [row for row in nulls if row["laws"]]
    parts = [
        table(lines),
        f"Tables without a law that have one: {share(len(false), len(nulls))}.",
        "## What failed",
        table(failures) if failures else "Nothing.",
        *(["Of those without a law:", table(false)] if false else []),
    ]
    record = {"machine": describe(options.seed), "tables": rows, "nulls": nulls}
    about = (__doc__ or "").split("\n", 2)[2]
    write("conditions", "Conditional laws", about, record, parts, options.out)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
