"""Laws in the playground: the task, its limits and its progress, and the page."""

import base64
import io
import json
import re
import threading
import time

import httpx
import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("pyarrow")

from tests.support.browser import put_file
from tests.support.paths import ROOT
from tests.support.playground import assert_refused, playground

from vanishing import discover
from vanishing.app.playground import Limits
from vanishing.app.playground.requests import RefusalError
from vanishing.app.playground.server import STATIC
from vanishing.app.playground.tables import find_laws, read_columns
from vanishing.rules import load_rules

ACCOUNTS = ROOT / "examples" / "data" / "accounts.csv"


def encode(table):
    data = table if isinstance(table, bytes) else table.encode()
    return base64.b64encode(data).decode()


def find(table, report=lambda progress: None):
    found = find_laws(table=encode(table), most_columns=100, report=report)
    return json.loads(json.dumps(found, allow_nan=False))


def sums(n_rows=40, *, seed=0, names="a,b,sum"):
    """A table whose third column is the sum of the others."""
    a, b = np.random.default_rng(seed).integers(1, 1000, (2, n_rows))
    return [names, *(f"{x},{y},{x + y}" for x, y in zip(a, b, strict=True))]


# --- what is found --------------------------------------------------------------------------------


def test_the_example_is_the_one_of_the_documentation():
    assert (STATIC / "samples" / "accounts.csv").read_bytes() == ACCOUNTS.read_bytes()


def test_laws_and_broken_cells_are_those_of_the_library():
    seen = []
    found = find(ACCOUNTS.read_bytes(), seen.append)
    laws = discover(str(ACCOUNTS))
    assert [law["text"] for law in found["laws"]] == [str(law) for law in laws]
    check = laws.check(str(ACCOUNTS)).ranked()
    assert found["nBroken"] == int(check.broken.sum()) == 2
    assert [each["row"] for each in found["findings"]] == [broken.row for broken in check]
    # Rows are called by the column of months, since each of them is another one.
    assert found["namedBy"] == "month"
    assert found["findings"][0]["sentence"] == (
        "Row 2021-05: costs 8078 breaks costs = wages + material + rent and sales = costs + "
        "profit; 7778 would fix it."
    )
    assert found["findings"][0]["fixes"] == [{"column": "costs", "value": "8078", "fix": "7778"}]
    assert found["notes"] == ["month is set aside: text, '2020-01' in row 1."]
    assert (
        found["coverage"]
        == check.coverage()
        == ("8 of 9 columns are in a law; nothing checks month.")
    )
    assert [law["evidence"] for law in found["laws"]] == [list(law.evidence) for law in laws]
    assert found["rows"][16][:3] == ["2021-05", "621", "18"]
    assert [each["step"] for each in seen][:1] == ["search"]
    assert seen[-1]["step"] == "check"
    assert seen[-1]["found"] == 3


def ledger():
    """The balances of three accounts, each of which follows from the one before."""
    rng, balance, rows = np.random.default_rng(0), dict.fromkeys(("rent", "cash", "bank"), 1000), []
    for day in range(40):
        for account in balance:
            credit, debit = rng.integers(1, 300, 2).tolist()
            balance[account] += credit - debit
            rows.append([str(day), account, credit, debit, balance[account]])
    return rows


def write(names, rows):
    return "\n".join(",".join(map(str, row)) for row in [names, *rows])


def test_laws_of_the_row_before():
    rows = ledger()
    rows[50][4] += 9
    rows[70][4] += 5000
    found = find(write(["day", "account", "credit", "debit", "balance"], rows))
    (law,) = found["laws"]
    assert law["text"] == "balance = previous balance by account + credit - debit"
    assert {"account", "balance", "credit", "debit"} <= set(law["columns"])
    assert found["verdict"] == "2 of 120 rows break a law."
    assert [each["row"] for each in found["findings"]] == [70, 50]  # furthest off first
    assert found["findings"][0]["fixes"][0]["column"] == "balance"
    assert "Measured and predicted" in found["report"]


