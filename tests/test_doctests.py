"""Examples in the docstrings, the README and the documentation give what they show."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import vanishing

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = ["vanishing", *(m.name for m in pkgutil.walk_packages(vanishing.__path__, "vanishing."))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_examples_were_found():
    attempted = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
    attempted += sum(doctest.testfile(str(p), module_relative=False).attempted for p in PAGES)
    assert attempted > 40
