"""The affine Hilbert function, and what it says about dimension and degree."""

from typing import NamedTuple

import numpy as np

from vanishing._xp import IntArray
from vanishing.polynomials import PolynomialBasis


class Growth(NamedTuple):
    """Dimension d and degree e of a Hilbert polynomial e t^d / d! + ..."""

    dimension: int
    degree: int


def hilbert_function(basis: PolynomialBasis) -> IntArray:
    """Count the polynomials of degree at most t that are linearly independent on the variety.

    These are the nonvanishing polynomials of a fit. The counts are right if the fit kept all of
    them, that is without ``max_nonvanishing`` and within the memory budget.

    Parameters
    ----------
    basis : PolynomialBasis

    Returns
    -------
    int array of shape (max_degree + 1,)
        H(0) = 1, H(1), ...: the affine Hilbert function of the coordinate ring.

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import hilbert_function
    >>> from vanishing.datasets import make_variety
    >>> ideal = VanishingIdeal(max_degree=4, tol=1e-9).fit(make_variety("sphere", 300))
    >>> hilbert_function(ideal.basis_)  # (t + 1)²
    array([ 1,  4,  9, 16, 25])
    """
    degrees = basis.degrees(which="nonvanishing")
    return np.cumsum(np.bincount(degrees, minlength=len(basis.blocks) + 1))


def growth(hilbert: IntArray) -> Growth | None:
    """Read dimension and degree off the last values of a Hilbert function.

    From some degree on the Hilbert function is a polynomial e t^d / d! + ..., whose d-th difference
    is e. The smallest d is taken whose last two differences agree; that they would go on to agree
    is not known.

    Parameters
    ----------
    hilbert : int array of shape (max_degree + 1,)

    Returns
    -------
    Growth or None
        None if no differences agree: the degrees do not reach as far as the polynomial.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.algebra.hilbert import growth
    >>> growth(np.array([1, 4, 9, 16]))
    Growth(dimension=2, degree=2)
    """
    differences = hilbert
    n_variables = int(hilbert[:2].max()) - 1  # that are independent on the points
    for dimension in range(n_variables + 1):
        if len(differences) >= 2 and differences[-1] == differences[-2] > 0:
            return Growth(dimension, int(differences[-1]))
        # H(-1) = 0 adds a value at the start that is right for each difference.
        differences = np.diff(differences, prepend=0)
    return None
