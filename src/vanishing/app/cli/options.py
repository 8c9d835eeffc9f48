"""Options of commands, in groups.

A command takes a group as one argument, and typer sees an option for each field of it. In help
texts, options stand under the heading that they name.
"""

from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

import typer

TableFormat = Literal["csv", "parquet", "feather", "xlsx", "npy", "npz"]
DecimalOption = Literal[".", ","]
OutputFormat = Literal["csv", "tsv", "parquet", "npy", "npz"]
Normalization = Literal["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]
Construction = Literal["vca", "abm", "abm-gradient", "oavi"]
Generators = Literal["all", "minimal"]
Annotation = Literal["github", "sarif"]

#: Headings of help texts, in their order.
OPTIONS, EQUATIONS, THRESHOLD = "Options", "Equations", "Threshold"
COLUMNS, LAYOUT, OUTPUT = "Columns and rows", "Layout of tables (guessed by default)", "Output"
PANELS = (OPTIONS, EQUATIONS, THRESHOLD, COLUMNS, LAYOUT, OUTPUT)


def option(panel: str, *names: str, default: Any = None, help: str, **more: Any) -> Any:
    """Return a field of a group of options, with the arguments that ``typer.Option`` takes.

    The name is that of the field, after a short one if there is any.
    """
    described = {"rich_help_panel": panel, "help": help, **more}
    return field(default=default, metadata={"names": names, "described": described})


def describe_option(given: "Field[Any]") -> Any:
    """Return what typer takes for a field of a group of options."""
    names = given.metadata["names"]
    if not any(name.startswith("--") for name in names):
        names = (f"--{given.name.replace('_', '-')}", *names)
    return typer.Option(*names, **given.metadata["described"])


def list_choices(choices: Any) -> str:
    """Write the choices of a ``Literal`` in a row."""
    return ", ".join(get_args(choices))


class Options:
    """A group of options; those that derive from it are dataclasses with a default for each."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False)(cls)

    def __init__(self, **given: Any) -> None:
        vars(self).update({each.name: each.default for each in fields(self)} | given)


class Console(Options):
    """What is said; options of all commands."""

    quiet: bool = option(OUTPUT, "-q", default=False, help="Print no notes and no progress.")
    debug: bool = option(OUTPUT, default=False, help="Show the traceback of an error.")


class Reading(Options):
    """How tables are read."""

    columns: str | None = option(
        COLUMNS,
        "-c",
        metavar="LIST",
        help="Columns to use: names or numbers from 1, such as speed,3-5.",
    )
    drop: str | None = option(COLUMNS, metavar="LIST", help="Columns to leave out.")
    id: str | None = option(
        COLUMNS, metavar="COLUMN", help="Column that names the rows; not a feature."
    )
    header: bool | None = option(
        LAYOUT, "--header/--no-header", help="Whether the first line of a CSV file contains names."
    )
    delimiter: str | None = option(
        LAYOUT, metavar="CHAR", help="Delimiter of a CSV file, or 'tab'."
    )
    decimal: DecimalOption | None = option(
        LAYOUT, metavar="CHAR", help="Decimal sign of numbers that are text: . or ,"
    )
    format: TableFormat | None = option(
        LAYOUT, metavar="NAME", help=f"Format of the tables: {list_choices(TableFormat)}."
    )
    sheet: str | None = option(
        LAYOUT,
        metavar="NAME",
        help="Sheet of an Excel file, or cells of a table on it: Budget!B4:F30; of a CSV file "
        "B4:F30. By default the first with a table of numbers, and for laws and check all of them.",
    )
    transposed: bool | None = option(
        LAYOUT,
        "--transposed/--not-transposed",
        help="Whether the rows of a sheet are its variables; laws and check find out.",
    )
    array: str | None = option(LAYOUT, metavar="NAME", help="Array of an NPZ file.")


class Formatted(Options):
    """How a table is written."""

    out_format: OutputFormat | None = option(
        OUTPUT,
        metavar="NAME",
        help=f"Format of the output: {list_choices(OutputFormat)}.",
        show_default="by suffix, else csv",
    )


class Writing(Formatted):
    """Where the table goes that a command is about."""

    out: str = option(
        OUTPUT,
        "-o",
        default="-",
        metavar="FILE",
        help="Table to write: .csv, .tsv, .parquet, .npy or .npz.",
        show_default="standard output",
    )


class Output(Formatted):
    """What is written besides what is shown."""

    out: str | None = option(OUTPUT, "-o", metavar="FILE", help="Table to write, or - for a pipe.")
    report: str | None = option(
        OUTPUT, metavar="FILE", help="HTML page to write, in a single file."
    )
    json: bool = option(OUTPUT, default=False, help="Print one JSON object.")


class Threshold(Options):
    """Where normal ends."""

    contamination: str = option(
        THRESHOLD,
        default="auto",
        metavar="FRACTION",
        help="Fraction of the training rows to call anomalous, at most 0.5. With 'auto': the "
        "outliers of a box plot, or about one row in a hundred if there are none; fewer if "
        "held-out rows score lower than the others.",
    )
    calibration: float | None = option(
        THRESHOLD,
        metavar="FRACTION",
        help="Fraction of the training rows to hold out, so that --contamination bounds the "
        "rate of false alarms.",
    )
    image_shape: str | None = option(
        OPTIONS,
        metavar="HxW",
        help="Rows are images of this shape, such as 28x28: use the detector for images.",
    )
    seed: int = option(OPTIONS, default=0, min=0, metavar="N", help="Random seed.")


class Equations(Options):
    """Which equations to look for; None where the user does not say."""

    degree: int | None = option(
        EQUATIONS, "-d", min=1, metavar="N", help="Largest degree.", show_default="2"
    )
    tol: str | None = option(
        EQUATIONS,
        "-t",
        metavar="NUMBER",
        help="Largest root mean square of an equation on the data, in units of the columns' "
        "spreads if the columns are scaled. 'auto' finds the noise of the data, 'gap' a "
        "gap in the spectrum.",
        show_default="auto; 0.1 for detectors, classes and --construction",
    )
    normalization: Normalization | None = option(
        EQUATIONS,
        "-n",
        metavar="NAME",
        help=f"How the size of an equation is measured: {list_choices(Normalization)}.",
        show_default="gradient; contrastive with --contrast",
    )
    construction: Construction | None = option(
        EQUATIONS,
        metavar="NAME",
        help=f"How equations are found: {list_choices(Construction)}. All except vca give each "
        "equation its own leading term.",
        show_default="vca",
    )
    generators: Generators | None = option(
        EQUATIONS,
        metavar="NAME",
        help="Which equations to keep: all, or minimal, without those that follow from others.",
        show_default="all",
    )

    @property
    def given(self) -> bool:
        """Whether the user asks for particular equations."""
        return any(getattr(self, each.name) is not None for each in fields(self))


class Fitting(Options):
    """What is done to the table before equations are fitted to it."""

    scale: bool = option(
        EQUATIONS,
        "--scale/--no-scale",
        default=True,
        help="Standardize the columns first; equations are still in the original columns.",
    )
    robust: bool = option(
        EQUATIONS, default=False, help="Leave out rows that break the equations of the rest."
    )


class Compared(Options):
    """What the rows of a table are compared with."""

    train: str | None = option(
        OPTIONS, metavar="TABLE", help="Table of normal rows.", show_default="the table itself"
    )
    model: str | None = option(
        OPTIONS, "-m", metavar="FILE", help="Model file of detect --save or fit --save."
    )


# --- Options of several commands that are in no group ---------------------------------------------


def _shared(panel: str, *names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, help=help, **more)


Model = Annotated[
    str,
    _shared(
        OPTIONS, "--model", "-m", metavar="FILE", help="Model file of fit --save or detect --save."
    ),
]
SkipMissing = Annotated[
    bool, _shared(COLUMNS, "--skip-missing", help="Leave out rows with missing values.")
]
Label = Annotated[
    str | None,
    _shared(COLUMNS, "--label", metavar="COLUMN", help="Column of true labels; not a feature."),
]
Raw = Annotated[
    bool, _shared(EQUATIONS, "--raw", help="Equations as fitted, not as short as the noise allows.")
]
Save = Annotated[
    str | None, _shared(OUTPUT, "--save", "-s", metavar="FILE", help="Model file to write.")
]
Json = Annotated[bool, _shared(OUTPUT, "--json", help="Print one JSON object.")]
