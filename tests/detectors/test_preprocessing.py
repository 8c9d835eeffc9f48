"""Preprocessors of all transformed copies together."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from vanishing import TransformationDetector
from vanishing.detectors.preprocessing import fit_preprocessor, set_components
from vanishing.detectors.score import Coordinates
from vanishing.transformations import AnyOf, Product, RandomAffine, Rotations, Translations

SHAPE = (8, 8)
SHIFTS = Translations(SHAPE, shift=2)
ATTRIBUTES = ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_")


@pytest.fixture(scope="module")
def images():
    return load_digits().data[:300] / 16


@pytest.mark.parametrize(
    "chosen",
    [SHIFTS, AnyOf(Rotations(SHAPE), RandomAffine(2)), Product(Rotations(SHAPE), RandomAffine(1))],
    ids=["pixels", "some pixels", "no pixels"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_principal_components_are_those_of_the_copies(images, chosen, dtype):
    transformations = chosen.for_width(64)
    rows = images.astype(dtype)
    found = fit_preprocessor(PCA(4), rows, transformations, None)
    copies = np.vstack([each(rows.astype(float)) for each in transformations])
    expected = PCA(4, svd_solver="full").fit(copies)
    tolerance = 1e-9 if dtype == "float64" else 1e-5
    for name in ATTRIBUTES:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=tolerance, atol=tolerance
        )
    assert found.noise_variance_ == pytest.approx(expected.noise_variance_)
    assert (found.n_components_, found.n_samples_) == (4, len(copies))
    np.testing.assert_allclose(
        np.abs(found.transform(copies[:50])), np.abs(expected.transform(copies[:50])), atol=1e-4
    )


def test_weights_are_repeated_rows(images):
    transformations = SHIFTS.for_width(64)
    counts = np.random.default_rng(0).integers(1, 4, len(images))
    weighted = fit_preprocessor(PCA(4), images, transformations, counts.astype(float))
    repeated = fit_preprocessor(PCA(4), np.repeat(images, counts, axis=0), transformations, None)
    for name in (*ATTRIBUTES, "components_", "n_samples_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-9)


def test_other_preprocessors_see_the_copies(images):
    transformations = Rotations(SHAPE).for_width(64)
    found = fit_preprocessor(StandardScaler(), images, transformations, None)
    copies = np.vstack([each(images) for each in transformations])
    np.testing.assert_allclose(found.mean_, copies.mean(axis=0))


def test_scikit_learn_fits_in_the_library_of_the_rows(images, monkeypatch):
    """If it is told to: components of another library could not be applied to them."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    detector = TransformationDetector(SHIFTS, preprocessor=PCA(4), contamination=0.1)
    expected = detector.fit(images).offset_
    with config_context(array_api_dispatch=True):
        assert detector.fit(torch.asarray(images)).offset_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("whiten", [True, False])
def test_one_product_gives_all_images(images, whiten):
    transformations = SHIFTS.for_width(64)
    pca = fit_preprocessor(PCA(4, whiten=whiten), images, transformations, None)
    coordinates = Coordinates(None, None, transformations, pca)
    found = list(coordinates.each(images))
    for i, transformation in enumerate(transformations):
        np.testing.assert_allclose(found[i], pca.transform(transformation(images)), atol=1e-12)
        np.testing.assert_allclose(found[i], coordinates.image(i, images), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_gives_no_negative_variance(seed):
    axis = np.random.default_rng(seed).normal(size=(1, 6))
    covariance = axis.T @ axis
    assert np.linalg.eigvalsh(covariance)[0] < 0, "by rounding"
    found = set_components(PCA(6), np.zeros(6), covariance, 10)
    assert found.explained_variance_.min() >= 0
    assert np.isfinite(found.singular_values_).all()
