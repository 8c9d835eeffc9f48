"""The driver of mutation testing: where a change is, and which tests could notice it."""

import ast
import importlib.util
import sys

import pytest
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def tool():
    pytest.importorskip("coverage")
    spec = importlib.util.spec_from_file_location("mutation", ROOT / "tools" / "mutation.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutation"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutation"]


SOURCE = """LIMIT = 3


class A:
    size = 4

    def f(self, x=1):
        if x > LIMIT:
            return x + 2
        return (
            x
            - 5
        )
"""


def at(tool, text):
    offset = SOURCE.index(text)
    line = SOURCE.count("\n", 0, offset) + 1
    return tool.Mutant("src/vanishing/laws/a.py", line, offset, text, "9", "NumberReplacer")


@pytest.mark.parametrize(
    ("text", "lines"),
    [("3", (1, 10**6)), ("4", (4, 14)), ("1", (8, 14)), ("> L", (8, 9)), ("2", (9, 10)),
     ("5", (10, 14))],
)  # fmt: skip
def test_lines_whose_tests_run_a_change(tool, monkeypatch, text, lines):
    monkeypatch.setattr(tool, "_parse", lambda file: ast.parse(SOURCE))
    assert tool.find_lines(at(tool, text)) == lines


def test_a_change_is_applied_and_described(tool):
    mutant = at(tool, "2")
    assert mutant.apply(SOURCE) == SOURCE.replace("2", "9")
    assert mutant.describe(SOURCE) == "`return x + 2` → `return x + 9`"


def test_the_quickest_tests_of_the_own_file_come_first(tool, monkeypatch):
    monkeypatch.setattr(tool, "_parse", lambda file: ast.parse(SOURCE))
    recorded = {
        "tests": ["tests/laws/test_a.py::slow", "tests/laws/test_a.py::quick", "tests/x.py::quick"],
        "seconds": [5.0, 0.1, 0.1],
        "lines": {"src/vanishing/laws/a.py": {"9": [0, 1, 2], "8": [2]}},
    }
    assert tool.choose_tests(at(tool, "2"), recorded, 10.0) == [
        "tests/laws/test_a.py::quick",
        "tests/x.py::quick",
        "tests/laws/test_a.py::slow",
    ]
    assert len(tool.choose_tests(at(tool, "2"), recorded, 1.0)) == 2


def test_annotations_and_declarations_are_not_changed(tool):
    assert tool.strip_annotations("x: int | None = 1") == tool.strip_annotations("x: int = 1")
    assert tool.strip_annotations("x = 1") != tool.strip_annotations("x = 2")
    file = "src/vanishing/laws/law.py"
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith("@dataclass("))
    assert tool.is_declaration(file, number + 1, 11)
    assert not tool.is_declaration(file, 1, 0)
