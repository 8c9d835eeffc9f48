"""Options that several commands share, in groups.

A command takes a group as one argument; ``expanded`` shows the fields of the group to typer as
options of their own.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

import typer

TableFormat = Literal["csv", "parquet", "npy", "npz"]
OutputFormat = Literal["csv", "tsv", "parquet", "npy", "npz"]
Normalization = Literal["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]

_READING = "Reading tables"


def _reading(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=_READING, **more)


@dataclass(frozen=True)
class Reading:
    """How tables are read."""

    columns: Annotated[
        str | None,
        _reading(
            "--columns",
            "-c",
            help="Columns to use: names, numbers from 1, ranges such as 2-5, separated by commas.",
        ),
    ] = None
    drop: Annotated[
        str | None, _reading("--drop", help="Columns to leave out, written the same way.")
    ] = None
    id: Annotated[
        str | None, _reading("--id", help="Column with the names of the rows, kept in the output.")
    ] = None
    skip_missing: Annotated[
        bool, _reading("--skip-missing", help="Leave out rows with missing values.")
    ] = False
    header: Annotated[
        bool | None,
        _reading(
            "--header/--no-header",
            help="Whether the first line of a CSV holds names.",
            show_default="guessed",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _reading("--delimiter", help="Delimiter of a CSV.", show_default="guessed"),
    ] = None
    format: Annotated[
        TableFormat | None,
        _reading("--format", help="Kind of the tables read.", show_default="guessed"),
    ] = None
    array: Annotated[str | None, _reading("--array", help="Which array of an NPZ.")] = None


@dataclass(frozen=True)
class Writing:
    """Where a table goes."""

    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="File for the rows, by its suffix CSV, Parquet, NPY, NPZ."
        ),
    ] = "-"
    out_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--out-format", help="Kind of the output.", show_default="by suffix, else csv"
        ),
    ] = None


@dataclass(frozen=True)
class Threshold:
    """Where normal ends."""

    contamination: Annotated[
        str,
        typer.Option(
            "--contamination",
            help="Share of the training rows to call anomalous, at most 0.5; or 'auto': those "
            "that a box plot would call outliers, and at least one in a hundred.",
        ),
    ] = "auto"
    calibration: Annotated[
        float | None,
        typer.Option(
            "--calibration",
            help="Share of the training rows kept out of the fit, so that --contamination is the "
            "guaranteed rate of false alarms.",
        ),
    ] = None
    image_shape: Annotated[
        str | None,
        typer.Option(
            "--image-shape",
            metavar="HxW",
            help="Rows are images of this shape, such as 28x28: use the detector for images.",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all that is random.")] = 0


@dataclass(frozen=True)
class Equations:
    """Which equations are looked for; None where the user does not say."""

    degree: Annotated[
        int | None, typer.Option("--degree", "-d", min=1, help="Largest degree.", show_default="2")
    ] = None
    tol: Annotated[
        str | None,
        typer.Option(
            "--tol",
            "-t",
            help="Largest root mean square of an equation on the data, or 'gap'.",
            show_default="0.1",
        ),
    ] = None
    normalization: Annotated[
        Normalization | None,
        typer.Option(
            "--normalization",
            "-n",
            help="What fixes the size of an equation.",
            show_default="contrastive with --contrast, else gradient",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether the user asks for particular equations."""
        return (self.degree, self.tol, self.normalization) != (None, None, None)


_RECIPE = "none: a mixture of local equations"


@dataclass(frozen=True)
class DetectorEquations(Equations):
    """The same where a detector is fitted, which has a recipe if the user does not say."""

    degree: Annotated[
        int | None,
        typer.Option("--degree", "-d", min=1, help="Largest degree.", show_default=_RECIPE),
    ] = None
    tol: Annotated[
        str | None,
        typer.Option(
            "--tol",
            "-t",
            help="Largest root mean square of an equation on the data, or 'gap'.",
            show_default=_RECIPE,
        ),
    ] = None
    normalization: Annotated[
        Normalization | None,
        typer.Option(
            "--normalization",
            "-n",
            help="What fixes the size of an equation.",
            show_default=_RECIPE,
        ),
    ] = None


Model = Annotated[
    str, typer.Option("--model", "-m", help="Model file of fit --save or detect --save.")
]
Label = Annotated[str | None, typer.Option("--label", help="Column with the true labels.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Top = Annotated[int, typer.Option("--top", min=0, help="Anomalies to list and explain.")]


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose groups of options are options of their own."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if dataclasses.is_dataclass(kind):
            groups[name] = kind
            parameters += list(inspect.signature(groups[name]).parameters.values())
        else:
            parameters.append(parameter.replace(annotation=kind))

    @functools.wraps(command)
    def call(**given: Any) -> Any:
        for name, kind in groups.items():
            fields = {each.name for each in dataclasses.fields(kind)}
            given[name] = kind(**{each: given.pop(each) for each in fields})
        return command(**given)

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    call.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    return call
