"""Images: MNIST, Fashion-MNIST and scikit-learn's digits."""

import gzip
import hashlib
import os
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from vanishing.arrays.namespace import FloatArray, import_extra

# --- Sets of IDX files: where they are looked for, and that they are the right ones ---------------


def decompress(content: bytes) -> bytes:
    """Undo gzip, if the content is gzip: file names do not tell."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"it is a damaged or incomplete gzip file ({error})") from error


#: Environment variable that names the folder of data.
FOLDER_VARIABLE = "VANISHING_DATA"


@dataclass(frozen=True)
class Archive:
    """Four IDX files, as published, each with its checksum *after* decompression."""

    title: str
    folder: str
    url: str
    class_names: Sequence[str]
    sha256: Mapping[str, str]

    def read(self, file: str, path: Path) -> npt.NDArray[np.uint8]:
        """Read one of the files from ``path``, or raise if it holds anything else."""
        try:
            content = decompress(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: {error}; {self.remedy()}") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256[file]:
            raise ValueError(
                f"{path} is not the file {file} of {self.title}, or is damaged: the SHA-256 of its "
                f"{len(content)} bytes is {digest}, not {self.sha256[file]}. Files of other sets "
                "have the same names, those of MNIST and Fashion-MNIST for instance; "
                f"{self.remedy()}"
            )
        # The IDX format: the type, the number of axes and their lengths, big-endian, then bytes.
        shape = np.frombuffer(content, dtype=">u4", offset=4, count=content[3])
        return np.frombuffer(content, dtype=np.uint8, offset=4 + shape.nbytes).reshape(shape)

    def remedy(self) -> str:
        """Say how to get the files by hand."""
        files = ", ".join(f"{file}.gz" for file in self.sha256)
        return (
            f"get {files} from {self.url}, put them into a folder, compressed or unpacked, and "
            f"pass that folder as folder= or in the environment variable {FOLDER_VARIABLE}"
        )


def files_in_folder(
    archive: Archive, folder: str | os.PathLike[str], named_by: str
) -> dict[str, Path]:
    """Find the files of ``archive``, in its own subfolder or directly in ``folder``."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(
            f"there is no folder {os.fspath(folder)!r}, which {named_by} names; {archive.remedy()}"
        )
    found = {}
    for file in archive.sha256:
        candidates = [
            place / name for place in (root / archive.folder, root) for name in (f"{file}.gz", file)
        ]
        path = next((path for path in candidates if path.is_file()), None)
        if path is None:
            raise FileNotFoundError(
                f"{archive.title} is not complete in the folder {os.fspath(folder)!r}, which "
                f"{named_by} names: it holds no {file} or {file}.gz, nor does its subfolder "
                f"{archive.folder!r}; {archive.remedy()}"
            )
        found[file] = path
    return found


# --- Files of an archive out of the internet, by pooch, kept in its cache -------------------------


def downloaded_files(archive: Archive) -> dict[str, Path]:
    """Return the files of ``archive`` from the cache, downloading those that are not there."""
    purpose = f"{archive.remedy()}; downloading {archive.title}"
    pooch = import_extra("pooch", extra="data", purpose=purpose)
    import requests

    # Paths of os_cache are those that the system sets aside: ~/.cache/vanishing on Linux.
    cache = Path(pooch.os_cache("vanishing")) / archive.folder
    files = {}
    for file, digest in archive.sha256.items():
        url = f"{archive.url}/{file}.gz"
        try:
            path = pooch.retrieve(
                url, f"sha256:{digest}", fname=file, path=cache, downloader=_unpacked
            )
        except requests.RequestException as error:
            raise ConnectionError(
                f"{archive.title} could not be downloaded from {url} ({error}). Try again with "
                f"internet, or {archive.remedy()}"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"what came from {url} is not the {file} of {archive.title}: {error}. Try again, "
                f"or {archive.remedy()}"
            ) from error
        files[file] = Path(path)
    return files


def _unpacked(url: str, output_file: str, pooch: Any) -> None:
    """Download and unpack, so that pooch checks the content and not its compression."""
    from pooch import HTTPDownloader

    HTTPDownloader()(url, output_file, pooch)
    packed = Path(output_file)
    packed.write_bytes(decompress(packed.read_bytes()))


# --- What the loaders of images return ------------------------------------------------------------

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
    """Turn images of whole numbers from 0 to ``largest`` into rows of numbers from 0 to 1."""
    divided: FloatArray = np.divide(pixels, largest, dtype=check_dtype(dtype))
    return divided.reshape(len(pixels), -1)


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return ``dtype`` as a NumPy dtype, or raise if it cannot hold grey levels well."""
    resolved: np.dtype[Any] = np.dtype(dtype)
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    return resolved


# --- MNIST and Fashion-MNIST, out of a folder or the internet -------------------------------------

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"

MNIST, FASHION_MNIST = (
    Archive(folder=folder, **record)
    for folder, record in tomllib.loads(
        Path(__file__).with_name("images.toml").read_text(encoding="utf-8")
    ).items()
)


def load_mnist(
    *, folder: str | os.PathLike[str] | None = None, dtype: npt.DTypeLike = np.float32
) -> ImageSet:
    """Load MNIST: 60,000 + 10,000 handwritten digits of 28 × 28 pixels.

    The four IDX files, compressed by gzip or not, are read from the folder or its subfolder
    ``mnist``. If no folder is given, they are downloaded (about 11 MB) and cached. Their SHA-256 is
    checked in both cases.

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
        If the files are not in the folder.
    ValueError
        If a file is damaged, or is not the expected one.
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
    return _load(MNIST, folder, dtype)


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
    return _load(FASHION_MNIST, folder, dtype)


def _load(
    archive: Archive, folder: str | os.PathLike[str] | None, dtype: npt.DTypeLike
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
        class_names=tuple(archive.class_names),
    )


# --- The small digits that come with scikit-learn, in the form of MNIST ---------------------------


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
