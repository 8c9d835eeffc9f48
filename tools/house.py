"""How the source tree is built, in numbers: how far a reader has to walk.

    python tools/house.py            the numbers of this tree
    python tools/house.py --json     the same as JSON

Counts files, lines and lines of code (without blank lines, comments and docstrings), the modules
that the first import loads, the files that a call runs through (distinct files of ours in which a
Python frame runs, threads and imports included), accesses to private names of other objects, and
imports that go up.

Counts numbers, too. A numeric constant is a name in capitals at the top of a module whose value
contains a number and no string; names that are assigned together count one by one. Those of layouts
and protocols, in ``app/``, ``plotting/`` and the files that draw laws, are part of the first of the
two counts alone. Numeric class attributes, default arguments and dictionaries of numbers are
counted apart, and so are numbers in comparisons other than 0, 1, 2 and 1/2. ``--numbers`` lists the
constants.
"""

import argparse
import ast
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vanishing"

#: What is counted, and what it should be at most.
AIMS = {
    "files": 130,
    "lines": 42_000,
    "lines of code": 26_500,
    "modules loaded by the first import": 40,
    "files of VanishingIdeal.fit": 15,
    "files of transform": 7,
    "files of a detector's fit": 25,
    "files of score_samples": 10,
    "private accesses": 0,
    "imports that go up": 0,
    "numeric constants": 260,
    "numeric constants outside app, plotting": 150,
    "names of constants with several values": 0,
}
#: Numbers in comparisons that need no reason.
PLAIN = {0, 1, 2, 0.5}

#: Where numbers are those of layouts and protocols.
DRAWN = ("app/", "plotting/", "style.py", "laws/picture.py")

#: Run in a fresh interpreter; prints the number of our files in which a frame ran.
TRACED = """
import os, sys, threading
import numpy as np
SOURCE = {source!r}
{setup}
seen = set()
def profile(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(SOURCE):
        seen.add(name)
threading.setprofile(profile)
sys.setprofile(profile)
try:
    {call}
except SystemExit:
    pass
sys.setprofile(None)
print(f"files: {{len(seen)}}", file=sys.stderr)
"""

DATA = "X = np.random.default_rng(0).normal(size=(300, 4))"
CALLS = {
    "files of VanishingIdeal.fit": (
        f"from vanishing import VanishingIdeal; {DATA}",
        "VanishingIdeal().fit(X)",
    ),
    "files of transform": (
        f"from vanishing import VanishingIdeal; {DATA}; ideal = VanishingIdeal(tol=1).fit(X)",
        "ideal.transform(X)",
    ),
    "files of a detector's fit": (
        f"from vanishing import TransformationDetector; {DATA}",
        "TransformationDetector().fit(X)",
    ),
    "files of score_samples": (
        "from vanishing import TransformationDetector; "
        f"{DATA}; detector = TransformationDetector().fit(X)",
        "detector.score_samples(X)",
    ),
    "files of vanishing detect": (
        f"{DATA}; np.savetxt('table.csv', X, delimiter=',')",
        "from vanishing.app.cli import main; main(['detect', 'table.csv'])",
    ),
}


def environment() -> dict[str, str]:
    """Return an environment in which this tree is imported, and not one that is installed."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def count_files() -> dict[str, float]:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    return {
        "files": len(lengths),
        "lines": sum(lengths.values()),
        "lines of code": sum(count_code(path.read_text()) for path in lengths),
        "median lines of a file": statistics.median(lengths.values()),
        "lines of the largest file": max(lengths.values()),
    }


def count_code(source: str) -> int:
    """Count the lines that hold code: not blank, not a comment, not a docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped and token.string.strip():
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float | complex)
        and not isinstance(node.value, bool)
    )


def is_numeric(value: ast.AST) -> bool:
    """Say whether a value contains a number and no string."""
    nodes = list(ast.walk(value))
    strings = (isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)
    return any(map(is_number, nodes)) and not any(strings)


