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
        values[:, :10],
        values.astype(np.float32),
    ):
        with np.errstate(over="ignore", invalid="ignore"):  # as in a pass
            assert kernels.factor_if_regular(unfit, 1e-9) is None


@pytest.mark.parametrize("n_polynomials", [600, 513])
def test_strips_of_a_product_on_an_accelerator(n_polynomials, monkeypatch):
    """Here on a processor, which would compute the whole product."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(kernels, "is_on_cpu", lambda _: False)
    values = torch.randn((n_polynomials, 20), dtype=torch.float64)
    product = kernels.gram(values)
    torch.testing.assert_close(product, values @ values.T)


def test_pivots_of_libraries():
    """The same places and sizes in NumPy, torch, and libraries without such a routine."""
    torch = pytest.importorskip("torch")
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((9, 40)) * np.linspace(1, 3, 40)
    matrix = factor.T @ factor
    expected, sizes = kernels.pivoted_cholesky(matrix.copy(), 1e-9, 40)
    assert len(expected) == 9
    for library in (torch, strict):
        order, pivots = kernels.pivoted_cholesky(library.asarray(matrix.copy()), 1e-9, 40)
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_allclose(pivots, sizes)


def test_pivots_end_where_nothing_is_left(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(kernels, "MANY_COLUMNS", 4)
    matrix = torch.eye(12, dtype=torch.float64)
    matrix[5:] = 0
    order, pivots = kernels.pivoted_cholesky(matrix, 1e-9, 12)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(pivots, np.ones(5))


def test_triangles_of_libraries():
    torch = pytest.importorskip("torch")
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    root = np.triu(rng.uniform(1, 2, (5, 5)))
    right = rng.standard_normal((5, 2))
    for library in (np, torch, strict):
        factor = kernels.cholesky_or_none(library.asarray(root.T @ root))
        np.testing.assert_allclose(np.asarray(factor), root)
        solved = kernels.solve_upper(library.asarray(root), library.asarray(right))
        np.testing.assert_allclose(root @ np.asarray(solved), right)
        assert kernels.cholesky_or_none(library.asarray(-np.eye(3))) is None


def test_cholesky_twice_refuses_what_it_would_get_wrong():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = torch.asarray(rng.standard_normal((4, 50)))
    found = kernels.factor_by_cholesky(values)
    torch.testing.assert_close(found.T @ found, values @ values.T)
    assert kernels.factor_by_cholesky(values[:, :3]) is None  # fewer rows than columns
    values[3] = values[0] + 1e-12 * values[1]
    assert kernels.factor_by_cholesky(values) is None
