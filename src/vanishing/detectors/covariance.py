"""Covariances of few, many and mixed rows: shrunk, robust, and in the span of the rows."""

from dataclasses import dataclass

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray
from vanishing.detectors.sample_weights import quantiles, take_weights, total_weight, weighted_mean
from vanishing.levels import LONG_SUM

#: Equations are exact if residuals are below this part of the spread of the columns: three digits.
#: Covariances are shrunk by its square at least: where rows lie in a subspace exactly, rounding is
#: all that is left of the other directions.
EXACT_SHARE = 1e-3
#: Rows to a column with which a covariance is known: its eigenvalues are off by a third.
ROWS_PER_COLUMN = 10
#: Steps of the concentration, which ends as soon as the same rows are kept.
CONCENTRATION_STEPS = 10


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """The covariance (1 - rho) S + rho mu I of Ledoit and Wolf (2004), where S is that of the rows.

    mu is the mean of the variances of all columns.
    """

    mean: FloatArray
    rho: float
    mu: float

    def shrink(self, variances: FloatArray) -> FloatArray:
        """Return the shrunk variances in the directions of the principal components."""
        return np.asarray((1 - self.rho) * variances + self.rest)

    @property
    def rest(self) -> float:
        """The variance in directions that have none."""
        return self.rho * self.mu


def center_rows(X: FloatArray, sample_weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the mean, and rows C for which C.T @ C is the covariance."""
    mean = weighted_mean(X, sample_weight)
    total = total_weight(sample_weight, len(X))
    weights = np.full(len(X), 1.0) if sample_weight is None else sample_weight
    return mean, (X - mean) * np.sqrt(weights / total)[:, None]


def find_shrinkage(X: FloatArray, sample_weight: FloatArray | None = None) -> Shrinkage:
    """Return how far the covariance of rows is shrunk towards a multiple of the identity.

    Takes O(N n min(N, n)) operations, for N rows of n columns.
    """
    mean, rows = center_rows(X, sample_weight)
    n_columns = X.shape[1]
    squares = np.sum((X - mean) ** 2, axis=1)
    mu = float(weighted_mean(squares[:, None], sample_weight)[0]) / n_columns
    gram = rows.T @ rows if n_columns <= len(rows) else rows @ rows.T
    size = float(np.sum(gram**2))
    distance = size - n_columns * mu**2
    fourth = float(weighted_mean((squares**2)[:, None], sample_weight)[0])
    noise = (fourth - size) / total_weight(sample_weight, len(X))
    rho = 1.0 if distance <= 0 else min(1.0, noise / distance)
    return Shrinkage(mean, max(rho, EXACT_SHARE**2), mu)


def shrunk_covariance(
    X: FloatArray, sample_weight: FloatArray | None, ridge: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of rows and their covariance after Ledoit and Wolf.

    With a ``ridge``, that part of the mean variance is added instead.
    """
    mean, rows = center_rows(X, sample_weight)
    covariance = rows.T @ rows
    if ridge is None:
        shrinkage = find_shrinkage(X, sample_weight)
        covariance, rest = (1 - shrinkage.rho) * covariance, shrinkage.rest
    else:
        rest = ridge * np.trace(covariance) / X.shape[1]
    covariance[np.diag_indices_from(covariance)] += rest
    return mean, covariance


def mahalanobis(X: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the squared distance of each row under a positive definite covariance."""
    factor = np.linalg.cholesky(covariance)
    return np.asarray(np.sum(np.linalg.solve(factor, (X - mean).T) ** 2, axis=0))


def concentrate(
    X: FloatArray,
    sample_weight: FloatArray | None,
    *,
    share: float,
    ridge: float | None = None,
) -> BoolArray:
    """Return the rows that are nearest to their own mean under their own covariance.

    The concentration steps of the minimum covariance determinant (Rousseeuw and Van Driessen,
    1999), from the covariance of all rows. The rows that are kept have the given share of the
    weight.
    """
    kept = np.ones(len(X), dtype=bool)
    for _ in range(CONCENTRATION_STEPS):
        rows, weights = X[kept], take_weights(sample_weight, kept)
        mean, covariance = shrunk_covariance(rows, weights, ridge)
        if not covariance.any():
            return kept
        distances = mahalanobis(X, mean, covariance)
        nearest = distances <= quantiles(distances, [share], sample_weight)[0]
        if np.array_equal(nearest, kept):
            break
        kept = nearest
    return kept


def root_of(covariance: FloatArray, power: float) -> FloatArray:
    """Return a power of a positive semidefinite matrix; its smallest eigenvalues are raised."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, EXACT_SHARE**2 * max(values.mean(), np.finfo(float).tiny))
    return np.asarray((vectors * values**power) @ vectors.T)


def find_span(
    X: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return principal components of rows, one below the other, and their variances.

    Those directions of the span that are more than rounding, in O(N n min(N, n)) operations.
    """
    _, rows = center_rows(X, sample_weight)
    tall = rows.shape[1] <= len(rows)
    variances, vectors = np.linalg.eigh(rows.T @ rows if tall else rows @ rows.T)
    # The products have lost half of the digits: what is smaller is rounding.
    large = variances > LONG_SUM * variances[-1]
    variances, vectors = variances[large], vectors[:, large]
    directions = vectors.T if tall else (vectors / np.sqrt(variances)).T @ rows
    return directions, variances
