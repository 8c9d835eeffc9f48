"""The reference names every public thing, and what it shows has docstrings in numpydoc's form."""

import ast
import importlib
import inspect
import re
import sys

import pytest
from tests.support.paths import DOCS

sys.path.insert(0, str(DOCS / "_ext"))

from reference import MEMBERS, NAMES, locate

validate = pytest.importorskip("numpydoc.validate").validate

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
    "vanishing.layers",
    "vanishing.construction.normalizations",
    "vanishing.persistence",
    "vanishing.plotting",
    "vanishing.data",
    "vanishing.transformations",
]
#: What a package of users has for the layers above.
INTERNAL = {"resolve_normalization"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package):
    if package == "vanishing.layers":
        pytest.importorskip("torch")
    module = importlib.import_module(package)
    shown = {id(locate(name)) for name in NAMES}
    public = {name: getattr(module, name) for name in module.__all__ if name not in INTERNAL}
    missing = [name for name, value in public.items() if callable(value) and id(value) not in shown]
    assert missing == []


@pytest.mark.parametrize(
    "package",
    ["", ".data", ".detectors", ".equations", ".laws"],
    ids=lambda name: f"vanishing{name}",
)
def test_only_public_names_are_listed(package):
    module = importlib.import_module(f"vanishing{package}")
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_are_complete(name):
    methods = [member["name"] for member in MEMBERS[name] if member["kind"] == "method"]
    complaints = [
        f"{shown}: {code} {text}"
        for shown in [name, *(f"{name}.{method}" for method in methods)]
        for code, text in validate(shown)["errors"]
        if code not in NOT_DEMANDED
    ]
    assert complaints == []


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_those_that_the_docstring_names(name):
    """Where it names one: ``default=0.1`` or ``(default 0.1)``."""
    shown = locate(name)
    try:
        parameters = inspect.signature(shown).parameters
    except (TypeError, ValueError):
        pytest.skip("no signature")
    documented = re.findall(
        r"^\s*(\w+) : .*?default[= ](.+?)\)?$", inspect.getdoc(shown) or "", re.MULTILINE
    )
    wrong = []
    for parameter, text in documented:
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            continue  # described in words
        if parameter in parameters and parameters[parameter].default != value:
            wrong.append((parameter, text, parameters[parameter].default))
    assert wrong == []
