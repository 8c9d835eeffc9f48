"""Oriented gradients of images: features that say where edges are and which way they run."""

from math import cos, pi, prod, sin
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import block_rows, map_in_threads, threads_for
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    is_on_cpu,
    is_truth_value,
    move_like,
    namespace,
)
from vanishing.data.inputs import UnsupervisedTransformer, refuse_points_as_y, validate_table
from vanishing.saving import Preprocessor

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
