"""The regression guard of ``make bench``: what counts as slower, and what as noise."""

import json
from dataclasses import replace

import pytest
from benchmarks.speed.guard import became_worse, confirmed
from benchmarks.speed.task import Result, Task
from tests.support.paths import ROOT

TASK = Task(
    section="floor",
    name="a run",
    data="gaussian",
    rows=1000,
    features=5,
    degree=2,
    normalization="gradient",
    tol=0.1,
    reduction="tsqr",
)


def result(fit_s=1.0, transform_s=0.2, peak_mb=200.0, task=TASK, floor=0.5):
    return Result(
        task=task,
        fit_s=fit_s,
        transform_s=transform_s,
        peak_mb=peak_mb,
        mapped_mb=None,
        syrk_s=floor,
        geqrf_s=2 * floor,
        products_s=floor / 4,
        columns=(6, 21),
        vanishing=(0, 2),
    )


def committed(*results):
    """What is read from the file."""
    return json.loads(json.dumps([each.to_dict() for each in results or (result(),)]))


def test_the_same_is_not_worse():
    assert became_worse(committed(), [result()]) == []


def test_a_slower_fit_is_reported_by_both_ratios():
    worse = became_worse(committed(), [result(fit_s=2.0)])
    assert [change.what for change in worse] == ["fit ÷ syrk", "fit ÷ geqrf"]
    assert [change.factor for change in worse] == [2.0, 2.0]
    assert "floor: a run: fit ÷ syrk was 2 and is 4, 2.00 times as much" in str(worse[0])


def test_a_slower_transform_is_reported():
    (change,) = became_worse(committed(), [result(transform_s=0.3)])
    assert change.what == "transform ÷ products"


def test_a_slower_machine_is_not_worse():
    """All seconds are three times as many, the floors included."""
    assert became_worse(committed(), [result(3.0, 0.6, floor=1.5)]) == []


def test_faster_is_not_worse():
    assert became_worse(committed(), [result(0.1, 0.01, 100.0)]) == []


@pytest.mark.parametrize(("seconds", "limit"), [(1.0, 1.3), (0.05, 1.6), (0.002, 2.0)])
def test_short_measurements_may_vary_more(seconds, limit):
    before = committed(result(fit_s=seconds))
    assert became_worse(before, [result(fit_s=0.99 * limit * seconds)]) == []
    assert became_worse(before, [result(fit_s=1.01 * limit * seconds)]) != []


@pytest.mark.parametrize(
    ("before", "now", "is_worse"), [(200, 229, False), (200, 231, True), (50, 69, False)]
)
def test_memory_has_to_grow_by_a_share_and_by_an_amount(before, now, is_worse):
    changes = became_worse(committed(result(peak_mb=before)), [result(peak_mb=now)])
    assert [change.what for change in changes] == ["peak MB"] * is_worse


def test_what_cannot_be_compared_is_not():
    other = result(fit_s=9.0, task=replace(TASK, name="another run"))
    changed = result(fit_s=9.0, task=replace(TASK, rows=2000))
    assert became_worse(committed(), [other, changed]) == []
    repeated = result(fit_s=9.0, task=replace(TASK, repeats=7))
    assert len(became_worse(committed(), [repeated])) == 2


def test_tables_of_earlier_versions_are_read():
    (old,) = committed()
    del old["products_s"], old["over_products"], old["task"]["threads"]
    assert became_worse([old], [result(transform_s=9.0)]) == []
    assert len(became_worse([old], [result(fit_s=9.0)])) == 2


def test_the_worst_comes_first():
    slow, slower = (replace(TASK, name=name) for name in ("slow", "slower"))
    before = committed(result(task=slow), result(task=slower))
    worse = became_worse(before, [result(fit_s=2.0, task=slow), result(fit_s=5.0, task=slower)])
    assert [change.task.name for change in worse] == ["slower", "slower", "slow", "slow"]


def test_noise_disappears_when_it_is_measured_again():
    results = [result(fit_s=5.0)]
    again = iter([result(fit_s=3.0), result(fit_s=1.0)])
    assert confirmed(committed(), results, lambda task: next(again)) == []
    assert results == [result(fit_s=1.0)]


def test_what_is_slower_every_time_stays_with_its_best():
    results = [result(fit_s=5.0)]
    measured = []

    def measure(task):
        measured.append(task)
        return result(fit_s=4.0 + len(measured))

    worse = confirmed(committed(), results, measure)
    assert measured == [TASK, TASK]
    assert [change.now for change in worse if change.what == "fit ÷ syrk"] == [10.0]


def test_nothing_is_measured_again_without_need():
    assert confirmed(committed(), [result()], lambda task: pytest.fail("measured")) == []


def test_the_committed_table_is_not_worse_than_itself():
    table = ROOT / "benchmarks" / "speed" / "results.json"
    record = json.loads(table.read_text())["results"]
    names = [(each["task"]["section"], each["task"]["name"]) for each in record]
    assert len(set(names)) == len(names) > 10
    ratios = ("over_syrk", "over_geqrf", "over_products")
    results = []
    for each in record:
        fields = {"products_s": 0.0, **{k: v for k, v in each.items() if k not in ratios}}
        results.append(Result(**{**fields, "task": Task(**each["task"])}))
    assert became_worse(record, results) == []
