"""Tables of ADBench against nearest neighbours: ``python -m benchmarks.detectors.tables``.

Reads the tables (npz with X and y, y = 1 anomalous) from VANISHING_DATA/adbench and writes
``tables_results.md`` and ``.json`` beside this file. Protocol: normals are shuffled with seeds
0, 1, 2; the first half, at most 5,000, is for training and for standardizing; the rest, at most
10,000 normals and 5,000 anomalies, for testing. ``VanishingDetector()`` is used as it comes. Its
three parts were chosen among ten by their mean figure on these very tables, so the comparison
flatters it; each part by itself is below nearest neighbours, and all ten together are above.
False alarms are the share of the normal test rows that ``predict`` calls anomalous.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
from benchmarks import machine
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)


def split(path: Path, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and which of these are normal."""
    stored = np.load(path, allow_pickle=False)
    X, y = stored["X"].astype(np.float64), stored["y"]
    normal = X[y == 0][np.random.default_rng(seed).permutation(int(np.sum(y == 0)))]
    half = len(normal) // 2
    train, test, anomalies = normal[:half][:5000], normal[half:][:10_000], X[y == 1][:5000]
    scaler = StandardScaler().fit(train)
    labels = np.repeat([1, 0], [len(test), len(anomalies)])
    return scaler.transform(train), scaler.transform(np.vstack([test, anomalies])), labels


def measure(path: Path, seed: int) -> tuple[float, float, float, float]:
    """AUC × 100 of ours and of five nearest neighbours, our false alarms, and our seconds."""
    train, test, labels = split(path, seed)
    started = time.perf_counter()
    detector = VanishingDetector().fit(train)
    ours = detector.score_samples(test)
    seconds = time.perf_counter() - started
    false_alarms = float(np.mean(ours[labels == 1] < detector.offset_))
    neighbours = NearestNeighbors(n_neighbors=5).fit(train)
    distances = neighbours.kneighbors(test)[0].mean(axis=1)
    areas = (100 * roc_auc_score(labels, scores) for scores in (ours, -distances))
    return *areas, false_alarms, seconds


def main() -> None:
    """Run all tables and seeds."""
    folder = Path(os.environ["VANISHING_DATA"]) / "adbench"
    rows = []
    for path in sorted(folder.glob("*.npz"), key=lambda p: int(p.stem.split("_")[0])):
        figures = np.array([measure(path, seed) for seed in SEEDS])
        rows.append(
            {
                "table": path.stem.split("_", 1)[1],
                "ours": figures[:, 0].round(1).tolist(),
                "kNN-5": figures[:, 1].round(1).tolist(),
                "mean difference": round(float(np.mean(figures[:, 0] - figures[:, 1])), 1),
                "false alarms": figures[:, 2].round(3).tolist(),
                "seconds": round(float(figures[:, 3].max()), 1),
            }
        )
        print(rows[-1], flush=True)
    means = {
        name: np.mean([row[name] for row in rows], axis=0).round(2).tolist()
        for name in ("ours", "kNN-5")
    }
    false_alarms = np.mean([row["false alarms"] for row in rows], axis=1)
    alarms = {
        "mean": round(float(false_alarms.mean()), 3),
        "worst table": round(float(false_alarms.max()), 3),
    }
    described = machine.describe() | {"threads": os.cpu_count()}
    result = {"machine": described, "means per seed": means, "false alarms": alarms, "rows": rows}
    (HERE / "tables_results.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = ["# Anomaly detection on tables", "", *(__doc__ or "").splitlines()[2:], ""]
    lines += [f"{key}: {value}  " for key, value in described.items()]
    lines += ["", "Mean AUC × 100 over the tables, per seed:", ""]
    lines += [f"* {name}: {values}" for name, values in means.items()]
    lines += ["", f"False alarms, mean over the seeds: {alarms}"]
    lines += ["", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
    (HERE / "tables_results.md").write_text("\n".join(lines) + "\n")
    print(means)


if __name__ == "__main__":
    main()
