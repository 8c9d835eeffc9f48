"""``vanishing transform``: the values of the equations at each row."""

from typing import Annotated, Any

import typer

from vanishing.cli.exits import ModelError
from vanishing.cli.options import Json, Model, Reading, Writing


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
    """Evaluate the equations of a model: features for other programs."""
    import numpy as np

    from vanishing import VanishingIdeal
    from vanishing.cli.console import working
    from vanishing.cli.models import BLOCK, is_detector, kind_of, library_errors, load_model
    from vanishing.cli.rows import emit_or_write, row_column
    from vanishing.cli.tables import check_outputs, read_table
    from vanishing.cli.tables.write import output_format

    output_format(writing.out, writing.out_format)
    check_outputs([writing.out], [data, model])
    fitted: Any = load_model(model)
    if is_detector(fitted):
        raise ModelError("a detector gives one score a row: use vanishing score")
    if signed and not isinstance(fitted, VanishingIdeal):
        raise ModelError(f"{kind_of(fitted)} gives absolute values only; leave --signed out")
    table = read_table(data, reading, model=fitted)
    names = [str(name) for name in fitted.get_feature_names_out()]
    if not names:
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")
    values = np.empty((len(table), len(names)))
    options = {"output": "signed"} if signed else {}
    with (
        working("evaluating", len(table)) as step,
        library_errors(table.where),
        np.errstate(over="ignore", invalid="ignore"),  # far away, which inf and nan tell
    ):
        for start in range(0, len(table), BLOCK):
            part = table.keep(np.arange(start, min(start + BLOCK, len(table))))
            values[start : start + len(part)] = fitted.transform(part.for_model, **options)
            step(len(part))
    columns = row_column(table, reading.id) | dict(zip(names, values.T, strict=True))
    emit_or_write(columns, writing, json=json)
