"""One law: a short polynomial equation among the columns of a table, in their units."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from math import gcd, lcm
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.equations.rounding import Adjustable, simple_number
from vanishing.equations.text import (
    LAW,
    LAW_IN_LATEX,
    SHOWN_DIGITS,
    Notation,
    Term,
    latex_symbol,
    printable,
)
from vanishing.laws.candidate import measure_number
from vanishing.laws.conditions import Condition
from vanishing.laws.fit import Relation, differentiate, evaluate
from vanishing.levels import OUTLYING, ROUNDING, SAME_NUMBER, SIGNIFICANT_DIGITS

#: Share of all numbers that simple ones may stand for by coincidence, the usual level of tests.
BY_COINCIDENCE = 0.05
#: Power of two by which coefficients of a law may differ, and be multiplied to become whole.
MOST_SHIFT = np.finfo(float).maxexp - np.finfo(float).nmant

#: Writes a number with its standard error.
NumberWriter = Callable[[float, float], str]
#: The terms on the left and on the right of an equals sign.
Sides = tuple[list[Term], list[Term]]


def write_coefficient(value: float, error: float) -> str:
    """Write a number with the digits that its standard error leaves."""
    if value == int(value) and len(str(int(abs(value)))) <= np.finfo(float).precision:
        return str(int(value))
    return f"{value:.{count_digits(value, error)}g}"


def write_with_error(value: float, error: float) -> str:
    """Write a number with its standard error, if it has one, in units of the last digit."""
    if error <= 0:
        return write_coefficient(value, error)
    mantissa, e, exponent = f"{value:#.{count_digits(value, error)}g}".partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return f"{mantissa.rstrip('.')}({max(round(error / unit), 1)}){e}{exponent}"


def count_digits(value: float, error: float) -> int:
    """Return how many digits of a number its standard error leaves."""
    if error <= 0:
        return 12
    return int(np.clip(np.ceil(np.log10(abs(value) / error)) + 1, 2, 12))


class Support(NamedTuple):
    """The rows on which a law holds, and the columns that it speaks about."""

    rows: IntArray
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Support: {len(self.rows)} rows, columns {', '.join(map(printable, self.columns))}>"
        )


class Prediction(NamedTuple):
    """One side of a law in each row, and what the other side says of it.

    ``slope`` is the derivative of the law's polynomial by the side that is measured.
    """

    name: str
    measured: FloatArray
    predicted: FloatArray
    slope: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Law:
    """A polynomial of the columns that is zero in every row, up to noise.

    Parameters
    ----------
    names : tuple of str
        All columns of the table.
    exponents : int array of shape (n_terms, n_columns)
    coefficients : array of shape (n_terms,)
        In the units of the table. Whole numbers where the data allows it.
    standard_errors : array of shape (n_terms,)
        Of the coefficients. Those that are whole numbers have the error 0, as the one that the
        others are relative to.
    extent : float
        Root mean square distance of the rows from the law, relative to the columns' spreads, or to
        the values where the noise is in proportion to them.
    p_value : float
        How likely chance makes an equation fit as well; corrected for the number of candidates. If
        the law has ``bits``, it is 2 to the power of minus these.
    rows : int array
        Numbers of the rows on which it holds.
    bits : float, optional
        What the law saves when one of its columns is written down from the others.
    resolution : array of shape (n_columns,), optional
        Of a law without noise: units of the last digits that rounding changes, such as 0.01; zeros
        if it holds to the last digit.
    logs : bool array of shape (n_terms, n_columns), optional
        Columns whose logarithm is a factor of a term.
    n_broken : int
        Rows that have all its cells and break it.
    n_derived : int
        How many of the columns, the last ones, are computed from other cells.
    target : str, optional
        The column that stands alone on the left, if it does.
    where : Condition, optional
        The rows that the law speaks of, if these are not all.
    choices : array of shape (n_choices, n_terms), optional
        Coefficients of several equations, of which each row keeps one.
    """

    names: tuple[str, ...]
    exponents: Annotated[IntArray, "n_terms names"]
    coefficients: Annotated[FloatArray, "n_terms"]
    standard_errors: Annotated[FloatArray, "n_terms"]
    extent: float
    p_value: float
    rows: Annotated[IntArray, "n_rows"]
    bits: float | None = field(default=None, kw_only=True)
    resolution: Annotated[FloatArray | None, "names"] = field(default=None, kw_only=True)
    logs: Annotated[BoolArray | None, "n_terms names"] = field(default=None, kw_only=True)
    n_broken: int = field(default=0, kw_only=True)
    n_derived: int = field(default=0, kw_only=True)
    target: str | None = field(default=None, kw_only=True)
    where: Condition | None = field(default=None, kw_only=True)
    choices: Annotated[FloatArray | None, "n_choices n_terms"] = field(default=None, kw_only=True)

    @property
    def degree(self) -> int:
        """Total degree of the polynomial; a logarithm counts as a column does."""
        return int(self.letters.sum(axis=1).max())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the law speaks about."""
        return tuple(self.names[j] for j in np.flatnonzero(self.involved))

    @property
    def involved(self) -> BoolArray:
        """Whether the law speaks about each of the columns, shape (n_columns,)."""
        used = self.exponents.any(axis=0)
        return np.asarray(used if self.logs is None else used | self.logs.any(axis=0))

    @property
    def letters(self) -> IntArray:
        """Exponents of the columns, followed by those of their logarithms if there are any."""
        return self.exponents if self.logs is None else np.hstack([self.exponents, self.logs])

    @property
    def support(self) -> Support:
        """Rows on which the law holds, and columns that it speaks about."""
        return Support(self.rows, self.columns)

    @property
    def evidence(self) -> tuple[str, str, str, str]:
        """Bits, noise, rows that keep the law, and rows that break it; empty if there are none.

        For instance ``("662 bits", "exact", "59 rows", "1 breaks it")``. A law without noise is
        "exact" or "rounded". Noise is relative, as ``extent`` is.
        """
        how = "exact" if self.extent <= SAME_NUMBER else f"noise {100 * self.extent:.2g} %"
        if self.resolution is not None:
            how = "rounded" if self.resolution.any() else "exact"
        return (
            "" if self.bits is None else f"{self.bits:,.0f} bits",
            how,
            f"{len(self.rows):,} row{'s' * (len(self.rows) != 1)}",
            f"{self.n_broken:,} break{'s' * (self.n_broken == 1)} it" if self.n_broken else "",
        )

    @property
    def expression(self) -> Any:
        """The polynomial as a SymPy expression, in the units of the table."""
        sympy = import_extra("sympy", extra="symbolic", purpose="Law.expression")
        if self.choices is not None:
            return sympy.Mul(*(each.expression for each in self.split_choices()))
        symbols = [sympy.Symbol(name) for name in self.names]
        symbols += [sympy.log(symbol) for symbol in symbols]
        terms = []
        for powers, value in zip(self.letters.tolist(), self.coefficients.tolist(), strict=True):
            number = sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)
            factors = [symbol**power for symbol, power in zip(symbols, powers, strict=False)]
            terms.append(sympy.Mul(number, *factors))
        return sympy.Add(*terms)

    @property
    def latex(self) -> str:
        """The equation in LaTeX, with standard errors as in ``sides``."""
        if self.choices is not None:
            return r" \text{ or } ".join(each.latex for each in self.split_choices())
        sides = LawWriter(self, write_with_error, LAW_IN_LATEX).list_sides()
        where = "" if self.where is None else r" \quad " + latex_symbol(f"where {self.where}")
        return " = ".join(map(LAW_IN_LATEX.write_terms, sides)) + where

    def split_choices(self) -> "list[Law]":
        """Return the equations of which each row keeps one: the law itself if it is one."""
        if self.choices is None:
            return [self]
        return [replace(self, coefficients=each, choices=None) for each in self.choices]

    def move(self, names: Sequence[str], places: IntArray | None = None, **changes: Any) -> "Law":
        """Return the law of other columns, in which its own stand at some places.

        By default, at the places of their names.
        """
        used = np.flatnonzero(self.involved).tolist()

        def spread(array: Any) -> Any:
            if array is None:
                return None
            moved = np.zeros((*array.shape[:-1], len(names)), dtype=array.dtype)
            for j in used:
                place = names.index(self.names[j]) if places is None else places[j]
                moved[..., place] = np.maximum(moved[..., place], array[..., j])
            return moved

        return replace(
            self, names=tuple(names), exponents=spread(self.exponents), logs=spread(self.logs),
            resolution=spread(self.resolution), **changes,
        )  # fmt: skip

    def split_terms(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the terms on the left and on the right side.

        Terms of one sign on each side; the shorter side, or the one that is a single column, is the
        left one. A target is the left side, if it is a term and in no other.
        """
        if self.target is not None:
            powers = self.letters[:, self.names.index(self.target)]
            found = np.flatnonzero(powers).tolist()
            if len(found) == 1 and self.letters[found[0]].sum() == 1:
                return found, [i for i in range(len(powers)) if i != found[0]]
        positive = [i for i, value in enumerate(self.coefficients) if value > 0]
        negative = [i for i, value in enumerate(self.coefficients) if value <= 0]
        if not positive or not negative:
            constant = [i for i in range(len(self.coefficients)) if not self.letters[i].any()]
            first = [i for i in range(len(self.coefficients)) if i not in constant]
            return (first, constant) if constant else (first[:1], first[1:])

        def order(side: list[int]) -> tuple[bool, int, int]:
            is_number = not self.letters[side].any()
            return is_number, len(side), int(self.letters[side].sum())

        left, right = sorted([positive, negative], key=order)
        return left, right

    @property
    def sides(self) -> Sides:
        """The terms on the left and on the right of the equals sign.

        Numbers that are not simple have their standard error, in units of the last digit:
        "12.552(5)" is 12.552 ± 0.005.
        """
        return LawWriter(self, write_with_error).list_sides()

    @property
    def is_product(self) -> bool:
        """Whether only logarithms are added, so that the law is one of products of powers."""
        return self.logs is not None and not self.exponents.any()

    def __str__(self) -> str:
        return LawWriter(self, write_coefficient).write()

    @property
    def with_errors(self) -> str:
        """The equation as text, with standard errors as in ``sides``."""
        return LawWriter(self, write_with_error).write()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_latex_(self) -> str | None:
        try:
            return f"$\\displaystyle {self.latex}$"
        except ImportError:  # notebooks show the text
            return None

    def round_numbers(self, expression: Any) -> Any:
        """Round the numbers of an expression that was made of the law to the digits of the law."""
        sympy = import_extra("sympy", extra="symbolic", purpose="Law.round_numbers")
        digits = [
            count_digits(value, error)
            for value, error in zip(self.coefficients, self.standard_errors, strict=True)
            if value != int(value)
        ]
        number = min(digits, default=12)
        rounded = {each: sympy.Float(each, number) for each in expression.atoms(sympy.Float)}
        return expression.xreplace(rounded)

    def values(self, X: FloatArray) -> FloatArray:
        """Evaluate the polynomial.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
        """
        return np.asarray(self.weigh_terms(X).sum(axis=1))

    def weigh_terms(self, X: FloatArray) -> FloatArray:
        """Evaluate the terms with their coefficients, those of the choice that a row is near."""
        terms = self.evaluate_terms(X)
        return terms * self._choose(terms)

    def _choose(self, terms: FloatArray) -> FloatArray:
        """Return the coefficients in each row: of several choices, those with the least sum."""
        if self.choices is None:
            return self.coefficients
        return np.asarray(self.choices[np.abs(terms @ self.choices.T).argmin(axis=1)])

    def predict(self, X: FloatArray) -> Prediction:
        """Compare one side of the law, as it is measured, with what the other side says it is.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        Prediction
            Of a single column, if the law can be written as one.
        """
        return _predict(self, X)

    def evaluate_terms(self, X: FloatArray) -> FloatArray:
        """Evaluate the terms without their coefficients, shape (n_rows, n_terms)."""
        return evaluate(self.letters, self._spell(check_rows(X, self.names)))

    def _spell(self, rows: FloatArray) -> FloatArray:
        """Return the columns that ``letters`` are about: not a number where none is defined."""
        if self.logs is None:
            return rows
        used = self.logs.any(axis=0)
        with np.errstate(all="ignore"):
            return np.hstack([rows, np.log(np.where(used, rows, 1.0))])

    def gradients(self, X: FloatArray) -> FloatArray:
        """Evaluate the gradients of the polynomial.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows, n_columns)
        """
        rows = check_rows(X, self.names)
        letters = self._spell(rows)
        coefficients = self.coefficients
        if self.choices is not None:
            coefficients = self._choose(evaluate(self.letters, letters))
        derivatives = differentiate(self.letters, letters, np.ones(letters.shape[1]))
        slopes = np.matmul(derivatives, coefficients[..., None])[..., 0]
        if self.logs is None:
            return np.asarray(slopes)
        by_column, by_log = np.split(slopes, 2, axis=1)
        used = self.logs.any(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # the logarithm of 0 has no slope
            by_row = by_log / np.where(used, rows, 1.0)
        return np.asarray(by_column + np.where(used, by_row, 0.0))


def _predict(law: Law, rows: FloatArray) -> Prediction:
    terms = law.evaluate_terms(rows) * law.coefficients
    if law.is_product:
        columns = np.flatnonzero(law.involved)
        lead = columns[-1] if law.target is None else law.names.index(law.target)
        assert law.logs is not None
        own = float(law.coefficients[law.logs[:, lead]].sum())
        predicted = np.exp(terms[:, ~law.logs[:, lead]].sum(axis=1) / -own)
        return Prediction(law.names[lead], rows[:, lead], predicted, own / predicted)
    sides, writer = law.split_terms(), LawWriter(law)
    left = sides[0]
    if not all(law.letters[side].any() for side in sides):
        # Of x^2 + y^2 = 1, the term that varies most against all others.
        left = [int(np.argmax(np.nan_to_num(np.nanstd(terms, axis=0))))]
    slope, name = 1.0, writer.write_terms(left)
    if len(left) == 1 and law.letters[left[0]].any():
        slope, name = float(law.coefficients[left[0]]), writer.write_letters(left[0])
    elif all(law.coefficients[i] < 0 for i in left):
        slope, name = -1.0, writer.write_terms(left, -1.0)
    others = [i for i in range(len(law.coefficients)) if i not in left]
    measured, predicted = terms[:, left].sum(axis=1) / slope, terms[:, others].sum(axis=1) / -slope
    return Prediction(name, measured, predicted, np.full(len(terms), slope))


class LawWriter(NamedTuple):
    """Writes a law, and parts of it, with numbers and letters in some notation."""

    law: "Law"
    write_number: NumberWriter = write_coefficient
    notation: Notation = LAW

    def write(self) -> str:
        """Return the equation of two sides with its condition, or with the numbers to choose from.

        These are the values of the last term divided by the others: tax/net is 0, 0.07 or 0.19.
        """
        law = self.law
        if law.choices is None:
            where = "" if law.where is None else f" where {law.where}"
            return " = ".join(map(self.notation.write_terms, self.list_sides())) + where
        numbers = sorted(set((-law.choices[:, -1]).tolist()))
        *first, last = [write_coefficient(number + 0.0, 0.0) for number in numbers]
        top = self.write_terms(range(len(law.choices[0]) - 1))
        bottom = self.write_letters(len(law.exponents) - 1)
        bottom = f"({bottom})" if "*" in bottom else bottom
        ratio = top if bottom == "1" else f"{top}/{bottom}"
        return f"{ratio} is {', '.join(first)} or {last}"

    def list_sides(self) -> Sides:
        """Return the terms on both sides."""
        if self.law.is_product:
            return self._list_powers()
        if (mean := self._find_mean()) is not None:
            letters = list(map(self.notation.write_name, self.law.names))
            others = ", ".join(letters[j] for j in np.flatnonzero(self.law.involved) if j != mean)
            word = "mean" if self.notation is LAW else r"operatorname{mean}"
            of_others = self.notation.function.format(word, others)
            return [Term(False, "", [(letters[mean], 1)])], [Term(False, "", [(of_others, 1)])]
        left, right = self.law.split_terms()
        sign = 1.0 if all(self.law.coefficients[i] > 0 for i in left) else -1.0
        return self.list_terms(left, sign), self.list_terms(right, -sign)

    def write_terms(self, terms: Sequence[int], sign: float = 1.0) -> str:
        """Write the sum of some terms, times 1 or -1."""
        return self.notation.write_terms(self.list_terms(terms, sign))

    def write_letters(self, term: int) -> str:
        """Write a term without its coefficient."""
        (written,) = self._replace(write_number=lambda *_: "1").list_terms([term])
        return self.notation.write_terms([replace(written, is_negative=False)])

    def list_terms(self, terms: Sequence[int], sign: float = 1.0) -> list[Term]:
        """Return some of the terms, highest degree first."""
        law, found = self.law, []
        letters = list(map(self.notation.write_name, law.names))
        if law.n_derived and self.notation is LAW:
            letters[-law.n_derived :] = law.names[-law.n_derived :]  # without brackets
        letters += [self.notation.function.format("log", letter) for letter in letters]
        for i in sorted(terms, key=lambda i: (-int(law.letters[i].sum()), i)):
            value = sign * float(law.coefficients[i])
            number = self.write_number(abs(value), float(law.standard_errors[i]))
            powers = law.letters[i].tolist()
            factors = [(letters[j], power) for j, power in enumerate(powers) if power]
            found.append(Term(value < 0, "" if number == "1" and factors else number, factors))
        return found

    def _find_mean(self) -> int | None:
        """Return the column that is the mean of the others, if the law says that."""
        law, n_others = self.law, len(self.law.coefficients) - 1
        is_sum = law.degree == 1 and law.logs is None and law.exponents.any(axis=1).all()
        if not is_sum or law.n_derived or n_others < 2:
            return None
        scaled = law.coefficients / law.coefficients[np.argmin(np.abs(law.coefficients))]
        (means,) = np.nonzero(scaled == -n_others)
        if len(means) != 1 or (scaled == 1).sum() != n_others:
            return None
        return int(np.argmax(law.exponents[means[0]]))

    def _list_powers(self) -> Sides:
        """Return both sides of y = k x^p, for log(y) = p log(x) + log(k)."""
        law = self.law
        assert law.logs is not None
        powers = law.logs.T.astype(float) @ law.coefficients
        errors = law.logs.T.astype(float) @ law.standard_errors
        constant = ~law.logs.any(axis=1)

        def divide(lead: int) -> list[str]:
            # Of the ratio of two coefficients, the digits that the worse of them has.
            relative = np.maximum(
                errors / np.maximum(np.abs(powers), np.finfo(float).tiny),
                errors[lead] / abs(powers[lead]),
            )
            ratios = np.abs(powers / powers[lead])
            return [
                write_coefficient(float(ratio), float(ratio * error)) if ratio else ""
                for ratio, error in zip(ratios, relative, strict=True)
            ]

        # The exponents with the fewest digits, and of these the last column on the left.
        used = np.flatnonzero(powers)
        lead = min(used[::-1].tolist(), key=lambda lead: sum(map(len, divide(lead))))
        written = divide(lead)
        factor = float(np.exp(-(law.coefficients @ constant) / powers[lead]))
        error = factor * float(law.standard_errors @ constant) / abs(float(powers[lead]))
        sides: tuple[list[tuple[str, float]], list[tuple[str, float]]] = [], []
        for j in used.tolist():
            is_left = powers[j] * powers[lead] > 0
            sides[not is_left].append((self.notation.write_name(law.names[j]), float(written[j])))
        number = self.write_number(factor, error)
        right = Term(False, "" if number == "1" and sides[1] else number, sides[1])
        return [Term(False, "", sides[0])], [right]


def write_latex(expression: Any, names: Sequence[str]) -> str:
    """Write a SymPy expression of some columns, whose names are text and not commands."""
    sympy = import_extra("sympy", extra="symbolic", purpose="latex")
    symbols = {sympy.Symbol(name): latex_symbol(name) for name in names}
    return str(sympy.latex(expression, symbol_names=symbols))


def check_rows(X: Any, names: Sequence[str]) -> FloatArray:
    """Return rows as numbers, or raise if they have other columns than those of the names."""
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(
            f"expected rows of {len(names)} columns ({', '.join(names)}), got shape {rows.shape}"
        )
    return rows


EquationT = TypeVar("EquationT", bound=Law)


class Equations(Generic[EquationT]):
    """A sequence of equations that is printed as a list."""

    equations: tuple[EquationT, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.equations)

    def __iter__(self) -> Iterator[EquationT]:
        return iter(self.equations)

    def __getitem__(self, index: int) -> EquationT:
        return self.equations[index]

    def summary(self) -> str:
        """Return one line about the whole."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the equations into one file, from which ``vanishing.load`` reads them.

        Parameters
        ----------
        path : path
            A file that exists is replaced. It is written completely or not at all.
        """
        # Here, since it imports what pipelines are made of, and a search needs none of that.
        from vanishing.saving import write_model

        write_model(path, self, len(self.names))

    def lines(self) -> list[str]:
        """Return the equations as lines of text.

        Returns
        -------
        list of str
        """
        return [equation.with_errors for equation in self.equations]

    def _describe(self, equation: Law) -> str:
        """Say how well an equation holds, for notebooks."""
        return f"extent {equation.extent:.2g} · p-value {equation.p_value:.1g}"

    def __str__(self) -> str:
        notes = [f"({printable(note)})" for note in self.notes]
        return "\n  ".join([self.summary(), *self.lines(), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>$\\displaystyle {escape(equation.latex)}$</td>"
            f"<td>{self._describe(equation)}</td></tr>"
            for equation in self.equations
        )
        table = f"<table>{rows}</table>" if rows else ""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p>{escape(self.summary())}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")


def write_whole(coefficients: FloatArray, exponents: IntArray) -> FloatArray:
    """Return coefficients times a factor that makes them whole numbers, if one does."""
    ones = np.ones(len(coefficients))
    units = {int(i): ones for i in np.flatnonzero(exponents.any(axis=1))}
    return _simplest(coefficients, np.zeros((len(ones), 0)), units)[0]


@np.errstate(all="ignore")  # terms may be zero
def estimate_errors(law: Law, rows: FloatArray) -> FloatArray:
    """Return the standard errors of the coefficients of a law without noise, mostly zeros.

    Where rounding allows many numbers, a coefficient is a fitted one, and has an error, if it takes
    more bits to write than the digits that the rows leave, as for ``measure_coefficients``.
    """
    assert law.resolution is not None
    noise = np.linalg.norm(law.gradients(rows) * law.resolution, axis=1) / np.sqrt(12)
    influences = law.weigh_terms(rows) / noise[:, None]  # by the logarithms of the coefficients
    influences = influences[np.isfinite(influences).all(axis=1)]  # rows in which a cell is rounded
    digits = 2 + np.log2(np.linalg.norm(influences, axis=0))
    written = [measure_number(float(f"{abs(value):.12g}")) for value in law.coefficients.tolist()]
    fitted = (np.array(written) > digits) & (law.coefficients != np.round(law.coefficients))
    errors = np.zeros(len(fitted))
    if len(influences):
        inverse = np.linalg.pinv(influences[:, fitted])
        errors[fitted] = np.abs(law.coefficients[fitted]) * np.linalg.norm(inverse, axis=1)
    return errors


@np.errstate(all="ignore")  # a coefficient may be zero
def simplify(
    relation: Relation, sizes: FloatArray, values: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the coefficients of a relation in the units of the table, with their standard errors.

    First as numbers that people write where their errors allow it, then as they were fitted. The
    relation is one of columns divided by ``sizes``, fitted to terms with these ``values``.
    """
    directions = _find_directions(relation, values)
    units = _list_units(relation.exponents, sizes)
    if not units:
        raise ValueError(
            "there is a law whose coefficients differ by more than a factor of "
            f"{2.0**MOST_SHIFT:.0e}; use units in which the columns are of similar size"
        )
    unit, factors = next(iter(units.items()))
    fitted = factors * relation.coefficients / relation.coefficients[unit]
    sizes_of_fit = np.maximum(np.abs(relation.coefficients), np.finfo(float).tiny)
    errors = np.abs(fitted) * np.linalg.norm(directions, axis=1) / sizes_of_fit
    return [_simplest(relation.coefficients, directions, units), (fitted, errors)]


