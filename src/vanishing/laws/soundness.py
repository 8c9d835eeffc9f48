"""Whether an equation that saves bits is a law: all of it is needed, and what it leaves is noise.

Three things save bits and are not laws. An equation may speak about columns that have no part in
it. It may imitate a function that is outside of the dictionary: enough coefficients follow any
smooth curve, and so does regression, the rival that it must beat. And its residuals may go on from
row to row, depend on columns, or be larger for some values than the noise that it claims.
"""

import math
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, islice
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import (
    Candidate,
    find_complete,
    measure_digits,
    measure_structure,
    predict,
)
from vanishing.laws.cells import Cells, round_normal
from vanishing.laws.model import ENOUGH_BITS, Code, Evidence, Written
from vanishing.levels import ROUNDING

#: Correlation of the residuals of a false law with what it leaves out, which must be seen if there.
TELLING_CORRELATION = 0.5


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
    rows, which = cells.find_different(list(evidence.candidate.columns), rows)
    code = Code(evidence.candidate, cells, rows, evidence.target, which)
    if evidence.target in known:
        code.alone = np.minimum(code.alone + known[evidence.target][rows], 0.0)
    written = code.write_with_noise() if evidence.noise else code.write_exactly()
    if written is None or not _needs_every_column(code, written) or _is_imitation(code, written):
        return False
    if not (written.level or written.rounded) and _is_fitted_to_few_rows(code):
        return False
    if evidence.noise and len(evidence.candidate.columns) == 2:
        # A curve of two columns is an imitation, whichever of them is the target.
        (other,) = set(evidence.candidate.columns) - {evidence.target}
        again = Code(evidence.candidate, cells, rows, other, which)
        again.choice = 0.0  # the target tells the root
        turned = again.write_with_noise() if evidence.candidate.is_solvable(other) else None
        if turned is not None and _is_imitation(again, turned):
            return False
    if not evidence.leaves_residuals:
        return True
    return _leaves_noise(code, written, others)


def _needs_every_column(code: Code, written: Written) -> bool:
    """Say whether the law says less if any of its columns is permuted: if not, it has no part.

    Permuted columns are a contrast that differs from the table in this column alone.
    """
    if (written.level or written.n_fitted) and not _determines_terms(code, written):
        return False
    order = np.random.default_rng(0).permutation(len(code.rows))
    total = float(written.gains.sum())
    noise = np.hypot(written.noise, code.rounding)
    for j in code.candidate.columns:
        if j != code.target:
            contrast = code.values.copy()
            contrast[:, j] = contrast[order, j]
            off = code.values[:, code.target] - predict(code.candidate, contrast, code.target)
            off = np.where(np.isfinite(off), off, np.inf)
            if total - code.sum_gains(off, noise, written) < ENOUGH_BITS:
                return False
    return True


def _is_fitted_to_few_rows(code: Code) -> bool:
    """Say whether two terms of an exact law cancel each other in all rows but one or two.

    If a = b and c = d are wrong in the same two rows, since a line of 17.90 is booked in the wrong
    one of them, then a - b = 17.90 (c - d) in all rows. Those rows were fitted, not told.
    """
    candidate = code.candidate
    if len(candidate.terms) < 4 or not np.ptp(np.abs(candidate.coefficients)):
        return False
    terms = candidate.evaluate_terms(code.values)
    slack = 64 * ROUNDING * np.abs(terms).sum(axis=1)
    for pair in combinations(range(len(candidate.terms)), 2):
        n_off = int((np.abs(terms[:, pair].sum(axis=1)) > slack).sum())
        if 0 < n_off <= len(pair):
            return True
    return False


def _determines_terms(code: Code, written: Written) -> bool:
    """Say whether each term pays for itself: z standard errors are worth ½ z² / log 2 bits."""
    kept = ~written.quiet & ~written.broken
    noise = np.hypot(written.noise, code.unit / np.sqrt(12))[kept]
    has_target = [code.target in dict(term) for term in code.candidate.terms]
    fixed = int(np.argmax(np.abs(code.influences[kept]).sum(axis=0) * has_target))
    scaled = np.delete(code.influences[kept] / noise[:, None], fixed, axis=1)
    sizes = np.linalg.norm(scaled, axis=0)
    if not (np.isfinite(sizes) & (sizes > 0)).all():
        return False
    inverse = np.linalg.pinv((scaled / sizes).T @ (scaled / sizes), hermitian=True)
    errors = np.sqrt(np.diag(inverse)) / sizes
    return bool((errors**2 * 2 * math.log(2) * ENOUGH_BITS < 1).all())


