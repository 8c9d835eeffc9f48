"""Frames in chunks, Arrow tables, Dask frames and files of frames: names, order and types."""

from decimal import Decimal

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.data import DeviceSource, as_source, write

NAMES = ["längs", "b", "c"]
REORDERED = ["c", "längs", "b"]


def frame(n_samples=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_samples)
    return pd.DataFrame(X, columns=NAMES)


CHUNKS = {
    "pandas": lambda f: [f[:50], f[50:]],
    "polars": lambda f: [pl.from_pandas(f[:50]), pl.from_pandas(f[50:])],
    "Arrow tables": lambda f: [pa.Table.from_pandas(f[:50]), pa.Table.from_pandas(f[50:])],
    "Arrow batches": lambda f: lambda: iter(pa.Table.from_pandas(f).to_batches(max_chunksize=50)),
    "source of a frame": as_source,
    "weighted source": lambda f: as_source(f, weights=np.ones(len(f))),
    "Dask frame": lambda f: dd.from_pandas(f, npartitions=2),
}
CHUNKED = pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)


@CHUNKED
def test_names_are_learned(chunks):
    ideal = VanishingIdeal(tol=0.2).fit(chunks(frame()))
    expected = VanishingIdeal(tol=0.2).fit(frame())
    assert list(ideal.feature_names_in_) == NAMES
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    assert len(expected.extents_)


@CHUNKED
def test_columns_in_another_order_are_refused(chunks):
    X = frame()
    other = chunks(X[REORDERED])
    message = r"has columns \['c', 'längs', 'b'\], but"
    ideal = VanishingIdeal(tol=0.2).fit(X)
    with pytest.raises(ValueError, match=message):
        ideal.transform(other)
    with pytest.raises(ValueError, match="contrast " + message):
        VanishingIdeal(normalization="contrastive").fit(X, contrast=other)
    parts = VanishingIdeal(tol=0.2).partial_fit(X)
    with pytest.raises(ValueError, match=message):
        parts.partial_fit(other)
    assert parts.n_samples_seen_ == len(X)


def test_other_models_refuse_columns_in_another_order():
    X = frame()
    swapped = [X[REORDERED]]
    detector = VanishingDetector(VanishingIdeal(normalization="contrastive", tol=0.3)).fit(X)
    with pytest.raises(ValueError, match="has columns"):
        detector.score_samples(swapped)
    features = ClassVanishingFeatures().fit(X, X["b"] > 0)
    with pytest.raises(ValueError, match="has columns"):
        features.transform(swapped)


def test_column_of_arrow_is_no_table():
    with pytest.raises(ValueError, match="chunk 0 of X must be 2-D"):
        VanishingIdeal().fit(lambda: iter([pa.array([1.0, 2.0])]))


def test_names_that_are_no_text_are_none():
    X = frame().set_axis([0, 1, 2], axis=1)
    assert as_source([X]).feature_names is None
    assert as_source(X).feature_names is None
    assert as_source(dd.from_pandas(X, npartitions=2)).feature_names is None
    assert as_source([X.to_numpy()]).feature_names is None
    VanishingIdeal().fit([X])


def test_names_are_written_and_kept_on_a_device(tmp_path):
    write(frame(), tmp_path / "x.parquet")
    assert pq.read_schema(tmp_path / "x.parquet").names == NAMES
    write(frame(), tmp_path / "x.parquet", column_names=np.array(["u", "v", "w"], dtype=object))
    assert pq.read_schema(tmp_path / "x.parquet").names == ["u", "v", "w"]
    with pytest.raises(ValueError, match=r"3 different column names are required, got \['0', '0'"):
        write(frame(), tmp_path / "x.parquet", column_names=[0, "0", 1])
    pytest.importorskip("torch")
    assert DeviceSource(frame(), "cpu").feature_names == tuple(NAMES)


@pytest.mark.parametrize(
    "column",
    [
        np.arange(120) % 2 == 0,
        pd.array(np.arange(120) % 7, dtype="Int64"),
        pd.array(np.arange(120) / 8, dtype="Float64"),
        [Decimal(i) / 8 for i in range(120)],
    ],
    ids=["bool", "Int64", "Float64", "decimals"],
)
@pytest.mark.parametrize("chunks", [CHUNKS[k] for k in ("pandas", "source of a frame")])
def test_numbers_of_several_kinds_beside_each_other(column, chunks):
    X = frame().assign(d=column)
    ideal = VanishingIdeal(max_degree=1, tol=9.0).fit(chunks(X))
    expected = VanishingIdeal(max_degree=1, tol=9.0).fit(X.astype(float))
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)


