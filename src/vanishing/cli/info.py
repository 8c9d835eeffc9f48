"""``vanishing info``: versions, threads, device, or what a model file is."""

from typing import Annotated, Any

import typer

from vanishing.cli.console import emit, say
from vanishing.cli.options import Json

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

    from vanishing.cli.models import (
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