def test_rows_that_are_totals():
    costs = np.random.default_rng(0).integers(100, 900, (12, 2)).tolist()
    rows = [[f"m{k}", *row, sum(row)] for k, row in enumerate(costs)]
    rent, food = np.sum(costs, axis=0).tolist()
    found = find(
        write(["month", "rent", "food", "sum"], [*rows, ["total", rent, food + 40, rent + food]])
    )
    assert found["verdict"] == "All 12 rows keep the law; the total is not the sum of its rows."
    (wrong,) = found["findings"]
    assert (wrong["row"], wrong["totalOf"], wrong["laws"]) == (12, "rows m0 to m11", [])
    assert wrong["fixes"][0]["fix"] == str(food)


@pytest.mark.parametrize("kind", ["excel", "parquet", "feather"])
def test_tables_of_other_formats(kind):
    pandas = pytest.importorskip("pandas")
    if kind == "excel":
        pytest.importorskip("openpyxl")
    file = io.BytesIO()
    getattr(pandas.read_csv(ACCOUNTS), f"to_{kind}")(file)
    found = find(file.getvalue())
    assert {law["text"] for law in found["laws"]} == {
        "sales = units*price",
        "costs = wages + material + rent",
        "sales = costs + profit",
    }
    assert found["verdict"] == "2 of 60 rows break a law."
    assert found["findings"][0]["fixes"] == [{"column": "costs", "value": "8078", "fix": "7778"}]


def test_terms_of_a_law_make_its_text():
    a, b = np.random.default_rng(0).uniform(1, 3, (2, 200)).round(2)
    rows = [f"{x:.2f},{y:.2f},{2.5 * x**2 * y - 3 * y:.9f}" for x, y in zip(a, b, strict=True)]
    (law,) = find("\n".join(["a,b,c", *rows]))["laws"]

    def write(terms):
        text = ""
        for term in terms:
            factors = [term["number"]] if term["number"] else []
            factors += [f"{name}^{p}" if p > 1 else name for name, p in term["powers"]]
            text += (" - " if term["isNegative"] else " + ") + "*".join(factors)
        return text.removeprefix(" + ")

    assert f"{write(law['left'])} = {write(law['right'])}" == law["text"]
    assert law["columns"] == ["a", "b", "c"]


def test_missing_cells_are_filled_and_numbers_have_the_same_decimals():
    rows = sums()
    first = rows[1].split(",")
    rows[1] = f"{first[0]},,{first[2]}"
    rows = [rows[0] + ",price", *(f"{row},{k}.{k % 4}0" for k, row in enumerate(rows[1:]))]
    found = find("\n".join(rows))
    assert found["nBroken"] == 0
    assert found["verdict"] == "No row breaks a law; 1 missing cell can be filled in."
    (finding,) = found["findings"]
    assert finding["kind"] == "missing"
    assert finding["fixes"] == [{"column": "b", "value": "", "fix": first[1]}]
    assert found["rows"][0] == [first[0], "", first[2], "0.0"]
    assert found["rows"][3][3] == "3.3"


def test_missing_cells_typos_and_broken_rows_are_kept_apart():
    rows = sums()
    a, _, total = rows[3].split(",")
    rows[3] = f"{a},,{total}"
    rows[6] = "1O," + rows[6].partition(",")[2]
    rows[9] += "1"
    found = find("\n".join(rows))
    assert found["nBroken"] == 1
    assert found["verdict"].endswith("1 cell is not a number; 1 missing cell can be filled in.")
    assert [(each["kind"], each["row"]) for each in found["findings"]] == [
        ("broken", 8),
        ("text", 5),
        ("missing", 2),
    ]
    assert found["findings"][1]["fixes"][0]["value"] == "'1O'"
    assert "a '1O' is not a number; it is" in found["findings"][1]["sentence"]
    assert found["rows"][5][0] == "1O"
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", found["report"])
    expected = ["Broken cells", "Cells that are not numbers", "Missing cells", "Laws"]
    assert [re.sub("<.*?>", "", each) for each in headings][:4] == expected


def test_a_column_that_is_mostly_missing_hides_no_law():
    rows = sums()
    rows = [f"{rows[0]},rare", *(f"{row},{'1' if k < 3 else ''}" for k, row in enumerate(rows[1:]))]
    found = find("\n".join(rows))
    assert found["notes"] == []
    assert len(found["laws"]) == 1
    assert found["rows"][5][3] == ""