def _leaves_noise(code: Code, written: Written, others: list[int]) -> bool:
    """Say whether residuals are noise: neither other rows nor other columns tell them."""
    kept = np.flatnonzero(~written.quiet & ~written.broken)
    kept = kept[np.argsort(code.rows[kept])]
    # In few rows, nothing of that would be seen. Rounding has a known size, so that one factor
    # may be fitted to all of them. More factors, or fewer rows, follow every trend.
    is_unclear = measure_dependence(TELLING_CORRELATION, len(kept)) < ENOUGH_BITS
    if is_unclear and (written.level or written.n_fitted > 1):
        return False
    residuals = code.residuals[kept] / np.hypot(written.noise[kept], code.unit)
    if written.level and not (_is_normal(code, written, kept) and _is_even(code, written)):
        return False
    first, second = residuals[:-1], residuals[1:]
    squares = np.sqrt(np.sum(first**2) * np.sum(second**2))
    correlation = max(float(first @ second / squares), 0.0) if squares > 0 else 0.0
    if measure_dependence(correlation, len(kept)) > ENOUGH_BITS:
        return False
    level = float(np.median(written.noise[kept])) / code.spread
    own = [j for j in code.candidate.columns if j != code.target]
    # Rounding makes neighbors alike, noise does not.
    if level * code.spread > code.unit and (
        measure_likeness(residuals, code.values[kept][:, own]) > ENOUGH_BITS
    ):
        return False
    for columns in (own, others):
        values = code.values[kept][:, columns]
        complete = np.isfinite(values).all(axis=1)
        if measure_smoothness(residuals[complete], values[complete], level) > ENOUGH_BITS:
            return False
    return True


def _is_normal(code: Code, written: Written, kept: IntArray) -> bool:
    """Say whether residuals are neither exact too often nor bounded."""
    # Noise spares no row: where many are exact, others are of another kind.
    within = round_normal(np.zeros(len(kept)), written.noise[kept], code.unit)
    n_exact = int(np.sum(np.abs(code.residuals[kept]) <= code.unit / 2))
    if measure_excess(n_exact, float(within.sum()), len(kept)) > ENOUGH_BITS:
        return False
    # Noise has no bounds. Lighter tails are those of a variable that the law leaves out.
    residuals = code.residuals[kept] / written.noise[kept]
    kurtosis = float(np.mean(residuals**4) / np.mean(residuals**2) ** 2)
    lighter = max(3 - kurtosis, 0.0) ** 2 * len(kept) / 24  # squared standard errors
    return lighter / (2 * math.log(2)) < ENOUGH_BITS


def _is_even(code: Code, written: Written) -> bool:
    """Say whether residuals are as large as the noise for small and large values alike.

    The noise of a law has a known shape: that of its columns, propagated. Residuals of an
    equation that only comes close have another, even if these are small on the average.
    """
    told = ~written.quiet
    noise = np.hypot(written.noise[told], code.unit)
    sizes = rankdata(np.abs(code.residuals[told]) / noise)
    predicted = code.values[told, code.target] - code.residuals[told]
    for column in (predicted, *code.values[told][:, list(code.candidate.columns)].T):
        ranks = rankdata(column)
        if np.ptp(ranks) == 0:
            continue
        correlation = float(np.corrcoef(sizes, ranks)[0, 1])
        if measure_dependence(correlation, len(ranks)) > ENOUGH_BITS:
            return False
    return True


def _is_imitation(code: Code, written: Written) -> bool:
    """Say whether regression of the target on the other columns says as much as the law.

    That is news only for equations with noise that are not linear themselves.
    """
    candidate = code.candidate
    if not written.level or (candidate.degree == 1 and not candidate.has_logs):
        return False
    n_columns = code.cells.count_choices(candidate.columns)
    cost = measure_structure(candidate, n_columns) + float(written.gains.sum()) - written.bits
    for place, rival in enumerate(_list_rivals(code, written)):
        more = float(written.gains.sum()) - rival.gain
        # A straight line is the usual thing, and is not charged for.
        if place:
            more += rival.measure_length(n_columns) - cost
        else:
            more -= len(candidate.terms)
        if more < ENOUGH_BITS:
            return True
    return False


