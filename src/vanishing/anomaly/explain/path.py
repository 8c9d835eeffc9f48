"""Integrated gradients along a segment, to the accuracy that the increments of s allow to check."""

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.explain.view import View

#: Gauss-Legendre nodes per interval.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
#: Error of the integral on all intervals together, relative to the size of s and its terms.
ACCURACY = 1e-9
#: Intervals are halved at most so often; what is left is a kink between two pieces.
DEEPEST = 40
#: More intervals than this are not halved any more.
MOST_INTERVALS = 1024


def mean_gradient(view: View, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the mean of ∇s on the segment, whose product with end - start is s(end) - s(start).

    The integral of the gradient over an interval must be the increment of s, so that the error is
    known: intervals where it is too large are halved. The minimum over pieces has kinks, and
    halving closes in on them.

    Parameters
    ----------
    view : View
    start, end : arrays of shape (n_coordinates,)
    """
    direction = end - start
    left, right = np.array([0.0]), np.array([1.0])
    total = np.zeros_like(start)
    size = np.abs(view.values(np.stack([start, end]))).max()
    for depth in range(DEEPEST + 1):
        widths = right - left
        at = (left + right)[:, None] / 2 + np.outer(widths, NODES) / 2
        gradients = view.gradients(start + at.reshape(-1, 1) * direction)
        integrals = (
            np.einsum("q,iqk->ik", WEIGHTS / 2, gradients.reshape(len(left), len(NODES), -1))
            * widths[:, None]
        )
        if depth == 0:
            size = max(size, np.abs(integrals[0] * direction).sum())
        ends = view.values(start + np.concatenate([left, right])[:, None] * direction)
        increments = ends[len(left) :] - ends[: len(left)]
        errors = np.abs(integrals @ direction - increments)
        # The share of an interval in the error that is allowed falls more slowly than its width,
        # so that rounding does not halve intervals for ever.
        done = errors <= ACCURACY * size * np.sqrt(widths)
        if depth == DEEPEST or len(left) > MOST_INTERVALS:
            done[:] = True
        total += integrals[done].sum(axis=0)
        if done.all():
            break
        middle = (left[~done] + right[~done]) / 2
        left, right = (
            np.concatenate([left[~done], middle]),
            np.concatenate([middle, right[~done]]),
        )
    return total
