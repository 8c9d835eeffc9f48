"""Vanishing polynomials as SymPy expressions."""

from collections.abc import Sequence
from typing import Any

from vanishing.polynomials import PolynomialBasis


def to_sympy(basis: PolynomialBasis, names: Sequence[str]) -> list[Any]:
    """Expand the vanishing polynomials into SymPy expressions.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.

    Returns
    -------
    list of sympy.Expr
        In ``Symbol(name)``, coefficients as floats, all terms kept.
    """
    try:
        import sympy
    except ImportError as error:
        raise ImportError("to_sympy needs SymPy: pip install 'vanishing[symbolic]'") from error
    exponents, coefficients = basis.expand()
    symbols = [sympy.Symbol(name) for name in names]
    monomials = [
        sympy.Mul(*(symbol ** int(power) for symbol, power in zip(symbols, row, strict=True)))
        for row in exponents
    ]
    return [
        sympy.Add(*(sympy.Float(c) * m for c, m in zip(column.tolist(), monomials, strict=True)))
        for column in coefficients.T
    ]
