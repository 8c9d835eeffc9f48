"""``vanishing explain``: why a row has its score."""

from typing import Annotated, Any

import typer

from vanishing.cli.console import emit, out, say, tracked
from vanishing.cli.exits import DataError, ModelError, UsageError
from vanishing.cli.options import DetectorEquations, Json, Label, Reading, Threshold


def explain(
    data: Annotated[str, typer.Argument(help="Table of rows, or - for a pipe.")],
    reading: Reading,
    wanted: DetectorEquations,
    threshold: Threshold,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            "-r",
            help="Number of a row, from 1, or its name with --id; may be repeated.",
            show_default="the row of largest score",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model file of fit or detect.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Table of normal rows.", show_default="the data itself"),
    ] = None,
    label: Label = None,
    equations: Annotated[
        int, typer.Option("--equations", min=0, help="Broken equations to name.")
    ] = 5,
    features: Annotated[int, typer.Option("--features", min=1, help="Features to list.")] = 10,
    picture: Annotated[
        str | None,
        typer.Option("--picture", help="Draw the explanation of the first row: PNG, SVG or PDF."),
    ] = None,
    json: Json = False,
) -> None:
    """Say which equations a row breaks, and the smallest change that would mend it."""
    from vanishing import ClassVanishingFeatures
    from vanishing.cli.findings import explain_row
    from vanishing.cli.models import anomaly_scores, core, is_detector, load_model
    from vanishing.cli.pictures import save_picture
    from vanishing.cli.reasons import explanation_record, show_explanation, show_values
    from vanishing.cli.tables import check_inputs, check_outputs, read_table
    from vanishing.cli.training import fit_detector, fit_to_itself, refuse_unused

    if train is not None and model is not None:
        raise UsageError("--train fits a detector and --model is one; leave one of them out")
    if model is not None:
        refuse_unused(wanted, threshold, "a model is fitted already")
    check_inputs([data, train])
    check_outputs([picture], [data, model, train])
    fitted: Any
    normal = None
    if model is not None:
        fitted = load_model(model)
        table = read_table(data, reading, label=label, model=fitted)
    elif train is not None:
        normal = read_table(train, reading, label=label, secondary=True)
        table = read_table(data, reading, label=label, model=normal)
        fitted = fit_detector(normal, threshold, wanted)
    else:
        table = read_table(data, reading, label=label)
        fitted = fit_to_itself(table, threshold, wanted)
    if row:
        chosen = [_index(table, each) for each in row]
    else:
        chosen = [int(anomaly_scores(fitted, table).argmax())]
    if is_detector(fitted) and not hasattr(fitted, "explain"):
        raise ModelError("a pipeline explains nothing; fit a detector to the columns themselves")
    if isinstance(core(fitted), ClassVanishingFeatures):
        raise ModelError("a model of classes explains nothing; fit one with --kind detector")
    if not is_detector(fitted):
        if picture is not None:
            raise ModelError("equations alone have no explanation to draw; use a detector")
        records = [show_values(fitted, table, i, equations, silent=json) for i in chosen]
        if json:
            emit({"rows": records})
        return
    found = [
        (i, explain_row(fitted, table, i, n_equations=equations))
        for i in tracked(chosen, "explaining", len(chosen))
    ]
    if picture is not None:
        if found[0][1] is None:
            raise DataError(f"row {table.row_name(chosen[0])} is too far from normal data to draw")
        display = _display()
        save_picture(picture, lambda: display.from_explanation(found[0][1]))
    if json:
        emit({"rows": [explanation_record(fitted, table, i, why) for i, why in found]})
        return
    for number, (i, why) in enumerate(found):
        if number:
            say()
        show_explanation(fitted, table, i, why, n_features=features, normal=normal, console=out())


def _index(table: Any, name: str) -> int:
    """Return the place of a row that the user names."""
    import numpy as np

    names = table.rows.astype(str) if table.ids is None else table.ids.astype(str)
    found = np.flatnonzero(names == name)
    if not found.size:
        what = "rows from 1" if table.ids is None else "names of rows such as"
        raise DataError(
            f"{table.where} has no row {name}; it has {what} to {table.rows[-1]}"
            if table.ids is None
            else f"{table.where} has no row {name!r}; it has {what} {str(names[0])!r}"
        )
    return int(found[0])


def _display() -> Any:
    from vanishing.cli.optional import required

    return required("vanishing.plotting", "ExplanationDisplay", extra="plot")
