"""Packages of the extras, imported when they are needed."""

from importlib import import_module
from typing import Any


def imported(module: str, *, extra: str, purpose: str) -> Any:
    """Import a module, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install 'vanishing[{extra}]'") from error


def comes_from(data: object, *packages: str) -> bool:
    """Say whether the class of ``data`` is one of these packages'; nothing is imported."""
    return any(kind.__module__.partition(".")[0] in packages for kind in type(data).__mro__)
