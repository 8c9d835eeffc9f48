"""Try the library on several versions of Python and of what it needs (`make matrix`).

    python tools/matrix.py                        all cells; what cannot be installed is named
    python tools/matrix.py --only "3.13 newest"   the cell of this name, else all that contain it
    python tools/matrix.py --tests tests/laws     other tests than the usual ones

A cell is a Python and a set of versions: the newest, the lowest that pyproject.toml allows (on the
lowest Python, since others have no wheels of them), with torch, or no extra at all. The last one
has to import, fit and detect, and to name the extra of what is missing. Pythons are those on PATH,
of pyenv and of uv; one that is not there is a cell that could not be installed. torch is the one of
constraints.txt, and the lowest one in the cell "lowest torch": the newest that PyPI has brings
gigabytes for a GPU, and so does the lowest.

The result is in benchmarks/campaigns/matrix_results.{json,md}.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from distribution import MINIMAL

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "campaigns" / "matrix_results"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: What the tests of a cell need beside the library.
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "array-api-strict", "polars")
#: scikit-learn's contract, array libraries, ideals that are known, every normalization, detectors.
TESTS = (
    "tests/test_sklearn_contract.py",
    "tests/arrays/test_backends.py",
    "tests/construction/test_known_ideals.py",
    "tests/construction/test_gsvd.py",
    "tests/polynomials",
    "tests/detectors/test_vanishing.py",
    "tests/test_persistence.py",
)
SHOWN = ("numpy", "scipy", "scikit-learn", "torch", "sympy", "pandas")


def list_cells() -> list[tuple[str, str]]:
    """List (Python, set of versions)."""
    cells = [(python, "newest") for python in PYTHONS]
    cells += [(python, "no extras") for python in PYTHONS]
    return [*cells, (PYTHONS[0], "lowest"), (PYTHONS[0], "torch"), (PYTHONS[0], "lowest torch")]


def find_python(version: str) -> str | None:
    """Find an interpreter of a version."""
    found = subprocess.run(
        [ROOT / "tools" / "find_python", f"python{version}"], capture_output=True, text=True
    )
    if found.returncode == 0:
        return found.stdout.strip()
    if shutil.which("uv"):
        found = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    return None


def run_cell(python: str, versions: str, folder: Path, tests: list[str], workers: int) -> dict:
    """Install a cell and run its tests."""
    cell = {"python": python, "versions": versions, "commit": find_commit()}
    interpreter = find_python(python)
    if interpreter is None:
        return cell | {
            "result": "not installed",
            "why": f"no python{python} on PATH, of pyenv or uv",
        }
    environment = folder / f"{python}-{versions.replace(' ', '-')}"
    programs = environment / "bin"
    # Our own pip, since Debian's Pythons come without one.
    pip = [sys.executable, "-m", "pip", "--python", programs / "python"]
    started = time.time()
    constraints = folder / f"{environment.name}.txt"
    constraints.write_text("")
    requirements = [str(ROOT)]
    if versions != "no extras":
        torch = ",torch" if "torch" in versions else ""
        requirements = [f"{ROOT}[symbolic,plot,frames{torch}]", *TOOLS]
        pinned = (ROOT / "constraints.txt").read_text().splitlines()
        constraints.write_text("\n".join(line for line in pinned if line.startswith("torch==")))
    if "lowest" in versions:
        # The tools too: scikit-learn 1.6 does not know the frames of later versions of polars.
        extras = ["symbolic", "plot", "frames", "test-without-torch"]
        extras += ["torch"] if "torch" in versions else []
        command = [sys.executable, ROOT / "tools" / "lowest_versions.py", *extras]
        constraints.write_text(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
    for command in (
        [interpreter, "-m", "venv", "--clear", "--without-pip", environment],
        [*pip, "install", "-qq", *requirements, "-c", constraints],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
        if done.returncode:
            return cell | {"result": "not installed", "why": find_error(done.stderr or done.stdout)}
    listed = subprocess.run([*pip, "list", "--format=json"], capture_output=True, text=True)
    installed = {entry["name"].lower(): entry["version"] for entry in json.loads(listed.stdout)}
    cell["installed"] = {name: installed[name] for name in SHOWN if name in installed}
    version = subprocess.run([programs / "python", "-V"], capture_output=True, text=True)
    cell["installed"]["python"] = version.stdout.split()[-1]
    if versions == "no extras":
        empty = folder / "empty"
        shutil.rmtree(empty, ignore_errors=True)
        empty.mkdir()
        command, where = [programs / "python", "-c", MINIMAL], empty
    else:
        command = [programs / "python", "-m", "pytest", "-q", "-n", str(workers)]
        command += ["--dist", "worksteal", "-p", "no:cacheprovider", "--tb=line"]
        command += ["-m", "not slow and not gpu and not programs", *tests]
        where = ROOT
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=where, env=clean_environment()
    )
    (folder / f"{environment.name}.log").write_text(done.stdout + done.stderr)
    said = (done.stdout.strip().splitlines() or [""])[-1]
    cell |= {"result": "passed" if done.returncode == 0 else "failed", "tests": said}
    if done.returncode:
        failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        cell["why"] = ", ".join(failures[:8]) or find_error(done.stderr)
    return cell | {"seconds": round(time.time() - started)}


def find_commit() -> str:
    """Return the commit, and whether the library differs from it."""
    git = ["git", "-C", ROOT]
    commit = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True
    )
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True)
    return commit.stdout.strip() + (" with changes in src" if changed.stdout else "")


def clean_environment() -> dict[str, str]:
    """Return the environment without what names other trees or versions."""
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "MAKEFLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def find_error(text: str) -> str:
    """Return the line of pip's output that says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [""])[0][:200]


