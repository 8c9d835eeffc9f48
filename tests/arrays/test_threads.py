"""Blocks are worked on at once, with the same result, and BLAS gets its threads back afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, gaussian_contrast
from threadpoolctl import threadpool_info, threadpool_limits

from vanishing import VanishingIdeal
from vanishing.arrays.blocks import (
    all_threads,
    limit_workers,
    map_in_threads,
    one_thread,
    threads_for,
)
from vanishing.arrays.kernels import merge_triangular, triangular_factor
from vanishing.construction.passes import Gram, Pass
from vanishing.data import as_source


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_limit_is_set_and_taken_away():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_thread():
            assert blas_threads() == {1}
            with one_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            1 / 0  # noqa: B018
        assert blas_threads() == before


def test_other_threads_change_nothing():
    def work(_):
        with one_thread():
            return blas_threads()

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(8) as pool:
            assert all(seen == before for seen in pool.map(work, range(50)))
        assert blas_threads() == before


@given(n_items=st.integers(0, 20), threads=st.integers(1, 5), n_taken=st.integers(0, 25))
def test_order_is_kept_and_little_is_taken_ahead(n_items, threads, n_taken):
    taken = []

    def items():
        for index in range(n_items):
            taken.append(index)
            yield index

    results = map_in_threads(lambda index: index**2, items(), threads)
    found = [next(results, None) for _ in range(n_taken)]
    expected = [index**2 for index in range(n_items)] + [None] * n_taken
    assert found == expected[:n_taken]
    assert len(taken) <= (n_taken + threads + 1 if n_taken else 0)
    results.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("vanishing")]


def test_several_are_worked_on_at_once():
    together = threading.Barrier(3, timeout=60)

    def work(item):
        together.wait()  # three threads have to come here
        return item

    assert list(map_in_threads(work, range(9), 3)) == list(range(9))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_error_is_raised_in_its_place(threads):
    begun = []

    def work(item):
        begun.append(item)
        if item == 4:
            raise ZeroDivisionError("item 4")
        return item

    results = map_in_threads(work, iter(range(100)), threads)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert [next(results) for _ in range(4)] == [0, 1, 2, 3]
        with pytest.raises(ZeroDivisionError, match="item 4"):
            next(results)
        assert blas_threads() == before
    assert max(begun) <= 4 + threads
    assert next(results, None) is None


def test_handling_of_overflow_is_that_of_the_caller():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(map_in_threads(np.square, [np.full(3, 1e300)] * 2, 2))
    with np.errstate(over="ignore"):  # a warning would be an error
        assert np.isinf(list(map_in_threads(np.square, [np.full(3, 1e300)] * 2, 2))).all()


def test_number_of_threads():
    block = np.ones((2, 2))
    with threadpool_limits(3, user_api="blas"):
        assert threads_for(block) == 3
        assert threads_for(as_torch(block)) == 1  # it has its own
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(threads_for, block).result() == 1
        with one_thread():
            assert threads_for(block) == 3
        assert [threads_for(block) for _ in map_in_threads(int, range(4), 2)] == [
            1
        ] * 4  # all in use


def test_threads_are_given_back_for_large_matrices():
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        with all_threads():
            assert blas_threads() == before
        with one_thread():
            with all_threads():
                assert blas_threads() == {3}
                with one_thread():
                    assert blas_threads() == {1}
                assert blas_threads() == {3}
            assert blas_threads() == {1}
        assert blas_threads() == before


def as_torch(block):
    return pytest.importorskip("torch").asarray(block)


def test_not_more_threads_than_there_is_memory_for():
    block = np.ones((2, 2))
    with threadpool_limits(3, user_api="blas"):
        for most, expected in ((1, 1), (2, 2), (9, 3)):
            with limit_workers(most):
                assert threads_for(block) == expected
        assert threads_for(block) == 3

    seen = set()

    def values(x):
        seen.add(threading.current_thread().name)
        return np.ones((100, len(x)))

    square = 8 * 100**2
    for squares, threaded in ((2, False), (6, False), (12, True), (100, True)):
        seen.clear()
        with threadpool_limits(3, user_api="blas"), one_thread():
            passes = Pass(Gram(), squares * square)
            passes.factor(as_source(np.ones((50_000, 2))), values, 100)
        assert any(name.startswith("vanishing") for name in seen) == threaded


@given(
    n_columns=st.integers(1, 3000), per_row=st.integers(1, 50), budget=st.integers(10**3, 10**10)
)
def test_rows_of_a_block(n_columns, per_row, budget):
    """Within the budget, and as many values as polynomials if there is place for them."""
    rows = Pass(Gram(), budget)._count_rows(n_columns, per_row, cpu=True)
    n_bytes = 3 * 8 * n_columns * per_row * rows
    assert rows <= 64 or n_bytes <= budget
    assert rows * per_row >= n_columns or n_bytes + 3 * 8 * n_columns * per_row > budget


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_same_bits_with_any_number_of_threads(monkeypatch, normalization, reduction):
    """Also of weighted rows and of chunks, and of what is evaluated."""
    monkeypatch.setattr("vanishing.arrays.blocks.BLOCK", 2**14)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 4))
    X[:, 3] = X[:, 0] * X[:, 1] + 1e-3 * rng.standard_normal(4000)
    Y = gaussian_contrast(X, n_samples=3000) if normalization == "contrastive" else None
    weights = rng.integers(0, 3, 4000)
    parameters = {"max_degree": 3, "tol": 0.05, "reduction": reduction}
    chunks = np.array_split(X, 7)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads, user_api="blas"):
            whole = VanishingIdeal(normalization=normalization, **parameters)
            whole.fit(X, contrast=Y, sample_weight=weights)
            chunked = VanishingIdeal(normalization=normalization, **parameters)
            chunked.fit(chunks, contrast=Y)
            basis = whole.basis_
            found.append(
                [
                    whole.trace_[-1].spectrum,
                    chunked.trace_[-1].spectrum,
                    basis.evaluate(X),
                    basis.jacobian(X),
                    basis.pullback(X, basis.evaluate(X)),
                ]
            )
    assert all(len(spectrum) for spectrum in found[0][:2])
    for other in found[1:]:
        for expected, values in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(("n_columns", "same"), [(15, True), (16, False)])
@pytest.mark.parametrize(("reduction", "rtol"), [("tsqr", 1e-12), ("gram", 1e-8)])
def test_what_the_page_on_scaling_promises(n_columns, same, reduction, rtol):
    """The same bits below 256 products, and rounding from there on."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, n_columns))
    X[:, -1] = X[:, 0] * X[:, 1] + 1e-3 * rng.standard_normal(3000)
    spectra = []
    # No more: OpenBLAS 0.3.28 crashes with three threads where it was started with one.
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            ideal = VanishingIdeal(max_degree=2, tol=0.05, reduction=reduction).fit(X)
        spectra.append(ideal.trace_[-1].spectrum)
    assert len(spectra[0]) == n_columns * (n_columns + 1) // 2
    for spectrum in spectra[1:]:
        if same:
            np.testing.assert_array_equal(spectrum, spectra[0])
        np.testing.assert_allclose(spectrum, spectra[0], rtol=rtol)


