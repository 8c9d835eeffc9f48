"""One summand of a score, as a function of the coordinates that its equations are in."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.estimators import VanishingIdeal

#: From the numbers of some lines, shape (n_chosen,), and values of t for each of them, shape
#: (n_chosen, n_values), to what there is at these points, shape (n_chosen * n_values, ...).
OnLines = Callable[[IntArray, FloatArray], FloatArray]
Through = Callable[[FloatArray, IntArray], OnLines]


class View(ABC):
    """A summand s(z) of the score, a function of squared deviations D_1(z), ..., D_k(z)."""

    @abstractmethod
    def deviations(self, z: FloatArray) -> FloatArray:
        """Return D at each row of z, shape (n_points, k)."""

    @abstractmethod
    def lines(self, directions: Any) -> Through:
        """Return D(z + t v) for many t and z, from the restrictions of the equations to the lines.

        Parameters
        ----------
        directions : array or sparse array of shape (n_lines, n_coordinates)
            v.

        Returns
        -------
        callable
            From z, shape (n_chosen, n_coordinates) or (1, n_coordinates), and the numbers of the
            lines through it, shape (n_chosen,), to D on these lines.
        """

    @abstractmethod
    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return s, given D at each of several points."""

    def values(self, z: FloatArray) -> FloatArray:
        """Return s at each row of z."""
        return self.of_deviations(self.deviations(z))

    def gradients(self, z: FloatArray, deviations: FloatArray | None = None) -> FloatArray:
        """Return the derivative of s with respect to z at each row, shape of z.

        ``deviations`` are D at z, where that is known.
        """
        return self._gradients(z, self.deviations(z) if deviations is None else deviations)

    @abstractmethod
    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray: ...

    def residuals(
        self, z: FloatArray, deviations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of the equations at one point, and their Jacobian.

        They are zero where the equations hold as on normal data.
        """
        return self._residuals(z, self.deviations(z) if deviations is None else deviations)

    @abstractmethod
    def _residuals(
        self, z: FloatArray, deviations: FloatArray
    ) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
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
