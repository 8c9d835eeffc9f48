"""``vanishing score``: one number a row, how badly it breaks the equations."""

from typing import Annotated

import typer

from vanishing.cli.options import Json, Model, Reading, Writing


def score(
    data: Annotated[str, typer.Argument(help="Table of rows, or - for a pipe.")],
    reading: Reading,
    writing: Writing,
    model: Model,
    json: Json = False,
) -> None:
    """Score rows by a model: the larger, the more they break its equations.

    Of a detector there is also the column anomaly, 1 for scores above its threshold.
    """
    from vanishing.cli.models import anomaly_scores, is_detector, load_model, threshold_of
    from vanishing.cli.rows import emit_or_write, row_column
    from vanishing.cli.tables import check_outputs, read_table
    from vanishing.cli.tables.write import output_format

    output_format(writing.out, writing.out_format)
    check_outputs([writing.out], [data, model])
    fitted = load_model(model)
    table = read_table(data, reading, model=fitted)
    scores = anomaly_scores(fitted, table)
    columns = row_column(table, reading.id) | {"score": scores}
    if is_detector(fitted):
        columns["anomaly"] = (scores > threshold_of(fitted)).astype("int64")
    emit_or_write(columns, writing, json=json)
