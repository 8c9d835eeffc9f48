"""The view of one transformation: s(z) = -log P_i, z the transformed sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.components import Component
from vanishing.anomaly.explain.lines import Deviations, Squares
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import OnLines, View, weighed
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

    def values(self, z: FloatArray) -> FloatArray:
        """Return -log P_i."""
        return np.asarray(self.mixture.loss(self.number, z))

    def on_lines(self, points: FloatArray, directions: Any) -> OnLines:
        """Return -log P_i along lines."""
        squares = [Squares(c.ideal.basis_, c.center, c.weights) for c in self.mixture.components]
        deviations = Deviations(squares, points, directions)
        own, smoothing = self.mixture.own(self.number), self.mixture.smoothing

        def values(which: IntArray, t: FloatArray) -> FloatArray:
            losses = negative_log_probability(deviations(which, t), own, smoothing)
            return np.asarray(losses).reshape(t.shape)

        return values

    def gradients(self, z: FloatArray) -> FloatArray:
        """Return Σ_j ∂(-log P_i)/∂D_j ∇D_j."""
        own, smoothing = self.mixture.own(self.number), self.mixture.smoothing
        _, slopes = value_and_slopes(self.mixture.deviations(z), own, smoothing)
        result = np.zeros_like(z)
        for slope, component in zip(slopes.T, self.mixture.components, strict=True):
            rows = np.abs(slope) > NEGLIGIBLE
            if rows.any():
                outer = 2 * slope[rows, None] * component.weights
                result[rows] += component.ideal.basis_.pullback(
                    z[rows], outer * component.residuals(z[rows])
                )
        return result

    def residuals(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted residuals of the nearest piece, whose squares add up to D."""
        _, component = self._nearest(z)
        roots = np.sqrt(component.weights)
        jacobian = component.ideal.basis_.jacobian(z)[0]
        return roots * component.residuals(z)[0], roots[:, None] * jacobian

    def equations(self, z: FloatArray) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of the nearest piece; each counts by its excess in D."""
        piece, component = self._nearest(z)
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

    def _nearest(self, z: FloatArray) -> tuple[int, Component]:
        own = self.mixture.components[self.mixture.own(self.number)]
        piece = int(np.argmin([component.deviation(z)[0] for component in own]))
        return piece, own[piece]
