"""The nearest point that keeps the equations as well as normal data usually does.

Equations of noisy data hold up to noise, and together they may have no common zero at all. What x
is compared with is therefore the nearest point whose score is usual for normal data: with r the
residuals of the equations, the minimizer of λ‖y‖² + ‖r(x + y)‖² for the largest λ at which the
score has come down to that (the discrepancy principle). On exact data the usual residual is
rounding, and this is the projection onto the variety.

Columns of a table fail one by one. There, changes of a single column are tried first.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.mending import mend_single_features

if TYPE_CHECKING:
    from vanishing.anomaly.explain.landscape import Landscape

#: λ falls by this factor, from the size of the Jacobian down to rounding.
FALL, SMALLEST = 8.0, 1e-14
#: Steps for each λ, at most.
STEPS = 4
#: Steps that do not help are shortened so often, at most, each time by this factor of the damping.
SHORTENINGS, HARDER = 20, 8.0
#: Halvings (in the logarithm) of the last interval of λ.
HALVINGS = 4


def project(landscape: "Landscape", sample: FloatArray) -> FloatArray:
    """Return x₀ for one sample; the sample itself if its score is usual.

    Where no such point is found, the best one on the way is returned.
    """
    start = sample.copy()
    # Terms of single features are mended by themselves.
    alone = landscape.by_itself(sample[None, :])[0] > 0
    start[alone] = landscape.center[alone]
    score = float(landscape.score(start[None, :])[0])
    if score > landscape.usual and landscape.views and landscape.few_features:
        start, score = mend_single_features(landscape, start, score)
    if score <= landscape.usual or not landscape.views:
        return start
    return _project(Way(landscape, start))


class Way:
    """Points x + y, with y in units of the features' scale, in the directions that matter."""

    def __init__(self, landscape: "Landscape", start: FloatArray) -> None:
        self.landscape = landscape
        self.start = start
        self.moves, self.views_move = landscape.moves

    def point(self, y: FloatArray) -> FloatArray:
        """Return x + y."""
        return np.asarray(self.start + self.moves @ y)

    def place(self, y: FloatArray) -> "Place":
        """Return what there is at x + y."""
        score, parts = self.landscape.score_and_residuals(self.point(y))
        values = np.concatenate([value for value, _ in parts])
        pairs = zip(parts, self.views_move, strict=True)
        return Place(
            y, score, values, np.vstack([jacobian @ move for (_, jacobian), move in pairs])
        )

    def descend(self, place: "Place", damping: float) -> "Place":
        """Minimize λ‖y‖² + ‖r‖² by Gauss-Newton steps, damped more where they do not help.

        Where the variety is curved more than the sample is near, steps along it go too far by any
        factor. More damping shortens these first, and leaves those towards it as they are.
        """
        objective, more = place.objective(damping), 0.0
        for _ in range(STEPS):
            normal = place.jacobian.T @ place.jacobian
            slope = place.jacobian.T @ place.residuals + damping * place.y
            # Relative to the Jacobian, less than this would be lost in rounding.
            least = SMALLEST * float(np.trace(normal))
            for _ in range(SHORTENINGS):
                diagonal = max(damping + more, least) * np.eye(len(slope))
                tried = self.place(place.y - cho_solve(cho_factor(normal + diagonal), slope))
                reached = tried.objective(damping)
                if reached < objective:
                    break
                more = max(HARDER * more, damping)
            else:
                return place
            gain, place, objective, more = objective - reached, tried, reached, more / HARDER
            if gain <= 1e-3 * objective:
                break
        return place


@dataclass(frozen=True, eq=False)
class Place:
    """A point x + y with its score, all residuals and their Jacobian with respect to y."""

    y: FloatArray
    score: float
    residuals: FloatArray
    jacobian: FloatArray

    def objective(self, damping: float) -> float:
        """Return λ‖y‖² + ‖r‖²."""
        return damping * float(self.y @ self.y) + float(self.residuals @ self.residuals)


def _project(way: Way) -> FloatArray:
    """Lower λ until the score is usual."""
    place = way.place(np.zeros(way.moves.shape[1]))
    largest = float(np.sum(place.jacobian**2))
    if largest == 0.0 or not np.isfinite(largest):
        return way.start
    damping, above = largest, largest
    best = place
    while damping > SMALLEST * largest:
        reached = way.descend(place, damping)
        if reached.score <= way.landscape.usual:
            return way.point(_largest_damping(way, place, reached, above, damping).y)
        if reached.score < best.score:
            best = reached
        place, above, damping = reached, damping, damping / FALL
    return way.point(best.y)


def _largest_damping(way: Way, before: Place, after: Place, above: float, below: float) -> Place:
    """Close in on the largest λ whose minimizer is usual: it is nearest to the sample."""
    for _ in range(HALVINGS):
        damping = float(np.sqrt(above * below))
        tried = way.descend(before, damping)
        if tried.score <= way.landscape.usual:
            after, below = tried, damping
        else:
            before, above = tried, damping
    return after
