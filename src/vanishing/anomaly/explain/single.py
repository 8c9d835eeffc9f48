"""The view of one ideal: s(z) = ‖G(z)‖."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.lines import Bundle, Squares
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import Through, View, weighed
from vanishing.estimators import VanishingIdeal


@dataclass(frozen=True, eq=False)
class NormView(View):
    """Norm of the values of one ideal."""

    ideal: VanishingIdeal

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return ‖G(z)‖²."""
        return np.asarray(np.sum(self.ideal.basis_.evaluate(z) ** 2, axis=1, keepdims=True))

    def lines(self, directions: Any) -> Through:
        """Return ‖G‖² along lines."""
        n_polynomials = self.ideal.basis_.count()
        squares = Squares(self.ideal.basis_, np.zeros(n_polynomials), np.ones(n_polynomials))
        return Bundle([squares], directions).through

    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return ‖G‖."""
        return np.asarray(np.sqrt(deviations[:, 0]))

    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return GᵀJ / ‖G‖; 0 where G is 0."""
        values = self.ideal.basis_.evaluate(z)
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        unit = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)
        return np.asarray(self.ideal.basis_.pullback(z, unit))

    def _residuals(self, z: FloatArray, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return G and its Jacobian."""
        return self.ideal.basis_.evaluate(z)[0], self.ideal.basis_.jacobian(z)[0]

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return all equations; each counts by its part of ‖G‖²."""
        values = self.ideal.basis_.evaluate(z)[0]
        return weighed(
            values**2,
            self.ideal,
            values,
            np.zeros_like(values),
            self.ideal.extents_,
            "the ideal",
            (0, 0),
        )
