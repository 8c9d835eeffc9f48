"""Dimension and degree of a variety, from a fit to points on it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import IntArray, unmasked
from vanishing.algebra.hilbert import growth, hilbert_function
from vanishing.algebra.local import Gradients, first_order_distances, most_frequent
from vanishing.algebra.minimal import minimal_generators
from vanishing.polynomials import PolynomialBasis

#: Polynomials that vanish and polynomials that do not should differ by this factor at least in how
#: far the points are from their zeros. Of the varieties in ``datasets``, with noise of up to 3 %,
#: it tells nearly all right estimates from wrong ones.
CLEAR_MARGIN = 1.75


@dataclass(frozen=True, eq=False)
class VarietyEstimate:
    """What a fit says about the variety of its points.

    Parameters
    ----------
    dimension : int
        By the Hilbert function, or by the Jacobian if ``degree`` is None.
    degree : int or None
        In how many complex points a general linear space of complementary dimension meets the
        variety. None if the fit does not reach the degrees where that shows.
    local_dimension : int
        Number of variables less the rank of the Jacobian, at most of the points.
    hilbert : int array of shape (max_degree + 1,)
        The affine Hilbert function.
    doubts : tuple of str
        What speaks against the estimate.
    """

    dimension: int
    degree: int | None
    local_dimension: int
    hilbert: IntArray
    doubts: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether all checks passed. Equations above ``max_degree`` can never be ruled out."""
        return not self.doubts


def estimate_variety(basis: PolynomialBasis, X: Any) -> VarietyEstimate:
    """Estimate dimension and degree of the variety that points lie on.

    Two ways that see different things: the Hilbert function counts independent polynomials degree
    by degree and gives both numbers; the rank of the Jacobian of the equations gives the dimension
    at each point. The estimate is settled if they agree, the last degree brought no new equation,
    the points outnumber the polynomials that they determine, and there is a clear margin between
    polynomials that vanish and polynomials that do not.

    Parameters
    ----------
    basis : PolynomialBasis
        Fitted one degree higher, at least, than the equations that are looked for, with all
        nonvanishing polynomials kept (see :func:`hilbert_function`). On points with
        noise of standard deviation σ, ``VanishingIdeal(tol=1.5 * σ)`` does well: with the gradient
        normalization, extents of equations are about σ.
    X : array of shape (n_samples, n_features)
        The points of the fit.

    Returns
    -------
    VarietyEstimate

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import estimate_variety
    >>> from vanishing.datasets import make_variety
    >>> X = make_variety("twisted-cubic", 200)
    >>> found = estimate_variety(VanishingIdeal(max_degree=3, tol=1e-9).fit(X).basis_, X)
    >>> found.dimension, found.degree, found.settled
    (1, 3, True)
    >>> low = estimate_variety(VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_, X)
    >>> low.doubts
    ('equations of degree 2, the last one, are new: there may be more above it',)
    """
    points = np.asarray(unmasked(X, "X"), dtype=np.float64)
    hilbert = hilbert_function(basis)
    gradients = Gradients.of(basis, points)
    local_dimension = basis.n_features - most_frequent(gradients.ranks())
    generators = minimal_generators(basis, tol=gradients.negligible)
    found = growth(hilbert)

    last = len(basis.blocks)
    doubts = []
    if not generators.count():
        doubts.append(f"there are no equations of degree {last} or less")
    elif generators.degrees()[-1] == last and hilbert[-1] > hilbert[-2]:
        doubts.append(
            f"equations of degree {last}, the last one, are new: there may be more above it"
        )
    if found is None:
        doubts.append(f"degree {last} is too low for the Hilbert function to be a polynomial")
    elif found.dimension != local_dimension:
        doubts.append(
            f"the Hilbert function gives dimension {found.dimension}, "
            f"the Jacobian {local_dimension}"
        )
    if hilbert[-1] >= len(points):
        doubts.append(
            f"{len(points)} points determine no more than {len(points)} polynomials: equations "
            "may hold on these points only"
        )
    if generators.count():
        vanishing = first_order_distances(basis, points, which="vanishing").max(initial=0.0)
        others = first_order_distances(basis, points, which="nonvanishing").min(initial=np.inf)
        if others < CLEAR_MARGIN * vanishing:
            doubts.append(
                f"points are up to {vanishing:.3g} from polynomials that vanish and from "
                f"{others:.3g} on from others: with another tolerance there would be other ones"
            )
    return VarietyEstimate(
        dimension=local_dimension if found is None else found.dimension,
        degree=None if found is None else found.degree,
        local_dimension=local_dimension,
        hilbert=hilbert,
        doubts=tuple(doubts),
    )
