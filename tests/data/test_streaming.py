"""Rows from files: the same ideal, in bounded memory, and nothing half done when reading fails."""

import gc
import os
import sys
import threading
import time
import tracemalloc
import weakref
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.processes import run_python
from threadpoolctl import threadpool_limits

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.data import ChunkSource, MappedSource, TableSource, as_source, write
from vanishing.data.atomic import replace_atomic
from vanishing.data.source import GROUPED
from vanishing.data.streamed_tables import is_zarr_array
from vanishing.data.streams import prefetch

NAMES = ["längs", "b", "c d"]


def write_features(ideal, X, path, **options):
    names = ideal.get_feature_names_out()
    write(ideal.transform(X, **options), path, column_names=names)


def surface(n_samples=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n_samples)
    return X


def table(X, names=NAMES):
    return pa.table(dict(zip(names, X.T, strict=True)))


def parquet(X, folder):
    pq.write_table(table(X), folder / "x.parquet", row_group_size=64)
    return folder / "x.parquet"


def parquet_folder(X, folder):
    (folder / "parts").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        pq.write_table(table(part), folder / "parts" / f"part-{i}.parquet", row_group_size=50)
    return folder / "parts"


def csv(X, folder):
    pa.csv.write_csv(table(X), folder / "x.csv")
    return folder / "x.csv"


def feather(X, folder):
    pa.feather.write_feather(table(X), folder / "x.feather")
    return folder / "x.feather"


def npy(X, folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def zarr_array(X, folder, chunks=(37, 2)):
    array = zarr.create_array(
        store=folder / "x.zarr", shape=X.shape, chunks=chunks, dtype=X.dtype, overwrite=True
    )
    array[...] = X
    return folder / "x.zarr"


FILES = {
    "Parquet": parquet,
    "folder of Parquet files": parquet_folder,
    "list of Parquet files": lambda X, f: sorted(parquet_folder(X, f).iterdir()),
    "path as text": lambda X, f: str(parquet(X, f)),
    "dataset": lambda X, f: ds.dataset(parquet_folder(X, f)),
    "dataset in memory": lambda X, f: ds.dataset(table(X)),
    "filtered dataset": lambda X, f: ds.dataset(parquet(X, f)).filter(ds.field("b") < 1e9),
    "CSV": csv,
    "Feather": feather,
    "NumPy file": npy,
    "NumPy file, column-major": lambda X, f: npy(np.asfortranarray(X), f),
    "Zarr path": zarr_array,
    "Zarr array": lambda X, f: zarr.open_array(zarr_array(X, f), mode="r"),
    "Zarr with one chunk": lambda X, f: zarr_array(X, f, chunks=(1000, 3)),
}


def fit(X, contrast=None, **parameters):
    parameters = {"max_degree": 2, "tol": 0.3} | parameters
    if contrast is not None:
        parameters["normalization"] = "contrastive"
    return VanishingIdeal(**parameters).fit(X, contrast=contrast)


@pytest.mark.parametrize("kind", FILES)
def test_same_ideal_from_files(kind, tmp_path):
    X = surface()
    (tmp_path / "X").mkdir()
    (tmp_path / "Y").mkdir()
    Y = 2 * surface(200, seed=1)[:, ::-1]
    expected = fit(X, Y)
    data = FILES[kind](X, tmp_path / "X")
    ideal = fit(data, FILES[kind](Y, tmp_path / "Y"))
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    values = np.vstack(list(ideal.transform(data).blocks(100)))
    np.testing.assert_allclose(values, expected.transform(X), rtol=1e-8, atol=1e-11)
    source = as_source(data)
    assert (source.n_samples, source.n_features) == X.shape
    np.testing.assert_allclose(np.vstack(list(source.blocks(11))), X, rtol=1e-12)


def test_names_of_columns_are_learned_and_compared(tmp_path):
    X = surface()
    path = parquet(X, tmp_path)
    ideal = fit(path)
    assert ideal.feature_names_in_.tolist() == NAMES
    assert "längs" in "".join(map(str, ideal.to_sympy()))
    with pytest.raises(ValueError, match=r"X has columns .*'b', 'längs'.*fitted to .*columns="):
        ideal.transform(as_source(path, columns=["b", "längs", "c d"]))
    with pytest.raises(ValueError, match=r"contrast has columns .*same order"):
        fit(path, as_source(path, columns=["b", "längs", "c d"]))
    assert not hasattr(ideal.fit(list(X[None])), "feature_names_in_")


def test_columns_are_chosen_in_order(tmp_path):
    X = surface()
    frame = pd.DataFrame(X, columns=NAMES).assign(label="normal", day=pd.Timestamp("2024-01-01"))
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"real numbers.*'label' .*'day' .*columns="):
        fit(tmp_path / "x.parquet")
    source = as_source(tmp_path / "x.parquet", columns=["c d", "b"])
    np.testing.assert_array_equal(np.vstack(list(source.blocks(7))), X[:, [2, 1]])
    with pytest.raises(ValueError, match=r"no columns \['e'\]; its columns are"):
        as_source(tmp_path / "x.parquet", columns=["e"])
    with pytest.raises(ValueError, match="has no columns"):
        as_source(tmp_path / "x.parquet", columns=[])
    with pytest.raises(TypeError, match=r"list of names.*\['b'\]"):
        as_source(tmp_path / "x.parquet", columns="b")
    with pytest.raises(ValueError, match="only be chosen for tables in files"):
        as_source(X, columns=["b"])


