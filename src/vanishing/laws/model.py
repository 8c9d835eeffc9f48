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
from itertools import chain, combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import betaln, ndtri
from scipy.stats import rankdata

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.cells import Cells, round_normal
from vanishing.levels import CHANCE, ROUNDING

#: Bits that an equation needs to be a law.
ENOUGH_BITS = -math.log2(CHANCE)
#: How often a cell is wrong: an assumption, one in a thousand to one in ten.
RATES_OF_ERRORS = np.geomspace(1e-3, 0.1, 21)
#: Noise, in spreads of a column, that a correlation has. A law is told from it by its bits.
NOISE_OF_CORRELATIONS = 0.1
#: Correlation of the residuals of a false law with what it leaves out, which must be seen if there.
TELLING_CORRELATION = 0.5
#: Noise, in spreads, with which a prediction says nothing about a cell.
UNINFORMATIVE = 0.3
#: Share of the rows that a law with noise must speak of; others are only about the far ones.
FEWEST_TOLD = 0.25
#: Denominators that people use: small numbers, and the parts of a day, a month and a year.
DENOMINATORS = (*range(2, 13), 24, 30, 52, 360, 365)
#: Relative error up to which a number agrees in all digits that people and programs write.
EXACT_DIGITS = 1e-11
#: Relative difference up to which two numbers are the same coefficient.
SAME_NUMBER = 1e-9

#: Quantiles of the residuals that the level of the noise is estimated from: some are wrong cells.
QUANTILES = (0.3, 0.5, 0.68, 0.9)

#: A product of powers of columns: ((column, power), ...), empty for the constant. The power 0 is
#: the logarithm, the limit of (x^p - 1) / p, as in the family of Box and Cox.
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
    def has_logs(self) -> bool:
        """Whether a term is a logarithm."""
        return any(not power for term in self.terms for _, power in term)

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


@dataclass(frozen=True)
class Evidence:
    """What speaks for a candidate as the law of one target.

    ``gains`` are the bits of each row, 0 where a cell is blank or the law says nothing, and
    ``broken`` the rows that are likelier without the law; ``n_rows`` different rows speak for it or
    against it. ``rounded`` are the columns whose rounding is needed to explain the rows, and
    ``n_fitted`` coefficients are not numbers that people write. ``noise`` is the standard deviation
    of the noise of all columns, relative to their spreads or, if ``is_proportional``, to the
    values; 0 if the law holds up to rounding.
    """

    candidate: Candidate
    bits: float
    target: int
    gains: FloatArray
    broken: BoolArray
    n_rows: int
    rounded: tuple[int, ...]
    n_fitted: int
    noise: float
    is_proportional: bool

    @property
    def leaves_residuals(self) -> bool:
        """Whether the residuals could be something else than what rounding leaves."""
        return bool(self.noise) or (
            bool(self.n_fitted) and (bool(self.rounded) or bool(self.broken.any()))
        )


