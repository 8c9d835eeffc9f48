"""The commands ``show``, ``export`` and ``info``."""

from typing import Annotated, Any, Literal, cast, get_args

import typer

from vanishing.app.cli.console import (
    DataError,
    ModelError,
    UsageError,
    emit,
    list_lines,
    list_some,
    note,
    note_files,
    pick,
    say,
    state,
    visible,
)
from vanishing.app.cli.exports import RULE_TARGETS, RuleTarget, RuleWriting, export_rules
from vanishing.app.cli.options import (
    AsFitted,
    Equations,
    Fitting,
    Options,
    Reading,
    list_choices,
    option,
)
from vanishing.levels import ALL_DIGITS


class Chosen(Options):
    """Which equations of a model, and with how many digits."""

    ideal: str | None = option(
        "Options",
        "NAME",
        "Which ideal of a detector (part,cluster) or of classes (the class).",
        show_default="the first",
    )
    digits: int | None = option(
        "Options",
        "N",
        "Digits of coefficients, more where an equation needs them.",
        min=1,
        max=ALL_DIGITS,
        show_default="as many as the noise allows",
    )


# --- ``vanishing show``: what is in a model -------------------------------------------------------

What = Literal["equations", "spectrum", "basis"]

#: What is told of each degree of a basis.
TRACED = (
    *("degree", "candidates", "rank", "vanishing", "nonvanishing", "dropped", "unbounded"),
    *("cut", "left_out", "undecided", "tol", "condition", "seconds"),
)


class ShowOptions(Chosen, Reading):
    """How to show equations."""

    terms: int = option(
        "Options", "N", "Terms of an equation to show, 0 for all.", default=12, min=0
    )
    points: str | None = option(
        "Options", "TABLE", "Table of the points: drawn, and used to round the equations."
    )
    picture: str | None = option("Output", "FILE", "Picture to draw: .png, .svg or .pdf.")


def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    asked: ShowOptions,
    what: Annotated[
        What, typer.Argument(metavar="WHAT", help=f"What to show: {list_choices(What)}.")
    ] = "equations",
) -> None:
    """Show the equations of a model, its spectrum or its basis."""
    from vanishing.app.cli import describe, models, tables

    tables.check_outputs([asked.picture], [model, asked.points])
    fitted = models.load_model(model)
    table = None
    if asked.points is not None:
        table = tables.read_input(asked.points, asked, model=fitted, gaps="skip")
    if asked.picture is not None:
        _draw(asked.picture, fitted, what, asked.ideal, table)
    if state.json:
        emit(_record(fitted, what, asked))
        return
    say(describe.headline(fitted))
    if what == "equations":
        describe.show_equations(
            fitted, asked.ideal, digits=asked.digits, terms=asked.terms, table=table
        )
        n_ideals = len(models.ideals_of(fitted))
        if asked.ideal is None and n_ideals > 1 and models.is_detector(fitted):
            say(f"this is one of {n_ideals} ideals; --ideal shows another")
    elif what == "spectrum":
        describe.show_spectrum(fitted, asked.ideal)
    else:
        describe.show_basis(fitted, asked.ideal)
    note_files(asked.picture)


def _record(model: Any, what: What, asked: ShowOptions) -> dict[str, Any]:
    from vanishing.app.cli import describe, models

    key, ideal = models.choose_ideal(model, asked.ideal)
    record: dict[str, Any] = {
        "model": models.kind_of(model),
        "features": models.feature_names(model),
        "ideal": key,
    }
    if what != "equations":
        shown = ("degree", "tol", "spectrum") if what == "spectrum" else TRACED
        traced = [pick(trace, *shown) for trace in ideal.trace_]
        return record | {"stop_reason": ideal.stop_reason_, "degrees": traced}
    carried, names, meaning = describe.carry_back(model, key)
    texts = describe.equation_texts(carried, names, digits=asked.digits)
    about = {"name": ideal.get_feature_names_out(), "degree": ideal.basis_.degrees()}
    return record | {
        "variables": names,
        "coordinates": meaning or "in the columns of the table",
        "equations": list_lines(about | {"extent": ideal.extents_, "text": texts}),
    }


