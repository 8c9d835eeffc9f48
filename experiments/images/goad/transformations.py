"""The 72 geometric transformations of images, all at once and on the device of the images."""

from dataclasses import dataclass

import numpy as np
import torch

from vanishing.transformations import (
    Flips,
    Product,
    Rotations,
    Transformation,
    Transformations,
    Translations,
)


@dataclass(frozen=True)
class LeftRightFlip(Transformations):
    """The image as it is, and flipped left-right.

    Not all four ``Flips``: up-down is left-right and a rotation by 180°, so that maps would repeat.

    Parameters
    ----------
    image_shape : tuple of int
    """

    image_shape: tuple[int, int]

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the two maps."""
        return Flips(self.image_shape).for_width(n_features)[:2]


def geometric_transformations(image_shape: tuple[int, int], shift: int) -> Product:
    """Return 2 flips × 9 translations × 4 rotations, applied in this order (Golan and El-Yaniv).

    Rotations vary fastest, so that the first four maps are the rotations alone.
    """
    return Product(
        LeftRightFlip(image_shape), Translations(image_shape, shift=shift), Rotations(image_shape)
    )


def index_table(transformations: Transformations, n_pixels: int) -> torch.Tensor:
    """Return which pixel of the image becomes each pixel of each copy.

    Parameters
    ----------
    transformations : Transformations
        Maps that move pixels, so that their images of the pixel numbers say it all.
    n_pixels : int

    Returns
    -------
    int64 tensor of shape (n_transformations, n_pixels)
    """
    pixel_numbers = np.arange(n_pixels)[np.newaxis]
    maps = transformations.for_width(n_pixels)
    return torch.from_numpy(
        np.concatenate([transformation(pixel_numbers) for transformation in maps])
    )


def transformed(images: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Return all copies of the images, in one pass over the memory.

    Parameters
    ----------
    images : tensor of shape (n_images, n_pixels)
    table : int64 tensor of shape (n_transformations, n_pixels)

    Returns
    -------
    tensor of shape (n_images, n_transformations, n_pixels)
    """
    return images.index_select(1, table.flatten()).unflatten(1, table.shape)
