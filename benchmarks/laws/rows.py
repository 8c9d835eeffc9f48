"""Laws of other rows and functions of a row: ``python -m benchmarks.laws.rows``.

Writes ``rows_results.md`` and ``rows_results.json`` beside this file. There are 100 tables of each
kind by default (``--tables``), of 20 to 2,000 rows, half of them of less than 200. Two cells are
wrong in each, or the first of these in tables of less than 40 rows: one amount and one balance, or
two cells of a function, in rows that are not neighbors. ``discover`` and ``Laws.check`` are given
the table with the wrong cells. A law is found if it is the expected text, and an error is located
if its row is named, and its cell is the fix or one of the alternatives. Blanks are 2 % of all
numbers of one kind, and of a quarter of the other tables; wrong cells stand where the rows before
and after are complete. Half of the tables have a text that differs from row to row, and half have
a further number. Tables without a law are random walks, chains whose rows are shuffled, and
random numbers with a category."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import count, describe, table, write
from benchmarks.laws.runs import make_parser, run_all

from vanishing import discover

BLANKS = 0.02
#: Rows of a table with two wrong cells: a law may be broken by a tenth of them, one balance by two.
FEWEST_FOR_TWO = 40

#: A table, its law as text, and the columns in which errors are planted.
Made = tuple[pd.DataFrame, str, tuple[str, str]]


def _bank(n_rows: int, rng: np.random.Generator) -> Made:
    is_credit = rng.random(n_rows) < 0.4
    amounts = np.round(rng.lognormal(5, 1, n_rows), 2)
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=n_rows).strftime("%Y-%m-%d")})
    frame["credit"] = np.where(is_credit, amounts, 0.0)
    frame["debit"] = np.where(is_credit, 0.0, amounts)
    frame["balance"] = (1000 + (frame.credit - frame.debit).cumsum()).round(2)
    return frame, "balance = previous balance + credit - debit", ("debit", "balance")


def _newest_first(n_rows: int, rng: np.random.Generator) -> Made:
    frame, _, columns = _bank(n_rows, rng)
    law = "balance = next balance + credit - debit"
    return frame[::-1].reset_index(drop=True), law, columns


def _by_account(n_rows: int, rng: np.random.Generator) -> Made:
    accounts = rng.choice(["A-17", "B-2", "C-30", "D-4"], n_rows)
    frame = pd.DataFrame({"account": accounts, "amount": np.round(rng.normal(0, 300, n_rows), 2)})
    starts = {name: round(float(rng.uniform(0, 5000)), 2) for name in set(accounts)}
    sums = frame.groupby("account").amount.cumsum()
    frame["balance"] = (frame.account.map(starts) + sums).round(2)
    return frame, "balance = previous balance by account + amount", ("amount", "balance")


def _with_blanks(n_rows: int, rng: np.random.Generator) -> Made:
    frame, law, columns = _by_account(n_rows, rng)
    return _blank(frame, rng), law, columns


def _blank(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    numbers = frame.select_dtypes("number")
    return frame.assign(**numbers.mask(rng.random(numbers.shape) < BLANKS))


def _surround(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add columns that no law speaks of, and blanks."""
    n_rows = len(frame)
    if rng.random() < 0.5:
        texts = [f"{rng.choice(['Card', 'Order', 'Fee'])} {k}" for k in rng.permutation(n_rows)]
        frame.insert(1, "memo", texts)
    if rng.random() < 0.5:
        frame["rate"] = np.round(rng.normal(1.1, 0.05, n_rows), 4)
    return _blank(frame, rng) if rng.random() < 0.25 else frame


def _year_to_date(n_rows: int, rng: np.random.Generator) -> Made:
    days = pd.date_range("2012-01-01", periods=n_rows, freq="MS")
    frame = pd.DataFrame({"month": days, "sales": rng.integers(100, 5000, n_rows)})
    frame["ytd"] = frame.groupby(days.year).sales.cumsum()
    return frame, "ytd = previous ytd by year of month + sales", ("sales", "ytd")


