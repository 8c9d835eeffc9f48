"""Sample weights of training rows, and statistics that take them, covariances among others.

A sample weight of None stands for ones. Whole numbers are repeated rows; other weights are scaled
to the mean 1, as means do not depend on their scale, but quantiles and penalties depend on the
number of rows.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from vanishing.arrays.namespace import Array, BoolArray, FloatArray, IntArray, take_rows
from vanishing.data.source import check_weights
from vanishing.levels import LONG_SUM

#: Rows that are enough for quantiles: the rate of a threshold that one in twenty exceeds is then
#: known to 0.7 %.
ENOUGH_ROWS = 1000


def drop_zero_weights(X: Array, sample_weight: Any) -> tuple[Array, FloatArray | None]:
    """Return the rows of positive weight, and their weights."""
    if sample_weight is None:
        return X, None
    weights = check_weights(sample_weight, "X", int(X.shape[0]))
    kept = np.flatnonzero(weights)
    if len(kept) < 2:
        raise ValueError(
            f"the weights of X leave {len(kept)} row, but at least two are required; give more "
            "rows a positive weight"
        )
    if len(kept) < len(weights):
        X, weights = take_rows(X, kept), weights[kept]
    if (weights == 1).all():
        return X, None
    # Numbers beyond 1 / eps are whole by accident.
    is_whole = np.array_equal(weights, np.round(weights))
    if is_whole and weights.sum() < 1 / np.finfo(np.float64).eps:
        return X, weights
    return X, weights / weights.mean()


# --- Rows in an order of their own, so that results depend on what they are, not on where they are


class SortedRows(NamedTuple):
    """The lexicographic order of rows, and how often each distinct row occurs in it."""

    order: IntArray
    counts: IntArray

    @property
    def n_copies(self) -> int:
        """How many copies of one table the rows are: a table that is pasted twice has two."""
        return int(np.gcd.reduce(self.counts))


def order_columns(X: FloatArray) -> IntArray:
    """Return the columns in an order that depends neither on where they stand nor on their units.

    It is that of their third and fourth moments, in single precision: rounding errors of the
    moments must not decide.
    """
    moments = np.zeros((2, X.shape[1]), dtype=np.float32)
    for j, column in enumerate(X.T):
        z = column / (np.abs(column).max() or 1.0)
        z -= z.mean()
        z /= z.std() or 1.0
        squares = z * z
        moments[:, j] = np.mean(squares * squares), np.mean(squares * z)
    return np.lexsort(moments)


def sort_rows(X: FloatArray) -> SortedRows:
    """Sort rows, by one column and then, where numbers are the same, by the next ones."""
    order = np.arange(len(X))
    group = np.zeros_like(order)  # place of the first row that is not told from the one here yet
    tied = order.copy()  # places of rows that are not told from some other
    for j in order_columns(X):
        values = X[order[tied], j]
        within = np.lexsort((values, group[tied]))
        order[tied], values = order[tied][within], values[within]
        differs = (np.diff(group[tied]) != 0) | (np.diff(values) != 0)
        first = np.flatnonzero(np.append(True, differs))
        counts = np.diff(np.append(first, len(tied)))
        group[tied] = np.repeat(tied[first], counts)
        tied = tied[np.repeat(counts, counts) > 1]
        if not tied.size:
            break
    return SortedRows(order, np.unique(group, return_counts=True)[1])


def standardize_rows(
    X: FloatArray, sample_weight: FloatArray | None, *, count_copies: bool = False
) -> tuple[FloatArray, FloatArray | None]:
    """Return what is the same for all tables of the same rows, in any order and any number.

    Rows are sorted. Equal rows with weights are merged. If the table holds each row twice, or in
    general if the numbers of copies of all rows have a common factor, it is divided by it: such
    copies say nothing new, unless ``count_copies``. At least two rows are left.
    """
    rows = sort_rows(X)
    X = X[rows.order] + 0.0  # one zero instead of two
    if count_copies:
        return X, take_weights(sample_weight, rows.order)
    if len(rows.counts) == 1:
        return X[:2], None
    if sample_weight is None:
        return X[:: rows.n_copies], None
    first = np.cumsum(rows.counts) - rows.counts
    weights = np.add.reduceat(sample_weight[rows.order], first)
    if not np.array_equal(weights, np.round(weights)):
        return X[first], weights / weights.mean()
    counts = weights.astype(np.int64)
    counts //= np.gcd.reduce(counts)
    if counts.sum() <= len(X):  # as without weights
        return np.repeat(X[first], counts, axis=0), None
    return X[first], counts.astype(np.float64)


def take_weights(sample_weight: FloatArray | None, rows: Any) -> FloatArray | None:
    """Return the weights of some rows."""
    return None if sample_weight is None else sample_weight[rows]


def total_weight(sample_weight: FloatArray | None, n_rows: int) -> float:
    """Return the total weight of the rows."""
    return n_rows if sample_weight is None else float(sample_weight.sum())


def weighted_mean(values: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Return the mean of each column."""
    return np.asarray(np.average(values, axis=0, weights=sample_weight))


