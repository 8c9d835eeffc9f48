"""The noise of points: how large it is, which polynomials it explains, and moments without it.

Every coordinate of a point is taken to have noise of one standard deviation σ. A polynomial g that
vanishes on the true points is then about σ‖∇g‖ on the observed ones. With growing degree the
smallest such distance falls until it reaches σ, and stays there: that plateau is the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log, sqrt

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.construction.gsvd import REGULAR
from vanishing.construction.moments import Frame, Moments, factor_affine
from vanishing.construction.noisy_moments import (
    CLEARLY,
    ROWS_PER_CONDITION,
    Compromise,
    MomentConditions,
    MomentSeries,
    NoisyMoments,
    noise_of,
)
from vanishing.construction.passes import Factor
from vanishing.data.source import ArraySource, SampleSource, sample_rows
from vanishing.levels import FOLDS, OUTLYING
from vanishing.polynomials.basis import STANDARD_ERRORS, largest_by_chance
from vanishing.polynomials.monomials import count

# --- What is found --------------------------------------------------------------------------------

#: Largest noise, as a share of the spread of the points: above it nothing is an equation.
MOST_NOISE = 0.3
#: From this share of the spread on, second-order terms of the noise matter and are corrected.
WORTH_CORRECTING = 3e-3


@dataclass(frozen=True)
class Noise:
    """The noise of points, as their polynomials show it.

    ``level``: standard deviation of the noise of each coordinate, in the units of the points. 0 if
    the equations are exact, NaN if there are none. ``spread``: root mean square distance of the
    points from their mean, over the square root of the number of columns. ``degree``: the lowest
    degree whose polynomials are as close to the points as those of any other one. ``levels``: per
    degree from 1, how far the points are from the closest polynomial, by rows that it was not
    fitted to. ``corrected``: whether the moments of the points are corrected for the noise.
    ``n_equations``: equations of that degree, at most. None if moments were not asked.
    """

    level: float
    spread: float
    degree: int | None
    levels: tuple[float, ...]
    corrected: bool = False
    n_equations: int | None = None

    @property
    def share(self) -> float:
        """The level as a share of the spread."""
        return self.level / self.spread if self.spread > 0 else 0.0

    def closest(self, degree: int) -> float:
        """Return the level of a degree, NaN where it was not looked at."""
        return self.levels[degree - 1] if degree <= len(self.levels) else np.nan

    def most_distant(
        self, degree: int, extents: FloatArray, lengths: FloatArray, n_rows: float
    ) -> float:
        """Return the largest distance from a polynomial that the noise explains.

        ``extents``, ``lengths``: root mean squares of polynomials and of their gradients on the
        points.
        """
        if not self.level > 0 or self.degree is None or degree < self.degree:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.sort(np.nan_to_num(extents / lengths, nan=np.inf))
        too_far = distances > self.level * largest_by_chance(
            np.arange(1.0, len(distances) + 1), n_rows
        )
        number = int(np.argmax(too_far)) if too_far.any() else len(distances)
        if degree == self.degree and self.n_equations is not None:
            number = min(number, self.n_equations)
        return float(distances[number - 1]) * (1 + 1e-9) if number else 0.0

    def __str__(self) -> str:
        looked_at = f"degree {len(self.levels)} or less"
        if self.degree is None:
            return f"no equation of {looked_at} holds to within noise"
        degree = f"equations from degree {self.degree} on"
        if self.level == 0:
            return f"no noise; {degree}"
        above = len(self.levels) > self.degree
        return f"noise {100 * self.share:.2g} % of the spread; {degree}; " + (
            f"degree {self.degree + 1} is no closer" if above else "no higher degree looked at"
        )

    def __repr__(self) -> str:
        return f"<Noise: {self}>"


# --- The plateau ----------------------------------------------------------------------------------

#: Mean squares of moment conditions, in those of sampling errors, above which they are not met.
REFUTED = 8.0
#: Factor by which weighted conditions must be more accurate than adjusted least squares: the
#: estimates of their weights have errors of their own.
WORTH_WEIGHTING = 1.01
#: Degrees that an unbounded fit looks for noise at.
UNBOUNDED = 6
#: Rows for each unknown at least, so that a fit leaves most of the noise as it is.
ROWS_PER_UNKNOWN = 4
#: Monomials of a polynomial at most, and numbers that are computed: seconds of work. Of more rows
#: some are drawn.
MOST_UNKNOWNS, MOST_WORK = 400, 4e8
#: Rows that show the covariance of moment conditions to half a percent.
COVARIANCE_ROWS = 20_000


def highest_degree(n_features: int, n_rows: float, wanted: int) -> int:
    """Return up to which degree, at most one above the wanted one, noise can be looked for."""
    for degree in range(wanted + 1, 0, -1):
        n_monomials = count(n_features, degree)
        if n_monomials <= min(MOST_UNKNOWNS, n_rows / ROWS_PER_UNKNOWN):
            return degree
    return 0


def search_moments(
    source: SampleSource, max_degree: int, memory_budget: int
) -> tuple[Noise, Moments | None] | None:
    """Find the noise of points by moments that are corrected for it.

    ``max_degree``: largest degree of the equations; one more is looked at. Returns ``moments``:
    without the noise, if it is worth correcting. Instead of both, None if moments do not tell:
    there are too many columns or too few rows, or some equations are exact.
    """
    affine = factor_affine(source, memory_budget)
    n_rows = float(source.n_weighted if source.weighted else affine.n_rows)
    highest = highest_degree(source.n_features, n_rows, max_degree)
    if highest < min(2, max_degree):
        return None
    frame = Frame.fit(affine)
    spread = spread_of(affine)
    if not spread > 0:
        return None
    most = int(MOST_WORK / count(source.n_features, 2 * highest))
    if n_rows > most and not source.weighted:
        source, n_rows = ArraySource(sample_rows(source, most, seed=0)), float(most)
    noisy = NoisyMoments.compute(source, frame, highest, memory_budget)
    if not np.isfinite(noisy.sums).all() or np.any(noisy.sums[:, 0] <= 0):
        return None
    whole = noisy.series(range(FOLDS))
    try:
        lowest = min(whole.extents(0.0, degree)[0] for degree in range(1, highest + 1))
        if lowest < (REGULAR * spread) ** 2:
            return None
        trials = [_held_out(noisy, degree) for degree in range(1, highest + 1)]
    except np.linalg.LinAlgError:  # the gradients of some polynomial vanish: exact equations
        return None
    variances = np.array([[variance for variance, _ in trial] for trial in trials])
    conditions = np.array([[condition for _, condition in trial] for trial in trials])
    levels = tuple(float(np.sqrt(np.nanmedian(row))) for row in variances)
    equations = _conditions(noisy, source, n_rows, memory_budget)
    closest = [each.solve(1) for each in equations]
    misfits = np.full(highest, np.nan)
    misfits[: len(closest)] = [n_rows * each.misfits[0] for each in closest]
    degree = _plateau(variances, conditions, misfits, n_rows)
    none = Noise(np.nan, spread, None, levels), None
    if degree > max_degree:
        return none
    level, number = _pool(whole, degree, n_rows)
    if level > MOST_NOISE * spread:
        return none
    noise = Noise(level, spread, degree, levels)
    if level < WORTH_CORRECTING * spread or highest < max_degree:
        return noise, None
    noise = replace(noise, corrected=True)
    # What is taken out leaves moments of points: the pooled level may be a little more than that.
    variance, polynomials = min(whole.first_singular(degree)[0], level**2), None
    if degree > 1 and np.isfinite(misfits[degree - 1]):
        lower = np.array(levels[: degree - 1])
        if np.any((misfits[: degree - 1] > REFUTED) & (lower < CLEARLY * level)):
            number = 1  # multiples of what is nearly an equation of a lower degree are others
        best = _refine(equations[degree - 1], closest[degree - 1], number, n_rows)
        number = best.polynomials.shape[1]
        if number > 1 or equations[degree - 1].gain(best) > WORTH_WEIGHTING:
            variance, polynomials = best.variance, best.polynomials
        if number == 1:  # several average out what one misses
            level = float(np.sqrt(variance * _freedom(whole, degree, n_rows)))
        noise = replace(noise, level=level, n_equations=number)
    return noise, whole.correct(variance, highest, affine.n_rows, polynomials)


def _conditions(
    noisy: NoisyMoments, source: SampleSource, n_rows: float, memory_budget: int
) -> list[MomentConditions]:
    """Return the moment conditions of the degrees for which there are rows enough."""
    rows = None if source.weighted else sample_rows(source, COVARIANCE_ROWS, seed=0)
    found = []
    for degree in range(1, noisy.degree):
        n_conditions = count(source.n_features, degree + 1)
        needed = ROWS_PER_CONDITION * n_conditions
        if n_rows < needed:
            break
        sample = source
        if rows is not None:
            n_moments = count(source.n_features, 2 * degree + 1)
            most = max(needed, int(MOST_WORK / n_moments / n_conditions))
            sample = ArraySource(rows[:: -(-len(rows) // most)])
        found.append(MomentConditions(noisy, degree, sample, memory_budget))
    return found


def _refine(
    conditions: MomentConditions, closest: Compromise, number: int, n_rows: float
) -> Compromise:
    """Return the polynomials, at most a number of them, that meet the conditions."""
    if number == 1:
        return closest
    best = conditions.solve(number)
    met = max(1, int(np.sum(n_rows * best.misfits[:number] < REFUTED)))
    return best if met == number else closest if met == 1 else conditions.solve(met)


def spread_of(affine: Factor) -> float:
    """Return the root mean square distance of points from their mean, for one column."""
    return float(np.linalg.norm(affine.R[1:, 1:]) / np.sqrt(affine.R.shape[1] - 1))


def _held_out(noisy: NoisyMoments, degree: int) -> list[tuple[float, float]]:
    """Fit the closest polynomial without a part of the rows, and find its noise in that part."""
    found = []
    for part in range(FOLDS):
        rest = noisy.series([other for other in range(FOLDS) if other != part])
        _, vector = rest.first_singular(degree)
        found.append(noise_of(noisy.series([part]).along(vector, degree)))
    return found


def _plateau(
    variances: FloatArray, conditions: FloatArray, misfits: FloatArray, n_rows: float
) -> int:
    """Return the lowest degree that no higher one improves on."""
    degrees = range(1, len(variances) + 1)
    return next(
        degree
        for degree in degrees
        if not any(
            _improves(variances, conditions, misfits[degree - 1], degree, higher, n_rows)
            or _fits_better(variances, misfits, degree, higher)
            for higher in degrees[degree:]
        )
    )


def _improves(
    variances: FloatArray,
    conditions: FloatArray,
    misfit: float,
    degree: int,
    higher: int,
    n_rows: float,
) -> bool:
    """Say whether a higher degree is closer to rows that it was not fitted to."""
    # Of equations conditions are near 1, of their squares anything.
    trusted = (conditions[higher - 1] > 1 / CLEARLY) & (conditions[higher - 1] < CLEARLY)
    if trusted.sum() < FOLDS - 1:
        return False
    here, above = variances[degree - 1][trusted], variances[higher - 1][trusted]
    error = float(np.std(np.log(here / above) / 2, ddof=1) / np.sqrt(trusted.sum()))
    gain = float(np.log(here.mean() / above.mean()) / 2)
    # A degree that meets the moment conditions is left for variances that differ clearly only.
    # Symmetric points meet some conditions of too low a degree.
    least = log(CLEARLY) / 2 if misfit < 2 else 0.0
    # A root mean square of N values has a relative standard error of 1/√(2N).
    return gain > max(least, OUTLYING / sqrt(2 * n_rows), STANDARD_ERRORS * error)


def _fits_better(variances: FloatArray, misfits: FloatArray, degree: int, higher: int) -> bool:
    """Say whether moments refute a degree, and no equation of a higher one that is as close."""
    here, above = misfits[degree - 1], misfits[higher - 1]
    closer = np.nanmedian(variances[higher - 1]) < np.nanmedian(variances[degree - 1])
    return bool(closer and here > REFUTED and above < here / REFUTED)


def _pool(whole: MomentSeries, degree: int, n_rows: float) -> tuple[float, int]:
    """Return the noise of all polynomials of a degree that it explains, and how many they are."""
    t, _ = whole.first_singular(degree)
    variances = whole.extents(t, degree)
    numbers = np.arange(1.0, len(variances) + 1)
    means = np.cumsum(variances) / numbers
    apart = variances[1:] > means[:-1] * largest_by_chance(numbers[1:], n_rows) ** 2
    n_explained = 1 + int(np.argmax(apart)) if apart.any() else len(variances)
    return float(np.sqrt(means[n_explained - 1] * _freedom(whole, degree, n_rows))), n_explained


def _freedom(whole: MomentSeries, degree: int, n_rows: float) -> float:
    """Return by which factor a variance is larger than that of the rows it was fitted to."""
    return n_rows / (n_rows - count(whole.n_features, degree))


def search_spectra(spectra: Sequence[FloatArray], spread: float) -> Noise:
    """Find the noise of points by the extents of their polynomials, degree by degree.

    To first order in the noise, and by the rows that the polynomials were fitted to: used where
    moments do not tell.

    ``spectra``: per degree, the extents of polynomials under the gradient normalization.
    """
    levels = tuple(float(np.min(extents, initial=np.inf)) for extents in spectra)
    for degree, (level, above) in enumerate(pairwise(levels), start=1):
        if 0 < level <= min(MOST_NOISE * spread, CLEARLY * above):
            return Noise(level, spread, degree, levels)
    return Noise(np.nan, spread, None, levels)
