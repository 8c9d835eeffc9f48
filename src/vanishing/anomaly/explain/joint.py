"""The view of several views together: s(z) = a log(Σ_v s_v(z_v) + δ) + b."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.result import BrokenEquation
from vanishing.anomaly.explain.view import OnLines, View


@dataclass(frozen=True, eq=False)
class LogSumView(View):
    """Logarithm of a sum of views, shifted and scaled.

    Parameters
    ----------
    views : sequence of View
        Their coordinates come one after the other, as many for each.
    small : float
        δ.
    shift, factor : float
        The view is (log sum - shift) * factor.
    """

    views: Sequence[View]
    small: float
    shift: float
    factor: float

    def values(self, z: FloatArray) -> FloatArray:
        """Return s."""
        return self._joined([view.values(part) for view, part in self._parts(z)])

    def on_lines(self, points: FloatArray, directions: Any) -> OnLines:
        """Return s along lines."""
        width = points.shape[1] // len(self.views)
        functions = [
            view.on_lines(part, directions[:, k * width : (k + 1) * width])
            for k, (view, part) in enumerate(self._parts(points))
        ]

        def values(which: IntArray, t: FloatArray) -> FloatArray:
            return self._joined([function(which, t) for function in functions])

        return values

    def gradients(self, z: FloatArray) -> FloatArray:
        """Return the gradients of the views, divided by their sum."""
        parts = [view.gradients(part) for view, part in self._parts(z)]
        sums = self._sums([view.values(part) for view, part in self._parts(z)])
        return self.factor * np.hstack(parts) / sums[:, None]

    def residuals(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the residuals of all views."""
        parts = [view.residuals(part) for view, part in self._parts(z)]
        return np.concatenate([values for values, _ in parts]), block_diag(*(j for _, j in parts))

    def equations(self, z: FloatArray) -> list[tuple[float, BrokenEquation]]:
        """Return the equations of all views."""
        return [item for view, part in self._parts(z) for item in view.equations(part)]

    def _joined(self, values: Sequence[FloatArray]) -> FloatArray:
        """Return s, given the values of the views."""
        return np.asarray((np.log(self._sums(values)) - self.shift) * self.factor)

    def _sums(self, values: Sequence[FloatArray]) -> FloatArray:
        return np.asarray(np.maximum(np.sum(values, axis=0), 0.0) + self.small)

    def _parts(self, z: FloatArray) -> list[tuple[View, FloatArray]]:
        columns = np.split(z, len(self.views), axis=1)
        return list(zip(self.views, columns, strict=True))