def _draw(path: str, model: Any, what: What, name: str | None, table: Any) -> None:
    from vanishing import plotting
    from vanishing.app.cli import describe, models

    key, ideal = models.choose_ideal(model, name)
    _, meaning = models.coordinate_names(model, key)
    if models.is_detector(model) and meaning and (what == "equations" or table is not None):
        raise UsageError(
            f"the equations of this detector are {meaning}, where the points of a table are not; "
            "draw its spectrum or its basis without --points, or an ideal of vanishing fit"
        )
    if what == "equations" and table is None:
        raise UsageError(
            "a model does not store its points: pass the table with --points to draw them"
        )
    points = None if table is None else models.preprocess(model, table.for_model)
    carried = describe.carry_back(model, key)
    if table is not None and what == "equations" and not carried.meaning:
        ideal, points = carried.ideal, table.for_model
    name = {"equations": "ZeroSet", "spectrum": "Spectrum", "basis": "Basis"}[what]
    display = getattr(plotting, f"{name}Display")
    with models.library_errors(path):
        models.save_picture(path, lambda: display.from_estimator(ideal, points))


# --- ``vanishing export``: equations for other programs -------------------------------------------

System = Literal["macaulay2", "singular", "cocoa", "oscar", "sage"]
Target = Literal["sympy", "latex", "python", "c", "onnx", "rational", System, RuleTarget]
#: Computer algebra systems.
SYSTEMS = get_args(System)


class ExportOptions(Chosen, AsFitted, RuleWriting, Fitting):
    """How to write equations, and where to."""

    name: str = option("Options", "NAME", "Name of the function (python, c).", default="evaluate")
    dtype: Literal["float32", "float64"] = option(
        "Options", "NAME", "Type of numbers (onnx): float32 or float64.", default="float32"
    )


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file, or a table to fit.")],
    target: Annotated[
        Target, typer.Argument(metavar="TARGET", help=f"What to write: {list_choices(Target)}.")
    ],
    asked: ExportOptions,
) -> None:
    """Write equations as SymPy, LaTeX, Python, C or ONNX.

    Or as an ideal for a computer algebra system: Macaulay2, Singular, CoCoA, OSCAR or Sage.
    A file of rules is written for tools that check tables: SQL, dbt, pandera and others.

    Equations of a table are those that fit finds in it. With a table, SymPy, LaTeX and ideals are
    as short as the noise of the points allows.
    """
    import sys

    from vanishing.app.cli import models, tables
    from vanishing.equations.code import check_c_name, check_python_name

    out, points = asked.out, asked.points
    if target in RULE_TARGETS:
        tables.check_outputs([None if target == "dbt" else out], [model, points])
        record = export_rules(model, cast(RuleTarget, target), asked)
        if state.json:
            emit(record)
        return
    if target == "onnx" and out == "-" and (state.json or sys.stdout.isatty()):
        raise UsageError("an ONNX graph is not text; name a file with --out")
    if target == "rational" and points is None:
        raise UsageError("rational equations are proved on exact points: --points X.csv")
    try:
        if target in ("python", "c"):
            (check_python_name if target == "python" else check_c_name)(asked.name)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    tables.check_outputs([out], [model, points])
    table = None
    if models.is_model_file(model):
        models.refuse_unused(asked, Equations, Fitting, reason="the model is already fitted")
        fitted = models.load_model(model)
        if points is not None and target in ("sympy", "latex"):
            table = tables.read_input(points, asked, model=fitted, gaps="skip")
    else:
        tables.check_inputs([model])
        table = tables.read_input(model, asked, set_aside=True, gaps="skip")
        fitted = models.fit_equations(table, asked)
        if asked.robust:
            table = table.keep(models.core(fitted).inlier_mask_)
    lines: list[str] = []
    if target == "onnx":
        from vanishing.equations import to_onnx

        chosen = fitted if asked.ideal is None else models.choose_ideal(fitted, asked.ideal)[1]
        with models.library_errors("export to onnx"):
            content = bytes(to_onnx(chosen, dtype=asked.dtype).SerializeToString())
    else:
        proved = target in SYSTEMS and points is not None
        if not asked.raw and not proved and table is not None:
            lines = _short_lines(fitted, target, asked, table)
        lines = lines or _lines(fitted, target, asked)
        text = "".join(f"{line}\n" for line in lines)
        content = (visible(text) if out == "-" else text).encode()
    if state.json and out == "-":
        emit({"target": target, "lines": lines})
        return
    with tables.output_file(out) as file:
        file.write(content)
    if state.json:
        emit({"target": target, "out": out, "bytes": len(content)})


