"""Vanishing polynomials as LaTeX."""

from collections.abc import Sequence

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials import PolynomialBasis


def to_latex(basis: PolynomialBasis, names: Sequence[str], *, digits: int = 4) -> list[str]:
    """Write the vanishing polynomials as LaTeX, highest degree first.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable; "x12" becomes ``x_{12}``, other names are set upright.
    digits : int
        Significant digits of the coefficients; terms that round to nothing beside the largest
        coefficient are left out.

    Returns
    -------
    list of str
    """
    exponents, coefficients = basis.expand()
    symbols = [latex_symbol(name) for name in names]
    return [_polynomial(exponents, column, symbols, digits) for column in coefficients.T]


def _polynomial(
    exponents: IntArray, coefficients: FloatArray, symbols: list[str], digits: int
) -> str:
    smallest = 0.5 * 10.0**-digits * np.max(np.abs(coefficients), initial=0.0)
    kept = np.flatnonzero(np.abs(coefficients) > smallest)
    return latex_sum(exponents[kept], coefficients[kept].tolist(), symbols, digits)


def latex_sum(
    exponents: IntArray, coefficients: list[float], symbols: list[str], digits: int
) -> str:
    """Write a sum of terms, highest degree first.

    Parameters
    ----------
    exponents : int array of shape (n_terms, n_variables)
    coefficients : list of float
    symbols : list of str
        The variables in LaTeX.
    digits : int
        Significant digits.
    """
    terms: list[str] = []
    for index in np.argsort(-exponents.sum(axis=1), kind="stable").tolist():
        coefficient = coefficients[index]
        sign = "-" if coefficient < 0 else "+" if terms else ""
        terms.append(sign + _term(abs(coefficient), exponents[index], symbols, digits))
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
