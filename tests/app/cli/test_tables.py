"""Tables are read as they were meant, or refused with the place and the remedy."""

import errno
import gzip
import io
import os
import re
import sys
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vanishing
from vanishing.app.cli.console import DataError, OutputError, UsageError
from vanishing.app.cli.options import Reading
from vanishing.app.cli.tables import check_outputs, read_input, refusals, write_table
from vanishing.data import TableError

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


def read(tmp_path, content, *, name="data.csv", label=None, model=None, gaps="refuse", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_input(str(path), Reading(label=label, **options), model=model, gaps=gaps)


@given(
    rows=st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=12),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
    last_end=st.booleans(),
    byte_order_mark=st.booleans(),
)
def test_text_gives_the_same_numbers(
    tmp_path_factory, rows, delimiter, end, header, last_end, byte_order_mark
):
    lines = [delimiter.join(map(repr, row)) for row in rows]
    if header:
        lines.insert(0, delimiter.join(["a", "b", "ç d"]))
    text = end.join(lines) + (end if last_end else "")
    encoding = "utf-8-sig" if byte_order_mark else "utf-8"
    table = read(tmp_path_factory.getbasetemp(), text.encode(encoding))
    assert np.array_equal(table.values, np.array(rows))
    assert table.names == (("a", "b", "ç d") if header else None)


@given(
    rows=st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=8),
    names=st.lists(NAMES, min_size=2, max_size=2, unique=True),
    kind=st.sampled_from(["csv", "tsv", "parquet", "npz"]),
)
def test_what_is_written_is_read_again(tmp_path_factory, rows, names, kind):
    names = [f"n{name}".replace("/", "") for name in names]
    if names[0] == names[1]:
        return
    path = tmp_path_factory.getbasetemp() / f"written.{kind}"
    columns = dict(zip(names, np.array(rows).T, strict=True))
    write_table(str(path), columns)
    table = read_input(str(path), Reading())
    assert table.names == tuple(names)
    assert np.array_equal(table.values, np.array(rows))


@given(st.lists(st.text(max_size=10), min_size=1, max_size=6))
def test_names_of_rows_come_back(tmp_path_factory, ids):
    # A cell that means a missing value comes back as none, and Windows ends of lines as ours.
    ids = [f"_{text}".replace("\r", "").replace("\0", "") for text in ids]
    ids = [text.encode("utf-8", "ignore").decode() for text in ids]
    path = tmp_path_factory.getbasetemp() / "ids.csv"
    write_table(str(path), {"who": np.array(ids, dtype=object), "v": np.arange(float(len(ids)))})
    assert read_input(str(path), Reading(id="who")).row_ids.tolist() == ids


def test_decimal_comma(tmp_path):
    table = read(tmp_path, "länge;höhe\n1,5;-2\n0,25;1e3\n")
    assert table.names == ("länge", "höhe")
    assert table.values.tolist() == [[1.5, -2.0], [0.25, 1000.0]]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('a,b\n"1,000",2\n"2,500",3\n', [1000, 2500]),
        ('a,b\n"-1,234,567.5",2\n12,3\n', [-1234567.5, 12]),
        ("a;b\n1,234.5;2\n12;3\n", [1234.5, 12]),
        ("a;b\n1.234,5;2,5\n12;3\n", [1234.5, 12]),
        ("a;b\n1.234.567;2,5\n12;3\n", [1234567, 12]),
        ("a\tb\n1 234\t2\n12\t3\n", [1234, 12]),
        ("a\tb\n1\u202f234\t2\n12\t3\n", [1234, 12]),
        ("a;b\n1'234;2\n12;3\n", [1234, 12]),
        ("a;b\n1,234;2,5\n12,1;3\n", [1.234, 12.1]),  # decimal commas
        ('"1,000","2"\n"2,500","3"\n', [1000, 2500]),  # no header
    ],
)
def test_thousands_are_separated(tmp_path, text, numbers):
    assert read(tmp_path, text).values[:, 0].tolist() == numbers


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=20))
def test_separated_thousands_come_back(tmp_path_factory, numbers):
    text = "n,x\n" + "".join(f'"{each:,}",1\n' for each in numbers)
    assert read(tmp_path_factory.getbasetemp(), text).values[:, 0].tolist() == numbers


