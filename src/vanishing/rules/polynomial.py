"""Equations that are polynomials of cells: as terms, as the text of a rule, and their tolerance.

The letters of a polynomial are the columns of a table, columns that are computed from other cells
(``laws/derived.py``), and the logarithms of both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from vanishing.laws.derived import (
    FUNCTIONS,
    ROWS,
    STEPS,
    DerivedColumn,
    read_step,
    write_step,
)
from vanishing.laws.law import Law
from vanishing.laws.search import MOST_TERMS
from vanishing.laws.wrong_cells import LEAST
from vanishing.levels import SAME_NUMBER
from vanishing.rules.expression import (
    MOST_LEVELS,
    Call,
    Column,
    Expression,
    Number,
    Previous,
    RuleError,
    is_comparison,
    make_product,
    make_sum,
)


class Term(NamedTuple):
    """A coefficient, and the letters that it is multiplied by, each with its power."""

    coefficient: float
    powers: tuple[tuple[Expression, int], ...] = ()

    def write(self) -> Expression:
        """Return the term as an expression."""
        letters = [_raise(letter, power) for letter, power in self.powers]
        size = abs(self.coefficient)
        product = make_product([Number(size)] * (size != 1 or not letters) + letters)
        return Call("-", (product,)) if self.coefficient < 0 else product

    def __neg__(self) -> "Term":
        return Term(-self.coefficient, self.powers)

    def __mul__(self, other: object) -> "Term":
        if not isinstance(other, Term):
            return NotImplemented
        powers = dict(self.powers)
        for letter, power in other.powers:
            powers[letter] = powers.get(letter, 0) + power
        return Term(self.coefficient * other.coefficient, tuple(powers.items()))


def _raise(letter: Expression, power: int) -> Expression:
    return letter if power == 1 else Call("**", (letter, Number(float(power))))


# --- Rules as terms -------------------------------------------------------------------------------


def expand(rule: Expression) -> list[Term] | None:
    """Return the terms of the left side minus the right one, None if it is not a polynomial."""
    if not is_comparison(rule) or rule.name != "==":
        return None
    left, right = map(_expand, rule.arguments)
    if left is None or right is None:
        return None
    found: dict[frozenset[tuple[Expression, int]], Term] = {}
    for term in (*left, *(-each for each in right)):
        key = frozenset(term.powers)
        known = found.get(key, Term(0.0, term.powers))
        found[key] = known._replace(coefficient=known.coefficient + term.coefficient)
    terms = [each for each in found.values() if each.coefficient]
    finite = all(np.isfinite(each.coefficient) for each in terms)
    return terms if finite and any(each.powers for each in terms) else None


def _expand(node: Expression) -> list[Term] | None:
    """Return the terms of a value."""
    if isinstance(node, Number):
        return [Term(node.value)]
    if is_letter(node) or _is_log(node):
        return [Term(1.0, ((node, 1),))]
    parts = [each for each in map(_expand, node.children) if each is not None]
    if not isinstance(node, Call) or len(parts) < len(node.arguments):
        return None
    match node.name, parts:
        case "+", _:
            return list(chain(*parts))
        case "-", (terms,):
            return [-each for each in terms]
        case "*", _:
            return _multiply(parts)
        case "/", (terms, [Term(number, ())]) if number:
            return [Term(each.coefficient / number, each.powers) for each in terms]
        case "**", (terms, [Term(number, ())]) if number.is_integer() and 0 < number <= MOST_LEVELS:
            return _multiply([terms] * int(number))
    return None


def _multiply(factors: Sequence[list[Term]]) -> list[Term] | None:
    product = [Term(1.0)]
    for each in factors:
        if len(product) * len(each) > MOST_TERMS:
            return None
        product = [first * second for first in product for second in each]
    return product


def is_letter(node: Expression) -> bool:
    """Say whether it is a column, or a column that laws know how to compute from others."""
    return isinstance(node, (Column, Previous)) or _match_function(node) is not None


def _is_log(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == "log" and is_letter(node.arguments[0])


def _difference(first: Expression, second: Expression) -> Expression:
    return Call("+", (first, Call("-", (second,))))


def _absolute(node: Expression) -> Expression:
    return Call("abs", (node,))


#: The functions of laws as expressions of two columns.
_SHAPES: Mapping[str, Callable[[Expression, Expression], Expression]] = {
    "max({}, {})": lambda a, b: Call("max", (a, b)),
    "min({}, {})": lambda a, b: Call("min", (a, b)),
    "|{} - {}|": lambda a, b: _absolute(_difference(a, b)),
    "max({} - {}, 0)": lambda a, b: Call("max", (_difference(a, b), Number(0.0))),
    "max({1} - {0}, 0)": lambda a, b: Call("max", (_difference(b, a), Number(0.0))),
    "max({} + {}, 0)": lambda a, b: Call("max", (make_sum((a, b)), Number(0.0))),
}
assert _SHAPES.keys() == FUNCTIONS.keys()


def _write_step(name: str, divisor: float, column: str) -> Expression:
    """Return a function of one column as an expression."""
    cell = Column(column)
    return Call(name, (Call("/", (cell, Number(divisor))) if divisor != 1 else cell,))


def _match_function(node: Expression) -> tuple[str, ...] | None:
    """Return the function of laws that a node is, and its columns."""
    names = node.columns if isinstance(node, Call) else ()
    match node:
        case Call(name, (Column(column),)) if name in STEPS:
            return write_step(name, 1.0), column
        case Call(name, (Call("/", (Column(column), Number(divisor))),)) if name in STEPS:
            # Divided by 1, it is no column of laws.
            return None if divisor == 1 else (write_step(name, divisor), column)
    if len(names) == 2:
        for function, shape in _SHAPES.items():
            if node == shape(Column(names[0]), Column(names[1])):
                return function, names[0], names[1]
    return None


def write_derived(column: DerivedColumn) -> Expression:
    """Return a derived column as an expression."""
    if column.is_of_other_row:
        step = 1 if column.function == ROWS[0] else -1
        return Previous(column.sources[0], step, column.by, column.order, column.starts_at_zero)
    found = read_step(column.function)
    if found is not None:
        return _write_step(*found, column.sources[0])
    if column.function not in _SHAPES:
        raise RuleError(f"rules have no function {column.function!r}")
    first, second = map(Column, column.sources)
    return _SHAPES[column.function](first, second)


def read_derived(letter: Expression, names: Sequence[str]) -> DerivedColumn:
    """Return a letter that is not a column as a derived column, its sources in their order."""
    if isinstance(letter, Previous):
        row = ROWS[0] if letter.step == 1 else ROWS[1]
        return DerivedColumn(row, (letter.column,), letter.by, letter.order, letter.starts_at_zero)
    found = _match_function(letter)
    assert found is not None
    function, first, *others = found
    if not others:
        return DerivedColumn(function, (first,))
    (second,) = others
    if names.index(first) < names.index(second):
        return DerivedColumn(function, (first, second))
    swapped = {"max({} - {}, 0)": "max({1} - {0}, 0)", "max({1} - {0}, 0)": "max({} - {}, 0)"}
    return DerivedColumn(swapped.get(function, function), (second, first))


def list_letters(terms: Sequence[Term]) -> list[Expression]:
    """Return the letters of terms, each once; of logarithms, what they are taken of."""
    letters: dict[Expression, None] = {}
    for term in terms:
        for letter, _ in term.powers:
            letters[letter.children[0] if _is_log(letter) else letter] = None
    return list(letters)


def list_sources(letter: Expression) -> tuple[str, ...]:
    """Return the columns whose cells a letter computes with, without those of its groups."""
    return (letter.column,) if isinstance(letter, Previous) else letter.columns


# --- Laws as rules --------------------------------------------------------------------------------


def list_terms(law: Law, derived: Sequence[DerivedColumn]) -> list[Term]:
    """Return the terms of a law."""
    letters: list[Expression] = [
        Column(name) for name in law.names[: len(law.names) - len(derived)]
    ]
    letters += map(write_derived, derived)
    found = []
    for i, value in enumerate(law.coefficients.tolist()):
        powers = [(letters[j], int(law.exponents[i, j])) for j in np.flatnonzero(law.exponents[i])]
        if law.logs is not None:
            powers += [
                (Call("log", (letters[j],)), 1) for j in np.flatnonzero(law.logs[i]).tolist()
            ]
        found.append(Term(value, tuple(powers)))
    return found


def write_equation(terms: Sequence[Term], left: Sequence[int]) -> tuple[Expression, list[int]]:
    """Return an equation with some of the terms on the left, and the order of its terms."""
    right = [i for i in range(len(terms)) if i not in left]
    sign = 1 if all(terms[i].coefficient > 0 for i in left) else -1
    written = [
        [(terms[i] if side == sign else -terms[i]).write() for i in part]
        for part, side in ((left, 1), (right, -1))
    ]
    return Call("==", tuple(map(make_sum, written))), [*left, *right]


# --- Tolerance ------------------------------------------------------------------------------------


def _differentiate(terms: Sequence[Term], letter: Expression) -> Iterator[Term]:
    """Yield the terms of the derivative by a letter; of a logarithm, with the power -1."""
    for term in terms:
        powers = dict(term.powers)
        for inner, factor in ((letter, letter), (Call("log", (letter,)), None)):
            if power := powers.get(inner, 0):
                rest = {**powers, inner: power - 1}
                if factor is None:
                    rest[letter] = rest.get(letter, 0) - 1
                kept = tuple((each, p) for each, p in rest.items() if p)
                yield Term(term.coefficient * power, kept)


def _sum(terms: Sequence[Term]) -> Expression:
    return make_sum([_write_quotient(each) for each in terms])


def _write_quotient(term: Term) -> Expression:
    """Write a term whose powers may be negative."""
    above = Term(term.coefficient, tuple((letter, p) for letter, p in term.powers if p > 0))
    below = [_raise(letter, -p) for letter, p in term.powers if p < 0]
    return Call("/", (above.write(), make_product(below))) if below else above.write()


def _size(terms: Sequence[Term]) -> list[Expression]:
    """Return the absolute values of terms."""
    return [
        make_product([Number(abs(each.coefficient))] * (abs(each.coefficient) != 1)
                     + [_raise(_absolute(letter), p) for letter, p in each.powers])
        if each.powers else Number(abs(each.coefficient))
        for each in terms
    ]  # fmt: skip


def _times(number: float, terms: Sequence[Term]) -> Expression:
    """Return a number times the absolute value of a sum."""
    if not any(each.powers for each in terms):
        return Number(number * abs(sum(each.coefficient for each in terms)))
    return _scale(number, _absolute(_sum(terms)))


def _scale(number: float, node: Expression) -> Expression:
    return Call("*", (Number(number), node))


def bound_rounding(terms: Sequence[Term], units: Mapping[Expression, float]) -> Expression:
    """Return that an equation holds up to rounding, as ``laws.wrong_cells.tolerate`` says.

    ``units`` are the last digits of the letters.
    """
    parts = [
        _times(unit / 2 * (1 + SAME_NUMBER), list(_differentiate(terms, letter)))
        for letter, unit in units.items()
        if unit
    ]
    constant = sum((each.value for each in parts if isinstance(each, Number)), float(LEAST))
    parts = [each for each in parts if not isinstance(each, Number)]
    sizes = make_sum(_size(terms))
    tolerance = make_sum([_scale(SAME_NUMBER, sizes), *parts, Number(constant)])
    found = Call("<=", (_absolute(_sum(terms)), tolerance))
    is_linear = all(sum(power for _, power in term.powers) <= 1 for term in terms)
    # Products that overflow say nothing, and such a row is broken.
    return found if is_linear else _guard(sizes, float(np.finfo(float).max), found)


def bound_noise(
    terms: Sequence[Term], variances: Mapping[Expression, Expression], threshold: float
) -> Expression:
    """Return the condition that an equation holds up to noise: that of ``Checker.score``.

    ``variances`` are those of the noise of the letters.
    """
    sizes = make_sum(_size(terms))
    squares: list[Expression] = [
        Call("*", (variance, _raise(_sum(list(_differentiate(terms, letter))), 2)))
        for letter, variance in variances.items()
    ]
    squares += [_raise(_scale(SAME_NUMBER, sizes), 2), Number(float(LEAST) ** 2)]
    tolerance = _scale(threshold, Call("**", (make_sum(squares), Number(0.5))))
    found = Call("<=", (_absolute(_sum(terms)), tolerance))
    return _guard(sizes, float(1 / LEAST), found)  # squares of larger numbers overflow


def _guard(sizes: Expression, most: float, condition: Expression) -> Expression:
    return Call("and", (Call("<=", (sizes, Number(most))), condition))


def bound_comparisons(node: Expression, tolerance: float) -> Expression:
    """Return a condition whose comparisons allow for a tolerance and the errors of computing."""
    if is_comparison(node):
        return _bound_comparison(node, tolerance)
    return node.map(lambda child: bound_comparisons(child, tolerance))


def _bound_comparison(rule: Call, tolerance: float) -> Expression:
    sizes = [size for side in rule.arguments if (size := _measure(side)) is not None]
    if rule.name in ("<", ">") or not (sizes or tolerance):
        return rule
    parts = [_scale(SAME_NUMBER, make_sum(sizes))] if sizes else []
    slack = make_sum(parts + [Number(tolerance)] * bool(tolerance))
    if rule.name in ("==", "!="):
        return Call("<=" if rule.name == "==" else ">",
                    (_absolute(_difference(*rule.arguments)), slack))  # fmt: skip
    low, high = rule.arguments if rule.name == "<=" else reversed(rule.arguments)
    return Call("<=", (_difference(low, high), slack))


def _measure(node: Expression) -> Expression | None:
    """Return the size of the numbers that a value is computed from, None if it is not computed."""
    match node:
        case Call("-", (inner,)):
            return _measure(inner)
        case Call("*" | "/" | "**" | "log"):
            return _absolute(node)
        case Call(name, parts):
            # Digits are no size, nor is what stands for a missing number.
            measured = parts[:1] if name in ("round", "coalesce") else parts
            return make_sum([_measure(each) or _absolute(each) for each in measured])
    return None
