"""Sets of transformations that move the pixels of an image."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod
from operator import index

import numpy as np

from vanishing._xp import IntArray
from vanishing.transformations.base import Transformation, Transformations, distinct
from vanishing.transformations.gather import Gather


@dataclass(frozen=True)
class ImageTransformations(Transformations):
    """Base of the sets that move pixels: what they do to one grid of pixel numbers says it all.

    Parameters
    ----------
    image_shape : tuple of int
        Height and width, and the number of channels if it is not 1 (channels last). A row of the
        data is such an image, flattened as ``image.reshape(-1)`` does.
    """

    image_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        try:
            shape = tuple(index(size) for size in self.image_shape)
        except TypeError:
            shape = ()
        if len(shape) not in (2, 3) or min(shape) < 1:
            raise ValueError(
                "image_shape must be (height, width) or (height, width, channels), got "
                f"{self.image_shape!r}"
            )
        object.__setattr__(self, "image_shape", shape)

    @abstractmethod
    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Yield the name of each transformation and the image that it makes of ``pixels``.

        Parameters
        ----------
        pixels : int array of shape ``image_shape``
            The number of each pixel, 0, 1, 2, ...
        """

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the single transformations of flattened images."""
        n_pixels = prod(self.image_shape)
        if n_pixels != n_features:
            raise ValueError(
                f"image shape {self.image_shape} has {n_pixels} "
                f"{'pixels' if len(self.image_shape) == 2 else 'pixel values'}, the data has "
                f"{n_features} columns; {_remedy(n_features)}"
            )
        pixels = np.arange(n_pixels, dtype=np.intp).reshape(self.image_shape)
        return distinct(Gather(name, image.reshape(-1)) for name, image in self.moved(pixels))


def _remedy(n_features: int) -> str:
    side = isqrt(n_features)
    guess = f", for instance {(side, side)}" if side * side == n_features else ""
    return (
        f"pass the image_shape of the rows{guess}, and raw images: a reduction of dimension has to "
        "come after the transformations"
    )