def test_integers_booleans_and_single_precision_in_tables():
    columns = {
        "i": pa.array([1, 2, 3], pa.int64()),
        "b": pa.array([True, False, True]),
        "f": pa.array([0.5, 1.5, 2.5], pa.float32()),
    }
    (block,) = as_source(ds.dataset(pa.table(columns))).blocks(10)
    np.testing.assert_array_equal(block, [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]])
    assert block.dtype == np.float64
    (block,) = as_source(ds.dataset(pa.table({"f": columns["f"]}))).blocks(10)
    assert block.dtype == np.float32


def test_numbers_of_a_csv_file_may_begin_whole_or_missing(tmp_path):
    lines = ["whole,bent"] + ["1,2"] * 600_000 + ["0.5,1e3"]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    source = as_source(tmp_path / "x.csv")
    assert source.n_samples == 600_001
    *_, last = source.blocks(10_000)
    assert last[-1].tolist() == [0.5, 1000.0]


def test_parts_of_datasets_that_are_no_whole_files(tmp_path):
    """Filters, folders that name a column, and single row groups."""
    X = surface()
    pq.write_table(table(X), tmp_path / "x.parquet", row_group_size=50)
    dataset = ds.dataset(tmp_path / "x.parquet")
    positive = as_source(dataset.filter(ds.field("b") > 0))
    np.testing.assert_array_equal(rows_of(positive), X[X[:, 1] > 0])
    (fragment,) = dataset.get_fragments()
    groups = fragment.split_by_row_group()[1:3]
    part = ds.FileSystemDataset(groups, dataset.schema, dataset.format, dataset.filesystem)
    np.testing.assert_array_equal(rows_of(as_source(part)), X[50:150])
    ds.write_dataset(
        table(np.round(X[:, :2]), ["a", "k"]),
        tmp_path / "parts",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("k", pa.float64())]), flavor="hive"),
    )
    named = as_source(ds.dataset(tmp_path / "parts", partitioning="hive"))
    assert named.feature_names == ("a", "k")
    assert sorted(rows_of(named).tolist()) == sorted(np.round(X[:, :2]).tolist())


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_csv_files_that_only_pyarrow_knows_how_to_read(ending, encoding, tmp_path):
    X = surface()
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_csv(tmp_path / f"x{ending}", sep=";", decimal=",", index=False, encoding=encoding)
    known = ds.CsvFileFormat(
        parse_options=pa.csv.ParseOptions(delimiter=";"),
        read_options=pa.csv.ReadOptions(encoding=encoding),
        convert_options=pa.csv.ConvertOptions(decimal_point=","),
    )
    source = as_source(ds.dataset(tmp_path / f"x{ending}", format=known))
    assert source.feature_names == tuple(NAMES)
    np.testing.assert_allclose(rows_of(source), X, rtol=1e-14)


def rows_of(source):
    return np.concatenate(list(source.blocks(1000)))


