"""One summand of a score, as a function of the coordinates that its equations are in."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.estimators import VanishingIdeal

#: Values at points of lines, by the numbers of some lines and values of t for each of them.
OnLines = Callable[[IntArray, FloatArray], FloatArray]


class View(ABC):
    """A summand s(z) of the score."""

    @abstractmethod
    def values(self, z: FloatArray) -> FloatArray:
        """Return s at each row of z."""

    @abstractmethod
    def on_lines(self, points: FloatArray, directions: Any) -> OnLines:
        """Return s(z + t v) for many t, from the restrictions of the equations to the lines.

        Parameters
        ----------
        points : array of shape (n_lines, n_coordinates), or (1, n_coordinates)
            z.
        directions : array or sparse array of shape (n_lines, n_coordinates)
            v.

        Returns
        -------
        callable
            From the numbers of some lines, shape (n_chosen,), and values of t for each, shape
            (n_chosen, n_values), to s, of the shape of t.
        """

    @abstractmethod
    def gradients(self, z: FloatArray) -> FloatArray:
        """Return the derivative of s with respect to z at each row, shape of z."""

    @abstractmethod
    def residuals(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of the equations at one point, and their Jacobian.

        They are zero where the equations hold as on normal data.
        """

    @abstractmethod
    def equations(self, z: FloatArray) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of this view at one point, each with how much it counts."""


def weighed(
    counts: FloatArray,
    ideal: VanishingIdeal,
    values: FloatArray,
    usual: FloatArray,
    typical: FloatArray,
    part: str,
    place: tuple[int, int],
) -> list[tuple[float, BrokenEquation]]:
    """Return the equations of an ideal at one point, each with how much it counts."""
    described = zip(counts, values, usual, typical, ideal.basis_.degrees(), strict=True)
    return [
        (
            float(count),
            BrokenEquation(
                value=float(value),
                usual=float(mean),
                typical=float(size),
                degree=int(degree),
                part=part,
                ideal=place,
                index=index,
            ),
        )
        for index, (count, value, mean, size, degree) in enumerate(described)
    ]
