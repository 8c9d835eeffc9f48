"""The commands ``laws`` and ``check``."""

from typing import Annotated, Any

import typer

from vanishing.app.cli.console import (
    DataError,
    Exit,
    UsageError,
    emit,
    fit_width,
    note,
    required,
    say,
    working,
)
from vanishing.app.cli.options import OUTPUT, Json, OutFormat, OutputFormat, Reading, Report, option

Out = Annotated[
    str | None,
    option(OUTPUT, "--out", "-o", metavar="FILE", help="Table to write, or - for a pipe."),
]
Degree = Annotated[
    int | None,
    typer.Option(
        "--degree",
        "-d",
        min=1,
        metavar="N",
        help="Largest degree of a law.",
        show_default="4, less for wide tables",
    ),
]


#: Columns of the table of broken cells: line and id where there are any.
CELLS = (
    "row",
    "line",
    "id",
    "cell",
    "value",
    "text",
    "fix",
    "low",
    "high",
    "law",
    "probability",
    "alternatives",
)
#: Rows with cells that are not numbers, at most.
MOST_STRAYS = 20


def laws(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table, or - for a pipe.")],
    reading: Reading,
    degree: Degree = None,
    trajectory: Annotated[
        str | None,
        typer.Option(
            "--trajectory",
            metavar="COLUMN",
            help="Column that names the trajectory of each row: look for what is constant along "
            "each. Rows must be in the order of time.",
        ),
    ] = None,
    out_file: Out = None,
    out_format: OutFormat = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Find the equations that the columns of a table satisfy.

    No option is needed: tolerance, scale and degree are found in the data. Columns of text and
    dates are left out. With --trajectory: polynomials that are constant along each trajectory.
    """
    _check_files([data], out_file, out_format, report, json=json)
    if trajectory is not None and report is not None:
        raise UsageError("--report shows laws of rows, not invariants; leave out --trajectory")
    table = _read(data, reading, label=trajectory)
    found = discover_laws(table, degree)
    listed = _list(found)
    if out_file is not None:
        _write_table(
            out_file,
            out_format,
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
    _write_report(report, found, strays if strays.rows else None, table)
    if json:
        record = _laws_record(found) | {"not_numbers": stray_records(strays, table)}
        emit(record | {"out": out_file, "report": report})
    elif out_file != "-":
        _show_laws(found, found.lines())
        used = {name for law in listed for name in law.columns}
        if used and (unused := [name for name in found.names if name not in used]):
            from vanishing.equations.text import join

            note(f"in no law: {join(unused, 12)}")
        if strays.rows:
            say()
            show_strays(strays, table)
        if not len(found):
            _note_detect(data)
        _note_files(out_file, report)


def check(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table to check, or - for a pipe.")],
    reading: Reading,
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="TABLE",
            help="Table to find the laws in.",
            show_default="the table itself",
        ),
    ] = None,
    degree: Degree = None,
    top: Annotated[
        int,
        option(OUTPUT, "--top", min=0, metavar="N", help="Rows to list; --out writes all of them."),
    ] = 20,
    out_file: Out = None,
    out_format: OutFormat = None,
    report: Report = None,
    fail_on_broken: Annotated[
        bool,
        option(
            OUTPUT,
            "--fail-on-broken",
            help="Exit with 1 if a row breaks a law or a cell is a typo, 3 if none can be checked.",
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Find the cells that break the laws, and what they should be.

    The laws are those of --train, or of the table itself; most of its rows should then be
    correct. Missing cells are filled in if the laws determine them.
    """
    _check_files([data, train], out_file, out_format, report, json=json)
    normal = None if train is None else _read(train, reading)
    table = _read(data, reading, like=normal)
    found = discover_laws(table if normal is None else normal, degree)
    checked = _check(found, table)
    if out_file is not None:
        _write_table(out_file, out_format, _cells(checked, table))
    _write_report(report, found, checked, table)
    if json:
        from vanishing.app.cli.tables import place_of

        cells = _cells(checked, table)
        record = {
            "rows": len(table),
            "broken": int(checked.broken.sum()),
            "incomplete": len(checked.incomplete),
            "unchecked": [place_of(table, row) for row in checked.unchecked],
            "coverage": checked.coverage(),
            "in_no_law": checked.in_no_law,
            "missing": {name: len(rows) for name, rows in checked.gaps.items()},
            "cells": [
                dict(zip(cells, line, strict=True)) for line in zip(*cells.values(), strict=True)
            ],
        }
        emit(_laws_record(found) | record | {"out": out_file, "report": report})
    elif out_file != "-":
        _show_laws(found, found.lines(numbered=True))
        say()
        ranked = checked.ranked()
        for line in ranked.lines(numbered=True, most=top, more=" (--top, --out)"):
            say(fit_width(line))
        if top and ranked.rows:
            from vanishing.app.cli.tables import note_lines

            note_lines(table, int(table.rows[ranked[0].row]))
        if not len(found):
            _note_detect(data)
        _note_files(out_file, report)
    if not fail_on_broken:
        return Exit.DONE
    if checked.broken.any() or checked.has_texts:
        return Exit.ANOMALIES
    if not len(found) or len(checked.unchecked) == len(table):
        reason = "every row lacks cells that the laws need" if len(found) else "there are no laws"
        remedy = "fill in the cells" if len(found) else "pass a table that has some as --train"
        raise DataError(f"{table.where}: no row can be checked, since {reason}; {remedy}")
    return Exit.DONE


# --- Cells that are not numbers, and what the laws say they are -----------------------------------


def check_strays(found: Any, table: Any) -> Any:
    """Return a check of the cells alone that are not numbers.

    Parameters
    ----------
    found : Laws or None
        They say what the cells should be.
    table : Table
        With all rows of the file.
    """
    from dataclasses import replace

    from vanishing.laws.check import Check, list_texts

    texts = _texts_of(table)
    rows = sorted({row for row, _ in texts})
    if not rows:
        return Check(())
    names = [table.row_name(i) for i in range(len(table))]
    if found is None:
        return list_texts(texts, names)
    checked = found.check(
        _take_columns(found, table)[rows],
        row_names=[names[i] for i in rows],
        texts={(rows.index(row), column): text for (row, column), text in texts.items()},
    )
    kept = [each for each in checked.rows if any(fix.text for fix in each.fixes)]
    return Check(checked.laws, [replace(each, row=rows[each.row]) for each in kept], len(table))


def _texts_of(table: Any) -> dict[tuple[int, str], str]:
    return {(each.row - 1, each.column): each.text for each in table.strays}


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
    for sentence in strays.sentences()[:MOST_STRAYS]:
        tell(fit_width(f"  {sentence}"))
    if len(strays) > MOST_STRAYS:
        tell(f"  ... and {len(strays) - MOST_STRAYS} more rows (--json)")
    note_lines(table, int(table.rows[strays[0].row]))


def _check_files(
    inputs: list[str | None],
    out_file: str | None,
    out_format: OutputFormat | None,
    report: str | None,
    *,
    json: bool,
) -> None:
    from vanishing.app.cli.tables import check_outputs, check_report, output_format

    if json and out_file == "-":
        raise UsageError("--json and --out - would share standard output; name a file with --out")
    if report is not None:
        check_report(report)
    check_outputs([out_file, report], inputs)
    if out_file is not None:
        output_format(out_file, out_format)


def _read(path: str, reading: Reading, like: Any = None, label: str | None = None) -> Any:
    from vanishing.app.cli.tables import read_table

    return read_table(
        path, reading, label=label, model=like, set_aside=True, gaps="keep", lists_strays=True
    )


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


def _check(found: Any, table: Any) -> Any:
    with working("checking the rows", len(table)) as step:
        return found.check(table, callback=lambda n: step(done=n))


def _take_columns(found: Any, table: Any) -> Any:
    """Return the columns of the laws; those that are mostly missing are not among them."""
    return table.values[:, [table.shown_names.index(name) for name in found.names]]


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
    return {
        "summary": found.summary(),
        "noise": found.noise,
        "noise_of": "values" if getattr(found, "proportional", False) else "spreads",
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
                "terms": [
                    {"powers": powers, "coefficient": value, "standard_error": error}
                    for powers, value, error in zip(
                        law.exponents.tolist(),
                        law.coefficients.tolist(),
                        law.standard_errors.tolist(),
                        strict=True,
                    )
                ],
            }
            for law in _list(found)
        ],
        "notes": list(found.notes),
    }


