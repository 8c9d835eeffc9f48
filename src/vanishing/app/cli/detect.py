"""The commands ``detect`` and ``explain``."""

from typing import Annotated, Any, NamedTuple

import typer

from vanishing.app.cli.console import (
    DataError,
    Exit,
    ModelError,
    UsageError,
    emit,
    list_some,
    note,
    note_files,
    pick,
    say,
    state,
    track,
)
from vanishing.app.cli.options import (
    AsFitted,
    Detection,
    Equations,
    LabelledReading,
    Output,
    Saving,
    Threshold,
    flag,
    option,
)

# --- ``vanishing detect``: which rows are not like the others -------------------------------------


class Judging(LabelledReading, Detection):
    """What the rows of a table are compared with."""

    train: str | None = option(
        "Options", "TABLE", "Table of normal rows.", show_default="the table itself"
    )
    model: str | None = option(
        "Options", "FILE", "Model file of detect --save or fit --save.", "-m"
    )


class DetectOptions(Saving, Output, Judging):
    """Which anomalies to show."""

    anomalous: str | None = option("Columns", "VALUE", "Value of --label that marks anomalies.")
    top: int = option("Output", "N", "Rows to list and explain.", default=10, min=0)
    fail_on_anomaly: bool = flag("Output", "Exit with 1 if there are anomalies.")


def detect(
    data: Annotated[
        str, typer.Argument(metavar="TABLE", help="Table of rows to score, or - for a pipe.")
    ],
    asked: DetectOptions,
) -> int:
    """Find the rows that are unlike the others, and suggest a fix.

    Without --train and --model the table is compared with itself; most of its rows should then be
    normal.

    By default the detector is a mixture of many local equations. With --degree, --tol,
    --normalization or --construction it is a single ideal, whose equations people can read.
    """
    from vanishing.app.cli import describe, laws, models, tables
    from vanishing.app.wording import as_sentence

    label, save = asked.label, asked.save
    if asked.anomalous is not None and label is None:
        raise UsageError("--anomalous is a value of the --label column; pass --label, too")
    tables.check_files([data, asked.train, asked.model], asked, save)
    inputs = _read(data, asked, lists_strays=True)
    table = inputs.table
    # Before the fit, which takes long.
    known = None if label is None else models.truth(table, asked.anomalous)
    detector = inputs.fit(asked)
    if not hasattr(detector, "explain"):
        raise UsageError(
            f"detect is not supported for {models.kind_of(detector)} ({asked.model}); use "
            "vanishing score, or make a detector with vanishing fit --kind detector"
        )
    found = describe.find(detector, table, known, top=asked.top)
    strays = _check_strays(table)
    if save is not None:
        with tables.refusals(save):
            detector.save(save)
    if asked.report is not None:
        notes = strays.sentences()
        if len(found.worst):
            notes += tables.describe_lines(table, int(table.rows[found.worst[0]]))
        models.write_page(
            asked.report,
            detector,
            table,
            scores=-found.scores,
            labels=None if known is None else known.astype("int64"),
            train=None if inputs.normal is None else inputs.normal.for_model,
            notes=[as_sentence(each) for each in notes],
        )
    if asked.out is not None:
        scored = {"score": found.scores, "anomaly": found.anomalous.astype("int64")}
        columns = models.row_column(table, asked.id) | scored
        tables.write_table(asked.out, columns, format=asked.out_format)
    whole = table.unfiltered or table
    if state.json:
        more = {"not_numbers": laws.stray_records(strays, whole), "saved": save}
        emit(describe.findings_record(found, table) | more | pick(asked, "out", "report"))
    elif asked.out != "-" or not state.quiet:
        # The rows have standard output for themselves.
        is_error = asked.out == "-"
        describe.show_findings(found, table, is_error=is_error)
        if strays.rows:
            laws.show_strays(strays, whole, is_error=is_error)
        elif len(found.worst):
            tables.note_lines(table, int(table.rows[found.worst[0]]))
        note_files(asked.out, asked.report, save)
    is_alarm = asked.fail_on_anomaly and found.anomalous.any()
    return Exit.ANOMALIES if is_alarm else Exit.DONE


class Inputs(NamedTuple):
    """What is read before anything is fitted; ``model`` is None if it has to be."""

    table: Any
    normal: Any
    model: Any

    def fit(self, asked: Judging) -> Any:
        """Return the model, fitted if it is not there."""
        from vanishing.app.cli import models

        if self.model is not None:
            return self.model
        if self.normal is not None:
            return models.fit_detector(self.normal, asked)
        return models.fit_to_itself(self.table, asked)


#: Columns among which laws are found in a second, before somebody wonders what detect does.
QUICK_COLUMNS = 12


