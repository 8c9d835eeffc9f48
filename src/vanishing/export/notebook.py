"""Equations as notebooks show them: LaTeX, and HTML with MathML."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing.export.excerpt import Excerpt, excerpt
from vanishing.export.latex import latex_sum, latex_symbol
from vanishing.export.markup import element, rendered
from vanishing.export.mathml import mathml_equation
from vanishing.export.writing import number
from vanishing.polynomials import PolynomialBasis

#: Equations and terms that are shown, at most, and digits of the coefficients.
MOST_EQUATIONS, MOST_TERMS, DIGITS = 10, 24, 4


def notebook_latex(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as one display in LaTeX.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    found = _excerpt(basis, model)
    symbols = [latex_symbol(name) for name in names]
    lines = []
    for each in found.sums:
        left = latex_sum(each.exponents, each.coefficients.tolist(), symbols, each.digits.tolist())
        dots = r" + \cdots" if each.n_left_out else ""
        lines.append(f"{left}{dots} &= 0")
    if note := _note(found):
        lines.append(f"&\\text{{{note}}}")
    body = " \\\\\n".join(lines)
    return f"$$\\begin{{aligned}}\n{body}\n\\end{{aligned}}$$"


def notebook_html(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as HTML, with degrees and extents.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    found = _excerpt(basis, model)
    rows = [
        element(
            "div",
            mathml_equation(
                each.exponents,
                each.coefficients.tolist(),
                names,
                digits=each.digits.tolist(),
                n_left_out=each.n_left_out,
            ),
            element(
                "small",
                f"degree {degree}, extent {number(extent, '.2g')}",
                style="margin-left: 1.5em; opacity: 0.7",
            ),
            style="padding: 0.2em 0",
        )
        for each, degree, extent in zip(found.sums, found.degrees, found.extents, strict=True)
    ]
    if note := _note(found):
        rows.append(element("div", element("small", note, style="opacity: 0.7")))
    return rendered(
        element("div", rows, class_="vanishing-equations", style="margin: 0.5em 0; max-width: 60em")
    )


def _excerpt(basis: PolynomialBasis, model: Any) -> Excerpt:
    return excerpt(
        basis, n_equations=MOST_EQUATIONS, n_terms=MOST_TERMS, digits=DIGITS, model=model
    )


def _note(found: Excerpt) -> str:
    """Say what is not shown."""
    if not found.n_more:
        return "" if found.sums else "no equation: nothing vanishes"
    more = "more equation" if found.sums else "equation"
    plural = "" if found.n_more == 1 else "s"
    large = "" if np.size(found.degrees) else ", too large to be written out"
    return f"{found.n_more} {more}{plural}{large}"
