"""One equation in a readable form, and what is known of it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray, unmasked
from vanishing.export.latex import latex_sum, latex_symbol
from vanishing.export.simplify import MOST_DIGITS
from vanishing.export.sympy import import_sympy


@dataclass(frozen=True, eq=False)
class TidyEquation:
    """A vanishing polynomial that was made readable.

    Parameters
    ----------
    names : tuple of str
        Of the variables.
    degree : int
    exponents : int array of shape (n_terms, n_variables)
        Of the terms that are left.
    coefficients : tuple of int or float
        Rounded, as they are printed. All of them are integers, or the leading one is 1.
    standard_errors : array of shape (n_terms,)
        Of the fitted coefficients, in the scale of the rounded ones; zero for the leading one,
        which sets the scale.
    n_dropped : int
        Number of terms that were left out.
    dropped_share : float
        How large they were: the root of the sum of their squares on X, relative to all terms.
    digits : int
        Significant digits of the longest coefficient.
    extent_before, extent : float
        Root mean square on X of the fitted polynomial, in the scale of this one, and of this one.
    change : float
        Root mean square on X of the difference of the two: the error that tidying caused.
    size : float
        Root of the sum of the squares of the terms on X, before.
    is_product : bool
        Whether ``expression`` and ``latex`` show factors.
    """

    names: tuple[str, ...]
    degree: int
    exponents: IntArray
    coefficients: tuple[int | float, ...]
    standard_errors: FloatArray
    n_dropped: int
    dropped_share: float
    digits: int
    extent_before: float
    extent: float
    change: float
    size: float
    is_product: bool = False

    @property
    def change_to_extent(self) -> float:
        """The change relative to the extent of the fitted polynomial: below 1 it is noise."""
        return self.change / self.extent_before if self.extent_before else np.inf

    @property
    def change_to_size(self) -> float:
        """The change relative to the size of the terms."""
        return self.change / self.size

    @property
    def expression(self) -> Any:
        """The polynomial as a SymPy expression."""
        sympy = import_sympy("TidyEquation.expression")
        symbols = [sympy.Symbol(name) for name in self.names]
        terms = [
            sympy.sympify(c)
            * sympy.Mul(*(symbol**power for symbol, power in zip(symbols, powers, strict=True)))
            for c, powers in zip(self.coefficients, self.exponents.tolist(), strict=True)
        ]
        total = sympy.Add(*terms)
        return sympy.factor(total) if self.is_product else total

    @property
    def latex(self) -> str:
        """The polynomial as LaTeX."""
        symbols = [latex_symbol(name) for name in self.names]
        if self.is_product:
            sympy = import_sympy("TidyEquation.latex of a product")
            names = {sympy.Symbol(n): latex for n, latex in zip(self.names, symbols, strict=True)}
            return str(sympy.latex(self.expression, symbol_names=names))
        return latex_sum(self.exponents, list(self.coefficients), symbols, MOST_DIGITS)

    def evaluate(self, x: Any) -> FloatArray:
        """Return the values at points.

        Parameters
        ----------
        x : array of shape (n_samples, n_variables)

        Returns
        -------
        array of shape (n_samples,)
        """
        points = np.asarray(unmasked(x, "x"), dtype=np.float64)
        values = np.zeros(len(points))
        for coefficient, powers in zip(self.coefficients, self.exponents, strict=True):
            values += coefficient * np.prod(points**powers, axis=1)
        return values

    def factored(self) -> "TidyEquation":
        """Return it as a product, where it has factors with integer coefficients.

        Returns
        -------
        TidyEquation
        """
        if not all(isinstance(c, int) for c in self.coefficients):
            return self
        product = replace(self, is_product=True)
        return product if product.expression.is_Mul or product.expression.is_Pow else self
