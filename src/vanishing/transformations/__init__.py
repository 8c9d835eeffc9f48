"""Maps of the samples that a detector learns to tell apart: one file a set of transformations.

A set (``Rotations(image_shape=(28, 28))``) is a small configuration object. Asked for the width of
the data it returns the single transformations T_1..T_M, each of which acts on a whole block of
rows, in the array library of the block.
"""

from vanishing.transformations.base import Transformation, Transformations
from vanishing.transformations.callable import Callable
from vanishing.transformations.combined import Product, Union
from vanishing.transformations.flips import Flips
from vanishing.transformations.identity import Identity
from vanishing.transformations.random_affine import RandomAffine
from vanishing.transformations.rotations import Rotations
from vanishing.transformations.translations import Translations

__all__ = [
    "Callable",
    "Flips",
    "Identity",
    "Product",
    "RandomAffine",
    "Rotations",
    "Transformation",
    "Transformations",
    "Translations",
    "Union",
]
