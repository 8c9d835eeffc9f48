"""Files of rules on the command line: ``laws --save`` and ``--update``, ``check --rules``."""

import json
import tomllib
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.support.paths import ROOT

from vanishing import discover
from vanishing.app import cli

ACCOUNTS = ROOT / "examples" / "data" / "accounts.csv"
SCHEMA = json.loads(Path(cli.__file__).with_name("output.schema.json").read_text())
OWN = """
# Our shops close late.
[[rule]]
id = "capacity"
rule = "units <= 690"  # of all shops
note = "asked Ms Ito"
"""


@pytest.fixture
def rules(call, tmp_path):
    path = tmp_path / "rules.toml"
    call("laws", str(ACCOUNTS), "--save", str(path))
    return path


def validate(record):
    jsonschema.validate(record, SCHEMA)
    return record


def test_what_is_saved_is_checked(call, rules):
    found = call("check", str(ACCOUNTS), "--id", "month").out.splitlines()
    done = call("check", str(ACCOUNTS), "--id", "month", "--rules", str(rules))
    assert done.out.splitlines()[0] == f"3 rules in {rules}."
    assert done.out.splitlines()[4:] == found[4:]


def test_laws_of_a_model_file(call, tmp_path):
    path = tmp_path / "laws.safetensors"
    discover(ACCOUNTS).save(path)
    done = call("check", str(ACCOUNTS), "--id", "month", "--rules", str(path))
    assert done.out == call("check", str(ACCOUNTS), "--id", "month").out


def test_rules_of_people(call, rules):
    rules.write_text(rules.read_text() + OWN)
    done = call("check", str(ACCOUNTS), "--rules", str(rules), "--json")
    record = validate(json.loads(done.out))
    assert record["broken"] == 3
    assert record["rules"][3]["note"] == "asked Ms Ito"
    assert [cell["law"] for cell in record["cells"]][-1] == "units <= 690"
    assert "4 rules" in record["summary"]
    assert "1 written by people" in record["summary"]


def test_an_update_keeps_what_people_wrote(call, rules, tmp_path):
    text = rules.read_text().replace('"law-3"', '"law-3"  # of last year') + OWN
    rules.write_text(text)
    done = call("laws", str(ACCOUNTS), "--update", str(rules))
    assert done.out.splitlines()[-1] == f"Since {rules} was written, nothing changed"
    header, *lines = ACCOUNTS.read_text().splitlines()
    other = tmp_path / "other.csv"
    places = header.split(",").index("profit"), header.split(",").index("units")
    rows = [line.split(",") for line in lines]
    for k, row in enumerate(rows):
        row[places[0]] = str(k * k % 97)
    other.write_text("\n".join([header, *map(",".join, rows)]))
    done = call("laws", str(other), "--update", str(rules), "--json")
    record = validate(json.loads(done.out))
    assert [(each["kind"], each["id"]) for each in record["changes"]] == [("gone", "law-3")]
    updated = rules.read_text()
    assert OWN.strip() in updated
    assert [each["id"] for each in tomllib.loads(updated)["rule"]] == ["law-1", "law-2", "capacity"]


def test_a_file_of_rules_is_not_overwritten(call, rules):
    before = rules.read_bytes()
    done = call("laws", str(ACCOUNTS), "--save", str(rules))
    assert done.code == 2
    assert f"--update {rules}" in done.err
    assert rules.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0), (("--fail-on-broken",), 1), (("--max-broken", "1"), 1), (("--max-broken", "2"), 0),
        (("--max-broken", "3.3%"), 1), (("--max-broken", "3.4%"), 0), (("--max-broken", "-1"), 2),
        (("--max-broken", "1.5"), 2), (("--max-broken", "few"), 2), (("--max-broken", "nan%"), 2),
        (("--degree", "1"), 2), (("--annotate", "github", "--json"), 2),
        (("--train", str(ACCOUNTS)), 2),
    ],
)  # fmt: skip
def test_exit_codes(call, rules, options, code):
    assert call("check", str(ACCOUNTS), "--rules", str(rules), *options).code == code


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("format = 2", 4, "its format is 2"),
        ("format = 1\n[[rule]]\nrule = 'a = b'", 4, "written =="),
        ("format = 1\n[[rule]]\nrule = 'onions > 1'", 3, "'onions'"),
        ("format = 1\n[[rule]]\nrule = 'month > 1'", 3, "texts with numbers"),
    ],
)
def test_rules_that_cannot_be_used(call, tmp_path, content, code, said):
    path = tmp_path / "rules.toml"
    path.write_text(content)
    done = call("check", str(ACCOUNTS), "--rules", str(path))
    assert done.code == code
    assert said in done.err


def test_annotations_name_lines_of_the_file(call, rules):
    path = str(ACCOUNTS)
    lines = call("check", path, "--rules", str(rules), "--annotate", "github").out.splitlines()
    assert [line.split("::")[1] for line in lines] == [
        f"error file={path},line=18,title=law-2", f"error file={path},line=43,title=law-3",
    ]  # fmt: skip
    record = json.loads(call("check", path, "--rules", str(rules), "--annotate", "sarif").out)
    (run,) = record["runs"]
    listed = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert listed == ["law-1", "law-2", "law-3"]
    places = []
    for each in run["results"]:
        assert listed[each["ruleIndex"]] == each["ruleId"]
        places.append(each["locations"][0]["physicalLocation"]["region"]["startLine"])
    assert places == [18, 43]


def test_annotations_cannot_be_forged(call, tmp_path):
    table = tmp_path / "a,b%.csv"
    rows = [f"{i},{2 * i + (i == 7)}" for i in range(1, 40)]
    table.write_text('"x\n::error::y",z\n' + "\n".join(rows))
    done = call("check", str(table), "--annotate", "github")
    (line,) = done.out.splitlines()
    assert "a%2Cb%25.csv" in line
    assert line.count("::") <= 4


def test_json_is_as_its_schema_says(call, rules, tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    typo = tmp_path / "typo.csv"
    typo.write_text(ACCOUNTS.read_text().replace(",8078,", ",8O78,"))
    for table in (ACCOUNTS, typo):
        for options in (
            ["laws"], ["check"], ["check", "--id", "month"], ["check", "--rules", str(rules)],
            ["laws", "--update", str(rules)], ["check", "--top"],
        ):  # fmt: skip
            validate(json.loads(call(*options, str(table), "--json").out))
    record = json.loads(call("check", str(ACCOUNTS), "--json").out)
    for key in ("cells", "laws", "rows"):
        with pytest.raises(jsonschema.ValidationError):
            validate({name: value for name, value in record.items() if name != key})


def test_the_same_is_said_each_time(call, rules):
    options = ["check", str(ACCOUNTS), "--rules", str(rules)]
    for more in ([], ["--json"], ["--annotate", "sarif"]):
        said = [call(*options, *more).out for _ in range(2)]
        assert all(first == second for first, second in pairwise(said))


def test_the_hook_is_a_command(call, rules):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = hook["entry"].split()
    assert program == "vanishing"
    assert call(*arguments, str(ACCOUNTS), "--rules", str(rules)).code == 1


def test_a_file_of_rules_that_is_not_there(call):
    found = call("check", str(ACCOUNTS), "--rules", "nowhere.toml")
    assert found.code == 4
    assert "nowhere.toml cannot be read" in found.err
