"""Formulas of a workbook as rules: people wrote them, so its cells can be checked against them.

A formula is *filled* into a run of cells if these have it in relative form. Other cells of the run,
with a number or another formula, are exceptions. They are named if they are rather errors than
cells of another kind (``model.are_errors``, as for rows that break a law).
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from vanishing.data.excel_files import choose_sheet
from vanishing.data.excel_formulas import (
    Call,
    Evaluator,
    Formula,
    FormulaSheet,
    NotEvaluatedError,
    Number,
    Unknown,
    fill,
    list_areas,
    resolve,
)
from vanishing.data.sheet_layout import CellPlaces, write_address
from vanishing.data.whole_tables import Table, read_workbook_formulas
from vanishing.equations.text import count_decimals
from vanishing.laws.candidate import EXACT_DIGITS
from vanishing.laws.cells import find_resolution
from vanishing.laws.check import Check, Fix, locate
from vanishing.laws.model import can_be_errors

Cell = tuple[int, int]
#: What is wrong with a cell.
Kind = Literal["constant", "formula", "value"]


@dataclass(frozen=True)
class FormulaCell:
    """A cell that is not what the formulas of a workbook say.

    Parameters
    ----------
    sheet : str
    row, column : int
        From 1.
    kind : {"constant", "formula", "value"}
        A number where the cells around it have a formula, another formula than theirs, or a stored
        value that is not that of the cell's own formula.
    formula : str
        The formula that belongs into the cell.
    run : str
        The cells that have this formula, and their exceptions: ``D2:D40``.
    text : str
        The formula that the cell has; empty if it has none.
    value : float, str, bool or None
        What is stored in the cell.
    expected : float, str, bool or None
        What ``formula`` gives; None if it is not evaluated.
    agrees : bool
        Whether the stored value is the expected one all the same.
    """

    sheet: str
    row: int
    column: int
    kind: Kind
    formula: str
    run: str
    text: str
    value: float | str | bool | None
    expected: float | str | bool | None
    agrees: bool

    @property
    def address(self) -> str:
        """What the cell is called, such as ``D17``."""
        return write_address(self.row, self.column)

    def __str__(self) -> str:
        value, expected = write_value(self.value), write_value(self.expected)
        if self.kind == "value":
            return f"{self.address}: {value} is stored, but {self.formula} gives {expected}"
        as_in = f"{self.formula}, as in {self.run}"
        if self.kind == "formula":
            said = f"{self.address}: {self.text} stands in place of {as_in}"
            gives = "; both give" if self.agrees else f"; it gives {value} instead of"
        else:
            said = f"{self.address}: {value} stands in place of {as_in}"
            gives = ", which gives"
        return said if self.expected is None else f"{said}{gives} {expected}"


@dataclass(frozen=True)
class FormulaCheck:
    """What the formulas of a workbook say of its cells.

    Parameters
    ----------
    cells : tuple of FormulaCell
        Cells that are not what the formulas say, sheet by sheet.
    n_formulas : int
        Cells with a formula.
    n_evaluated : int
        Formulas whose value was computed and compared with what is stored.
    not_evaluated : mapping of str to int
        How many formulas were not, by what they contain.
    n_same : int
        Cells whose formula is written otherwise than that of their run, but says the same.
    outdated : mapping of str to int
        Sheets, and how many stored values were not computed since the file was changed: those of
        formulas most of whose values are wrong, or all wrong ones if most of the sheet's are.
    """

    cells: tuple[FormulaCell, ...] = ()
    n_formulas: int = 0
    n_evaluated: int = 0
    not_evaluated: dict[str, int] = field(default_factory=dict)
    n_same: int = 0
    outdated: dict[str, int] = field(default_factory=dict)

    def summary(self) -> str:
        """Return a sentence that says how many formulas there are, and how many cells break them.

        Returns
        -------
        str
        """
        if not self.n_formulas:
            return "No formulas."
        formulas = "1 formula" if self.n_formulas == 1 else f"{self.n_formulas} formulas"
        them = "it" if self.n_formulas == 1 else "them"
        if not self.cells and sum(self.not_evaluated.values()) == self.n_formulas:
            return f"{formulas}: not evaluated."
        if not self.cells:
            return f"{formulas}: no cell breaks {them}."
        cells = "1 cell breaks" if len(self.cells) == 1 else f"{len(self.cells)} cells break"
        return f"{formulas}: {cells} {them}."

    @property
    def notes(self) -> list[str]:
        """What was not checked, and why."""
        notes = []
        if self.not_evaluated:
            n_left = sum(self.not_evaluated.values())
            kinds = sorted(self.not_evaluated.items(), key=lambda each: (-each[1], each[0]))
            listed = ", ".join(f"{what} ({number})" for what, number in kinds)
            are = "formula is" if self.n_formulas == 1 else "formulas are"
            notes.append(f"{n_left} of {self.n_formulas} {are} not evaluated: {listed}")
        for sheet, number in self.outdated.items():
            notes.append(
                f"sheet {sheet!r}: {number} stored values are not those of the formulas; open and "
                "save the file in a spreadsheet program, so that it computes them"
            )
        if self.n_same:
            cells = "1 cell is" if self.n_same == 1 else f"{self.n_same} cells are"
            notes.append(f"{cells} written otherwise than the formula around, but say the same")
        return notes

    def lines(self, most: int | None = None) -> list[str]:
        """Return the cells as sentences, under the titles of their sheets.

        Parameters
        ----------
        most : int or None
            Cells to list; the last line says how many there are besides.

        Returns
        -------
        list of str
        """
        lines, sheet = [], None
        for cell in self.cells[:most]:
            if cell.sheet != sheet:
                sheet = cell.sheet
                lines.append(f"sheet {sheet!r}:")
            lines.append(f"  {cell}")
        if most is not None and len(self.cells) > most:
            lines.append(f"... and {len(self.cells) - most} more")
        return lines


def check_formulas(
    file: str | os.PathLike[str] | bytes, *, sheet: str | None = None
) -> FormulaCheck:
    """Check the cells of an Excel file against its formulas.

    Three kinds of cells are named: numbers in a column or a row of formulas, formulas that are not
    those of their column or row, and stored values that are not those of the cell's formula.
    Nothing in the file is run. Formulas are evaluated with the stored values of the cells that they
    refer to, if they have only arithmetic, comparisons, and the functions ``SUM``, ``AVERAGE``,
    ``MIN``, ``MAX``, ``COUNT``, ``ROUND``, ``ABS``, ``IF``, ``AND``, ``OR`` and ``NOT``.

    Parameters
    ----------
    file : str, path or bytes
        An Excel file (.xlsx or .xlsm), or the content of one.
    sheet : str or None
        Name or number of the sheet to check, by default all.

    Returns
    -------
    FormulaCheck
    """
    book = read_workbook_formulas(file)
    evaluator = Evaluator(book, EXACT_DIGITS)
    titles = list(book)
    if sheet is not None and book:
        titles = [choose_sheet(titles, sheet, "the workbook")]
    cells: list[FormulaCell] = []
    skipped: Counter[str] = Counter()
    outdated: dict[str, int] = {}
    n_same = 0
    for title in titles:
        found = _SheetCheck(book[title], evaluator)
        named, same = found.find_exceptions()
        wrong, n_outdated = found.find_wrong_values(skipped)
        if n_outdated:
            outdated[title] = n_outdated
        cells += sorted([*named, *wrong], key=lambda each: (each.row, each.column))
        n_same += same
    n_formulas = sum(len(book[title].formulas) for title in titles)
    return FormulaCheck(
        tuple(cells), n_formulas, n_formulas - skipped.total(), dict(skipped), n_same, outdated
    )


def locate_cells(table: Table, cells: Sequence[FormulaCell]) -> list[tuple[int, str] | None]:
    """Return the rows, from 0, and the columns of a table that hold cells of its sheet.

    None for cells that are not numbers of the table.
    """
    places = table.places
    if places is None and table.first_line is not None:  # nothing else is on the sheet
        lines = range(table.first_line - 1, table.first_line + max(table.rows, default=0))
        places = CellPlaces(list(lines), {name: j for j, name in enumerate(table.columns)})
    if places is None:
        return [None] * len(cells)
    numbers = {place + 1: number for number, place in enumerate(places.rows, 1)}
    rows = {number: row for row, number in enumerate(table.rows.tolist())}
    columns = {place + 1: name for name, place in places.columns.items()}
    found: list[tuple[int, str] | None] = []
    for cell in cells:
        line, place = cell.row, cell.column
        if places.is_transposed:
            line, place = place, line
        row, name = rows.get(numbers.get(line, 0)), columns.get(place)
        if row is None or name is None or name not in table.shown_names:
            found.append(None)
        else:
            stored = table.values[row, table.shown_names.index(name)]
            found.append((row, name) if stored == cell.value else None)
    return found


def blame_formulas(laws: Any, check: Check, table: Table, cells: Sequence[FormulaCell]) -> Check:
    """Return a check that names cells that break a formula, where they explain a broken row.

    They do if the laws that the row breaks hold with the values of the formulas. Other laws may
    break then: a cell that is computed from a wrong one keeps its law.
    """
    broken = {found.row: found for found in check if not (found.is_missing or found.total_of)}
    values = table.values.copy()
    blamed: dict[int, list[Fix]] = {}
    for cell, place in zip(cells, locate_cells(table, cells), strict=True):
        if place is None or place[0] not in broken or cell.agrees:
            continue
        row, name = place
        spoken = {name for k in broken[row].laws for name in check.laws[k].columns}
        if name in spoken and isinstance(cell.expected, int | float):
            j = table.shown_names.index(name)
            value, right = float(values[row, j]), float(cell.expected)
            decimals = count_decimals(find_resolution(table.values[:, j]))
            blamed.setdefault(row, []).append(Fix(name, value, right, 0.0, 1.0, decimals))
            values[row, j] = right
    if not blamed:
        return check
    left = {found.row: found.laws for found in laws.check(replace(table, values=values))}
    rows = []
    for found in check:
        if found.row in blamed and set(found.laws).isdisjoint(left.get(found.row, ())):
            fixes = tuple(blamed[found.row])
            found = replace(found, name=table.row_names[found.row], fixes=fixes, alternatives=())
            if table.places is not None:
                found = locate(found, table.places, int(table.rows[found.row]))
        rows.append(found)
    return replace(check, rows=rows)


class _Run(NamedTuple):
    """A formula that was filled into cells of a line, and the cells of the line that lack it.

    ``added`` are the exceptions at the ends. ``source`` is a cell that has the formula.
    """

    formula: Formula
    source: Cell
    first: Cell
    last: Cell
    exceptions: list[Cell]
    added: list[Cell]
    n_same: int

    @property
    def name(self) -> str:
        return f"{write_address(*self.first)}:{write_address(*self.last)}"


class _SheetCheck:
    """Checks one sheet."""

    def __init__(self, sheet: FormulaSheet, evaluator: Evaluator) -> None:
        self.sheet, self.evaluator = sheet, evaluator
        #: Cells that refer to others, with their relative formulas.
        self.trees = {
            cell: tree
            for cell, tree in sheet.trees.items()
            if isinstance(tree, Unknown) or any(list_areas(tree, *cell))
        }

    def find_wrong_values(self, skipped: Counter[str]) -> tuple[list[FormulaCell], int]:
        """Return cells whose stored value is not that of their formula, and how many are outdated.

        What is not evaluated is counted in ``skipped``.
        """
        wrong: list[tuple[Formula, FormulaCell]] = []
        n_all: Counter[Formula] = Counter()
        for (row, column), text in self.sheet.formulas.items():
            stored = self.sheet.values.get((row, column))
            tree = self.sheet.trees[row, column]
            try:
                if stored is None:
                    raise NotEvaluatedError("formulas without a stored value")
                value = self.evaluator.evaluate(tree, self.sheet.title, row, column)
            except NotEvaluatedError as error:
                skipped[str(error)] += 1
                continue
            n_all[tree] += 1
            if not self.evaluator.agrees(value, stored):
                place = write_address(row, column)
                cell = FormulaCell(
                    self.sheet.title, row, column, "value", text, place, text, stored,
                    _take_value(value), False,
                )  # fmt: skip
                wrong.append((tree, cell))
        if 2 * len(wrong) > n_all.total() > 1:
            return [], len(wrong)
        n_wrong = Counter(tree for tree, _ in wrong)
        found = [
            cell for tree, cell in wrong if 2 * n_wrong[tree] <= n_all[tree] or n_all[tree] == 1
        ]
        return found, len(wrong) - len(found)

    def find_exceptions(self) -> tuple[list[FormulaCell], int]:
        """Return cells that lack the formula of their run, and how many write it otherwise."""
        steps = ((1, 0), (0, 1))
        equal = [
            sum(
                tree == self.trees.get((row + down, column + right))
                for (row, column), tree in self.trees.items()
            )
            for down, right in steps
        ]
        # Formulas of a table are filled down its columns; those of a budget along its rows.
        order = (False, True) if equal[1] > equal[0] else (True, False)
        runs = {down: _Lines(self.sheet, self.trees, down=down).find_runs() for down in order}
        named: dict[Cell, FormulaCell] = {}
        for down in order:
            usual = self._find_usual(runs[down], down, is_main=down == order[0])
            for run in runs[down]:
                for cell in run.exceptions:
                    if not (cell in usual or cell in named or self._is_sound(run, cell, down)):
                        named[cell] = self._describe(run, cell)
        n_same = sum(run.n_same for run in runs[order[0]])
        return list(named.values()), n_same

    def _find_usual(self, runs: list[_Run], down: bool, is_main: bool) -> set[Cell]:
        """Return exceptions that the lines across explain."""
        along = 0 if down else 1
        usual: set[Cell] = set()
        # A formula that other cells of the line across have belongs to that line: total rows do.
        places: dict[tuple[int, Formula], int] = Counter(
            (cell[along], tree) for cell, tree in self.trees.items()
        )
        n_runs: Counter[int] = Counter()
        n_exceptions: Counter[int] = Counter()
        n_added: Counter[int] = Counter()
        for run in runs:
            n_runs.update(range(run.first[along], run.last[along] + 1))
            n_exceptions.update(cell[along] for cell in run.exceptions)
            n_added.update(cell[along] for cell in run.added)
        for run in runs:
            for cell in run.exceptions:
                tree, k = self.trees.get(cell), cell[along]
                is_filled_across = tree is not None and places[k, tree] > 1
                # All cells at an end, such as a first year of numbers that are known.
                is_end = cell in run.added and n_added[k] == n_runs[k] > 1
                # Columns may be of different kinds where rows are alike, and the reverse.
                is_other_kind = not is_main and n_exceptions[k] > max(1, n_runs[k] / 2)
                if is_filled_across or is_end or is_other_kind:
                    usual.add(cell)
        return usual

    def _is_sound(self, run: _Run, cell: Cell, down: bool) -> bool:
        """Say whether a number is what its formula cannot give: a tie, or what is not known."""
        stored = self.sheet.values.get(cell)
        if cell in self.trees or not isinstance(stored, float):
            return False
        # Where the formula would refer to a blank or a text, and nowhere else does.
        steps = range(run.first[not down], run.last[not down] + 1)
        cells = ((k, cell[1]) if down else (cell[0], k) for k in steps)
        filled = (each for each in cells if self.trees.get(each) == run.formula)
        if self._lacks_number(run.formula, cell) and not any(
            self._lacks_number(run.formula, each) for each in filled
        ):
            return True
        if not isinstance(run.formula, Call) or run.formula.name != "ROUND":
            return False
        try:
            value, digits = (
                self.evaluator.evaluate(each, self.sheet.title, *cell)
                for each in run.formula.arguments
            )
        except (NotEvaluatedError, ValueError):
            return False
        if not (isinstance(value, Number) and isinstance(digits, Number)):
            return False
        half = 10.0 ** -round(digits.value) / 2
        off = abs(value.value - stored)
        return abs(off - half) <= value.error + self.evaluator.measure_error(stored)

    def _lacks_number(self, tree: Formula, cell: Cell) -> bool:
        """Say whether a formula refers to a single cell of its sheet that is no number there."""
        return any(
            area.is_cell and area.sheet is None and not self.sheet.has_numbers(area)
            for area in list_areas(tree, *cell)
        )

    def _describe(self, run: _Run, cell: Cell) -> FormulaCell:
        sheet = self.sheet
        text = sheet.formulas.get(cell, "")
        formula = fill(sheet.formulas[run.source], *run.source, *cell)
        stored = sheet.values.get(cell)
        try:
            value = self.evaluator.evaluate(run.formula, sheet.title, *cell)
        except NotEvaluatedError:
            expected, agrees = None, False
        else:
            expected = _take_value(value)
            agrees = stored is not None and self.evaluator.agrees(value, stored)
        kind: Kind = "formula" if cell in self.trees else "constant"
        return FormulaCell(
            sheet.title, *cell, kind, formula, run.name, text, stored, expected, agrees
        )


class _Lines:
    """Finds the runs of formulas in the columns of a sheet, or in its rows."""

    def __init__(self, sheet: FormulaSheet, trees: dict[Cell, Formula], *, down: bool) -> None:
        self.sheet, self.trees = sheet, trees
        self.along, self.across = (0, 1) if down else (1, 0)
        self.totals = {cell for cell in trees if self._is_total(cell)}
        self.total_lines = {cell[self.along] for cell in self.totals}

    def find_runs(self) -> list[_Run]:
        """Return the runs of all lines."""
        lines: dict[int, list[Cell]] = defaultdict(list)
        for cell in sorted({*self.sheet.values, *self.trees}):
            value = self.sheet.values.get(cell)
            if cell in self.trees or (isinstance(value, (float, bool))):
                lines[cell[self.across]].append(cell)
        return [run for cells in lines.values() for run in self._find_in_line(cells)]

    def _is_total(self, cell: Cell) -> bool:
        """Say whether a cell adds up cells of its line, and is not one of many that do."""
        tree = self.trees[cell]
        n_cells = 0
        for area in list_areas(tree, *cell):
            low, high = (area.top, area.left)[self.across], (area.bottom, area.right)[self.across]
            if area.sheet is None and low <= cell[self.across] <= high:
                n_cells += (area.bottom - area.top, area.right - area.left)[self.along] + 1
        return n_cells > 1 and all(self.trees.get(self._step(cell, k)) != tree for k in (-1, 1))

    def _step(self, cell: Cell, by: int) -> Cell:
        return (cell[0] + by, cell[1]) if self.along == 0 else (cell[0], cell[1] + by)

    def _find_in_line(self, cells: Sequence[Cell]) -> Iterator[_Run]:
        found: dict[Formula, list[int]] = defaultdict(list)
        for k, cell in enumerate(cells):
            if cell in self.trees:
                found[self.trees[cell]].append(k)
        pieces: list[tuple[Formula, list[Cell], list[bool]]] = []
        for tree, places in found.items():
            if len(places) > 1:
                span = cells[places[0] : places[-1] + 1]
                judged = [cell for cell in span if self._is_judged(cell, tree)]
                flags = [not self._says(cell, tree) for cell in judged]
                pieces += [
                    (tree, judged[start:stop], flags[start:stop])
                    for start, stop in split_runs(flags)
                    # Others that say the same here have a run of their own.
                    if any(self.trees.get(cell) == tree for cell in judged[start:stop])
                ]
        filled = {
            cell
            for _, piece, flags in pieces
            for cell, is_exception in zip(piece, flags, strict=True)
            if not is_exception
        }
        for tree, piece, flags in pieces:
            added = [self._extend(tree, piece, flags, filled, by) for by in (-1, 1)]
            whole = sorted([*piece, *added[0], *added[1]])
            have = [cell for cell in piece if self.trees.get(cell) == tree]
            exceptions = [cell for cell in whole if not self._says(cell, tree)]
            n_same = len(whole) - len(exceptions) - len(have)
            yield _Run(
                tree, have[0], whole[0], whole[-1], exceptions, [*added[0], *added[1]], n_same
            )

    def _is_judged(self, cell: Cell, tree: Formula) -> bool:
        """Say whether a cell could have a formula; totals and what stands beside them could not."""
        return self._says(cell, tree) or cell[self.along] not in self.total_lines

    def _says(self, cell: Cell, tree: Formula) -> bool:
        """Say whether a cell has a formula, or one that means the same there."""
        own = self.trees.get(cell)
        return own is not None and (own == tree or resolve(own, *cell) == resolve(tree, *cell))

    def _extend(
        self, tree: Formula, piece: list[Cell], flags: list[bool], filled: set[Cell], by: int
    ) -> list[Cell]:
        """Return the cells that a run goes on with at an end, if they are rather errors."""
        added: list[Cell] = []
        cell = self._step(piece[0 if by < 0 else -1], by)
        while (
            cell not in filled
            and self._has_number(cell)
            and self._is_judged(cell, tree)
            and self._applies(tree, cell)
        ):
            added.append(cell)
            cell = self._step(cell, by)
        more = [not self._says(cell, tree) for cell in added]
        whole = [*more[::-1], *flags] if by < 0 else [*flags, *more]
        return added if can_be_errors(np.array(whole)) else []

    def _has_number(self, cell: Cell) -> bool:
        return cell in self.trees or isinstance(self.sheet.values.get(cell), float)

    def _applies(self, tree: Formula, cell: Cell) -> bool:
        """Say whether what a formula refers to from a cell are numbers."""
        areas = list_areas(tree, *cell)
        return all(area.sheet is not None or self.sheet.has_numbers(area) for area in areas)


def split_runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where runs start and stop: in each, exceptions (True) are rather errors.

    The longest block of exceptions divides a run that has too many.
    """
    exceptions = np.array(flags, dtype=bool)
    found: list[tuple[int, int]] = []
    rest = [(0, len(exceptions))]
    while rest:
        start, stop = rest.pop()
        sound = start + np.flatnonzero(~exceptions[start:stop])
        if len(sound) < 2:
            continue
        first, last = int(sound[0]), int(sound[-1]) + 1
        if can_be_errors(exceptions[first:last]):
            found.append((first, last))
            continue
        gaps = np.diff(sound)
        longest = np.flatnonzero(gaps == gaps.max())
        k = longest[len(longest) // 2]
        rest += [(first, int(sound[k]) + 1), (int(sound[k + 1]), last)]
    return sorted(found)


def _take_value(value: Any) -> float | str | bool | None:
    return value.value if isinstance(value, Number) else value


def write_value(value: float | str | bool | None) -> str:
    """Write a value with the digits that spreadsheets show at most, and nothing for None."""
    if isinstance(value, bool) or value is None:
        return str(value).upper() if value is not None else ""
    return repr(value) if isinstance(value, str) else f"{value:.15g}"
