"""An equation that may be a law, and its length in bits.

The length is what it takes to write the equation down: its terms, of all terms of that degree, and
its coefficients, either as numbers that people use or with the digits that the residuals need.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, lazy
from vanishing.laws.cells import Cells
from vanishing.levels import SAME_NUMBER, SIGNIFICANT_DIGITS

#: Denominators that people use: small numbers, and the parts of a day, a month and a year.
DENOMINATORS = (*range(2, 13), 24, 30, 52, 360, 365)

#: Relative error up to which a number agrees in all digits that people and programs write.
EXACT_DIGITS = 10.0 ** (1 - SIGNIFICANT_DIGITS)

#: A product of powers of columns: ((column, power), ...), empty for the constant. The power 0 is
#: the logarithm, the limit of (x^p - 1) / p, as in the family of Box and Cox.
Term = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Candidate:
    """An equation that may be a law: the sum of its terms times their coefficients is zero."""

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]

    @lazy
    def columns(self) -> tuple[int, ...]:
        """The columns that it speaks about, in order."""
        return tuple(sorted({j for term in self.terms for j, _ in term}))

    @property
    def degree(self) -> int:
        """Total degree; a logarithm counts as a column does."""
        return max(sum(power or 1 for _, power in term) for term in self.terms)

    @property
    def key(self) -> tuple[tuple[Term, float], ...]:
        """The same for equations that differ in order and in a factor only."""
        ordered = sorted(zip(self.terms, self.coefficients, strict=True))
        return tuple((term, float(f"{value / ordered[0][1]:.9e}")) for term, value in ordered)

    def evaluate_terms(self, rows: FloatArray) -> FloatArray:
        """Return the terms times their coefficients, shape (n_rows, n_terms)."""
        values = np.empty((len(rows), len(self.terms)))
        for i, (term, coefficient) in enumerate(zip(self.terms, self.coefficients, strict=True)):
            values[:, i] = coefficient
            for j, power in term:
                values[:, i] *= rows[:, j] ** power if power else np.log(rows[:, j])
        return values

    def differentiate(self, rows: FloatArray, column: int) -> FloatArray:
        """Return the derivative by a column, shape (n_rows,)."""
        slopes = np.zeros(len(rows))
        for term, coefficient in zip(self.terms, self.coefficients, strict=True):
            powers = dict(term)
            if column in powers:
                factor = np.full(len(rows), coefficient * (powers[column] or 1))
                for j, power in term:
                    if j == column or power:
                        factor *= rows[:, j] ** (power - (j == column))
                    else:
                        factor *= np.log(rows[:, j])
                slopes += factor
        return slopes

    @property
    def logs(self) -> frozenset[int]:
        """The columns that stand as logarithms."""
        return frozenset(j for term in self.terms for j, power in term if not power)

    @property
    def has_logs(self) -> bool:
        """Whether a term is a logarithm."""
        return bool(self.logs)

    def is_product(self, sizes: FloatArray) -> bool:
        """Say whether it is a product of linear equations, in columns of some sizes.

        Then each row keeps one of the two, and neither is an equation of the table. A quadratic is
        one if its symmetric matrix, with the constant as a further column, has a positive and a
        negative eigenvalue and no others. So is a form in two columns of any degree if it has
        several real roots, each a ratio of the two.
        """
        if self.degree < 2 or self.has_logs:
            return False
        degrees = {sum(power for _, power in term) for term in self.terms}
        if len(self.columns) == 2 and len(degrees) == 1:
            first, second = self.columns
            form = np.zeros(self.degree + 1)
            for term, coefficient in zip(self.terms, self.coefficients, strict=True):
                powers = {first: 0, second: 0, **dict(term)}
                form[powers[first]] = coefficient * float(sizes[first]) ** powers[first]
                form[powers[first]] *= float(sizes[second]) ** powers[second]
            roots = np.roots(form) if np.isfinite(form).all() else np.empty(0)
            return bool(np.sum(np.abs(roots.imag) <= SAME_NUMBER * np.abs(roots)) > 1)
        if self.degree > 2:
            return False
        place = {j: i for i, j in enumerate(self.columns)}
        matrix = np.zeros((len(place) + 1, len(place) + 1))
        for term, coefficient in zip(self.terms, self.coefficients, strict=True):
            factors = [j for j, power in term for _ in range(power)]
            i, k = ([place[j] for j in factors] + [-1, -1])[:2]
            value = coefficient * math.prod(float(sizes[j]) for j in factors) / 2
            matrix[i, k] += value
            matrix[k, i] += value
        if not np.isfinite(matrix).all():
            return False
        eigenvalues = np.linalg.eigvalsh(matrix)
        zero = SAME_NUMBER * np.abs(eigenvalues).max()
        return bool((eigenvalues > zero).sum() <= 1 >= (eigenvalues < -zero).sum())

    def list_powers(self, column: int) -> set[int]:
        """Return the powers in which a column occurs, 0 for its logarithm."""
        return {power for term in self.terms for j, power in term if j == column}

    def is_solvable(self, column: int) -> bool:
        """Say whether a column is a root of a polynomial, or a logarithm, of what the others give.

        An equation of a column and its logarithm may have roots everywhere.
        """
        return 0 not in (powers := self.list_powers(column)) or len(powers) == 1


def find_complete(candidate: Candidate, cells: Cells) -> BoolArray:
    """Return the rows that have all cells of a candidate, positive ones where it has logarithms."""
    complete = cells.present[:, list(candidate.columns)].all(axis=1)
    for j in candidate.logs:
        complete &= np.nan_to_num(cells.values[:, j]) > 0
    return np.asarray(complete)


def predict(candidate: Candidate, values: FloatArray, target: int) -> FloatArray:
    """Return the root of a candidate in a column that is nearest to its cell, row by row."""
    with np.errstate(all="ignore"):
        terms = candidate.evaluate_terms(values)
        slope = candidate.differentiate(values, target)
        return np.asarray(values[:, target] - solve(candidate, values, terms, target, slope))


def solve(
    candidate: Candidate, values: FloatArray, terms: FloatArray, target: int, slope: FloatArray
) -> FloatArray:
    """Return by how much the target differs from the nearest root of the law, row by row."""
    step = terms.sum(axis=1) / slope
    if candidate.list_powers(target) == {1}:
        return np.asarray(step)
    if candidate.list_powers(target) == {0}:  # a step in log x
        return np.asarray(-values[:, target] * np.expm1(-step / values[:, target]))
    moved = values.copy()
    for _ in range(6):  # Newton's method doubles the digits each time
        moved[:, target] -= step
        slope = candidate.differentiate(moved, target)
        value = candidate.evaluate_terms(moved).sum(axis=1)
        step = np.where(slope != 0, value / np.where(slope != 0, slope, 1.0), 0.0)
    return np.asarray(values[:, target] - moved[:, target])


def measure_structure(candidate: Candidate, n_columns: int) -> float:
    """Return the bits that tell which terms a candidate has, and which column is its target."""
    n_terms, degree = len(candidate.terms), candidate.degree
    n_columns *= 1 + candidate.has_logs
    n_monomials = math.comb(n_columns + degree, degree)
    bits = math.log2(math.comb(max(n_monomials, n_terms), n_terms))
    columns = candidate.columns
    if degree == 1 and _is_total_of_neighbors(columns):
        bits = min(bits, 3 * math.log2(max(n_columns, 2)) + 1)
    # Of equations that are alike, the one whose columns stand together comes first.
    together = SAME_NUMBER * (columns[-1] - columns[0])
    return bits + n_terms + degree + math.log2(len(columns)) + together


def count_dimensions(candidate: Candidate, cells: Cells) -> int:
    """Return how many things terms measure whose units are known; numbers may have any unit."""
    found = set()
    for term in candidate.terms if cells.dimensions and not candidate.has_logs else ():
        powers: Counter[str] = Counter()
        factors = [(cells.dimensions[j], power) for j, power in term]
        if not factors or any(dimension is None for dimension, _ in factors):
            continue
        for dimension, power in factors:
            for name, exponent in dimension or ():
                powers[name] += exponent * power
        found.add(frozenset((name, power) for name, power in powers.items() if power))
    return len(found)


def measure_length(candidate: Candidate, n_columns: int, n_rows: int) -> float:
    """Return the bits of a candidate: its terms, and coefficients fitted to some rows."""
    influences = np.ones((n_rows, len(candidate.terms)))
    bits, _ = measure_coefficients(candidate.coefficients, influences)
    return measure_structure(candidate, n_columns) + bits


def _is_total_of_neighbors(columns: Sequence[int]) -> bool:
    for total in columns if len(columns) > 1 else ():
        others = [j for j in columns if j != total]
        gap = len(others) - 1 + (others[0] < total < others[-1])
        if others[-1] - others[0] == gap:
            return True
    return False


def measure_coefficients(
    coefficients: Sequence[float], influences: FloatArray, *, is_rounded: bool = True
) -> tuple[float, int]:
    """Return the bits of the coefficients, and how many of them are fitted numbers.

    One of them is 1. Others are written as numbers that people use, or with the digits that the
    residuals need: ½ log₂ of their Fisher information, of which ``influences`` are the roots row by
    row. Rounding allows many numbers, so that the shortest of these may be a fitted one. Of those
    that need as many digits, the one that people would write comes first.
    """
    information = np.sum(influences**2, axis=0)
    fitted = 2 + np.round(0.5 * np.log2(np.maximum(information, 1.0)))
    longest = 2 * SIGNIFICANT_DIGITS * math.log2(10)
    best = math.inf, 0
    for i, unit in enumerate(coefficients):
        bits, n_fitted = 0.0, 0
        for k, (value, digits) in enumerate(zip(coefficients, fitted.tolist(), strict=True)):
            written = measure_number(float(f"{abs(value / unit):.12g}"))
            if i != k:
                bits += min(digits, written) + SAME_NUMBER * min(written, longest)
            n_fitted += math.isinf(written) or (is_rounded and digits < written)
        best = min(best, (bits, n_fitted))
    return best


def measure_digits(coefficients: FloatArray) -> float:
    """Return the bits of coefficients of an orthonormal basis, in units of the noise."""
    return float(np.sum(2 + np.log2(np.maximum(np.abs(coefficients), 1.0))))


@lru_cache(maxsize=65536)
def measure_number(value: float) -> float:
    """Return the bits of a number that people write: few digits, or a fraction; else infinity.

    Examples
    --------
    >>> from vanishing.laws.candidate import measure_number
    >>> measure_number(1.0)
    1.0
    >>> round(measure_number(0.19), 1), round(measure_number(1 / 3), 1), measure_number(0.123456789)
    (13.7, 5.2, inf)
    """
    power = math.floor(math.log10(value)) if 0 < value < math.inf else 0
    best = math.inf
    for n_digits in range(1, 8):
        digits = round(value / 10.0 ** (power + 1 - n_digits))
        if digits and abs(digits * 10.0 ** (power + 1 - n_digits) / value - 1) < EXACT_DIGITS:
            zeros = power + 1 - n_digits
            while digits % 10 == 0:
                digits, zeros = digits // 10, zeros + 1
            shift = 2 * math.log2(abs(zeros) + 1) + 1 if zeros else 0.0
            best = 1 + 2 * math.log2(digits) + shift
            break
    for denominator in DENOMINATORS:
        numerator = round(value * denominator)
        # Every large number is near a fraction.
        is_near = 0 < numerator < 10**7 and abs(numerator / denominator / value - 1) < EXACT_DIGITS
        if is_near:
            best = min(best, 2 + 2 * math.log2(numerator) + 2 * math.log2(denominator))
            break
    return best
