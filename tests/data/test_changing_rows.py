"""Rows that change between two passes are noticed where their number does, or the file is gone."""

import copy
import pickle
import shutil

import numpy as np
import pytest
import zarr

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.data import ConcatenatedSource, MappedSource, as_source, inputs, write

FORMATS = pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet", ".zarr"])


def points(n_samples=400):
    return np.random.default_rng(0).standard_normal((n_samples, 3))


class Shrinking:
    """Chunks of which one row is lost at every pass."""

    def __init__(self, n_passes_alike=0):
        self.n_passes = -n_passes_alike

    def __call__(self):
        self.n_passes += 1
        X = points()[: 400 - max(0, self.n_passes)]
        return iter([X[:200], X[200:]])


def fit_and_change(path, change, **parameters):
    """Fit to a file that is changed after degree 1."""

    def after(step):
        if step.degree == 1:
            change(path)

    ideal = VanishingIdeal(max_degree=2, **parameters).fit(path)
    before = ideal.basis_
    ideal.callback = after
    try:
        ideal.fit(path)
    finally:
        assert ideal.basis_ is before


@pytest.mark.parametrize("which", ["X", "contrast"])
def test_another_number_of_rows_in_a_later_pass(which):
    data = {"X": points(), "contrast": 2 * points()} | {which: Shrinking()}
    ideal = VanishingIdeal(normalization="contrastive")
    with pytest.raises(ValueError, match=f"{which} had 398 rows in an earlier pass, and 397 in"):
        ideal.fit(**data)
    assert not hasattr(ideal, "basis_")


def test_chunks_that_come_only_once():
    once = iter([points()[i : i + 50] for i in range(0, 400, 50)])
    with pytest.raises(ValueError, match="X had 350 rows in an earlier pass, and 0 in this one"):
        VanishingIdeal().fit(lambda: (chunk for chunk in once))


def test_rows_in_another_order_are_the_same_rows():
    rng = np.random.default_rng(0)
    X = points()
    shuffled = VanishingIdeal(tol=0.9).fit(lambda: iter(np.array_split(rng.permutation(X), 7)))
    np.testing.assert_allclose(shuffled.extents_, VanishingIdeal(tol=0.9).fit(X).extents_)


@pytest.mark.parametrize(
    "detector",
    [VanishingDetector(VanishingIdeal(tol=0.9)), TransformationDetector()],
    ids=["ideal", "transformations"],
)
@pytest.mark.parametrize("n_passes_alike", [2, 4])
def test_detectors_notice(detector, n_passes_alike, monkeypatch):
    monkeypatch.setattr(inputs, "MEMORY", 200)
    with pytest.raises(ValueError, match="rows in an earlier pass"):
        detector.fit(Shrinking(n_passes_alike))


@FORMATS
def test_file_that_shrinks(ending, tmp_path):
    path = tmp_path / f"x{ending}"
    write(points(), path)
    with pytest.raises((ValueError, OSError), match=r"X had 400 rows .* and 10 in|chunk 0 of X"):
        fit_and_change(path, lambda path: write(points(10), path), tol=0.9)


@FORMATS
def test_file_that_vanishes(ending, tmp_path):
    path = tmp_path / f"x{ending}"
    write(points(), path)
    remove = shutil.rmtree if ending == ".zarr" else type(path).unlink
    with pytest.raises(FileNotFoundError, match="chunk 0 of X could not be read"):
        fit_and_change(path, remove, tol=0.9)


def test_zarr_array_that_vanishes_while_it_is_read(tmp_path):
    zarr.create_array(tmp_path / "x.zarr", data=points(), chunks=(100, 3))
    source = as_source(zarr.open_array(tmp_path / "x.zarr", mode="r"))
    reading = source._read()
    next(reading)
    shutil.rmtree(tmp_path / "x.zarr")
    with pytest.raises(FileNotFoundError):
        list(reading)  # what is missing would be read as zeros


def test_function_that_fails_is_named():
    def opening():
        raise OSError("no such disk")

    with pytest.raises(OSError, match=r"function passed for X failed before chunk 0: .* no such"):
        VanishingIdeal().fit(opening)


def test_source_that_was_read_can_be_copied_and_pickled():
    source = as_source([points()[:200], points()[200:]])
    VanishingIdeal().fit(source)
    for again in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        assert again.n_samples == 400


def test_images_of_no_rows():
    empty = as_source(points())
    empty.array = empty.array[:0]
    with pytest.raises(ValueError, match="X has no rows"):
        assert MappedSource(empty, np.abs).n_features


def test_rows_that_are_gone(tmp_path):
    """A file may lose its rows between two readings."""
    detector = VanishingDetector().fit(points())
    empty = as_source(points())
    empty.array = empty.array[:0]
    for use in (
        lambda: VanishingIdeal().fit(ConcatenatedSource([empty, empty])),
        lambda: VanishingDetector().fit(empty),
        lambda: detector.score_samples(empty),
        lambda: write(empty, tmp_path / "x.npy"),
    ):
        with pytest.raises(ValueError, match="no rows: at least one row is required"):
            use()
    assert list(tmp_path.iterdir()) == []


def test_endings_in_capitals_and_files_of_nothing(tmp_path):
    write(points(), tmp_path / "x.NPY")
    assert as_source(tmp_path / "x.NPY").n_samples == 400
    (tmp_path / "empty.npy").touch()
    with pytest.raises(ValueError, match=r"X cannot be opened: .*empty.npy is not a plain array"):
        as_source(tmp_path / "empty.npy")
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    assert as_source(tmp_path / "latin.csv").feature_names == ("größe", "b")


def test_chunks_of_several_libraries():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"chunk 1 of X is an array of torch, .* one of numpy"):
        VanishingIdeal().fit([points()[:200], torch.asarray(points()[200:])])


def test_dask_blocks_that_are_not_as_long_as_they_say():
    dask_array = pytest.importorskip("dask.array")
    blocks = dask_array.from_array(points(), chunks=(100, 3))
    shorter = blocks.map_blocks(lambda rows: rows[:90], dtype=float)
    message = r"there are 100 weights, but chunk \d \(rows .*\) of X has 90 rows"
    with pytest.raises(ValueError, match=message):
        VanishingIdeal().fit(shorter, sample_weight=np.ones(400))
