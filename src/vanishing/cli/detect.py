"""``vanishing detect``: which rows are not like the others."""

from typing import Annotated

import typer

from vanishing.cli.console import emit, err, note, out, state, working
from vanishing.cli.exits import Exit, UsageError
from vanishing.cli.options import (
    DetectorEquations,
    Json,
    Label,
    OutputFormat,
    Reading,
    Threshold,
    Top,
)


def detect(
    data: Annotated[str, typer.Argument(help="Table of rows to judge, or - for a pipe.")],
    reading: Reading,
    wanted: DetectorEquations,
    threshold: Threshold,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Table of normal rows.", show_default="the data itself"),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Detector of an earlier --save.")
    ] = None,
    out_file: Annotated[
        str | None,
        typer.Option("--out", "-o", help="File for the scores of all rows, or - for a pipe."),
    ] = None,
    out_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--out-format", help="Kind of the output.", show_default="by suffix, else csv"
        ),
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="HTML page to write, complete in itself.")
    ] = None,
    save: Annotated[str | None, typer.Option("--save", "-s", help="Model file to write.")] = None,
    label: Label = None,
    anomalous: Annotated[
        str | None,
        typer.Option("--anomalous", help="Value of --label that marks anomalies.", metavar="VALUE"),
    ] = None,
    top: Top = 10,
    fail_on_anomaly: Annotated[
        bool, typer.Option("--fail-on-anomaly", help="Exit with 1 if there are anomalies.")
    ] = False,
    json: Json = False,
) -> int:
    """Find the rows that break the equations of normal ones, and what would mend them.

    With --degree, --tol or --normalization these are the equations of one ideal, as fit finds them;
    without, a mixture of many local ones.

    Without --train and --model, the equations are those of the data itself, most of which should
    be normal then; rows are judged by equations that they were left out of.
    """
    from vanishing.cli.findings import find, findings_record, show_findings
    from vanishing.cli.labels import truth
    from vanishing.cli.models import kind_of, library_errors, load_model
    from vanishing.cli.optional import required
    from vanishing.cli.rows import row_column
    from vanishing.cli.tables import check_inputs, check_outputs, read_table, write_table
    from vanishing.cli.tables.write import output_format, refusals
    from vanishing.cli.training import fit_detector, fit_to_itself, refuse_unused

    if train is not None and model is not None:
        raise UsageError("--train fits a detector and --model is one; leave one of them out")
    if model is not None:
        refuse_unused(wanted, threshold, "a model is fitted already")
    if anomalous is not None and label is None:
        raise UsageError("--anomalous is a value of the column --label; name that too")
    if json and out_file == "-":
        raise UsageError("--json and --out - would share standard output; name a file with --out")
    write_report = None
    if report is not None:
        if report == "-":
            raise UsageError("the report is a file; name one with --report")
        write_report = required("vanishing.report", "write_report", extra="cli")
    check_inputs([data, train])
    check_outputs([out_file, report, save], [data, train, model])
    if out_file is not None:
        output_format(out_file, out_format)
    if model is not None:
        detector = load_model(model)
        if not hasattr(detector, "explain"):
            raise UsageError(
                f"{model} holds a {kind_of(detector)}, which explains nothing; use vanishing "
                "score, or make a detector with vanishing fit --kind detector"
            )
        table = read_table(data, reading, label=label, model=detector)
        normal = None
    elif train is not None:
        normal = read_table(train, reading, label=label, secondary=True)
        table = read_table(data, reading, label=label, model=normal)
        detector = fit_detector(normal, threshold, wanted)
    else:
        normal = None
        table = read_table(data, reading, label=label)
        detector = fit_to_itself(table, threshold, wanted)
    known = None if label is None else truth(table, anomalous)
    findings = find(detector, table, known, top=top)
    if save is not None:
        with refusals(save):
            detector.save(save)
    if report is not None and write_report is not None:
        with refusals(report), library_errors("report"), working("writing the report"):
            write_report(
                report,
                detector,
                table.for_model,
                scores=-findings.scores,
                labels=None if known is None else known.astype("int64"),
                ids=table.ids if table.ids is not None else table.rows,
                feature_names=table.shown_names,
                title=f"Anomalies in {table.where}",
                train=None if normal is None else normal.for_model,
            )
    if out_file is not None:
        columns = row_column(table, reading.id) | {
            "score": findings.scores,
            "anomaly": findings.anomalous.astype("int64"),
        }
        write_table(out_file, columns, format=out_format)
    if json:
        files = {"out": out_file, "report": report, "saved": save}
        emit(findings_record(findings, table) | files)
    elif out_file != "-" or not state.quiet:
        # The rows have standard output for themselves.
        show_findings(findings, table, err() if out_file == "-" else out())
        for path in (out_file, report, save):
            if path not in (None, "-"):
                note(f"wrote {path}")
    if fail_on_anomaly and findings.anomalous.any():
        return Exit.ANOMALIES
    return Exit.DONE