@pytest.mark.parametrize("cell", ["1,2,3", "12,34", "1,000,00", "x"])
def test_cells_that_are_no_thousands(tmp_path, cell):
    text = "a,b\n" + '"1,000",2\n' * 9000 + f'"{cell}",3\n'
    with pytest.raises(DataError, match=rf"row 9001 has '{cell}', which is not a number, in .*'a'"):
        read(tmp_path, text)


def test_a_column_that_counts_the_rows_names_them(tmp_path):
    table = read(tmp_path, "rownames,a,b\n1,2,3\n2,4,5\n3,6,7\n")
    assert table.names == ("a", "b")
    assert table.row_ids.tolist() == ["1", "2", "3"]
    assert read(tmp_path, "rownames,a\n1,2\n3,4\n").names == ("rownames", "a")  # does not count
    assert read(tmp_path, "t,a\n1,2\n2,4\n").names == ("t", "a")
    assert read(tmp_path, "index,a\n1,2\n2,4\n", columns="index,a").names == ("index", "a")


def test_columns_that_are_mostly_missing_are_left_out(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n1,,1\n2,,2\n3,4,\n")
    table = read_input(str(path), Reading(), set_aside=True, gaps="skip")
    assert table.names == ("a", "c")
    assert table.rows.tolist() == [1, 2]


@pytest.mark.parametrize("delimiter", ["é", '"', "\n", "ab", ""])
def test_delimiters_that_are_none(tmp_path, delimiter):
    with pytest.raises(UsageError, match="--delimiter takes"):
        read(tmp_path, "a,b\n1,2\n", delimiter=delimiter)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_other_encodings(tmp_path, encoding):
    table = read(tmp_path, "größe,x\n1,2\n".encode(encoding))
    assert table.names == ("größe", "x")


def test_numbers_of_numpy_savetxt(tmp_path):
    buffer = io.BytesIO()
    points = np.random.default_rng(0).normal(size=(5, 3))
    np.savetxt(buffer, points, header="a b c", fmt="%.18e")
    table = read(tmp_path, buffer.getvalue())
    assert table.names == ("a", "b", "c")
    assert np.array_equal(table.values, points)


def test_wide_headers(tmp_path):
    names = [f"a rather long name of column {j}" for j in range(5000)]
    table = read(tmp_path, ",".join(names) + "\n" + ",".join(["1.5"] * 5000) + "\n")
    assert table.values.shape == (1, 5000)


def test_one_column(tmp_path):
    assert read(tmp_path, "x\n1\n2\n").values.tolist() == [[1.0], [2.0]]


def test_compressed(tmp_path):
    table = read(tmp_path, gzip.compress(b"a,b\n1,2\n"), name="data.csv.gz")
    assert table.values.tolist() == [[1.0, 2.0]]


def test_index_of_pandas_is_the_name_of_rows(tmp_path):
    table = read(tmp_path, ",a,b\n0,1,2\n7,3,4\n")
    assert table.names == ("a", "b")
    assert table.row_ids.tolist() == ["0", "7"]


def test_later_rows_may_have_decimals(tmp_path):
    # Types must not be guessed from the beginning of a file.
    text = "a,b\n" + "1,2\n" * 300_000 + "1.5,2\n"
    assert read(tmp_path, text).values[-1].tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("columns", "drop", "names"),
    [
        ("c,a", None, ("c", "a")),
        ("3,1", None, ("c", "a")),
        ("2-4", None, ("b", "c", "d,e")),
        ("d,e", None, ("d,e",)),
        (None, "a,3", ("b", "d,e")),
        ("1-3", "b", ("a", "c")),
    ],
)
def test_choice_of_columns(tmp_path, columns, drop, names):
    table = read(tmp_path, 'a,b,c,"d,e"\n1,2,3,4\n', columns=columns, drop=drop)
    assert table.names == names


def test_text_columns_may_be_ids_and_labels(tmp_path):
    table = read(tmp_path, "who,x,kind\nann,1,good\nbob,2,bad\n", id="who", label="kind")
    assert table.names == ("x",)
    assert table.row_ids.tolist() == ["ann", "bob"]
    assert table.labels.tolist() == ["good", "bad"]


