"""Conditions in the languages of other tools: one printer, and a table of symbols for each.

A condition has three truths, since a missing cell makes it unknown. So it is written twice: where
it is known to be true, and where it is known to be false. Rows that break a rule are those where
its ``where`` is true and its condition false. That is the same in languages with a NULL and in
those without, and in both, numbers that are undefined, such as log(-1), break a rule.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vanishing.laws.derived import STEPS
from vanishing.laws.wrong_cells import LEAST
from vanishing.levels import ROUNDING
from vanishing.rules.evaluation import ORDERED, Columns, decide
from vanishing.rules.expression import (
    COMPARISONS,
    Call,
    Column,
    Expression,
    Number,
    Previous,
    RuleError,
    Text,
    read_constant,
    write_number,
)
from vanishing.rules.rule import Rule
from vanishing.rules.rules import Rules

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
    across: Callable[[Call, list[str]], str] | None = None
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
        notation = self.notation
        match node:
            case Call("not", (inner,)):
                return self.write(inner, truth=not truth)
            case Call("and", (Call() as guard, Call() as then)) if not truth and _is_guard(guard):
                return self._write_guarded(node, guard, then)
            case Call("and" | "or" as name, parts):
                written = [self.write(each, truth=truth) for each in parts]
                is_and = (name == "and") == truth
                return self._join(notation.both if is_and else notation.either, written)
            case Call("totals"):
                raise RuleError("total rows are not decided row by row")
            case Call("unique" | "determines", names):
                if notation.across is None:
                    raise RuleError(OTHER_ROWS)
                broken = notation.across(
                    node, [self._write_column(*each.columns) for each in names]
                )
                text = notation.negated.format(broken) if truth else broken
                return self._with_known(node, text, always=True)
            case Call() if not node.columns:
                kept, _ = decide(node, Columns(1, {}, {}))
                return self._write_truth(bool(kept) == truth)
            case Call("in"):
                return self._write_is_in(node, truth=truth)
            case Call("is null"):
                form = notation.unknown if truth else notation.known
                join = notation.either if truth else notation.both
                cells = [form.format(each) for each in self._list_cells(node)]
                return self._join(join, cells or [self._write_truth(not truth)])
            case Call():
                return self._write_comparison(node, truth=truth)
        raise RuleError(f"{node} is not a condition")

    def _write_truth(self, truth: bool) -> str:
        false = self.notation.false
        return self.notation.negated.format(false) if truth else false

    def _join(self, write: Callable[[list[str]], str], parts: list[str]) -> str:
        return write(parts) if len(parts) > 1 else parts[0]

    def _write_comparison(self, node: Call, *, truth: bool) -> str:
        plain = self.compare(node)
        if not _may_be_undefined(node):
            if not truth:
                plain = self.compare(Call(COMPARISONS[node.name], node.arguments))
            return self._with_known(node, plain)
        for side in node.arguments:
            # |a| <= b is finite if b is.
            is_size = node.name == "<=" and isinstance(side, Call) and side.name == "abs"
            if _may_be_undefined(side) and not is_size:
                finite = Call("<=", (Call("abs", (side,)), _LARGEST))
                plain = self._join(self.notation.both, [plain, self.compare(finite)])
        return self._write_sure(node, plain, truth=truth)

    def _write_sure(self, node: Call, text: str, *, truth: bool) -> str:
        """Write where a condition is true, or where it is not, of numbers that may be undefined."""
        form = self.notation.sure if truth else self.notation.unsure
        return self._with_known(node, form.format(text), always=True)

    def _with_known(self, node: Expression, text: str, *, always: bool = False) -> str:
        """Add that the cells of a condition are known, where the language needs that."""
        if not always and self.notation.known == Notation.known:
            return text  # NULL
        known = [self.notation.known.format(each) for each in self._list_cells(node)]
        return self._join(self.notation.both, [*known, text])

    def _write_guarded(self, node: Call, guard: Call, condition: Call) -> str:
        """Write that a condition is false, or that the numbers in it overflow."""
        writer = self
        if self.notation.guarding_number is not None:
            number = self.notation.guarding_number
            writer = Printer(replace(self.notation, number=number), self.rules, self.texts)
        inner = self.notation.unsure.format(self.compare(condition))
        return self._with_known(
            node, self.notation.guard.format(writer.compare(guard), inner), always=True
        )

    def compare(self, node: Call) -> str:
        """Write a comparison, as if all of its numbers were known and defined."""
        write = self._choose_writer(node.arguments)
        texts = (each.value for each in node.arguments if isinstance(each, Text))
        if node.name not in ("==", "!=") and not all(map(ORDERED.match, texts)):
            raise RuleError("the order of dates that are not written like 2024-12-31")
        return f" {self.notation.comparisons[node.name]} ".join(map(write, node.arguments))

    def _write_is_in(self, node: Call, *, truth: bool) -> str:
        if len(node.arguments) == 1:
            return self._with_known(node, self._write_truth(not truth), always=not truth)
        cell, *values = map(self._choose_writer(node.arguments), node.arguments)
        text = self.notation.is_in(cell, values)
        if _may_be_undefined(node):
            return self._write_sure(node, text, truth=truth)
        return self._with_known(node, text if truth else self.notation.negated.format(text))

    def _choose_writer(self, nodes: Collection[Expression]) -> Callable[[Expression], str]:
        """Return how to write values that are compared: as numbers, or as cells."""
        if any(self._is_number(each) for each in nodes):
            return self.write_number
        if any(isinstance(each, Text) and each.value[:4].isdecimal() for each in nodes):
            return lambda node: self._write_cell(node, self.notation.date)
        return self._write_cell

    def _is_number(self, node: Expression) -> bool:
        match node:
            case Column(name) | Previous(name):
                return name in self.numbers
        return not isinstance(node, Text)

    # --- Cells and numbers ------------------------------------------------------------------------

    def _list_cells(self, node: Expression) -> list[str]:
        """Write the cells without which a value is unknown."""
        match node:
            case Call("coalesce", (value, other)):
                if not isinstance(other, Number) or _may_be_undefined(value):
                    raise RuleError("coalesce is said of columns and their sums, with a number")
                return []
            case Column(name):
                return [self.notation.cell(name)]
            case Previous():
                return [self._write_previous(node)]
        cells = (cell for child in node.children for cell in self._list_cells(child))
        return list(dict.fromkeys(cells))

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
        match node:
            case Number(value):
                return _write_constant(value)
            case Column(name):
                return self.notation.number(name)
            case Previous():
                return self._write_previous(node)
            case Call("+", terms):
                written = ""
                for term in terms:
                    match term:
                        case Call("-", (inner,)):
                            written += f"{' - ' if written else '-'}{self.write_number(inner)}"
                        case _:
                            written += f"{' + ' * bool(written)}{self.write_number(term)}"
                return f"({written})"
            case Call(name, arguments):
                return self._write_function(name, arguments, *map(self.write_number, arguments))
        raise RuleError(f"{node} is not a number")

    def _write_function(self, name: str, arguments: Sequence[Expression], *parts: str) -> str:
        """Write what a function or an operator makes of its arguments, which are written."""
        match name:
            case "*":
                return f"({' * '.join(parts)})"
            case "-":
                return f"(-{parts[0]})"
            case "**":
                constant = read_constant(arguments[1])
                exponent = math.nan if constant is None else constant
                return self._write_power(parts[0], parts[1], exponent)
            case "round":
                digits = read_constant(arguments[1]) if len(arguments) > 1 else None
                return self._write_round(parts[0], digits or 0.0)
        if name in STEPS:
            return self._write_step(name, parts[0])
        if name in self.notation.lists:
            return self.notation.lists[name](list(parts))
        return self.notation.functions[name].format(*parts)

    def _write_power(self, base: str, exponent: str, number: float) -> str:
        """Write a power where it is defined; ``number`` is the exponent, NaN if it is computed."""
        symbols = self.notation.functions
        power = symbols["**"].format(base, exponent)
        if number == 0.5:
            return symbols["root"].format(base)
        if number.is_integer() and number >= 0:
            return power
        sign = "!=" if number.is_integer() else ">=" if number > 0 else ">"
        return symbols["defined"].format(f"{base} {self.notation.comparisons[sign]} 0", power)

    def _write_round(self, value: str, digits: float) -> str:
        """Write half a unit away from zero, up to rounding errors."""
        symbols, unit = self.notation.functions, _write_constant(10.0 ** int(digits))
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


def _write_constant(value: float) -> str:
    """Write a number that no language takes for a whole number or a decimal of many digits."""
    text = write_number(value)
    if "e" in text or "." in text:
        return text if "e" in text or len(text) <= np.finfo(float).precision else f"{text}e0"
    return f"{text}.0"


def _is_guard(node: Call) -> bool:
    """Say whether a condition is that numbers do not overflow in the one after it."""
    match node:
        case Call("<=", (_, Number(most))):
            return bool(most >= 1 / LEAST)
    return False


def _may_be_undefined(node: Expression) -> bool:
    """Say whether numbers may be undefined or overflow: those that are not sums of columns."""
    match node:
        case Call("/" | "**" | "log"):
            return True
        case Call("*", factors) if sum(not isinstance(each, Number) for each in factors) > 1:
            return True
    return any(map(_may_be_undefined, node.children))
