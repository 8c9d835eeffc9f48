"""Sample weights of training rows, and statistics that take them.

A sample weight of None stands for ones. Whole numbers are repeated rows; other weights are scaled
to the mean 1, as means do not depend on their scale, but quantiles and penalties depend on the
number of rows.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from vanishing.arrays.namespace import Array, FloatArray, IntArray, take_rows
from vanishing.data.source import check_weights


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


def sort_rows(X: FloatArray) -> SortedRows:
    """Sort rows, by the first column and then, where numbers are the same, by the next ones."""
    order = np.arange(len(X))
    group = np.zeros_like(order)  # place of the first row that is not told from the one here yet
    tied = order.copy()  # places of rows that are not told from some other
    for column in X.T:
        values = column[order[tied]]
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
    return np.asarray(
        values.mean(axis=0)
        if sample_weight is None
        else np.average(values, axis=0, weights=sample_weight)
    )


def mean_and_variance(
    values: FloatArray, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and mean squared deviation of each column."""
    if sample_weight is None:
        return values.mean(axis=0), values.var(axis=0)
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