def test_options_of_a_dataset_are_left_as_they_are(tmp_path):
    csv(surface(), tmp_path)
    (tmp_path / "x.csv").write_text((tmp_path / "x.csv").read_text().replace(",", ";"))
    separated = ds.CsvFileFormat(pa.csv.ParseOptions(delimiter=";"))
    dataset = ds.dataset(tmp_path / "x.csv", format=separated)
    before = dataset.format.default_fragment_scan_options.read_options.block_size
    np.testing.assert_allclose(np.vstack(list(as_source(dataset).blocks(50))), surface())
    assert dataset.format.default_fragment_scan_options.read_options.block_size == before


@pytest.mark.parametrize("package", ["pyarrow", "zarr"])
def test_missing_extra_is_named(package, tmp_path, monkeypatch):
    X = surface()
    path = parquet(X, tmp_path) if package == "pyarrow" else zarr_array(X, tmp_path)
    for module in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'vanishing\[io\]'"):
        fit(path)
    with pytest.raises(ImportError, match=r"'vanishing\[io\]'"):
        write(X, tmp_path / f"y{path.suffix}")


@pytest.mark.programs
def test_extras_are_not_imported_by_the_library():
    code = "import sys, vanishing; print(sorted({'dask', 'zarr'} & set(sys.modules)))"
    assert run_python(code).stdout.strip() == "[]"


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.float32(), pa.float64()])
def test_missing_entries_of_tables_are_refused(kind):
    missing = ds.dataset(pa.table({"a": pa.array([True, None, False]).cast(kind)}))
    with pytest.raises(ValueError, match=r"chunk 0 \(rows 0 to 2\) of X contains NaN in 1 entries"):
        fit(missing)


def test_features_of_classes_are_computed_chunk_by_chunk(tmp_path):
    X = surface()
    y = np.repeat([0, 1], 150)
    features = ClassVanishingFeatures(VanishingIdeal(tol=0.5)).fit(X, y)
    blocks = features.transform(npy(X, tmp_path)).blocks(70)
    np.testing.assert_allclose(
        np.vstack(list(blocks)), features.transform(X), rtol=1e-9, atol=1e-12
    )
    with pytest.raises(TypeError, match=r"one array beside y.*PosixPath"):
        features.fit(tmp_path / "x.npy", y)


# --- what cannot be opened -----------------------------------------------------------------------


def test_paths_that_cannot_be_opened(tmp_path):
    X = surface()
    with pytest.raises(FileNotFoundError, match=r"X names .*nowhere"):
        fit(tmp_path / "nowhere.parquet")
    with pytest.raises(FileNotFoundError, match="contrast names"):
        fit(X, "nowhere.npy")
    (tmp_path / "x.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"end in \['.xlsx'\].*\.parquet"):
        fit(tmp_path / "x.xlsx")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="end in nothing"):
        fit(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"end in \['.csv', '.parquet'\]"):
        fit([csv(X, tmp_path), parquet(X, tmp_path)])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(ValueError, match=r"X cannot be opened: .*bad\.parquet"):
        fit(tmp_path / "bad.parquet")
    np.save(tmp_path / "objects.npy", np.array([[None]]), allow_pickle=True)
    with pytest.raises(ValueError, match="X cannot be opened"):
        fit(tmp_path / "objects.npy")
    zarr.create_group(store=tmp_path / "group.zarr").create_array("rows", shape=(3, 2), dtype="f8")
    with pytest.raises(ValueError, match=r"group of Zarr arrays.*group\.zarr/rows"):
        fit(tmp_path / "group.zarr")
    assert as_source(tmp_path / "group.zarr" / "rows").n_features == 2
    for shape, words in (((3,), "must be 2-D"), ((0, 3), "at least one row")):
        with pytest.raises(ValueError, match=words):
            fit(zarr.create_array(store={}, shape=shape, dtype="f8"))
    with pytest.raises(ValueError, match="without column names"):
        as_source(npy(X, tmp_path), columns=["a"])


# --- failures half way ---------------------------------------------------------------------------


class DiskError(OSError):
    """Stands for an error of the user's own."""


class WantsTwoError(Exception):
    """Cannot be made of a message alone."""

    def __init__(self, first, second):
        super().__init__(first, second)


