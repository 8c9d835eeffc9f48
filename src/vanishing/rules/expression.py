"""What rules say: a small language of columns, numbers and texts, read without ``eval``.

An expression is a tree of a few kinds of nodes, all frozen dataclasses. ``parse`` reads one from a
text, and ``str`` writes it so that ``parse`` returns the same tree. ``evaluation.py`` computes
expressions.

Python's own parser, ``ast.parse``, may crash the process on deeply nested texts, does not know
names such as ```net amount```, and its messages are about Python; that of Lark does not recurse.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from vanishing.arrays.namespace import import_extra, lazy

#: Levels of a rule, at most: such trees are walked with a wide margin within Python's limit of
#: recursion.
MOST_LEVELS = 50
#: Functions of numbers, with the least and the largest number of their arguments.
FUNCTIONS = {"abs": (1, 1), "log": (1, 1), "min": (2, 99), "max": (2, 99), "round": (1, 2),
             "floor": (1, 1), "ceil": (1, 1), "coalesce": (2, 2)}  # fmt: skip
#: Comparisons, each with the one that has its sides swapped.
COMPARISONS = {"==": "==", "!=": "!=", "<=": ">=", ">=": "<=", "<": ">", ">": "<"}
#: Parts of cells that may tell the groups of ``previous`` and ``next``.
PARTS = ("year", "month", "cycle")
WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})


class RuleError(ValueError):
    """A rule cannot be read, or a table does not have what it speaks about."""


class Expression:
    """A node of the tree; ``str`` writes it as a text that ``parse`` reads."""

    def __str__(self) -> str:
        return write(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    @lazy
    def children(self) -> tuple["Expression", ...]:
        """The nodes right below this one."""
        values = [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]
        every = (each for value in values
                 for each in (value if isinstance(value, tuple) else (value,)))  # fmt: skip
        return tuple(each for each in every if isinstance(each, Expression))

    @lazy
    def depth(self) -> int:
        """Levels of the tree."""
        return 1 + max((child.depth for child in self.children), default=0)

    def _limit_depth(self) -> None:
        if self.depth > 2 * MOST_LEVELS:  # what is made of rules is deeper than they are
            raise RuleError(f"a rule is nested at most {MOST_LEVELS} levels deep")

    def map(self, change: "Callable[[Expression], Expression]") -> "Expression":
        """Return the same node with changed children."""
        values: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Expression):
                values[field.name] = change(value)
            elif isinstance(value, tuple) and any(isinstance(each, Expression) for each in value):
                values[field.name] = tuple(change(each) for each in value)
        return replace(self, **values)  # type: ignore[type-var]

    def walk(self) -> Iterator["Expression"]:
        """Yield this node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the expression needs, each once, in the order of the text."""
        found: list[str] = []
        for node in self.walk():
            if isinstance(node, Column):
                found.append(node.name)
            elif isinstance(node, Previous):
                found += [node.column, *(name for name, _ in node.by)]
                found += [node.order] if node.order else []
            elif isinstance(node, AcrossRows):
                found += node.names
        return tuple(dict.fromkeys(found))


class Value(Expression):
    """An expression that has a number or a text in each row."""


class Condition(Expression):
    """An expression that is true, false or unknown in each row."""

    def __post_init__(self) -> None:
        self._limit_depth()
        wanted = Value if isinstance(self, (Comparison, IsIn, IsNull)) else Condition
        what = {Value: "a number or a text", Condition: "a condition"}[wanted]
        for child in self.children:
            if not isinstance(child, wanted):
                raise RuleError(f"{type(self).__name__} needs {what}, got: {child}")


class Arithmetic(Value):
    """A number that is computed from others."""

    def __post_init__(self) -> None:
        self._limit_depth()
        for child in self.children:
            if not isinstance(child, Value) or isinstance(child, Text):
                raise RuleError(f"only numbers can be computed with, got: {child}")


@dataclass(frozen=True, repr=False)
class Number(Value):
    """A constant of zero and above; ``Negation`` makes others."""

    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise RuleError(f"numbers are finite and not negative, got {self.value}")
        object.__setattr__(self, "value", float(self.value) + 0.0)


@dataclass(frozen=True, repr=False)
class Text(Value):
    """A constant text."""

    value: str


@dataclass(frozen=True, repr=False)
class Column(Value):
    """The cell of a column."""

    name: str


@dataclass(frozen=True, repr=False)
class Previous(Value):
    """The cell of a column in the row before, or after if ``step`` is -1.

    ``by`` are pairs of a column that tells the groups and of the part of its cells that counts, ""
    for all of it; ``order`` is the column of dates that orders the rows, "" if they are in order.
    Before the first row of a group is a blank, or 0 if ``starts_at_zero``.
    """

    column: str
    step: int = 1
    by: tuple[tuple[str, str], ...] = ()
    order: str = ""
    starts_at_zero: bool = False


@dataclass(frozen=True, repr=False)
class Sum(Arithmetic):
    """The sum of two terms and more; differences are sums with a ``Negation``."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, repr=False)
