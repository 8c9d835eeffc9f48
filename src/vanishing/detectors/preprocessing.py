"""Fitting a preprocessor to all transformed copies of the data together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    is_on_cpu,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.data.inputs import prepare_for_sklearn
from vanishing.detectors.covariance import ROWS_PER_COLUMN
from vanishing.detectors.gradients import OrientedGradients
from vanishing.detectors.sample_weights import fit_pca, take_weights, total_weight
from vanishing.levels import BLOCK
from vanishing.transformations import Gather, Transformation


def check_takes_weights(preprocessor: Any) -> None:
    """Raise if a preprocessor cannot be fitted to weighted rows."""
    if preprocessor is None or type(split_gradients(preprocessor)[1]) is PCA:
        return
    if not has_fit_parameter(preprocessor, "sample_weight"):
        raise ValueError(
            f"sample_weight was passed, but the preprocessor {type(preprocessor).__name__} takes "
            "none; use PCA or one whose fit takes sample_weight, leave it out, or repeat the rows"
        )


def split_gradients(preprocessor: Any) -> tuple[OrientedGradients | None, Any]:
    """Return the gradients that a pipeline of two steps begins with, or None, and what follows."""
    if type(preprocessor) is Pipeline and len(preprocessor.steps) == 2:
        (_, first), (_, last) = preprocessor.steps
        if isinstance(first, OrientedGradients):
            return first, last
    return None, preprocessor


def fit_preprocessor(
    template: Any,
    rows: Array,
    transformations: Sequence[Transformation],
    sample_weight: FloatArray | None,
) -> Any:
    """Fit a copy of a preprocessor to all transformed copies of the rows, with the same weights."""
    preprocessor = clone(template)
    n_copies = len(transformations)
    gradients, last = split_gradients(preprocessor)
    if gradients is not None:
        gradients.fit(move_to_numpy(rows[:1, :]))
    n_columns = int(rows.shape[1]) if gradients is None else gradients.n_features_out
    # Where scikit-learn takes other libraries, it has to fit in that of the rows.
    is_numpy = isinstance(prepare_for_sklearn(rows[:1, :]), np.ndarray)
    if is_numpy and _takes_covariance(last, n_copies * int(rows.shape[0]), n_columns):
        total = n_copies * total_weight(sample_weight, int(rows.shape[0]))
        moments = _measure_union(rows, transformations, gradients, sample_weight)
        set_components(last, *moments, total)
        return preprocessor
    union = namespace(rows).concat([each(rows) for each in transformations])
    copies = prepare_for_sklearn(union if gradients is None else gradients.measure(union))
    if sample_weight is None:
        last.fit(copies)
        return preprocessor
    if not isinstance(copies, np.ndarray):  # scikit-learn would mix two libraries
        raise ValueError(
            "sample_weight beside a preprocessor takes NumPy arrays, or "
            "sklearn.set_config(array_api_dispatch=False)"
        )
    weights = np.tile(sample_weight, n_copies)
    if type(last) is PCA:
        fit_pca(last, copies, weights)
    else:
        last.fit(copies, sample_weight=weights)
    return preprocessor


# --- Principal components of all copies, none of which is made ------------------------------------
#
# With many more rows than columns scikit-learn takes the eigenvectors of the covariance. That of
# an image whose pixels are moved is that of the image with rows and columns moved, so that one pass
# over the rows gives the covariance of all copies. Gradients of the copies take a pass for each.


def _takes_covariance(preprocessor: Any, n_rows: int, n_columns: int) -> bool:
    """Say whether the principal components are those of the covariance."""
    if type(preprocessor) is not PCA or not isinstance(preprocessor.n_components, int):
        return False
    if not 0 < preprocessor.n_components <= n_columns:
        return False  # scikit-learn says what is wrong
    many = n_rows >= ROWS_PER_COLUMN * n_columns and n_columns**2 <= BLOCK
    solver = preprocessor.svd_solver
    return solver == "covariance_eigh" or (solver == "auto" and many)


def _measure_union(
    rows: Array,
    transformations: Sequence[Transformation],
    gradients: OrientedGradients | None,
    sample_weight: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of all copies together, or of their gradients."""
    known = None
    if gradients is None and any(isinstance(each, Gather) for each in transformations):
        known = _measure(rows, None, sample_weight)
    moments = []
    for each in transformations:
        if known is not None and isinstance(each, Gather):
            mean, covariance = known
            moved = each.columns
            moments.append((mean[moved], covariance[np.ix_(moved, moved)]))
        else:
            moments.append(_measure(rows, partial(_make_copy, each, gradients), sample_weight))
    means = np.stack([mean for mean, _ in moments])
    middle = means.mean(axis=0)
    apart = means - middle
    within = sum(covariance for _, covariance in moments)
    return middle, (within + apart.T @ apart) / len(moments)


def _make_copy(
    transformation: Transformation, gradients: OrientedGradients | None, rows: Array
) -> Array:
    image = transformation(rows)
    return image if gradients is None else gradients.measure(image)


def _measure(
    rows: Array, make_copy: Callable[[Array], Array] | None, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of one copy, in double precision, block by block."""
    xp = namespace(rows)
    n_rows = int(rows.shape[0])
    at_a_time = block_rows(2 * int(rows.shape[1]), cpu=is_on_cpu(rows))
    starts = range(0, n_rows, at_a_time)
    total = total_weight(sample_weight, n_rows)

    def take_block(start: int) -> Array:
        some = rows[start : start + at_a_time, :]
        return xp.astype(some if make_copy is None else make_copy(some), xp.float64)

    # Differences from a mean of some rows have the size of the deviations: in one pass, no digits
    # are lost when the rest of the mean is taken off.
    near = xp.mean(take_block(0), axis=0)
    sums, products = xp.zeros_like(near), xp.zeros_like(near[:, None] * near)
    for start in starts:
        apart = take_block(start) - near
        weights = take_weights(sample_weight, slice(start, start + at_a_time))
        weighted = apart if weights is None else apart * move_like(weights, apart)[:, None]
        sums += xp.sum(weighted, axis=0)
        products += weighted.T @ apart
    rest = move_to_numpy(sums) / total
    return move_to_numpy(near) + rest, move_to_numpy(products) / total - np.outer(rest, rest)


def set_components(pca: PCA, mean: FloatArray, covariance: FloatArray, n_rows: float) -> PCA:
    """Fit principal components to a mean and a covariance, as scikit-learn fits them to rows.

    The covariance is divided by ``n_rows``, the number of rows or the sum of their weights.
    """
    n_features, n_components = len(mean), pca.n_components
    eigenvalues, vectors = np.linalg.eigh(covariance * (n_rows / max(n_rows - 1, 1)))
    # Less than zero by rounding only.
    variances, axes = np.maximum(eigenvalues[::-1], 0.0), vectors.T[::-1]
    largest = np.argmax(np.abs(axes), axis=1)
    axes = axes * np.sign(axes[np.arange(n_features), largest])[:, None]
    pca.mean_ = mean
    pca.components_ = np.ascontiguousarray(axes[:n_components])
    pca.explained_variance_ = variances[:n_components]
    pca.explained_variance_ratio_ = pca.explained_variance_ / variances.sum()
    pca.singular_values_ = np.sqrt(pca.explained_variance_ * max(n_rows - 1, 1))
    rest = variances[n_components:]
    pca.noise_variance_ = float(rest.mean()) if rest.size else 0.0
    pca.n_components_, pca.n_samples_ = n_components, round(n_rows)
    pca.n_features_in_ = n_features
    return pca
