"""What rules say: a small language of columns, numbers and texts, read without ``eval``.

An expression is a tree of a few kinds of nodes, all frozen dataclasses. ``parse`` reads one from a
text, and ``str`` writes it so that ``parse`` returns the same tree. ``evaluation.py`` computes
expressions.

The parser is written by hand. Python's own, ``ast.parse``, may crash the process on deeply nested
texts, does not know names such as ```net amount```, and its messages are about Python.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, NoReturn

#: Characters and levels of a rule, at most: trees of this depth are walked with a wide margin
#: within Python's limit of recursion.
LONGEST, DEEPEST = 2**20, 50
#: Functions of numbers, with the least and the largest number of their arguments.
FUNCTIONS = {"abs": (1, 1), "log": (1, 1), "min": (2, 99), "max": (2, 99), "round": (1, 2),
             "coalesce": (2, 2)}  # fmt: skip
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

    @property
    def children(self) -> Iterator["Expression"]:
        """The nodes right below this one."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Expression):
                    yield each

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
        found: dict[str, None] = {}
        for node in self.walk():
            found |= dict.fromkeys(getattr(node, "needed", ()))
        return tuple(found)


class Value(Expression):
    """An expression that has a number or a text in each row."""


class Condition(Expression):
    """An expression that is true, false or unknown in each row."""

    def __post_init__(self) -> None:
        """Refuse operands of another kind."""
        wanted = Value if isinstance(self, (Comparison, IsIn, IsNull)) else Condition
        what = {Value: "a number or a text", Condition: "a condition"}[wanted]
        for child in self.children:
            if not isinstance(child, wanted):
                raise RuleError(f"{type(self).__name__} needs {what}, got: {child}")


class Arithmetic(Value):
    """A number that is computed from others."""

    def __post_init__(self) -> None:
        """Refuse operands that are not numbers."""
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

    @property
    def needed(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)


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

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that it takes."""
        return (self.column, *(name for name, _ in self.by), *filter(None, [self.order]))


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
class Totals(Condition):
    """Rows that are totals are the sums of their rows in these columns; not decided row by row."""

    names: tuple[str, ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns."""
        return self.names


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
_RANKS: dict[type, int] = {
    Or: 0, And: 1, Not: 2, Comparison: 3, IsIn: 3, IsNull: 3, Sum: 4, Product: 5, Quotient: 5,
    Negation: 6, Power: 7,
}  # fmt: skip
_TIGHTEST = 8
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
    Totals: lambda node: f"totals({', '.join(map(write_name, node.names))})",
}

# --- Reading --------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]\w*)"
    r"|(?P<name>`(?:[^`\\]|\\.)*`)|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<sign>\*\*|==|!=|<=|>=|[-+*/()\[\],<>=])",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


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
    return _Parser(text).read()


def parse_condition(text: str) -> Condition:
    """Read an expression that is true or false in each row; see ``parse``."""
    found = parse(text)
    if not isinstance(found, Condition):
        raise RuleError(f"a rule compares something, as in gross == net + tax, got: {text}")
    return found


