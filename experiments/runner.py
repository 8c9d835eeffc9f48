"""Runs a cell in a process of its own, so that its memory is its own, and stores the result."""

import resource
import time
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, cast

from experiments import store
from experiments.cell import Cell, Experiment, Size
from experiments.machine import describe


def load(name: str) -> Experiment:
    """Import an experiment."""
    return cast(Experiment, import_module(f"experiments.{name}"))


def run(experiment: str, cell: Cell, size: Size) -> bool:
    """Run a cell and store the result; say whether it worked."""
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
