"""Tables on sheets as people keep them: ``python -m benchmarks.laws.sheets``.

Writes ``sheets_results.md`` and ``.json`` beside this file. Each kind has sheets of three tables:
orders (amount = quantity times price, total = amount + shipping), accounts (costs = wages + rent,
profit = revenue - costs) and stores (sold = start + received - end, sales = sold times price).

- *titles*: lines above the table and notes below it, with and without blank rows between, and
  blank columns before it.
- *stacked*: two or three tables below each other, half of them with titles.
- *beside*: two tables next to each other, mostly of different lengths.
- *groups*: the columns of two departments under their names, merged cells in Excel files.
- *transposed*: the variables are rows, years, months or quarters are columns; titles, names of
  sections, and half of them with a column of totals.

Every other sheet is an Excel file, the others are text files with commas or semicolons. Three of
four have a wrong cell that the laws determine. ``vanishing check --json`` reads them. *Found* are
sheets of which all laws are found in all tables; *false* those with a law that does not follow from
them; *located* are wrong cells that are named by their address, *alarms* sheets where another cell
is. In the same sheets with numbers drawn at random (*random*), any law is false.
"""

import contextlib
import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.laws.report import count, describe, table, write
from benchmarks.laws.runs import make_parser, run_all
from openpyxl import Workbook

from vanishing.app.cli import main as run_command

KINDS = ("titles", "stacked", "beside", "groups", "transposed")
MODELS = ("orders", "accounts", "stores")
#: Columns that may be in laws that follow from those of each model, by the sets that are expected.
LAWS = {
    "orders": ({"amount", "quantity", "price"}, {"total", "amount", "shipping"}),
    "accounts": ({"costs", "wages", "rent"}, {"profit", "revenue", "costs"}),
    "stores": ({"sold", "start", "received", "end"}, {"sales", "sold", "price"}),
}
#: The cell that is wrong: it is in both laws.
SHARED = {"orders": "amount", "accounts": "costs", "stores": "sold"}
TITLES = ("Overview 2024", "Department of Sales", "all amounts in EUR", "as of 5 March")
NOTES = ("Source: own records", "* preliminary", "Note: without returns", "checked by A. Smith")


def make_columns(
    model: str, n: int, rng: np.random.Generator, *, is_random: bool
) -> dict[str, list[Any]]:
    """Return the columns of a table."""
    if model == "orders":
        quantity, price = rng.integers(1, 40, n), np.round(rng.uniform(1, 90, n), 2)
        shipping = rng.choice([0, 4.9, 9.9], n)
        amount = quantity * price
        columns = {"quantity": quantity, "price": price, "amount": amount, "shipping": shipping}
        columns["total"] = amount + shipping
    elif model == "accounts":
        wages, rent = rng.integers(3000, 9000, n), rng.integers(500, 2500, n)
        revenue = rng.integers(8000, 20000, n)
        columns = {"revenue": revenue, "wages": wages, "rent": rent, "costs": wages + rent}
        columns["profit"] = revenue - wages - rent
    else:
        start, received = rng.integers(50, 400, n), rng.integers(0, 300, n)
        end, price = rng.integers(0, 60, n), np.round(rng.uniform(1, 30, n), 2)
        sold = start + received - end
        columns = {"start": start, "received": received, "end": end, "sold": sold, "price": price}
        columns["sales"] = sold * price
    if is_random:
        columns = {name: rng.permutation(cells) for name, cells in columns.items()}
    return {name: [round(cell, 2) for cell in cells.tolist()] for name, cells in columns.items()}


