"""The view of the nearest of several pieces: s(z) = a log(mean squared residual) + b."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.lines import Bundle, Squares
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import OnLines, Through, View, weighed
from vanishing.anomaly.residuals import TINY, LocalResiduals


@dataclass(frozen=True, eq=False)
class LocalView(View):
    """Log deviation from the nearest piece, shifted and scaled.

    Parameters
    ----------
    model : LocalResiduals
    name : str
        Of this part of the detector.
    number : int
        Position of its ideals in ``detector.ideals_``.
    shift, factor : float
        The view is (log deviation - shift) * factor.
    first_piece : int
        Position of the first piece in ``detector.ideals_[number]``.
    """

    model: LocalResiduals
    name: str
    number: int
    shift: float
    factor: float
    first_piece: int = 0

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return the mean squared residual of each piece."""
        return np.asarray(self.model.deviations(z))

    def lines(self, directions: Any) -> Through:
        """Return the mean squared residual of each piece along lines."""
        pieces = zip(self.model.ideals, self.model.centers, self.model.scales, strict=True)
        squares = [
            Squares(ideal.basis_, center, 1 / (len(center) * scale**2))
            for ideal, center, scale in pieces
        ]
        bundle = Bundle(squares, directions)
        # Nothing is near a piece that has lost its equations.
        lost = np.array([not len(center) for center in self.model.centers])

        def through(points: FloatArray, which: IntArray) -> OnLines:
            of_pieces = bundle.through(points, which)
            return lambda which, t: np.where(lost, np.inf, of_pieces(which, t))

        return through

    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return s."""
        logs = np.log(deviations.min(axis=1) + TINY)
        return np.asarray((logs - self.shift) * self.factor)

    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the derivative on the nearest piece."""
        nearest = np.argmin(deviations, axis=1)
        result = np.empty_like(z)
        for piece in np.unique(nearest):
            rows = nearest == piece
            center, scale = self.model.centers[piece], self.model.scales[piece]
            ideal = self.model.ideals[piece]
            residuals = (ideal.basis_.evaluate(z[rows]) - center) / scale
            # Not out of the deviations, whose rounding may be another: one is divided by the other.
            squares = np.mean(residuals**2, axis=1, keepdims=True)
            outer = self.factor / (squares + TINY) * residuals * (2 / len(center)) / scale
            result[rows] = ideal.basis_.pullback(z[rows], outer)
        return result

    def _residuals(self, z: FloatArray, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the standardized residuals of the nearest piece, of mean square ‖r‖²."""
        piece, values = self._nearest(z, deviations)
        count = np.sqrt(len(values))
        jacobian = self.model.ideals[piece].basis_.jacobian(z)[0]
        scale = self.model.scales[piece]
        return (values - self.model.centers[piece]) / scale / count, jacobian / (
            scale[:, None] * count
        )

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of the nearest piece; each counts by its standardized residual."""
        piece, values = self._nearest(z, deviations)
        center, scale = self.model.centers[piece], self.model.scales[piece]
        counts = np.abs(values - center) / scale
        ideal = self.model.ideals[piece]
        place = (self.number, self.first_piece + piece)
        return weighed(counts, ideal, values, center, scale, self.name, place)

    def _nearest(self, z: FloatArray, deviations: FloatArray) -> tuple[int, FloatArray]:
        piece = int(np.argmin(deviations[0]))
        return piece, self.model.ideals[piece].basis_.evaluate(z)[0]
