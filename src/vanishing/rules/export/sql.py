"""Rules as SQL: a query of the broken rows, CHECK constraints, and tests of dbt."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from vanishing.laws.derived import CYCLE
from vanishing.rules.export.printer import OTHER_ROWS, Notation, Printer, call
from vanishing.rules.expression import Call, Column, Previous, RuleError
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules

Dialect = Literal["duckdb", "sqlite", "postgresql"]
#: Characters of a name that PostgreSQL keeps, which is fewer than names of files may have.
LONGEST_NAME = 63
NO_RULE = "-- no rule can be said\n"


@dataclass(frozen=True)
class Export:
    """Rules in the language of another tool: the content of its files, by name.

    ``unsaid`` are the rules that the tool cannot say, each with the reason, as the files say, too.
    """

    files: dict[str, Any]
    unsaid: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content of the first file."""
        return str(next(iter(self.files.values())))


def quote(name: str, mark: str = '"') -> str:
    """Write the name of a column or a table in SQL."""
    if "\0" in name:
        raise RuleError("names with the character of the number 0 do not exist in SQL")
    return mark + name.replace(mark, 2 * mark) + mark


def quote_text(text: str) -> str:
    """Write a text in SQL."""
    if "\0" in text:
        raise RuleError("texts with the character of the number 0 do not exist in SQL")
    return "'" + text.replace("'", "''") + "'"


