"""Sample weights of training rows, and statistics that take them.

A sample weight of None stands for ones. Whole numbers are repeated rows; other weights are scaled
to the mean 1, as means do not depend on their scale, but quantiles and penalties depend on the
number of rows.
"""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from vanishing.arrays.namespace import Array, FloatArray, take_rows
from vanishing.data.source import check_weights

#: Larger sums are no numbers of rows, but whole numbers by accident, as all large ones are.
MOST_ROWS = 2.0**53


def drop_zero_weights(X: Array, sample_weight: Any) -> tuple[Array, FloatArray | None]:
    """Return the rows of positive weight, and their weights.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    X : array of shape (n_kept, n_features)
    sample_weight : array of shape (n_kept,) or None
    """
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
    if np.array_equal(weights, np.round(weights)) and weights.sum() < MOST_ROWS:
        return X, weights
    return X, weights / weights.mean()


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
    """Return quantiles of each column, linear between neighbours as those of NumPy.

    Parameters
    ----------
    values : array of shape (n_rows,) or (n_rows, n_columns)
    shares : sequence of float
    sample_weight : array of shape (n_rows,) or None

    Returns
    -------
    array of shape (n_shares,) or (n_shares, n_columns)
    """
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