class Product(Arithmetic):
    """The product of two factors and more."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True, repr=False)
class Quotient(Arithmetic):
    """A number divided by another."""

    numerator: Expression
    denominator: Expression


@dataclass(frozen=True, repr=False)
class Power(Arithmetic):
    """A number to the power of another."""

    base: Expression
    exponent: Expression


@dataclass(frozen=True, repr=False)
class Negation(Arithmetic):
    """A number with the other sign."""

    operand: Expression


@dataclass(frozen=True, repr=False)
class Function(Arithmetic):
    """One of ``FUNCTIONS``; ``coalesce`` is its second argument where the first one is missing."""

    name: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if self.name not in FUNCTIONS:
            raise RuleError(f"there is no function {self.name!r}; there are {', '.join(FUNCTIONS)}")
        least, most = FUNCTIONS[self.name]
        if not least <= len(self.arguments) <= most:
            many = str(least) if least == most else f"{least} to {most}"
            raise RuleError(f"{self.name} takes {many} arguments, got {len(self.arguments)}")
        super().__post_init__()
        if self.name == "round" and not all(map(_is_digits, self.arguments[1:])):
            raise RuleError(f"digits of round must be a whole number, got: {self.arguments[1]}")


@dataclass(frozen=True, repr=False)
class Comparison(Condition):
    """Two values compared by one of ``COMPARISONS``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, repr=False)
class IsIn(Condition):
    """Whether a value is one of some constants."""

    operand: Expression
    values: tuple[Expression, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.values:
            if not isinstance(each, (Number, Text)) and not (
                isinstance(each, Negation) and isinstance(each.operand, Number)
            ):
                raise RuleError(f"the values after 'in' must be numbers or texts, got: {each}")


@dataclass(frozen=True, repr=False)
class IsNull(Condition):
    """Whether a value is missing."""

    operand: Expression


@dataclass(frozen=True, repr=False)
class And(Condition):
    """All of two conditions and more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, repr=False)
class Or(Condition):
    """One of two conditions and more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, repr=False)
class Not(Condition):
    """The opposite of a condition."""

    operand: Expression


@dataclass(frozen=True, repr=False)
class AcrossRows(Condition):
    """What several rows decide.

    Cells are "unique"; one column "determines" another; rows that are "totals" are sums of rows.
    """

    kind: str
    names: tuple[str, ...]


def _is_digits(node: Expression) -> bool:
    inner = node.operand if isinstance(node, Negation) else node
    return isinstance(inner, Number) and inner.value.is_integer() and inner.value <= 15


def make_number(value: float) -> Expression:
    """Return a number as a node, negative ones as well."""
    return Negation(Number(-value)) if value < 0 else Number(value)


def make_sum(terms: list[Expression]) -> Expression:
    """Return the sum of terms, of which there may be one, or none."""
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0] if terms else Number(0.0)


def make_product(factors: list[Expression]) -> Expression:
    """Return the product of factors, of which there may be one, or none."""
    return Product(tuple(factors)) if len(factors) > 1 else factors[0] if factors else Number(1.0)


# --- Writing --------------------------------------------------------------------------------------

