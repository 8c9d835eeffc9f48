"""Polynomials with rational coefficients, as exact algebra needs them."""

from collections.abc import Sequence
from typing import Any


def rational_polynomials(polynomials: Sequence[Any]) -> list[Any]:
    """Check that polynomials are exact and in the same variables.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        At least one.

    Returns
    -------
    list of sympy.Poly
        The nonzero ones.
    """
    import sympy

    if not polynomials:
        raise ValueError("expected at least one polynomial; the variables are taken from them")
    for polynomial in polynomials:
        if not isinstance(polynomial, sympy.Poly):
            raise TypeError(f"expected polynomials of type sympy.Poly, got {polynomial!r}")
        if polynomial.gens != polynomials[0].gens:
            raise ValueError(
                f"expected polynomials in the same variables, got {polynomials[0].gens} and "
                f"{polynomial.gens}"
            )
        check_rational(polynomial)
    return [polynomial for polynomial in polynomials if polynomial]


def check_rational(polynomial: Any) -> None:
    """Refuse a polynomial with rounded or irrational coefficients."""
    if not (polynomial.domain.is_ZZ or polynomial.domain.is_QQ):
        raise ValueError(
            f"expected rational coefficients, got {polynomial}; a fitted basis becomes exact "
            "by to_rational"
        )
