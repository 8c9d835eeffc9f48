"""The view of one transformation: s(z) = -log P_i, z the transformed sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.components import Component
from vanishing.anomaly.explain.lines import Bundle, Squares
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import Through, View, weighed
from vanishing.anomaly.mixture import Mixture
from vanishing.anomaly.scores import negative_log_probability, value_and_slopes

#: Components that change -log P by less than this are left out of its gradient.
NEGLIGIBLE = 1e-16


@dataclass(frozen=True, eq=False)
class TransformedView(View):
    """Negative log probability of transformation ``number``.

    Parameters
    ----------
    mixture : Mixture
    number : int
        i.
    name : str
        Of the transformation.
    first_piece : int
        Position of the first piece of the mixture in ``detector.ideals_[i]``.
    """

    mixture: Mixture
    number: int
    name: str
    first_piece: int = 0

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return D_j of all components."""
        return np.asarray(self.mixture.deviations(z))

    def lines(self, directions: Any) -> Through:
        """Return D_j of all components along lines."""
        squares = [Squares(c.ideal.basis_, c.center, c.weights) for c in self.mixture.components]
        return Bundle(squares, directions).through

    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return -log P_i."""
        own, smoothing = self.mixture.own(self.number), self.mixture.smoothing
        return np.asarray(negative_log_probability(deviations, own, smoothing))

    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return Σ_j ∂(-log P_i)/∂D_j ∇D_j."""
        own, smoothing = self.mixture.own(self.number), self.mixture.smoothing
        _, slopes = value_and_slopes(deviations, own, smoothing)
        result = np.zeros_like(z)
        for slope, component in zip(slopes.T, self.mixture.components, strict=True):
            rows = np.abs(slope) > NEGLIGIBLE
            if rows.any():
                outer = 2 * slope[rows, None] * component.weights
                result[rows] += component.ideal.basis_.pullback(
                    z[rows], outer * component.residuals(z[rows])
                )
        return result

    def _residuals(self, z: FloatArray, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted residuals of the nearest piece, whose squares add up to D."""
        _, component = self._nearest(deviations)
        roots = np.sqrt(component.weights)
        jacobian = component.ideal.basis_.jacobian(z)[0]
        return roots * component.residuals(z)[0], roots[:, None] * jacobian

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of the nearest piece; each counts by its excess in D."""
        piece, component = self._nearest(deviations)
        values = component.ideal.basis_.evaluate(z)[0]
        excess = (values - component.center) ** 2 - component.typical**2
        return weighed(
            component.weights * excess,
            component.ideal,
            values,
            component.center,
            component.typical,
            self.name,
            (self.number, self.first_piece + piece),
        )

    def _nearest(self, deviations: FloatArray) -> tuple[int, Component]:
        own = self.mixture.own(self.number)
        piece = int(np.argmin(deviations[0, own]))
        return piece, self.mixture.components[own][piece]
