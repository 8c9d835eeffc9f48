"""How fits grow with rows, features, degree and workers.

``python -m benchmarks.scaling [--part PART] [--size small|full] [--output FOLDER] [--fresh]``
writes results.json after every measurement and goes on where it stopped; at the end it
writes results.md and the figures.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.scaling.report import draw, markdown
from benchmarks.scaling.task import ScalingTask, measure

PARTS = ("rows", "features-1", "features-2", "degree", "strong", "weak")


def tasks(part: str, *, full: bool) -> Iterable[ScalingTask]:
    """Return the measurements of a part."""
    if part == "rows":
        sizes = (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8) if full else (10**5, 3 * 10**5, 10**6)
        for reduction in ("gram", "tsqr"):
            for rows in sizes:
                yield ScalingTask(part, rows, 10, 2, reduction, threads=2)
    elif part == "features-1":
        for features in (50, 100, 200, 400, 784) if full else (50, 100, 200):
            yield ScalingTask(part, 100_000 if full else 20_000, features, 1, "gram", threads=2)
    elif part == "features-2":
        for features in (10, 20, 40, 60, 80, 100) if full else (10, 20, 30):
            yield ScalingTask(part, 20_000 if full else 5_000, features, 2, "gram", threads=2)
    elif part == "degree":
        for degree in (1, 2, 3, 4, 5, 6) if full else (1, 2, 3, 4):
            yield ScalingTask(part, 1_000_000 if full else 50_000, 5, degree, "tsqr", threads=2)
    elif part == "strong":
        for workers in (1, 2, 4):
            yield ScalingTask(part, 3_200_000 if full else 320_000, 10, 2, "tsqr", 1, workers)
    elif part == "weak":
        for workers in (1, 2, 4):
            rows = (1_600_000 if full else 160_000) * workers
            yield ScalingTask(part, rows, 10, 2, "tsqr", 1, workers)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="all by default")
    parser.add_argument("--size", choices=("small", "full"), default="full")
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        type=Path,
        help="where results and figures go; by default beside this file, and nowhere with "
        "--size small",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is there")
    arguments = parser.parse_args()
    folder = arguments.output
    if folder is None and arguments.size == "full":
        folder = Path(__file__).parent
    record = _stored(folder)
    record["machine"] = describe() | {"threads": "see each measurement"}
    for part in arguments.part or PARTS:
        print(f"\n{part}", flush=True)
        for task in tasks(part, full=arguments.size == "full"):
            if task.name in record["results"] and not arguments.fresh:
                print(f"  {task.name}: there already", flush=True)
                continue
            found = measure(task)
            record["results"][task.name] = found | {"commit": record["machine"]["commit"]}
            print(f"  {task.name}: {found['fit_s']:.2f} s, {found['peak_mb']:.0f} MB", flush=True)
            if folder is not None:
                _store(folder, record)
    if folder is not None:
        _store(folder, record)
        (folder / "results.md").write_text(markdown(record))
        draw(record, folder / "figures")
        print(f"written: results.json, results.md and figures in {folder.name}")


def _stored(folder: Path | None) -> dict[str, Any]:
    path = None if folder is None else folder / "results.json"
    if path is None or not path.exists():
        return {"results": {}}
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def _store(folder: Path, record: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (folder / "results.json").write_text(text)


if __name__ == "__main__":
    main()
