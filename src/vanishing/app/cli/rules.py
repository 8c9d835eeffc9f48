"""Files of rules: what ``laws`` writes into them, and what ``check`` says about them."""

import math
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from vanishing.app.cli.console import ModelError, UsageError, fit_width, note, pick, say

#: Of SARIF, the version and the schema that editors and servers know.
SARIF = "2.1.0", "https://json.schemastore.org/sarif-2.1.0.json"


# --- Files ----------------------------------------------------------------------------------------


def write_rules_of(found: Any, save: str | None, update: str | None) -> dict[str, Any]:
    """Write laws as a file of rules, or into one; return what JSON says of that."""
    from vanishing.app.cli.tables import refusals
    from vanishing.data.atomic import write_atomic
    from vanishing.rules import Rules, update_rules, write_rules

    path = save or update
    if path is None:
        return {}
    rules = Rules.from_laws(found)
    for text in rules.unsaid:
        note(f"a rule cannot say {text}")
    changes: list[Any] = []
    if update:
        text, changes = update_rules(Path(update).read_text(encoding="utf-8"), rules)
    else:
        text = write_rules(rules)
    with refusals(path):
        write_atomic(path, text.encode())
    record: dict[str, Any] = {"saved": path, "unsaid": list(rules.unsaid)}
    if update:
        listed = [{"kind": each.kind, "id": each.rule.id, "text": each.text} for each in changes]
        record["changes"] = listed
    return record


def show_changes(record: dict[str, Any]) -> None:
    """Print what is new, gone or different in a file of rules."""
    if "changes" in record:
        said = len(record["changes"]) or "nothing"
        say(f"Since {record['saved']} was written, {said} changed{':' * (said != 'nothing')}")
        for each in record["changes"]:
            say(f"  {each['kind']:<7}  {each['id']}: {each['text']}")


def load_rules_of(path: str) -> Any:
    """Load a file of rules, or laws from a model file."""
    from vanishing import load
    from vanishing.app.cli.models import is_model_file
    from vanishing.laws.laws import Laws
    from vanishing.rules import RuleError, load_rules
    from vanishing.saving import ModelFileError

    try:
        found = load(path) if is_model_file(path) else load_rules(path)
    except (RuleError, ModelFileError) as error:
        raise ModelError(str(error)) from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    if isinstance(found, Laws):
        return found
    if not hasattr(found, "rules"):
        raise ModelError(f"{path} has no laws; it is a {type(found).__name__}")
    return found


# --- What is shown --------------------------------------------------------------------------------


def summarize(rules: Any, path: str) -> str:
    """Say in one line what a file holds."""
    n_own = sum(rule.source == "person" for rule in rules)
    if len(rules) == 1:
        return f"One rule in {path}{', written by a person' * n_own}."
    return f"{len(rules)} rules in {path}{f', {n_own} written by people' * (n_own > 0)}."


def show_rules(rules: Any, path: str) -> None:
    """Print the rules of a file as numbered lines, with their notes."""
    say(summarize(rules, path))
    width = len(str(len(rules))) + 2
    for k, rule in enumerate(rules, 1):
        where = "" if rule.where is None else f" where {rule.where}"
        said = f"  ({rule.note})" if rule.note else ""
        say(fit_width(f"  {f'[{k}]':<{width}} {rule.text}{where}{said}"))


def describe_rules(rules: Any, path: str) -> dict[str, Any]:
    """Return what JSON says of rules."""
    return {
        "summary": summarize(rules, path),
        "rules": [
            pick(rule, "id", "kind", "source", "note", "columns") | {"text": str(rule)}
            for rule in rules
        ],
    }


