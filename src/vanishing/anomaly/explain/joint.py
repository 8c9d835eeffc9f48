"""The view of several views together: s(z) = a log(Σ_v s_v(z_v) + δ) + b."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import OnLines, Through, View


@dataclass(frozen=True, eq=False)
class LogSumView(View):
    """Logarithm of a sum of views, shifted and scaled.

    Parameters
    ----------
    views : sequence of View
        Their coordinates come one after the other, as many for each, and so do their deviations.
    small : float
        δ.
    shift, factor : float
        The view is (log sum - shift) * factor.
    """

    views: Sequence[View]
    small: float
    shift: float
    factor: float

    def deviations(self, z: FloatArray) -> FloatArray:
        """Return the deviations of all views."""
        return np.hstack([view.deviations(part) for view, part in self._parts(z)])

    def lines(self, directions: Any) -> Through:
        """Return the deviations of all views along lines."""
        width = directions.shape[1] // len(self.views)
        of_views = [
            view.lines(directions[:, k * width : (k + 1) * width])
            for k, view in enumerate(self.views)
        ]

        def through(points: FloatArray, which: IntArray) -> OnLines:
            pairs = zip(of_views, self._parts(points), strict=True)
            functions = [of_view(part, which) for of_view, (_, part) in pairs]
            return lambda which, t: np.hstack([function(which, t) for function in functions])

        return through

    def of_deviations(self, deviations: FloatArray) -> FloatArray:
        """Return s."""
        return np.asarray((np.log(self._sums(deviations)) - self.shift) * self.factor)

    def _gradients(self, z: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the gradients of the views, divided by their sum."""
        pairs = zip(self._parts(z), self._parts(deviations), strict=True)
        parts = [view.gradients(part, known) for (view, part), (_, known) in pairs]
        return self.factor * np.hstack(parts) / self._sums(deviations)[:, None]

    def _residuals(self, z: FloatArray, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of all views."""
        pairs = zip(self._parts(z), self._parts(deviations), strict=True)
        parts = [view.residuals(part, known) for (view, part), (_, known) in pairs]
        return np.concatenate([values for values, _ in parts]), block_diag(*(j for _, j in parts))

    def equations(
        self, z: FloatArray, deviations: FloatArray
    ) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of all views."""
        pairs = zip(self._parts(z), self._parts(deviations), strict=True)
        parts = [view.equations(part, known) for (view, part), (_, known) in pairs]
        return [equation for part in parts for equation in part]

    def _sums(self, deviations: FloatArray) -> FloatArray:
        values = [view.of_deviations(part) for view, part in self._parts(deviations)]
        return np.asarray(np.maximum(np.sum(values, axis=0), 0.0) + self.small)

    def _parts(self, columns: FloatArray) -> list[tuple[View, FloatArray]]:
        """Return the coordinates or the deviations of each view."""
        return list(zip(self.views, np.split(columns, len(self.views), axis=1), strict=True))