def _find_directions(relation: Relation, values: FloatArray) -> FloatArray:
    """Return changes, of one standard error each, of coefficients whose norm is held fixed.

    They are a root of the covariance matrix.
    """
    sound = relation.sound & values.any(axis=1)
    steepness = np.linalg.norm(relation.gradients[sound], axis=1)
    steepness = np.maximum(steepness, 0.2 * np.median(steepness))
    jacobian = values[sound] / steepness[:, None]
    information = jacobian.T @ jacobian
    # Without the direction of the coefficients themselves, along which nothing changes.
    unit = relation.coefficients / np.linalg.norm(relation.coefficients)
    basis = np.linalg.svd(unit[None])[2][1:]
    squares, vectors = np.linalg.eigh(basis @ information @ basis.T)
    told = squares > len(squares) * np.finfo(float).eps * squares.max(initial=0.0)
    root = basis.T @ (vectors[:, told] / np.sqrt(squares[told]))
    # The fit itself has rounding errors, which do not become smaller with the number of rows.
    noise = max(relation.noise, float(np.finfo(float).eps * np.sqrt(sound.sum())))
    # Where rows that count much have more noise than others, coefficients have larger errors.
    steps = (jacobian * relation.deviations[sound, None]) @ root @ root.T
    even = noise * np.linalg.norm(root, axis=1)
    uneven = np.linalg.norm(steps, axis=0)
    ratio = np.maximum(uneven / np.maximum(even, np.finfo(float).tiny), 1.0)
    return np.asarray(noise * ratio[:, None] * root)


