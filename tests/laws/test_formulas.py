"""Cells of workbooks that are not what the formulas around say."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("openpyxl")

from vanishing.data.csv_files import TableError  # noqa: E402
from vanishing.laws import check_formulas  # noqa: E402

NAMES = ["quantity", "price", "amount", "tax", "gross"]


def make_orders(n_rows, seed=0, rate=0.19):
    """Return the cells of orders by row and column from 0: numbers, or formulas with values."""
    rng = np.random.default_rng(seed)
    cells = {(0, j): name for j, name in enumerate(NAMES)}
    for i in range(1, n_rows + 1):
        quantity, price = int(rng.integers(2, 30)), float(rng.integers(100, 999)) / 100
        amount = quantity * price
        tax = round(amount * rate + 1e-9, 2)
        cells |= {(i, 0): quantity, (i, 1): price}
        cells[i, 2] = (f"=A{i + 1}*B{i + 1}", amount)
        cells[i, 3] = (f"=ROUND(C{i + 1}*{rate},2)", tax)
        cells[i, 4] = (f"=C{i + 1}+D{i + 1}", amount + tax)
    return cells


def add_totals(cells, n_rows):
    """Add a row of sums below."""
    for j, letter in enumerate("CDE", 2):
        total = sum(cells[i, j][1] for i in range(1, n_rows + 1))
        cells[n_rows + 1, j] = (f"=SUM({letter}2:{letter}{n_rows + 1})", total)
    return cells | {(n_rows + 1, 0): "Total"}


def save(*sheets, titles=None):
    """Return the content of a workbook."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    for k, cells in enumerate(sheets):
        sheet = book.add_worksheet(titles[k] if titles else None)
        for (row, column), cell in cells.items():
            if isinstance(cell, tuple):
                sheet.write_formula(row, column, cell[0], None, cell[1])
            else:
                sheet.write(row, column, cell)
    book.close()
    return file.getvalue()


def name_cells(*sheets):
    return [(each.address, each.kind) for each in check_formulas(save(*sheets)).cells]


def transpose(cells):
    """Return the same table with rows and columns exchanged, in formulas too."""
    return {
        (j, i): (_transpose_formula(cell[0]), cell[1]) if isinstance(cell, tuple) else cell
        for (i, j), cell in cells.items()
    }


def _transpose_formula(text):
    import re

    from openpyxl.utils import column_index_from_string, get_column_letter

    def swap(found):
        return f"{get_column_letter(int(found[2]))}{column_index_from_string(found[1])}"

    return re.sub(r"\b([A-Z])(\d+)", swap, text)


# --- What is found --------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.integers(12, 60), st.integers(0, 10**6), st.sampled_from([2, 3, 4]), st.booleans(), st.data()
)
def test_a_number_over_a_formula_is_named_in_any_row(n_rows, seed, column, totals, data):
    cells = make_orders(n_rows, seed)
    cells = add_totals(cells, n_rows) if totals else cells
    row = data.draw(st.integers(1, n_rows))
    expected = cells[row, column][1]
    cells[row, column] = expected + 1
    found = check_formulas(save(cells)).cells
    named = [each for each in found if each.kind == "constant"]
    assert [(each.row - 1, each.column - 1) for each in named] == [(row, column)]
    assert named[0].expected == pytest.approx(expected)
    assert not named[0].agrees
    # What was computed before the number came is stale.
    assert {each.kind for each in found} <= {"constant", "value"}


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_nothing_is_named_in_sound_workbooks(n_rows, seed, totals, across):
    cells = make_orders(n_rows, seed)
    cells = add_totals(cells, n_rows) if totals else cells
    found = check_formulas(save(transpose(cells) if across else cells))
    assert not found.cells
    assert found.n_evaluated == found.n_formulas == 3 * (n_rows + totals)
    assert not found.notes


