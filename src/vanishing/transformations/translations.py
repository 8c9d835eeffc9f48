"""Shifts of images, with reflected pixels where nothing is left to shift in."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from operator import index

import numpy as np

from vanishing._xp import IntArray
from vanishing.transformations.image import ImageTransformations


@dataclass(frozen=True)
class Translations(ImageTransformations):
    """Shifts by (dy, dx), both out of {-shift, 0, shift}: nine, the identity first.

    Pixels that come in from outside are reflected at the border pixel, which is not repeated, as
    in ``numpy.pad(image, shift, mode="reflect")``.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.
    shift : int, default=8
        In pixels, smaller than height and width by at least 2: a shift by one pixel less than the
        size is a reflection, the same in both directions.
    identity : bool, default=True
        Whether the shift by (0, 0) is one of them. Without it there are eight, to be joined to a
        set that has the identity already.

    Examples
    --------
    >>> from vanishing.transformations import Rotations, Translations, Union
    >>> shifts = Translations(image_shape=(28, 28), shift=4, identity=False)
    >>> both = Union(Rotations(image_shape=(28, 28)), shifts)
    >>> len(both.for_width(784))
    12
    """

    shift: int = 8
    identity: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            shift = index(self.shift)
        except TypeError:
            raise TypeError(f"shift must be a whole number of pixels, got {self.shift!r}") from None
        if shift < 1:
            raise ValueError(f"shift must be at least one pixel, got {shift}")
        smallest = min(self.image_shape[:2])
        if shift > smallest - 2:
            largest = (
                f"pass a shift of at most {smallest - 2}" if smallest > 2 else "use larger images"
            )
            raise ValueError(
                f"shift must be smaller than the image by at least 2 pixels, got a shift of "
                f"{shift} for an image of shape {self.image_shape}; {largest}"
            )
        object.__setattr__(self, "shift", shift)

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Cut shifted windows out of the padded grid of pixel numbers."""
        s = self.shift
        height, width = pixels.shape[:2]
        borders = ((s, s), (s, s), (0, 0))[: pixels.ndim]
        padded = np.pad(pixels, borders, mode="reflect")
        # 0 before ±s, so that the identity comes first.
        for dy, dx in product((0, -s, s), repeat=2):
            if self.identity or (dy, dx) != (0, 0):
                window = padded[s - dy : s - dy + height, s - dx : s - dx + width]
                yield f"shifted by ({dy}, {dx})", window
