"""The page of the documentation that shows our results beside the paper's."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from experiments import store
from experiments.cell import Experiment, Size

DOCS = Path(__file__).parent.parent / "docs"
INTRODUCTION = """# The paper, reproduced

This page is written by `make reproduce` (`python -m experiments`) out of the files in
`experiments/results`, where seed, versions and machine of each number stand.
"""
SMALL = """
This is the small size, good for a look only: the text below speaks of the sizes of the paper.
"""


def write(experiments: Mapping[str, Experiment], size: Size) -> Path:
    """Write the page out of what has been run; experiments without results are left out."""
    parts = [INTRODUCTION if size == "full" else INTRODUCTION + SMALL]
    for name, experiment in experiments.items():
        results = store.results(name, size)
        if results:
            parts.append(f"## {experiment.TITLE}\n\n{experiment.report(results, size).strip()}\n")
    folder = DOCS if size == "full" else store.RESULTS / "small"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "reproduction.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path.relative_to(DOCS.parent)


def table(head: list[str], rows: list[list[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *[[str(item) for item in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def picture(name: str, description: str) -> str:
    """Return the lines that show a figure."""
    return f"```{{image}} ../experiments/results/figures/{name}\n:alt: {description}\n```"


def spread(values: Iterable[float | None]) -> str:
    """Return mean ± standard deviation of what is there, the mean alone of a single value."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return f"{known[0]:.1f}" if known else "–"
    return f"{np.mean(known):.1f} ± {np.std(known, ddof=1):.1f}"


def beside(ours: str, paper: float | None) -> str:
    """Return our figure with the paper's behind it, if it has one."""
    return ours if paper is None else f"{ours} ({paper:.1f})"


def check(claim: str, holds: bool, why: str) -> list[object]:
    """Return a row of a table of claims; what does not hold is seen at once."""
    return [claim, f"{'yes' if holds else '**no**'}: {why}"]
