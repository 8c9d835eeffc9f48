"""Overwritten formulas of real spreadsheets: ``python -m benchmarks.laws.workbooks``.

Writes ``workbooks_results.md`` and ``.json`` beside this file. The tables are read from the folder
``spreadsheets`` of ``VANISHING_DATA``; they are not part of this repository. Each becomes a
workbook with its formulas and the values that are stored with them, in a temporary folder. Cells of
other sheets and beside the table, such as ``$F$5``, are not known: they get values with which the
formula gives what is stored in the sound rows.

Cells of a column in which people had a formula are *overwritten* if they hold a number, or a
formula that reads otherwise. Kinds: a number or another formula, that is wrong by the formula of
the column, or has the same value; formulas that say the same, such as ``+B2*$C$2`` for ``B2*$C2``,
are no error, and are not named. *Named by formulas* are cells that ``check_formulas`` names; *row
named by laws* are cells whose row ``check`` names, which sees the values only; this is measured in
the workbooks as they are. In *planted* workbooks, one cell of each other column of formulas also
gets the number of another row, chosen at random with the seed, and what depends on it is computed
again.
"""

import argparse
import contextlib
import copy
import csv
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xlsxwriter
from benchmarks.laws.report import describe, share, table, write
from openpyxl.utils import column_index_from_string
from scipy.optimize import least_squares

from vanishing import discover
from vanishing.data.excel_formulas import (
    Area,
    Evaluator,
    FormulaSheet,
    NotEvaluatedError,
    Number,
    fill,
    list_areas,
    parse,
    resolve,
)
from vanishing.data.sheet_layout import write_address
from vanishing.laws.formulas import check_formulas
from vanishing.laws.model import EXACT_DIGITS

SHEET = "Sheet1"
AS_THEY_ARE = "as they are"
#: Values that the search for cells beside the table starts from, and what it compares.
STARTS = (1.0, 0.1, 100.0)
MOST_UNKNOWN, MOST_ROWS, EXACT = 4, 30, 1e-15
#: What is compared where a formula has no value.
FAR = 1e30
#: Processor time that laws are looked for in each table.
SECONDS = 5


