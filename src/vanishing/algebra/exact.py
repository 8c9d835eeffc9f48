"""Generators and membership in exact arithmetic, by Groebner bases."""

from collections.abc import Sequence
from typing import Any

from vanishing.algebra.rationals import check_rational, rational_polynomials


def minimal_generators_exactly(polynomials: Sequence[Any]) -> list[Any]:
    """Leave out polynomials that are combinations of others, as far as degrees go.

    The exact counterpart of :func:`minimal_generators`. Homogenized, a polynomial is in the ideal
    of others if and only if it is a sum of their multiples none of which exceeds its degree.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``.

    Returns
    -------
    list of sympy.Poly
        By degree. If degrees are allowed to rise on the way, still fewer may do: then see
        ``to_rational(..., minimal=True)``.

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import x, y, z
    >>> from vanishing.algebra import minimal_generators_exactly
    >>> twisted = [Poly(p, x, y, z) for p in (y - x**2, z - x * y, x * z - y**2, z - x**3)]
    >>> [p.as_expr() for p in minimal_generators_exactly(twisted)]
    [-x**2 + y, -x*y + z, x*z - y**2]
    """
    import sympy

    level = sympy.Dummy("level")
    kept: list[Any] = []
    homogeneous: list[Any] = []
    by_degree = sorted(rational_polynomials(polynomials), key=lambda p: p.total_degree())
    for polynomial in by_degree:
        candidate = polynomial.homogenize(level)
        if not homogeneous or not _contains(homogeneous, candidate):
            kept.append(polynomial)
            homogeneous.append(candidate)
    return kept


def contains_exactly(generators: Sequence[Any], polynomial: Any) -> bool:
    """Tell whether a polynomial is in the ideal that others generate.

    Parameters
    ----------
    generators : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``.
    polynomial : sympy.Poly or sympy.Expr
        With rational coefficients.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import x, y
    >>> from vanishing.algebra import contains_exactly
    >>> circle = [Poly(x**2 + y**2 - 1, x, y)]
    >>> contains_exactly(circle, x**4 - (1 - y**2) ** 2), contains_exactly(circle, x - 1)
    (True, False)
    """
    import sympy

    rational = rational_polynomials(generators)
    wanted = sympy.Poly(polynomial, *generators[0].gens)
    check_rational(wanted)
    return _contains(rational, wanted) if rational else not wanted


def _contains(generators: list[Any], polynomial: Any) -> bool:
    import sympy

    basis = sympy.groebner(generators, *polynomial.gens, order="grevlex")
    return bool(basis.contains(polynomial.as_expr()))  # SymPy 1.13 takes no Poly