def mean_and_variance(
    values: FloatArray, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and mean squared deviation of each column."""
    mean = weighted_mean(values, sample_weight)
    return mean, weighted_mean((values - mean) ** 2, sample_weight)


def quantiles(values: FloatArray, shares: Any, sample_weight: FloatArray | None) -> FloatArray:
    """Return quantiles of each column, linear between neighbours as those of NumPy."""
    if sample_weight is None:
        return np.asarray(np.quantile(values, shares, axis=0))
    if values.ndim == 2:
        return np.stack([quantiles(column, shares, sample_weight) for column in values.T], axis=1)
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(sample_weight[order])  # row i takes the places up to ends[i]
    places = np.asarray(shares) * (max(ends[-1], 1.0) - 1)
    below = np.floor(places)

    def at(place: FloatArray) -> FloatArray:
        found = np.searchsorted(ends, place + 1)  # places are counted from 0
        return values[order[np.minimum(found, len(order) - 1)]]

    lower, upper = at(below), at(below + 1)
    # As NumPy: exact where both are the same.
    return np.asarray(lower + (upper - lower) * (places - below))


def draw_rows(
    X: FloatArray, sample_weight: FloatArray | None, rng: np.random.Generator, n_rows: int
) -> FloatArray:
    """Draw rows by their weights, to make contrasts of; all rows without weights."""
    if sample_weight is None:
        return X
    return np.asarray(X[rng.choice(len(X), size=n_rows, p=sample_weight / sample_weight.sum())])


def fit_pca(pca: PCA, X: FloatArray, sample_weight: FloatArray | None) -> PCA:
    """Fit principal components of weighted rows.

    Scikit-learn's takes no weights. It is given √w (x - mean) and the same with the other sign:
    rows of mean 0 that have the covariance of the weighted ones.
    """
    if sample_weight is None:
        return pca.fit(X)
    n_rows, total = len(X), sample_weight.sum()
    mean, _ = mean_and_variance(X, sample_weight)
    half = np.sqrt(sample_weight * (n_rows / total))[:, None] * (X - mean)
    pca.fit(np.concatenate([half, -half]))
    pca.mean_ = mean
    # From 2n rows less one to the total weight less one.
    factor = (2 * n_rows - 1) / (2 * n_rows) * total / max(total - 1, 1)
    pca.explained_variance_ = pca.explained_variance_ * factor
    pca.noise_variance_ = pca.noise_variance_ * factor
    return pca


# --- Covariances of few, many and mixed rows: shrunk, robust, and in the span of the rows ---------

#: Equations are exact if residuals are below this part of the spread of the columns: three digits.
#: Covariances are shrunk by its square at least: where rows lie in a subspace exactly, rounding is
#: all that is left of the other directions.
EXACT_SHARE = 1e-3
#: Rows to a column with which a covariance is known: its eigenvalues are off by a third.
ROWS_PER_COLUMN = 10
#: Share of the rows that centre and covariance of the whole are learned from: the usual one of the
#: minimum covariance determinant, for up to a quarter of anomalies.
CORE_SHARE = 0.75
#: Steps of the concentration, which ends as soon as the same rows are kept.
CONCENTRATION_STEPS = 10


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """The covariance (1 - rho) S + rho mu I of Ledoit and Wolf (2004); mu is the mean variance."""

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
    """Return how far the covariance of rows is shrunk, in O(N n min(N, n)) operations."""
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
    """Return the mean of rows, and their covariance after Ledoit and Wolf or with a ``ridge``."""
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
    X: FloatArray, sample_weight: FloatArray | None, *, ridge: float | None = None
) -> BoolArray:
    """Return the rows that are nearest to their own mean under their own covariance.

    The steps of the minimum covariance determinant (Rousseeuw and Van Driessen, 1999), with a
    shrunk covariance (Boudt et al., 2020). All rows, where most are the same.
    """
    every = kept = np.ones(len(X), dtype=bool)
    for _ in range(CONCENTRATION_STEPS):
        rows, weights = X[kept], take_weights(sample_weight, kept)
        mean, covariance = shrunk_covariance(rows, weights, ridge)
        if not covariance.any():
            return every
        distances = mahalanobis(X, mean, covariance)
        nearest = distances <= quantiles(distances, [CORE_SHARE], sample_weight)[0]
        if np.array_equal(nearest, kept):
            break
        kept = nearest
    return kept if np.ptp(X[kept], axis=0).any() else every


def root_of(covariance: FloatArray, power: float) -> FloatArray:
    """Return a power of a positive semidefinite matrix; its smallest eigenvalues are raised."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, EXACT_SHARE**2 * max(values.mean(), np.finfo(float).tiny))
    return np.asarray((vectors * values**power) @ vectors.T)


def find_span(
    X: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return principal components of rows, one below the other, and their variances."""
    _, rows = center_rows(X, sample_weight)
    tall = rows.shape[1] <= len(rows)
    variances, vectors = np.linalg.eigh(rows.T @ rows if tall else rows @ rows.T)
    # The products have lost half of the digits: what is smaller is rounding.
    large = variances > LONG_SUM * variances[-1]
    variances, vectors = variances[large], vectors[:, large]
    directions = vectors.T if tall else (vectors / np.sqrt(variances)).T @ rows
    return directions, variances
