"""Data to try the methods on: images with classes, and points on known varieties."""

from vanishing.datasets.images import ImageSet, load_digits_images, load_fashion_mnist, load_mnist
from vanishing.datasets.varieties import Variety, describe_variety, make_variety, varieties

__all__ = [
    "ImageSet",
    "Variety",
    "describe_variety",
    "load_digits_images",
    "load_fashion_mnist",
    "load_mnist",
    "make_variety",
    "varieties",
]
