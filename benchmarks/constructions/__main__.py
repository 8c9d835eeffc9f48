"""Constructions of vanishing ideals side by side: ``python -m benchmarks.constructions``.

Writes ``results.md`` and ``.json`` beside this file; reads the tables ``skin`` and ``htru2`` of
VANISHING_DATA/classification. Name parts to run only those and keep the figures of the others.

*Speed*: OAVI fitted to both classes of ``skin``, 60 % of the rows, degrees up to 10, one thread;
processor seconds, least of several. Beside them the bare symmetric products of the matrices that
are reduced, and what the authors' own code (avi_at_scale, NumPy for CuPy) took on another day.
*Classification*: the features |g| of the equations of each class, standardized, and a logistic
regression; 60 % of the rows for training, ten splits. The tolerance and the regularization are
those of least error in a threefold cross-validation of the training rows (of 20,000 of them).
*Contrast*: each digit of scikit-learn's against the nine others, in principal components. Half of
the images are fitted to, the AUC of ‖G‖ is that of the other half, averaged over the digits. Terms
are the nonzero coefficients of all equations of a digit.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.construction.border import Oavi

HERE = Path(__file__).parent
#: Processor seconds of avi_at_scale for both classes of skin, by ψ, as we measured them.
PEER = {0.005: {"CG-IHB": 0.29, "BPCG-WIHB": 0.16}, 0.0005: {"CG-IHB": 0.76, "BPCG-WIHB": 1.40}}
#: Errors in percent and seconds of training that Wirth, Kera and Pokutta (2023) print.
PUBLISHED = {"htru2": "2.05 to 2.11 %, 2.3 s", "skin": "0.22 to 0.24 %, 2.9 s"}
CONSTRUCTIONS: dict[str, dict[str, Any]] = {
    "oavi": {"construction": "oavi"},
    "oavi, few terms": {"construction": Oavi(oracle="l1")},
    "abm": {"construction": "abm"},
    "abm-gradient": {"construction": "abm-gradient"},
    "vca": {"construction": "vca"},
    "contrastive oavi": {"construction": "oavi", "normalization": "contrastive"},
    "contrastive abm": {"construction": "abm", "normalization": "contrastive"},
    "contrastive vca": {"construction": "vca", "normalization": "contrastive"},
}
DEGREES = {"htru2": 4, "skin": 8}
TOLERANCES = (0.003, 0.006, 0.01, 0.02, 0.05, 0.1, 0.2)
REGULARIZATIONS = (1.0, 100.0)
N_SPLITS, N_CHOOSING = 10, 20_000


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    stored = np.load(Path(os.environ["VANISHING_DATA"]) / "classification" / f"{name}.npz")
    return stored["X"].astype(np.float64), stored["y"]


# --- Speed ----------------------------------------------------------------------------------------


def measure_speed(repeats: int = 30) -> list[dict[str, Any]]:
    X, y = read("skin")
    rows = np.random.default_rng(0).permutation(len(X))[: int(0.6 * len(X))]
    parts = [X[rows][y[rows] == label] for label in np.unique(y)]
    found = []
    for psi, peers in PEER.items():
        for oracle, peer in ((None, "CG-IHB"), ("l1", "BPCG-WIHB")):
            for reduction in ("auto", "tsqr", "gram"):
                ideal = VanishingIdeal(
                    construction=Oavi(oracle=oracle),
                    tol=float(np.sqrt(psi)),
                    max_degree=10,
                    reduction=reduction,
                )

                def fit(ideal: VanishingIdeal = ideal) -> list[VanishingIdeal]:
                    return [clone(ideal).fit_part(part) for part in parts]

                fitted = fit()
                seconds = take_time(fit, repeats)
                floor = 0.0
                for part, each in zip(parts, fitted, strict=True):
                    for n_columns in count_columns(each):
                        block = np.ones((n_columns, len(part)))
                        floor += take_time(lambda block=block: block @ block.T, 10)
                found.append(
                    {
                        "psi": psi,
                        "oracle": oracle or "none",
                        "reduction": reduction,
                        "seconds": round(seconds, 4),
                        "syrk": round(floor, 4),
                        "peer": peer,
                        "peer seconds": peers[peer],
                        "times faster": round(peers[peer] / seconds, 1),
                        "terms of O": sum(len(each.order_ideal_.terms) for each in fitted),
                        "generators": sum(each.basis_.count() for each in fitted),
                        "sparsity": round(float(np.mean([get_sparsity(e) for e in fitted])), 2),
                    }
                )
                print(found[-1], flush=True)
    return found


def take_time(work: Callable[[], Any], repeats: int) -> float:
    """Return the least processor time of several."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def count_columns(ideal: VanishingIdeal) -> tuple[int, ...]:
    """Return the number of columns that are reduced at each degree."""
    lower = np.cumsum([1, *(step.nonvanishing for step in ideal.trace_)])
    return tuple(int(n) + step.candidates for n, step in zip(lower, ideal.trace_, strict=False))


