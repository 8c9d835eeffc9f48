"""Rules as a TOML file that people read and edit: ``rules.toml``.

What a file may hold is said once, by ``rules.schema.json``, which also editors understand. A file
holds no code, and rules are read by ``expression.py``. ``tomlkit`` writes files, since it keeps the
comments of a file that is updated; ``tomllib`` reads them.
"""

import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from vanishing.arrays.namespace import import_extra
from vanishing.data.atomic import write_atomic
from vanishing.equations.text import printable
from vanishing.rules.expression import RuleError, parse_condition
from vanishing.rules.rule import Evidence, Rule
from vanishing.rules.rules import KnownColumn, Rules

FORMAT_VERSION = 1
#: What stands at the top of a file that is written anew.
_HEADER = """\
Rules of a table. Edit them, and add your own:
  [[rule]]
  rule = "start <= end"
Updates replace rules whose source is "found"; yours and comments are kept."""


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
        data = tomllib.loads(text)
    except RecursionError as error:
        raise RuleError("the file is nested too deeply") from error
    except ValueError as error:
        raise RuleError(f"it is not a TOML file: {error}") from error
    _check_version(data)
    for path, problem in find_problems(data):
        raise RuleError(f"{_name_place(text, path)}{problem}")
    table = data.get("table", {})
    rules = []
    for i, given in enumerate(data.get("rule", [])):
        try:
            rules.append(_read_rule(given, f"rule-{i + 1}"))
        except RuleError as error:
            raise RuleError(f"{_name_place(text, ('rule', i))}{error}") from error
    known = [KnownColumn(**_as_floats(each, KnownColumn)) for each in data.get("column", [])]
    return Rules(
        tuple(rules),
        tuple(known),
        table.get("rows", 0),
        table.get("threshold"),
        table.get("proportional", False),
        tuple(table.get("unsaid", ())),
    )


def _check_version(data: Mapping[str, Any]) -> None:
    found = data.get("format")
    if type(found) is not int:
        raise RuleError(
            f"it is not a file of rules: it should begin with format = {FORMAT_VERSION}"
        )
    if found != FORMAT_VERSION:
        raise RuleError(
            f"its format is {found}, and this version of vanishing reads {FORMAT_VERSION}; use the "
            "version that wrote it, or find the rules again with vanishing laws --save"
        )


def _read_rule(given: Mapping[str, Any], name: str) -> Rule:
    evidence = given.get("evidence")
    return Rule(
        given.get("id", name),
        _read_condition(given, "rule"),
        _read_condition(given, "where") if "where" in given else None,
        given.get("source", "person"),
        given.get("note", ""),
        float(given["tolerance"]) if "tolerance" in given else None,
        {key: float(unit) for key, unit in given.get("rounding", {}).items()},
        float(given["noise"]) if "noise" in given else None,
        None if evidence is None else Evidence(**_as_floats(evidence, Evidence)),
    )


def _read_condition(given: Mapping[str, Any], field: str) -> Any:
    try:
        return parse_condition(given[field])
    except RuleError as error:
        raise RuleError(f"{field}: {error}") from error


