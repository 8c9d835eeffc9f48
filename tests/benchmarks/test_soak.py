"""The judgement of a soak: what grows is seen, and what does not is not."""

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks are in the repository only")
pytest.importorskip("psutil")
pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("matplotlib")
pytest.importorskip("typer")

from benchmarks.campaigns import soak

RNG = np.random.default_rng(0)


def samples(slope_per_hour=0.0, descriptors_per_hour=0.0, leak=0.0):
    """Two hours, with a warm-up of some minutes, noise and connections that come and go."""
    hours = np.arange(0, 2, 5 / 3600)
    noise = RNG.normal(scale=2.0, size=len(hours))
    memory = 600 - 300 * np.exp(-20 * hours) + slope_per_hour * hours + noise
    return [
        {
            "seconds": 3600 * t,
            "rss_mb": m,
            "allocated_mb": 300 + leak * t + e,
            "python_blocks": 1_700_000 + int(1000 * e),
            "workers_mb": 450 + e,
            "workers": 2,
            "descriptors": 20 + int(descriptors_per_hour * t) + (RNG.random() < 0.3),
            "threads": 15,
            "temporary_files": 0,
        }
        for t, m, e in zip(hours, memory, noise, strict=True)
    ]


def test_flat():
    judged = soak.judge(samples())
    assert all(each["flat"] for each in judged.values()), judged


def test_leaks_are_seen():
    judged = soak.judge(samples(slope_per_hour=20, descriptors_per_hour=3))
    assert [name for name, each in judged.items() if not each["flat"]] == ["rss_mb", "descriptors"]
    low, high = judged["rss_mb"]["interval"]
    assert low <= 20 <= high


def test_leaks_within_free_memory_are_seen():
    """What malloc hands out grows, while the process stays as large as it is."""
    judged = soak.judge(samples(leak=6.0))
    assert [name for name, each in judged.items() if not each["flat"]] == ["allocated_mb"]


def test_a_descriptor_that_is_open_for_a_moment_is_no_growth():
    measured = samples()
    measured[-10]["descriptors"] = 22
    assert soak.judge(measured)["descriptors"] == {"warm": 20, "end": 20, "most": 22, "flat": True}


@pytest.mark.slow
@pytest.mark.programs
def test_a_minute():
    found = soak.soak(60, share=1.0)
    assert found["problems"] == []
    assert found["different_digests"] == 1
    assert found["after_the_server"]["temporary_files"] == 0
    assert found["after_the_server"]["workers"] == 0
    found |= {"judged": soak.judge(found["samples"]), "machine": dict.fromkeys(PARTS)}
    assert soak.page([found, found]).count("| temporary files | 0 | 0 | 0 |") == 2


PARTS = ("date", "commit", "cores", "cpu")
