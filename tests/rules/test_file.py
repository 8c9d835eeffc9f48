"""Files of rules: people edit them, others damage them, and neither runs code."""

import json
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from vanishing import discover, rules
from vanishing.rules import RuleError
from vanishing.rules.file import load_rules, read_rules, save_rules, write_rules

SCHEMA = json.loads(Path(rules.__file__).with_name("rules.schema.json").read_text())

EDITED = """\
# Rules of our invoices.
format = 1

[table]
rows = 40

[[rule]]
id = "gross"
rule = "gross == net + tax"  # as the law says
source = "found"
rounding = {tax = 0.01, `net` = 0.5}
evidence = {bits = 120, rows = 40, errors = [0, 0.1, 0]}

[[rule]]
rule = "status in ['open', 'closed']"
where = "country == 'DE'"
note = "since 2021"

[[rule]]
rule = "gross == 2 * net"
tolerance = 1
""".replace("`net`", "net")


def test_a_file_of_a_person():
    found = read_rules(EDITED)
    assert [rule.id for rule in found] == ["gross", "rule-2", "rule-3"]
    assert [rule.source for rule in found] == ["found", "person", "person"]
    assert found[0].rounding == {"tax": 0.01, "net": 0.5}
    assert found[1].columns == ("status", "country")
    assert found[2].tolerance == 1.0
    assert read_rules(write_rules(found)) == found


def test_what_is_saved_is_loaded(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 5, (2, 60))
    frame = pd.DataFrame({"a": a, "b": b, "c": 1.2345678 * a * b + rng.normal(0, 1e-3, 60)})
    laws = discover(frame)
    found = rules.Rules.from_laws(laws)
    path = tmp_path / "rules.toml"
    save_rules(found, path)
    assert load_rules(path) == found
    np.testing.assert_array_equal(
        np.sort(np.abs(found[0].coefficients)), np.sort(np.abs(laws[0].coefficients))
    )
    jsonschema.validate(tomllib.loads(path.read_text()), SCHEMA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b", "not a TOML file"),
        ("", "should begin with format = 1"),
        ("format = 2", "its format is 2, and this version .* reads 1; use the version"),
        ("format = true", "should begin with format"),
        ("format = 1\n[[rule]]\nid = 'a'", "line 2, rule 1: 'rule' is a required"),
        ("format = 1\n[[rule]]\nrule = 'a = b'", "line 2, rule 1: .* written =="),
        ("format = 1\n[[rule]]\nrulez = 'a == b'", "line 2, rule 1: .*'rulez' was unexpected"),
        ("format = 1\n[[rule]]\nrule = 3", "line 2, rule 1, rule: 3 is not of type"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\nnoise = -1", "line 2, rule 1, noise: .*minimum"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\nfoo = 1", "line 2, rule 1: .*'foo' was unex"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\nsource = 'x'", "source: 'x' is not one of"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\nrounding = {c = 1}", "rounding is about c"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\ntolerance = nan", "nan is not a finite number"),
        ("format = 1\n[[rule]]\nrule = 'a < b'\ntolerance = 1", "tolerance is for equations"),
        ("format = 1\n[[rule]]\nrule = 'a < b'\nnoise = 1", "polynomial equations"),
        ("format = 1\n[[rule]]\nrule = 'a == b'\nevidence = {errors = [1]}", "has 1 numbers"),
        ("format = 1\nrule = 3", "rule: 3 is not of type 'array'"),
        ("format = 1\n[table]\nrows = 1.5", "line 2, table, rows: 1.5 is not of type"),
        (f"format = 1\n[table]\nrows = {10**30}", "rows: 10* is greater than the maximum"),
        ("format = 1\nrule = [{rule = 'a<b', id = 'x'}, {rule = 'a<b', id = 'x'}]", "'x' .* once"),
        ("format = 1\nx = " + "[" * 5000, "nested|TOML"),
        (f"format = 1\nrule = 0x1{'0' * 9999}", "too long"),
        (f"format = 1\nrule{'.a' * 9999} = 1", "too deep"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place(text, said):
    with pytest.raises(RuleError, match=said):
        read_rules(text)


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "rules.toml"
    for content in (b"format = 7", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(RuleError, match=r"rules\.toml: "):
            load_rules(path)


def mutate(text, rng):
    """Change a text at a few places: characters, lines, and numbers."""
    cells = list(text)
    for _ in range(rng.integers(1, 6)):
        place, kind = int(rng.integers(len(cells))), rng.integers(5)
        if kind == 0:
            cells[place] = chr(rng.integers(32, 127))
        elif kind == 1:
            del cells[place : place + int(rng.integers(1, 30))]
        elif kind == 2:
            cells[place:place] = cells[place : place + int(rng.integers(1, 60))]
        elif kind == 3:
            cells[place] = str(
                rng.choice(["-", "1e400", "\n", "[[rule]]\n", "'", '"', "\\", "\x00"])
            )
        else:
            cells[place:place] = list("__import__('os').system('touch pwned')")
        cells = cells or ["x"]
    return "".join(cells)


def test_damaged_files_are_read_or_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n_read = 0
    for _ in range(1000):
        try:
            found = read_rules(mutate(EDITED, rng))
        except RuleError:
            continue
        n_read += 1
        assert read_rules(write_rules(found)) == found
    assert 10 < n_read < 990
    assert not list(tmp_path.iterdir())
