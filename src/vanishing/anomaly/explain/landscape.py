"""The score as a function of the features, and the explanation of a sample by it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.affine import linear_part
from vanishing.anomaly.explain.path import mean_gradient
from vanishing.anomaly.explain.projection import project
from vanishing.anomaly.explain.result import Explanation
from vanishing.anomaly.explain.view import View

Map = Callable[[FloatArray], FloatArray]


def nothing_by_itself(x: FloatArray) -> FloatArray:
    """Return the terms of a score in which all features act together: zeros."""
    return np.zeros_like(x)


@dataclass(frozen=True, eq=False)
class Landscape:
    """S(x) = Σ_v s_v(map_v(x)) + Σ_j own_j(x_j).

    Parameters
    ----------
    maps : sequence of callables
        From features to the coordinates of each view; affine.
    views : sequence of View
    center, scale : arrays of shape (n_features,)
        Mean of normal data, and the unit in which distances are measured along each feature.
    usual : float
        Score that normal data seldom exceeds.
    few_features : bool
        Whether a sample is mended in as few features as possible (columns of a table, which fail
        one by one) or evenly (pixels).
    by_itself : callable
        own_j, terms of single features, shape of x.
    """

    maps: Sequence[Map]
    views: Sequence[View]
    center: FloatArray
    scale: FloatArray
    usual: float
    few_features: bool
    by_itself: Callable[[FloatArray], FloatArray] = nothing_by_itself
    #: Per view, the derivative of its coordinates with respect to the features.
    matrices: list[FloatArray] = field(init=False)

    def __post_init__(self) -> None:
        matrices = [linear_part(function, self.center, self.scale) for function in self.maps]
        object.__setattr__(self, "matrices", matrices)

    def score(self, x: FloatArray) -> FloatArray:
        """Return S at each row."""
        total = self.by_itself(x).sum(axis=1)
        for function, view in zip(self.maps, self.views, strict=True):
            total = total + view.values(function(x))
        return np.asarray(total)

    def residuals(self, x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return residuals and their Jacobian at a point, per view, in the view's coordinates."""
        return [
            view.residuals(function(x[None, :]))
            for function, view in zip(self.maps, self.views, strict=True)
        ]

    def explain(
        self, sample: FloatArray, n_equations: int, feature_names: tuple[str, ...]
    ) -> Explanation:
        """Explain one sample."""
        reference = project(self, sample)
        scores = self.score(np.stack([sample, reference]))
        shares = self.by_itself(np.stack([sample, reference]))
        total = shares[0] - shares[1]
        equations = []
        for function, view, matrix in zip(self.maps, self.views, self.matrices, strict=True):
            end, start = function(np.stack([sample, reference]))
            total += (sample - reference) * (mean_gradient(view, start, end) @ matrix)
            equations += view.equations(end[None, :])
        equations.sort(key=lambda weighed: -weighed[0])
        return Explanation(
            sample=sample,
            reference=reference,
            score=float(scores[0]),
            reference_score=float(scores[1]),
            shares=total,
            equations=tuple(equation for _, equation in equations[:n_equations]),
            feature_names=feature_names,
        )
