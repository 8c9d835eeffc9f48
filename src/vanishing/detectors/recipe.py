"""The recipe for tables: three views of standardized data, each with a logarithm of its own.

Quadratic equations of the whole data, and linear equations of a few and of many pieces. What is
usual is learned from rows that are left out of the fit in turn.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.contrasts import Contrast, GaussianNoise, Permuted
from vanishing.detectors.clusters import cluster
from vanishing.detectors.residuals import TINY, LocalResiduals, fit_residuals
from vanishing.detectors.sample_weights import drawn, fit_pca, quantiles, some
from vanishing.detectors.threshold import Scored, on_unseen_rows
from vanishing.ideal import VanishingIdeal

#: Rows of a contrast, at least: few rows make noisy sizes.
CONTRAST_ROWS = 2000
#: Candidates of degree 2 grow with the square of the dimension.
LARGEST_DIMENSION = 20
#: With fewer rows to a candidate, equations hold by chance, and residuals of the rows that they
#: were fitted to say nothing: all are then measured on a coarse scale, as those of small pieces.
ROWS_PER_CANDIDATE = 3
FINE_SCALE, COARSE_SCALE = 1e-6, 0.2
#: Pieces of the second and third member.
FEW_PIECES, ROWS_PER_PIECE = 10, 10
MOST_PIECES, ROWS_PER_SMALL_PIECE = 80, 25
#: Spread of log deviations, at least.
SMALLEST_SPREAD = 0.01
#: Share of the rows whose log deviations are changed less by rounding than by one spread: where
#: equations are exact nothing else is spread, and it must not be blown up.
ROUNDED_LESS = 0.95


@dataclass(frozen=True, eq=False)
class Member:
    """One part of the recipe: what it looks at, and how its scores are spread on normal data."""

    name: str
    reduction: PCA | None
    residuals: LocalResiduals
    median: float = 0.0
    spread: float = 1.0

    def reduced(self, z: FloatArray) -> FloatArray:
        """Return what the member looks at."""
        return z if self.reduction is None else np.asarray(self.reduction.transform(z))

    def standardized(self, z: FloatArray) -> FloatArray:
        """Return log deviations, 0 for the median of normal data and 1 for its spread."""
        deviations: FloatArray = self.residuals.log_deviation(self.reduced(z))
        return (deviations - self.median) / self.spread


def fit_members(
    z: FloatArray, rounded: FloatArray, *, seed: int, counts: FloatArray | None = None
) -> tuple[list[Member], Scored]:
    """Fit the members, each with what is usual for it.

    Parameters
    ----------
    z : array of shape (n_samples, n_columns)
        Standardized, without constant columns.
    rounded : array of shape (n_samples, n_columns)
        The same rows with other rounding errors.
    seed : int
        Of contrasts, clustering, and of the rows that are left out.
    counts : array of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    members : list of Member
    unseen : Scored
        Rows that the members were not fitted to.
    """
    plan = _Plan.of(*z.shape)
    members = _members(z, counts, plan, seed)

    def log_deviations(rest: IntArray, unseen: IntArray) -> FloatArray:
        members = _members(z[rest], some(counts, rest), plan, seed)
        return np.stack([member.standardized(z[unseen]) for member in members], axis=1)

    seen = np.stack([member.standardized(z) for member in members], axis=1)
    unseen, unseen_counts = seen, counts
    if not all(member.residuals.is_trusted(len(z)) for member in members):
        with suppress(ValueError):  # some of the rows are all the same, though not all are
            unseen, which = on_unseen_rows(len(z), log_deviations, seed=seed)
            unseen_counts = some(counts, which)
    # Rows that were fitted to keep the equations at least as well as others. Where they do not, the
    # fits without some rows have found fewer or other equations, and say too little of this one.
    lower, medians, upper = np.maximum(_quartiles(unseen, unseen_counts), _quartiles(seen, counts))
    other = np.stack([member.standardized(rounded) for member in members], axis=1)
    rounding = quantiles(_distances(seen, other), [ROUNDED_LESS], counts)[0]
    spreads = np.maximum(upper - lower, np.maximum(rounding, SMALLEST_SPREAD))
    standardized = [
        replace(member, median=float(median), spread=float(spread))
        for member, median, spread in zip(members, medians, spreads, strict=True)
    ]
    scores = np.asarray(-np.mean((unseen - medians) / spreads, axis=1))
    return standardized, Scored(scores, unseen_counts)


def _quartiles(deviations: FloatArray, counts: FloatArray | None) -> FloatArray:
    """Return the quartiles of each column of log deviations, shape (3, n_columns)."""
    # Beyond all numbers, where equations overflow, is as far as the farthest.
    farthest = np.max(deviations, axis=0, where=np.isfinite(deviations), initial=np.log(TINY))
    return quantiles(np.minimum(deviations, farthest), [0.25, 0.5, 0.75], counts)


def _distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return how far numbers are from each other; infinite ones are where they are."""
    finite = np.isfinite(first) & np.isfinite(second)
    return np.abs(np.subtract(first, second, out=np.zeros_like(first), where=finite))


