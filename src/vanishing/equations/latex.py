"""Equations as LaTeX."""

from typing import Any

from vanishing.arrays.parameters import check_whole
from vanishing.equations.expansion import choose_terms, equations_of
from vanishing.equations.text import SHOWN_DIGITS, Notation, printable

LATEX = Notation((" +", " -"), power="{}^{{{}}}", ten=r" \cdot 10^{{{}}}")


def to_latex(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None, digits: int = SHOWN_DIGITS
) -> list[str]:
    """Write the vanishing polynomials as LaTeX, highest degree first.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...; "x12" becomes ``x_{12}``, other
        names are set upright.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    digits : int
        Significant digits of the coefficients. There are more where fewer would change what an
        equation says about the data of the fit, and terms are left out that change it by less than
        the last digit. What counts is the size of a term on the data, not its coefficient.

    Returns
    -------
    list of str
    """
    check_whole("digits", digits)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    symbols = [latex_symbol(name) for name in equations.names]
    sums = choose_terms(equations.basis, equations.scale, digits=digits)
    return [LATEX.write(each, symbols) for each in sums]


def latex_symbol(name: str) -> str:
    """Write the name of a variable, in which no character is a command."""
    letter, index = name[:1], name[1:]
    if letter.isalpha() and index.isdigit():
        return f"{letter}_{{{index}}}"
    if len(name) == 1 and name.isalpha():
        return name
    # Pages that show formulas would take "<b" for the beginning of an element.
    special = {"^": r"\hat{}", "~": r"\sim{}", "\\": r"\backslash{}", "<": "<{}"}
    escaped = "".join(f"\\{c}" if c in "_%&#$ {}" else special.get(c, c) for c in printable(name))
    return f"\\mathrm{{{escaped}}}"
