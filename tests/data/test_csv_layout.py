"""One guess of how a CSV file is laid out, for the library and for the command line."""

import gzip
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import VanishingIdeal
from vanishing.data import TableError, as_source, csv_files, read_table

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
    from vanishing.app.cli.tables import read_input

    return read_input(str(path), Reading())


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
    with pytest.raises(ValueError, match=r"b\.csv begins with the names .*a\.csv with a row"):
        as_source(tmp_path)
    np.savetxt(tmp_path / "b.csv", circle[20:], delimiter=";")
    with pytest.raises(ValueError, match=r"b\.csv has ';' between its columns, .*a\.csv has ','"):
        as_source(tmp_path)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(ValueError, match=r"b\.csv: the file is empty"):
        as_source(tmp_path)


def test_columns_of_later_files_may_be_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n")
    (tmp_path / "b.csv").write_text("v,u\n4,3\n")
    assert rows_of(as_source(tmp_path)).tolist() == [[1, 2], [3, 4]]
    (tmp_path / "b.csv").write_text("# v, u\n4,3\n")
    assert rows_of(as_source(tmp_path)).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes("größe;y\n1,5;2\n".encode(encoding))
    source = as_source(path)
    assert source.feature_names == ("größe", "y")
    assert rows_of(source).tolist() == [[1.5, 2.0]]


@pytest.mark.parametrize("bad", ["é".encode("cp1252") + b"\x81", "é".encode("cp1252")])
def test_an_encoding_that_ends_in_the_middle_of_a_file(tmp_path, bad):
    path = tmp_path / "x.csv"
    path.write_bytes("é,y\n".encode("cp1252") + b"1,2\n" * 30_000 + bad + b",2\n")
    # The whole table is read, where the byte is one of the encoding: a typo in one cell.
    with suppress(TableError):
        assert read_table(path, columns=["é"]).strays == ((30_001, "é", "é"),)
    with pytest.raises(TableError, match=r"x\.csv.*(UTF-8|text in column 'é')"):
        VanishingIdeal().fit(path)


def test_compressed_files(tmp_path):
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(b"a\tb\n1\t2\n"))
    assert rows_of(as_source(tmp_path / "x.tsv.gz")).tolist() == [[1.0, 2.0]]


def test_truth_values_are_numbers(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,on\n1,true\n2,false\n")
    assert rows_of(as_source(path)).tolist() == [[1, 1], [2, 0]]
    assert by_the_command_line(path).values.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("ends", "aside"),
    [
        (["1,TRUE,2", "0,0,2", "2,,3"], ()),
        (["1,maybe,2"], (("b", "text, 'maybe' in row 20001"),)),
        (["1,0.5,2"], (("b", "text, '0.5' in row 20001"),)),
        (["w,true,2"] * 20_000, (("a", "text, 'w' in row 20001"),)),
    ],
)
def test_what_comes_after_the_first_lines(tmp_path, ends, aside):
    """The guess is made from the first lines; other cells may come after thousands of rows."""
    path = tmp_path / "x.csv"
    rows = [f"{k},{'true' if k % 2 else 'false'},{k}" for k in range(20_000)]
    path.write_text("\n".join(["a,b,c", *rows, *ends]))
    assert path.stat().st_size > 2 * csv_files.SAMPLE_SIZE
    table = read_table(path)
    assert table.set_aside == aside
    assert table.names == tuple(name for name in "abc" if name not in dict(aside))
    assert len(table.values) == 20_000 + len(ends)


def test_an_index_of_pandas_is_no_feature(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",a,b\n0,1,2\n7,3,4\n")
    assert as_source(path).feature_names == ("a", "b")
    assert read_table(path).row_ids.tolist() == ["0", "7"]


@pytest.mark.parametrize("n_rows", [2, 100_000])  # seen at once, and in the middle of a pass
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3,4x", r"column 'b' \('4x' in row {row}\); choose other columns with as_source\("),
        ("3", r"row {row} has 1 cells, expected 2 as in the first line; fix the row"),
    ],
)
def test_errors_of_a_fit_name_the_place_and_the_remedy(tmp_path, n_rows, line, said):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * (n_rows - 1) + line + "\n")
    with pytest.raises(TableError, match=said.format(row=n_rows)):
        VanishingIdeal().fit(path)


