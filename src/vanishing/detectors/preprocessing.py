"""Preprocessors of images: oriented gradients, and components of all transformed copies."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import cos, pi, prod, sin
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from vanishing.arrays.blocks import block_rows, map_in_threads, threads_for
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    is_on_cpu,
    is_truth_value,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.data.inputs import (
    UnsupervisedTransformer,
    prepare_for_sklearn,
    refuse_points_as_y,
    validate_table,
)
from vanishing.detectors.sample_weights import ROWS_PER_COLUMN, fit_pca, take_weights, total_weight
from vanishing.levels import BLOCK
from vanishing.saving import Preprocessor
from vanishing.transformations import Gather, Transformation

# --- Oriented gradients of images: where edges are and which way they run -------------------------

#: Directions of gradients, every 30 degrees.
DIRECTIONS = 12
#: Cells along each side of an image, at most.
CELLS = 7


class OrientedGradients(Preprocessor, UnsupervisedTransformer, BaseEstimator):
    """Features of images: how strong the edges of each direction are in each part of the image.

    The gradient of the grey values is projected on twelve directions. Its positive parts are
    averaged over 7 × 7 overlapping windows, each two cells wide, and the square roots of these
    averages are the features (after the histograms of oriented gradients of Dalal and Triggs).
    Unlike pixels, they change little where an edge moves a little, or where an area is brighter.

    The map is not affine, so detectors with these features neither explain their scores nor become
    ONNX graphs.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels. Each channel has features of its own.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    See Also
    --------
    vanishing.detectors.image_detector : Uses them with ``gradients=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.detectors import OrientedGradients
    >>> image = np.zeros((1, 28, 28))
    >>> image[:, :, 14:] = 1.0  # dark on the left, bright on the right
    >>> features = OrientedGradients((28, 28)).fit_transform(image.reshape(1, 784))
    >>> features.shape
    (1, 588)
    >>> strength = features.reshape(12, 7, 7).max(axis=(1, 2))  # every 30 degrees
    >>> strength[[0, 1, 2, 3, 6]].round(2)  # to the right, turned by 30, 60, 90 and 180 degrees
    array([0.5 , 0.47, 0.35, 0.  , 0.  ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"image_shape": ["array-like"]}

    n_features_in_: int

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        self.image_shape = image_shape

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the width of X; nothing is learned.

        Parameters
        ----------
        X : array-like of shape (n_images, n_pixels)
        y : ignored

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        check_image_shape(self.image_shape)
        validate_table(self, X, reset=True)
        self._check_width(self.n_features_in_)
        return self

    def transform(self, X: Any) -> Array:
        """Return the features of images.

        Parameters
        ----------
        X : array-like of shape (n_images, n_pixels)

        Returns
        -------
        array of shape (n_images, n_channels * 12 * n_cells)
        """
        check_is_fitted(self)
        return self.measure(validate_table(self, X, reset=False))

    def measure(self, rows: Array) -> Array:
        """Return the features of rows that are known to be images, an array of any library.

        Parameters
        ----------
        rows : array of shape (n_images, n_pixels)
            Finite numbers; unlike ``transform``, this does not check them.

        Returns
        -------
        array of shape (n_images, n_channels * 12 * n_cells)
            Of the library of the rows.
        """
        self._check_width(int(rows.shape[1]))
        xp = namespace(rows)
        # A block holds the image, two gradients, a direction, and the pooled rows of it.
        at_a_time = block_rows(5 * int(rows.shape[1]), cpu=is_on_cpu(rows))
        starts = range(0, int(rows.shape[0]), at_a_time)
        blocks = map_in_threads(
            lambda start: self._measure_block(rows[start : start + at_a_time, :]),
            starts,
            threads_for(rows),
        )
        return xp.concat(list(blocks))

    @property
    def n_features_out(self) -> int:
        """Number of features."""
        height, width, *channels = self.image_shape
        return prod(channels) * DIRECTIONS * min(CELLS, height) * min(CELLS, width)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _measure_block(self, rows: Array) -> Array:
        xp = namespace(rows)
        height, width, *channels = self.image_shape
        images = xp.reshape(rows, (rows.shape[0], height, width, prod(channels)))
        # One channel after the other, each an image of its own.
        images = xp.reshape(xp.permute_dims(images, (0, 3, 1, 2)), (-1, height, width))
        over_rows = move_like(_windows(height), images)
        over_columns = move_like(_windows(width), images)

        def pool(positive: Array) -> Array:
            # One product of many rows is much faster than a product for each image.
            columns = xp.reshape(xp.reshape(positive, (-1, width)) @ over_columns, (n, height, -1))
            turned = xp.permute_dims(columns, (0, 2, 1))
            cells = xp.reshape(turned, (-1, height)) @ over_rows
            return xp.permute_dims(xp.reshape(cells, (*turned.shape[:2], -1)), (0, 2, 1))

        n = images.shape[0]
        across, down = _differences(images, 2), _differences(images, 1)
        angles = [2 * pi * k / DIRECTIONS for k in range(DIRECTIONS // 2)]
        forward = [
            # The cosine of a right angle is zero: the root of a rounding error is not a gradient.
            round(cos(angle), 15) * across + round(sin(angle), 15) * down
            for angle in angles
        ]
        # All terms are positive: no digits cancel, whose errors the root would enlarge.
        pooled = [pool(xp.clip(along, min=0.0)) for along in forward]
        pooled += [pool(xp.clip(-along, min=0.0)) for along in forward]
        features = xp.sqrt(xp.stack(pooled, axis=1))
        return xp.reshape(features, (rows.shape[0], -1))

    def _check_width(self, n_columns: int) -> None:
        n_pixels = prod(self.image_shape)
        if n_columns != n_pixels:
            raise ValueError(
                f"X has {n_columns} columns, but images of shape {self.image_shape} have "
                f"{n_pixels} pixels; pass the image_shape of X"
            )


def check_image_shape(image_shape: Any) -> None:
    """Raise if a shape is not that of images with a gradient."""
    is_shape = len(image_shape) in (2, 3) and all(
        isinstance(n, Integral) and not is_truth_value(n) for n in image_shape
    )
    if not is_shape or min(image_shape) < 1 or min(image_shape[:2]) < 2:
        raise ValueError(
            "image_shape must be (height, width) or (height, width, channels), integers with "
            f"height and width of at least 2, got {image_shape}"
        )


def _differences(images: Array, axis: int) -> Array:
    """Return the pixel after less the pixel before; pixels at the border are repeated."""
    xp = namespace(images)
    n = images.shape[axis]

    def take(start: int, stop: int) -> Array:
        return images[:, start:stop, :] if axis == 1 else images[:, :, start:stop]

    after = xp.concat([take(1, n), take(n - 1, n)], axis=axis)
    before = xp.concat([take(0, 1), take(0, n - 1)], axis=axis)
    return after - before


def _windows(side: int) -> FloatArray:
    """Return the matrix that averages over windows of two cells, shape (side, n_cells)."""
    n_cells = min(CELLS, side)
    # Twice the places, in units of 1 / n_cells, so that they are whole numbers.
    pixels, middles = np.arange(1, 2 * side, 2) * n_cells, np.arange(1, 2 * n_cells, 2) * side
    is_inside = np.abs(pixels[:, None] - middles) <= 2 * side
    return np.asarray(is_inside * (n_cells / (2 * side)))


# --- Fitting a preprocessor to all transformed copies of the data together ------------------------


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
        known = _measure(rows, [], sample_weight)
    moments = []
    for each in transformations:
        if known is not None and isinstance(each, Gather):
            mean, covariance = known
            moved = each.columns
            moments.append((mean[moved], covariance[np.ix_(moved, moved)]))
        else:
            steps: list[Callable[[Array], Array]] = [each]
            if gradients is not None:
                steps.append(gradients.measure)
            moments.append(_measure(rows, steps, sample_weight))
    means = np.stack([mean for mean, _ in moments])
    middle = means.mean(axis=0)
    apart = means - middle
    within = sum(covariance for _, covariance in moments)
    return middle, (within + apart.T @ apart) / len(moments)


def _measure(
    rows: Array, steps: Sequence[Callable[[Array], Array]], sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of what steps make of rows, in double precision, by blocks."""
    xp = namespace(rows)
    n_rows = int(rows.shape[0])
    at_a_time = block_rows(2 * int(rows.shape[1]), cpu=is_on_cpu(rows))
    starts = range(0, n_rows, at_a_time)
    total = total_weight(sample_weight, n_rows)

    def take_block(start: int) -> Array:
        some = rows[start : start + at_a_time, :]
        return xp.astype(reduce(lambda made, step: step(made), steps, some), xp.float64)

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
    """Fit principal components to a mean and a covariance, as scikit-learn fits them to rows."""
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
