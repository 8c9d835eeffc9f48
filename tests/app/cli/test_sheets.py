"""``laws`` and ``check`` of workbooks with several sheets."""

import json

import numpy as np
import pytest

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def book(tmp_path):
    """Return a workbook with a cover page, a table of sums, and a table of products."""
    rng = np.random.default_rng(0)
    made = openpyxl.Workbook()
    cover = made.active
    cover.title = "Cover"
    cover.append(["Accounts of the year"])
    for title, add in (("sums", True), ("products", False)):
        sheet = made.create_sheet(title)
        sheet.append(["a", "b", "c"])
        for a, b in rng.integers(10, 999, (30, 2)).tolist():
            sheet.append([a, b, a + b if add else a * b])
    path = tmp_path / "book.xlsx"
    made.save(path)
    return path


def test_laws_of_all_sheets(book, call):
    result = call("laws", book)
    assert result.code == 0
    lines = [line.split("  ")[0] for line in result.out.replace("\n  ", "\n").splitlines()]
    assert [line for line in lines if line.startswith(("Sheet", "c"))] == [
        "Sheet 'sums':",
        "c = a + b",
        "Sheet 'products':",
        "c = a*b",
    ]


def test_json_of_all_sheets(book, call):
    found = json.loads(call("check", book, "--json").out)["sheets"]
    assert [each["sheet"] for each in found] == ["sums", "products"]
    assert [each["laws"][0]["text"] for each in found] == ["c = a + b", "c = a*b"]


def test_one_sheet_is_picked(book, call):
    found = json.loads(call("laws", book, "--sheet", "products", "--json").out)
    assert [each["text"] for each in found["laws"]] == ["c = a*b"]


@pytest.fixture
def orders(tmp_path):
    """Return a workbook with a number in a column of formulas."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "orders.xlsx"
    made = xlsxwriter.Workbook(path)
    sheet = made.add_worksheet("orders")
    sheet.write_row(0, 0, ["quantity", "price", "amount"])
    for i, (a, b) in enumerate(np.random.default_rng(0).integers(10, 999, (30, 2)).tolist(), 2):
        sheet.write_row(i - 1, 0, [a, b])
        sheet.write_formula(i - 1, 2, f"=A{i}*B{i}", None, a * b)
    sheet.write_number("C18", 12)
    made.close()
    return path


def test_formulas_are_rules(orders, call):
    result = call("check", orders, "--fail-on-broken")
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[0] == "29 formulas: 1 cell breaks them."
    assert lines[2].startswith("    C18: 12 stands in place of =A18*B18, as in C2:C31")


def test_formulas_in_json_and_in_a_report(orders, call, tmp_path):
    report = tmp_path / "page.html"
    found = json.loads(call("check", orders, "--json", "--report", report).out)["formulas"]
    (cell,) = found["cells"]
    assert (cell["sheet"], cell["cell"], cell["kind"]) == ("orders", "C18", "constant")
    assert (cell["formula"], cell["value"]) == ("=A18*B18", 12)
    page = report.read_text()
    assert "orders!C18" in page
    assert "=A18*B18" in page


def test_an_overwritten_formula_is_the_cell_that_breaks_the_law(call, orders):
    assert "C18: 12" in call("check", orders).out
    (cell,) = json.loads(call("check", orders, "--json").out)["cells"]
    assert (cell["row"], cell["cell"], cell["alternatives"]) == (17, "amount", "")
    assert call("check", orders, "--max-broken", "1").code == 0  # it is counted once


def test_a_formula_above_a_wrong_cell_is_the_one_to_blame(call, tmp_path):
    """Cells that are computed from an overwritten one agree with it; the law blames another."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    made = xlsxwriter.Workbook(tmp_path / "book.xlsx")
    sheet = made.add_worksheet("orders")
    sheet.write_row(0, 0, ["quantity", "price", "net", "double", "half"])
    for i, (a, b) in enumerate(np.random.default_rng(0).integers(10, 999, (30, 2)).tolist(), 2):
        net = a * b + 350 * (i == 18)
        sheet.write_row(i - 1, 0, [a, b])
        sheet.write_formula(i - 1, 2, f"=A{i}*B{i}", None, net)
        sheet.write_formula(i - 1, 3, f"=C{i}*2", None, net * 2)
        sheet.write_formula(i - 1, 4, f"=D{i}+C{i}*3", None, net * 5)
    sheet.write_number("C18", net_18 := 350 + read_product(17))
    made.close()
    (cell,) = json.loads(call("check", "book.xlsx", "--json").out)["cells"]
    assert (cell["cell"], cell["value"], cell["fix"]) == ("net", net_18, net_18 - 350)


def read_product(row):
    """Return the product of the random numbers of a row, from 1."""
    a, b = np.random.default_rng(0).integers(10, 999, (30, 2)).tolist()[row - 1]
    return a * b


