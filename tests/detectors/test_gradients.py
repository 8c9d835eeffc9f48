"""Oriented gradients of images."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingIdeal
from vanishing.detectors import OrientedGradients, image_detector
from vanishing.detectors.preprocessing import fit_preprocessor
from vanishing.persistence import ModelFileError, load, save, unpack
from vanishing.saving import pack
from vanishing.transformations import Translations

SHAPE = (8, 8)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def measure(images):
    """Return the features of images of shape (n, height, width), by direction and cell."""
    shape = images.shape[1:]
    features = OrientedGradients(shape).fit_transform(images.reshape(len(images), -1))
    return features.reshape(len(images), *shape[2:], 12, *(min(7, side) for side in shape[:2]))


def test_features_are_root_means_of_positive_parts_over_windows():
    images = np.random.default_rng(0).random((3, 28, 28))
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    across = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    features = measure(images)
    for k in range(12):
        along = np.cos(k * np.pi / 6).round(15) * across + np.sin(k * np.pi / 6).round(15) * down
        positive = np.pad(np.maximum(along, 0), ((0, 0), (2, 2), (2, 2)))
        for row, column in np.ndindex(7, 7):
            window = positive[:, 4 * row : 4 * row + 8, 4 * column : 4 * column + 8]
            expected = np.sqrt(window.mean(axis=(1, 2)))
            np.testing.assert_allclose(features[:, k, row, column], expected, rtol=1e-12)


@pytest.mark.parametrize("side", [5, 8, 28, 31])
def test_rotated_images_have_the_same_features_elsewhere(side):
    images = np.random.default_rng(side).random((4, side, side))
    features = measure(images)
    turned = measure(np.rot90(images, axes=(1, 2)))
    # What pointed to the right points up, three directions before.
    expected = np.roll(np.rot90(features, axes=(2, 3)), -3, axis=1)
    np.testing.assert_allclose(turned, expected, rtol=1e-9, atol=1e-12)


def test_brightness_of_everything_does_not_matter_and_contrast_scales():
    images = np.random.default_rng(1).random((4, 12, 9))
    np.testing.assert_allclose(measure(images + 3), measure(images), rtol=1e-6)
    np.testing.assert_allclose(measure(4 * images), 2 * measure(images), rtol=1e-12)
    assert not measure(np.full((1, 12, 9), 0.7)).any()


def test_channels_have_features_of_their_own():
    images = np.random.default_rng(2).random((4, 10, 11, 3))
    features = measure(images)
    assert features.shape == (4, 3, 12, 7, 7)
    for channel in range(3):
        np.testing.assert_allclose(features[:, channel], measure(images[..., channel]), rtol=1e-12)


def test_other_libraries_get_their_own_arrays(digits):
    torch = pytest.importorskip("torch")
    X = digits[0][:50]
    gradients = OrientedGradients(SHAPE)
    found = gradients.measure(torch.tensor(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), gradients.measure(X), rtol=1e-12)


@pytest.mark.parametrize("shape", [(8,), (8, 1), (4, 4, 4, 4), (8, 8, 0)])
def test_shapes_without_gradients_are_refused(shape):
    with pytest.raises(ValueError, match="image_shape must be"):
        OrientedGradients(shape).fit(np.zeros((3, 64)))


def test_images_of_another_shape_are_refused(digits):
    with pytest.raises(ValueError, match=r"X has 64 columns, but images of shape \(7, 8\)"):
        OrientedGradients((7, 8)).fit(digits[0])
    detector = image_detector((6, 6), gradients=True, transformations=Translations(SHAPE, shift=2))
    with pytest.raises(ValueError, match="pass the image_shape of X"):
        detector.fit(digits[0])


# --- In a detector --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last", [PCA(4, svd_solver="full"), PCA(4, svd_solver="covariance_eigh"), StandardScaler()]
)
def test_what_follows_is_fitted_to_the_features_of_all_copies(digits, last):
    X = digits[0][:200]
    transformations = Translations(SHAPE, shift=2).for_width(64)
    template = make_pipeline(OrientedGradients(SHAPE), last)
    found = fit_preprocessor(template, X, transformations, None)
    copies = np.vstack([each(X) for each in transformations])
    expected = clone(template).fit(copies)
    np.testing.assert_allclose(np.abs(found.transform(X)), np.abs(expected.transform(X)), atol=1e-8)
    assert not hasattr(template[0], "n_features_in_")


def test_weights_are_repeated_rows(digits):
    X = digits[0][:120]
    counts = np.random.default_rng(0).integers(1, 4, len(X))
    detector = image_detector(SHAPE, gradients=True, n_components=1, contamination=0.1)
    weighted = clone(detector).fit(X, sample_weight=counts)
    repeated = clone(detector).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(
        weighted.score_samples(X), repeated.score_samples(X), rtol=1e-6, atol=1e-6
    )


def test_gradients_detect_more_than_pixels(digits):
    X, y = digits
    train, test = X[:900][y[:900] % 2 == 0], X[900:]
    is_normal = y[900:] % 2 == 0
    aucs = [
        roc_auc_score(
            is_normal,
            image_detector(SHAPE, gradients=gradients, n_components=(1, 5), contamination=0.05)
            .fit(train)
            .score_samples(test),
        )
        for gradients in (False, True)
    ]
    assert aucs[1] > aucs[0] > 0.9


def test_scores_are_not_explained(digits):
    X = digits[0][:100]
    detector = image_detector(SHAPE, gradients=True, n_components=1, contamination=0.1).fit(X)
    with pytest.raises(ValueError, match="must be affine"):
        detector.explain(X[:1])


# --- In model files -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [SHAPE, list(SHAPE), (4, 8, 2)])
def test_detectors_are_saved(digits, tmp_path, shape):
    X = pd.DataFrame(digits[0][:200]).add_prefix("pixel ")
    shifts = Translations(tuple(shape), shift=1)
    detector = image_detector(
        shape, gradients=True, transformations=shifts, n_components=(1, 3, 3), contamination=0.1
    ).fit(X)
    detector.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.score_samples(X), detector.score_samples(X))
    assert repr(loaded) == repr(detector)
    assert loaded.preprocessor_[0].n_features_out == detector.preprocessor_[0].n_features_out


@pytest.fixture(scope="module")
def pipeline(digits):
    ideal = VanishingIdeal(max_degree=1, tol=0.5)
    return make_pipeline(OrientedGradients(SHAPE), PCA(5), ideal).fit(digits[0][:200])


def test_pipelines_are_saved(digits, pipeline, tmp_path):
    save(pipeline, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.transform(digits[0]), pipeline.transform(digits[0]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{"tuple":[8,8]}', '{"tuple":[8,4]}', r"images of shape \(8, 4\) do not have 64 pixels"),
        ('{"tuple":[8,8]}', '{"tuple":["8","8"]}', "image_shape must be"),
        ('{"tuple":[8,8]}', '{"tuple":[64,1]}', "image_shape must be"),
        ('{"tuple":[8,8]}', "8", "image_shape"),
        ('{"tuple":[8,8]}', '{"tuple":[8,8,1,1]}', "image_shape must be"),
        ('"n_features_in_":64', '"n_features_in_":63', "do not have 63 pixels"),
        ('"n_features_in_":64', '"n_features_in_":"64"', "required type"),
    ],
)
def test_files_of_other_images_are_refused(pipeline, tmp_path, old, new, message):
    """An attacker can write a checksum as well."""
    path = tmp_path / "model.safetensors"
    save(pipeline, path)
    content = path.read_bytes()
    manifest, _, arrays = unpack(io.BytesIO(content), len(content))
    assert old in manifest
    path.write_bytes(pack(manifest.replace(old, new, 1), arrays))
    with pytest.raises(ModelFileError, match=message):
        load(path)


class _OfAnother(OrientedGradients):
    pass


def test_subclasses_are_not_saved(digits, tmp_path):
    ideal = VanishingIdeal(max_degree=1, tol=0.5)
    pipeline = make_pipeline(_OfAnother(SHAPE), PCA(5), ideal).fit(digits[0][:100])
    with pytest.raises(ModelFileError, match="_OfAnother, and cannot be saved"):
        save(pipeline, tmp_path / "model.safetensors")