@pytest.mark.parametrize("across", [False, True])
def test_rows_of_formulas_are_as_good_as_columns(across):
    cells = add_totals(make_orders(20), 20)
    cells[7, 4] = 12
    cells[9, 3] = ("=ROUND(C10*0.07,2)", round(cells[9, 2][1] * 0.07 + 1e-9, 2))
    cells = transpose(cells) if across else cells
    found = check_formulas(save(cells)).cells
    right = {(7, 4, "constant"), (9, 3, "formula")}
    named = {(each.row - 1, each.column - 1, each.kind) for each in found if each.kind != "value"}
    assert named == ({(j, i, kind) for i, j, kind in right} if across else right)


def test_a_number_equal_to_the_value_is_named_too():
    cells = make_orders(20)
    cells[5, 2] = cells[5, 2][1]
    (found,) = check_formulas(save(cells)).cells
    assert (found.address, found.kind, found.agrees) == ("C6", "constant", True)
    assert found.formula == "=A6*B6"
    assert str(found).startswith("C6: ")


def test_a_stored_value_that_is_not_that_of_the_formula():
    cells = make_orders(20)
    text, value = cells[5, 2]
    cells[5, 2] = (text, value + 1)
    cells[5, 3] = (cells[5, 3][0], round((value + 1) * 0.19 + 1e-9, 2))
    cells[5, 4] = (cells[5, 4][0], value + 1 + cells[5, 3][1])
    (found,) = check_formulas(save(cells)).cells
    assert (found.address, found.kind) == ("C6", "value")
    assert found.expected == pytest.approx(value)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.integers(2, 4),
    st.integers(0, 30),
    st.integers(0, 9),
)
def test_moving_a_table_moves_what_is_named(seed, row, column, down, right):
    from vanishing.data.excel_formulas import fill

    cells = make_orders(20, seed)
    cells[row, column] = -1
    moved = {
        (i + down, j + right): (fill(cell[0], 1, 1, 1 + down, 1 + right), cell[1])
        if isinstance(cell, tuple)
        else cell
        for (i, j), cell in cells.items()
    }
    named = [(each.row, each.column, each.kind) for each in check_formulas(save(cells)).cells]
    after = [(each.row, each.column, each.kind) for each in check_formulas(save(moved)).cells]
    assert [(i + down, j + right, kind) for i, j, kind in named] == after


# --- What is not an error -------------------------------------------------------------------------


def test_formulas_that_say_the_same_are_not_named():
    cells = make_orders(20)
    for i, text in ((3, "=+A4*B4"), (4, "=$A$5*B5"), (5, "=(A6*$B6)")):
        cells[i, 2] = (text, cells[i, 2][1])
    found = check_formulas(save(cells))
    assert not found.cells
    assert found.n_same == 2  # signs and brackets make no difference at all
    assert "say the same" in found.notes[0]


def test_subtotals_are_no_exceptions():
    cells, place = {(0, 0): "amount", (0, 1): "doubled"}, 1
    subtotals = []
    for _ in range(3):
        start = place
        for _ in range(5):
            cells |= {(place, 0): place, (place, 1): (f"=2*A{place + 1}", 2 * place)}
            place += 1
        for j, letter in enumerate("AB"):
            total = (j + 1) * sum(range(start, place))
            cells[place, j] = (f"=SUM({letter}{start + 1}:{letter}{place})", total)
        subtotals.append(place)
        place += 1
    cells[place, 1] = ("=" + "+".join(f"B{i + 1}" for i in subtotals), 0)
    cells[place, 1] = (cells[place, 1][0], sum(cells[i, 1][1] for i in subtotals))
    assert name_cells(cells) == []


def test_a_running_balance_starts_with_a_number():
    cells = {(0, 0): "change", (0, 1): "balance", (1, 0): 0, (1, 1): 100}
    for i in range(2, 30):
        cells[i, 0] = i
        cells[i, 1] = (f"=B{i}+A{i + 1}", 100 + sum(range(2, i + 1)))
    assert name_cells(cells) == []