def test_a_long_table_is_shown_in_part():
    rows = sums(3000)
    a, b, c = rows[2900].split(",")
    rows[2900] = f"{a},{b},{int(c) + 7}"
    found = find("\n".join(rows))
    assert found["nRows"] == 3000
    assert found["numbers"] == [*range(200), 2899]
    assert len(found["rows"]) == 201
    assert found["rowNames"][-1] == "2900"


def test_no_law():
    values = np.random.default_rng(0).normal(size=(100, 3)).round(6)
    found = find("\n".join(["a,b,c", *(",".join(map(str, row)) for row in values)]))
    assert found["laws"] == found["findings"] == []
    assert found["summary"] == "No law found in 3 columns of 100 rows."


@pytest.mark.parametrize(
    ("names", "shown", "note"),
    [
        ("a,a,sum", ["a", "a (column 2)", "sum"], "Several columns are called 'a'"),
        ("a,,sum", ["a", "column 2", "sum"], None),
        ("a,a (column 3),a", ["column 1", "column 2", "column 3"], "Several"),
    ],
)
def test_names_that_are_not_different(names, shown, note):
    found = find("\n".join(sums(names=names)))
    assert [column["name"] for column in found["columns"]] == shown
    assert len(found["laws"]) == 1
    assert bool(found["notes"]) == bool(note)
    assert all(each.startswith(note) for each in found["notes"])


def test_a_column_without_a_name_names_the_rows():
    rows = sums()
    rows = [f",{rows[0]}", *(f"r{k},{row}" for k, row in enumerate(rows[1:]))]
    found = find("\n".join(rows))
    assert found["rowNames"][3] == "r3"
    assert len(found["laws"]) == 1


CELLS = st.one_of(
    st.sampled_from(["", "0", "1", "-1", "1e308", "-1e308", "inf", "nan", "NA", "1,5", "x", '"']),
    st.floats(allow_nan=False).map(repr),
    st.text(max_size=8),
)


def refusal_of(table):
    """Return how a table is refused by both tasks; None if it is not."""
    try:
        find(table)
        read_columns(table=encode(table), most_columns=100, most_rows=50)
    except RefusalError as refusal:
        return refusal
    return None


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=12),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_any_table_is_answered_or_refused(rows, delimiter):
    table = "\n".join(delimiter.join(row) for row in rows)
    refusal = refusal_of(table.encode("utf-8", "replace"))
    assert refusal is None or (refusal.status == 422 and refusal.body()["message"].endswith("."))


@settings(max_examples=20, deadline=None)
@given(content=st.binary(max_size=300))
def test_any_bytes_are_answered_or_refused(content):
    refusal = refusal_of(content)
    assert refusal is None or refusal.status in (413, 422)


# --- the server -----------------------------------------------------------------------------------


def send(server, table, **keywords):
    headers = {"Content-Type": "text/csv"} | keywords.pop("headers", {})
    return server.client.post("/api/laws", content=table, headers=headers, **keywords)


def test_progress_comes_before_the_laws(server):
    lines = send(server, ACCOUNTS.read_bytes()).text.splitlines()
    *progress, last = map(json.loads, lines)
    assert len(last["laws"]) == 3
    assert progress
    assert all(0 <= each["progress"]["share"] <= 1 for each in progress)


@pytest.mark.parametrize("task", ["laws", "columns"])
def test_tables_that_are_refused(server, task):
    def ask(content, **headers):
        headers = {"Content-Type": "text/csv"} | headers
        return server.client.post(f"/api/{task}", content=content, headers=headers)

    assert_refused(ask(b""), 422, "bad-table")
    assert_refused(ask(b"a,b\n1,2\n3\n"), 422, "bad-table")
    assert_refused(ask(",".join("1" * 101).encode()), 413, "too-many-columns")
    assert_refused(ask(b"1" * 5_000_001), 413, "too-large")
    assert_refused(ask(b"a,b\n1,2\n", **{"Content-Type": "text/plain"}), 415, "not-csv")
    evil = {"Origin": "http://evil.example"}
    assert_refused(ask(b"a,b\n1,2\n", **evil), 403, "cross-origin")
    assert_refused(server.client.get(f"/api/{task}"), 405, "wrong-method")


