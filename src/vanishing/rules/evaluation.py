"""Computing expressions on the columns of a table, with three values of truth.

A missing cell makes what is computed from it unknown, as NULL does in SQL: a comparison with it is
neither true nor false, and ``false and unknown`` is false. What is undefined in numbers, such as
the logarithm of -1, a division by zero or an overflow, is not unknown: a comparison with it is
false, so that a rule that needs it is broken.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, lazy
from vanishing.data.whole_tables import Table
from vanishing.equations.text import printable
from vanishing.laws.conditions import measure_cells
from vanishing.laws.derived import ROWS, DerivedColumn, Keys, compute_step
from vanishing.laws.domains import Domain, DomainCells, find_broken
from vanishing.rules.expression import (
    Call,
    Column,
    Expression,
    Number,
    Previous,
    RuleError,
    Text,
    is_comparison,
)

#: Dates whose order is that of letters.
ORDERED = re.compile(r"\d{4}(-\d\d|\Z)")


class Cells(NamedTuple):
    """Values of rows, numbers or texts, and which of them are there; or truths that are known."""

    values: Any
    known: BoolArray


class Columns:
    """The columns of a table: numbers, NaN where one is missing, and texts, "" where one is."""

    def __init__(self, n_rows: int, numbers: Mapping[str, Any], texts: Mapping[str, Any]) -> None:
        self.n_rows = n_rows
        self.numbers = {name: np.asarray(each, dtype=float) for name, each in numbers.items()}
        self.texts = {name: np.asarray(each, dtype=object) for name, each in texts.items()}
        self.keys = Keys(n_rows, self.texts, self.numbers)
        #: Rows that each of these is compared with; None if it is with one another.
        self.beside: DomainCells | None = None

    @classmethod
    def from_table(cls, table: Table, zeros: Iterable[str] = ()) -> "Columns":
        """Return those of a table; blanks of some columns count as 0."""
        numbers = dict(zip(table.shown_names, table.values.T, strict=True))
        for name in zeros:
            if name in numbers:
                blank = np.isnan(numbers[name])
                blank[[row for row, column in table.stray_texts if column == name]] = False
                numbers[name] = np.where(blank, 0.0, numbers[name])
        return cls(len(table.values), numbers, table.texts)

    @lazy
    def cells(self) -> DomainCells:
        """What rules about all rows compare."""
        return DomainCells(self.n_rows, {**self.texts, **self.numbers})

    def change(self, cells: Sequence[tuple[int, str, float]], others: Sequence[int]) -> "Columns":
        """Return a row for each changed cell (row, column, value), judged beside other rows."""
        rows = [row for row, _, _ in cells]
        numbers = {name: each[rows] for name, each in self.numbers.items()}
        for i, (_, name, value) in enumerate(cells):
            if name in numbers:
                numbers[name][i] = value
        texts = {name: each[rows] for name, each in self.texts.items()}
        changed = Columns(len(rows), numbers, texts)
        changed.beside = self.cells.take(others)
        return changed

    def get(self, name: str, rule: object = "a rule") -> Cells:
        """Return the cells of a column that a rule speaks about."""
        if name in self.numbers:
            return Cells(self.numbers[name], ~np.isnan(self.numbers[name]))
        if name not in self.texts:
            raise RuleError(
                f"the table does not have the column {printable(name)!r}, which {rule} speaks "
                f"about; it has {', '.join(map(printable, (*self.numbers, *self.texts)))}. "
                "Texts stand in quotes"
            )
        cells = self.texts[name]
        known = np.array([each is not None and each == each and each != "" for each in cells],
                         dtype=bool)  # fmt: skip
        return Cells(np.where(known, cells, ""), known)


def decide(condition: Expression, columns: Columns) -> tuple[BoolArray, BoolArray]:
    """Return in which rows a condition is true, and in which rows that is known."""
    found = compute(condition, columns)
    known = np.broadcast_to(found.known, columns.n_rows)
    return np.broadcast_to(found.values, columns.n_rows) & known, np.array(known)


@np.errstate(all="ignore")
def compute(node: Expression, columns: Columns) -> Cells:
    """Return the cells of a value or the truths of a condition; there may be one for all rows."""
    match node:
        case Number(value):
            return Cells(np.float64(value), np.array(True))
        case Text(value):
            return Cells(np.array(value, dtype=object), np.array(True))
        case Column(name):
            return columns.get(name)
        case Previous():
            return _compute_previous(node, columns)
        case Call("unique" | "determines" | "totals"):
            return _compute_across(node, columns)
        case Call("and" | "or"):
            return _combine(node, columns)
        case Call("not", (inner,)):
            truths = compute(inner, columns)
            return Cells(~truths.values, truths.known)
        case Call("is null", (inner,)):
            known = compute(inner, columns).known
            return Cells(~known, np.ones(np.shape(known), dtype=bool))
        case Call("in"):
            return _compute_is_in(node, columns)
    assert isinstance(node, Call)
    return (_compare if is_comparison(node) else _compute_number)(node, columns)


def _all_known(parts: list[Cells]) -> Any:
    return reduce(np.logical_and, (each.known for each in parts), np.array(True))


def _numbers(nodes: Iterable[Expression], columns: Columns) -> list[Cells]:
    found = []
    for node in nodes:
        cells = compute(node, columns)
        if _is_text(cells) and np.any(cells.known):
            raise RuleError(f"{node} holds texts, and a rule computes with it as a number")
        found += _agree(node, [Cells(np.array(0.0), np.array(True)), cells])[1:]
    return found


def _is_text(cells: Cells) -> bool:
    return np.asarray(cells.values).dtype == object


#: Operators and functions of numbers; NaN where they are undefined.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda *each: reduce(np.add, each),
    "*": lambda *each: reduce(np.multiply, each),
    "/": np.divide,
    "**": np.power,
    "-": np.negative,
    "abs": np.abs,
    "log": np.log,
    "floor": partial(compute_step, "floor", 1.0),
    "ceil": partial(compute_step, "ceil", 1.0),
    "min": lambda *each: reduce(np.minimum, each),
    "max": lambda *each: reduce(np.maximum, each),
}


def _compute_number(node: Call, columns: Columns) -> Cells:
    parts = _numbers(node.arguments, columns)
    first = parts[0]
    if node.name == "coalesce":
        values = np.where(first.known, first.values, parts[1].values)
        return Cells(values, first.known | parts[1].known)
    if node.name == "round":
        digits = int(parts[1].values) if len(parts) > 1 else 0
        return Cells(_round_half_up(first.values, digits), first.known)
    values = _FUNCTIONS[node.name](*(each.values for each in parts))
    return Cells(np.where(np.isfinite(values), values, np.nan), _all_known(parts))


def _round_half_up(values: Any, digits: int) -> Any:
    """Round numbers as SQL and people do: half a unit away from zero, up to rounding errors."""
    scaled = np.abs(values) * 10.0**digits
    halves = np.floor(scaled * (1 + 4 * np.finfo(float).eps) + 0.5)
    return np.copysign(halves / 10.0**digits, values)


def _compute_previous(node: Previous, columns: Columns) -> Cells:
    row = ROWS[0] if node.step == 1 else ROWS[1]
    column = DerivedColumn(row, (node.column,), node.by, node.order, node.starts_at_zero)
    before = columns.keys.find_rows(column)
    cells = columns.get(node.column)
    if node.starts_at_zero and _is_text(cells):
        raise RuleError(f"{node} holds texts, which do not start at 0")
    outside = "" if _is_text(cells) else 0.0
    values = np.where(before >= 0, cells.values[before], outside)
    return Cells(values, np.where(before >= 0, cells.known[before], node.starts_at_zero))


def _compare(node: Call, columns: Columns) -> Cells:
    parts = _agree(node, [compute(each, columns) for each in node.arguments])
    if _is_text(parts[0]) and node.name not in ("==", "!="):
        parts = _order(node, parts)
    left, right = (each.values for each in parts)
    kept = np.asarray(_COMPARE[node.name](left, right), dtype=bool)
    if not _is_text(parts[0]):
        kept = kept & np.isfinite(left) & np.isfinite(right)
    return Cells(kept, _all_known(parts))


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def _agree(node: Expression, parts: list[Cells]) -> list[Cells]:
    """Return cells of one kind: what is missing everywhere has that of the others."""
    kinds = {_is_text(each) for each in parts if np.any(each.known)}
    if len(kinds) > 1:
        raise RuleError(f"{node} compares texts with numbers; quote all of them, or none")
    is_text = kinds == {True}
    blank = np.array("" if is_text else np.nan, dtype=object if is_text else float)
    return [
        each if _is_text(each) == is_text
        else Cells(np.broadcast_to(blank, np.shape(each.known)), each.known)
        for each in parts
    ]  # fmt: skip


def _order(node: Expression, parts: list[Cells]) -> list[Cells]:
    """Return texts that can be ordered: as they are, or as the days of the dates that they say.

    Dates of one length, such as 2024-12-31, have the order of letters. Beside other dates, a text
    that is none is undefined.
    """
    texts = [np.ravel(np.asarray(each.values, dtype=object)) for each in parts]
    said = [
        set(values[np.broadcast_to(np.ravel(each.known), values.shape)].tolist())
        for values, each in zip(texts, parts, strict=True)
    ]
    others = [text for each in said for text in each if not ORDERED.match(text)]
    if not others:
        return parts
    days = {
        text: measure_cells(np.array([text], dtype=object)) for text in {"", *set().union(*said)}
    }
    if not all(any(days[text] is not None for text in each) for each in said if each):
        text = next((text for text in others if days[text] is None), others[0])
        raise RuleError(
            f"{node} needs the order of {printable(text)!r}, which is not a date such as "
            "2024-12-31 or 31.12.2024; texts are compared by == and != only"
        )
    found = []
    for values, each in zip(texts, parts, strict=True):
        numbers = [np.nan if (day := days.get(text)) is None else float(day[0]) for text in values]
        found.append(Cells(np.reshape(numbers, np.shape(each.values)), each.known))
    return found


def _compute_is_in(node: Call, columns: Columns) -> Cells:
    cells, *values = _agree(node, [compute(each, columns) for each in node.arguments])
    hits = [np.asarray(cells.values == each.values, dtype=bool) for each in values]
    return Cells(reduce(np.logical_or, hits, np.zeros(np.shape(cells.values), dtype=bool)),
                 cells.known)  # fmt: skip


def _combine(node: Call, columns: Columns) -> Cells:
    """Return what is true, and known as soon as one of the conditions decides."""
    parts = [compute(each, columns) for each in node.arguments]
    deciding = node.name == "or"
    decided = reduce(np.logical_or, (each.known & (each.values == deciding) for each in parts))
    return Cells(decided == deciding, decided | _all_known(parts))


def _compute_across(node: Call, columns: Columns) -> Cells:
    if node.name == "totals":
        raise RuleError(f"{node} is not decided row by row")
    names = tuple(each.columns[0] for each in node.arguments)
    known = _all_known([columns.get(name) for name in names])
    domain = Domain("key" if node.name == "unique" else "dependency", names)
    return Cells(~find_broken(domain, columns.cells, columns.beside), known)
