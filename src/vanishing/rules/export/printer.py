"""Conditions in the languages of other tools: one printer, and a table of symbols for each.

A condition has three truths, since a missing cell makes it unknown. So it is written twice: where
it is known to be true, and where it is known to be false. Rows that break a rule are those where
its ``where`` is true and its condition false. That is the same in languages with a NULL and in
those without, and in both, numbers that are undefined, such as log(-1), break a rule.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vanishing.laws.derived import STEPS
from vanishing.laws.wrong_cells import LEAST
from vanishing.levels import ROUNDING
from vanishing.rules.evaluation import ORDERED, Columns, decide
from vanishing.rules.expression import (
    COMPARISONS,
    AcrossRows,
    And,
    Arithmetic,
    Column,
    Comparison,
    Expression,
    Function,
    IsIn,
    IsNull,
    Negation,
    Not,
    Number,
    Or,
    Power,
    Previous,
    Product,
    Quotient,
    RuleError,
    Sum,
    Text,
    write_number,
)
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules

#: Comparisons, each with its opposite.
_OPPOSITES = {"==": "!=", "!=": "==", "<=": ">", ">": "<=", ">=": "<", "<": ">="}
#: Why many languages cannot say a rule.
OTHER_ROWS = "cells of other rows cannot be said"
_LARGEST = Number(float(np.finfo(float).max))


@dataclass(frozen=True)
class Notation:
    """Symbols of a language. Formats take texts that are in parentheses where needed.

    ``cell`` and ``number`` write a column as it is and as a number, ``previous`` the cell of
    another row, and ``across`` where known cells break a rule about all rows. Whether a comparison
    of numbers that may be undefined is true is ``sure``, or not ``unsure``. ``guard`` keeps what is
    behind it from being computed. ``date`` is a column that is compared with a part of a date.
    """

    cell: Callable[[str], str]
    number: Callable[[str], str]
    text: Callable[[str], str]
    functions: Mapping[str, str]
    lists: Mapping[str, Callable[[list[str]], str]] = field(default_factory=dict)
    comparisons: Mapping[str, str] = field(
        default_factory=lambda: {each: each for each in COMPARISONS}
    )
    both: Callable[[list[str]], str] = lambda parts: f"({' AND '.join(parts)})"
    either: Callable[[list[str]], str] = lambda parts: f"({' OR '.join(parts)})"
    known: str = "{} IS NOT NULL"
    unknown: str = "{} IS NULL"
    is_in: Callable[[str, list[str]], str] = lambda cell, values: f"{cell} IN ({', '.join(values)})"
    negated: str = "NOT ({})"
    sure: str = "COALESCE({}, FALSE)"
    unsure: str = "COALESCE(NOT ({}), TRUE)"
    guard: str = "CASE WHEN {} THEN {} ELSE TRUE END"
    false: str = "FALSE"
    date: str = "{}"
    previous: Callable[[Previous], str] | None = None
    across: Callable[[AcrossRows, list[str]], str] | None = None
    guarding_number: Callable[[str], str] | None = None


def call(function: str) -> Callable[[list[str]], str]:
    """Return how a function is called."""
    return lambda parts: f"{function}({', '.join(parts)})"


def infix(sign: str) -> Callable[[list[str]], str]:
    """Return how a sign joins conditions, in parentheses."""
    return lambda parts: f"({f' {sign} '.join(f'({each})' for each in parts)})"


class Printer:
    """Writes conditions of rules in a language."""

    def __init__(self, notation: Notation, rules: Rules, texts: Collection[str] = ()) -> None:
        self.notation = notation
        self.rules = rules
        self.texts = set(texts)
        self.numbers = {each.name for each in rules.columns} - self.texts

    def write_rules(
        self, write: Callable[[Rule], str] | None = None
    ) -> tuple[list[tuple[Rule, str]], tuple[str, ...]]:
        """Write where each rule is broken, and name the rules that cannot be written."""
        said, unsaid = [], []
        for rule in self.rules:
            try:
                said.append((rule, (write or self.write_broken)(rule)))
            except RuleError as error:
                unsaid.append(f"{rule.id} ({rule}): {error}")
        return said, (*unsaid, *self.rules.unsaid)

    def write_broken(self, rule: Rule) -> str:
        """Write where a rule is broken; raise RuleError if the language cannot say that."""
        condition = self.rules.condition(rule, self.texts)
        broken = self.write(condition, truth=False)
        if rule.where is None:
            return broken
        return self._join(self.notation.both, [self.write(rule.where, truth=True), broken])

    # --- Conditions -------------------------------------------------------------------------------

    def write(self, node: Expression, *, truth: bool) -> str:
        """Write where a condition is known to be true, or to be false."""
        if isinstance(node, Not):
            return self.write(node.operand, truth=not truth)
        if isinstance(node, And) and _is_guarded(node) and not truth:
            return self._write_guarded(node)
        if isinstance(node, (And, Or)):
            parts = [self.write(each, truth=truth) for each in node.operands]
            is_and = isinstance(node, And) == truth
            return self._join(self.notation.both if is_and else self.notation.either, parts)
        if isinstance(node, (Comparison, IsIn, IsNull)) and not node.columns:
            kept, _ = decide(node, Columns(1, {}, {}))
            return self._write_truth(bool(kept) == truth)
        if isinstance(node, Comparison):
            return self._write_comparison(node, truth=truth)
        if isinstance(node, IsIn):
            return self._write_is_in(node, truth=truth)
        if isinstance(node, IsNull):
            form = self.notation.unknown if truth else self.notation.known
            join = self.notation.either if truth else self.notation.both
            parts = [form.format(each) for each in self._list_cells(node)]
            return self._join(join, parts or [self._write_truth(not truth)])
        if isinstance(node, AcrossRows):
            if node.kind == "totals":
                raise RuleError("total rows are not decided row by row")
            if self.notation.across is None:
                raise RuleError(OTHER_ROWS)
            broken = self.notation.across(node, [self._write_column(each) for each in node.names])
            text = self.notation.negated.format(broken) if truth else broken
            return self._with_known(node, text, always=True)
        raise RuleError(f"{node} is not a condition")

    def _write_truth(self, truth: bool) -> str:
        false = self.notation.false
        return self.notation.negated.format(false) if truth else false

    def _join(self, write: Callable[[list[str]], str], parts: list[str]) -> str:
        return write(parts) if len(parts) > 1 else parts[0]

    def _write_comparison(self, node: Comparison, *, truth: bool) -> str:
        plain = self.compare(node)
        if not _may_be_undefined(node):
            if truth:
                return self._with_known(node, plain)
            opposite = Comparison(_OPPOSITES[node.operator], node.left, node.right)
            return self._with_known(node, self.compare(opposite))
        for side in (node.left, node.right):
            # |a| <= b is finite if b is.
            is_size = isinstance(side, Function) and side.name == "abs"
            if _may_be_undefined(side) and not (node.operator == "<=" and is_size):
                finite = Comparison("<=", Function("abs", (side,)), _LARGEST)
                plain = self._join(self.notation.both, [plain, self.compare(finite)])
        written = self.notation.sure if truth else self.notation.unsure
        return self._with_known(node, written.format(plain), always=True)

    def _with_known(self, node: Expression, text: str, *, always: bool = False) -> str:
        """Add that the cells of a condition are known, where the language needs that."""
        if not always and self.notation.known == Notation.known:
            return text  # NULL
        known = [self.notation.known.format(each) for each in self._list_cells(node)]
        return self._join(self.notation.both, [*known, text])

    def _write_guarded(self, node: And) -> str:
        """Write that a condition is false, or that the numbers in it overflow."""
        guard, condition = node.operands
        writer = self
        if self.notation.guarding_number is not None:
            number = self.notation.guarding_number
            writer = Printer(replace(self.notation, number=number), self.rules, self.texts)
        inner = self.notation.unsure.format(self.compare(condition))
        return self._with_known(
            node, self.notation.guard.format(writer.compare(guard), inner), always=True
        )

    def compare(self, node: Any) -> str:
        """Write a comparison, as if all of its numbers were known and defined."""
        write = self._choose_writer(node.children)
        texts = (each.value for each in node.children if isinstance(each, Text))
        if node.operator not in ("==", "!=") and not all(map(ORDERED.match, texts)):
            raise RuleError("the order of dates that are not written like 2024-12-31")
        sign = self.notation.comparisons[node.operator]
        return f"{write(node.left)} {sign} {write(node.right)}"

    def _write_is_in(self, node: IsIn, *, truth: bool) -> str:
        if not node.values:
            return self._with_known(node, self._write_truth(not truth), always=not truth)
        cell, *values = map(self._choose_writer(node.children), node.children)
        text = self.notation.is_in(cell, values)
        if _may_be_undefined(node):
            written = self.notation.sure if truth else self.notation.unsure
            return self._with_known(node, written.format(text), always=True)
        return self._with_known(node, text if truth else self.notation.negated.format(text))

    def _choose_writer(self, nodes: Collection[Expression]) -> Callable[[Expression], str]:
        """Return how to write values that are compared: as numbers, or as cells."""
        if any(self._is_number(each) for each in nodes):
            return self.write_number
        if any(isinstance(each, Text) and each.value[:4].isdecimal() for each in nodes):
            return lambda node: self._write_cell(node, self.notation.date)
        return self._write_cell

    def _is_number(self, node: Expression) -> bool:
        if isinstance(node, (Column, Previous)):
            return (node.name if isinstance(node, Column) else node.column) in self.numbers
        return isinstance(node, (Number, Arithmetic))

    # --- Cells and numbers ------------------------------------------------------------------------

    def _list_cells(self, node: Expression) -> list[str]:
        """Write the cells without which a value is unknown."""
        found: dict[str, None] = {}
        if isinstance(node, Function) and node.name == "coalesce":
            if not isinstance(node.arguments[1], Number) or _may_be_undefined(node.arguments[0]):
                raise RuleError("coalesce is said of columns and their sums, with a number")
            return []
        if isinstance(node, AcrossRows):
            return list(map(self.notation.cell, node.names))
        if isinstance(node, (Column, Previous)):
            return [self.notation.cell(node.name) if isinstance(node, Column)
                    else self._write_previous(node)]  # fmt: skip
        for child in node.children:
            found |= dict.fromkeys(self._list_cells(child))
        return list(found)

    def _write_previous(self, node: Previous) -> str:
        if self.notation.previous is None:
            raise RuleError(OTHER_ROWS)
        return self.notation.previous(node)

    def _write_column(self, name: str) -> str:
        """Write a column as numbers, if it holds some, or as it is."""
        return self.notation.number(name) if name in self.numbers else self.notation.cell(name)

    def _write_cell(self, node: Expression, form: str = "{}") -> str:
        if isinstance(node, Text):
            return self.notation.text(node.value)
        if isinstance(node, Column):
            return form.format(self.notation.cell(node.name))
        return self.write_number(node)

    def write_number(self, node: Expression) -> str:
        """Write a number, in parentheses if it is computed."""
        symbols = self.notation.functions
        if isinstance(node, Number):
            return _write_constant(node.value)
        if isinstance(node, Column):
            return self.notation.number(node.name)
        if isinstance(node, Previous):
            return self._write_previous(node)
        if isinstance(node, Text):
            raise RuleError(f"{node} is not a number")
        if isinstance(node, Sum):
            text = ""
            for term in node.terms:
                sign = "-" if isinstance(term, Negation) else "+"
                inner = self.write_number(term.operand if isinstance(term, Negation) else term)
                text = f"{text} {sign} {inner}" if text else inner if sign == "+" else f"-{inner}"
            return f"({text})"
        parts = [self.write_number(each) for each in node.children]
        if isinstance(node, Product):
            return f"({' * '.join(parts)})"
        if isinstance(node, Negation):
            return f"(-{parts[0]})"
        if isinstance(node, Quotient):
            return symbols["quotient"].format(*parts)
        if isinstance(node, Power):
            return self._write_power(node, *parts)
        assert isinstance(node, Function)
        if node.name == "round":
            return self._write_round(node, parts[0])
        if node.name in STEPS:
            return self._write_step(node.name, parts[0])
        if node.name in self.notation.lists:
            return self.notation.lists[node.name](parts)
        return symbols[node.name].format(*parts)

    def _write_power(self, node: Power, base: str, exponent: str) -> str:
        symbols = self.notation.functions
        power = symbols["power"].format(base, exponent)
        number = _read_constant(node.exponent)
        if number == 0.5:
            return symbols["root"].format(base)
        if number.is_integer() and number >= 0:
            return power
        sign = "!=" if number.is_integer() else ">=" if number > 0 else ">"
        return symbols["defined"].format(f"{base} {self.notation.comparisons[sign]} 0", power)

    def _write_round(self, node: Function, value: str) -> str:
        """Write half a unit away from zero, up to rounding errors."""
        digits = int(_read_constant(node.arguments[1])) if len(node.arguments) > 1 else 0
        symbols, unit = self.notation.functions, _write_constant(10.0**digits)
        slack = _write_constant(1 + 4 * float(np.finfo(float).eps))
        size = symbols["abs"].format(value)
        halves = symbols["floor"].format(f"{size} * {unit} * {slack} + 0.5")
        return f"({symbols['sign'].format(value)} * {halves} / {unit})"

    def _write_step(self, name: str, value: str) -> str:
        """Write the whole number below or above, up to rounding errors."""
        symbols = self.notation.functions
        slack = f"{symbols['abs'].format(value)} * {_write_constant(ROUNDING)}"
        if name == "floor":
            return symbols["floor"].format(f"{value} + {slack}")
        return f"(-{symbols['floor'].format(f'{slack} - {value}')})"


def _read_constant(node: Expression) -> float:
    """Return the value of a constant, NaN of what is computed."""
    if isinstance(node, Negation):
        return -_read_constant(node.operand)
    return node.value if isinstance(node, Number) else math.nan


def _write_constant(value: float) -> str:
    """Write a number that no language takes for a whole number or a decimal of many digits."""
    text = write_number(value)
    if "e" in text or "." in text:
        return text if "e" in text or len(text) <= np.finfo(float).precision else f"{text}e0"
    return f"{text}.0"


def _is_guarded(node: And) -> bool:
    """Say whether a condition is computed only where its numbers do not overflow."""
    guard, *rest = node.operands
    return (
        len(rest) == 1
        and isinstance(rest[0], Comparison)
        and isinstance(guard, Comparison)
        and guard.operator == "<="
        and isinstance(guard.right, Number)
        and guard.right.value >= 1 / LEAST
    )


def _may_be_undefined(node: Expression) -> bool:
    """Say whether numbers may be undefined or overflow: those that are not sums of columns."""
    return any(
        isinstance(each, (Quotient, Power))
        or (isinstance(each, Function) and each.name == "log")
        or (isinstance(each, Product) and sum(not isinstance(x, Number) for x in each.factors) > 1)
        for each in node.walk()
    )
