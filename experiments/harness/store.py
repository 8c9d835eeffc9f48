"""Results in ``experiments/results``: one JSON file an experiment, one entry a cell."""

import json
import os
from pathlib import Path
from typing import Any

from experiments.harness.cell import Results, Size

RESULTS = Path(__file__).parents[1] / "results"
FIGURES = RESULTS / "figures"


def path_of(experiment: str, size: Size) -> Path:
    """Full results are committed; small ones are only good for a look."""
    return RESULTS / (f"{experiment}.json" if size == "full" else f"small/{experiment}.json")


def records(experiment: str, size: Size) -> dict[str, dict[str, Any]]:
    """Return what has been run so far: result, seconds, memory and versions of each cell."""
    path = path_of(experiment, size)
    if not path.exists():
        return {}
    stored: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def results(experiment: str, size: Size) -> Results:
    """Return the figures of each cell that has been run, with its seconds and peak memory."""
    return {
        name: record["result"] | {"seconds": record["seconds"], "peak MB": record["peak MB"]}
        for name, record in records(experiment, size).items()
    }


def add(experiment: str, size: Size, cell: str, record: dict[str, Any]) -> None:
    """Store one more record; the file is replaced as a whole or not at all."""
    path = path_of(experiment, size)
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = records(experiment, size) | {cell: record}
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(unfinished, path)


def save_figure(figure: Any, name: str, size: Size) -> str:
    """Write a figure as SVG and PNG; return the file name for the page."""
    from matplotlib import rc_context

    folder = FIGURES if size == "full" else RESULTS / "small" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    # The same figure is the same file, so that its history shows changes only.
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=150)
    return f"{name}.svg"