def get_sparsity(ideal: VanishingIdeal) -> float:
    return ideal.order_ideal_.sparsity if ideal.order_ideal_ is not None else 0.0


# --- Classification -------------------------------------------------------------------------------


def make_features(parameters: dict[str, Any], tol: float, degree: int) -> Any:
    ideal = VanishingIdeal(tol=tol, max_degree=degree, reduction="gram", **parameters)
    return make_pipeline(MinMaxScaler((-1, 1)), ClassVanishingFeatures(ideal), StandardScaler())


def choose(
    X: np.ndarray, y: np.ndarray, parameters: dict[str, Any], degree: int
) -> tuple[float, float]:
    """Return the tolerance and the regularization of least error in a cross-validation."""
    errors: dict[tuple[float, float], list[float]] = {}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for train, test in folds.split(X, y):
        for tol in TOLERANCES:
            features = make_features(parameters, tol, degree)
            try:
                on_train = features.fit_transform(X[train], y[train])
            except ValueError:  # nothing vanishes
                continue
            on_test = features.transform(X[test])
            for regularization in REGULARIZATIONS:
                model = LogisticRegression(C=regularization, max_iter=300)
                error = np.mean(model.fit(on_train, y[train]).predict(on_test) != y[test])
                errors.setdefault((tol, regularization), []).append(float(error))
    whole = {key: np.mean(each) for key, each in errors.items() if len(each) == 3}
    return min(whole, key=lambda key: whole[key])


def classify_once(name: str, label: str, split: int) -> dict[str, float]:
    """Choose, train and test on one split."""
    warnings.simplefilter("ignore")  # in each process
    X, y = read(name)
    parameters, degree = CONSTRUCTIONS[label], DEGREES[name]
    rows = np.random.default_rng(split).permutation(len(X))
    train, test = np.split(rows, [int(0.6 * len(X))])
    few = train[:N_CHOOSING]
    tol, regularization = choose(X[few], y[few], parameters, degree)
    features = make_features(parameters, tol, degree)
    model = LogisticRegression(C=regularization, max_iter=300)
    started = time.process_time()
    on_train = features.fit_transform(X[train], y[train])
    fitted = time.process_time()
    model.fit(on_train, y[train])
    trained = time.process_time()
    error = np.mean(model.predict(features.transform(X[test])) != y[test])
    return {
        "error %": 100 * float(error),
        "polynomials": on_train.shape[1],
        "features s": fitted - started,
        "training s": trained - started,
        "sparsity": float(np.mean([get_sparsity(each) for each in features[1].ideals_])),
        "tol": tol,
    }


