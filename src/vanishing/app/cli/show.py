"""The commands ``show`` and ``info``."""

from typing import Annotated, Any, Literal

import typer

from vanishing.app.cli.console import emit, note, say
from vanishing.app.cli.options import Json, Reading

# --- ``vanishing show``: what is in a model -------------------------------------------------------

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
            help="Digits of coefficients, more where an equation needs them.",
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
    from vanishing.app.cli import describe
    from vanishing.app.cli.models import ideals_of, is_detector, load_model
    from vanishing.app.cli.tables import check_outputs, read_table

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
    from vanishing.app.cli.equations import equation_texts, written
    from vanishing.app.cli.models import choose_ideal, feature_names, kind_of

    key, ideal = choose_ideal(model, name)
    record: dict[str, Any] = {
        "model": kind_of(model),
        "features": feature_names(model),
        "ideal": key,
    }
    if what == "equations":
        shown_ideal, names, meaning = written(model, key)
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
    from vanishing.app.cli.console import UsageError, required
    from vanishing.app.cli.models import (
        choose_ideal,
        coordinate_names,
        is_detector,
        library_errors,
        preprocessed,
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


# --- ``vanishing info``: versions, threads, device, or what a model file is -----------------------

#: The packages of each extra that are imported.
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow"),
    "symbolic": ("sympy",),
    "plot": ("matplotlib",),
    "web": ("starlette", "uvicorn"),
    "onnx": ("onnx",),
    "io": ("pyarrow", "zarr"),
    "dask": ("dask", "distributed"),
    "torch": ("torch",),
    "pyod": ("pyod",),
    "data": ("pooch",),
}
NEEDED = ("numpy", "scipy", "scikit-learn", "array-api-compat", "threadpoolctl", "safetensors")


def info(
    model: Annotated[str | None, typer.Argument(help="Model file to describe.")] = None,
    json: Json = False,
) -> None:
    """Say what is installed and what it runs on; or describe a model file."""
    record = _installation() if model is None else _file(model)
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

    if not torch.cuda.is_available():
        return "processor (torch sees no GPU)"
    return f"GPU: {torch.cuda.get_device_name(0)}"


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
