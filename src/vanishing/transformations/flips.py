"""Mirror images."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vanishing._xp import IntArray
from vanishing.transformations.image import ImageTransformations


@dataclass(frozen=True)
class Flips(ImageTransformations):
    """The image as it is, flipped left-right, up-down, and both.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.

    Examples
    --------
    >>> from vanishing.transformations import Flips
    >>> [flip.name for flip in Flips(image_shape=(28, 28)).for_width(784)]
    ['not flipped', 'flipped left-right', 'flipped up-down', 'flipped both ways']
    """

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Flip the grid of pixel numbers."""
        yield "not flipped", pixels
        yield "flipped left-right", np.flip(pixels, axis=1)
        yield "flipped up-down", np.flip(pixels, axis=0)
        yield "flipped both ways", np.flip(pixels, axis=(0, 1))