def test_known_years_before_the_forecast_are_no_errors():
    # The first year is known in all rows; formulas are filled along the rows.
    cells = {(0, j): 2020 + j for j in range(1, 12)}
    for i in range(1, 6):
        cells |= {(i, 0): f"item {i}", (i, 1): 100 * i}
        for j in range(2, 12):
            letter = "ABCDEFGHIJKL"[j - 1]
            cells[i, j] = (f"={letter}{i + 1}*1.05", 100 * i * 1.05 ** (j - 1))
    assert name_cells(cells) == []


def test_a_section_of_numbers_is_of_another_kind():
    cells = make_orders(40)
    for i in range(15, 30):
        cells[i, 2] = cells[i, 2][1]
    assert name_cells(cells) == []


def test_two_formulas_that_take_turns_are_no_errors():
    cells = make_orders(40)
    for i in range(2, 41, 2):
        cells[i, 3] = (f"=ROUND(C{i + 1}*0.07,2)", round(cells[i, 2][1] * 0.07 + 1e-9, 2))
        cells[i, 4] = (cells[i, 4][0], cells[i, 2][1] + cells[i, 3][1])
    assert name_cells(cells) == []


# --- What is evaluated ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=-2^2", 4),  # as in Excel: the sign binds first
        ("=2^3^2", 64),
        ("=1-2-3", -4),
        ("=8/2/2*3", 6),
        ("=5%*200", 10),
        ("=SUM(A1:A4,B1,2)", 1 + 2.5 + 4 + 2),
        ("=SUM(A:A)", 7.5),
        ("=AVERAGE(A1:A4)", 2.5),
        ("=COUNT(A1:B4)", 3),
        ("=MIN(A1:A4)-MAX(A1:A4)", -3),
        ("=MAX(C1:C3)", 0),
        ("=ROUND(A2,0)", 3),
        ("=ROUND(-A2,0)", -3),
        ("=ROUND(1.005,2)", 1.01),
        ("=ROUND(1234,-2)", 1200),
        ("=ABS(-A2)", 2.5),
        ("=IF(A1<A2,10,20)", 10),
        ("=IF(A1>=A2,10)", False),
        ('=IF(B1="","none",1)', "none"),
        ('=IF(A3="TEXT",1,2)', 1),
        ("=IF(AND(A1=1,OR(A2=0,A2>2),NOT(A4<>4)),1,0)", 1),
        ("=A1+B2", 1),
        ("='Other sheet'!A1*2", 14),
        ("=0.1+0.2=0.3", True),
    ],
)
def test_values_of_formulas(formula, value):
    cells = {(0, 0): 1, (1, 0): 2.5, (2, 0): "text", (3, 0): 4}
    other = {(0, 0): 7}
    titles = ["Sheet", "Other sheet"]
    right = check_formulas(save(cells | {(9, 5): (formula, value)}, other, titles=titles))
    assert (right.n_evaluated, right.outdated) == (1, {})
    changed = (
        (not value) if isinstance(value, bool) else "x" if isinstance(value, str) else value + 1
    )
    cells |= {(9, 5): (formula, changed), (9, 6): ("=A1", 1)}
    (found,) = check_formulas(save(cells, other, titles=titles)).cells
    assert found.expected == (pytest.approx(value) if type(value) is float else value)


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("=VLOOKUP(A1,A1:B4,2,0)", "function VLOOKUP"),
        ("=A3+1", "texts in arithmetic"),
        ("=A1/B1", "divisions by zero"),
        ("=Rate*A1", "names of cells and tables"),
        ("=YTD2024*A1", "names of cells and tables"),  # columns end at XFD
        ("=A0+1", "names of cells and tables"),
        ("=ROUND(A1,400)", "numbers out of range"),
        ("=Nowhere!A1", "sheets that are not there"),
        ("='[1]Book'!A1", "other workbooks"),
        ("=A1:A4", "ranges outside of functions"),
        ('=A3&"x"', "&"),
        ("=ROUND(A1,)", "arguments that are left out"),
        ("=10^400", "numbers out of range"),
        ("=SUM((A1,A2))", "formulas that are not understood"),
        ("=" + "(" * 3000 + "1" + ")" * 3000, "formulas that are not understood"),
    ],
)
def test_what_is_not_evaluated_is_counted(formula, reason):
    cells = {(0, 0): 1, (1, 0): 2.5, (2, 0): "text", (3, 0): 4, (9, 5): (formula, 1)}
    found = check_formulas(save(cells))
    assert found.not_evaluated == {reason: 1}
    assert not found.cells
    assert found.summary() == f"{found.n_formulas} formula: not evaluated."
    assert reason in found.notes[0]


