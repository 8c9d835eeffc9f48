"""Two tables with a key: ``python -m benchmarks.laws.joined``.

Writes ``joined_results.md`` and ``.json`` beside this file. Kinds of pairs, in which each row of
the first table has one to eight rows of the second:

- *orders*: a total is the sum of the amounts of its lines and shipping; an amount is quantity times
  price.
- *invoices*: net is the sum of the lines, and gross is net plus tax in the table itself.
- *accounts*: what is open is the total less the sum of payments.
- *shipments*: the number of lines, and the sum of their weights in kilograms, rounded. The volume
  of a line is proportional to its weight.

The second table is in random order, and has a few other columns. Each pair is looked at as it is,
and with an error: a wrong cell of the first table, a wrong amount in a line, a line that is
missing, or a line with the key of another row. *Found* are pairs whose laws are all found; *false*
are pairs with another law between the tables that does not follow from them. *Located* are errors
of which the row is named by its key (both, for a wrong key), *line named* those of an amount with a
law of its own; *alarms* are other rows that are named. In *unrelated* pairs, the amounts do not
belong to the keys, and any law is false.
"""

import time
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import count, describe, share, table, write
from benchmarks.laws.runs import make_parser, run_all

from vanishing.laws import discover_joined

KINDS = ("orders", "invoices", "accounts", "shipments")
ERRORS = ("none", "cell", "amount", "missing", "key")


def make_pair(
    kind: str, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, list[set[str]], list[str]]:
    """Return two tables, the columns of each law between them, and the columns of the sums."""
    n_rows = int(rng.integers(20, 150))
    names = [f"{kind[0].upper()}{1000 + i}" for i in range(n_rows)]
    keys = np.repeat(names, rng.integers(1, 9, n_rows))
    n_lines = len(keys)
    price = np.round(rng.lognormal(3, 1, n_lines), 2)
    quantity = rng.integers(1, 20, n_lines)
    lines = pd.DataFrame({"key": keys, "position": range(1, n_lines + 1)})
    if kind == "orders":
        lines["quantity"], lines["price"] = quantity, price
        lines["amount"] = np.round(quantity * price, 2)
    elif kind == "shipments":
        lines["weight"], lines["volume"] = np.round(price / 7, 3), np.round(price / 90, 4)
    else:
        lines["amount"], lines["account"] = price, rng.integers(4000, 4999, n_lines)
    value = "weight" if kind == "shipments" else "amount"
    sums = lines.groupby("key")[value].sum().reindex(names).to_numpy()
    rows = pd.DataFrame({"key": names, "day": rng.integers(1, 366, n_rows)})
    summed = f"sum of lines.{value}"
    if kind == "orders":
        rows["shipping"] = rng.choice([0, 4.9, 9.9, 19.9], n_rows)
        rows["total"] = np.round(sums + rows["shipping"], 2)
        laws, wrong = [{"total", "shipping", summed}], "total"
    elif kind == "invoices":
        rows["net"] = np.round(sums, 2)
        rows["tax"] = np.round(rows["net"] * rng.choice([0.07, 0.19], n_rows), 2)
        rows["gross"] = np.round(rows["net"] + rows["tax"], 2)
        laws, wrong = [{"net", summed}], "net"
    elif kind == "accounts":
        rows["total"] = np.round(sums + rng.choice([0, 1], n_rows) * rng.lognormal(4, 1, n_rows), 2)
        rows["open"] = np.round(rows["total"] - sums, 2)
        laws, wrong = [{"total", "open", summed}], "open"
    else:
        rows["parcels"] = lines.groupby("key").size().reindex(names).to_numpy()
        rows["kilograms"] = np.round(sums, 1)
        laws, wrong = [{"parcels", "number of lines"}, {"kilograms", summed}], "kilograms"
    lines = lines.sample(frac=1, random_state=int(rng.integers(2**31))).reset_index(drop=True)
    return rows, lines, laws, [wrong, value]


