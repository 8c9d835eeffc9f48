"""Formulas of Excel files: read from the cells, parsed, and evaluated.

A formula is a tree whose references are relative to its cell, so that all cells that a formula was
filled into have equal trees. The evaluator knows arithmetic, comparisons and a few functions, and
takes the stored values of the cells that a formula refers to. It never runs code.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray, import_extra, lazy
from vanishing.data.excel_files import FAILED, has_formulas, open_book
from vanishing.levels import ROUNDING

# --- Trees ----------------------------------------------------------------------------------------


class Area(NamedTuple):
    """Cells that a reference means, both ends included. The sheet is None for the formula's own."""

    sheet: str | None
    top: int
    left: int
    bottom: int
    right: int

    @property
    def is_cell(self) -> bool:
        """Whether it is a single cell."""
        return self.top == self.bottom and self.left == self.right


@dataclass(frozen=True)
class Edge:
    """A row or a column of a reference: fixed by ``$``, or counted from that of the formula."""

    number: int
    is_fixed: bool

    def locate(self, place: int) -> int:
        """Return the row or column that is meant by a formula at a place."""
        return self.number if self.is_fixed else place + self.number


@dataclass(frozen=True)
class Reference:
    """One cell, or all between two."""

    sheet: str | None
    top: Edge
    left: Edge
    bottom: Edge
    right: Edge

    def locate(self, row: int, column: int) -> Area:
        """Return the cells that are meant by a formula at a place."""
        rows = sorted((self.top.locate(row), self.bottom.locate(row)))
        columns = sorted((self.left.locate(column), self.right.locate(column)))
        return Area(self.sheet, rows[0], columns[0], rows[1], columns[1])


@dataclass(frozen=True)
class Literal:
    """A number, a text or a truth value."""

    value: float | str | bool


@dataclass(frozen=True)
class Call:
    """A function or an operator, and what it is applied to.

    ``+`` and ``*`` take any number of arguments; a difference is the sum with ``-`` of the second,
    and a quotient the product with ``/`` of the second.
    """

    name: str
    arguments: tuple["Formula", ...]


@dataclass(frozen=True)
class Unknown:
    """A part that cannot be evaluated, and what it is."""

    text: str
    reason: str


Formula = Literal | Reference | Call | Unknown

# --- Parser ---------------------------------------------------------------------------------------

#: Operators between two operands, from those that bind least.
LEVELS = [{"=", "<>", "<", ">", "<=", ">="}, {"&"}, {"+", "-"}, {"*", "/"}, {"^"}]
NAMES = "names of cells and tables"
_CORNER = r"(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})"
_CELLS = re.compile(rf"{_CORNER}(?::{_CORNER})?")
_COLUMNS = re.compile(r"(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})")
_ROWS = re.compile(r"(\$?)(\d{1,7}):(\$?)(\d{1,7})")


class _NotUnderstoodError(Exception):
    """A formula is not one that the parser knows."""


def parse(text: str, row: int, column: int) -> Formula:
    """Return the tree of a formula, a text that begins with ``=``, in the cell of a row and column.

    Rows and columns count from 1. What is not understood is ``Unknown``.
    """
    tokenizer = import_extra("openpyxl.formula.tokenizer", extra="excel", purpose="formulas")
    try:
        tokens = [each for each in tokenizer.Tokenizer(text).items if each.type != "WHITE-SPACE"]
        parser = _Parser(tokens, row, column)
        found = parser.parse_operators(0)
        if parser.place < len(tokens):
            raise _NotUnderstoodError
    except (_NotUnderstoodError, tokenizer.TokenizerError, IndexError, RecursionError):
        return Unknown(text, "formulas that are not understood")
    return found


