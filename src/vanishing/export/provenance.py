"""Where generated source comes from, as lines of plain ASCII for a comment."""

import sys
from textwrap import wrap

from vanishing._xp import IntArray
from vanishing.export.model import Equations
from vanishing.polynomials.monomials import count

#: Equations are shown in full up to this many monomials, and this many of them.
FEW_MONOMIALS = 40
FEW_EQUATIONS = 12
#: Significant digits of their coefficients, at least.
DIGITS = 6


def provenance(equations: Equations) -> list[str]:
    """Say what source was made of, and which equations it evaluates.

    Parameters
    ----------
    equations : Equations

    Returns
    -------
    list of str
        Printable ASCII, without comment signs; other characters as in Python's escapes.
    """
    version = sys.modules["vanishing"].__version__  # an import would go upwards
    basis = equations.basis
    names = ", ".join(equations.names)
    degrees = ", ".join(map(str, basis.degrees().tolist()))
    paragraphs = [
        f"Written by vanishing {version} from {equations.source}.",
        f"Variables, in this order: {names}",
        f"Degrees of the polynomials: {degrees}",
        "Root mean squares on the data of the fit: "
        + ", ".join(f"{extent:.3g}" for extent in basis.extents.tolist()),
        "Values are signed. Polynomials are evaluated as nested products, not as sums of "
        "monomials, which is more accurate.",
        *_formulas(equations),
    ]
    return [line for text in paragraphs for line in wrap(_plain(text), 88, subsequent_indent="  ")]


def _formulas(equations: Equations) -> list[str]:
    basis = equations.basis
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > FEW_MONOMIALS or basis.count() > FEW_EQUATIONS:
        return []
    exponents, coefficients = basis.expand()
    formulas = []
    chosen = equations.scale.terms(basis, coefficients, digits=DIGITS)
    for number, (kept, digits) in enumerate(chosen):
        terms = [
            "*".join([f"{coefficients[k, number]:+.{d}g}", *_powers(exponents[k], equations.names)])
            for k, d in sorted(zip(kept.tolist(), digits.tolist(), strict=True), reverse=True)
        ]
        formulas.append(f"[{number}] about " + " ".join(terms))
    return formulas


def _powers(powers: IntArray, names: tuple[str, ...]) -> list[str]:
    return [
        name if power == 1 else f"{name}^{power}"
        for name, power in zip(names, powers.tolist(), strict=True)
        if power
    ]


def _plain(text: str) -> str:
    """Return text that is harmless in a comment of C and of Python.

    Nothing there may end a comment or begin one, end a line, or join it with the next: a backslash
    does, and so does ``??/`` in C99.
    """
    escaped = text.encode("unicode_escape").decode("ascii")
    for sign, harmless in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?"), ('"""', '" " "')):
        escaped = escaped.replace(sign, harmless)
    return escaped
