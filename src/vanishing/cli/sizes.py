"""How large the terms of an equation are, and so which of them, and which digits, count."""

import numpy as np

from vanishing import VanishingIdeal
from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials.monomials import monomials

#: Leaving terms out changes values by at most this share of the extent, and rounding by as much.
NEGLIGIBLE = 0.05
#: Digits of coefficients where equations are exact.
MOST_DIGITS = 7
#: Points on which sizes are taken.
N_POINTS = 1000


def monomial_sizes(ideal: VanishingIdeal) -> FloatArray | None:
    """Return the root mean square of each monomial on data like that of the fit.

    The model holds no data, but its mean and covariance: the nonvanishing polynomials of degree 1,
    F_1 = (x - mean) V_F, are orthonormal on the data, and G_1 = (x - mean) V_G are orthogonal to
    them and have their extents. Sizes are taken on normally distributed points with these moments.

    Parameters
    ----------
    ideal : VanishingIdeal

    Returns
    -------
    array of shape (n_monomials,) or None
        In the order of ``basis.expand()``; None where polynomials of degree 1 were given up, so
        that the covariance is not known.
    """
    basis, trace = ideal.basis_, ideal.trace_[0]
    first = basis.blocks[0]
    if trace.cut or first.vanishing.shape[1] != trace.vanishing:
        return None
    values = np.append(first.extents, np.ones(first.nonvanishing.shape[1]))
    drawn = np.random.default_rng(0).normal(size=(N_POINTS, len(values))) * values
    points = np.zeros((N_POINTS, basis.n_features))
    points[:, first.left] = first.projection[0] + drawn @ np.linalg.pinv(
        np.hstack([first.vanishing, first.nonvanishing])
    )
    with np.errstate(over="ignore", invalid="ignore"):
        monomial_values = monomials(basis.n_features, len(basis.blocks)).values(points.T.copy())
        sizes = np.asarray(np.sqrt(np.mean(monomial_values**2, axis=1)))
    return sizes if np.isfinite(sizes).all() else None


def terms_that_count(
    coefficients: FloatArray, sizes: FloatArray | None, extent: float
) -> tuple[IntArray, IntArray]:
    """Choose terms and digits so that values change by less than a tenth of the extent.

    Parameters
    ----------
    coefficients : array of shape (n_monomials,)
    sizes : array of shape (n_monomials,) or None
        Of the monomials; None where they are not known, so that nothing can be left out.
    extent : float
        Root mean square of the polynomial.

    Returns
    -------
    kept : int array
        Largest first; in the order of degrees, highest first, where sizes are not known.
    digits : int array
        Significant digits of each of them.
    """
    if sizes is None:
        kept = np.flatnonzero(coefficients)[::-1]
        return kept, np.full(len(kept), MOST_DIGITS)
    contributions = np.abs(coefficients) * sizes
    rounding = 10.0**-MOST_DIGITS * contributions.max(initial=0.0)
    budget = max(NEGLIGIBLE * extent, rounding)
    # The root mean square of a sum is at most the sum of those of its terms.
    order = np.argsort(contributions, kind="stable")
    n_left_out = int(np.sum(np.cumsum(contributions[order]) <= budget))
    kept = order[min(n_left_out, len(order) - 1) :][::-1]
    kept = kept[coefficients[kept] != 0]
    # With d digits a coefficient m · 10^k, m from 1 to 10, is off by at most 10^(k - d + 1) / 2.
    steps = 10.0 ** np.floor(np.log10(np.abs(coefficients[kept]))) * sizes[kept]
    with np.errstate(divide="ignore"):
        digits = np.ceil(1 + np.log10(steps * len(kept) / (2 * budget)))
    return kept, np.clip(digits, 2, MOST_DIGITS + 1).astype(np.intp)
