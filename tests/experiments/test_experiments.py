"""The frame of the experiments, with toy experiments, and what all experiments have in common."""

import json
import os
import sys
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("experiments", reason="experiments are in the repository only")

from experiments import __main__ as command
from experiments.harness import page, runner, store
from experiments.harness.cell import Cell
from experiments.images import data as images
from experiments.images.configuration import (
    DISTANCE_WEIGHT,
    RESOLUTIONS,
    SHIFT,
    TOL,
    image_detector,
)
from experiments.images.setting import FIXED, Setting, best, compare

from vanishing import detectors as anomaly
from vanishing.transformations import Rotations

SIZES = ("small", "full")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results and pages are written here."""
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(store, "FIGURES", tmp_path / "results" / "figures")
    monkeypatch.setattr(page, "DOCS", tmp_path / "docs")
    return tmp_path


@pytest.fixture
def toy(monkeypatch):
    """An experiment of two cells, the second of which fails; it counts how often cells are run."""
    module = ModuleType("experiments.toy")
    module.TITLE = "Toy"
    module.runs = []

    def works():
        module.runs.append("works")
        return {"AUC": 50.0}

    def fails():
        module.runs.append("fails")
        raise ValueError("on purpose")

    module.cells = lambda size: [Cell("works", works), Cell("fails", fails)]
    module.report = lambda results, size: f"{len(results)} of 2 at size {size}"
    monkeypatch.setitem(sys.modules, "experiments.toy", module)
    monkeypatch.setattr(command, "EXPERIMENTS", {"toy": "toy"})
    monkeypatch.setattr(runner, "EXPERIMENTS", {"toy": "toy"})

    def run_here(experiment, cell, size):
        """Run a cell in this process."""
        try:
            record = {"result": cell.run(), "seconds": 0.1, "peak MB": 1, "made": {}}
        except ValueError:
            return None
        store.add(experiment, size, cell.name, record)
        return "done"

    monkeypatch.setattr(command, "run", run_here)
    return module


def call(monkeypatch, *arguments):
    """Run the command; return what it exits with."""
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    with pytest.raises(SystemExit) as exited:
        command.main()
    return exited.value.code


# --- frame ----------------------------------------------------------------------------------------


def test_store_is_replaced_as_a_whole_or_not_at_all(folder, monkeypatch):
    record = {"result": {"AUC": 1.0}, "seconds": 2.0, "peak MB": 3}
    store.add("toy", "full", "first", record)

    def stopped(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            store.add("toy", "full", "second", record)
    assert list(json.loads(store.path_of("toy", "full").read_text())) == ["first"]
    assert store.results("toy", "full") == {"first": {"AUC": 1.0, "seconds": 2.0, "peak MB": 3}}
    store.add("toy", "full", "second", record)
    assert list(store.records("toy", "full")) == ["first", "second"]
    assert store.records("toy", "small") == {}


def test_run_is_resumed_and_failures_are_told(folder, toy, monkeypatch, capsys):
    assert (
        call(monkeypatch, "--size", "small")
        == "1 cells failed; run the same command again to go on"
    )
    assert toy.runs == ["works", "fails"]
    assert call(monkeypatch, "--size", "small").startswith("1 cells failed")
    assert toy.runs == ["works", "fails", "fails"]
    assert call(monkeypatch, "--size", "small", "--cells", "work", "--redo") == 0
    assert toy.runs[-1] == "works"
    written = (folder / "results" / "small" / "toy.md").read_text()
    assert "# Toy" in written
    assert "1 of 2 at size small" in written


def test_list_runs_nothing(folder, toy, monkeypatch, capsys):
    assert call(monkeypatch, "--list", "--size", "full") == 0
    assert toy.runs == []
    assert "fails (to be run)" in capsys.readouterr().out
    assert not (folder / "docs").exists()


def test_unknown_experiment_is_refused(folder, toy, monkeypatch, capsys):
    assert call(monkeypatch, "nonsense") == 2
    assert "no experiment nonsense" in capsys.readouterr().err


@pytest.mark.slow
def test_cell_runs_in_a_process_of_its_own(folder):
    cell = runner.load("two_classes").cells("small")[0]
    assert "MB" in runner.run("two_classes", cell, "small")
    record = store.records("two_classes", "small")[cell.name]
    assert record["seconds"] > 0
    assert record["peak MB"] > 10
    assert "libraries" in record["made"]
    # The process looks the cell up by its name, and does not find this one.
    assert runner.run("two_classes", Cell("no such cell", dict), "small") is None
    assert list(store.records("two_classes", "small")) == [cell.name]


def test_words_of_the_page():
    assert page.spread([]) == page.spread([None]) == "–"
    assert page.spread([88.04]) == "88.0"
    assert page.spread([80, None, 82]) == "81.0 ± 1.4"
    assert page.beside("88.0", None) == "88.0"
    assert page.beside("88.0", 79.1) == "88.0 (79.1)"
    assert page.check("claim", False, "1 < 2") == ["claim", "**no**: 1 < 2"]


# --- all experiments ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", command.EXPERIMENTS)
def test_cells_have_names_of_their_own(name, size):
    names = [cell.name for cell in runner.load(name).cells(size)]
    assert names
    assert len(set(names)) == len(names)
    assert names == [cell.name for cell in runner.load(name).cells(size)]


def figures(AUC):
    return {"AUC": AUC, "fit s": 1.0, "score s": 0.5, "seconds": 2.0, "peak MB": 100}


def compared(AUC):
    row = {"setting": vars(FIXED), "held-out score": -AUC / 10, "AUC": AUC}
    nothing = row | {"held-out score": None, "AUC": None, "problem": "no polynomial vanishes"}
    return [row, nothing]


def fabricated(experiment, cell, AUC):
    """Return what a cell might have found."""
    if experiment == "table1" and ", R.A., seed" in cell:
        found = {
            f"{kind}, {place}": figures(AUC)
            for kind in ("fixed", "chosen")
            for place in ("in PCA coordinates", "on pixels")
        }
        return found | {"fixed, on pixels": {"AUC": None, "problem": "no polynomial vanishes"}}
    if experiment == "table1" and "Rot., PCA" in cell:
        return {"compared": compared(AUC)}
    if experiment == "table2":
        return figures(AUC) | {"setting": str(FIXED), "compared": compared(AUC)}
    if experiment == "supplement":
        if "random" in cell:
            return {"in PCA coordinates": figures(AUC), "on pixels": {"AUC": None}}
        both = {"chosen": figures(AUC), "fixed": figures(AUC - 1)}
        return both | {"setting": str(FIXED), "compared": compared(AUC)}
    if experiment == "counts":
        points = [
            {"tol": n, "by degree": [1.0, n], "polynomials": n + 1.0, "AUC": AUC + n}
            for n in range(3)
        ]
        return {"points": points}
    return figures(AUC)


IMAGES = ("table1", "table2", "supplement", "effects", "counts", "default", "one_vs_rest")


@pytest.mark.parametrize("share", ["none", "first", "every third", "all"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", IMAGES)
def test_report_of_partial_results(folder, name, size, share, monkeypatch):
    if name in ("effects", "counts"):  # figures are drawn once, which is enough
        drawn = size == "full" and share in ("first", "all")
        if not drawn:
            monkeypatch.setattr(store, "save_figure", lambda *_: "figure.svg")
    experiment = runner.load(name)
    cells = [cell.name for cell in experiment.cells(size)]
    kept = {"none": [], "first": cells[:1], "every third": cells[::3], "all": cells}[share]
    results = {cell: fabricated(name, cell, 70.0 + i % 20) for i, cell in enumerate(kept)}
    text = experiment.report(results, size)
    assert "nan" not in text.split()
    assert not any(line.endswith(" ") for line in text.splitlines())
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


# --- images ---------------------------------------------------------------------------------------


@pytest.fixture
def task():
    """Small images that get brighter to the right, and noise as anomalies."""
    rng = np.random.default_rng(0)
    ramp = np.tile(np.linspace(0, 1, 4), 4)
    normal = ramp + 0.1 * rng.normal(size=(400, 16))
    test = np.concatenate([normal[:100], rng.uniform(size=(100, 16))])
    return images.Task(normal[100:], test, np.arange(200) < 100)


def test_choice_by_held_out_score(task):
    settings = [Setting(dimension=4, degree=1, tol=tol) for tol in (1e-9, 0.5, 0.9)]
    rows = compare(settings, Rotations((4, 4)), task)
    assert rows[0]["problem"] == "no polynomial vanishes"
    chosen = best(rows)
    assert chosen["held-out score"] == max(row["held-out score"] for row in rows[1:])
    assert Setting(**chosen["setting"]) in settings
    assert best(rows[:1]) is None
    assert images.evaluate(settings[1].detector(Rotations((4, 4))), task)["AUC"] > 90


def test_seed_draws_images(task, monkeypatch):
    labels = np.arange(1000) % 10
    loaded = images.ImageSet(
        "toy", labels[:, None], labels, labels[:, None], labels, (1, 1), tuple("0123456789")
    )
    monkeypatch.setitem(images.LOADERS, "MNIST", lambda: loaded)
    first, again, drawn = (images.even_labels("MNIST", 100, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.train, again.train)
    assert np.array_equal(first.train[:, 0], [n % 10 for n in range(0, 100, 2)])
    assert not np.array_equal(first.train[:, 0], drawn.train[:, 0])
    assert (drawn.train % 2 == 0).all()
    kept, held_out = images.held_out(first)
    assert len(kept.train) + len(held_out) == len(first.train)
    one = images.one_label("MNIST", 3)
    assert (one.train == 3).all()
    assert one.is_normal.sum() == 100


def test_page_says_what_the_configuration_is():
    detector = image_detector(images.SHAPE)
    assert repr(detector) == repr(anomaly.image_detector(images.SHAPE))
    assert detector.n_components == RESOLUTIONS
    assert detector.distance_weight == DISTANCE_WEIGHT
    assert detector.ideal.tol == TOL
    assert f"shift={SHIFT}" in repr(detector.transformations)