class _Parser:
    """Reads tokens from the left to the right, one method for each level of precedence."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise RuleError(f"a rule has at most {LONGEST} characters, got {len(text)}")
        self.text = text
        self.tokens = list(self._split())
        self.place = 0
        self.depth = 0

    def _split(self) -> Iterator[_Token]:
        place = 0
        while place < len(self.text):
            if self.text[place].isspace():
                place += 1
                continue
            match = _TOKEN.match(self.text, place)
            if match is None:
                hint = "; close the quote" if self.text[place] in "`\"'" else ""
                raise RuleError(
                    f"{self.text[place]!r} at character {place + 1} is not part of the language of "
                    f"rules{hint}: {_excerpt(self.text, place)}"
                )
            yield _Token(str(match.lastgroup), match.group(), place)
            place = match.end()
        yield _Token("end", "", place)

    def _fail(self, expected: str) -> NoReturn:
        token = self.tokens[self.place]
        found = f"{token.text!r} at character {token.place + 1}" if token.text else "the end"
        hint = "; equality is written ==" if token.text == "=" else ""
        raise RuleError(
            f"expected {expected}, found {found}{hint}: {_excerpt(self.text, token.place)}"
        )

    @property
    def _next(self) -> str:
        """The next token if it is a sign or a word, which names in backticks are not."""
        token = self.tokens[self.place]
        return token.text if token.kind in ("sign", "word") else ""

    def _take(self, *texts: str) -> str:
        """Go beyond the next token if it is one of these."""
        found = self._next
        if not found or found not in texts:
            return ""
        self.place += 1
        return found

    def _expect(self, text: str) -> None:
        if not self._take(text):
            self._fail(repr(text))

    def read(self) -> Expression:
        found = self._read_or()
        if self.tokens[self.place].kind != "end":
            self._fail("an operator or the end")
        return found

    def _nest(self, read: Callable[[], Expression]) -> Expression:
        """Read something that may contain itself."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise RuleError(f"a rule is nested at most {DEEPEST} levels deep")
        found = read()
        self.depth -= 1
        return found

    def _read_or(self) -> Expression:
        found = [self._read_and()]
        while self._take("or"):
            found.append(self._read_and())
        return Or(tuple(found)) if len(found) > 1 else found[0]

    def _read_and(self) -> Expression:
        found = [self._read_not()]
        while self._take("and"):
            found.append(self._read_not())
        return And(tuple(found)) if len(found) > 1 else found[0]

    def _read_not(self) -> Expression:
        if self._take("not"):
            return Not(self._nest(self._read_not))
        return self._read_comparison()

    def _read_comparison(self) -> Expression:
        """Read values that are compared: a <= b <= c is a <= b and b <= c."""
        left = self._read_sum()
        found: list[Expression] = []
        while operator := self._take(*COMPARISONS):
            right = self._read_sum()
            found.append(Comparison(operator, left, right))
            left = right
        if found:
            return And(tuple(found)) if len(found) > 1 else found[0]
        if self._take("is"):
            negated = bool(self._take("not"))
            self._expect("null")
            return Not(IsNull(left)) if negated else IsNull(left)
        if self._next in ("not", "in"):
            negated = bool(self._take("not"))
            self._expect("in")
            self._expect("[")
            values = self._read_list(self._read_sum, "]")
            return Not(IsIn(left, values)) if negated else IsIn(left, values)
        return left

    def _read_list(self, read: Callable[[], Any], end: str) -> tuple[Any, ...]:
        """Read what is separated by commas, up to a closing sign."""
        found: list[Any] = []
        while not self._take(end):
            if found:
                self._expect(",")
            found.append(read())
        return tuple(found)

    def _read_sum(self) -> Expression:
        found = [self._read_product()]
        while sign := self._take("+", "-"):
            term = self._read_product()
            found.append(Negation(term) if sign == "-" else term)
        return make_sum(found)

    def _read_product(self) -> Expression:
        found = [self._read_unary()]
        n_quotients = 0
        while sign := self._take("*", "/"):
            factor = self._read_unary()
            if sign == "*":
                found.append(factor)
                continue
            n_quotients += 1  # each is one level deeper
            if self.depth + n_quotients > DEEPEST:
                raise RuleError(f"a rule is nested at most {DEEPEST} levels deep")
            found = [Quotient(make_product(found), factor)]
        return make_product(found)

    def _read_unary(self) -> Expression:
        if self._take("-"):
            return Negation(self._nest(self._read_unary))
        base = self._read_atom()
        return Power(base, self._nest(self._read_unary)) if self._take("**") else base

    def _read_atom(self) -> Expression:
        token = self.tokens[self.place]
        if self._take("("):
            found = self._nest(self._read_or)
            self._expect(")")
            return found
        if token.kind == "word" and self.tokens[self.place + 1].text == "(":
            self.place += 2
            return self._nest(lambda: self._read_call(token))
        if self._take("true", "false"):
            return Number(float(token.text == "true"))
        if token.kind == "number":
            self.place += 1
            return Number(float(token.text))
        if token.kind == "text":
            self.place += 1
            return Text(_unquote(token.text))
        return Column(self._read_name())

    def _read_name(self) -> str:
        token = self.tokens[self.place]
        if token.kind == "name":
            self.place += 1
            return _unquote(token.text)
        if token.kind != "word" or token.text in WORDS:
            self._fail("a column, a number or a text")
        self.place += 1
        return token.text

    def _read_call(self, token: _Token) -> Expression:
        """Read the arguments of a function."""
        if token.text == "totals":
            return Totals(self._read_list(self._read_name, ")"))
        if token.text in ("previous", "next"):
            return self._read_previous(1 if token.text == "previous" else -1)
        if token.text not in FUNCTIONS:
            self.place -= 2
            self._fail(f"one of {', '.join(FUNCTIONS)}, previous, next, totals")
        return Function(token.text, self._read_list(self._read_sum, ")"))

    def _read_previous(self, step: int) -> Expression:
        column = self._read_name()
        given: dict[str, Any] = {}
        while not self._take(")"):
            self._expect(",")
            option = self._take("by", "order", "start")
            if not option or option in given:
                self._fail("by=, order= or start=0, each once")
            self._expect("=")
            if option == "by":
                self._expect("[")
                given[option] = self._read_list(self._read_key, "]")
            elif option == "order":
                given[option] = self._read_name()
            else:
                if self.tokens[self.place].text != "0":
                    self._fail("0")
                self.place += 1
                given[option] = True
        return Previous(column, step, given.get("by", ()), given.get("order", ""),
                        given.get("start", False))  # fmt: skip

    def _read_key(self) -> tuple[str, str]:
        if self._next in PARTS and self.tokens[self.place + 1].text == "(":
            part = self._take(*PARTS)
            self._expect("(")
            name = self._read_name()
            self._expect(")")
            return name, part
        return self._read_name(), ""


def _unquote(quoted: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code, c = match.groups()
        if code is None:
            return _ESCAPES.get(c, c)
        if int(code, 16) > 0x10FFFF:
            raise RuleError(f"there is no character \\u{{{code}}}")
        return chr(int(code, 16))

    return _ESCAPE.sub(replace, quoted[1:-1])


def _excerpt(text: str, place: int) -> str:
    """Return the part of a text around a place, in one line."""
    around = text[max(place - 20, 0) : place + 20]
    return "".join(c if c.isprintable() else " " for c in around)
