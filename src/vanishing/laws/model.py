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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import (
    EXACT_DIGITS,
    Candidate,
    count_dimensions,
    find_complete,
    measure_coefficients,
    measure_structure,
    solve,
)
from vanishing.laws.cells import Cells, round_normal
from vanishing.levels import CHANCE, ROUNDING, SAME_NUMBER, UNINFORMATIVE

#: Bits that an equation needs to be a law.
ENOUGH_BITS = -math.log2(CHANCE)
#: How often a cell is wrong: an assumption, one in a thousand to one in ten.
RATES_OF_ERRORS = np.geomspace(1e-3, 0.1, 21)
#: Noise, in spreads of a column, that a correlation has. A law is told from it by its bits.
NOISE_OF_CORRELATIONS = 0.1
#: Share of the rows that a law with noise must speak of; others are only about the far ones.
FEWEST_TOLD = 0.25
#: Factor by which people may be wrong about noise.
MISJUDGED = 2.0
#: Quantiles of the residuals that the level of the noise is estimated from: some are wrong cells.
QUANTILES = (0.3, 0.5, 0.68, 0.9)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a candidate as the law of one target.

    ``gains`` are the bits of each row, 0 where a cell is blank or the law says nothing, and
    ``broken`` the rows that are likelier without the law; ``n_rows`` different rows speak for it or
    against it. ``rounded`` are the columns whose rounding is needed to explain the rows, and
    ``n_fitted`` coefficients are not numbers that people write. ``noise`` is the standard deviation
    of the noise of all columns, relative to their spreads or, of ``proportional`` columns, to the
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
    proportional: frozenset[int]

    @property
    def leaves_residuals(self) -> bool:
        """Whether the residuals could be something else than what rounding leaves."""
        return bool(self.noise) or (
            bool(self.n_fitted) and (bool(self.rounded) or bool(self.broken.any()))
        )


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
    rows, which = cells.find_different(columns, complete)
    if not _tell_enough(candidate.evaluate_terms(cells.values[rows])):
        return None
    length = measure_structure(candidate, cells.count_choices(candidate.columns))
    # Terms with different units need numbers that have units: chance makes such a law, too.
    length += ENOUGH_BITS * max(count_dimensions(candidate, cells) - 1, 0)
    best: Evidence | None = None
    for target in sorted(columns if targets is None else targets):
        if not candidate.is_solvable(target) or np.ptp(cells.values[rows, target]) == 0:
            continue
        code = Code(candidate, cells, rows, target, which)
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
            gains[complete] = found.gains[which]
            broken = np.zeros(len(cells.values), dtype=bool)
            broken[complete] = found.broken[which]
            n_rows = int((~found.quiet).sum())
            bits = found.bits - length
            best = Evidence(
                candidate, bits, target, gains, broken, n_rows, found.rounded, found.n_fitted,
                found.level, found.proportional,
            )  # fmt: skip
    return best


def _tell_enough(terms: FloatArray) -> bool:
    """Say whether more different rows than terms say something: those of zeros keep any law."""
    telling = terms[(terms != 0).sum(axis=1) > 1]
    n_terms = terms.shape[1]
    # A few rows are mostly enough to see it.
    return any(len(np.unique(part, axis=0)) > n_terms for part in (telling[: 4 * n_terms], telling))


class Written(NamedTuple):
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
    proportional: frozenset[int] = frozenset()