def _stock(n_rows: int, rng: np.random.Generator) -> Made:
    received, sold = rng.integers(0, 60, (2, n_rows))
    stock = 2000 + np.cumsum(received - sold)
    frame = pd.DataFrame({"received": received, "sold": sold, "stock": stock})
    return frame, "stock = previous stock + received - sold", ("sold", "stock")


def _function(text: str, compute: Callable[[Any, Any], Any]) -> Callable[..., Made]:
    def make(n_rows: int, rng: np.random.Generator) -> Made:
        a, b = np.round(rng.lognormal(4, 0.5, (2, n_rows)), 2)
        frame = pd.DataFrame({"a": a, "b": b, "m": np.round(compute(a, b), 2)})
        return frame, f"m = {text}", ("m", "m")

    return make


def _mean(n_rows: int, rng: np.random.Generator) -> Made:
    frame = pd.DataFrame(rng.integers(1, 500, (n_rows, 3)) * 3, columns=["a", "b", "c"])
    frame["m"] = frame.mean(axis=1)
    return frame, "m = mean(a, b, c)", ("m", "a")


def _rounded(n_rows: int, rng: np.random.Generator) -> Made:
    a, b = np.round(rng.lognormal(4, 0.5, (2, n_rows)), 2)
    return pd.DataFrame({"a": a, "b": b, "m": np.round(a).astype(int)}), "a = m", ("m", "m")


def _percent(n_rows: int, rng: np.random.Generator) -> Made:
    a, b = np.round(rng.lognormal(4, 0.5, (2, n_rows)), 2)
    frame = pd.DataFrame({"a": a, "b": b, "m": np.round(100 * a / b, 2)})
    return frame, "100*a = b*m", ("m", "m")


KINDS: dict[str, Callable[[int, np.random.Generator], Made]] = {
    "running balance": _bank,
    "running balance, newest first": _newest_first,
    "running balance by account": _by_account,
    "the same with 2 % blanks": _with_blanks,
    "year to date": _year_to_date,
    "stock": _stock,
    "max(a, b)": _function("max(a, b)", np.maximum),
    "min(a, b)": _function("min(a, b)", np.minimum),
    "|a - b|": _function("|a - b|", lambda a, b: np.abs(a - b)),
    "max(a - b, 0)": _function("max(a - b, 0)", lambda a, b: np.maximum(a - b, 0)),
    "mean of three": _mean,
    "floor(a/7)": _function("floor(a/7)", lambda a, b: np.floor(a / 7)),
    "ceil(a/2.5)": _function("ceil(a/2.5)", lambda a, b: np.ceil(a / 2.5)),
    "rounded to whole numbers": _rounded,
    "percent": _percent,
}


