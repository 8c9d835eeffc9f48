"""Tables with total rows: ``python -m benchmarks.laws.totals``.

Writes ``totals_results.md`` and ``.json`` beside this file. Kinds of tables, each with and without
a column of text that says "Subtotal" and "Total":

- *subtotals*: 3 to 6 blocks of 3 to 8 rows, each with a subtotal, and a total of all. Two or three
  columns of amounts.
- *year*: twelve months and a total. Revenue, costs, and profit, their difference.
- *invoice*: 6 to 20 rows with quantity, price and amount, and a total without a price.

Each table is looked at as it is, with a total that is off by a random amount, and with a row that
is. *Found* are tables whose total rows are all recognized, and nothing else is. *Located* are
errors of which ``check`` names the row, or, for a wrong cell of a row, the row or its total;
*alarms* are other rows that it names. Nulls are whole numbers, amounts, random walks, multiples of
one column, and the tables above with shuffled rows, the totals first; any total row is a false
discovery there.
"""

import time
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import count, describe, share, table, write
from benchmarks.laws.runs import make_parser, run_all

from vanishing import discover

KINDS = ("subtotals", "year", "invoice")
ERRORS = ("none", "total", "row")
NULLS = ("integers", "amounts", "walk", "multiples", "shuffled")


def make_table(kind: str, rng: np.random.Generator) -> tuple[pd.DataFrame, list[int], list[str]]:
    """Return a table, its total rows, and the columns that are sums."""
    n_blocks = int(rng.integers(3, 7)) if kind == "subtotals" else 1
    blocks = []
    for _ in range(n_blocks):
        if kind == "subtotals":
            sizes = int(rng.integers(3, 9)), 3
            block = pd.DataFrame(np.round(rng.lognormal(5, 1, sizes), 2), columns=["a", "b", "c"])
        elif kind == "year":
            revenue, costs = rng.integers(800, 3000, 12), rng.integers(300, 900, 12)
            block = pd.DataFrame({"revenue": revenue, "costs": costs, "profit": revenue - costs})
        else:
            n_rows = int(rng.integers(6, 21))
            quantity, price = rng.integers(1, 40, n_rows), np.round(rng.uniform(2, 90, n_rows), 2)
            amount = np.round(quantity * price, 2)
            block = pd.DataFrame({"quantity": quantity, "price": price, "amount": amount})
        blocks.append(block)
    sums = [name for name in blocks[0] if name != "price"]
    parts, totals = [], []
    for block in blocks:
        total = block[sums].sum().round(2).to_frame().T
        parts += [block, total] if kind == "subtotals" else [block]
        if kind == "subtotals":
            totals.append(sum(map(len, parts)) - 1)
    parts.append(pd.concat(blocks)[sums].sum().round(2).to_frame().T)
    frame = pd.concat(parts, ignore_index=True)
    totals.append(len(frame) - 1)
    texts = np.full(len(frame), "item", dtype=object)
    texts[totals[:-1]], texts[totals[-1]] = "Subtotal", "Total"
    frame.insert(0, "what", texts)
    return frame, totals, sums


def measure(kind: str, labelled: bool, error: str, seed: int, number: int) -> dict[str, Any]:
    """Look for the total rows of one table, and for its error."""
    rng = np.random.default_rng([seed, number, KINDS.index(kind)])
    frame, totals, sums = make_table(kind, rng)
    wrong = None
    if error != "none":
        rows = totals if error == "total" else np.setdiff1d(np.arange(len(frame)), totals)
        wrong, name = int(rng.choice(rows)), str(rng.choice(sums))
        off = int(rng.integers(1, 10)) * 10 ** int(rng.integers(0, 3))
        frame.loc[wrong, name] = round(frame.loc[wrong, name] + off, 2)
    if not labelled:
        frame = frame.drop(columns="what")
    started = time.process_time()
    laws = discover(frame)
    named = [found.row for found in laws.check(frame) if not found.is_missing]
    seconds = time.process_time() - started
    right = [] if wrong is None else [wrong]
    if error == "row":  # its total is as good a place to look
        right += [each.row for each in laws.totals if wrong in each.members]
    return {
        "table": kind + ", with text" * labelled,
        **{each: each == error for each in ERRORS},
        "number": number,
        "found": [each.row for each in laws.totals] == totals,
        "located": wrong is not None and any(row in right for row in named),
        "alarms": len([row for row in named if row not in right]),
        "seconds": round(seconds, 3),
        "laws": [str(law) for law in laws],
    }


def measure_null(kind: str, seed: int, number: int) -> dict[str, Any]:
    """Look for total rows where there are none."""
    rng = np.random.default_rng([seed, number, 9])
    n_rows, n_columns = int(rng.choice([12, 30, 60, 200])), int(rng.integers(1, 8))
    if kind == "integers":
        X: Any = rng.integers(0, 10, (n_rows, n_columns)).astype(float)
    elif kind == "amounts":
        X = np.round(rng.lognormal(3, 1, (n_rows, n_columns)), 2)
    elif kind == "walk":
        X = np.cumsum(rng.integers(-2, 3, (n_rows, n_columns)), axis=0).astype(float)
    elif kind == "multiples":
        X = rng.integers(1, 100, n_rows)[:, None] * np.arange(1.0, n_columns + 1)
    else:
        X = make_table(KINDS[number % 3], rng)[0].sample(frac=1, random_state=number)
        # A total below all rows, or below all subtotals, is one in any order of these.
        order = X["what"].map({"Total": 0, "Subtotal": 1, "item": 2})
        X = X.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    return {
        "kind": kind,
        "number": number,
        "totals": [str(e) for e in discover(X, time_limit=2).totals],
    }


def main() -> None:
    """Run the tables and write the results."""
    options = make_parser("Tables with total rows.", 100, 300, 33).parse_args()
    calls = [
        (kind, labelled, ERRORS[number % 3], options.seed, number)
        for kind in KINDS
        for labelled in (True, False)
        for number in range(options.tables)
    ]
    rows = run_all(measure, calls, options.jobs)
    calls = [(NULLS[n % len(NULLS)], options.seed, n) for n in range(options.null_tables)]
    nulls = run_all(measure_null, calls, options.jobs)
    columns = {"tables with alarms": "alarms"}
    for error in ERRORS:
        columns[f"found, error: {error}"] = f"found / {error}"
        if error != "none":
            columns[f"located, error: {error}"] = f"located / {error}"
    tables = [f"{kind}{with_text}" for kind in KINDS for with_text in (", with text", "")]
    lines = count(rows, "table", tables, columns)
    false = [row for row in nulls if row["totals"]]
    record = {"machine": describe(options.seed), "tables": rows, "nulls": nulls}
    parts = [table(lines), f"Nulls with a total row: {share(len(false), len(nulls))}."]
    write("totals", "Total rows", __doc__.partition("\n\n")[2], record, parts, options.out)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
