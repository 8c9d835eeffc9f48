"""Every command on a few real tables, damaged: a sample of the campaign."""

import json
import os
from pathlib import Path

import pytest
from tests.support.paths import ROOT

pytest.importorskip("benchmarks", reason="benchmarks are in the repository only")
pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("onnx")
pytest.importorskip("sympy")

from benchmarks.campaigns import corpora


@pytest.mark.programs
def test_no_command_fails_on_real_tables(tmp_path):
    data = Path(os.environ.get("VANISHING_DATA") or ROOT.parent / "shared" / "data")
    if not corpora.list_tables(data):
        pytest.skip("needs tables below VANISHING_DATA")
    code = corpora.main(["--tables", "8", "--seed", "1", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "corpora_results.json").read_text())
    assert found["wrong"] == []
    assert code == 0
    assert found["runs"] == 8 * 15


def test_a_command_that_fails_is_seen(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert corpora.judge(["info", str(table), "--json"]) == (0, "")
    code, wrong = corpora.judge(["info", "--wrong-option"])
    assert code == 2
    assert "wrong-option" in wrong
