"""The commands ``fit``, ``score`` and ``transform``."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import ModelError, UsageError, emit, note, say, working
from vanishing.app.cli.options import Equations, Json, Label, Model, Reading, Threshold, Writing

# --- ``vanishing fit``: find equations, keep the model --------------------------------------------

Kind = Literal["ideal", "detector", "classes"]


def fit(
    data: Annotated[str, typer.Argument(help="Table of points, or - for a pipe.")],
    reading: Reading,
    wanted: Equations,
    threshold: Threshold,
    contrast: Annotated[
        str | None,
        typer.Option("--contrast", help="Table of points on which the equations should not hold."),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind",
            help="Equations; an anomaly detector; or features for classes (with --label).",
        ),
    ] = "ideal",
    label: Label = None,
    save: Annotated[str | None, typer.Option("--save", "-s", help="Model file to write.")] = None,
    json: Json = False,
) -> None:
    """Find the equations of a table, and save them as a model."""
    from vanishing.app.cli.equations import describe, model_record
    from vanishing.app.cli.models import fit_detector, make_ideal, refuse_unused
    from vanishing.app.cli.tables import check_inputs, check_outputs, read_table, refusals

    if save == "-":
        raise UsageError("models are saved to files; name one with --save")
    if contrast is not None and kind != "ideal":
        raise UsageError(f"--contrast goes with --kind ideal; a {kind} model makes its own")
    if kind == "classes" and label is None:
        raise UsageError("--kind classes needs the column of the classes: --label COLUMN")
    if kind != "detector":
        refuse_unused(Equations(), threshold, "only detectors (--kind detector) have one")
    check_inputs([data, contrast])
    check_outputs([save], [data, contrast])
    table = read_table(data, reading, label=label)
    if kind == "classes":
        model = _classes(table, make_ideal(wanted, contrastive=True) if wanted.given else None)
    elif kind == "detector":
        model = fit_detector(table, threshold, wanted)
    else:
        other = None
        if contrast is not None:
            other = read_table(contrast, reading, label=label, model=table, secondary=True)
        model = _equations(table, other, make_ideal(wanted, contrastive=other is not None))
    if save is not None:
        with refusals(save):
            model.save(save)
    if json:
        emit({**model_record(model), "rows": len(table), "saved": save})
        return
    describe(model, table)
    if save is not None:
        say(f"\nsaved to {save}; try: vanishing score {data} --model {save}")
    else:
        note("the model is not kept; --save model.safetensors does that")


def _classes(table: Any, ideal: Any) -> Any:
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli.models import library_errors

    with library_errors(table.where), working(f"fitting {len(table)} rows"):
        return ClassVanishingFeatures(ideal).fit(table.for_model, table.labels.astype(str))


def _equations(table: Any, other: Any, ideal: Any) -> Any:
    from vanishing.app.cli.models import library_errors

    if ideal.normalization == "contrastive" and other is None:
        raise UsageError("--normalization contrastive needs a second table: --contrast Y.csv")
    if ideal.normalization != "contrastive" and other is not None:
        raise UsageError(
            f"--normalization {ideal.normalization} uses no contrast; leave --contrast or it out"
        )
    with library_errors(table.where), working("fitting degree 1", ideal.max_degree) as step:
        ideal.set_params(callback=lambda trace: step(1, what=f"fitting degree {trace.degree + 1}"))
        ideal.fit(table.for_model, contrast=None if other is None else other.values)
    return ideal.set_params(callback=None)  # which no file could hold


# --- ``vanishing score``: one number a row, how badly it breaks the equations ---------------------


def score(
    data: Annotated[str, typer.Argument(help="Table of rows, or - for a pipe.")],
    reading: Reading,
    writing: Writing,
    model: Model,
    json: Json = False,
) -> None:
    """Score rows with a model: the larger the score, the more they break its equations.

    A detector adds the column anomaly, 1 for scores above its threshold.
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
    table = read_table(data, reading, model=fitted)
    scores = anomaly_scores(fitted, table)
    columns = row_column(table, reading.id) | {"score": scores}
    if is_detector(fitted):
        columns["anomaly"] = (scores > threshold_of(fitted)).astype("int64")
    emit_or_write(columns, writing, json=json)


# --- ``vanishing transform``: the values of the equations at each row -----------------------------


def transform(
    data: Annotated[str, typer.Argument(help="Table of rows, or - for a pipe.")],
    reading: Reading,
    writing: Writing,
    model: Model,
    signed: Annotated[
        bool, typer.Option("--signed", help="Values with their sign, instead of absolute ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Evaluate the equations of a model at each row: features for other programs."""
    from vanishing import VanishingIdeal
    from vanishing.app.cli.models import (
        emit_or_write,
        evaluate_rows,
        is_detector,
        kind_of,
        load_model,
        row_column,
    )
    from vanishing.app.cli.tables import check_outputs, output_format, read_table

    output_format(writing.out, writing.out_format)
    check_outputs([writing.out], [data, model])
    fitted: Any = load_model(model)
    if is_detector(fitted):
        raise ModelError("a detector gives one score per row: use vanishing score")
    if signed and not isinstance(fitted, VanishingIdeal):
        raise ModelError(f"{kind_of(fitted)} gives absolute values only; leave --signed out")
    table = read_table(data, reading, model=fitted)
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")
    options = {"output": "signed"} if signed else {}
    values = evaluate_rows(table, lambda rows: fitted.transform(rows, **options), "evaluating")
    columns = row_column(table, reading.id) | dict(zip(names, values.T, strict=True))
    emit_or_write(columns, writing, json=json)
