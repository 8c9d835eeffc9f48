"""Gram matrices: one symmetric product a block.

Faster than TSQR, and blind below the square root of the rounding error: relations that hold exactly
come out with an extent near 1e-8 of the candidates' size (float64), and extents below about 1e-7
(3e-3 in float32) count as vanishing whatever the tolerance. For tolerances well above that, which
noisy data has, nothing is lost.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vanishing._xp import Array, gram, machine_epsilon, move_to_numpy, same_dtype
from vanishing.reductions.factor import Factor


class GramSummary(NamedTuple):
    """Sum of outer products of the rows, how many they were, and the coarsest unit of rounding."""

    matrix: Array
    n_rows: int
    eps: float


@dataclass(frozen=True)
class Gram:
    """Gram matrix: the fast choice for tolerances far above 1e-8."""

    def summarize(self, values: Array) -> GramSummary:
        """Multiply one block with itself."""
        return GramSummary(gram(values), int(values.shape[1]), machine_epsilon(values))

    def merge(self, first: GramSummary, second: GramSummary) -> GramSummary:
        """Add two Gram matrices."""
        a, b = same_dtype(first.matrix, second.matrix)
        return GramSummary(a + b, first.n_rows + second.n_rows, max(first.eps, second.eps))

    def resolve(self, summary: GramSummary) -> Factor:
        """Take the triangular root of the mean.

        Columns are scaled to norm 1 first, so that the accuracy is relative to each column;
        eigenvalues that rounding made negative are zero.
        """
        matrix = move_to_numpy(summary.matrix) / summary.n_rows
        scale = np.sqrt(np.diag(matrix))
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        eigenvalues, vectors = np.linalg.eigh(matrix * inverse[:, None] * inverse)
        root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
        factor = np.asarray(np.linalg.qr(root, mode="r")) * scale
        # Errors of the eigenvalues are a few units relative to 1; their roots are taken.
        return Factor(factor, summary.n_rows, float(np.sqrt(summary.eps / 64)))