class Rival(NamedTuple):
    """A regression: the bits that it saves, those of its coefficients, and what it is."""

    gain: float
    coefficients: float
    n_columns: int
    degree: int

    def measure_length(self, n_columns: int) -> float:
        """Return its bits as those of an equation are counted.

        It has columns, of all those of the table, a target, a degree, and coefficients.
        """
        structure = math.log2(math.comb(n_columns, self.n_columns)) + math.log2(self.n_columns)
        return structure + self.degree + self.coefficients


def _list_rivals(code: Code, written: Written) -> Iterator[Rival]:
    """Yield the regressions that a law must beat, the straight line first.

    The target, or its logarithm, is a polynomial of the other columns, or a product of their
    powers. No law is its own rival: one that is a straight line in some coordinates says so.
    """
    candidate, target = code.candidate, code.target
    others = [j for j in candidate.columns if j != target]
    yield from _regress(code, written, others, set())
    for column in others if len(others) > 1 else ():
        yield from _regress(code, written, [column], set())
    if not _is_straight(candidate, {target}):
        yield from _regress(code, written, others, {target})
    if not _is_straight(candidate, set(candidate.columns)):
        yield from islice(_regress(code, written, others, set(candidate.columns)), 1)


def _is_straight(candidate: Candidate, logs: set[int]) -> bool:
    """Say whether an equation is linear in its columns, and in the logarithms of some."""
    is_product = len(candidate.terms) == 2 and logs == set(candidate.columns)
    return is_product or all(
        len(term) <= 1 and all(power == (j not in logs) for j, power in term)
        for term in candidate.terms
    )


def _regress(code: Code, written: Written, others: list[int], logs: set[int]) -> Iterator[Rival]:
    """Yield polynomial regressions of the target on columns, with the logarithms of some.

    Near a point, and for correlated columns, every curve is a straight line. A polynomial that
    says no more than that is not a law: x² = y² where x is about y. And enough coefficients
    imitate any smooth function. Regression of higher and higher degrees does, too: it ends
    when two degrees in a row say no more.
    """
    told, values = ~written.quiet, code.values[:, [*others, code.target]].copy()
    kept = told & ~written.broken
    predicted = values[:, -1] - code.residuals
    noise = np.where(told, written.noise, np.inf)
    for place, j in enumerate([*others, code.target]):
        if j in logs:
            if not (values[told, place] > 0).all():
                return
            values[:, place] = np.log(np.where(values[:, place] > 0, values[:, place], 1.0))
    has_log = code.target in logs
    if has_log:
        if not (predicted[told] > 0).all():
            return
        noise = noise / np.where(predicted > 0, predicted, 1.0)  # d log y = dy / y
    middle, width = np.median(values[:, :-1], axis=0), np.ptp(values[:, :-1], axis=0)
    scaled = (values[:, :-1] - middle) / np.where(width > 0, width, 1.0)
    weights = 1 / noise
    target = values[:, -1] * weights
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
        fitted = features @ np.linalg.lstsq(triangle, coefficients, rcond=None)[0]
        level = float(np.sqrt(np.mean((target - fitted)[kept] ** 2)))
        found = fitted * np.where(told, noise, 0.0)
        off = code.values[:, code.target] - (np.exp(found) if has_log else found)
        rival = Rival(
            _measure_rival(code, off, level * written.noise, written),
            _measure_length(coefficients / level, kept),
            len(others) + 1,
            degree,
        )
        yield rival
        length = rival.gain - rival.coefficients
        n_worse = 0 if length > best else n_worse + 1
        best = max(best, length)


def _measure_length(coefficients: FloatArray, kept: BoolArray) -> float:
    """Return the bits of a regression: its coefficients, in units of the noise, and that noise."""
    return measure_digits(coefficients) + 0.5 * math.log2(len(kept)) + 1


def _measure_rival(code: Code, off: FloatArray, noise: FloatArray, written: Written) -> float:
    """Return the bits that a regression saves, which has one root and nothing to choose."""
    gain = code.sum_gains(off, np.hypot(noise, code.rounding), written)
    return gain + code.choice * int((~written.quiet).sum())


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