def write_report(cells: list[dict]) -> None:
    """Write the cells as data and as a table."""
    value = {"command": "make matrix", "platform": platform.platform(), "cells": cells}
    REPORT.with_suffix(".json").write_text(json.dumps(value, indent=1) + "\n")
    lines = [
        "# Versions",
        "",
        "Made by `make matrix` (`tools/matrix.py`). Every cell is a new environment. Cells without",
        "extras import, fit, detect and save, and name the extra of what is missing. Others run",
        f"{', '.join(f'`{test}`' for test in TESTS)}.",
        "",
        "| Python | versions | installed | commit | result |",
        "|---|---|---|---|---|",
    ]
    for cell in cells:
        installed = ", ".join(f"{k} {v}" for k, v in cell.get("installed", {}).items())
        result = ": ".join(filter(None, [cell["result"], cell.get("tests"), cell.get("why")]))
        row = [cell["python"], cell["versions"], installed, cell["commit"], result]
        lines.append(f"| {' | '.join(row)} |")
    REPORT.with_suffix(".md").write_text("\n".join(lines).replace(" = ", " ") + "\n")


def main() -> None:
    """Run the cells, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="name of a cell, or a part of several names")
    parser.add_argument("--tests", nargs="*", default=list(TESTS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "matrix")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = REPORT.with_suffix(".json")
    cells = json.loads(known.read_text())["cells"] if known.exists() else []
    failed = False
    names = [" ".join(cell) for cell in list_cells()]
    asked = {options.only} & set(names) or {name for name in names if options.only in name}
    for python, versions in list_cells():
        if f"{python} {versions}" not in asked:
            continue
        cell = run_cell(python, versions, folder, options.tests, options.workers)
        shutil.rmtree(folder / f"{python}-{versions.replace(' ', '-')}", ignore_errors=True)
        failed |= cell["result"] == "failed"
        print(
            python, versions, cell["result"], cell.get("tests", ""), cell.get("why", ""), flush=True
        )
        cells = [c for c in cells if (c["python"], c["versions"]) != (python, versions)] + [cell]
        order = {each: number for number, each in enumerate(list_cells())}
        cells.sort(key=lambda c: order[c["python"], c["versions"]])
        write_report(cells)
    sys.exit(failed)


if __name__ == "__main__":
    main()
