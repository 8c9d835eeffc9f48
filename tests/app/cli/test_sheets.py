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