class Code:
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
            off = solve(candidate, self.values, terms, target, self.divisor)
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

    def write_exactly(self) -> Written | None:
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
            for rounded, noise, most in self._round_columns():
                likelihood = np.where(off <= most, round_normal(off, noise, unit), 0.0)
                written = self._write(likelihood, noise, 1)
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

    def _round_columns(self) -> Iterator[tuple[tuple[int, ...], FloatArray, FloatArray]]:
        """Yield columns that may be rounded, and the noise and the most that the target is off.

        The target is rounded, and then the others, the finest first: quantities and rates may have
        few digits, or none, and be exact all the same. Each number is off by half a unit at most,
        and several never are at once: if y = x + 2, this holds after both are rounded to units.
        """
        rounded: tuple[int, ...] = (self.target,)
        squares, slack = self.rounding**2, 32 * self.rounding
        most = np.full(len(self.rows), self.unit / 2)
        sizes = np.abs(self.values[:, self.target])
        yield rounded, self.rounding, most + slack + EXACT_DIGITS * sizes
        parts = {
            j: np.abs(slope / self.divisor) * self.cells.resolution[j]
            for j, slope in self.slopes.items()
            if j != self.target
        }
        for j in sorted(parts, key=lambda j: float(np.median(parts[j]))):
            rounded, squares = (*rounded, j), squares + parts[j] ** 2 / 12
            most = most + parts[j] / 2
            yield rounded, np.sqrt(squares), most - slack

    def write_with_noise(self) -> Written | None:
        """Write the target with normal noise.

        It is that of the target, or of all columns in proportion to their spreads or their values.
        Or it is in proportion to the values of columns that stand as logarithms, and to the spreads
        of the others: what ranges over powers of ten is measured in percent.
        """
        # Where the law says that the target is: its own cell must not tell how far off it is.
        predicted = self.values.copy()
        predicted[:, self.target] -= self.residuals
        with np.errstate(all="ignore"):
            slopes = {j: self.candidate.differentiate(predicted, j) for j in self.slopes}
            everywhere = self._propagate(slopes, self.cells.spreads)
            by_deviation = self._propagate(slopes, self.cells.deviations)
            by_value = self._propagate(slopes, np.abs(predicted))
        no_columns: frozenset[int] = frozenset()
        every = frozenset(self.candidate.columns)
        shapes = [(np.full(len(self.rows), self.spread), no_columns), (everywhere, no_columns)]
        shapes += [(by_deviation, no_columns), (by_value, every)]
        logs = self.candidate.logs
        if no_columns < logs < every:
            units = np.broadcast_to(self.cells.deviations, predicted.shape).copy()
            units[:, list(logs)] = np.abs(predicted[:, list(logs)])
            with np.errstate(all="ignore"):
                shapes.append((self._propagate(slopes, units), logs))
        if self.cells.noise is not None:
            shapes = [(self._propagate(slopes, self.cells.noise), no_columns)]
        self.violated = np.zeros(len(self.rows), dtype=bool)  # by noise, for all one knows
        # A number far from the others is told even by a rough prediction.
        x = self.values[:, self.target]
        reach = np.hypot(self.spread, predicted[:, self.target] - np.median(x))
        best: Written | None = None
        shaped: Written | None = None
        for shape, proportional in shapes:
            known = ~self.silent & np.isfinite(shape) & (shape > 0)
            if known.sum() <= len(self.candidate.terms):
                continue
            for level in self._estimate_levels(np.abs(self.residuals[known]) / shape[known]):
                noise = np.hypot(level * shape, self.rounding)
                likelihood = round_normal(np.abs(self.residuals), noise, self.unit)
                written = self._write(likelihood, noise, 1, reach)
                if written is None or np.mean(~written.quiet) < FEWEST_TOLD:
                    continue
                written = written._replace(level=level, proportional=proportional)
                if best is None or written.bits > best.bits:
                    best = written
                # Noise of the target alone does not say what kind of noise the others have.
                if shape is not shapes[0][0] and (shaped is None or written.bits > shaped.bits):
                    shaped = written
        if best is None:
            return None
        if shaped is not None:
            best = best._replace(proportional=shaped.proportional)
        written = best._replace(bits=best.bits - self._measure_coefficients(best)[0])
        scales = self.cells.scales[self.rows]
        order = np.argsort(x)
        scales[:, self.target] = np.interp(
            predicted[:, self.target], x[order], scales[order, self.target]
        )
        return self._compare(written, NOISE_OF_CORRELATIONS * self._propagate(slopes, scales))

    def _estimate_levels(self, scaled: FloatArray) -> set[float]:
        """Return levels of the noise that may be, by quantiles: some residuals are wrong cells.

        Of noise that is given, the level is 1 or near it.
        """
        ordered = np.sort(scaled)
        found = {
            float(ordered[int(q * len(ordered))]) / float(ndtri((1 + q) / 2)) for q in QUANTILES
        }
        if self.cells.noise is None:
            return found
        return {1.0} | {level for level in found if 1 / MISJUDGED <= level <= MISJUDGED}

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
    ) -> Written | None:
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
        best: Written | None = None
        for share in [rare, often] if rare < often < 0.5 else [rare]:
            gains = np.where(
                quiet, 0.0, np.logaddexp2(math.log2(1 - share) + ratio, math.log2(share))
            )
            gains[self.violated] = math.log2(share)
            broken = (ratio < math.log2(share)) & ~quiet | self.violated
            if broken.any():
                if not self._are_errors(broken, ~quiet | self.violated):
                    continue
                gains[broken & self._is_outvoted(broken)] = 0.0
            cost = 0.5 * math.log2(n_rows) * (n_parameters + (share > rare)) + 1
            bits = float(gains.sum()) - cost
            if best is None or bits > best.bits:
                best = Written(bits, gains, broken, quiet, (), noise, share)
        return best

    def _is_outvoted(self, broken: BoolArray) -> BoolArray:
        """Say in which rows the other columns stand beside what the law says more often than not.

        Repeated rows are not evidence, as the target could be looked up in the row before. Then a
        row that is broken costs as much: it is not what was looked up.
        """
        others = [j for j in self.slopes if j != self.target]
        _, group = self.cells.find_different(others, self.rows)
        votes = np.where(broken, -1, 1) * np.bincount(self.which, minlength=len(self.rows))
        return np.asarray(np.bincount(group, votes)[group] > 0)

    def _are_errors(self, broken: BoolArray, speaking: BoolArray) -> bool:
        """Say whether broken rows are rather wrong cells than rows of another kind."""
        # Repeated rows too: wrong cells do not repeat themselves.
        flags = broken[self.which][speaking[self.which]]
        n_blocks = int(np.sum(flags[1:] & ~flags[:-1])) + int(flags[0])
        return are_errors(int(flags.sum()), n_blocks, len(flags), len(self.slopes))

    def _measure_coefficients(self, written: Written) -> tuple[float, int]:
        kept = ~written.quiet & ~written.broken
        errors = np.hypot(written.noise, self.unit / np.sqrt(12))[kept]
        return measure_coefficients(
            self.candidate.coefficients,
            self.influences[kept] / errors[:, None],
            is_rounded=bool(written.rounded or written.level),
        )

    def _compare(self, written: Written, correlated: FloatArray) -> Written | None:
        """Return the code if it says more than the rows above and below, and than a correlation."""
        between = self.cells.log_between[self.rows, self.target] - self.alone
        written = written._replace(
            bits=written.bits - max(float(between[~written.quiet].sum()), 0.0)
        )
        noise = np.maximum(correlated, written.noise)
        more = float(written.gains.sum()) - self.sum_gains(self.residuals, noise, written)
        if more < ENOUGH_BITS + len(self.candidate.terms):
            return None
        return written

    def sum_gains(self, residuals: FloatArray, noise: FloatArray, written: Written) -> float:
        """Return the bits of the same rows with other residuals and noise."""
        off = np.where(written.quiet, 0.0, np.abs(residuals))
        noise = np.where(written.quiet, self.spread, noise)
        ratio = np.log2(round_normal(off, noise, self.unit)) - self.choice - self.alone
        share = math.log2(written.share), math.log2(1 - written.share)
        gains = np.where(written.quiet, 0.0, np.logaddexp2(share[1] + ratio, share[0]))
        return float(gains.sum())


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


