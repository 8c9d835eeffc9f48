"""What a block of numbers must be, said clearly when it is not."""

from vanishing._xp import Array, is_array, namespace


def check_block(block: Array, *, name: str, n_features: int | None = None) -> None:
    """Raise if ``block`` is not a finite real matrix with ``n_features`` columns."""
    if not is_array(block) or not hasattr(block, "dtype"):
        raise TypeError(f"{name} must be an array, got {type(block).__name__}")
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
    # A sum is finite only if its terms are; it needs no array of its own. Overflow is looked into.
    if xp.isdtype(block.dtype, "real floating") and not bool(xp.isfinite(xp.sum(block))):
        bad = ~xp.isfinite(block)
        if bool(xp.any(bad)):
            kind = "NaN" if bool(xp.any(xp.isnan(block))) else "infinity"
            raise ValueError(
                f"{name} contains {kind} in {int(xp.sum(xp.astype(bad, xp.int64)))} entries; "
                "impute or drop them before fitting"
            )
