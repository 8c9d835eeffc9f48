"""Equations as people would write them, with the error that this causes."""

from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.export.adjustable import Adjustable
from vanishing.export.equation import TidyEquation
from vanishing.export.model import Equations, checked_names, equations_of
from vanishing.export.readable import readable
from vanishing.export.simplify import (
    Simplified,
    drop_terms,
    significant_digits,
    with_decimals,
    with_fractions,
)
from vanishing.export.uncertainty import Sample
from vanishing.polynomials.monomials import count

#: Monomials of an equation that somebody might want to read; the time grows with their cube.
MOST_MONOMIALS = 1000


def tidy(
    model: Any,
    X: Any,
    feature_names: Any = None,
    *,
    preprocessor: Any = None,
    drop: float | None = None,
    digits: int | None = None,
    integers: bool = True,
    mix: bool = False,
    factor: bool = False,
) -> list[TidyEquation]:
    """Write the vanishing polynomials as short as the noise of the data allows.

    The leading coefficient becomes 1. Terms are dropped and coefficients rounded one after the
    other, and each time the rest is adjusted so that the values on X change least. This goes on as
    long as the noise of X, by the standard errors of the coefficients that follow from it, does not
    tell the result from the fitted polynomial.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    X : array of shape (n_samples, n_features)
        The data of the fit, before preprocessing, or other data of the same kind.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    drop : float, optional
        Drop terms whose root mean square on X is smaller than this share of the largest term's. By
        default those that noise does not tell from zero.
    digits : int, optional
        Significant digits of the coefficients. By default as many as noise leaves, coefficient by
        coefficient.
    integers : bool
        Whether to look for small integers or simple fractions near all coefficients, if ``digits``
        is not given.
    mix : bool
        Whether to combine the polynomials of each degree to others that span the same and have
        fewer terms (reduced echelon form). Which of them a fit finds is chance.
    factor : bool
        Whether to write the expression as a product. It takes integers to find one.

    Returns
    -------
    list of TidyEquation
        In the order of the polynomials; with ``mix`` by degree.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.export import tidy
    >>> X = make_variety("circle", 200, noise=0.001)
    >>> ideal = VanishingIdeal(tol=0.01).fit(X)
    >>> (circle,) = tidy(ideal, X, ["x", "y"])
    >>> circle.expression
    x**2 + y**2 - 1
    >>> bool(circle.change < circle.extent / 5)
    True
    """
    if drop is not None and not 0 <= drop < 1:
        raise ValueError(f"drop must be a share, at least 0 and less than 1, got {drop}")
    if digits is not None and digits < 1:
        raise ValueError(f"digits must be at least 1, got {digits}")
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    basis = equations.basis
    if not basis.count():
        return []
    names = _names_for(equations, X, feature_names)
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > MOST_MONOMIALS:
        raise ValueError(
            f"there are {n_monomials} monomials in {basis.n_features} variables up to degree "
            f"{len(basis.blocks)}, more than the {MOST_MONOMIALS} that can be tidied; pass the "
            "ideal without its preprocessing, or fewer degrees"
        )
    sample = Sample.of(basis, X)
    found = []
    for degree, fitted, coordinates in readable(sample, mix=mix):
        if sample.is_lost(fitted):
            raise ValueError(
                f"an equation of degree {degree} has terms so large that rounding errors hide "
                "it: X is far from the origin, compared with its spread; take off the mean first"
            )
        uncertain = coordinates.kept_by(sample.directions(fitted, degree))
        single = coordinates.kept_by(np.diag(sample.roundings(fitted, degree)))
        # Terms of this degree or less: they come first.
        own = slice(count(basis.n_features, degree))
        polynomial = Adjustable(fitted[own], np.hstack([uncertain[own], single[own, own]]))
        drop_terms(polynomial, sample.sizes[own], drop)
        simplified = with_fractions(polynomial) if integers and digits is None else None
        if simplified is None:
            simplified = with_decimals(polynomial, digits)
        found.append(_measured(sample, fitted, simplified, uncertain, degree, names))
    return [each.factored() for each in found] if factor else found


def _names_for(equations: Equations, X: Any, feature_names: Any) -> tuple[str, ...]:
    """Take the names of a frame's columns where the model has none, and compare them otherwise."""
    columns = getattr(X, "columns", None)
    if feature_names is not None or columns is None:
        return equations.names
    of_frame = tuple(str(column) for column in columns)
    if not equations.named:
        return checked_names(of_frame, len(equations.names))
    if of_frame != equations.names:
        raise ValueError(
            f"X has columns {list(of_frame)}, but the model was fitted to {list(equations.names)}"
        )
    return equations.names


def _measured(
    sample: Sample,
    fitted: FloatArray,
    simplified: Simplified,
    uncertain: FloatArray,
    degree: int,
    names: tuple[str, ...],
) -> TidyEquation:
    """Compare a polynomial with the fitted one, both in the scale of the result."""
    scale = simplified.scale
    tidied = np.zeros(len(fitted))
    tidied[: len(simplified.coefficients)] = simplified.coefficients
    kept = np.flatnonzero(tidied)
    before = scale * fitted
    differences = np.column_stack([tidied - before, before, tidied])
    change, extent_before, extent = sample.root_mean_squares(differences).tolist()
    contributions = np.abs(before) * sample.sizes
    size = float(np.linalg.norm(contributions))
    return TidyEquation(
        names=names,
        degree=degree,
        exponents=sample.table.exponents[kept],
        coefficients=tuple(simplified.coefficients[index] for index in kept),
        standard_errors=scale * np.linalg.norm(uncertain[kept], axis=1),
        n_dropped=int(np.sum((tidied == 0) & (before != 0))),
        dropped_share=float(np.linalg.norm(contributions[tidied == 0])) / size,
        digits=max(significant_digits(c) for c in tidied[kept].tolist()),
        extent_before=extent_before,
        extent=extent,
        change=change,
        size=size,
    )
