"""Names in tables are text on every page, as a browser sees it.

A new report joins by itself: ``vanishing.app.report.__all__`` is what is tested.
"""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.browser import View, chromium, put_file
from tests.support.hostile import HOSTILE_NAMES

from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal, discover
from vanishing.app import report
from vanishing.app.report import write_equations_report, write_laws_report, write_report

pytestmark = pytest.mark.programs

#: Those that mean something to a page, or to what typesets formulas in one.
WHATS = ["script", "image", "attribute", "MathML", "address", "comment of HTML", "entity"]
WHATS += ["link of LaTeX", "dollars", "color", "null", "long"]
NAMES = [HOSTILE_NAMES[what] for what in WHATS]

#: Elements that a name must not become, and attributes that would run.
STRANGE = """() => [...document.querySelectorAll("*")].filter((each) =>
  ["SCRIPT", "IMG", "IFRAME", "OBJECT", "MGLYPH", "LINK"].includes(each.tagName.toUpperCase())
  || [...each.attributes].some((one) => one.name.startsWith("on")
    || (["href", "src", "action"].includes(one.name) && /^\\s*javascript:/i.test(one.value)))
).map((each) => each.outerHTML.slice(0, 200))"""


def table(n_rows=80):
    """Every third column is the sum of the two before it."""
    values = np.random.default_rng(0).uniform(1, 9, (n_rows, len(NAMES))).round(2)
    values[:, 2::3] = (values[:, 0::3] + values[:, 1::3]).round(2)
    return pd.DataFrame(values, columns=NAMES)


def broken_table():
    rows = table()
    rows.iloc[5, 2] += 50.0
    return rows


def anomalies(folder):
    detector = VanishingDetector().fit(table())
    write_report(
        folder / "page.html", detector, broken_table(), ids=(NAMES * 7)[:80], title=NAMES[0]
    )


def laws(folder):
    found = discover(table(), max_degree=1)
    assert len(found) == len(NAMES) // 3
    check = found.check(broken_table(), row_names=(NAMES * 7)[:80])
    assert check.broken.sum() == 1
    write_laws_report(folder / "page.html", found, check, X=broken_table(), title=NAMES[1])


def equations(folder):
    model = make_pipeline(StandardScaler(), VanishingIdeal(tol=0.05, max_degree=1))
    rows = table()
    rows[NAMES[1]] = 2 * rows[NAMES[0]] + rows[NAMES[3]]
    write_equations_report(
        folder / "page.html", model.fit(rows), rows, ids=(NAMES * 7)[:80], title=NAMES[2]
    )


REPORTS = {
    "write_report": anomalies,
    "write_laws_report": laws,
    "write_equations_report": equations,
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def look(browser, show, *, allowed=()):
    """Open a page; return its text. Nothing ran, nothing was asked for, nothing was wrong."""
    page = browser.new_page()
    heard, asked = [], []
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    show(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for each in page.locator("td, th, li, [title]").all()[:40]:
        each.dispatch_event("mouseover")
    assert page.evaluate("typeof window.__pwned") == "undefined"
    assert page.evaluate(STRANGE) == []
    assert heard == []
    assert all(url.startswith(allowed) for url in asked), asked
    text = page.locator("body").inner_text()
    page.close()
    return text


@pytest.mark.parametrize("name", report.__all__)
def test_reports(name, browser, tmp_path):
    assert name in REPORTS, f"write a function that makes a page by {name}"
    REPORTS[name](tmp_path)
    address = (tmp_path / "page.html").as_uri()
    text = look(browser, lambda page: page.goto(address), allowed=(address, "data:"))
    assert HOSTILE_NAMES["image"] in text
    assert HOSTILE_NAMES["script"] in text


def test_notebooks(browser):
    """What notebooks show, in a page that has no policy against scripts."""
    rows = table().iloc[:, :6]
    found = discover(rows, max_degree=2)
    detector = VanishingDetector().fit(rows)
    labels = np.arange(len(rows)) % 2
    shown = [
        VanishingIdeal(max_degree=2, tol=1e-3).fit(rows),
        ClassVanishingFeatures(VanishingIdeal(tol=0.1)).fit(
            rows, [NAMES[0] if label else NAMES[1] for label in labels]
        ),
        detector,
        *detector.explain(broken_table().iloc[5:6, :6]),
        found,
        found.check(broken_table().iloc[:, :6]),
    ]
    fragments = [
        each._repr_mimebundle_()["text/html"]
        if hasattr(each, "_repr_mimebundle_")
        else each._repr_html_()
        for each in shown
    ]
    # The script of scikit-learn's diagrams is its own.
    for each in fragments[:3]:
        assert HOSTILE_NAMES["script"] not in each
    ours = [fragments[0].split('<div class="vanishing-equations"', 1)[-1], *fragments[3:]]
    content = "<!doctype html><body>" + '<div class="vanishing-equations"'.join(["", ours[0]])
    content += "".join(ours[1:])
    text = look(browser, lambda page: page.set_content(content), allowed=("about:",))
    assert HOSTILE_NAMES["image"] in text


def csv_of(rows):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*rows.columns, "who"])
    for k, row in enumerate(rows.to_numpy().tolist()):
        writer.writerow([*row, f"{NAMES[0]}{k}"])
    return file.getvalue()


@pytest.fixture(scope="module")
def view(browser):
    pytest.importorskip("starlette")
    from tests.support.playground import playground

    from vanishing.app.playground import Limits

    limits = Limits(queue_seconds=20, work_seconds=20, workers=1)
    with playground(limits) as server:
        opened = View(browser, server.url)
        yield opened
        opened.close()
        assert opened.problems == []
        assert all(url.startswith((server.url, "blob:", "about:")) for url in opened.requests)


def assert_nothing_ran(view):
    assert view.page.evaluate("typeof window.__pwned") == "undefined"
    ours = "[src^='/static/'], [href^='/static/']"
    view.page.evaluate(f'document.querySelectorAll("{ours}").forEach((each) => each.remove())')
    assert view.page.evaluate(STRANGE) == []


def test_playground_laws(view):
    rows = broken_table().iloc[:, :6]  # more are searched for long
    view.open("/")
    put_file(view, csv_of(rows), f"{HOSTILE_NAMES['image']}.csv", into="#table-file")
    view.page.locator("tr.why").first.wait_for(timeout=60_000)
    view.settle()
    assert HOSTILE_NAMES["script"] in view.page.locator("#laws").inner_text()
    assert HOSTILE_NAMES["image"] in view.page.locator("thead").inner_text()
    assert_nothing_ran(view)


def test_playground_points(view):
    rows = table().drop(columns=HOSTILE_NAMES["null"])  # a file that holds it is no text
    view.open("/points")
    put_file(view, csv_of(rows), f"{HOSTILE_NAMES['script']}.csv")
    view.page.locator("#csv-dialog").wait_for()
    options = view.page.locator("#csv-x option").all_inner_texts()
    assert HOSTILE_NAMES["image"] in options
    view.page.get_by_role("button", name="Use these columns").click()
    view.page.locator("#columns-note").wait_for()
    view.settle()
    assert HOSTILE_NAMES["script"] in view.page.locator("#columns-note").inner_text()
    assert_nothing_ran(view)
