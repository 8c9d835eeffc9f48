"""Write model files of the current format, which tests read in all later versions.

Run once for each version of the format, before it is released. Files that exist are kept. Beside
them is what the models said about some rows when they were saved.
"""

import json

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.paths import DATA
from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.persistence import save
from vanishing.saving import FORMAT_VERSION


def data():
    """Points near a curve in space: no random numbers, which may change with versions."""
    t = np.linspace(-1, 1, 60)
    wave = 0.05 * np.sin(37 * t)
    return np.column_stack([t + wave, t**2 - wave, t**3 + 0.5 * wave**2, 3 * t - t**2])


def models():
    X = data()
    labels = np.where(X[:, 0] > 0, "right", "left")
    preprocessing = (StandardScaler(), PCA(3, whiten=True))
    return {
        "ideal": VanishingIdeal(max_degree=3, tol=0.05).fit(X),
        "class_features": ClassVanishingFeatures().fit(X, labels),
        "pipeline": make_pipeline(*preprocessing, VanishingIdeal(tol=0.2)).fit(X),
    }


def main():
    rows = data()[::13] + 0.1
    values = {}
    for name, model in models().items():
        path = DATA / f"{name}_format_{FORMAT_VERSION}.safetensors"
        if path.exists():
            raise SystemExit(f"{path} exists; files of a released format are not made again")
        save(model, path)
        values[name] = model.transform(rows).tolist()
    content = json.dumps({"rows": rows.tolist(), "transform": values}, indent=1)
    (DATA / f"values_format_{FORMAT_VERSION}.json").write_text(content + "\n")


if __name__ == "__main__":
    main()
