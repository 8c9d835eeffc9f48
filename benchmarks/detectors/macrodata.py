"""Tables of OddBench and OvRBench.

``python -m benchmarks.detectors.macrodata [FOLDER [DETECTOR ...]]``

Reads the folder ``macrodata`` of VANISHING_DATA (npz with X_train, normal rows only, X_test and
y_test, 1 for anomalies), and writes ``macrodata_results.json`` into FOLDER, by default beside this
file. Tables at even places of the sorted list of each collection were used to choose the views,
those at odd places to confirm the choice. Peers are used as they come, on standardized columns.
ECOD and INNE are PyOD's. *Four kNN* is a naive sum: -log of the tail on the
training rows and the logarithm of the excess, of the mean distances to five neighbors in
standardized columns and in normal quantiles, as they are and whitened. Detectors that are named
are measured alone.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks import machine
from pyod.models.base import BaseDetector
from pyod.models.ecod import ECOD
from pyod.models.inne import INNE
from sklearn.covariance import LedoitWolf, MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from vanishing import VanishingDetector

HERE = Path(__file__).parent
COLLECTIONS = ("oddbench", "ovrbench")
HALVES = ("chosen on", "confirmed on")
Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]


def measure_distances(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """Mean distances to five rows of X, of rows of Z, or of those of X to the others."""
    return NearestNeighbors(n_neighbors=min(5, len(X) - 1)).fit(X).kneighbors(Z)[0].mean(axis=1)


def score_by(detector: BaseDetector, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Scores of a detector of PyOD."""
    return np.asarray(detector.fit(X).decision_function(Z))


def add_neighbors(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return the naive sum of four kNN."""
    normal = QuantileTransformer(
        n_quantiles=min(len(X), 200), output_distribution="normal", random_state=0
    ).fit(X)
    total = np.zeros(len(Z))
    for train, test in ((X, Z), (normal.transform(X), normal.transform(Z))):
        variances, vectors = np.linalg.eigh(LedoitWolf().fit(train).covariance_)
        for matrix in (np.eye(len(variances)), vectors / np.sqrt(variances)):
            seen = np.sort(measure_distances(train @ matrix))
            found = measure_distances(train @ matrix, test @ matrix)
            tail = np.maximum(len(seen) + 1 - np.searchsorted(seen, found), 1) / (len(seen) + 1)
            median, upper = np.quantile(seen, [0.5, 0.75])
            excess = np.maximum(found - median, 0) / (upper - median + 1e-12)
            total += np.log1p(excess) - np.log(tail)
    return total


#: Scores of test rows, larger for anomalies, given standardized training and test rows.
DETECTORS: dict[str, Scores] = {
    "ours": lambda X, Z: -VanishingDetector().fit(X).score_samples(Z),
    "kNN-5": measure_distances,
    "four kNN": add_neighbors,
    "LOF-20": lambda X, Z: -LocalOutlierFactor(20, novelty=True).fit(X).score_samples(Z),
    "isolation forest": lambda X, Z: -IsolationForest(random_state=0).fit(X).score_samples(Z),
    "ECOD": lambda X, Z: score_by(ECOD(), X, Z),
    "INNE": lambda X, Z: score_by(INNE(random_state=0), X, Z),
    "MCD": lambda X, Z: MinCovDet(random_state=0).fit(X).mahalanobis(Z),
}


def measure(path: Path, names: list[str]) -> dict[str, float]:
    """AUC × 100 of some detectors."""
    stored = np.load(path, allow_pickle=False)
    scaler = StandardScaler().fit(stored["X_train"].astype(np.float64))
    train, test = (scaler.transform(stored[key].astype(float)) for key in ("X_train", "X_test"))
    found = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = np.clip(DETECTORS[name](train, test), -1e300, 1e300)
        found[name] = 100 * float(roc_auc_score(stored["y_test"], scores))
    return found


def summarize(tables: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Means, and differences of ours with standard errors and shares of tables where ours wins."""
    values = {name: np.array([table[name] for table in tables]) for name in tables[0]}
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
    source = Path(os.environ["VANISHING_DATA"]) / "macrodata"
    names = sys.argv[2:] or list(DETECTORS)
    result: dict[str, object] = {"machine": machine.describe()}
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for collection in COLLECTIONS:
            paths = sorted(source.glob(f"{collection}-*.npz"))
            found = list(pool.map(partial(measure, names=names), paths))
            for half, name in enumerate(HALVES):
                result[f"{collection}, {name}"] = summarize(found[half::2])
            result[collection] = summarize(found)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (target / "macrodata_results.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