def plant(
    error: str,
    rows: pd.DataFrame,
    lines: pd.DataFrame,
    columns: list[str],
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, list[str], int | None]:
    """Put an error into the tables; return the lines, the keys that it is at, and its line."""
    off = int(rng.integers(2, 10)) * 10 ** int(rng.integers(0, 3))
    wrong, value = columns
    if error == "none":
        return lines, [], None
    if error == "cell":
        i = int(rng.integers(len(rows)))
        rows.loc[i, wrong] = round(rows.loc[i, wrong] + off, 2)
        return lines, [rows.loc[i, "key"]], None
    # An order whose only line is missing has no lines, which is said, but breaks no law.
    several = lines["key"].duplicated(keep=False).to_numpy()
    k = int(rng.choice(np.flatnonzero(several)))
    key = lines.loc[k, "key"]
    if error == "amount":
        lines.loc[k, value] = round(lines.loc[k, value] + off, 4)
        return lines, [key], k
    if error == "missing":
        return lines.drop(index=k).reset_index(drop=True), [key], None
    other = str(rng.choice([each for each in rows["key"] if each != key]))
    lines.loc[k, "key"] = other
    return lines, [key, other], None


def measure(kind: str, error: str, seed: int, number: int) -> dict[str, Any]:
    """Look for the laws between two tables, and for their error."""
    rng = np.random.default_rng([seed, number, KINDS.index(kind)])
    rows, lines, laws, columns = make_pair(kind, rng)
    lines, keys, line = plant(error, rows, lines, columns, rng)
    started = time.process_time()
    found = discover_joined({"rows": rows, "lines": lines}, time_limit=5)
    seconds = time.process_time() - started
    named = {str(row.name) for each in found for row in each.check.rows}
    all_laws = [law for each in found for law in each.laws]
    got = [set(law.columns) for law in all_laws]
    # gross = sum + tax follows where gross = net + tax and net = sum.
    known = {"gross", "tax", "sum of lines.volume", *(name for law in laws for name in law)}
    blamed = [each.wrong_lines.get(key) for each in found for key in keys]
    return {
        "kind": kind,
        "error": error,
        "number": number,
        "rows": len(rows),
        "found": all(law in got for law in laws)
        or (kind == "invoices" and {"gross", "tax", "sum of lines.amount"} in got),
        "false": [str(law) for law in all_laws if not set(law.columns) <= known],
        "laws": [str(law) for law in all_laws],
        "wrong": error != "none",
        "located": bool(keys) and set(keys) <= named,
        "told": kind == "orders" and error == "amount",
        "line named": line is not None and any(each and each.row == line for each in blamed),
        "alarms": len(named - set(keys)),
        "seconds": round(seconds, 3),
    }


def measure_null(seed: int, number: int) -> dict[str, Any]:
    """Look for laws between tables whose numbers are unrelated."""
    kind = KINDS[number % len(KINDS)]
    rng = np.random.default_rng([seed, number, 9])
    rows, lines, _, _ = make_pair(kind, rng)
    lines["key"] = rng.permutation(lines["key"].to_numpy())
    rows = rows.drop(columns="parcels", errors="ignore")
    found = discover_joined({"rows": rows, "lines": lines}, time_limit=5)
    return {"kind": kind, "number": number, "laws": [str(law) for e in found for law in e.laws]}


def main() -> None:
    """Run the pairs and write the results."""
    options = make_parser("Two tables with a key.", 100, 300, 33).parse_args()
    numbers = range(len(KINDS) * options.tables)
    calls = [(KINDS[n % 4], ERRORS[n // 4 % 5], options.seed, n) for n in numbers]
    rows = run_all(measure, calls, options.jobs)
    calls = [(options.seed, number) for number in range(options.null_tables)]
    nulls = run_all(measure_null, calls, options.jobs)
    lines = count(rows, "kind", KINDS, {
        "found": "found", "with a false law": "false", "located": "located / wrong",
        "line named": "line named / told", "with alarms": "alarms",
    })  # fmt: skip
    n_false = sum(bool(row["laws"]) for row in nulls)
    parts = [table(lines), f"Unrelated pairs with a law: {share(n_false, len(nulls))}."]
    record = {"machine": describe(options.seed), "tables": rows, "nulls": nulls}
    about = __doc__.partition("\n\n")[2]
    write("joined", "Two tables with a key", about, record, parts, options.out)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
