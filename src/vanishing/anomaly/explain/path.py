"""Integrated gradients along a segment, to the accuracy that the increments of s allow to check."""

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.view import OnLines, View

#: Gauss-Legendre nodes per interval.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
#: Error of the integral on all intervals together, relative to the size of s.
ACCURACY = 1e-9
#: Ends of the parts that an interval is cut into. Few cuts into many parts are fewer calls.
CUTS = np.linspace(0, 1, 9)
#: Intervals that are cut at a time, at most, and those that there may be in all.
AT_A_TIME, MOST_INTERVALS = 16, 4096
#: The number of the only line there is.
LINE = np.zeros(1, dtype=np.intp)


def mean_gradient(view: View, start: FloatArray, end: FloatArray, negligible: float) -> FloatArray:
    """Return the mean of ∇s on the segment, whose product with end - start is s(end) - s(start).

    The integral of the gradient over an interval must be the increment of s, so that the error is
    known: intervals where it is too large are cut, the worst first. The minimum over pieces has
    kinks, logarithms all but have poles near the start, and cuts close in on both. What is left
    after many of them is rounding.

    Parameters
    ----------
    view : View
    start, end : arrays of shape (n_coordinates,)
    negligible : float
        An error that does not matter, whatever the size of s.
    """
    direction = end - start
    if not direction.any():
        return direction
    along = view.lines(direction[None, :])(start[None, :], LINE)
    edges = np.array([[0.0, 1.0]])
    integrals, errors, size = _integrals(view, along, start, direction, edges)
    while errors.sum() > (allowed := max(ACCURACY * size, negligible)):
        if len(errors) >= MOST_INTERVALS:
            break
        worst = np.argsort(-errors, kind="stable")[:AT_A_TIME]
        worst = worst[errors[worst] > allowed / len(errors)]
        left, right = edges[worst, :1], edges[worst, 1:]
        cuts = left + CUTS * (right - left)
        parts = np.stack([cuts[:, :-1], cuts[:, 1:]], axis=2).reshape(-1, 2)
        found, found_errors, largest = _integrals(view, along, start, direction, parts)
        edges = np.vstack([np.delete(edges, worst, axis=0), parts])
        integrals = np.vstack([np.delete(integrals, worst, axis=0), found])
        errors = np.append(np.delete(errors, worst), found_errors)
        size = max(size, largest)
    return np.asarray(integrals.sum(axis=0))


def _integrals(
    view: View, along: OnLines, start: FloatArray, direction: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the integral of ∇s over each interval, its errors, and the size of its terms."""
    widths = edges[:, 1:] - edges[:, :1]
    at = edges[:, :1] + widths * (NODES + 1) / 2
    points = start + at.reshape(-1, 1) * direction
    gradients = view.gradients(points, along(LINE, at.reshape(1, -1)))
    means = np.einsum("q,iqk->ik", WEIGHTS / 2, gradients.reshape(*at.shape, -1))
    integrals = means * widths
    ends = view.of_deviations(along(LINE, edges.reshape(1, -1))).reshape(edges.shape)
    errors = np.abs(integrals @ direction - (ends[:, 1] - ends[:, 0]))
    # Gradients may be large terms that cancel, with the rounding of large terms.
    terms = np.abs(integrals * direction).sum(axis=1).max()
    return integrals, errors, float(max(np.abs(ends).max(), terms))