def list_assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns, and their values."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        pairs = [(statement.target, statement.value)]
    elif isinstance(statement, ast.Assign):
        pairs = [(target, statement.value) for target in statement.targets]
    else:
        pairs = []
    for target, value in pairs:
        if isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for each, one in zip(target.elts, values, strict=False):
                if isinstance(each, ast.Name):
                    yield each.id, one
        elif isinstance(target, ast.Name):
            yield target.id, value


def list_constants() -> Iterator[tuple[str, str, str]]:
    """Yield file, name and value of the numeric constants."""
    for path in sorted(SOURCE.rglob("*.py")):
        for statement in ast.parse(path.read_text()).body:
            for name, value in list_assigned(statement):
                if name.isupper() and is_numeric(value):
                    yield str(path.relative_to(SOURCE)), name, ast.unparse(value)


def count_numbers() -> dict[str, int]:
    constants = list(list_constants())
    values = defaultdict(set)
    for _, name, value in constants:
        values[name].add(value)
    counts = {
        "numeric constants": len(constants),
        "numeric constants outside app, plotting": sum(
            not path.startswith(DRAWN) for path, _, _ in constants
        ),
        "names of constants with several values": sum(len(each) > 1 for each in values.values()),
        "numeric class attributes": 0,
        "numeric default arguments": 0,
        "dictionaries of numbers": 0,
        "numbers in comparisons": 0,
    }
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for statement in tree.body:
            counts["dictionaries of numbers"] += sum(
                isinstance(value, ast.Dict) and any(map(is_number, value.values))
                for _, value in list_assigned(statement)
            )
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                counts["numeric class attributes"] += sum(
                    is_numeric(value)
                    for statement in node.body
                    for _, value in list_assigned(statement)
                )
            elif isinstance(node, ast.arguments):
                defaults = [*node.defaults, *filter(None, node.kw_defaults)]
                counts["numeric default arguments"] += sum(map(is_numeric, defaults))
            elif isinstance(node, ast.Compare):
                numbers = [each for each in ast.walk(node) if is_number(each)]
                counts["numbers in comparisons"] += sum(each.value not in PLAIN for each in numbers)
    return counts


def count_loaded() -> int:
    code = (
        "import sys; from vanishing import VanishingIdeal; "
        "print(sum(name.split('.')[0] == 'vanishing' for name in sys.modules))"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment()))


def count_run_through() -> dict[str, int]:
    found = {}
    for name, (setup, call) in CALLS.items():
        code = TRACED.format(source=str(SOURCE), setup=setup, call=call)
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code],
                cwd=folder,
                env=environment(),
                capture_output=True,
                text=True,
                check=True,
            )
        found[name] = int(run.stderr.rpartition("files: ")[2].split()[0])
    return found


#: Documented names that begin with an underscore: of named tuples, and of the module os.
DOCUMENTED = {"_", "_asdict", "_exit", "_fields", "_make", "_replace"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def count_private() -> int:
    """Count accesses to private names of objects other than self, cls and the own class."""
    total = 0
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                owner = node.value
                own = isinstance(owner, ast.Name) and owner.id in {"self", "cls", *classes}
                own |= isinstance(owner, ast.Call) and ast.unparse(owner.func) in ("super", "type")
                total += not own
    return total


def count_upward() -> int:
    """Count the imports that the layers of pyproject.toml make exceptions for."""
    settings = (ROOT / "pyproject.toml").read_text()
    lines = (line.strip() for line in settings.splitlines())
    return sum(line.startswith('"vanishing.') and " -> " in line for line in lines)


def measure() -> dict[str, float]:
    return {
        **count_files(),
        "modules loaded by the first import": count_loaded(),
        **count_run_through(),
        "private accesses": count_private(),
        "imports that go up": count_upward(),
        **count_numbers(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--numbers", action="store_true", help="list the numeric constants")
    arguments = parser.parse_args()
    if arguments.numbers:
        for found in list_constants():
            print("  ".join(found))
        sys.exit()
    numbers = measure()
    if arguments.json:
        print(json.dumps(numbers, indent=2))
    else:
        for name, value in numbers.items():
            aim = f"   aim {AIMS[name]:g}" if name in AIMS else ""
            print(f"{name:40}{value:10g}{aim}")