class Workbook:
    """A table of the folder, with its cells where they were."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.table = json.loads(path.read_text())
        with path.with_suffix(".csv").open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        self.values = np.array([[float(text) if text else np.nan for text in row] for row in rows])
        self.columns = [column_index_from_string(each) for each in self.table["columns"]]
        places = {law["column"]: self._find_row(law) for law in self.table["laws"]}
        #: The row of the sheet that has the first row of the table.
        self.first = min([row for row in places.values() if row is not None], default=2)
        self.laws = [law for law in self.table["laws"] if places[law["column"]] is not None]
        self.rows = places
        self.cells = {
            (self.first + i, column): float(self.values[i, j])
            for i in range(len(self.values))
            for j, column in enumerate(self.columns)
            if np.isfinite(self.values[i, j])
        }
        #: Cells of other sheets and beside the table.
        self.aside: dict[tuple[str | None, int, int], float] = {}
        self.book = {SHEET: FormulaSheet(SHEET, dict(self.cells))}
        self.evaluator = Evaluator(self.book, EXACT_DIGITS)
        self.laws = [law for law in self.laws if self._solve(law)]
        #: Numbers that were written over formulas.
        self.plants: dict[tuple[int, int], float] = {}

    def _find_row(self, law: dict[str, Any]) -> int | None:
        """Return the row that the formula of a column is quoted from."""
        tree = parse("=" + law["formula"], 0, 0)
        rows = Counter(area.top for area in self._list_relative(tree))
        return rows.most_common(1)[0][0] if rows else None

    def _list_relative(self, tree: Any) -> Iterator[Area]:
        # At another place, what is fixed stays.
        for here, there in zip(list_areas(tree, 0, 0), list_areas(tree, 1, 0), strict=True):
            if here.top != there.top and here.sheet is None:
                yield here

    def formula(self, law: dict[str, Any], i: int) -> str:
        """Return the formula of a column in a row of the table."""
        column = self.columns[law["column"]]
        row = self.rows[law["column"]]
        return fill("=" + law["formula"], row, column, self.first + i, column)

    def _solve(self, law: dict[str, Any]) -> bool:
        """Give the cells beside the table values with which the formula is right; say if it is."""
        column = self.columns[law["column"]]
        off = {each["row"] for each in law["overwritten"]}
        rows = [
            i
            for i in range(len(self.values))
            if i not in off and (self.first + i, column) in self.cells
        ]
        unknown = []
        for i in rows:
            place = self.first + i, column
            for area in list_areas(parse(self.formula(law, i), *place), *place):
                is_inside = self.first <= area.top < self.first + len(self.values)
                key = area.sheet, area.top, area.left
                if area.is_cell and (area.sheet or not is_inside) and key not in self.aside:
                    unknown.append(key)
        unknown = sorted(set(unknown), key=str)
        if not unknown:
            return all(self._holds(law, i) for i in rows)
        goals = np.array([self.cells[self.first + i, column] for i in rows])

        def measure(values: Any) -> Any:
            self._set_aside(unknown, [float(value) for value in values])
            found = [self._measure(law, i) for i in rows[:MOST_ROWS]]
            return (np.array(found) - goals[:MOST_ROWS]) / np.maximum(np.abs(goals[:MOST_ROWS]), 1)

        for start in STARTS if len(unknown) <= MOST_UNKNOWN else ():
            with np.errstate(all="ignore"):
                options = {"xtol": EXACT, "ftol": EXACT, "gtol": EXACT, "max_nfev": 50}
                solution = least_squares(measure, np.full(len(unknown), start), **options).x
            for digits in (4, 8, 17):  # people write short numbers
                measure([float(f"{value:.{digits}g}") for value in solution])
                if all(self._holds(law, i) for i in rows):
                    return True
        for sheet, row, column in unknown:
            if self.aside.pop((sheet, row, column), None) is not None:
                del self.book[sheet or SHEET].values[row, column]
        return False

    def _set_aside(self, keys: Sequence[Any], values: Sequence[float]) -> None:
        for (sheet, row, column), value in zip(keys, values, strict=True):
            self.aside[sheet, row, column] = value
            title = sheet or SHEET
            self.book.setdefault(title, FormulaSheet(title)).values[row, column] = value

    def _evaluate(self, law: dict[str, Any], i: int) -> Any:
        place = self.first + i, self.columns[law["column"]]
        return self.evaluator.evaluate(parse(self.formula(law, i), *place), SHEET, *place)

    def _measure(self, law: dict[str, Any], i: int) -> float:
        try:
            found = self._evaluate(law, i)
        except NotEvaluatedError:
            return FAR
        return found.value if isinstance(found, Number) else FAR

    def _holds(self, law: dict[str, Any], i: int) -> bool:
        stored = self.cells[self.first + i, self.columns[law["column"]]]
        try:
            return self.evaluator.agrees(self._evaluate(law, i), stored)
        except NotEvaluatedError as error:  # 1 / 0 in a row without an input
            return "zero" in str(error)

    def list_formulas(self) -> dict[tuple[int, int], str]:
        """Return the formulas of all cells that have one."""
        found = {}
        for law in self.laws:
            column = self.columns[law["column"]]
            others = {each["row"]: each["formula"] for each in law["overwritten"]}
            for i in range(len(self.values)):
                cell = self.first + i, column
                text = others.get(i, self.formula(law, i))
                if cell in self.cells and text is not None:
                    found[cell] = "=" + text.removeprefix("=")
        return found

    def plant(self, rng: np.random.Generator) -> "tuple[Workbook, set[tuple[int, int]]]":
        """Return a copy in which a cell of each clean column is a number of another row.

        What depends on it is computed again, as a spreadsheet does.
        """
        changed, planted = copy.deepcopy(self), set()
        for law in self.laws:
            column = self.columns[law["column"]]
            rows = [i for i in range(len(self.values)) if (self.first + i, column) in self.cells]
            numbers = [self.cells[self.first + i, column] for i in rows]
            if law["overwritten"] or len(set(numbers)) < 2:
                continue
            k = int(rng.integers(len(rows)))
            others = [number for number in numbers if number != numbers[k]]
            cell = self.first + rows[k], column
            changed.plants[cell] = float(rng.choice(others))
            planted.add(cell)
        changed.cells |= changed.plants
        formulas = {
            cell: parse(text, *cell)
            for cell, text in self.list_formulas().items()
            if cell not in planted
        }
        for _ in range(len(self.laws)):  # as deep as formulas can depend on each other
            changed.book[SHEET] = FormulaSheet(SHEET, dict(changed.cells))
            changed._set_aside(list(changed.aside), list(changed.aside.values()))
            for cell, tree in formulas.items():
                with contextlib.suppress(NotEvaluatedError):
                    found = changed.evaluator.evaluate(tree, SHEET, *cell)
                    if not changed.evaluator.agrees(found, self.cells[cell]):
                        changed.cells[cell] = found.value
        for (row, column), value in changed.cells.items():
            changed.values[row - self.first, self.columns.index(column)] = value
        return changed, planted

    def write(self, path: Path) -> None:
        """Write the workbook."""
        formulas = self.list_formulas()
        book = xlsxwriter.Workbook(str(path))
        sheets = {SHEET: book.add_worksheet(SHEET)}
        if self.first > 1:
            for column, name in zip(self.columns, self.table["names"], strict=True):
                sheets[SHEET].write_string(self.first - 2, column - 1, name)
        for (sheet, row, column), value in self.aside.items():
            if sheet and sheet not in sheets:
                sheets[sheet] = book.add_worksheet(sheet)
            sheets[sheet or SHEET].write_number(row - 1, column - 1, value)
        for (row, column), value in self.cells.items():
            if (row, column) in formulas and (row, column) not in self.plants:
                text = formulas[row, column]
                sheets[SHEET].write_formula(row - 1, column - 1, text, None, value)
            else:
                sheets[SHEET].write_number(row - 1, column - 1, value)
        book.close()


def name_rows(workbook: Workbook) -> set[int]:
    """Return the rows of the sheet that ``check`` names from the values alone."""
    names = [f"c{j}" for j in range(workbook.values.shape[1])]
    laws = discover(workbook.values, names, time_limit=SECONDS)
    found = laws.check(workbook.values).rows
    return {workbook.first + each.row for each in found if not each.is_missing}


def measure(
    workbook: Workbook, path: Path, wrong: dict[tuple[int, int], str], *, laws: bool
) -> dict[str, Any]:
    """Check a workbook, whose wrong cells are of the kinds given, by its formulas and by laws."""
    workbook.write(path)
    started = time.process_time()
    found = check_formulas(path)
    seconds = time.process_time() - started
    named = {(each.row, each.column): each.kind for each in found.cells}
    rows = name_rows(workbook) if laws else set()
    return {
        "table": workbook.name,
        "formulas": found.n_formulas,
        "evaluated": found.n_evaluated,
        "seconds": round(seconds, 3),
        "wrong": [
            {
                "cell": write_address(*cell),
                "kind": kind,
                "named": named.get(cell),
                "row named by laws": cell[0] in rows,
            }
            for cell, kind in wrong.items()
        ],
        "others named": [str(each) for each in found.cells if (each.row, each.column) not in wrong],
        "columns": len({workbook.columns[law["column"]] for law in workbook.laws}),
        "columns with others named": len(
            {column for _, column in named} - {column for _, column in wrong}
        ),
    }


def list_overwritten(workbook: Workbook) -> dict[tuple[int, int], str]:
    """Return the overwritten cells, and of which kind each is."""
    found = {}
    for law in workbook.laws:
        column = workbook.columns[law["column"]]
        for each in law["overwritten"]:
            cell = workbook.first + each["row"], column
            text = each["formula"]
            kind = "number" if text is None else "formula"
            kind += ", wrong" if each["breaks"] else ", same value"
            if text is not None and not each["breaks"]:
                own = resolve(parse("=" + text, *cell), *cell)
                if own == resolve(parse(workbook.formula(law, each["row"]), *cell), *cell):
                    kind = "formula that says the same"
            found[cell] = kind
    return found


def summarize(what: str, records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Count named cells of each kind."""
    wrong = [each for record in records for each in record["wrong"]]
    lines = []
    for kind in sorted({each["kind"] for each in wrong}):
        some = [each for each in wrong if each["kind"] == kind]
        n_named = sum(each["named"] is not None for each in some)
        rows = share(sum(each["row named by laws"] for each in some), len(some))
        lines.append(
            {
                "workbooks": what,
                "overwritten by": kind,
                "named by formulas": share(n_named, len(some)),
                "row named by laws": rows if what == AS_THEY_ARE else "not measured",
            }
        )
    return lines


