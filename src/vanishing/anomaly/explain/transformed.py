"""The view of one transformation: s(z) = -log P_i, z the transformed sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.components import Component
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import View, pulled_back, weighed
from vanishing.anomaly.scores import negative_log_probability, value_and_slopes

#: Components that change -log P by less than this are left out of its gradient.
NEGLIGIBLE = 1e-16


@dataclass(frozen=True, eq=False)
class TransformedView(View):
    """Negative log probability of transformation ``number``.

    Parameters
    ----------
    components : sequence of Component
        Of all transformations, in order.
    number : int
        i.
    n_pieces : int
        Components per transformation.
    name : str
        Of the transformation.
    smoothing : float
    """

    components: Sequence[Component]
    number: int
    n_pieces: int
    name: str
    smoothing: float

    @property
    def own(self) -> slice:
        """The components of this transformation."""
        return slice(self.number * self.n_pieces, (self.number + 1) * self.n_pieces)

    def values(self, z: FloatArray) -> FloatArray:
        """Return -log P_i."""
        return negative_log_probability(self._deviations(z), self.own, self.smoothing)

    def gradients(self, z: FloatArray) -> FloatArray:
        """Return Σ_j ∂(-log P_i)/∂D_j ∇D_j."""
        _, slopes = value_and_slopes(self._deviations(z), self.own, self.smoothing)
        result = np.zeros_like(z)
        for slope, component in zip(slopes.T, self.components, strict=True):
            rows = np.abs(slope) > NEGLIGIBLE
            if rows.any():
                outer = 2 * slope[rows, None] * component.weights
                result[rows] += pulled_back(
                    component.ideal, z[rows], outer * component.residuals(z[rows])
                )
        return result

    def residuals(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted residuals of the nearest piece, whose squares add up to D."""
        component = self.components[self._nearest(z)]
        roots = np.sqrt(component.weights)
        jacobian = component.ideal.basis_.jacobian(z)[0]
        return roots * component.residuals(z)[0], roots[:, None] * jacobian

    def equations(self, z: FloatArray) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of the nearest piece; each counts by its excess in D."""
        nearest = self._nearest(z)
        component = self.components[nearest]
        values = component.ideal.basis_.evaluate(z)[0]
        excess = (values - component.center) ** 2 - component.typical**2
        return weighed(
            component.weights * excess,
            component.ideal,
            values,
            component.center,
            component.typical,
            self.name,
            (self.number, nearest - self.own.start),
        )

    def _deviations(self, z: FloatArray) -> FloatArray:
        return np.stack([component.deviation(z) for component in self.components], axis=1)

    def _nearest(self, z: FloatArray) -> int:
        own = [component.deviation(z)[0] for component in self.components[self.own]]
        return int(self.own.start) + int(np.argmin(own))
