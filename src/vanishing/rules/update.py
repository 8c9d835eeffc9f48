"""Files of rules brought up to date: what was found anew, is gone, or has changed."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count
from math import hypot, inf, log, sqrt
from typing import Any, Literal, NamedTuple

from vanishing.arrays.namespace import import_extra
from vanishing.levels import OUTLYING, SAME
from vanishing.rules.expression import RuleError
from vanishing.rules.file import describe, make_value, read_rules, write_table
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules


class Change(NamedTuple):
    """What is different about a rule: it is new, gone, or has changed as ``text`` says."""

    kind: Literal["new", "gone", "changed"]
    rule: Rule
    text: str


def update_rules(text: str, found: Rules) -> tuple[str, list[Change]]:
    """Replace the rules of a file that were found by those that are found now.

    Rules that people wrote, notes, names of rules and comments are kept. A rule that is not found
    any more is left out, unless someone wrote a note about it.

    Parameters
    ----------
    text : str
        The file.
    found : Rules
        From ``Rules.from_laws``.

    Returns
    -------
    text : str
        The new content of the file.
    changes : list of Change
        Differences that are not explained by standard errors.
    """
    old = read_rules(text)
    known = {_identify(rule): rule for rule in old if rule.source == "found"}
    ids = {rule.id for rule in old}
    kept, changes = [], []
    for rule in found:
        before = known.pop(_identify(rule), None)
        if before is not None:
            kept.append(replace(rule, id=before.id, note=before.note))
            said = "; ".join(_compare(before, rule, old, found))
            changes += [Change("changed", kept[-1], said)] * bool(said)
        elif not any(_identify(each) == _identify(rule) for each in old):  # a person has said it
            kind = rule.id.partition("-")[0]
            free = (f"{kind}-{k}" for k in count(1))
            name = next(each for each in chain([rule.id], free) if each not in ids)
            kept.append(replace(rule, id=name))
            ids.add(name)
            changes.append(Change("new", kept[-1], kept[-1].text))
    for rule in known.values():
        is_noted = "; it stays in the file, since it has a note" if rule.note else ""
        changes.append(Change("gone", rule, f"{rule.text}{is_noted}"))
        kept += [rule] * bool(rule.note)
    people = [rule for rule in old if rule.source == "person"]
    updated = _write(text, replace(found, rules=(*people, *kept)))
    if len(read_rules(updated)) != len(people) + len(kept):
        raise RuleError("to be updated, a file needs each rule as a table, [[rule]]")
    return updated, changes


def _identify(rule: Rule) -> Any:
    """Return what equations with other coefficients have in common; of other rules, all."""
    if rule.terms is None or rule.kind == "total":
        return rule.kind if rule.kind == "total" else (rule.expression, rule.where)
    return frozenset(frozenset(term.powers) for term in rule.terms), rule.where


def _compare(old: Rule, new: Rule, before: Rules, now: Rules) -> Iterable[str]:
    """Say what is different about a rule, beyond the errors of what was measured."""
    if old.terms is None or new.terms is None:
        if str(old) != str(new):
            yield f"{old}, now {new}"
        return
    was, is_now = _scale(old), _scale(new)
    if any(
        abs(value - was[key][0])
        > OUTLYING * hypot(error, was[key][1]) + SAME * max(abs(value), abs(was[key][0]))
        for key, (value, error) in is_now.items()
    ):
        yield f"{old.text}, now {new.text}"
    if dict(old.rounding) != dict(new.rounding):
        written = [", ".join(f"{name} {unit:g}" for name, unit in each.rounding.items()) or "none"
                   for each in (old, new)]  # fmt: skip
        yield f"{old.text}: rounding {written[0]}, now {written[1]}"
    if old.noise != new.noise:
        # Relative standard error of a standard deviation.
        errors = [1 / sqrt(2 * max(rule.evidence.rows, 1)) if rule.evidence else inf
                  for rule in (old, new)]  # fmt: skip
        off = abs(log(old.noise / new.noise)) if old.noise and new.noise else inf
        shapes = [
            (rules.proportional, {each.name for each in rules.columns if each.proportional})
            for rules in (before, now)
        ]
        if off > OUTLYING * hypot(*errors) or shapes[0] != shapes[1]:
            noises = [f"{each:.2g}" if each is not None else "none"
                      for each in (old.noise, new.noise)]  # fmt: skip
            yield f"{old.text}: noise {noises[0]}, now {noises[1]}"


def _scale(rule: Rule) -> dict[Any, tuple[float, float]]:
    """Return coefficients and their standard errors, in units of one that is well known."""
    terms, errors = rule.terms or [], rule.evidence.errors if rule.evidence else ()
    errors = errors or (0.0,) * len(terms)
    keys = [frozenset(term.powers) for term in terms]
    # The same one whatever the order of the terms.
    names = [sorted(f"{letter} {power}" for letter, power in term.powers) for term in terms]
    first = names.index(min(names))
    unit = terms[first].coefficient
    return {
        key: (
            term.coefficient / unit,
            hypot(error, errors[first] * term.coefficient / unit) / abs(unit),
        )
        for key, term, error in zip(keys, terms, errors, strict=True)
    }


# --- Text -----------------------------------------------------------------------------------------

_TABLE = re.compile(r"\s*\[+\s*(table|rule|column)\s*\]")


def _split(text: str) -> list[tuple[str, str]]:
    """Return the parts of a file, with their names: its tables, and the lines right above them."""
    names: list[str] = [""]
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if found := _TABLE.match(line):
            start = len(parts[-1])
            while start and parts[-1][start - 1].lstrip().startswith("#"):
                start -= 1
            names.append(found[1])
            parts.append(parts[-1][start:])
            del parts[-2][start:]
        parts[-1].append(line)
    return [(name, "\n".join(lines)) for name, lines in zip(names, parts, strict=True)]


def _write(text: str, rules: Rules) -> str:
    """Change the content of a file, and nothing else of it: comments stay."""
    content = describe(rules)
    wanted: dict[str, dict[Any, Any]] = {
        "table": {None: content["table"]},
        "rule": {record["id"]: record for record in content["rule"]},
        "column": {record["name"]: record for record in content["column"]},
    }
    written: dict[str, list[str]] = {"": [], "table": [], "rule": [], "column": []}
    n_rules = 0
    for name, part in _split(text):
        n_rules += name == "rule"
        written[name].append(_change(name, part, wanted.get(name, {}), f"rule-{n_rules}"))
    for name, records in wanted.items():
        written[name] += [write_table(name, record).rstrip("\n") for record in records.values()]
    blocks = [part.strip("\n") for parts in written.values() for part in parts]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _change(name: str, part: str, wanted: dict[Any, Any], number: str) -> str:
    """Return a table with what is wanted of it, and of one that is gone the comments."""
    if not name:
        return part
    tomlkit = import_extra("tomlkit", extra="rules", purpose="files of rules")
    try:
        document = tomlkit.parse(part)
    except ValueError as error:
        raise RuleError(f"each text must be in one line to be updated: {error}") from error
    table = document[name] if name == "table" else document[name][0]
    own = {"table": None, "rule": table.get("id", number), "column": table.get("name")}[name]
    record = wanted.pop(own, None)
    if record is None:
        return "\n".join(line for line in part.split("\n") if line.lstrip().startswith("#"))
    if record.get("source") == "person":
        return part
    for key in [key for key in table if key not in record]:
        del table[key]
    for key, value in record.items():
        if table.get(key) != value:
            table[key] = make_value(value)
    return str(tomlkit.dumps(document))
