"""Multiples x^a g of polynomials, as coefficients on monomials."""

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials.monomials import Monomials


def multiples(coefficients: FloatArray, table: Monomials, factors: IntArray) -> FloatArray:
    """Multiply polynomials by monomials.

    Parameters
    ----------
    coefficients : array of shape (n_rows, n_polynomials)
        On the first monomials of the table.
    table : Monomials
        Large enough for the products.
    factors : int array of shape (n_factors, n_variables)
        Exponents of the monomials.

    Returns
    -------
    array of shape (n_monomials, n_factors * n_polynomials)
        On the table, all multiples by the first factor first.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.polynomials.multiples import multiples
    >>> from vanishing.polynomials.monomials import monomials
    >>> x_plus_1 = np.array([[1.0], [1.0]])
    >>> multiples(x_plus_1, monomials(1, 3), np.array([[0], [2]])).T
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.]])
    """
    n_rows, n_polynomials = coefficients.shape
    products = np.zeros((len(table), len(factors), n_polynomials))
    for number, powers in enumerate(factors.tolist()):
        place = np.arange(n_rows)
        for variable, power in enumerate(powers):
            for _ in range(power):
                place = table.times_variable[variable][place]
        products[place, number] = coefficients
    return products.reshape(len(table), -1)


def unit_columns(columns: FloatArray) -> FloatArray:
    """Scale columns to norm 1; zero columns stay."""
    norms = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(norms > 0, norms, 1.0))


def spanning(columns: FloatArray, tol: float) -> FloatArray:
    """Return an orthonormal basis of what columns span, up to singular values of ``tol``."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > tol])
