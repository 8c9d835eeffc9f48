"""MNIST and Fashion-MNIST, out of a folder or the internet."""

import os
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from vanishing.datasets.archive import FOLDER_VARIABLE, Archive, files_in_folder
from vanishing.datasets.download import downloaded_files
from vanishing.datasets.image_set import ImageSet, check_dtype, grey_levels

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"

MNIST = Archive(
    title="MNIST",
    folder="mnist",
    url="https://ossci-datasets.s3.amazonaws.com/mnist",
    sha256=MappingProxyType(
        {
            TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        }
    ),
)

# Published by plain HTTP only; the checksums make up for it.
FASHION_MNIST = Archive(
    title="Fashion-MNIST",
    folder="fashion-mnist",
    url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    sha256=MappingProxyType(
        {
            TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        }
    ),
)

DIGITS = tuple("0123456789")
GARMENTS = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def load_mnist(
    *, folder: str | os.PathLike[str] | None = None, dtype: npt.DTypeLike = np.float32
) -> ImageSet:
    """Load MNIST: 60,000 + 10,000 handwritten digits of 28 × 28 pixels.

    The four IDX files, packed by gzip or not, are looked for in the folder, and there first in its
    subfolder ``mnist``. Where no folder is given, they are downloaded (about 11 MB) and kept for
    the next time. Either way their SHA-256 is checked.

    Parameters
    ----------
    folder : str or path, optional
        By default the environment variable VANISHING_DATA. If that is not set either, the files
        are downloaded, which needs ``pip install 'vanishing[data]'``.
    dtype : numpy.float32 or numpy.float64, default=numpy.float32

    Returns
    -------
    ImageSet

    Raises
    ------
    FileNotFoundError
        If the folder does not hold the files.
    ValueError
        If a file is damaged, or another one than it should be.
    ConnectionError
        If the files have to be downloaded and cannot be.
    ImportError
        If they have to be downloaded and pooch is not installed.

    Examples
    --------
    >>> from vanishing.datasets import load_mnist
    >>> mnist = load_mnist()  # doctest: +SKIP
    >>> mnist.train_images.shape  # doctest: +SKIP
    (60000, 784)
    """
    return _load(MNIST, DIGITS, folder, dtype)


def load_fashion_mnist(
    *, folder: str | os.PathLike[str] | None = None, dtype: npt.DTypeLike = np.float32
) -> ImageSet:
    """Load Fashion-MNIST: 60,000 + 10,000 garments of 28 × 28 pixels.

    As :func:`load_mnist`, with the subfolder ``fashion-mnist`` and a download of about 31 MB.

    Parameters
    ----------
    folder : str or path, optional
        By default the environment variable VANISHING_DATA. If that is not set either, the files
        are downloaded, which needs ``pip install 'vanishing[data]'``.
    dtype : numpy.float32 or numpy.float64, default=numpy.float32

    Returns
    -------
    ImageSet

    Examples
    --------
    >>> from vanishing.datasets import load_fashion_mnist
    >>> fashion = load_fashion_mnist(folder="data")  # doctest: +SKIP
    >>> fashion.class_names[fashion.train_labels[0]]  # doctest: +SKIP
    'ankle boot'
    """
    return _load(FASHION_MNIST, GARMENTS, folder, dtype)


def _load(
    archive: Archive,
    class_names: tuple[str, ...],
    folder: str | os.PathLike[str] | None,
    dtype: npt.DTypeLike,
) -> ImageSet:
    check_dtype(dtype)
    if folder is not None:
        paths = files_in_folder(archive, folder, named_by="folder=")
    elif os.environ.get(FOLDER_VARIABLE):
        paths = files_in_folder(archive, os.environ[FOLDER_VARIABLE], named_by=FOLDER_VARIABLE)
    else:
        paths = downloaded_files(archive)
    entries = {file: archive.read(file, path) for file, path in paths.items()}
    _, height, width = entries[TRAIN_IMAGES].shape
    return ImageSet(
        name=archive.folder,
        train_images=grey_levels(entries[TRAIN_IMAGES], 255, dtype),
        train_labels=entries[TRAIN_LABELS].astype(np.int64),
        test_images=grey_levels(entries[TEST_IMAGES], 255, dtype),
        test_labels=entries[TEST_LABELS].astype(np.int64),
        image_shape=(height, width),
        class_names=class_names,
    )
