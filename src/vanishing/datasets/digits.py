"""The small digits that come with scikit-learn, in the form of MNIST."""

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from vanishing.datasets.image_set import ImageSet, grey_levels


def load_digits_images(
    *,
    test_size: float = 0.25,
    random_state: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> ImageSet:
    """Load scikit-learn's digits: 1,797 handwritten digits of 8 × 8 pixels.

    They come with scikit-learn and need no files: a small stand-in for :func:`load_mnist`. They are
    split at random so that each digit has the same share in the training and the test images. The
    images of one writer can be in both, unlike in MNIST.

    Parameters
    ----------
    test_size : float, default=0.25
        Share of the test images.
    random_state : int, default=0
        Seed of the split.
    dtype : numpy.float32 or numpy.float64, default=numpy.float32

    Returns
    -------
    ImageSet

    Examples
    --------
    >>> from vanishing.datasets import load_digits_images
    >>> digits = load_digits_images()
    >>> digits
    <ImageSet 'digits': 1347 training and 450 test images of 8 × 8, 10 classes>
    >>> float(digits.train_images.min()), float(digits.train_images.max())
    (0.0, 1.0)
    """
    pixels, labels = load_digits(return_X_y=True)
    images = grey_levels(pixels, 16, dtype)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images,
        labels.astype(np.int64),
        test_size=test_size,
        random_state=random_state,
        stratify=labels,
    )
    return ImageSet(
        name="digits",
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        image_shape=(8, 8),
        class_names=tuple("0123456789"),
    )