class _Parser:
    """Reads tokens from the left, operators by precedence."""

    def __init__(self, tokens: list[Any], row: int, column: int) -> None:
        self.tokens, self.row, self.column = tokens, row, column
        self.place = 0

    def _peek(self) -> Any:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def parse_operators(self, level: int) -> Formula:
        """Read operands and the operators between them that bind at least as strongly."""
        left = self._parse_operand()
        while (token := self._peek()) is not None and token.type == "OPERATOR-INFIX":
            found = next((k for k, names in enumerate(LEVELS) if token.value in names), None)
            if found is None:  # unions and intersections of ranges
                raise _NotUnderstoodError
            if found < level:
                break
            self.place += 1
            left = _combine(token.value, left, self.parse_operators(found + 1))
        return left

    def _parse_operand(self) -> Formula:
        token = self.tokens[self.place]
        self.place += 1
        if token.type == "OPERATOR-PREFIX":
            inner = self._parse_operand()
            return Call("-", (inner,)) if token.value == "-" else inner
        if token.type == "OPERAND":
            found = self._read_operand(token)
        elif token.type == "PAREN" and token.subtype == "OPEN":
            found = self.parse_operators(0)
            closing = self.tokens[self.place]
            if (closing.type, closing.subtype) != ("PAREN", "CLOSE"):
                raise _NotUnderstoodError
            self.place += 1
        elif token.type == "FUNC" and token.subtype == "OPEN":
            name = token.value.rstrip("(").upper().removeprefix("_XLFN.")
            found = Call(name, tuple(self._parse_arguments()))
        else:
            raise _NotUnderstoodError
        while (following := self._peek()) is not None and following.type == "OPERATOR-POSTFIX":
            self.place += 1
            found = Call("%", (found,))
        return found

    def _parse_arguments(self) -> Iterator[Formula]:
        while True:
            token = self.tokens[self.place]
            if token.type == "SEP" or (token.type, token.subtype) == ("FUNC", "CLOSE"):
                is_empty = token.type == "FUNC" and self.tokens[self.place - 1].subtype == "OPEN"
                if not is_empty:
                    yield Unknown("", "arguments that are left out")
            else:
                yield self.parse_operators(0)
                token = self.tokens[self.place]
            self.place += 1
            if token.type == "FUNC":
                return
            if token.type != "SEP" or token.value != ",":
                raise _NotUnderstoodError

    def _read_operand(self, token: Any) -> Formula:
        if token.subtype == "NUMBER":
            return Literal(float(token.value))
        if token.subtype == "TEXT":
            return Literal(token.value[1:-1].replace('""', '"'))
        if token.subtype == "LOGICAL":
            return Literal(token.value.upper() == "TRUE")
        if token.subtype == "ERROR":
            return Unknown(token.value, "error values")
        return self.read_reference(token.value)

    def read_reference(self, text: str) -> Formula:
        """Read cells, in a sheet or not."""
        limits = import_extra("openpyxl.xml.constants", extra="excel", purpose="formulas")
        utility = import_extra("openpyxl.utils", extra="excel", purpose="formulas")
        prefix, bang, cells = text.rpartition("!")
        sheet = None
        if bang:
            sheet = prefix[1:-1].replace("''", "'") if prefix.startswith("'") else prefix
        if found := _CELLS.fullmatch(cells):
            corners = [found.groups()[:4], found.groups()[4:]]
            first, last = corners if found[5] is not None else [corners[0], corners[0]]
            top, left, bottom, right = (first[2:], first[:2], last[2:], last[:2])
        elif found := _COLUMNS.fullmatch(cells):
            top, left, right = ("$", "1"), found.groups()[:2], found.groups()[2:]
            bottom = ("$", str(limits.MAX_ROW))
        elif found := _ROWS.fullmatch(cells):
            top, bottom = found.groups()[:2], found.groups()[2:]
            left, right = ("$", "A"), ("$", utility.get_column_letter(limits.MAX_COLUMN))
        else:
            return Unknown(text, NAMES)
        edges = []
        for k, (fixed, written) in enumerate((top, left, bottom, right)):
            is_row = written.isdecimal()
            number = int(written) if is_row else utility.column_index_from_string(written)
            # What is beyond the last cell is a name, such as YTD2024.
            if not 1 <= number <= (limits.MAX_ROW if is_row else limits.MAX_COLUMN):
                return Unknown(text, NAMES)
            edges.append(
                Edge(number - (0 if fixed else (self.row, self.column)[k % 2]), bool(fixed))
            )
        return Reference(sheet, *edges)