def _walks(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    steps = rng.integers(-3, 4, (n_rows, 3)) if rng.random() < 0.5 else rng.normal(size=(n_rows, 3))
    frame = pd.DataFrame(np.round(np.cumsum(steps, axis=0), 2), columns=["x", "y", "z"])
    return frame.assign(number=np.arange(n_rows), step=rng.integers(-3, 4, n_rows))


def _shuffled(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    makers = list(KINDS.values())[:6]
    frame, _, _ = makers[int(rng.integers(len(makers)))](n_rows, rng)
    # A date would tell the order.
    frame = frame.drop(columns=[name for name in ("day", "month") if name in frame])
    return frame.iloc[rng.permutation(n_rows)].reset_index(drop=True)


def _categories(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    frame = pd.DataFrame(rng.integers(-20, 21, (n_rows, 4)), columns=["a", "b", "c", "d"])
    frame["total"] = rng.integers(0, 9, n_rows)
    return frame.assign(kind=rng.choice(["x", "y", "z"], n_rows), code=rng.integers(0, 5, n_rows))


NULLS = {"random walks": _walks, "shuffled rows": _shuffled, "categories": _categories}


def _plant(frame: pd.DataFrame, columns: tuple[str, str], rng: np.random.Generator) -> Any:
    """Change two cells by a few units of their last digits and more; return where they are.

    Blanks may leave too few rows for them: then None is returned.
    """
    frame = frame.copy()
    filled = frame.notna().all(axis=1)
    groups = frame.get("account", pd.Series("", index=frame.index))
    beside = [filled.groupby(groups).shift(k, fill_value=False) for k in (-2, -1, 1, 2)]
    filled &= np.logical_and.reduce(beside)
    cells: list[tuple[int, str]] = []
    n_wrong = 2 if len(frame) >= FEWEST_FOR_TWO else 1
    for row in rng.permutation(np.flatnonzero(filled)).tolist():
        if len(cells) < n_wrong and all(abs(row - other) > 3 for other, _ in cells):
            column = columns[len(cells)]
            whole = frame[column].dropna() == frame[column].dropna().round()
            unit = 1 if whole.all() else 0.01
            change = round(float(rng.choice([-1, 1]) * unit * rng.integers(5, 5000)), 2)
            change = int(change) if frame[column].dtype.kind == "i" else change
            frame.loc[row, column] = round(frame.loc[row, column] + change, 2)
            cells.append((row, column))
    return (frame, cells) if len(cells) == n_wrong else None


def _draw_size(rng: np.random.Generator) -> int:
    return round(float(np.exp(rng.uniform(np.log(20), np.log(2000)))))


def _run(kind: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    planted = None
    while planted is None:
        sound, expected, columns = KINDS[kind](_draw_size(rng), rng)
        planted = _plant(_surround(sound, rng), columns, rng)
    frame, cells = planted
    start = time.process_time()
    laws = discover(frame)
    seconds = time.process_time() - start
    texts = [str(law) for law in laws]
    check = laws.check(frame)
    named = {
        each.row: {fix.column for fix in (*each.fixes, *each.alternatives)}
        for each in check if not each.is_missing
    }  # fmt: skip
    planted = [{"kind": kind, "row": row, "column": column, "named": row in named,
                "located": column in named.get(row, ())} for row, column in cells]  # fmt: skip
    return {
        "kind": kind, "seed": seed, "rows of it": len(frame), "cells": planted,
        "laws": texts, "found": expected in texts,
        "false": any(text != expected for text in texts),
        "alarms": len(set(named) - {row for row, _ in cells}), "seconds": seconds,
    }  # fmt: skip


def _run_null(kind: str, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 100 + list(NULLS).index(kind)])
    laws = discover(NULLS[kind](_draw_size(rng), rng))
    return {"kind": kind, "seed": seed, "laws": [str(law) for law in laws]}


def main() -> None:
    """Run all tables and write the results."""
    options = make_parser("Laws of other rows.", 100, 300, 0).parse_args()
    seeds = range(options.seed, options.seed + options.tables)
    runs = run_all(_run, ((kind, seed) for kind in KINDS for seed in seeds), options.jobs)
    calls = [([*NULLS][k % len(NULLS)], options.seed + k) for k in range(options.null_tables)]
    nulls = run_all(_run_null, calls, options.jobs)
    planted = [cell for run in runs for cell in run["cells"]]
    found = count(runs, "kind", KINDS, {
        "law found": "found", "another law": "false", "with sound rows named": "alarms",
    })  # fmt: skip
    columns = {"wrong rows named": "named", "wrong cells located": "located"}
    located = count(planted, "kind", KINDS, columns)
    lines = [line | other for line, other in zip(found, located, strict=True)]
    empty = count(nulls, "kind", NULLS, {"tables with a law": "laws"})
    record = {"machine": describe(options.seed), "runs": runs, "nulls": nulls}
    title, about = "Laws of other rows, and functions of a row", __doc__.partition("\n\n")[2]
    write("rows", title, about, record, [table(lines), table(empty)], options.out)
    print(table(lines), table(empty), sep="\n\n")


if __name__ == "__main__":
    main()
