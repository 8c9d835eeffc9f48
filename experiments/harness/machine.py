"""What a result was made with. Names no host and no path."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "sympy")


def has_accelerator() -> bool:
    """Say whether torch is installed and sees a CUDA device."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def describe() -> dict[str, Any]:
    """Describe the state of the code, the machine and the libraries."""
    described: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "accelerator": None,
        "libraries": {},
    }
    if has_accelerator():
        import torch

        described["accelerator"] = torch.cuda.get_device_name()
    for name in LIBRARIES:
        try:
            described["libraries"][name] = version(name)
        except PackageNotFoundError:
            continue
    return described


def _commit() -> str:
    """Return the commit; the variable VANISHING_COMMIT says it for copies without the history."""
    if "VANISHING_COMMIT" in os.environ:
        return os.environ["VANISHING_COMMIT"]
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