def _combine(name: str, left: Formula, right: Formula) -> Formula:
    """Return the tree of two operands; sums and products are flat."""
    if name in ("-", "/"):
        right, name = Call(name, (right,)), "+" if name == "-" else "*"
    if name in ("+", "*") and isinstance(left, Call) and left.name == name:
        return Call(name, (*left.arguments, right))
    return Call(name, (left, right))


def list_areas(formula: Formula, row: int, column: int) -> Iterator[Area]:
    """Yield the cells that a formula in the cell of a row and column refers to."""
    if isinstance(formula, Reference):
        yield formula.locate(row, column)
    elif isinstance(formula, Call):
        for each in formula.arguments:
            yield from list_areas(each, row, column)


def resolve(formula: Formula, row: int, column: int) -> Any:
    """Return the tree with the cells that it means: equal for formulas that mean the same."""
    if isinstance(formula, Reference):
        return formula.locate(row, column)
    if isinstance(formula, Call):
        return formula.name, tuple(resolve(each, row, column) for each in formula.arguments)
    return formula


def fill(text: str, row: int, column: int, to_row: int, to_column: int) -> str:
    """Return a formula as it reads when it is filled from one cell into another."""
    translate = import_extra("openpyxl.formula.translate", extra="excel", purpose="formulas")
    parser = _Parser([], row, column)

    def move(token: Any) -> str:
        if token.subtype != "RANGE" or isinstance(parser.read_reference(token.value), Unknown):
            return str(token.value)
        try:
            moved = translate.Translator.translate_range(
                token.value, to_row - row, to_column - column
            )
        except translate.TranslatorError:
            return "#REF!"
        return str(moved)

    return "=" + "".join(map(move, translate.Tokenizer(text).items))


# --- Cells ----------------------------------------------------------------------------------------


class Serial(float):
    """A date as Excel stores it: a number of days."""


class Failure(str):
    """What Excel shows where a formula fails."""


class ColumnNumbers(NamedTuple):
    """The numbers of a column: in which rows, and how far they may be off, and rows of failures."""

    rows: IntArray
    numbers: FloatArray
    failures: IntArray


@dataclass
class FormulaSheet:
    """The values, texts of formulas and their trees, by row and column from 1."""

    title: str
    values: dict[tuple[int, int], float | str | bool] = field(default_factory=dict)
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    trees: dict[tuple[int, int], Formula] = field(default_factory=dict)

    @lazy
    def columns(self) -> dict[int, ColumnNumbers]:
        """The numbers of each column, in the order of the rows."""
        found: dict[int, tuple[list[int], list[float], list[int]]] = {}
        for row, column in sorted({*self.values, *self.formulas}):
            rows, numbers, failures = found.setdefault(column, ([], [], []))
            cell = self.values.get((row, column))
            if isinstance(cell, float):
                rows.append(row)
                numbers.append(cell)
            elif cell is None or isinstance(cell, Failure):
                failures.append(row)
        return {
            column: ColumnNumbers(np.array(rows, int), np.array(numbers), np.array(failures, int))
            for column, (rows, numbers, failures) in found.items()
        }

    def list_columns(self, area: Area) -> Iterator[ColumnNumbers]:
        """Yield the columns of an area that have cells."""
        wanted = range(area.left, area.right + 1)
        for column in wanted if len(wanted) < len(self.columns) else sorted(self.columns):
            if column in wanted and column in self.columns:
                yield self.columns[column]

    def has_numbers(self, area: Area) -> bool:
        """Say whether some cell of an area has a number, or a formula."""
        ends = (area.top, area.bottom + 1)
        return any(
            bool(np.ptp(np.searchsorted(rows, ends)))
            for column in self.list_columns(area)
            for rows in (column.rows, column.failures)
        )


