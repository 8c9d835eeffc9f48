"""Singular and Macaulay2 as programs: which versions, and whether two ideals are equal."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SYSTEMS = ("singular", "macaulay2")
PROGRAMS = {"singular": "Singular", "macaulay2": "M2"}
SECONDS = 300

#: Appended to a file that defines R and I. The true equations are those of the catalogue, not
#: written by the function under test.
COMPARE = {
    "singular": """
ideal true_ideal = {equations};
ideal basis_of_I = std(I);
ideal basis_of_true = std(true_ideal);
if (size(reduce(true_ideal, basis_of_I)) + size(reduce(I, basis_of_true)) == 0)
{{ print("answer equal"); }} else {{ print("answer different"); }}
""",
    "macaulay2": """
print concatenate("answer ", if I == ideal({equations}) then "equal" else "different");
""",
}


def is_installed(system: str) -> bool:
    """Whether the program is there."""
    return shutil.which(PROGRAMS[system]) is not None


def version_of(system: str) -> str:
    """Return the version that the program says it has."""
    question = {"singular": 'print(system("version"));', "macaulay2": 'print version#"VERSION"'}
    lines = run(system, question[system]).strip().splitlines()
    found = lines[-1].strip()
    # Singular writes 4.3.1 with patch 3 as 4313.
    return ".".join(found) if system == "singular" and found.isdigit() else found


def run(system: str, text: str) -> str:
    """Let a program read a text, and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ideal.txt"
        path.write_text(text + "\n", encoding="utf-8")
        command = {
            "singular": ["Singular", "-q", "--no-rc", "-c", f'< "{path}"; quit;'],
            "macaulay2": ["M2", "--script", str(path)],
        }
        done = subprocess.run(
            command[system],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    if done.returncode or "error" in done.stdout:
        raise RuntimeError(f"{PROGRAMS[system]} said:\n{done.stdout}{done.stderr}")
    return done.stdout


def is_equal(system: str, text: str, equations: Sequence[str]) -> bool:
    """Ask whether the ideal I of a text is that of some equations in Python's syntax."""
    listed = ", ".join(each.replace("**", "^") for each in equations)
    answer = run(system, text + COMPARE[system].format(equations=listed))
    (found,) = [line for line in answer.splitlines() if line.startswith("answer ")]
    return found == "answer equal"
