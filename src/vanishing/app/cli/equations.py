"""Equations as the command line prints them."""

import sys
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from vanishing import VanishingIdeal
from vanishing.app.cli.console import ModelError
from vanishing.app.cli.models import coordinate_names, core, feature_names, ideals_of, preprocessing
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.model import affine_map
from vanishing.equations.sizes import DataScale
from vanishing.equations.tidy import tidy
from vanishing.polynomials.monomials import count

# --- Equations as lines of text -------------------------------------------------------------------

#: More monomials than anyone reads; a model of images has millions.
MOST_MONOMIALS = 200_000
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def equation_texts(
    ideal: VanishingIdeal,
    names: Sequence[str],
    *,
    digits: int | None = None,
    terms: int = 0,
    only: int | None = None,
) -> list[str]:
    """Write each vanishing polynomial as one line.

    Terms are left out, and coefficients rounded, where that changes the values on data like that of
    the fit by less than a tenth of the extent, or by less than the digits that are asked for.

    Parameters
    ----------
    ideal : VanishingIdeal
    names : sequence of str
        One a variable.
    digits : int or None
        Significant digits of coefficients, at least; None for as many as the extent asks for.
    terms : int
        Write the largest terms only, at most so many; 0 for all.
    only : int or None
        Number of the one polynomial to write.

    Returns
    -------
    list of str
        Such as "0.5 x² + 0.5 y² - 0.5 = 0".
    """
    basis = ideal.basis_
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > MOST_MONOMIALS:
        raise ModelError(
            f"equations in {basis.n_features} variables have up to {n_monomials} terms, too many "
            "to write out; look at 'show MODEL spectrum', or fit fewer columns"
        )
    scale = DataScale.of(basis, ideal)
    if only is not None:
        basis = basis.restrict(np.arange(basis.count()) == only)
    exponents, coefficients = basis.expand()
    written = [_variable(name) for name in names]
    texts = []
    chosen = scale.terms(basis, coefficients, digits=digits)
    for column, (kept, needed) in zip(coefficients.T, chosen, strict=True):
        shown = kept[: terms or None]
        text = _sum(exponents[shown], column[shown], written, needed)
        left_out = len(kept) - len(shown)
        if left_out:
            which = "smaller" if scale.is_complete else "more"
            text += f" + ({left_out} {which} term{'' if left_out == 1 else 's'})"
        texts.append(f"{text} = 0")
    return texts


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
            _sum(
                each.exponents,
                np.array(each.coefficients, dtype=float),
                written,
                np.full(len(each.coefficients), max(6, each.digits)),
            )
            + " = 0",
            each.extent,
        )
        for each in found
    ]


def _sum(exponents: IntArray, coefficients: FloatArray, names: list[str], digits: IntArray) -> str:
    """Write terms, those of the highest degree first."""
    text = ""
    order = np.lexsort((*-exponents.T[::-1], -exponents.sum(axis=1)))
    for index in order:
        value = float(coefficients[index])
        if text:
            text += " - " if value < 0 else " + "
        elif value < 0:
            text += "-"
        text += _term(abs(value), exponents[index], names, int(digits[index]))
    return text or "0"


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


# --- Equations in the columns of the table, wherever they can be carried back there ---------------


class Written(NamedTuple):
    """An ideal as it is written down.

    Parameters
    ----------
    ideal : VanishingIdeal
        In the variables that are written.
    names : list of str
        Of these variables.
    meaning : str
        What the variables are; empty where they are the columns of the table.
    """

    ideal: VanishingIdeal
    names: list[str]
    meaning: str


def written(model: Any, key: str) -> Written:
    """Carry an ideal of a model back through scaling and PCA before it, as far as that is possible.

    Parameters
    ----------
    model : estimator or Pipeline
    key : str
        Which ideal, as ``ideals_of`` names them.
    """
    ideal = ideals_of(model)[key]
    as_it_is = Written(ideal, *coordinate_names(model, key))
    steps = preprocessing(model)
    if steps is None or coordinate_names(core(model), key)[1]:
        return as_it_is
    names = feature_names(model)
    if count(len(names), len(ideal.basis_.blocks)) > MOST_MONOMIALS:
        return as_it_is
    try:
        basis = ideal.basis_.compose(affine_map(steps))
    except ValueError:  # not affine, or onto less than the ideal has variables
        return as_it_is
    carried = copy(ideal)
    carried.basis_ = basis
    return Written(carried, names, "")