def find_complete(candidate: Candidate, cells: Cells) -> BoolArray:
    """Return the rows that have all cells of a candidate, positive ones where it has logarithms."""
    complete = cells.present[:, list(candidate.columns)].all(axis=1)
    for j in {j for term in candidate.terms for j, power in term if not power}:
        complete &= np.nan_to_num(cells.values[:, j]) > 0
    return np.asarray(complete)


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

    ``known`` are the bits that known laws save already, by their targets and row by row. Numbers
    that are measured have noise; others are exact or rounded. Rows that are ``excluded`` do not
    count.
    """
    columns = list(candidate.columns)
    present = find_complete(candidate, cells)
    complete = np.flatnonzero(present if excluded is None else present & ~excluded)
    # Each different row of the law's columns counts once: repeated rows are not evidence.
    _, first, which = np.unique(
        cells.levels[complete][:, columns], axis=0, return_index=True, return_inverse=True
    )
    rows = complete[first]
    if _count_telling(candidate.evaluate_terms(cells.values[rows])) <= len(candidate.terms):
        return None
    length = measure_structure(candidate, len(cells.varying))
    best: Evidence | None = None
    for target in sorted(columns if targets is None else targets):
        if not candidate.is_solvable(target) or np.ptp(cells.values[rows, target]) == 0:
            continue
        code = _Code(candidate, cells, rows, target, which.ravel())
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
            best = Evidence(
                candidate, bits, target, gains, broken, n_rows, found.rounded, found.n_fitted,
                found.level, found.is_proportional,
            )  # fmt: skip
    return best


def _count_telling(terms: FloatArray) -> int:
    """Count the different rows that tell something: those of zeros keep every equation."""
    return len(np.unique(terms[(terms != 0).sum(axis=1) > 1], axis=0))


def is_within_rounding(evidence: Evidence, cells: Cells) -> bool:
    """Say whether each row that keeps a law is off by half a unit of its last digits at most."""
    candidate = evidence.candidate
    values = cells.values[find_complete(candidate, cells) & ~evidence.broken]
    terms = candidate.evaluate_terms(values)
    units = {j: cells.resolution[j] / 2 for j in evidence.rounded}
    most = sum(np.abs(candidate.differentiate(values, j)) * unit for j, unit in units.items())
    return bool(
        (np.abs(terms.sum(axis=1)) <= most + EXACT_DIGITS * np.abs(terms).sum(axis=1)).all()
    )


def is_sound(
    evidence: Evidence, cells: Cells, known: dict[int, FloatArray], others: list[int]
) -> bool:
    """Say whether each column of a law has a part in it, and whether its residuals are noise.

    What is left of a trend or a cycle goes on from row to row. What is left of a function that the
    law only comes close to is a smooth function of the ``others``, columns that do not depend on
    the target.
    """
    rows = np.flatnonzero(find_complete(evidence.candidate, cells))
    # Rows that repeat each other have the same residuals.
    levels = cells.levels[rows][:, list(evidence.candidate.columns)]
    _, first, which = np.unique(levels, axis=0, return_index=True, return_inverse=True)
    rows = rows[first]
    code = _Code(evidence.candidate, cells, rows, evidence.target, which.ravel())
    if evidence.target in known:
        code.alone = np.minimum(code.alone + known[evidence.target][rows], 0.0)
    written = code.write_with_noise() if evidence.noise else code.write_exactly()
    if written is None or not code.needs_every_column(written) or code.is_imitation(written):
        return False
    if evidence.noise and len(evidence.candidate.columns) == 2:
        # A curve of two columns is an imitation, whichever of them is the target.
        (other,) = set(evidence.candidate.columns) - {evidence.target}
        again = _Code(evidence.candidate, cells, rows, other, which.ravel())
        again.choice = 0.0  # the target tells the root
        turned = again.write_with_noise() if evidence.candidate.is_solvable(other) else None
        if turned is not None and again.is_imitation(turned):
            return False
    if not evidence.leaves_residuals:
        return True
    return code.leaves_noise(written, others) and (
        bool(evidence.noise) or is_within_rounding(evidence, cells)
    )


class _Written(NamedTuple):
    """The target as it is written down by a law: bits of the rows less those of the numbers."""

    bits: float
    gains: FloatArray
    broken: BoolArray
    quiet: BoolArray
    rounded: tuple[int, ...]
    noise: FloatArray
    share: float
    n_fitted: int = 0
    level: float = 0.0
    is_proportional: bool = False


class _Code:
    """Writes the target of a candidate down, in rows that are all different.

    ``which`` of them each row of the table is like that has the cells of the candidate, in order.
    """

    def __init__(
        self,
        candidate: Candidate,
        cells: Cells,
        rows: IntArray,
        target: int,
        which: IntArray,
    ) -> None:
        self.which = which
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
            off = _solve(candidate, self.values, terms, target, self.divisor)
            self.residuals = np.where(self.silent, 0.0, off)
            self.influences = terms / self.divisor[:, None]
            self.rounding = ROUNDING * size / np.abs(self.divisor)
        self.silent |= ~np.isfinite(self.residuals)
        # Nor may the law be off there: 0 = price is false, whatever x says in 0 x = price.
        most = sum(np.abs(each) * cells.resolution[j] for j, each in self.slopes.items())
        self.violated = self.silent & (np.abs(terms.sum(axis=1)) > most + 64 * ROUNDING * size)
        # Several powers have several roots, and a square two unless a sign never occurs: it takes
        # bits to tell which.
        powers, x = candidate.list_powers(target), self.values[:, target]
        is_single = len(powers) == 1 and (max(powers) % 2 or not (x.min() < 0 < x.max()))
        self.choice = 0.0 if is_single else math.log2(max(powers))

    def needs_every_column(self, written: _Written) -> bool:
        """Say whether the law says less if any of its columns is permuted: if not, it has no part.

        Permuted columns are a contrast that differs from the table in this column alone.
        """
        if (written.level or written.n_fitted) and not self._determines_terms(written):
            return False
        order = np.random.default_rng(0).permutation(len(self.rows))
        total = float(written.gains.sum())
        noise = np.hypot(written.noise, self.rounding)
        for j in self.candidate.columns:
            if j != self.target:
                contrast = self.values.copy()
                contrast[:, j] = contrast[order, j]
                off = self.values[:, self.target] - predict(self.candidate, contrast, self.target)
                off = np.where(np.isfinite(off), off, np.inf)
                if total - self._sum_gains(off, noise, written) < ENOUGH_BITS:
                    return False
        return True

    def _determines_terms(self, written: _Written) -> bool:
        """Say whether each term pays for itself: z standard errors are worth ½ z² / log 2 bits."""
        kept = ~written.quiet & ~written.broken
        noise = np.hypot(written.noise, self.unit / np.sqrt(12))[kept]
        has_target = [self.target in dict(term) for term in self.candidate.terms]
        fixed = int(np.argmax(np.abs(self.influences[kept]).sum(axis=0) * has_target))
        scaled = np.delete(self.influences[kept] / noise[:, None], fixed, axis=1)
        sizes = np.linalg.norm(scaled, axis=0)
        if not (np.isfinite(sizes) & (sizes > 0)).all():
            return False
        inverse = np.linalg.pinv((scaled / sizes).T @ (scaled / sizes), hermitian=True)
        errors = np.sqrt(np.diag(inverse)) / sizes
        return bool((errors**2 * 2 * math.log(2) * ENOUGH_BITS < 1).all())

    def write_exactly(self) -> _Written | None:
        """Write the target with residuals that are zero, or that rounding explains."""
        unit, target = self.unit, self.values[:, self.target]
        # Eleven digits agree, or as many as the rounding errors of the sum leave.
        digits = EXACT_DIGITS * np.abs(target)
        noise = np.maximum(32 * self.rounding, digits)
        told = np.maximum(digits, unit) / np.maximum(noise, unit)
        off = np.abs(self.residuals)
        likelihood = np.where(off <= noise, np.minimum(1.0, told), 0.0)
        best = self._write(likelihood, noise, 0)
        if best is None or best.broken.any():
            for rounded, noise in self._round_columns():
                written = self._write(round_normal(off, noise, unit), noise, 1)
                if written is not None and (best is None or written.bits > best.bits):
                    best = written._replace(rounded=rounded)
        if best is None:
            return None
        cost, n_fitted = self._measure_coefficients(best)
        best = best._replace(bits=best.bits - cost, n_fitted=n_fitted)
        if best.rounded or n_fitted:
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
        # Where the law says that the target is: its own cell must not tell how far off it is.
        predicted = self.values.copy()
        predicted[:, self.target] -= self.residuals
        with np.errstate(all="ignore"):
            slopes = {j: self.candidate.differentiate(predicted, j) for j in self.slopes}
            everywhere = self._propagate(slopes, self.cells.spreads)
            by_deviation = self._propagate(slopes, self.cells.deviations)
            by_value = self._propagate(slopes, np.abs(predicted))
        shapes = [np.full(len(self.rows), self.spread), everywhere, by_deviation, by_value]
        if self.cells.noise is not None:
            shapes = [self._propagate(slopes, self.cells.noise)]
        self.violated = np.zeros(len(self.rows), dtype=bool)  # by noise, for all one knows
        # A number far from the others is told even by a rough prediction.
        x = self.values[:, self.target]
        reach = np.hypot(self.spread, predicted[:, self.target] - np.median(x))
        best: _Written | None = None
        for shape in shapes:
            known = ~self.silent & np.isfinite(shape) & (shape > 0)
            if known.sum() <= len(self.candidate.terms):
                continue
            for level in self._estimate_levels(np.abs(self.residuals[known]) / shape[known]):
                noise = np.hypot(level * shape, self.rounding)
                likelihood = round_normal(np.abs(self.residuals), noise, self.unit)
                written = self._write(likelihood, noise, 1, reach)
                if written is None or np.mean(~written.quiet) < FEWEST_TOLD:
                    continue
                if best is None or written.bits > best.bits:
                    best = written._replace(level=level, is_proportional=shape is by_value)
        if best is None:
            return None
        written = best._replace(bits=best.bits - self._measure_coefficients(best)[0])
        scales = self.cells.scales[self.rows]
        order = np.argsort(x)
        scales[:, self.target] = np.interp(
            predicted[:, self.target], x[order], scales[order, self.target]
        )
        return self._compare(written, NOISE_OF_CORRELATIONS * self._propagate(slopes, scales))

    def _estimate_levels(self, scaled: FloatArray) -> set[float]:
        """Return levels of the noise that may be, by quantiles: some residuals are wrong cells."""
        if self.cells.noise is not None:
            return {1.0}
        ordered = np.sort(scaled)
        return {
            float(ordered[int(q * len(ordered))]) / float(ndtri((1 + q) / 2)) for q in QUANTILES
        }

    def leaves_noise(self, written: _Written, others: list[int]) -> bool:
        """Say whether residuals are noise: neither other rows nor other columns tell them."""
        kept = np.flatnonzero(~written.quiet & ~written.broken)
        kept = kept[np.argsort(self.rows[kept])]
        # In few rows, nothing of that would be seen. Rounding has a known size, so that one factor
        # may be fitted to all of them. More factors, or fewer rows, follow every trend.
        is_unclear = measure_dependence(TELLING_CORRELATION, len(kept)) < ENOUGH_BITS
        if is_unclear and (written.level or written.n_fitted > 1 or written.broken.any()):
            return False
        residuals = self.residuals[kept] / np.hypot(written.noise[kept], self.unit)
        if written.level and not (self._is_normal(written, kept) and self._is_even(written)):
            return False
        first, second = residuals[:-1], residuals[1:]
        squares = np.sqrt(np.sum(first**2) * np.sum(second**2))
        correlation = max(float(first @ second / squares), 0.0) if squares > 0 else 0.0
        if measure_dependence(correlation, len(kept)) > ENOUGH_BITS:
            return False
        level = float(np.median(written.noise[kept])) / self.spread
        own = [j for j in self.candidate.columns if j != self.target]
        # Rounding makes neighbors alike, noise does not.
        if level * self.spread > self.unit and (
            measure_likeness(residuals, self.values[kept][:, own]) > ENOUGH_BITS
        ):
            return False
        for columns in (own, others):
            values = self.values[kept][:, columns]
            complete = np.isfinite(values).all(axis=1)
            if measure_smoothness(residuals[complete], values[complete], level) > ENOUGH_BITS:
                return False
        return True

    def _is_normal(self, written: _Written, kept: IntArray) -> bool:
        """Say whether residuals are neither exact too often nor bounded."""
        # Noise spares no row: where many are exact, others are of another kind.
        within = round_normal(np.zeros(len(kept)), written.noise[kept], self.unit)
        n_exact = int(np.sum(np.abs(self.residuals[kept]) <= self.unit / 2))
        if measure_excess(n_exact, float(within.sum()), len(kept)) > ENOUGH_BITS:
            return False
        # Noise has no bounds. Lighter tails are those of a variable that the law leaves out.
        residuals = self.residuals[kept] / written.noise[kept]
        kurtosis = float(np.mean(residuals**4) / np.mean(residuals**2) ** 2)
        lighter = max(3 - kurtosis, 0.0) ** 2 * len(kept) / 24  # squared standard errors
        return lighter / (2 * math.log(2)) < ENOUGH_BITS

    def _is_even(self, written: _Written) -> bool:
        """Say whether residuals are as large as the noise for small and large values alike.

        The noise of a law has a known shape: that of its columns, propagated. Residuals of an
        equation that only comes close have another, even if these are small on the average.
        """
        told = ~written.quiet
        noise = np.hypot(written.noise[told], self.unit)
        sizes = rankdata(np.abs(self.residuals[told]) / noise)
        predicted = self.values[told, self.target] - self.residuals[told]
        for column in (predicted, *self.values[told][:, list(self.candidate.columns)].T):
            ranks = rankdata(column)
            if np.ptp(ranks) == 0:
                continue
            correlation = float(np.corrcoef(sizes, ranks)[0, 1])
            if measure_dependence(correlation, len(ranks)) > ENOUGH_BITS:
                return False
        return True

    def _propagate(self, slopes: dict[int, FloatArray], units: FloatArray) -> FloatArray:
        """Return the noise of the target that noise of the columns causes, to first order."""
        units = np.broadcast_to(units, self.values.shape)
        squares = [(slope * units[:, j]) ** 2 for j, slope in slopes.items()]
        noise = np.sqrt(np.sum(squares, axis=0)) / np.abs(slopes[self.target])
        return np.asarray(np.where(np.isfinite(noise), noise, np.inf))

    def _write(
        self,
        likelihood: FloatArray,
        noise: FloatArray,
        n_parameters: int,
        reach: FloatArray | None = None,
    ) -> _Written | None:
        """Return the code with the best share of wrong cells, without that of the coefficients.

        A prediction whose noise is a part of ``reach``, by default the spread, says nothing.
        """
        n_rows = len(self.rows)
        quiet = self.silent | ~(noise <= UNINFORMATIVE * (self.spread if reach is None else reach))
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
            if broken.any() and not self._are_errors(broken, ~quiet | self.violated):
                continue
            cost = 0.5 * math.log2(n_rows) * (n_parameters + (share > rare)) + 1
            bits = float(gains.sum()) - cost
            if best is None or bits > best.bits:
                best = _Written(bits, gains, broken, quiet, (), noise, share)
        return best

    def _are_errors(self, broken: BoolArray, speaking: BoolArray) -> bool:
        """Say whether broken rows are rather wrong cells than rows of another kind."""
        # Repeated rows too: wrong cells do not repeat themselves.
        flags = broken[self.which][speaking[self.which]]
        n_blocks = int(np.sum(flags[1:] & ~flags[:-1])) + int(flags[0])
        return are_errors(int(flags.sum()), n_blocks, len(flags), len(self.slopes))

    def _measure_coefficients(self, written: _Written) -> tuple[float, int]:
        kept = ~written.quiet & ~written.broken
        errors = np.hypot(written.noise, self.unit / np.sqrt(12))[kept]
        return _measure_coefficients(
            self.candidate.coefficients,
            self.influences[kept] / errors[:, None],
            is_rounded=bool(written.rounded or written.level),
        )

    def _compare(self, written: _Written, correlated: FloatArray) -> _Written | None:
        """Return the code if it says more than the rows above and below, and than a correlation."""
        between = self.cells.log_between[self.rows, self.target] - self.alone
        written = written._replace(
            bits=written.bits - max(float(between[~written.quiet].sum()), 0.0)
        )
        noise = np.maximum(correlated, written.noise)
        more = float(written.gains.sum()) - self._sum_gains(self.residuals, noise, written)
        if more < ENOUGH_BITS + len(self.candidate.terms):
            return None
        return written

    def is_imitation(self, written: _Written) -> bool:
        """Say whether regression of the target on the other columns says as much as the law.

        That is news only for equations with noise that are not linear themselves.
        """
        if not written.level or (self.candidate.degree == 1 and not self.candidate.has_logs):
            return False
        length = measure_structure(self.candidate, len(self.cells.varying))
        cost = length + float(written.gains.sum()) - written.bits
        others = [j for j in self.candidate.columns if j != self.target]
        alone = ([j] for j in others if len(others) > 1)
        rivals = chain(
            *(self._regress(written, columns) for columns in (others, *alone)),
            self._regress_logs(written),
        )
        for place, (gain, digits) in enumerate(rivals):
            more = float(written.gains.sum()) - gain
            # A straight line is the usual thing, and is not charged for.
            more += digits - cost if place else -len(self.candidate.terms)
            if more < ENOUGH_BITS:
                return True
        return False

    def _sum_gains(self, residuals: FloatArray, noise: FloatArray, written: _Written) -> float:
        """Return the bits of the same rows with other residuals and noise."""
        off = np.where(written.quiet, 0.0, np.abs(residuals))
        noise = np.where(written.quiet, self.spread, noise)
        ratio = np.log2(round_normal(off, noise, self.unit)) - self.choice - self.alone
        share = math.log2(written.share), math.log2(1 - written.share)
        gains = np.where(written.quiet, 0.0, np.logaddexp2(share[1] + ratio, share[0]))
        return float(gains.sum())

    def _regress(self, written: _Written, others: list[int]) -> Iterator[tuple[float, float]]:
        """Yield bits that polynomial regression on columns saves, and those of its coefficients.

        Near a point, and for correlated columns, every curve is a straight line. A polynomial that
        says no more than that is not a law: x² = y² where x is about y. And enough coefficients
        imitate any smooth function. Regression of higher and higher degrees does, too: it ends
        when two degrees in a row say no more.
        """
        kept = ~written.quiet & ~written.broken
        middle, width = np.median(self.values[:, others], axis=0), np.ptp(self.values[:, others], 0)
        scaled = (self.values[:, others] - middle) / np.where(width > 0, width, 1.0)
        weights = 1 / np.where(written.quiet, np.inf, written.noise)
        target = self.values[:, self.target] * weights
        features = weights[:, None]
        best, n_worse, degree = -math.inf, 0, 0
        while n_worse < 2:
            degree += 1
            chosen = combinations_with_replacement(range(len(others)), degree)
            products = [np.prod(scaled[:, list(each)], axis=1) * weights for each in chosen]
            features = np.column_stack([features, *products])
            if not np.isfinite(features[kept]).all() or 4 * features.shape[1] > kept.sum():
                return
            basis, triangle = np.linalg.qr(features[kept])
            coefficients = basis.T @ target[kept]
            fitted = np.linalg.lstsq(triangle, coefficients, rcond=None)[0]
            off = np.where(written.quiet, 0.0, (target - features @ fitted) * written.noise)
            level = float(np.sqrt(np.mean((off * weights)[kept] ** 2)))
            gain = self._measure_rival(off, level * written.noise, written)
            digits = _measure_digits(coefficients / level)
            yield gain, digits
            n_worse = 0 if gain - digits > best else n_worse + 1
            best = max(best, gain - digits)

    def _regress_logs(self, written: _Written) -> Iterator[tuple[float, float]]:
        """Yield the same for linear regression of the logarithms, of which products are a part."""
        kept = ~written.quiet & ~written.broken
        columns = [j for j in self.candidate.columns if j != self.target] + [self.target]
        is_log_linear = len(self.candidate.terms) == 2 or all(
            not power and len(term) == 1 for term in self.candidate.terms for _, power in term
        )
        if is_log_linear or not (self.values[kept][:, columns] > 0).all():
            return
        logs = np.log(np.where(self.values[:, columns] > 0, self.values[:, columns], 1.0))
        features = np.column_stack([np.ones(len(logs)), logs[:, :-1]])
        basis, triangle = np.linalg.qr(features[kept])
        coefficients = basis.T @ logs[kept, -1]
        predicted = features @ np.linalg.lstsq(triangle, coefficients, rcond=None)[0]
        level = float(np.sqrt(np.mean((logs[:, -1] - predicted)[kept] ** 2)))
        off = self.values[:, self.target] - np.exp(predicted)
        yield (
            self._measure_rival(off, level * np.exp(predicted), written),
            _measure_digits(coefficients / level),
        )

    def _measure_rival(self, off: FloatArray, noise: FloatArray, written: _Written) -> float:
        """Return the bits that a regression saves, which has one root and nothing to choose."""
        gain = self._sum_gains(off, np.hypot(noise, self.rounding), written)
        return gain + self.choice * int((~written.quiet).sum())


def predict(candidate: Candidate, values: FloatArray, target: int) -> FloatArray:
    """Return the root of a candidate in a column that is nearest to its cell, row by row."""
    with np.errstate(all="ignore"):
        terms = candidate.evaluate_terms(values)
        slope = candidate.differentiate(values, target)
        return np.asarray(values[:, target] - _solve(candidate, values, terms, target, slope))


def _solve(
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


@lru_cache(maxsize=4096)
def are_errors(n_broken: int, n_blocks: int, n_rows: int, n_columns: int) -> bool:
    """Say whether broken rows are rather wrong cells than rows that the equation does not hold for.

    Wrong cells have a usual rate, and stand anywhere. An equation that holds often has exceptions
    at any rate, and rows of another kind stand together, in few blocks: compare the likelihood with
    the mean of that of any rate and that of any Markov chain.
    """
    n_sound = n_rows - n_broken
    rates = 1 - (1 - RATES_OF_ERRORS) ** n_columns
    as_errors = n_broken * np.log(rates) + n_sound * np.log1p(-rates) - math.log(len(rates))
    at_any_rate = betaln(n_broken + 1, n_sound + 1)
    in_blocks = betaln(n_blocks + 1, max(n_sound - n_blocks, 0) + 1)
    in_blocks += betaln(n_blocks + 1, n_broken - n_blocks + 1)
    others = np.logaddexp(at_any_rate, in_blocks) - math.log(2)
    return bool(np.logaddexp.reduce(as_errors) > others)


def measure_dependence(correlation: float, n_rows: int) -> float:
    """Return the bits that a correlation saves: ½ n log₂ 1 / (1 - r²)."""
    return -0.5 * n_rows * math.log2(max(1 - correlation**2, np.finfo(float).tiny))


def measure_excess(count: int, expected: float, n_rows: int) -> float:
    """Return the bits that speak for a rate above the expected one: n times their divergence."""
    rate, usual = count / n_rows, min(max(expected / n_rows, 1e-300), 1 - 1e-12)
    if rate <= usual:
        return 0.0
    divergence = rate * math.log2(rate / usual)
    if rate < 1:
        divergence += (1 - rate) * math.log2((1 - rate) / (1 - usual))
    return n_rows * divergence


def measure_likeness(residuals: FloatArray, columns: FloatArray) -> float:
    """Return the bits that the residual of the nearest row saves.

    A polynomial that comes close to another function leaves waves, which are orthogonal to
    polynomials of low degrees. Neighbors are on the same side of a wave.
    """
    low, high = np.quantile(columns, [0.16, 0.84], axis=0)
    width = np.where(high > low, high - low, np.maximum(np.ptp(columns, axis=0), 1e-300))
    nearest = cKDTree(columns / width).query(columns / width, k=2)[1]
    first, second = np.unique(np.sort(nearest, axis=1), axis=0).T
    squares = np.sqrt(np.sum(residuals[first] ** 2) * np.sum(residuals[second] ** 2))
    correlation = float(residuals[first] @ residuals[second] / squares) if squares > 0 else 0.0
    return measure_dependence(max(correlation, 0.0), len(first))


def measure_smoothness(residuals: FloatArray, columns: FloatArray, level: float) -> float:
    """Return the bits that polynomials of columns save on residuals, those of noise not counted.

    Each coefficient costs ½ log₂ n. Columns have noise themselves, which is part of the residuals:
    a direction in which they vary by s spreads explains (level / s)² of these in any case.
    """
    n_rows = len(columns)
    if not columns.size:
        return 0.0
    low, middle, high = np.quantile(columns, [0.16, 0.5, 0.84], axis=0)
    width = np.where(high > low, (high - low) / 2, np.std(columns, axis=0))
    varying = width > 0
    # Far cells would decide about everything.
    scaled = np.clip((columns - middle)[:, varying] / width[varying], -3, 3)
    centred = residuals - residuals.mean()
    total, best = float(centred @ centred), 0.0
    features = np.empty((n_rows, 0))
    for degree in (1, 2, 3):
        chosen = combinations_with_replacement(range(scaled.shape[1]), degree)
        products = [np.prod(scaled[:, list(each)], axis=1) for each in chosen]
        features = np.column_stack([features, *products]) if products else features
        if not products or not total or 4 * features.shape[1] > n_rows:
            break
        sizes = features.std(axis=0)
        standard = (features - features.mean(axis=0)) / np.where(sizes > 0, sizes, 1.0)
        left, singular, _ = np.linalg.svd(standard, full_matrices=False)
        spread = np.maximum(singular / math.sqrt(n_rows), np.finfo(float).tiny)
        by_noise = float(np.minimum(degree * level / spread, 1.0) @ np.minimum(level / spread, 1.0))
        explained = float(np.sum((left.T @ centred) ** 2)) / total
        correlation = math.sqrt(max(explained - by_noise, 0.0))
        cost = 0.5 * features.shape[1] * math.log2(n_rows)
        best = max(best, measure_dependence(correlation, n_rows) - cost)
    return best


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


def measure_length(candidate: Candidate, n_columns: int, n_rows: int) -> float:
    """Return the bits of a candidate: its terms, and coefficients fitted to some rows."""
    influences = np.ones((n_rows, len(candidate.terms)))
    bits, _ = _measure_coefficients(candidate.coefficients, influences)
    return measure_structure(candidate, n_columns) + bits


def _is_total_of_neighbors(columns: Sequence[int]) -> bool:
    for total in columns if len(columns) > 1 else ():
        others = [j for j in columns if j != total]
        gap = len(others) - 1 + (others[0] < total < others[-1])
        if others[-1] - others[0] == gap:
            return True
    return False


def _measure_coefficients(
    coefficients: Sequence[float], influences: FloatArray, *, is_rounded: bool = True
) -> tuple[float, int]:
    """Return the bits of the coefficients, and how many of them are fitted numbers.

    One of them is 1. Others are written as numbers that people use, or with the digits that the
    residuals need: ½ log₂ of their Fisher information, of which ``influences`` are the roots row by
    row. Rounding allows many numbers, so that the shortest of these may be a fitted one.
    """
    information = np.sum(influences**2, axis=0)
    fitted = 2 + 0.5 * np.log2(np.maximum(information, 1.0))
    best = math.inf, 0
    for i, unit in enumerate(coefficients):
        bits, n_fitted = 0.0, 0
        for k, (value, digits) in enumerate(zip(coefficients, fitted.tolist(), strict=True)):
            written = measure_number(float(f"{abs(value / unit):.12g}"))
            bits += min(digits, written) if i != k else 0.0
            n_fitted += math.isinf(written) or (is_rounded and digits < written)
        best = min(best, (bits, n_fitted))
    return best


def _measure_digits(coefficients: FloatArray) -> float:
    """Return the bits of coefficients of an orthonormal basis, in units of the noise."""
    return float(np.sum(2 + np.log2(np.maximum(np.abs(coefficients), 1.0))))


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
        # Every large number is near a fraction.
        is_near = 0 < numerator < 10**7 and abs(numerator / denominator / value - 1) < SAME_NUMBER
        if is_near:
            best = min(best, 2 + 2 * math.log2(numerator) + 2 * math.log2(denominator))
            break
    return best


def bound_bits(candidate: Candidate, cells: Cells, known: dict[int, FloatArray]) -> float:
    """Return at least as many bits as ``judge`` finds, at a fraction of its cost."""
    columns = list(candidate.columns)
    complete = find_complete(candidate, cells)
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


def allow_errors(ratio: FloatArray, share: float) -> FloatArray:
    """Return the bits of cells that an equation tells, a share of which may be wrong.

    ``ratio`` is log₂ of the ratio of their probabilities with the equation and without it.
    """
    return np.asarray(np.logaddexp2(math.log2(1 - share) + ratio, math.log2(share)))


def measure_digits(coefficients: Sequence[float], influences: FloatArray) -> float:
    """Return the bits of fitted coefficients: as people write them, or the digits that count.

    ``influences`` are the terms times their coefficients, in units of the noise, row by row.
    """
    return _measure_coefficients(coefficients, influences)[0]