def test_numbers_too_small_for_products_are_refused_with_a_status(server):
    table = "\n".join(["a,b", *(f"{i},{i}e-320" for i in range(1, 40))])
    answer = send(server, table)
    assert_refused(answer, 422, "bad-table")
    assert answer.json()["message"] == (
        "Column 'b' holds numbers up to 3.9e-319 only, too small for products of columns; use "
        "another unit."
    )
    rows = sums()
    rows[5] = "1e90,1,2"
    answer = send(server, "\n".join(rows))
    assert_refused(answer, 422, "bad-table")
    assert "1e+90 in row 5, too large" in answer.json()["message"]
    rows[5] = "1e60,1,2"
    assert send(server, "\n".join(rows)).is_success  # as on the command line


@pytest.mark.parametrize("task", ["laws", "columns"])
def test_rows_that_are_too_long_are_explained(server, task):
    def ask(rows):
        headers = {"Content-Type": "text/csv"}
        return server.client.post(f"/api/{task}", content="\n".join(rows), headers=headers)

    rows = sums(150_000)
    rows[10] = '12,"5,3'
    answer = ask(rows)
    assert_refused(answer, 422, "bad-table")
    assert "a quote in line 11 is not closed" in answer.json()["message"]
    answer = ask(sums(names="a,b," + 4_000_000 * "c"))
    assert_refused(answer, 422, "bad-table")
    assert "line 1 has 4,000,005 characters, more than" in answer.json()["message"]


def slow_table():
    """A table that is searched for seconds."""
    values = np.random.default_rng(0).normal(size=(3000, 20)).round(5)
    values[:, 0] = values[:, 1] * values[:, 2] + 0.01 * values[:, 0]
    names = ",".join(f"c{k}" for k in range(20))
    return "\n".join([names, *(",".join(map(str, row)) for row in values)]).encode()


@pytest.mark.programs
def test_a_search_that_takes_too_long_is_stopped():
    with playground(Limits(workers=1, table_seconds=0.5, queue_seconds=60)) as server:
        (pid,) = server.workers.pids
        answer = send(server, slow_table())
        last = json.loads(answer.text.splitlines()[-1])
        assert last["error"] == "too-slow"
        assert "fewer columns" in last["message"]
        assert send(server, "\n".join(sums(10))).status_code == 200
        assert server.workers.pids != [pid]


@pytest.mark.programs
def test_a_search_ends_when_its_client_hangs_up_and_others_wait_for_it():
    table = slow_table()
    with playground(Limits(workers=2, queue_seconds=0.5)) as server:
        processes = [psutil.Process(pid) for pid in server.workers.pids]
        headers = {"Content-Type": "text/csv"}
        address = f"{server.url}/api/laws"
        with (
            httpx.Client(timeout=60) as client,
            client.stream("POST", address, content=table, headers=headers) as answer,
        ):
            lines = answer.iter_lines()
            assert next(lines).startswith('{"progress"')
            # Meanwhile no other table is searched, but there is a process for other things.
            busy = send(server, "\n".join(sums(10)))
            assert_refused(busy, 503, "busy")
            assert busy.headers["retry-after"] == "1"
            assert server.client.post(
                "/api/columns", content="\n".join(sums(10)), headers=headers
            ).is_success
        until = time.monotonic() + 10
        while len([each for each in processes if each.is_running()]) > 1:
            assert time.monotonic() < until
            time.sleep(0.05)
        again = send(server, "\n".join(sums(10)))
        assert len(json.loads(again.text.splitlines()[-1])["laws"]) == 1


@pytest.mark.programs
def test_too_many_tables_at_once():
    with playground(Limits(workers=1, queue=0, queue_seconds=5)) as server:
        working = threading.Thread(target=send, args=(server, slow_table()))
        working.start()
        time.sleep(0.7)
        refused = httpx.post(
            f"{server.url}/api/laws", content=b"a\n1\n", headers={"Content-Type": "text/csv"}
        )
        assert_refused(refused, 503, "busy")
        working.join()


# --- the page -------------------------------------------------------------------------------------


def put_table(view, content, name="table.csv"):
    put_file(view, content, name, into="#table-file")
    return view.settle().page


