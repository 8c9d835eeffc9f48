"""Which polynomials to write down: the span of those of one degree is what the data determines.

Which ones of it a fit finds is a matter of coordinates. In reduced echelon form simple equations
show, and modulo multiples of the equations of lower degree still simpler ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.export.echelon import NEGLIGIBLE, PIVOT_SHARE, reduced_echelon, reduced_modulo
from vanishing.export.uncertainty import Sample
from vanishing.polynomials.monomials import monomials
from vanishing.polynomials.multiples import multiples, unit_columns

#: Below this many times the uncertainty, nothing is built on a number: it is no pivot, and a
#: polynomial that differs by so little from multiples of others is one of them.
TIMES_UNCERTAINTY = 10.0
#: Pivots need not be larger than this share of the largest, however uncertain they are.
LARGEST_PIVOT_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Polynomials each of which alone has its pivot, where its coefficient is 1.

    Parameters
    ----------
    coefficients : array of shape (n_monomials, n_polynomials)
    pivots : int array of shape (n_polynomials,)
    """

    coefficients: FloatArray
    pivots: IntArray

    def kept_by(self, directions: FloatArray) -> FloatArray:
        """Return directions, modulo the polynomials, that leave the pivots as they are.

        The scale of a polynomial, and how it is mixed with others, are chosen and not uncertain.
        """
        kept = directions - self.coefficients @ directions[self.pivots]
        kept[self.pivots] = 0.0
        return kept


def readable(sample: Sample, *, mix: bool) -> Iterator[tuple[int, FloatArray, Coordinates]]:
    """Choose polynomials to write down.

    Parameters
    ----------
    sample : Sample
    mix : bool
        Whether to combine the polynomials of each degree. What is spanned by multiples of others of
        lower degree, up to noise, is then left out.

    Yields
    ------
    degree : int
    coefficients : array of shape (n_monomials,)
        Of one polynomial.
    coordinates : Coordinates
        What fixes its scale and its mixture.
    """
    degrees = sample.basis.degrees()
    if not mix:
        for degree, column in zip(degrees.tolist(), sample.coefficients.T, strict=True):
            noise = _noise(sample, column[:, None], degree)
            alone = _echelon(sample, column[None, :] * sample.sizes, noise)
            yield degree, alone.coefficients[:, 0], alone
        return
    lower: list[tuple[int, FloatArray]] = []
    for degree in np.unique(degrees).tolist():
        own = sample.coefficients[:, degrees == degree]
        noise = _noise(sample, own, degree)
        known = _echelon(sample, _multiples(sample, lower, degree), noise)
        found = _echelon(sample, _new(sample, own, known, noise), noise)
        both = _joined(known, found)
        for coefficients in found.coefficients.T:
            lower.append((degree, coefficients))
            yield degree, coefficients, both


def _noise(sample: Sample, polynomials: FloatArray, degree: int) -> float:
    """Return the largest uncertainty of polynomials of one degree, relative to their size."""
    weights = sample.sizes[:, None]
    return max(
        float(np.linalg.norm(sample.directions(g, degree) * weights))
        / float(np.linalg.norm(g * sample.sizes))
        for g in polynomials.T
    )


def _echelon(sample: Sample, rows: FloatArray, noise: float) -> Coordinates:
    """Bring weighted rows of coefficients to echelon form."""
    # High degrees first, so that pivots are leading terms; the first variable first within one.
    order = np.argsort(-sample.table.exponents.sum(axis=1), kind="stable")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    share = min(max(PIVOT_SHARE, TIMES_UNCERTAINTY * noise), LARGEST_PIVOT_SHARE)
    echelon, pivots = reduced_echelon(
        rows / np.where(norms > 0, norms, 1.0), order, pivot_share=share
    )
    by_pivot = np.argsort(pivots)
    echelon, pivots = echelon[by_pivot], pivots[by_pivot]
    coefficients = echelon.T / sample.sizes[:, None] * sample.sizes[pivots]
    coefficients[pivots] = np.eye(len(pivots))
    return Coordinates(coefficients, pivots)


def _multiples(sample: Sample, lower: list[tuple[int, FloatArray]], degree: int) -> FloatArray:
    """Multiples of polynomials up to a degree, as weighted rows."""
    parts: list[FloatArray] = [np.zeros((len(sample.table), 0))]
    for own_degree, coefficients in lower:
        n_own = len(monomials(sample.table.n_variables, own_degree))
        factors = monomials(sample.table.n_variables, degree - own_degree).exponents
        parts.append(multiples(coefficients[:n_own, None], sample.table, factors))
    return (np.hstack(parts) * sample.sizes[:, None]).T


def _new(sample: Sample, own: FloatArray, known: Coordinates, noise: float) -> FloatArray:
    """Return what polynomials have beyond multiples of others, as weighted rows."""
    weights = sample.sizes[:, None]
    rows = unit_columns(own * weights).T
    if not known.pivots.size:
        return rows
    echelon = (known.coefficients * weights / sample.sizes[known.pivots]).T
    reduced = reduced_modulo(rows, echelon, known.pivots)
    _, singular, spanned = np.linalg.svd(reduced, full_matrices=False)
    return np.asarray(spanned[singular > max(NEGLIGIBLE, TIMES_UNCERTAINTY * noise)])


def _joined(known: Coordinates, found: Coordinates) -> Coordinates:
    """Put two sets together; the second one has nothing on the pivots of the first."""
    reduced = known.coefficients - found.coefficients @ known.coefficients[found.pivots]
    return Coordinates(
        np.hstack([reduced, found.coefficients]), np.concatenate([known.pivots, found.pivots])
    )
