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
