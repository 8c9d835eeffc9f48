"""Numbers as people write them, and cells of a column of numbers that hold something else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing.data import TableError, as_source, read_table
from vanishing.data.written_numbers import NumberFormat, guess_format, read_texts

pytest.importorskip("pyarrow")

amounts = st.lists(
    st.decimals(-(10**9), 10**9, places=2, allow_nan=False), min_size=1, max_size=30
).map(lambda numbers: [float(each) for each in numbers])


def write(amount, style):
    """Write an amount as spreadsheets do."""
    plain = f"{abs(amount):,.2f}"
    sign = "-" if amount < 0 else ""
    german = plain.replace(",", " ").replace(".", ",")
    return {
        "dollar": f"{sign}${plain}",
        "dollar inside": f"${sign}{plain}",
        "accounting": f"({plain})" if amount < 0 else plain,
        "accounting dollar": f"(${plain})" if amount < 0 else f"${plain}",
        "accounting dollar outside": f"$({plain})" if amount < 0 else f"${plain}",
        "euro": f"{sign}{german} €",
        "code": f"EUR {sign}{plain}",
        "percent": f"{sign}{plain} %",
        "unit": f"{sign}{plain} kWh",
        "minus": sign.replace("-", "\u2212") + plain,
        "trailing minus": f"{plain}{sign}",
    }[style]


STYLES = (
    "dollar",
    "dollar inside",
    "accounting",
    "accounting dollar",
    "accounting dollar outside",
    "euro",
    "code",
    "percent",
    "unit",
    "minus",
    "trailing minus",
)


@pytest.mark.parametrize("style", STYLES)
@given(numbers=amounts)
def test_every_style_is_read_back(style, numbers):
    found = read_texts([write(each, style) for each in numbers])
    assert found.values.tolist() == numbers
    assert found.strays == []


@pytest.mark.parametrize("style", STYLES)
def test_files_and_streams_read_the_same(tmp_path, style):
    numbers = [1234.5, -20.25, 3000000.0, 0.5]
    lines = [f"{i};{write(each, style)}" for i, each in enumerate(numbers)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["n;amount", *lines]) + "\n", encoding="utf-8")
    assert read_table(path).values[:, 1].tolist() == numbers
    streamed = np.concatenate(list(as_source(path).blocks(10)))
    assert streamed[:, 1].tolist() == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["$1", "€2", "$3", "€4"],  # two currencies
        ["12 %", "0.12", "13 %", "0.13"],  # which of them are percents?
        ["A12", "A13", "A14"],
        ["2026-01-05", "2026-01-06"],
        ["12:30", "12:45"],
        ["5 kg", "6 g", "7 kg", "8 g"],
        ["1.2.3", "1.2.4"],
        ["Rome", "Oslo"],
        ["5 May", "12 May"],
        ["3 pm", "4 pm"],
        ["(" + " " * 100_000, "1"],
    ],
)
def test_texts_that_are_no_column_of_numbers(cells):
    assert read_texts(cells * 20) is None


def test_a_currency_may_be_missing_from_some_cells():
    assert read_texts(["$1.50", "2.50", "", "n/a"]).values[:2].tolist() == [1.5, 2.5]


def test_each_column_has_its_own_decimal_sign():
    assert guess_format(["12,50 €", "1.234,00 €"], ".").decimal == ","
    assert guess_format(["1,234", "56,789"], ".") == NumberFormat(".", ",")
    assert guess_format(["1,25", "2,5"], ".").decimal == ","
    assert guess_format(["1,000"] * 50 + ["12,34"], ".") == NumberFormat(".", ",")  # a typo


def test_typos_are_missing_and_listed():
    cells = [str(i / 4) for i in range(40)]
    cells[7], cells[30] = "12O.5", "n/a?"
    found = read_texts(cells)
    assert found.strays == [(7, "12O.5"), (30, "n/a?")]
    assert math.isnan(found.values[7])
    assert found.values[8] == 2.0


@pytest.mark.parametrize(
    ("n_numbers", "n_texts", "are_numbers"),
    [
        (8, 1, True),
        (7, 1, False),
        (25, 2, True),
        (24, 2, False),
        (47, 3, True),
        (46, 3, False),
        (1000, 29, True),
        (1000, 30, False),
    ],
)
def test_few_cells_may_be_texts(n_numbers, n_texts, are_numbers):
    cells = [*map(str, range(n_numbers)), *["x"] * n_texts]
    assert (read_texts(cells) is not None) == are_numbers


@pytest.mark.parametrize("place", [3, 30_000])
def test_a_typo_anywhere_in_a_file(tmp_path, place):
    lines = [f"{i},{i / 2}" for i in range(40_000)]
    lines[place] = f"{place},l2.5"
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["n,half", *lines]) + "\n")
    table = read_table(path)
    assert table.names == ("n", "half")
    assert table.strays == ((place + 1, "half", "l2.5"),)
    assert np.isnan(table.values[:, 1]).sum() == 1
    assert table.find_line(place + 1) == place + 2
    # A stream has no look at the whole column.
    with pytest.raises(TableError, match=rf"'half' \('l2.5' in row {place + 1}\)"):
        np.concatenate(list(as_source(path).blocks(1000)))


def test_lines_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,4\n\n")
    assert read_table(path).find_line(2) == 3
    path.write_text("1,2\n3,4\n")
    assert read_table(path).find_line(2) == 2
    path.write_text('a,b\n1,"x\ny"\n3,z\n')  # a row of two lines
    assert read_table(path).find_line(2) is None


def test_typos_in_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a title"])
    book.active.append([])
    book.active.append(["net", "gross", "n"])
    for i in range(20):
        book.active.append([f"${i:,}.50", "1O" if i == 4 else float(i), i])
    path = tmp_path / "book.xlsx"
    book.save(path)
    table = read_table(path)
    assert table.values[:3, 0].tolist() == [0.5, 1.5, 2.5]
    assert table.strays == ((5, "gross", "1O"),)
    assert table.find_line(5) == 8


def test_texts_of_frames_are_read_as_in_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    from vanishing import discover

    net = np.random.default_rng(0).integers(100, 99999, 40) / 100
    lines = [f'"${each:,.2f}",{2 * each:.2f}' for each in net]
    lines[5] = '"$l2.5",50.00'
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["net,gross", *lines]) + "\n")
    by_file, by_frame = discover(path), discover(pandas.read_csv(path))
    assert [str(law) for law in by_file] == [str(law) for law in by_frame] == ["2*net = gross"]
    (typo,) = by_frame.check(pandas.read_csv(path, index_col=None))
    assert (typo.row, typo.fixes[0].text, typo.fixes[0].fix) == (5, "$l2.5", 25.0)
    assert by_file.check(path)[0].name == "6"


def test_brackets_that_do_not_close_are_no_number():
    assert read_texts(["(5", "6)", "-(7)", "(-8)"]) is None


def test_one_currency_in_few_cells_is_that_of_all():
    assert read_texts(["$5", "6", "7", "8.50"]).values.tolist() == [5, 6, 7, 8.5]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["١٢٫٥", "١٬٢٣٤٫٥"], [12.5, 1234.5]),
        (["１２．５", "－１３"], [12.5, -13]),
        (["2,23,456.50", "1,00,000"], [223456.5, 100000]),
        (["1.91 m/s2", "2.5 m/s2"], [1.91, 2.5]),
        (["5m3", "2.5m3"], [5, 2.5]),
        (["(5 kg)", "2 kg"], [-5, 2]),
    ],
)
def test_scripts_groups_and_units(tmp_path, cells, values):
    assert read_texts(cells).values.tolist() == values
    path = tmp_path / "table.csv"
    path.write_text("x;n\n" + "".join(f"{cell};1\n" for cell in cells), encoding="utf-8")
    assert read_table(path).values[:, 0].tolist() == values


def test_columns_of_a_frame_tell_the_decimal_sign_together():
    pandas = pytest.importorskip("pandas")
    from vanishing import discover

    frame = pandas.DataFrame({"a": ["920", "1.361"] * 20, "b": ["1,02", "6,69"] * 20})
    laws = discover(frame)
    assert laws.ranges.tolist() == [[920, 1.02], [1361, 6.69]]
    assert "read as numbers without '.': 'a'" in laws.notes[0]
    with pytest.warns(UserWarning, match="'1,361' in 'a' is read as 1361; if that is wrong, conv"):
        discover(frame).check(pandas.DataFrame({"a": ["1,361"] * 9, "b": [0.5] * 9}))