#: How tightly nodes hold together: those that hold less are put into parentheses.
_LEVELS = (
    *((Or,), (And,), (Not,), (Comparison, IsIn, IsNull), (Sum,), (Product, Quotient)),
    *((Negation,), (Power,)),
)
_RANKS = {kind: rank for rank, kinds in enumerate(_LEVELS) for kind in kinds}
_TIGHTEST = len(_LEVELS)
_BARE = re.compile(r"[^\W\d]\w*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def write_name(name: str) -> str:
    r"""Write the name of a column: in backticks, unless it is a single word.

    Examples
    --------
    >>> from vanishing.rules.expression import write_name
    >>> print(write_name("net"), write_name("net amount"), write_name("a`b\n"))
    net `net amount` `a\`b\n`
    """
    return name if _BARE.fullmatch(name) and name not in WORDS else _quote(name, "`")


def _quote(text: str, mark: str) -> str:
    written = []
    for c in text:
        if c in (mark, "\\"):
            written.append("\\" + c)
        elif c.isprintable():
            written.append(c)
        else:
            short = next((f"\\{key}" for key, value in _ESCAPES.items() if value == c), "")
            written.append(short or f"\\u{{{ord(c):x}}}")
    return f"{mark}{''.join(written)}{mark}"


def write(node: Expression, rank: int = 0) -> str:
    """Write an expression, in parentheses if it holds together less than ``rank``."""
    text = _WRITERS[type(node)](node)
    own = _RANKS.get(type(node), _TIGHTEST)
    if isinstance(node, Not) and isinstance(node.operand, (IsIn, IsNull)):
        own = _RANKS[IsIn]
    return f"({text})" if own < rank else text


def write_number(value: float) -> str:
    """Write a number with all of its digits, whole ones without a decimal point."""
    return repr(int(value)) if value.is_integer() and value < 2**53 else repr(value)


def _write_sum(node: Sum) -> str:
    text = ""
    for term in node.terms:
        if text and isinstance(term, Negation):
            text += f" - {write(term.operand, _RANKS[Product])}"
        else:
            text += f"{' + ' * bool(text)}{write(term, _RANKS[Product])}"
    return text


def _write_product(node: Product) -> str:
    first, *rest = node.factors
    rank = _RANKS[Product if isinstance(first, Quotient) else Negation]
    return " * ".join([write(first, rank), *(write(each, _RANKS[Negation]) for each in rest)])


def _write_not(node: Not) -> str:
    inner = node.operand
    if isinstance(inner, IsIn):
        return f"{write(inner.operand, _RANKS[Sum])} not in {_write_values(inner.values)}"
    if isinstance(inner, IsNull):
        return f"{write(inner.operand, _RANKS[Sum])} is not null"
    return f"not {write(inner, _RANKS[Not])}"


def _write_values(values: tuple[Expression, ...]) -> str:
    return f"[{', '.join(map(write, values))}]"


def _write_previous(node: Previous) -> str:
    written = [write_name(node.column)]
    if node.by:
        parts = (f"{part}({write_name(name)})" if part else write_name(name)
                 for name, part in node.by)  # fmt: skip
        written.append(f"by=[{', '.join(parts)}]")
    if node.order:
        written.append(f"order={write_name(node.order)}")
    if node.starts_at_zero:
        written.append("start=0")
    return f"{'previous' if node.step == 1 else 'next'}({', '.join(written)})"


_WRITERS: dict[type, Callable[[Any], str]] = {
    Number: lambda node: write_number(node.value),
    Text: lambda node: _quote(node.value, '"'),
    Column: lambda node: write_name(node.name),
    Previous: _write_previous,
    Sum: _write_sum,
    Product: _write_product,
    Quotient: lambda node: (
        f"{write(node.numerator, _RANKS[Product])} / {write(node.denominator, _RANKS[Negation])}"
    ),
    Power: lambda node: (
        f"{write(node.base, _TIGHTEST)} ** {write(node.exponent, _RANKS[Negation])}"
    ),
    Negation: lambda node: f"-{write(node.operand, _RANKS[Negation])}",
    Function: lambda node: f"{node.name}({', '.join(map(write, node.arguments))})",
    Comparison: lambda node: (
        f"{write(node.left, _RANKS[Sum])} {node.operator} {write(node.right, _RANKS[Sum])}"
    ),
    IsIn: lambda node: f"{write(node.operand, _RANKS[Sum])} in {_write_values(node.values)}",
    IsNull: lambda node: f"{write(node.operand, _RANKS[Sum])} is null",
    And: lambda node: " and ".join(write(each, _RANKS[Not]) for each in node.operands),
    Or: lambda node: " or ".join(write(each, _RANKS[And]) for each in node.operands),
    Not: _write_not,
    AcrossRows: lambda node: f"{node.kind}({', '.join(map(write_name, node.names))})",
}

# --- Reading --------------------------------------------------------------------------------------

_GRAMMAR = r"""
    start: all (_OR all)*
    all: opposite (_AND opposite)*
    ?opposite: _NOT opposite -> opposite | comparison
    ?comparison: compared | sum _IS _NULL -> is_null | sum _IS _NOT _NULL -> is_not_null
        | sum _IN list -> is_in | sum _NOT _IN list -> is_not_in
    !?compared: sum (("==" | "!=" | "<=" | ">=" | "<" | ">") sum)*
    list: "[" (sum ("," sum)*)? "]"
    !?sum: product (("+" | "-") product)*
    !?product: unary (("*" | "/") unary)*
    ?unary: "-" unary -> minus | power
    ?power: atom | atom "**" unary
    ?atom: NUMBER -> number | TEXT -> text | _TRUE -> true | _FALSE -> false | NAME -> column
        | NAME "(" (argument ("," argument)*)? ")" -> call | QUOTED -> quoted | "(" start ")"
    ?argument: sum | NAME "=" (sum | list) -> option
    NUMBER: /(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?/
    TEXT: /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/s
    QUOTED: /`([^`\\]|\\.)*`/s
    %ignore /\s+/
"""
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)