def classify(n_splits: int = N_SPLITS) -> list[dict[str, Any]]:
    kinds = [(name, label) for name in DEGREES for label in CONSTRUCTIONS]
    runs = Parallel(n_jobs=-1)(
        delayed(classify_once)(*kind, split) for kind in kinds for split in range(n_splits)
    )
    found = []
    for number, (name, label) in enumerate(kinds):
        own = runs[number * n_splits : (number + 1) * n_splits]
        mean = {key: round(float(np.mean([run[key] for run in own])), 3) for key in own[0]}
        spread = round(float(np.std([run["error %"] for run in own])), 3)
        found.append({"table": name, "construction": label, **mean, "spread of error": spread})
        print(found[-1], flush=True)
    return found


# --- Contrast -------------------------------------------------------------------------------------


def compare_contrasts() -> list[dict[str, Any]]:
    images, labels = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(images))
    train, test = np.split(rows, [len(rows) // 2])
    found = []
    for n_components, degree in ((6, 2), (6, 3), (10, 2)):
        pca = PCA(n_components, random_state=0).fit(images[train])
        X, Z = pca.transform(images[train]), pca.transform(images[test])
        for tol in (0.1, 0.2, 0.3):
            for name, construction in (
                ("vca", "vca"),
                ("abm", "abm"),
                ("oavi", "oavi"),
                ("oavi, few terms", Oavi(oracle="l1")),
            ):
                areas, counts, terms = [], [], []
                for digit in range(10):
                    ideal = VanishingIdeal(
                        construction=construction,
                        normalization="contrastive",
                        tol=tol,
                        max_degree=degree,
                    ).fit_part(X[labels[train] == digit], X[labels[train] != digit])
                    scores = np.linalg.norm(ideal.transform(Z), axis=1)
                    areas.append(roc_auc_score(labels[test] != digit, scores))
                    counts.append(ideal.basis_.count())
                    terms.append(count_terms(ideal))
                found.append(
                    {
                        "components": n_components,
                        "degree": degree,
                        "tol": tol,
                        "construction": name,
                        "AUC": round(float(np.mean(areas)), 4),
                        "polynomials": round(float(np.mean(counts)), 1),
                        "terms": round(float(np.mean(terms))),
                    }
                )
                print(found[-1], flush=True)
    return found


def count_terms(ideal: VanishingIdeal) -> int:
    """Count nonzero coefficients: on O, or on the monomials of the columns."""
    if ideal.order_ideal_ is None:
        coefficients = ideal.basis_.expand()[1]
        sizes = np.max(np.abs(coefficients), axis=0, initial=0.0)
        return int(np.sum(np.abs(coefficients) > 1e-9 * sizes))
    return sum(
        int(np.count_nonzero(each.vanishing)) + int(np.count_nonzero(each.vanishing_lower))
        for each in ideal.basis_.blocks
    )


# --- Report ---------------------------------------------------------------------------------------

PARTS = {"speed": measure_speed, "classification": classify, "contrast": compare_contrasts}


def write(results: dict[str, Any]) -> None:
    assert __doc__ is not None
    lines = ["# Constructions side by side", "", __doc__.split("\n\n", 1)[1].strip(), ""]
    for part in PARTS:
        if part not in results:
            continue
        lines += [f"## {part.capitalize()}", ""]
        lines += [f"{key}: {value}  " for key, value in results[part]["machine"].items()]
        if part == "classification":
            lines += ["", f"Printed by the authors of OAVI: {PUBLISHED}."]
        rows = results[part]["rows"]
        lines += ["", f"| {' | '.join(rows[0])} |", "|" + "---|" * len(rows[0])]
        lines += [f"| {' | '.join(str(value) for value in row.values())} |" for row in rows]
        lines += [""]
    (HERE / "results.md").write_text("\n".join(lines))
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    warnings.simplefilter("ignore")
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for part in sys.argv[1:] or PARTS:
        loads = [round(load, 1) for load in os.getloadavg()]
        described = machine.describe() | {"load of the machine": loads}
        results[part] = {"machine": described, "rows": PARTS[part]()}
        write(results)


if __name__ == "__main__":
    main()