Book = dict[str, FormulaSheet]


def read_formulas(content: bytes, where: str) -> Book:
    """Read the sheets of a workbook, by their titles; nothing if there are no formulas."""
    if not has_formulas(content):
        return {}
    books = [open_book(content, where, data_only=each) for each in (True, False)]
    dates = import_extra("openpyxl.utils.datetime", extra="excel", purpose="formulas")
    found = {}
    for stored in books[0].worksheets:
        sheet = found[stored.title] = FormulaSheet(stored.title)
        rows = zip(stored.iter_rows(), books[1][stored.title].iter_rows(), strict=True)
        for row, cells in enumerate(rows, 1):
            for column, (value, formula) in enumerate(zip(*cells, strict=True), 1):
                if (kept := _read_value(value, books[0].epoch, dates)) is not None:
                    sheet.values[row, column] = kept
                if formula.data_type != "f":
                    continue
                text = formula.value
                if isinstance(text, str):
                    sheet.trees[row, column] = parse(text, row, column)
                else:  # of an array or a data table
                    text = f"={str(getattr(text, 'text', '') or '').removeprefix('=')}"
                    sheet.trees[row, column] = Unknown(text, "formulas of arrays")
                sheet.formulas[row, column] = text
                if value.value is None and value.data_type != "n":
                    sheet.values[row, column] = ""
    return found


def _read_value(cell: Any, epoch: Any, dates: Any) -> float | str | bool | None:
    value = cell.value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, (date, time, timedelta)):
        return Serial(dates.to_excel(value, epoch))
    text = str(value)
    return Failure(text) if text in FAILED else text


# --- Evaluation -----------------------------------------------------------------------------------


class NotEvaluatedError(Exception):
    """A formula has a part that is not evaluated; the message is what this is."""


class Number(NamedTuple):
    """A number, and how far it may be off by the digits of the stored values."""

    value: float
    error: float


Value = Number | str | bool | None


class Evaluator:
    """Evaluates formulas with the stored values of the other cells.

    Stored numbers may be off by the relative error ``digits``.
    """

    def __init__(self, book: Book, digits: float) -> None:
        self.book, self.digits = book, digits

    def evaluate(self, formula: Formula, sheet: str, row: int, column: int) -> Value:
        """Return the value of a formula in a cell; raise if it is not evaluated."""
        try:
            with np.errstate(all="ignore"):
                found = _At(self, sheet, row, column).evaluate(formula)
        except (ArithmeticError, RecursionError, ValueError) as error:
            raise NotEvaluatedError("numbers out of range") from error
        if isinstance(found, Number) and not math.isfinite(found.value):
            raise NotEvaluatedError("numbers out of range")
        return Number(0.0, 0.0) if found is None else found

    def agrees(self, found: Value, stored: float | str | bool) -> bool:
        """Say whether a stored value is the one that a formula has."""
        if isinstance(found, Number) and isinstance(stored, float):
            error = found.error + self.measure_error(stored)
            return abs(found.value - stored) <= error
        return type(found) is type(stored) and found == stored

    def measure_error(self, stored: float) -> float:
        """Return how far a stored number may be off: dates are read to the millisecond."""
        error = self.digits * abs(stored)
        if isinstance(stored, Serial):
            error += timedelta(milliseconds=1) / timedelta(days=1)
        return error


