"""A few kills, signals and full disks, as in ``benchmarks/campaigns/kills.py``."""

import shutil
import sys

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks are in the repository only")
pytest.importorskip("typer")

if sys.platform != "linux":
    pytest.skip("processes are forked, and sizes limited, as on Linux", allow_module_level=True)

from benchmarks.campaigns import kills

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    return kills.Subjects(tmp_path_factory.mktemp("inputs"))


@pytest.fixture
def make_target(subjects, tmp_path):
    def make(name):
        folder = tmp_path / "folder"
        folder.mkdir()
        return kills.Target(subjects, name, folder)

    return make


QUICK = ["save a model", "transform to CSV", "transform to npy", "transform to Zarr"]


@pytest.mark.parametrize("name", [*QUICK, "write a report on laws", "vanishing export c --out"])
def test_killed(make_target, name):
    if "Zarr" in name:
        pytest.importorskip("zarr")
    found = kills.kill(np.random.default_rng(0), make_target(name), 10)
    assert found["old"] + found["new"] == 10, found
    assert found["in the middle"] > 0, found
    assert found["left behind"] == found["failed"] == 0, found


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_interrupted(make_target, sent):
    target = make_target("vanishing transform --out npy")
    found = kills.interrupt(np.random.default_rng(0), target, getattr(kills.signal, sent), 10)
    assert found["old"] + found["new"] == 10, found
    assert found["interrupted"] > 0, found
    assert found["left behind"] == found["failed"] == 0, found


@pytest.mark.parametrize("name", ["save a model", "transform to CSV", "vanishing fit --report"])
def test_full(make_target, name):
    target = make_target(name)
    limited = kills.fill_by_limit(target)
    assert limited["refused"] == len(kills.SHARES), limited
    full = kills.fill_disk(target)
    if full:  # a disk could be mounted
        assert full["refused"] == len(kills.SHARES), full
    for found in (limited, full):
        assert found["damaged"] == found["left behind"] == found["failed"] == 0, found


def test_damage_is_seen(make_target):
    """The checks themselves: a writer that is not atomic is caught."""
    target = make_target("transform to npy")
    target.path.write_bytes(b"half")
    assert target.version() is None
    target.write(1)
    assert target.version() == 1
    (target.folder / ".stray").touch()
    assert target.others() == [".stray"]
    shutil.rmtree(target.folder)
