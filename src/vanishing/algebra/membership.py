"""Membership in an ideal, numerically."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import (
    count,
    monomials,
    multiples,
    normalize_columns,
    spanning,
    variable_names,
)

#: Multiples of norm 1 whose combinations are smaller than this are dependent.
DEPENDENT = 1e-9


@dataclass(frozen=True)
class Membership:
    """Whether a polynomial is in an ideal, up to a tolerance.

    Parameters
    ----------
    contained : bool
        Whether the residual is within the tolerance.
    residual : float
        Norm of what remains of the polynomial's coefficients after reduction, relative to theirs.
    degree : int
        Up to which multiples of the generators were used.
    """

    contained: bool
    residual: float
    degree: int


def contains(
    basis: PolynomialBasis,
    polynomial: Any,
    names: Sequence[str] | None = None,
    *,
    degree: int | None = None,
    tol: float = 1e-6,
) -> Membership:
    """Tell whether a polynomial is in the ideal of the vanishing polynomials, up to a tolerance.

    The polynomial is reduced by least squares: from its coefficients the nearest combination of
    multiples x^a g is taken off. See :func:`contains_exactly` for a proof.

    Parameters
    ----------
    basis : PolynomialBasis
    polynomial : sympy.Expr, sympy.Poly, or array of shape (n_monomials,)
        An array holds the coefficients on monomials in the order of ``basis.expand``, as many as
        there are up to some degree.
    names : sequence of str, optional
        Of the variables in an expression; by default x0, x1, ...
    degree : int, optional
        Of the multiples, at most. By default the polynomial's own, which is enough if the
        generators are all those of a fit up to this degree (an H-basis). If they are fewer,
        "not contained" means "not with multiples of this degree".
    tol : float
        Largest relative residual of a polynomial that is contained.

    Returns
    -------
    Membership

    Examples
    --------
    >>> import sympy
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import contains
    >>> from vanishing.datasets import make_variety
    >>> circle = VanishingIdeal(max_degree=2, tol=1e-9).fit(make_variety("circle", 100)).basis_
    >>> x, y = sympy.symbols("x y")
    >>> contains(circle, x**4 - (1 - y**2) ** 2, ["x", "y"]).contained
    True
    >>> contains(circle, [-1.0, 1.0, 0.0]).contained  # x - 1
    False
    """
    wanted = _coefficients(polynomial, basis.n_features, names)
    own_degree = _degree(wanted, basis.n_features)
    highest = own_degree if degree is None else degree
    if highest < own_degree:
        raise ValueError(f"degree must be at least the polynomial's {own_degree}, got {highest}")
    norm = float(np.linalg.norm(wanted))
    if norm == 0.0:
        return Membership(contained=True, residual=0.0, degree=highest)

    columns = _multiples_up_to(basis, highest)
    known = spanning(columns, DEPENDENT)
    remaining = np.zeros(len(columns))
    n_common = min(len(wanted), len(columns))  # what either has more is zero
    remaining[:n_common] = wanted[:n_common]
    # Twice, so that what remains is not the rounding error of the first time.
    for _ in range(2):
        remaining -= known @ (known.T @ remaining)
    residual = float(np.linalg.norm(remaining)) / norm
    return Membership(contained=residual <= tol, residual=residual, degree=highest)


def _multiples_up_to(basis: PolynomialBasis, highest: int) -> FloatArray:
    """Coefficients of all x^a g of degree at most ``highest``, of norm 1."""
    table = monomials(basis.n_features, highest)
    _, coefficients = basis.expand()
    degrees = basis.degrees()
    parts: list[FloatArray] = [np.zeros((len(table), 0))]
    for degree in np.unique(degrees[degrees <= highest]).tolist():
        n_rows = len(monomials(basis.n_features, degree))
        own = normalize_columns(coefficients[:n_rows, degrees == degree])
        factors = monomials(basis.n_features, highest - degree).exponents
        parts.append(multiples(own, table, factors))
    return np.hstack(parts)


def _coefficients(polynomial: Any, n_variables: int, names: Sequence[str] | None) -> FloatArray:
    """Coefficients on all monomials up to some degree."""
    if hasattr(polynomial, "free_symbols"):
        return _symbolic_coefficients(polynomial, n_variables, names)
    given = np.asarray(polynomial, dtype=np.float64)
    degree = 0
    while count(n_variables, degree) < given.size:
        degree += 1
    if given.shape != (count(n_variables, degree),):
        raise ValueError(
            f"expected one coefficient for each monomial in {n_variables} variables up to some "
            f"degree ({', '.join(str(count(n_variables, d)) for d in range(4))}, ...), got shape "
            f"{given.shape}"
        )
    return given


def _symbolic_coefficients(
    polynomial: Any, n_variables: int, names: Sequence[str] | None
) -> FloatArray:
    import sympy

    names = variable_names(n_variables, names)
    # Symbols of the same name may differ in assumptions; the names are what counts.
    expression = polynomial.as_expr()
    plain = {symbol: sympy.Symbol(symbol.name) for symbol in expression.free_symbols}
    unknown = sorted({symbol.name for symbol in plain} - set(names))
    if unknown:
        raise ValueError(f"the variables are {', '.join(names)}; got {', '.join(unknown)} as well")
    expanded = sympy.Poly(expression.xreplace(plain), *map(sympy.Symbol, names))
    terms = dict(expanded.terms())
    table = monomials(n_variables, max(0, expanded.total_degree()))
    return np.array([float(terms.get(tuple(e), 0)) for e in table.exponents.tolist()])


def _degree(coefficients: FloatArray, n_variables: int) -> int:
    """Degree of the last monomial that occurs, 0 for the zero polynomial."""
    last = int(np.max(np.flatnonzero(coefficients), initial=0))
    degree = 0
    while count(n_variables, degree) <= last:
        degree += 1
    return degree