def failing(kind, at=57):
    """Sixty chunks, of which one is bad."""
    good = surface(20)

    def chunks():
        for index in range(60):
            if index != at:
                yield good
            elif kind == "width":
                yield good[:, :2]
            elif kind == "NaN":
                yield np.where(np.eye(20, 3), np.nan, good)
            else:
                raise kind

    return chunks


FAILURES = {
    "I/O": (DiskError("disk on fire"), DiskError, "could not be read: DiskError: disk on fire"),
    "odd error": (WantsTwoError(1, 2), RuntimeError, "could not be read: WantsTwo"),
    "width": ("width", ValueError, "has 2 features, expected 3"),
    "NaN": ("NaN", ValueError, "contains NaN in 3 entries"),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("which", ["X", "contrast"])
def test_failing_chunk_is_named_and_the_estimator_is_left_as_it_was(failure, which):
    bad, kind, words = FAILURES[failure]
    X, Y = surface(), 2 * surface(seed=1)
    for before in (
        VanishingIdeal(max_degree=1, tol=0.9, normalization="contrastive"),
        VanishingIdeal(max_degree=1, tol=0.9, normalization="contrastive").fit(X, contrast=Y),
    ):
        state = dict(vars(before))
        data = (failing(bad), Y) if which == "X" else (X, failing(bad))
        with pytest.raises(kind, match=f"chunk 57 of {which} {words}"):
            before.fit(data[0], contrast=data[1])
        assert vars(before) == state
    assert_no_threads()


@pytest.mark.parametrize(
    ("failure", "ending"),
    [("I/O", ".parquet"), ("odd error", ".csv"), ("width", ".npy"), ("NaN", ".zarr")],
)
@pytest.mark.parametrize("there_before", [False, True])
def test_nothing_is_written_when_a_chunk_fails(
    failure, ending, there_before, tmp_path, monkeypatch
):
    # Much is written by the time of chunk 57.
    monkeypatch.setattr("vanishing.data.streamed_tables.BLOCK", 50)
    bad, kind, words = FAILURES[failure]
    ideal = fit(surface())
    target = tmp_path / f"features{ending}"
    if there_before:
        write_features(ideal, surface(10), target)
    before = contents(tmp_path)
    with pytest.raises(kind, match=f"chunk 57 of X {words}"):
        write_features(ideal, failing(bad), target)
    assert contents(tmp_path) == before
    assert_no_threads()


def contents(folder):
    return {p: p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def assert_no_threads(*, collect=True):
    if collect:
        gc.collect()
    assert not [t for t in threading.enumerate() if t.name.startswith("vanishing-prefetch")]


def test_bad_rows_of_files_are_named_by_file_and_row(tmp_path, monkeypatch):
    monkeypatch.setattr("vanishing.data.streamed_tables.BLOCK", 3 * 50)
    X = surface()
    X[250, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"chunk 5 \(.*part-2\.parquet, rows 51 to 100\) of X contains NaN in 1"
    ):
        fit(parquet_folder(X, tmp_path))
    source = as_source(zarr_array(X, tmp_path, chunks=(100, 3)))
    with pytest.raises(ValueError, match=r"x\.zarr, rows 1 to 300\) of X contains NaN"):
        fit(source)


def test_file_that_ends_too_early_is_named(tmp_path):
    folder = parquet_folder(surface(3000), tmp_path)
    broken = folder / "part-2.parquet"
    content = bytearray(broken.read_bytes())
    content[200 : len(content) // 2] = bytes(len(content) // 2 - 200)  # the footer is still there
    broken.write_bytes(content)
    with pytest.raises(OSError, match=r"chunk \d+ of X could not be read \(after .*part-"):
        fit(folder)


def test_folders_of_zarr_arrays_are_told_from_others(tmp_path):
    assert is_zarr_array(zarr_array(surface(), tmp_path))
    zarr.create_group(store=tmp_path / "group.zarr")
    assert not is_zarr_array(tmp_path / "group.zarr")
    damaged = tmp_path / "damaged.zarr"
    damaged.mkdir()
    assert not is_zarr_array(damaged)
    for content in (b"no JSON", b"{}", b"[]"):
        (damaged / "zarr.json").write_bytes(content)
        assert not is_zarr_array(damaged)
    (tmp_path / "old.zarr").mkdir()
    (tmp_path / "old.zarr" / ".zarray").write_text("{}")
    assert is_zarr_array(tmp_path / "old.zarr")


def test_files_of_one_unknown_kind_are_refused(tmp_path):
    for name in ("a.txt2", "b.txt2"):
        (tmp_path / name).write_text("1 2")
    with pytest.raises(ValueError, match=r"end in \['.txt2'\]; files of one kind are required"):
        fit([tmp_path / "a.txt2", tmp_path / "b.txt2"])


def test_chunk_of_zarr_that_is_damaged_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("vanishing.data.streams.BLOCK", 2**20)
    path = zarr_array(np.tile(surface(), (2000, 1)), tmp_path, chunks=(200_000, 3))
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "zarr.json")
    files[1].write_bytes(b"no chunk")
    with pytest.raises(
        Exception, match=r"chunk 1 of X could not be read \(after .*rows 1 to 200000"
    ):
        fit(path)


def test_function_that_makes_no_chunks_is_named():
    """It fails before the first chunk."""

    def fail():
        raise DiskError("disk on fire")

    with pytest.raises(DiskError, match=r"function passed for X failed before chunk 0: DiskError"):
        fit(fail)


# --- prefetching ---------------------------------------------------------------------------------


def test_next_chunk_is_read_while_the_present_one_is_worked_on():
    log = []

    def chunks():
        for index in range(4):
            log.append(("read", index, threading.current_thread().name))
            yield np.ones((5, 2))

    blocks = ChunkSource(chunks).blocks(100)
    next(blocks)
    deadline = time.monotonic() + 10
    while len(log) < 3 and time.monotonic() < deadline:  # one look at the width, 0 and 1
        time.sleep(0.001)
    assert [index for _, index, _ in log] == [0, 0, 1]
    assert log[-1][2].startswith("vanishing-prefetch")
    assert log[0][2] == "MainThread"
    blocks.close()
    assert_no_threads()


@settings(max_examples=30)
@given(n_items=st.integers(0, 6), n_taken=st.integers(0, 8), fails=st.booleans())
def test_prefetching_changes_nothing_but_the_thread(n_items, n_taken, fails):
    closed = []

    def items():
        try:
            yield from range(n_items)
            if fails:
                raise DiskError("at the end")
        finally:
            closed.append(True)

    ahead = prefetch(items())
    taken = []
    try:
        for _ in range(n_taken):
            taken.append(next(ahead, None))
    except DiskError:
        taken.append("error")
    end = ["error"] if fails else [None] * 9
    expected = [*range(n_items), *end][:n_taken]
    assert taken == expected
    ahead.close()
    assert closed == ([True] if n_taken else [])
    assert_no_threads(collect=False)


def test_a_failed_reader_leaves_nothing_to_the_garbage_collector():
    alive = []

    def items():
        block = np.zeros(10)
        alive.append(weakref.ref(block))
        yield block
        raise DiskError("no")

    gc.collect()
    gc.disable()
    try:
        with pytest.raises(DiskError):
            list(prefetch(items()))
        assert alive[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("threads", [1, 2])
def test_no_more_is_read_when_computing_fails(threads):
    read = []
    most = 2 if threads == 1 else GROUPED * (threads + 1) + 2

    def chunks():
        for index in range(100):
            read.append(index)
            yield surface(10)

    def kernel(x):
        raise RuntimeError("no")

    source = as_source(chunks)
    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(RuntimeError, match="no"):
            source.map_reduce(kernel, lambda a, b: a, max_rows=10)
        assert max(read) <= most
        assert_no_threads()
        with pytest.raises(RuntimeError, match="no"):
            MappedSource(source, kernel).map_reduce(len, int.__add__, max_rows=10)
        assert max(read) <= most
        assert_no_threads()


def test_overflow_is_handled_by_the_reader_as_the_caller_says():
    def chunks():
        for _ in range(3):
            with_overflow = np.float64(1e300) * np.full((4, 2), 1e300)
            yield np.where(np.isfinite(with_overflow), with_overflow, 1.0)

    with np.errstate(over="ignore"):
        assert sum(len(b) for b in as_source(chunks).blocks(10)) == 12


# --- writing -------------------------------------------------------------------------------------


def read_back(path):
    return np.vstack(list(as_source(path).blocks(10_000)))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npy", ".zarr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_are_written_as_they_are(ending, dtype, tmp_path):
    X = surface(500).astype(dtype)
    ideal = fit(surface())
    expected = ideal.transform(X)
    target = tmp_path / f"größe{ending}"
    for data in (X, np.array_split(X, 7), npy(X, tmp_path)):
        write_features(ideal, data, target)
        found = read_back(target)
        rtol = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
        if ending != ".csv":
            assert found.dtype == dtype
    if ending in (".parquet", ".csv"):
        assert as_source(target).feature_names == tuple(ideal.get_feature_names_out())
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([target.name, "x.npy"])


@pytest.mark.parametrize("ending", [".parquet", ".npy", ".zarr"])
@settings(max_examples=15)
@given(sizes=st.lists(st.integers(0, 90), min_size=1, max_size=8).filter(any))
def test_chunks_of_any_size_are_written_one_after_the_other(ending, sizes, tmp_path_factory):
    X = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    target = tmp_path_factory.mktemp("sizes") / f"x{ending}"
    with patch("vanishing.data.streamed_tables.BLOCK", 2 * 50):  # batches of 50 rows
        write(np.split(X, np.cumsum(sizes)[:-1]), target)
    np.testing.assert_array_equal(read_back(target), X)


def test_signed_features_are_written(tmp_path):
    X = surface()
    ideal = fit(X)
    write_features(ideal, X, tmp_path / "g.npy", output="signed")
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), ideal.transform(X, output="signed"))


def test_writing_is_refused_before_anything_is_read(tmp_path):
    ideal = fit(surface())
    with pytest.raises(ValueError, match=r"must end in one of \.parquet, \.csv, \.npy, \.zarr"):
        write_features(ideal, surface(), tmp_path / "features.xlsx")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_features(ideal, surface(), tmp_path / "no" / "features.npy")
    (tmp_path / "kept.zarr").mkdir()
    (tmp_path / "kept.zarr" / "mine.txt").write_text("dear")
    with pytest.raises(FileExistsError, match="not a single Zarr array; it was not changed"):
        write_features(ideal, surface(), tmp_path / "kept.zarr")
    zarr.create_group(store=tmp_path / "group.zarr").create_array("mine", shape=(3,), dtype="f8")
    before = contents(tmp_path / "group.zarr")
    with pytest.raises(FileExistsError, match="it was not changed"):
        write_features(ideal, surface(), tmp_path / "group.zarr")
    assert contents(tmp_path / "group.zarr") == before
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(IsADirectoryError):
        write_features(ideal, surface(), tmp_path / "folder.npy")
    nothing = VanishingIdeal(max_degree=1, tol=0.0).fit(surface())
    with pytest.raises(ValueError, match=r"nothing vanishes.*raise tol"):
        write_features(nothing, [surface()], tmp_path / "g.npy")
    with pytest.raises(ValueError, match="3 different column names"):
        write(surface(), tmp_path / "x.csv", column_names=["a", "a", "b"])
    assert (tmp_path / "kept.zarr" / "mine.txt").read_text() == "dear"


def test_file_may_be_replaced_by_what_is_made_of_it(tmp_path):
    X = surface()
    path = parquet(X, tmp_path)
    ideal = fit(path)
    write_features(ideal, path, path)
    expected = ideal.basis_.evaluate(X)
    np.testing.assert_allclose(read_back(path), np.abs(expected), rtol=1e-9, atol=1e-12)


def test_folder_that_cannot_be_put_in_place_leaves_the_former_one(tmp_path, monkeypatch):
    target = tmp_path / "x.zarr"
    write(surface(20), target)
    before = contents(tmp_path)
    rename = type(target).rename

    def fail_for_the_new_one(path, to):
        if path.name.endswith(".tmp") and to == target and not hasattr(os, "_failed"):
            monkeypatch.setattr(os, "_failed", True, raising=False)
            raise OSError("no rename")
        return rename(path, to)

    monkeypatch.setattr(type(target), "rename", fail_for_the_new_one)
    monkeypatch.setattr("vanishing.data.atomic._exchange", lambda *_: False)  # as on other systems
    with pytest.raises(OSError, match="no rename"):
        write(surface(30), target)
    assert contents(tmp_path) == before


def test_interrupt_leaves_nothing_behind(tmp_path):
    def write_half():
        with replace_atomic(tmp_path / "x") as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert not list(tmp_path.iterdir())


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Parquet", "CSV", "NumPy file", "Zarr path"])
def test_files_are_read_and_written_in_bounded_memory(kind, tmp_path, monkeypatch):
    """150,000 rows of 8 columns are 9.6 MB; NumPy reports its arrays, Arrow its own."""
    for module in ("streamed_tables", "streams"):
        monkeypatch.setattr(f"vanishing.data.{module}.BLOCK", 2**15)
    monkeypatch.setattr("vanishing.data.csv_files.usual_block", lambda: 2**16)
    X = np.random.default_rng(0).standard_normal((150_000, 8))
    if kind == "Zarr path":
        path = zarr_array(X, tmp_path, chunks=(4_000, 8))
    else:
        names = [f"x{i}" for i in range(8)]
        write(
            X,
            tmp_path / ("x" + {"Parquet": ".parquet", "CSV": ".csv"}.get(kind, ".npy")),
            column_names=names,
        )
        (path,) = tmp_path.iterdir()
    del X
    ideal = VanishingIdeal(max_degree=1, tol=10.0, reduction="gram")
    gc.collect()
    held_by_arrow = watch_arrow(monkeypatch)
    tracemalloc.start()
    write_features(ideal.fit(path), path, tmp_path / "g.npy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ideal.basis_.count() == 8
    assert peak < 4.8e6
    assert max(held_by_arrow, default=0) < 4.8e6
    assert bool(held_by_arrow) == (kind in ("Parquet", "CSV"))


def watch_arrow(monkeypatch):
    """Return a list that grows by what Arrow holds whenever a batch is read."""
    pool = pa.default_memory_pool()
    before, held = pool.bytes_allocated(), []
    rows = TableSource._rows

    def watched(self, batch):
        time.sleep(0.001)  # for batches that are read ahead to be there
        held.append(pool.bytes_allocated() - before)
        return rows(self, batch)

    monkeypatch.setattr(TableSource, "_rows", watched)
    return held


@pytest.mark.parametrize("wrap", [lambda X: X, lambda X: [X]], ids=["array", "chunks"])
def test_features_of_nothing_are_not_written(wrap, tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 2))
    ideal = VanishingIdeal(max_degree=1, tol=1e-9).fit(X)
    with pytest.raises(ValueError, match=r"nothing vanishes|at least one column"):
        write_features(ideal, wrap(X), tmp_path / "features.npy")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npy", ".zarr"])
def test_digits_are_not_lost_when_later_chunks_are_wider(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("vanishing.data.streamed_tables.BLOCK", 20)
    path = tmp_path / f"rows{ending}"
    narrow, wide = np.ones((10, 2), np.float32), np.full((10, 2), 1 + 2.0**-40)
    with pytest.raises(ValueError, match=r"rows 10 to 19 are float64, .* make all chunks float64"):
        write([narrow, wide], path)
    assert list(tmp_path.iterdir()) == []
    write([wide, narrow], path)
    blocks = as_source(path).blocks(100) if ending != ".zarr" else [zarr.open(path)[:]]
    np.testing.assert_array_equal(np.concatenate(list(blocks)), np.concatenate([wide, narrow]))


def test_chunks_that_can_be_read_once_are_refused():
    with pytest.raises(TypeError, match="X is a generator, which can be read only once"):
        ChunkSource(chunk for chunk in [np.eye(2)])
    with pytest.raises(TypeError, match="must return an iterable of chunks, got 3"):
        VanishingIdeal().fit(ChunkSource(lambda: 3))
    once = iter([np.eye(2), np.eye(2)])
    with pytest.raises(ValueError, match="returned the same iterator twice"):
        VanishingIdeal(tol=0).fit(ChunkSource(lambda: once))
    with pytest.raises(ValueError, match="X has no chunks: at least one row is required"):
        VanishingIdeal().fit(ChunkSource([]))
