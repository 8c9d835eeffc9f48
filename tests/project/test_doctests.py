"""Examples in the docstrings, the README and the documentation give what they show."""

import doctest
import importlib
import pkgutil

import pytest
from tests.support.paths import DOCS, ROOT

import vanishing

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
#: Kernels for accelerators need packages that are not installed without one.
MODULES = ["vanishing"] + [
    module.name
    for module in pkgutil.walk_packages(vanishing.__path__, "vanishing.")
    if module.name != "vanishing.arrays.triton_kernels"
]
NEED_TORCH = {"vanishing.data.streams", "vanishing.layers", "networks.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    if page.name in NEED_TORCH:
        pytest.importorskip("torch")
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    if name in NEED_TORCH:
        pytest.importorskip("torch")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_examples_were_found():
    finder, parser = doctest.DocTestFinder(), doctest.DocTestParser()
    modules = [importlib.import_module(name) for name in MODULES if name not in NEED_TORCH]
    found = [test for module in modules for test in finder.find(module)]
    assert sum(len(test.examples) for test in found) > 100
    assert sum(len(parser.get_examples(page.read_text(encoding="utf-8"))) for page in PAGES) > 100
