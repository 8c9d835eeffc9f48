"""The commands ``laws`` and ``check``."""

from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer

from vanishing.app.cli.console import (
    MOST_LINES,
    DataError,
    Exit,
    UsageError,
    emit,
    fit_width,
    note,
    note_files,
    required,
    say,
    state,
    working,
)
from vanishing.app.cli.exports import check_large_file, is_pushed_down
from vanishing.app.cli.options import (
    OPTIONS,
    OUTPUT,
    Annotation,
    Options,
    Output,
    Reading,
    list_choices,
    option,
)
from vanishing.app.cli.rules import (
    annotate,
    check_rules_files,
    describe_cells,
    describe_rules,
    exceeds,
    list_rules,
    load_rules_of,
    read_limit,
    show_changes,
    summarize,
    write_rules_of,
)

#: Columns of the table of broken cells: line and id where there are any.
CELLS = (
    *("row", "line", "id", "cell", "address", "value", "text"),
    *("fix", "low", "high", "law", "probability", "alternatives"),
)


class Degree(Options):
    """How complicated laws may be."""

    degree: int | None = option(
        OPTIONS,
        *("--degree", "-d"),
        min=1,
        metavar="N",
        help="Largest degree of a law.",
        show_default="4, less for wide tables",
    )


class LawOptions(Degree):
    """Which laws to look for."""

    trajectory: str | None = option(
        OPTIONS,
        "--trajectory",
        metavar="COLUMN",
        help="Column that names the trajectory of each row: look for what is constant along "
        "each. Rows must be in the order of time.",
    )
    save: str | None = option(
        OUTPUT,
        *("--save", "-s"),
        metavar="FILE",
        help="File of rules to write, for check --rules: rules.toml.",
    )
    update: str | None = option(
        OUTPUT,
        "--update",
        metavar="FILE",
        help="File of rules to bring up to date: says what changed, and keeps what people wrote.",
    )


def laws(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table, or - for a pipe.")],
    asked: LawOptions,
    output: Output,
    reading: Reading,
) -> None:
    """Find the equations that the columns of a table satisfy.

    No option is needed: tolerance, scale and degree are found in the data. Columns of text and
    dates only tell in which rows a law holds. With --trajectory: polynomials that are constant
    along each trajectory.
    """
    from vanishing.app.cli import tables

    trajectory = asked.trajectory
    tables.check_files([data], output, asked.save, asked.update)
    check_rules_files(asked.save, asked.update)
    if trajectory is not None and (output.report or asked.save or asked.update):
        raise UsageError(
            "--report, --save and --update are about laws of rows, not invariants; leave out "
            "--trajectory"
        )
    if trajectory is None and not (asked.save or asked.update):
        sheets = _list_sheets(data, output, reading)
        if len(sheets) > 1:
            _show_sheets(sheets, lambda each: _laws_of(data, asked, output, each))
            return
    record = _laws_of(data, asked, output, reading)
    if output.json:
        emit(record)


def _laws_of(data: str, asked: LawOptions, output: Output, reading: Reading) -> dict[str, Any]:
    """Look for the laws of one table, show them, and return what JSON says of them."""
    trajectory = asked.trajectory
    table = _read(data, reading, label=trajectory)
    if trajectory is None:
        table = _turn(table, data, reading, asked.degree)
    found = discover_laws(table, asked.degree)
    listed = _list(found)
    if output.out is not None:
        _write_table(
            output,
            {
                "law": [str(law) for law in listed],
                "degree": [law.degree for law in listed],
                "bits": [float("nan") if law.bits is None else law.bits for law in listed],
                "extent": [law.extent for law in listed],
                "rows": [len(law.rows) for law in listed],
                "broken": [law.n_broken for law in listed],
                "p_value": [law.p_value for law in listed],
                "latex": [law.latex for law in listed],
            },
        )
    strays = check_strays(None if trajectory else found, table)
    _write_report(output.report, found, strays if strays.rows else None, table)
    record = _laws_record(found) | {"not_numbers": stray_records(strays, table)}
    record |= write_rules_of(found, asked.save, asked.update)
    if not output.json and output.out != "-":
        _show_laws(found, found.lines())
        used = {name for law in listed for name in law.columns}
        used |= {name for each in getattr(found, "derived", ()) for name in each.needed}
        used |= {law.where.column for law in listed if law.where is not None}
        if used and (unused := [name for name in found.names if name not in used]):
            from vanishing.equations.text import join

            note(f"in no law: {join(unused, 12)}")
        if strays.rows:
            say()
            show_strays(strays, table)
        show_changes(record)
        _note_rest(data, found, output, asked.save, asked.update)
    return record | {"out": output.out, "report": output.report}


