"""What a block of numbers must be, said clearly when it is not."""

from typing import Any

import numpy as np
import scipy.sparse

from vanishing._xp import Array, namespace, unmasked

#: The squares of so large numbers can be summed over some millions of rows.
LARGEST = 1e150


def dense(data: Any, name: str) -> Any:
    """Return data without a mask, or raise: if it is sparse, or has hidden entries.

    Sparse are matrices of SciPy and tensors of torch.
    """
    if scipy.sparse.issparse(data) or getattr(data, "is_sparse", False) is True:
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required: products of "
            f"polynomials fill up. Use '.toarray()' or '.to_dense()' to convert {name}."
        )
    return unmasked(data, name)


def checked_block(block: Array, *, name: str, n_features: int | None = None) -> Array:
    """Return a block without a mask; raise if it is no finite real matrix of ``n_features``."""
    block = dense(block, name)
    xp = namespace(block)
    if block.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, of shape (n_samples, n_features), got shape "
            f"{tuple(block.shape)}; reshape it with .reshape(-1, 1) if it has one feature or "
            ".reshape(1, -1) if it is one sample"
        )
    try:
        real = xp.isdtype(block.dtype, ("real floating", "integral", "bool"))
    except TypeError:  # strings and objects are no dtypes of the standard
        real = False
    if not real:
        raise ValueError(f"{name} must hold real numbers, got dtype {block.dtype}")
    if n_features is not None and block.shape[1] != n_features:
        raise ValueError(f"{name} has {block.shape[1]} features, expected {n_features}")
    if block.shape[1] == 0:
        raise ValueError(f"{name} has shape {tuple(block.shape)}: at least one column is required")
    if xp.isdtype(block.dtype, "real floating"):
        _refuse_nonfinite(block, name)
    return block


def too_large_to_square(block: Array) -> tuple[int, int] | None:
    """Return row and column of the largest number, if sums of squares overflow with it."""
    xp = namespace(block)
    if block.dtype != xp.float64:  # of single precision, whose limits are others: the fit says so
        return None
    sizes = xp.abs(block)
    largest = xp.max(sizes)
    if not bool(largest > LARGEST):
        return None
    place = int(xp.argmax(xp.reshape(sizes, (-1,))))
    return place // int(block.shape[1]), place % int(block.shape[1])


def _refuse_nonfinite(block: Array, name: str) -> None:
    xp = namespace(block)
    # A sum is finite only if its terms are; it needs no array of its own. Overflow is looked into.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(xp.isfinite(xp.sum(block)))
    if not finite:
        bad = ~xp.isfinite(block)
        if bool(xp.any(bad)):
            kind = "NaN" if bool(xp.any(xp.isnan(block))) else "infinity"
            raise ValueError(
                f"{name} contains {kind} in {int(xp.sum(xp.astype(bad, xp.int64)))} entries; "
                "impute or drop them before fitting"
            )