def _short_lines(model: Any, target: Target, asked: ExportOptions, table: Any) -> list[str]:
    """Write equations as short as the noise of a table allows; none where that does not apply."""
    from vanishing.app.cli import describe, models

    if target not in ("sympy", "latex", *SYSTEMS):
        return []
    key, _ = models.choose_ideal(model, asked.ideal)
    ideal, names, meaning = describe.carry_back(model, key)
    if meaning and models.is_detector(model):
        raise UsageError(
            f"the equations of this detector are {meaning}, where the points of a table are not; "
            "leave --points out"
        )
    found = None
    if not meaning:
        found = describe.tidy_equations(ideal, table.values, names, mix=True, digits=asked.digits)
    if found and target in SYSTEMS:
        from vanishing.equations import to_computer_algebra

        return [to_computer_algebra(found, cast(System, target), names).rstrip("\n")]
    is_latex = target == "latex"
    return [each.latex if is_latex else _sympy_text(each.expression) for each in found or []]


def _lines(model: Any, target: Target, asked: ExportOptions) -> list[str]:
    from vanishing import equations
    from vanishing.app.cli import models

    points, raw, digits = asked.points, asked.raw, asked.digits
    key, ideal = models.choose_ideal(model, asked.ideal)
    names, meaning = models.coordinate_names(model, key)
    if not ideal.basis_.count():
        raise ModelError("the model has no equations; fit again with a larger --tol or --degree")
    options: dict[str, Any] = {}
    if not models.is_detector(model) and (steps := models.preprocessing(model)) is not None:
        # Carried back through scaling and PCA to the columns of the data.
        names, meaning, options = models.feature_names(model), "", {"preprocessor": steps}
    is_proved = points is not None and target in ("rational", *SYSTEMS)
    if meaning and is_proved:
        raise ModelError(
            f"the equations of this detector are {meaning}, so points prove nothing about "
            "them; make an ideal with vanishing fit --tol 0"
        )
    if meaning:
        note(f"the equations are {meaning}")
    function = "to_computer_algebra" if target in SYSTEMS else f"to_{target}"
    write = getattr(equations, function)
    with models.library_errors(f"export to {target}"):
        exact = _exact_points(str(points), asked, model) if is_proved else None
        if target == "rational":
            return [_sympy_text(each.as_expr()) for each in write(ideal, exact, names, **options)]
        if target in SYSTEMS:
            options |= {} if exact is None else {"points": exact}
            options |= {} if digits is None else {"digits": digits}
            return [write(ideal, target, names, **options).rstrip("\n")]
        if target == "sympy":
            if not raw:
                write, options["digits"] = _rounded_expressions, digits
            return [_sympy_text(each) for each in write(ideal, names, **options)]
        if target == "latex":
            shown = ALL_DIGITS if raw else digits or 4
            return list(write(ideal, names, digits=shown, **options))
        return [str(write(ideal, names, name=asked.name, **options)).rstrip("\n")]


