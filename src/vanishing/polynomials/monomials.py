"""Monomials of bounded degree: exponents, products with a variable, derivatives, values.

Monomials are ordered by degree, then lexicographically with the first variable largest, so that
those of degree at most t-1 come first among those of degree at most t.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from vanishing._xp import Array, FloatArray, IntArray, namespace
from vanishing._xp.lazy import lazy


def count(n_variables: int, degree: int) -> int:
    """Return the number of monomials of degree at most ``degree``."""
    return comb(n_variables + degree, degree)


@dataclass(frozen=True)
class Monomials:
    """All monomials in ``n_variables`` variables of degree at most ``degree``."""

    n_variables: int
    degree: int

    def __len__(self) -> int:
        return count(self.n_variables, self.degree)

    def first_of(self, degree: int) -> int:
        """Return the index of the first monomial of a degree."""
        return count(self.n_variables, degree - 1) if degree > 0 else 0

    @lazy
    def factors(self) -> list[IntArray]:
        """Per degree d, the variables of each monomial, ascending: shape (n_monomials_d, d)."""
        listed = []
        for degree in range(self.degree + 1):
            chosen = list(combinations_with_replacement(range(self.n_variables), degree))
            listed.append(np.array(chosen, dtype=np.intp).reshape(len(chosen), degree))
        return listed

    @lazy
    def exponents(self) -> IntArray:
        """Exponents, shape (n_monomials, n_variables)."""
        exponents = np.zeros((len(self), self.n_variables), dtype=np.intp)
        for degree, factors in enumerate(self.factors):
            start = self.first_of(degree)
            rows = np.arange(start, start + len(factors))
            for column in range(degree):
                np.add.at(exponents, (rows, factors[:, column]), 1)
        exponents.setflags(write=False)  # shared by all who ask for these monomials
        return exponents

    @lazy
    def times_variable(self) -> IntArray:
        """Index of x_j · x^a, shape (n_variables, n_monomials of degree < ``degree``)."""
        lower = count(self.n_variables, self.degree - 1)
        table = np.empty((self.n_variables, lower), dtype=np.intp)
        for degree in range(self.degree):
            start, below = self.first_of(degree + 1), self.first_of(degree)
            factors = self.factors[degree]
            here = slice(below, below + len(factors))
            for j in range(self.n_variables):
                joined = np.sort(
                    np.column_stack([factors, np.full(len(factors), j, dtype=np.intp)]), axis=1
                )
                table[j, here] = start + _rank(joined, self.n_variables)
        table.setflags(write=False)
        return table

    def values(self, x: Array) -> Array:
        """Evaluate all monomials, one a row.

        Parameters
        ----------
        x : array of shape (n_variables, n_rows)
            One variable a row.

        Returns
        -------
        array of shape (n_monomials, n_rows)
        """
        xp = namespace(x)
        values = xp.empty((len(self), x.shape[1]), dtype=x.dtype, device=x.device)
        values[0, :] = 1.0
        for j, below, above in self.products():
            values[above, :] = x[j : j + 1, :] * values[below, :]
        return values

    def products(self) -> Iterator[tuple[int, slice, slice]]:
        """Yield j, a range of monomials and that of their products with x_j, by degree.

        Every monomial but 1 is such a product once.
        """
        for degree in range(1, self.degree + 1):
            start = end_below = self.first_of(degree)
            # x_j times every monomial of the degree below in variables >= j: those come last.
            for j in range(self.n_variables):
                n_products = comb(self.n_variables - j + degree - 2, degree - 1)
                below = slice(end_below - n_products, end_below)
                yield j, below, slice(start, start + n_products)
                start += n_products

    def derivative(self, coefficients: FloatArray, variable: int) -> FloatArray:
        """Differentiate polynomials given by coefficients on these monomials.

        Parameters
        ----------
        coefficients : array of shape (n_monomials, n_polynomials)
        variable : int

        Returns
        -------
        array of shape (n_monomials of degree < ``degree``, n_polynomials)
        """
        raised = self.times_variable[variable]
        return np.asarray(self.exponents[raised, variable][:, None] * coefficients[raised])


def _rank(factors: IntArray, n_variables: int) -> IntArray:
    """Position of ascending tuples of variables in lexicographic order."""
    rank = np.zeros(len(factors), dtype=np.intp)
    degree = factors.shape[1]
    previous = np.zeros(len(factors), dtype=np.intp)
    for position in range(degree):
        remaining = degree - position - 1
        # Tuples that agree so far and have a smaller variable here come before.
        before = _tuples_from(n_variables, remaining + 1)
        current = factors[:, position]
        rank += before[previous] - before[current]
        previous = current
    return rank


@lru_cache(maxsize=256)
def _tuples_from(n_variables: int, length: int) -> IntArray:
    """Number of ascending tuples of a length whose entries are all >= v, for v = 0 .. n."""
    return np.array(
        [comb(n_variables - v + length - 1, length) for v in range(n_variables)] + [0],
        dtype=np.intp,
    )


@lru_cache(maxsize=64)
def monomials(n_variables: int, degree: int) -> Monomials:
    """Return the (cached) table of monomials."""
    return Monomials(n_variables, degree)