@dataclass(frozen=True)
class _At:
    """Evaluates trees at one cell."""

    evaluator: Evaluator
    sheet: str
    row: int
    column: int

    def evaluate(self, formula: Formula) -> Value:
        if isinstance(formula, Unknown):
            raise NotEvaluatedError(formula.reason)
        if isinstance(formula, Literal):
            value = formula.value
            return Number(value, 0.0) if isinstance(value, float) else value
        if isinstance(formula, Reference):
            return self._read_cell(formula.locate(self.row, self.column))
        if formula.name == "IF":
            return self._choose(formula.arguments)
        if formula.name in COMPARISONS and len(formula.arguments) == 2:
            left, right = map(self.evaluate, formula.arguments)
            return compare(formula.name, left, right)
        if formula.name in OPERATORS:
            numbers = [as_number(self.evaluate(each)) for each in formula.arguments]
            if len(numbers) not in NUMBER_OF_ARGUMENTS.get(formula.name, (len(numbers),)):
                raise NotEvaluatedError("arguments that are left out")
            return OPERATORS[formula.name](*numbers)
        if formula.name in AGGREGATES:
            return AGGREGATES[formula.name](*self._collect(formula.arguments))
        if formula.name in LOGIC:
            return LOGIC[formula.name]([self._truth(each) for each in formula.arguments])
        raise NotEvaluatedError(f"function {formula.name}" if formula.name[0].isalpha() else "&")

    def _find_sheet(self, area: Area) -> FormulaSheet:
        title = self.sheet if area.sheet is None else area.sheet
        found = self.evaluator.book.get(title)
        if found is None:
            is_file = title.startswith("[") or "]" in title
            raise NotEvaluatedError("other workbooks" if is_file else "sheets that are not there")
        if area.top < 1 or area.left < 1:
            raise NotEvaluatedError("cells that are not there")
        return found

    def _read_cell(self, area: Area) -> Value:
        if not area.is_cell:
            raise NotEvaluatedError("ranges outside of functions")
        sheet = self._find_sheet(area)
        value = sheet.values.get((area.top, area.left))
        if value is None and (area.top, area.left) in sheet.formulas:
            raise NotEvaluatedError("formulas without a stored value")
        if isinstance(value, Failure):
            raise NotEvaluatedError("error values")
        if isinstance(value, float):
            return Number(value, self.evaluator.measure_error(value))
        return value

    def _truth(self, formula: Formula) -> bool:
        value = self.evaluate(formula)
        return value if isinstance(value, bool) else bool(as_number(value).value)

    def _choose(self, arguments: tuple[Formula, ...]) -> Value:
        if not 2 <= len(arguments) <= 3:
            raise NotEvaluatedError("arguments that are left out")
        if self._truth(arguments[0]):
            return self.evaluate(arguments[1])
        return self.evaluate(arguments[2]) if len(arguments) > 2 else False

    def _collect(self, arguments: tuple[Formula, ...]) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of the arguments, and their errors; texts in ranges do not count."""
        numbers, errors = [], []
        for each in arguments:
            if isinstance(each, Reference):
                for found in self._read_area(each.locate(self.row, self.column)):
                    numbers.append(found)
                    errors.append(self.evaluator.digits * np.abs(found))
            else:
                value = as_number(self.evaluate(each))
                numbers.append(np.array([value.value]))
                errors.append(np.array([value.error]))
        if not numbers:
            return np.empty(0), np.empty(0)
        return np.concatenate(numbers), np.concatenate(errors)

    def _read_area(self, area: Area) -> Iterator[FloatArray]:
        ends = (area.top, area.bottom + 1)
        for found in self._find_sheet(area).list_columns(area):
            if np.ptp(np.searchsorted(found.failures, ends)):
                raise NotEvaluatedError("error values, or formulas without a stored value")
            start, stop = np.searchsorted(found.rows, ends)
            yield found.numbers[start:stop]


def as_number(value: Value) -> Number:
    """Return a value as arithmetic takes it: blank cells are 0, truth values 0 and 1."""
    if isinstance(value, str):
        raise NotEvaluatedError("texts in arithmetic")
    if isinstance(value, Number):
        return value
    return Number(float(value or 0), 0.0)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def compare(name: str, left: Value, right: Value) -> bool:
    """Compare two values. Numbers that differ by rounding are equal; texts ignore the case."""
    if isinstance(left, str) or isinstance(right, str):
        left, right = ("" if each is None else each for each in (left, right))
        if isinstance(left, str) and isinstance(right, str):
            return COMPARISONS[name](left.casefold(), right.casefold())
        if name not in ("=", "<>"):
            raise NotEvaluatedError("comparisons of texts with numbers")
        return name == "<>"
    one, other = as_number(left), as_number(right)
    difference = one.value - other.value
    return COMPARISONS[name](0.0 if abs(difference) <= one.error + other.error else difference, 0.0)


def _add(*terms: Number) -> Number:
    return _sum(np.array([each.value for each in terms]), np.array([each.error for each in terms]))


def _multiply(*factors: Number) -> Number:
    value, error = 1.0, 0.0
    for each in factors:
        error = abs(value) * each.error + abs(each.value) * error + error * each.error
        value *= each.value
        error += ROUNDING * abs(value)
    return Number(value, error)


def _invert(divisor: Number) -> Number:
    if abs(divisor.value) <= divisor.error:
        raise NotEvaluatedError("divisions by zero")
    value = 1 / divisor.value
    return Number(value, abs(value) * (divisor.error / abs(divisor.value) + ROUNDING))


def _raise_to(base: Number, exponent: Number) -> Number:
    if base.value == 0 and exponent.value <= 0:
        raise NotEvaluatedError("divisions by zero")
    value = base.value**exponent.value
    if isinstance(value, complex):
        raise NotEvaluatedError("error values")
    error = ROUNDING
    if base.value:
        error += abs(exponent.value) * base.error / abs(base.value)
        error += abs(math.log(abs(base.value))) * exponent.error
    return Number(value, abs(value) * error)


def _round(number: Number, places: Number) -> Number:
    """Round half away from zero."""
    unit = 10.0 ** -round(places.value)
    scaled = abs(number.value) / unit
    # 1.005 is a tie for people and spreadsheets, though its nearest double is below.
    rounded = math.floor(scaled + 0.5 + ROUNDING * scaled)
    value = math.copysign(rounded * unit, number.value)
    return Number(value, ROUNDING * abs(value))


#: Operators and functions of numbers.
OPERATORS: dict[str, Callable[..., Number]] = {
    "+": _add,
    "-": lambda x: Number(-x.value, x.error),
    "*": _multiply,
    "/": _invert,
    "^": _raise_to,
    "%": lambda x: _multiply(x, Number(0.01, 0.0)),
    "ABS": lambda x: Number(abs(x.value), x.error),
    "ROUND": _round,
}
NUMBER_OF_ARGUMENTS = {"-": (1,), "ABS": (1,), "ROUND": (2,)}


def _sum(numbers: FloatArray, errors: FloatArray) -> Number:
    return Number(float(numbers.sum()), float(errors.sum() + ROUNDING * np.abs(numbers).sum()))


def _average(numbers: FloatArray, errors: FloatArray) -> Number:
    if not len(numbers):
        raise NotEvaluatedError("divisions by zero")
    return _multiply(_sum(numbers, errors), _invert(Number(float(len(numbers)), 0.0)))


def _pick(choose: Any) -> Callable[[FloatArray, FloatArray], Number]:
    def pick(numbers: FloatArray, errors: FloatArray) -> Number:
        if not len(numbers):
            return Number(0.0, 0.0)
        return Number(float(choose(numbers)), float(errors.max()))

    return pick


#: Functions of all numbers in their arguments and ranges.
AGGREGATES: dict[str, Callable[[FloatArray, FloatArray], Number]] = {
    "SUM": _sum,
    "AVERAGE": _average,
    "MIN": _pick(np.min),
    "MAX": _pick(np.max),
    "COUNT": lambda numbers, _: Number(float(len(numbers)), 0.0),
}
#: Functions of truth values.
LOGIC: dict[str, Callable[[list[bool]], bool]] = {
    "AND": all,
    "OR": any,
    "NOT": lambda values: not all(values),
}
