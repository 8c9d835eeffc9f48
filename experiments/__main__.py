"""Run experiments and write their pages: ``python -m experiments [NAME ...]``.

Cells that have been run are not run again, so that a stopped run goes on where it was. On a machine
with a CUDA device the sizes are those of the paper, elsewhere smaller ones, unless --size is given.
"""

import argparse
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from experiments.harness import page, store
from experiments.harness.cell import Cell, Size
from experiments.harness.machine import has_accelerator
from experiments.harness.runner import EXPERIMENTS, load, run


def main() -> None:
    """Run what was asked for, then write the pages."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(EXPERIMENTS)}; all by default")
    parser.add_argument("--size", choices=("full", "small"))
    parser.add_argument("--cells", default="", help="only cells whose name matches this pattern")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time; seconds then mislead")
    parser.add_argument("--redo", action="store_true", help="run cells again that have a result")
    parser.add_argument("--list", action="store_true", help="list the cells and stop")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(EXPERIMENTS)
    if unknown:
        parser.error(
            f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}"
        )
    size: Size = arguments.size or ("full" if has_accelerator() else "small")
    print(f"size: {size}" + ("" if size == "full" else " (smaller than the paper's; --size full)"))
    todo = [
        (name, cell)
        for name in arguments.names or EXPERIMENTS
        for cell in load(name).cells(size)
        if re.search(arguments.cells, cell.name)
    ]
    done = {name: store.records(name, size) for name, _ in todo}

    def go(number: int, name: str, cell: Cell) -> bool:
        """Run a cell if it has no result, and say what came out."""
        outcome: str | None = "(has a result)"
        if cell.name not in done[name] or arguments.redo:
            outcome = "(to be run)" if arguments.list else run(name, cell, size)
        print(f"[{number}/{len(todo)}] {name}: {cell.name} {outcome or 'FAILED'}", flush=True)
        return outcome is not None

    with ThreadPoolExecutor(arguments.jobs) as pool:
        started = [pool.submit(go, i, name, cell) for i, (name, cell) in enumerate(todo, start=1)]
        failed = sum(not future.result() for future in started)
    if not arguments.list:
        print(f"pages: {page.write({name: load(name) for name in EXPERIMENTS}, size)}")
    sys.exit(f"{failed} cells failed; run the same command again to go on" if failed else 0)


if __name__ == "__main__":
    main()
