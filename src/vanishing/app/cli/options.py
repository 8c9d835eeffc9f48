"""Options of commands, in groups that commands share.

A command takes its groups as one argument, and typer sees an option for each field of it. In help
texts, options stand under the heading that they name.
"""

from dataclasses import Field, dataclass, field, fields
from inspect import get_annotations
from typing import Any, ClassVar, Literal, get_args

import typer

TableFormat = Literal["csv", "parquet", "feather", "xlsx", "npy", "npz"]
DecimalOption = Literal[".", ","]
OutputFormat = Literal["csv", "tsv", "parquet", "npy", "npz"]
Normalization = Literal["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]
Construction = Literal["vca", "abm", "abm-gradient", "oavi"]
Generators = Literal["all", "minimal"]
Annotation = Literal["github", "sarif"]

#: Headings of help texts, in their order.
Panel = Literal["Options", "Equations", "Threshold", "Columns", "Layout", "Output"]


def option(
    panel: Panel, takes: str, help: str, *names: str, default: Any = None, **more: Any
) -> Any:
    """Return a field of a group of options: its heading, what it takes, and what it means."""
    described = {"rich_help_panel": panel, "metavar": takes or None, "help": help, **more}
    return field(default=default, metadata={"names": names, "described": described})


def flag(panel: Panel, help: str, *names: str) -> Any:
    """Return a field of a group of options that is true where it is given."""
    described = {"rich_help_panel": panel, "help": help}
    return field(default=False, metadata={"names": names, "described": described})


def describe_option(given: "Field[Any]") -> Any:
    """Return what typer takes for a field of a group of options."""
    names = given.metadata["names"]
    if not any(name.startswith("--") for name in names):
        names = (f"--{given.name.replace('_', '-')}", *names)
    return typer.Option(*names, **given.metadata["described"])


def list_options(group: "type[Options]") -> "list[Field[Any]]":
    """Return the options of a group, its own before those of the groups that it is made of."""
    names = dict.fromkeys(name for kind in group.__mro__ for name in get_annotations(kind))
    known = {each.name: each for each in fields(group) if each.metadata}
    return [known[name] for name in names if name in known]


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

    json: bool = flag("Output", "Print one JSON object.")
    quiet: bool = flag("Output", "Print no notes and no progress.", "-q")
    debug: bool = flag("Output", "Show the traceback of an error.")


class Reading(Options):
    """How tables are read."""

    columns: str | None = option(
        "Columns", "LIST", "Columns to use: names or numbers from 1, such as speed,3-5.", "-c"
    )
    drop: str | None = option("Columns", "LIST", "Columns to leave out.")
    id: str | None = option("Columns", "COLUMN", "Column that names the rows; not a feature.")
    header: bool | None = option(
        "Layout", "", "Whether the first line of a CSV file contains names.", "--header/--no-header"
    )
    delimiter: str | None = option("Layout", "CHAR", "Delimiter of a CSV file, or 'tab'.")
    decimal: DecimalOption | None = option(
        "Layout", "CHAR", "Decimal sign of numbers that are text: . or ,"
    )
    format: TableFormat | None = option(
        "Layout", "NAME", f"Format of the tables: {list_choices(TableFormat)}."
    )
    sheet: str | None = option(
        "Layout",
        "NAME",
        "Sheet of an Excel file, or cells of a table on it: Budget!B4:F30; of a CSV file "
        "B4:F30. By default the first with a table of numbers, and for laws and check all of them.",
    )
    transposed: bool | None = option(
        "Layout",
        "",
        "Whether the rows of a sheet are its variables; laws and check find out.",
        "--transposed/--not-transposed",
    )
    array: str | None = option("Layout", "NAME", "Array of an NPZ file.")
    label: str | None = None  # an option of some commands only


class LabelledReading(Reading):
    """How tables are read that may have true labels."""

    label: str | None = option("Columns", "COLUMN", "Column of true labels; not a feature.")


class ModelReading(Reading):
    """How tables are read, and the model that they are for."""

    model: str = option(
        "Options", "FILE", "Model file of fit --save or detect --save.", "-m", default=...
    )
    skip_missing: bool = flag("Columns", "Leave out rows with missing values.")


class Formatted(Options):
    """How a table is written."""

    out_format: OutputFormat | None = option(
        "Output",
        "NAME",
        f"Format of the output: {list_choices(OutputFormat)}.",
        show_default="by suffix, else csv",
    )


class Writing(Formatted):
    """Where the table goes that a command is about."""

    out: str = option(
        "Output",
        "FILE",
        "Table to write: .csv, .tsv, .parquet, .npy or .npz.",
        "-o",
        default="-",
        show_default="standard output",
    )


class Output(Formatted):
    """What is written besides what is shown."""

    out: str | None = option("Output", "FILE", "Table to write, or - for a pipe.", "-o")
    report: str | None = option("Output", "FILE", "HTML page to write, in a single file.")


class Equations(Options):
    """Which equations to look for; None where the user does not say."""

    degree: int | None = option("Equations", "N", "Largest degree.", "-d", min=1, show_default="2")
    tol: str | None = option(
        "Equations",
        "NUMBER",
        "Largest root mean square of an equation on the data, in units of the columns' "
        "spreads if the columns are scaled. 'auto' finds the noise of the data, 'gap' a "
        "gap in the spectrum.",
        "-t",
        show_default="auto; 0.1 for detectors, classes and --construction",
    )
    normalization: Normalization | None = option(
        "Equations",
        "NAME",
        f"How the size of an equation is measured: {list_choices(Normalization)}.",
        "-n",
        show_default="gradient; contrastive with --contrast",
    )
    construction: Construction | None = option(
        "Equations",
        "NAME",
        f"How equations are found: {list_choices(Construction)}. All except vca give each "
        "equation its own leading term.",
        show_default="vca",
    )
    generators: Generators | None = option(
        "Equations",
        "NAME",
        "Which equations to keep: all, or minimal, without those that follow from others.",
        show_default="all",
    )

    @property
    def given(self) -> bool:
        """Whether the user asks for particular equations."""
        return any(getattr(self, each.name) is not None for each in fields(Equations))


class Fitting(Equations):
    """What is done to the table before equations are fitted to it."""

    scale: bool = option(
        "Equations",
        "",
        "Standardize the columns first; equations are still in the original columns.",
        "--scale/--no-scale",
        default=True,
    )
    robust: bool = flag("Equations", "Leave out rows that break the equations of the rest.")


class Threshold(Options):
    """Where normal ends."""

    contamination: str = option(
        "Threshold",
        "FRACTION",
        "Fraction of the training rows to call anomalous, at most 0.5. With 'auto': the "
        "outliers of a box plot, or about one row in a hundred if there are none; fewer if "
        "held-out rows score lower than the others.",
        default="auto",
    )
    calibration: float | None = option(
        "Threshold",
        "FRACTION",
        "Fraction of the training rows to hold out, so that --contamination bounds the "
        "rate of false alarms.",
    )
    image_shape: str | None = option(
        "Options",
        "HxW",
        "Rows are images of this shape, such as 28x28: use the detector for images.",
    )
    seed: int = option("Options", "N", "Random seed.", default=0, min=0)


class Detection(Equations, Threshold):
    """How a detector is fitted."""


class Saving(Options):
    """Where the model goes."""

    save: str | None = option("Output", "FILE", "Model file to write.", "-s")


class AsFitted(Options):
    """How equations are written."""

    raw: bool = flag("Equations", "Equations as fitted, not as short as the noise allows.")
