"""One law: a short polynomial equation among the columns of a table, in their units."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray, import_extra
from vanishing.equations.text import Term, plain_symbol, printable
from vanishing.laws.fit import Relation, differentiate, evaluate

#: Largest denominator and numerator of a coefficient that is written as a fraction.
LARGEST_DENOMINATOR, LARGEST_NUMERATOR = 20, 10_000
#: Digits of a coefficient that is written as a decimal number, at most.
MOST_DIGITS = 4
#: Standard errors within which a simple number stands for a coefficient.
ROUNDED = 2.5
#: Factors of the standard errors, and share of the rows that rounding must explain, where rounding
#: is the only noise.
WIDER, MOST_EXPLAINED = (4.0, 16.0, 64.0, 256.0), 0.85
#: Share of all numbers that a fraction, or the number 1, may stand for by coincidence.
COINCIDENCE, LIKELY = 0.05, 0.3
#: Power of two by which coefficients of a law may differ, and be multiplied to become whole.
MOST_SHIFT = 900


class Support(NamedTuple):
    """The rows on which a law holds, and the columns that it speaks about."""

    rows: IntArray
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Support: {len(self.rows)} rows, columns {', '.join(map(printable, self.columns))}>"
        )


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
    """

    names: tuple[str, ...]
    exponents: IntArray
    coefficients: FloatArray
    standard_errors: FloatArray
    extent: float
    p_value: float
    rows: IntArray
    bits: float | None = field(default=None, kw_only=True)
    resolution: FloatArray | None = field(default=None, kw_only=True)

    @property
    def degree(self) -> int:
        """Total degree of the polynomial."""
        return int(self.exponents.sum(axis=1).max())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the law speaks about."""
        return tuple(self.names[j] for j in np.flatnonzero(self.exponents.any(axis=0)))

    @property
    def support(self) -> Support:
        """Rows on which the law holds, and columns that it speaks about."""
        return Support(self.rows, self.columns)

    @property
    def expression(self) -> Any:
        """The polynomial as a SymPy expression, in the units of the table."""
        sympy = import_extra("sympy", extra="symbolic", purpose="Law.expression")
        symbols = [sympy.Symbol(name) for name in self.names]
        terms = []
        for powers, value in zip(self.exponents.tolist(), self.coefficients.tolist(), strict=True):
            number = sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)
            factors = [symbol**power for symbol, power in zip(symbols, powers, strict=True)]
            terms.append(sympy.Mul(number, *factors))
        return sympy.Add(*terms)

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        return " = ".join(map(self._write_latex, self._sides()))

    def _write_latex(self, expression: Any) -> str:
        """Write a SymPy expression of the columns, whose names are text and not commands."""
        from vanishing.equations.latex import latex_symbol  # laws are found without it

        sympy = import_extra("sympy", extra="symbolic", purpose="Law.latex")
        names = {sympy.Symbol(name): latex_symbol(name) for name in self.names}
        return str(sympy.latex(expression, symbol_names=names))

    def _sides(self) -> tuple[Any, Any]:
        """Return both sides as SymPy expressions without a minus sign, where there can be none."""
        left, _ = self._split()
        sign = 1 if all(self.coefficients[i] > 0 for i in left) else -1
        expression = self.expression
        kept = Law(
            self.names, self.exponents[left], self.coefficients[left],
            self.standard_errors[left], self.extent, self.p_value, self.rows,
        ).expression  # fmt: skip
        return self.round_numbers(sign * kept), self.round_numbers(sign * (kept - expression))

    def _split(self) -> tuple[list[int], list[int]]:
        """Return the terms of the left and of the right side.

        Terms of one sign on each side; the shorter side, or the one that is a single column, is the
        left one.
        """
        positive = [i for i, value in enumerate(self.coefficients) if value > 0]
        negative = [i for i, value in enumerate(self.coefficients) if value <= 0]
        if not positive or not negative:
            constant = [i for i in range(len(self.coefficients)) if not self.exponents[i].any()]
            first = [i for i in range(len(self.coefficients)) if i not in constant]
            return (first, constant) if constant else (first[:1], first[1:])

        def order(side: list[int]) -> tuple[bool, int, int]:
            is_number = not self.exponents[side].any()
            return is_number, len(side), int(self.exponents[side].sum())

        left, right = sorted([positive, negative], key=order)
        return left, right

    @property
    def sides(self) -> tuple[list[Term], list[Term]]:
        """The terms on the left and on the right of the equals sign, as they are written."""
        left, right = self._split()
        sign = 1.0 if all(self.coefficients[i] > 0 for i in left) else -1.0
        return self._terms(left, sign), self._terms(right, -sign)

    def _terms(self, terms: Sequence[int], sign: float) -> list[Term]:
        """Return some of the terms, highest degree first."""
        found = []
        for i in sorted(terms, key=lambda i: (-int(self.exponents[i].sum()), i)):
            value = sign * float(self.coefficients[i])
            number = write_coefficient(abs(value), float(self.standard_errors[i]))
            powers = self.exponents[i].tolist()
            factors = [(self.names[j], power) for j, power in enumerate(powers) if power]
            found.append(Term(value < 0, "" if number == "1" and factors else number, factors))
        return found

    def __str__(self) -> str:
        left, right = self._split()
        sign = 1.0 if all(self.coefficients[i] > 0 for i in left) else -1.0
        return f"{self.write_terms(left, sign)} = {self.write_terms(right, -sign)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_latex_(self) -> str | None:
        try:
            return f"$\\displaystyle {self.latex}$"
        except ImportError:  # notebooks show the text
            return None

    def round_numbers(self, expression: Any) -> Any:
        """Round the numbers of an expression that was made of the law to the digits of the law.

        Parameters
        ----------
        expression : SymPy expression

        Returns
        -------
        SymPy expression
        """
        sympy = import_extra("sympy", extra="symbolic", purpose="Law.round_numbers")
        digits = [
            count_digits(value, error)
            for value, error in zip(self.coefficients, self.standard_errors, strict=True)
            if value != int(value)
        ]
        number = min(digits, default=12)
        rounded = {each: sympy.Float(each, number) for each in expression.atoms(sympy.Float)}
        return expression.xreplace(rounded)

    def write_terms(self, terms: Sequence[int], sign: float) -> str:
        """Write the sum of some terms.

        Parameters
        ----------
        terms : sequence of int
            Numbers of the terms.
        sign : float
            1 or -1, by which the coefficients are multiplied.

        Returns
        -------
        str
        """
        written = ""
        for term in self._terms(terms, sign):
            factors = [
                plain_symbol(name) + (f"^{power}" if power > 1 else "")
                for name, power in term.powers
            ]
            if term.number:
                factors.insert(0, term.number)
            joint = (" - " if term.is_negative else " + ") if written else "-" * term.is_negative
            written += joint + "*".join(factors)
        return written or "0"

    def values(self, X: FloatArray) -> FloatArray:
        """Evaluate the polynomial.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
        """
        return np.asarray(evaluate(self.exponents, check_rows(X, self.names)) @ self.coefficients)

    def gradients(self, X: FloatArray) -> FloatArray:
        """Evaluate the gradients of the polynomial.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows, n_columns)
        """
        rows, units = check_rows(X, self.names), np.ones(len(self.names))
        return np.asarray(differentiate(self.exponents, rows, units) @ self.coefficients)


def check_rows(X: Any, names: Sequence[str]) -> FloatArray:
    """Return rows as numbers, or raise if they have other columns than those of the names."""
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(
            f"expected rows of {len(names)} columns ({', '.join(names)}), got shape {rows.shape}"
        )
    return rows


class Equations:
    """A sequence of equations that is printed as a list."""

    equations: tuple[Law, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.equations)

    def __iter__(self) -> Any:
        return iter(self.equations)

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

    def _lines(self) -> list[str]:
        return [str(equation) for equation in self.equations]

    def __str__(self) -> str:
        notes = [f"({printable(note)})" for note in self.notes]
        return "\n  ".join([self.summary(), *self._lines(), *notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>$\\displaystyle {escape(equation.latex)}$</td><td>{equation.degree}</td>"
            f"<td>{equation.extent:.2g}</td><td>{equation.p_value:.1g}</td></tr>"
            for equation in self.equations
        )
        head = "<tr><th>equation</th><th>degree</th><th>extent</th><th>p-value</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else ""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p>{escape(self.summary())}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")


def write_coefficient(value: float, error: float) -> str:
    """Write a number with the digits that its standard error leaves."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{count_digits(value, error)}g}"


