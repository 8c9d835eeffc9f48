"""Rows that no equation should be fitted to.

A few rows that break the equations of all others lift the extents of these. They are found by
polynomials that come close to most rows, whatever the rest does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np
from scipy.linalg import eigh
from scipy.stats import norm

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.namespace import BoolArray, FloatArray, move_to_numpy
from vanishing.construction.moments import Frame, factor_affine
from vanishing.construction.noise import ROWS_PER_UNKNOWN, UNBOUNDED
from vanishing.data.source import (
    ArraySource,
    SampleSource,
    WeightedSource,
    close_after,
    sample_rows,
)
from vanishing.levels import BLOCK, CHANCE, MEMORY, OUTLYING
from vanishing.polynomials.basis import CLEARLY
from vanishing.polynomials.monomials import SQUARED_AWAY, count, monomials

TINY = float(np.finfo(np.float64).tiny)

#: Rows for each monomial, and monomials, at most: a search with more takes longer than the fit, and
#: finds equations of single rows.
ROWS_LOOKED_AT, MONOMIALS_LOOKED_AT = 25, 84
#: Largest share of outliers: a fifth, with a margin for other rows that are far by chance.
MOST_OUTLIERS = 0.255
#: A row of small gradient is no farther than if it had this share of the usual one: near a singular
#: point ``|g|/‖∇g‖`` is not a distance.
LEAST_GRADIENT = 0.1


@dataclass(frozen=True, eq=False)
class Boundary:
    """Polynomials of one degree and how far a row may be from them."""

    frame: Frame
    degree: int
    coefficients: FloatArray  # on the monomials of the frame's coordinates
    floors: FloatArray  # smallest gradients
    most: float  # largest distance

    def contains(self, rows: FloatArray) -> BoolArray:
        """Say which rows are close to all polynomials."""
        shape = MonomialValues.evaluate(self.frame, rows, self.degree)
        distances = shape.distances(self.coefficients, self.floors)
        return np.asarray(np.all(distances <= self.most, axis=1))


@dataclass(frozen=True, eq=False)
class MonomialValues:
    """Monomials of rows and their gradients, in the units of the rows."""

    values: FloatArray  # (n_rows, n_monomials)
    gradients: FloatArray  # (n_features, n_rows, n_monomials)

    @classmethod
    def evaluate(cls, frame: Frame, rows: FloatArray, degree: int) -> "MonomialValues":
        """Evaluate the monomials of a frame's coordinates."""
        table = monomials(rows.shape[1], degree)
        values = table.values(np.asarray(frame(rows)))
        by_u = np.zeros((rows.shape[1], *values.shape))
        for k in range(rows.shape[1]):
            raised = table.times_variable[k]
            powers = table.exponents[raised, k]
            by_u[k][raised] = powers[:, None] * values[: len(raised)]
        by_x = np.tensordot(frame.axes, by_u, axes=1)
        return cls(values.T, by_x.transpose(0, 2, 1))

    def distances(self, coefficients: FloatArray, floors: FloatArray) -> FloatArray:
        """Return |g| / ‖∇g‖ for each row and polynomial."""
        slopes = np.maximum(self.slopes(coefficients), floors)
        return np.asarray(np.abs(self.values @ coefficients) / slopes)

    def slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return ‖∇g‖ for each row and polynomial."""
        return np.asarray(np.linalg.norm(self.gradients @ coefficients, axis=0))

    def take(self, inside: BoolArray) -> "MonomialValues":
        """Return the values of some rows."""
        return MonomialValues(self.values[inside], self.gradients[:, inside])

    def floors(self, coefficients: FloatArray) -> FloatArray:
        """Return the smallest gradients that polynomials are taken to have."""
        slopes = self.slopes(coefficients)
        usual = np.maximum(np.median(slopes, axis=0), np.mean(slopes, axis=0) / 10)
        return np.asarray(np.maximum(LEAST_GRADIENT * usual, TINY))

    def solve(self, weights: FloatArray, within: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return squared distances, ascending, and polynomials of gradient 1 in a subspace."""
        roots = np.sqrt(weights)[:, None]
        values = (roots * self.values) @ within
        top = values.T @ values
        slopes = (roots * self.gradients).reshape(-1, self.values.shape[1]) @ within
        bottom = slopes.T @ slopes
        # The constant has no gradient: a share of the values keeps the pair definite.
        size = np.trace(bottom) / max(np.trace(top), TINY)
        shifted = bottom + 1e-9 * size * top + 1e-13 * np.trace(bottom) * np.eye(len(top))
        squares, vectors = eigh(top, shifted)
        return squares, within @ vectors


