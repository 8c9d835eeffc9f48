"""``vanishing show``: what is in a model."""

from typing import Annotated, Any, Literal

import typer

from vanishing.cli.console import emit, note, say
from vanishing.cli.options import Json, Reading

What = Literal["equations", "spectrum", "basis"]

#: What is told of each degree of a basis.
TRACED = (
    "degree",
    "candidates",
    "rank",
    "vanishing",
    "nonvanishing",
    "dropped",
    "unbounded",
    "cut",
    "left_out",
    "undecided",
    "tol",
    "condition",
    "seconds",
)


def show(
    model: Annotated[str, typer.Argument(help="Model file.")],
    reading: Reading,
    what: Annotated[
        What,
        typer.Argument(help="The equations; extents by degree; or what happened at each degree."),
    ] = "equations",
    ideal: Annotated[
        str | None,
        typer.Option(
            "--ideal",
            help="Which ideal of a detector (part,piece) or of classes (the class).",
            show_default="the first",
        ),
    ] = None,
    digits: Annotated[
        int | None,
        typer.Option(
            "--digits",
            min=1,
            max=17,
            help="Digits of coefficients.",
            show_default="as many as the extent asks for",
        ),
    ] = None,
    terms: Annotated[
        int, typer.Option("--terms", min=0, help="Terms of an equation to show, 0 for all.")
    ] = 12,
    picture: Annotated[
        str | None,
        typer.Option("--picture", help="Draw it: PNG, SVG or PDF."),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            "--points", help="Table of the points: drawn, and used to round the equations."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the equations of a model, its spectrum or its basis."""
    from vanishing.cli import describe
    from vanishing.cli.models import ideals_of, is_detector, load_model
    from vanishing.cli.tables import check_outputs, read_table

    check_outputs([picture], [model, points])
    fitted = load_model(model)
    table = None if points is None else read_table(points, reading, model=fitted)
    if picture is not None:
        _draw(picture, fitted, what, ideal, table)
    if json:
        emit(_record(fitted, what, ideal, digits))
        return
    say(describe.headline(fitted))
    if what == "equations":
        describe.show_equations(fitted, ideal, digits=digits, terms=terms, table=table)
        if ideal is None and len(ideals_of(fitted)) > 1 and is_detector(fitted):
            say(f"this is one of {len(ideals_of(fitted))} ideals; --ideal shows another")
    elif what == "spectrum":
        describe.show_spectrum(fitted, ideal)
    else:
        describe.show_basis(fitted, ideal)
    if picture is not None:
        note(f"wrote {picture}")


def _record(model: Any, what: What, name: str | None, digits: int | None) -> dict[str, Any]:
    from vanishing.cli.coordinates import written
    from vanishing.cli.equations import equation_texts
    from vanishing.cli.models import choose_ideal, feature_names, kind_of

    key, ideal = choose_ideal(model, name)
    record: dict[str, Any] = {
        "model": kind_of(model),
        "features": feature_names(model),
        "ideal": key,
    }
    if what == "equations":
        shown_ideal, names, meaning, sized = written(model, key)
        texts = equation_texts(shown_ideal, names, digits=digits, sized=sized)
        return record | {
            "variables": names,
            "coordinates": meaning or "in the columns of the table",
            "equations": [
                {"name": str(label), "degree": int(degree), "extent": float(extent), "text": text}
                for label, degree, extent, text in zip(
                    ideal.get_feature_names_out(),
                    ideal.basis_.degrees(),
                    ideal.extents_,
                    texts,
                    strict=True,
                )
            ],
        }
    shown = ("degree", "tol", "spectrum") if what == "spectrum" else TRACED
    return record | {
        "stop_reason": ideal.stop_reason_,
        "degrees": [{name: getattr(trace, name) for name in shown} for trace in ideal.trace_],
    }


def _draw(path: str, model: Any, what: What, name: str | None, table: Any) -> None:
    from vanishing.cli.exits import UsageError
    from vanishing.cli.models import (
        choose_ideal,
        coordinate_names,
        is_detector,
        library_errors,
        preprocessed,
    )
    from vanishing.cli.optional import required
    from vanishing.cli.pictures import save_picture

    key, ideal = choose_ideal(model, name)
    _, meaning = coordinate_names(model, key)
    if is_detector(model) and meaning and (what == "equations" or table is not None):
        raise UsageError(
            f"the equations of this detector are {meaning}, where the points of a table are not; "
            "draw its spectrum or its basis without --points, or an ideal of vanishing fit"
        )
    if what == "equations" and table is None:
        raise UsageError(
            "a model does not know where its points are: pass the table with --points to draw them"
        )
    points = None if table is None else preprocessed(model, table.for_model)
    display = required(
        "vanishing.plotting",
        {"equations": "ZeroSetDisplay", "spectrum": "SpectrumDisplay", "basis": "BasisDisplay"}[
            what
        ],
        extra="plot",
    )
    with library_errors(path):
        save_picture(
            path,
            lambda: display.from_estimator(ideal, points),
        )