def test_columns_of_text_are_set_aside_when_told(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("day,x,city,y\n2026-01-05,1,Rome,2\n2026-01-06,3,Oslo,4\n")
    table = read_input(str(path), Reading(), set_aside=True)
    assert table.names == ("x", "y")
    assert [each.name for each in table.set_aside] == ["day", "city"]
    said = "columns of dates and text are left out: 'day' ('2026-01-05' in row 1), 'city' ('Rome'"
    assert said in " ".join(capsys.readouterr().err.split())
    path.write_text("1,Rome,2\n3,Oslo,4\n")  # the same places of a table without names
    nameless = Reading(header=False)
    other = read_input(str(path), nameless, set_aside=True)
    again = read_input(str(path), nameless, model=other, set_aside=True)
    assert again.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    path.write_text("day,x,city,y\n2026-01-05,1,Rome,2\n2026-01-06,3,Oslo,4\n")
    with pytest.raises(DataError, match="column 'city'"):
        read_input(str(path), Reading(columns="city"), set_aside=True)


def test_columns_of_a_model_are_found_by_name(tmp_path, fitted):
    table = read(tmp_path, "y,text,x\n1,?,2\n", model=fitted.ideal)
    assert table.names == ("x", "y")
    assert table.values.tolist() == [[2.0, 1.0]]


def test_columns_without_names_are_taken_by_place(tmp_path, fitted):
    table = read(tmp_path, "5,6\n", model=fitted.ideal)
    assert table.names == ("x", "y")


def test_rows_with_missing_values_are_skipped_when_told(tmp_path):
    table = read(tmp_path, "a,b\n1,2\n,3\n4,5\n", gaps="skip")
    assert table.rows.tolist() == [1, 3]
    assert table.row_name(1) == "3"


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("", {}, "is empty"),
        ("a,b\n", {}, "no rows"),
        ("a,b", {}, "no rows"),
        ("a,b\n1,2\n3,\n", {}, "row 2 has no value in column 'b'"),
        ("a,b\n1,2\n3,NA\n4,nan\n", {}, "(2 such rows in all)"),
        ("a,b\n1,inf\n", {}, "row 1 has an infinite value in column 'b'"),
        ("a,b\n,1\n,2\n", {"gaps": "skip"}, "every row"),
        ("a,city\n1,Rome\n", {}, "column 'city' ('Rome' in row 1)"),
        ("a,city\n1,Rome\n", {}, "--drop 'city'"),
        ("a,b\n1,2\n3,4x\n", {}, "('4x' in row 2)"),
        ("1,2\n3,4x\n", {}, "column 2 ('4x' in row 2)"),
        ("a,b\n1,2\n3\n", {}, "row 2 has 1 cells, expected 2"),
        ("a,b\n1,2\n\n3,4,5\n", {}, "row 2 has 3 cells, expected 2"),
        ("a,a\n1,2\n", {}, "two columns are called 'a'"),
        ("a,,c\n1,2,3\n", {}, "column 2 has no name"),
        ("a,b\n1,2\n", {"columns": "c"}, "no column 'c'; it has the columns 'a', 'b'"),
        ("a,b\n1,2\n", {"columns": "3"}, "a number from 1 to 2"),
        ("a,b\n1,2\n", {"drop": "1-2"}, "no column is left"),
        ("a\0b", {}, "not a text file"),
        ("PAR1 is no magic", {}, "not a readable Parquet file"),
        (b"\x93NUMPY", {}, "not a readable NumPy file"),
        (b"PK\x03\x04", {}, "not a readable NumPy file"),
    ],
)
def test_bad_tables_are_refused(tmp_path, content, options, said):
    with pytest.raises(DataError) as error:
        read(tmp_path, content, **options)
    assert said in str(error.value)
    assert "data.csv" in str(error.value)


def test_model_with_other_columns_is_refused(tmp_path, fitted):
    with pytest.raises(DataError, match=r"lacks 'y', which the model was fitted to; it has 'x'"):
        read(tmp_path, "x,z\n1,2\n", model=fitted.ideal)
    with pytest.raises(DataError, match="has 3 columns to use, expected 2"):
        read(tmp_path, "1,2,3\n", model=fitted.ideal)


@pytest.mark.parametrize("path", ["nowhere.csv", "."])
def test_files_that_are_none(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"no file|folder"):
        read_input(path, Reading())


# --- Excel ----------------------------------------------------------------------------------------


def workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return str(path)


PRICES = [["day", "a", "b", None], [date(2026, 1, 5), 1, 2.5], [date(2026, 1, 6), "1e3", None]]


