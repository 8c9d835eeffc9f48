"""The commands ``detect`` and ``explain``."""

from typing import Annotated, Any, NamedTuple

import typer

from vanishing.app.cli.console import (
    DataError,
    Exit,
    ModelError,
    UsageError,
    emit,
    err,
    note,
    out,
    required,
    say,
    state,
    track,
    working,
)
from vanishing.app.cli.options import (
    COLUMNS,
    OUTPUT,
    Equations,
    Json,
    Label,
    OutFormat,
    Raw,
    Reading,
    Report,
    Save,
    Threshold,
    option,
)

Train = Annotated[
    str | None,
    typer.Option(
        "--train", metavar="TABLE", help="Table of normal rows.", show_default="the table itself"
    ),
]
FittedModel = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="FILE", help="Model file of detect --save or fit --save."
    ),
]
Top = Annotated[int, option(OUTPUT, "--top", min=0, metavar="N", help="Rows to list and explain.")]

# --- ``vanishing detect``: which rows are not like the others -------------------------------------


def detect(
    data: Annotated[
        str, typer.Argument(metavar="TABLE", help="Table of rows to score, or - for a pipe.")
    ],
    reading: Reading,
    wanted: Equations,
    threshold: Threshold,
    train: Train = None,
    model: FittedModel = None,
    label: Label = None,
    anomalous: Annotated[
        str | None,
        option(
            COLUMNS, "--anomalous", metavar="VALUE", help="Value of --label that marks anomalies."
        ),
    ] = None,
    top: Top = 10,
    out_file: Annotated[
        str | None,
        option(
            OUTPUT,
            "--out",
            "-o",
            metavar="FILE",
            help="Table of the scores of all rows to write, or - for a pipe.",
        ),
    ] = None,
    out_format: OutFormat = None,
    report: Report = None,
    save: Save = None,
    fail_on_anomaly: Annotated[
        bool, option(OUTPUT, "--fail-on-anomaly", help="Exit with 1 if there are anomalies.")
    ] = False,
    json: Json = False,
) -> int:
    """Find the rows that are unlike the others, and suggest a fix.

    Without --train and --model the table is compared with itself; most of its rows should then be
    normal.

    By default the detector is a mixture of many local equations. With --degree, --tol,
    --normalization or --construction it is a single ideal, whose equations people can read.
    """
    from vanishing.app.cli.findings import find, findings_record, show_findings
    from vanishing.app.cli.laws import capitalize, show_strays, stray_records
    from vanishing.app.cli.models import library_errors, row_column, truth
    from vanishing.app.cli.tables import (
        check_outputs,
        check_report,
        describe_lines,
        note_lines,
        output_format,
        refusals,
        write_table,
    )

    if anomalous is not None and label is None:
        raise UsageError("--anomalous is a value of the --label column; pass --label, too")
    if json and out_file == "-":
        raise UsageError("--json and --out - would share standard output; name a file with --out")
    if report is not None:
        check_report(report)
    check_outputs([out_file, report, save], [data, train, model])
    if out_file is not None:
        output_format(out_file, out_format)
    inputs = _read(data, train, model, reading, wanted, threshold, label, lists_strays=True)
    table, normal = inputs.table, inputs.normal
    known = None if label is None else truth(table, anomalous)  # before the fit, which takes long
    detector = _fit(inputs, wanted, threshold)
    if not hasattr(detector, "explain"):
        from vanishing.app.cli.models import kind_of

        raise UsageError(
            f"detect is not supported for {kind_of(detector)} ({model}); use vanishing score, or "
            "make a detector with vanishing fit --kind detector"
        )
    findings = find(detector, table, known, top=top)
    strays = _check_strays(table)
    if save is not None:
        with refusals(save):
            detector.save(save)
    if report is not None:
        from vanishing.app.report import write_report

        notes = strays.sentences()
        if len(findings.worst):
            notes += describe_lines(table, int(table.rows[findings.worst[0]]))
        with refusals(report), library_errors("report"), working("writing the report", 1.0) as step:
            write_report(
                report,
                detector,
                table.for_model,
                scores=-findings.scores,
                labels=None if known is None else known.astype("int64"),
                ids=table.rows if table.row_ids is None else table.row_ids,
                feature_names=table.shown_names,
                title=f"Anomalies in {table.file_name}",
                train=None if normal is None else normal.for_model,
                notes=[capitalize(each) for each in notes],
                callback=lambda share: step(done=share),
            )
    if out_file is not None:
        columns = row_column(table, reading.id) | {
            "score": findings.scores,
            "anomaly": findings.anomalous.astype("int64"),
        }
        write_table(out_file, columns, format=out_format)
    if json:
        files = {"out": out_file, "report": report, "saved": save}
        cells = {"not_numbers": stray_records(strays, table.unfiltered or table)}
        emit(findings_record(findings, table) | cells | files)
    elif out_file != "-" or not state.quiet:
        # The rows have standard output for themselves.
        console = err() if out_file == "-" else out()
        show_findings(findings, table, console)
        if strays.rows:
            show_strays(strays, table.unfiltered or table, console)
        elif len(findings.worst):
            note_lines(table, int(table.rows[findings.worst[0]]))
        for path in (out_file, report, save):
            if path not in (None, "-"):
                note(f"wrote {path}")
    return Exit.ANOMALIES if fail_on_anomaly and findings.anomalous.any() else Exit.DONE