class _Plan(NamedTuple):
    """What depends on the size of the table.

    It is the same for all rows and with some left out: a fit to two pieces says nothing of the
    scores of a fit to one.
    """

    scale: float
    n_few: int
    n_many: int

    @classmethod
    def of(cls, n_rows: int, n_columns: int) -> "_Plan":
        most = max(1, n_rows // ROWS_PER_PIECE)
        n_many = int(np.clip(n_rows // ROWS_PER_SMALL_PIECE, 1, MOST_PIECES))
        return cls(_scale_of_quadratics(n_rows, n_columns), min(FEW_PIECES, most), n_many)


def _members(z: FloatArray, counts: FloatArray | None, plan: _Plan, seed: int) -> list[Member]:
    """Fit what looks at the standardized data, not yet knowing what is usual."""
    shuffled, moved = Permuted(), GaussianNoise(0.5)
    scale, n_few, n_many = plan
    return [
        _member("whole", z, counts, 1, shuffled, seed, degree=2, tol=0.5, smallest_scale=scale),
        _member("few pieces", z, counts, n_few, shuffled, seed, smallest_scale=0.03),
        _member("many pieces", z, counts, n_many, moved, seed, smallest_scale=COARSE_SCALE),
    ]


def _member(
    name: str,
    z: FloatArray,
    counts: FloatArray | None,
    n_pieces: int,
    contrast: Contrast,
    seed: int,
    *,
    degree: int = 1,
    tol: float = 0.9,
    smallest_scale: float,
) -> Member:
    reduction = None
    if degree > 1 and z.shape[1] > LARGEST_DIMENSION:
        reduction = PCA(min(LARGEST_DIMENSION, len(z)), random_state=seed)
        reduction.set_output(transform="default")
        variances = fit_pca(reduction, z, counts).explained_variance_
        # Directions without variance, as with few rows, would hold nothing but rounding.
        rank = max(1, int(np.sum(variances > 1e-20 * variances[0])))
        if rank < len(variances):
            fit_pca(reduction.set_params(n_components=rank), z, counts)
        z = reduction.transform(z)
    rng = np.random.default_rng(seed)
    n_contrast = max(len(z), CONTRAST_ROWS)
    other = contrast.make(drawn(z, counts, rng, n_contrast), rng, n_contrast)
    ideal = VanishingIdeal(
        max_degree=degree, tol=tol, normalization="contrastive", reduction="gram"
    )
    pieces = cluster(z, n_pieces, seed=seed, counts=counts)
    try:
        residuals = fit_residuals(
            z, pieces, other, ideal, smallest_scale=smallest_scale, counts=counts
        )
    except ValueError:  # nothing is below the tolerance: take every direction there is
        ideal.set_params(tol=1e6)
        residuals = fit_residuals(
            z, pieces, other, ideal, smallest_scale=smallest_scale, counts=counts
        )
    n_equations = sum(fitted.basis_.count() for fitted in residuals.ideals)
    described = (
        f"{name}: {n_equations} equations of degree <= {degree} on {len(residuals.ideals)} "
        f"pieces against {contrast}, tol={ideal.tol:g}"
    )
    return Member(described, reduction, residuals)


def _scale_of_quadratics(n_rows: int, n_columns: int) -> float:
    """Return the smallest size of residuals of quadratic equations that is told from chance."""
    dimension = min(n_columns, LARGEST_DIMENSION)
    n_candidates = dimension * (dimension + 3) // 2  # monomials of degree 1 and 2
    return FINE_SCALE if n_rows >= ROWS_PER_CANDIDATE * n_candidates else COARSE_SCALE
