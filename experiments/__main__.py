"""Run experiments and make the page: ``python -m experiments [NAME ...]``.

Cells that have been run are not run again, so that a stopped run goes on where it was. On a machine
with a CUDA device the sizes are those of the paper, elsewhere smaller ones, unless --size is given.
"""

import argparse
import resource
import sys
import time
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, cast

from experiments import page, store
from experiments.cell import Cell, Experiment, Size
from experiments.machine import describe, has_accelerator

#: In the order of the page.
EXPERIMENTS = (
    "synthetic",
    "two_classes",
    "table1",
    "table2",
    "supplement",
    "effects",
    "counts",
    "default",
    "one_vs_rest",
    "ideal_quotient",
)


def main() -> None:
    """Run what was asked for, then write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(EXPERIMENTS)}; all by default")
    parser.add_argument("--size", choices=("full", "small"))
    parser.add_argument("--cells", default="", help="only cells whose name contains this")
    parser.add_argument("--redo", action="store_true", help="run cells again that have a result")
    parser.add_argument("--list", action="store_true", help="list the cells and stop")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {EXPERIMENTS}")
    size: Size = arguments.size or ("full" if has_accelerator() else "small")
    print(f"size: {size}" + ("" if size == "full" else " (smaller than the paper's; --size full)"))
    todo = [
        (name, cell)
        for name in arguments.names or EXPERIMENTS
        for cell in load(name).cells(size)
        if arguments.cells in cell.name
    ]
    done = {name: store.records(name, size) for name, _ in todo}
    failed = 0
    for number, (name, cell) in enumerate(todo, start=1):
        known = cell.name in done[name] and not arguments.redo
        print(f"[{number}/{len(todo)}] {name}: {cell.name}", end=" ", flush=True)
        if arguments.list:
            print("(has a result)" if known else "(to be run)")
        elif known:
            print("(has a result)")
        else:
            failed += not run(name, cell, size)
    if not arguments.list:
        print(f"page: {page.write({name: load(name) for name in EXPERIMENTS}, size)}")
    sys.exit(f"{failed} cells failed; run the same command again to go on" if failed else 0)


def load(name: str) -> Experiment:
    """Import an experiment."""
    return cast(Experiment, import_module(f"experiments.{name}"))


def run(experiment: str, cell: Cell, size: Size) -> bool:
    """Run a cell in a process of its own, so that its memory is its own, and store the result."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(experiment, cell.name, size, theirs))
    process.start()
    theirs.close()
    try:
        record = ours.recv()
    except EOFError:
        process.join()
        print(f"failed (exit code {process.exitcode})")
        return False
    process.join()
    store.add(experiment, size, cell.name, record)
    print(f"{record['seconds']:.1f} s, {record['peak MB']} MB: {_brief(record['result'])}")
    return True


def _work(experiment: str, name: str, size: Size, answer: Connection) -> None:
    cell = next(cell for cell in load(experiment).cells(size) if cell.name == name)
    started = time.perf_counter()
    result = cell.run()
    seconds = round(time.perf_counter() - started, 2)
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    answer.send({"result": result, "seconds": seconds, "peak MB": peak, "made": describe()})


def _brief(result: dict[str, Any]) -> str:
    shown = {k: v for k, v in result.items() if isinstance(v, int | float | str)}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


if __name__ == "__main__":
    main()
