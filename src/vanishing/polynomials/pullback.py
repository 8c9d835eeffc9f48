"""Gradients of combinations Σ_g a_g g, by the product rule in reverse.

A combination has one gradient however many polynomials there are, and going from the values back to
the variables costs about as much as evaluating; Jacobians cost that many times the variables.
"""

from collections.abc import Sequence

from vanishing._xp import Array, IntArray, move_like, namespace
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator, last_degree_with_vanishing


def of_vanishing(blocks: Sequence[DegreeBlock], x: Array, outer: Array) -> Array:
    """Return Σ_g a_g ∇g for each row.

    Parameters
    ----------
    blocks : sequence of DegreeBlock
    x : array of shape (n_rows, n_features)
    outer : array of shape (n_vanishing, n_rows)
        a_g.

    Returns
    -------
    array of shape (n_features, n_rows)
    """
    xp = namespace(x)
    blocks = blocks[: last_degree_with_vanishing(blocks)]
    evaluator = Evaluator(blocks)
    offsets = evaluator.offsets
    values = evaluator.nonvanishing(x)
    on_variables = xp.zeros((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
    on_nonvanishing = xp.zeros_like(values)
    stop = outer.shape[0]
    for degree in range(len(blocks), 0, -1):
        block = blocks[degree - 1]
        here = outer[stop - block.vanishing.shape[1] : stop, :]
        stop -= block.vanishing.shape[1]
        own = on_nonvanishing[offsets[degree] : offsets[degree + 1], :]
        lower = on_nonvanishing[: offsets[degree], :]
        lower -= move_like(block.vanishing_lower, x) @ here
        lower -= move_like(block.nonvanishing_lower, x) @ own
        candidates = move_like(block.vanishing, x) @ here + move_like(block.nonvanishing, x) @ own
        if degree == 1:
            _add_rows(on_variables, block.left, candidates)
            continue
        first, last = slice(offsets[1], offsets[2]), slice(offsets[degree - 1], offsets[degree])
        left, right = move_like(block.left, x), move_like(block.right, x)
        _add_rows(
            on_nonvanishing[first, :],
            block.left,
            candidates * xp.take(values[last, :], right, axis=0),
        )
        _add_rows(
            on_nonvanishing[last, :],
            block.right,
            candidates * xp.take(values[first, :], left, axis=0),
        )
    return on_variables


def _add_rows(target: Array, rows: IntArray, added: Array) -> None:
    """Add rows to rows of ``target`` in place; the same row may come several times."""
    xp = namespace(target)
    chosen = xp.astype(
        xp.arange(target.shape[0], device=target.device)[:, None]
        == move_like(rows, target)[None, :],
        target.dtype,
    )
    target += chosen @ added
