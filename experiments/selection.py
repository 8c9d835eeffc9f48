"""Choosing between very different detectors without labels, and what the choice is worth."""

from functools import partial

import numpy as np
from sklearn.decomposition import PCA

from experiments import page
from experiments.cell import Cell
from experiments.images import N_TEST, SETS, SHAPE, auc, even_labels, on_device
from vanishing import TransformationDetector, VanishingIdeal
from vanishing.anomaly import image_detector, select_without_labels
from vanishing.transformations import Rotations, Translations, Union

TITLE = "Choosing without labels"

#: Training images, half of which are normal: enough to rank, and quick.
N_IMAGES = 10_000
N_GROUPS = 5


def candidates():
    """Detectors that differ in transformations, degree, tolerance and pieces."""
    rotations = Rotations(SHAPE)
    families = {
        "rotations": rotations,
        "shifts by 2": Translations(SHAPE, shift=2),
        "shifts by 4": Translations(SHAPE, shift=4),
        "shifts by 8": Translations(SHAPE, shift=8),
        "rotations + shifts by 4": Union(rotations, Translations(SHAPE, shift=4, identity=False)),
    }
    listed = {}
    for name, moves in families.items():
        for degree, dimension, tol, n_components in (
            (1, 60, 0.5, 1),
            (1, 60, 0.9, 1),
            (1, 60, 0.9, 10),
            (2, 20, 0.5, 1),
        ):
            ideal = VanishingIdeal(
                max_degree=degree, tol=tol, normalization="contrastive", reduction="gram"
            )
            pieces = "" if n_components == 1 else f", {n_components} pieces"
            listed[f"{name}, degree {degree}, tol {tol}{pieces}"] = TransformationDetector(
                moves,
                preprocessor=PCA(dimension, random_state=0),
                ideal=ideal,
                n_components=n_components,
            )
    listed["the default configuration"] = image_detector(SHAPE, n_components=(1, 10, 20))
    return listed


def cells(size):
    full = size == "full"
    n_images, n_test = (N_IMAGES, N_TEST) if full else (1_000, 500)
    return [Cell(name, partial(choose, name, n_images, n_test, full)) for name in SETS]


def choose(name, n_images, n_test, full):
    """Rank by pseudo-anomalies and by held-out scores, and look at the labels afterwards."""
    task = even_labels(name, n_images, n_test=n_test).mapped(on_device)
    tried = candidates()
    if not full:
        tried = dict(list(tried.items())[:3])
    found = select_without_labels(tried, task.train, n_groups=N_GROUPS, representation=PCA(30))
    pseudo = dict(zip(found.names, found.mean_auc.tolist(), strict=True))
    rows = {}
    held_out = np.arange(task.train.shape[0]) % 5 == 0
    for label, detector in tried.items():
        score = detector.fit(task.train[~held_out]).score(task.train[held_out])
        true = auc(detector.fit(task.train), task)
        rows[label] = {
            "pseudo-anomalies": round(100 * pseudo[label], 2),
            "held-out score": round(score, 3),
            "AUC": true,
        }
    return {"rows": rows, "chosen": found.names[0]}


# --- page -----------------------------------------------------------------------------------------


def report(results, size):
    parts = [
        f"""Half of the first {N_IMAGES:,} images are normal (even labels). Candidates differ in
transformations, degree, tolerance and pieces. `select_without_labels` leaves each of {N_GROUPS}
clusters of the normal images out in turn and asks how well it is told from held-out ones; no label
is used. Beside it the mean score of held-out normal images, which within one set of transformations
is a sensible criterion and across sets is not: the set that is easiest to tell apart wins."""
    ]
    for name in SETS:
        if name in results:
            parts += [f"### {name}", _table(results[name]), _verdict(results[name])]
    return "\n\n".join(parts)


def _table(result):
    rows = sorted(result["rows"].items(), key=lambda row: -row[1]["pseudo-anomalies"])
    head = ["candidate", "pseudo-anomalies", "held-out score", "AUC × 100 on labels"]
    return page.table(
        head,
        [[name, r["pseudo-anomalies"], r["held-out score"], r["AUC"]] for name, r in rows],
    )


def _verdict(result):
    rows = result["rows"]
    true = {name: row["AUC"] for name, row in rows.items()}
    by_score = max(rows, key=lambda name: rows[name]["held-out score"])
    best = max(true, key=true.get)
    correlation = np.corrcoef(
        [(r["pseudo-anomalies"], r["AUC"]) for r in rows.values()], rowvar=False
    )
    return (
        f"Pseudo-anomalies choose **{result['chosen']}** ({true[result['chosen']]:.1f}), the "
        f"held-out score would choose {by_score} ({true[by_score]:.1f}); the best is {best} "
        f"({true[best]:.1f}), the mean of all {np.mean(list(true.values())):.1f}. Correlation of "
        f"pseudo-anomalies with the AUC: {correlation[0, 1]:.2f}."
    )
