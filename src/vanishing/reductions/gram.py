"""Gram matrices: one symmetric product a block.

Faster than TSQR, and blind below the square root of the rounding error: relations that hold exactly
come out with an extent near 1e-8 of the candidates' size (float64), and extents below about 1e-7
(3e-3 in float32) count as vanishing whatever the tolerance. For tolerances well above that, which
noisy data has, nothing is lost.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from vanishing._xp import Array, FloatArray, gram, machine_epsilon, move_to_numpy, same_dtype
from vanishing.reductions.factor import Factor

#: Pivots of Cholesky's method below so many roots of a unit of rounding are not trusted.
SMALLEST_PIVOT = 64.0


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

        Columns are scaled to norm 1 first, so that the accuracy is relative to each column.
        """
        matrix = move_to_numpy(summary.matrix) / summary.n_rows
        if not np.isfinite(matrix).all():  # squares overflowed: it has no root, and is refused
            return Factor(matrix, summary.n_rows, summary.eps)
        scale = np.sqrt(np.diag(matrix))
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        factor = _triangular_root(matrix * inverse[:, None] * inverse, summary.eps) * scale
        # Errors of the eigenvalues are a few units relative to 1; their roots are taken.
        return Factor(factor, summary.n_rows, float(np.sqrt(summary.eps / 64)))


def _triangular_root(matrix: FloatArray, eps: float) -> FloatArray:
    """R with R'R a positive semidefinite matrix that has ones on its diagonal.

    Cholesky's method is the fastest by far, as long as no column is close to dependent on those
    before it; where one is, eigenvalues that rounding made negative are set to zero.
    """
    (potrf,) = get_lapack_funcs(("potrf",), (matrix,))
    factor, failed = potrf(matrix, lower=False, clean=True)
    if failed == 0 and np.diag(factor).min(initial=1.0) > SMALLEST_PIVOT * np.sqrt(eps):
        return np.asarray(factor)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
    return np.asarray(np.linalg.qr(root, mode="r"))
