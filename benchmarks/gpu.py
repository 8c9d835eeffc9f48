"""Fits on a CUDA device: agreement with NumPy, and seconds. ``python -m benchmarks.gpu OUT.json``.

Continuous integration has no such device, so what this prints is committed, with the commit it was
measured at: ``benchmarks/gpu_results.json``.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vanishing
from vanishing import VanishingIdeal
from vanishing._xp import gram
from vanishing.samples import DeviceSource

#: rows, features, degree, reduction, contrastive
SIZES = (
    (1_000_000, 20, 2, "gram", False),
    (1_000_000, 20, 2, "gram", True),
    (1_000_000, 20, 2, "tsqr", False),
    (1_000_000, 10, 3, "gram", False),
    (1_000_000, 10, 3, "tsqr", False),
    (10_000_000, 20, 2, "gram", True),
    (1_000_000, 10, 4, "gram", True),
    (1_000_000, 10, 4, "tsqr", True),
    (200_000, 20, 3, "gram", True),
)
#: Rows and polynomials of reductions: [F C] of 200,000×20 at degree 3, 10,000,000×20 at degree 2.
REDUCED = ((200_000, 1771), (1_000_000, 231))
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


def seconds(n_rows: int, n_features: int, degree: int, reduction: str, contrastive: bool) -> float:
    """Time the best of three fits of Gaussian data that lies on the device."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    shape = (n_rows, n_features)
    options = {"generator": generator, "device": "cuda", "dtype": torch.float64}
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


def best_of(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the seconds of the fastest of several runs, after one to warm up."""
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return min(times[1:])


def rates() -> dict[str, Any]:
    """Compare the reduction with what the device can do: products of matrices, and copying."""
    size = 8192
    square = torch.randn((size, size), device="cuda", dtype=torch.float64)
    matrix_rate = 2 * size**3 / best_of(lambda: square @ square)
    source = torch.empty(2**29, device="cuda", dtype=torch.float64)
    target = torch.empty_like(source)
    bandwidth = 2 * 8 * 2**29 / best_of(lambda: target.copy_(source))
    found: dict[str, Any] = {"matrix_flop_per_s": matrix_rate, "copy_bytes_per_s": bandwidth}
    found["reductions"] = []
    for n_rows, n_polynomials in REDUCED:
        values = torch.randn((n_polynomials, n_rows), device="cuda", dtype=torch.float64)
        # As many operations as the whole product has, of which its symmetry saves some.
        operations = 2 * n_rows * n_polynomials**2
        row = {"rows": n_rows, "polynomials": n_polynomials}
        for name, work in (
            ("gram", lambda v=values: gram(v)),
            ("whole_product", lambda v=values: v @ v.T),
        ):
            row[f"{name}_share_of_matrix_rate"] = operations / best_of(work) / matrix_rate
        print(row, flush=True)
        found["reductions"].append(row)
    return found


def from_host(n_rows: int = 20_000_000, n_features: int = 20) -> dict[str, Any]:
    """Time a fit of data that stays on the host, beside the transfer alone."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_features))
    source = DeviceSource(X, "cuda")
    model = VanishingIdeal(max_degree=2, tol=0.01, reduction="gram")
    transfer = best_of(lambda: [block.shape for block in source.blocks(2**20)], 2)
    fit = best_of(lambda: model.fit(source), 2)
    gigabytes = X.nbytes / 1e9
    return {
        "rows": n_rows,
        "features": n_features,
        "passes": len(model.trace_),
        "fit_seconds": fit,
        "transfer_seconds": transfer,
        "transfer_GB_per_s": gigabytes / transfer,
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--commit", default="unknown", help="what was measured")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "commit": arguments.commit,
        "device": torch.cuda.get_device_name(),
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
        names = ("rows", "features", "degree", "reduction", "contrastive")
        row = dict(zip(names, size, strict=True), seconds=seconds(*size))
        print(row, flush=True)
        result["fits"].append(row)
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