def count_digits(value: float, error: float) -> int:
    """Return how many digits of a number its standard error leaves."""
    if error <= 0:
        return 12
    return int(np.clip(np.ceil(np.log10(abs(value) / error)) + 1, 2, 12))


def write_whole(coefficients: FloatArray, exponents: IntArray) -> FloatArray:
    """Return coefficients times a factor that makes them whole numbers, if one does."""
    ones = np.ones(len(coefficients))
    units = {int(i): ones for i in np.flatnonzero(exponents.any(axis=1))}
    return _simplest(coefficients, np.zeros((len(ones), len(ones))), units)[0]


def make_law(
    relation: Relation,
    sizes: FloatArray,
    values: FloatArray,
    names: tuple[str, ...],
    p_value: float,
    row_numbers: IntArray,
    written: tuple[FloatArray, FloatArray] | None = None,
) -> Law:
    """Return a fitted relation as a law in the units of the table.

    Parameters
    ----------
    relation : Relation
        Of the columns divided by ``sizes``.
    sizes : array of shape (n_columns,)
    values : array of shape (n_rows, n_terms)
        Values of the terms that it was fitted to.
    names : tuple of str
    p_value : float
    row_numbers : int array of shape (n_rows,)
    written : (array of shape (n_rows, n_columns), array of shape (n_columns,)), optional
        The numbers of the table, and the units of their last digits.
    """
    covariance = _covariance(relation, values)
    units = _list_units(relation.exponents, sizes, names)

    def write_simply(wider: float) -> tuple[FloatArray, FloatArray]:
        return _simplest(relation.coefficients, wider**2 * covariance, units)

    simple = write_simply(1.0)
    if written is not None and simple[1].any():
        wide = [write_simply(wider) for wider in WIDER]
        simple = _explain_by_rounding(relation.exponents, simple, wide, *written)
    coefficients, standard_errors = simple
    return Law(
        names,
        relation.exponents,
        coefficients,
        standard_errors,
        relation.noise,
        p_value,
        row_numbers[relation.sound],
    )


