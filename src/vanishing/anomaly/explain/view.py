"""One summand of a score, as a function of the coordinates that its equations are in."""

from abc import ABC, abstractmethod

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.estimators import VanishingIdeal


class View(ABC):
    """A summand s(z) of the score."""

    @abstractmethod
    def values(self, z: FloatArray) -> FloatArray:
        """Return s at each row of z."""

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
