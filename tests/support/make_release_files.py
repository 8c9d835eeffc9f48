"""Write pickles of fitted models, which tests read in all later versions.

Run once for each release, before it: ``python -m tests.support.make_release_files``. Folders of
earlier releases are kept. Beside each model is what it said about some rows.
"""

import pickle

import numpy as np

import vanishing
from tests.support.make_model_files import data
from tests.support.paths import DATA
from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.detectors import image_detector


def models():
    X = data()
    labels = np.where(X[:, 0] > 0, "right", "left")
    t = np.linspace(0, 3, 40)[:, None]
    pictures = np.abs(np.sin(t + np.arange(16))) + 0.1 * np.cos(7 * t * np.arange(16))
    return {
        "ideal": (VanishingIdeal(max_degree=3, tol=0.05).fit(X), "transform", X),
        "border_basis": (VanishingIdeal(construction="abm", tol=0.05).fit(X), "transform", X),
        "class_features": (ClassVanishingFeatures().fit(X, labels), "transform", X),
        "detector": (VanishingDetector(random_state=0).fit(X), "score_samples", X),
        "images": (
            image_detector((4, 4), random_state=0).fit(pictures),
            "score_samples",
            pictures,
        ),
    }


def main():
    folder = DATA / f"release_{vanishing.__version__}"
    if folder.exists():
        raise SystemExit(f"{folder} exists; files of a release are not made again")
    folder.mkdir()
    for name, (model, method, rows) in models().items():
        rows = rows[::9] + 0.05
        expected = getattr(model, method)(rows)
        content = {"model": model, "method": method, "rows": rows, "expected": expected}
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(content, protocol=5))


if __name__ == "__main__":
    main()
