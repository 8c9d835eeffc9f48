"""A few equations of a basis, quickly, however large it is: for notebooks and reports."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.export.sizes import DataScale
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.monomials import count

#: Coefficients that may be worked out to show a few equations: a fraction of a second.
MOST_COEFFICIENTS = 3_000_000


@dataclass(frozen=True, eq=False)
class Sum:
    """The terms of one polynomial that are shown.

    Parameters
    ----------
    exponents : int array of shape (n_terms, n_variables)
    coefficients : array of shape (n_terms,)
    digits : int array of shape (n_terms,)
        Significant digits of each coefficient.
    n_left_out : int
        Terms that count and are not shown.
    """

    exponents: IntArray
    coefficients: FloatArray
    digits: IntArray
    n_left_out: int


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The first equations of a basis.

    Parameters
    ----------
    sums : list of Sum
        One an equation.
    degrees, extents : arrays of shape (n_shown,)
    n_more : int
        Equations that are not shown.
    """

    sums: list[Sum]
    degrees: IntArray
    extents: FloatArray
    n_more: int


def excerpt(
    basis: PolynomialBasis, *, n_equations: int, n_terms: int, digits: int, model: Any = None
) -> Excerpt:
    """Expand the first equations of a basis, as many as can be expanded quickly.

    Parameters
    ----------
    basis : PolynomialBasis
    n_equations, n_terms : int
        Bounds on the equations, and on the terms of each.
    digits : int
        Significant digits of the coefficients, as in ``to_latex``: terms that do not count at this
        many digits are not counted as left out either.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    n_shown = min(n_equations, basis.count())
    top = int(basis.degrees()[n_shown - 1]) if n_shown else 0
    while top and not is_quick(basis, top):
        top -= 1
    n_shown = min(n_shown, int(np.sum(basis.degrees() <= top)))
    lower = PolynomialBasis(basis.n_features, basis.blocks[:top])
    lower = lower.restricted(np.arange(lower.count()) < n_shown) if top else lower
    sums = []
    if n_shown:
        exponents, coefficients = lower.expand()
        chosen = DataScale.of(basis, model).terms(lower, coefficients, digits=digits)
        for column, (kept, of_each) in zip(coefficients.T, chosen, strict=True):
            order = np.argsort(kept[:n_terms])
            shown = kept[order]
            n_left_out = len(kept) - len(shown)
            sums.append(Sum(exponents[shown], column[shown], of_each[order], n_left_out))
    return Excerpt(sums, lower.degrees(), lower.extents, basis.count() - n_shown)


def is_quick(basis: PolynomialBasis, degree: int) -> bool:
    """Whether the polynomials up to a degree can be expanded in a fraction of a second."""
    blocks = basis.blocks[:degree]
    widest = max((block.n_candidates for block in blocks), default=0)
    n_monomials = count(basis.n_features, degree)
    return n_monomials * max(widest, basis.n_features) <= MOST_COEFFICIENTS