def _check_strays(table: Any) -> Any:
    """Return the cells that are not numbers, with what the laws of a narrow table say they are."""
    from dataclasses import replace

    from vanishing.app.cli import laws

    whole = replace(table.unfiltered or table, labels=None)
    is_quick = whole.strays and whole.values.shape[1] <= QUICK_COLUMNS
    return laws.check_strays(laws.discover_laws(whole) if is_quick else None, whole)


def _read(data: str, asked: Judging, *, lists_strays: bool = False) -> Inputs:
    """Read the table to judge, and the model or the table of normal rows."""
    from vanishing.app.cli import models, tables

    train, model = asked.train, asked.model
    if train is not None and model is not None:
        raise UsageError("--train fits a detector and --model is one; leave one of them out")
    if model is not None:
        models.refuse_unused(asked, Equations, Threshold, reason="the model is already fitted")
    tables.check_inputs([data, train])
    fitted = None if model is None else models.load_model(model)
    normal = None
    if train is not None:
        normal = tables.read_input(train, asked, secondary=True, set_aside=True, gaps="skip")
        same = [
            f"{name} = {column[0]:g}"
            for name, column in zip(normal.shown_names, normal.values.T, strict=True)
            if column.min() == column.max()
        ]
        if same:
            note(
                f"{normal.where}: the same in every row: {list_some(same)}; a row with another "
                "value is called anomalous"
            )
    like = normal if fitted is None else fitted
    table = tables.read_input(
        data, asked, model=like, set_aside=fitted is None, gaps="skip", lists_strays=lists_strays
    )
    return Inputs(table, normal, fitted)


# --- ``vanishing explain``: why a row has its score -----------------------------------------------


class ExplainOptions(AsFitted, Judging):
    """Which rows to explain, and how much to say."""

    row: list[str] | None = option(
        "Options",
        "NAME",
        "Number of a row, from 1, or its name with --id; may be repeated.",
        "-r",
        show_default="the row with the largest score",
    )
    equations: int = option("Output", "N", "Broken equations to list.", default=5, min=0)
    features: int = option("Output", "N", "Columns to list.", default=10, min=1)
    picture: str | None = option(
        "Output", "FILE", "Picture of the first row to draw: .png, .svg or .pdf."
    )


def explain(
    data: Annotated[str, typer.Argument(metavar="TABLE", help="Table of rows, or - for a pipe.")],
    asked: ExplainOptions,
) -> None:
    """Show what is wrong with a row, and what would fix it."""
    from vanishing import ClassVanishingFeatures
    from vanishing.app.cli import describe, models, tables

    picture = asked.picture
    tables.check_outputs([picture], [data, asked.model, asked.train])
    inputs = _read(data, asked)
    table = inputs.table
    fitted = inputs.fit(asked)
    if asked.row:
        chosen = [_find_row(table, each) for each in asked.row]
    else:
        chosen = [int(models.anomaly_scores(fitted, table).argmax())]
    is_detector = models.is_detector(fitted)
    if is_detector and not hasattr(fitted, "explain"):
        raise ModelError(
            "explain is not supported for pipelines; fit a detector to the columns themselves"
        )
    if isinstance(models.core(fitted), ClassVanishingFeatures):
        raise ModelError(
            "explain is not supported for models of classes; fit one with --kind detector"
        )
    if not is_detector:
        if picture is not None:
            raise ModelError("an ideal has no explanation to draw; use a detector")
        show = describe.show_values
        rows = [show(fitted, table, i, asked.equations, raw=asked.raw) for i in chosen]
        if state.json:
            emit({"rows": rows})
        return
    found = [
        (i, describe.explain_row(fitted, table, i, n_equations=asked.equations))
        for i in track(chosen, "explaining", len(chosen))
    ]
    if picture is not None:
        if found[0][1] is None:
            raise DataError(f"row {table.row_name(chosen[0])} is too far from normal data to draw")
        from vanishing.plotting import ExplanationDisplay

        models.save_picture(picture, lambda: ExplanationDisplay.from_explanation(found[0][1]))
    if state.json:
        emit({"rows": [describe.explanation_record(fitted, table, i, why) for i, why in found]})
        return
    tables.note_lines(table, int(table.rows[chosen[0]]))
    options = {"n_features": asked.features, "normal": inputs.normal, "raw": asked.raw}
    for number, (i, why) in enumerate(found):
        if number:
            say()
        describe.show_explanation(fitted, table, i, why, **options)


def _find_row(table: Any, name: str) -> int:
    """Return the place of the row that the user names."""
    names = [table.row_name(i) for i in range(len(table))]
    if name in names:
        return names.index(name)
    if table.row_ids is None:
        raise DataError(
            f"{table.where} has no row {name}; rows are numbered from {names[0]} to {names[-1]}, "
            "without the header, and rows with missing values are left out; pass such a number, "
            "or choose a column of names with --id"
        )
    raise DataError(
        f"{table.where} has no row {name!r}; the --id column names the rows: {list_some(names)}; "
        "pass one of these, or leave --id out to pass the number of a row"
    )
