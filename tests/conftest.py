"""Hypothesis: the same examples every time, and no deadline on a machine of unknown speed."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fixed")


def pytest_collection_finish():
    """Let the garbage collector go through all modules and collected tests less often."""
    gc.set_threshold(50_000, 50, 100)
