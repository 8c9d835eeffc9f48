"""Default detectors on many small tables.

Each table has exact or nearly exact relations, as tables with units, sums, constants and repeated
columns have. A detector is fitted to it and applied to 200 fresh rows of the same kind. It violates
the promise if it flags more than 15 % of them after a fit to 60 rows or more, or all of them after
a fit to any number. The table of a seed never changes, so runs can be split into ranges:

    python -m benchmarks.campaigns.detectors --start 0 --tables 10000 &
    python -m benchmarks.campaigns.detectors --start 10000 --tables 10000

Prints the number of violations, the worst share, and the seeds of violations; exits with 1 if there
are any.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vanishing import TransformationDetector, VanishingDetector

DETECTORS: dict[str, Callable[[], Any]] = {
    "vanishing": VanishingDetector,
    "transformation": TransformationDetector,
}
#: Standard deviations of noise, in units of that of the column.
NOISES = (0.0, 0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
KINDS = ("linear", "quadratic", "circle", "several", "integers", "repeated", "constants", "units")
N_FRESH = 200
#: Share of fresh rows that may be flagged after a fit to this many rows.
MOST_FLAGGED, ENOUGH_ROWS = 0.15, 60
FEWEST_ROWS, MOST_ROWS = 10, 300
MOST_COLUMNS = 6


class Table(NamedTuple):
    """Rows to fit to, and fresh rows of the same kind."""

    seed: int
    kind: str
    noise: float
    rows: np.ndarray
    fresh: np.ndarray

    def __str__(self) -> str:
        n_rows, n_columns = self.rows.shape
        return f"seed {self.seed}: {self.kind}, {n_rows} x {n_columns}, noise {self.noise:g}"


def make_table(seed: int) -> Table:
    """Return the table of a seed."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(KINDS))
    noise = float(rng.choice(NOISES))
    n_rows = int(np.exp(rng.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS + 1))))
    n_columns = int(rng.integers(1, MOST_COLUMNS + 1))
    X = _columns(kind, n_rows + N_FRESH, n_columns, rng)
    spread = X[:n_rows].std(axis=0)
    spread[spread <= 1e-12 * np.abs(X).max(axis=0)] = 0.0  # constants stay constant
    X = X + noise * spread * rng.standard_normal(X.shape)
    return Table(seed, kind, noise, X[:n_rows], X[n_rows:])


def _columns(kind: str, n_rows: int, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return columns that keep the relations of a kind exactly, up to rounding."""
    units = 10.0 ** rng.integers(-3, 4, size=n_columns)
    zeros = rng.choice([0.0, 1.0, 32.0, 1000.0], size=n_columns)
    if kind == "integers":
        largest = int(rng.choice([2, 5, 20, 1000]))
        whole = rng.integers(0, largest, size=(n_rows, 1 + n_columns // 3))
        factors = rng.integers(-3, 4, size=(whole.shape[1], n_columns))
        return (whole @ factors + rng.integers(-9, 10, size=n_columns)).astype(float)
    if kind == "circle":
        angle = rng.uniform(0, 2 * np.pi, n_rows)
        latent = np.column_stack([np.cos(angle), np.sin(angle)])
        if n_columns < 2:
            return latent[:, :1] * units + zeros
        more = latent @ rng.standard_normal((2, n_columns - 2))
        return np.hstack([latent, more]) * units + zeros
    n_latent = int(rng.integers(1, max(2, n_columns)))
    latent = _latent(n_rows, n_latent, rng)
    if kind == "units":  # every column is the first of its group in another unit
        return latent[:, rng.integers(n_latent, size=n_columns)] * units + zeros
    if kind == "repeated":
        return latent[:, rng.integers(n_latent, size=n_columns)]
    if kind == "constants":
        X = latent[:, rng.integers(n_latent, size=n_columns)] * units + zeros
        constant = rng.random(n_columns) < 0.5
        X[:, constant] = zeros[constant]
        return X
    X = latent @ rng.standard_normal((n_latent, n_columns))
    if kind in ("quadratic", "several"):
        first, second = rng.integers(n_latent, size=(2, n_columns))
        bent = rng.random(n_columns) < 0.5
        X = np.where(bent, latent[:, first] * latent[:, second], X)
    if kind == "several" and n_columns > 2:
        X[:, -1] = X[:, 0] + X[:, 1]
        X[:, -2] = X[:, 0]
    return X * units + zeros


def _latent(n_rows: int, n_latent: int, rng: np.random.Generator) -> np.ndarray:
    """Return what the columns are made of."""
    how = rng.choice(["normal", "uniform", "skewed", "groups", "rounded"])
    if how == "uniform":
        return rng.uniform(-1, 1, (n_rows, n_latent))
    if how == "skewed":
        return rng.exponential(size=(n_rows, n_latent))
    X = rng.standard_normal((n_rows, n_latent))
    if how == "groups":
        return X + 8 * rng.integers(0, 3, size=(n_rows, 1))
    return np.round(X, 1) if how == "rounded" else X


def flagged(name: str, table: Table) -> float:
    """Return the share of fresh rows that a detector of this name calls anomalous."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = DETECTORS[name]().fit(table.rows)
    return float(np.mean(detector.predict(table.fresh) == -1))


def is_violation(table: Table, share: float) -> bool:
    """Whether so many flagged rows break the promise."""
    return share == 1.0 or (len(table.rows) >= ENOUGH_ROWS and share > MOST_FLAGGED)


def main() -> int:
    """Run a range of seeds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=20_000, help="number of tables")
    parser.add_argument("--start", type=int, default=0, help="number of the first table")
    parser.add_argument("--seed", type=int, default=0, help="of the campaign, added in millions")
    parser.add_argument("--detector", choices=[*DETECTORS, "all"], default="vanishing")
    arguments = parser.parse_args()
    names = list(DETECTORS) if arguments.detector == "all" else [arguments.detector]
    numbers = range(arguments.start, arguments.start + arguments.tables)
    violations: dict[str, list[int]] = {name: [] for name in names}
    worst = dict.fromkeys(names, 0.0)
    refused = dict.fromkeys(names, 0)
    started = time.perf_counter()
    for done, number in enumerate(numbers, start=1):
        table = make_table(1_000_000 * arguments.seed + number)
        for name in names:
            try:
                share = flagged(name, table)
            except ValueError as error:
                refused[name] += 1
                print(f"{name} refused {table}: {error}", flush=True)
                continue
            if len(table.rows) >= ENOUGH_ROWS:
                worst[name] = max(worst[name], share)
            if is_violation(table, share):
                violations[name].append(table.seed)
                print(f"VIOLATION {name} flags {share:.1%} of {table}", flush=True)
        if done % 500 == 0:
            seconds = (time.perf_counter() - started) / done
            found = sum(map(len, violations.values()))
            print(
                f"{done} tables, to go on with --start {number + 1}: {seconds:.3f} s a table, "
                f"{found} violations, at most {max(worst.values()):.1%} flagged",
                flush=True,
            )
    for name in names:
        print(
            f"{name}: {len(violations[name])} violations in {len(numbers)} tables, {refused[name]} "
            f"refused, at most {worst[name]:.1%} flagged after a fit to {ENOUGH_ROWS} rows or "
            f"more; seeds of violations: {violations[name]}"
        )
    return 1 if any(violations.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
