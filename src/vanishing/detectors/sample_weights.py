"""Rows of training data that count more or less than once (``sample_weight``).

Counts are None where every row counts once. Whole numbers are repeated rows; other weights are
scaled to the mean 1, as means do not depend on their scale, but quantiles and penalties depend on
the number of rows.
"""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils.validation import has_fit_parameter

from vanishing.arrays.namespace import Array, FloatArray, take_rows
from vanishing.data.source import check_weights

#: Larger sums are no numbers of rows, but whole numbers by accident, as all large ones are.
MOST_ROWS = 2.0**53


def counted(X: Array, sample_weight: Any) -> tuple[Array, FloatArray | None]:
    """Return the rows that count, and how often each does.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,) or None

    Returns
    -------
    X : array of shape (n_counted, n_features)
    counts : array of shape (n_counted,) or None
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
    shares = weights / weights.max()  # whose sum does not overflow
    return X, shares / shares.mean()


def some(counts: FloatArray | None, rows: Any) -> FloatArray | None:
    """Return the counts of some rows."""
    return None if counts is None else counts[rows]


def total(counts: FloatArray | None, n_rows: int) -> float:
    """Return how many rows there are, those that count twice counted twice."""
    return n_rows if counts is None else float(counts.sum())


def mean_of(values: FloatArray, counts: FloatArray | None) -> FloatArray:
    """Return the mean of each column."""
    return np.asarray(
        values.mean(axis=0) if counts is None else np.average(values, axis=0, weights=counts)
    )


def mean_and_variance(
    values: FloatArray, counts: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and mean squared deviation of each column."""
    if counts is None:
        return values.mean(axis=0), values.var(axis=0)
    mean = mean_of(values, counts)
    return mean, mean_of((values - mean) ** 2, counts)


def quantiles(values: FloatArray, shares: Any, counts: FloatArray | None) -> FloatArray:
    """Return quantiles of each column, linear between neighbours as those of NumPy.

    Parameters
    ----------
    values : array of shape (n_rows,) or (n_rows, n_columns)
    shares : sequence of float
    counts : array of shape (n_rows,) or None

    Returns
    -------
    array of shape (n_shares,) or (n_shares, n_columns)
    """
    if counts is None:
        return np.asarray(np.quantile(values, shares, axis=0))
    if values.ndim == 2:
        return np.stack([quantiles(column, shares, counts) for column in values.T], axis=1)
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])  # row i takes the places up to ends[i] among all that count
    places = np.asarray(shares) * (max(ends[-1], 1.0) - 1)
    below = np.floor(places)

    def at(place: FloatArray) -> FloatArray:
        found = np.searchsorted(ends, place + 1)  # places are counted from 0
        return values[order[np.minimum(found, len(order) - 1)]]

    lower, upper = at(below), at(below + 1)
    # As NumPy: exact where both are the same.
    return np.asarray(lower + (upper - lower) * (places - below))


def drawn(
    X: FloatArray, counts: FloatArray | None, rng: np.random.Generator, n_rows: int
) -> FloatArray:
    """Return rows that contrasts are made of, drawn as often as they count; all, without counts."""
    if counts is None:
        return X
    return np.asarray(X[rng.choice(len(X), size=n_rows, p=counts / counts.sum())])


def fit_pca(pca: PCA, X: FloatArray, counts: FloatArray | None) -> PCA:
    """Fit principal components, of rows that count as often as they do.

    Scikit-learn's takes no weights. It is given √w (x - mean) and the same with the other sign:
    rows of mean 0 that have the covariance of the weighted ones.
    """
    if counts is None:
        return pca.fit(X)
    n_rows, n_counted = len(X), counts.sum()
    mean, _ = mean_and_variance(X, counts)
    half = np.sqrt(counts * (n_rows / n_counted))[:, None] * (X - mean)
    pca.fit(np.concatenate([half, -half]))
    pca.mean_ = mean
    # From 2n rows less one to the number of rows that count less one.
    factor = (2 * n_rows - 1) / (2 * n_rows) * n_counted / max(n_counted - 1, 1)
    pca.explained_variance_ = pca.explained_variance_ * factor
    pca.noise_variance_ = pca.noise_variance_ * factor
    return pca


def check_takes_weights(preprocessor: Any) -> None:
    """Raise if a preprocessor cannot be fitted to rows that count more or less than once."""
    if preprocessor is None or type(preprocessor) is PCA:
        return
    if not has_fit_parameter(preprocessor, "sample_weight"):
        raise ValueError(
            f"sample_weight was passed, but the preprocessor {type(preprocessor).__name__} takes "
            "none; use PCA or one whose fit takes sample_weight, leave it out, or repeat the rows"
        )


def fit_weighted(preprocessor: Any, copies: Any, counts: FloatArray | None) -> Any:
    """Fit a preprocessor to copies of the rows, one after the other, of which all count alike."""
    if counts is None:
        return preprocessor.fit(copies)
    if not isinstance(copies, np.ndarray):  # scikit-learn would mix two libraries
        raise ValueError(
            "sample_weight beside a preprocessor takes NumPy arrays, or "
            "sklearn.set_config(array_api_dispatch=False)"
        )
    weights = np.tile(counts, len(copies) // len(counts))
    if type(preprocessor) is PCA:
        return fit_pca(preprocessor, copies, weights)
    return preprocessor.fit(copies, sample_weight=weights)
