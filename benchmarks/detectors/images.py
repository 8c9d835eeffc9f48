"""Even digits normal, odd ones anomalous: ``python -m benchmarks.detectors.images``.

Reads MNIST and Fashion-MNIST (IDX, gzip) from the folder VANISHING_DATA and writes
``images_results.md`` and ``.json`` beside this file. Settings are those of the paper and of the
design notes, the same for both sets; no anomalous image is used in fitting.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.datasets import load_fashion_mnist, load_mnist
from vanishing.transformations import AnyOf, RandomAffine, Rotations, Translations

HERE = Path(__file__).parent
SHAPE = (28, 28)
SETS = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
LOADERS = {"mnist": load_mnist, "fashion-mnist": load_fashion_mnist}
LINEAR = VanishingIdeal(max_degree=1, tol=0.7, normalization="contrastive", reduction="gram")


def reduced(n_components: int) -> PCA:
    """Principal components, the same every time."""
    return PCA(n_components, random_state=0)


def rotations(**parameters: Any) -> TransformationDetector:
    """Four rotations, 30 components, degree 2, tol 0.5."""
    return TransformationDetector(Rotations(SHAPE), preprocessor=reduced(30), **parameters)


#: name: training images, detector, what the paper or the target says per set
RUNS: dict[str, tuple[int, Callable[[], Any], tuple[str, str]]] = {
    "rotations": (10_000, rotations, ("≥ 87", "≥ 83")),
    "rotations, convex weights": (
        10_000,
        lambda: rotations(weighting="convex"),
        ("≥ 87", "≥ 89.5"),
    ),
    "rotations, descent (the paper's weights)": (
        10_000,
        lambda: rotations(weighting="descent"),
        ("", ""),
    ),
    "random affine, in PCA coordinates": (
        10_000,
        lambda: Pipeline([("pca", reduced(30)), ("detector", TransformationDetector())]),
        ("≤ rotations - 10", "≤ rotations - 10"),
    ),
    "random affine, on pixels": (
        10_000,
        lambda: TransformationDetector(RandomAffine(), preprocessor=reduced(30)),
        ("≤ rotations - 10", "≤ rotations - 10"),
    ),
    "9 shifts by 8, PCA 50, degree 1": (
        10_000,
        lambda: TransformationDetector(
            Translations(SHAPE, shift=8), preprocessor=reduced(50), ideal=LINEAR
        ),
        ("", "≥ 94"),
    ),
    "rotations, all images": (60_000, rotations, ("paper 79.1", "paper 83.8")),
    "4 rotations + 8 shifts by 4, PCA 60, degree 1, 50 pieces": (
        60_000,
        lambda: TransformationDetector(
            AnyOf(Rotations(SHAPE), Translations(SHAPE, shift=4, identity=False)),
            preprocessor=reduced(60),
            ideal=LINEAR,
            n_components=50,
        ),
        ("≥ 94", "≥ 94"),
    ),
}


def run_one(name: str, data: str) -> dict[str, Any]:
    """Fit and score in this process."""
    images = LOADERS[data]()
    n_images, make, targets = RUNS[name]
    normal = images.train_images[:n_images][images.train_labels[:n_images] % 2 == 0]
    test, test_labels = images.test_images, images.test_labels
    del images
    started = time.perf_counter()
    model = make().fit(normal)
    fitted = time.perf_counter()
    scores = model.score_samples(test)
    return {
        "set": SETS[data],
        "run": name,
        "training images": n_images,
        "AUC × 100": round(100 * roc_auc_score(test_labels % 2 == 0, scores), 2),
        "target": targets[list(SETS).index(data)],
        "fit s": round(fitted - started, 1),
        "score s": round(time.perf_counter() - fitted, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "held-out mean score": round(float(-np.mean(scores[test_labels % 2 == 0])), 3),
    }


def main() -> None:
    """Run all, each in a process of its own, so that its peak memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="runs whose name contains this")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if "VANISHING_DATA" not in os.environ:
        parser.error("set VANISHING_DATA to a folder that holds mnist/ and fashion-mnist/")
    if arguments.one:
        print(json.dumps(run_one(*arguments.one)))
        return
    rows = []
    for name in RUNS:
        for data in SETS:
            if arguments.only in name:
                command = [sys.executable, "-m", "benchmarks.detectors.images", "--one", name, data]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                rows.append(json.loads(output.splitlines()[-1]))
                print(rows[-1], flush=True)
    if arguments.only:
        return
    described = machine.describe() | {"threads": os.cpu_count()}
    (HERE / "images_results.json").write_text(
        json.dumps({"machine": described, "rows": rows}, indent=1, ensure_ascii=False) + "\n"
    )
    lines = ["# Anomaly detection on images", "", *__doc__.splitlines()[2:], ""]
    lines += [f"{key}: {value}  " for key, value in described.items()]
    lines += ["", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
    (HERE / "images_results.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