def parse(text: str) -> Expression:
    """Read an expression.

    Parameters
    ----------
    text : str
        Such as ``gross == net + tax``, ``start <= end``, ``status in ["open", "closed"]``. Names
        that are not a single word stand in backticks, texts in quotes.

    Returns
    -------
    Expression

    Raises
    ------
    RuleError
        If the text is not an expression. The message says where, and what was expected.

    Examples
    --------
    >>> from vanishing.rules.expression import parse
    >>> print(parse("gross==net+`tax (19 %)`"))
    gross == net + `tax (19 %)`
    """
    parser = _make_parser()
    try:
        found: Expression = parser.parse(text)
    except import_extra("lark", extra="rules", purpose="rules").UnexpectedInput as error:
        raise RuleError(_explain(error, text, parser)) from None
    if found.depth > MOST_LEVELS:
        raise RuleError(f"a rule is nested at most {MOST_LEVELS} levels deep")
    return found


def parse_condition(text: str) -> Condition:
    """Read an expression that is true or false in each row; see ``parse``."""
    found = parse(text)
    if not isinstance(found, Condition):
        raise RuleError(f"a rule compares something, as in gross == net + tax, got: {text}")
    return found


@cache
def _make_parser() -> Any:
    lark = import_extra("lark", extra="rules", purpose="rules")
    words = [rf"_{word.upper()}: /{word}\b/" for word in sorted(WORDS)]
    name = rf"NAME: /(?!({'|'.join(sorted(WORDS))})\b)[^\W\d]\w*/"
    grammar = "\n".join([_GRAMMAR, *words, name])
    return lark.Lark(grammar, parser="lalr", transformer=SimpleNamespace(**_BUILDERS))


def _explain(error: Any, text: str, parser: Any) -> str:
    """Say where a text is not an expression, and what was expected."""
    expected = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
    is_end = getattr(getattr(error, "token", None), "type", "") == "$END"
    place = len(text) if is_end else error.pos_in_stream
    signs = {each.name: f"'{each.pattern.value}'" for each in parser.terminals}
    found = {signs.get(name, "the end") for name in expected}
    wanted = sorted(found & {"'('", "')'", "'['", "']'", "','", "the end"})
    if "NAME" in expected:
        wanted = ["a column, a number or a text"]
    elif "'+'" in found:
        wanted = ["an operator", *(each for each in wanted if each != "'('")]
    there = text[place : place + 1]
    hint = "; equality is written ==" * (there == "=")
    hint += "; close the quote" * (there in ("`", "'", '"'))
    around = "".join(c if c.isprintable() else " " for c in text[max(place - 20, 0) : place + 20])
    what = f"{there!r} at character {place + 1}{hint}: {around}" if there else "the end"
    return f"expected {' or '.join(wanted) or 'a word such as null'}, found {what}"


