"""Attribution of a score to the features, along the way from the counterfactual."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, Protocol

import numpy as np
from scipy.linalg import qr
from scipy.sparse import diags_array, issparse

from vanishing.arrays.namespace import FloatArray, IntArray, lazy
from vanishing.explain.counterfactual import find_counterfactual
from vanishing.explain.record import Explanation
from vanishing.explain.view import Through, View, linear_part, refuse_unless_equal
from vanishing.levels import LONG_SUM, SAME

Map = Callable[[FloatArray], FloatArray]

# --- Integrated gradients along a segment: the increments of s say how accurate they are ----------

#: Nodes and weights of Gauss and Legendre for an interval. As many intervals are cut at a time,
#: each into as many parts: few calls for many points are fast.
GAUSS = np.polynomial.legendre.leggauss(8)
#: Intervals that there may be in all: what is not known by then is rounding.
MOST_INTERVALS = 2**12


def mean_gradient(view: View, start: FloatArray, end: FloatArray, negligible: float) -> FloatArray:
    """Return the mean of ∇s on the segment, whose product with end - start is s(end) - s(start).

    The integral of the gradient over an interval must be the increment of s, so that the error is
    known: intervals where it is too large are cut, the worst first. The minimum over clusters has
    kinks, logarithms all but have poles near the start, and cuts close in on both. What is left
    after many of them is rounding. An error of ``negligible`` does not matter, whatever the size of
    s.
    """
    direction = end - start
    if not direction.any():
        return direction
    line = np.zeros(1, dtype=np.intp)  # the number of the only line there is
    on_line = view.lines(direction[None, :])(start[None, :], line)

    def along(t: FloatArray) -> FloatArray:
        return on_line(line, t.reshape(1, -1))

    edges = np.array([[0.0, 1.0]])
    integrals, errors, size = _integrals(view, along, start, direction, edges)
    while errors.sum() > (allowed := max(SAME * size, negligible)):
        if len(errors) >= MOST_INTERVALS:
            break
        n_parts = len(GAUSS[0])
        worst = np.argsort(-errors, kind="stable")[:n_parts]
        worst = worst[errors[worst] > allowed / len(errors)]
        left, right = edges[worst, :1], edges[worst, 1:]
        cuts = left + np.linspace(0, 1, n_parts + 1) * (right - left)
        parts = np.stack([cuts[:, :-1], cuts[:, 1:]], axis=2).reshape(-1, 2)
        found, found_errors, largest = _integrals(view, along, start, direction, parts)
        edges = np.vstack([np.delete(edges, worst, axis=0), parts])
        integrals = np.vstack([np.delete(integrals, worst, axis=0), found])
        errors = np.append(np.delete(errors, worst), found_errors)
        size = max(size, largest)
    return np.asarray(integrals.sum(axis=0))


def _integrals(
    view: View, along: Map, start: FloatArray, direction: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the integral of ∇s over each interval, its errors, and the size of its terms."""
    widths = edges[:, 1:] - edges[:, :1]
    nodes, weights = GAUSS
    at = edges[:, :1] + widths * (nodes + 1) / 2
    points = start + at.reshape(-1, 1) * direction
    gradients = view.gradients(points, along(at))
    means = np.einsum("q,iqk->ik", weights / 2, gradients.reshape(*at.shape, -1))
    integrals = means * widths
    ends = view.contribution(along(edges)).reshape(edges.shape)
    errors = np.abs(integrals @ direction - (ends[:, 1] - ends[:, 0]))
    # Gradients may be large terms that cancel, with the rounding of large terms.
    terms = np.abs(integrals * direction).sum(axis=1).max()
    return integrals, errors, float(max(np.abs(ends).max(), terms))


# --- The score as a function of the features, and the explanation of a sample by it ---------------