def test_columns_of_text_and_dates_are_set_aside(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("day,a,city,b\n2026-01-05,1,Rome,2\n2026-01-06,3,,4\n")
    table = read_table(path)
    assert table.names == ("a", "b")
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert table.set_aside == (
        ("day", "date, '2026-01-05' in row 1"),
        ("city", "text, 'Rome' in row 1"),
    )
    assert read_table(path, row_ids="city", columns=["b"]).row_ids.tolist() == ["Rome", ""]
    with pytest.raises(TableError, match=r"column 'city' \('Rome' in row 1\); choose other"):
        read_table(path, columns=["a", "city"])
    with pytest.raises(TableError, match="no column 'c'; it has day, a, city, b"):
        read_table(path, columns=["c"])


@pytest.mark.parametrize("kind", ["parquet", "feather", "npy", "npz"])
def test_tables_of_other_kinds(tmp_path, kind):
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "day": pd.Timestamp("2026-01-05")})
    path = tmp_path / f"x.{kind}"
    if kind == "parquet":
        frame.set_index(pd.Index(["u", "v"])).to_parquet(path)
    elif kind == "feather":
        frame.to_feather(path)
    elif kind == "npy":
        np.save(path, frame[["a", "b"]].to_numpy())
    else:
        np.savez(path, a=frame.a, b=frame.b)
    table = read_table(path)
    assert table.values.tolist() == [[1, 3], [2, 4]]
    assert table.shown_names == (("x0", "x1") if kind == "npy" else ("a", "b"))
    assert [each.name for each in table.set_aside] == ["day"] * (kind in ("parquet", "feather"))
    assert (table.row_ids is not None) == (kind == "parquet")
    columns = None if kind in ("npy", "npz") else ["a", "b"]
    np.testing.assert_array_equal(rows_of(as_source(path, columns=columns)), table.values)


def test_numbers_of_numpy_that_arrow_lacks(tmp_path):
    np.savez(
        tmp_path / "x.npz",
        swapped=np.array([1.5, 2.5], dtype=">f8"),
        long=np.array([1.0, 2.0], dtype=np.longdouble),
        complex=np.array([1j, 2.0]),
    )
    table = read_table(tmp_path / "x.npz")
    assert table.values.tolist() == [[1.5, 1], [2.5, 2]]
    assert table.set_aside == (("complex", "text, '1j' in row 1"),)


def test_an_example_is_the_first_that_is_there(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": [1, 2], "b": [None, "Rome"]}), tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").set_aside == (("b", "text, 'Rome' in row 2"),)


def test_one_row_tells_a_decimal_comma(tmp_path):
    path = tmp_path / "row.csv"
    path.write_text("1,5;2,25\n")
    np.testing.assert_array_equal(by_the_command_line(path).values, [[1.5, 2.25]])
    path.write_text("1,5;2,25\n3,5;4\n")
    np.testing.assert_array_equal(by_the_command_line(path).values, [[1.5, 2.25], [3.5, 4.0]])


def test_five_columns_of_text_are_named_and_others_counted(tmp_path):
    path = tmp_path / "texts.csv"
    names = [f"t{i}" for i in range(7)]
    path.write_text(",".join([*names, "x"]) + "\n" + ("u," * 7 + "1\n") * 3)
    with pytest.raises(TableError, match=r"t4' \([^)]*\) and 2 more"):
        VanishingIdeal().fit(path)