def test_sheets_are_tables(tmp_path, capsys):
    path = workbook(tmp_path / "book.xlsx", Empty=[], Prices=PRICES, Other=[[1, 2], [3, 4]])
    table = read_input(path, Reading(id="day"), gaps="keep")
    told = " ".join(capsys.readouterr().err.split())
    assert "sheet 'Prices' is read; --sheet reads another ('Other')" in told
    assert table.names == ("a", "b")
    assert table.row_ids.tolist() == ["2026-01-05", "2026-01-06"]
    np.testing.assert_array_equal(table.values, [[1, 2.5], [1000, np.nan]])
    for sheet in ("Other", "3"):
        table = read_input(path, Reading(sheet=sheet))
        assert table.names is None
        assert table.values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match="no sheet 'x'; it has 'Empty', 'Prices', 'Other'"):
        read_input(path, Reading(sheet="x"))


SUMS = [["a", "b", "total"], *([i, i * i % 7, i + i * i % 7] for i in range(1, 30))]


def test_hidden_sheets_and_covers_are_skipped(tmp_path, call):
    openpyxl = pytest.importorskip("openpyxl")
    cover = [["Sales of 2026"], [], ["Author", "Ann"], ["Date", "2026-01-05"]]
    old = [["x", "y"], *([i, 5] for i in range(20))]
    path = workbook(tmp_path / "book.xlsx", Old=old, Cover=cover, Sums=SUMS, More=SUMS)
    book = openpyxl.load_workbook(path)
    book["Old"].sheet_state = "hidden"
    book.save(path)
    others = "('Cover', 'More', hidden: 'Old')"
    said = "sheet 'Sums' is read, the first with a table of numbers; {} reads another " + others
    for command in ("laws", "check"):
        done = call(command, "book.xlsx")
        assert done.code == 0
        assert re.findall(r"Sheet '(\w+)':", done.out) == ["Sums", "More"]
        assert "are left out: 'Old', 'Cover'" in " ".join(done.err.split())
    for command in ("detect", "info"):
        done = call(command, "book.xlsx")
        assert done.code == 0
        assert said.format("--sheet") in " ".join(done.err.split())
    assert "total = a + b" in call("laws", "book.xlsx").out
    laws = vanishing.discover(path)
    assert [str(law) for law in laws] == ["total = a + b"]
    assert laws.notes == (said.format("read_table(path, sheet=...)"),)
    done = call("info", "book.xlsx", "--sheet", "Old")
    assert "sheet" not in done.err
    assert "20 rows, 2 columns" in done.out
    with pytest.raises(DataError, match="column 2 has no name"):
        read_input(path, Reading(sheet="Cover"))


def test_formulas_without_calculated_values_are_named(tmp_path, call):
    formulas = [f"=A{i + 1}+B{i + 1}" for i in range(1, 30)]
    rows = [SUMS[0], *([a, b, text] for (a, b, _), text in zip(SUMS[1:], formulas, strict=True))]
    path = workbook(tmp_path / "book.xlsx", Sums=rows)
    reason = (
        "formulas without calculated values, '=A2+B2' in row 1; open and save the file once in a "
        "spreadsheet program"
    )
    for command in ("laws", "check", "detect"):
        done = call(command, "book.xlsx")
        assert f"column 'total' is left out ({reason})" in " ".join(done.err.split())
        assert "missing" not in done.err
    assert vanishing.discover(path).notes[:1] == (f"total is set aside: {reason}",)
    assert "formulas without calculated values" in call("info", "book.xlsx").out
    with pytest.raises(TableError, match="'c' is formulas without calculated values"):
        vanishing.discover(workbook(tmp_path / "none.xlsx", Sums=[["c"], ["=1+1"], ["=1+2"]]))
    several = [[*row, row[2], "text"] for row in rows]
    several[0] = ["a", "b", "c", "d", "e"]
    workbook(tmp_path / "several.xlsx", Sums=several)
    assert (
        "columns of formulas without calculated values and text are left out: 'c' ('=A2+B2' in "
        "row 1), 'd' ('=A2+B2' in row 1), 'e' ('text' in row 1); open and save the file once in a "
        "spreadsheet program"
    ) in " ".join(call("laws", "several.xlsx").err.split())


def test_a_few_formulas_without_values_are_cells_without_numbers(tmp_path, call):
    rows = [list(row) for row in SUMS]
    rows[4][2] = "=A5+B5"
    workbook(tmp_path / "book.xlsx", Sums=rows)
    out = call("check", "book.xlsx").out
    assert f"row 4: total '=A5+B5' is not a number; it is {sum(rows[4][:2])} by [1]." in out


