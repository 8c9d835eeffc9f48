"""Coefficients of a law whose terms are known, and what its residuals say about it."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.search import center, even_weights, find_singular_vectors
from vanishing.polynomials.monomials import count, monomials

#: Reweightings of the rows, at most, and the change of the deviations, in units of the noise, at
#: which they end: coefficients change by less than their standard errors.
ROUNDS, UNCHANGED = 6, 0.01
#: Extents below this are rounding errors: the law is exact.
EXACT = 1e-9
#: Deviations below this are rounding errors of the computation: such rows are no outliers.
LEAST_DEVIATION = 1e-15
#: A row weighs at most so many times as much as the median row.
MOST_WEIGHT = 20.0
#: Deviations from which on a residual is an outlier.
OUTLYING = 5.0
#: Combinations of features are noise below this size, and below so many times the noise.
LEAST_VARIATION, NOISE_IN_FEATURES = 0.05, 8.0


@dataclass(frozen=True)
class Relation:
    """A polynomial that is fitted to the rows of a scaled table.

    Attributes
    ----------
    exponents : int array of shape (n_terms, n_columns)
    coefficients : array of shape (n_terms,)
        Of the scaled columns.
    deviations : array of shape (n_rows,)
        g / |∇g|: distances of the rows from the zero set to first order, in units of the noise.
    gradients : array of shape (n_rows, n_columns)
        ∇g in units of the noise.
    noise : float
        Root mean square of the deviations, without outliers.
    sound : boolean array of shape (n_rows,)
        Rows that are no outliers.
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


def differentiate_along(
    exponents: IntArray, rows: FloatArray, directions: FloatArray
) -> FloatArray:
    """Return the derivatives of monomials in the direction of each row, (n_rows, n_terms)."""
    slopes = np.zeros((len(rows), len(exponents)))
    for j in np.flatnonzero(directions.any(axis=0) & exponents.any(axis=0)):
        having = np.flatnonzero(exponents[:, j])
        lower = exponents[having].copy()
        lower[:, j] -= 1
        slopes[:, having] += evaluate(lower, rows) * exponents[having, j] * directions[:, [j]]
    return slopes


def fit_relation(
    rows: FloatArray,
    units: FloatArray,
    exponents: IntArray,
    row_weights: FloatArray,
    groups: IntArray | None = None,
    start: BoolArray | None = None,
    proportional: bool = False,
    least_noise: float = LEAST_DEVIATION,
) -> Relation:
    """Fit the coefficients of given terms, with noise in all columns of the size of ``units``.

    Minimizes the mean of (g / |∇g|)², the squared distance to first order (Sampson's error), by
    solving generalized eigenvalue problems with rows weighted by 1 / |∇g|². Rows far away lose
    their weight. With ``groups``, g is a polynomial minus its mean along each trajectory. The first
    fit is to the rows ``start``: beside one that is far enough off, it would follow that one.
    Deviations up to ``least_noise`` are noise, even if most rows have none.
    """
    columns = np.flatnonzero(exponents.any(axis=0))  # the others have no gradient
    kept, cells, some = exponents[:, columns], rows[:, columns], units[..., columns]
    values, gradients = evaluate(kept, cells), differentiate(kept, cells, some)
    relation = fit_terms(
        exponents, values, gradients, row_weights, groups, start, proportional, least_noise
    )
    slopes = np.zeros(rows.shape)
    slopes[:, columns] = relation.gradients
    return replace(relation, gradients=slopes)


