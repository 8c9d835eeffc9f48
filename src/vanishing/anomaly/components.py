"""The ideal of one transformed copy, or of one piece of it."""

import warnings
from copy import copy
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from vanishing._xp import Array, FloatArray, move_like
from vanishing.anomaly.counts import mean_of
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import labelled
from vanishing.normalizations import resolve_normalization
from vanishing.samples import SampleSource

#: Used where no ideal is given; its tolerance is raised where nothing would vanish.
DEFAULT_IDEAL = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive", reduction="gram")


@dataclass(frozen=True, eq=False)
class Component:
    """One ideal of a transformation detector.

    Parameters
    ----------
    ideal : VanishingIdeal
    center, typical, weights : arrays of shape (n_polynomials,)
        Mean and root mean square deviation on normal data; u = w².
    """

    ideal: VanishingIdeal
    center: FloatArray
    typical: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        ideal: VanishingIdeal,
        values: FloatArray,
        *,
        center: bool,
        counts: FloatArray | None = None,
    ) -> "Component":
        """Describe an ideal by the values of its polynomials on normal data; weights are 1."""
        mean = mean_of(values, counts) if center else np.zeros(values.shape[1])
        typical = np.sqrt(mean_of((values - mean) ** 2, counts))
        return cls(ideal, mean, typical, np.ones_like(mean))

    def reweighted(self, weights: FloatArray) -> "Component":
        """Return the component with other weights, without polynomials whose weight is zero."""
        kept = weights > 0
        ideal = self.ideal
        if not kept.all():
            ideal = copy(ideal)
            ideal.basis_ = ideal.basis_.restricted(kept)
            ideal.extents_ = ideal.basis_.extents
        return Component(ideal, self.center[kept], self.typical[kept], weights[kept])

    def residuals(self, z: Array) -> Array:
        """Return G(z) - c."""
        return self.ideal.basis_.evaluate(z) - move_like(self.center, z)

    def deviation(self, z: Array) -> Array:
        """Return D(z)."""
        return self.residuals(z) ** 2 @ move_like(self.weights, z)


def fit_component(
    points: SampleSource, contrast: SampleSource, ideal: VanishingIdeal | None, name: str
) -> VanishingIdeal:
    """Fit an ideal that has at least one vanishing polynomial, or raise.

    Parameters
    ----------
    points, contrast : SampleSource
    ideal : VanishingIdeal or None
        What to fit; None for the default.
    name : str
        The transformation, for messages.
    """
    template = DEFAULT_IDEAL if ideal is None else ideal
    fitted: VanishingIdeal = clone(template)
    needs_contrast = resolve_normalization(template.normalization).needs_contrast
    used = contrast if needs_contrast else None
    try:
        fitted._fit(points, used, by_itself=False)
        spectrum = np.concatenate([step.spectrum for step in fitted.trace_])
        if fitted.basis_.count() == 0 and ideal is None and spectrum.size:
            fitted.set_params(tol=1.001 * float(spectrum.min()))
            fitted._fit(points, used, by_itself=False)
    except (ValueError, MemoryError) as error:
        raise labelled(error, f"the ideal of {name} failed") from error
    if ideal is None and spectrum.size and spectrum.min() >= 1:
        warnings.warn(
            f"no equation is smaller on {name} than on the other copies (smallest ratio "
            f"{spectrum.min():.3g}): scores will say little; choose other transformations",
            UserWarning,
            stacklevel=2,
        )
    if fitted.basis_.count() == 0:
        smallest = f"{spectrum.min():.3g}" if spectrum.size else "none"
        raise ValueError(
            f"no polynomial vanishes on {name}: the smallest extent is {smallest}, over "
            f"tol={fitted.tol}; raise tol or max_degree of the ideal, or leave this "
            "transformation out"
        )
    return fitted
