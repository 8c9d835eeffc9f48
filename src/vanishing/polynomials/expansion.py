"""Coefficients of nested polynomials on monomials.

Two sets of variables are used. In the original variables x the coefficients are what people read.
From degree 2 on every polynomial is a polynomial in z = F_1(x), in which F_1 is simply z_1..z_m:
there the expansion is cheap, and the top degree of it is the leading form.
"""

from collections.abc import Sequence

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.monomials import Monomials, monomials


def expand_in_variables(
    n_features: int, blocks: Sequence[DegreeBlock], which: str
) -> tuple[IntArray, FloatArray]:
    """Expand G or F in the original variables: exponents and coefficients, all degrees."""
    table = monomials(n_features, len(blocks))
    expanded = Expansion(n_features, blocks)
    if which == "nonvanishing":
        return table.exponents, expanded.nonvanishing(len(blocks))
    columns: list[FloatArray] = [np.zeros((len(table), 0))]
    for degree, block in enumerate(blocks, start=1):
        candidates = expanded.candidates(degree, block.left, block.right)
        lower = expanded.nonvanishing(degree - 1)
        combined = candidates @ block.vanishing
        combined[: len(lower)] -= lower @ block.vanishing_lower
        columns.append(_padded(combined, len(table)))
    return table.exponents, np.hstack(columns)


class Expansion:
    """Coefficients of F, degree by degree, in x or in z = F_1(x).

    Parameters
    ----------
    n_variables : int
        Number of variables x; ignored for z.
    blocks : sequence of DegreeBlock
        The degrees that are known.
    in_z : bool
        Expand in z. Only polynomials of degree >= 2 and F_1 itself exist there.
    variables : array of shape (1 + n_variables, n_variables), optional
        Expand in other coordinates u: the coefficients of each variable x on 1, u_1, u_2, ...
    """

    def __init__(
        self,
        n_variables: int,
        blocks: Sequence[DegreeBlock],
        *,
        in_z: bool = False,
        variables: FloatArray | None = None,
    ) -> None:
        self.blocks = tuple(blocks)
        self.n_variables = self.blocks[0].nonvanishing.shape[1] if in_z else n_variables
        self.variables = np.eye(1 + n_variables)[:, 1:] if variables is None else variables
        self._by_degree: list[FloatArray] = [np.ones((1, 1))]
        for degree, block in enumerate(self.blocks, start=1):
            if in_z and degree == 1:
                identity = np.eye(self.n_variables + 1)[:, 1:]
                self._by_degree.append(identity)
                continue
            combined = self.candidates(degree, block.left, block.right) @ block.nonvanishing
            lower = self.nonvanishing(degree - 1)
            combined[: len(lower)] -= lower @ block.nonvanishing_lower
            self._by_degree.append(combined)

    def table(self, degree: int) -> Monomials:
        """Return the monomials of degree at most ``degree`` in these variables."""
        return monomials(self.n_variables, degree)

    def nonvanishing(self, degree: int) -> FloatArray:
        """Return the coefficients of F^degree, shape (n_monomials(degree), n_nonvanishing)."""
        n_monomials = len(self.table(degree))
        return np.hstack([_padded(c, n_monomials) for c in self._by_degree[: degree + 1]])

    def candidates(self, degree: int, left: IntArray, right: IntArray) -> FloatArray:
        """Return the coefficients of F_1[left] · F_{t-1}[right] (x[left] at degree 1)."""
        table = self.table(degree)
        if degree == 1:
            return np.asarray(self.variables[:, left])
        first, last = self._by_degree[1], self._by_degree[degree - 1]
        product = np.zeros((len(table), len(left)))
        factor = last[:, right]
        product[: len(factor)] = factor * first[0, left]
        for j in np.flatnonzero(np.any(first[1:] != 0, axis=1)):
            product[table.times_variable[j]] += factor * first[1 + j, left]
        return product


def monomials_of_affine(variables: FloatArray, degree: int) -> FloatArray:
    """Expand the monomials of x in other coordinates u.

    Parameters
    ----------
    variables : array of shape (1 + n_coordinates, n_variables)
        The coefficients of each variable x on 1, u_1, u_2, ...
    degree : int

    Returns
    -------
    array of shape (n_monomials of u, n_monomials of x)
        One monomial of x a column, by the monomials of u.
    """
    table = monomials(variables.shape[1], degree)
    coordinates = monomials(variables.shape[0] - 1, degree)
    expanded = np.zeros((len(coordinates), len(table)))
    expanded[0, 0] = 1.0
    for j, below, above in table.products():
        factor = expanded[:, below]
        product = variables[0, j] * factor
        for k in np.flatnonzero(variables[1:, j]):
            raised = coordinates.times_variable[k]
            product[raised] += variables[1 + k, j] * factor[: len(raised)]
        expanded[:, above] = product
    return expanded


def leading_forms(blocks: Sequence[DegreeBlock]) -> FloatArray:
    """Return the leading forms, in z = F_1(x), of the nonvanishing polynomials of top degree.

    Parameters
    ----------
    blocks : sequence of DegreeBlock
        At least one.

    Returns
    -------
    array of shape (n_monomials of exactly the top degree, n_nonvanishing of that degree)
    """
    n_variables = blocks[0].nonvanishing.shape[1]
    forms = np.eye(n_variables)
    for degree, block in enumerate(blocks[1:], start=2):
        products = products_of_forms(forms, n_variables, degree, block.left, block.right)
        forms = products @ block.nonvanishing
    return forms


def products_of_forms(
    forms: FloatArray, n_variables: int, degree: int, left: IntArray, right: IntArray
) -> FloatArray:
    """Multiply forms of one degree below by variables.

    Parameters
    ----------
    forms : array of shape (n_monomials of degree - 1, n_forms)
    n_variables, degree : int
    left, right : int arrays of shape (n_products,)
        Which variable times which form.

    Returns
    -------
    array of shape (n_monomials of degree, n_products)
    """
    table = monomials(n_variables, degree)
    start, below = table.first_of(degree), table.first_of(degree - 1)
    products = np.zeros((len(table) - start, len(left)))
    for variable in range(n_variables):
        raised = table.times_variable[variable, below:] - start
        chosen = np.flatnonzero(left == variable)
        products[np.ix_(raised, chosen)] = forms[:, right[chosen]]
    return products


def _padded(coefficients: FloatArray, n_monomials: int) -> FloatArray:
    padded = np.zeros((n_monomials, coefficients.shape[1]))
    padded[: len(coefficients)] = coefficients
    return padded