def fit_terms(
    exponents: IntArray,
    values: FloatArray,
    gradients: FloatArray,
    row_weights: FloatArray,
    groups: IntArray | None = None,
    start: BoolArray | None = None,
    proportional: bool = False,
    least_noise: float = LEAST_DEVIATION,
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
    for _ in range(ROUNDS):
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
        if (sound == before[1]).all() and noise > EXACT:
            # The sign of the coefficients is arbitrary.
            change = np.abs(np.abs(deviations) - np.abs(before[0]))[sound]
            if change.max(initial=0.0) <= UNCHANGED * noise:
                break
    kept = sound & (counted > 0)
    noise = float(np.sqrt(np.average(deviations[kept] ** 2, weights=row_weights[kept])))
    return Relation(exponents, coefficients, deviations, slopes, noise, sound)


def limit_steepness(steepness: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
    """Return lengths of gradients, with a least one for flat rows, so that none dominates.

    Parameters
    ----------
    steepness : array of shape (n_rows,)
    sizes : array of shape (n_rows,), optional
        Which lengths are compared relative to.
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


def explained_share(
    deviations: FloatArray, rows: FloatArray, spreads: FloatArray, target: int
) -> tuple[float, float]:
    """Return which share of the deviations is a function of the other columns, and its error.

    The deviations from a law are noise. Those from a rough fit are a smooth function of the
    columns: a polynomial in all columns but ``target`` predicts them in rows that it was not
    fitted to.
    """
    # A few cells that are far off widen a spread, and decide about what is fitted.
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    usual = np.where(high > low, np.minimum((high - low) / 1.349, spreads), spreads)
    others = np.clip(np.delete((rows - middle) / usual, target, axis=1), -4, 4)
    # Where other laws hold, their residuals are noise of the same columns: only directions in
    # which the columns vary by more than noise may predict.
    left, singular, _ = find_singular_vectors(others - others.mean(axis=0))
    varying = singular > max(0.1, 4 * np.sqrt(np.mean(deviations**2))) * np.sqrt(len(rows))
    others = left[:, varying] * np.sqrt(len(rows))
    if not others.shape[1]:
        return 0.0, 0.0
    n_rows, n_columns = others.shape
    features = [np.ones((n_rows, 1)), others]
    for degree in (2, 3):
        if count(n_columns, degree) > n_rows / 8:
            break
        features.append(_products(others, degree))
    design = _without_noise(np.hstack(features)[:, : max(2, n_rows // 4)], deviations)
    clipped = np.clip(deviations, *np.quantile(deviations, [0.01, 0.99]))
    folds = np.arange(n_rows) % 5
    predicted = np.empty(n_rows)
    for fold in range(5):
        out = folds == fold
        known = design[~out]
        gram = known.T @ known + 1e-9 * len(known) * np.eye(design.shape[1])
        coefficients = np.linalg.solve(gram, known.T @ clipped[~out])
        predicted[out] = design[out] @ coefficients
    predicted = np.clip(predicted, clipped.min(), clipped.max())
    total = np.mean(clipped**2)
    gains = clipped**2 - (clipped - predicted) ** 2
    return float(gains.mean() / total), float(gains.std() / np.sqrt(n_rows) / total)


def largest_correlation(deviations: FloatArray, rows: FloatArray, target: int) -> float:
    """Return the largest correlation of deviations with a column, in standard errors.

    A weaker dependence than ``explained_share`` finds, which fits many coefficients where there are
    many columns. Noise of a column is part of the deviations: that much correlation is none. So is
    the one with ``target``, the column that moves the relation most.
    """
    others = np.delete(rows, target, axis=1)
    low, high = np.quantile(deviations, [0.01, 0.99])
    clipped = np.clip(deviations, low, high) - np.clip(deviations, low, high).mean()
    centered = np.clip(others, *np.quantile(others, [0.01, 0.99], axis=0))
    centered = centered - centered.mean(axis=0)
    sizes = np.linalg.norm(clipped) * np.linalg.norm(centered, axis=0)
    correlations = np.abs(clipped @ centered) / np.where(sizes > 0, sizes, 1.0)
    noise = float(np.sqrt(np.mean(deviations**2)))
    return float(np.max(correlations - noise, initial=0.0) * np.sqrt(len(rows)))


def _without_noise(design: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return combinations of features that vary by more than noise.

    Where other laws hold, some combination of the features is their residual, which is noise of
    the same columns: it would predict the deviations from any law.
    """
    centered = design - design.mean(axis=0)
    sizes = np.sqrt(np.mean(centered**2, axis=0))
    left, singular, _ = find_singular_vectors(centered / np.where(sizes > 0, sizes, 1.0))
    noise = float(np.sqrt(np.mean(deviations**2)))
    varying = singular > max(LEAST_VARIATION, NOISE_IN_FEATURES * noise) * np.sqrt(len(design))
    constant = np.ones((len(design), 1))
    return np.hstack([constant, left[:, varying] * np.sqrt(len(design))])


def _products(others: FloatArray, degree: int) -> FloatArray:
    chosen = combinations_with_replacement(range(others.shape[1]), degree)
    return np.column_stack([np.prod(others[:, list(c)], axis=1) for c in chosen])


# --- Rows that no law should be fitted to ---------------------------------------------------------

#: Monomials of the polynomials that outliers are looked for with.
MOST_DENSE = 64
#: Random sets of rows that polynomials are fitted to, those of them that are concentrated, and the
#: rows for each term that this takes.
DRAWS, CONCENTRATED, ROWS_PER_TERM = 60, 6, 10
#: Largest share of outliers, by how much less the noise must be without them, and by how much less
#: at a higher degree.
MOST_OUTLIERS, LESS_NOISE, STILL_LESS = 0.3, 0.75, 0.5


def find_outliers(
    rows: FloatArray,
    units: FloatArray,
    normals: list[FloatArray],
    rng: np.random.Generator,
    rounding: float = 0.0,
) -> BoolArray | None:
    """Return the rows that a polynomial of low degree leaves out, if they hide a relation.

    A few broken rows lift the extent of every law. Polynomials are fitted to random sets of rows,
    of which some have no broken ones; those that come closest to most rows, by the median of their
    deviations, are fitted again to the rows that they pass (concentration steps).

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
    units : array of shape (n_columns,) or (n_rows, n_columns)
        Of the noise.
    normals : list of arrays of shape (n_rows, n_columns)
        Directions of the gradients of known laws: those are not looked for again.
    rng : numpy.random.Generator
    rounding : float
        Deviations that rounding may cause: where too few rows are exact, these are no outliers.

    Returns
    -------
    boolean array of shape (n_rows,) or None
        None if the relation is as good with these rows.
    """
    found: tuple[float, BoolArray] | None = None
    for degree in (1, 2, 3):
        exponents = monomials(rows.shape[1], degree).exponents
        # With few rows for each term only exact relations can be told from chance.
        is_short = len(exponents) > len(rows) / 3
        size = len(exponents) + 4  # more are rarely sound together
        most_terms = min(MOST_DENSE, len(rows) / (1.6 if degree == 1 else 4))
        if len(exponents) > most_terms or size >= len(rows):
            break
        values = evaluate(exponents, rows)
        gradients = project_out(differentiate(exponents, rows, units), normals)
        weights = even_weights(values.T)

        def deviate(sample: IntArray | BoolArray) -> FloatArray:
            coefficients = _smallest(values[sample], gradients[sample], weights[sample])  # noqa: B023
            steepness = limit_steepness(np.linalg.norm(gradients @ coefficients, axis=1))  # noqa: B023
            return np.asarray(values @ coefficients / steepness)  # noqa: B023

        def concentrate(deviations: FloatArray) -> FloatArray:
            closest = np.argsort(np.abs(deviations))[: round((1 - MOST_OUTLIERS) * len(rows))]
            return deviate(rng.permutation(closest)[: ROWS_PER_TERM * len(exponents)])  # noqa: B023

        everything = deviate(np.ones(len(rows), dtype=bool))
        draws = [deviate(rng.choice(len(rows), size, replace=False)) for _ in range(DRAWS)]
        closest = sorted(draws, key=_middle)[:CONCENTRATED]
        drawn = min((concentrate(concentrate(each)) for each in closest), key=_middle)
        for _ in range(3):
            sound = _find_sound(drawn, rounding)
            if sound.mean() < 1 - MOST_OUTLIERS:
                break
            drawn = deviate(sound)
        sound = _find_sound(drawn, rounding)
        before, after = float(np.sqrt(np.mean(everything**2))), _middle(drawn)
        most = EXACT if is_short else LESS_NOISE * before
        hidden = sound.mean() >= 1 - MOST_OUTLIERS and after < min(most, LESS_NOISE * before)
        # A relation times a polynomial that is zero in the broken rows is close to all rows.
        after = max(after, EXACT)
        is_closer = found is None or (
            after < STILL_LESS * found[0] and before > OUTLYING * found[0]
        )
        if hidden and not sound.all() and is_closer:
            found = after, ~sound
    return None if found is None else found[1]


def _find_sound(deviations: FloatArray, rounding: float) -> BoolArray:
    """Return the rows that are no outliers, with those that are off by rounding if need be."""
    most = OUTLYING * max(_middle(deviations), EXACT / 10)
    sound = np.abs(deviations) <= most
    if sound.mean() < 1 - MOST_OUTLIERS:
        sound = np.abs(deviations) <= max(most, rounding)
    return np.asarray(sound)


def project_out(gradients: FloatArray, normals: list[FloatArray]) -> FloatArray:
    """Return what is left of gradients, (n_rows, n_columns, n_terms), without known directions."""
    for normal in normals:
        gradients = gradients - (
            np.einsum("ij,ijm->im", normal, gradients)[:, None] * normal[:, :, None]
        )
    return gradients


def _middle(deviations: FloatArray) -> float:
    return float(1.4826 * np.median(np.abs(deviations)))
