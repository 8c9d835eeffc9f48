"""Axe finds no serious violation on any page, light and dark."""

import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

from tests.support.browser import TABLE, put_file

pytestmark = pytest.mark.programs


@pytest.mark.parametrize(
    "view", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
@pytest.mark.parametrize("path", ["/", "/#example", "/points", "/points#x=own", "/images"])
def test_no_serious_violation_of_accessibility(view, path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    view.open(path)
    if path == "/points#x=own":
        put_file(view, TABLE)
        view.page.locator("#csv-dialog").wait_for()
        check(axe, view.page)
        view.page.locator("#csv-dialog button[type=submit]").click()  # no contrast is chosen
        view.settle()
    check(axe, view.page)


def check(axe, page):
    found = axe.run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert serious == [], json.dumps(serious, indent=1)[:3000]