def _list_units(exponents: IntArray, sizes: FloatArray) -> dict[int, FloatArray]:
    """Return terms by whose coefficient the others may be divided.

    Each has factors that carry the others to the units of the table. These are ratios of products
    of the sizes, which may overflow where the ratios do not.
    """
    mantissas, powers = np.frexp(sizes)
    scales, shifts = np.prod(mantissas**exponents, axis=1), exponents @ powers
    found = {}
    for unit in np.flatnonzero(exponents.any(axis=1)).tolist():
        if np.abs(shifts[unit] - shifts).max() <= MOST_SHIFT:
            found[unit] = np.ldexp(scales[unit] / scales, shifts[unit] - shifts)
    return found


def _simplest(
    coefficients: FloatArray, directions: FloatArray, units: Mapping[int, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Divide by the coefficient that makes most of the others simple, and make these whole."""
    best: tuple[Any, ...] | None = None
    with_columns = list(units)
    for unit, factors in units.items():
        ratios = coefficients / coefficients[unit]
        # By the derivatives of c_i / c_u.
        moved = (directions - np.outer(ratios, directions[unit])) / coefficients[unit]
        # Row by row: the factors may be so large that their products overflow.
        ratios, errors, fractions = _simplify_jointly(ratios, moved, unit, factors)
        n_rough = sum(fraction is None for fraction in fractions)
        weight = sum(f.numerator.bit_length() + f.denominator for f in fractions if f is not None)
        sizes = np.log(np.maximum(np.abs(ratios[with_columns]), np.finfo(float).tiny))
        # Numbers near 1, and rather 12.6 than 0.08.
        rank = (n_rough, weight, round(float(np.abs(sizes).sum()), 9), -float(sizes.sum()))
        if best is None or rank < best[0]:
            best = rank, ratios, errors, fractions
    assert best is not None
    _, ratios, errors, fractions = best
    exact = [f for f in fractions if f is not None]
    factor = Fraction(lcm(*(f.denominator for f in exact)))
    if len(exact) == len(fractions):
        factor /= gcd(*(int(f * factor) for f in exact))
    if np.log2(np.abs(ratios).max()) + factor.numerator.bit_length() > MOST_SHIFT:
        factor = Fraction(1)
    values = np.array(
        [
            ratio * float(factor) if f is None else float(f * factor)
            for ratio, f in zip(ratios, fractions, strict=True)
        ]
    )
    rough = np.array([f is None for f in fractions])
    if values[np.argmax(np.abs(values) > 0)] < 0 and not rough.any():
        values = -values
    return values, np.where(rough, errors * float(factor), 0.0)


def _simplify_jointly(
    ratios: FloatArray, directions: FloatArray, unit: int, factors: FloatArray
) -> tuple[FloatArray, FloatArray, list[Fraction | None]]:
    """Replace coefficients by simple numbers, the best known first, and refit the others each time.

    Errors of coefficients are correlated: with one of them rounded on its own, the law fits
    no row. Each step is within a few standard errors given the coefficients that are fixed, so that
    all of them together move the residuals by little. Numbers are simple when they are multiplied
    by ``factors``. Returned are all coefficients, their errors and the simple numbers, None for
    coefficients that are not simple.
    """
    polynomial = Adjustable(ratios, directions)
    fractions: list[Fraction | None] = [None] * len(ratios)
    fractions[unit] = Fraction(1)
    while True:
        sizes = np.abs(polynomial.coefficients)
        errors = np.maximum(polynomial.errors(), 4 * ROUNDING * sizes)  # of the fit itself
        by_error = np.argsort(errors / np.maximum(sizes, np.finfo(float).tiny), kind="stable")
        values, tolerances = factors * polynomial.coefficients, factors * errors
        rough = (i for i in by_error.tolist() if fractions[i] is None)
        tried = ((i, _fraction(float(values[i]), float(tolerances[i]))) for i in rough)
        i, fraction = next((each for each in tried if each[1] is not None), (unit, None))
        if fraction is None:
            tolerances[[each is not None for each in fractions]] = 0.0
            return values, tolerances, fractions
        fractions[i] = fraction
        polynomial.fix(i, float(fraction) / float(factors[i]))


def _fraction(value: float, error: float) -> Fraction | None:
    """Return the simplest number that a coefficient may be, or None.

    Simple are decimal numbers with few digits, and fractions that are not more frequent: between
    two whole numbers lie about q² fractions with denominators up to q, and 10^d decimal numbers. If
    numbers that simple are so dense that one is near by coincidence, none is returned. Nor is one
    that is off by more than tests allow, or takes more bits with the misfit than the digits that
    the error leaves. The number 1 is none that is written.
    """
    if value == 0 or not np.isfinite(value):
        return None
    error += 10.0**-SIGNIFICANT_DIGITS * abs(value)
    fraction = _find_near(value, error)
    if fraction is None or abs(fraction) == 1:
        return fraction
    off = abs(float(fraction) - value) / error
    if off > ndtri(1 - BY_COINCIDENCE / 2):
        return None
    misfit, digits = off**2 / (2 * math.log(2)), 2 + math.log2(max(abs(value) / error, 1.0))
    written = 2 + 2 * math.log2(abs(fraction.numerator) * fraction.denominator)
    written = min(written, measure_number(abs(float(fraction))))
    return fraction if written + misfit <= digits else None


def _find_near(value: float, error: float) -> Fraction | None:
    """Return the simplest number near a coefficient, or None."""
    tolerance = OUTLYING / 2 * error
    largest = 10**SHOWN_DIGITS
    fraction, coincidence = simple_number(value, tolerance)
    # The number 1 is meant wherever 1/2 and 3/2 are not.
    most = 0.5 if abs(fraction) == 1 else BY_COINCIDENCE
    is_short = 0 < abs(fraction.numerator) <= largest and fraction.denominator**2 <= largest
    if is_short and coincidence <= most:
        return fraction
    exponent = int(np.floor(np.log10(abs(value))))
    for n_digits in range(1, SHOWN_DIGITS + 1):
        unit = Fraction(10) ** (exponent + 1 - n_digits)
        rounded = round(value / unit) * unit
        if abs(float(rounded) - value) <= tolerance:
            return rounded if 2 * tolerance <= BY_COINCIDENCE * float(unit) else None
    return None
