"""Groebner bases by the computer algebra system Singular, where it is installed."""

import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

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
