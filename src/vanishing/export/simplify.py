"""Shorter polynomials that the data cannot tell from the fitted ones.

Everything is done with one test: the changes, in standard errors, together are not more than chance
makes of the errors themselves (chi-squared, at one percent).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm, log10

import numpy as np
from scipy.stats import chi2, norm

from vanishing._xp import FloatArray
from vanishing.export.adjustable import Adjustable
from vanishing.export.rounding import simplest_fraction

#: Coefficients are not moved by more than chance does in all but one of a hundred cases: not all
#: together, and not the one that is moved furthest.
CHANCE = 0.99
#: Standard errors to either side within which a simple fraction is looked for.
MARGIN = 3.0
#: Within e of a number there are, by chance, about 0.6 e q² fractions with denominators up to q. A
#: fraction says something if e q² is at most this.
COINCIDENCE = 0.1
#: Denominators that are worth writing, of single coefficients and of all.
LARGEST_DENOMINATOR = 100
LARGEST_COMMON = 1000
#: Digits of a float that can be relied on.
MOST_DIGITS = 15


@dataclass(frozen=True, eq=False)
class Simplified:
    """Coefficients that are zero, or short.

    Parameters
    ----------
    coefficients : tuple of int or float
        Integers if all of them are.
    scale : int
        What the coefficients were multiplied with to become integers.
    """

    coefficients: tuple[int | float, ...]
    scale: int


def drop_terms(polynomial: Adjustable, sizes: FloatArray, share: float | None) -> None:
    """Set coefficients to zero, as many as noise does not tell from zero.

    Parameters
    ----------
    polynomial : Adjustable
        Changed in place.
    sizes : array of shape (n_terms,)
        Root mean square of each monomial on the data.
    share : float or None
        Drop terms smaller than this share of the largest one instead.
    """
    furthest = float(norm.ppf(1 - (1 - CHANCE) / 2 / len(sizes)))
    allowed = chi2.ppf(CHANCE, np.arange(1, len(sizes) + 1))
    n_dropped = 0
    while not polynomial.fixed.all():
        candidates = np.flatnonzero(~polynomial.fixed)
        contributions = np.abs(polynomial.coefficients) * sizes
        if share is None:
            ratios = np.abs(polynomial.coefficients[candidates]) / polynomial.errors()[candidates]
            smallest = int(candidates[np.argmin(ratios)])
            cost = polynomial.cost_of(smallest, 0.0)
            if cost > furthest**2 or polynomial.cost + cost > allowed[n_dropped]:
                return
        else:
            smallest = int(candidates[np.argmin(contributions[candidates])])
            if contributions[smallest] >= share * contributions.max():
                return
        polynomial.fix(smallest, 0.0)
        n_dropped += 1


def with_fractions(polynomial: Adjustable) -> Simplified | None:
    """Round all coefficients to simple fractions, or return None if noise tells the difference.

    Parameters
    ----------
    polynomial : Adjustable
        One coefficient is 1.
    """
    trial = polynomial.copy()
    while not trial.fixed.all():
        # The one that is least likely a coincidence first: the others get more certain by it.
        index, fraction, coincidence = min(_nearby_fractions(trial), key=lambda found: found[2])
        if coincidence > COINCIDENCE or fraction.denominator > LARGEST_DENOMINATOR:
            return None
        trial.fix(index, float(fraction))
    n_changed = int(np.sum(trial.fixed))
    if trial.cost > chi2.ppf(CHANCE, max(1, n_changed)):
        return None
    fractions = [Fraction(c).limit_denominator(LARGEST_DENOMINATOR) for c in trial.coefficients]
    scale = lcm(*(fraction.denominator for fraction in fractions))
    if scale > LARGEST_COMMON:
        return None
    return Simplified(tuple(int(fraction * scale) for fraction in fractions), scale)


def with_decimals(polynomial: Adjustable, digits: int | None) -> Simplified:
    """Round each coefficient to the last digit that its standard error leaves.

    Parameters
    ----------
    polynomial : Adjustable
        Changed in place.
    digits : int or None
        Round to this many significant digits instead.
    """
    while not polynomial.fixed.all():
        index = _least_certain(polynomial)
        value, error = float(polynomial.coefficients[index]), float(polynomial.errors()[index])
        polynomial.fix(index, _rounded(value, error, digits))
    # The leading coefficient is written as 1, and not as 1.0.
    rounded = polynomial.coefficients.tolist()
    return Simplified(tuple(int(c) if abs(c) == 1 else c for c in rounded), 1)


def _rounded(value: float, error: float, digits: int | None) -> float:
    if value == 0.0:
        return 0.0
    first = floor(log10(abs(value)))
    place = floor(log10(error)) if digits is None else first - digits + 1
    # At least one digit is kept, and not more than a float has.
    place = min(max(place, first - MOST_DIGITS + 1), first)
    return float(round(Fraction(value) * Fraction(10) ** -place) * Fraction(10) ** place)


def significant_digits(value: float) -> int:
    """Return how many digits it takes to write a number, leading and trailing zeros left out."""
    mantissa = f"{abs(value):.{MOST_DIGITS - 1}e}".split("e")[0]
    return len(mantissa.replace(".", "").rstrip("0")) or 1


def _nearby_fractions(polynomial: Adjustable) -> Iterator[tuple[int, Fraction, float]]:
    """Yield the simplest fraction near each coefficient, and how easily there is one."""
    margins = MARGIN * polynomial.errors()
    for index in np.flatnonzero(~polynomial.fixed).tolist():
        margin = float(margins[index])
        fraction = simplest_fraction(float(polynomial.coefficients[index]), margin)
        coincidence = margin * fraction.denominator**2 if fraction else np.inf
        yield index, fraction, coincidence


def _least_certain(polynomial: Adjustable) -> int:
    sizes = np.maximum(np.abs(polynomial.coefficients), np.finfo(np.float64).tiny)
    return int(np.argmax(np.where(polynomial.fixed, -np.inf, polynomial.errors() / sizes)))
