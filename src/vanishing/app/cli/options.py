"""Options that several commands share, in groups.

A command takes a group as one argument, and typer sees an option for each field of it.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

TableFormat = Literal["csv", "parquet", "npy", "npz"]
OutputFormat = Literal["csv", "tsv", "parquet", "npy", "npz"]
Normalization = Literal["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]

_READING = "Reading tables"


def _reading(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=_READING, **more)


@dataclass(frozen=True)
class Console:
    """What is said; options of all commands."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes, no progress.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False


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
        str | None, _reading("--drop", help="Columns to leave out, given the same way.")
    ] = None
    id: Annotated[
        str | None, _reading("--id", help="Column that names the rows; kept in the output.")
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
        _reading("--format", help="Format of the tables to read.", show_default="guessed"),
    ] = None
    array: Annotated[str | None, _reading("--array", help="Which array of an NPZ.")] = None


@dataclass(frozen=True)
class Writing:
    """Where a table goes."""

    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="File to write: CSV, TSV, Parquet, NPY or NPZ by its suffix."
        ),
    ] = "-"
    out_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--out-format", help="Format of the output.", show_default="by suffix, else csv"
        ),
    ] = None


@dataclass(frozen=True)
class Threshold:
    """Where normal ends."""

    contamination: Annotated[
        str,
        typer.Option(
            "--contamination",
            help="Fraction of the training rows to call anomalous, at most 0.5; or 'auto': the "
            "outliers of a box plot, and at least one row in a hundred.",
        ),
    ] = "auto"
    calibration: Annotated[
        float | None,
        typer.Option(
            "--calibration",
            help="Fraction of the training rows held out of the fit, so that --contamination is a "
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
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0


_RECIPE = "detectors: a mixture of local equations"


@dataclass(frozen=True)
class Equations:
    """Which equations to look for; None where the user does not say."""

    degree: Annotated[
        int | None,
        typer.Option("--degree", "-d", min=1, help="Maximum degree.", show_default=f"2; {_RECIPE}"),
    ] = None
    tol: Annotated[
        str | None,
        typer.Option(
            "--tol",
            "-t",
            help="Largest root mean square of an equation on the data, in spreads of columns that "
            "are scaled; 'auto' finds the noise of the data, 'gap' a gap of the spectrum.",
            show_default=f"auto, 0.1 for classes and single ideals that detect; {_RECIPE}",
        ),
    ] = None
    normalization: Annotated[
        Normalization | None,
        typer.Option(
            "--normalization",
            "-n",
            help="What fixes the size of an equation.",
            show_default=f"contrastive with --contrast, else gradient; {_RECIPE}",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether the user asks for particular equations."""
        return (self.degree, self.tol, self.normalization) != (None, None, None)


@dataclass(frozen=True)
class Fitting:
    """What is done to the table before equations are fitted to it."""

    scale: Annotated[
        bool,
        typer.Option(
            "--scale/--no-scale",
            help="Whether columns are standardized first; equations are in the columns themselves.",
        ),
    ] = True
    robust: Annotated[
        bool,
        typer.Option("--robust", help="Leave out rows that break the equations of most others."),
    ] = False


Raw = Annotated[
    bool,
    typer.Option("--raw", help="Equations as fitted, instead of as short as the noise allows."),
]
Model = Annotated[
    str, typer.Option("--model", "-m", help="Model file of fit --save or detect --save.")
]
Label = Annotated[str | None, typer.Option("--label", help="Column with the true labels.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Top = Annotated[int, typer.Option("--top", min=0, help="Anomalies to list and explain.")]
