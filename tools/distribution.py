"""Build the wheel and the sdist, and try them in empty environments (`make dist`).

    python tools/distribution.py              build twice, compare the bytes, install, test
    python tools/distribution.py --version    print the version

Both archives are built twice from copies of the tree and have to agree to the byte. The wheel is
then installed without any extra, where it has to import, fit and detect, and to name the extra of
what is missing; and with the extras of the tests, where the tests of `make quick` have to pass.
The program has to run in an empty folder. Beside the wheel stands a list of what an installation
without extras consists of (SBOM, in the format of CycloneDX), with versions and licenses.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

#: In an environment without any extra; leaves with an error if one of them does not hold.
MINIMAL = """
import importlib.util
import numpy as np
import vanishing
from vanishing import VanishingDetector, VanishingIdeal, discover

assert "site-packages" in vanishing.__file__, vanishing.__file__
for name in ("sympy", "matplotlib", "pandas", "typer", "rich", "pyarrow", "torch"):
    assert importlib.util.find_spec(name) is None, name
rng = np.random.default_rng(0)
angle = rng.uniform(0, 6, 300)
X = np.column_stack([np.cos(angle), np.sin(angle)])
ideal = VanishingIdeal(tol=1e-6).fit(X)
assert ideal.transform([[1.0, 0.0]]).shape == (1, 1)
detector = VanishingDetector().fit(X + 0.01 * rng.normal(size=X.shape))
assert detector.predict([[3.0, 3.0], X[0]]).tolist() == [-1, 1]
ideal.save("model")
assert vanishing.load("model").extents_.shape == (1,)
laws = discover(X)
assert len(laws.equations) == 1 and "1" in str(laws), laws
frames = lambda: laws.check(X).to_frame()
for call, extra in (
    (ideal.to_sympy, "symbolic"),
    (lambda: laws.equations[0].expression, "symbolic"),
    (lambda: laws.plot(X), "plot"),
    (frames, "frames"),
):
    try:
        call()
    except ImportError as error:
        assert f"vanishing[{extra}]" in str(error), error
    else:
        raise AssertionError(f"{call} works without {extra}")
"""


def version() -> str:
    """Return the version of the package."""
    text = (ROOT / "src" / "vanishing" / "__init__.py").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("__version__"))
    return line.split('"')[1]


def build(folder: Path) -> list[Path]:
    """Build the archives of a copy of the committed tree into a folder."""
    tree = folder / "tree"
    files = run(["git", "ls-files", "-z"], cwd=ROOT, capture=True).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")], cwd=tree)
    return sorted((folder / "dist").iterdir())


def run(command: list[str], *, cwd: Path, capture: bool = False) -> str:
    """Run a command, and stop if it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=cwd, env=environment, check=False, text=True, capture_output=capture
    )
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stderr if capture else ''}")
    return done.stdout if capture else ""


def make_environment(folder: Path, requirement: str) -> Path:
    """Install into a new environment, and return its programs."""
    venv.create(folder, with_pip=True, clear=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run([str(programs / "python"), "-m", "pip", "install", "-qq", requirement], cwd=ROOT)
    return programs


def check_minimal(wheel: Path, folder: Path) -> Path:
    """Try the wheel without extras, and return the environment's programs."""
    programs = make_environment(folder / "minimal", str(wheel))
    empty = folder / "empty"
    empty.mkdir()
    run([str(programs / "python"), "-c", textwrap.dedent(MINIMAL)], cwd=empty)
    done = subprocess.run(
        [programs / "vanishing", "--help"], cwd=empty, text=True, capture_output=True, check=False
    )
    if done.returncode == 0 or "vanishing[cli]" not in done.stderr:
        sys.exit(f"without its extra the program says: {done.stdout}{done.stderr}")
    return programs


def list_components(programs: Path, folder: Path, target: Path) -> None:
    """Write what an environment consists of, without the tools that installed it."""
    tools = ["pip", "setuptools"]
    run([str(programs / "python"), "-m", "pip", "uninstall", "-qq", "-y", *tools], cwd=folder)
    lister = make_environment(folder / "lister", "cyclonedx-bom>=7")
    options = ["--output-reproducible", "--mc-type", "library", "--output-file", str(target)]
    command = [str(lister / "cyclonedx-py"), "environment", str(programs / "python"), *options]
    run([*command, "--pyproject", str(ROOT / "pyproject.toml")], cwd=folder)


def check_tests(wheel: Path, folder: Path) -> None:
    """Run the tests of `make quick` on the wheel, and the program in an empty folder."""
    programs = make_environment(folder / "tested", f"{wheel}[test-without-torch]")
    tree = folder / "tests"
    tree.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tree)
    built = shutil.ignore_patterns("_build", "auto_examples", "generated", "__pycache__")
    for name in ("tests", "benchmarks", "experiments", "docs", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=built)
    data = ROOT.parent / "shared"
    if data.is_dir():
        (folder / "shared").symlink_to(data)
    ignored = [f"--ignore=tests/{name}" for name in ("app", "benchmarks", "experiments", "project")]
    marks = ["-m", "not slow and not gpu and not programs"]
    workers = ["-n", str(os.cpu_count() or 1), "--dist", "worksteal", "-q"]
    run([str(programs / "python"), "-m", "pytest", *workers, *marks, *ignored], cwd=tree)
    empty = folder / "other"
    empty.mkdir()
    table = empty / "table.csv"
    table.write_text("a,b,c\n" + "".join(f"{i},{i * i % 7},{i + i * i % 7}\n" for i in range(40)))
    said = run([str(programs / "vanishing"), "laws", "table.csv"], cwd=empty, capture=True)
    if "c = a + b" not in said:
        sys.exit(f"the program did not find c = a + b: {said}")


def main() -> None:
    """Build, compare, install and test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.add_argument("--no-tests", action="store_true", help="leave out the tests of make quick")
    arguments = parser.parse_args()
    if arguments.version:
        print(version())
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second = build(folder / "first"), build(folder / "second")
        for one, other in zip(first, second, strict=True):
            if one.name != other.name or not filecmp.cmp(one, other, shallow=False):
                sys.exit(f"two builds differ: {one.name}")
        (wheel,) = (path for path in first if path.suffix == ".whl")
        print("two builds agree to the byte:", ", ".join(path.name for path in first), flush=True)
        minimal = check_minimal(wheel, folder)
        print("without extras: imports, fits, detects, names the extra of the rest", flush=True)
        if not arguments.no_tests:
            check_tests(wheel, folder)
            print("the tests of make quick pass on the wheel", flush=True)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for path in first:
            shutil.copy(path, DIST)
        list_components(minimal, folder, DIST / f"vanishing-{version()}.cdx.json")
        for path in sorted(DIST.iterdir()):
            print(f"dist/{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
