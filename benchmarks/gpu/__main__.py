"""Fits on a CUDA device: agreement with NumPy, and seconds. ``python -m benchmarks.gpu OUT.json``.

Continuous integration has no such device, so what this prints is committed, with the commit it was
measured at: ``results.json``, and for reading ``results.md``, which
``python -m benchmarks.gpu.report`` makes of it.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.gpu.rates import from_host, rates

import vanishing
from vanishing import VanishingIdeal
from vanishing.arrays.blocks import threads_for

#: rows, features, degree, reduction, contrastive, precision
SIZES = (
    (1_000_000, 20, 2, "gram", False, "float64"),
    (1_000_000, 20, 2, "gram", True, "float64"),
    (1_000_000, 20, 2, "tsqr", False, "float64"),
    (1_000_000, 10, 3, "gram", False, "float64"),
    (1_000_000, 10, 3, "tsqr", False, "float64"),
    (10_000_000, 20, 2, "gram", True, "float64"),
    (10_000_000, 20, 2, "gram", True, "float32"),
    (10_000_000, 20, 2, "tsqr", True, "float64"),
    (1_000_000, 10, 4, "gram", True, "float64"),
    (1_000_000, 10, 4, "tsqr", True, "float64"),
    (200_000, 20, 3, "gram", True, "float64"),
)
NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")


def agreement() -> list[dict[str, Any]]:
    """Fit the same noisy surface with NumPy and on the device; compare extents and values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5))
    X[:, 3] = X[:, 0] * X[:, 1] + 1e-3 * rng.standard_normal(20_000)
    Y = 2 * rng.standard_normal((5_000, 5))
    rows = []
    for normalization in NORMALIZATIONS:
        for reduction in ("tsqr", "gram"):
            model = {"max_degree": 3, "tol": 0.05, "normalization": normalization}
            contrast = Y if normalization == "contrastive" else None
            host = VanishingIdeal(**model, reduction=reduction).fit(X, contrast=contrast)
            device = VanishingIdeal(**model, reduction=reduction).fit(
                torch.asarray(X, device="cuda"),
                contrast=None if contrast is None else torch.asarray(contrast, device="cuda"),
            )
            values = device.transform(torch.asarray(X, device="cuda")).cpu().numpy()
            expected = host.transform(X)
            rows.append(
                {
                    "normalization": normalization,
                    "reduction": reduction,
                    "polynomials": len(host.extents_),
                    "same_count": len(host.extents_) == len(device.extents_),
                    "extents_max_relative_difference": float(
                        np.max(np.abs(device.extents_ / host.extents_ - 1))
                    ),
                    "values_max_difference": float(np.max(np.abs(values - expected))),
                }
            )
            print(rows[-1], flush=True)
    return rows


def seconds(
    n_rows: int, n_features: int, degree: int, reduction: str, contrastive: bool, precision: str
) -> float:
    """Time the best of three fits of Gaussian data that lies on the device."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    shape = (n_rows, n_features)
    options = {"generator": generator, "device": "cuda", "dtype": getattr(torch, precision)}
    X = torch.randn(shape, **options)
    Y = 2 * torch.randn(shape, **options) if contrastive else None
    model = VanishingIdeal(
        max_degree=degree,
        tol=0.01,
        normalization="contrastive" if contrastive else "gradient",
        reduction=reduction,
    )
    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        started = time.perf_counter()
        model.fit(X, contrast=Y)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--commit", default="unknown", help="what was measured")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "commit": arguments.commit,
        "device": torch.cuda.get_device_name(),
        "host_threads": threads_for(np.ones(1)),
        "versions": {
            "vanishing": vanishing.__version__,
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
        "agreement": agreement(),
        "rates": rates(),
        "from_host": from_host(),
        "fits": [],
    }
    for size in SIZES:
        names = ("rows", "features", "degree", "reduction", "contrastive", "precision")
        row = dict(zip(names, size, strict=True), seconds=seconds(*size))
        print(row, flush=True)
        result["fits"].append(row)
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
