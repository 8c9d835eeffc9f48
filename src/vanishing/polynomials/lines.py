"""Polynomials along lines x + t v: their coefficients in powers of t.

The nested products are multiplied out in t instead of being evaluated. This is exact, also where
the direction is long and the powers of t are of very different sizes, and costs as much as
evaluating the degree plus one points of each line, however many points of it are asked for later.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator, last_degree_with_vanishing


def vanishing(blocks: Sequence[DegreeBlock], x: FloatArray, directions: Any) -> list[FloatArray]:
    """Return the coefficients of G(x + t v).

    Parameters
    ----------
    blocks : sequence of DegreeBlock
    x : array of shape (n_lines, n_features), or (1, n_features) where lines meet in a point
    directions : array or sparse array of shape (n_lines, n_features)
        v.

    Returns
    -------
    list of arrays of shape (n_vanishing, n_lines)
        Those of 1, t, t², ... The first of them has as many columns as ``x`` has rows.
    """
    blocks = blocks[: last_degree_with_vanishing(blocks)]
    offsets = Evaluator(blocks).offsets
    widths = [len(x)] + [directions.shape[0]] * len(blocks)
    lower = [np.zeros((offsets[-1], width)) for width in widths]
    lower[0][0] = 1.0
    found: list[list[FloatArray]] = [[np.empty((0, width))] for width in widths]
    for degree, block in enumerate(blocks, start=1):
        start, stop = offsets[degree], offsets[degree + 1]
        if degree == 1:
            candidates = [x[:, block.left].T, directions[:, block.left].T]
        else:
            first = [part[offsets[1] : offsets[2]][block.left] for part in lower[:2]]
            last = [part[offsets[degree - 1] : start][block.right] for part in lower[:degree]]
            candidates = _products(first, last)
        for power, width in enumerate(widths):
            if power > degree:
                found[power].append(np.zeros((block.vanishing.shape[1], width)))
                continue
            below, products = lower[power][:start], candidates[power]
            # (C_pre - F L) V, as in the values.
            found[power].append(block.vanishing.T @ products - block.vanishing_lower.T @ below)
            lower[power][start:stop] = (
                block.nonvanishing.T @ products - block.nonvanishing_lower.T @ below
            )
    return [np.concatenate(parts) for parts in found]


def _products(first: list[FloatArray], last: list[FloatArray]) -> list[FloatArray]:
    """(a + b t) Σ_k c_k tᵏ."""
    constant, slope = first
    inner = [constant * last[k] + slope * last[k - 1] for k in range(1, len(last))]
    return [constant * last[0], *inner, slope * last[-1]]