#: Columns up to which the laws are looked for that say what a cell should be.
MOST_COLUMNS = 12


def _check_strays(table: Any) -> Any:
    """Return the cells that are not numbers, with what the laws of a narrow table say they are."""
    from dataclasses import replace

    from vanishing.app.cli.laws import check_strays, discover_laws

    whole = replace(table.unfiltered or table, labels=None)
    is_narrow = whole.values.shape[1] <= MOST_COLUMNS
    return check_strays(discover_laws(whole) if whole.strays and is_narrow else None, whole)


class Inputs(NamedTuple):
    """What is read before anything is fitted.

    ``model`` is None if it has to be fitted: to the table ``normal``, or to the table itself.
    """

    table: Any
    normal: Any
    model: Any


def _read(
    data: str,
    train: str | None,
    model: str | None,
    reading: Reading,
    wanted: Equations,
    threshold: Threshold,
    label: str | None,
    *,
    lists_strays: bool = False,
) -> Inputs:
    """Read the table to judge, and the model or the table of normal rows."""
    from vanishing.app.cli.models import load_model, refuse_unused
    from vanishing.app.cli.tables import check_inputs, read_table

    if train is not None and model is not None:
        raise UsageError("--train fits a detector and --model is one; leave one of them out")
    if model is not None:
        refuse_unused(wanted, threshold, reason="the model is already fitted")
    check_inputs([data, train])
    if model is not None:
        fitted = load_model(model)
        table = read_table(
            data, reading, label=label, model=fitted, gaps="skip", lists_strays=lists_strays
        )
        return Inputs(table, None, fitted)
    if train is not None:
        normal = read_table(
            train, reading, label=label, secondary=True, set_aside=True, gaps="skip"
        )
        _note_constants(normal)
    else:
        normal = None
    table = read_table(
        data,
        reading,
        label=label,
        model=normal,
        set_aside=True,
        gaps="skip",
        lists_strays=lists_strays,
    )
    return Inputs(table, normal, None)


def _note_constants(normal: Any) -> None:
    """Say which columns never change in normal rows, so that any other value is an anomaly."""
    constant = [j for j, column in enumerate(normal.values.T) if column.min() == column.max()]
    if constant:
        listed = ", ".join(
            f"{normal.shown_names[j]} = {normal.values[0, j]:g}" for j in constant[:5]
        )
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        note(
            f"{normal.where}: the same in every row: {listed}{more}; a row with another value is "
            "called anomalous"
        )


