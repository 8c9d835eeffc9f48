"""Vanishing polynomials as SymPy expressions."""

from typing import Any

from vanishing.arrays.namespace import import_extra
from vanishing.equations.model import equations_of, expanded


def to_sympy(model: Any, feature_names: Any = None, *, preprocessor: Any = None) -> list[Any]:
    """Expand the vanishing polynomials into SymPy expressions.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the data before the model: StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler, PCA, or a Pipeline of these.

    Returns
    -------
    list of sympy.Expr
        In ``Symbol(name)``, coefficients as floats, all terms kept.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.equations import to_sympy
    >>> X = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])
    >>> line = make_pipeline(StandardScaler(), VanishingIdeal(max_degree=1, tol=0)).fit(X)
    >>> (equation,) = to_sympy(line, ["u", "v"])
    >>> equation.coeff("v").round(3), equation.coeff("u").round(3)
    (-0.137, 0.274)
    """
    sympy = import_sympy("to_sympy")
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    exponents, coefficients = expanded(equations.basis)
    symbols = [sympy.Symbol(name) for name in equations.names]
    monomials = [
        sympy.Mul(*(symbol ** int(power) for symbol, power in zip(symbols, row, strict=True)))
        for row in exponents
    ]
    return [
        sympy.Add(*(sympy.Float(c) * m for c, m in zip(column.tolist(), monomials, strict=True)))
        for column in coefficients.T
    ]


def import_sympy(caller: str) -> Any:
    """Return SymPy, or raise an error that says how to get it."""
    return import_extra("sympy", extra="symbolic", purpose=caller)
