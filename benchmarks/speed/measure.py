"""One measurement in a process of its own, so that peak memory is its own too.

``python -m benchmarks.speed.measure TASK`` does the work and prints the result as JSON; ``measure``
starts that and reads it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.speed.task import Result, Task

if TYPE_CHECKING:
    from vanishing import VanishingIdeal

ROOT = Path(__file__).resolve().parents[2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")
#: Bare products are timed on so many rows.
PRODUCT_ROWS = 50_000
#: Rows asked for at a time when a source is transformed.
TRANSFORM_ROWS = 16_384
#: The floors of rows from files, which need not fit into memory, are timed on so many.
FLOOR_ROWS = 100_000


def measure(task: Task) -> Result:
    """Measure in a fresh process with as many threads as the task says."""
    command = [sys.executable, "-m", "benchmarks.speed.measure", task.to_json()]
    threads = dict.fromkeys(THREADS, str(task.threads))
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | threads, stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"the measurement {task.name!r} failed; its error is printed above")
    fields = json.loads(done.stdout)
    fields |= {key: tuple(fields[key]) for key in ("columns", "vanishing")}
    return Result(task=task, **fields)


def hold_to_threads(threads: int) -> None:
    """Hold BLAS and OpenMP to a number of threads, and fail if a library uses more."""
    from threadpoolctl import threadpool_info, threadpool_limits

    threadpool_limits(limits=threads)
    busy = [pool["internal_api"] for pool in threadpool_info() if pool["num_threads"] > threads]
    if busy:
        raise RuntimeError(f"{threads} threads are allowed, but these use more: {', '.join(busy)}")


def work(task: Task) -> dict[str, Any]:
    """Do a task in this process; return the fields of a ``Result``."""
    from benchmarks.speed.floors import floor_seconds, products_seconds

    from vanishing import VanishingIdeal

    hold_to_threads(task.threads)
    with _data(task) as (points, contrast):
        ideal = VanishingIdeal(
            max_degree=task.degree,
            tol=task.tol,
            tol_norm=task.tol_norm,
            normalization=task.normalization,
            reduction=task.reduction,
        )
        mapped_before = _mapped_mb()
        fit_s = _seconds(lambda: ideal.fit(points, contrast=contrast))
        peak_mb, mapped_after = _peak_mb(), _mapped_mb()
        for _ in range(task.repeats - 1):
            fit_s = min(fit_s, _seconds(lambda: ideal.fit(points, contrast=contrast)))
        transform_s = min(_seconds(lambda: _transform(ideal, points)) for _ in range(task.repeats))
    columns = _columns(ideal)
    sets = (task.rows, task.contrast_rows) if task.contrast_rows else (task.rows,)
    most_rows = None if task.source == "array" else FLOOR_ROWS
    floors = {
        floor: floor_seconds(floor, columns, sets, task.repeats, most_rows=most_rows)
        for floor in (("syrk", "geqrf") if task.reduction == "tsqr" else ("syrk",))
    }
    products_s = products_seconds(_products(ideal), task.rows, task.repeats, most_rows=PRODUCT_ROWS)
    mapped_mb = None
    if mapped_before is not None and mapped_after is not None:
        mapped_mb = max(0.0, mapped_after - mapped_before)
    return {
        "fit_s": fit_s,
        "transform_s": transform_s,
        "peak_mb": peak_mb,
        "mapped_mb": mapped_mb,
        "syrk_s": floors["syrk"],
        "geqrf_s": floors.get("geqrf"),
        "products_s": products_s,
        "columns": columns,
        "vanishing": [step.vanishing for step in ideal.trace_],
    }


@contextmanager
def _data(task: Task) -> Iterator[tuple[Any, Any]]:
    """Make the points and the contrast, in memory or in files that are deleted afterwards."""
    from benchmarks.speed import cases, stored

    if task.source == "array":
        points = cases.CASES[task.data](task.rows, task.features)
        yield points, cases.contrast(points, task.contrast_rows) if task.contrast_rows else None
        return
    if task.data != "gaussian":
        raise ValueError(f"only the Gaussian is written to files, got {task.data!r}")
    with tempfile.TemporaryDirectory(prefix="vanishing-bench-") as folder:
        path, contrast_path = Path(folder, "points"), Path(folder, "contrast")
        stored.write(path, cases.gaussian_chunks(task.rows, task.features))
        points = stored.open_rows(path, task.features, task.source)
        if not task.contrast_rows:
            yield points, None
            return
        like = next(cases.gaussian_chunks(min(task.rows, cases.CHUNK), task.features))
        stored.write(contrast_path, cases.contrast_chunks(like, task.contrast_rows))
        yield points, stored.open_rows(contrast_path, task.features, task.source)


def _transform(ideal: "VanishingIdeal", points: Any) -> None:
    """Evaluate on all points; values of a source are let go block by block."""
    from vanishing.data import as_source

    if type(points).__name__ == "ndarray":
        ideal.transform(points)
        return
    for _ in ideal.transform(as_source(points)).blocks(TRANSFORM_ROWS):
        pass


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _columns(ideal: "VanishingIdeal") -> tuple[int, ...]:
    """Columns of [F C] at each degree: the constant, F of lower degrees, the candidates."""
    columns, lower = [], 1
    for step in ideal.trace_:
        columns.append(lower + step.candidates)
        lower += step.nonvanishing
    return tuple(columns)


def _products(ideal: "VanishingIdeal") -> tuple[tuple[int, int], ...]:
    """Shapes of the matrices that transform multiplies values with."""
    blocks = ideal.basis_.blocks
    last = max((t for t, block in enumerate(blocks) if block.vanishing.shape[1]), default=-1)
    shapes = []
    for degree, block in enumerate(blocks[: last + 1]):
        heights = [block.vanishing.shape[1]]
        heights += [block.nonvanishing.shape[1]] if degree < last else []
        for height in filter(None, heights):
            shapes += [(height, block.n_candidates), (height, block.projection.shape[0])]
    return tuple(shapes)


def _peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _mapped_mb() -> float | None:
    """Resident pages that files stand behind (a file in a memory file system counts as shared)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = [line.split() for line in status.read_text().splitlines()]
    return sum(int(line[1]) for line in lines if line[0] in ("RssFile:", "RssShmem:")) * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(work(Task.from_json(sys.argv[1]))))
