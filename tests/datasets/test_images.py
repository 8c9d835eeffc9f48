"""Loaders of images: where they find files, what they refuse, what they return."""

import gzip
import hashlib
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.support.paths import find_image_sets

from vanishing.datasets import images as mnist_module
from vanishing.datasets import load_digits_images, load_fashion_mnist, load_mnist
from vanishing.datasets.images import (
    FASHION_MNIST,
    MNIST,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
)

FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


def idx(array):
    """The array as the content of an IDX file."""
    lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


def small_contents():
    """Contents of the four files of a set of 6 + 3 images of 4 × 5."""
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 256, (6, 4, 5)), rng.integers(0, 256, (3, 4, 5))
    arrays = (train, np.arange(6), test, np.array([9, 1, 1]))
    return {file: idx(array) for file, array in zip(FILES, arrays, strict=True)}


CONTENTS = small_contents()


@pytest.fixture(autouse=True)
def _small_set_and_no_folder(request, monkeypatch):
    """A set of nine images in place of MNIST, no folder by default, nothing from the internet."""
    if "real_folder" in request.fixturenames:
        return
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in CONTENTS.items()}
    small = replace(MNIST, url="http://127.0.0.1:9", sha256=digests)
    monkeypatch.setattr(mnist_module, "MNIST", small)
    monkeypatch.delenv("VANISHING_DATA", raising=False)


def write(folder, *, packed=True, suffix=".gz", **changed):
    """Write the files of the small set into a folder; ``changed`` gives other bytes for some."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in CONTENTS.items():
        stored = gzip.compress(content) if packed else content
        (folder / f"{file}{suffix}").write_bytes(changed.get(file, stored))
    return folder


def assert_is_small_set(images):
    assert repr(images) == ("<ImageSet 'mnist': 6 training and 3 test images of 4 × 5, 10 classes>")
    pixels = np.frombuffer(CONTENTS[TRAIN_IMAGES], np.uint8, offset=16).reshape(6, 20)
    np.testing.assert_array_equal(images.train_images, pixels.astype(np.float32) / 255)
    np.testing.assert_array_equal(images.train_labels, np.arange(6))
    np.testing.assert_array_equal(images.test_labels, [9, 1, 1])
    assert images.test_images.shape == (3, 20)
    assert images.train_labels.dtype == images.test_labels.dtype == np.int64


# --- files in a folder --------------------------------------------------------------------------


@pytest.mark.parametrize("subfolder", ["", "mnist"])
@pytest.mark.parametrize(
    ("packed", "suffix"), [(True, ".gz"), (False, ""), (False, ".gz"), (True, "")]
)
def test_layouts(tmp_path, subfolder, packed, suffix):
    write(tmp_path / subfolder, packed=packed, suffix=suffix)
    assert_is_small_set(load_mnist(folder=tmp_path))
    assert_is_small_set(load_mnist(folder=str(tmp_path)))


def test_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("VANISHING_DATA", str(write(tmp_path / "data")))
    assert_is_small_set(load_mnist())
    with pytest.raises(FileNotFoundError, match="'elsewhere', which folder= names"):
        load_mnist(folder="elsewhere")


def test_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "data")
    assert_is_small_set(load_mnist(folder="~/data"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float64"])
def test_dtype(tmp_path, dtype):
    images = load_mnist(folder=write(tmp_path), dtype=dtype)
    assert images.train_images.dtype == images.test_images.dtype == dtype
    assert images.train_images.min() >= 0
    assert images.train_images.max() <= 1
    assert images.train_images.flags.writeable


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist, load_digits_images])
def test_other_dtypes_are_refused_before_anything_is_read(load):
    with pytest.raises(ValueError, match="dtype must be float32 or float64, got 'uint8'"):
        load(dtype="uint8")


def test_missing_folder(monkeypatch):
    monkeypatch.setenv("VANISHING_DATA", "no/such/folder")
    with pytest.raises(FileNotFoundError) as error:
        load_fashion_mnist()
    assert "no folder 'no/such/folder', which VANISHING_DATA names" in str(error.value)
    assert FASHION_MNIST.url in str(error.value)


@pytest.mark.parametrize("file", FILES)
def test_missing_file(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    (write(tmp_path / "data" / "mnist") / f"{file}.gz").unlink()
    with pytest.raises(FileNotFoundError) as error:
        load_mnist(folder="data")
    assert f"not complete in the folder 'data', which folder= names: it holds no {file}" in str(
        error.value
    )
    assert "put them into a folder" in str(error.value)


GOOD = CONTENTS[TRAIN_IMAGES]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not the file .* or is damaged"),
        (b"<!DOCTYPE html>", "is not the file .* or is damaged"),
        (GOOD[:10], "SHA-256 of its 10 bytes"),
        (GOOD + b"\x00", "is not the file .* or is damaged"),
        (gzip.compress(GOOD)[:-9], "damaged or incomplete gzip"),
        (gzip.compress(GOOD)[:-8] + bytes(8), "damaged or incomplete gzip"),
        (gzip.compress(GOOD[:-1]), f"SHA-256 of its {len(GOOD) - 1} bytes"),
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "is not the file train-images-idx3-ubyte of MNIST"),
    ],
    ids=[
        "empty",
        "web page",
        "cut off",
        "too long",
        "gzip cut off",
        "gzip damaged",
        "packed and cut off",
        "one bit",
    ],
)
def test_damaged_files(tmp_path, content, message):
    write(tmp_path, **{TRAIN_IMAGES: content})
    with pytest.raises(ValueError, match=message) as error:
        load_mnist(folder=tmp_path)
    assert f"{TRAIN_IMAGES}.gz" in str(error.value)
    assert "put them into a folder" in str(error.value)


def test_files_of_another_set(tmp_path):
    with pytest.raises(
        ValueError, match=r"is not the file .* of Fashion-MNIST, or is damaged: the SHA-256"
    ):
        load_fashion_mnist(folder=write(tmp_path))


# --- files from the internet --------------------------------------------------------------------


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def cache(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    folder = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda project: folder / project)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder / "vanishing" / "mnist"


@pytest.fixture
def mirror(tmp_path, monkeypatch, cache):
    """A folder whose files are on a server of this machine, which the loader downloads from."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(mnist_module, "MNIST", replace(mnist_module.MNIST, url=url))
        yield folder
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("packed", [True, False])
def test_download_and_cache(mirror, cache, packed):
    write(mirror, packed=packed)
    assert_is_small_set(load_mnist())
    assert {path.name for path in cache.iterdir()} == set(FILES)
    for file in FILES:
        (mirror / f"{file}.gz").unlink()
    assert_is_small_set(load_mnist())


