"""Equations with rational coefficients, certified on exact points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, product, takewhile
from math import lcm
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray, import_extra, unmask
from vanishing.arrays.parameters import check_whole
from vanishing.equations.expansion import equations_of, expand_basis
from vanishing.equations.rounding import simple_number
from vanishing.equations.text import UNNOTICED
from vanishing.levels import CHANCE, ROUNDING, SAME
from vanishing.polynomials.monomials import (
    Monomials,
    make_coprime_integers,
    monomials,
    multiples_up_to,
    normalize_columns,
    spanning,
)

# --- Floating point numbers as the small rationals that they are close to -------------------------

#: How many coefficients lattice reduction is tried on; it takes seconds beyond.
LARGEST_LATTICE = 24


def rational_candidates(
    coefficients: Sequence[float], scales: Sequence[float]
) -> Iterator[list[Fraction]]:
    """Propose rational coefficients: each by itself, then all with one denominator."""
    seen = []
    # From rounding to what badly conditioned points may leave: half of the digits.
    errors = takewhile(lambda error: error <= SAME, (ROUNDING * 8**k for k in count()))
    for rule, error in product((_one_by_one, _common_denominator), errors):
        proposal = rule(coefficients, [error * scale for scale in scales])
        if proposal is not None and proposal not in seen:
            seen.append(proposal)
            yield proposal


def _one_by_one(coefficients: Sequence[float], errors: Sequence[float]) -> list[Fraction] | None:
    found = []
    for value, error in zip(coefficients, errors, strict=True):
        nearby = simple_number(value, error)
        if nearby.coincidence >= 1 and nearby.value:
            return None
        found.append(nearby.value)
    return found


def _common_denominator(
    coefficients: Sequence[float], errors: Sequence[float]
) -> list[Fraction] | None:
    """Approximate all coefficients with one denominator q, by a short vector of a lattice."""
    from sympy import ZZ
    from sympy.polys.matrices import DomainMatrix

    known = [j for j, (c, e) in enumerate(zip(coefficients, errors, strict=True)) if abs(c) > e]
    size = len(known) + 1
    if size > LARGEST_LATTICE:
        return None
    # The rows (1, c_1/e_1, ...) and (0, ..., 1/e_j, ...) span (q, (q c_1 - p_1)/e_1, ...).
    # Lattices are over the integers: in steps of a small part of an error, rounding plays no role.
    steps = round(1 / CHANCE)
    rows = [[0] * size for _ in range(size)]
    rows[0][0] = steps
    for column, j in enumerate(known, start=1):
        rows[0][column] = round(steps * Fraction(coefficients[j]) / Fraction(errors[j]))
        rows[column][column] = round(steps / Fraction(errors[j]))
    try:
        reduced = DomainMatrix(rows, (size, size), ZZ).lll()
    except AssertionError:  # SymPy 1.14 checks its result, and not all of them pass
        return None
    denominator = abs(int(reduced[0, 0].element)) // steps
    if denominator == 0:
        return None
    found = [Fraction(0)] * len(coefficients)
    for j in known:
        nearest = Fraction(round(denominator * Fraction(coefficients[j])), denominator)
        if abs(nearest - Fraction(coefficients[j])) > Fraction(errors[j]):
            return None
        found[j] = nearest
    return found


# --- Reduced echelon form of floating point rows, stable, with pivots that people would choose ----
#
# Polynomials are rows of coefficients on monomials. Their span is what the data determines; which
# polynomials span it is a matter of coordinates, and after fitting they are dense mixtures. In
# reduced echelon form every row is the only one that has its pivot monomial, so that simple
# equations show.

# A column is a pivot unless a reader would not miss it beside the largest one. With a lower share,
# the form comes closer to the textbook's, whose pivots are the first columns possible; with a
# higher one, it is stabler.


def reduced_echelon(
    rows: FloatArray, order: IntArray, *, pivot_share: float = UNNOTICED
) -> tuple[FloatArray, IntArray]:
    """Bring the span of rows of norm 1 or less to reduced echelon form; return both."""
    span = spanning(rows.T, SAME).T
    pivots = _pivots(span, order, pivot_share)
    echelon = np.linalg.solve(span[:, pivots], span)
    echelon[:, pivots] = np.eye(len(pivots))
    return echelon, pivots


def reduced_modulo(rows: FloatArray, echelon: FloatArray, pivots: IntArray) -> FloatArray:
    """Subtract from rows what an echelon form spans, so that they are zero on its pivots."""
    reduced = rows - rows[:, pivots] @ echelon
    reduced[:, pivots] = 0.0
    return reduced


def _pivots(span: FloatArray, order: IntArray, pivot_share: float) -> IntArray:
    """Choose the first columns, in the given order, that are independent and not small."""
    remaining = span.copy()
    pivots: list[int] = []
    for _ in range(len(span)):
        sizes = np.linalg.norm(remaining[:, order], axis=0)
        pivot = int(order[np.argmax(sizes >= pivot_share * sizes.max())])
        direction = remaining[:, pivot] / np.linalg.norm(remaining[:, pivot])
        remaining -= np.outer(direction, direction @ remaining)
        pivots.append(pivot)
    return np.array(pivots, dtype=np.intp)


# --- Points and values of polynomials in exact arithmetic -----------------------------------------


@dataclass(frozen=True, eq=False)
class ExactPoints:
    """Rational points; each as integer coordinates over one denominator."""

    numerators: list[list[int]]
    denominators: list[int]

    @classmethod
    def of(cls, points: Any, *, denominator: int, n_features: int) -> "ExactPoints":
        """Read points of any kind that ``to_rational`` takes."""
        table = np.asarray(unmask(points, "points"), dtype=object)
        if table.ndim != 2 or table.shape[1] != n_features or not len(table):
            raise ValueError(
                f"expected points of shape (n_samples, {n_features}) with at least one row, "
                f"got shape {table.shape}"
            )
        check_whole("denominator", denominator)
        numerators, denominators = [], []
        for row in table.tolist():
            coordinates = [_exact(value) / denominator for value in row]
            common = lcm(*(c.denominator for c in coordinates))
            numerators.append([int(c * common) for c in coordinates])
            denominators.append(common)
        return cls(numerators, denominators)

    def __len__(self) -> int:
        return len(self.denominators)

    def root_mean_squares(self) -> FloatArray:
        """Return the size of each coordinate; of all together where one is always zero."""
        rounded = [
            [numerator / denominator for numerator in row]
            for row, denominator in zip(self.numerators, self.denominators, strict=True)
        ]
        squares = np.mean(np.square(rounded), axis=0)
        squares[squares == 0] = squares.mean() or 1.0
        return np.asarray(np.sqrt(squares))

    def values(
        self, exponents: Sequence[Sequence[int]], coefficients: Sequence[Fraction]
    ) -> Iterator[Fraction]:
        """Evaluate one polynomial exactly, point by point."""
        terms = [(a, c) for a, c in zip(exponents, coefficients, strict=True) if c]
        scale = lcm(*(c.denominator for _, c in terms))
        # Homogenized, everything is an integer: c x^a = c p^a d^(t - |a|) / d^t for x = p/d.
        degree = max((sum(a) for a, _ in terms), default=0)
        integer_terms = [(a, int(c * scale), degree - sum(a)) for a, c in terms]
        for row, denominator in zip(self.numerators, self.denominators, strict=True):
            total = 0
            for powers, coefficient, missing in integer_terms:
                value = coefficient * denominator**missing
                for numerator, power in zip(row, powers, strict=True):
                    if power:
                        value *= numerator**power
                total += value
            yield Fraction(total, scale * denominator**degree)


def _exact(value: Any) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"expected points of fractions, integers or finite floats, got {value!r}"
        ) from error


# --- Vanishing polynomials with rational coefficients, certified in exact arithmetic --------------
#
# A fit gives coefficients with rounding errors and, at each degree, one of many bases of a space of
# polynomials. Both are undone here: the space is brought to echelon form, the coefficients are
# rounded to small rationals, and the outcome is *proved* to vanish on rational points by evaluating
# it there without rounding. How it was guessed does then not matter.


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
    >>> from vanishing.equations import to_rational
    >>> t = [Fraction(k, 7) for k in range(-20, 20)]
    >>> circle = [[(1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)] for t in t]
    >>> ideal = VanishingIdeal(tol=0).fit(np.array(circle, dtype=float))
    >>> to_rational(ideal.basis_, circle, ["x", "y"])
    [Poly(x**2 + y**2 - 1, x, y, domain='ZZ')]
    """
    sympy = import_extra("sympy", extra="symbolic", purpose="to_rational")
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    basis = equations.basis
    symbols = [sympy.Symbol(name) for name in equations.names]
    exact = ExactPoints.of(points, denominator=denominator, n_features=basis.n_features)
    sizes = exact.root_mean_squares()
    _, coefficients = expand_basis(basis)
    degrees = basis.degrees()

    known = [sympy.Poly(polynomial, *symbols) for polynomial in modulo]
    found: list[Any] = []
    for degree in np.unique(degrees).tolist():
        table = monomials(basis.n_features, degree)
        # A coefficient counts as much as its term does on the points.
        weights = np.prod(sizes**table.exponents, axis=1)
        own = coefficients[: len(table), degrees == degree] * weights[:, None]
        new = _new_rows(own, table, _multiples(known + found, table, weights))
        for number, (row, pivot) in enumerate(new, start=1):
            name = f"equation {number} of degree {degree}"
            found.append(_certified(row, pivot, weights, table, exact, symbols, name))
    return _minimal(found) if minimal else found


