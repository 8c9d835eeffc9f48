"""LAPACK is held to one thread inside, and has its threads back afterwards."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vanishing._xp.threads import one_thread


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