def _list_sheets(data: str, output: Output, reading: Reading) -> list[Reading]:
    """Return how to read each sheet of a workbook; a file to write is about one of them."""
    from dataclasses import replace

    from vanishing.app.cli.tables import PIPE, table_errors
    from vanishing.data.whole_tables import list_tables

    if data == PIPE or reading.sheet is not None or output.out or output.report:
        return [reading]
    with table_errors():
        names, others = list_tables(data)
    if len(names) > 1 and others:
        listed = ", ".join(map(repr, others))
        note(f"{data}: sheets without a table of numbers, and hidden ones, are left out: {listed}")
    return [replace(reading, sheet=name) for name in names] or [reading]


def _show_sheets(sheets: list[Reading], show: Any, finish: Any = dict) -> None:
    """Show what is found in each sheet, and go on where one cannot be read."""
    from vanishing.data.sheet_layout import split_area

    records = []
    for k, reading in enumerate(sheets):
        if not state.json:
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


class CheckOptions(Degree):
    """What to check against, and which rows to show."""

    train: str | None = option(
        OPTIONS,
        "--train",
        metavar="TABLE",
        help="Table to find the laws in.",
        show_default="the table itself",
    )
    rules: str | None = option(
        OPTIONS,
        *("--rules", "-r"),
        metavar="FILE",
        help="Rules to check instead: of laws --save, or laws saved in Python.",
    )
    top: int = option(
        OUTPUT,
        "--top",
        default=20,
        min=0,
        metavar="N",
        help="Rows to list; --out writes all of them.",
    )
    fail_on_broken: bool = option(
        OUTPUT,
        "--fail-on-broken",
        default=False,
        help="Exit with 1 if a row breaks a law or a cell is a typo, 3 if none can be checked.",
    )
    max_broken: str | None = option(
        OUTPUT,
        "--max-broken",
        metavar="NUMBER",
        help="The same, if more rows than this are broken: a number, or a share such as 0.1%.",
    )
    annotate: Annotation | None = option(
        OUTPUT,
        "--annotate",
        metavar="NAME",
        help=f"Print annotations for CI instead: {list_choices(Annotation)}.",
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
    output: Output,
    reading: Reading,
) -> int:
    """Find the cells that break the laws, and what they should be.

    The laws are those of --rules, of --train, or of the table itself; most of its rows should
    then be correct. Missing cells are filled in if the laws determine them. The formulas of an
    Excel file are rules as well. Of several tables or sheets, the totals by key are checked, too.
    """
    from vanishing.app.cli import tables

    tables.check_inputs(data)
    tables.check_files([*data, asked.train, asked.rules], output)
    tables.check_inputs(data)
    if asked.rules and (asked.train or asked.degree):
        raise UsageError("--rules are checked as they are; leave out --train and --degree")
    if asked.annotate and (output.json or output.out == tables.PIPE):
        raise UsageError("--annotate prints to standard output; leave out --json and --out -")
    read_limit(asked.max_broken, asked.fail_on_broken)
    if len(data) > 1:
        return _check_tables(data, asked, output, reading)
    (path,) = data
    if asked.rules and not asked.annotate and is_pushed_down(path):
        limit = asked.max_broken or ("0" if asked.fail_on_broken else None)
        return check_large_file(path, asked.rules, limit, output)
    formulas = None
    if not (asked.rules or asked.annotate):
        formulas = _check_formulas(path, asked, output, reading)
    is_one = asked.train or asked.rules or asked.annotate
    sheets = [reading] if is_one else _list_sheets(path, output, reading)
    if len(sheets) > 1:
        show = _TableChecks(asked, output)
        _show_sheets(
            sheets,
            lambda each: show.check(path, each, str(each.sheet)),
            lambda: _formulas_record(formulas) | show.check_between(),
        )
        code = show.code
    else:
        record, code, problem = _check_of(path, asked, output, reading, formulas)
        if output.json:
            emit(record | _formulas_record(formulas))
        if problem:
            raise DataError(problem)
    return Exit.ANOMALIES if asked.fail_on_broken and formulas and formulas.cells else code


