"""Rules as a TOML file that people read and edit: ``rules.toml``.

What a file may hold is said once, by ``rules.schema.json``, which editors understand, too. A file
holds no code, and rules are read by ``expression.py``. ``tomlkit`` writes files, since it keeps the
comments of a file that is updated; ``tomllib`` reads them.
"""

import json
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from vanishing.arrays.namespace import import_extra
from vanishing.data.atomic import write_atomic
from vanishing.equations.text import printable
from vanishing.rules.expression import RuleError, parse_condition
from vanishing.rules.rule import Evidence, Rule
from vanishing.rules.rules import KnownColumn, Rules

#: What stands at the top of a file that is written anew.
_HEADER = """\
# Rules of a table. Edit them, and add your own:
#   [[rule]]
#   rule = "start <= end"
# Updates replace rules whose source is "found"; yours, notes and comments are kept.
format = {}
"""


def load_rules(path: str | os.PathLike[str]) -> Rules:
    """Read rules from a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Rules

    Raises
    ------
    RuleError
        If the file is not one of rules, or of another version. Nothing in it is executed.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
        return read_rules(text)
    except UnicodeDecodeError as error:
        raise RuleError(f"{os.fspath(path)}: rules are UTF-8 text, but {error}") from error
    except RuleError as error:
        raise RuleError(f"{os.fspath(path)}: {error}") from error


def save_rules(rules: Rules, path: str | os.PathLike[str]) -> None:
    """Write rules into a file, completely or not at all.

    Parameters
    ----------
    rules : Rules
    path : path
    """
    write_atomic(path, write_rules(rules).encode())


# --- Reading --------------------------------------------------------------------------------------


def read_rules(text: str) -> Rules:
    """Read rules from the text of a file; see ``load_rules``."""
    try:
        data = tomllib.loads(text, parse_float=_read_number)
    except RecursionError as error:
        raise RuleError("the file is nested too deeply") from error
    except ValueError as error:
        raise RuleError(f"it is not a TOML file: {error}") from error
    version, known = data.get("format"), _read_version()
    if type(version) is not int:
        raise RuleError(f"it is not a file of rules: it should begin with format = {known}")
    if version != known:
        raise RuleError(
            f"its format is {_shorten(version)}, and this version of vanishing reads "
            f"{known}; use the version that wrote it, or find the rules again with "
            "vanishing laws --save"
        )
    try:
        # A field that is not known may be the one that lacks, misspelled.
        errors = _make_validator().iter_errors(data)
        found = min(errors, key=lambda e: e.validator != "additionalProperties", default=None)
    except (ValueError, RecursionError) as error:  # when it writes its message
        raise RuleError("a number is too long, or fields are nested too deeply") from error
    if found is not None:
        place = _name_place(text, [*found.absolute_path])
        raise RuleError(f"{place}{_shorten(found.message)}")
    rules = []
    for i, given in enumerate(data.get("rule", [])):
        try:
            rules.append(_read_rule(given, f"rule-{i + 1}"))
        except RuleError as error:
            raise RuleError(f"{_name_place(text, ['rule', i])}{error}") from error
    columns = tuple(KnownColumn(**each) for each in data.get("column", []))
    table = data.get("table", {})
    return Rules(tuple(rules), columns, int(table.get("rows", 0)), table.get("threshold"),
                 table.get("proportional", False), tuple(table.get("unsaid", ())))  # fmt: skip


def _read_number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _read_rule(given: Mapping[str, Any], name: str) -> Rule:
    values = {"id": name, **given, "expression": parse_condition(given["rule"])}
    del values["rule"]
    if "where" in given:
        values["where"] = parse_condition(given["where"])
    if "evidence" in given:
        errors = tuple(given["evidence"].get("errors", ()))
        values["evidence"] = Evidence(**{**given["evidence"], "errors": errors})
    return Rule(**values)


@cache
def _make_validator() -> Any:
    jsonschema = import_extra("jsonschema", extra="rules", purpose="files of rules")
    schema = Path(__file__).with_name("rules.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(schema))


def _read_version() -> int:
    version: int = _make_validator().schema["properties"]["format"]["const"]
    return version


def _shorten(value: Any) -> str:
    try:
        text = printable(str(value))
    except ValueError:  # a number of thousands of digits
        return "too large a number"
    return text if len(text) <= 120 else f"{text[:80]}...{text[-37:]}"


def _name_place(text: str, path: list[Any]) -> str:
    """Say where in a file something is: the line where its table begins, its number, its field."""
    if not path:
        return ""
    name, number, fields = str(path[0]), None, path[1:]
    if fields and isinstance(fields[0], int):
        number, *fields = fields
    heads = [i for i, line in enumerate(text.split("\n"), 1)
             if re.match(rf"\s*\[+\s*{re.escape(name)}\s*\]", line)]  # fmt: skip
    line = heads[number or 0 : (number or 0) + 1]
    numbered = name if number is None else f"{name} {number + 1}"
    said = [*(f"line {each}" for each in line), numbered, *map(str, fields)]
    return f"{printable(', '.join(said))}: "


# --- Writing --------------------------------------------------------------------------------------


def write_rules(rules: Rules) -> str:
    """Write rules as the text of a file; see ``save_rules``."""
    content = describe(rules)
    tables = [write_table("table", content["table"])]
    tables += [write_table(name, each) for name in ("rule", "column") for each in content[name]]
    return "\n".join([_HEADER.format(_read_version()), *tables])


def write_table(name: str, record: Mapping[str, Any]) -> str:
    """Write one table of a file; what is in tables of it is in one line."""
    tomlkit = import_extra("tomlkit", extra="rules", purpose="files of rules")
    table = tomlkit.table()
    for key, value in record.items():
        table[key] = make_value(value)
    document = tomlkit.document()
    document[name] = table if name == "table" else tomlkit.aot()
    if name != "table":
        document[name].append(table)
    return str(tomlkit.dumps(document))


def make_value(value: Any) -> Any:
    """Return a value of TOML; a table is in one line."""
    if not isinstance(value, dict):
        return value
    line = import_extra("tomlkit", extra="rules", purpose="files of rules").inline_table()
    line.update(value)
    return line


def describe(rules: Rules) -> dict[str, Any]:
    """Return rules as the content of a file, without its version."""
    table = {"rows": rules.n_rows, "threshold": rules.threshold,
             "proportional": rules.proportional, "unsaid": list(rules.unsaid)}  # fmt: skip
    return {
        "table": {key: value for key, value in table.items() if value not in (None, [])},
        "rule": [describe_rule(rule) for rule in rules],
        "column": [_leave_out_defaults(each) for each in rules.columns],
    }


def describe_rule(rule: Rule) -> dict[str, Any]:
    """Return a rule as it is written into a file, without fields that have their default."""
    record = {"id": rule.id, "rule": str(rule.expression), "where": None, "source": "person",
              **_leave_out_defaults(rule)}  # fmt: skip
    del record["expression"]
    record["where"] = None if rule.where is None else str(rule.where)
    if rule.evidence is not None:
        record["evidence"] = _leave_out_defaults(rule.evidence)
    return {key: value for key, value in record.items() if value is not None}


def _leave_out_defaults(record: Any) -> dict[str, Any]:
    found = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if value != ({} if field.default_factory is dict else field.default):
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return found