class ByItself(Protocol):
    """Terms of single features: own_j(x_j)."""

    def __call__(self, x: FloatArray, /, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return own_j at values of some features, all by default, along the last axis of x."""


@dataclass(frozen=True, eq=False)
class Bend:
    """A function φ of single features, φ_j(x_j), such as their normal scores.

    ``values`` takes features as ``ByItself`` does, ``slopes`` returns φ' at one point.
    """

    values: ByItself
    slopes: Map


@dataclass(frozen=True, eq=False)
class Landscape:
    """S(x) = Σ_v s_v(map_v(φ_v(x))) + Σ_j own_j(x_j), with affine maps to coordinates of views.

    φ_v is a ``Bend``, or None where it is the identity. The way from the counterfactual to a sample
    is straight in φ_v(x): what a view adds is attributed to φ_j(x_j), and so to the feature.

    Distances are measured in units of ``scale``; ``usual`` is a score that normal data seldom
    exceeds. ``few_features`` and ``units`` are those of the fitted score.
    """

    maps: Sequence[Map]
    bends: Sequence[Bend | None]
    views: Sequence[View]
    center: FloatArray
    scale: FloatArray
    usual: float
    few_features: bool
    by_itself: ByItself
    units: FloatArray | None = None
    #: Per view, the derivative of its coordinates with respect to the features; may be sparse.
    matrices: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        matrices = [
            linear_part(function, self.bend(v, self.center), self.bent_scale(v))
            for v, function in enumerate(self.maps)
        ]
        object.__setattr__(self, "matrices", matrices)

    def bend(self, v: int, x: FloatArray, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return φ_v of features, along the last axis of x."""
        bend = self.bends[v]
        return x if bend is None else bend.values(x, features)

    def bent_scale(self, v: int) -> FloatArray:
        """Return the unit of each feature after φ_v: normal scores are in units of their spread."""
        return self.scale if self.bends[v] is None else np.ones_like(self.scale)

    def locate(self, v: int, x: FloatArray) -> FloatArray:
        """Return the coordinates of a view at each row."""
        return self.maps[v](self.bend(v, x))

    def moves_of_views(self, x: FloatArray) -> list[Any]:
        """Return how far the directions of ``moves`` move the coordinates of each view at x."""
        moves, of_views = self.moves
        # Views share bends. Each is computed once.
        bent = {
            bend: diags_array(bend.slopes(x), format="csr") @ moves
            for bend in set(self.bends)
            if bend is not None
        }
        return [
            moved if bend is None else matrix @ bent[bend]
            for bend, matrix, moved in zip(self.bends, self.matrices, of_views, strict=True)
        ]

    @lazy
    def moves(self) -> tuple[Any, list[Any]]:
        """Orthonormal directions, in units of the scale, that move the coordinates of any view.

        As columns of features, and as columns of the coordinates of each view.
        """
        # Coordinates of one feature each, as after scaling, are moved by that feature alone.
        unmixed = [m for m in self.matrices if issparse(m) and (np.diff(m.indptr) <= 1).all()]
        seen = np.zeros(len(self.scale), dtype=bool)
        for matrix in unmixed:
            seen[matrix.indices] = True
        if not seen.all() and len(unmixed) < len(self.matrices):
            dense = [each.toarray() if issparse(each) else each for each in self.directions]
            spanning = np.hstack(dense)
            orthogonal, triangle, _ = qr(spanning, mode="economic", pivoting=True)
            sizes = np.abs(np.diag(triangle))
            spanned = sizes > LONG_SUM * sizes.max()
            if spanned.sum() < len(self.scale):
                moves = self.scale[:, None] * orthogonal[:, spanned]
                return moves, [matrix @ moves for matrix in self.matrices]
            seen[:] = True  # every direction: the features do as well
        moves = diags_array(self.scale, format="csc")[:, np.flatnonzero(seen)]
        return moves, [matrix @ moves for matrix in self.matrices]

    @lazy
    def directions(self) -> list[Any]:
        """Per view, how far each feature moves its coordinates by one unit of the scale.

        Rows of features; sparse where the matrices are.
        """
        found = [
            (matrix @ diags_array(self.bent_scale(v), format="csr")).T
            for v, matrix in enumerate(self.matrices)
        ]
        return [each.tocsr() if issparse(each) else each for each in found]

    @lazy
    def lines(self) -> list[Through]:
        """Per view, the deviations on lines along single features."""
        pairs = zip(self.views, self.directions, strict=True)
        return [view.lines(directions) for view, directions in pairs]

    def score(self, x: FloatArray) -> FloatArray:
        """Return S at each row."""
        total = self.by_itself(x).sum(axis=1)
        for v, view in enumerate(self.views):
            total = total + view.contributions(self.locate(v, x))
        return np.asarray(total)

    def score_and_residuals(
        self, x: FloatArray
    ) -> tuple[float, list[tuple[FloatArray, FloatArray]]]:
        """Return S at a point, and per view residuals with their Jacobian in its coordinates."""
        score, residuals = float(self.by_itself(x).sum()), []
        for v, view in enumerate(self.views):
            z = self.locate(v, x[None, :])
            deviations = view.deviations(z)
            score += float(view.contribution(deviations)[0])
            residuals.append(view.residuals(z, deviations))
        return score, residuals

    # Far from normal data, equations that do not count any more may overflow.
    @np.errstate(over="ignore", invalid="ignore")
    def explain(
        self, sample: FloatArray, n_equations: int, feature_names: tuple[str, ...]
    ) -> Explanation:
        """Explain one sample."""
        counterfactual = find_counterfactual(self, sample)
        both = np.stack([sample, counterfactual])
        alone = self.by_itself(both)
        scores = alone.sum(axis=1)
        ways, equations = [], []
        for v, (view, matrix) in enumerate(zip(self.views, self.matrices, strict=True)):
            bent = self.bend(v, np.vstack([both, self.center]))
            *ends, origin = self.maps[v](bent)
            # The map may be affine on normal data only.
            for x, z in zip(bent[:2], ends, strict=True):
                refuse_unless_equal(z - origin, matrix @ (x - bent[2]), origin)
            z = np.stack(ends)
            deviations = view.deviations(z)
            scores = scores + view.contribution(deviations)
            equations += view.equations(z[:1], deviations[:1])
            ways.append((view, z, (bent[0] - bent[1]), matrix))
        total = alone[0] - alone[1]
        negligible = SAME * abs(scores[0] - scores[1])
        for view, (end, start), change, matrix in ways:
            gradient = view.mean_gradient(start, end)
            if gradient is None:
                gradient = mean_gradient(view, start, end, negligible)
            total += change * (gradient @ matrix)
        equations.sort(key=lambda weighed: -weighed[0])
        return Explanation(
            sample=sample,
            counterfactual=counterfactual,
            score=float(scores[0]),
            counterfactual_score=float(scores[1]),
            attribution=total,
            equations=tuple(equation for _, equation in equations[:n_equations]),
            feature_names=feature_names,
            spread=self.scale,
            units=self.units,
        )
