"""``vanishing fit``: find equations, keep the model."""

from typing import Annotated, Any, Literal

import typer

from vanishing.cli.console import emit, note, say, working
from vanishing.cli.exits import UsageError
from vanishing.cli.options import Equations, Json, Label, Reading, Threshold

Kind = Literal["ideal", "detector", "classes"]


def fit(
    data: Annotated[str, typer.Argument(help="Table of points, or - for a pipe.")],
    reading: Reading,
    wanted: Equations,
    threshold: Threshold,
    contrast: Annotated[
        str | None,
        typer.Option("--contrast", help="Table of points that the equations should not hold on."),
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
    from vanishing.cli.describe import describe, model_record
    from vanishing.cli.tables import check_inputs, check_outputs, read_table
    from vanishing.cli.tables.write import refusals
    from vanishing.cli.training import fit_detector, make_ideal, refuse_unused

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
    from vanishing.cli.models import library_errors

    with library_errors(table.where), working(f"fitting {len(table)} rows"):
        return ClassVanishingFeatures(ideal).fit(table.for_model, table.labels.astype(str))


def _equations(table: Any, other: Any, ideal: Any) -> Any:
    from vanishing.cli.models import library_errors

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
