"""A real cluster of worker processes: the same ideal as here, also when a worker is killed."""

import gc
import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.support.cases import counts

from vanishing import VanishingIdeal

pytestmark = pytest.mark.programs

PARAMETERS = {"max_degree": 2, "tol": 0.3, "normalization": "contrastive"}


@contextmanager
def cluster_of(n_workers):
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit="1GiB",
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster, set_as_default=True) as client,
    ):
        yield client
    # distributed leaves the connection of a killed worker to the garbage collector: here, and not
    # in the middle of another test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 4))
    X[:, 3] = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(6000)
    return X, 2 * rng.standard_normal((3000, 4))


class Killer:
    """Kills a worker of the cluster once degree 1 is done and the worker is at the next pass."""

    def __init__(self, client):
        self.client = client
        self.address, self.process = next(iter(client.run(os.getpid).items()))
        self.degrees_at_kill = None
        self.degrees = 0
        self.thread = threading.Thread(target=self.wait_and_kill)

    def __call__(self, step):
        self.degrees = step.degree
        if step.degree == 1:
            self.thread.start()

    def wait_and_kill(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.client.processing().get(self.address):
                os.kill(self.process, signal.SIGKILL)
                self.degrees_at_kill = self.degrees
                return
            time.sleep(0.005)


def assert_same(ideal, expected):
    assert counts(ideal) == counts(expected)
    assert expected.basis_.count() > 1
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    points = np.random.default_rng(1).standard_normal((50, 4))
    np.testing.assert_allclose(ideal.transform(points), expected.transform(points), rtol=1e-7)


def test_same_ideal_on_a_cluster_of_which_a_worker_is_killed():
    def slowly(rows):
        """Take some time, so that there is a middle of the fit; local, to be sent by value."""
        time.sleep(0.02)
        return rows

    X, Y = data()
    expected = VanishingIdeal(**PARAMETERS).fit(X, contrast=Y)
    with cluster_of(3) as client:
        points = da.from_array(X, chunks=(250, 4)).map_blocks(slowly, dtype=float)
        contrast = da.from_array(Y, chunks=(600, 4)).map_blocks(slowly, dtype=float).persist()
        assert_same(VanishingIdeal(**PARAMETERS).fit(points, contrast=contrast), expected)

        killer = Killer(client)
        ideal = VanishingIdeal(**PARAMETERS, callback=killer).fit(points, contrast=contrast)
        killer.thread.join()
        assert killer.degrees_at_kill == 1  # degree 2 was not done
        assert_same(ideal, expected)
        client.wait_for_workers(3, timeout=100)  # another one has been started
        assert killer.process not in client.run(os.getpid).values()

        features = ideal.transform(points).compute()
        np.testing.assert_allclose(features, expected.transform(X), rtol=1e-7, atol=1e-10)
        check_failures(X)


def check_failures(X):
    """An error on a worker names the block, and leaves the estimator as it was."""

    def failing(rows, block_id=None):
        if block_id[0] == 3:
            raise OSError("disk on fire")
        return rows

    array = da.from_array(X, chunks=(1000, 4))
    ideal = VanishingIdeal(max_degree=1, tol=2.0)
    bad = array.map_blocks(failing, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(OSError, match=r"chunk 3 \(rows 3000 to 3999\) of X .* disk on fire"):
        ideal.fit(bad)
    array[2500, 1] = np.nan
    with pytest.raises(ValueError, match=r"chunk 2 \(rows 2000 to 2999\) of X contains NaN"):
        ideal.fit(array)
    assert not hasattr(ideal, "basis_")
