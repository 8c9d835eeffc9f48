"""Write a page about the statements and branches that tests run; fail if branches are too few.

    python tools/coverage_results.py --least 97

`make coverage` runs this after the tests, which leave `.coverage`. The page is
benchmarks/campaigns/coverage_results.md.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "campaigns" / "coverage_results.md"
#: Files with a smaller share of branches are listed, in percent.
LISTED = 95.0


def main() -> int:
    """Read the data, write the page, and return 1 if the share of branches is too small."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=97.0, help="percent of branches")
    least = parser.parse_args().least
    measured = coverage.Coverage()
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        measured.json_report(outfile=f"{folder}/coverage.json")
        found = json.loads(Path(folder, "coverage.json").read_text())
    totals = {name: count(found["totals"], name) for name in ("statements", "branches")}
    both = tuple(map(sum, zip(*totals.values(), strict=True)))
    PAGE.write_text(
        "\n".join([*describe(), *tabulate(totals | {"both": both}), "", *list_files(found)]) + "\n"
    )
    print(*tabulate(totals | {"both": both}), f"written to {PAGE.relative_to(ROOT)}", sep="\n")
    covered, number = totals["branches"]
    if 100 * covered < least * number:
        print(f"fewer than {least:g} % of the branches are taken", file=sys.stderr)
        return 1
    return 0


def count(summary: dict, name: str) -> tuple[int, int]:
    """Return how many are covered, and how many there are."""
    covered = "covered_lines" if name == "statements" else "covered_branches"
    return summary[covered], summary[f"num_{name}"]


def describe() -> list[str]:
    """Say how the figures were made, and of which commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return [
        "# Coverage",
        "",
        "`make coverage` runs the tests once with coverage.py, processes of their own included,",
        "and fails if they take fewer than 97 % of the branches, whatever the statements are. What",
        "needs a GPU, another system or another interpreter is left out by `# pragma: no cover`.",
        "",
        f"Commit {commit.stdout.strip() or 'unknown'}, Python {platform.python_version()}, "
        f"{platform.system()}.",
        "",
    ]


def tabulate(totals: dict[str, tuple[int, int]]) -> list[str]:
    """Return the lines of a table of covered and all."""
    return [
        "| | covered | of all | share |",
        "|---|---|---|---|",
        *(
            f"| {name} | {covered} | {number} | {covered / max(number, 1):.2%} |"
            for name, (covered, number) in totals.items()
        ),
    ]


def list_files(found: dict) -> list[str]:
    """Return a table of the files whose branches are missed most."""
    lines = []
    for file, entry in found["files"].items():
        summary = entry["summary"]
        share = 100 * summary["covered_branches"] / max(summary["num_branches"], 1)
        if summary["num_branches"] and share < LISTED:
            name = file[file.index("vanishing/") + len("vanishing/") :]
            missed = summary["missing_lines"], summary["missing_branches"]
            lines.append((share, f"| `{name}` | {share:.1f} % | {missed[0]} | {missed[1]} |"))
    return [
        f"Files with fewer than {LISTED:g} % of their branches:",
        "",
        "| file | branches | statements missed | branches missed |",
        "|---|---|---|---|",
        *(line for _, line in sorted(lines)),
    ]


if __name__ == "__main__":
    sys.exit(main())
