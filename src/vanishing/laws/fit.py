"""Coefficients of a law whose terms are known, and what its residuals say about it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.search import center, even_weights, find_singular_vectors
from vanishing.levels import OUTLYING, ROUNDING, SAME_NUMBER

#: Reweightings of the rows, at most, and the change of the deviations, in units of the noise, at
#: which they end: coefficients change by less than their standard errors.
REWEIGHTINGS, UNCHANGED = 6, 0.01
#: A row weighs at most so many times as much as the median row.
MOST_WEIGHT = 20.0


@dataclass(frozen=True)
class Relation:
    """A polynomial g that is fitted to the rows of a scaled table.

    ``deviations`` are g / |∇g|, distances of the rows from the zero set to first order, and
    ``gradients`` are ∇g, both in units of the noise. ``noise`` is the root mean square of the
    deviations of ``sound`` rows, which are not outliers.
    """

    exponents: IntArray
    coefficients: FloatArray
    deviations: FloatArray
    gradients: FloatArray
    noise: float
    sound: BoolArray

    @property
    def degree(self) -> int:
        """The total degree."""
        return int(self.exponents.sum(axis=1).max())

    @property
    def columns(self) -> IntArray:
        """The columns that it speaks about."""
        return np.flatnonzero(self.exponents.any(axis=0))


def evaluate(exponents: IntArray, rows: FloatArray) -> FloatArray:
    """Return the values of monomials, shape (n_rows, n_terms)."""
    values = np.ones((len(rows), len(exponents)))
    for j in np.flatnonzero(exponents.any(axis=0)):
        product = np.ones((len(rows), 1))
        for power in range(1, int(exponents[:, j].max()) + 1):
            product = product * rows[:, j : j + 1]
            values[:, exponents[:, j] == power] *= product
    return values


def differentiate(exponents: IntArray, rows: FloatArray, units: FloatArray) -> FloatArray:
    """Return the gradients of monomials, shape (n_rows, n_columns, n_terms).

    In units of the columns, shape (n_columns,), or of the cells, shape (n_rows, n_columns).
    """
    units = np.broadcast_to(units, rows.shape)
    gradients = np.zeros((len(rows), rows.shape[1], len(exponents)))
    for j in np.flatnonzero(exponents.any(axis=0)):
        having = np.flatnonzero(exponents[:, j])
        lower = exponents[having].copy()
        lower[:, j] -= 1
        gradients[:, j, having] = evaluate(lower, rows) * exponents[having, j] * units[:, j : j + 1]
    return gradients


def fit_relation(
    rows: FloatArray,
    units: FloatArray,
    exponents: IntArray,
    row_weights: FloatArray,
    groups: IntArray | None = None,
    start: BoolArray | None = None,
    proportional: bool = False,
    least_noise: float = ROUNDING,
) -> Relation:
    """Fit the coefficients of given terms, with noise in all columns of the size of ``units``.

    Minimizes the mean of (g / |∇g|)², the squared distance to first order (Sampson's error), by
    solving generalized eigenvalue problems with rows weighted by 1 / |∇g|². Rows far away lose
    their weight. With ``groups``, g is a polynomial minus its mean along each trajectory. The first
    fit is to the rows ``start``: beside one that is far enough off, it would follow that one.
    Deviations up to ``least_noise`` are noise, even if most rows have none.
    """
    values, gradients = evaluate(exponents, rows), differentiate(exponents, rows, units)
    return fit_terms(
        exponents, values, gradients, row_weights, groups, start, proportional, least_noise
    )


def fit_beside(
    relation: Relation,
    rows: FloatArray,
    measure_units: Callable[[FloatArray], FloatArray],
    row_weights: FloatArray,
    proportional: bool = False,
    least_noise: float = ROUNDING,
) -> Relation:
    """Fit a relation again, with gradients where its zero set is nearest to the rows.

    Those at the rows have the noise of the rows: where it makes a gradient steeper, the row weighs
    less, so that coefficients are biased. So have squares of measured values, which are too large.
    ``measure_units`` returns the noise of rows.
    """
    exponents = relation.exponents
    squares = np.sum(relation.gradients**2, axis=1)
    off = relation.deviations * np.sqrt(squares) / np.where(squares > 0, squares, np.inf)
    steps = measure_units(rows) * off[:, None] * relation.gradients
    near = np.where(relation.sound[:, None], rows - steps, rows)
    units = measure_units(near)
    gradients = differentiate(exponents, near, units)
    off = np.where(units > 0, (rows - near) / np.where(units > 0, units, 1.0), 0.0)
    values = evaluate(exponents, near) + np.einsum("rj,rjt->rt", off, gradients)
    return fit_terms(
        exponents, values, gradients, row_weights, None, relation.sound, proportional, least_noise
    )


def fit_terms(
    exponents: IntArray,
    values: FloatArray,
    gradients: FloatArray,
    row_weights: FloatArray,
    groups: IntArray | None = None,
    start: BoolArray | None = None,
    proportional: bool = False,
    least_noise: float = ROUNDING,
) -> Relation:
    """Fit the coefficients of terms whose values and gradients are known."""
    uncentred = values
    # Rows in which all terms are zero keep every law: they say nothing about its noise.
    counted = row_weights * values.any(axis=1)
    if not counted.any():
        counted = row_weights
    weights = even_weights(values.T) * counted
    if start is not None and (counted * start).any():
        weights = weights * start
    deviations, sound = np.full(len(values), np.inf), np.zeros(len(values), dtype=bool)
    for _ in range(REWEIGHTINGS):
        before = deviations, sound
        if groups is not None:
            values = center(uncentred, groups, weights)
        coefficients = _smallest(values, gradients, weights)
        slopes = gradients @ coefficients
        # Where the noise is in proportion to the values, a row is flat for the size of its terms.
        sizes = np.linalg.norm(values * coefficients, axis=1) if proportional else None
        steepness = limit_steepness(np.linalg.norm(slopes, axis=1), sizes)
        deviations = values @ coefficients / steepness
        noise = robust_spread(deviations, counted)
        sound = np.abs(deviations) <= OUTLYING * max(noise, least_noise)
        weights = counted * sound / steepness**2
        if (sound == before[1]).all() and noise > SAME_NUMBER:
            # The sign of the coefficients is arbitrary.
            change = np.abs(np.abs(deviations) - np.abs(before[0]))[sound]
            if change.max(initial=0.0) <= UNCHANGED * noise:
                break
    kept = sound & (counted > 0)
    noise = float(np.sqrt(np.average(deviations[kept] ** 2, weights=row_weights[kept])))
    return Relation(exponents, coefficients, deviations, slopes, noise, sound)


def limit_steepness(steepness: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
    """Return lengths of gradients, with a least one for flat rows, so that none dominates.

    They are compared relative to ``sizes``.
    """
    if sizes is not None:
        sizes = np.maximum(sizes, max(1e-12 * float(sizes.max()), 1e-150))  # rows of zeros
        return sizes * limit_steepness(steepness / sizes)
    usual = max(float(np.median(steepness)), 0.1 * float(np.mean(steepness)))
    return np.maximum(steepness, usual / np.sqrt(MOST_WEIGHT) if usual > 0 else 1.0)


def robust_spread(deviations: FloatArray, row_weights: FloatArray) -> float:
    """Return a standard deviation around zero that outliers do not move."""
    return float(1.4826 * np.median(np.abs(deviations[row_weights > 0])))


def _smallest(values: FloatArray, gradients: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the coefficients of the smallest ratio of weighted sums of g² and |∇g|².

    By the singular values of an orthonormal factor, not of Gram matrices, so that exact laws are
    exact to all digits.
    """
    roots = np.sqrt(weights / weights.sum())
    size = np.sqrt(np.sum((roots[:, None] * values) ** 2, axis=0))
    size = np.where(size > 0, size, 1.0)
    top = roots[:, None] * values / size
    slopes = (roots[:, None, None] * gradients / size).reshape(-1, len(size))
    squares, vectors = np.linalg.eigh(slopes.T @ slopes)
    bottom = np.sqrt(np.clip(squares, 0, None))[:, None] * vectors.T
    left, singular, right = find_singular_vectors(np.vstack([top, bottom]))
    kept = singular > 1e-7 * singular[0]  # not what follows from known laws
    _, _, directions = find_singular_vectors(left[: len(top), kept])
    return np.asarray((directions[-1] / singular[kept]) @ right[kept] / size)