def test_calculated_formulas_are_read(tmp_path):
    """A formula may have a number, or nothing, as its value."""
    path = workbook(tmp_path / "book.xlsx", One=[["a", "b"], [1, "=A2*2"], [2, "=A3*2"], [3, 6]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    text = parts[name].decode()
    text = text.replace("<f>A2*2</f><v />", "<f>A2*2</f><v>2</v>").replace(
        '<c r="B3"><f>A3*2</f><v />', '<c r="B3" t="str"><f>A3*2</f><v></v>'
    )
    assert 't="str"' in text
    assert "<v>2</v>" in text
    parts[name] = text.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    table = read_input(path, Reading(), gaps="keep")
    np.testing.assert_array_equal(table.values, [[1, 2], [2, np.nan], [3, 6]])


def test_titles_empty_rows_and_failed_formulas_of_sheets(tmp_path):
    rows = [
        ["Sales of 2026"],
        [],
        [None, "a", "b", "c"],
        [],
        [None, 1, 2, 3],
        [None, 4, "#DIV/0!", 6],
    ]
    path = workbook(tmp_path / "book.xlsx", One=rows)
    table = read_input(path, Reading(), gaps="keep")
    assert table.names == ("a", "b", "c")
    np.testing.assert_array_equal(table.values, [[1, 2, 3], [4, np.nan, 6]])


def test_a_workbook_from_a_pipe_and_files_that_are_none(tmp_path, monkeypatch):
    content = Path(workbook(tmp_path / "book.xlsx", One=[["a", "b"], [1, 2]])).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_input("-", Reading()).values.tolist() == [[1, 2]]
    with pytest.raises(DataError, match="not a readable Excel file"):
        read(tmp_path, b"PK\x03\x04", name="bad.xlsx")
    with pytest.raises(DataError, match=r"save it as \.xlsx or \.csv"):
        read(tmp_path, b"\xd0\xcf\x11\xe0", name="old.xls")
    with pytest.raises(DataError, match="its sheets are empty"):
        read_input(workbook(tmp_path / "empty.xlsx", One=[]), Reading())


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    path = workbook(tmp_path / "book.xlsx", One=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"openpyxl: pip install 'vanishing\[excel\]'"):
        read_input(path, Reading())


def test_parquet_of_all_kinds(tmp_path):
    kinds = {
        "int": pa.array([1, 2], pa.int8()),
        "bool": pa.array([True, False]),
        "decimal": pa.array([1, 2], pa.decimal128(5, 2)),
        "half": pa.array(np.array([0.5, 2], np.float16)),
    }
    pq.write_table(pa.table({**kinds, "text": ["a", "b"]}), tmp_path / "t.parquet")
    table = read_input(str(tmp_path / "t.parquet"), Reading(id="text"))
    assert table.values.tolist() == [[1, 1, 1, 0.5], [2, 0, 2, 2]]
    assert table.row_ids.tolist() == ["a", "b"]
    with pytest.raises(DataError, match=r"column 'text' \('a' in row 1\)"):
        read_input(str(tmp_path / "t.parquet"), Reading())


def test_missing_values_of_parquet(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, None])}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="row 2 has no value in column 'a'"):
        read_input(str(tmp_path / "t.parquet"), Reading())


def test_arrays_of_numpy(tmp_path):
    np.save(tmp_path / "images.npy", np.arange(12).reshape(3, 2, 2))
    assert read_input(str(tmp_path / "images.npy"), Reading()).values.shape == (3, 4)
    np.savez(tmp_path / "two.npz", X=np.ones((2, 3)), Z=np.ones((2, 4)), y=[0, 1])
    with pytest.raises(DataError, match="has the tables X, Z; choose one with --array"):
        read_input(str(tmp_path / "two.npz"), Reading())
    assert read_input(str(tmp_path / "two.npz"), Reading(array="Z")).values.shape == (2, 4)
    with pytest.raises(DataError, match="no array 'W'"):
        read_input(str(tmp_path / "two.npz"), Reading(array="W"))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="not a readable NumPy file"):
        read_input(str(tmp_path / "objects.npy"), Reading())


