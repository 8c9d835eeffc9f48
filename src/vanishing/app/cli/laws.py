"""The commands ``laws`` and ``check``."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from vanishing.app.cli import rules
from vanishing.app.cli.console import (
    MOST_LINES,
    DataError,
    Exit,
    UsageError,
    emit,
    fit_width,
    list_lines,
    note,
    note_files,
    pick,
    say,
    state,
    working,
)
from vanishing.app.cli.exports import check_large_file, is_pushed_down
from vanishing.app.cli.options import (
    Annotation,
    Output,
    Reading,
    flag,
    list_choices,
    option,
)

T = TypeVar("T", bound=Reading)

#: Columns of the table of laws, of which the first is called "law".
LISTED = ("text", "degree", "bits", "extent", "rows", "broken", "p_value", "latex")
#: Columns of the table of broken cells: line and id where there are any.
CELLS = (
    *("row", "line", "id", "cell", "address", "value", "text"),
    *("fix", "low", "high", "law", "probability", "alternatives"),
)


class Searching(Output, Reading):
    """How complicated laws may be, of which table, and what is written."""

    degree: int | None = option(
        "Options",
        "N",
        "Largest degree of a law.",
        "-d",
        min=1,
        show_default="4, less for wide tables",
    )


class LawOptions(Searching):
    """Which laws to look for."""

    label: str | None = option(
        "Options",
        "COLUMN",
        "Column that names the trajectory of each row: look for what is constant along "
        "each. Rows must be in the order of time.",
        "--trajectory",
    )
    save: str | None = option(
        "Output", "FILE", "File of rules to write, for check --rules: rules.toml.", "-s"
    )
    update: str | None = option(
        "Output",
        "FILE",
        "File of rules to bring up to date: says what changed, and keeps what people wrote.",
    )


def laws(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table, or - for a pipe.")],
    asked: LawOptions,
) -> None:
    """Find the equations that the columns of a table satisfy.

    No option is needed: tolerance, scale and degree are found in the data. Columns of text and
    dates only tell in which rows a law holds. With --trajectory: polynomials that are constant
    along each trajectory.
    """
    from vanishing.app.cli import tables

    tables.check_files([data], asked, asked.save, asked.update)
    if asked.save and asked.update:
        raise UsageError("--save writes a new file of rules, --update an old one; choose one")
    if asked.save and Path(asked.save).exists():
        remedy = f"pass --update {asked.save}, which keeps your rules"
        raise UsageError(f"{asked.save} is there already; {remedy}")
    if asked.update:
        rules.load_rules_of(asked.update)
    has_files = bool(asked.report or asked.save or asked.update)
    if asked.label is not None and has_files:
        raise UsageError(
            "--report, --save and --update are about laws of rows, not invariants; leave out "
            "--trajectory"
        )
    if asked.label is None and not (asked.out or has_files):
        sheets = _list_sheets(data, asked)
        if len(sheets) > 1:
            _show_sheets(sheets, lambda each: _laws_of(data, each))
            return
    record = _laws_of(data, asked)
    if state.json:
        emit(record)


def _laws_of(data: str, asked: LawOptions) -> dict[str, Any]:
    """Look for the laws of one table, show them, and return what JSON says of them."""
    from vanishing.app.wording import list_unused
    from vanishing.equations.text import join

    table = _read(data, asked)
    if asked.label is None:
        table = _turn(table, data, asked)
    found = discover_laws(table, asked.degree)
    strays = check_strays(None if asked.label else found, table)
    record = _laws_record(found) | {"not_numbers": stray_records(strays, table)}
    if asked.out is not None:
        columns = {name: [law[name] for law in record["laws"]] for name in LISTED}
        columns["bits"] = [math.nan if bits is None else bits for bits in columns["bits"]]
        _write_table(asked, {"law": columns.pop("text")} | columns)
    _write_report(asked.report, found, strays if strays.rows else None, table)
    record |= rules.write_rules_of(found, asked.save, asked.update)
    if not state.json and asked.out != "-":
        _show_laws(found, found.lines())
        if unused := list_unused(found):
            note(f"in no law: {join(unused, 12)}")
        if strays.rows:
            say()
            show_strays(strays, table)
        rules.show_changes(record)
        if not len(found) and not getattr(found, "totals", ()):
            _note_detect(data)
        note_files(asked.out, asked.report, asked.save, asked.update)
    return record | pick(asked, "out", "report")


def _list_sheets(data: str, asked: T) -> list[T]:
    """Return how to read each sheet of a workbook."""
    from vanishing.app.cli.tables import PIPE, table_errors
    from vanishing.data.whole_tables import list_tables

    if data == PIPE or asked.sheet is not None:
        return [asked]
    with table_errors():
        names, others = list_tables(data)
    if len(names) > 1 and others:
        listed = ", ".join(map(repr, others))
        note(f"{data}: sheets without a table of numbers, and hidden ones, are left out: {listed}")
    return [replace(asked, sheet=name) for name in names] or [asked]


def _show_sheets(
    sheets: Sequence[Reading], show: Any, finish: Any = dict, *, is_shown: bool = True
) -> None:
    """Show what is found in each sheet, and go on where one cannot be read."""
    from vanishing.data.sheet_layout import split_area

    records = []
    for k, reading in enumerate(sheets):
        if is_shown and not state.json:
            if k:
                say()
            kind = "Table" if split_area(str(reading.sheet))[1] else "Sheet"
            say(f"{kind} {reading.sheet!r}:")
        try:
            records.append({"sheet": reading.sheet} | show(reading))
        except DataError as error:
            note(str(error))
            records.append({"sheet": reading.sheet, "error": str(error)})
    more = finish()
    if state.json:
        emit({"sheets": records} | more)


class CheckOptions(Searching):
    """What to check against, and which rows to show."""

    train: str | None = option(
        "Options", "TABLE", "Table to find the laws in.", show_default="the table itself"
    )
    rules: str | None = option(
        "Options",
        "FILE",
        "Rules to check instead: of laws --save, without --report, or laws saved in Python.",
        "-r",
    )
    top: int = option("Output", "N", "Rows to list; --out writes all of them.", default=20, min=0)
    fail_on_broken: bool = flag(
        "Output", "Exit with 1 if a row breaks a law or a cell is a typo, 3 if none can be checked."
    )
    max_broken: str | None = option(
        "Output",
        "NUMBER",
        "The same, if more rows than this are broken: a number, or a share such as 0.1%.",
    )
    annotate: Annotation | None = option(
        "Output", "NAME", f"Print annotations for CI instead: {list_choices(Annotation)}."
    )


def check(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help="Table to check, or - for a pipe; several with a key in common.",
        ),
    ],
    asked: CheckOptions,
) -> int:
    """Find the cells that break the laws, and what they should be.

    The laws are those of --rules, of --train, or of the table itself; most of its rows should
    then be correct. Missing cells are filled in if the laws determine them. The formulas of an
    Excel file are rules as well. Of several tables or sheets, the totals by key are checked, too.
    """
    from vanishing.app.cli import tables

    tables.check_inputs(data)
    tables.check_files([*data, asked.train, asked.rules], asked)
    if asked.rules and (asked.train or asked.degree):
        raise UsageError("--rules are checked as they are; leave out --train and --degree")
    if asked.annotate and (state.json or asked.out == tables.PIPE):
        raise UsageError("--annotate prints to standard output; leave out --json and --out -")
    show = _Checks(asked)
    if len(data) > 1:
        return _check_tables(data, show)
    (path,) = data
    if asked.rules and not asked.annotate and is_pushed_down(path):
        return check_large_file(path, asked.rules, show.limit, asked)
    sheets = [asked]
    if not asked.rules:
        show.check_formulas(path)
        sheets = sheets if asked.train else _list_sheets(path, asked)
    if len(sheets) > 1:
        _show_sheets(
            sheets,
            lambda each: show.check(path, each, str(each.sheet)),
            show.check_between,
            is_shown=show.is_shown,
        )
    else:
        record = show.check(path, asked, str(sheets[0].sheet or ""))
        if state.json:
            emit(record | _formulas_record(show.formulas))
    return show.finish()


def _check_tables(paths: list[str], show: "_Checks") -> int:
    """Check several tables, and the totals by key between them."""
    from vanishing.app.cli.tables import PIPE

    asked = show.asked
    if asked.train or asked.rules or asked.out or asked.report or PIPE in paths:
        named = "--train, --rules, --out, --report and -"
        raise UsageError(f"{named} are for one table; pass one")
    if len(set(paths)) < len(paths):
        raise UsageError("the same table is given twice; pass each once")
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = paths
    records = []
    for k, (path, name) in enumerate(zip(paths, names, strict=True)):
        if show.is_shown:
            say("\n" * bool(k) + f"Table {name!r}:")
        records.append({"table": name} | show.check(path, asked, name))
    between = show.check_between()
    if state.json:
        emit({"tables": records} | between)
    return show.finish()


class _Part(NamedTuple):
    """A table, its laws, and what was found in it."""

    name: str
    path: str
    table: Any
    found: Any
    checked: Any


class _Checks:
    """Checks tables, workbooks and what is between tables; counts rows that are wrong once each."""

    def __init__(self, asked: CheckOptions) -> None:
        self.asked = asked
        self.limit = rules.read_limit(asked.max_broken, asked.fail_on_broken)
        self.is_shown = not (state.json or asked.annotate or asked.out == "-")
        self.stated = None if asked.rules is None else rules.load_rules_of(asked.rules)
        self.is_file = hasattr(self.stated, "rules")
        if self.is_file and asked.report:
            raise UsageError("--report shows laws; leave it out with a file of rules")
        self.parts: list[_Part] = []
        self.formulas: Any = None
        self.wrong_formulas: set[tuple[str, Any]] = set()
        self.between: list[Any] = []

    def check_formulas(self, path: str) -> None:
        """Check the cells of a workbook against its formulas, and show what breaks them."""
        from vanishing.app.cli.tables import PIPE, table_errors
        from vanishing.data.source import is_url
        from vanishing.laws.formulas import check_formulas

        if path == PIPE or is_url(path):
            return
        with working("checking the formulas"), table_errors():
            found = check_formulas(path, sheet=self.asked.sheet)
        if not found.n_formulas:
            return
        self.formulas = found
        self.wrong_formulas = {(each.sheet, each.address) for each in found.cells}
        if self.is_shown:
            say(found.summary())
            for line in found.lines(self.asked.top):
                say(fit_width(f"  {line}"))
            for text in found.notes:
                note(text)
            say()
        if self.asked.out is not None and found.cells:
            note(f"{self.asked.out} does not list the cells that break formulas; --json does")

    def check(self, path: str, reading: CheckOptions, name: str) -> dict[str, Any]:
        """Check one table, show what breaks its laws, and return what JSON says."""
        asked, stated = self.asked, self.stated
        normal = None if asked.train is None else _read(asked.train, reading)
        used = {name for rule in stated or () for name in rule.columns}
        table = _read(path, reading, like=normal, used=used)
        if normal is None and stated is None:
            table = _turn(table, path, reading)
        found: Any = stated
        if stated is None:
            found = discover_laws(table if normal is None else normal, asked.degree)
        with working("checking the rows", len(table)) as step:
            try:
                checked = found.check(table, callback=lambda n: step(done=n))
            except ValueError as error:
                raise DataError(f"{table.where}: {error}") from error
        checked = self._compare_formulas(found, checked, table, name)
        part = _Part(name, path, table, found, checked)
        self.parts.append(part)
        if self.is_shown:
            self._show(part)
        return self._describe(part)

    def _compare_formulas(self, found: Any, checked: Any, table: Any, name: str) -> Any:
        """Name cells with a wrong formula in the rows that they break, and count them once."""
        from vanishing.data.sheet_layout import split_area

        if self.formulas is None:
            return checked
        from vanishing.laws.formulas import blame_formulas, locate_cells

        titles = {each.sheet for each in self.formulas.cells}
        title = name if name in titles else split_area(name)[0]
        cells = [each for each in self.formulas.cells if not name or each.sheet == title]
        for each, place in zip(cells, locate_cells(table, cells), strict=True):
            if place is not None:
                self.wrong_formulas.discard((each.sheet, each.address))
                self.wrong_formulas.add((name, place[0]))
        return blame_formulas(found, checked, table, cells)

    def _show(self, part: _Part) -> None:
        from vanishing.app.cli import tables

        if self.is_file:
            rules.show_rules(part.found, self.asked.rules or "")
        else:
            _show_laws(part.found, part.found.lines(numbered=True))
        say()
        ranked = part.checked.ranked()
        for line in ranked.lines(numbered=True, most=self.asked.top, more=" (--top, --out)"):
            say(fit_width(line))
        if self.asked.top and ranked.rows:
            tables.note_lines(part.table, int(part.table.rows[ranked[0].row]))

    def _describe(self, part: _Part) -> dict[str, Any]:
        from vanishing.app.cli import tables

        table, found, checked = part.table, part.found, part.checked
        rules_path = self.asked.rules or ""
        said = rules.describe_rules(found, rules_path) if self.is_file else _laws_record(found)
        said |= pick(self.asked, "out", "report")
        return said | {
            "rows": len(table),
            "broken": int(checked.broken.sum()),
            "incomplete": len(checked.incomplete),
            "unchecked": [tables.place_of(table, row) for row in checked.unchecked],
            "outside": [
                {
                    "laws": [str(checked.laws[k]) for k in each.laws],
                    "reason": each.reason,
                    "rows": [tables.place_of(table, row) for row in each.rows],
                }
                for each in checked.outside
            ],
            "coverage": checked.coverage(),
            "in_no_law": checked.in_no_law,
            "missing": {name: len(rows) for name, rows in checked.gaps.items()},
            "cells": _list_cells(part),
        }

    def check_between(self) -> dict[str, Any]:
        """Check the totals by key, show what breaks them, and return what JSON says."""
        from vanishing.laws import discover_joined

        with working("looking for laws between the tables"):
            self.between = discover_joined({part.name: part.table for part in self.parts})
        for each in self.between if self.is_shown else ():
            say()
            for line in [*each.write_laws(), *each.sentences()[: self.asked.top]]:
                say(fit_width(line))
            if (n_left := len(each.check.rows) - self.asked.top) > 0:
                say(f"... and {n_left} more (--top)")
            for text in each.notes:
                note(text)
        record = {"between": [_joined_record(each) for each in self.between]}
        return _formulas_record(self.formulas) | record

    def finish(self) -> int:
        """Write the files and annotations, and return the exit code of all parts together."""
        self._write_files()
        if self.asked.annotate:
            self._annotate()
        if self.limit is None:
            return Exit.DONE if self.parts else Exit.DATA
        wrong = self._list_wrong()
        for each in self.between:
            wrong |= {each.find_wrong(row) for row in each.check.rows}
        n_rows = sum(len(part.table) for part in self.parts)
        if rules.is_more(len(wrong | self.wrong_formulas), n_rows, self.limit):
            return Exit.ANOMALIES
        problems = [_find_problem(part) for part in self.parts]
        if self.formulas or self.between or not all(problems):
            return Exit.DONE
        if len(problems) == 1:
            raise DataError(problems[0])
        for text in problems:
            note(text)
        return Exit.DATA

    def _list_wrong(self) -> set[tuple[str, Any]]:
        """Return the rows of each table that are wrong by themselves."""
        return {(part.name, row) for part in self.parts for row in rules.list_wrong(part.checked)}

    def _write_files(self) -> None:
        asked, parts = self.asked, self.parts
        if asked.out is not None and parts:
            known = {name for part in parts for name in _name_cells(part.table)}
            names = [name for name in CELLS if name in known]
            names[:0] = ["sheet"] * (len(parts) > 1)
            lines = [{"sheet": part.name} | line for part in parts for line in _list_cells(part)]
            _write_table(asked, {name: [line.get(name, "") for line in lines] for name in names})
        if asked.report is not None and parts:
            # The laws of one sheet: the one with most to say.
            part = max(parts, key=lambda p: (len(rules.list_wrong(p.checked)), len(p.found)))
            _write_report(asked.report, part.found, part.checked, part.table, self.formulas)
            if len(parts) > 1:
                note(f"{asked.report} shows sheet {part.name!r} only; --sheet chooses another")
        if self.is_shown:
            if parts and not any(len(part.found) or part.checked.n_totals for part in parts):
                _note_detect(parts[0].path)
            note_files(asked.out, asked.report)

    def _annotate(self) -> None:
        wrong = list[rules.Wrong]()
        laws = dict[str, str]()
        is_workbook = len(self.parts) > 1 and len({each.path for each in self.parts}) == 1
        for part in self.parts:
            stated: Any = self.stated if self.is_file else part.checked.laws
            title = part.name if is_workbook else ""
            wrong += rules.annotate_rows(part.checked, stated, part.table, title)
            laws |= {rules.name_law(law): str(law) for law in stated}
        for cell in self.formulas.cells if self.formulas else ():
            sentence = f"sheet {cell.sheet!r}: {cell}."
            wrong.append(rules.Wrong(self.parts[0].table.where, "formula", sentence, cell.row))
        tables = {part.name: part.table for part in self.parts}
        said = self._list_wrong()
        for each in self.between:
            for row, sentence in zip(each.check.rows, each.sentences(), strict=True):
                name, number = each.find_wrong(row)
                if (name, number) not in said:
                    law = str(each.check.laws[row.laws[0]])
                    wrong.append(rules.Wrong.in_row(tables[name], number, law, sentence))
        if self.asked.annotate == "sarif":
            emit(rules.write_sarif(wrong, laws))
        else:
            for found in wrong:
                say(rules.write_github(found))


def _find_problem(part: _Part) -> str:
    """Say why no row of a table can be checked; nothing if some can."""
    table, checked = part.table, part.checked
    if checked.n_totals or (checked.laws and len(checked.unchecked) < len(table)):
        return ""
    reason = "every row lacks cells that the laws need" if checked.laws else "there are no laws"
    remedy = "fill in the cells" if checked.laws else "pass a table that has some as --train"
    return f"{table.where}: no row can be checked, since {reason}; {remedy}"


def _joined_record(found: Any) -> dict[str, Any]:
    return pick(found, "table", "lines", "key", "lines_key", "without_lines", "without_row") | {
        "laws": [{"text": str(law), "bits": law.bits} for law in found.laws],
        "broken": [
            {"key": str(row.name), "text": text}
            for row, text in zip(found.check.rows, found.sentences(), strict=True)
        ],
    }


def _formulas_record(found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    cells = [asdict(each) | {"cell": each.address} for each in found.cells]
    return {"formulas": asdict(found) | {"summary": found.summary(), "cells": cells}}


# --- Cells that are not numbers, and what the laws say they are -----------------------------------


def check_strays(found: Any, table: Any) -> Any:
    """Return a check of the cells alone that are not numbers; laws say what they should be."""
    from vanishing.laws.check import Check, list_texts

    texts = table.stray_texts
    totals = {each.row for each in getattr(found, "totals", ())}  # they are called so
    texts = {cell: text for cell, text in texts.items() if cell[0] not in totals}
    rows = sorted({row for row, _ in texts})
    if not rows:
        return Check(())
    names = [table.row_name(i) for i in range(len(table))]
    if found is None:
        return list_texts(texts, names)
    # All rows, since laws may speak of the row before.
    checked = found.check(table, row_names=names, texts=texts)
    kept = [each for each in checked.rows if any(fix.text for fix in each.fixes)]
    return Check(checked.laws, kept, len(table))


def stray_records(strays: Any, table: Any) -> list[dict[str, Any]]:
    """Return the cells that are not numbers, for JSON."""
    from vanishing.app.cli.tables import place_of

    return [
        place_of(table, found.row)
        | {
            "cell": fix.column,
            "text": fix.text,
            "fix": fix.fix,
            "law": "; ".join(str(strays.laws[k]) for k in found.laws),
        }
        for found in strays
        for fix in found.fixes
    ]


def show_strays(strays: Any, table: Any, *, is_error: bool = False) -> None:
    """Print the cells that are not numbers, and what the laws say they are."""
    from vanishing.app.cli.tables import note_lines

    tell = partial(say, is_error=is_error)
    number = sum(bool(fix.text) for found in strays for fix in found.fixes)
    tell("1 cell is not a number:" if number == 1 else f"{number} cells are not numbers:")
    for sentence in strays.sentences()[:MOST_LINES]:
        tell(fit_width(f"  {sentence}"))
    if len(strays) > MOST_LINES:
        tell(f"  ... and {len(strays) - MOST_LINES} more rows (--json)")
    note_lines(table, int(table.rows[strays[0].row]))


def _read(path: str, reading: Reading, like: Any = None, used: Any = ()) -> Any:
    from vanishing.app.cli.tables import read_input

    return read_input(
        path, reading, model=like, set_aside=True, gaps="keep", lists_strays=True, used=used
    )


def _turn(table: Any, path: str, reading: Searching) -> Any:
    """Return a table with its rows as columns if laws save more bits of its cells then."""
    from vanishing.laws.laws import find_table_totals

    if not table.is_turnable or reading.transposed is not None:
        return table
    quiet, state.quiet = state.quiet, True
    turned = _read(path, replace(reading, transposed=True))
    bits = [float(find_table_totals(each).bits) for each in (table, turned)]
    for k, each in enumerate((table, turned)):
        with suppress(DataError):
            bits[k] += sum(law.bits or 0 for law in discover_laws(each, reading.degree))
    state.quiet = quiet
    if bits[1] <= bits[0]:
        return table
    note(
        f"{table.where}: its rows are read as variables: laws between them save {bits[1]:,.0f} "
        f"bits, laws between its columns {bits[0]:,.0f}; --not-transposed reads it as it is"
    )
    return turned


def discover_laws(table: Any, degree: int | None = None) -> Any:
    """Look for the laws of a table, or for invariants where it has labels, with progress."""
    from vanishing.laws import discover, discover_invariants

    # There is a note already on columns that are set aside.
    find: Any = partial(discover, replace(table, set_aside=()))
    if table.labels is not None:
        about = {"groups": table.labels, "feature_names": table.shown_names}
        find = partial(discover_invariants, table.values, **about)
    with working("looking for a law", 1.0) as step:

        def show(n_found: int, share: float) -> None:
            said = f"looking for law {n_found + 1}" if n_found else "looking for a law"
            step(done=share, what=said)

        try:
            return find(max_degree=degree, callback=show)
        except ValueError as error:
            raise DataError(f"{table.where}: {error}") from error


def _show_laws(found: Any, lines: list[str]) -> None:
    say(found.summary())
    for line in lines:
        say(fit_width(f"  {line}"))
    for text in found.notes:
        note(text)


def _laws_record(found: Any) -> dict[str, Any]:
    derived, totals = getattr(found, "derived", ()), getattr(found, "totals", ())
    names = [*found.names, *(each.name for each in derived)]
    return pick(found, "noise", "notes") | {
        "summary": found.summary(),
        "noise_of": "values" if getattr(found, "proportional", False) else "spreads",
        "proportional_columns": getattr(found, "proportional_columns", ()),
        # Those of invariants hold on all trajectories.
        "laws": [_law_record(law, names) for law in (*found, *getattr(found, "laws", ()))],
        "derived": [
            pick(each, "name", "function", "sources", "order", "starts_at_zero")
            | {"by": [{"column": column, "part": part} for column, part in each.by]}
            for each in derived
        ],
        "totals": [
            pick(each, "name", "of", "columns", "level")
            | {"row": each.row + 1, "rows": each.members + 1}
            for each in totals
        ],
        "domains": [asdict(each) | {"text": str(each)} for each in getattr(found, "domains", ())],
        "units": dict(zip(found.names, getattr(found, "column_units", ()), strict=False)),
    }


def _law_record(law: Any, names: list[str]) -> dict[str, Any]:
    logs = [[]] * len(law.exponents) if law.logs is None else law.logs
    terms = {
        "powers": law.exponents,
        "logarithms": [list(compress(names, used)) for used in logs],
        "coefficient": law.coefficients,
        "standard_error": law.standard_errors,
    }
    shown = ("latex", "degree", "bits", "extent", "p_value", "columns", "choices")
    return pick(law, *shown) | {
        "text": str(law),
        "rows": len(law.rows),
        "broken": law.n_broken,
        "where": None if law.where is None else str(law.where),
        "terms": list_lines(terms),
    }


def _name_cells(table: Any) -> list[str]:
    """Return the columns of the table of broken cells."""
    unknown = {"line"} if table.first_line is None else set()
    unknown |= set() if table.places else {"address"}
    unknown |= {"id"} if table.row_ids is None else set()
    return [name for name in CELLS if name not in unknown]


def _list_cells(part: _Part) -> list[dict[str, Any]]:
    """Return what was found, a line for each cell."""
    from vanishing.app.cli.tables import place_of
    from vanishing.data.sheet_layout import CellPlaces

    table, names = part.table, _name_cells(part.table)
    places = table.places or CellPlaces([], {})
    lines = []
    for row, cell in rules.describe_cells(part.checked):
        address = places.address(table.rows[row], cell["cell"]) if cell["cell"] else ""
        line = place_of(table, row) | {"address": address} | cell
        lines.append({name: line[name] for name in names})
    return lines


def _write_table(output: Output, columns: dict[str, list[Any]]) -> None:
    import numpy as np

    from vanishing.app.cli import tables

    assert output.out is not None
    arrays = {name: np.array(each) for name, each in columns.items()}
    tables.write_table(output.out, arrays, format=output.out_format)


def _write_report(
    path: str | None, found: Any, checked: Any, table: Any, formulas: Any = None
) -> None:
    if path is None:
        return
    from vanishing.app.cli import tables
    from vanishing.app.report import write_laws_report
    from vanishing.app.wording import as_sentence

    notes = []
    if checked:
        notes = tables.describe_lines(table, int(table.rows[checked.ranked()[0].row]))
    with tables.refusals(path), working("writing the report"):
        write_laws_report(
            path,
            found,
            checked,
            formulas=formulas,
            X=table,
            title=f"Laws of {table.file_name}",
            notes=[as_sentence(each) for each in notes],
        )


def _note_detect(data: str) -> None:
    note(f"try: vanishing detect {data} finds rows that are unlike the others")
