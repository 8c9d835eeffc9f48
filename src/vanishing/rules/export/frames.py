"""Rules for tools that check frames: pandas, pandera, pointblank, Great Expectations and others."""

import json
from collections.abc import Callable, Collection
from functools import reduce

from vanishing.rules.export.printer import OTHER_ROWS, Notation, Printer, call, infix
from vanishing.rules.export.sql import Dialect, Export, SqlPrinter, quote, write_unsaid
from vanishing.rules.expression import Call, Previous, RuleError
from vanishing.rules.file import describe_rule
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules

# --- Python ---------------------------------------------------------------------------------------

#: The cell of another row; part of generated code that needs it.
_OTHER_ROW = '''

def other_row(df, column, step, by, order, start):
    """Return the cells of the row before (step 1) or after (-1), by groups and in an order."""
    keys = []
    for name, part in by:
        key = df[name]
        if part == "cycle":
            falls = (key.dropna().diff() < 0).cumsum()
            key = falls.reindex(df.index)
        elif part:
            patterns = {"year": r"(?<!\\d)(\\d{4})(?!\\d)", "month": r"^(\\d{4}-\\d\\d)-\\d\\d"}
            key = key.astype("string").str.extract(patterns[part])[0]
        keys.append(key)
    known = np.logical_and.reduce([each.notna() for each in keys] or [np.ones(len(df), dtype=bool)])
    if order:
        known &= df[order].notna()
        column = column.loc[df[order].sort_values(kind="stable").index]
    column = column[pd.Series(known, df.index).reindex(column.index)]
    groups = [each.reindex(column.index) for each in keys]
    grouped = column.groupby(groups) if groups else column
    shifted = grouped.shift(step, fill_value=0.0) if start else grouped.shift(step)
    return shifted.reindex(df.index, fill_value=0.0 if start else None)
'''

#: Where cells of a column break rules about all rows; part of generated code that needs it.
_REPEATED = """

def is_repeated(cells):
    \"\"\"Return which cells are there more than once.\"\"\"
    return cells.duplicated(keep=False)
"""
_UNUSUAL = """

def is_unusual(cells, others):
    \"\"\"Return which of the others differ from most of those beside equal cells.\"\"\"
    cells = cells.where(others.notna())
    same = cells.groupby([cells, others]).transform("size")
    return 2 * same <= cells.groupby(cells).transform("size")
"""
_ACROSS = {"unique": "is_repeated", "determines": "is_unusual"}
_HELPERS = {"other_row(": _OTHER_ROW, "is_repeated(": _REPEATED, "is_unusual(": _UNUSUAL}


def _fold(function: str) -> Callable[[list[str]], str]:
    return lambda parts: reduce(lambda a, b: f"{function}({a}, {b})", parts)


_PYTHON = {
    "abs": "np.abs({})", "log": "np.log(np.where({0} > 0, {0}, np.nan))",
    "coalesce": "{}.fillna({})", "/": "({0} / np.where({1} == 0, np.nan, {1}))",
    "**": "np.power({}, {})", "root": "np.sqrt({})", "defined": "np.where({}, {}, np.nan)",
    "floor": "np.floor({})", "sign": "np.sign({})",
}  # fmt: skip


def _make_python(rules: Rules) -> Notation:
    zeros = {each.name for each in rules.columns if each.blank_is_zero}

    def write_number(name: str) -> str:
        return f"df[{name!r}].astype(float)"

    def write_previous(node: Previous) -> str:
        cells = write_number(node.column) + ".fillna(0.0)" * (node.column in zeros)
        return (
            f"other_row(df, {cells}, {node.step}, {list(node.by)!r}, {node.order!r}, "
            f"{node.starts_at_zero})"
        )

    return Notation(
        lambda name: f"df[{name!r}]", write_number, repr, _PYTHON,
        {"min": _fold("np.minimum"), "max": _fold("np.maximum")},
        both=infix("&"), either=infix("|"),
        known="{}.notna()", unknown="{}.isna()", negated="~{}",
        is_in=lambda cell, values: f"pd.Series({cell}).isin([{', '.join(values)}]).to_numpy()"
        if not cell.startswith("df[") else f"{cell}.isin([{', '.join(values)}])",
        sure="({})", unsure="~({})", guard="(~({}) | ({}))", false="(df.index != df.index)",
        previous=write_previous,
        across=lambda node, cells: f"{_ACROSS[node.name]}({', '.join(cells)})",
    )  # fmt: skip