def _explain_by_rounding(
    exponents: IntArray,
    fitted: tuple[FloatArray, FloatArray],
    simpler: list[tuple[FloatArray, FloatArray]],
    rows: FloatArray,
    units: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the first simpler coefficients with which rounding explains as many rows, if any do.

    Rounding is no random noise: halves are rounded up, and coefficients are off by more than their
    standard errors. But no row is off by more than its rounding if the coefficients are right.
    """
    terms, gradients = evaluate(exponents, rows), differentiate(exponents, rows, units)

    def explain(coefficients: FloatArray) -> float:
        most = np.abs(gradients @ coefficients).sum(axis=1) / 2
        return float(np.mean(np.abs(terms @ coefficients) <= most * (1 + 1e-9)))

    least = max(explain(fitted[0]), MOST_EXPLAINED)
    for each in simpler:
        if np.count_nonzero(each[1]) < np.count_nonzero(fitted[1]) and explain(each[0]) >= least:
            return each
    return fitted


def _covariance(relation: Relation, values: FloatArray) -> FloatArray:
    """Return the covariance of the coefficients, whose Euclidean norm is held fixed."""
    sound = relation.sound & values.any(axis=1)
    steepness = np.linalg.norm(relation.gradients[sound], axis=1)
    steepness = np.maximum(steepness, 0.2 * np.median(steepness))
    jacobian = values[sound] / steepness[:, None]
    information = jacobian.T @ jacobian
    # Without the direction of the coefficients themselves, along which nothing changes.
    unit = relation.coefficients / np.linalg.norm(relation.coefficients)
    basis = np.linalg.svd(unit[None])[2][1:]
    inner = basis @ information @ basis.T
    # The fit itself has rounding errors, which do not become smaller with the number of rows.
    noise = max(relation.noise, float(np.finfo(float).eps * np.sqrt(sound.sum())))
    inverse = basis.T @ np.linalg.pinv(inner, hermitian=True) @ basis
    # Where rows that count much have more noise than others, coefficients have larger errors.
    steps = (jacobian * relation.deviations[sound, None]) @ inverse
    uneven = steps.T @ steps
    even = noise**2 * inverse
    ratio = np.sqrt(np.maximum(np.diag(uneven) / np.maximum(np.diag(even), 1e-300), 1.0))
    return np.asarray(even * np.outer(ratio, ratio))


def _list_units(
    exponents: IntArray, sizes: FloatArray, names: tuple[str, ...]
) -> dict[int, FloatArray]:
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
    if not found:
        involved = [names[j] for j in np.flatnonzero(exponents.any(axis=0))]
        raise ValueError(
            f"there is a law of {', '.join(involved)} whose coefficients differ by more than a "
            f"factor of {2.0**MOST_SHIFT:.0e}; use units in which these columns are of similar size"
        )
    return found


def _simplest(
    coefficients: FloatArray, covariance: FloatArray, units: Mapping[int, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Divide by the coefficient that makes most of the others simple, and make these whole."""
    best: tuple[Any, ...] | None = None
    with_columns = list(units)
    for unit, factors in units.items():
        ratios = coefficients / coefficients[unit]
        # Of c_i / c_u: variance by its derivatives.
        slopes = np.eye(len(ratios)) / coefficients[unit]
        slopes[:, unit] -= ratios / coefficients[unit]
        spread = slopes @ covariance @ slopes.T
        # Row by row: the factors may be so large that their products overflow.
        ratios, errors, fractions = _simplify_jointly(ratios, spread, unit, factors)
        n_rough = sum(fraction is None for fraction in fractions)
        weight = sum(f.numerator.bit_length() + f.denominator for f in fractions if f is not None)
        sizes = np.log(np.abs(ratios[with_columns]))
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
    ratios: FloatArray, covariance: FloatArray, unit: int, factors: FloatArray
) -> tuple[FloatArray, FloatArray, list[Fraction | None]]:
    """Replace coefficients by simple numbers, the best known first, and refit the others each time.

    Errors of coefficients are correlated: with one of them rounded on its own, the law fits
    no row. Given that coefficient i is f instead of r_i, the others are normal with the mean
    r + C_i (f - r_i) / C_ii and the covariance C - C_i C_i' / C_ii. Each step is within a few of
    these conditional errors, so that all of them together move the residuals by little. Numbers are
    simple when they are multiplied by ``factors``.

    Returns
    -------
    ratios, errors : arrays of shape (n_terms,)
        Of the coefficients that are not simple, given those that are.
    fractions : list of Fraction or None
    """
    ratios, covariance = ratios.copy(), covariance.copy()
    fractions: list[Fraction | None] = [None] * len(ratios)
    fractions[unit] = Fraction(1)
    found = True
    while found:
        found = False
        rounding = 4e-15 * np.abs(ratios)  # of the fit itself
        errors = np.maximum(np.sqrt(np.clip(np.diag(covariance), 0, None)), rounding)
        relative = errors / np.maximum(np.abs(ratios), np.finfo(float).tiny)
        for i in np.argsort(relative, kind="stable").tolist():
            if fractions[i] is not None:
                continue
            fraction = _fraction(float(factors[i] * ratios[i]), float(factors[i] * errors[i]))
            if fraction is None:
                continue
            fractions[i], found = fraction, True
            simple = float(fraction) / factors[i]
            if covariance[i, i] > 0:
                gain = covariance[:, i] / covariance[i, i]
                ratios = ratios + gain * (simple - ratios[i])
                covariance = covariance - np.outer(gain, covariance[i])
            ratios[i] = simple
            covariance[i, :] = covariance[:, i] = 0.0
            break
    errors[[each is not None for each in fractions]] = 0.0
    return factors * ratios, factors * errors, fractions


