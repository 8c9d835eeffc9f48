"""Write fitted models, as model files and as pickles, which tests read in all later versions.

Run once for each release from 0.2.0 on, before it: ``python -m tests.support.make_release_files``.
Folders of earlier releases are kept. Beside the models is what they said about some rows.
"""

import pickle

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import vanishing
from tests.support.paths import DATA
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.detectors import ChristoffelDetector, image_detector
from vanishing.persistence import save

#: Methods of the models by their names.
NAMES = {
    "ideal": "transform",
    "border_basis": "transform",
    "class_features": "transform",
    "pipeline": "transform",
    "recipe": "score_samples",
    "one_ideal": "score_samples",
    "clusters": "score_samples",
    "christoffel": "score_samples",
    "transformations": "score_samples",
    "images": "score_samples",
}


def data():
    """Points near a curve in space: no random numbers, which may change with versions."""
    t = np.linspace(-1, 1, 60)
    wave = 0.05 * np.sin(37 * t)
    return np.column_stack([t + wave, t**2 - wave, t**3 + 0.5 * wave**2, 3 * t - t**2])


def models():
    X = data()
    labels = np.where(X[:, 0] > 0, "right", "left")
    t = np.linspace(0, 3, 40)[:, None]
    pictures = np.abs(np.sin(t + np.arange(16))) + 0.1 * np.cos(7 * t * np.arange(16))
    contrastive = VanishingIdeal(normalization="contrastive", tol=0.9)
    preprocessing = (StandardScaler(), PCA(3, whiten=True))
    return {
        "ideal": (VanishingIdeal(max_degree=3, tol=0.05).fit(X), X),
        "border_basis": (VanishingIdeal(construction="abm", tol=0.05).fit(X), X),
        "class_features": (ClassVanishingFeatures().fit(X, labels), X),
        "pipeline": (make_pipeline(*preprocessing, VanishingIdeal(tol=0.2)).fit(X), X),
        "recipe": (VanishingDetector(random_state=0).fit(X), X),
        "one_ideal": (VanishingDetector(VanishingIdeal(tol=10.0)).fit(X), X),
        "clusters": (VanishingDetector(contrastive, n_components=2).fit(X), X),
        "christoffel": (ChristoffelDetector(2).fit(X), X),
        "transformations": (TransformationDetector(random_state=0).fit(X), X),
        "images": (image_detector((4, 4), random_state=0).fit(pictures), pictures),
    }


def main():
    folder = DATA / f"release_{vanishing.__version__}"
    if folder.exists():
        raise SystemExit(f"{folder} exists; files of a release are not made again")
    folder.mkdir()
    said = {}
    for name, (model, rows) in models().items():
        rows = rows[::9] + 0.05
        save(model, folder / f"{name}.safetensors")
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model, protocol=5))
        said |= {f"{name} rows": rows, f"{name} values": getattr(model, NAMES[name])(rows)}
    np.savez(folder / "values.npz", **said)


if __name__ == "__main__":
    main()