def _write_python(
    rules: Rules, texts: Collection[str], tool: str = ""
) -> tuple[str, list[Rule], tuple[str, ...]]:
    """Return the code that ``to_pandas`` writes, the rules in it, and those that are not."""
    said, unsaid = Printer(_make_python(rules), rules, texts).write_rules()
    code = '"""Functions that tell which rows break the rule that is their docstring."""\n\n'
    code += write_unsaid(unsaid, "#") + "import numpy as np\nimport pandas as pd\n" + tool
    for name, helper in _HELPERS.items():
        code += helper * any(name in broken for _, broken in said)
    for k, (rule, broken) in enumerate(said, 1):
        code += f"\n\ndef broken_{k}(df):\n    {str(rule)!r}\n"
        code += f"    return pd.Series({broken}, df.index, dtype=bool)\n"
    listed = "".join(f"    {rule.id!r}: broken_{k},\n" for k, (rule, _) in enumerate(said, 1))
    return f"{code}\n\nBROKEN = {{\n{listed}}}\n", [rule for rule, _ in said], unsaid


def to_pandas(rules: Rules, *, texts: Collection[str] = ()) -> Export:
    """Return Python code with a function of a frame for each rule: which rows break it.

    ``BROKEN`` in the code holds the functions, by the id of the rule. ``texts`` are the columns of
    text.
    """
    code, _, unsaid = _write_python(rules, texts)
    return Export({"broken.py": code}, unsaid)


def to_pandera(rules: Rules, *, texts: Collection[str] = ()) -> Export:
    """Return Python code of a pandera schema, ``schema``; parameters are those of ``to_pandas``.

    Failure cases of its checks are the broken rows.
    """
    code, said, unsaid = _write_python(rules, texts, "import pandera.pandas as pa\n")
    names = dict.fromkeys(name for rule in said for name in rule.columns)
    columns = "".join(f"        {name!r}: pa.Column(nullable=True),\n" for name in names)
    code += (
        "\n\ndef keep(broken):\n    return lambda df: ~broken(df)\n\n\n"
        f"schema = pa.DataFrameSchema(\n    {{\n{columns}    }},\n"
        '    checks=[pa.Check(keep(each), name=rule, error=f"{rule}: {each.__doc__}")\n'
        "            for rule, each in BROKEN.items()],\n)\n"
    )
    return Export({"schema.py": code}, unsaid)


def to_pointblank(rules: Rules, *, texts: Collection[str] = ()) -> Export:
    """Return Python code of a validation by pointblank; parameters are those of ``to_pandas``.

    ``validate(df)`` in the code runs it, with a step for each rule.
    """
    code, _, unsaid = _write_python(rules, texts, "import pointblank as pb\n")
    code += (
        "\n\ndef validate(df):\n    validation = pb.Validate(df)\n"
        "    for rule, broken in BROKEN.items():\n"
        "        validation = validation.col_vals_expr(\n"
        "            expr=lambda df, broken=broken: ~broken(df),\n"
        '            brief=f"{rule}: {broken.__doc__}".replace("{", "(").replace("}", ")"),\n'
        "        )\n    return validation.interrogate()\n"
    )
    return Export({"validation.py": code}, unsaid)


# --- Tools that run SQL ---------------------------------------------------------------------------


def to_great_expectations(
    rules: Rules, table: str, dialect: Dialect = "sqlite", *, key: str | None = None,
    texts: Collection[str] = (),
) -> Export:  # fmt: skip
    """Return a suite of Great Expectations as JSON: a query of unexpected rows for each rule.

    The queries run in the database of the batch; parameters are those of ``to_sql``.
    """
    printer, place = SqlPrinter(rules, dialect, key, texts), quote("the batch")
    said, unsaid = printer.write_rules(lambda rule: printer.write_query(rule, place))
    expectations = [
        {
            "type": "unexpected_rows_expectation",
            "kwargs": {
                "unexpected_rows_query": "{batch}".join(
                    part.replace("{", "{{").replace("}", "}}") for part in query.split(place)
                )
            },
            "meta": {"rule": rule.id, "says": str(rule)},
        }
        for rule, query in said
    ]
    suite = {"name": table, "expectations": expectations, "meta": {"not said": list(unsaid)}}
    return Export({"suite.json": json.dumps(suite, indent=2) + "\n"}, unsaid)