def _new_rows(
    columns: FloatArray, table: Monomials, known: FloatArray
) -> list[tuple[FloatArray, int]]:
    """Return the echelon form of polynomials modulo known rows, with its pivots."""
    # High degrees first, so that pivots are leading terms; the first variable first within one.
    order = np.argsort(-table.exponents.sum(axis=1), kind="stable")
    rows = normalize_columns(columns).T
    reduced = reduced_modulo(rows, *reduced_echelon(known, order))
    echelon, pivots = reduced_echelon(reduced, order)
    return sorted(zip(echelon, pivots.tolist(), strict=True), key=lambda pair: pair[1])


def _multiples(polynomials: list[Any], table: Monomials, weights: FloatArray) -> FloatArray:
    """Return x^a g for all g and all a such that the degree stays within the table."""
    parts: list[FloatArray] = [np.zeros((len(table), 0))]
    for polynomial in polynomials:
        degree = polynomial.total_degree()
        if degree <= table.degree:
            largest = max(abs(c) for c in polynomial.coeffs())
            terms = {powers: float(c / largest) for powers, c in polynomial.terms()}
            own = monomials(table.n_variables, degree).exponents.tolist()
            column = np.array([[terms.get(tuple(powers), 0.0)] for powers in own])
            parts.append(multiples_up_to(column, degree, table.degree, table))
    return normalize_columns(np.hstack(parts) * weights[:, None]).T


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
            return make_coprime_integers(_polynomial(exponents, candidate, symbols), "grlex")
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
