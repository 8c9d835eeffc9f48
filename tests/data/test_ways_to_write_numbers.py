"""Ways to write numbers: every reader gives the same numbers, and the page says which."""

import base64
import io
import warnings
from contextlib import redirect_stderr
from functools import cache

import numpy as np
import pytest
from tests.support.paths import DOCS
from tests.support.written_tables import CASES, describe, page_line, read

from vanishing import discover
from vanishing.data import as_source

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@cache
def lines():
    return (DOCS / "reading.md").read_text(encoding="utf-8").splitlines()


@cases
def test_the_page_says_what_is_read(case):
    # If that changed for good reason: python -m docs.make_reading
    assert page_line(case, describe(case)) in lines()


def test_the_page_lists_nothing_else():
    sections = {case.section for case in CASES}
    assert sum(line.startswith("| ") for line in lines()) == len(CASES) + len(sections)
    assert len(CASES) >= 60


@cases
def test_streams_read_the_same(tmp_path, case):
    table, warned = read(case, tmp_path)
    if np.isnan(table.values).any():
        return  # missing numbers are rejected, and a stream has no look at the whole column
    aside = [each.name for each in table.set_aside]
    columns = list(table.shown_names) if aside else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chunks = list(as_source(tmp_path / "table.csv", columns=columns).blocks(1000))
    np.testing.assert_array_equal(np.concatenate(chunks), table.values)
    said = [str(each.message).partition(": ")[2] for each in caught]
    assert said == [each.partition(": ")[2] for each in warned]


@cases
def test_the_command_line_reads_the_same(tmp_path, monkeypatch, case):
    from vanishing.app.cli.options import Reading
    from vanishing.app.cli.tables import read_input

    monkeypatch.setattr("vanishing.app.cli.console.state.quiet", False)
    table, _ = read(case, tmp_path)
    with redirect_stderr(io.StringIO()) as said:
        found = read_input(str(tmp_path / "table.csv"), Reading(), set_aside=True, gaps="keep")
    np.testing.assert_array_equal(found.values, table.values)
    assert found.names == table.names
    for note in table.notes:
        assert note.text in said.getvalue().replace("\n", " ")


@cases
def test_the_playground_reads_the_same(tmp_path, case):
    from vanishing.app.playground.tables import PICTURE_ROWS, read_columns

    table, _ = read(case, tmp_path)
    if table.values.shape[1] < 2:
        return  # nothing to draw
    content = base64.b64encode(case.content).decode()
    found = read_columns(table=content, most_columns=100, most_rows=10**6)
    numbers = [each["numbers"] for each in found["columns"] if each["numbers"] is not None]
    n_taken = min(len(table), PICTURE_ROWS)
    rows = np.arange(n_taken) * len(table) // n_taken
    np.testing.assert_array_equal(np.array(numbers, dtype=float).T, table.values[rows])


@cases
def test_laws_tell_what_was_assumed(tmp_path, case):
    table, _ = read(case, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        notes = discover(tmp_path / "table.csv").notes
    for note in table.notes:
        assert any(each.startswith(note.text) for each in notes)