def test_stored_values_that_nobody_computed():
    # XlsxWriter stores 0 with formulas unless it is given a value.
    cells = {
        key: (cell[0], 0) if isinstance(cell, tuple) else cell
        for key, cell in make_orders(20).items()
    }
    found = check_formulas(save(cells))
    assert not found.cells
    assert found.outdated == {"Sheet1": 20}  # amounts; the rest follows from stored zeros
    assert "save the file" in found.notes[0]


@settings(max_examples=200, deadline=None)
@given(st.text("ABZ19$:!'\"(){},;+-*/^%&<>= .#SUMIF", max_size=40))
def test_no_formula_ends_in_an_exception(text):
    from vanishing.data.excel_formulas import (
        Book,
        Evaluator,
        FormulaSheet,
        NotEvaluatedError,
        parse,
    )

    tree = parse("=" + text, 5, 5)
    book: Book = {"Sheet1": FormulaSheet("Sheet1", {(1, 1): 2.0, (2, 1): "text"})}
    try:
        value = Evaluator(book, 1e-11).evaluate(tree, "Sheet1", 5, 5)
    except NotEvaluatedError as error:
        assert str(error)  # noqa: PT017
    else:
        assert value is not None


def test_names_are_not_moved():
    cells = make_orders(20)
    for i in range(1, 21):
        cells[i, 5] = (f"=E{i + 1}*YTD2024", 1.0)
    cells[9, 5] = 5.0
    (found,) = check_formulas(save(cells)).cells
    assert (found.address, found.formula) == ("F10", "=E10*YTD2024")


def test_a_formula_that_cannot_be_filled_leaves_the_sheet():
    from vanishing.data.excel_formulas import fill

    assert fill("=A2+$A$1*Sheet2!B1", 2, 3, 1, 3) == "=A1+$A$1*#REF!"


def test_a_section_of_formulas_that_say_the_same_is_of_another_kind():
    cells = {(i, 0): i + 1.0 for i in range(22)} | {(i, 1): 7.0 for i in range(22)}
    for i in (0, 21):
        cells[i, 1] = (f"=$A{i + 1}*2", 2 * (i + 1))
    for i in range(5, 17):
        cells[i, 1] = (f"=A{i + 1}*2", 2 * (i + 1))
    assert name_cells(cells) == []
    cells[10, 1] = 5
    assert name_cells(cells) == [("B11", "constant")]


# --- Files ----------------------------------------------------------------------------------------


def test_one_sheet_is_checked():
    wrong = make_orders(20)
    wrong[5, 2] = 1
    content = save(make_orders(20), wrong, titles=["good", "bad"])
    assert not check_formulas(content, sheet="good").cells
    assert check_formulas(content, sheet="2").cells[0].sheet == "bad"
    with pytest.raises(TableError, match="has no sheet 'worse'; it has 'good', 'bad'"):
        check_formulas(content, sheet="worse")


def test_files_without_formulas(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    for file in (path, save({(0, 0): 1})):
        found = check_formulas(file)
        assert (found.n_formulas, found.summary()) == (0, "No formulas.")
