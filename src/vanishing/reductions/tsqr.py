"""TSQR: the summary of a block is R of its QR; merging is the QR of two stacked R.

Relations that hold to the last digit are seen to the last digit: on an exact ellipse the extent of
the quadric comes out near 1e-16, where Gram matrices cannot go below 1e-8.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vanishing._xp import (
    Array,
    machine_epsilon,
    merge_triangular,
    move_to_numpy,
    same_dtype,
    triangular_factor,
)
from vanishing.reductions.factor import Factor


class TriangularSummary(NamedTuple):
    """R of the rows seen so far, how many they were, and the unit of rounding of the coarsest."""

    R: Array
    n_rows: int
    eps: float


@dataclass(frozen=True)
class Tsqr:
    """Tall-skinny QR, the default: accurate to the rounding of the data."""

    def summarize(self, values: Array) -> TriangularSummary:
        """Factor one block."""
        n_rows = int(values.shape[1])
        return TriangularSummary(triangular_factor(values), n_rows, machine_epsilon(values))

    def merge(self, first: TriangularSummary, second: TriangularSummary) -> TriangularSummary:
        """Factor two stacked factors."""
        merged = merge_triangular(*same_dtype(first.R, second.R))
        return TriangularSummary(merged, first.n_rows + second.n_rows, max(first.eps, second.eps))

    def resolve(self, summary: TriangularSummary) -> Factor:
        """Scale R to means."""
        factor = move_to_numpy(summary.R) / np.sqrt(summary.n_rows)
        return Factor(factor, summary.n_rows, summary.eps)