def find_boundaries(rows: FloatArray, max_degree: int) -> list[Boundary]:
    """Find polynomials, one after the other, that are close to most rows, and not to the rest."""
    rng = np.random.default_rng(0)
    widest = count(rows.shape[1], max_degree)
    most = max(600, ROWS_LOOKED_AT * min(widest, MONOMIALS_LOOKED_AT))
    if len(rows) > most:
        rows = rows[rng.choice(len(rows), most, replace=False)]
    search = Search(rows, _robust_frame(rows), rng)
    # A polynomial of too low a degree is close to some rows only: the first degree is the one at
    # which distances stop falling.
    levels: list[float] = []
    for degree in range(1, max_degree + 1):
        n_monomials = count(rows.shape[1], degree)
        if n_monomials > min(MONOMIALS_LOOKED_AT, len(rows) / ROWS_PER_UNKNOWN):
            break
        shape = MonomialValues.evaluate(search.frame, rows, degree)
        levels.append(search.find_closest(shape, np.eye(n_monomials))[1])
        if levels[-1] <= search.exact:
            break
    lowest = max(min(levels, default=0.0), search.exact)
    found: list[Boundary] = []
    inside = np.ones(len(rows), dtype=bool)
    for degree, level in enumerate(levels, start=1):
        if level > CLEARLY * lowest:
            continue
        for boundary in search.find_of_degree(degree, inside):
            closer = inside & boundary.contains(rows)
            if closer.mean() < 1 - MOST_OUTLIERS:
                break
            if not closer[inside].all():
                found.append(boundary)
            inside = closer
    return found


def _robust_frame(rows: FloatArray) -> Frame:
    """Return coordinates by medians and quartiles, which outliers do not move."""
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    usual = np.abs(rows - middle) <= OUTLYING * np.maximum(high - low, TINY)
    kept = rows[usual.all(axis=1)]
    return Frame.fit(factor_affine(ArraySource(kept if len(kept) > 1 else rows), MEMORY))


#: Random sets of rows that polynomials start from, each of a few more rows than a polynomial has
#: terms: some sets have few outliers.
DRAWS = 6