def can_be_errors(flags: BoolArray, n_columns: int = 1) -> bool:
    """Say whether the rows that are flagged, if there are any, are rather wrong cells."""
    n_blocks = int(flags[:1].sum() + (flags[1:] & ~flags[:-1]).sum())
    return not n_blocks or are_errors(int(flags.sum()), n_blocks, len(flags), n_columns)


def bound_bits(
    candidate: Candidate,
    cells: Cells,
    known: dict[int, FloatArray],
    excluded: BoolArray | None = None,
) -> dict[int, float]:
    """Return at least as many bits as ``judge`` finds, at a fraction of its cost, by target."""
    columns = list(candidate.columns)
    present = find_complete(candidate, cells)
    complete = np.flatnonzero(present if excluded is None else present & ~excluded)
    # Columns of few values have few different rows.
    if math.prod((cells.levels[:, columns].max(axis=0) + 1).tolist()) < len(complete):
        complete = cells.find_different(columns, complete)[0]
    values = cells.values[complete]
    if len(values) <= len(candidate.terms):
        return dict.fromkeys(columns, -math.inf)
    with np.errstate(all="ignore"):
        terms = candidate.evaluate_terms(values)
        size, off = np.abs(terms).sum(axis=1), np.abs(terms.sum(axis=1))
        slopes = {j: np.abs(candidate.differentiate(values, j)) for j in columns}
        rounding = np.sum([slope * cells.resolution[j] for j, slope in slopes.items()], axis=0)
        is_exact = off <= 10 * EXACT_DIGITS * size
        is_rounded = off <= 0.75 * rounding + 64 * ROUNDING * size
    length = measure_structure(candidate, cells.count_choices(candidate.columns))
    bounds = dict.fromkeys(columns, -length)
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
                bounds[j] = max(bounds[j], -float(alone[kept & told].sum()) - length)
    return bounds


def allow_errors(ratio: FloatArray, share: float) -> FloatArray:
    """Return the bits of cells that an equation tells, a share of which may be wrong.

    ``ratio`` is log₂ of the ratio of their probabilities with the equation and without it.
    """
    return np.asarray(np.logaddexp2(math.log2(1 - share) + ratio, math.log2(share)))
