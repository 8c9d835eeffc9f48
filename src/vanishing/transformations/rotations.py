"""Rotations by quarter turns: the paper's transformations of images (Rot.)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from vanishing._xp import IntArray
from vanishing.transformations.image import ImageTransformations


@dataclass(frozen=True)
class Rotations(ImageTransformations):
    """Rotations of images, counterclockwise, by multiples of 90 degrees.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.
    angles : tuple of int, default=(0, 90, 180, 270)
        In degrees. Only multiples of 180 if the image is not square.

    Examples
    --------
    >>> from vanishing.transformations import Rotations
    >>> _, quarter, *_ = Rotations(image_shape=(2, 2)).for_width(4)
    >>> quarter.name
    'rotated by 90°'
    >>> import numpy as np
    >>> quarter(np.array([[1, 2, 3, 4]])).reshape(2, 2)
    array([[2, 4],
           [1, 3]])
    """

    angles: tuple[int, ...] = (0, 90, 180, 270)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.angles, Iterable):
            raise TypeError(f"angles must be a sequence of angles, got {self.angles!r}")
        angles = tuple(self.angles)
        if not angles:
            raise ValueError("angles is empty: at least one angle is required")
        if any(angle % 90 for angle in angles):
            raise ValueError(
                f"angles must be multiples of 90 degrees, got {angles}: others would blend pixels; "
                "use Callable with an interpolation of your own for these"
            )
        height, width = self.image_shape[:2]
        if height != width and any(angle % 180 for angle in angles):
            raise ValueError(
                f"an image of shape {self.image_shape} is not square, so that it can be rotated by "
                f"0 and 180 degrees only, got {angles}; pass angles=(0, 180)"
            )
        object.__setattr__(self, "angles", tuple(int(angle) for angle in angles))

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Rotate the grid of pixel numbers."""
        for angle in self.angles:
            yield f"rotated by {angle}°", np.rot90(pixels, angle // 90)
