"""Units in headers: ``python -m benchmarks.laws.units``.

Writes ``units_results.md`` and ``.json`` beside this file. Tables of 30 to 300 rows with laws of
physics and of accounts, in which each column has a unit, written in one of four ways: in brackets,
in parentheses, after a comma, or in a row of its own below the header. The numbers are rounded.
Three more columns have units, too, and no law. A table with an error has one wrong cell.

*Found* are tables whose laws are all found, and *false* those with another law. *Located* are
errors of which the row is named, and *cell* those of which the right cell is one of those that
would restore the law. *Dropped* are tables in which a column is missing, and *units read* those of
which all units are known.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.laws.report import count, describe, table, write
from benchmarks.laws.runs import make_parser, run_all

from vanishing import discover

WAYS = ("brackets", "parentheses", "comma", "row")
#: Columns with their units, and how the last one is computed from the others.
LAWS: dict[str, tuple[dict[str, str], Any]] = {
    "speed": ({"distance": "m", "time": "s", "speed": "m/s"}, lambda d, t: d / t),
    "speed in km/h": ({"distance": "m", "time": "s", "speed": "km/h"}, lambda d, t: 3.6 * d / t),
    "power": ({"voltage": "V", "current": "A", "power": "kW"}, lambda u, i: u * i / 1000),
    "force": ({"mass": "kg", "acceleration": "m/s²", "force": "N"}, lambda m, a: m * a),
    "kinetic": ({"mass": "g", "speed": "m/s", "energy": "mJ"}, lambda m, v: m * v**2 / 2),
    "celsius": ({"inside": "°C", "outside": "°F"}, lambda c: 1.8 * c + 32),
    "accounts": ({"net": "USD", "tax": "USD", "gross": "USD"}, lambda n, t: n + t),
    "bill": ({"used": "kWh", "price": "EUR/kWh", "cost": "EUR"}, lambda k, p: k * p),
}
OTHERS = {"height": "cm", "pressure": "hPa", "humidity": "%"}


def make_table(kind: str, rng: np.random.Generator) -> tuple[dict[str, str], np.ndarray]:
    """Return the columns with their units, and the rows of a table."""
    units, compute = LAWS[kind]
    n_rows = int(rng.integers(30, 300))
    sources = np.round(rng.uniform(1, 99, (len(units) - 1, n_rows)), 2)
    others = np.round(rng.normal(100, 20, (len(OTHERS), n_rows)), 1)
    values = np.column_stack([*sources, np.round(compute(*sources), 4), *others])
    return units | OTHERS, values


def write_table(path: Path, way: str, units: dict[str, str], values: np.ndarray) -> list[str]:
    """Write a table as a file, and return the names of its columns."""
    forms = {"brackets": "{} [{}]", "parentheses": "{} ({})", "comma": "{}, {}", "row": "{}"}
    names = [forms[way].format(name, unit) for name, unit in units.items()]
    lines = [names, *([[*units.values()]] if way == "row" else []), *values.tolist()]
    path.write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")
    return names


def measure(seed: int, number: int) -> dict[str, Any]:
    """Look for the law of a table, and for its error."""
    kind, way = [*LAWS][number % len(LAWS)], WAYS[number // len(LAWS) % len(WAYS)]
    rng = np.random.default_rng([seed, number])
    units, values = make_table(kind, rng)
    n_columns = len(LAWS[kind][0])
    place = int(rng.integers(len(values))), int(rng.integers(n_columns))
    has_error = bool(number % 2)
    if has_error:
        values[place] = np.round(values[place] * rng.choice([0.1, 1.3, 10]) + 1, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.tsv")
        names = write_table(path, way, units, values)
        laws = discover(path)
        checked = laws.check(path)
    expected = set(names[:n_columns])
    got = [set(law.columns) for law in laws]
    row = next((each for each in checked if each.row == place[0] and not each.is_missing), None)
    return {
        "kind": kind,
        "way": way,
        "number": number,
        "error": has_error,
        "laws": [str(law) for law in laws],
        "found": expected in got,
        "false": [str(law) for law in laws if set(law.columns) != expected],
        "located": has_error and row is not None,
        "cell": row is not None
        and names[place[1]] in {fix.column for fix in (*row.fixes, *row.alternatives)},
        "alarms": sum(each.row != place[0] or not has_error for each in checked),
        "dropped": list(laws.names) != names,
        "read": list(laws.column_units) == list(units.values()),
    }


def main() -> None:
    """Run the tables and write the results."""
    options = make_parser("Units in headers.", 100, 0, 33).parse_args()
    numbers = range(len(WAYS) * options.tables)
    rows = run_all(measure, ((options.seed, n) for n in numbers), options.jobs)
    lines = count(rows, "way", WAYS, {
        "laws found": "found", "with a false law": "false", "located": "located / error",
        "cell": "cell / error", "with alarms": "alarms", "dropped": "dropped", "units read": "read",
    })  # fmt: skip
    record = {"machine": describe(options.seed), "tables": rows}
    about = __doc__.partition("\n\n")[2]
    write("units", "Units in headers", about, record, [table(lines)], options.out)
    print(table(lines))


if __name__ == "__main__":
    main()