def test_kernels_see_rows_in_order():
    X = np.arange(100.0)[:, None]
    with threadpool_limits(3, user_api="blas"):
        joined = as_source(X).map_reduce(
            lambda rows: rows[:, 0], lambda a, b: np.concatenate([a, b]), max_rows=7
        )
    np.testing.assert_array_equal(joined, X[:, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(
    n_columns=st.integers(1, 40), n_rows=st.integers(0, 90), second=st.integers(0, 60), c=st.data()
)
def test_lapack_is_called_with_the_right_arguments(dtype, n_columns, n_rows, second, c):
    rng = np.random.default_rng(c.draw(st.integers(0, 1000)))
    rows = rng.standard_normal((n_rows, n_columns)).astype(dtype)
    more = rng.standard_normal((second, n_columns)).astype(dtype)
    # Views that are not contiguous, as slices of a larger block are.
    R = triangular_factor(np.hstack([rows.T, more.T])[:, :n_rows])
    S = triangular_factor(more.T.copy())
    assert R.dtype == S.dtype == dtype
    assert R.shape == (min(n_rows, n_columns), n_columns)
    merged = merge_triangular(R, S)
    atol = 200 * np.finfo(dtype).eps
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=atol * max(1, n_rows))
    expected = rows.T @ rows + more.T @ more
    np.testing.assert_allclose(merged.T @ merged, expected, atol=atol * (n_rows + second + 1))
    np.testing.assert_array_equal(merged, np.triu(merged))
