"""The outcome of a pass over data: a triangular factor on the host, in double precision."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from vanishing._xp import FloatArray, norms


@dataclass(frozen=True, eq=False)
class Factor:
    """Triangular R with R'R = mean over rows of (values)(values)'.

    Parameters
    ----------
    R : array of shape (rank, n_columns)
        Upper triangular or trapezoidal; the norm of a column is the root mean square of that
        polynomial.
    n_rows : float
        Number of rows that were summarized, or the sum of their weights.
    relative_error : float
        Size of the rounding errors of R relative to the norms of its columns.
    """

    R: FloatArray
    n_rows: float
    relative_error: float

    @property
    def column_rms(self) -> FloatArray:
        """Root mean square of each column."""
        return norms(self.R)

    def with_weight(self, weight: float) -> "Factor":
        """Return the factor of the weighted mean, where values came multiplied by root weights.

        Parameters
        ----------
        weight : float
            Sum of the weights.
        """
        return replace(self, R=self.R * np.sqrt(self.n_rows / weight), n_rows=weight)

    def split(self, n_lower: int) -> tuple[FloatArray, FloatArray]:
        """Orthogonalize the trailing columns against the leading ones (paper, Step 1).

        Parameters
        ----------
        n_lower : int
            Number of leading columns; they are independent.

        Returns
        -------
        projection : array of shape (n_lower, n_trailing)
            L = argmin ‖C - F L‖.
        residual : array of shape (rank - n_lower, n_trailing)
            R of the residual C - F L.
        """
        leading = self.R[:n_lower, :n_lower]
        projection = solve_triangular(leading, self.R[:n_lower, n_lower:])
        return projection, self.R[n_lower:, n_lower:]