def describe_cells(checked: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return what JSON and tables say of each cell that was found, with its row."""
    unknown = dict.fromkeys(("value", "fix", "low", "high", "probability"), math.nan)
    listed = []
    for found in checked:
        row = {"law": checked.name_laws(found), "alternatives": "; ".join(found.others)}
        for fix in found.fixes:
            low, high = fix.interval
            cell = pick(fix, "value", "text", "fix", "probability")
            cell |= {"cell": fix.column, "low": low, "high": high}
            listed.append((found.row, cell | row))
        if not found.fixes:
            listed.append((found.row, {"cell": "", "text": ""} | unknown | row))
    return listed


# --- How many broken rows are too many ------------------------------------------------------------


#: How many rows may be broken, and whether that is a share of them.
Limit = tuple[float, bool]


def read_limit(text: str | None, fails: bool) -> Limit | None:
    """Return how many rows may be broken, None if nobody asks."""
    if text is None:
        return (0.0, False) if fails else None
    is_share = text.endswith("%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (value > 100 if is_share else value != int(value)):
        raise UsageError(
            f"--max-broken takes a number of rows or a share such as 0.1%, got {text!r}"
        )
    return (value / 100, True) if is_share else (value, False)


def list_wrong(checked: Any) -> set[int]:
    """Return the rows that break a law or have a typo."""
    wrong = {each.row for each in checked if not each.is_missing}
    return wrong | {each.row for each in checked for fix in each.fixes if fix.text}


def is_more(n_broken: int, n_rows: int, limit: Limit) -> bool:
    """Say whether a number of broken rows is more than there may be."""
    most, is_share = limit
    return n_broken > (most * n_rows if is_share else most)


# --- Annotations ----------------------------------------------------------------------------------


class Wrong(NamedTuple):
    """What an annotation says of a file: the law, a sentence, and the line if there is one."""

    where: str
    name: str
    sentence: str
    line: int | None

    @classmethod
    def in_row(cls, table: Any, row: int, name: str, sentence: str) -> "Wrong":
        """Return what is wrong in a row of a table."""
        return cls(table.where, name, sentence, table.find_line(int(table.rows[row])))


def name_law(law: Any) -> str:
    """Return what a law is called: of a rule its name."""
    return str(getattr(law, "id", law))


def annotate_rows(checked: Any, laws: Any, table: Any, sheet: str) -> list[Wrong]:
    """Return what is wrong in the rows of a table, in their order."""
    names = [name_law(law) for law in laws]
    place = f"sheet {sheet!r}, " if sheet else ""
    wrong = []
    for each, sentence in zip(checked, checked.sentences(), strict=True):
        has_text = any(fix.text for fix in each.fixes)
        if each.is_missing and not has_text:
            continue  # it can be filled in
        name = "not-a-number" if has_text else names[each.laws[0]] if each.laws else "total"
        wrong.append(Wrong.in_row(table, each.row, name, f"{place}{sentence}"))
    return wrong


def write_github(wrong: Wrong) -> str:
    """Return a workflow command, in which some characters are escaped."""

    def escape(text: str, more: str = "") -> str:
        return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)

    path = escape(Path(wrong.where).as_posix(), ":,")
    place = f",line={wrong.line}" if wrong.line else ""
    title = escape(wrong.name, ":,")
    return f"::error file={path}{place},title={title}::{escape(wrong.sentence)}"


def write_sarif(wrong: list[Wrong], laws: dict[str, str]) -> dict[str, Any]:
    """Return an object of SARIF."""
    import vanishing

    version, schema = SARIF
    laws = laws | {each.name: each.name for each in wrong if each.name not in laws}
    places = list(laws)
    results = []
    for each in wrong:
        path = quote(Path(each.where).as_posix())
        place: dict[str, Any] = {"artifactLocation": {"uri": path}}
        if each.line:
            place["region"] = {"startLine": each.line}
        results.append(
            {
                "ruleId": each.name,
                "ruleIndex": places.index(each.name),
                "level": "error",
                "message": {"text": each.sentence},
                "locations": [{"physicalLocation": place}],
            }
        )
    driver = {
        "name": "vanishing",
        "version": vanishing.__version__,
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in laws.items()],
    }
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return {"$schema": schema, "version": version, "runs": [run]}