class Paper:
    """The cells of a sheet, and what is merged."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], Any] = {}
        self.merged: list[tuple[int, int, int]] = []

    def put(self, row: int, column: int, cells: list[list[Any]]) -> tuple[int, int]:
        """Write rows of cells; return the row and the column after them."""
        for i, line in enumerate(cells):
            for j, cell in enumerate(line):
                if cell is not None:
                    self.cells[row + i, column + j] = cell
        return row + len(cells), column + max(map(len, cells))

    def save(self, folder: Path, number: int, rng: np.random.Generator) -> Path:
        """Write a file."""
        n_rows, n_columns = (max(place[k] for place in self.cells) + 1 for k in (0, 1))
        rows = [[self.cells.get((i, j)) for j in range(n_columns)] for i in range(n_rows)]
        if number % 2:
            path = folder / "sheet.csv"
            with path.open("w", newline="") as file:
                csv.writer(file, delimiter=str(rng.choice([",", ";"]))).writerows(rows)
            return path
        book = Workbook()
        for row in rows:
            book.active.append(row)
        for row, first, last in self.merged:
            book.active.merge_cells(None, row + 1, first + 1, row + 1, last + 1)
        path = folder / "sheet.xlsx"
        book.save(path)
        return path


def make_sheet(
    kind: str, rng: np.random.Generator, *, is_random: bool
) -> tuple[Paper, list[set[str]], list[tuple[int, int]]]:
    """Return a sheet, the columns of its laws, and its cells that may be made wrong."""
    paper, laws, cells = Paper(), [], []
    models = rng.permutation(MODELS).tolist()

    def draw(texts: tuple[str, ...], most: int) -> list[list[Any]]:
        return [[str(text)] for text in rng.permutation(texts)[: rng.integers(0, most + 1)]]

    def add(model: str, row: int, column: int, n: int) -> tuple[int, int]:
        """Add a table; its first column has names of rows."""
        columns = make_columns(model, n, rng, is_random=is_random)
        laws.extend(LAWS[model])
        cells.extend((row + 1 + i, column + 1 + [*columns].index(SHARED[model])) for i in range(n))
        names = [f"{model[0].upper()}{rng.integers(10, 99)}-{i}" for i in range(n)]
        body = [list(line) for line in zip(names, *columns.values(), strict=True)]
        return paper.put(row, column, [["no." if rng.random() < 0.5 else "name", *columns], *body])

    if kind == "titles":
        row, _ = paper.put(0, 0, [*draw(TITLES, 3), []])
        row, column = row + int(rng.integers(0, 2)), int(rng.integers(0, 3))
        row, _ = add(models[0], row, column, int(rng.integers(15, 60)))
        paper.put(row + int(rng.integers(0, 2)), column, [*draw(NOTES, 2), []])
    elif kind == "stacked":
        row = 0
        for model in models[: rng.integers(2, 4)]:
            row, _ = paper.put(row, 0, [*draw(TITLES, 1), []])
            row, _ = add(model, row, 0, int(rng.integers(12, 40)))
            row += int(rng.integers(1, 4))
        paper.put(row, 0, [*draw(NOTES, 1), []])
    elif kind == "beside":
        row, _ = paper.put(0, 0, [*draw(TITLES, 2), []])
        n = int(rng.integers(15, 40))
        _, column = add(models[0], row, 0, n)
        n += int(rng.choice([0, 3, -3, 9]))
        add(models[1], row, column + int(rng.integers(1, 3)), n)
    elif kind == "groups":
        row, _ = paper.put(0, 0, [*draw(TITLES, 2), []])
        n, groups = int(rng.integers(20, 60)), rng.permutation(["North", "South", "Online"])[:2]
        parts = [make_columns(models[0], n, rng, is_random=is_random) for _ in groups]
        width = len(parts[0])
        above = [None, groups[0], *[None] * (width - 1), groups[1]]
        body = zip(
            [f"week no. {i}" for i in range(n)],
            *(column for part in parts for column in part.values()), strict=True,
        )  # fmt: skip
        paper.put(row, 0, [above, ["week", *parts[0], *parts[0]], *map(list, body)])
        paper.merged += [(row, 1, width), (row, width + 1, 2 * width)]
        for k, group in enumerate(groups):
            laws.extend({f"{group} {name}" for name in law} for law in LAWS[models[0]])
            j = 1 + k * width + [*parts[k]].index(SHARED[models[0]])
            cells.extend((row + 2 + i, j) for i in range(n))
    else:
        row, _ = paper.put(0, 0, [*draw(TITLES, 2), []])
        months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
        times = [
            months,
            [f"{month} {year}" for year in (2023, 2024) for month in months],
            [*range(2024 - int(rng.integers(9, 20)), 2024)],
            [f"Q{q} {year}" for year in range(2020, 2024) for q in range(1, 5)],
        ][rng.integers(4)]
        has_total = rng.random() < 0.5 and models[0] == "accounts"
        columns = make_columns(models[0], len(times), rng, is_random=is_random)
        laws.extend(LAWS[models[0]])
        lines = [["EUR" if rng.random() < 0.5 else None, *times, *["Total"] * has_total]]
        for name, line in columns.items():
            if rng.random() < 0.2:
                lines.append([["Plan", "Result", "Details"][rng.integers(3)]])
            if name == SHARED[models[0]]:
                cells.extend((row + len(lines), 1 + j) for j in range(len(times)))
            lines.append([name, *line, *[round(sum(line), 2)] * has_total])
        row, _ = paper.put(row, 0, lines)
        paper.put(row + 1, 0, [*draw(NOTES, 1), []])
    return paper, laws, cells


def check(path: Path) -> list[dict[str, Any]]:
    """Return what the command says of each table."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        run_command(["check", str(path), "--json"])
    found = json.loads(said.getvalue() or "{}")
    return found.get("sheets", [found])


