"""A pipeline with rules: rows that break one do not reach the table that others read.

    python examples/warehouse/pipeline.py

DuckDB loads accounts.csv as it was received. Rows that break a rule of rules.toml go to a table of
their own, with a suggested fix; the others go to the table ``accounts``, whose constraints are the
same rules. So the table keeps them whoever writes to it:

    vanishing check "duckdb:warehouse.db#accounts" --rules rules.toml --max-broken 0
"""

from pathlib import Path

import duckdb

from vanishing.rules import load_rules
from vanishing.rules.export import to_constraints, to_sql

HERE = Path(__file__).parent
TABLE = HERE.parent / "data" / "accounts.csv"


def main() -> None:
    Path("warehouse.db").unlink(missing_ok=True)
    with duckdb.connect("warehouse.db") as warehouse:
        warehouse.execute(f"CREATE TABLE received AS FROM read_csv('{TABLE.as_posix()}')")
        received = warehouse.execute("FROM received").df()
        rules = load_rules(HERE / "rules.toml").adapt(received)

        # What the rules say, in SQL: where rows are broken, and what a table refuses.
        broken = to_sql(rules, "received", key="month").text.rstrip(";\n")
        constraints = to_constraints(rules, "accounts").text
        described = warehouse.execute("DESCRIBE received").fetchall()
        columns = ", ".join(f"{name} {kind}" for name, kind, *_ in described)

        warehouse.execute(f"CREATE TABLE quarantine AS {broken}")
        warehouse.execute(f"CREATE TABLE accounts ({columns},\n{constraints})")
        warehouse.execute(
            "INSERT INTO accounts FROM received WHERE month NOT IN (SELECT month FROM quarantine)"
        )
        kept = warehouse.execute("FROM accounts").fetchall()
        print(f"{len(kept)} of {len(received)} rows are in the table accounts.")
        for rule, month in warehouse.execute("FROM quarantine ORDER BY month, rule").fetchall():
            print(f"  {month} breaks {rule}")

        print("\nWhat would fix them:")
        for line in rules.check(received.set_index("month")).lines():
            print(f"  {line}")

        # Whoever writes a wrong row to the table later is refused.
        try:
            warehouse.execute("INSERT INTO accounts SELECT * REPLACE (0 AS profit) FROM accounts")
        except duckdb.ConstraintException as error:
            print(f"\nRefused: {str(error).splitlines()[0][:70]} ...")


if __name__ == "__main__":
    main()
