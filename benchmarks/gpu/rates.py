"""How close a pass over rows comes to what a CUDA device can do.

A pass evaluates F, multiplies candidates and reduces [F C]. The floor of the reduction is the rate
at which the device multiplies large square matrices, that of the products the rate at which it
copies memory.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from vanishing import VanishingIdeal
from vanishing.arrays.blocks import block_rows
from vanishing.arrays.kernels import gram, triangular_factor
from vanishing.data import DeviceSource
from vanishing.polynomials import evaluation
from vanishing.polynomials.evaluation import Evaluator

#: Rows of one block, features and degree of the passes whose parts are timed.
PASSES = ((200_000, 20, 3), (1_000_000, 20, 2), (200_000, 10, 4))


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
    """Measure the device, and the parts of a pass beside it."""
    matrix_rate, bandwidth = _matrix_rate(), _bandwidth()
    return {
        "matrix_flop_per_s": matrix_rate,
        "copy_bytes_per_s": bandwidth,
        "passes": [_parts(*sizes, matrix_rate, bandwidth) for sizes in PASSES],
    }


def _matrix_rate(size: int = 8192) -> float:
    """Operations a second of a product of large square matrices in float64."""
    square = torch.randn((size, size), device="cuda", dtype=torch.float64)
    return 2 * size**3 / best_of(lambda: square @ square)


def _bandwidth() -> float:
    """Bytes a second, read and written, of a copy."""
    source = torch.empty(2**29, device="cuda", dtype=torch.float64)
    target = torch.empty_like(source)
    return 2 * source.nbytes / best_of(lambda: target.copy_(source))


def _parts(
    n_rows: int, n_features: int, degree: int, matrix_rate: float, bandwidth: float
) -> dict[str, Any]:
    """Time the parts of the last degree's pass over one block of rows."""
    few = np.random.default_rng(0).standard_normal((5_000, n_features))
    ideal = VanishingIdeal(max_degree=degree, tol=1e-6, reduction="gram").fit(few)
    *lower, last = ideal.basis_.blocks
    evaluator = Evaluator(lower)
    n_columns = evaluator.n_nonvanishing + last.n_candidates
    n_rows = min(n_rows, block_rows(3 * n_columns, cpu=False))
    x = torch.randn((n_rows, n_features), device="cuda", dtype=torch.float64)
    values = evaluator.with_candidates(x, last.left, last.right)
    below = values[: evaluator.n_nonvanishing, :]
    factors = (
        below[evaluator.offsets[1] : evaluator.offsets[2], :],
        torch.asarray(last.left.copy(), device="cuda"),
        below[evaluator.offsets[-2] :, :],
        torch.asarray(last.right.copy(), device="cuda"),
    )
    out = values[evaluator.n_nonvanishing :, :]
    seconds = {
        "products": best_of(lambda: evaluation.multiply_rows(out, *factors)),
        "products_by_gathering": best_of(lambda: evaluation.multiply_gathered(out, *factors)),
        "evaluation": best_of(lambda: evaluator.with_candidates(x, last.left, last.right)),
        "gram": best_of(lambda: gram(values)),
        "gram_as_one_product": best_of(lambda: values @ values.T),
        "qr": best_of(lambda: triangular_factor(values), 2),
    }
    # As many operations as the whole product has, of which its symmetry saves some.
    operations = 2 * n_rows * n_columns**2
    row = {
        "rows": n_rows,
        "features": n_features,
        "degree": degree,
        "columns": n_columns,
        "seconds": seconds,
        "gram_share_of_matrix_rate": operations / seconds["gram"] / matrix_rate,
        "evaluation_and_gram_share_of_matrix_rate": operations
        / (seconds["evaluation"] + seconds["gram"])
        / matrix_rate,
        "qr_share_of_matrix_rate": operations / seconds["qr"] / matrix_rate,
        # Products are written once; a copy reads as much as it writes.
        "products_share_of_bandwidth": out.numel() * 8 / seconds["products"] / bandwidth,
        "products_times_faster_than_by_gathering": seconds["products_by_gathering"]
        / seconds["products"],
    }
    print(row, flush=True)
    return row


def from_host(n_rows: int = 20_000_000, n_features: int = 20) -> dict[str, Any]:
    """Time a fit of data that stays on the host, beside the transfer alone."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_features))
    source = DeviceSource(X, "cuda")
    model = VanishingIdeal(max_degree=2, tol=0.01, reduction="gram")
    transfer = best_of(lambda: [block.shape for block in source.blocks(2**20)], 2)
    fit = best_of(lambda: model.fit(source), 2)
    row = {
        "rows": n_rows,
        "features": n_features,
        "passes": len(model.trace_) + 1,  # the gradient goes over X once more
        "fit_seconds": fit,
        "transfer_seconds": transfer,
        "transfer_bytes_per_s": X.nbytes / transfer,
    }
    print(row, flush=True)
    return row
