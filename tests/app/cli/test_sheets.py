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
