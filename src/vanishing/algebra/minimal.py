"""Minimal generators, by leading forms.

The vanishing polynomials of a fit are an H-basis: every polynomial of degree t in the ideal is a
sum of multiples h·g of degree at most t. If the leading form of some g of degree t lies in the span
of the leading forms of multiples of others, g less these multiples is of lower degree and in the
ideal, so that g is a combination of the others. What remains when all such g are left out is a
minimal H-basis; homogenized, it is a minimal set of generators of the projective closure, and the
numbers by degree do not depend on the choices made.

The Hilbert function bounds these numbers. Of the forms of degree t, those that are leading forms of
the ideal have as many dimensions as there are forms less nonvanishing polynomials of this degree;
multiples of lower generators span some of them, and no more can be new than the rest. Counts
withstand noise better than the angles between forms do.
"""

import numpy as np
from scipy.linalg import qr

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.monomials import monomials
from vanishing.polynomials.multiples import multiples, spanning, unit_columns


def minimal_generators(basis: PolynomialBasis, *, tol: float = 1e-6) -> PolynomialBasis:
    """Leave out vanishing polynomials that are combinations of others, as far as degrees go.

    Which ones remain is a choice, their number by degree is not. Polynomials are left out and not
    recombined: within one degree, those whose leading forms are independent modulo multiples of
    lower generators span the rest.

    Parameters
    ----------
    basis : PolynomialBasis
    tol : float
        A leading form of norm 1 that is nearer than this to the span of others lies in it. The
        norm is that of the coefficients, so variables should be of like size. On noisy data, a few
        times the noise relative to the size of the data; the Hilbert function often corrects a
        tolerance that is too small.

    Returns
    -------
    PolynomialBasis
        With all nonvanishing polynomials and the needed vanishing ones.

    Examples
    --------
    On a sphere, everything follows from one equation:

    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import minimal_generators
    >>> from vanishing.datasets import make_variety
    >>> ideal = VanishingIdeal(max_degree=4, tol=1e-9).fit(make_variety("sphere", 300))
    >>> ideal.basis_.degrees()
    array([2, 3, 3, 3, 4, 4, 4, 4, 4, 4])
    >>> minimal_generators(ideal.basis_).degrees()
    array([2])
    """
    if tol < 0:
        raise ValueError(f"tol must be at least 0, got {tol}")
    _, coefficients = basis.expand()
    degrees = basis.degrees()
    kept = np.zeros(len(degrees), dtype=bool)
    for degree in np.unique(degrees).tolist():
        here = np.flatnonzero(degrees == degree)
        forms = _leading_forms(coefficients[:, here], basis.n_features, degree, degree)
        lower = [
            _leading_forms(
                coefficients[:, kept & (degrees == below)], basis.n_features, below, degree
            )
            for below in np.unique(degrees[kept]).tolist()
        ]
        known = spanning(np.hstack([forms[:, :0], *lower]), tol)
        outside = forms - known @ (known.T @ forms)
        n_leading = len(forms) - basis.blocks[degree - 1].nonvanishing.shape[1]
        n_new = max(0, n_leading - known.shape[1])
        kept[here[_independent(outside, tol, at_most=n_new)]] = True
    return basis.restricted(kept)


def _leading_forms(
    coefficients: FloatArray, n_variables: int, degree: int, raised_to: int
) -> FloatArray:
    """Leading forms, of norm 1, of all multiples x^a g that have the degree ``raised_to``."""
    table = monomials(n_variables, raised_to)
    forms = coefficients[: len(monomials(n_variables, degree))].copy()
    forms[: table.first_of(degree)] = 0.0
    missing = monomials(n_variables, raised_to - degree)
    factors = missing.exponents[missing.first_of(missing.degree) :]
    return multiples(unit_columns(forms), table, factors)[table.first_of(raised_to) :]


def _independent(columns: FloatArray, tol: float, *, at_most: int) -> IntArray:
    """Choose columns one by one, always the furthest from the span of those chosen before."""
    triangle, order = qr(columns, mode="r", pivoting=True)
    # Distances fall, so that the first small one ends the choice.
    n_far = int(np.sum(np.abs(np.diag(triangle)) > tol))
    return np.sort(order[: min(n_far, at_most)])
