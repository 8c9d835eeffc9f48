"""Seconds that were promised, each in several runs: ``python -m benchmarks.gpu.targets OUT.json``.

A machine that was just started may be slower than the same machine later, and a fit waits for the
host more often than for the device. So each fit is run seven times after one to warm up, and on two
machines, started one after the other; ``OUT.json`` keeps the runs of earlier calls.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from vanishing import VanishingIdeal
from vanishing.datasets import load_fashion_mnist, load_mnist
from vanishing.detectors import image_detector

#: rows, features, degree, the largest median
FITS = ((200_000, 20, 3, 0.6), (10_000_000, 20, 2, 0.15))
RUNS = 7
#: The largest number of seconds for fitting the default detector to all training images.
IMAGES = 15.0
LOADERS = {"MNIST": load_mnist, "Fashion-MNIST": load_fashion_mnist}


def time_runs(work: Callable[[], object], runs: int) -> list[float]:
    """Return the seconds of each run, after one to warm up."""
    found = []
    for _ in range(runs + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - started)
    return found[1:]


def fit_ideal(n_rows: int, n_features: int, degree: int, target: float) -> dict[str, Any]:
    """Time contrastive fits of Gaussian data on the device."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    options = {"generator": generator, "device": "cuda", "dtype": torch.float64}
    X = torch.randn((n_rows, n_features), **options)
    Y = 2 * torch.randn((n_rows, n_features), **options)
    model = VanishingIdeal(
        max_degree=degree, tol=0.01, normalization="contrastive", reduction="gram"
    )
    seconds = time_runs(lambda: model.fit(X, contrast=Y), RUNS)
    return {
        "fit": f"{n_rows:,}×{n_features}, degree {degree}, X and Y",
        "target": target,
        "median": statistics.median(seconds),
        "seconds": seconds,
    }


def fit_images(name: str) -> dict[str, Any]:
    """Time the default detector of images; its AUC is that of even labels against odd ones."""
    images = LOADERS[name]()
    train, test = (
        torch.asarray(each, device="cuda") for each in (images.train_images, images.test_images)
    )
    detector = image_detector(images.image_shape)
    fits = time_runs(lambda: detector.fit(train), 3)
    scores = time_runs(lambda: detector.score_samples(test), 3)
    even = torch.asarray(np.flatnonzero(images.train_labels % 2 == 0), device="cuda")
    detector.fit(train[even])
    found = detector.score_samples(test).cpu().numpy()
    return {
        "fit": f"image_detector, {len(train):,} images of {name}",
        "target": IMAGES,
        "median": statistics.median(fits),
        "seconds": fits,
        "score_10000_median": statistics.median(scores),
        "auc_even_odd": 100 * float(roc_auc_score(images.test_labels % 2 == 0, found)),
    }


def main() -> None:
    """Measure, and add to the runs of earlier calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--commit", default="unknown", help="what is measured")
    arguments = parser.parse_args()
    starts = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    rows: list[dict[str, Any]] = []
    record = {"commit": arguments.commit, "device": torch.cuda.get_device_name(), "rows": rows}

    def keep(row: dict[str, Any]) -> None:
        print(row, flush=True)
        rows.append(row)
        arguments.out.write_text(json.dumps([*starts, record], indent=1, ensure_ascii=False) + "\n")

    for size in FITS:
        keep(fit_ideal(*size))
    for name in LOADERS:
        if (Path(os.environ.get("VANISHING_DATA", "")) / name.lower()).is_dir():
            keep(fit_images(name))


if __name__ == "__main__":
    main()