def write_comment(text: str, sign: str = "--") -> str:
    """Write a text as a comment, which it cannot leave by a line of its own."""
    return "\n".join(
        f"{sign} {line}" for line in re.split(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    )


def _propagate(function: str) -> Callable[[list[str]], str]:
    """Return a function of numbers that is NULL if one of them is."""

    def write(parts: list[str]) -> str:
        unknown = " OR ".join(f"{each} IS NULL" for each in parts)
        return f"CASE WHEN {unknown} THEN NULL ELSE {function}({', '.join(parts)}) END"

    return write


_FUNCTIONS = {
    "abs": "ABS({})", "log": "CASE WHEN {0} > 0 THEN LN({0}) END",
    "coalesce": "COALESCE({}, {})", "/": "({} / NULLIF({}, 0))", "**": "POWER({}, {})",
    "root": "CASE WHEN {0} >= 0 THEN SQRT({0}) END", "defined": "CASE WHEN {} THEN {} END",
    "sign": "SIGN({})",
}  # fmt: skip
_LISTS = {"min": _propagate("LEAST"), "max": _propagate("GREATEST")}
#: Number of a year in a text, for dialects with regular expressions; part of a format.
_YEAR = "(?:^|[^0-9])([0-9]{{4}})(?:$|[^0-9])"


@dataclass(frozen=True)
class _Symbols:
    """What a dialect calls things."""

    double: str
    year: str
    lists: Any = field(default_factory=lambda: _LISTS)
    floor: str = "FLOOR({})"
    guarding: str = ""
    mark: str = '"'


_DIALECTS: dict[str, _Symbols] = {
    "duckdb": _Symbols(
        "DOUBLE", f"NULLIF(REGEXP_EXTRACT(CAST({{}} AS VARCHAR), '{_YEAR}', 1), '')"
    ),
    "sqlite": _Symbols(
        "REAL", "CASE WHEN {0} LIKE '____-__-__%' THEN SUBSTR({0}, 1, 4) END",
        {"min": call("MIN"), "max": call("MAX")},
        # SQLAlchemy replaces FLOOR by a function that fails for numbers that are not finite. CAST
        # rounds towards 0; large numbers are whole.
        f"CASE WHEN ABS({{0}}) < {2**53} THEN CAST({{0}} AS INTEGER)"
        " - (CAST({0} AS INTEGER) > {0}) + 0.0 ELSE {0} END",
        mark="`",  # SQLite takes "a" for a text where there is no column a
    ),
    "postgresql": _Symbols(
        "DOUBLE PRECISION", f"SUBSTRING(CAST({{}} AS TEXT) FROM '{_YEAR}')",
        guarding="CAST({} AS NUMERIC)",
    ),
}  # fmt: skip
_MONTH = (
    "CASE WHEN CAST({0} AS VARCHAR) LIKE '____-__-__%' THEN SUBSTR(CAST({0} AS VARCHAR), 1, 7) END"
)


class SqlPrinter(Printer):
    """Writes conditions in SQL; cells of other rows are columns of windows, which queries have.

    The column ``key`` tells the rows and their order; without it, rows before are not said.
    """

    def __init__(
        self, rules: Rules, dialect: Dialect, key: str | None = None, texts: Collection[str] = ()
    ) -> None:
        if dialect not in _DIALECTS:
            raise ValueError(f"dialect must be one of {', '.join(_DIALECTS)}, got {dialect!r}")
        self.symbols = symbols = _DIALECTS[dialect]
        self.quote = partial(quote, mark=symbols.mark)
        self.key = None if key is None else self.quote(key)
        self.windows: dict[str, str] | None = None
        self.zeros = {each.name for each in rules.columns if each.blank_is_zero}

        def write_number(name: str) -> str:
            return f"CAST({self.quote(name)} AS {symbols.double})"

        notation = Notation(
            self.quote, write_number, quote_text, _FUNCTIONS | {"floor": symbols.floor},
            symbols.lists,
            {"==": "=", "!=": "<>", "<=": "<=", ">=": ">=", "<": "<", ">": ">"},
            date="CAST({} AS VARCHAR)", previous=None if key is None else self._write_window,
            across=self._write_across,
            guarding_number=(lambda name: symbols.guarding.format(write_number(name)))
            if symbols.guarding else None,
        )  # fmt: skip
        super().__init__(notation, rules, texts)

    def _write_window(self, node: Previous) -> str:
        keys = [*(self._write_key(name, part) for name, part in node.by)]
        order = [self.quote(node.order)] if node.order else []
        is_known = " AND ".join(f"{each} IS NOT NULL" for each in [*keys, *order])
        cell = self.quote(node.column)
        if node.column in self.numbers:
            cell = self.notation.number(node.column)
            if node.column in self.zeros:
                cell = f"COALESCE({cell}, 0.0)"
        default = ", 1, 0.0" if node.starts_at_zero else ""
        groups = [*keys, *([f"({is_known})"] if is_known else [])]
        partition = f"PARTITION BY {', '.join(groups)} " if groups else ""
        assert self.key is not None
        function = "LAG" if node.step == 1 else "LEAD"
        window = (
            f"{function}({cell}{default}) OVER ({partition}"
            f"ORDER BY {', '.join([*order, self.key])})"
        )
        if is_known:
            outside = " ELSE 0.0" if node.starts_at_zero else ""
            window = f"CASE WHEN {is_known} THEN {window}{outside} END"
        return self._add_window(window)

    def _write_across(self, node: Call, cells: list[str]) -> str:
        """Write that a cell is there twice, or differs from most cells beside equal ones."""
        if node.name == "unique":
            return f"{self._add_window(f'COUNT(*) OVER (PARTITION BY {cells[0]})')} > 1"
        same = self._add_window(f"COUNT(*) OVER (PARTITION BY {cells[0]}, {cells[1]})")
        beside = self._add_window(f"COUNT({cells[1]}) OVER (PARTITION BY {cells[0]})")
        return f"2 * {same} <= {beside}"

    def _add_window(self, window: str) -> str:
        """Return the name of a column of the query, which only queries have."""
        if self.windows is None:
            raise RuleError(OTHER_ROWS)
        return self.windows.setdefault(window, quote(f"other row {len(self.windows) + 1}"))

    def _write_key(self, name: str, part: str) -> str:
        if part == CYCLE:
            raise RuleError(f"rows of groups that begin where {name} falls cannot be said")
        form = {"": "{}", "year": self.symbols.year, "month": _MONTH}[part]
        return form.format(self.quote(name))

    def write_query(self, rule: Rule, table: str, what: str = "*") -> str:
        """Write a query of the rows that break a rule."""
        self.windows = {}
        broken = self.write_broken(rule)
        windows = ", ".join(f"{window} AS {name}" for window, name in self.windows.items())
        source = f"(SELECT *, {windows} FROM {table}) AS with_other_rows" if windows else table
        return f"SELECT {what}\nFROM {source}\nWHERE {broken}"


def write_unsaid(unsaid: Collection[str], sign: str = "--") -> str:
    """Write the rules that are not said as comments."""
    return "".join(write_comment(f"not said: {each}", sign) + "\n" for each in unsaid)


def _write_queries(
    rules: Rules, table: str, dialect: Dialect, key: str | None, texts: Collection[str]
) -> tuple[list[tuple[Rule, str]], tuple[str, ...]]:
    printer = SqlPrinter(rules, dialect, key, texts)
    cells = printer.key or "*"
    return printer.write_rules(
        lambda rule: printer.write_query(rule, table, f"{quote_text(rule.id)} AS rule, {cells}")
    )


def to_sql(
    rules: Rules,
    table: str,
    dialect: Dialect = "duckdb",
    *,
    key: str | None = None,
    texts: Collection[str] = (),
) -> Export:
    """Return a query of the rows that break rules: the id of the rule, and the key of the row.

    Parameters
    ----------
    rules : Rules
        Adapted to the table (``Rules.adapt``), they name the same rows as ``Laws.check`` does.
    table : str
        Its name, which is quoted.
    dialect : {"duckdb", "sqlite", "postgresql"}
    key : str, optional
        Column that tells the rows and their order. By default, the query returns whole rows, and
        rules about the row before are not said, since rows of tables do not have an order.
    texts : collection of str
        Columns of text.

    Examples
    --------
    >>> from vanishing.rules import Rule, Rules, parse
    >>> from vanishing.rules.export import to_sql
    >>> rules = Rules((Rule("dates", parse("start <= end")),))
    >>> print(to_sql(rules, "orders", key="id").text)
    SELECT 'dates' AS rule, "id"
    FROM "orders"
    WHERE "start" > "end";
    <BLANKLINE>
    """
    queries, unsaid = _write_queries(rules, quote(table), dialect, key, texts)
    heads = [f"{write_comment(str(rule))}\n" * (len(queries) > 1) for rule, _ in queries]
    text = "\nUNION ALL\n".join(
        head + query for head, (_, query) in zip(heads, queries, strict=True)
    )
    body = f"{text};\n" if queries else NO_RULE
    return Export({"broken.sql": write_unsaid(unsaid) + body}, unsaid)


def to_constraints(
    rules: Rules, table: str, dialect: Dialect = "duckdb", *, texts: Collection[str] = ()
) -> Export:
    """Return CHECK constraints, which refuse rows that break a rule.

    For PostgreSQL they are added to the table; DuckDB and SQLite take them in CREATE TABLE only.
    A CHECK sees one row alone: ``unique(id)`` is a UNIQUE constraint, and other rules about several
    rows are not said. Parameters are those of ``to_sql``.
    """
    printer = SqlPrinter(rules, dialect, None, texts)

    def write_constraint(rule: Rule) -> str:
        match rule.expression:
            case Call("unique", (Column(name),)) if rule.where is None:
                return f"UNIQUE ({printer.quote(name)})"
        return f"CHECK (NOT ({printer.write_broken(rule)}))"

    said, unsaid = printer.write_rules(write_constraint)
    lines = [f"CONSTRAINT {quote(rule.id)} {constraint}" for rule, constraint in said]
    if dialect == "postgresql":
        body = "".join(f"ALTER TABLE {quote(table)} ADD {line};\n" for line in lines)
    else:
        body = write_comment("put these behind the columns of CREATE TABLE") + "\n"
        body += ",\n".join(lines) + "\n"
    text = body if lines else NO_RULE
    return Export({"constraints.sql": write_unsaid(unsaid) + text}, unsaid)


def to_dbt(
    rules: Rules, table: str, dialect: Dialect = "duckdb", *, key: str | None = None,
    texts: Collection[str] = (),
) -> Export:  # fmt: skip
    """Return tests of dbt: a query for each rule, and a file of their descriptions.

    ``table`` is a model; parameters are those of ``to_sql``. A project may have rules of several.
    """
    model = f"{{{{ ref({json.dumps(table)}) }}}}"
    place = "a table that dbt names"
    queries, unsaid = _write_queries(rules, quote(place), dialect, key, texts)
    files: dict[str, Any] = {}
    described = ["version: 2", "data_tests:"]
    for k, (rule, query) in enumerate(queries, 1):
        name = _write_file_name(f"{table}_{rule.id}")
        if f"tests/{name}.sql".lower() in map(str.lower, files):
            name = f"{name[: -len(f'_{k}')]}_{k}"
        # Names of columns may hold what dbt takes for its own.
        parts = map(_escape_jinja, query.split(quote(place)))
        files[f"tests/{name}.sql"] = model.join(parts) + "\n"
        described.append(f"  - name: {name}")
        described.append(f"    description: {json.dumps(_escape_jinja(str(rule)))}")
    schema = write_unsaid(unsaid, "#") + "\n".join(described if queries else described[:1]) + "\n"
    return Export({f"tests/{_write_file_name(f'{table}_rules')}.yml": schema, **files}, unsaid)


def _write_file_name(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII)[:LONGEST_NAME]


def _escape_jinja(text: str) -> str:
    """Write a text that Jinja leaves as it is; it would write the ends of lines anew."""
    return re.sub(r"\{(?=[{%#])|(?<=[}%#])\}|\r", lambda match: f"{{{{ {match[0]!r} }}}}", text)
