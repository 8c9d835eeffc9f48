"""Equations of points in the plane, without and with contrast."""

import warnings
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.estimators import InterpolationWarning, UndecidedWarning, VanishingIdeal
from vanishing.estimators.ideal import ContrastError
from vanishing.export.sizes import DataScale

#: Significant digits of coefficients, at least.
DIGITS = 3
#: Coordinates below this are zero.
SMALLEST = 1e-100


def fit(
    *,
    x: list[Any],
    y: list[Any],
    degree: int,
    normalization: str,
    tol: float,
    contrast_tol: float,
) -> dict[str, Any]:
    """Fit both ideals that the page shows side by side.

    Parameters
    ----------
    x, y : list of points
        Either may be empty.
    degree : int
    normalization : str
        Of the ideal without contrast.
    tol, contrast_tol : float
        Of the ideals without and with contrast.

    Returns
    -------
    dict
        "plain" and "contrastive"; each has a "problem", a word for why there is no ideal, or
        None and "degrees", "exponents" and "equations". The "terms" of an equation are those to
        write: which ones, and with how many digits.
    """
    X, Y = (np.asarray(points, dtype=np.float64).reshape(-1, 2) for points in (x, y))
    # Nobody draws that finely, and squares of such numbers would underflow.
    X, Y = (np.where(np.abs(points) < SMALLEST, 0.0, points) for points in (X, Y))
    plain = VanishingIdeal(max_degree=degree, tol=tol, normalization=normalization)
    contrastive = VanishingIdeal(max_degree=degree, tol=contrast_tol, normalization="contrastive")
    return {"plain": _fitted(plain, X, Y, None), "contrastive": _fitted(contrastive, X, Y, Y)}


def _fitted(
    ideal: VanishingIdeal, X: FloatArray, Y: FloatArray, contrast: FloatArray | None
) -> dict[str, Any]:
    if len(X) == 0:
        return {"problem": "no-points"}
    if contrast is not None and len(contrast) == 0:
        return {"problem": "no-contrast"}
    try:
        with warnings.catch_warnings():  # the page shows what comes out of a few points, too
            warnings.simplefilter("ignore", InterpolationWarning)
            warnings.simplefilter("ignore", UndecidedWarning)
            ideal.fit(X, contrast=contrast)
    except ContrastError:
        return {"problem": "contrast-within"}
    exponents, coefficients = ideal.basis_.expand()
    return {
        "problem": None,
        "degrees": [
            {
                "degree": step.degree,
                "candidates": step.candidates,
                "vanishing": step.vanishing,
                "dropped": step.dropped,
                "unbounded": step.unbounded,
                "spectrum": step.spectrum.tolist(),
            }
            for step in ideal.trace_
        ],
        "exponents": exponents.tolist(),
        "equations": [
            {
                "degree": degree,
                "extent": extent,
                "onContrast": on_contrast,
                "coefficients": column,
                "terms": np.column_stack(chosen).tolist(),
            }
            for degree, extent, on_contrast, column, chosen in zip(
                ideal.basis_.degrees().tolist(),
                ideal.extents_.tolist(),
                _sizes(ideal, Y),
                coefficients.T.tolist(),
                DataScale(X).terms(ideal.basis_, coefficients, digits=DIGITS),
                strict=True,
            )
        ],
    }


def _sizes(ideal: VanishingIdeal, Y: FloatArray) -> list[float | None]:
    """Return the root mean square of each equation on Y, whether or not Y was used."""
    if len(Y) == 0:
        return [None] * len(ideal.extents_)
    sizes: list[float | None] = np.sqrt(np.mean(ideal.basis_.evaluate(Y) ** 2, axis=0)).tolist()
    return sizes
