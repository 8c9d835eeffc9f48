"""The commands ``fit``, ``score`` and ``transform``."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import ModelError, UsageError, emit, note, note_files, say, working
from vanishing.app.cli.options import (
    EQUATIONS,
    OPTIONS,
    OUTPUT,
    Equations,
    Fitting,
    Json,
    Label,
    Model,
    Options,
    Raw,
    Reading,
    Save,
    SkipMissing,
    Threshold,
    Writing,
    option,
)

# --- ``vanishing fit``: find equations, keep the model --------------------------------------------

Kind = Literal["ideal", "detector", "classes"]


class FitOptions(Options):
    """What to fit."""

    contrast: str | None = option(
        EQUATIONS, metavar="TABLE", help="Table of points on which the equations should not hold."
    )
    kind: Kind = option(
        OPTIONS,
        default="ideal",
        metavar="KIND",
        help="What to fit: ideal (equations), detector (of anomalies) or classes (features, "
        "with --label).",
    )
    report: str | None = option(
        OUTPUT, metavar="FILE", help="HTML page to write, in a single file."
    )


def fit(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of points, or - for a pipe.")],
    asked: FitOptions,
    reading: Reading,
    wanted: Equations,
    fitting: Fitting,
    threshold: Threshold,
    label: Label = None,
    raw: Raw = False,
    save: Save = None,
    json: Json = False,
) -> None:
    """Find all equations up to a degree, and save them as a model.

    No option is needed: columns are standardized, and the tolerance is the noise of the data.
    Columns of text and dates are left out.
    """
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli import describe, models, tables
    from vanishing.persistence import save as save_model

    contrast, report = asked.contrast, asked.report
    _check_options(asked, fitting, threshold, label, save)
    tables.check_inputs([data, contrast])
    tables.check_outputs([save, report], [data, contrast])
    table = tables.read_input(data, reading, label=label, set_aside=True, gaps="skip")
    if asked.kind == "detector":
        model = models.fit_detector(table, threshold, wanted)
    elif asked.kind == "classes":
        ideal = models.make_ideal(wanted, contrastive=True) if wanted.given else None
        with models.library_errors(table.where), working(f"fitting {len(table)} rows"):
            model = ClassVanishingFeatures(ideal).fit(table.for_model, table.labels.astype(str))
    else:
        other = None
        if contrast is not None:
            like: dict[str, Any] = {"label": label, "model": table, "secondary": True}
            other = tables.read_input(contrast, reading, gaps="skip", **like)
        model = models.fit_equations(table, wanted, fitting, other)
    if save is not None:
        with tables.refusals(save):
            save_model(model, save)
    n_rows = len(table)
    if fitting.robust:
        table = table.keep(models.core(model).inlier_mask_)
    if report is not None:
        _write_report(report, model, table)
    if json:
        record = describe.fit_record(model, table, raw=raw)
        emit({**record, "rows": n_rows, "saved": save, "report": report})
        return
    describe.describe_model(model, table, raw=raw)
    if len(table) < n_rows:
        say(f"{n_rows - len(table)} of {n_rows} rows break them and are left out")
    elif asked.kind == "ideal" and models.core(model).basis_.count() > table.values.shape[1]:
        note(
            "there are more equations than columns, as if a few rows were broken, or there were "
            f"too few rows: try --robust, or vanishing laws {data}"
        )
    note_files(report)
    if save is not None:
        is_found = models.has_equations(model)
        try_next = f"score {data} --model {save}" if is_found else f"show {save} spectrum"
        say(f"\nsaved to {save}; try: vanishing {try_next}")
    else:
        note("the model is not saved; --save model.safetensors saves it")


def _check_options(
    asked: FitOptions, fitting: Fitting, threshold: Threshold, label: str | None, save: str | None
) -> None:
    """Refuse options that do not go together, before any work is done."""
    from vanishing.app.cli import models, tables

    kind = asked.kind
    if save == "-":
        raise UsageError("models are saved to files; name one with --save")
    tables.check_report(asked.report)
    if asked.report is not None and kind == "classes":
        raise UsageError("--report is about equations or a detector, not about classes")
    if asked.contrast is not None and kind != "ideal":
        raise UsageError(f"--contrast is for --kind ideal only; a {kind} model makes its own")
    if kind == "classes" and label is None:
        raise UsageError("--kind classes needs the column of the classes: --label COLUMN")
    if kind != "detector":
        models.refuse_unused(threshold, reason="only detectors (--kind detector) have one")
    if kind != "ideal":
        models.refuse_unused(fitting, reason="only equations (--kind ideal) are fitted that way")


def _write_report(path: str, model: Any, table: Any) -> None:
    from vanishing.app.cli import models
    from vanishing.app.report import write_equations_report, write_report

    about: dict[str, Any] = {
        "ids": table.rows if table.row_ids is None else table.row_ids,
        "feature_names": table.shown_names,
    }
    with models.writing_report(path) as show:
        if models.is_detector(model):
            title = f"Anomalies in {table.file_name}"
            write_report(path, model, table.for_model, title=title, callback=show, **about)
        else:
            title = f"Equations of {table.file_name}"
            write_equations_report(path, model, table.for_model, title=title, **about)


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
    from vanishing.app.cli import models, tables

    tables.output_format(writing.out, writing.out_format)
    tables.check_outputs([writing.out], [data, model])
    fitted = models.load_model(model)
    gaps: tables.Gaps = "skip" if skip_missing else "refuse"
    table = tables.read_input(data, reading, model=fitted, gaps=gaps)
    scores = models.anomaly_scores(fitted, table)
    columns = models.row_column(table, reading.id) | {"score": scores}
    if models.is_detector(fitted):
        columns["anomaly"] = (scores > models.threshold_of(fitted)).astype("int64")
    models.emit_or_write(columns, writing, json=json)


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
    from vanishing.app.cli import models, tables

    tables.output_format(writing.out, writing.out_format)
    tables.check_outputs([writing.out], [data, model])
    fitted: Any = models.load_model(model)
    core = models.core(fitted)
    if models.is_detector(fitted):
        raise ModelError("a detector gives one score per row: use vanishing score")
    if signed and not isinstance(core, VanishingIdeal):
        kind = models.kind_of(fitted)
        raise ModelError(f"{kind} gives absolute values only; leave --signed out")
    gaps: tables.Gaps = "skip" if skip_missing else "refuse"
    table = tables.read_input(data, reading, model=fitted, gaps=gaps)
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")

    def evaluate(rows: Any) -> Any:
        if not signed:
            return fitted.transform(rows)
        return core.transform(models.preprocess(fitted, rows), output="signed")

    values = models.evaluate_rows(table, evaluate, "evaluating")
    columns = models.row_column(table, reading.id) | dict(zip(names, values.T, strict=True))
    models.emit_or_write(columns, writing, json=json)
