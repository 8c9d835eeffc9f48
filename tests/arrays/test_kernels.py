"""Triangular factors: LAPACK by pointers, and NumPy where there are none."""

import ctypes

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.arrays import kernels
from vanishing.datasets import make_variety


@pytest.fixture
def without_pointers(monkeypatch):
    """An interpreter whose C functions ctypes cannot call."""
    monkeypatch.delattr(ctypes, "pythonapi")
    for cached in (kernels._has_pointers, kernels._routine):
        cached.cache_clear()
    yield
    for cached in (kernels._has_pointers, kernels._routine):
        cached.cache_clear()


def test_this_interpreter_has_pointers():
    assert kernels._has_pointers()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 40), (5, 3), (5, 0)])
def test_factors_without_pointers(without_pointers, shape, dtype):
    assert not kernels._has_pointers()
    rng = np.random.default_rng(0)
    first = kernels.qr_factor(rng.normal(size=(5, 9)).astype(dtype))
    values = rng.normal(size=shape).astype(dtype)
    second = kernels.qr_factor(values.copy())
    merged = kernels.merge_factors(first, second)
    assert second.dtype == merged.dtype == dtype
    close = {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(second.T @ second, values @ values.T, **close)
    np.testing.assert_allclose(merged.T @ merged, first.T @ first + values @ values.T, **close)
    np.testing.assert_array_equal(merged, np.triu(merged))


def test_a_fit_is_the_same_without_pointers(monkeypatch):
    X = make_variety("torus", n_samples=5000, noise=0.01, random_state=0)
    expected = VanishingIdeal(max_degree=4, tol=0.05).fit(X)
    monkeypatch.setattr(kernels, "_has_pointers", lambda: False)
    found = VanishingIdeal(max_degree=4, tol=0.05).fit(X)
    np.testing.assert_allclose(found.extents_, expected.extents_, rtol=1e-9)
    np.testing.assert_allclose(found.transform(X[:50]), expected.transform(X[:50]), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 50), (2, 50), (7, 30_000), (31, 5000), (32, 10), (40, 100)])
def test_products_of_few_polynomials(shape, dtype):
    values = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    product, expected = kernels.gram(values), values.astype(np.float64) @ values.T
    assert product.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(product, expected, atol=tolerance * expected.max())
    np.testing.assert_array_equal(product, product.T)


def test_cholesky_factors_only_where_they_are_accurate():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((6, 3000))
    R = kernels.factor_if_regular(values, 1e-9)
    expected = np.abs(kernels.qr_factor(values.copy()))
    np.testing.assert_allclose(np.abs(R), expected, rtol=1e-11, atol=1e-11)
    dependent = values.copy()
    dependent[5] = dependent[:5].sum(axis=0)
    for unfit in (
        dependent,
        dependent + 1e-6 * values,
        values * np.array([1, 1, 1, 1, 1, 0.0])[:, None],
        values * 1e200,
        values * 1e-200,
        np.where(values > 3, np.nan, values),
        values[:, :20],
        values.astype(np.float32),
    ):
        with np.errstate(over="ignore", invalid="ignore"):  # as in a pass
            assert kernels.factor_if_regular(unfit, 1e-9) is None