def _rounded_expressions(
    ideal: Any, names: Any, *, digits: int | None, preprocessor: Any = None
) -> list[Any]:
    """Return SymPy expressions without the terms and digits that do not count on the data."""
    import numpy as np
    import sympy

    from vanishing.equations.expansion import choose_terms, equations_of, sympy_monomials

    equations = equations_of(ideal, names, preprocessor=preprocessor)
    expressions = []
    for chosen in choose_terms(equations.basis, equations.scale, digits=digits):
        of_each = np.broadcast_to(chosen.digits, len(chosen.coefficients)).tolist()
        rounded = [float(f"{c:.{n}g}") for c, n in zip(chosen.coefficients, of_each, strict=True)]
        monomials = sympy_monomials(equations.names, chosen.exponents)
        terms = (sympy.Float(c) * m for c, m in zip(rounded, monomials, strict=True))
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

    from vanishing.app.cli import tables
    from vanishing.data.csv_files import CsvFile

    with tables.table_errors():
        opened = tables.open_input(path, reading)
        model_names = getattr(model, "feature_names_in_", None)
        chosen = tables.choose(opened, reading, model_names=model_names, lenient=True)
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


# --- ``vanishing info``: what a table or a model file is, or versions, threads and device ---------

#: The packages of each extra that are imported.
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow"),
    "symbolic": ("sympy",),
    "plot": ("matplotlib",),
    "web": ("starlette", "uvicorn", "pyarrow", "matplotlib", "openpyxl"),
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
    asked: Reading,
) -> None:
    """Describe a table and suggest what to run, or describe a model.

    Without a file, show versions, threads and device.
    """
    from vanishing.app.cli import describe, models

    if file is not None and not models.is_model_file(file):
        described = describe.describe_table(file, asked)
        if state.json:
            emit(describe.description_record(described))
        else:
            describe.show_description(described)
        return
    record = _installation() if file is None else _file(file)
    if state.json:
        emit(record)
        return

    def write(value: Any) -> str:
        if isinstance(value, list):
            return list_some(list(map(str, value))) or "none"
        return "none" if value is None else str(value)

    for key, value in record.items():
        if isinstance(value, dict):
            say(f"{key}:")
            for name, each in value.items():
                say(f"  {name:16} {write(each)}")
        else:
            say(f"{key:18} {write(value)}")


def _installation() -> dict[str, Any]:
    import os
    import platform
    from importlib.util import find_spec

    import numpy  # noqa: F401  its thread pools are looked at
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    from vanishing.app.wording import find_version

    device = "processor (GPUs need the extra torch)"
    if find_spec("torch") is not None:
        import torch

        device = "processor (torch sees no GPU)"
        if torch.cuda.is_available():  # pragma: no cover - needs CUDA
            device = f"GPU: {torch.cuda.get_device_name(0)}"
    pools = {f"{each['user_api']} threads": each["num_threads"] for each in threadpool_info()}
    extras = {}
    for extra, packages in EXTRAS.items():
        missing = f"missing: pip install 'vanishing[{extra}]'"
        extras[extra] = "ready" if all(map(find_spec, packages)) else missing
    return {
        "vanishing": find_version("vanishing"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        **pools,
        "device": device,
        "packages": {package: find_version(package) for package in NEEDED},
        "extras": extras,
    }


def _file(path: str) -> dict[str, Any]:
    import json
    from pathlib import Path

    from safetensors import safe_open

    from vanishing.app.cli import models

    model = models.load_model(path)
    with safe_open(path, framework="numpy") as file:
        manifest = json.loads(file.metadata()["manifest"])
    ideals = models.ideals_of(model).values()
    record = {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "model": models.kind_of(model),
        "format version": manifest["format_version"],
        "written by": ", ".join(f"{name} {v}" for name, v in manifest["versions"].items()),
        "fingerprint": manifest["data"]["fingerprint"],
        "columns": models.feature_names(model),
        "ideals": len(ideals),
        "equations": sum(ideal.basis_.count() for ideal in ideals),
        "parameters": {name: str(value) for name, value in model.get_params(deep=False).items()},
    }
    if models.is_detector(model):
        record["threshold"] = models.threshold_of(model)
    return record
