"""The examples run from start to end without a warning, and leave no files behind."""

import os
import subprocess
import sys

import pytest
from tests.support.paths import ROOT, SOURCE

pytestmark = pytest.mark.programs

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
GALLERY = [path for path in EXAMPLES if path.name.startswith("plot_")]
#: The others are left to test-all.
QUICK = {"digits_alarm_demo", "pipeline", "plot_gas_law", "plot_loop_invariant"}
#: What others write.
WRITTEN = {"pipeline": ["warehouse.db"]}


def marked(path):
    marks = () if path.stem in QUICK else (pytest.mark.slow,)
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", [marked(path) for path in EXAMPLES])
def test_runs(path, tmp_path):
    surroundings = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    written = [] if path in GALLERY else WRITTEN.get(path.stem, ["demo_output"])
    assert [file.name for file in tmp_path.iterdir()] == written


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_starts_with_a_heading_as_the_gallery_needs_it(path):
    opening, title, line, blank, *_ = path.read_text(encoding="utf-8").splitlines()
    assert opening == '"""'
    assert line == "=" * len(title)
    assert blank == ""
