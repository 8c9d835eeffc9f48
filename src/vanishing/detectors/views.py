"""The views that the scores of the detectors are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.detectors.mixture import (
    Component,
    Mixture,
    negative_log_probability,
    value_and_slopes,
)
from vanishing.detectors.residuals import TINY, LocalResiduals
from vanishing.explain.record import BrokenEquation
from vanishing.explain.view import Bundle, OnLines, Squares, Through, View, weighed
from vanishing.ideal import VanishingIdeal

# --- The view of the nearest of several pieces: s(z) = a log(mean squared residual) + b -----------


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


# --- The view of one ideal: s(z) = ‖G(z)‖ ---------------------------------------------------------


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


# --- The view of several views together: s(z) = a log(Σ_v s_v(z_v) + δ) + b -----------------------


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


# --- The view of one transformation: s(z) = -log P_i, z the transformed sample --------------------

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
