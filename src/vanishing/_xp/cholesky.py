"""R of tall matrices on accelerators: Cholesky's method, twice.

Householder's method, which LAPACK and its relatives use, reaches a tenth of the rate of matrix
products on an H200 and less. Cholesky's factor R₁ of the Gram matrix is made of such products, and
loses digits with the square of the condition number κ. The matrix A R₁⁻¹ has a condition number
near 1 as long as κ² eps is small, so that a second factor R₂, of this one, loses none: R = R₂ R₁ is
as accurate as Householder's (Yamamoto and others, 2015). Whether κ is small enough shows in the
pivots, and where it is not, as for relations that hold exactly, nothing is returned.
"""

import math

from vanishing._xp.namespace import Array, machine_epsilon
from vanishing._xp.symmetric import gram

#: Pivots of the first factor below so many roots of a unit of rounding are too small.
SMALLEST_PIVOT = 64.0
#: Pivots of the second factor are this close to 1, if the first one was what it should be.
LARGEST_DEPARTURE = 0.1


def factor_by_cholesky(values: Array) -> Array | None:
    """Return R of the QR factorization of ``values.T``, or None where that needs Householder.

    Parameters
    ----------
    values : torch tensor of shape (n_polynomials, n_rows)
    """
    import torch

    if values.shape[1] < values.shape[0]:
        return None
    matrix = gram(values)
    scale = torch.sqrt(torch.diagonal(matrix))  # pivots are then relative to each column
    first, failed = torch.linalg.cholesky_ex(matrix / scale[:, None] / scale, upper=True)
    smallest = SMALLEST_PIVOT * math.sqrt(machine_epsilon(values))
    # Not finite, where squares overflow or a column is zero: then no comparison holds.
    if not bool((failed == 0) & (torch.diagonal(first).min() > smallest)):
        return None
    first = first * scale
    # Q R = A and not Rᵀ Qᵀ = Aᵀ: cuBLAS takes seconds for the latter, of a million columns.
    orthonormal = torch.linalg.solve_triangular(first, values.T, upper=True, left=False)
    second, failed = torch.linalg.cholesky_ex(gram(orthonormal.T), upper=True)
    departure = torch.abs(torch.diagonal(second) - 1).max()
    if not bool((failed == 0) & (departure < LARGEST_DEPARTURE)):
        return None
    return torch.triu(second @ first)
