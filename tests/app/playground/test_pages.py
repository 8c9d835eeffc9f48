"""The pages of the playground, in a browser: drawing, sliders, files, keyboard, small and dark."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

pytestmark = pytest.mark.programs

CURVE = 270  # the sum of red, green and blue of a curve, at most


def scheme(name):
    return pytest.mark.parametrize("view", [{"color_scheme": name}], indirect=True, ids=[name])


def test_the_idea_is_seen_at_once(view):
    page = view.open().page
    assert "holds on both" in page.locator("#plain .verdict").inner_text()
    assert "tells them apart" in page.locator("#contrastive .verdict").inner_text()
    assert len(view.equations("plain")) == len(view.equations("contrastive")) == 1
    # The circle goes through the top of Y without contrast, and does not with it.
    top = [(-0.3, 0.9 + k / 100) for k in range(15)]
    assert view.darkest("plain", top) < CURVE < view.darkest("contrastive", top)
    # Inside and outside have the colours of different signs.
    inside, outside = view.pixel("plain", 0.3, 0.3), view.pixel("plain", 1.3, 1.3)
    assert sum(abs(a - b) for a, b in zip(inside, outside, strict=True)) > 25
    assert page.locator("#plain .spectrum circle").count() == 5
    assert page.locator("#plain .spectrum circle.vanishing").count() == 1
    assert page.locator("#plain math").count() > 3


def test_drawing_changes_the_equation(view):
    page = view.open("/points#x=own&y=own").page
    assert "no points of X" in page.locator("#plain .problem").inner_text()
    for x, y in ((-1, 0.5), (-0.5, 0.25), (0.5, -0.25), (1, -0.5)):
        view.click("plain", x, y)
    assert view.pixel("plain", -1, 0.5) != view.pixel("plain", -1, 0.6)
    # Four points on the line x + 2 y = 0.
    (line, *_) = view.equations("plain")
    # Clicks are whole pixels, and so a little off.
    assert re.fullmatch(r"−? ?0\.447 x (−|\+) 0\.894 y( (−|\+) [\d.]+ × 10⁻⁴)? = 0", line), line
    before = view.picture("plain")
    page.get_by_label("Y", exact=True).and_(page.locator("input[type=radio]")).check(force=True)
    view.click("contrastive", 1, 1)
    assert page.locator("#contrastive .problem").is_hidden()
    assert view.equations("contrastive")
    page.get_by_role("radio", name="Erase").check(force=True)
    view.click("plain", 1, -0.5)
    assert view.picture("plain") != before
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
    view.settle()
    assert view.picture("plain") == before


def test_dragging_draws_a_stroke(view):
    page = view.open("/points#x=own&y=own").page
    box = page.locator("#plain canvas").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 250, box["y"] + 160, steps=15)
    page.mouse.up()
    view.settle()
    drawn = int(re.match(r"\d+", page.locator("#status").inner_text()).group())
    assert 8 <= drawn <= 16
    page.mouse.move(box["x"] + 10, box["y"] + 10)  # without a button nothing is drawn
    assert page.locator("#status").inner_text().startswith(f"{drawn} points of X")


def test_two_sources_chosen_at_once_are_both_drawn(view):
    page = view.open("/points#x=lemniscate&y=uniform").page
    expected = view.picture("plain")
    view.open()
    page.evaluate(
        """() => {
          for (const [id, value] of [["x-source", "lemniscate"], ["y-source", "uniform"]]) {
            const select = document.getElementById(id);
            select.value = value;
            select.dispatchEvent(new Event("change"));
          }
        }"""
    )
    view.settle()
    assert view.picture("plain") == expected


def test_points_drawn_while_the_server_draws_are_kept(view):
    page = view.open().page
    page.evaluate(
        """() => {
          document.getElementById("resample").click();
          const canvas = document.querySelector("#plain canvas");
          canvas.dispatchEvent(new KeyboardEvent("keydown", { key: " " }));
        }"""
    )
    view.settle()
    packed = re.search(r"px=[^_]+_([^&]+)", page.url).group(1)
    assert len(packed) * 6 // 8 == 4 * 161


def test_degree_changes_zero_set_and_equation(view):
    view.open("/points#x=lemniscate&y=uniform&n=300&e=0.01&t=0.02&ct=0.3")
    assert view.equations("plain") == []
    assert "smallest extent" in view.page.locator("#plain .problem").inner_text()
    empty = view.picture("plain")
    view.press("#degree", "ArrowRight", "ArrowRight")
    assert view.page.locator("#degree-value").inner_text() == "4"
    (equation,) = view.equations("plain")
    assert "x^4" in equation
    assert view.picture("plain") != empty
    assert view.darkest("plain", [(-1.1 + k / 100, 0.02) for k in range(20)]) < CURVE


def test_tolerance_changes_what_vanishes(view):
    view.open("/points#x=circle&y=uniform&e=0.1")
    before = view.picture("plain")
    assert view.equations("plain") == []
    view.press("#tol", *["PageUp"] * 3)
    assert view.equations("plain")
    assert view.picture("plain") != before
    assert view.page.locator("#plain .spectrum circle.vanishing").count() >= 1


def test_normalization_changes_zero_set_and_equation(view):
    view.open("/points#x=parabola&y=uniform&e=0.1&t=0.28")
    found = {}
    for name in ("gradient", "gradient-weighted", "coefficient", "vca"):
        view.page.select_option("#normalization", name)
        view.settle()
        assert any("^2" in equation for equation in view.equations("plain"))
        found[name] = (tuple(view.equations("plain")), view.picture("plain"))
    assert len({equations for equations, _ in found.values()}) == 4
    assert len({picture for _, picture in found.values()}) == 4


def test_choosing_another_equation(view):
    page = view.open("/points#x=circle&y=uniform&e=0&d=3&t=0.5").page
    assert page.locator("#plain .equation").count() > 1
    before = view.picture("plain")
    page.locator("#plain .equation input").first.focus()
    page.keyboard.press("ArrowDown")
    assert view.picture("plain") != before


def test_keyboard_only(view):
    page = view.open("/points#x=own&y=own").page
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#plain') !== null"):
            break
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    for keys in (["Shift+ArrowLeft"] * 5, ["Shift+ArrowRight"] * 10, ["Shift+ArrowUp"] * 4):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Space")
    assert page.locator("#status").inner_text() == "3 points of X, 0 of Y"
    page.keyboard.press("y")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    assert page.locator("#status").inner_text() == "3 points of X, 1 of Y"
    page.keyboard.press("Delete")
    assert page.locator("#status").inner_text() == "3 points of X, 0 of Y"
    page.keyboard.press("Control+z")
    view.settle()
    page.keyboard.press("Tab")
    assert view.equations("plain")
    view.press("#degree", "ArrowRight")
    assert page.locator("#degree-value").inner_text() == "3"
    assert view.equations("contrastive")


def test_everything_with_a_name_can_be_focused(view):
    page = view.open().page
    names = page.locator("button:visible, select:visible, input:visible, summary:visible, canvas")
    seen = set()
    for _ in range(names.count() + 8):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"x-source", "noise", "open-csv", "degree", "tol", "contrast-tol", "copy-link"} <= seen


def test_link_holds_everything(view):
    page = view.open(
        "/points#x=nodal-cubic&y=circle&d=3&e=0.02&t=0.06&norm=coefficient&n=90&s=5"
    ).page
    view.click("plain", 1.2, -1.2)
    view.press("#contrast-tol", "PageUp")
    shown = [view.equations(panel) for panel in ("plain", "contrastive")]
    address = page.evaluate("location.hash")
    page.reload()
    view.settle()
    assert [view.equations(panel) for panel in ("plain", "contrastive")] == shown
    assert page.evaluate("location.hash") == address
    assert page.locator("#normalization").input_value() == "coefficient"
    assert page.locator("#x-source").input_value() == "own"


@pytest.mark.parametrize(
    "address", ["#d=99&t=-1&x=nothing&n=1e9", "#x=own&px=!!&y=own&py=1_AAAA", "#cols=[1,2]&%%%"]
)
def test_addresses_that_make_no_sense(view, address):
    view.open(f"/points{address}")
    assert view.page.locator("#degree-value").inner_text() == "2"


@scheme("dark")
def test_dark(view):
    page = view.open().page
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", background))) < 150
    assert sum(view.pixel("plain", 0.4, 0.4)) < 300
    dark = view.picture("plain")
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "before => document.querySelector('canvas').toDataURL() !== before", arg=dark
    )
    assert sum(view.pixel("plain", 0.4, 0.4)) > 500


@pytest.mark.parametrize(
    "view", [{"viewport": {"width": 390, "height": 844}, "has_touch": True}], indirect=True
)
@pytest.mark.parametrize("path", ["/", "/#example", "/points", "/images"])
def test_narrow(view, path):
    page = view.open(path).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if path != "/points":
        return
    view.press("#degree", "ArrowRight")
    boxes = [page.locator(f"#{panel} canvas").bounding_box() for panel in ("plain", "contrastive")]
    # Both pictures stay in sight, side by side, while the slider further down is used.
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= 844 for box in boxes)
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.locator("#plain canvas").tap(position={"x": 20, "y": 20})
    view.settle()
    assert page.locator("#status").inner_text().startswith("161 points of X")


def test_busy_server_is_asked_again(view):
    answers = iter([503, 503])
    busy = {"error": "busy", "message": "The server is busy."}

    def handle(route):
        if next(answers, None) is None:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json=busy)

    view.page.route("**/api/fit", handle)
    view.page.goto(f"{view.url}/points")
    view.page.get_by_text("The server is busy. This page will try again").wait_for()
    view.settle()
    assert view.equations("plain")
    assert view.page.locator("#alert").is_hidden()
    view.problems.clear()  # browsers log answers of status 503


def test_people_are_told_that_they_wait(view):
    page = view.open().page
    held = []
    page.route("**/api/fit", lambda route: held.append(route))
    page.locator("#degree").press("ArrowRight")
    page.get_by_text("This page is waiting").wait_for()
    held.pop().continue_()
    view.settle()
    assert page.locator("#alert").is_hidden()


@pytest.mark.parametrize("fails", ["refused", "gone"])
def test_trouble_is_told(view, fails):
    page = view.open().page
    refusal = {"error": "too-slow", "message": "Expected work of at most 5 s; got more."}
    page.route(
        "**/api/fit",
        lambda route: (
            route.fulfill(status=504, json=refusal) if fails == "refused" else route.abort()
        ),
    )
    page.locator("#degree").press("ArrowRight")
    page.locator("#alert").wait_for()
    told = "at most 5 s" if fails == "refused" else "does not respond"
    assert told in page.locator("#alert").inner_text()
    page.unroute("**/api/fit")
    view.press("#degree", "ArrowRight")
    assert page.locator("#alert").is_hidden()
    view.problems.clear()  # browsers log answers of status 504
