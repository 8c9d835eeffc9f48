"""Linear equations of many point sets at once, from their means and covariances.

At degree 1 the generalized problem needs nothing of the points but their mean and covariance, and
many sets of points make a stack of small matrices. What is solved here is the same problem as in
``gsvd.py``, by Cholesky factors and eigenvalues: that loses half of the digits, like Gram matrices,
and sets whose extents come near to that are left to the usual way.
"""

import time
from dataclasses import dataclass
from math import isqrt

import numpy as np

from vanishing.arrays.blocks import map_in_threads, one_thread, threads_for
from vanishing.arrays.namespace import FloatArray
from vanishing.construction.gsvd import REGULAR, fix_signs
from vanishing.construction.loop import Construction, DegreeTrace, StopReason
from vanishing.levels import SAME
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import Complement, DegreeBlock


@dataclass(frozen=True, eq=False)
class PointSets:
    """Means and covariances of sets of points."""

    n_rows: FloatArray  # or the sums of their weights
    means: FloatArray
    covariances: FloatArray  # mean products of the deviations from the mean

    def __len__(self) -> int:
        return len(self.n_rows)

    def take(self, which: slice) -> "PointSets":
        """Return some of the sets."""
        return PointSets(self.n_rows[which], self.means[which], self.covariances[which])

    def join(self, members: FloatArray) -> "PointSets":
        """Return unions of sets; all terms are positive, so that no digits cancel."""
        n_rows = members @ self.n_rows
        shares = members * self.n_rows / n_rows[:, None]
        means = shares @ self.means
        covariances = np.tensordot(shares, self.covariances, axes=1)
        for share, mean, covariance in zip(shares, means, covariances, strict=True):
            apart = self.means - mean
            covariance += (share[:, None] * apart).T @ apart
        return PointSets(n_rows, means, covariances)


def fit_linear(points: PointSets, contrasts: PointSets, tol: float) -> list[Construction | None]:
    """Find the linear equations of each set, by its contrast; None where digits are lost."""
    # As many stacks as sets in each: one that cannot be factored takes few others along.
    stacked = max(1, isqrt(len(points)))

    def solve(start: int) -> list[Construction | None]:
        some = slice(start, start + stacked)
        contrast = contrasts if len(contrasts) == 1 else contrasts.take(some)
        return _solve_stack(points.take(some), contrast, tol)

    with one_thread():
        starts = range(0, len(points), stacked)
        parts = list(map_in_threads(solve, starts, threads_for(points.means)))
    return [found for part in parts for found in part]


def _solve_stack(points: PointSets, contrasts: PointSets, tol: float) -> list[Construction | None]:
    started = time.perf_counter()
    apart = contrasts.means - points.means
    # The polynomials are made orthogonal to 1 on the points, where their mean is zero.
    sizes = contrasts.covariances + apart[:, :, None] * apart[:, None, :]
    scale = np.sqrt(np.diagonal(sizes, axis1=1, axis2=2))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return [None] * len(points)
    outer = scale[:, :, None] * scale[:, None, :]
    try:
        lower = np.linalg.cholesky(sizes / outer)
    except np.linalg.LinAlgError:
        return [None] * len(points)
    pivots = np.diagonal(lower, axis1=1, axis2=2)
    inverse = np.linalg.inv(lower)
    squares = inverse @ (points.covariances / outer) @ inverse.transpose(0, 2, 1)
    if not np.isfinite(squares).all():
        return [None] * len(points)
    eigenvalues, vectors = np.linalg.eigh(squares)
    extents = np.sqrt(np.maximum(eigenvalues, 0.0))
    vectors = inverse.transpose(0, 2, 1) @ vectors / scale[:, :, None]
    ties = extents[:, 1:] - extents[:, :-1] <= SAME * extents[:, 1:]
    is_known = (pivots.min(axis=1) > REGULAR) & (extents[:, 0] > REGULAR) & ~ties.any(axis=1)
    conditions = pivots.max(axis=1) / pivots.min(axis=1)
    seconds = (time.perf_counter() - started) / len(points)
    found: list[Construction | None] = []
    for j, known in enumerate(is_known):
        if not known:
            found.append(None)
            continue
        signed, extent = fix_signs(vectors[j]), extents[j]
        n_vanishing = int(np.sum(extent <= tol))
        construction = make_linear(
            points.means[j],
            np.ascontiguousarray(signed[:, :n_vanishing]),
            # Size 1 on the points, the largest extents first.
            np.ascontiguousarray((signed[:, n_vanishing:] / extent[n_vanishing:])[:, ::-1]),
            extent,
            tol=tol,
            condition=float(conditions[j]),
            n_rows=float(points.n_rows[j]),
            seconds=seconds,
        )
        found.append(construction)
    return found


def make_linear(
    center: FloatArray,
    vanishing: FloatArray | Complement,
    nonvanishing: FloatArray,
    spectrum: FloatArray,
    *,
    tol: float,
    condition: float,
    n_rows: float,
    seconds: float,
) -> Construction:
    """Return linear polynomials that are zero at a center; those that vanish come first."""
    n_features, n_vanishing = vanishing.shape
    block = DegreeBlock(
        left=np.arange(n_features),
        right=np.zeros(n_features, dtype=np.intp),
        projection=center[None, :].copy(),
        nonvanishing=nonvanishing,
        vanishing=vanishing,
        extents=spectrum[:n_vanishing].copy(),
    )
    trace = DegreeTrace(
        degree=1,
        candidates=n_features,
        rank=len(spectrum),
        vanishing=n_vanishing,
        nonvanishing=nonvanishing.shape[1],
        dropped=0,
        unbounded=0,
        cut=0,
        left_out=0,
        tol=tol,
        condition=condition,
        spectrum=np.sort(spectrum),
        seconds=seconds,
    )
    basis = PolynomialBasis(n_features, (block,))
    reason: StopReason = "max_degree" if nonvanishing.shape[1] else "exhausted"
    return Construction(basis, (trace,), reason, n_rows)
