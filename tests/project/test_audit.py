"""``make audit`` tells apart: nothing is known, something is, nobody could be asked."""

import json
import re
import subprocess
import sys

import pytest
from tests.support.paths import ROOT
from tools.audit import NOTHING_KNOWN, UNKNOWN, VULNERABLE, audit

pytestmark = pytest.mark.programs

#: Stands for pip-audit: writes an answer, or none, and ends with a status.
STANDS_FOR = """
import sys
answer, status = sys.argv[1], int(sys.argv[2])
if answer:
    open(sys.argv[sys.argv.index("--output") + 1], "w").write(answer)
sys.stderr.write("trouble: no route to host\\n")
sys.exit(status)
"""
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
BAD = {
    "name": "pillow",
    "version": "9.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["9.1"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
SKIPPED = {"name": "ours", "skip_reason": "not on PyPI"}


def run(packages, status):
    answer = "" if packages is None else json.dumps({"dependencies": packages})
    command = [sys.executable, "-c", STANDS_FOR, answer, str(status)]
    return audit(command, ROOT / "constraints.txt")


@pytest.mark.parametrize(
    ("packages", "status", "expected", "out", "err"),
    [
        ([SOUND], 0, NOTHING_KNOWN, "0 of 1 packages have known", ""),
        ([SOUND, BAD], 1, VULNERABLE, "pillow 9.0: PYSEC-2, fixed in no version yet", ""),
        ([SOUND, SKIPPED], 0, UNKNOWN, "0 of 1 packages", "nothing could be looked up about ours"),
        ([SKIPPED] * 3, 0, UNKNOWN, "", "gave no answer: not on PyPI; run make audit where"),
        (None, 1, UNKNOWN, "", "gave no answer: trouble: no route to host; run make audit where"),
    ],
    ids=["sound", "vulnerable", "skipped", "all skipped", "no answer"],
)
def test_statuses(packages, status, expected, out, err, capsys):
    assert run(packages, status) == expected
    said = capsys.readouterr()
    assert out in said.out
    assert err in said.err


def test_requirements_are_pinned():
    """Or pip-audit would have to resolve them first."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line.strip() and not line.startswith("#")]
    assert pinned
    assert all("==" in line for line in pinned)


def read_versions(path):
    """Return the version of each package that a file pins."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    pinned = [line.split()[0].split("==") for line in lines if "==" in line and line[0] != "#"]
    return {re.sub(r"[._]", "-", name.lower()): version for name, version in pinned}


def test_continuous_integration_installs_the_same_versions():
    constraints, locked = read_versions("constraints.txt"), read_versions(".ci/requirements.txt")
    assert len(locked) > 100
    assert locked.items() <= constraints.items()


def test_make_knows_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "tools/audit.py" in makefile
    done = subprocess.run(
        ["make", "-n", "audit"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "tools/audit.py" in done.stdout
