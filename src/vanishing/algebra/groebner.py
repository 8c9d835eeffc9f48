"""Gröbner bases over the rationals, by SymPy or Singular."""

import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, Literal

from vanishing.algebra.generators import rational_polynomials

# --- Groebner bases by the computer algebra system Singular, where it is installed ----------------

#: Names of the monomial orders there.
ORDERS = {"grevlex": "dp", "grlex": "Dp", "lex": "lp"}
SCRIPT = """
ring rationals = 0, ({variables}), {order};
short = 0;
option(redSB);
ideal given = {polynomials};
print("answer " + string(std(given)));
quit;
"""


def is_installed() -> bool:
    """Whether there is a program of this name."""
    return shutil.which("Singular") is not None


def reduced_groebner_basis(polynomials: Sequence[Any], order: str) -> list[Any]:
    """Let Singular compute the reduced Groebner basis.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        Over the rationals, at least one.
    order : {"grevlex", "grlex", "lex"}

    Returns
    -------
    list of sympy.Poly
    """
    import sympy

    if not is_installed():
        raise RuntimeError("there is no program Singular; choose engine='sympy'")
    gens = polynomials[0].gens
    # Variables may have any names; these are names in both systems and nothing else there.
    plain = [sympy.Symbol(f"variable{i}") for i in range(len(gens))]
    texts = [str(p.as_expr(*plain)) for p in polynomials]
    script = SCRIPT.format(
        variables=", ".join(map(str, plain)),
        order=ORDERS[order],
        polynomials=", ".join(texts).replace("**", "^"),
    )
    run = subprocess.run(
        ["Singular", "-q", "--no-rc"], input=script, capture_output=True, text=True, check=True
    )
    _, found, answer = run.stdout.partition("answer ")
    if not found or "?" in run.stdout:  # a question mark begins its complaints
        raise RuntimeError(f"Singular gave no answer; it said:\n{run.stdout}{run.stderr}")
    names = {str(symbol): gen for symbol, gen in zip(plain, gens, strict=True)}
    parts = "".join(answer.split()).replace("^", "**").split(",")
    return [sympy.Poly(sympy.sympify(part, locals=names), *gens) for part in parts]


# --- Reduced Groebner bases of exact polynomials --------------------------------------------------

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

    if order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    if engine not in ("sympy", "singular"):
        raise ValueError(f"engine must be 'sympy' or 'singular', got {engine!r}")
    rational = rational_polynomials(polynomials)
    if not rational:
        return []
    if engine == "singular":
        reduced = reduced_groebner_basis(rational, order)
    else:
        reduced = sympy.groebner(rational, *rational[0].gens, order=order).polys
    key = monomial_key(order)
    whole = [_with_coprime_integers(polynomial, order) for polynomial in reduced]
    return sorted(whole, key=lambda p: key(p.monoms(order=order)[0]), reverse=True)


def _with_coprime_integers(polynomial: Any, order: str) -> Any:
    _, integer = polynomial.clear_denoms(convert=True)
    _, primitive = integer.primitive()
    return primitive if primitive.LC(order=order) > 0 else -primitive