def test_models_get_names_where_there_are_any(tmp_path):
    named = read(tmp_path, b"a,b\n1,2\n3,4\n")
    assert named.for_model.column_names == ["a", "b"]
    plain = read(tmp_path, b"1,2\n3,4\n")
    assert isinstance(plain.for_model, np.ndarray)
    assert plain.for_model.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_notes_tell_what_was_guessed(tmp_path, capsys):
    """Only where there is something to tell."""
    read(tmp_path, "0,1\n1.5,2.5\n3.5,4.5\n")
    assert "used as names" in capsys.readouterr().err
    read(tmp_path, "a,b\n1,2\n3,4\n")
    assert capsys.readouterr().err == ""
    for shape, told in (((3, 2, 2), True), ((3, 4), False)):
        np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(shape))
        read_input(str(tmp_path / "rows.npy"), Reading())
        assert ("each array of shape (2, 2) is one row" in capsys.readouterr().err) == told


def test_a_first_column_without_a_name_names_the_rows_of_a_sheet(tmp_path):
    rows = [[None, "a", "b"], ["u", 1, 2], ["v", 3, 4]]
    table = read_input(workbook(tmp_path / "first.xlsx", One=rows), Reading())
    assert table.names == ("a", "b")
    assert table.row_ids.tolist() == ["u", "v"]


def test_npy_holds_the_numbers_alone(tmp_path):
    columns = {"row": np.array([1, 2]), "score": np.array([0.5, 1.5])}
    write_table(str(tmp_path / "s.npy"), columns)
    assert np.load(tmp_path / "s.npy").tolist() == [0.5, 1.5]


def test_outputs_are_checked_before_work(tmp_path, monkeypatch):
    data = tmp_path / "data.csv"
    data.write_text("a\n1\n")
    with pytest.raises(OutputError, match="also an input"):
        check_outputs([str(data)], [str(data)])
    with pytest.raises(OutputError, match="no folder"):
        check_outputs([str(tmp_path / "none" / "a.csv")], [])
    with pytest.raises(OutputError, match="is a folder"):
        check_outputs([str(tmp_path)], [])
    with pytest.raises(OutputError, match="written twice"):
        check_outputs([str(tmp_path / "a"), str(tmp_path / "." / "a")], [])
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda *_: False)  # root may write anything
        with pytest.raises(OutputError, match="no permission"):
            check_outputs([str(tmp_path / "a.csv")], [])
    check_outputs(["/dev/null", "/dev/null", "-", None], [])
    with pytest.raises(UsageError, match=r"unknown kind of table '\.doc'"):
        write_table(str(tmp_path / "a.doc"), {"a": np.ones(1)})


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "a.csv was not written: no space left on the device; free"),
        (errno.EROFS, "a.csv was not written: writing there is not permitted; choose another"),
        (errno.EIO, f"a.csv was not written: {os.strerror(errno.EIO)}; choose another place"),
    ],
)
def test_what_the_system_says_of_files_is_one_line(number, said):
    with pytest.raises(OutputError) as error, refusals("a.csv"):
        raise OSError(number, os.strerror(number))
    assert str(error.value).startswith(said)


def test_readers_that_are_gone_are_no_failed_files():
    with pytest.raises(BrokenPipeError), refusals("a.csv"):
        raise BrokenPipeError(errno.EPIPE, "closed")


def test_a_table_of_texts_alone_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("city,day\nRome,Mon\nOslo,Tue\n")
    with pytest.raises(DataError, match=r"no column of numbers: 'city' is text, 'Rome' in row 1"):
        read_input(str(path), Reading(), set_aside=True)


def test_files_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n")

    def refuse(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("vanishing.app.cli.tables.open_table", refuse)
    with pytest.raises(DataError, match=r"data.csv cannot be read: Input/output error"):
        read_input(str(path), Reading())


@pytest.mark.parametrize("delimiter", ["tab", "\\t"])
def test_tabs_have_a_name(tmp_path, delimiter):
    assert read(tmp_path, "a\tb\n1\t2\n", delimiter=delimiter).names == ("a", "b")


def test_a_binary_table_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"none.parquet has no rows; at least one is required"):
        read_input(str(tmp_path / "none.parquet"), Reading())


def test_lines_above_the_header_are_told(tmp_path, capsys):
    table = read(tmp_path, "Report of May\n\na,b\n1,2\n3,4\n5,6\n")
    assert table.names == ("a", "b")
    assert "above" in capsys.readouterr().err


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(DataError, match="is a folder; name a file in it"):
        read_input(str(tmp_path), Reading())


def test_images_are_rows(tmp_path, capsys):
    np.save(tmp_path / "images.npy", np.arange(24.0).reshape(2, 3, 4))
    assert read_input(str(tmp_path / "images.npy"), Reading()).values.shape == (2, 12)
    assert "each array of shape (3, 4) is one row" in capsys.readouterr().err
