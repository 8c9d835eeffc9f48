"""Tables in several files, whose columns differ from file to file."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import VanishingIdeal
from vanishing.data import as_source, read_table

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

TYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]


def write(folder, *tables, kind="parquet"):
    """Write files a, b, ... of columns in dictionaries."""
    folder.mkdir(exist_ok=True)
    save = parquet.write_table if kind == "parquet" else feather.write_feather
    paths = [folder / f"{name}.{kind}" for name in "abcdef"[: len(tables)]]
    for path, columns in zip(paths, tables, strict=True):
        save(pa.table(columns), str(path))
    return paths


def rows_of(source):
    return np.concatenate(list(source.blocks(1000)))


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4), st.integers(0, 2**32))
def test_numbers_of_any_types_are_read_as_they_are(tmp_path_factory, types, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.uniform(0, 2, 3).astype(kind) for kind in types]
    folder = tmp_path_factory.mktemp("types")
    write(folder, *({"x": pa.array(column)} for column in columns))
    found = rows_of(as_source(folder))
    np.testing.assert_array_equal(found[:, 0], np.concatenate([c.astype("f8") for c in columns]))
    narrow = set(types) <= {"float16", "float32"}
    assert found.dtype == (np.float32 if narrow else np.float64)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("listed", [False, True])
def test_whole_numbers_first_and_fractions_later(tmp_path, kind, listed):
    folder = tmp_path / "möbel"
    paths = write(
        folder,
        {"x": [1, 2], "y": [True, False]},
        {"y": [0.25, 0.5], "x": [1.5, 2.0**60]},  # in another order, too
        kind=kind,
    )
    source = as_source([str(path) for path in paths] if listed else folder)
    expected = [[1, 1], [2, 0], [1.5, 0.25], [2.0**60, 0.5]]
    np.testing.assert_array_equal(rows_of(source), expected)
    np.testing.assert_array_equal(rows_of(source), expected)  # again
    assert source.n_samples == 4


def test_large_whole_numbers_beside_fractions(tmp_path):
    write(tmp_path / "t", {"x": [0.5]}, {"x": [2**60 + 1]})
    np.testing.assert_array_equal(rows_of(as_source(tmp_path / "t"))[:, 0], [0.5, 2.0**60])


def test_an_ideal_of_a_folder_is_that_of_its_rows(tmp_path):
    X = np.round(np.random.default_rng(0).normal(size=(60, 2)) * 5)
    X[30:] += 0.5
    write(
        tmp_path / "t",
        {"a": X[:30, 0].astype(int), "b": X[:30, 1].astype("int8")},
        {"a": X[30:, 0], "b": X[30:, 1].astype("float32")},
    )
    found = VanishingIdeal(tol=1.0).fit(tmp_path / "t")
    np.testing.assert_allclose(found.extents_, VanishingIdeal(tol=1.0).fit(X).extents_)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1.0]}, r"b\.\w+\) has no columns \['größe'\]; its columns are \['x'\]"),
        ({"x": ["1"], "größe": [2.0]}, r"b\.\w+\) must hold real numbers.*'x' \(string\)"),
        ({"x": [None], "größe": [2.0]}, r"b\.\w+\) must hold real numbers.*'x' \(null\)"),
        ({"x": [1], "größe": [2], "z": [3]}, r"b\.\w+\) has the columns \['z'\], which .*a\."),
    ],
    ids=["missing", "text", "empty", "more"],
)
def test_what_cannot_be_joined_is_refused_with_file_and_column(tmp_path, kind, second, message):
    write(tmp_path / "t", {"x": [1.0, 2.0], "größe": [1.0, 2.0]}, second, kind=kind)
    with pytest.raises(ValueError, match=message):
        as_source(tmp_path / "t")


def test_text_in_the_first_file(tmp_path):
    write(tmp_path / "t", {"x": ["1"]}, {"x": [1.0]})
    with pytest.raises(ValueError, match=r"a\.parquet\) must hold real numbers"):
        as_source(tmp_path / "t")


def test_chosen_columns_are_the_only_ones_that_matter(tmp_path):
    write(
        tmp_path / "t",
        {"x": [1.0], "when": ["now"], "y": [2]},
        {"x": [3.0], "when": [4], "y": [0.5]},
        {"y": [True], "x": [9], "more": [1]},
    )
    source = as_source(tmp_path / "t", columns=["y", "x"])
    np.testing.assert_array_equal(rows_of(source), [[2, 1], [0.5, 3], [1, 9]])


def test_a_later_file_that_is_none(tmp_path):
    write(tmp_path / "t", {"x": [1.0]})
    (tmp_path / "t" / "b.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"X cannot be opened: .*b\.parquet"):
        as_source(tmp_path / "t")


def test_missing_entries_are_named_with_their_file(tmp_path):
    write(tmp_path / "t", {"x": [1, 2]}, {"x": [0.5, None]})
    with pytest.raises(ValueError, match=r"b\.parquet, rows 1 to 2\) of X contains NaN"):
        rows_of(as_source(tmp_path / "t"))


def test_the_schema_of_a_dataset_is_its_users(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    paths = write(tmp_path / "t", {"x": ["1"]}, {"x": [2.0]})
    opened = dataset.dataset(list(map(str, paths)), schema=pa.schema([("x", pa.float64())]))
    np.testing.assert_array_equal(rows_of(as_source(opened))[:, 0], [1, 2])


def test_the_first_of_several_indices_names_the_rows(tmp_path):
    index = pd.MultiIndex.from_product([["north", "south"], range(3)], names=["place", "day"])
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.arange(6.0), "b": np.ones(6)}, index=index).to_parquet(path)
    table = read_table(path)
    assert table.names == ("a", "b")
    assert table.row_ids.tolist() == ["north"] * 3 + ["south"] * 3
