"""Equations as lines of text."""

import sys
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.cli.exits import ModelError
from vanishing.export import tidy
from vanishing.polynomials import PolynomialBasis

#: More monomials than anyone reads; a model of images has millions.
MOST_MONOMIALS = 200_000
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def equation_texts(
    basis: PolynomialBasis, names: Sequence[str], *, digits: int = 4, terms: int = 0
) -> list[str]:
    """Write each vanishing polynomial as one line.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.
    digits : int
        Significant digits of coefficients.
    terms : int
        Write the largest terms only, at most so many; 0 for all.

    Returns
    -------
    list of str
        Such as "0.5 x² + 0.5 y² - 0.5 = 0".
    """
    n_monomials = comb(basis.n_features + len(basis.blocks), len(basis.blocks))
    if n_monomials > MOST_MONOMIALS:
        raise ModelError(
            f"equations in {basis.n_features} variables have up to {n_monomials} terms, too many "
            "to write out; look at 'show MODEL spectrum', or fit fewer columns"
        )
    exponents, coefficients = basis.expand()
    written = [_variable(name) for name in names]
    return [_equation(exponents, column, written, digits, terms) for column in coefficients.T]


def tidy_texts(
    ideal: Any, points: FloatArray, names: Sequence[str]
) -> list[tuple[str, float]] | None:
    """Write the equations of an ideal as short as the noise of the points allows.

    Parameters
    ----------
    ideal : VanishingIdeal
    points : array of shape (n_samples, n_features)
    names : sequence of str

    Returns
    -------
    list of (str, float) or None
        Each with its root mean square on the points; None where there are too many terms for that.
    """
    try:
        found = tidy(ideal, points, names)
    except ValueError:
        return None
    written = [_variable(name) for name in names]
    return [
        (
            _equation(each.exponents, np.array(each.coefficients, dtype=float), written, 6, 0),
            each.extent,
        )
        for each in found
    ]


def _equation(
    exponents: IntArray, coefficients: FloatArray, names: list[str], digits: int, terms: int
) -> str:
    sizes = np.abs(coefficients)
    # What would round to nothing beside the largest coefficient is rounding.
    kept = np.flatnonzero(sizes > 0.5 * 10.0**-digits * sizes.max(initial=0.0))
    n_left_out = 0
    if terms and len(kept) > terms:
        n_left_out = len(kept) - terms
        kept = kept[np.argsort(-sizes[kept], kind="stable")[:terms]]
    kept = kept[np.lexsort((kept, -exponents[kept].sum(axis=1)))]
    text = ""
    for index in kept:
        value = float(coefficients[index])
        if text:
            text += " - " if value < 0 else " + "
        elif value < 0:
            text += "-"
        text += _term(abs(value), exponents[index], names, digits)
    if n_left_out:
        text += f" + ({n_left_out} smaller terms)"
    return f"{text or '0'} = 0"


def _term(size: float, powers: IntArray, names: list[str], digits: int) -> str:
    factors = [
        name + _power(power) for name, power in zip(names, powers.tolist(), strict=True) if power
    ]
    number = f"{size:.{digits}g}"
    return " ".join(factors if factors and number == "1" else [number, *factors])


def _power(power: int) -> str:
    if power == 1:
        return ""
    if (sys.stdout.encoding or "").lower().startswith("utf"):
        return str(power).translate(_SUPERSCRIPTS)
    return f"^{power}"


def _variable(name: str) -> str:
    """Put names that are no single word into brackets, in one line."""
    if name.rstrip("'").isidentifier():
        return name
    return f"[{name if name.isprintable() else ascii(name)[1:-1]}]"