def _as_floats(given: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return fields with whole numbers as floating-point ones where these are meant."""
    types = {field.name: str(field.type) for field in fields(kind)}
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, list):
            found[key] = tuple(map(float, value))
        else:
            found[key] = float(value) if "float" in types[key] else value
    return found


@cache
def _read_schema() -> Any:
    return json.loads(Path(__file__).with_name("rules.schema.json").read_text())


_TYPES: dict[str, tuple[str, Any]] = {
    "object": ("a table", dict),
    "array": ("a list", list),
    "string": ("a text in quotes", str),
    "boolean": ("true or false", bool),
    "integer": ("a whole number", int),
    "number": ("a number", (int, float)),
}


def find_problems(data: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield what contradicts the schema in the content of a file: where, and what was expected."""
    return _find_problems(data, _read_schema(), ())


def _find_problems(
    value: Any, schema: Mapping[str, Any], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield what contradicts the schema: where, and what was expected.

    It knows the keywords that ``rules.schema.json`` uses.
    """
    expected, types = _TYPES[schema["type"]]
    is_right = isinstance(value, types) and (isinstance(value, bool) == (types is bool))
    if is_right and isinstance(value, int) and not isinstance(value, bool):
        is_right = abs(value) < 2**63  # what TOML guarantees
    elif is_right and isinstance(value, float):
        is_right, expected = math.isfinite(value), "a finite number"
    if not is_right:
        yield path, f"expected {expected}, got {_shorten(value)}"
    elif "enum" in schema and value not in schema["enum"]:
        choices = " or ".join(json.dumps(each) for each in schema["enum"])
        yield path, f"expected {choices}, got {_shorten(value)}"
    elif value < schema.get("minimum", value) if isinstance(value, (int, float)) else False:
        yield path, f"expected a number from {schema['minimum']} on, got {value}"
    elif "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield path, f"expected a number above {schema['exclusiveMinimum']}, got {value}"
    elif isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield path, "expected a text that is not empty"
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _find_problems(each, schema["items"], (*path, i))
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema["additionalProperties"]
        for name in schema.get("required", ()):
            if name not in value:
                yield path, f"the field {name} is missing"
        for name, each in value.items():
            if name not in properties and others is False:
                known = ", ".join(properties)
                yield (*path, name), f"there is no such field; there are {known}"
            else:
                yield from _find_problems(each, properties.get(name, others), (*path, name))


def _shorten(value: Any) -> str:
    try:
        text = printable(repr(value))
    except (ValueError, RecursionError):  # a number of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _name_place(text: str, path: tuple[Any, ...]) -> str:
    """Say where in a file something stands: its line if that is plain to see, and its name."""
    lines = text.split("\n")
    place: int | None = None
    names = [f"{printable(str(each))}" for each in path if not isinstance(each, int)]
    header = names[0] if names else ""
    heads = [i for i, line in enumerate(lines)
             if re.match(rf"\s*\[\[?\s*{re.escape(header)}\s*\]", line)]  # fmt: skip
    which = next((each for each in path if isinstance(each, int)), 0)
    if header and which < len(heads):
        place = heads[which]
    last = names[-1] if names else ""
    start = 0 if place is None else place
    for i in range(start, len(lines)):
        if i > start and re.match(r"\s*\[", lines[i]):
            break
        if last and re.match(rf"\s*[\"']?{re.escape(last)}[\"']?\s*=", lines[i]):
            place = i
            break
    where = "" if place is None else f"line {place + 1}, "
    number = next((f" {each + 1}" for each in path if isinstance(each, int)), "")
    what = f"{header}{number}" + (f", field {last}" if len(names) > 1 else "")
    return f"{where}{what}: " if what else ""


# --- Writing --------------------------------------------------------------------------------------


def write_rules(rules: Rules) -> str:
    """Write rules as the text of a file; see ``save_rules``."""
    tomlkit = import_extra("tomlkit", extra="rules", purpose="files of rules")
    document = tomlkit.document()
    for line in _HEADER.split("\n"):
        document.add(tomlkit.comment(line))
    document["format"] = FORMAT_VERSION
    document.add(tomlkit.nl())
    table = {
        "rows": rules.n_rows, "threshold": rules.threshold,
        "proportional": rules.proportional, "unsaid": list(rules.unsaid),
    }  # fmt: skip
    document["table"] = {key: value for key, value in table.items() if value not in (None, [])}
    for name, records in (
        ("rule", map(describe_rule, rules)),
        ("column", map(_describe_column, rules.columns)),
    ):
        tables = tomlkit.aot()
        for record in records:
            tables.append(make_table(record))
        if len(tables):
            document[name] = tables
    return str(tomlkit.dumps(document))


def make_table(record: Mapping[str, Any]) -> Any:
    """Return a record as a table of TOML, tables in it in one line."""
    tomlkit = import_extra("tomlkit", extra="rules", purpose="files of rules")
    table = tomlkit.table()
    for key, value in record.items():
        if isinstance(value, dict):
            line = tomlkit.inline_table()
            line.update(value)
            value = line
        table[key] = value
    return table


def describe_rule(rule: Rule) -> dict[str, Any]:
    """Return a rule as it is written into a file, without fields that have their default."""
    evidence = {} if rule.evidence is None else _leave_out_defaults(rule.evidence)
    record = {
        "id": rule.id, "rule": str(rule.expression),
        "where": None if rule.where is None else str(rule.where),
        "source": rule.source, "note": rule.note or None, "tolerance": rule.tolerance,
        "rounding": dict(rule.rounding) or None, "noise": rule.noise,
        "evidence": evidence if rule.evidence else None,
    }  # fmt: skip
    return {key: value for key, value in record.items() if value is not None}


def _describe_column(column: KnownColumn) -> dict[str, Any]:
    return _leave_out_defaults(column)


def _leave_out_defaults(record: Any) -> dict[str, Any]:
    default = {field.name: field.default for field in fields(record)}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(record).items()
        if default[key] is MISSING or value != default[key]
    }