@dataclass(frozen=True, eq=False)
class Search:
    """A search for polynomials that most rows are close to."""

    rows: FloatArray
    frame: Frame
    rng: np.random.Generator

    @property
    def exact(self) -> float:
        """The distance that is taken for zero."""
        spread = np.sqrt(np.mean(np.sum(self.frame.inverse**2, axis=0)))
        return float(SQUARED_AWAY * spread)

    def find_of_degree(self, degree: int, inside: BoolArray) -> Iterator[Boundary]:
        """Yield polynomials of one degree, each closer to most rows than the best one to all."""
        shape = MonomialValues.evaluate(self.frame, self.rows, degree)
        n_monomials = shape.values.shape[1]
        within, known = np.eye(n_monomials), np.inf
        for _ in range(n_monomials - 1):
            part = shape.take(inside)
            polynomial, level, everything = self.find_closest(part, within)
            enough = everything / 2 if np.isinf(known) else CLEARLY * known
            if level > max(enough, self.exact):
                return
            known = min(known, max(level, self.exact))
            floors = part.floors(polynomial)
            boundary = Boundary(self.frame, degree, polynomial, floors, OUTLYING * known)
            yield boundary
            inside = inside & boundary.contains(self.rows)
            # What vanishes on the rows inside is known; the next polynomial is not among it.
            squares, vectors = shape.take(inside).solve(np.ones(inside.sum()), np.eye(n_monomials))
            small = vectors[:, squares <= (CLEARLY * known) ** 2]
            within = np.linalg.svd(small, full_matrices=True)[0][:, small.shape[1] :]
            if within.shape[1] < 2:
                return

    def find_closest(
        self, part: MonomialValues, within: FloatArray
    ) -> tuple[FloatArray, float, float]:
        """Return a polynomial, its usual distance from rows, and that of the best fit to all."""
        best, best_level, everything = within[:, :1], np.inf, 0.0
        for weights in self._find_starts(part, within):
            polynomial, level, first = self._reweight(part, within, weights)
            everything = everything or first
            if level < best_level:
                best, best_level = polynomial, level
            if best_level <= self.exact:
                break
        return best, best_level, everything

    def _reweight(
        self, part: MonomialValues, within: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, float, float]:
        """Fit again and again, with weights that fall with the distance of a row."""
        first, cutoff, last, exact = 0.0, np.inf, np.inf, self.exact / 10
        while cutoff > exact:
            polynomial = part.solve(weights / weights.sum(), within)[1][:, :1]
            floors = part.floors(polynomial)
            distances = part.distances(polynomial, floors)[:, 0]
            first = first or float(np.sqrt(np.mean(distances**2)))
            level = _usual(distances)
            if level <= exact or abs(level - last) < CHANCE * level:
                break
            last = level
            cutoff = max(min(0.8 * cutoff, level), exact)
            slopes = np.maximum(part.slopes(polynomial), floors)[:, 0]
            weights = (distances**2 + cutoff**2) ** -0.75 / slopes**2
        return polynomial, level, max(first, TINY)

    def _find_starts(self, part: MonomialValues, within: FloatArray) -> Iterator[FloatArray]:
        """Yield weights of rows: all, random ones, and those near polynomials through a few."""
        n_rows, n_terms = len(part.values), within.shape[1]
        yield np.ones(n_rows)
        for _ in range(DRAWS):
            weights = np.full(n_rows, 1e-12)
            drawn = self.rng.choice(n_rows, min(2 * n_terms + 10, n_rows // 2), replace=False)
            weights[drawn] = 1.0
            yield weights
        # So many that one without outliers is among them, but for chance.
        n_sets = ceil(log(CHANCE) / log1p(-((1 - MOST_OUTLIERS) ** (n_terms - 1))))
        most = BLOCK // part.gradients[..., 0].size  # whose gradients are worked on at a time
        if n_sets > most or n_terms * ROWS_PER_UNKNOWN > n_rows:
            return
        sets = [self.rng.choice(n_rows, n_terms - 1, replace=False) for _ in range(n_sets)]
        values = part.values @ within
        polynomials = within @ np.linalg.svd(values[np.stack(sets)])[2][:, -1].T
        distances = part.distances(polynomials, part.floors(polynomials))
        levels = np.array([_usual(each) for each in distances.T])
        for which in np.argsort(levels)[:4]:
            yield 1 / (1 + (distances[:, which] / (levels[which] + TINY)) ** 4)


def _usual(distances: FloatArray) -> float:
    """Return the standard deviation of distances by the largest of those that are not outliers."""
    return float(np.quantile(distances, 1 - MOST_OUTLIERS) / norm.ppf(1 - MOST_OUTLIERS / 2))


def leave_out_outliers(
    source: SampleSource, max_degree: int | None
) -> tuple[BoolArray, SampleSource]:
    """Return which rows are not outliers, and the source in which the others have weight 0."""
    rows = sample_rows(source, ROWS_LOOKED_AT * MONOMIALS_LOOKED_AT, seed=0)
    highest = UNBOUNDED if max_degree is None else max_degree
    boundaries = find_boundaries(rows, highest)
    parts = []
    with close_after(source.blocks(block_rows(20 * source.n_features, cpu=source.cpu))) as blocks:
        for block in blocks:
            x = move_to_numpy(block)
            mask = np.ones(len(x), dtype=bool)
            for boundary in boundaries:
                mask &= boundary.contains(x)
            parts.append(mask)
    inside = np.concatenate(parts)
    weights = inside.astype(np.float64)
    if isinstance(source, WeightedSource):
        return inside, WeightedSource(source.source, source.weights * weights)
    return inside, WeightedSource(source, weights)
