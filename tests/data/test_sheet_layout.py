"""Sheets with several tables, titles, notes, names in two rows, and variables in rows."""

import csv

import numpy as np
import pytest

from vanishing import discover
from vanishing.data import TableError, read_table
from vanishing.data.whole_tables import list_tables

openpyxl = pytest.importorskip("openpyxl")

RNG = np.random.default_rng(0)
SALES = [["item", "quantity", "price", "amount"]]
SALES += [[f"I{i}", q, p, q * p] for i, (q, p) in enumerate(RNG.integers(2, 99, (25, 2)).tolist())]
STAFF = [["name", "fixed", "bonus", "pay"]]
STAFF += [
    [f"S{i}", a, b, a + b] for i, (a, b) in enumerate(RNG.integers(100, 999, (18, 2)).tolist())
]


def shift(rows, n):
    return [[None] * n + row for row in rows]


def beside(left, right):
    """Put rows beside others, with a blank column between them."""
    height, width = max(len(left), len(right)), max(map(len, left))
    left = [row + [None] * (width + 1 - len(row)) for row in [*left, *[[]] * (height - len(left))]]
    return [
        row + more for row, more in zip(left, [*right, *[[]] * (height - len(right))], strict=True)
    ]


@pytest.fixture(params=["xlsx", "csv"])
def save(request, tmp_path):
    def write(rows, name="sheet"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "csv":
            width = max(map(len, rows))
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([row + [None] * (width - len(row)) for row in rows])
        else:
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append(row)
            book.save(path)
        return path

    return write


def numbers(rows):
    return [row[1:] for row in rows[1:]]


@pytest.mark.parametrize("title", [[["Sales"]], [["Sales"], []], [["Sales"], ["of 2024"], [], []]])
@pytest.mark.parametrize(
    "below", [[], [["Source: own"]], [[], ["Source: own"]], [[], ["* new"], ["** old"]]]
)
@pytest.mark.parametrize("n", [0, 2])
def test_titles_and_notes_are_left_out(save, title, below, n):
    path = save(shift([*title, *SALES, *below], n))
    table = read_table(path)
    assert table.names == tuple(SALES[0][1:])
    assert table.values.tolist() == numbers(SALES)
    line = len(title) + 4
    assert table.find_line(3) == line
    assert table.places.address(3, "amount") == f"{'ABCDEF'[n + 3]}{line}"
    said = " ".join(table.sentences())
    assert "left out" in said
    if path.suffix == ".csv" and not (below or n):
        assert f"{len(title)} line" in said
        return
    around = [row[0] for row in (*title, *below) if row]
    assert [repr(text) in said for text in around] == [k < 3 for k in range(len(around))]


def test_tables_below_each_other(save):
    path = save([["Sales"], *SALES, [], ["Staff"], *STAFF, ["Source: own"]])
    tables, _ = list_tables(path)
    assert [each.rpartition("!")[2] for each in tables] == ["A2:D27", "A30:D48"]
    for name, rows in zip(tables, (SALES, STAFF), strict=True):
        table = read_table(path, sheet=name)
        assert table.names == tuple(rows[0][1:])
        assert table.values.tolist() == numbers(rows)
    largest = read_table(path)
    assert largest.values.tolist() == numbers(SALES)
    assert "A30:D48" in largest.sentences()[0]
    with pytest.raises(
        TableError, match=r"has the tables A2:D27, A30:D48; expected .* got 'A1:B2'"
    ):
        read_table(path, sheet=tables[0].replace("A2:D27", "A1:B2"))


def test_a_small_table_below_a_wide_one(save):
    months = [f"M{i}" for i in range(12)]
    wide = [["Position", *months], *([f"item {i}", *range(i + 1, i + 13)] for i in range(10))]
    small = [["Dept", "Q1", "Q2"], *([f"dept {i}", 3 * i + 1, 20 - i] for i in range(4))]
    tables, _ = list_tables(save([["Budget"], [], *wide, [], ["Headcount"], *small]))
    assert [each.rpartition("!")[2] for each in tables] == ["A3:M13", "A16:C20"]


def test_tables_beside_each_other(save):
    path = save(beside(SALES, STAFF))
    tables, _ = list_tables(path)
    assert [each.rpartition("!")[2] for each in tables] == ["A1:D26", "F1:I19"]
    table = read_table(path, sheet=tables[1])
    assert table.values.tolist() == numbers(STAFF)
    assert table.places.address(2, "pay") == "I3"


def test_columns_of_one_table_may_have_a_blank_column_between_them(save):
    more = [["tax"], *([row[3] / 4] for row in SALES[1:])]
    assert read_table(save(beside(SALES, more))).names == ("quantity", "price", "amount", "tax")
    remarks = [["remark"], ["late"], [None], ["new"]]
    table = read_table(save(beside(SALES, remarks)))
    assert [each.name for each in table.set_aside] == ["item", "remark"]
    notes = [[None], [None], ["as ordered"]]  # without a name
    assert "'as ordered' in F3" in " ".join(read_table(save(beside(SALES, notes))).sentences())


def test_blank_rows_in_a_table(save):
    total = ["Total", *np.sum(numbers(SALES), axis=0).tolist()]
    for rows in (
        [["Sales"], SALES[0], [], *SALES[1:]],
        [["Sales"], *SALES[:9], [], *SALES[9:]],
        [["Sales"], SALES[0], ["North"], *SALES[1:9], [], ["South"], *SALES[9:]],
    ):
        found = read_table(save([*rows, [], total])).values
        found = found[~np.isnan(found).any(axis=1)]
        assert found.tolist() == [*numbers(SALES), total[1:]]


def test_names_of_groups_stand_above_names(save):
    body = [[f"w{i}", *row] for i, row in enumerate(RNG.integers(9, 99, (12, 5)).tolist())]
    groups, names = ["", "North", "", "South", "", ""], ["week", "net", "tax", "net", "tax", "all"]
    expected = ("North net", "North tax", "South net", "South tax", "all")
    assert read_table(save([groups, names, *body])).names == expected
    high = ["week", "North", "", "South", "", "all"], ["", "net", "tax", "net", "tax", ""]
    table = read_table(save([["Title"], *high, *body]))
    assert table.names == expected
    assert "rows 2 to 3 are its names" in table.sentences()[0]
    years = ["", "Plan", "", "Result", ""], ["item", 2023, 2024, 2023, 2024]
    table = read_table(save([*years, *(row[:5] for row in body)]))
    assert table.names == ("Plan 2023", "Plan 2024", "Result 2023", "Result 2024")


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@pytest.mark.parametrize(
    "times", [MONTHS, [f"Q{q} {y}" for y in (1, 2, 3) for q in (1, 2, 3, 4)], [*range(2012, 2024)]]
)
def test_rows_may_be_variables(save, times):
    income, costs = RNG.integers(500, 900, 12), RNG.integers(50, 400, 12)
    lines = {"income": income, "costs": costs, "profit": income - costs}
    rows = [["EUR", *times, "Total"]]
    rows += [[name, *line.tolist(), int(line.sum())] for name, line in lines.items()]
    path = save([["Budget"], [], *rows])
    assert read_table(path).is_turnable
    table = read_table(path, transposed=True)
    assert table.names == tuple(lines)
    assert table.values[:12].T.tolist() == [line.tolist() for line in lines.values()]
    assert table.row_ids.tolist() == [*map(str, times), "Total"]
    assert table.places.address(3, "costs") == "D5"
    assert not table.is_turnable


def test_wrong_cells_are_named_by_their_address(save):
    rows = [list(row) for row in STAFF]
    for row in rows[1:]:
        row.append(2 * row[3])
    rows[0].append("double")
    rows[5][3] += 40
    path = save(shift([["Staff of 2024"], [], *rows, ["Source: own"]], 1))
    laws = discover(path)
    assert len(laws) == 2
    (sentence,) = laws.check(read_table(path)).sentences()
    assert sentence.startswith("row 5, E8: pay ")


def test_plain_tables_are_read_as_ever(save):
    for rows in (SALES, STAFF):
        table = read_table(save(rows))
        assert table.places is None
        assert table.sentences() == []
        assert table.find_line(1) == 2
    assert list_tables(save(SALES))[0] in ([], ["Sheet"])


def test_noise_has_no_tables(save):
    path = save([["a"], [], [None, "b"], [1], [], [None, None, 2.5]])
    assert len(list_tables(path)[0]) <= 1


def test_a_section_right_below_years(save):
    income, costs = RNG.integers(500, 900, 12), RNG.integers(50, 400, 12)
    rows = [["", *range(2001, 2013)], ["Plan"], ["income", *income.tolist()]]
    table = read_table(save([*rows, ["costs", *costs.tolist()]]), transposed=True)
    assert table.names == ("income", "costs")
