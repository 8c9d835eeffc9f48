"""The commands ``show``, ``export`` and ``info``."""

from typing import Annotated, Any, Literal, cast, get_args

import typer

from vanishing.app.cli.console import (
    DataError,
    ModelError,
    UsageError,
    emit,
    note,
    required,
    say,
    visible,
)
from vanishing.app.cli.options import (
    OUTPUT,
    Equations,
    Fitting,
    Json,
    Raw,
    Reading,
    list_choices,
    option,
)

IdealName = Annotated[
    str | None,
    typer.Option(
        "--ideal",
        metavar="NAME",
        help="Which ideal of a detector (part,cluster) or of classes (the class).",
        show_default="the first",
    ),
]

# --- ``vanishing show``: what is in a model -------------------------------------------------------

What = Literal["equations", "spectrum", "basis"]

#: What is told of each degree of a basis.
TRACED = (
    *("degree", "candidates", "rank", "vanishing", "nonvanishing", "dropped", "unbounded"),
    *("cut", "left_out", "undecided", "tol", "condition", "seconds"),
)


def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    reading: Reading,
    what: Annotated[
        What,
        typer.Argument(metavar="WHAT", help=f"What to show: {list_choices(What)}."),
    ] = "equations",
    ideal: IdealName = None,
    digits: Annotated[
        int | None,
        typer.Option(
            "--digits",
            min=1,
            max=17,
            metavar="N",
            help="Digits of coefficients, more where an equation needs them.",
            show_default="as many as the extent needs",
        ),
    ] = None,
    terms: Annotated[
        int,
        typer.Option(
            "--terms", min=0, metavar="N", help="Terms of an equation to show, 0 for all."
        ),
    ] = 12,
    points: Annotated[
        str | None,
        typer.Option(
            "--points",
            metavar="TABLE",
            help="Table of the points: drawn, and used to round the equations.",
        ),
    ] = None,
    picture: Annotated[
        str | None,
        option(OUTPUT, "--picture", metavar="FILE", help="Picture to draw: .png, .svg or .pdf."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the equations of a model, its spectrum or its basis."""
    from vanishing.app.cli.equations import headline, show_basis, show_equations, show_spectrum
    from vanishing.app.cli.models import ideals_of, is_detector, load_model
    from vanishing.app.cli.tables import check_outputs, read_table

    check_outputs([picture], [model, points])
    fitted = load_model(model)
    table = None if points is None else read_table(points, reading, model=fitted, gaps="skip")
    if picture is not None:
        _draw(picture, fitted, what, ideal, table)
    if json:
        emit(_record(fitted, what, ideal, digits))
        return
    say(headline(fitted))
    if what == "equations":
        show_equations(fitted, ideal, digits=digits, terms=terms, table=table)
        if ideal is None and len(ideals_of(fitted)) > 1 and is_detector(fitted):
            say(f"this is one of {len(ideals_of(fitted))} ideals; --ideal shows another")
    elif what == "spectrum":
        show_spectrum(fitted, ideal)
    else:
        show_basis(fitted, ideal)
    if picture is not None:
        note(f"wrote {picture}")


def _record(model: Any, what: What, name: str | None, digits: int | None) -> dict[str, Any]:
    from vanishing.app.cli.equations import carry_back, equation_texts
    from vanishing.app.cli.models import choose_ideal, feature_names, kind_of

    key, ideal = choose_ideal(model, name)
    record: dict[str, Any] = {
        "model": kind_of(model),
        "features": feature_names(model),
        "ideal": key,
    }
    if what == "equations":
        shown_ideal, names, meaning = carry_back(model, key)
        texts = equation_texts(shown_ideal, names, digits=digits)
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
    from vanishing.app.cli.equations import carry_back
    from vanishing.app.cli.models import (
        choose_ideal,
        coordinate_names,
        is_detector,
        library_errors,
        preprocess,
        save_picture,
    )

    key, ideal = choose_ideal(model, name)
    _, meaning = coordinate_names(model, key)
    if is_detector(model) and meaning and (what == "equations" or table is not None):
        raise UsageError(
            f"the equations of this detector are {meaning}, where the points of a table are not; "
            "draw its spectrum or its basis without --points, or an ideal of vanishing fit"
        )
    if what == "equations" and table is None:
        raise UsageError(
            "a model does not store its points: pass the table with --points to draw them"
        )
    points = None if table is None else preprocess(model, table.for_model)
    if (
        table is not None
        and what == "equations"
        and not (carried := carry_back(model, key)).meaning
    ):
        ideal, points = carried.ideal, table.for_model
    names = {"equations": "ZeroSetDisplay", "spectrum": "SpectrumDisplay", "basis": "BasisDisplay"}
    display = required("vanishing.plotting", names[what], extra="plot")
    with library_errors(path):
        save_picture(path, lambda: display.from_estimator(ideal, points))


# --- ``vanishing export``: equations for other programs -------------------------------------------

System = Literal["macaulay2", "singular", "cocoa", "oscar", "sage"]
Target = Literal["sympy", "latex", "python", "c", "onnx", "rational", System]
#: Computer algebra systems.
SYSTEMS = get_args(System)


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or a table to fit.")],
    target: Annotated[
        Target, typer.Argument(metavar="TARGET", help=f"What to write: {list_choices(Target)}.")
    ],
    reading: Reading,
    wanted: Equations,
    fitting: Fitting,
    ideal: IdealName = None,
    digits: Annotated[
        int | None,
        typer.Option(
            "--digits",
            min=1,
            max=17,
            metavar="N",
            help="Digits of decimals, more where an equation needs them (not python, c, onnx).",
            show_default="as many as the noise allows",
        ),
    ] = None,
    raw: Raw = False,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the function (python, c).")
    ] = "evaluate",
    dtype: Annotated[
        Literal["float32", "float64"],
        typer.Option("--dtype", metavar="NAME", help="Type of numbers (onnx): float32 or float64."),
    ] = "float32",
    points: Annotated[
        str | None,
        typer.Option(
            "--points",
            metavar="TABLE",
            help="Table of the points: used to shorten the equations (sympy, latex), or to prove "
            "exact ones on its numbers as they are written (rational, computer algebra).",
        ),
    ] = None,
    out: Annotated[
        str,
        option(
            OUTPUT,
            "--out",
            "-o",
            metavar="FILE",
            help="File to write.",
            show_default="standard output",
        ),
    ] = "-",
    json: Json = False,
) -> None:
    """Write equations as SymPy, LaTeX, Python, C or ONNX.

    Or as an ideal for a computer algebra system: Macaulay2, Singular, CoCoA, OSCAR or Sage.

    Equations of a table are those that fit finds in it. With a table, SymPy, LaTeX and ideals are
    as short as the noise of the points allows.
    """
    import sys

    from vanishing.app.cli.models import (
        core,
        fit_equations,
        is_model_file,
        load_model,
        refuse_unused,
    )
    from vanishing.app.cli.tables import check_inputs, check_outputs, output_file, read_table

    if target == "onnx" and out == "-" and (json or sys.stdout.isatty()):
        raise UsageError("an ONNX graph is not text; name a file with --out")
    if target == "rational" and points is None:
        raise UsageError("rational equations are proved on exact points: --points X.csv")
    _check_name(target, name)
    check_outputs([out], [model, points])
    table = None
    if is_model_file(model):
        refuse_unused(wanted, fitting, reason="the model is already fitted")
        fitted = load_model(model)
        if points is not None and target in ("sympy", "latex"):
            table = read_table(points, reading, model=fitted, gaps="skip")
    else:
        check_inputs([model])
        table = read_table(model, reading, set_aside=True, gaps="skip")
        fitted = fit_equations(table, wanted, fitting)
        if fitting.robust:
            table = table.keep(core(fitted).inlier_mask_)
    if target == "onnx":
        content = _onnx(fitted, dtype, ideal)
        lines: list[str] = []
    else:
        proved = target in SYSTEMS and points is not None
        lines = _short_lines(fitted, target, ideal, digits, None if raw or proved else table)
        lines = lines or _lines(fitted, target, ideal, digits, name, points, reading, raw=raw)
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


def _short_lines(
    model: Any, target: Target, name: str | None, digits: int | None, table: Any
) -> list[str]:
    """Write equations as short as the noise of a table allows; none where that does not apply."""
    from vanishing.app.cli.equations import carry_back, tidy_equations
    from vanishing.app.cli.models import choose_ideal, is_detector

    if table is None or target not in ("sympy", "latex", *SYSTEMS):
        return []
    ideal, names, meaning = carry_back(model, choose_ideal(model, name)[0])
    if meaning and is_detector(model):
        raise UsageError(
            f"the equations of this detector are {meaning}, where the points of a table are not; "
            "leave --points out"
        )
    found = [] if meaning else tidy_equations(ideal, table.values, names, mix=True, digits=digits)
    if found and target in SYSTEMS:
        from vanishing.equations import to_computer_algebra

        return [to_computer_algebra(found, cast(System, target), names).rstrip("\n")]
    if target == "latex":
        return [each.latex for each in found or []]
    return [_sympy_text(each.expression) for each in found or []]


def _lines(
    model: Any,
    target: Target,
    key: str | None,
    digits: int | None,
    name: str,
    points: str | None,
    reading: Reading,
    *,
    raw: bool,
) -> list[str]:
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
    function = "to_computer_algebra" if target in SYSTEMS else f"to_{target}"
    write = required("vanishing.equations", function, extra="symbolic")
    if points is not None and target in ("rational", *SYSTEMS) and meaning:
        raise ModelError(
            f"the equations of this detector are {meaning}, so points prove nothing about "
            "them; make an ideal with vanishing fit --tol 0"
        )
    if meaning:
        note(f"the equations are {meaning}")
    with library_errors(f"export to {target}"):
        if target == "rational":
            assert points is not None
            found = write(ideal, _exact_points(points, reading, model), names, **options)
            return [_sympy_text(each.as_expr()) for each in found]
        if target in SYSTEMS:
            if points is not None:
                options["points"] = _exact_points(points, reading, model)
            if digits is not None:
                options["digits"] = digits
            return [write(ideal, target, names, **options).rstrip("\n")]
        if target == "sympy":
            found = (
                write(ideal, names, **options)
                if raw
                else _rounded_expressions(ideal, names, digits, **options)
            )
            return [_sympy_text(each) for each in found]
        if target == "latex":
            return list(write(ideal, names, digits=17 if raw else digits or 4, **options))
        return [str(write(ideal, names, name=name, **options)).rstrip("\n")]


def _rounded_expressions(
    ideal: Any, names: Any, digits: int | None, preprocessor: Any = None
) -> list[Any]:
    """Return SymPy expressions without the terms and digits that do not count on the data."""
    import numpy as np
    import sympy

    from vanishing.equations.expansion import choose_terms, equations_of

    equations = equations_of(ideal, names, preprocessor=preprocessor)
    symbols = [sympy.Symbol(name) for name in equations.names]
    expressions = []
    for chosen in choose_terms(equations.basis, equations.scale, digits=digits):
        of_each = np.broadcast_to(chosen.digits, len(chosen.coefficients)).tolist()
        each = zip(chosen.exponents.tolist(), chosen.coefficients, of_each, strict=True)
        terms = [
            sympy.Float(float(f"{value:.{n_digits}g}"))
            * sympy.Mul(*(symbol**power for symbol, power in zip(symbols, powers, strict=True)))
            for powers, value, n_digits in each
        ]
        expressions.append(sympy.Add(*terms))
    return expressions


def _sympy_text(expression: Any) -> str:
    """Write an expression that ``sympy.sympify`` reads back, whatever the columns are called.

    Names such as "a b", "lambda", "open" or "E", Euler's number to SymPy, are written
    Symbol('a b'). So are those that Python reads in another form: "ﬁt" is "fit" to it.
    """
    import builtins
    import re
    from keyword import iskeyword
    from unicodedata import normalize

    import sympy
    from sympy.printing.str import StrPrinter

    class Readable(StrPrinter):
        def _print_Symbol(self, expr: Any) -> str:
            name = expr.name
            is_word = re.fullmatch(r"[^\W\d]\w*", name) and normalize("NFKC", name) == name
            taken = iskeyword(name) or hasattr(sympy, name) or hasattr(builtins, name)
            plain = is_word and not taken and not name.startswith("__")
            return name if plain else f"Symbol({name!a})"

    return str(Readable().doprint(expression))


def _exact_points(path: str, reading: Reading, model: Any) -> Any:
    """Read points as they are written: 0.1 is one tenth, and not the float next to it."""
    import numpy as np

    from vanishing.app.cli.tables import choose, open_input, table_errors
    from vanishing.data.csv_files import CsvFile

    with table_errors():
        opened = open_input(path, reading)
        model_names = getattr(model, "feature_names_in_", None)
        chosen = choose(opened, reading, model_names=model_names, lenient=True)
        if len(chosen.features) != model.n_features_in_:
            raise DataError(
                f"{path} has {len(chosen.features)} columns to use, expected "
                f"{model.n_features_in_}; choose them with --columns"
            )
        if not isinstance(opened, CsvFile):  # binary: floats, taken literally
            return opened.numbers(chosen.features)
        sign = opened.kinds.decimal.sign
        texts = [[cell.replace(sign, ".") for cell in opened.texts(j)] for j in chosen.features]
        return np.column_stack([np.array(each, dtype=object) for each in texts])


def _onnx(model: Any, dtype: str, ideal: str | None) -> bytes:
    from vanishing.app.cli.models import choose_ideal, library_errors

    to_onnx = required("vanishing.equations", "to_onnx", extra="onnx")
    chosen = model if ideal is None else choose_ideal(model, ideal)[1]
    with library_errors("export to onnx"):
        return bytes(to_onnx(chosen, dtype=dtype).SerializeToString())


# --- ``vanishing info``: what a table or a model file is, or versions, threads and device ---------

#: The packages of each extra that are imported.
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow"),
    "symbolic": ("sympy",),
    "plot": ("matplotlib",),
    "web": ("starlette", "uvicorn", "pyarrow"),
    "onnx": ("onnx",),
    "excel": ("openpyxl",),
    "io": ("pyarrow", "zarr"),
    "dask": ("dask", "distributed"),
    "torch": ("torch",),
    "pyod": ("pyod",),
    "data": ("pooch",),
}
NEEDED = ("numpy", "scipy", "scikit-learn", "array-api-compat", "threadpoolctl", "safetensors")


def info(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Table or model file to describe.")
    ] = None,
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Describe a table and suggest what to run, or describe a model.

    Without a file, show versions, threads and device.
    """
    from vanishing.app.cli.models import is_model_file

    if file is not None and not is_model_file(file):
        from vanishing.app.cli.columns import describe_table, description_record, show_description

        described = describe_table(file, reading)
        if json:
            emit(description_record(described))
        else:
            show_description(described)
        return
    record = _installation() if file is None else _file(file)
    if json:
        emit(record)
        return
    for key, value in record.items():
        if isinstance(value, dict):
            say(f"{key}:")
            for name, each in value.items():
                say(f"  {name:16} {_short(each)}")
        else:
            say(f"{key:18} {_short(value)}")


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (", ..." if len(value) > 8 else "") or "none"
    return "none" if value is None else str(value)


def _installation() -> dict[str, Any]:
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from threadpoolctl import threadpool_info

    import vanishing

    def found(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    import numpy  # noqa: F401  its thread pools are looked at
    import scipy.linalg  # noqa: F401

    pools = {f"{each['user_api']} threads": each["num_threads"] for each in threadpool_info()}
    return {
        "vanishing": vanishing.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        **pools,
        "device": _device(),
        "packages": {package: found(package) for package in NEEDED},
        "extras": {
            extra: "ready"
            if all(map(find_spec, packages))
            else f"missing: pip install 'vanishing[{extra}]'"
            for extra, packages in EXTRAS.items()
        },
    }


def _device() -> str:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return "processor (GPUs need the extra torch)"
    import torch

    if not torch.cuda.is_available():  # pragma: no branch - needs CUDA
        return "processor (torch sees no GPU)"
    return f"GPU: {torch.cuda.get_device_name(0)}"  # pragma: no cover - needs CUDA


def _file(path: str) -> dict[str, Any]:
    import json
    from pathlib import Path

    from safetensors import safe_open

    from vanishing.app.cli.models import (
        feature_names,
        ideals_of,
        is_detector,
        kind_of,
        load_model,
        threshold_of,
    )

    model = load_model(path)
    with safe_open(path, framework="numpy") as file:
        manifest = json.loads(file.metadata()["manifest"])
    ideals = ideals_of(model).values()
    record = {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "model": kind_of(model),
        "format version": manifest["format_version"],
        "written by": ", ".join(f"{name} {v}" for name, v in manifest["versions"].items()),
        "fingerprint": manifest["data"]["fingerprint"],
        "columns": feature_names(model),
        "ideals": len(ideals),
        "equations": sum(ideal.basis_.count() for ideal in ideals),
        "parameters": {name: str(value) for name, value in model.get_params(deep=False).items()},
    }
    if is_detector(model):
        record["threshold"] = threshold_of(model)
    return record
