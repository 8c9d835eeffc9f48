"""Hypothesis: the same examples every time, and no deadline on a machine of unknown speed."""

import gc

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fixed")


@pytest.fixture(scope="session")
def postgresql():
    """A server of PostgreSQL, started in a temporary folder."""
    from benchmarks.rules import engines

    if engines.find_postgresql() is None:
        pytest.skip("needs Debian's package postgresql")
    with engines.start_postgresql() as server:
        yield server


def pytest_collection_finish():
    """Let the garbage collector go through all modules and collected tests less often."""
    gc.set_threshold(50_000, 50, 100)
