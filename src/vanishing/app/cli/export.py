"""``vanishing export``: equations for other programs."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import DataError, ModelError, UsageError, emit, note, visible
from vanishing.app.cli.options import Json, Reading

Target = Literal["sympy", "latex", "python", "c", "onnx", "rational"]


def export(
    model: Annotated[str, typer.Argument(help="Model file.")],
    target: Annotated[Target, typer.Argument(help="What to write.")],
    reading: Reading,
    out: Annotated[str, typer.Option("--out", "-o", help="File to write.")] = "-",
    ideal: Annotated[
        str | None,
        typer.Option(
            "--ideal",
            help="Which ideal of a detector (part,piece) or of classes (the class).",
            show_default="the first",
        ),
    ] = None,
    digits: Annotated[
        int,
        typer.Option(
            "--digits",
            min=1,
            max=17,
            help="Digits of coefficients, more where an equation needs them (latex).",
        ),
    ] = 4,
    name: Annotated[
        str, typer.Option("--name", help="Name of the function (python, c).")
    ] = "evaluate",
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option("--dtype", help="Type of numbers (onnx).")
    ] = "float32",
    points: Annotated[
        str | None,
        typer.Option(
            "--points",
            help="Exact points to prove equations on (rational): the numbers as they are written.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write the equations of a model as SymPy, LaTeX, Python, C, ONNX or exact rationals."""
    import sys

    from vanishing.app.cli.models import load_model
    from vanishing.app.cli.tables import check_outputs, output_file

    if target == "onnx" and out == "-" and (json or sys.stdout.isatty()):
        raise UsageError("an ONNX graph is no text; name a file with --out")
    if target == "rational" and points is None:
        raise UsageError("rational equations are proved on exact points: --points X.csv")
    _check_name(target, name)
    check_outputs([out], [model, points])
    fitted = load_model(model)
    if target == "onnx":
        content = _onnx(fitted, dtype, ideal)
        lines: list[str] = []
    else:
        lines = _lines(fitted, target, ideal, digits, name, points, reading)
        text = "".join(f"{line}\n" for line in lines)
        content = (visible(text) if out == "-" else text).encode()
    if json and out == "-":
        emit({"target": target, "lines": lines})
        return
    with output_file(out) as file:
        file.write(content)
    if json:
        emit({"target": target, "out": out, "bytes": len(content)})


def _check_name(target: Target, name: str) -> None:
    """Refuse a name of the function that the language does not have."""
    from vanishing.equations.code import check_c_name, check_python_name

    check = {"python": check_python_name, "c": check_c_name}.get(target)
    try:
        if check is not None:
            check(name)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def _lines(
    model: Any,
    target: Target,
    key: str | None,
    digits: int,
    name: str,
    points: str | None,
    reading: Reading,
) -> list[str]:
    from vanishing.app.cli.console import required
    from vanishing.app.cli.models import (
        choose_ideal,
        coordinate_names,
        feature_names,
        is_detector,
        library_errors,
        preprocessing,
    )

    key, ideal = choose_ideal(model, key)
    names, meaning = coordinate_names(model, key)
    if not ideal.basis_.count():
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")
    options: dict[str, Any] = {}
    if not is_detector(model) and (steps := preprocessing(model)) is not None:
        # Carried back through scaling and PCA to the columns of the data.
        names, meaning, options = feature_names(model), "", {"preprocessor": steps}
    write = required("vanishing.equations", f"to_{target}", extra="symbolic")
    if target == "rational" and meaning:
        raise ModelError(
            f"the equations of this detector are {meaning}, so that points prove nothing about "
            "them; make an ideal with vanishing fit --tol 0"
        )
    if meaning:
        note(f"the equations are {meaning}")
    with library_errors(f"export to {target}"):
        if target == "rational":
            assert points is not None
            found = write(ideal, _exact_points(points, reading, model), names, **options)
            return [_sympy_text(each.as_expr()) for each in found]
        if target == "sympy":
            return [_sympy_text(each) for each in write(ideal, names, **options)]
        if target == "latex":
            return list(write(ideal, names, digits=digits, **options))
        return [str(write(ideal, names, name=name, **options)).rstrip("\n")]


def _sympy_text(expression: Any) -> str:
    """Write an expression that ``sympy.sympify`` reads back, whatever the columns are called.

    Names such as "a b", "lambda" or "E", Euler's number to SymPy, are written Symbol('a b').
    """
    from keyword import iskeyword

    import sympy
    from sympy.printing.str import StrPrinter

    class Readable(StrPrinter):
        def _print_Symbol(self, expr: Any) -> str:
            name = expr.name
            plain = name.isidentifier() and not iskeyword(name) and not hasattr(sympy, name)
            return name if plain else f"Symbol({name!a})"

    return str(Readable().doprint(expression))


def _exact_points(path: str, reading: Reading, model: Any) -> Any:
    """Read points as they are written: 0.1 is one tenth, and not the float next to it."""
    import numpy as np

    from vanishing.app.cli.tables import choose, open_input, table_errors

    with table_errors():
        opened = open_input(path, reading)
        model_names = getattr(model, "feature_names_in_", None)
        chosen = choose(opened, reading, model_names=model_names, lenient=True)
        if len(chosen.features) != model.n_features_in_:
            raise DataError(
                f"{path} has {len(chosen.features)} columns to use, expected "
                f"{model.n_features_in_}; choose them with --columns"
            )
        if hasattr(opened, "arrays"):  # binary: floats, taken literally
            return opened.numbers(chosen.features)
        return np.column_stack([opened.texts(j) for j in chosen.features])


def _onnx(model: Any, dtype: str, ideal: str | None) -> bytes:
    from vanishing.app.cli.console import required
    from vanishing.app.cli.models import choose_ideal, library_errors

    to_onnx = required("vanishing.equations", "to_onnx", extra="onnx")
    chosen = model if ideal is None else choose_ideal(model, ideal)[1]
    with library_errors("export to onnx"):
        return bytes(to_onnx(chosen, dtype=dtype).SerializeToString())
