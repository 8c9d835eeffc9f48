"""Runs a cell in a process of its own, so that its memory is its own, and stores the result."""

import resource
import time
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any, cast

from experiments.harness import store
from experiments.harness.cell import Cell, Experiment, Size
from experiments.harness.machine import describe

#: Where each experiment is, in the order of the paper.
EXPERIMENTS = {
    "two_classes": "two_classes.experiment",
    "synthetic": "synthetic.experiment",
    "table1": "images.table1",
    "table2": "images.table2",
    "supplement": "images.supplement",
    "effects": "images.effects",
    "counts": "images.counts",
    "default": "images.default",
    "selection": "images.selection",
    "one_vs_rest": "images.one_vs_rest",
    "ideal_quotient": "ideal_quotient.results",
}
SLOW_TO_IMPORT = ["vanishing", "sklearn.metrics", "sklearn.decomposition", "matplotlib", "torch"]
#: Several cells may be run at a time, but a file is changed by one.
STORING = Lock()


def load(name: str) -> Experiment:
    """Import an experiment."""
    return cast(Experiment, import_module(f"experiments.{EXPERIMENTS[name]}"))


def run(experiment: str, cell: Cell, size: Size) -> str | None:
    """Run a cell and store the result; return what came out in brief, or None if it failed."""
    # A process that has imported the slow libraries, and done nothing else, is the parent of all.
    context = get_context("forkserver")
    context.set_forkserver_preload(SLOW_TO_IMPORT)
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(experiment, cell.name, size, theirs))
    process.start()
    theirs.close()
    try:
        record = ours.recv()
    except EOFError:
        process.join()
        return None
    process.join()
    with STORING:
        store.add(experiment, size, cell.name, record)
    return f"{record['seconds']:.1f} s, {record['peak MB']} MB: {_brief(record['result'])}"


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
