"""Simple numbers near uncertain coefficients, which are uncertain together."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray

# --- The simple number nearby ---------------------------------------------------------------------


class SimpleNumber(NamedTuple):
    """A simple number near another one, and how likely one as simple is as near by chance."""

    value: Fraction
    coincidence: float


def simple_number(value: float, tolerance: float) -> SimpleNumber:
    """Find the simplest fraction within a tolerance of a number."""
    fraction = simplest_fraction(value, tolerance)
    # As fractions: squares of denominators exceed the largest float.
    return SimpleNumber(
        fraction, float(min(Fraction(2 * tolerance) * fraction.denominator**2, Fraction(1)))
    )


def simplest_fraction(value: float, error: float) -> Fraction:
    """Return the fraction of smallest denominator in [value - error, value + error].

    Continued fractions of both ends as far as they agree, then the smallest number between.
    """
    size, margin = abs(Fraction(value)), Fraction(error)
    if size <= margin:
        return Fraction(0)
    (a, b), (c, d) = (size - margin).as_integer_ratio(), (size + margin).as_integer_ratio()
    before, last = (0, 1), (1, 0)
    is_between = False
    while not is_between:
        whole = -(-a // b)
        is_between = whole * d <= c
        whole -= not is_between
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        a, b, c, d = d, c - whole * d, b, a - whole * b
    return Fraction(*last) if value > 0 else -Fraction(*last)


# --- Coefficients that are fixed one after the other while the others follow ----------------------
#
# The coefficients of a fitted polynomial are uncertain together: where one is changed, others can
# make up for it. Here a change is measured in standard errors, as a sum of squares, and when a
# coefficient is given a value the others move to where the sum is smallest. To fix a coefficient at
# zero is to drop its term, and to fix it at a short number is to round it.


class Adjustable:
    """Uncertain coefficients of one polynomial, as they are now."""

    def __init__(self, coefficients: FloatArray, directions: FloatArray) -> None:
        self.coefficients = coefficients.copy()
        self.fixed: BoolArray = np.all(directions == 0, axis=1)
        self.cost = 0.0
        self._free = directions.copy()

    def copy(self) -> "Adjustable":
        """Return one that can be changed separately."""
        twin = Adjustable(self.coefficients, self._free)
        twin.fixed, twin.cost = self.fixed.copy(), self.cost
        return twin

    def errors(self) -> FloatArray:
        """Return the standard error of each coefficient, given those that are fixed."""
        return np.asarray(np.linalg.norm(self._free, axis=1))

    def cost_of(self, index: int, value: float) -> float:
        """Return what it adds to the cost to fix a coefficient."""
        squared = float(self._free[index] @ self._free[index])
        return (value - float(self.coefficients[index])) ** 2 / squared if squared else np.inf

    def fix(self, index: int, value: float) -> None:
        """Give a coefficient a value, and adjust those that are not fixed."""
        self.cost += self.cost_of(index, value)
        row = self._free[index].copy()
        if row.any():  # not one that was certain
            along = self._free @ row / (row @ row)
            self.coefficients += along * (value - self.coefficients[index])
            self._free -= np.outer(along, row)
            self._free[index] = 0.0
        self.coefficients[index] = value
        self.fixed[index] = True
