"""What the tests of the command line are run with."""

import os

import numpy as np

from tests.support.paths import SOURCE


def environment():
    """Of a process that finds the library, and says the same on every machine."""
    kept = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100", "TERM": "dumb"}
    return {**kept, "PYTHONIOENCODING": "utf-8"}


def parabola(n_rows, *, seed=0):
    """Points near y = x²."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n_rows)
    return np.column_stack([x, x**2 + 0.02 * rng.normal(size=n_rows)])


def write_csv(path, names, rows):
    """Write what Python prints."""
    lines = [",".join(names), *(",".join(map(repr, row)) for row in np.asarray(rows).tolist())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
