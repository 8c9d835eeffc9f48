"""Order ideals of monomials: term orders, the terms on the border, and leading terms.

An order ideal O is a set of monomials that contains all divisors of its elements. The terms next to
it, x_i · o outside of O, are its border; those all of whose proper divisors are in O are its
corners.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, IntArray

TermOrder = Literal["deglex", "degrevlex"]
TERM_ORDERS: tuple[TermOrder, ...] = ("deglex", "degrevlex")


def sort_terms(exponents: IntArray, order: TermOrder) -> IntArray:
    """Return the order of terms of one degree, smallest first; the first variable is largest."""
    # The last key of lexsort counts first.
    if order == "deglex":
        return np.lexsort(exponents.T[::-1])
    return np.lexsort(-exponents.T)


class Border(NamedTuple):
    """Terms of one degree next to an order ideal, smallest first."""

    exponents: IntArray
    left: IntArray  # the variable that makes a term
    right: IntArray  # the term of the degree below that makes it
    is_corner: BoolArray  # whether all proper divisors are in the order ideal


def find_border(variables: IntArray, top: IntArray, order: TermOrder, *, full: bool) -> Border:
    """Find the products of variables and top terms; only corners, unless ``full``."""
    n_variables = variables.shape[1]
    products = (variables[:, None, :] + top[None, :, :]).reshape(-1, n_variables)
    exponents, first = np.unique(products, axis=0, return_index=True)
    known = set(map(tuple, top.tolist()))
    is_corner = np.array([_divisors(term) <= known for term in exponents.tolist()], dtype=bool)
    kept = np.ones(len(exponents), dtype=bool) if full else is_corner
    exponents, first, is_corner = exponents[kept], first[kept], is_corner[kept]
    ascending = sort_terms(exponents, order)
    left, right = np.divmod(first[ascending], max(1, len(top)))
    return Border(exponents[ascending], left, right, is_corner[ascending])


def _divisors(term: list[int]) -> set[tuple[int, ...]]:
    """Return the divisors of a term of one degree less."""
    return {(*term[:j], power - 1, *term[j + 1 :]) for j, power in enumerate(term) if power > 0}


@dataclass(frozen=True, eq=False)
class OrderIdeal:
    """The terms that a border basis is written in, and the leading terms of its polynomials.

    Parameters
    ----------
    terms : int array of shape (n_terms, n_features)
        Exponents of O, smallest first; 1 is the first.
    leading_terms : int array of shape (n_vanishing, n_features)
        Exponents of the leading term of each vanishing polynomial.
    order : {"deglex", "degrevlex"}
        The term order.
    sparsity : float
        Share of zeros among the coefficients of the vanishing polynomials on smaller terms of O; 0
        if there are none.
    """

    terms: Annotated[IntArray, "n_terms n_features"]
    leading_terms: Annotated[IntArray, "n_vanishing n_features"]
    order: str
    sparsity: float

    def __repr__(self) -> str:
        return (
            f"OrderIdeal({len(self.terms)} terms, {len(self.leading_terms)} leading terms, "
            f"order={self.order!r}, sparsity={self.sparsity:.2f})"
        )
