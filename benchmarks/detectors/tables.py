"""``VanishingDetector()`` on tables: ``python -m benchmarks.detectors.tables``.

Reads tables (npz with X and y, y = 1 anomalous) from the folders ``adbench``,
``adbench-validation`` and ``embeddings`` of VANISHING_DATA, and writes ``tables_results.md`` and
``.json`` beside this file. The detector is used as it comes, with seeds 0, 1 and 2.

*Clean*: normals are shuffled; the first half, at most 5,000, is for training and for standardizing;
the rest, at most 10,000 normals and 5,000 anomalies, for testing. *Mixed*: anomalies are left in
the training half, as 5 % and 10 % of its rows, normals drawn where there are too few anomalies; the
scores are those of the very rows that were fitted to. *Wide*: the eight tables of embeddings, as
the clean ones, with the processor time of fit and score beside that of Ledoit and Wolf's. False
alarms are the share of normal rows that ``predict`` calls anomalous: unseen rows of clean tables.
*DTE*: the semi-supervised protocol of Livernoche et al. (ICLR 2024), five seeds: tables of fewer
than 1,000 rows are filled up with duplicates, which are then in both halves; larger ones than
10,000 are drawn from; the first half of the normals in the order of the file is for training.
Their figures for each table are not among the data here, so that nearest neighbours stand beside
ours; the means of their README (DTE-NP 81.5, kNN 80.9) are those of 57 tables.

The views of the recipe were chosen on these tables and on half of those of ``macrodata``; they have
no weights. The means of one and the same table over seeds differ by about one point.
"""

import json
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
SHARES = (0.05, 0.1)


def area(anomalous: np.ndarray, scores: np.ndarray) -> float:
    """AUC × 100 of scores that are larger for anomalies."""
    return 100 * float(roc_auc_score(anomalous, np.clip(scores, -1e300, 1e300)))


