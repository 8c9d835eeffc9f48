"""What the reference shows: the names listed in ``api.md``, and the members of each class."""

import importlib
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "api.md"
LISTED = re.findall(r"^   (vanishing\.[\w.]+)$", PAGE.read_text(encoding="utf-8"), flags=re.M)
#: Without torch its layers cannot be imported; the pages are built with it.
HAS_TORCH = find_spec("torch") is not None
NAMES = [name for name in LISTED if HAS_TORCH or not name.startswith("vanishing.layers.")]

#: Private names, fitted attributes, what scikit-learn adds, and what only the library calls.
NOT_SHOWN = re.compile(
    r"_.*|.*_|set_\w+_request|set_params|for_width|moved|draw|map_rows|n_counted|fit_part|adopt"
    r"|onnx_outputs|split_choices|split_terms|weigh_terms|evaluate_terms|write_terms|round_numbers"
    r"|name_laws|sections|every_way|write_sentence|checker|sources|letters|move|take_nonvanishing"
)


def locate(name: str) -> Any:
    """Return what a name stands for; functions come before modules of the same name."""
    owner, _, last = name.rpartition(".")
    return getattr(importlib.import_module(owner), last)


def members(name: str) -> list[dict[str, str]]:
    """List the public methods and properties of a class, except those of bases with a page."""
    kind = locate(name)
    owners = [owner for owner in inspect.getmro(kind) if owner.__module__.startswith("vanishing.")]
    bases = [owner for owner in owners[1:] if owner in map(locate, NAMES)]
    elsewhere = {member for base in bases for member in vars(base)}
    found: dict[str, str] = {}
    for owner in owners:
        for member, value in vars(owner).items():
            is_method = inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)
            if NOT_SHOWN.fullmatch(member) or member in elsewhere or not value.__doc__:
                continue
            if is_method or isinstance(value, property):
                found.setdefault(member, "method" if is_method else "property")
    return [{"name": member, "kind": kind} for member, kind in found.items()]


MEMBERS = {name: members(name) if inspect.isclass(locate(name)) else [] for name in NAMES}
