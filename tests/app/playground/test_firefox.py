"""The pages of the playground in Firefox: all of them work, and log no error."""

import pytest

pytest.importorskip("starlette")

from tests.support.browser import TABLE
from tests.support.firefox import firefox
from tests.support.paths import ROOT

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with firefox(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(running, server):
    running.url = server.url
    yield running
    assert running.problems == []


def test_laws(page, tmp_path):
    page.open(f"{page.url}/")
    page.click("#sample")
    page.wait_for("!document.getElementById('result').hidden").settle()
    assert page.text("#verdict") == "60 rows, 9 columns: 3 laws. 2 of 60 rows break a law."
    assert page.texts("td.wrong") == ["8078 7778", "6458 6548"]
    assert page.texts("tr.why .sentence")[0].endswith("7778 would fix it.")
    page.evaluate("document.querySelector('.law').focus()")
    page.press("Enter")
    page.wait_for("document.querySelector('.law').getAttribute('aria-pressed') === 'true'")
    assert page.texts("th.of-law") == ["units", "price", "sales"]
    page.put_file("#table-file", ROOT / "examples" / "data" / "accounts.csv")
    page.settle()
    own = tmp_path / "own.csv"
    own.write_text("\n".join(["a,b,c", *(f"{k},{k * k % 17},{k + k * k % 17}" for k in range(40))]))
    page.put_file("#table-file", own)
    page.wait_for("document.getElementById('table-name').textContent === 'own.csv'").settle()
    assert page.texts(".law .formula") == ["c =\xa0a +\xa0b"]


def test_points(page, tmp_path):
    page.open(f"{page.url}/points")
    assert "tells them apart" in page.text("#contrastive .verdict")
    assert page.evaluate("document.querySelectorAll('#plain math').length") > 3
    page.evaluate("document.getElementById('degree').focus()")
    page.press("ArrowRight")
    page.settle()
    assert page.text("#degree-value") == "3"
    page.click("#plain canvas")
    page.settle()
    assert page.text("#status").startswith("161 points of X")
    file = tmp_path / "table.csv"
    file.write_text(TABLE)
    page.put_file("#csv-file", file)
    page.wait_for("document.getElementById('csv-dialog').open")
    page.click("#csv-dialog .primary")
    page.wait_for("!document.getElementById('columns-note').hidden").settle()
    assert page.text("#plain [data-part=x-axis]") == "→ größe, x"


def test_images(page):
    page.open(f"{page.url}/images")
    assert "strange" in page.text("#verdict")
    before = page.text("#verdict")
    page.click("#turn")
    page.settle()
    assert page.text("#verdict") != before


@pytest.mark.parametrize("path", ["/", "/#example", "/points", "/images"])
def test_narrow(page, path):
    page.open(page.url + path, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
