"""What holds in every row: ``python -m benchmarks.laws.domains``.

Writes ``domains_results.md`` and ``.json`` beside this file. Kinds of tables of 60 to 600 rows, in
random order or in that of a date, with the rules that hold in them by design:

- *stays*: check-in before check-out, a booking number, a room that determines its category.
- *addresses*: a postcode determines a city, and this a country; an id; a status.
- *orders*: an amount is quantity times price, and a product determines its price; a date of the
  order before that of the delivery; a code of the payment.
- *pupils*: of the tests that are taken, some are passed; a sex, and a mark of 1 to 5.

Half as many further rows are drawn from the same process. *Found* are rules that are found;
*false* are tables of whose rules a further row breaks one. In further
rows with an error, a cell that breaks a rule, *located* are those whose row is named, *cell* those
of which the only rules that are named speak of the cell, and *alarms* other rows that are named,
but for those that repeat the key. In *null* tables, random walks, independent and correlated
numbers, counts and categories of random frequencies, any rule that a further row breaks is false.
"""

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.laws.report import count, describe, table, write
from benchmarks.laws.runs import make_parser, run_all

from vanishing import discover

KINDS = ("stays", "addresses", "orders", "pupils")
NULLS = ("walks", "independent", "correlated", "counts", "categories")


def _dates(rng: np.random.Generator, days: Any) -> Any:
    return (pd.Timestamp("2023-01-01") + pd.to_timedelta(days, unit="D")).strftime("%Y-%m-%d")


def make_table(
    kind: str, n_rows: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, list[str], list[tuple[str, Any]]]:
    """Return a table, its rules, and wrong cells: a column, and what may stand in it instead."""
    days = rng.integers(0, 500, n_rows)
    if rng.random() < 0.5:
        days.sort()
    ids = [f"{kind[0].upper()}-{k:05d}" for k in rng.permutation(n_rows * 2)[:n_rows]]
    frame = pd.DataFrame({"id": ids})
    rules = ["id is unique"]
    wrong: list[tuple[str, Any]] = [("id", None)]
    if kind == "stays":
        last = days + rng.integers(1, int(rng.integers(6, 30)), n_rows)
        room = rng.integers(1, 12, n_rows)
        frame["arrival"], frame["departure"] = _dates(rng, days), _dates(rng, last)
        frame["room"] = [f"room {k}" for k in room]
        frame["category"] = [["single", "double", "suite"][k % 3] for k in room]
        rules += ["arrival <= departure", "room determines category"]
        wrong += [("arrival", "2031-05-01"), ("category", "tent")]
    elif kind == "addresses":
        code = rng.integers(0, 25, n_rows)
        frame["zip"] = 1000 + 37 * code
        frame["city"] = [f"city {k % 11}" for k in code]
        frame["country"] = [["AT", "CH", "DE"][k % 11 % 3] for k in code]
        frame["status"] = rng.choice(["active", "closed", "new"], n_rows, p=[0.5, 0.25, 0.25])
        rules += ["zip determines city", "city determines country",
                  "status is active, closed or new"]  # fmt: skip
        wrong += [("city", "Atlantis"), ("country", "XX"), ("status", "actve")]
    elif kind == "orders":
        product = rng.integers(0, 12, n_rows)
        price = np.round(np.random.default_rng(int(rng.integers(99))).lognormal(2, 1, 12), 2)
        frame["ordered"] = _dates(rng, days)
        frame["delivered"] = _dates(rng, days + rng.integers(0, 15, n_rows))
        frame["product"] = [f"product {k}" for k in product]
        frame["price"], frame["quantity"] = price[product], rng.integers(1, 30, n_rows)
        frame["amount"] = np.round(frame["price"] * frame["quantity"], 2)
        frame["paid"] = rng.choice(["card", "cash"], n_rows)
        rules += ["ordered <= delivered", "product determines price", "paid is card or cash"]
        wrong += [("ordered", "2031-05-01"), ("paid", "cahs")]
    else:
        taken = rng.integers(0, 40, n_rows)
        frame["passed"], frame["taken"] = rng.binomial(taken, 0.8), taken
        frame["sex"] = rng.choice(["f", "m"], n_rows)
        frame["mark"] = rng.integers(1, 6, n_rows)
        rules += ["passed <= taken", "sex is f or m", "mark is a whole number from 1 to 5"]
        wrong += [("passed", 90), ("sex", "x"), ("mark", 11)]
    return frame, rules, wrong


