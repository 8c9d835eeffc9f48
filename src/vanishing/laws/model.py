"""What a law is: an equation that pays for itself in bits.

A law lets one of its columns, the *target*, be written down from the others. With the residuals r_i
of the law g solved for its target j in row i,

    bits = Σ_i log₂ { [(1 - ε) p(x_ij | law) + ε p₀(x_ij)] / p₀(x_ij) } - cost,

where ε is the share of wrong cells, p₀ the probability of the cell without the law (``cells.py``),
and cost the length of the law itself: its columns and terms, its coefficients with the digits that
the residuals need, its noise. By Kraft's inequality, costs are probabilities with a sum of at
most one, so that chance gives any law b bits with a probability of about 2^-b.

Each law that is accepted has one target, and targets do not depend on each other in a circle. So an
equation that follows from known laws has no target left that it could tell anything new about.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.cells import ROUNDING, Cells, round_normal

#: Bits from which on an equation is a law: chance gives one in a thousand tables.
ENOUGH_BITS = 10.0
#: How often a number is wrong: an assumption, one cell in a hundred.
WRONG_CELLS = 0.01
#: Noise, in spreads of a column, that a correlation has. A law is told from it by its bits.
NOISE_OF_CORRELATIONS = 0.1
#: Correlation of the residuals of a false law with what it leaves out, which must be seen if there.
TELLING_CORRELATION = 0.5
#: Noise, in spreads, with which a prediction says nothing about a cell.
UNINFORMATIVE = 0.3
#: Denominators that people use: small numbers, and the parts of a day, a month and a year.
DENOMINATORS = (*range(2, 13), 24, 30, 52, 360, 365)
#: Relative error up to which a number agrees in all digits that people and programs write.
EXACT_DIGITS = 1e-11
#: Relative difference up to which two numbers are the same coefficient.
SAME_NUMBER = 1e-9

#: Quantiles of the residuals that the level of the noise is estimated from: some are wrong cells.
QUANTILES = (0.3, 0.5, 0.68, 0.9)

#: A product of powers of columns: ((column, power), ...), empty for the constant.
Term = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Candidate:
    """An equation that may be a law: the sum of its terms times their coefficients is zero."""

    terms: tuple[Term, ...]
    coefficients: tuple[float, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it speaks about, in order."""
        return tuple(sorted({j for term in self.terms for j, _ in term}))

    @property
    def degree(self) -> int:
        """Total degree."""
        return max(sum(power for _, power in term) for term in self.terms)

    @property
    def key(self) -> tuple[tuple[Term, float], ...]:
        """The same for equations that differ in order and in a factor only."""
        ordered = sorted(zip(self.terms, self.coefficients, strict=True))
        return tuple((term, round(value / ordered[0][1], 9)) for term, value in ordered)

    def evaluate_terms(self, rows: FloatArray) -> FloatArray:
        """Return the terms times their coefficients, shape (n_rows, n_terms)."""
        values = np.empty((len(rows), len(self.terms)))
        for i, (term, coefficient) in enumerate(zip(self.terms, self.coefficients, strict=True)):
            values[:, i] = coefficient
            for j, power in term:
                values[:, i] *= rows[:, j] ** power
        return values

    def differentiate(self, rows: FloatArray, column: int) -> FloatArray:
        """Return the derivative by a column, shape (n_rows,)."""
        slopes = np.zeros(len(rows))
        for term, coefficient in zip(self.terms, self.coefficients, strict=True):
            powers = dict(term)
            if column in powers:
                factor = np.full(len(rows), coefficient * powers[column])
                for j, power in term:
                    factor *= rows[:, j] ** (power - (j == column))
                slopes += factor
        return slopes

    def is_curved(self, column: int) -> bool:
        """Say whether a column occurs in a higher power than one."""
        return any(j == column and power > 1 for term in self.terms for j, power in term)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a candidate as the law of one target.

    Attributes
    ----------
    bits : float
    target : int
    gains : array of shape (n_rows,)
        Bits of each row; 0 where a cell is blank, or the law says nothing.
    broken : boolean array of shape (n_rows,)
        Rows that are likelier without the law.
    n_rows : int
        Different rows that speak for the law or against it.
    rounded : tuple of int
        Columns whose rounding is needed to explain the rows.
    """

    candidate: Candidate
    bits: float
    target: int
    gains: FloatArray
    broken: BoolArray
    n_rows: int
    rounded: tuple[int, ...]


def judge(
    candidate: Candidate,
    cells: Cells,
    known: dict[int, FloatArray],
    targets: Iterable[int] | None = None,
    *,
    has_noise: bool = False,
    excluded: BoolArray | None = None,
) -> Evidence | None:
    """Return the evidence for a candidate with its best target; None if it is not enough.

    Parameters
    ----------
    candidate : Candidate
    cells : Cells
    known : dict of int to array of shape (n_rows,)
        Bits that known laws save already, by their targets.
    targets : iterable of int, optional
        Columns that may be the target; all by default.
    has_noise : bool
        Whether the numbers are measured; otherwise they are exact or rounded.
    excluded : boolean array of shape (n_rows,), optional
        Rows that are left out.
    """
    columns = list(candidate.columns)
    present = cells.present[:, columns].all(axis=1)
    complete = np.flatnonzero(present if excluded is None else present & ~excluded)
    # Each different row of the law's columns counts once: repeated rows are not evidence.
    _, first, which = np.unique(
        cells.levels[complete][:, columns], axis=0, return_index=True, return_inverse=True
    )
    if len(first) <= len(candidate.terms):
        return None
    rows = complete[first]
    length = measure_structure(candidate, len(cells.varying))
    best: Evidence | None = None
    for target in sorted(columns if targets is None else targets):
        if np.ptp(cells.values[rows, target]) == 0:
            continue
        code = _Code(candidate, cells, rows, target)
        write = code.write_with_noise if has_noise else code.write_exactly
        # Of equal targets the last one: people compute columns from those before.
        least = length + (ENOUGH_BITS if best is None else best.bits - SAME_NUMBER)
        # What other columns tell about the target takes longer to find, and only leaves less.
        for columns_beside in ([], columns):
            alone = cells.log_without_law(target, columns_beside, rows)
            if target in known:
                alone = np.minimum(alone + known[target][rows], 0.0)
            code.alone = alone
            found = write()
            if found is None or found.bits <= least:
                found = None
                break
        if found is not None:
            gains = np.zeros(len(cells.values))
            gains[complete] = found.gains[which.ravel()]
            broken = np.zeros(len(cells.values), dtype=bool)
            broken[complete] = found.broken[which.ravel()]
            n_rows = int((~found.quiet).sum())
            bits = found.bits - length
            best = Evidence(candidate, bits, target, gains, broken, n_rows, found.rounded)
    return best


class _Written(NamedTuple):
    """The target as it is written down by a law: bits of the rows less those of the numbers."""

    bits: float
    gains: FloatArray
    broken: BoolArray
    quiet: BoolArray
    rounded: tuple[int, ...]
    noise: FloatArray
    share: float


class _Code:
    """Writes the target of a candidate down, in rows that are all different."""

    def __init__(self, candidate: Candidate, cells: Cells, rows: IntArray, target: int) -> None:
        self.candidate = candidate
        self.cells = cells
        self.rows = rows
        self.target = target
        #: log₂ of the probability of the cells without the law.
        self.alone = cells.log_alone[rows, target]
        self.values = cells.values[rows]
        self.unit = cells.coarsen(target)
        self.spread = float(cells.spreads[target])
        terms = candidate.evaluate_terms(self.values)
        self.slopes = {j: candidate.differentiate(self.values, j) for j in candidate.columns}
        size, slope = np.abs(terms).sum(axis=1), self.slopes[target]
        largest = np.abs(self.values[:, target]).max()
        # The law does not speak of the target where its derivative is zero.
        self.silent: BoolArray = np.abs(slope) * largest <= 4 * ROUNDING * size
        self.divisor = np.where(self.silent, 1.0, slope)
        with np.errstate(all="ignore"):
            off = np.abs(_solve(candidate, self.values, terms, target, self.divisor))
            self.residuals = np.where(self.silent, 0.0, off)
            self.influences = terms / self.divisor[:, None]
            self.rounding = ROUNDING * size / np.abs(self.divisor)
        self.silent |= ~np.isfinite(self.residuals)
        # Nor may the law be off there: 0 = price is false, whatever x says in 0 x = price.
        most = sum(np.abs(each) * cells.resolution[j] for j, each in self.slopes.items())
        self.violated = self.silent & (np.abs(terms.sum(axis=1)) > most + 64 * ROUNDING * size)
        # A square has two roots: one bit tells which.
        self.choice = 1.0 if candidate.is_curved(target) else 0.0

    def write_exactly(self) -> _Written | None:
        """Write the target with residuals that are zero, or that rounding explains."""
        unit, target = self.unit, self.values[:, self.target]
        # Eleven digits agree, or as many as the rounding errors of the sum leave.
        digits = EXACT_DIGITS * np.abs(target)
        noise = np.maximum(32 * self.rounding, digits)
        told = np.maximum(digits, unit) / np.maximum(noise, unit)
        likelihood = np.where(self.residuals <= noise, np.minimum(1.0, told), 0.0)
        best = self._write(likelihood, noise, 0)
        if best is None or best.broken.any():
            for rounded, noise in self._round_columns():
                written = self._write(round_normal(self.residuals, noise, unit), noise, 1)
                if written is not None and (best is None or written.bits > best.bits):
                    best = written._replace(rounded=rounded)
        if best is None:
            return None
        cost, is_fitted = self._measure_coefficients(best)
        best = best._replace(bits=best.bits - cost)
        if best.rounded or is_fitted:
            # Coefficients that are fitted follow any trend, and rounding hides what they miss.
            return self._compare(best, np.full(len(self.rows), NOISE_OF_CORRELATIONS * self.spread))
        return best

    def _round_columns(self) -> Iterator[tuple[tuple[int, ...], FloatArray]]:
        """Yield columns that may be rounded, and the noise that this adds to the target.

        The target is, and then the others, the finest first: quantities and rates may have few
        digits, or none, and be exact all the same.
        """
        rounded: tuple[int, ...] = (self.target,)
        squares = self.rounding**2
        yield rounded, self.rounding
        units = self.cells.resolution / np.sqrt(12)
        parts = {
            j: (slope * units[j] / self.divisor) ** 2
            for j, slope in self.slopes.items()
            if j != self.target
        }
        for j in sorted(parts, key=lambda j: float(np.median(parts[j]))):
            rounded, squares = (*rounded, j), squares + parts[j]
            yield rounded, np.sqrt(squares)

    def write_with_noise(self) -> _Written | None:
        """Write the target with normal noise.

        It is that of the target, or of all columns in proportion to their spreads or their values.
        """
        everywhere = self._propagate(self.cells.spreads)
        with np.errstate(all="ignore"):
            by_value = self._propagate(np.abs(self.values))
        self.violated = np.zeros(len(self.rows), dtype=bool)  # by noise, for all one knows
        best: _Written | None = None
        for shape in (np.full(len(self.rows), self.spread), everywhere, by_value):
            known = ~self.silent & np.isfinite(shape) & (shape > 0)
            if known.sum() <= len(self.candidate.terms):
                continue
            scaled = self.residuals[known] / shape[known]
            levels = {float(np.quantile(scaled, q)) / float(ndtri((1 + q) / 2)) for q in QUANTILES}
            for level in levels:
                noise = np.hypot(level * shape, self.rounding)
                written = self._write(round_normal(self.residuals, noise, self.unit), noise, 1)
                if written is not None and (best is None or written.bits > best.bits):
                    best = written
        if best is None:
            return None
        best = best._replace(bits=best.bits - self._measure_coefficients(best)[0])
        return self._compare(best, NOISE_OF_CORRELATIONS * everywhere)

    def _propagate(self, units: FloatArray) -> FloatArray:
        """Return the noise of the target that noise of the columns causes, to first order."""
        units = np.broadcast_to(units, self.values.shape)
        squares = [(slope * units[:, j]) ** 2 for j, slope in self.slopes.items()]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)) / np.abs(self.divisor))

    def _write(
        self, likelihood: FloatArray, noise: FloatArray, n_parameters: int
    ) -> _Written | None:
        """Return the code with the best share of wrong cells, without that of the coefficients."""
        n_rows = len(self.rows)
        quiet = self.silent | (noise > UNINFORMATIVE * self.spread)
        n_speaking = int((~quiet | self.violated).sum())
        if n_speaking <= len(self.candidate.terms):
            return None
        logs = np.log2(np.maximum(likelihood, np.finfo(float).tiny))
        ratio = np.where(quiet, 0.0, logs - self.choice - self.alone)
        rare, often = 1 / (n_rows + 2), float(((ratio < 0) | self.violated).sum()) / n_speaking
        best: _Written | None = None
        for share in [rare, often] if rare < often < 0.5 else [rare]:
            gains = np.where(
                quiet, 0.0, np.logaddexp2(math.log2(1 - share) + ratio, math.log2(share))
            )
            gains[self.violated] = math.log2(share)
            broken = (ratio < math.log2(share)) & ~quiet | self.violated
            if broken.any() and not are_errors(int(broken.sum()), n_speaking, len(self.slopes)):
                continue
            cost = 0.5 * math.log2(n_rows) * (n_parameters + (share > rare)) + 1
            bits = float(gains.sum()) - cost
            if best is None or bits > best.bits:
                best = _Written(bits, gains, broken, quiet, (), noise, share)
        return best

    def _measure_coefficients(self, written: _Written) -> tuple[float, bool]:
        kept = ~written.quiet & ~written.broken
        errors = np.hypot(written.noise, self.unit / np.sqrt(12))[kept]
        return _measure_coefficients(
            self.candidate.coefficients, self.influences[kept] / errors[:, None]
        )

    def _compare(self, written: _Written, correlated: FloatArray) -> _Written | None:
        """Return the code if it says more than the rows above and below, and than a correlation."""
        between = self.cells.log_between[self.rows, self.target] - self.alone
        written = written._replace(
            bits=written.bits - max(float(between[~written.quiet].sum()), 0.0)
        )
        noise = np.hypot(correlated, written.noise)
        ratio = np.log2(round_normal(self.residuals, noise, self.unit)) - self.choice - self.alone
        rough = np.where(
            written.quiet,
            0.0,
            np.logaddexp2(math.log2(1 - written.share) + ratio, math.log2(written.share)),
        )
        more = float(written.gains.sum() - rough.sum())
        return written if more >= ENOUGH_BITS + len(self.candidate.terms) else None


def _solve(
    candidate: Candidate, values: FloatArray, terms: FloatArray, target: int, slope: FloatArray
) -> FloatArray:
    """Return by how much the target differs from the nearest root of the law, row by row."""
    step = terms.sum(axis=1) / slope
    if not candidate.is_curved(target):
        return np.asarray(step)
    moved = values.copy()
    for _ in range(6):  # Newton's method doubles the digits each time
        moved[:, target] -= step
        slope = candidate.differentiate(moved, target)
        value = candidate.evaluate_terms(moved).sum(axis=1)
        step = np.where(slope != 0, value / np.where(slope != 0, slope, 1.0), 0.0)
    return np.asarray(values[:, target] - moved[:, target])


@lru_cache(maxsize=4096)
def are_errors(n_broken: int, n_rows: int, n_columns: int) -> bool:
    """Say whether broken rows are rather wrong cells than rows that the equation does not hold for.

    An equation that holds often, with exceptions at any rate, is not a law with a few wrong cells:
    compare the two binomial likelihoods, the first with the usual rate of wrong cells or a smaller
    one, the second with a uniform prior of its rate.
    """
    rate = min(1 - (1 - WRONG_CELLS) ** n_columns, n_broken / n_rows)
    as_errors = math.log(math.comb(n_rows, n_broken))
    as_errors += n_broken * math.log(rate) + (n_rows - n_broken) * math.log1p(-rate)
    return as_errors > -math.log(n_rows + 1)


def measure_dependence(correlation: float, n_rows: int) -> float:
    """Return the bits that a correlation saves: ½ n log₂ 1 / (1 - r²)."""
    return -0.5 * n_rows * math.log2(max(1 - correlation**2, np.finfo(float).tiny))


def measure_structure(candidate: Candidate, n_columns: int) -> float:
    """Return the bits that tell which terms a candidate has, and which column is its target."""
    n_terms, degree = len(candidate.terms), candidate.degree
    n_monomials = math.comb(n_columns + degree, degree)
    bits = math.log2(math.comb(max(n_monomials, n_terms), n_terms))
    columns = candidate.columns
    if degree == 1 and _is_total_of_neighbors(columns):
        bits = min(bits, 3 * math.log2(max(n_columns, 2)) + 1)
    # Of equations that are alike, the one whose columns stand together comes first.
    together = SAME_NUMBER * (columns[-1] - columns[0])
    return bits + n_terms + degree + math.log2(len(columns)) + together


def _is_total_of_neighbors(columns: Sequence[int]) -> bool:
    for total in columns:
        others = [j for j in columns if j != total]
        gap = len(others) - 1 + (others[0] < total < others[-1])
        if others[-1] - others[0] == gap:
            return True
    return False


def _measure_coefficients(
    coefficients: Sequence[float], influences: FloatArray
) -> tuple[float, bool]:
    """Return the bits of the coefficients, and whether some are fitted numbers.

    One of them is 1. Others are written as numbers that people use, or with the digits that the
    residuals need: ½ log₂ of their Fisher information, of which ``influences`` are the roots row by
    row.
    """
    information = np.sum(influences**2, axis=0)
    fitted = 2 + 0.5 * np.log2(np.maximum(information, 1.0))
    best = math.inf, False
    for unit in coefficients:
        bits, is_fitted = 0.0, False
        for value, digits in zip(coefficients, fitted.tolist(), strict=True):
            written = measure_number(float(f"{abs(value / unit):.12g}"))
            bits += min(digits, written) if value is not unit else 0.0
            is_fitted |= digits < written
        best = min(best, (bits, is_fitted))
    return best


@lru_cache(maxsize=65536)
def measure_number(value: float) -> float:
    """Return the bits of a number that people write: few digits, or a fraction; else infinity.

    Examples
    --------
    >>> from vanishing.laws.model import measure_number
    >>> measure_number(1.0)
    1.0
    >>> round(measure_number(0.19), 1), round(measure_number(1 / 3), 1), measure_number(0.123456789)
    (13.7, 5.2, inf)
    """
    power = math.floor(math.log10(value)) if 0 < value < math.inf else 0
    best = math.inf
    for n_digits in range(1, 8):
        digits = round(value / 10.0 ** (power + 1 - n_digits))
        if digits and abs(digits * 10.0 ** (power + 1 - n_digits) / value - 1) < SAME_NUMBER:
            zeros = power + 1 - n_digits
            while digits % 10 == 0:
                digits, zeros = digits // 10, zeros + 1
            shift = 2 * math.log2(abs(zeros) + 1) + 1 if zeros else 0.0
            best = 1 + 2 * math.log2(digits) + shift
            break
    for denominator in DENOMINATORS:
        numerator = round(value * denominator)
        if numerator and abs(numerator / denominator / value - 1) < SAME_NUMBER:
            best = min(best, 2 + 2 * math.log2(numerator) + 2 * math.log2(denominator))
            break
    return best


def bound_bits(candidate: Candidate, cells: Cells, known: dict[int, FloatArray]) -> float:
    """Return at least as many bits as ``judge`` finds, at a fraction of its cost."""
    columns = list(candidate.columns)
    complete = cells.present[:, columns].all(axis=1)
    values = cells.values[complete]
    if len(values) <= len(candidate.terms):
        return -math.inf
    with np.errstate(all="ignore"):
        terms = candidate.evaluate_terms(values)
        size, off = np.abs(terms).sum(axis=1), np.abs(terms.sum(axis=1))
        slopes = {j: np.abs(candidate.differentiate(values, j)) for j in columns}
        rounding = np.sum([slope * cells.resolution[j] for j, slope in slopes.items()], axis=0)
        is_exact = off <= 10 * EXACT_DIGITS * size
        is_rounded = off <= 0.75 * rounding + 64 * ROUNDING * size
    gain = 0.0
    for j, slope in slopes.items():
        alone = cells.log_alone[complete, j]
        if j in known:
            alone = np.minimum(alone + known[j][complete], 0.0)
        # Rounding says something where it changes the target by less than its spread.
        unit, spread = cells.resolution[j], cells.spreads[j]
        with np.errstate(all="ignore"):
            is_told = rounding <= slope * (
                unit + UNINFORMATIVE * np.sqrt(12) * spread * len(slopes)
            )
        for kept, told in ((is_exact, slope > 0), (is_rounded, is_told & (unit <= spread))):
            if (~kept & told).sum() <= 1 + told.sum() / 5:
                gain = max(gain, -float(alone[kept & told].sum()))
    return gain - measure_structure(candidate, len(cells.varying))
