"""Options that several commands share, in groups.

A command takes a group as one argument, and typer sees an option for each field of it. In help
texts, options stand under the heading that ``rich_help_panel`` names.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

import typer

TableFormat = Literal["csv", "parquet", "feather", "xlsx", "npy", "npz"]
DecimalOption = Literal[".", ","]
OutputFormat = Literal["csv", "tsv", "parquet", "npy", "npz"]
Normalization = Literal["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]
Construction = Literal["vca", "abm", "abm-gradient", "oavi"]
Generators = Literal["all", "minimal"]

#: Headings of help texts, in their order; options without one stand first.
OPTIONS, EQUATIONS, THRESHOLD = "Options", "Equations", "Threshold"
COLUMNS, LAYOUT, OUTPUT = "Columns and rows", "Layout of tables (guessed by default)", "Output"
PANELS = (OPTIONS, EQUATIONS, THRESHOLD, COLUMNS, LAYOUT, OUTPUT)


def option(panel: str, *names: str, **more: Any) -> Any:
    """Return an option that stands under a heading of the help text."""
    return typer.Option(*names, rich_help_panel=panel, **more)


def list_choices(choices: Any) -> str:
    """Write the choices of a ``Literal`` in a row."""
    return ", ".join(get_args(choices))


@dataclass(frozen=True)
class Console:
    """What is said; options of all commands."""

    quiet: Annotated[
        bool, option(OUTPUT, "--quiet", "-q", help="Print no notes and no progress.")
    ] = False
    debug: Annotated[bool, option(OUTPUT, "--debug", help="Show the traceback of an error.")] = (
        False
    )


@dataclass(frozen=True)
class Reading:
    """How tables are read."""

    columns: Annotated[
        str | None,
        option(
            COLUMNS,
            "--columns",
            "-c",
            metavar="LIST",
            help="Columns to use: names or numbers from 1, such as speed,3-5.",
        ),
    ] = None
    drop: Annotated[
        str | None,
        option(COLUMNS, "--drop", metavar="LIST", help="Columns to leave out."),
    ] = None
    id: Annotated[
        str | None,
        option(
            COLUMNS, "--id", metavar="COLUMN", help="Column that names the rows; not a feature."
        ),
    ] = None
    header: Annotated[
        bool | None,
        option(
            LAYOUT,
            "--header/--no-header",
            help="Whether the first line of a CSV file contains names.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        option(LAYOUT, "--delimiter", metavar="CHAR", help="Delimiter of a CSV file, or 'tab'."),
    ] = None
    decimal: Annotated[
        DecimalOption | None,
        option(
            LAYOUT,
            "--decimal",
            metavar="CHAR",
            help="Decimal sign of numbers that are text: . or ,",
        ),
    ] = None
    format: Annotated[
        TableFormat | None,
        option(
            LAYOUT,
            "--format",
            metavar="NAME",
            help=f"Format of the tables: {list_choices(TableFormat)}.",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        option(
            LAYOUT,
            "--sheet",
            metavar="NAME",
            help="Sheet of an Excel file; by default the first with a table of numbers.",
        ),
    ] = None
    array: Annotated[
        str | None, option(LAYOUT, "--array", metavar="NAME", help="Array of an NPZ file.")
    ] = None


OutFormat = Annotated[
    OutputFormat | None,
    option(
        OUTPUT,
        "--out-format",
        metavar="NAME",
        help=f"Format of the output: {list_choices(OutputFormat)}.",
        show_default="by suffix, else csv",
    ),
]


@dataclass(frozen=True)
class Writing:
    """Where a table goes."""

    out: Annotated[
        str,
        option(
            OUTPUT,
            "--out",
            "-o",
            metavar="FILE",
            help="Table to write: .csv, .tsv, .parquet, .npy or .npz.",
            show_default="standard output",
        ),
    ] = "-"
    out_format: OutFormat = None


@dataclass(frozen=True)
class Threshold:
    """Where normal ends."""

    contamination: Annotated[
        str,
        option(
            THRESHOLD,
            "--contamination",
            metavar="FRACTION",
            help="Fraction of the training rows to call anomalous, at most 0.5. With 'auto': the "
            "outliers of a box plot, or about one row in a hundred if there are none; fewer if "
            "held-out rows score lower than the others.",
        ),
    ] = "auto"
    calibration: Annotated[
        float | None,
        option(
            THRESHOLD,
            "--calibration",
            metavar="FRACTION",
            help="Fraction of the training rows to hold out, so that --contamination bounds the "
            "rate of false alarms.",
        ),
    ] = None
    image_shape: Annotated[
        str | None,
        option(
            OPTIONS,
            "--image-shape",
            metavar="HxW",
            help="Rows are images of this shape, such as 28x28: use the detector for images.",
        ),
    ] = None
    seed: Annotated[int, option(OPTIONS, "--seed", min=0, metavar="N", help="Random seed.")] = 0


@dataclass(frozen=True)
class Equations:
    """Which equations to look for; None where the user does not say."""

    degree: Annotated[
        int | None,
        option(
            EQUATIONS,
            "--degree",
            "-d",
            min=1,
            metavar="N",
            help="Largest degree.",
            show_default="2",
        ),
    ] = None
    tol: Annotated[
        str | None,
        option(
            EQUATIONS,
            "--tol",
            "-t",
            metavar="NUMBER",
            help="Largest root mean square of an equation on the data, in units of the columns' "
            "spreads if the columns are scaled. 'auto' finds the noise of the data, 'gap' a "
            "gap in the spectrum.",
            show_default="auto; 0.1 for detectors, classes and --construction",
        ),
    ] = None
    normalization: Annotated[
        Normalization | None,
        option(
            EQUATIONS,
            "--normalization",
            "-n",
            metavar="NAME",
            help=f"How the size of an equation is measured: {list_choices(Normalization)}.",
            show_default="gradient; contrastive with --contrast",
        ),
    ] = None
    construction: Annotated[
        Construction | None,
        option(
            EQUATIONS,
            "--construction",
            metavar="NAME",
            help=f"How equations are found: {list_choices(Construction)}. All except vca give each "
            "equation its own leading term.",
            show_default="vca",
        ),
    ] = None
    generators: Annotated[
        Generators | None,
        option(
            EQUATIONS,
            "--generators",
            metavar="NAME",
            help="Which equations to keep: all, or minimal, without those that follow from others.",
            show_default="all",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether the user asks for particular equations."""
        return any(getattr(self, each.name) is not None for each in fields(self))


@dataclass(frozen=True)
class Fitting:
    """What is done to the table before equations are fitted to it."""

    scale: Annotated[
        bool,
        option(
            EQUATIONS,
            "--scale/--no-scale",
            help="Standardize the columns first; equations are still in the original columns.",
        ),
    ] = True
    robust: Annotated[
        bool,
        option(EQUATIONS, "--robust", help="Leave out rows that break the equations of the rest."),
    ] = False


SkipMissing = Annotated[
    bool, option(COLUMNS, "--skip-missing", help="Leave out rows with missing values.")
]
Raw = Annotated[
    bool,
    option(EQUATIONS, "--raw", help="Equations as fitted, not as short as the noise allows."),
]
Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="FILE", help="Model file of fit --save or detect --save."
    ),
]
Label = Annotated[
    str | None,
    option(COLUMNS, "--label", metavar="COLUMN", help="Column of true labels; not a feature."),
]
Json = Annotated[bool, option(OUTPUT, "--json", help="Print one JSON object.")]
Report = Annotated[
    str | None,
    option(OUTPUT, "--report", metavar="FILE", help="HTML page to write, in a single file."),
]
Save = Annotated[
    str | None,
    option(OUTPUT, "--save", "-s", metavar="FILE", help="Model file to write."),
]
