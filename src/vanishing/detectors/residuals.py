"""How far a point is from the nearest of several ideals, in units of what is usual there."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from vanishing.arrays.namespace import Array, FloatArray, IntArray, move_like, namespace
from vanishing.construction.normalizations import resolve_normalization
from vanishing.data.source import ArraySource
from vanishing.detectors.sample_weights import mean_and_variance, some
from vanishing.ideal import VanishingIdeal

#: Added to deviations before their logarithm is taken.
TINY = 1e-12
#: With more rows to a candidate, unseen rows score as those that were fitted to.
ROWS_PER_CANDIDATE_TO_TRUST = 50
#: With fewer rows, none can be left out.
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class LocalResiduals:
    """Ideals of the pieces of a data set, with the usual size of each polynomial on its piece.

    Parameters
    ----------
    ideals : list of VanishingIdeal
    centers, scales : lists of arrays
        Mean and spread of each polynomial on its piece.
    """

    ideals: list[VanishingIdeal]
    centers: list[FloatArray]
    scales: list[FloatArray]

    def deviations(self, z: Array) -> Array:
        """Return the mean square of standardized residuals of each piece, (n_points, n_pieces)."""
        xp = namespace(z)
        pieces = zip(self.ideals, self.centers, self.scales, strict=True)
        standardized = [
            (ideal.basis_.evaluate(z) - move_like(center, z)) / move_like(scale, z)
            for ideal, center, scale in pieces
        ]
        infinity = xp.full((z.shape[0],), xp.inf, dtype=z.dtype, device=z.device)
        deviations = [
            xp.mean(residuals**2, axis=1) if residuals.shape[1] else infinity
            for residuals in standardized
        ]
        # Where numbers overflow, and from a piece that has lost its equations, nothing is near.
        return xp.stack([xp.where(xp.isnan(d), infinity, d) for d in deviations], axis=1)

    def log_deviation(self, z: Array) -> Array:
        """Return the logarithm of the deviation from the nearest piece."""
        xp = namespace(z)
        return xp.log(xp.min(self.deviations(z), axis=1) + TINY)

    def is_trusted(self, n_rows: int) -> bool:
        """Whether rows that were fitted to score as new ones do, or are too few to tell."""
        n_candidates = sum(step.candidates for ideal in self.ideals for step in ideal.trace_)
        return n_rows < FEWEST_ROWS or n_rows >= ROWS_PER_CANDIDATE_TO_TRUST * n_candidates


def fit_residuals(
    points: FloatArray,
    pieces: IntArray,
    contrast: FloatArray | None,
    template: VanishingIdeal,
    *,
    smallest_scale: float,
    counts: FloatArray | None = None,
) -> LocalResiduals:
    """Fit an ideal to each piece.

    Parameters
    ----------
    points : array of shape (n_samples, n_features)
    pieces : int array of shape (n_samples,)
    contrast : array of shape (n_contrast, n_features) or None
        The same for all pieces.
    template : VanishingIdeal
    smallest_scale : float
        Floor of the spread of a polynomial on its piece, in units of its normalization: a piece
        with few rows keeps equations exactly that hold by chance.
    counts : array of shape (n_samples,), optional
        How often each point counts.
    """
    # Sources, which are not checked again for every piece.
    other = None
    if contrast is not None and resolve_normalization(template.normalization).needs_contrast:
        other = ArraySource(contrast)
    ideals, centers, scales = [], [], []
    for piece in np.unique(pieces):
        own = pieces == piece
        rows, own_counts = points[own], some(counts, own)
        ideal: VanishingIdeal = clone(template)
        ideal.fit_part(ArraySource(rows), contrast=other, sample_weight=own_counts)
        if ideal.basis_.count():
            mean, variance = mean_and_variance(ideal.basis_.evaluate(rows), own_counts)
            ideals.append(ideal)
            centers.append(mean)
            scales.append(np.sqrt(variance + smallest_scale**2))
    if not ideals:
        check_vanishing(ideal)
    return LocalResiduals(ideals, centers, scales)


class NothingVanishesError(ValueError):
    """No polynomial is below the tolerance.

    Parameters
    ----------
    smallest : float
        The smallest extent there is.
    tol : float or str
        The tolerance.
    """

    def __init__(self, smallest: float, tol: float | str) -> None:
        super().__init__(smallest, tol)  # so that it can be sent between processes
        self.smallest = smallest
        self.tol = tol

    def __str__(self) -> str:
        return (
            f"no polynomial vanishes on X: the smallest extent is {self.smallest:.3g}, over "
            f"tol={self.tol}; raise tol or max_degree of the ideal, or choose another contrast"
        )


def check_vanishing(ideal: VanishingIdeal) -> None:
    """Raise if nothing vanishes under a fitted ideal."""
    if not ideal.basis_.count():
        smallest = min(float(step.spectrum.min(initial=np.inf)) for step in ideal.trace_)
        raise NothingVanishesError(smallest, ideal.tol)