def main() -> None:
    """Make the workbooks, check them, and write the results."""
    parser = argparse.ArgumentParser(description="Overwritten formulas of real spreadsheets.")
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--first", type=int, default=None, help="tables, by default all")
    options = parser.parse_args()
    data = os.environ.get("VANISHING_DATA")
    if data is None:
        parser.error("set VANISHING_DATA to the folder that holds spreadsheets/")
    records: dict[str, list[dict[str, Any]]] = {AS_THEY_ARE: [], "planted": []}
    left_out = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.xlsx"
        for k, source in enumerate(sorted((Path(data) / "spreadsheets").glob("???.json"))):
            if options.first is not None and k >= options.first:
                break
            workbook = Workbook(source)
            n_left = len(workbook.table["laws"]) - len(workbook.laws)
            left_out += [workbook.name] * n_left
            overwritten = list_overwritten(workbook)
            records[AS_THEY_ARE].append(
                measure(workbook, path, overwritten, laws=bool(overwritten))
            )
            planted, cells = workbook.plant(np.random.default_rng([options.seed, k]))
            wrong = dict.fromkeys(cells, "number of another row") | overwritten
            records["planted"].append(measure(planted, path, wrong, laws=False))
            print(workbook.name, flush=True)
    lines = [line for what, some in records.items() for line in summarize(what, some)]
    alarms = [
        {
            "workbooks": what,
            "columns of formulas": sum(each["columns"] for each in some),
            "columns with another cell named": sum(
                each["columns with others named"] for each in some
            ),
            "other cells named": sum(len(each["others named"]) for each in some),
            "formulas evaluated": share(
                sum(each["evaluated"] for each in some), sum(each["formulas"] for each in some)
            ),
        }
        for what, some in records.items()
    ]
    record = {"machine": describe(options.seed), "left out": left_out, "workbooks": records}
    parts = [
        table(lines),
        "## False alarms",
        table(alarms),
        f"Columns left out, since the cells beside the table are not known: {len(left_out)}.",
    ]
    write("workbooks", "Overwritten formulas", (__doc__ or "").partition("\n\n")[2], record, parts)
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