def _fit(inputs: Inputs, wanted: Equations, threshold: Threshold) -> Any:
    from vanishing.app.cli.models import fit_detector, fit_to_itself

    if inputs.model is not None:
        return inputs.model
    if inputs.normal is not None:
        return fit_detector(inputs.normal, threshold, wanted)
    return fit_to_itself(inputs.table, threshold, wanted)


# --- ``vanishing explain``: why a row has its score -----------------------------------------------

#: Names of rows to list in an error, at most.
ROWS_NAMED = 5


def explain(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    reading: Reading,
    wanted: Equations,
    threshold: Threshold,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            "-r",
            metavar="NAME",
            help="Number of a row, from 1, or its name with --id; may be repeated.",
            show_default="the row with the largest score",
        ),
    ] = None,
    model: FittedModel = None,
    train: Train = None,
    label: Label = None,
    equations: Annotated[
        int,
        option(OUTPUT, "--equations", min=0, metavar="N", help="Broken equations to list."),
    ] = 5,
    features: Annotated[
        int, option(OUTPUT, "--features", min=1, metavar="N", help="Columns to list.")
    ] = 10,
    picture: Annotated[
        str | None,
        option(
            OUTPUT,
            "--picture",
            metavar="FILE",
            help="Picture of the first row to draw: .png, .svg or .pdf.",
        ),
    ] = None,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Show what is wrong with a row, and what would fix it."""
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli.findings import (
        explain_row,
        explanation_record,
        show_explanation,
        show_values,
    )
    from vanishing.app.cli.models import anomaly_scores, core, is_detector, save_picture
    from vanishing.app.cli.tables import check_outputs, note_lines

    check_outputs([picture], [data, model, train])
    inputs = _read(data, train, model, reading, wanted, threshold, label)
    table, normal = inputs.table, inputs.normal
    fitted = _fit(inputs, wanted, threshold)
    if row:
        chosen = [_find_row(table, each) for each in row]
    else:
        chosen = [int(anomaly_scores(fitted, table).argmax())]
    if is_detector(fitted) and not hasattr(fitted, "explain"):
        raise ModelError(
            "explain is not supported for pipelines; fit a detector to the columns themselves"
        )
    if isinstance(core(fitted), ClassVanishingFeatures):
        raise ModelError(
            "explain is not supported for models of classes; fit one with --kind detector"
        )
    if not is_detector(fitted):
        if picture is not None:
            raise ModelError("an ideal has no explanation to draw; use a detector")
        records = [show_values(fitted, table, i, equations, raw=raw, silent=json) for i in chosen]
        if json:
            emit({"rows": records})
        return
    found = [
        (i, explain_row(fitted, table, i, n_equations=equations))
        for i in track(chosen, "explaining", len(chosen))
    ]
    if picture is not None:
        if found[0][1] is None:
            raise DataError(f"row {table.row_name(chosen[0])} is too far from normal data to draw")
        display = required("vanishing.plotting", "ExplanationDisplay", extra="plot")
        save_picture(picture, lambda: display.from_explanation(found[0][1]))
    if json:
        emit({"rows": [explanation_record(fitted, table, i, why) for i, why in found]})
        return
    note_lines(table, int(table.rows[chosen[0]]))
    for number, (i, why) in enumerate(found):
        if number:
            say()
        show_explanation(
            fitted, table, i, why, n_features=features, normal=normal, raw=raw, console=out()
        )


def _find_row(table: Any, name: str) -> int:
    """Return the place of the row that the user names."""
    names = [table.row_name(i) for i in range(len(table))]
    if name in names:
        return names.index(name)
    if table.row_ids is None:
        called = name
        has = (
            f"rows are numbered from {names[0]} to {names[-1]}, without the header, and rows with "
            "missing values are left out"
        )
        remedy = "pass such a number, or choose a column of names with --id"
    else:
        shown = ", ".join(names[:ROWS_NAMED]) + (", ..." if len(names) > ROWS_NAMED else "")
        called = repr(name)
        has = f"the --id column names the rows: {shown}"
        remedy = "pass one of these, or leave --id out to pass the number of a row"
    raise DataError(f"{table.where} has no row {called}; {has}; {remedy}")
