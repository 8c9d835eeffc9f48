"""How the source tree is built, in numbers: how far a reader has to walk.

    python tools/house.py            the numbers of this tree
    python tools/house.py --json     the same as JSON

Counts files and lines, the modules that the first import loads, the files that a call runs
through (distinct files of ours in which a Python frame runs, threads and imports included),
accesses to private names of other objects, and imports that go up.
"""

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "vanishing"

#: What is counted, and what it should be at most.
AIMS = {
    "files": 110,
    "lines": 24_000,
    "modules loaded by the first import": 40,
    "files of VanishingIdeal.fit": 15,
    "files of transform": 7,
    "files of a detector's fit": 25,
    "files of score_samples": 12,
    "files of vanishing detect": 40,
    "private accesses": 0,
    "imports that go up": 0,
}

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


def count_files() -> dict[str, float]:
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    return {
        "files": len(lengths),
        "lines": sum(lengths.values()),
        "median lines of a file": statistics.median(lengths.values()),
        "lines of the largest file": max(lengths.values()),
    }


def count_loaded() -> int:
    code = (
        "import sys; from vanishing import VanishingIdeal; "
        "print(sum(name.split('.')[0] == 'vanishing' for name in sys.modules))"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))


def count_run_through() -> dict[str, int]:
    found = {}
    for name, (setup, call) in CALLS.items():
        code = TRACED.format(source=str(SOURCE), setup=setup, call=call)
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
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
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    numbers = measure()
    if arguments.json:
        print(json.dumps(numbers, indent=2))
    else:
        for name, value in numbers.items():
            aim = f"   aim {AIMS[name]:g}" if name in AIMS else ""
            print(f"{name:40}{value:10g}{aim}")