def test_empty_variable_is_no_folder(mirror, monkeypatch):
    write(mirror)
    monkeypatch.setenv("VANISHING_DATA", "")
    assert_is_small_set(load_mnist())


def test_damaged_cache_is_downloaded_again(mirror, cache):
    write(mirror)
    load_mnist()
    (cache / TEST_LABELS).write_bytes(b"damaged")
    assert_is_small_set(load_mnist())


@pytest.mark.parametrize(
    "content",
    [b"<html>log in to this network</html>", gzip.compress(GOOD)[:40], GOOD[:-1]],
    ids=["web page", "gzip cut off", "cut off"],
)
def test_download_of_something_else(mirror, cache, content):
    write(mirror, **{TRAIN_IMAGES: content})
    with pytest.raises(ValueError, match=f"{TRAIN_IMAGES}.gz is not the {TRAIN_IMAGES} of MNIST"):
        load_mnist()
    assert not list(cache.glob("*")), "nothing wrong is kept"


def test_file_gone_from_the_mirror(mirror):
    with pytest.raises(ConnectionError, match=r"could not be downloaded .*404"):
        load_mnist()


def test_no_network(cache):
    with pytest.raises(ConnectionError) as error:
        load_mnist()  # nothing listens at the port of the small set's address
    assert "MNIST could not be downloaded from http://127.0.0.1:9" in str(error.value)
    assert "pass that folder as folder= or in the environment variable" in str(error.value)


def test_no_pooch(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'vanishing\[data\]'") as error:
        load_mnist()
    assert "VANISHING_DATA" in str(error.value)


def test_addresses():
    assert MNIST.url.startswith("https://")
    assert set(MNIST.sha256) == set(FASHION_MNIST.sha256) == set(FILES)
    digests = [*MNIST.sha256.values(), *FASHION_MNIST.sha256.values()]
    assert len(set(digests)) == 8
    assert {len(digest) for digest in digests} == {64}


# --- the real sets ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_folder():
    return find_image_sets()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "first_labels", "mean", "deviation", "first_name"),
    [
        (load_mnist, [5, 0, 4, 1, 9], 0.1307, 0.3081, "5"),
        (load_fashion_mnist, [9, 0, 0, 3, 0], 0.2860, 0.3530, "ankle boot"),
    ],
)
def test_real_sets(real_folder, load, first_labels, mean, deviation, first_name):
    images = load(folder=real_folder)
    assert images.train_images.shape == (60_000, 784)
    assert images.test_images.shape == (10_000, 784)
    assert images.image_shape == (28, 28)
    assert images.train_images.dtype == np.float32
    np.testing.assert_array_equal(images.train_labels[:5], first_labels)
    assert np.bincount(images.test_labels).size == len(images.class_names) == 10
    assert images.train_images.mean(dtype=np.float64) == pytest.approx(mean, abs=1e-4)
    assert images.train_images.std(dtype=np.float64) == pytest.approx(deviation, abs=1e-4)
    assert images.class_names[images.train_labels[0]] == first_name


# --- digits of scikit-learn ---------------------------------------------------------------------


def test_digits():
    images = load_digits_images()
    assert images.train_images.shape[1] == images.test_images.shape[1] == 64
    assert len(images.train_images) + len(images.test_images) == 1797
    assert images.train_images.dtype == np.float32
    assert images.train_labels.dtype == np.int64
    for values in (images.train_images, images.test_images):
        assert values.min() == 0
        assert values.max() == 1
    shares = [np.bincount(y) / len(y) for y in (images.train_labels, images.test_labels)]
    np.testing.assert_allclose(*shares, atol=0.003)


def test_digits_are_split_without_overlap_and_by_the_seed():
    first, again, other = (load_digits_images(random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.train_images, again.train_images)
    assert (first.train_images != other.train_images).any()
    both = np.concatenate([first.train_images, first.test_images])
    assert len(np.unique(both, axis=0)) == len(both)
    assert len(load_digits_images(test_size=0.5).test_images) == 899
