"""What rules say: a small language of columns, numbers and texts, read without ``eval``.

An expression is a tree of a few kinds of nodes, all frozen dataclasses. ``parse`` reads one from a
text, and ``str`` writes it so that ``parse`` returns the same tree. ``evaluation.py`` computes
expressions.

Python's own parser, ``ast.parse``, may crash the process on deeply nested texts, does not know
names such as ```net amount```, and its messages are about Python; that of Lark does not recurse.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, TypeGuard

from vanishing.arrays.namespace import import_extra, lazy

#: Levels of a rule, at most: such trees are walked with a wide margin within Python's limit of
#: recursion.
MOST_LEVELS = 50
#: Functions of numbers, with the least and the largest number of their arguments. ``coalesce`` is
#: its second argument where the first one is missing.
FUNCTIONS = {"abs": (1, 1), "log": (1, 1), "min": (2, 99), "max": (2, 99), "round": (1, 2),
             "floor": (1, 1), "ceil": (1, 1), "coalesce": (2, 2)}  # fmt: skip
#: Comparisons, each with its opposite.
COMPARISONS = {"==": "!=", "!=": "==", "<=": ">", ">": "<=", ">=": "<", "<": ">="}
#: What is made of conditions.
CONNECTIVES = ("and", "or", "not")
#: What several rows decide: whether a cell is there once, whether equal cells of one column have
#: equal ones of another beside them, and whether rows that are totals are sums of rows.
ACROSS_ROWS = ("unique", "determines", "totals")
#: Parts of cells that may tell the groups of ``previous`` and ``next``.
PARTS = ("year", "month", "cycle")
WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})
#: What a node is in each row: a number or a text; true, false or unknown; or a part of a cell,
#: which is for ``by`` alone.
Kind = Literal["value", "condition", "part"]
_KINDS: dict[str, Kind] = {
    **dict.fromkeys([*COMPARISONS, *CONNECTIVES, "in", "is null"], "condition"),
    **dict.fromkeys(ACROSS_ROWS, "condition"),
    **dict.fromkeys(PARTS, "part"),
}


class RuleError(ValueError):
    """A rule cannot be read, or a table does not have what it speaks about."""


class Expression:
    """A node of the tree; ``str`` writes it as a text that ``parse`` reads."""

    def __str__(self) -> str:
        return write(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    @property
    def kind(self) -> Kind:
        """What the node is in each row."""
        match self:
            case Call(name):
                return _KINDS.get(name, "value")
        return "value"

    @property
    def children(self) -> "tuple[Expression, ...]":
        """The nodes right below this one."""
        return ()

    @lazy
    def depth(self) -> int:
        """Levels of the tree."""
        return 1 + max((child.depth for child in self.children), default=0)

    def map(self, change: "Callable[[Expression], Expression]") -> "Expression":
        """Return the same node with changed children."""
        return self

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
            match node:
                case Column(name):
                    found.append(name)
                case Previous():
                    found += [node.column, *(name for name, _ in node.by)]
                    found += [node.order] if node.order else []
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, repr=False)
class Number(Expression):
    """A constant of zero and above; ``-`` of it makes others."""

    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            raise RuleError(f"numbers are finite and not negative, got {self.value}")
        object.__setattr__(self, "value", float(self.value) + 0.0)


@dataclass(frozen=True, repr=False)
class Text(Expression):
    """A constant text."""

    value: str


@dataclass(frozen=True, repr=False)
class Column(Expression):
    """The cell of a column."""

    name: str


@dataclass(frozen=True, repr=False)
class Previous(Expression):
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
class Call(Expression):
    """An operator or a function, and what it is applied to.

    These are ``FUNCTIONS``; ``+`` and ``*`` of two numbers and more, ``/`` and ``**`` of two, and
    ``-`` of one; ``COMPARISONS`` of two values; ``in`` of a value and constants, and ``is null`` of
    a value; ``and`` and ``or`` of two conditions and more, and ``not`` of one; ``PARTS`` of
    a column, and ``ACROSS_ROWS`` of columns. A difference is a sum with ``-`` of the second term.
    """

    name: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        least, most = FUNCTIONS.get(self.name, (0, math.inf))
        if not least <= len(self.arguments) <= most:
            many = str(least) if least == most else f"{least} to {most}"
            raise RuleError(f"{self.name} takes {many} arguments, got {len(self.arguments)}")
        if self.depth > 2 * MOST_LEVELS:  # what is made of rules is deeper than they are
            raise RuleError(f"a rule is nested at most {MOST_LEVELS} levels deep")
        wanted = "condition" if self.name in CONNECTIVES else "value"
        for child in self.arguments:
            if self.kind == "value" and (child.kind != "value" or isinstance(child, Text)):
                raise RuleError(f"only numbers can be computed with, got: {child}")
            if child.kind != wanted:
                what = "a condition" if wanted == "condition" else "a number or a text"
                raise RuleError(f"{self.name} needs {what}, got: {child}")
        for each in self.arguments[1:]:
            if self.name == "in" and read_constant(each) is None and not isinstance(each, Text):
                raise RuleError(f"the values after 'in' must be numbers or texts, got: {each}")
            if self.name == "round" and not _is_digits(each):
                raise RuleError(f"digits of round must be a whole number, got: {each}")

    @property
    def children(self) -> tuple[Expression, ...]:
        """The nodes right below this one."""
        return self.arguments

    def map(self, change: Callable[[Expression], Expression]) -> Expression:
        """Return the same node with changed children."""
        return Call(self.name, tuple(map(change, self.arguments)))


def is_comparison(node: Expression | None) -> TypeGuard[Call]:
    """Say whether a node compares two values."""
    return isinstance(node, Call) and node.name in COMPARISONS


def is_across_rows(node: Expression | None) -> TypeGuard[Call]:
    """Say whether a node is what several rows decide."""
    return isinstance(node, Call) and node.name in ACROSS_ROWS


def read_constant(node: Expression) -> float | None:
    """Return the value of a number, negative ones as well; None of what is computed."""
    match node:
        case Number(value):
            return value
        case Call("-", (Number(value),)):
            return -value
    return None


def _is_digits(node: Expression) -> bool:
    value = read_constant(node)
    return value is not None and value.is_integer() and abs(value) <= 15


def make_number(value: float) -> Expression:
    """Return a number as a node, negative ones as well."""
    return Call("-", (Number(-value),)) if value < 0 else Number(value)


def make_sum(terms: Sequence[Expression]) -> Expression:
    """Return the sum of terms, of which there may be one, or none."""
    return Call("+", tuple(terms)) if len(terms) > 1 else terms[0] if terms else Number(0.0)


def make_product(factors: Sequence[Expression]) -> Expression:
    """Return the product of factors, of which there may be one, or none."""
    return Call("*", tuple(factors)) if len(factors) > 1 else factors[0] if factors else Number(1.0)


# --- Writing --------------------------------------------------------------------------------------

#: Operators by how tightly they hold together: arguments that hold less are put in parentheses.
_LEVELS = (
    *(("or",), ("and",), ("not",), (*COMPARISONS, "in", "is null"), ("+",), ("*", "/")),
    *(("-",), ("**",)),
)
_RANKS = {name: rank for rank, names in enumerate(_LEVELS) for name in names}
_TIGHTEST = len(_LEVELS)
#: Operators between two arguments and more: how tightly the first and the others must hold.
_INFIX = {
    "or": (_RANKS["and"], _RANKS["and"]),
    "and": (_RANKS["not"], _RANKS["not"]),
    **dict.fromkeys(COMPARISONS, (_RANKS["+"], _RANKS["+"])),
    "+": (_RANKS["*"], _RANKS["*"]),
    "*": (_RANKS["-"], _RANKS["-"]),
    "/": (_RANKS["*"], _RANKS["-"]),
    "**": (_TIGHTEST, _RANKS["-"]),
}
_PREFIXES = {"-": "-", "not": "not "}
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
    match node:
        case Number(value):
            return write_number(value)
        case Text(value):
            return _quote(value, '"')
        case Column(name):
            return write_name(name)
        case Previous():
            return _write_previous(node)
        case Call("not", (Call("in" | "is null") as inner,)):
            text, own = _write_test(inner, "not "), _RANKS["in"]
        case Call(name):
            text, own = _write_call(node), _RANKS.get(name, _TIGHTEST)
    return f"({text})" if own < rank else text


def write_number(value: float) -> str:
    """Write a number with all of its digits, whole ones without a decimal point."""
    return repr(int(value)) if value.is_integer() and value < 2**53 else repr(value)


def _write_call(node: Call) -> str:
    name = node.name
    if name in _PREFIXES:
        return _PREFIXES[name] + write(node.arguments[0], _RANKS[name])
    if name in ("in", "is null"):
        return _write_test(node)
    if name not in _INFIX:
        return f"{name}({', '.join(map(write, node.arguments))})"
    (first, *others), (rank, inner) = node.arguments, _INFIX[name]
    if name == "*" and isinstance(first, Call) and first.name == "/":
        rank = _RANKS["*"]
    text = write(first, rank)
    for each in others:
        match name, each:
            case "+", Call("-", (term,)):
                text += f" - {write(term, inner)}"
            case _:
                text += f" {name} {write(each, inner)}"
    return text


def _write_test(node: Call, word: str = "") -> str:
    """Write whether a value is one of some constants, or missing, with a ``not`` or without."""
    cell, *values = node.arguments
    test = f"is {word}null"
    if node.name == "in":
        test = f"{word}in [{', '.join(map(write, values))}]"
    return f"{write(cell, _RANKS['+'])} {test}"


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
    if found.kind == "part":
        raise RuleError(f"{found} is written within by=[...]")
    if found.depth > MOST_LEVELS:
        raise RuleError(f"a rule is nested at most {MOST_LEVELS} levels deep")
    return found


def parse_condition(text: str) -> Expression:
    """Read an expression that is true or false in each row; see ``parse``."""
    found = parse(text)
    if found.kind != "condition":
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


def _join(name: str) -> Callable[[list[Any]], Any]:
    return lambda parts: Call(name, tuple(parts)) if len(parts) > 1 else parts[0]


def _compare(parts: list[Any]) -> Any:
    """Return values that are compared: a <= b <= c is a <= b and b <= c."""
    signs = range(1, len(parts), 2)
    return _join("and")([Call(str(parts[i]), (parts[i - 1], parts[i + 1])) for i in signs])


def _add(parts: list[Any]) -> Expression:
    pairs = zip(["+", *parts[1::2]], parts[::2], strict=True)
    return Call("+", tuple(Call("-", (term,)) if sign == "-" else term for sign, term in pairs))


def _multiply(parts: list[Any]) -> Expression:
    found = parts[:1]
    for sign, factor in zip(parts[1::2], parts[2::2], strict=True):
        found = [*found, factor] if sign == "*" else [Call("/", (make_product(found), factor))]
    return make_product(found)


def _call(parts: list[Any]) -> Expression:
    name, given = str(parts[0]), parts[1:]
    options: dict[str, Any] = dict(each for each in given if isinstance(each, tuple))
    arguments = [each for each in given if not isinstance(each, tuple)]
    names = [each.name for each in arguments if isinstance(each, Column)]
    n_names = {**dict.fromkeys(PARTS, 1), "unique": 1, "determines": 2, "totals": len(names)}
    if len(names) == len(given) == n_names.get(name):
        return Call(name, tuple(arguments))
    if name in ("previous", "next"):
        keys, order = options.get("by", []), options.get("order")
        by = list(map(_read_key, keys)) if isinstance(keys, list) else [None]
        if (
            len(names) == len(arguments) == 1
            and len(options) == len(given) - 1
            and options.keys() <= {"by", "order", "start"}
            and None not in by
            and isinstance(order, (Column, type(None)))
            and options.get("start") in (None, Number(0.0))
        ):
            return Previous(
                names[0], 1 if name == "previous" else -1, tuple(filter(None, by)),
                order.name if order else "", "start" in options,
            )  # fmt: skip
        raise RuleError(f"it is written {name}(a, by=[b, year(c)], order=d, start=0)")
    if name not in FUNCTIONS or options:
        raise RuleError(f"there is no {name} of this kind; there are {', '.join(FUNCTIONS)}, "
                        "previous, next, totals, unique, determines")  # fmt: skip
    return Call(name, tuple(arguments))


def _read_key(node: Expression) -> tuple[str, str] | None:
    """Return a column that tells groups, and the part of its cells that counts."""
    match node:
        case Column(name):
            return name, ""
        case Call(part, (Column(name),)) if part in PARTS:
            return name, part
    return None


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
    "start": _join("or"),
    "all": _join("and"),
    "opposite": lambda parts: Call("not", (parts[0],)),
    "compared": _compare,
    "is_null": lambda parts: Call("is null", (parts[0],)),
    "is_not_null": lambda parts: Call("not", (Call("is null", (parts[0],)),)),
    "is_in": lambda parts: Call("in", (parts[0], *parts[1])),
    "is_not_in": lambda parts: Call("not", (Call("in", (parts[0], *parts[1])),)),
    "list": lambda parts: parts,
    "sum": _add,
    "product": _multiply,
    "minus": lambda parts: Call("-", (parts[0],)),
    "power": lambda parts: Call("**", tuple(parts)),
    "number": lambda parts: Number(float(parts[0])),
    "true": lambda parts: Number(1.0),
    "false": lambda parts: Number(0.0),
    "text": lambda parts: Text(_unquote(parts[0])),
    "column": lambda parts: Column(str(parts[0])),
    "quoted": lambda parts: Column(_unquote(parts[0])),
    "call": _call,
    "option": lambda parts: (str(parts[0]), parts[1]),
}