@pytest.mark.programs
def test_the_example_takes_one_click(view):
    page = view.open("/").page
    page.get_by_role("button", name="Try an example").click()
    page.locator("#result").wait_for()
    view.settle()
    verdict = page.locator("#verdict").inner_text()
    assert verdict == "60 rows, 9 columns: 3 laws. 2 of 60 rows break a law."
    covered = "8 of 9 columns are in a law; nothing checks month."
    assert page.locator("#coverage").inner_text() == covered
    meta = page.locator("#laws .meta").all_inner_texts()
    assert [each.split(" · ")[1:] for each in meta] == [
        ["exact", "60 rows"],
        ["exact", "59 rows", "1 breaks it"],
        ["exact", "58 rows", "2 break it"],
    ]
    assert page.locator("#laws .formula").all_inner_texts() == [
        "sales =\xa0units · price",
        "costs =\xa0wages +\xa0material +\xa0rent",
        "sales =\xa0costs +\xa0profit",
    ]
    wrong = page.locator("td.wrong")
    assert wrong.all_inner_texts() == ["8078 7778", "6458 6548"]
    assert page.locator("td.wrong s").all_inner_texts() == ["8078", "6458"]
    said = page.locator("tr.why .sentence").first.inner_text()
    assert said.startswith("Row 2021-05: costs 8078 breaks costs = wages + material + rent and")
    assert said.endswith("7778 would fix it.")
    assert page.locator("#notes").inner_text() == "month is set aside: text, '2020-01' in row 1."
    assert page.locator("#shell").text_content() == "vanishing check accounts.csv --id month"
    # The table begins at its first row; a broken one comes into sight when it is chosen.
    top = "[scrollY, document.getElementById('scroll').scrollTop]"
    assert page.evaluate(top) == [0, 0]
    assert page.locator("tr.chosen").count() == 0
    page.locator("#findings button").first.click()
    seen, row = page.locator("#scroll").bounding_box(), wrong.first.bounding_box()
    assert seen["y"] < row["y"] < seen["y"] + seen["height"]
    page.reload()
    page.locator("td.wrong").first.wait_for()


