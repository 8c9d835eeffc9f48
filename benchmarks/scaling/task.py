"""One measurement of how fits grow, in a process of its own.

``python -m benchmarks.scaling.task TASK`` does the work and prints the result as JSON; ``measure``
starts that and reads it.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.speed.measure import ROOT, THREADS, _peak_mb

FloatArray = npt.NDArray[np.float64]

#: Rows that are drawn at a time.
CHUNK = 2**16
#: Blocks of a Dask array for each worker.
BLOCKS_PER_WORKER = 8


@dataclass(frozen=True)
class ScalingTask:
    """What to fit.

    Parameters
    ----------
    part : {"rows", "features-1", "features-2", "degree", "strong", "weak"}
    rows, features, degree : int
        Of X; the contrast has as many rows.
    reduction : {"tsqr", "gram"}
    threads : int
        Of BLAS. Streamed rows are drawn by one thread more.
    workers : int
        Processes of a Dask cluster; 0 for none.
    """

    part: str
    rows: int
    features: int
    degree: int
    reduction: str
    threads: int = 1
    workers: int = 0

    @property
    def name(self) -> str:
        """What the measurement is called in files."""
        where = f" on {self.workers} workers" if self.workers else ""
        size = f"{self.rows:,}×{self.features} degree {self.degree}"
        return f"{self.part}: {size} {self.reduction}{where}"


def measure(task: ScalingTask) -> dict[str, Any]:
    """Measure in a fresh process; return the task and what was measured."""
    command = [sys.executable, "-m", "benchmarks.scaling.task", json.dumps(asdict(task))]
    environment = os.environ | dict.fromkeys(THREADS, str(task.threads))
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the measurement {task.name!r} failed; its error is printed above")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return asdict(task) | found


def rows_of(index: int, n_rows: int, features: int, *, contrast: bool) -> FloatArray:
    """Draw chunk ``index``: X is bent in its last column, with noise, and the contrast is round."""
    rng = np.random.default_rng([int(contrast), index])
    x = rng.standard_normal((n_rows, features))
    if not contrast:
        x[:, -1] *= 0.05
        x[:, -1] += x[:, 0] * x[:, 1 % features]
    return x


def chunks(rows: int, features: int, *, contrast: bool) -> Callable[[], Iterator[FloatArray]]:
    """Return a function that draws the rows anew, chunk by chunk."""

    def draw() -> Iterator[FloatArray]:
        for index, start in enumerate(range(0, rows, CHUNK)):
            yield rows_of(index, min(CHUNK, rows - start), features, contrast=contrast)

    return draw


def work(task: ScalingTask) -> dict[str, Any]:
    """Fit once and describe what it took."""
    if task.workers:
        return _on_cluster(task)
    x = chunks(task.rows, task.features, contrast=False)
    y = chunks(task.rows, task.features, contrast=True)
    started = time.perf_counter()
    for _ in x():
        pass
    drawing = time.perf_counter() - started
    return _fit(task, x, y) | {"drawing_s": drawing}


def _fit(task: ScalingTask, x: Any, y: Any) -> dict[str, Any]:
    from vanishing import VanishingIdeal

    ideal = VanishingIdeal(
        max_degree=task.degree,
        tol=0.1,
        normalization="contrastive",
        reduction=task.reduction,
        memory_budget=2**32,  # for 100 features at degree 2
    )
    started = time.perf_counter()
    ideal.fit(x, contrast=y)
    return {
        "fit_s": time.perf_counter() - started,
        "peak_mb": _peak_mb(),
        "candidates": [step.candidates for step in ideal.trace_],
        "vanishing": [step.vanishing for step in ideal.trace_],
        "smallest_extent": float(min(ideal.extents_, default=float("nan"))),
    }


def _on_cluster(task: ScalingTask) -> dict[str, Any]:
    """Fit blocks that are drawn by the workers and kept there."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    n_blocks = BLOCKS_PER_WORKER * 4  # the same for any number of workers
    if task.part == "weak":
        n_blocks = BLOCKS_PER_WORKER * task.workers
    n_rows = task.rows // n_blocks

    def blocks(contrast: bool) -> Any:
        template = da.zeros((n_blocks * n_rows, task.features), chunks=(n_rows, task.features))

        def draw(block: Any, block_id: Any = None) -> FloatArray:
            return rows_of(block_id[0], n_rows, task.features, contrast=contrast)

        return template.map_blocks(draw, dtype=float, meta=np.empty((0, 0))).persist()

    with (
        LocalCluster(
            n_workers=task.workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=None,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(task.workers)
        x, y = blocks(False), blocks(True)
        wait([x, y])
        _fit(task, x[: 2 * n_rows], y[: 2 * n_rows])  # workers import what they need
        return _fit(task, x, y)


if __name__ == "__main__":
    print(json.dumps(work(ScalingTask(**json.loads(sys.argv[1])))))