def _check_tables(paths: list[str], asked: CheckOptions, output: Output, reading: Reading) -> int:
    """Check several tables, and the totals by key between them."""
    from pathlib import Path

    from vanishing.app.cli.tables import PIPE

    others = asked.train or asked.rules or asked.annotate or output.out or output.report
    if others or PIPE in paths:
        named = "--train, --rules, --annotate, --out, --report and -"
        raise UsageError(f"{named} are for one table; pass one")
    if len(set(paths)) < len(paths):
        raise UsageError("the same table is given twice; pass each once")
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = paths
    show = _TableChecks(asked, output)
    records = []
    for k, (path, name) in enumerate(zip(paths, names, strict=True)):
        if not output.json:
            say("\n" * bool(k) + f"Table {name!r}:")
        records.append({"table": name} | show.check(path, reading, name))
    between = show.check_between()
    if output.json:
        emit({"tables": records} | between)
    return show.code


class _TableChecks:
    """Checks several tables, then the laws between them."""

    def __init__(self, asked: CheckOptions, output: Output) -> None:
        self.asked, self.output = asked, output
        self.tables: dict[str, Any] = {}
        self.codes: list[int] = []

    @property
    def code(self) -> int:
        """The exit code: the highest of the tables."""
        if Exit.ANOMALIES in self.codes:
            return Exit.ANOMALIES
        return max(self.codes, default=Exit.DATA)

    def check(self, path: str, reading: Reading, name: str) -> dict[str, Any]:
        """Check one table, show what breaks its laws, and return what JSON says."""
        table = _turn(_read(path, reading), path, reading, self.asked.degree)
        self.tables[name] = table
        record, code, problem = _check_of(path, self.asked, self.output, reading, table=table)
        self.codes.append(code)
        if problem:
            note(problem)
        return record

    def check_between(self) -> dict[str, Any]:
        """Check the totals by key, show what breaks them, and return what JSON says."""
        discover_joined = required("vanishing.laws", "discover_joined", extra="cli")
        with working("looking for laws between the tables"):
            found = discover_joined(self.tables)
        for each in found:
            if self.asked.fail_on_broken and each.check.rows:
                self.codes.append(Exit.ANOMALIES)
            if not self.output.json:
                say()
                for line in [*each.write_laws(), *each.sentences()[: self.asked.top]]:
                    say(fit_width(line))
                if (n_left := len(each.check.rows) - self.asked.top) > 0:
                    say(f"... and {n_left} more (--top)")
                for text in each.notes:
                    note(text)
        return {"between": [_joined_record(each) for each in found]}


def _joined_record(found: Any) -> dict[str, Any]:
    return {
        "table": found.table,
        "lines": found.lines,
        "key": found.key,
        "lines_key": found.lines_key,
        "laws": [{"text": str(law), "bits": law.bits} for law in found.laws],
        "broken": [
            {"key": str(row.name), "text": text}
            for row, text in zip(found.check.rows, found.sentences(), strict=True)
        ],
        "without_lines": list(found.without_lines),
        "without_row": list(found.without_row),
    }


def _check_formulas(data: str, asked: CheckOptions, output: Output, reading: Reading) -> Any:
    """Check the cells of a workbook against its formulas, and show what breaks them."""
    from vanishing.app.cli.tables import PIPE, table_errors
    from vanishing.data.source import is_url

    if data == PIPE or is_url(data):
        return None
    check_them = required("vanishing.laws.formulas", "check_formulas", extra="cli")
    with working("checking the formulas"), table_errors():
        found = check_them(data, sheet=reading.sheet)
    if not found.n_formulas:
        return None
    if not output.json and output.out != "-":
        say(found.summary())
        for line in found.lines(asked.top):
            say(fit_width(f"  {line}"))
        for text in found.notes:
            note(text)
        say()
    if output.out is not None and found.cells:
        note(f"{output.out} does not list the cells that break formulas; --json does")
    return found


