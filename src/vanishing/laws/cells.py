"""The cells of a table: numbers, blanks, resolution, and how likely each is without any law.

A law is worth what it saves when a column is written down from the others (``model.py``). That
needs the length of the column on its own: -log₂ p₀ bits a cell. Real columns are neither continuous
nor discrete. They hold many zeros and a few hundred amounts. A density alone would pay 20 bits for
every 0 = 0, and frequencies alone would call amounts that occur once impossible. So

    p₀(x) = w (c_x - 1) / (n - 1) + (1 - w) max(δ f(x), 2⁻³⁰)

with the count c_x of a value, a density f from neighboring values, the resolution δ of the column,
and the weight w of the largest likelihood. The floor keeps one exact law of long numbers from
outweighing everything else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.units import Dimension
from vanishing.levels import ROUNDING, SIGNIFICANT_DIGITS

#: A cell is worth at most 30 bits: nine digits, more than people read.
LEAST_PROBABILITY = 2.0**-30
#: Rounds of expectation maximization for one weight between 0 and 1.
EM_ROUNDS = 8


class Cells:
    """The numbers of a table as laws see them; NaN where a cell is blank.

    ``resolution`` holds the units of the last digits of the columns, by default those of
    ``values``, and ``noise`` their standard deviations, if these are known. ``derived`` columns are
    computed from others, such as the previous balance, and ``dimensions`` what the units of the
    columns measure, None where they are not known. ``varying`` columns have more than one
    value; ``log_alone`` is log₂ p₀ of each cell, 0 where it is blank.
    """

    def __init__(
        self,
        values: FloatArray,
        resolution: FloatArray | None = None,
        noise: FloatArray | None = None,
        derived: frozenset[int] = frozenset(),
        dimensions: Sequence[Dimension | None] = (),
    ) -> None:
        self.values = values
        self.dimensions = dimensions
        self.noise = noise
        self.derived = derived
        self.present: BoolArray = np.isfinite(values)
        if resolution is None:
            resolution = np.array([find_resolution(column) for column in values.T])
        self.resolution = resolution
        self.log_alone = np.zeros(values.shape)
        self.spreads = np.zeros(values.shape[1])
        self.deviations = np.zeros(values.shape[1])
        #: Change of each cell that changes its normal score by 1: the spread of a normal column,
        #: and in proportion to the values for their exponentials.
        self.scales = np.zeros(values.shape)
        #: log₂ of the probability of each cell, told by the rows above and below.
        self.log_between = np.zeros(values.shape)
        #: Number of each value among those of its column, -1 where a cell is blank.
        self.levels: IntArray = np.full(values.shape, -1, dtype=np.intp)
        # Rows that repeat each other do not make their cells more likely.
        _, first, which = np.unique(values, axis=0, return_index=True, return_inverse=True)
        once = np.sort(first)
        place = np.searchsorted(once, first[which.ravel()])
        for j in range(values.shape[1]):
            there = self.present[once, j]
            if there.sum() > 1:
                self._describe(j, values[once[there], j], once[there])
        for each in (self.levels, self.log_alone, self.log_between, self.scales):
            each[:] = each[once][place]
        self.varying: IntArray = np.flatnonzero(self.levels.max(axis=0, initial=-1) > 0)
        self._looked_up: dict[tuple[int, int], FloatArray] = {}
        self._different: tuple[list[int], IntArray, IntArray, IntArray] | None = None

    def _describe(self, j: int, x: FloatArray, there: IntArray) -> None:
        places = np.round(x / self.resolution[j])
        distinct, levels, counts = np.unique(places, return_inverse=True, return_counts=True)
        self.levels[there, j] = levels
        self.spreads[j], self.deviations[j] = robust_spread(x), x.std()
        self.scales[there, j] = _measure_scales(distinct, counts)[levels] * self.resolution[j]
        unit = self.coarsen(j)
        self.log_alone[there, j] = _log_alone(distinct, counts, unit / self.resolution[j])[levels]
        # Nothing of a column that counts years is left open by the years above and below.
        padded = np.concatenate([2 * x[:1] - x[1:2], x, 2 * x[-1:] - x[-2:-1]])
        off = np.abs(x - (padded[:-2] + padded[2:]) / 2)
        noise = np.hypot(robust_spread(np.concatenate([off, -off])), unit / np.sqrt(12))
        self.log_between[there, j] = np.log2(round_normal(off, noise, unit))

    def see_sources(self, functions: Mapping[int, Collection[int]]) -> None:
        """Let rows differ in functions of a row if they differ in the columns that these take."""
        for j, sources in functions.items():
            there = np.flatnonzero(self.present[:, j])
            self.levels[there, j] = self.find_different(list(sources), there)[1]

    def count_choices(self, columns: Iterable[int]) -> int:
        """Return how many columns an equation of some columns could have spoken of.

        If none of them is derived from others, only those that are not.
        """
        is_derived = not self.derived.isdisjoint(columns)
        return (
            len(self.varying)
            if is_derived
            else int((~np.isin(self.varying, list(self.derived))).sum())
        )

    def find_different(self, columns: list[int], complete: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows that differ in some columns, and which of them each complete row is like.

        The last answer is kept: an equation is judged once for each of its targets.
        """
        if self._different is not None:
            asked, of_rows, rows, which = self._different
            if asked == columns and np.array_equal(of_rows, complete):
                return rows, which
        # Numbers for pairs of levels, column by column: sorting rows takes longer.
        rows, which = complete[:1], np.zeros(len(complete), dtype=np.intp)
        for j in columns:
            pairs = which * (self.levels[:, j].max() + 1) + self.levels[complete, j]
            _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
            rows = complete[first]
        self._different = columns, complete, rows, which
        return rows, which

    def coarsen(self, column: int) -> float:
        """Return the resolution at which a cell is worth at most 30 bits."""
        return float(max(self.resolution[column], LEAST_PROBABILITY * self.spreads[column]))

    def log_without_law(self, target: int, columns: list[int], rows: IntArray) -> FloatArray:
        """Return log₂ of the probability of cells of a column that no law of some columns explains.

        Beside the column on its own, each of the other columns may tell what stood beside its value
        in other rows: rows that repeat themselves are not evidence, even if a further column, which
        has nothing to do with the law, is different in each of them.
        """
        best = self.log_alone[rows, target]
        for k in columns:
            if k != target:
                code = self._look_up(target, k, rows)
                if code.sum() > best.sum():
                    best = code
        return np.asarray(best)

    def _look_up(self, target: int, column: int, rows: IntArray) -> FloatArray:
        every = len(rows) == len(self.values)
        if every and (target, column) in self._looked_up:
            return self._looked_up[target, column]
        code = _log_given(
            self.levels[rows, target], self.levels[rows, column], self.log_alone[rows, target]
        )
        if every:
            self._looked_up[target, column] = code
        return code


