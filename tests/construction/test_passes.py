"""Summaries merge in any grouping, in every array library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import BACKENDS

from vanishing.arrays.kernels import factor_by_cholesky, gram
from vanishing.construction.passes import (
    Auto,
    Gram,
    Reduction,
    Tsqr,
    resolve_reduction,
)
from vanishing.levels import SAME

reductions = pytest.mark.parametrize(
    "reduction", [Auto(), Tsqr(), Gram()], ids=["auto", "tsqr", "gram"]
)


@reductions
@pytest.mark.parametrize("backend", BACKENDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    n_columns=st.integers(1, 7),
)
def test_merging_equals_summarizing_all(reduction, backend, seed, sizes, n_columns):
    make = BACKENDS[backend]
    rows = np.random.default_rng(seed).standard_normal((sum(sizes), n_columns))
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    summaries = [reduction.summarize(make(part.T.copy())) for part in parts]
    merged = summaries[0]
    for summary in summaries[1:]:
        merged = reduction.merge(merged, summary)
    factor = reduction.resolve(merged)
    assert factor.n_rows == sum(sizes)
    np.testing.assert_allclose(
        factor.R.T @ factor.R, rows.T @ rows / len(rows), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(np.tril(factor.R, -1), 0, atol=1e-15)
    np.testing.assert_allclose(factor.column_rms, np.sqrt(np.mean(rows**2, axis=0)), rtol=1e-7)


@reductions
def test_split_is_the_projection(reduction):
    rng = np.random.default_rng(0)
    lower, candidates = rng.standard_normal((40, 3)), rng.standard_normal((40, 5))
    values = np.hstack([lower, candidates])
    factor = reduction.resolve(reduction.summarize(values.T.copy()))
    projection, residual = factor.split(3)
    expected = np.linalg.lstsq(lower, candidates, rcond=None)[0]
    np.testing.assert_allclose(projection, expected, rtol=1e-8, atol=1e-10)
    rest = candidates - lower @ expected
    np.testing.assert_allclose(residual.T @ residual, rest.T @ rest / 40, atol=1e-10)


def test_names_and_objects():
    assert resolve_reduction("gram") == Gram()
    assert resolve_reduction(Tsqr()) == Tsqr()
    assert isinstance(Gram(), Reduction)
    with pytest.raises(ValueError, match=r"'auto', 'gram', 'tsqr'.*got 'qr'"):
        resolve_reduction("qr")
    with pytest.raises(TypeError, match="summarize, merge and resolve, got int"):
        resolve_reduction(3)


def test_gram_in_strips(monkeypatch):
    """The way of accelerators, here on the processor."""
    monkeypatch.setattr("vanishing.arrays.kernels.is_on_cpu", lambda values: False)
    monkeypatch.setattr("vanishing.arrays.kernels.MANY_COLUMNS", 1)
    for n_polynomials in (3, 4, 5, 6, 9, 13):
        values = np.random.default_rng(n_polynomials).standard_normal((n_polynomials, 30))
        product = gram(values)
        np.testing.assert_allclose(product, values @ values.T, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n_columns=st.integers(1, 12),
    more_rows=st.integers(0, 200),
    spread=st.floats(0, 12),
    scales=st.floats(0, 20),
)
def test_cholesky_twice_is_as_good_as_householder(
    dtype, seed, n_columns, more_rows, spread, scales
):
    """The way of accelerators, here on the processor: accurate, or nothing."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n_columns + more_rows, n_columns)))[0]
    right = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    singular = 10.0 ** -np.linspace(0, spread, n_columns)
    sizes = 10.0 ** rng.uniform(-scales / 2, scales / 2, n_columns)
    rows = ((left * singular) @ right * sizes).astype(dtype)
    factor = factor_by_cholesky(torch.asarray(rows.T.copy()))
    eps = np.finfo(dtype).eps
    if factor is None:
        scaled = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=0)
        assert np.linalg.cond(scaled) > 1 / (64 * np.sqrt(eps)) / n_columns
        return
    factor = factor.numpy().astype(float)
    np.testing.assert_array_equal(factor, np.triu(factor))
    # A change of A's columns by a rounding error changes R by that times the condition number.
    expected = np.linalg.qr(rows.astype(float), mode="r")
    expected *= np.sign(np.diag(expected))[:, None]
    column = np.linalg.norm(expected, axis=0)
    error = np.abs(factor - expected).max(axis=0) / column
    condition = np.linalg.cond(expected / column)
    assert error.max() < 50 * n_columns * condition * eps


def test_cholesky_gives_up():
    torch = pytest.importorskip("torch")
    rows = np.random.default_rng(0).standard_normal((50, 3))
    exact = np.column_stack([rows, rows.sum(axis=1)])
    for hopeless in (
        exact,
        exact[:3],
        rows * [1, 0, 1],
        rows * 1e200,
        rows * 1e-200,
        rows * np.nan,
    ):
        assert factor_by_cholesky(torch.asarray(hopeless.T.copy())) is None
    assert factor_by_cholesky(torch.asarray(rows.T.copy())) is not None


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-3, 1e-5, 1e-12])
def test_sizes_by_auto_are_those_by_tsqr(spread):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((6, 4000))
    values[5] = values[:5].sum(axis=0) + spread * values[5]
    direction = np.array([1.0, 1, 1, 1, 1, -1])
    size, expected = (
        np.linalg.norm(each.resolve(each.summarize(values.copy())).R @ direction)
        for each in (Auto(), Tsqr())
    )
    # Data with an error of eps has no more digits than the second bound.
    assert abs(size / expected - 1) <= max(SAME, 1e-15 / spread)