def read(path: Path, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Shuffled normals, and anomalies in their order."""
    stored = np.load(path, allow_pickle=False)
    X, y = stored["X"].astype(np.float64), stored["y"]
    return X[y == 0][np.random.default_rng(seed).permutation(int(np.sum(y == 0)))], X[y == 1]


def split(path: Path, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and which of these are anomalous."""
    normal, anomalies = read(path, seed)
    half = len(normal) // 2
    train, test, anomalies = normal[:half][:5000], normal[half:][:10_000], anomalies[:5000]
    scaler = StandardScaler().fit(train)
    labels = np.repeat([0, 1], [len(test), len(anomalies)])
    return scaler.transform(train), scaler.transform(np.vstack([test, anomalies])), labels


def mix(path: Path, seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a share is anomalous, and which."""
    normal, anomalies = read(path, seed)
    normal = normal[: len(normal) // 2][:5000]
    anomalies = np.random.default_rng(seed).permutation(anomalies)
    count = round(share / (1 - share) * len(normal))
    if count > len(anomalies):
        count = len(anomalies)
        normal = normal[: round(count * (1 - share) / share)]
    return np.vstack([normal, anomalies[:count]]), np.repeat([0, 1], [len(normal), count])


def measure_clean(path: Path, seed: int) -> dict[str, Any]:
    """Ours, nearest neighbours, every choice of weights, false alarms and seconds."""
    train, test, labels = split(path, seed)
    started = time.process_time()
    detector = VanishingDetector().fit(train)
    ours = detector.score_samples(test)
    seconds = time.process_time() - started
    neighbours = NearestNeighbors(n_neighbors=5).fit(train)
    return {
        "ours": area(labels, -ours),
        "kNN-5": area(labels, neighbours.kneighbors(test)[0].mean(axis=1)),
        "false alarms": 100 * float(np.mean(ours[labels == 0] < detector.offset_)),
        "seconds": seconds,
    }


def measure_dte(path: Path, seed: int) -> dict[str, Any]:
    """Ours and nearest neighbours, split as by Livernoche et al."""
    stored = np.load(path, allow_pickle=False)
    X, y = stored["X"].astype(np.float64), stored["y"]
    draw = np.random.RandomState(seed).choice
    if len(y) < 1000:
        drawn = draw(len(y), 1000, replace=True)
        X, y = X[drawn], y[drawn]
    if len(y) > 10_000:
        drawn = draw(len(y), 10_000, replace=False)
        X, y = X[drawn], y[drawn]
    normal, anomalies = X[y == 0], X[y == 1]
    half = round(len(normal) / 2)
    scaler = StandardScaler().fit(normal[:half])
    train = scaler.transform(normal[:half])
    test = scaler.transform(np.vstack([normal[half:], anomalies]))
    labels = np.repeat([0, 1], [len(normal) - half, len(anomalies)])
    neighbours = NearestNeighbors(n_neighbors=5).fit(train)
    return {
        "ours": area(labels, -VanishingDetector().fit(train).score_samples(test)),
        "kNN-5": area(labels, neighbours.kneighbors(test)[0].mean(axis=1)),
    }


def measure_mixed(path: Path, seed: int, share: float) -> dict[str, Any]:
    """Ours, an isolation forest and neighbours without the row itself, on the rows fitted to."""
    X, labels = mix(path, seed, share)
    detector = VanishingDetector().fit(X)
    scaled = StandardScaler().fit_transform(X)
    neighbours = NearestNeighbors(n_neighbors=6).fit(scaled)
    forest = IsolationForest(random_state=seed).fit(X)
    return {
        "ours": area(labels, -detector.score_samples(X)),
        "forest": area(labels, -forest.score_samples(X)),
        "kNN-5": area(labels, neighbours.kneighbors(scaled)[0][:, 1:].mean(axis=1)),
    }


def measure_wide(path: Path, seed: int) -> dict[str, Any]:
    """Ours, Ledoit and Wolf's, nearest neighbours, and the seconds of the first two."""
    train, test, labels = split(path, seed)
    times, scores = [], []
    for fit_and_score in (
        lambda: -VanishingDetector().fit(train).score_samples(test),
        lambda: LedoitWolf().fit(train).mahalanobis(test),
    ):
        seconds = []
        for _ in range(3):
            started = time.process_time()
            found = fit_and_score()
            seconds.append(time.process_time() - started)
        times.append(min(seconds))
        scores.append(found)
    distances = NearestNeighbors(n_neighbors=5).fit(train).kneighbors(test)[0].mean(axis=1)
    return {
        "ours": area(labels, scores[0]),
        "Ledoit-Wolf": area(labels, scores[1]),
        "kNN-5": area(labels, distances),
        "seconds": times[0],
        "seconds of Ledoit-Wolf": times[1],
    }


def run(job: tuple[str, Path, int, float]) -> dict[str, Any]:
    """Measure one table with one seed."""
    kind, path, seed, share = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "clean":
            found = measure_clean(path, seed)
        elif kind == "wide":
            found = measure_wide(path, seed)
        elif kind == "dte":
            found = measure_dte(path, seed)
        else:
            found = measure_mixed(path, seed, share)
    print(kind, path.stem, seed, round(found["ours"], 1), flush=True)
    return {"kind": kind if kind != "mixed" else f"mixed {share:.0%}", "table": path.stem} | found


def main() -> None:
    """Run all tables and seeds."""
    folder = Path(os.environ["VANISHING_DATA"])
    paths = {
        name: sorted((folder / name).glob("*.npz"))
        for name in ("adbench", "adbench-validation", "embeddings")
    }
    both = paths["adbench"] + paths["adbench-validation"]
    jobs = [("clean", path, seed, 0.0) for path in both for seed in SEEDS]
    jobs += [
        ("mixed", path, seed, share)
        for path in paths["adbench"]
        for share in SHARES
        for seed in SEEDS
    ]
    jobs += [("wide", path, seed, 0.0) for path in paths["embeddings"] for seed in SEEDS]
    jobs += [("dte", path, seed, 0.0) for path in paths["adbench"] for seed in range(5)]
    n_processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with ProcessPoolExecutor(n_processes) as pool:
        found = list(pool.map(run, jobs))
    kinds: dict[str, dict[str, dict[str, Any]]] = {}
    for one in found:
        kinds.setdefault(one["kind"], {}).setdefault(one["table"], {})
    for kind, tables in kinds.items():
        for name in tables:
            runs = [one for one in found if (one["kind"], one["table"]) == (kind, name)]
            keys = [key for key in runs[0] if key not in ("kind", "table")]
            tables[name] = {key: np.mean([one[key] for one in runs], axis=0) for key in keys}
    write(kinds)


def write(kinds: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Write both files."""
    described = machine.describe() | {"seeds": list(SEEDS)}
    means = {
        kind: {
            key: np.mean([t[key] for t in tables.values()]) for key in next(iter(tables.values()))
        }
        for kind, tables in kinds.items()
    }
    result = {
        "machine": described,
        "means": {kind: _rounded(values) for kind, values in means.items()},
        "tables": {
            kind: {name: _rounded(t) for name, t in tables.items()}
            for kind, tables in kinds.items()
        },
    }
    (HERE / "tables_results.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = ["# Anomaly detection on tables", "", *(__doc__ or "").splitlines()[2:], ""]
    lines += ["<!-- figures -->", "", "## Machine", ""]
    lines += [f"{key}: {value}  " for key, value in described.items()]
    for kind, tables in kinds.items():
        keys = list(means[kind])
        lines += ["", f"## {kind.capitalize()}", "", "Mean over the seeds, AUC × 100.", ""]
        lines += ["| table | " + " | ".join(keys) + " |", "|---|" + "---|" * len(keys)]
        for name, values in [*tables.items(), ("**mean**", means[kind])]:
            row = [
                f"{values[key]:.2f}" if "seconds" in key else f"{values[key]:.1f}" for key in keys
            ]
            lines.append(f"| {name} | " + " | ".join(row) + " |")
    (HERE / "tables_results.md").write_text("\n".join(lines) + "\n")


def _rounded(values: dict[str, Any]) -> dict[str, float]:
    return {key: round(float(value), 2) for key, value in values.items()}


if __name__ == "__main__":
    main()