def _formulas_record(found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    cells = [asdict(each) | {"cell": each.address} for each in found.cells]
    return {"formulas": asdict(found) | {"summary": found.summary(), "cells": cells}}


def _check_of(
    data: str,
    asked: CheckOptions,
    output: Output,
    reading: Reading,
    formulas: Any = None,
    table: Any = None,
) -> tuple[dict[str, Any], int, str]:
    """Check one table, and show what breaks its laws.

    Returns what JSON says, the exit code, and why no row can be checked.
    """
    from vanishing.app.cli import tables

    stated = None if asked.rules is None else load_rules_of(asked.rules)
    is_file = hasattr(stated, "rules")
    if is_file and output.report:
        raise UsageError("--report shows laws; leave it out with a file of rules")
    normal = None if asked.train is None else _read(asked.train, reading)
    used = {name for rule in stated or () for name in rule.columns}
    if table is None:
        table = _read(data, reading, like=normal, used=used)
        if normal is None and stated is None:
            table = _turn(table, data, reading, asked.degree)
    found: Any = stated
    if stated is None:
        found = discover_laws(table if normal is None else normal, asked.degree)
    with working("checking the rows", len(table)) as step:
        try:
            checked = found.check(table, callback=lambda n: step(done=n))
        except ValueError as error:
            raise DataError(f"{table.where}: {error}") from error
    if output.out is not None:
        _write_table(output, _cells(checked, table))
    _write_report(output.report, found, checked, table, formulas)
    cells = _cells(checked, table)
    said = describe_rules(found, asked.rules or "") if is_file else _laws_record(found)
    record = said | {
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
        "cells": [
            dict(zip(cells, line, strict=True)) for line in zip(*cells.values(), strict=True)
        ],
    }
    record |= {"out": output.out, "report": output.report}
    if asked.annotate == "sarif":
        emit(annotate(asked.annotate, checked, stated if is_file else None, table))
    elif asked.annotate:
        for line in annotate(asked.annotate, checked, stated if is_file else None, table):
            say(line)
    elif not output.json and output.out != "-":
        if is_file:
            say(summarize(found, asked.rules or ""))
            for line in list_rules(found):
                say(fit_width(f"  {line}"))
        else:
            _show_laws(found, found.lines(numbered=True))
        say()
        ranked = checked.ranked()
        for line in ranked.lines(numbered=True, most=asked.top, more=" (--top, --out)"):
            say(fit_width(line))
        if asked.top and ranked.rows:
            tables.note_lines(table, int(table.rows[ranked[0].row]))
        _note_rest(data, found, output)
    limit = read_limit(asked.max_broken, asked.fail_on_broken)
    if limit is None:
        return record, Exit.DONE, ""
    if exceeds(limit, checked):
        return record, Exit.ANOMALIES, ""
    if checked.n_totals:
        return record, Exit.DONE, ""
    if not checked.laws or len(checked.unchecked) == len(table):
        reason = "every row lacks cells that the laws need" if checked.laws else "there are no laws"
        remedy = "fill in the cells" if checked.laws else "pass a table that has some as --train"
        problem = f"{table.where}: no row can be checked, since {reason}; {remedy}"
        return record, Exit.DATA, problem
    return record, Exit.DONE, ""


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


def show_strays(strays: Any, table: Any, console: Any = None) -> None:
    """Print the cells that are not numbers, and what the laws say they are."""
    from vanishing.app.cli.tables import note_lines

    tell = (
        say if console is None else lambda text: console.print(text, soft_wrap=True, markup=False)
    )
    number = sum(bool(fix.text) for found in strays for fix in found.fixes)
    tell("1 cell is not a number:" if number == 1 else f"{number} cells are not numbers:")
    for sentence in strays.sentences()[:MOST_LINES]:
        tell(fit_width(f"  {sentence}"))
    if len(strays) > MOST_LINES:
        tell(f"  ... and {len(strays) - MOST_LINES} more rows (--json)")
    note_lines(table, int(table.rows[strays[0].row]))


def _read(
    path: str, reading: Reading, like: Any = None, label: str | None = None, used: Any = ()
) -> Any:
    from vanishing.app.cli.tables import read_input

    return read_input(
        path, reading, label=label, model=like, set_aside=True, gaps="keep", lists_strays=True,
        used=used,
    )  # fmt: skip


def _turn(table: Any, path: str, reading: Reading, degree: int | None) -> Any:
    """Return a table with its rows as columns if laws save more bits of its cells then."""
    from dataclasses import replace

    from vanishing.laws.laws import find_table_totals

    if not table.is_turnable or reading.transposed is not None:
        return table
    quiet, state.quiet = state.quiet, True
    turned = _read(path, replace(reading, transposed=True))
    bits = [float(find_table_totals(each).bits) for each in (table, turned)]
    for k, each in enumerate((table, turned)):
        with suppress(DataError):
            bits[k] += sum(law.bits or 0 for law in discover_laws(each, degree))
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
    from dataclasses import replace

    is_divided = table.labels is not None
    name = "discover_invariants" if is_divided else "discover"
    discover = required("vanishing.laws", name, extra="cli")
    X, options = replace(table, set_aside=()), {}  # there is a note on these columns already
    if is_divided:
        X, options = table.values, {"groups": table.labels, "feature_names": table.shown_names}
    with working("looking for a law", 1.0) as step:

        def show(n_found: int, share: float) -> None:
            said = f"looking for law {n_found + 1}" if n_found else "looking for a law"
            step(done=share, what=said)

        try:
            return discover(X, max_degree=degree, callback=show, **options)
        except ValueError as error:
            raise DataError(f"{table.where}: {error}") from error


def _list(found: Any) -> list[Any]:
    """Return laws, or invariants and the laws that hold on all trajectories."""
    return [*found, *getattr(found, "laws", ())]


def _show_laws(found: Any, lines: list[str]) -> None:
    say(found.summary())
    for line in lines:
        say(fit_width(f"  {line}"))
    for text in found.notes:
        note(text)


def _laws_record(found: Any) -> dict[str, Any]:
    names = [*found.names, *(each.name for each in getattr(found, "derived", ()))]
    return {
        "summary": found.summary(),
        "noise": found.noise,
        "noise_of": "values" if getattr(found, "proportional", False) else "spreads",
        "proportional_columns": list(getattr(found, "proportional_columns", ())),
        "laws": [
            {
                "text": str(law),
                "latex": law.latex,
                "degree": law.degree,
                "bits": law.bits,
                "extent": law.extent,
                "rows": len(law.rows),
                "broken": law.n_broken,
                "p_value": law.p_value,
                "columns": list(law.columns),
                "where": None if law.where is None else str(law.where),
                "choices": None if law.choices is None else law.choices.tolist(),
                "terms": [
                    {
                        "powers": powers,
                        "logarithms": [
                            name for name, is_log in zip(names, logs, strict=False) if is_log
                        ],
                        "coefficient": value,
                        "standard_error": error,
                    }
                    for powers, logs, value, error in zip(
                        law.exponents.tolist(),
                        [[]] * len(law.exponents) if law.logs is None else law.logs.tolist(),
                        law.coefficients.tolist(),
                        law.standard_errors.tolist(),
                        strict=True,
                    )
                ],
            }
            for law in _list(found)
        ],
        "derived": [
            {
                "name": each.name,
                "function": each.function,
                "sources": list(each.sources),
                "by": [{"column": column, "part": part} for column, part in each.by],
                "order": each.order,
                "starts_at_zero": each.starts_at_zero,
            }
            for each in getattr(found, "derived", ())
        ],
        "totals": [
            {
                "row": each.row + 1,
                "name": each.name,
                "of": each.of,
                "rows": (each.members + 1).tolist(),
                "columns": list(each.columns),
                "level": each.level,
            }
            for each in getattr(found, "totals", ())
        ],
        "domains": [asdict(each) | {"text": str(each)} for each in getattr(found, "domains", ())],
        "units": dict(zip(found.names, getattr(found, "column_units", ()), strict=False)),
        "notes": list(found.notes),
    }


def _cells(checked: Any, table: Any) -> dict[str, list[Any]]:
    """Return what was found, one line a cell, as columns."""
    from vanishing.app.cli.tables import place_of
    from vanishing.data.sheet_layout import CellPlaces

    places = table.places or CellPlaces([], {})
    lines = [
        place_of(table, row)
        | {"address": places.address(table.rows[row], cell["cell"]) if cell["cell"] else ""}
        | cell
        for row, cell in describe_cells(checked)
    ]
    unknown = {"line"} if table.first_line is None else set()
    unknown |= set() if table.places else {"address"}
    unknown |= {"id"} if table.row_ids is None else set()
    return {name: [line[name] for line in lines] for name in CELLS if name not in unknown}


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


def _note_rest(data: str, found: Any, output: Output, *others: str | None) -> None:
    if not len(found) and not getattr(found, "totals", ()):
        note(f"try: vanishing detect {data} finds rows that are unlike the others")
    note_files(output.out, output.report, *others)
