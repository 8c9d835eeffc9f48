"""Choosing between very different detectors without labels, and what the choice is worth."""

from functools import partial
from itertools import product

import numpy as np
from experiments.harness import page
from experiments.harness.cell import Cell
from experiments.images.data import N_TEST, SETS, SHAPE, auc, even_labels, on_device
from sklearn.decomposition import PCA

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.detectors import image_detector, select_without_labels
from vanishing.transformations import AnyOf, Rotations, Translations

TITLE = "Choosing without labels"

#: Training images, half of which are normal: enough to rank, and quick.
N_IMAGES = 10_000
N_GROUPS = 5


def candidates():
    """Detectors that differ in transformations, degree, tolerance and clusters."""
    rotations = Rotations(SHAPE)
    families = {
        "rotations": rotations,
        "shifts by 2": Translations(SHAPE, shift=2),
        "shifts by 4": Translations(SHAPE, shift=4),
        "shifts by 8": Translations(SHAPE, shift=8),
        "rotations + shifts by 4": AnyOf(rotations, Translations(SHAPE, shift=4, identity=False)),
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
            clusters = "" if n_components == 1 else f", {n_components} clusters"
            listed[f"{name}, degree {degree}, tol {tol}{clusters}"] = TransformationDetector(
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
    labels = list(candidates()) if full else list(candidates())[:3]
    return [
        Cell(_name(name, label), partial(judge, name, label, n_images, n_test))
        for name, label in product(SETS, labels)
    ]


def _name(name, label):
    return f"{name}, {label}"


def judge(name, label, n_images, n_test):
    """Judge by pseudo-anomalies and by the held-out score, and look at the labels afterwards.

    Groups and held-out images do not depend on the candidates, so that each is a cell of its own.
    """
    task = even_labels(name, n_images, n_test=n_test).mapped(on_device)
    detector = candidates()[label]
    found = select_without_labels(
        {label: detector},
        task.train,
        n_groups=N_GROUPS,
        representation=PCA(30, random_state=0),
    )
    held_out = np.arange(task.train.shape[0]) % 5 == 0
    score = detector.fit(task.train[~held_out]).score(task.train[held_out])
    return {
        "pseudo-anomalies": round(100 * found.mean_auc[0], 2),
        "held-out score": round(score, 3),
        "AUC": auc(found.best_estimator, task),
    }


# --- page -----------------------------------------------------------------------------------------


def report(results, size):
    parts = [
        f"""Half of the first {N_IMAGES:,} images are normal (even labels). Candidates differ in
transformations, degree, tolerance and clusters. `select_without_labels` leaves each of {N_GROUPS}
clusters of the normal images out in turn and measures how well it is told from held-out ones,
without labels. The mean score of held-out normal images is a sensible criterion within one set of
transformations, but not across sets: the set that is easiest to tell apart wins."""
    ]
    for name in SETS:
        rows = {
            label: results[_name(name, label)]
            for label in candidates()
            if _name(name, label) in results
        }
        if rows:
            parts += [f"## {name}", _table(rows), _verdict(rows)]
    return "\n\n".join(parts)


def _table(rows):
    ranked = sorted(rows.items(), key=lambda row: -row[1]["pseudo-anomalies"])
    head = ["candidate", "pseudo-anomalies", "held-out score", "AUC × 100 on labels"]
    return page.table(
        head,
        [[name, r["pseudo-anomalies"], r["held-out score"], r["AUC"]] for name, r in ranked],
    )


def _verdict(rows):
    chosen = max(rows, key=lambda name: rows[name]["pseudo-anomalies"])
    true = {name: row["AUC"] for name, row in rows.items()}
    by_score = max(rows, key=lambda name: rows[name]["held-out score"])
    best = max(true, key=true.get)
    correlation = np.corrcoef(
        [(r["pseudo-anomalies"], r["AUC"]) for r in rows.values()], rowvar=False
    )
    return (
        f"Pseudo-anomalies choose **{chosen}** ({true[chosen]:.1f}), the "
        f"held-out score would choose {by_score} ({true[by_score]:.1f}); the best is {best} "
        f"({true[best]:.1f}), the mean of all {np.mean(list(true.values())):.1f}. Correlation of "
        f"pseudo-anomalies with the AUC: {correlation[0, 1]:.2f}."
    )
