"""The pages of the documentation that show our results beside the paper's."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from experiments.harness import store
from experiments.harness.cell import Experiment, Size

DOCS = Path(__file__).parents[2] / "docs"
SMALL = "This is the small size; the text speaks of the sizes of the paper."


def write(experiments: Mapping[str, Experiment], size: Size) -> Path:
    """Write one page for each experiment that has results; return their folder."""
    folder = DOCS / "reproduction" if size == "full" else store.RESULTS / "small"
    folder.mkdir(parents=True, exist_ok=True)
    for name, experiment in experiments.items():
        results = store.results(name, size)
        if results:
            parts = [f"# {experiment.TITLE}", experiment.report(results, size).strip()]
            if size != "full":
                parts.insert(1, SMALL)
            (folder / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return folder.relative_to(DOCS.parent)


def table(head: list[str], rows: list[list[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *[[str(item) for item in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def picture(name: str, description: str) -> str:
    """Return the lines that show a figure."""
    return f"```{{image}} ../../experiments/results/figures/{name}\n:alt: {description}\n```"


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