def round_normal(off: FloatArray, noise: FloatArray | float, unit: float) -> FloatArray:
    """Return the probability of a rounded number that is off by some distance with normal noise."""
    with np.errstate(all="ignore"):
        likelihood = ndtr((unit / 2 - off) / noise) - ndtr((-unit / 2 - off) / noise)
    return np.asarray(np.maximum(likelihood, np.finfo(float).tiny))


def find_resolution(column: FloatArray) -> float:
    """Return the unit of the last digit of a column, not below what floating-point numbers resolve.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.laws.cells import find_resolution
    >>> find_resolution(np.array([1.25, 0.5, 3.0, np.nan]))
    0.01
    """
    x = np.unique(column[np.isfinite(column) & (column != 0)])
    if not len(x):
        return 1.0
    with np.errstate(all="ignore"):  # numbers that single precision does not have
        single = x.astype(np.float32)
    resolution = _find_unit(x)
    if (single == x).all():
        shortest = single.astype(str).astype(float)
        if (shortest != x).any():  # stored in single precision, which tells these from others
            resolution = max(_find_unit(shortest), float(np.spacing(np.abs(single).max())))
    return max(resolution, find_last_unit(column))


def _find_unit(x: FloatArray) -> float:
    """Return the unit of the last digit of numbers as people write them."""
    written = [f"{value:.{SIGNIFICANT_DIGITS - 1}e}".split("e") for value in x.tolist()]
    decimals = max(
        len(digits.rstrip("0").partition(".")[2]) - int(power) for digits, power in written
    )
    return float(10.0**-decimals)


