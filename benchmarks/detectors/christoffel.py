"""``ChristoffelDetector`` on tables of few columns: ``python -m benchmarks.detectors.christoffel``.

Reads the tables of at most 21 columns (npz with X and y, y = 1 anomalous) in the folders
``adbench`` and ``adbench-validation`` of VANISHING_DATA, and writes ``christoffel_results.md`` and
``.json`` beside this file. Training and test rows are those of *clean* in ``tables.py``; seeds 0, 1
and 2. Degrees are those with at least two rows for each polynomial. Seconds are processor time of
fit and score, with one thread.
"""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine
from benchmarks.detectors.tables import area, split
from benchmarks.laws.report import table
from sklearn.ensemble import IsolationForest
from threadpoolctl import threadpool_limits

from vanishing import VanishingDetector
from vanishing.detectors import ChristoffelDetector
from vanishing.polynomials.monomials import count

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
MOST_COLUMNS = 21
DEGREES = (1, 2, 3, 4)


def measure(path: Path) -> dict[str, Any] | None:
    """Return the mean figures of a table, or None if it has too many columns."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in SEEDS:
        train, test, labels = split(path, seed)
        n_rows, width = train.shape
        if width > MOST_COLUMNS:
            return None
        detectors: dict[str, Any] = {
            f"degree {degree}": ChristoffelDetector(degree)
            for degree in DEGREES
            if 2 * count(width, degree) <= n_rows
        }
        detectors["VanishingDetector"] = VanishingDetector(random_state=seed)
        detectors["isolation forest"] = IsolationForest(random_state=seed)
        for name, detector in detectors.items():
            started = time.process_time()
            scores = detector.fit(train).score_samples(test)
            seconds = time.process_time() - started
            alarms = 100 * float(np.mean(detector.predict(test[labels == 0]) == -1))
            found.setdefault(name, []).append((area(labels, -scores), alarms, seconds))
    means = {name: np.mean(values, axis=0).tolist() for name, values in found.items()}
    return {"table": path.stem, "rows": n_rows, "columns": width, "figures": means}


def summarize(record: dict[str, Any]) -> dict[str, Any]:
    """Return a line of the table: AUC, false alarms and seconds of each detector."""
    line = {name: record[name] for name in ("table", "rows", "columns")}
    for name in (*(f"degree {d}" for d in DEGREES), "VanishingDetector", "isolation forest"):
        figures = record["figures"].get(name)
        line[name] = "" if figures is None else "{:.1f}, {:.1f} %, {:.2f} s".format(*figures)
    return line


def main() -> None:
    """Measure all tables, and write the results."""
    warnings.simplefilter("ignore")
    root = Path(os.environ["VANISHING_DATA"])
    paths = sorted([*root.glob("adbench/*.npz"), *root.glob("adbench-validation/*.npz")])
    records = []
    with threadpool_limits(1):
        for path in paths:
            if (record := measure(path)) is not None:
                records.append(record)
                print(summarize(record), flush=True)
    described = machine.describe()
    both = [r["figures"] for r in records if "degree 2" in r["figures"]]
    means = {
        name: round(float(np.mean([figures[name][0] for figures in both])), 1)
        for name in ("degree 1", "degree 2", "VanishingDetector", "isolation forest")
    }
    result = {"machine": described, "tables": records, "means where degree 2 is possible": means}
    (HERE / "christoffel_results.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = [f"{key}: {value}  " for key, value in described.items()]
    parts = [
        "# The Christoffel function on tables",
        __doc__.split("\n\n", 1)[1].strip(),
        "\n".join(lines),
        "AUC × 100, false alarms on unseen normal rows, seconds. Means of three seeds.",
        table([summarize(record) for record in records]),
        f"Mean AUC of the {len(both)} tables where degree 2 is possible: "
        + ", ".join(f"{name} {value}" for name, value in means.items())
        + ".",
    ]
    (HERE / "christoffel_results.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
