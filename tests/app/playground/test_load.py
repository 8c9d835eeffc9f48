"""The playground under load, and how fast its page follows a slider."""

import os
import shutil

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("psutil")
pytest.importorskip("benchmarks", reason="benchmarks are in the repository only")

from benchmarks.playground.__main__ import GROWTH, MEDIAN_MS, SLOWEST_S
from benchmarks.playground.load import BUSY, put_under_load
from benchmarks.playground.server import running
from benchmarks.playground.slider import redraw_milliseconds

pytestmark = pytest.mark.programs

SECONDS = float(os.environ.get("VANISHING_LOAD_SECONDS", "60"))


@pytest.mark.slow
def test_fifty_clients():
    with running() as server:
        account = put_under_load(server, clients=50, seconds=SECONDS)
    assert account.errors == []
    assert set(account.statuses) <= {200, BUSY}
    assert account.statuses[200] > 10 * SECONDS
    assert max(account.seconds) < SLOWEST_S
    first, last = account.memory_mb
    assert last < (1 + GROWTH) * first


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium")
def test_slider_is_followed_at_once():
    pytest.importorskip("playwright")
    with running() as server:
        times = redraw_milliseconds(server.url)
    assert np.median(times) < MEDIAN_MS