def measure(kind: str, seed: int, number: int) -> dict[str, Any]:
    """Look for the rules of a table, and for an error in further rows."""
    rng = np.random.default_rng([seed, number, KINDS.index(kind)])
    n_rows = int(rng.integers(60, 600))
    frame, rules, wrong = make_table(kind, n_rows + n_rows // 2, rng)
    later = frame.iloc[n_rows:].reset_index(drop=True)
    laws = discover(frame.iloc[:n_rows].reset_index(drop=True))
    found = [str(each) for each in laws.domains]
    sound = laws.check(later)
    column, cell = wrong[int(rng.integers(len(wrong)))]
    row = int(rng.integers(len(later)))
    if column in ("category", "city", "country"):  # it is told by other rows
        source = {"category": "room", "city": "zip", "country": "city"}[column]
        often = later[source].map(later[source].value_counts()) > 2
        row = int(rng.choice(np.flatnonzero(often)))
    other = (row + 1) % len(later)
    if cell is None:
        cell = later.loc[other, column]
    spoiled = later.astype({column: object})
    spoiled.loc[row, column] = cell
    checked = laws.check(spoiled.infer_objects())
    named = {each.row: each.laws for each in checked if not each.is_missing}
    about = [checked.laws[k].columns for k in named.get(row, ())]
    return {
        "kind": kind,
        "number": number,
        "rows": n_rows,
        "rules": found,
        "missed": [each for each in rules if each not in found],
        "expected": rules,
        "false": [str(sound.laws[k]) for each in sound for k in each.laws],
        "error": column,
        "located": row in named,
        "cell": bool(about) and all(column in each for each in about),
        "alarms": len(set(named) - {row} - ({other} if column == "id" else set())),
    }


def make_null(kind: str, n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table without rules but those of its frequencies."""
    steps = rng.normal(size=(n_rows, 4))
    if kind == "walks":
        return pd.DataFrame(steps.cumsum(axis=0).round(2), columns=list("abcd"))
    if kind == "independent":
        return pd.DataFrame((steps + rng.uniform(-4, 4, 4)).round(2), columns=list("abcd"))
    if kind == "correlated":
        common = rng.normal(size=(n_rows, 1))
        values = common + rng.uniform(0.3, 0.8) * steps + rng.uniform(0, 2, 4)
        return pd.DataFrame(values.round(2), columns=list("abcd"))
    if kind == "counts":
        values = rng.poisson(rng.uniform(0.2, 9, 4), (n_rows, 4))
        return pd.DataFrame(values, columns=list("abcd"))
    shares = rng.dirichlet(np.ones(5), 2)
    texts = {
        name: rng.choice(list("uvwxy"), n_rows, p=p) for name, p in zip("ab", shares, strict=True)
    }
    return pd.DataFrame({**texts, "c": rng.integers(0, 10**4, n_rows), "d": steps[:, 0].round(2)})


def measure_null(seed: int, number: int) -> dict[str, Any]:
    """Look for rules in a table without any, and check further rows."""
    kind = NULLS[number % len(NULLS)]
    rng = np.random.default_rng([seed, number, 9])
    n_rows = int(rng.integers(30, 400))
    frame = make_null(kind, 2 * n_rows, rng)
    laws = discover(frame.iloc[:n_rows], time_limit=5)
    found = laws.check(frame.iloc[n_rows:].reset_index(drop=True))
    broken = [str(found.laws[k]) for each in found for k in each.laws if k >= len(laws)]
    return {"kind": kind, "number": number, "rules": [str(each) for each in laws.domains],
            "false": broken}  # fmt: skip


def main() -> None:
    """Run the tables and write the results."""
    options = make_parser("What holds in every row.", 100, 300, 33).parse_args()
    numbers = range(len(KINDS) * options.tables)
    calls = [(KINDS[n % len(KINDS)], options.seed, n) for n in numbers]
    rows = run_all(measure, calls, options.jobs)
    nulls = run_all(measure_null, ((options.seed, n) for n in range(options.null_tables)),
                    options.jobs)  # fmt: skip
    rules = [{"kind": row["kind"], "found": each not in row["missed"]}
             for row in rows for each in row["expected"]]  # fmt: skip
    found = count(rules, "kind", KINDS, {"rules found": "found"})
    errors = count(rows, "kind", KINDS, {
        "with a false rule": "false", "located": "located", "cell": "cell", "with alarms": "alarms",
    })  # fmt: skip
    lines = [line | other for line, other in zip(found, errors, strict=True)]
    parts = [table(lines), table(count(nulls, "kind", NULLS, {"null, with a false rule": "false"}))]
    record = {"machine": describe(options.seed), "tables": rows, "nulls": nulls}
    about = __doc__.partition("\n\n")[2]
    write("domains", "What holds in every row", about, record, parts, options.out)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
