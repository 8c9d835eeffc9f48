"""Look up known vulnerabilities of the packages in constraints.txt; run by ``make audit``.

Uses pip-audit, in an environment of its own, and the database of the Python Packaging Authority,
both of which need the network. Exit status: 0 if nothing is known, 1 if something is, 3 if the
answer could not be found out.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-audit"
NOTHING_KNOWN, VULNERABLE, UNKNOWN = 0, 1, 3


def install() -> list[str] | None:
    """Return the command that runs pip-audit; None if it cannot be installed."""
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = ENVIRONMENT / folder / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "pip-audit>=2.7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        complain(f"pip-audit cannot be installed: {last_line(done.stderr)}")
        return None
    return [str(python), "-m", "pip_audit"]


def audit(command: list[str], requirements: Path) -> int:
    """Run pip-audit on pinned requirements, print what it found, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        options = ["--requirement", str(requirements), "--no-deps", "--disable-pip"]
        options += ["--format", "json", "--output", str(answer), "--progress-spinner", "off"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        # Its status is 1 for vulnerabilities and for errors, but it answers the first only.
        if not answer.exists():
            complain(f"the database of vulnerabilities gave no answer: {last_line(done.stderr)}")
            return UNKNOWN
        packages = json.loads(answer.read_text(encoding="utf-8"))["dependencies"]
    skipped = [each for each in packages if "skip_reason" in each]
    if len(skipped) == len(packages):
        reason = last_line(skipped[0]["skip_reason"] if skipped else done.stderr)
        complain(f"the database of vulnerabilities gave no answer: {reason}")
        return UNKNOWN
    vulnerable = [each for each in packages if each.get("vulns")]
    for each in vulnerable:
        for known in each["vulns"]:
            fixed = ", ".join(known["fix_versions"]) or "no version yet"
            print(f"{each['name']} {each['version']}: {known['id']}, fixed in {fixed}")
    if skipped:
        names = ", ".join(each["name"] for each in skipped[:5])
        more = f" and {len(skipped) - 5} more" if len(skipped) > 5 else ""
        complain(f"nothing could be looked up about {names}{more}")
    looked_up = len(packages) - len(skipped)
    print(f"{len(vulnerable)} of {looked_up} packages have known vulnerabilities")
    if vulnerable:
        return VULNERABLE
    return UNKNOWN if skipped else NOTHING_KNOWN


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def complain(text: str) -> None:
    print(f"{text}; run make audit where the network can be reached", file=sys.stderr)


if __name__ == "__main__":
    command = install()
    sys.exit(UNKNOWN if command is None else audit(command, ROOT / "constraints.txt"))
