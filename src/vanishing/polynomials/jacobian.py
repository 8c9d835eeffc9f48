"""Jacobians of nested polynomials on a block of rows, by the product rule.

Derivatives here are ``(n_polynomials, n_features, n_rows)``, like the values one polynomial a row.
"""

from collections.abc import Sequence

import numpy as np

from vanishing._xp import Array, FloatArray, IntArray, move_like, namespace
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator, last_degree_with_vanishing


def vanishing(blocks: Sequence[DegreeBlock], x: Array) -> Array:
    """Return the derivatives of G.

    Parameters
    ----------
    blocks : sequence of DegreeBlock
    x : array of shape (n_rows, n_features)

    Returns
    -------
    array of shape (n_vanishing, n_features, n_rows)
    """
    return _derivatives(blocks[: last_degree_with_vanishing(blocks)], x)[2]


def nonvanishing(blocks: Sequence[DegreeBlock], x: Array) -> Array:
    """Return the derivatives of F, shape (n_nonvanishing, n_features, n_rows)."""
    return _derivatives(blocks, x)[1]


def with_candidates(
    blocks: Sequence[DegreeBlock], x: Array, left: IntArray, right: IntArray
) -> Array:
    """Return the derivatives of F and of the candidates F_1[left] · F_{t-1}[right]."""
    values, lower, _ = _derivatives(blocks, x)
    candidates = _candidates(values, lower, Evaluator(blocks).offsets, len(blocks) + 1, left, right)
    return namespace(x).concat([lower, candidates], axis=0)


def _derivatives(blocks: Sequence[DegreeBlock], x: Array) -> tuple[Array, Array, Array]:
    """Values of F, derivatives of F, derivatives of G."""
    xp = namespace(x)
    n_rows, n_features = x.shape
    evaluator = Evaluator(blocks)
    offsets = evaluator.offsets
    values = evaluator.nonvanishing(x)
    shape = (evaluator.n_nonvanishing, n_features, n_rows)
    lower = xp.zeros(shape, dtype=x.dtype, device=x.device)
    found = [lower[:0, ...]]
    for degree, block in enumerate(blocks, start=1):
        start, stop = offsets[degree], offsets[degree + 1]
        if degree == 1:
            lower[start:stop, ...] = _of_variables(block.nonvanishing, block.left, x)
            found.append(_of_variables(block.vanishing, block.left, x))
            continue
        candidates = _candidates(values, lower, offsets, degree, block.left, block.right)
        below = lower[:start, ...]
        lower[start:stop, ...] = _combine(
            block.nonvanishing, block.nonvanishing_lower, candidates, below
        )
        found.append(_combine(block.vanishing, block.vanishing_lower, candidates, below))
    return values, lower, xp.concat(found, axis=0)


def _candidates(
    values: Array,
    derivatives: Array,
    offsets: list[int],
    degree: int,
    left_factors: IntArray,
    right_factors: IntArray,
) -> Array:
    """(f h)' = f' h + f h', or the unit vectors at degree 1."""
    xp = namespace(values)
    left = move_like(left_factors, values)
    if degree == 1:
        n_features, n_rows = derivatives.shape[1:]
        identity = xp.eye(n_features, dtype=values.dtype, device=values.device)
        units = xp.take(identity, left, axis=0)[:, :, None]
        return xp.broadcast_to(units, (left.shape[0], n_features, n_rows))
    right = move_like(right_factors, values)
    first, last = slice(offsets[1], offsets[2]), slice(offsets[degree - 1], offsets[degree])
    product = xp.take(derivatives[first, ...], left, axis=0)
    product *= xp.take(values[last, :], right, axis=0)[:, None, :]
    other = xp.take(derivatives[last, ...], right, axis=0)
    other *= xp.take(values[first, :], left, axis=0)[:, None, :]
    product += other
    return product


def _of_variables(on_candidates: FloatArray, left: IntArray, x: Array) -> Array:
    """Derivatives of combinations of the variables, which are their coefficients in all rows."""
    n_rows, n_features = x.shape
    coefficients = np.zeros((on_candidates.shape[1], n_features))
    coefficients[:, left] = on_candidates.T
    moved = move_like(coefficients, x)[:, :, None]
    return namespace(x).broadcast_to(moved, (*coefficients.shape, n_rows))


def _combine(
    on_candidates: FloatArray, on_lower: FloatArray, candidates: Array, lower: Array
) -> Array:
    xp = namespace(candidates)
    combined = xp.tensordot(move_like(on_candidates, candidates).T, candidates, axes=1)
    combined -= xp.tensordot(move_like(on_lower, candidates).T, lower, axes=1)
    return combined
