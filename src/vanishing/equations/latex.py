"""Vanishing polynomials as LaTeX."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing.arrays.namespace import IntArray
from vanishing.equations.model import equations_of, expanded


def to_latex(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None, digits: int = 4
) -> list[str]:
    """Write the vanishing polynomials as LaTeX, highest degree first.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...; "x12" becomes ``x_{12}``, other
        names are set upright.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    digits : int
        Significant digits of the coefficients. There are more where fewer would change what an
        equation says about the data of the fit, and terms are left out that change it by less than
        the last digit. What counts is the size of a term on the data, not its coefficient.

    Returns
    -------
    list of str
    """
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    exponents, coefficients = expanded(equations.basis)
    symbols = [latex_symbol(name) for name in equations.names]
    texts = []
    chosen = equations.scale.terms(equations.basis, coefficients, digits=digits)
    for column, (kept, of_each) in zip(coefficients.T, chosen, strict=True):
        order = np.argsort(kept)
        kept, of_each = kept[order], of_each[order]
        texts.append(latex_sum(exponents[kept], column[kept].tolist(), symbols, of_each.tolist()))
    return texts


def latex_sum(
    exponents: IntArray,
    coefficients: list[float],
    symbols: list[str],
    digits: int | Sequence[int],
) -> str:
    """Write a sum of terms, highest degree first.

    Parameters
    ----------
    exponents : int array of shape (n_terms, n_variables)
    coefficients : list of float
    symbols : list of str
        The variables in LaTeX.
    digits : int or sequence of int
        Significant digits, of all coefficients or of each.
    """
    each = [digits] * len(coefficients) if isinstance(digits, int) else list(digits)
    terms: list[str] = []
    for index in np.argsort(-exponents.sum(axis=1), kind="stable").tolist():
        coefficient = coefficients[index]
        sign = "-" if coefficient < 0 else "+" if terms else ""
        terms.append(sign + _term(abs(coefficient), exponents[index], symbols, each[index]))
    return " ".join(terms) or "0"


def _term(size: float, powers: IntArray, symbols: list[str], digits: int) -> str:
    factors = [
        symbol if power == 1 else f"{symbol}^{{{power}}}"
        for symbol, power in zip(symbols, powers.tolist(), strict=True)
        if power
    ]
    number = str(size) if isinstance(size, int) else f"{size:.{digits}g}"
    if "e" in number:
        mantissa, exponent = number.split("e")
        number = f"{mantissa} \\cdot 10^{{{int(exponent)}}}"
    if factors and number == "1":
        return " ".join(factors)
    return " ".join([number, *factors])


def latex_symbol(name: str) -> str:
    """Write the name of a variable."""
    letter, index = name[:1], name[1:]
    if letter.isalpha() and index.isdigit():
        return f"{letter}_{{{index}}}"
    if len(name) == 1 and name.isalpha():
        return name
    special = {"^": r"\hat{}", "~": r"\sim{}", "\\": r"\backslash{}"}
    escaped = "".join(f"\\{c}" if c in "_%&#$ {}" else special.get(c, c) for c in name)
    return f"\\mathrm{{{escaped}}}"