def measure(kind: str, number: int, seed: int, is_random: bool = False) -> dict[str, Any]:
    """Check one sheet."""
    rng = np.random.default_rng([seed, number, KINDS.index(kind), is_random])
    paper, expected, cells = make_sheet(kind, rng, is_random=is_random)
    wrong = ""
    if number % 4 and not is_random:
        i, j = cells[rng.integers(len(cells))]
        paper.cells[i, j] = round(paper.cells[i, j] + int(rng.integers(2, 10)) * 11, 2)
        wrong = f"{chr(ord('A') + j) if j < 26 else 'A' + chr(ord('A') + j - 26)}{i + 1}"
    with tempfile.TemporaryDirectory() as folder:
        tables = check(paper.save(Path(folder), number, rng))
    laws = [law for each in tables for law in each.get("laws", [])]
    columns = [set(law["columns"]) for law in laws]
    named = {cell.get("address") for each in tables for cell in each.get("cells", [])}
    known = [set().union(*expected[k : k + 2]) for k in range(0, len(expected), 2)]
    return {
        "kind": kind,
        "number": number,
        "found": all(law in columns for law in expected),
        "laws": [law["text"] for law in laws],
        "false": [
            law["text"]
            for law, names in zip(laws, columns, strict=True)
            if is_random or not any(names <= each for each in known)
        ],
        "wrong": wrong,
        "located": wrong in named,
        "alarms": sorted(map(str, named - {wrong})),
        "errors": [each["error"] for each in tables if "error" in each],
    }


def main() -> None:
    """Check the sheets and write the results."""
    parser = make_parser("Tables on sheets.", 100, 20, 33)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    options = parser.parse_args()
    calls = [(k, i, options.seed) for k in options.kinds for i in range(options.tables)]
    rows = run_all(measure, calls, options.jobs)
    calls = [(k, i, options.seed, True) for k in options.kinds for i in range(options.null_tables)]
    nulls = run_all(measure, calls, options.jobs)
    lines = count(rows, "kind", options.kinds, {
        "found": "found", "with a false law": "false", "located": "located / wrong",
        "with alarms": "alarms",
    })  # fmt: skip
    random = count(nulls, "kind", options.kinds, {"random, with a law": "laws"})
    lines = [line | other for line, other in zip(lines, random, strict=True)]
    record = {"machine": describe(options.seed), "sheets": rows, "random": nulls}
    about = __doc__.partition("\n\n")[2]
    write("sheets", "Tables on sheets", about, record, [table(lines)], options.out)
    print(table(lines))


if __name__ == "__main__":
    main()
