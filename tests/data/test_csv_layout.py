"""One guess of how a CSV file is laid out, for the library and for the command line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import VanishingIdeal
from vanishing.data import as_source

pytest.importorskip("pyarrow")
pytest.importorskip("typer")


@pytest.fixture
def circle():
    angle = np.random.default_rng(0).uniform(0, 6, 50)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def rows_of(source):
    return np.concatenate(list(source.blocks(7)))


def by_the_command_line(path):
    from vanishing.app.cli.options import Reading
    from vanishing.app.cli.tables import read_table

    return read_table(str(path), Reading())


def test_a_file_without_a_header(tmp_path, circle):
    path = tmp_path / "headerless.csv"
    np.savetxt(path, circle, delimiter=",")
    found = VanishingIdeal(tol=1e-6).fit(path)
    expected = VanishingIdeal(tol=1e-6).fit(circle)
    assert not hasattr(found, "feature_names_in_")
    np.testing.assert_array_equal(found.extents_, expected.extents_)
    features = rows_of(found.transform(path))
    np.testing.assert_allclose(features, expected.transform(circle), atol=1e-15)
    found.transform(circle)  # no names, no warning of them
    np.testing.assert_array_equal(by_the_command_line(path).values, circle)


@given(
    rows=st.lists(st.tuples(st.integers(-9, 9), st.floats(-9, 9)), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    first=st.sampled_from([None, "a{}b", "a{}  b ", "0{}1", "# a{}b", "2019{}2020"]),
    decimal=st.sampled_from(".,"),
)
def test_both_read_the_same(tmp_path_factory, rows, delimiter, first, decimal):
    if delimiter == ",":
        decimal = "."
    lines = [delimiter.join(map(repr, row)).replace(".", decimal) for row in rows]
    if first is not None:
        lines.insert(0, first.format(delimiter))
    path = tmp_path_factory.mktemp("layout") / "x.csv"
    path.write_text("\n".join(lines) + "\n")
    source, table = as_source(path), by_the_command_line(path)
    np.testing.assert_array_equal(rows_of(source), table.values)
    assert source.feature_names == table.names
    assert source.n_samples == len(table)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0,1\n0.5,0.25\n", ("0", "1")),  # as pandas writes columns without names
        ("0,1,2\n0.5,,nan\n", ("0", "1", "2")),
        ("1,0\n0.5,0.25\n", None),  # a point of the circle
        ("0,0\n0.5,0.25\n", None),
        ("1,2\n3,4\n", None),
        ("0,1\n1,0.25\n", None),
        ("0,1\n", None),
        ("0.5,1.5\n0.25,0.5\n", None),
    ],
)
def test_numbers_in_the_first_line(tmp_path, text, names):
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert as_source(path).feature_names == names


def test_what_the_user_says_of_the_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("400.5,401.0\n0.5,0.25\n")
    assert rows_of(as_source(path)).tolist() == [[400.5, 401.0], [0.5, 0.25]]
    named = as_source(path, header=True)
    assert named.feature_names == ("400.5", "401.0")
    assert rows_of(named).tolist() == [[0.5, 0.25]]
    path.write_text("0,1\n0.5,0.25\n")
    assert rows_of(as_source(path, header=False)).tolist() == [[0, 1], [0.5, 0.25]]
    with pytest.raises(ValueError, match="header is for the paths of CSV files, got a ndarray"):
        as_source(np.ones((2, 2)), header=True)


def test_columns_without_names_are_chosen_by_number(tmp_path, circle):
    path = tmp_path / "x.csv"
    np.savetxt(path, circle, delimiter=",")
    source = as_source(path, columns=["x1"])
    assert source.feature_names == ("x1",)
    np.testing.assert_array_equal(rows_of(source), circle[:, 1:])


def test_files_of_a_folder_are_alike(tmp_path, circle):
    np.savetxt(tmp_path / "a.csv", circle[:20], delimiter=",")
    np.savetxt(tmp_path / "b.csv", circle[20:], delimiter=",")
    np.testing.assert_array_equal(rows_of(as_source(tmp_path)), circle)
    np.savetxt(tmp_path / "b.csv", circle[20:], delimiter=",", header="u,v", comments="")
    with pytest.raises(ValueError, match=r"b\.csv\) begins with the names .*a\.csv with a row"):
        as_source(tmp_path)
    np.savetxt(tmp_path / "b.csv", circle[20:], delimiter=";")
    with pytest.raises(ValueError, match=r"b\.csv\) has ';' between its columns, .*a\.csv has ','"):
        as_source(tmp_path)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(ValueError, match=r"b\.csv: the file is empty"):
        as_source(tmp_path)


def test_columns_of_later_files_may_be_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n")
    (tmp_path / "b.csv").write_text("v,u\n4,3\n")
    assert rows_of(as_source(tmp_path)).tolist() == [[1, 2], [3, 4]]
    (tmp_path / "b.csv").write_text("v, u\n4,3\n")
    with pytest.raises(ValueError, match="first lines of the files differ"):
        as_source(tmp_path)
