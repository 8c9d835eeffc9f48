"""The page of images: scores, turns, drawing."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

pytestmark = pytest.mark.programs


def score(page):
    return float(page.locator("#verdict b").inner_text())


def test_images(view):
    page = view.open("/images").page
    assert "strange" in page.locator("#verdict").inner_text()
    assert page.locator("#turns li").count() == 4
    strangest = score(page)
    page.get_by_role("radio", name="most normal").check(force=True)
    page.locator("#gallery button").first.click()
    view.settle()
    normal = score(page)
    assert "normal" in page.locator("#verdict").inner_text()
    assert normal < 1 < strangest
    heat = page.locator("#heat").evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("button", name="Rotate by 90°").click()
    view.settle()
    turned = score(page)
    assert turned > 3
    assert page.locator("#heat").evaluate("canvas => canvas.toDataURL()") != heat
    address = page.evaluate("location.hash")
    page.reload()
    view.settle()
    assert score(page) == turned
    assert page.evaluate("location.hash") == address
    for _ in range(3):
        page.get_by_role("button", name="Rotate by 90°").click()
        view.settle()
    assert score(page) == normal


def test_drawing_a_digit(view):
    page = view.open("/images").page
    page.get_by_role("button", name="Clear").click()
    view.settle()
    empty = page.locator("#pad").evaluate("canvas => canvas.toDataURL()")
    box = page.locator("#pad").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.9 * box["height"], steps=8)
    page.mouse.up()
    view.settle()
    drawn = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('image')")
    assert drawn != "0" * 64
    assert page.locator("#pad").evaluate("canvas => canvas.toDataURL()") != empty
    page.locator("#pad").focus()
    before = score(page)
    view.press("#pad", "ArrowLeft", "ArrowLeft", "Space", "ArrowUp", "Space")
    assert score(page) != before


def test_other_normal_digits(view):
    page = view.open("/images").page
    page.select_option("#normal", "7")
    view.settle()
    assert "normal=7" in page.evaluate("location.hash")
    area = float(re.search(r"curve is (0\.\d+)", page.locator("#summary").inner_text()).group(1))
    assert area > 0.95
    page.get_by_role("radio", name="false alarms").check(force=True)
    labels = page.locator("#gallery button").evaluate_all(
        "all => all.map((each) => each.getAttribute('aria-label'))"
    )
    assert all(label.startswith("A 7, ") for label in labels)