@pytest.mark.parametrize("column", [np.arange(120) % 2 == 0, pd.array(range(120), dtype="Int64")])
def test_numbers_of_several_kinds_in_a_dask_frame(column):
    X = frame().assign(d=column)
    blocks = dd.from_pandas(X, npartitions=3)
    ideal = VanishingIdeal(max_degree=1, tol=99.0).fit(blocks)
    expected = VanishingIdeal(max_degree=1, tol=99.0).fit(X.astype(float))
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    features = ideal.transform(blocks).compute()
    np.testing.assert_allclose(features, expected.transform(X.astype(float)), atol=1e-10)


@pytest.mark.parametrize("column", ["text", pd.Timestamp("2020-01-01"), pd.NA])
def test_columns_of_no_numbers_are_refused(column):
    X = frame().assign(d=0.5).astype({"d": object})
    X.loc[100, "d"] = column
    with pytest.raises(ValueError, match=r"chunk 1 of X cannot be made an array of numbers"):
        VanishingIdeal().fit([X[:50], X[50:]])


def test_dask_frames_with_equal_names_and_series():
    X = frame()
    twice = dd.from_pandas(X.set_axis(["a", "a", "b"], axis=1), npartitions=2)
    assert as_source(twice).n_features == 3
    with pytest.raises(ValueError, match=r"got a Dask series; .* to_frame\(\)"):
        VanishingIdeal().fit(dd.from_pandas(X["b"], npartitions=2))


def test_index_of_a_frame_is_no_column(tmp_path):
    path = tmp_path / "x.parquet"
    frame().sample(frac=1, random_state=0).to_parquet(path)  # its index is stored as a column
    assert len(pq.read_schema(path).names) == 4
    source = as_source(path)
    assert source.feature_names == tuple(NAMES)
    assert source.n_features == 3
    frame().set_index("b").to_parquet(path)
    assert as_source(path).feature_names == ("längs", "c")
    assert as_source(path, columns=["b", "c"]).feature_names == ("b", "c")


def test_types_of_later_files_are_wide_enough(tmp_path):
    exact = 1 + 2.0**-40  # neither whole nor in single precision
    for i, values in enumerate([np.array([1, 2]), np.array([3, 4], np.float32), [exact, 0.5]]):
        pq.write_table(pa.table({"a": values, "b": values}), tmp_path / f"{i}.parquet")
    rows = np.concatenate(list(as_source(tmp_path).blocks(10)))
    assert rows[:, 0].tolist() == [1, 2, 3, 4, exact, 0.5]
    pq.write_table(pa.table({"a": ["text"], "b": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3\.parquet\) must hold real numbers"):
        VanishingIdeal().fit(tmp_path)


def test_first_line_of_numbers_is_a_row_unless_it_counts_the_columns(tmp_path):
    X = frame().to_numpy()
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    np.testing.assert_array_equal(next(as_source(tmp_path / "rows.csv").blocks(1000)), X)
    for columns in ([0, 1, 2], [1, 2, 3], ["1", "2", "x"], [2019, 2020, 2021]):
        pd.DataFrame(X, columns=columns).to_csv(tmp_path / "x.csv", index=False)
        source = as_source(tmp_path / "x.csv")
        assert source.n_samples == len(X)
        assert source.feature_names == tuple(map(str, columns))


def test_column_asked_for_twice_is_refused(tmp_path):
    write(frame(), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"several columns that are called \['b'\]"):
        as_source(tmp_path / "x.parquet", columns=["b", "c", "b"])


@pytest.mark.parametrize(
    "wrap", [lambda X: X, lambda X: [X], as_source], ids=["array", "chunks", "source"]
)
def test_masked_arrays_are_refused(wrap):
    masked = np.ma.masked_greater(frame().to_numpy(), 1.0)
    with pytest.raises(TypeError, match=r"X is a masked array, .*filled"):
        VanishingIdeal().fit(wrap(masked))
