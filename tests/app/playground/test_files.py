"""Files in the playground: two columns of a table, tables that are none, points that are saved."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

from tests.support.browser import TABLE, put_file

pytestmark = pytest.mark.programs


def use_columns(view):
    view.page.get_by_role("button", name="Use these columns").click()
    view.page.locator("#columns-note").wait_for()
    view.settle()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_file_with_two_columns(view, encoding):
    page = view.open().page
    put_file(view, TABLE.encode(encoding), "maße.csv")
    page.locator("#csv-dialog").wait_for()
    assert page.locator("#csv-name").inner_text() == "maße.csv"
    assert page.locator("#csv-x option").all_inner_texts() == ["größe", "gewicht"]
    page.select_option("#csv-group", label="rows with gruppe = b")
    use_columns(view)
    assert "größe" in page.locator("#columns-note").inner_text()
    # Scaled to the picture, gewicht = 2 größe - 280 is the diagonal.
    (diagonal,) = (each for each in view.equations("plain") if "^2" not in each)
    assert re.fullmatch(r"−? ?0\.707 x (−|\+) 0\.707 y = 0", diagonal), diagonal
    assert page.evaluate("location.hash").count("py=") == 1


def test_no_contrast_is_chosen_for_the_user(view):
    page = view.open().page
    put_file(view, TABLE)
    assert page.locator("#csv-group option:checked").inner_text() == "none"
    use_columns(view)
    assert page.locator("#contrastive .verdict").inner_text() == "no points of Y"
    assert view.equations("plain")
    assert view.equations("contrastive") == []


def test_contrast_that_is_made_of_the_points(view):
    page = view.open().page
    rows = "\n".join(f"{i / 7},{(i / 7) ** 2},{-i}" for i in range(30))
    put_file(view, rows)
    page.select_option("#csv-y", label="x1")
    page.select_option("#csv-group", label="X, columns shuffled")
    use_columns(view)
    assert page.locator("#y-source").input_value() == "permuted"
    assert any("x^2" in equation for equation in view.equations("contrastive"))


def test_axes_are_in_units_of_the_data(view):
    page = view.open().page
    assert page.locator("#plain [data-part=x-axis]").inner_text() == "→ x"
    drawn = view.picture("plain")
    put_file(view, TABLE)
    use_columns(view)
    assert page.locator("#plain [data-part=x-axis]").inner_text() == "→ größe, x"
    assert page.locator("#plain [data-part=y-axis]").inner_text() == "↑ gewicht, y"
    page.get_by_role("button", name="Undo").click()
    view.settle()
    assert page.locator("#plain [data-part=x-axis]").inner_text() == "→ x"
    assert view.picture("plain") == drawn


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n\n\n", "empty"),
        ("a,b\n1,2\n3\n", "row 2 has 1 cells, expected 2"),
        ("name,age\nAda,36\nAlan,41\n", "only 'age' is one"),
        ("just some words\nand more\n", "no column of numbers"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "not a text file"),
        (b"PK\x03\x04", "not a readable"),
        ("a,b\n1,2\n" * 1_000_000, "8 MB, at most 5 MB"),
        ("a,b\n,2\n1,\n", "No row has a number in both columns"),
    ],
    ids=["empty", "blank", "ragged", "one column", "words", "binary", "zip", "large", "gaps"],
)
def test_bad_files_are_explained(view, content, message):
    page = view.open().page
    before = view.equations("plain")
    put_file(view, content, "bad.csv")
    if message.startswith("No row"):
        page.get_by_role("button", name="Use these columns").click()
    alert = page.locator("#alert")
    alert.wait_for()
    assert alert.inner_text().startswith("bad.csv: ")
    assert message in alert.inner_text()
    assert view.equations("plain") == before
    # Beside the points, not over them.
    box, plot = alert.bounding_box(), page.locator("#plain canvas").bounding_box()
    assert box["x"] + box["width"] <= plot["x"]
    view.problems.clear()  # browsers log refusals


def test_saved_points_can_be_opened_again(view, tmp_path, monkeypatch, capsys):
    page = view.open("/points#n=50").page
    before = view.equations("plain")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save CSV").click()
    file = tmp_path / "points.csv"
    download.value.save_as(file)
    lines = file.read_text().splitlines()
    assert lines[0] == "x,y,set"
    assert [line.endswith(",X") for line in lines[1:]] == [True] * 50 + [False] * 50
    monkeypatch.chdir(tmp_path)
    exec(page.locator("#python").text_content(), {})  # the same in Python
    plain, contrastive = capsys.readouterr().out.splitlines()
    for panel, printed in (("plain", plain), ("contrastive", contrastive)):
        numbers = [re.findall(r"\d+\.\d+", text) for text in (view.equations(panel)[0], printed)]
        assert numbers[0] == numbers[1]
    put_file(view, file.read_text())
    page.get_by_role("button", name="Cancel").click()
    assert view.equations("plain") == before
    put_file(view, file.read_text())
    page.select_option("#csv-group", label="rows with set = Y")
    use_columns(view)
    assert "tells them apart" in page.locator("#contrastive .verdict").inner_text()