def _fraction(value: float, error: float) -> Fraction | None:
    """Return the simplest number that a coefficient may be, or None.

    Simple are fractions with a small denominator, and decimal numbers with few digits. If numbers
    that simple are so dense that one is near by coincidence, none is returned.
    """
    if value == 0 or not np.isfinite(value):
        return None
    tolerance = ROUNDED * error + 1e-12 * abs(value)
    for denominator in range(1, LARGEST_DENOMINATOR + 1):
        numerator = round(value * denominator)
        if not 0 < abs(numerator) <= LARGEST_NUMERATOR:
            continue
        if abs(numerator / denominator - value) <= tolerance:
            # About denominator² fractions this simple lie between two whole numbers.
            share = 2 * tolerance * denominator**2
            is_one = denominator == 1 and abs(numerator) == 1
            if share <= (LIKELY if is_one else COINCIDENCE):
                return Fraction(numerator, denominator)
            break
    exponent = int(np.floor(np.log10(abs(value))))
    for n_digits in range(1, MOST_DIGITS + 1):
        unit = Fraction(10) ** (exponent + 1 - n_digits)
        rounded = round(value / unit) * unit
        if abs(float(rounded) - value) <= tolerance:
            return rounded if 2 * tolerance <= COINCIDENCE * float(unit) else None
    return None
