"""Covariances that are shrunk, robust, or known in the span of the rows."""

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf, ledoit_wolf_shrinkage

from vanishing.detectors.sample_weights import (
    concentrate,
    find_shrinkage,
    find_span,
    mahalanobis,
    root_of,
    shrunk_covariance,
)

SHAPES = pytest.mark.parametrize("shape", [(200, 5), (40, 30), (20, 60)])


def rows(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) @ np.diag(np.linspace(0.3, 3, shape[1])) + 5


@SHAPES
def test_shrinkage_is_that_of_ledoit_and_wolf(shape):
    X = rows(shape)
    found = find_shrinkage(X)
    assert found.rho == pytest.approx(ledoit_wolf_shrinkage(X), rel=1e-9)
    np.testing.assert_allclose(shrunk_covariance(X, None)[1], LedoitWolf().fit(X).covariance_)


@SHAPES
def test_whole_weights_are_repeated_rows(shape):
    X = rows(shape)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = shrunk_covariance(X, counts.astype(float))
    repeated = shrunk_covariance(np.repeat(X, counts, axis=0), None)
    for found, expected in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@SHAPES
def test_the_span_holds_all_rows(shape):
    X = rows(shape)
    directions, variances = find_span(X)
    assert len(variances) == min(shape[0] - 1, shape[1])
    centred = X - X.mean(axis=0)
    inside = centred @ directions.T
    np.testing.assert_allclose(inside @ directions, centred, atol=1e-9)
    np.testing.assert_allclose(np.mean(inside**2, axis=0), variances, rtol=1e-9)
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(variances)), atol=1e-8)


@pytest.mark.parametrize("ridge", [None, 1e-9])
def test_concentration_leaves_a_group_of_outliers_out(ridge):
    X = rows((200, 4))
    X[:30] += [20, -20, 20, -20]
    kept = concentrate(X, None, ridge=ridge)
    assert kept.sum() == 150
    assert not kept[:30].any()


def test_distances_and_roots():
    X = rows((100, 4))
    mean, covariance = shrunk_covariance(X, None)
    whitened = (X - mean) @ root_of(covariance, -0.5)
    np.testing.assert_allclose(
        np.sum(whitened**2, axis=1), mahalanobis(X, mean, covariance), rtol=1e-9
    )


def test_equal_rows_are_all_kept():
    assert concentrate(np.ones((10, 3)), None).all()


def test_rows_that_are_alike_in_all_directions_are_shrunk_in_full():
    """The covariance is then the multiple of the identity already."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert find_shrinkage(corners).rho == 1.0