def _join(kind: type[And | Or], parts: list[Any]) -> Any:
    return kind(tuple(parts)) if len(parts) > 1 else parts[0]


def _compare(parts: list[Any]) -> Any:
    """Return values that are compared: a <= b <= c is a <= b and b <= c."""
    signs = range(1, len(parts), 2)
    return _join(And, [Comparison(str(parts[i]), parts[i - 1], parts[i + 1]) for i in signs])


def _add(parts: list[Any]) -> Expression:
    pairs = zip(["+", *parts[1::2]], parts[::2], strict=True)
    return Sum(tuple(Negation(term) if sign == "-" else term for sign, term in pairs))


def _multiply(parts: list[Any]) -> Expression:
    found = parts[:1]
    for sign, factor in zip(parts[1::2], parts[2::2], strict=True):
        found = [*found, factor] if sign == "*" else [Quotient(make_product(found), factor)]
    return make_product(found)


@dataclass(frozen=True, repr=False)
class _Part(Expression):
    """A part of the cells of a column, as in ``by=[year(date)]``."""

    name: str
    column: str


def _call(parts: list[Any]) -> Expression:
    name, given = str(parts[0]), parts[1:]
    options: dict[str, Any] = dict(each for each in given if isinstance(each, tuple))
    arguments = [each for each in given if not isinstance(each, tuple)]
    names = [each.name for each in arguments if isinstance(each, Column)]
    n_names = {"unique": 1, "determines": 2, "totals": len(names)}.get(name)
    if len(names) == len(given) == n_names:
        return AcrossRows(name, tuple(names))
    if name in PARTS and len(names) == len(given) == 1:
        return _Part(name, *names)
    if name in ("previous", "next"):
        keys, order = options.get("by", []), options.get("order")
        if (
            len(names) == len(arguments) == 1
            and len(options) == len(given) - 1
            and options.keys() <= {"by", "order", "start"}
            and isinstance(keys, list)
            and all(isinstance(each, (Column, _Part)) for each in keys)
            and isinstance(order, (Column, type(None)))
            and options.get("start") in (None, Number(0.0))
        ):
            by = tuple((each.column, each.name) if isinstance(each, _Part) else (each.name, "")
                       for each in keys)  # fmt: skip
            step = 1 if name == "previous" else -1
            return Previous(names[0], step, by, order.name if order else "", "start" in options)
        raise RuleError(f"it is written {name}(a, by=[b, year(c)], order=d, start=0)")
    if name not in FUNCTIONS or options:
        raise RuleError(f"there is no {name} of this kind; there are {', '.join(FUNCTIONS)}, "
                        "previous, next, totals, unique, determines")  # fmt: skip
    return Function(name, tuple(arguments))


def _unquote(quoted: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code, c = match.groups()
        if code is None:
            return _ESCAPES.get(c, c)
        if int(code, 16) > 0x10FFFF:
            raise RuleError(f"there is no character \\u{{{code}}}")
        return chr(int(code, 16))

    return _ESCAPE.sub(replace, quoted[1:-1])


#: What is made of each rule of the grammar, from its parts.
_BUILDERS: dict[str, Callable[[Any], Any]] = {
    "start": partial(_join, Or),
    "all": partial(_join, And),
    "opposite": lambda parts: Not(parts[0]),
    "compared": _compare,
    "is_null": lambda parts: IsNull(parts[0]),
    "is_not_null": lambda parts: Not(IsNull(parts[0])),
    "is_in": lambda parts: IsIn(parts[0], tuple(parts[-1])),
    "is_not_in": lambda parts: Not(IsIn(parts[0], tuple(parts[-1]))),
    "list": lambda parts: parts,
    "sum": _add,
    "product": _multiply,
    "minus": lambda parts: Negation(parts[0]),
    "power": lambda parts: Power(*parts),
    "number": lambda parts: Number(float(parts[0])),
    "true": lambda parts: Number(1.0),
    "false": lambda parts: Number(0.0),
    "text": lambda parts: Text(_unquote(parts[0])),
    "column": lambda parts: Column(str(parts[0])),
    "quoted": lambda parts: Column(_unquote(parts[0])),
    "call": _call,
    "option": lambda parts: (str(parts[0]), parts[1]),
}