@pytest.mark.programs
def test_what_the_page_says_in_python_and_shell_is_true(view, tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer")
    from vanishing.app.cli import main

    page = view.open("/#example").page
    (tmp_path / "accounts.csv").write_bytes(ACCOUNTS.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(page.locator("#python").text_content(), {})
    assert "costs 8078 breaks" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", page.locator("#shell").text_content().split())
    main()
    assert "row 2021-05: costs 8078 breaks" in capsys.readouterr().out


@pytest.mark.programs
def test_laws_and_findings_are_chosen_by_keyboard(view):
    page = view.open("/#example").page
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.law')"):
            break
    page.keyboard.press("Enter")
    assert page.locator("th.of-law").all_inner_texts() == ["units", "price", "sales"]
    page.keyboard.press("Space")
    assert page.locator(".of-law").count() == 0
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("tr.chosen").first.get_attribute("data-row") == "41"
    page.get_by_role("radio", name="broken rows").check(force=True)
    assert page.locator("tr[data-row]").count() == 2
    page.locator("#scroll").focus()
    page.keyboard.press("End")


@pytest.mark.programs
def test_the_report_is_saved(view, tmp_path):
    page = view.open("/#example").page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save report").click()
    assert download.value.suggested_filename == "accounts-laws.html"
    download.value.save_as(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "8078 → 7778" in report
    assert "<script" not in report


@pytest.mark.programs
def test_the_rules_are_saved(view, tmp_path):
    page = view.open("/#example").page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save rules").click()
    assert download.value.suggested_filename == "accounts-rules.toml"
    download.value.save_as(tmp_path / "rules.toml")
    checked = load_rules(tmp_path / "rules.toml").check(str(ACCOUNTS))
    assert sorted(each.row for each in checked) == [16, 41]  # from 0


HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.mark.programs
def test_what_a_table_holds_is_text(view):
    rows = sums(
        names=f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",<b>b</b>,<script>alert(2)</script>'
    )
    rows = [rows[0] + ",who", *(f"{row},<i>{k}</i>" for k, row in enumerate(rows[1:]))]
    cells = rows[5].split(",")
    rows[5] = ",".join([*cells[:2], "1", cells[3]])
    page = put_table(view.open("/"), "\n".join(rows), f"{HOSTILE}.csv")
    assert page.locator("#table-name").inner_text() == f"{HOSTILE}.csv"
    assert page.locator("thead th").nth(1).inner_text() == HOSTILE
    assert "<script>alert(2)</script>" in page.locator("#laws").inner_text()
    assert page.locator("tr.why").inner_text().strip().startswith("Row <i>4</i>: ")
    assert page.locator("main img, main script, td i, td b, th b").count() == 0


@pytest.mark.programs
def test_a_long_table_is_a_small_page(view):
    """Of 20,000 rows, the first ones and the worst 200 of those that are broken."""
    rows = sums(20_000)
    for k in range(50, 20_000, 60):
        rows[k] += "1"
    page = put_table(view.open("/"), "\n".join(rows))
    assert "333 of 20000 rows break a law" in page.locator("#verdict").inner_text()
    assert page.locator("#more-findings").inner_text() == "These are the first 200 of 333."
    assert page.evaluate("document.querySelectorAll('*').length") < 8000
    assert page.evaluate("document.getElementById('scroll').scrollTop") == 0
    # What a click does is done within a frame or two.
    milliseconds = page.evaluate(
        """() => {
          const begun = performance.now();
          document.querySelectorAll("#findings button")[150].click();
          document.body.offsetHeight;
          return performance.now() - begun;
        }"""
    )
    assert milliseconds < 200
    assert page.locator("tr.chosen").count() == 2
    page.evaluate("scrollTo(0, 500)")
    put_table(view, "\n".join(sums()))  # the next one is shown from its top again
    assert page.evaluate("scrollY") == 0


@pytest.mark.programs
def test_no_law_is_said(view):
    values = np.random.default_rng(0).normal(size=(60, 3)).round(6)
    page = put_table(view.open("/"), "\n".join(",".join(map(str, row)) for row in values))
    assert page.locator("#verdict").inner_text() == "60 rows, 3 columns: no law."
    assert "No law found in 3 columns of 60 rows." in page.locator("#laws").inner_text()
    assert page.locator("#broken").is_hidden()
    assert page.locator("tbody tr").count() == 60


@pytest.mark.programs
def test_tables_that_cannot_be_read_are_explained(view):
    page = view.open("/#example").page
    for content, message in (
        ("", "bad.csv: The table: the file is empty"),
        ("a,b\n1,2\n3\n", "row 2 has 1 cells, expected 2"),
        ("a,b\n1,2\n" * 1_000_000, "at most 5 MB"),
    ):
        put_table(view, content, "bad.csv")
        assert message in page.locator("#alert").inner_text()
        assert page.locator("td.wrong").count() == 2  # what was there is still there
    put_table(view, "\n".join(sums()))
    assert page.locator("#alert").is_hidden()
    assert page.locator("#laws .formula").inner_text() == "sum =\xa0a +\xa0b"
    view.problems.clear()  # browsers log refusals


@pytest.mark.programs
def test_a_slow_search_shows_progress_and_can_be_cancelled(view):
    page = view.open("/").page
    put_file(view, slow_table(), into="#table-file")
    page.locator("#working").wait_for()
    page.wait_for_function(
        "() => document.getElementById('step').textContent.startsWith('Looking')"
    )
    page.get_by_role("button", name="Cancel").click()
    view.settle()
    assert page.locator("#working").is_hidden()
    assert page.locator("#result").is_hidden()
    assert page.locator("#alert").is_hidden()
    put_file(view, slow_table(), into="#table-file")
    page.locator("#working").wait_for()
    page.keyboard.press("Escape")
    view.settle()
    # The server has a process for the next table.
    put_table(view, "\n".join(sums()))
    assert page.locator("#laws .law").count() == 1
    view.problems.clear()  # a server that is still busy answers with status 503


@pytest.mark.programs
def test_cells_that_are_dropped_and_pasted(view):
    page = view.open("/").page
    table = "\n".join(sums()).replace(",", "\t")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          const options = { clipboardData: data, bubbles: true };
          document.body.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        table,
    )
    page.locator("#result").wait_for()
    view.settle()
    assert page.locator("#table-name").inner_text() == "pasted cells"
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.csv"));
          for (const type of ["dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true }));
          }
        }""",
        "\n".join(sums(seed=1)),
    )
    page.get_by_role("heading", name="dropped.csv").wait_for()
    assert page.locator("#laws .law").count() == 1
    view.settle()
