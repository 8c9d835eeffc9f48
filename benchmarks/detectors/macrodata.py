"""Tables of OddBench and OvRBench: ``python -m benchmarks.detectors.macrodata``.

Reads the folder ``macrodata`` of VANISHING_DATA (npz with X_train, normal rows only, X_test and
y_test, 1 for anomalies), and writes ``macrodata_results.json`` beside this file. Tables at even
places of the sorted list of each collection were used to choose the views, those at odd places to
confirm the choice. Peers are used as they come; nearest neighbors on standardized columns.
"""

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks import machine
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector

HERE = Path(__file__).parent
COLLECTIONS = ("oddbench", "ovrbench")
Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Scores of test rows, larger for anomalies, given standardized training and test rows.
DETECTORS: dict[str, Scores] = {
    "ours": lambda X, Z: -VanishingDetector().fit(X).score_samples(Z),
    "kNN-5": lambda X, Z: NearestNeighbors(n_neighbors=5).fit(X).kneighbors(Z)[0].mean(axis=1),
    "LOF-20": lambda X, Z: -LocalOutlierFactor(20, novelty=True).fit(X).score_samples(Z),
    "isolation forest": lambda X, Z: -IsolationForest(random_state=0).fit(X).score_samples(Z),
    "MCD": lambda X, Z: MinCovDet(random_state=0).fit(X).mahalanobis(Z),
}


def measure(path: Path) -> dict[str, float]:
    """AUC × 100 of every detector."""
    stored = np.load(path, allow_pickle=False)
    scaler = StandardScaler().fit(stored["X_train"].astype(np.float64))
    train, test = (scaler.transform(stored[key].astype(float)) for key in ("X_train", "X_test"))
    found = {}
    for name, score in DETECTORS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = np.clip(score(train, test), -1e300, 1e300)
        found[name] = 100 * float(roc_auc_score(stored["y_test"], scores))
    return found


def summarize(tables: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Means, and differences of ours with standard errors and shares of tables where ours wins."""
    values = {name: np.array([table[name] for table in tables]) for name in DETECTORS}
    summary = {}
    for name, own in values.items():
        apart = values["ours"] - own
        summary[name] = {
            "mean": round(float(own.mean()), 2),
            "ours more by": round(float(apart.mean()), 2),
            "standard error": round(float(apart.std(ddof=1) / np.sqrt(len(apart))), 2),
            "ours wins": round(float(np.mean(apart > 0)), 3),
        }
    return summary


def main() -> None:
    """Run all tables."""
    folder = Path(os.environ["VANISHING_DATA"]) / "macrodata"
    result: dict[str, object] = {"machine": machine.describe()}
    for half, name in enumerate(("chosen on", "confirmed on")):
        for collection in COLLECTIONS:
            paths = sorted(folder.glob(f"{collection}-*.npz"))[half::2]
            result[f"{collection}, {name}"] = summarize([measure(path) for path in paths])
    (HERE / "macrodata_results.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
