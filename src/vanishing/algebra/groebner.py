"""Reduced Groebner bases of exact polynomials."""

from collections.abc import Sequence
from typing import Any, Literal

from vanishing.algebra import singular
from vanishing.algebra.rationals import rational_polynomials

Order = Literal["grevlex", "grlex", "lex"]


def groebner_basis(
    polynomials: Sequence[Any],
    *,
    order: Order = "grevlex",
    engine: Literal["sympy", "singular"] = "sympy",
) -> list[Any]:
    """Compute the reduced Groebner basis of an ideal.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``. The first variable is the
        largest.
    order : {"grevlex", "grlex", "lex"}
        Of the monomials; "lex" eliminates variables, and takes longest.
    engine : {"sympy", "singular"}
        Who computes. Singular is a program of its own, much faster on large ideals; both give the
        same basis.

    Returns
    -------
    list of sympy.Poly
        Largest leading monomial first; coprime integers as coefficients, the leading one positive.

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import t, x, y
    >>> from vanishing.algebra import groebner_basis
    >>> curve = [Poly(x - t**2, t, x, y), Poly(y - t**3, t, x, y)]
    >>> [str(p.as_expr()) for p in groebner_basis(curve, order="lex")]  # t is eliminated
    ['t**2 - x', 't*x - y', 't*y - x**2', 'x**3 - y**2']
    """
    import sympy
    from sympy.polys.orderings import monomial_key

    if order not in singular.ORDERS:
        raise ValueError(f"order must be one of {', '.join(singular.ORDERS)}, got {order!r}")
    if engine not in ("sympy", "singular"):
        raise ValueError(f"engine must be 'sympy' or 'singular', got {engine!r}")
    rational = rational_polynomials(polynomials)
    if not rational:
        return []
    if engine == "singular":
        reduced = singular.reduced_groebner_basis(rational, order)
    else:
        reduced = sympy.groebner(rational, *rational[0].gens, order=order).polys
    key = monomial_key(order)
    whole = [_with_coprime_integers(polynomial, order) for polynomial in reduced]
    return sorted(whole, key=lambda p: key(p.monoms(order=order)[0]), reverse=True)


def _with_coprime_integers(polynomial: Any, order: str) -> Any:
    _, integer = polynomial.clear_denoms(convert=True)
    _, primitive = integer.primitive()
    return primitive if primitive.LC(order=order) > 0 else -primitive
