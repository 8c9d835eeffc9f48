"""The commands ``fit``, ``score`` and ``transform``."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import (
    ModelError,
    UsageError,
    emit,
    note,
    note_files,
    say,
    state,
    working,
)
from vanishing.app.cli.options import (
    AsFitted,
    Detection,
    Fitting,
    LabelledReading,
    ModelReading,
    Saving,
    Threshold,
    Writing,
    flag,
    option,
)

# --- ``vanishing fit``: find equations, keep the model --------------------------------------------

Kind = Literal["ideal", "detector", "classes"]


class FitOptions(AsFitted, Saving, LabelledReading, Fitting, Detection):
    """What to fit."""

    contrast: str | None = option(
        "Equations", "TABLE", "Table of points on which the equations should not hold."
    )
    kind: Kind = option(
        "Options",
        "KIND",
        "What to fit: ideal (equations), detector (of anomalies) or classes (features, "
        "with --label).",
        default="ideal",
    )
    report: str | None = option("Output", "FILE", "HTML page to write, in a single file.")


def fit(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of points, or - for a pipe.")],
    asked: FitOptions,
) -> None:
    """Find all equations up to a degree, and save them as a model.

    No option is needed: columns are standardized, and the tolerance is the noise of the data.
    Columns of text and dates are left out.
    """
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli import describe, models, tables
    from vanishing.persistence import save as save_model

    contrast, save, report = asked.contrast, asked.save, asked.report
    _check_options(asked)
    tables.check_inputs([data, contrast])
    tables.check_outputs([save, report], [data, contrast])
    table = tables.read_input(data, asked, set_aside=True, gaps="skip")
    if asked.kind == "detector":
        model = models.fit_detector(table, asked)
    elif asked.kind == "classes":
        ideal = models.make_ideal(asked, contrastive=True) if asked.given else None
        with models.library_errors(table.where), working(f"fitting {len(table)} rows"):
            model = ClassVanishingFeatures(ideal).fit(table.for_model, table.labels.astype(str))
    else:
        other = None
        if contrast is not None:
            other = tables.read_input(contrast, asked, model=table, secondary=True, gaps="skip")
        model = models.fit_equations(table, asked, other)
    if save is not None:
        with tables.refusals(save):
            save_model(model, save)
    n_rows = len(table)
    if asked.robust:
        table = table.keep(models.core(model).inlier_mask_)
    if report is not None:
        models.write_page(report, model, table)
    if state.json:
        record = describe.fit_record(model, table, raw=asked.raw)
        emit({**record, "rows": n_rows, "saved": save, "report": report})
        return
    describe.describe_model(model, table, raw=asked.raw)
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


def _check_options(asked: FitOptions) -> None:
    """Refuse options that do not go together, before any work is done."""
    from vanishing.app.cli import models, tables

    kind = asked.kind
    if asked.save == "-":
        raise UsageError("models are saved to files; name one with --save")
    tables.check_report(asked.report)
    if asked.report is not None and kind == "classes":
        raise UsageError("--report is about equations or a detector, not about classes")
    if asked.contrast is not None and kind != "ideal":
        raise UsageError(f"--contrast is for --kind ideal only; a {kind} model makes its own")
    if kind == "classes" and asked.label is None:
        raise UsageError("--kind classes needs the column of the classes: --label COLUMN")
    if kind != "detector":
        models.refuse_unused(asked, Threshold, reason="only detectors (--kind detector) have one")
    if kind != "ideal":
        why = "only equations (--kind ideal) are fitted that way"
        models.refuse_unused(asked, Fitting, reason=why)


# --- ``vanishing score``: one number a row, how badly it breaks the equations ---------------------


class ScoreOptions(Writing, ModelReading):
    """Which model scores which table, and where the scores go."""


def score(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    asked: ScoreOptions,
) -> None:
    """Score each row with a model.

    The larger the score, the more a row breaks the equations of the model. A detector adds the
    column anomaly, 1 for scores above its threshold.
    """
    from vanishing.app.cli import models

    fitted = _load(data, asked)
    table = _read(data, asked, fitted)
    scores = models.anomaly_scores(fitted, table)
    columns = models.row_column(table, asked.id) | {"score": scores}
    if models.is_detector(fitted):
        columns["anomaly"] = (scores > models.threshold_of(fitted)).astype("int64")
    models.emit_or_write(columns, asked)


def _load(data: str, asked: ScoreOptions) -> Any:
    """Load the model, unless its output could not be written."""
    from vanishing.app.cli import models, tables

    tables.output_format(asked.out, asked.out_format)
    tables.check_outputs([asked.out], [data, asked.model])
    return models.load_model(asked.model)


def _read(data: str, asked: ScoreOptions, fitted: Any) -> Any:
    from vanishing.app.cli.tables import read_input

    return read_input(data, asked, model=fitted, gaps="skip" if asked.skip_missing else "refuse")


# --- ``vanishing transform``: the values of the equations at each row -----------------------------


class TransformOptions(ScoreOptions):
    """Which values are written, and where."""

    signed: bool = flag("Options", "Values with their sign, instead of absolute ones.")


def transform(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    asked: TransformOptions,
) -> None:
    """Evaluate the equations of a model at each row, as features."""
    from vanishing import VanishingIdeal
    from vanishing.app.cli import models

    fitted = _load(data, asked)
    core = models.core(fitted)
    if models.is_detector(fitted):
        raise ModelError("a detector gives one score per row: use vanishing score")
    if asked.signed and not isinstance(core, VanishingIdeal):
        kind = models.kind_of(fitted)
        raise ModelError(f"{kind} gives absolute values only; leave --signed out")
    table = _read(data, asked, fitted)
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")

    def evaluate(rows: Any) -> Any:
        if not asked.signed:
            return fitted.transform(rows)
        return core.transform(models.preprocess(fitted, rows), output="signed")

    values = models.evaluate_rows(table, evaluate, "evaluating")
    columns = models.row_column(table, asked.id) | dict(zip(names, values.T, strict=True))
    models.emit_or_write(columns, asked)