def find_last_unit(column: FloatArray) -> float:
    """Return the unit below which floating-point numbers of a column have no digits."""
    return float(8 * ROUNDING * np.abs(np.nan_to_num(column)).max(initial=np.finfo(float).tiny))


def robust_spread(x: FloatArray) -> float:
    """Return half of the range of the middle two thirds, or the standard deviation if that is 0."""
    low, high = np.quantile(x, [0.16, 0.84])  # one standard deviation on each side
    return float((high - low) / 2 if high > low else x.std())


def _log_alone(places: FloatArray, counts: IntArray, unit: float) -> FloatArray:
    """Return log₂ p₀ of each distinct value; places and the unit are in those of the resolution."""
    n, m = int(counts.sum()), len(places)
    if m == 1:
        return np.zeros(1)
    first, last = _find_neighbors(m)
    n_neighbors = last - first
    widths = np.maximum(places[last] - places[first], n_neighbors)
    density = np.minimum(n_neighbors / m / widths * unit, 1.0)
    return _mix((counts - 1) / (n - 1), density, counts)


def _measure_scales(places: FloatArray, counts: IntArray) -> FloatArray:
    """Return the change of each distinct value that changes its normal score by 1."""
    if len(places) == 1:
        return np.zeros(1)
    first, last = _find_neighbors(len(places))
    scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
    return np.asarray((places[last] - places[first]) / (scores[last] - scores[first]))


def _find_neighbors(n_values: int) -> tuple[IntArray, IntArray]:
    """Return the first and the last of the √n sorted values around each."""
    n_neighbors = min(max(2, int(np.sqrt(n_values))), n_values - 1)
    first = np.clip(np.arange(n_values) - n_neighbors // 2, 0, n_values - 1 - n_neighbors)
    return first, first + n_neighbors


def _log_given(x: IntArray, other: IntArray, log_alone: FloatArray) -> FloatArray:
    """Return log₂ of the probability of levels, looked up at the levels of another column."""
    code = log_alone.copy()
    both = (x >= 0) & (other >= 0)
    x, other = x[both], other[both]
    if not len(x):
        return code
    n_beside = np.bincount(other)[other]
    _, pairs, n_pairs = np.unique(
        x * (other.max() + 1) + other, return_inverse=True, return_counts=True
    )
    seen = n_beside > 1
    if not seen.any():
        return code
    frequency = (n_pairs[pairs.ravel()][seen] - 1) / (n_beside[seen] - 1)
    places = np.flatnonzero(both)[seen]
    code[places] = _mix(frequency, 2.0 ** log_alone[places], np.ones(len(places)))
    return code


def _mix(first: FloatArray, second: FloatArray, counts: FloatArray | IntArray) -> FloatArray:
    """Return log₂ of the mixture of two probabilities that makes the cells most likely."""
    n, weight = float(counts.sum()), 0.5
    for _ in range(EM_ROUNDS):
        share = weight * first / (weight * first + (1 - weight) * second)
        weight = min(max(float(counts @ share) / n, 1 / (n + 1)), n / (n + 1))
    return np.asarray(np.log2(weight * first + (1 - weight) * second))
