"""The commands ``fit``, ``score`` and ``transform``."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import ModelError, UsageError, emit, note, say, working
from vanishing.app.cli.options import (
    EQUATIONS,
    Equations,
    Fitting,
    Json,
    Label,
    Model,
    Raw,
    Reading,
    Report,
    Save,
    SkipMissing,
    Threshold,
    Writing,
    option,
)

# --- ``vanishing fit``: find equations, keep the model --------------------------------------------

Kind = Literal["ideal", "detector", "classes"]


def fit(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of points, or - for a pipe.")],
    reading: Reading,
    wanted: Equations,
    fitting: Fitting,
    threshold: Threshold,
    contrast: Annotated[
        str | None,
        option(
            EQUATIONS,
            "--contrast",
            metavar="TABLE",
            help="Table of points on which the equations should not hold.",
        ),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="What to fit: ideal (equations), detector (of anomalies) or classes (features, "
            "with --label).",
        ),
    ] = "ideal",
    label: Label = None,
    raw: Raw = False,
    report: Report = None,
    save: Save = None,
    json: Json = False,
) -> None:
    """Find all equations up to a degree, and save them as a model.

    No option is needed: columns are standardized, and the tolerance is the noise of the data.
    Columns of text and dates are left out.
    """
    from vanishing.app.cli.equations import describe, fit_record
    from vanishing.app.cli.models import (
        core,
        fit_detector,
        fit_equations,
        has_equations,
        make_ideal,
        refuse_unused,
    )
    from vanishing.app.cli.tables import (
        check_inputs,
        check_outputs,
        check_report,
        read_table,
        refusals,
    )
    from vanishing.persistence import save as save_model

    if save == "-":
        raise UsageError("models are saved to files; name one with --save")
    if report is not None:
        check_report(report)
        if kind == "classes":
            raise UsageError("--report is about equations or a detector, not about classes")
    if contrast is not None and kind != "ideal":
        raise UsageError(f"--contrast is for --kind ideal only; a {kind} model makes its own")
    if kind == "classes" and label is None:
        raise UsageError("--kind classes needs the column of the classes: --label COLUMN")
    if kind != "detector":
        refuse_unused(threshold, reason="only detectors (--kind detector) have one")
    if kind != "ideal":
        refuse_unused(fitting, reason="only equations (--kind ideal) are fitted that way")
    check_inputs([data, contrast])
    check_outputs([save, report], [data, contrast])
    table = read_table(data, reading, label=label, set_aside=True, gaps="skip")
    if kind == "classes":
        model = _classes(table, make_ideal(wanted, contrastive=True) if wanted.given else None)
    elif kind == "detector":
        model = fit_detector(table, threshold, wanted)
    else:
        other = None
        if contrast is not None:
            other = read_table(
                contrast, reading, label=label, model=table, secondary=True, gaps="skip"
            )
        model = fit_equations(table, wanted, fitting, other)
    if save is not None:
        with refusals(save):
            save_model(model, save)
    n_rows = len(table)
    if fitting.robust:
        table = table.keep(core(model).inlier_mask_)
    if report is not None:
        _write_report(report, model, table)
    if json:
        record = fit_record(model, table, raw=raw)
        emit({**record, "rows": n_rows, "saved": save, "report": report})
        return
    describe(model, table, raw=raw)
    if len(table) < n_rows:
        say(f"{n_rows - len(table)} of {n_rows} rows break them and are left out")
    elif kind == "ideal" and core(model).basis_.count() > table.values.shape[1]:
        note(
            "there are more equations than columns, as if a few rows were broken, or there were "
            f"too few rows: try --robust, or vanishing laws {data}"
        )
    if report is not None:
        note(f"wrote {report}")
    if save is not None:
        try_next = (
            f"score {data} --model {save}" if has_equations(model) else f"show {save} spectrum"
        )
        say(f"\nsaved to {save}; try: vanishing {try_next}")
    else:
        note("the model is not saved; --save model.safetensors saves it")


def _write_report(path: str, model: Any, table: Any) -> None:
    from vanishing.app.cli.models import is_detector, library_errors
    from vanishing.app.cli.tables import refusals
    from vanishing.app.report import write_equations_report, write_report

    about: dict[str, Any] = {
        "ids": table.rows if table.row_ids is None else table.row_ids,
        "feature_names": table.shown_names,
    }
    with refusals(path), library_errors("report"), working("writing the report", 1.0) as step:
        if is_detector(model):
            write_report(
                path,
                model,
                table.for_model,
                title=f"Anomalies in {table.file_name}",
                callback=lambda share: step(done=share),
                **about,
            )
        else:
            write_equations_report(
                path, model, table.for_model, title=f"Equations of {table.file_name}", **about
            )


def _classes(table: Any, ideal: Any) -> Any:
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli.models import library_errors

    with library_errors(table.where), working(f"fitting {len(table)} rows"):
        return ClassVanishingFeatures(ideal).fit(table.for_model, table.labels.astype(str))


# --- ``vanishing score``: one number a row, how badly it breaks the equations ---------------------


def score(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    reading: Reading,
    writing: Writing,
    model: Model,
    skip_missing: SkipMissing = False,
    json: Json = False,
) -> None:
    """Score each row with a model.

    The larger the score, the more a row breaks the equations of the model. A detector adds the
    column anomaly, 1 for scores above its threshold.
    """
    from vanishing.app.cli.models import (
        anomaly_scores,
        emit_or_write,
        is_detector,
        load_model,
        row_column,
        threshold_of,
    )
    from vanishing.app.cli.tables import check_outputs, output_format, read_table

    output_format(writing.out, writing.out_format)
    check_outputs([writing.out], [data, model])
    fitted = load_model(model)
    table = read_table(data, reading, model=fitted, gaps="skip" if skip_missing else "refuse")
    scores = anomaly_scores(fitted, table)
    columns = row_column(table, reading.id) | {"score": scores}
    if is_detector(fitted):
        columns["anomaly"] = (scores > threshold_of(fitted)).astype("int64")
    emit_or_write(columns, writing, json=json)


# --- ``vanishing transform``: the values of the equations at each row -----------------------------


def transform(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    reading: Reading,
    writing: Writing,
    model: Model,
    signed: Annotated[
        bool, typer.Option("--signed", help="Values with their sign, instead of absolute ones.")
    ] = False,
    skip_missing: SkipMissing = False,
    json: Json = False,
) -> None:
    """Evaluate the equations of a model at each row, as features."""
    from vanishing import VanishingIdeal
    from vanishing.app.cli.models import (
        core,
        emit_or_write,
        evaluate_rows,
        is_detector,
        kind_of,
        load_model,
        preprocess,
        row_column,
    )
    from vanishing.app.cli.tables import check_outputs, output_format, read_table

    output_format(writing.out, writing.out_format)
    check_outputs([writing.out], [data, model])
    fitted: Any = load_model(model)
    if is_detector(fitted):
        raise ModelError("a detector gives one score per row: use vanishing score")
    if signed and not isinstance(core(fitted), VanishingIdeal):
        raise ModelError(f"{kind_of(fitted)} gives absolute values only; leave --signed out")
    table = read_table(data, reading, model=fitted, gaps="skip" if skip_missing else "refuse")
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")

    def evaluate(rows: Any) -> Any:
        if not signed:
            return fitted.transform(rows)
        return core(fitted).transform(preprocess(fitted, rows), output="signed")

    values = evaluate_rows(table, evaluate, "evaluating")
    columns = row_column(table, reading.id) | dict(zip(names, values.T, strict=True))
    emit_or_write(columns, writing, json=json)
