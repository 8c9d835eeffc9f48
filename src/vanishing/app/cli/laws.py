"""The commands ``laws`` and ``check``."""

from typing import Annotated, Any

import typer

from vanishing.app.cli.console import (
    DataError,
    Exit,
    UsageError,
    emit,
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
            "each. Rows are in the order of time.",
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
    found = _discover(table, degree)
    listed = _list(found)
    if out_file is not None:
        _write_table(
            out_file,
            out_format,
            {
                "law": [str(law) for law in listed],
                "degree": [law.degree for law in listed],
                "extent": [law.extent for law in listed],
                "p_value": [law.p_value for law in listed],
                "latex": [law.latex for law in listed],
            },
        )
    _write_report(report, found, None, table)
    if json:
        emit(_laws_record(found) | {"out": out_file, "report": report})
    elif out_file != "-":
        _show_laws(found)
        if not len(found):
            note(f"try: vanishing detect {data} finds rows that are unlike the others")
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
        bool, option(OUTPUT, "--fail-on-broken", help="Exit with 1 if a row breaks a law.")
    ] = False,
    json: Json = False,
) -> int:
    """Find the cells that break the laws, and what they should be.

    The laws are those of --train, or of the table itself, most of which should then be sound.
    Missing cells are filled in where the laws determine them.
    """
    _check_files([data, train], out_file, out_format, report, json=json)
    normal = None if train is None else _read(train, reading)
    table = _read(data, reading, like=normal)
    found = _discover(table if normal is None else normal, degree)
    checked = _check(found, table)
    if out_file is not None:
        _write_table(out_file, out_format, _cells(checked))
    _write_report(report, found, checked, table)
    if json:
        cells = _cells(checked)
        record = {
            "rows": len(table),
            "broken": int(checked.broken.sum()),
            "cells": [
                dict(zip(cells, line, strict=True)) for line in zip(*cells.values(), strict=True)
            ],
        }
        emit(_laws_record(found) | record | {"out": out_file, "report": report})
    elif out_file != "-":
        _show_laws(found)
        say()
        _show_broken(checked, top)
        _note_files(out_file, report)
    return Exit.ANOMALIES if fail_on_broken and checked.broken.any() else Exit.DONE


def _show_broken(checked: Any, top: int) -> None:
    """Print a sentence for each broken row, those that are furthest off first."""
    if not checked.rows:
        say(checked.summary())
    for sentence in checked.ranked().sentences()[:top]:
        say(sentence.replace("\u2212", "-"))  # as in the file
    if len(checked.rows) > top:
        say(f"... and {len(checked.rows) - top} more of {len(checked.rows)} rows (--top, --out)")


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

    return read_table(path, reading, label=label, model=like, set_aside=True, gaps="keep")


def _discover(table: Any, degree: int | None) -> Any:
    is_divided = table.labels is not None
    name = "discover_invariants" if is_divided else "discover"
    discover = required("vanishing.laws", name, extra="cli")
    groups = {"groups": table.labels} if is_divided else {}
    names = table.shown_names
    with working("looking for a law", 1.0) as step:

        def show(n_found: int, share: float) -> None:
            said = f"looking for law {n_found + 1}" if n_found else "looking for a law"
            step(done=share, what=said)

        try:
            return discover(
                table.values, feature_names=names, max_degree=degree, callback=show, **groups
            )
        except ValueError as error:
            raise DataError(f"{table.where}: {error}") from error


def _check(found: Any, table: Any) -> Any:
    names = [table.row_name(i) for i in range(len(table))]
    with working("checking the rows", len(table)) as step:
        return found.check(
            _take_columns(found, table), row_names=names, callback=lambda n: step(done=n)
        )


def _take_columns(found: Any, table: Any) -> Any:
    """Return the columns of the laws; those that are mostly missing are not among them."""
    return table.values[:, [table.shown_names.index(name) for name in found.names]]


def _list(found: Any) -> list[Any]:
    """Return laws, or invariants and the laws that hold on all trajectories."""
    return [*found, *getattr(found, "laws", ())]


def _show_laws(found: Any) -> None:
    say(found.summary())
    for law in _list(found):
        say(f"  {law}")
    for text in found.notes:
        note(text)
    unused = _unused_columns(found)
    if unused:
        more = f" and {len(unused) - 12} more" if len(unused) > 12 else ""
        note(f"in no law: {', '.join(unused[:12])}{more}")


def _unused_columns(found: Any) -> list[str]:
    """Return the columns that no law speaks about, if there is any law."""
    used = {name for law in _list(found) for name in law.columns}
    return [name for name in found.names if name not in used] if used else []


def _laws_record(found: Any) -> dict[str, Any]:
    return {
        "summary": found.summary(),
        "noise": found.noise,
        "laws": [
            {
                "text": str(law),
                "latex": law.latex,
                "degree": law.degree,
                "extent": law.extent,
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


def _cells(checked: Any) -> dict[str, list[Any]]:
    """Return what was found, one line a cell, as columns."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("row", "cell", "value", "fix", "low", "high", "law", "probability")
    }
    columns["alternatives"] = []
    for found in checked:
        laws = "; ".join(str(checked.laws[k]) for k in found.laws)
        others = "; ".join(f"{fix.column} = {fix.fix:.12g}" for fix in found.alternatives)
        nan = float("nan")
        lines = [
            (fix.column, fix.value, fix.fix, *fix.interval, fix.probability) for fix in found.fixes
        ] or [("", nan, nan, nan, nan, nan)]
        for cell, value, fix, low, high, probability in lines:
            line = (found.name, cell, value, fix, low, high, laws, probability, others)
            for name, each in zip(columns, line, strict=True):
                columns[name].append(each)
    return columns


def _write_table(path: str, format: OutputFormat | None, columns: dict[str, list[Any]]) -> None:
    import numpy as np

    from vanishing.app.cli.tables import write_table

    write_table(path, {name: np.array(each) for name, each in columns.items()}, format=format)


def _write_report(path: str | None, found: Any, checked: Any, table: Any) -> None:
    if path is None:
        return
    from vanishing.app.cli.tables import refusals
    from vanishing.app.report import write_laws_report

    with refusals(path), working("writing the report"):
        write_laws_report(
            path,
            found,
            checked,
            X=_take_columns(found, table),
            title=f"Laws of {table.file_name}",
        )


def _note_files(*paths: str | None) -> None:
    for path in paths:
        if path not in (None, "-"):
            note(f"wrote {path}")