def test_all_sheets_count(book, call):
    sheets = openpyxl.load_workbook(book)
    sheets["products"]["C9"] = 17
    sheets.create_sheet("rates").append(["rate", 0.19])
    sheets.move_sheet("rates", -3)
    sheets.save(book)
    assert call("check", book, "--fail-on-broken").code == 1
    files = "--out", "cells.csv", "--report", "page.html"
    done = call("check", book, "--fail-on-broken", *files)
    assert done.code == 1
    assert "page.html shows sheet 'products' only" in done.err.replace("\n", " ")
    header, line = (book.parent / "cells.csv").read_text().splitlines()
    assert header.startswith("sheet,row,")
    assert line.startswith("products,8,")
    done = call("check", book, "--annotate", "github", "--max-broken", "0")
    assert done.code == 1
    assert "line=9," in done.out
    assert "::sheet 'products', row 8: " in done.out
    (run,) = json.loads(call("check", book, "--annotate", "sarif").out)["runs"]
    assert len(run["results"]) == 1


def test_a_sheet_without_laws_does_not_matter(book, call):
    sheets = openpyxl.load_workbook(book)
    sheets["Cover"].append(["rate", 0.19])
    sheets["Cover"].append(["limit", 20])
    sheets.save(book)
    assert call("check", book, "--fail-on-broken").code == 0
    assert call("check", book, "--sheet", "Cover", "--fail-on-broken").code == 3


def test_formulas_are_annotated(orders, call):
    said = call("check", orders, "--annotate", "github").out.splitlines()
    assert [line.split("title=")[1].split("::")[0] for line in said] == [
        "amount = quantity*price",
        "formula",
    ]
    assert "C18: 12 stands in place of =A18*B18" in said[1]
    assert "line=18" in said[1]


def test_other_files_have_no_formulas(book, call):
    assert "formulas" not in json.loads(call("check", book, "--json").out)
    assert "formula" not in call("check", book).out


def test_totals_by_key_between_files(call, tmp_path):
    from tests.laws.test_joined import make_pair

    orders, lines = make_pair()
    orders.loc[3, "total"] += 7
    paths = tmp_path / "orders.csv", tmp_path / "lines.csv"
    for frame, path in zip((orders, lines), paths, strict=True):
        frame.to_csv(path, index=False)
    result = call("check", *paths, "--fail-on-broken")
    assert result.code == 1
    assert "orders: total = shipping + [sum of lines.amount], by order" in result.out
    (between,) = json.loads(call("check", *paths, "--json").out)["between"]
    assert [each["key"] for each in between["broken"]] == ["A103"]
    assert call("check", *paths, "--report", tmp_path / "page.html").code == 2
    assert call("check", *paths, "--max-broken", "1").code == 0
    said = call("check", *paths, "--annotate", "github").out
    assert "orders.csv,line=5,title=" in said
    lines.loc[7, "amount"] += 5
    lines.to_csv(paths[1], index=False)
    assert call("check", *paths, "--max-broken", "1").code == 1
    assert call("check", *paths, "--max-broken", "2").code == 0  # a line and its order are one


@pytest.fixture
def budget(tmp_path):
    """Return a text file whose variables are rows, below a title, with a wrong cell in D6."""
    rng = np.random.default_rng(0)
    income, wages, rent = rng.integers((900, 100, 200), (999, 400, 400), (12, 3)).T
    lines = {"Income": income, "Wages": wages, "Rent": rent, "Costs": wages + rent}
    lines["Profit"] = income - lines["Costs"]
    lines["Costs"] = lines["Costs"] + 70 * (np.arange(12) == 2)
    months = [f"2024-{month:02}" for month in range(1, 13)]
    rows = [["Budget", *[""] * 12], ["EUR", *months]]
    rows += [[name, *map(str, line)] for name, line in lines.items()]
    path = tmp_path / "budget.csv"
    path.write_text("\n".join(";".join(row) for row in rows) + "\n")
    return path


def test_laws_between_rows(budget, call):
    result = call("laws", budget)
    assert "its rows are read as variables" in result.err.replace("\n", " ")
    assert "Costs = Wages + Rent" in result.out
    assert "row 2024-03, D6: Costs" in call("check", budget).out
    (cell,) = json.loads(call("check", budget, "--json").out)["cells"]
    assert (cell["cell"], cell["address"], cell["id"]) == ("Costs", "D6", "2024-03")
    plain = call("info", budget).out
    assert "5 rows" in plain
    assert "12 rows" in call("info", budget, "--transposed").out
    assert "variables" not in call("laws", budget, "--not-transposed").err


def test_several_tables_on_a_sheet(call, tmp_path):
    rng = np.random.default_rng(0)
    book = openpyxl.Workbook()
    for names in ("abc", "xyz"):
        book.active.append([f"Table of {names}"])
        book.active.append([*names])
        for a, b in rng.integers(10, 999, (20, 2)).tolist():
            book.active.append([a, b, a + b])
        book.active.append([])
    book.active["C30"] = book.active["C30"].value + 5
    book.save(tmp_path / "book.xlsx")
    result = call("check", "book.xlsx")
    assert "Table 'Sheet!A2:C22':" in result.out
    assert "Table 'Sheet!A25:C45':" in result.out
    assert "left out: 'Table of xyz' in A24" in result.err.replace("\n", " ")
    tables = json.loads(call("check", "book.xlsx", "--json").out)["sheets"]
    assert [each["laws"][0]["text"] for each in tables] == ["c = a + b", "z = x + y"]
    assert [each["broken"] for each in tables] == [0, 1]
    one = json.loads(call("check", "book.xlsx", "--sheet", "Sheet!A25:C45", "--json").out)
    assert one["cells"] == tables[1]["cells"]
