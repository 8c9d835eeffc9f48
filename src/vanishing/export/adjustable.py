"""Coefficients that are fixed one after the other while the others follow.

The coefficients of a fitted polynomial are uncertain together: where one is changed, others can
make up for it. Here a change is measured in standard errors, as a sum of squares, and when a
coefficient is given a value the others move to where the sum is smallest. To fix a coefficient at
zero is to drop its term, and to fix it at a short number is to round it.
"""

import numpy as np

from vanishing._xp import BoolArray, FloatArray


class Adjustable:
    """Uncertain coefficients of one polynomial.

    Parameters
    ----------
    coefficients : array of shape (n_terms,)
    directions : array of shape (n_terms, n_directions)
        Independent changes of the coefficients, each of one standard error. Where a row is zero the
        coefficient is certain.

    Attributes
    ----------
    coefficients : array of shape (n_terms,)
        As they are now.
    fixed : bool array of shape (n_terms,)
    cost : float
        Sum of squares, in standard errors, of all changes so far.
    """

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
        along = self._free @ row / (row @ row)
        self.coefficients += along * (value - self.coefficients[index])
        self._free -= np.outer(along, row)
        self._free[index] = 0.0
        self.coefficients[index] = value
        self.fixed[index] = True
