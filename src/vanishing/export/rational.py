"""Vanishing polynomials with rational coefficients, certified in exact arithmetic.

A fit gives coefficients with rounding errors and, at each degree, one of many bases of a space of
polynomials. Both are undone here: the space is brought to echelon form, the coefficients are
rounded to small rationals, and the outcome is *proved* to vanish on rational points by evaluating
it there without rounding. How it was guessed does then not matter.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.export.echelon import reduced_echelon, reduced_modulo
from vanishing.export.exact import ExactPoints
from vanishing.export.model import equations_of, expanded
from vanishing.export.rounding import rational_candidates
from vanishing.export.sympy import import_sympy
from vanishing.polynomials.monomials import Monomials, monomials


class CertificateError(ValueError):
    """No rational polynomial near a vanishing one vanishes exactly on the points.

    Parameters
    ----------
    message : str
        What was tried.
    polynomial : sympy.Poly
        The rational polynomial that came closest.
    residual : Fraction
        The largest absolute value of it on the points.
    """

    def __init__(self, message: str, polynomial: Any, residual: Fraction) -> None:
        super().__init__(message)
        self.polynomial = polynomial
        self.residual = residual

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.polynomial, self.residual)


def to_rational(
    model: Any,
    points: Any,
    feature_names: Any = None,
    *,
    preprocessor: Any = None,
    denominator: int = 1,
    modulo: Sequence[Any] = (),
    minimal: bool = False,
) -> list[Any]:
    """Find rational equations in the span of the vanishing polynomials, and prove them.

    Degree by degree, the span of the vanishing polynomials is reduced modulo the multiples of the
    equations found so far and brought to reduced echelon form, and coefficients are rounded to
    small rationals. What is spanned by multiples of lower equations, up to rounding, gives no
    equation.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted to exact points up to rounding, with a tolerance of 0 or near it.
    points : array of shape (n_samples, n_features)
        Rational points on which the equations must vanish exactly: nested sequences or arrays of
        ``Fraction``, of integers, of strings ("1/3", "0.1"), or of floats, which are taken
        literally: the float 0.1 is not 1/10.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the points before the model, as in ``to_sympy``. The equations are in
        the points as they were before, whose relations are rational.
    denominator : int
        Of all coordinates: the points are ``points / denominator``.
    modulo : sequence of sympy.Poly
        Polynomials whose multiples may be added at will. Where a contrastive fit dropped
        polynomials because they vanish on the contrast as well (``trace_`` says so), the others are
        determined only up to these: give the equations of both sets together here, or get those
        of an arbitrary mixture.
    minimal : bool
        Whether to leave out equations that follow from the others (by a Groebner basis), the last
        ones first.

    Returns
    -------
    list of sympy.Poly
        By degree; coprime integers as coefficients, the leading one positive.

    Raises
    ------
    CertificateError
        If some polynomial has no rational neighbour that vanishes on all points exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.export import to_rational
    >>> t = [Fraction(k, 7) for k in range(-20, 20)]
    >>> circle = [[(1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)] for t in t]
    >>> ideal = VanishingIdeal(tol=0).fit(np.array(circle, dtype=float))
    >>> to_rational(ideal.basis_, circle, ["x", "y"])
    [Poly(x**2 + y**2 - 1, x, y, domain='ZZ')]
    """
    sympy = import_sympy("to_rational")
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    basis = equations.basis
    symbols = [sympy.Symbol(name) for name in equations.names]
    exact = ExactPoints.of(points, denominator=denominator, n_features=basis.n_features)
    sizes = exact.root_mean_squares()
    _, coefficients = expanded(basis)
    degrees = basis.degrees()

    known = [sympy.Poly(polynomial, *symbols) for polynomial in modulo]
    found: list[Any] = []
    for degree in np.unique(degrees).tolist():
        table = monomials(basis.n_features, degree)
        # A coefficient counts as much as its term does on the points.
        weights = np.prod(sizes**table.exponents, axis=1)
        rows = coefficients[: len(table), degrees == degree].T * weights
        new = _new_rows(_unit(rows), table, _multiples(known + found, table, weights))
        for number, (row, pivot) in enumerate(new, start=1):
            name = f"equation {number} of degree {degree}"
            found.append(_certified(row, pivot, weights, table, exact, symbols, name))
    return _minimal(found) if minimal else found


def _new_rows(
    rows: FloatArray, table: Monomials, multiples: FloatArray
) -> list[tuple[FloatArray, int]]:
    """Return the echelon form of rows modulo multiples, with its pivots."""
    # High degrees first, so that pivots are leading terms; the first variable first within one.
    order = np.argsort(-table.exponents.sum(axis=1), kind="stable")
    reduced = reduced_modulo(rows, *reduced_echelon(multiples, order))
    echelon, pivots = reduced_echelon(reduced, order)
    return sorted(zip(echelon, pivots.tolist(), strict=True), key=lambda pair: pair[1])


def _multiples(polynomials: list[Any], table: Monomials, weights: FloatArray) -> FloatArray:
    """Return x^a g for all g and all a such that the degree stays within the table."""
    index = {tuple(powers): i for i, powers in enumerate(table.exponents.tolist())}
    rows = []
    for polynomial in polynomials:
        missing = table.degree - polynomial.total_degree()
        if missing < 0:
            continue
        largest = max(abs(c) for c in polynomial.coeffs())
        for factor in monomials(table.n_variables, missing).exponents.tolist():
            row = np.zeros(len(table))
            for powers, coefficient in polynomial.terms():
                product = tuple(p + f for p, f in zip(powers, factor, strict=True))
                row[index[product]] = float(coefficient / largest)
            rows.append(row * weights)
    return _unit(np.array(rows).reshape(len(rows), len(table)))


def _certified(
    row: FloatArray,
    pivot: int,
    weights: FloatArray,
    table: Monomials,
    exact: ExactPoints,
    symbols: list[Any],
    name: str,
) -> Any:
    """Round one row of an echelon form to a rational polynomial that vanishes on the points."""
    exponents = table.exponents.tolist()
    units = weights[pivot] / weights
    literal = (row * units).tolist()
    refused = []
    for candidate in rational_candidates(literal, (np.abs(row).max() * units).tolist()):
        if not any(exact.values(exponents, candidate)):
            return _with_coprime_integers(_polynomial(exponents, candidate, symbols))
        refused.append(candidate)

    attempts = refused or [[Fraction(c) for c in literal]]
    residuals = [max(map(abs, exact.values(exponents, attempt))) for attempt in attempts]
    residual = min(residuals)
    polynomial = _polynomial(exponents, attempts[residuals.index(residual)], symbols)
    raise CertificateError(
        f"{name} has no certificate: no polynomial with small rational coefficients near "
        f"{polynomial.as_expr().evalf(6)} vanishes on all {len(exact)} points exactly; the largest "
        f"residual of the closest one is {float(residual):.3g}. Either the points are not on it, "
        "or they were given as rounded numbers, or its coefficients are not small rationals",
        polynomial,
        residual,
    )


def _polynomial(
    exponents: list[list[int]], coefficients: list[Fraction], symbols: list[Any]
) -> Any:
    import sympy

    terms = {
        tuple(powers): sympy.Rational(c.numerator, c.denominator)
        for powers, c in zip(exponents, coefficients, strict=True)
        if c
    }
    return sympy.Poly.from_dict(terms, *symbols, domain=sympy.QQ)


def _with_coprime_integers(polynomial: Any) -> Any:
    """Scale to coprime integers, the coefficient of the leading term (by degree) positive."""
    _, integer = polynomial.clear_denoms(convert=True)
    _, primitive = integer.primitive()
    return primitive if primitive.LC(order="grlex") > 0 else -primitive


def _minimal(polynomials: list[Any]) -> list[Any]:
    """Leave out, from the last to the first, what lies in the ideal of the others."""
    import sympy

    kept = list(polynomials)
    for polynomial in reversed(polynomials):
        others = [other for other in kept if other != polynomial]
        if not others:
            break
        groebner_basis = sympy.groebner(others, *polynomial.gens, order="grevlex")
        if groebner_basis.contains(polynomial.as_expr()):  # SymPy 1.13 takes no Poly
            kept = others
    return kept


def _unit(rows: FloatArray) -> FloatArray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0))
