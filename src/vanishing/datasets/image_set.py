"""What the loaders of images return."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing._xp import FloatArray

#: Class numbers. Signed, so that differences of labels are what they seem.
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ImageSet:
    """Images as rows of grey values from 0 to 1, with labels, split into training and test.

    Parameters
    ----------
    name : str
    train_images : array of shape (n_images, height * width)
        Row by row of pixels, top left first.
    train_labels : array of int, of shape (n_images,)
        Index into ``class_names``.
    test_images : array of shape (n_test_images, height * width)
    test_labels : array of int, of shape (n_test_images,)
    image_shape : tuple of two int
        Height and width.
    class_names : tuple of str
    """

    name: str
    train_images: FloatArray
    train_labels: Labels
    test_images: FloatArray
    test_labels: Labels
    image_shape: tuple[int, int]
    class_names: tuple[str, ...]

    def __repr__(self) -> str:
        height, width = self.image_shape
        return (
            f"<ImageSet {self.name!r}: {len(self.train_images)} training and "
            f"{len(self.test_images)} test images of {height} × {width}, "
            f"{len(self.class_names)} classes>"
        )


def grey_levels(pixels: npt.NDArray[np.generic], largest: int, dtype: npt.DTypeLike) -> FloatArray:
    """Turn whole numbers from 0 to ``largest`` into numbers from 0 to 1.

    Parameters
    ----------
    pixels : array of shape (n_images, ...)
    largest : int
    dtype : numpy.float32 or numpy.float64

    Returns
    -------
    array of shape (n_images, n_pixels)
    """
    divided: FloatArray = np.divide(pixels, largest, dtype=check_dtype(dtype))
    return divided.reshape(len(pixels), -1)


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return ``dtype`` as a NumPy dtype, or raise if it cannot hold grey levels well."""
    resolved: np.dtype[Any] = np.dtype(dtype)
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    return resolved