def to_soda(
    rules: Rules, table: str, dialect: Dialect = "duckdb", *, key: str | None = None,
    texts: Collection[str] = (),
) -> Export:  # fmt: skip
    """Return checks of Soda as YAML: a query of failed rows for each rule, as ``to_sql``."""
    printer = SqlPrinter(rules, dialect, key, texts)
    said, unsaid = printer.write_rules(lambda rule: printer.write_query(rule, quote(table)))
    text = write_unsaid(unsaid, "#") + f"checks for {json.dumps(table)}:\n"
    for rule, query in said:
        text += f"  - failed rows:\n      name: {json.dumps(f'{rule.id}: {rule}')}\n"
        text += f"      fail query: {json.dumps(query)}\n"
    return Export({"checks.yml": text}, unsaid)


# --- R and JSON -----------------------------------------------------------------------------------

_R = {
    "abs": "abs({})", "log": "log(ifelse({0} > 0, {0}, NA))",
    "coalesce": "ifelse(is.na({0}), {1}, {0})", "/": "({0} / ifelse({1} == 0, NA, {1}))",
    "**": "({}^{})", "root": "sqrt({})", "defined": "ifelse({}, {}, NA)",
    "floor": "floor({})", "sign": "sign({})",
}  # fmt: skip


def _quote_r(text: str, mark: str) -> str:
    """Write a text or a name in R."""
    if "\0" in text:
        raise RuleError("texts with the character of the number 0 do not exist in R")
    escaped = "".join(
        f"\\{c}" if c in ("\\", mark) else c if c.isprintable() else f"\\U{{{ord(c):x}}}"
        for c in text
    )
    return f"{mark}{escaped}{mark}"


def to_validate(rules: Rules, *, texts: Collection[str] = ()) -> Export:
    """Return rules of R's package ``validate``; parameters are those of ``to_pandas``."""

    def write_cell(name: str) -> str:
        return _quote_r(name, "`")

    def write_across(node: Call, cells: list[str]) -> str:
        if node.name != "unique":
            raise RuleError(OTHER_ROWS)
        return f"(duplicated({cells[0]}) | duplicated({cells[0]}, fromLast = TRUE))"

    notation = Notation(
        write_cell, write_cell, lambda text: _quote_r(text, '"'), _R,
        {"min": call("pmin"), "max": call("pmax")},
        both=infix("&"), either=infix("|"),
        known="!is.na({})", unknown="is.na({})", negated="!({})",
        is_in=lambda cell, values: f"{cell} %in% c({', '.join(values)})",
        sure="(({}) %in% TRUE)", unsure="!(({}) %in% TRUE)",
        guard="(!(({}) %in% TRUE) | {})", across=write_across,
    )  # fmt: skip
    said, unsaid = Printer(notation, rules, texts).write_rules()
    lines = ",\n".join(f"  {_quote_r(rule.id, '`')} = !({broken})" for rule, broken in said)
    text = write_unsaid(unsaid, "#") + f"rules <- validate::validator(\n{lines}\n)\n"
    return Export({"rules.R": text}, unsaid)


def to_json(rules: Rules, *, texts: Collection[str] = ()) -> Export:
    """Return rules as JSON: as in a file of rules, with the conditions that decide."""
    records, unsaid = [], list(rules.unsaid)
    for rule in rules:
        record = describe_rule(rule) | {"columns": list(rule.columns)}
        try:
            if rule.kind == "total":
                raise RuleError("total rows are not decided row by row")
            record["condition"] = str(rules.condition(rule, texts))
        except RuleError as error:
            unsaid.append(f"{rule.id} ({rule}): {error}")
        records.append(record)
    content = {"rules": records, "not said": unsaid}
    return Export({"rules.json": json.dumps(content, indent=2) + "\n"}, tuple(unsaid))