@pytest.mark.parametrize(
    ("above", "n_above"),
    [
        ("Budget 2024\n\n", 2),
        ("Budget, all departments\n", 1),
        ("Budget,,,,\n,,,,\n", 2),
        ('"Budget\nof 2024"\n\n', 3),
        ("# Budget\n", 1),
        ("\n", 1),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_lines_above_the_header_are_left_out(
    tmp_path, capsys, monkeypatch, above, n_above, encoding
):
    monkeypatch.setattr(
        "vanishing.app.cli.console.state.quiet", False
    )  # as an earlier test left it
    path = tmp_path / "budget.csv"
    rows = [[7, k, 2 * k, 3 * k, 0.5 * k] for k in range(1, 40)]
    body = "unit,a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes((above + body).encode(encoding))
    table = read_table(path)
    assert table.names == ("unit", "a", "b", "c", "d")
    assert table.values.tolist() == rows
    assert (table.n_above, table.find_line(1)) == (n_above, n_above + 2)
    source = as_source(path, columns=["a", "d"])
    assert rows_of(source).tolist() == [[row[1], row[4]] for row in rows]
    assert source.n_samples == len(rows)
    np.testing.assert_array_equal(by_the_command_line(path).values, table.values)
    lines = (
        "1 line above the header is" if n_above == 1 else f"{n_above} lines above the header are"
    )
    assert f"budget.csv: {lines} left out" in capsys.readouterr().err.replace("\n", " ")


def test_errors_below_a_title_name_the_row(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("Title\n\na,b\n1,2\n3,4\n5\n")
    with pytest.raises(TableError, match="row 3 has 1 cells, expected 2 as in the header"):
        read_table(path)
    path.write_text("Title\n\na,b\n")
    with pytest.raises(TableError, match="has no rows, only a header"):
        read_table(path)


@pytest.mark.parametrize("text", ["a\n1,2\n3,4\n", "a,b\n1,2,3\n4,5,6\n", "a,b\nu,2,3\nv,5,6\n"])
def test_a_header_that_is_too_short_is_no_title(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=r"row 1 has \d cells, expected \d as in the first line"):
        read_table(path)


def test_laws_of_a_table_with_a_title(tmp_path):
    from vanishing import discover

    path = tmp_path / "x.csv"
    body = "".join(f"{k},{k * k % 17},{k + k * k % 17}\n" for k in range(40))
    path.write_text("Title\n\na,b,total\n" + body)
    laws = discover(path)
    assert [str(law) for law in laws] == ["total = a + b"]
    assert "2 lines above the header are left out" in laws.notes


def test_a_binary_byte_is_latin_1(tmp_path):
    (tmp_path / "odd.csv").write_bytes(b"a\x81,b\n1,2\n3,4\n")  # no byte of Windows' encoding
    table = read_table(tmp_path / "odd.csv")
    assert table.names == ("a\x81", "b")
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_quotes_that_never_end(tmp_path):
    """More than csv takes for a cell: the file is read as it is, without a guess of titles."""
    (tmp_path / "quotes.csv").write_text('a,b\n1,"' + "x" * 200_000 + "\n")
    table = read_table(tmp_path / "quotes.csv")
    assert (table.names, table.values.tolist()) == (("a",), [[1.0]])


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays_that_are_no_tables(tmp_path, ending):
    cases = [
        (np.float64(3.0), "holds a single value; a table has rows and columns"),
        (np.ones((3, 2)) * 1j, "holds complex numbers; save their real and imaginary parts"),
    ]
    path = tmp_path / f"array.{ending}"
    for array, said in cases[: 2 if ending == "npy" else 0]:
        np.save(path, array)
        with pytest.raises(TableError, match=said):
            read_table(path)
    if ending == "npz":
        np.savez(path, a=np.arange(3.0), b=np.arange(4.0))
        with pytest.raises(TableError, match="holds no table: it has"):
            read_table(path)


def test_records_of_numpy_are_columns(tmp_path):
    records = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f8"), ("n", "i4")])
    np.save(tmp_path / "records.npy", records)
    table = read_table(tmp_path / "records.npy")
    assert table.names == ("x", "n")
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_a_sheet_of_truth_values_and_one_without_rows(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["on", "x"], [True, 1.5], [False, 2.0], [None, 3.0]):
        book.active.append(row)
    book.create_sheet("empty").append(["a", "b"])
    book.save(tmp_path / "book.xlsx")
    table = read_table(tmp_path / "book.xlsx")
    np.testing.assert_array_equal(table.values, [[1, 1.5], [0, 2], [np.nan, 3]])
    with pytest.raises(TableError, match="has no rows, only a header"):
        read_table(tmp_path / "book.xlsx", sheet="empty")
    with pytest.raises(TableError, match="has no column of numbers: 'x0' is text"):
        read_table(tmp_path / "book.xlsx", sheet="empty", header=False)


def test_a_damaged_sheet_is_no_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "book.xlsx")
    with zipfile.ZipFile(tmp_path / "book.xlsx") as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts["xl/worksheets/sheet1.xml"] = b"<worksheet><sheetData><row"
    with zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)
    with pytest.raises(TableError, match="is not a readable Excel file"):
        read_table(tmp_path / "bad.xlsx")


def test_sheets_are_counted_from_one(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append([1.0, 2.0])
    book.create_sheet("other").append([3.0, 4.0])
    book.save(tmp_path / "book.xlsx")
    assert read_table(tmp_path / "book.xlsx", sheet="2").values.tolist() == [[3, 4]]
    with pytest.raises(TableError, match="has no sheet '0'; it has 'Sheet', 'other'"):
        read_table(tmp_path / "book.xlsx", sheet="0")


def test_names_of_rows_are_written_as_people_do(tmp_path):
    """3 rather than 3.0, in Parquet files and in sheets."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    openpyxl = pytest.importorskip("openpyxl")
    pq.write_table(pa.table({"id": [3.0, 4.0], "x": [1.0, 2.0]}), tmp_path / "t.parquet")
    book = openpyxl.Workbook()
    for row in (["id", "x"], [3.0, 1.0], ["b", 2.0]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert list(read_table(tmp_path / "t.parquet", row_ids="id").row_ids) == ["3", "4"]
    assert list(read_table(tmp_path / "t.xlsx", row_ids="id").row_ids) == ["3", "b"]


def test_a_header_alone_has_no_rows_to_fit(tmp_path):
    (tmp_path / "header.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="row"):
        VanishingIdeal().fit(tmp_path / "header.csv")


def test_a_single_number_is_a_table(tmp_path):
    (tmp_path / "one.csv").write_text("7\n")
    assert read_table(tmp_path / "one.csv", header=False).values.tolist() == [[7.0]]


def test_numbers_of_a_sheet_stay_as_they_are(tmp_path):
    """With three decimals they are no thousands, and some may be texts."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [[1.234, 1e-7], [2.345, "2.5"], [12.345, 3]]
    for row in (["x", "y"], *rows):
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    table = read_table(tmp_path / "book.xlsx")
    np.testing.assert_array_equal(table.values, [[1.234, 1e-7], [2.345, 2.5], [12.345, 3]])


@pytest.mark.parametrize("n_rows", [20, 200_000])
@pytest.mark.parametrize("line", [1, 9])
def test_a_quote_that_is_not_closed_is_named_by_its_line(tmp_path, n_rows, line):
    lines = ["a,b,c", *(f"{i},{2 * i},{3 * i}" for i in range(n_rows))]
    lines[line - 1] = 'a,"b,c'
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=rf"a quote in line {line} is not closed.*; close it"):
        read_table(path)


def test_all_rows_of_all_columns_tell_the_decimal_sign(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("Menge;Preis\n920;1,02\n1.361;6,69\n")
    expected = [[920, 1.02], [1361, 6.69]]
    assert read_table(path).values.tolist() == expected
    assert rows_of(as_source(path)).tolist() == expected
    assert by_the_command_line(path).values.tolist() == expected
    path.write_text("Menge;Preis\n" + "1.361;5\n" * 20_000 + "920;6,69\n1.500;0,125\n" * 5000)
    assert read_table(path).values[[0, -2, -1]].tolist() == [[1361, 5], [920, 6.69], [1500, 0.125]]
    assert rows_of(as_source(path))[0].tolist() == [1361, 5]


def test_a_doubtful_decimal_sign_is_told_and_can_be_set(tmp_path, capsys, monkeypatch):
    from vanishing import discover
    from vanishing.app.cli.options import Reading
    from vanishing.app.cli.tables import read_input

    monkeypatch.setattr("vanishing.app.cli.console.state.quiet", False)
    path = tmp_path / "x.csv"
    path.write_text("a;b\n" + "".join(f"{k};{k % 7}\n" for k in range(20_000)) + "1,500;3\n")
    said = r"',' is taken for the decimal sign, so that '1,500' in 'a' is read as 1.5"
    with pytest.warns(UserWarning, match=rf"{said}; if that is wrong, pass decimal='.' to read_"):
        assert read_table(path).values[-1].tolist() == [1.5, 3]
    with pytest.warns(UserWarning, match=said):
        assert rows_of(as_source(path))[-1].tolist() == [1.5, 3]
    with pytest.warns(UserWarning, match=said):
        VanishingIdeal(max_degree=1).fit(path)
    assert read_input(str(path), Reading()).values[-1].tolist() == [1.5, 3]
    assert f"{said}; if that is wrong, pass --decimal ." in capsys.readouterr().err
    laws = discover(path)
    assert any(note.startswith(said) for note in laws.notes)
    with pytest.warns(UserWarning, match=said):
        laws.check(path)
    # What the user says needs no note.
    assert read_table(path, decimal=".").values[-1].tolist() == [1500, 3]
    assert rows_of(as_source(path, decimal="."))[-1].tolist() == [1500, 3]
    assert read_input(str(path), Reading(decimal=".")).values[-1].tolist() == [1500, 3]
    assert "decimal sign" not in capsys.readouterr().err
    laws = discover(read_table(path, decimal="."))
    assert not any("decimal sign" in note for note in laws.notes)
    assert laws.names == ("a", "b")
    for read in (read_table, as_source):
        with pytest.raises(ValueError, match=r"decimal must be '\.' or ',', got ';'"):
            read(path, decimal=";")
    with pytest.raises(ValueError, match="decimal is for the paths of CSV files, got a ndarray"):
        as_source(np.ones((2, 2)), decimal=",")


def test_files_of_a_folder_tell_the_decimal_sign_together(tmp_path):
    (tmp_path / "a.csv").write_text("u;v\n1.361;2\n")
    (tmp_path / "b.csv").write_text("u;v\n920;2,5\n")
    assert rows_of(as_source(tmp_path)).tolist() == [[1361, 2], [920, 2.5]]


def test_a_column_with_two_decimal_signs_is_not_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n39.250;1\n40,250;2\n")
    table = read_table(path)
    assert table.names == ("b",)
    assert table.set_aside[0].reason.startswith("text, '39.250' in row 1 and '40,250' in row 2")
    with pytest.raises(TableError, match="so that the decimal sign is unclear"):
        rows_of(as_source(path))
    path.write_text("a;b\n" + "39.250;1\n" * 99 + "40,250;2\n")
    with pytest.warns(UserWarning, match="is taken for the decimal sign"):
        table = read_table(path)
    assert table.strays == ((100, "a", "40,250"),)


def test_cells_of_a_sheet_tell_the_decimal_sign_together(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Menge", "Preis", "n"], *[["920", "1,02", 1.125], ["1.361", "6,69", 2.5]] * 8):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    table = read_table(tmp_path / "x.xlsx")
    assert table.values[:2].tolist() == [[920, 1.02, 1.125], [1361, 6.69, 2.5]]
    # Beside a typo, numbers are texts, but not such as could have thousands.
    book.active["C3"] = "2.5?"
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(UserWarning, match="'1.361' in 'Menge' is read as 1361"):
        table = read_table(tmp_path / "x.xlsx")
    assert table.values[0].tolist() == [920, 1.02, 1.125]
    assert table.strays == ((2, "n", "2.5?"),)


def test_a_first_line_that_may_be_a_row(tmp_path):
    from vanishing import discover

    path = tmp_path / "x.csv"
    path.write_text("".join(f"x{k},{k},{2 * k}\n" for k in range(1, 40)))
    with pytest.warns(UserWarning, match=r"the first line \('x1', '1', '2'\) is a row; if it con"):
        table = read_table(path)
    assert (table.names, len(table)) == (("x1", "x2"), 39)
    assert any("the first line ('x1', '1', '2') is a row" in note for note in discover(path).notes)
    path.write_text("country,2019,2020\nChile,5,4\nPeru,1,8\n")
    with pytest.warns(UserWarning, match="is used as names; if it is a row, pass header=False"):
        assert read_table(path).names == ("2019", "2020")
    path.write_text("2019,2020,2021\n" + "5,4,3\n1,8,2\n" * 10)
    assert any(note.startswith("there is no header") for note in discover(path).notes)


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;\r"])
def test_excels_hint_of_the_delimiter(tmp_path, line):
    path = tmp_path / "x.csv"
    path.write_bytes(f"{line}\na,1;b\n1,5;2\n2,5;3\n".encode())
    table = read_table(path)
    assert table.names == ("a,1", "b")
    assert table.values.tolist() == [[1.5, 2], [2.5, 3]]
    assert (table.notes, table.find_line(1)) == ((), 3)
    assert rows_of(as_source(path)).tolist() == table.values.tolist()
    path.write_bytes(f"{line}\n1,5;2\n2,5;3\n".encode())
    assert read_table(path).values.tolist() == [[1.5, 2], [2.5, 3]]


def test_a_letter_late_in_a_file_tells_the_encoding(tmp_path):
    path = tmp_path / "x.csv"
    for last, encoding in (("Orléans", "cp1252"), ("Orléans", "utf-8"), ("\x81é", "latin-1")):
        path.write_bytes(("a,city\n" + "1,Rome\n" * 30_000 + f"2,{last}\n").encode(encoding))
        table = read_table(path, columns=["a"], row_ids="city")
        assert table.row_ids[-1] == last
        said = [] if encoding == "utf-8" else [f"not in UTF-8, read as Windows text ({encoding})"]
        assert [note.text for note in table.notes] == said


def test_a_dash_in_a_column_of_numbers_is_zero(tmp_path):
    from vanishing import discover

    path = tmp_path / "x.csv"
    path.write_text('a,b,c\n"$1,250.00",$ -,-\n$ -,($3.50),-\n–,$2.25,7\n—,-,8\n')
    expected = [[1250, 0, 0], [0, -3.5, 0], [0, 2.25, 7], [0, 0, 8]]
    table = read_table(path)  # accounts give no warning
    assert table.values.tolist() == expected
    assert "a dash is read as 0: 'a', 'b', 'c'" in [note.text for note in table.notes]
    assert rows_of(as_source(path)).tolist() == expected
    assert by_the_command_line(path).values.tolist() == expected
    assert any("a dash is read as 0" in note for note in discover(path).notes)
    # Late in the file, and without other signs of accounts: it may be a missing value.
    path.write_text("a,b\n" + "1.5,2\n" * 20_000 + "-,3\n")
    said = "a dash is read as 0: 'a'; if dashes are missing values, empty these cells"
    with pytest.warns(UserWarning, match=said):
        assert read_table(path).values[-1].tolist() == [0, 3]
    with pytest.warns(UserWarning, match=said):
        assert rows_of(as_source(path))[-1].tolist() == [0, 3]
    path.write_text("a,b\n-,low\n-,-\n")
    with pytest.raises(TableError, match="'a' is text, '-' in row 1; 'b' is text, 'low' in row 1"):
        read_table(path)


def test_dashes_of_a_sheet_and_of_a_frame(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pandas = pytest.importorskip("pandas")
    from vanishing import discover

    rows = [[k, "-" if k % 3 else k] for k in range(1, 20)]
    book = openpyxl.Workbook()
    for row in (["a", "b"], *rows):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.warns(UserWarning, match="a dash is read as 0: 'b'"):
        table = read_table(tmp_path / "x.xlsx")
    assert table.values.tolist() == [[a, 0 if b == "-" else b] for a, b in rows]
    notes = discover(pandas.DataFrame(rows, columns=["a", "b"])).notes
    assert any(note.startswith("a dash is read as 0: 'b'") for note in notes)


def test_a_number_sign_is_part_of_a_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("# Budgeted,# Signed,Open\n7,5,2\n9,4,5\n")
    names = ("# Budgeted", "# Signed", "Open")
    assert read_table(path).names == as_source(path).feature_names == names
    assert read_table(path).values.tolist() == rows_of(as_source(path)).tolist()
    assert (len(read_table(path)), read_table(path).find_line(1)) == (2, 2)
    path.write_text("# Staff\n" + path.read_text())
    assert (read_table(path).names, read_table(path).n_above) == (names, 1)
    # A comment, as numpy.savetxt writes the names.
    np.savetxt(path, np.eye(2), delimiter=",", header="u,v")
    assert read_table(path).names == ("u", "v")
