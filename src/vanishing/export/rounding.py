"""Floating point numbers as the small rationals that they are close to.

A number is close to many rationals. Those with denominator q lie 1/q² apart or more, so that one of
them within an error e says something as long as 2 e q² < 1, and chance is at work beyond.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import floor

#: Errors that are tried, relative to the largest coefficient: from a few rounding units to what
#: badly conditioned points may leave.
ERRORS = tuple(10.0**power for power in range(-15, -6))
#: How many coefficients lattice reduction is tried on; it takes seconds beyond.
LARGEST_LATTICE = 24
#: Lattices are over the integers; this many steps to an error keep its rounding out of play.
STEPS = 1000


def rational_candidates(
    coefficients: Sequence[float], scales: Sequence[float]
) -> Iterator[list[Fraction]]:
    """Propose rational coefficients, simplest explanation of the smallest error first.

    Parameters
    ----------
    coefficients : sequence of float
        One of them is 1 exactly.
    scales : sequence of float
        Error of each coefficient, in units that all have in common.

    Yields
    ------
    list of Fraction
        Every proposal once. First each coefficient by itself, by continued fractions; then all
        with one denominator, by lattice reduction, which reaches larger denominators: the more
        coefficients share one, the less chance has.

    Examples
    --------
    >>> from vanishing.export.rounding import rational_candidates
    >>> [str(c) for c in next(rational_candidates([1.0, 0.3333333333333337, -2e-17], [1, 1, 1]))]
    ['1', '1/3', '0']
    """
    seen = []
    for rule, error in product((_one_by_one, _common_denominator), ERRORS):
        proposal = rule(coefficients, [error * scale for scale in scales])
        if proposal is not None and proposal not in seen:
            seen.append(proposal)
            yield proposal


def simplest_fraction(value: float, error: float) -> Fraction:
    """Return the fraction of smallest denominator in [value - error, value + error].

    Parameters
    ----------
    value, error : float

    Examples
    --------
    >>> from vanishing.export.rounding import simplest_fraction
    >>> simplest_fraction(3.1416, 0.002)
    Fraction(22, 7)
    """
    exact, margin = Fraction(value), Fraction(error)
    if exact < 0:
        return -_simplest_between(-exact - margin, -exact + margin)
    return _simplest_between(exact - margin, exact + margin)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Continued fractions of both ends as far as they agree, then the smallest that fits."""
    whole = floor(low)
    if low <= 0:
        return Fraction(0)
    if whole == low:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest_between(1 / (high - whole), 1 / (low - whole))


def _one_by_one(coefficients: Sequence[float], errors: Sequence[float]) -> list[Fraction] | None:
    found = []
    for value, error in zip(coefficients, errors, strict=True):
        fraction = simplest_fraction(value, error)
        if 2 * error * fraction.denominator**2 >= 1 and fraction != 0:
            return None
        found.append(fraction)
    return found


def _common_denominator(
    coefficients: Sequence[float], errors: Sequence[float]
) -> list[Fraction] | None:
    """Approximate all coefficients with one denominator q, by a short vector of a lattice.

    The rows (1, c_1/e_1, ..., c_m/e_m) and (0, ..., 1/e_j, ..., 0) span vectors
    (q, (q c_1 - p_1)/e_1, ...): short if q is small and every p_j/q is within e_j of c_j.
    """
    from sympy import ZZ
    from sympy.polys.matrices import DomainMatrix

    known = [j for j, (c, e) in enumerate(zip(coefficients, errors, strict=True)) if abs(c) > e]
    size = len(known) + 1
    if size > LARGEST_LATTICE:
        return None
    rows = [[0] * size for _ in range(size)]
    rows[0][0] = STEPS
    for column, j in enumerate(known, start=1):
        rows[0][column] = round(STEPS * Fraction(coefficients[j]) / Fraction(errors[j]))
        rows[column][column] = round(STEPS / Fraction(errors[j]))
    try:
        reduced = DomainMatrix(rows, (size, size), ZZ).lll()
    except AssertionError:  # SymPy 1.14 checks its result, and not all of them pass
        return None
    denominator = abs(int(reduced[0, 0].element)) // STEPS
    if denominator == 0:
        return None
    found = [Fraction(0)] * len(coefficients)
    for j in known:
        nearest = Fraction(round(denominator * Fraction(coefficients[j])), denominator)
        if abs(nearest - Fraction(coefficients[j])) > Fraction(errors[j]):
            return None
        found[j] = nearest
    return found