def _cells(checked: Any, table: Any) -> dict[str, list[Any]]:
    """Return what was found, one line a cell, as columns."""
    from vanishing.app.cli.tables import place_of

    lines = []
    nan = float("nan")
    for found in checked:
        shared = {
            "law": "; ".join(str(checked.laws[k]) for k in found.laws),
            "alternatives": "; ".join(
                f"{fix.column} = {fix.typed[1]}" for fix in found.alternatives
            ),
        }
        for fix in found.fixes or (None,):
            low, high = (nan, nan) if fix is None else fix.interval
            lines.append(
                place_of(table, found.row)
                | {
                    "cell": "" if fix is None else fix.column,
                    "value": nan if fix is None else fix.value,
                    "text": "" if fix is None else fix.text,
                    "fix": nan if fix is None else fix.fix,
                    "low": low,
                    "high": high,
                    "law": shared["law"],
                    "probability": nan if fix is None else fix.probability,
                    "alternatives": shared["alternatives"],
                }
            )
    unknown = {"line"} if table.first_line is None else set()
    unknown |= {"id"} if table.row_ids is None else set()
    return {name: [line[name] for line in lines] for name in CELLS if name not in unknown}


def _write_table(path: str, format: OutputFormat | None, columns: dict[str, list[Any]]) -> None:
    import numpy as np

    from vanishing.app.cli.tables import write_table

    write_table(path, {name: np.array(each) for name, each in columns.items()}, format=format)


def _write_report(path: str | None, found: Any, checked: Any, table: Any) -> None:
    if path is None:
        return
    from vanishing.app.cli.tables import describe_lines, refusals
    from vanishing.app.report import write_laws_report

    notes = [] if not checked else describe_lines(table, int(table.rows[checked.ranked()[0].row]))
    with refusals(path), working("writing the report"):
        write_laws_report(
            path,
            found,
            checked,
            X=_take_columns(found, table),
            title=f"Laws of {table.file_name}",
            notes=[capitalize(each) for each in notes],
        )


def capitalize(text: str) -> str:
    """Return a note as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _note_detect(data: str) -> None:
    note(f"try: vanishing detect {data} finds rows that are unlike the others")


def _note_files(*paths: str | None) -> None:
    for path in paths:
        if path not in (None, "-"):
            note(f"wrote {path}")
