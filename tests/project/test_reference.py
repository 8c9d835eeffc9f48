"""The reference names every public thing, and what it shows has docstrings in numpydoc's form."""

import importlib
import inspect
import pydoc
import re

import pytest
from tests.support.paths import DOCS

validate = pytest.importorskip("numpydoc.validate").validate

PAGE = (DOCS / "api.md").read_text(encoding="utf-8")
DIRECTIVES = re.findall(
    r"\.\. auto(?:class|function|data|exception):: (\S+)\n((?:   +:.*\n)*)", PAGE
)
SHOWN = [name for name, _ in DIRECTIVES]

#: Sections that we do not demand, and descriptions that would only repeat name and type.
NOT_DEMANDED = {"ES01", "EX01", "SA01", "PR07", "RT03", "RT05"}
#: Packages for users. The others are for the layers above them.
PACKAGES = [
    "vanishing",
    "vanishing.algebra",
    "vanishing.detectors",
    "vanishing.contrasts",
    "vanishing.datasets",
    "vanishing.equations",
    "vanishing.construction.normalizations",
    "vanishing.persistence",
    "vanishing.plotting",
    "vanishing.data",
    "vanishing.transformations",
]
#: What a package of users has for the layers above.
INTERNAL = {"resolve_normalization"}


def shown_members(name, options):
    """Name the members that a directive shows: those listed, or all that are documented there."""
    kind = pydoc.locate(name)
    listed = re.search(r":members:(.*)", options)
    if not inspect.isclass(kind) or listed is None:
        return []
    wanted = [member.strip() for member in listed.group(1).split(",") if member.strip()]
    if not wanted:
        wanted = [member for member in vars(kind) if not member.startswith("_")]
    members = ((member, inspect.getattr_static(kind, member)) for member in wanted)
    return [
        f"{name}.{member}"
        for member, value in members
        if inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)
    ]


def located(name):
    """What a name of the reference is; functions come before modules of the same name."""
    owner, _, last = name.rpartition(".")
    return getattr(pydoc.locate(owner), last)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package):
    module = importlib.import_module(package)
    shown = {id(located(name)) for name in SHOWN}
    public = {name: getattr(module, name) for name in module.__all__ if name not in INTERNAL}
    missing = [name for name, value in public.items() if callable(value) and id(value) not in shown]
    assert missing == []


@pytest.mark.parametrize(("name", "options"), DIRECTIVES, ids=SHOWN)
def test_docstrings_are_complete(name, options):
    complaints = [
        f"{shown}: {code} {text}"
        for shown in [name, *shown_members(name, options)]
        for code, text in validate(shown)["errors"]
        if code not in NOT_DEMANDED
    ]
    assert complaints == []
