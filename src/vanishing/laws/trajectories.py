"""Trajectories: several series of the same columns, and what an equation of them is worth.

An equation is fitted to some trajectories and has to save bits on those that were held out.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import comb
from typing import Any, TypeVar

import numpy as np
from scipy.spatial import KDTree

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_real
from vanishing.data.whole_tables import open_table, take_columns
from vanishing.laws.cells import ROUNDS, robust_spread, round_normal
from vanishing.laws.fit import Relation
from vanishing.laws.law import Law, make_law
from vanishing.laws.model import (
    ENOUGH_BITS,
    UNINFORMATIVE,
    Candidate,
    allow_errors,
    are_errors,
    measure_dependence,
    measure_digits,
    measure_structure,
)
from vanishing.laws.search import HIGHEST_DEGREE, MOST_TERMS, choose_degree
from vanishing.laws.table import describe_reading, refuse_sizes, take_table
from vanishing.polynomials.monomials import count

#: Rows below which a trajectory says nothing.
FEWEST_ROWS = 5
#: Order of the differences that noise is estimated by.
HIGHEST_DIFFERENCE = 4


@dataclass
class Trajectories:
    """Rows of several trajectories, one after the other.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns)
        Without missing cells.
    names : tuple of str
    groups : int array of shape (n_rows,)
        Number of the trajectory of each row, rising.
    labels : tuple of str, int or float
        What the trajectories are called.
    times : array of shape (n_rows,) or None
    notes : list of str
        Sentences about what was set aside.
    """

    values: FloatArray
    names: tuple[str, ...]
    groups: IntArray
    labels: tuple[str | int | float, ...]
    times: FloatArray | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.labels)

    def split(self, values: FloatArray) -> list[FloatArray]:
        """Split an array with one entry for each row into one array for each trajectory."""
        return np.split(values, np.flatnonzero(np.diff(self.groups)) + 1)

    def describe_row(self, row: int) -> str:
        """Return the name of the trajectory of a row, for messages."""
        return f"trajectory {self.labels[self.groups[row]]!r}"


def estimate_noise(values: FloatArray, groups: IntArray) -> FloatArray:
    """Estimate the standard deviation of each column's noise by differences in time.

    Differences of a high order are noise where the motion is smooth between rows. Where it is not,
    the estimate is too large, at most the spread of the column.
    """
    estimates = []
    differences, same = values, groups
    for order in range(1, HIGHEST_DIFFERENCE + 1):
        differences = np.diff(differences, axis=0)
        same = groups[order:] == groups[:-order]
        if not same.any():
            break
        sizes = 1.4826 * np.median(np.abs(differences[same]), axis=0)
        estimates.append(sizes / np.sqrt(comb(2 * order, order)))
    return np.asarray(np.min(estimates, axis=0))


def take_trajectories(
    X: Any, groups: Any = None, feature_names: Any = None, t: Any = None
) -> Trajectories:
    """Return trajectories of any kind as one table.

    Parameters
    ----------
    X : list of tables, or one table
    groups : array-like of shape (n_rows,) or str, optional
        Of one table: which trajectory each row belongs to, or the column that says so.
    feature_names : sequence of str, optional
    t : float, array, list of arrays or str, optional
        Times: the step between rows, times of all rows or of each trajectory, or a column.
    """
    if t is not None and not isinstance(t, str) and np.ndim(t) == 0:
        t = check_real("t", t, zero=False)
    if _is_list(X):
        if groups is not None:
            raise ValueError(
                "groups belongs to one table of all trajectories, but X is a list with one table "
                "for each trajectory; leave groups out"
            )
        whole = _join(X, feature_names, t)
    else:
        whole = _divide(X, groups, feature_names, t)
    whole = _leave_out(whole)
    refuse_sizes(whole.names, whole.values, HIGHEST_DEGREE, whole.describe_row)
    return whole


def _is_list(X: Any) -> bool:
    """Whether X is a list of tables, or a stack of them."""
    if getattr(X, "ndim", 0) == 3:
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    try:
        return isinstance(X[0], (str, os.PathLike)) or np.ndim(X[0]) == 2
    except ValueError:  # a table whose rows have different lengths
        return True


def parse_terms(terms: Sequence[str], names: Sequence[str], argument: str) -> IntArray:
    """Return the exponents of monomials that are written as text, such as ``x^2*y`` or ``1``."""
    is_list = isinstance(terms, (list, tuple, set, frozenset, np.ndarray))
    if not is_list or not len(terms):
        raise ValueError(f"{argument} must be a list of terms such as ['x', 'x*y'], got {terms!r}")
    exponents = np.zeros((len(terms), len(names)), dtype=np.intp)
    for row, term in zip(exponents, terms, strict=True):
        for factor in str(term).replace("**", "^").split("*"):
            name, _, power = factor.strip().partition("^")
            name = name.strip()
            if name == "1" and not power:
                continue
            if name not in names or (power and not power.strip().isdigit()):
                raise ValueError(
                    f"{argument} has the term {term!r}, which is no product of powers of "
                    f"{', '.join(names)}; write it as {names[0]}^2*{names[-1]}"
                )
            row[list(names).index(name)] += int(power or 1)
    return np.unique(exponents, axis=0)


def _join(X: Sequence[Any], feature_names: Any, t: Any) -> Trajectories:
    """Join a list of tables."""
    tables = [take_table(each, feature_names, tells_notes=True) for each in X]
    names = tables[0].names
    for number, table in enumerate(tables):
        if table.names != names:
            raise ValueError(
                f"trajectory {number} has the columns {', '.join(table.names)}, but the first one "
                f"has {', '.join(names)}; give the same columns in the same order"
            )
    lengths = [len(table.values) for table in tables]
    times = None
    if isinstance(t, str):
        times = _take_column(np.concatenate([table.values for table in tables]), names, t)
    elif t is not None and np.ndim(t) == 0:
        times = np.concatenate([t * np.arange(length) for length in lengths])
    elif t is not None:
        # One array serves all trajectories of its length.
        same = len(t) == 0 or (not isinstance(t[0], (list, tuple)) and np.ndim(t[0]) == 0)
        series = [_read_times(t)] * len(tables) if same else [_read_times(each) for each in t]
        given = [len(each) for each in series]
        if given != lengths:
            raise ValueError(
                f"t must have one time for each row of each trajectory: the trajectories have "
                f"{lengths[:5]} rows, t has {given[:5]}"
            )
        times = np.concatenate(series)
    return _without(
        Trajectories(
            np.concatenate([table.values for table in tables]),
            tuple(names),
            np.repeat(np.arange(len(tables)), lengths),
            tuple(range(len(tables))),
            times,
            list(dict.fromkeys(note for table in tables for note in table.notes)),
        ),
        t,
    )


def _divide(X: Any, groups: Any, feature_names: Any, t: Any) -> Trajectories:
    """Divide one table into its trajectories; without groups it is one."""
    if isinstance(X, (list, tuple)) and not len(X):
        raise ValueError("X is an empty list; give one table for each trajectory")
    labels: Any = groups
    notes: list[str] = []
    if isinstance(groups, str) and isinstance(X, (str, os.PathLike)):
        read = take_columns(open_table(X), row_ids=groups)
        X, labels = read.values, read.row_ids
        feature_names = read.shown_names if feature_names is None else feature_names
        notes = describe_reading(read)
    elif isinstance(groups, str):
        X, labels = _take_labels(X, groups)
    table = take_table(X, feature_names, tells_notes=True)
    table.notes.extend(notes)
    n_rows = len(table.values)
    labels = np.zeros(n_rows, dtype=int) if labels is None else _read_labels(labels)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must name the trajectory of each of the {n_rows} rows, got shape "
            f"{labels.shape}"
        )
    times = None
    if isinstance(t, str):
        times = _take_column(table.values, table.names, t)
    elif t is not None and np.ndim(t):
        times = _read_times(t)
        if times.shape != (n_rows,):
            raise ValueError(
                f"t must have one time for each of the {n_rows} rows, got shape {times.shape}"
            )
    # Trajectories are numbered as they appear; rows keep their order.
    known, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    numbers = rank[numbers.reshape(-1)]
    order = np.argsort(numbers, kind="stable")
    groups = numbers[order]
    if t is not None and not isinstance(t, str) and np.ndim(t) == 0:
        starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])
        times = t * (np.arange(n_rows) - np.repeat(starts, np.diff(np.r_[starts, n_rows])))
    elif times is not None:
        times = times[order]
    named = tuple(
        label if isinstance(label, str | int | float) else str(label)
        for label in known[np.argsort(first)].tolist()
    )
    return _without(
        Trajectories(
            table.values[order], tuple(table.names), groups, named, times, list(table.notes)
        ),
        t,
    )


def _read_times(t: Any) -> FloatArray:
    """Return times as numbers, or raise if they are none."""
    times = np.asarray(t)
    if times.dtype.kind in "Mm" or any(hasattr(time, "year") for time in times.ravel()[:1]):
        raise TypeError(
            "t holds dates or durations, whose unit is not known; pass numbers, for instance the "
            "seconds (t - t[0]) / numpy.timedelta64(1, 's')"
        )
    if times.dtype.kind not in "iufO":
        raise TypeError(f"t must hold numbers, got {times.dtype}")
    return times.astype(float)


def _read_labels(groups: Any) -> Any:
    """Return the labels of trajectories, texts if they are of several types; raise if some lack."""
    labels = np.asarray(groups)
    every = [] if labels.dtype.kind in "biuUS" else labels.ravel().tolist()
    n_missing = int(np.isnat(labels).sum()) if labels.dtype.kind in "Mm" else 0
    for label in every:
        is_nan = isinstance(label, float) and np.isnan(label)
        n_missing += is_nan or label is None or type(label).__name__ in ("NAType", "NaTType")
    if n_missing:
        raise ValueError(
            f"groups has no label for {n_missing} of {labels.size} rows; leave these rows out, or "
            "give them a label"
        )
    has_several = labels.dtype.kind == "O" and len({type(label) for label in every}) > 1
    return labels.astype(str) if has_several else labels


def _take_labels(X: Any, column: str) -> tuple[Any, Any]:
    """Return a frame without the column of groups, and that column."""
    if not hasattr(X, "columns"):
        raise ValueError(
            f"groups={column!r} is the name of a column, but X is an array without names; give "
            "the trajectory of each row as an array"
        )
    if column not in list(X.columns):
        raise ValueError(
            f"there is no column {column!r} for the groups; there are "
            f"{', '.join(map(str, X.columns))}"
        )
    return X[[name for name in X.columns if name != column]], np.asarray(X[column])


def _take_column(values: FloatArray, names: Sequence[str], t: str) -> FloatArray:
    if t not in names:
        raise ValueError(
            f"there is no column {t!r} of numbers for the times; there are {', '.join(names)}"
        )
    return np.asarray(values[:, list(names).index(t)])


def _without(trajectories: Trajectories, t: Any) -> Trajectories:
    """Leave out the column of times."""
    if isinstance(t, str):
        kept = [j for j, name in enumerate(trajectories.names) if name != t]
        trajectories.values = trajectories.values[:, kept]
        trajectories.names = tuple(trajectories.names[j] for j in kept)
    return trajectories


def _leave_out(whole: Trajectories) -> Trajectories:
    """Leave out rows with missing cells, and trajectories that are too short."""
    sound = np.asarray(np.isfinite(whole.values).all(axis=1))
    if whole.times is not None:
        sound &= np.isfinite(whole.times)
    if not sound.all():
        whole.notes.append(
            f"{np.sum(~sound)} of {len(sound)} rows have missing cells and were left out"
        )
    lengths = np.bincount(whole.groups[sound], minlength=len(whole))
    short = lengths < FEWEST_ROWS
    if short.any():
        whole.notes.append(
            f"{np.sum(short)} of {len(whole)} trajectories have fewer than {FEWEST_ROWS} rows and "
            "were left out"
        )
    kept = sound & ~short[whole.groups]
    numbers = np.cumsum(~short) - 1
    labels = tuple(
        label for label, is_short in zip(whole.labels, short, strict=True) if not is_short
    )
    times = None if whole.times is None else whole.times[kept]
    return Trajectories(
        whole.values[kept], whole.names, numbers[whole.groups[kept]], labels, times, whole.notes
    )


# --- What an equation is worth --------------------------------------------------------------------

#: Parts into which trajectories are divided: each is held out once.
FOLDS = 5
#: Resolution of a column, relative to its spread: digits beyond are errors of integration.
INTEGRATION = 1e-5
#: Rows that are the most similar ones to another.
SIMILAR = 4


@dataclass(frozen=True)
class Found:
    """An equation that was found, and the bits that speak for it."""

    relation: Relation
    law: Law
    bits: float

    @property
    def p_value(self) -> float:
        """How likely chance gives as many bits."""
        return float(min(1.0, 2.0**-self.bits))


FoundT = TypeVar("FoundT", bound=Found)


def write_equation(
    relation: Relation,
    sizes: FloatArray,
    terms: FloatArray,
    names: tuple[str, ...],
    resolution: float = INTEGRATION,
) -> Law:
    """Return a relation of scaled columns as a law in their own units, without a p-value."""
    if relation.noise < resolution:  # errors of integration do not average out
        relation = replace(relation, noise=relation.noise * np.sqrt(len(terms)))
    return make_law(relation, sizes, terms, names, np.nan, np.arange(len(terms)))


def leave_out_terms(found: FoundT, judge: Callable[[IntArray], FoundT | None]) -> FoundT:
    """Leave out terms of an equation as long as that saves bits."""
    while (n_terms := len(found.relation.exponents)) > 1:
        shorter = [judge(np.delete(found.relation.exponents, i, axis=0)) for i in range(n_terms)]
        best = max((each for each in shorter if each), key=lambda each: each.bits, default=found)
        if best.bits <= found.bits:
            break
        found = best
    return found


class Series:
    """A column of trajectories, and how likely its numbers are without an equation.

    Motion is smooth, so rows that follow each other closely say the same over and over. An equation
    therefore tells every K-th row only; the rows between cost as much with it as without it.
    Without it, a row is told by the other values of the column, or by the rows K before and K after
    it. Of the powers of two times ``closest``, K is the one with which the equation saves most.

    Parameters
    ----------
    values : array of shape (n_rows,)
    groups : int array of shape (n_rows,)
        Trajectory of each row, rising.
    log_alone : array of shape (n_rows,)
        log₂ of the probability of a number among the other values.
    spread, unit : float
        Of the column, and its resolution.
    closest : int
        Smallest K, at which the noise of rows is independent.
    """

    def __init__(
        self,
        values: FloatArray,
        groups: IntArray,
        log_alone: FloatArray,
        spread: float,
        unit: float,
        closest: int = 1,
    ) -> None:
        self.spread, self.unit = spread, unit
        self.starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])
        lengths = np.diff(np.r_[self.starts, len(groups)])
        place = np.arange(len(values))
        first, last = np.repeat([self.starts, self.starts + lengths - 1], lengths, axis=1)
        means = np.add.reduceat(values, self.starts) / lengths
        centred = values - np.repeat(means, lengths)
        widths = np.sqrt(np.add.reduceat(centred**2, self.starts) / lengths)
        widths = np.hypot(np.repeat(widths, lengths), unit / np.sqrt(12))
        normal = np.log2(round_normal(np.abs(centred), widths, unit))
        #: log₂ of the probability of each number, by the distance K of the rows that tell it.
        self.alone: dict[int, FloatArray] = {}
        for stride in closest * 2 ** np.arange(max(int(lengths.max() // closest).bit_length(), 1)):
            before, after = np.maximum(place - stride, first), np.minimum(place + stride, last)
            off = np.abs(values - (values[before] + values[after]) / 2)
            sizes = [robust_spread(np.r_[each, -each]) for each in np.split(off, self.starts[1:])]
            noise = np.hypot(np.repeat(sizes, lengths), unit / np.sqrt(12))
            between = np.log2(round_normal(off, noise, unit))
            self.alone[int(stride)] = mix(np.array([log_alone, normal, between]))

    def measure(
        self,
        residuals: FloatArray,
        noise: FloatArray,
        correlated: FloatArray,
        exponents: IntArray,
        target: int,
        *,
        has_levels: bool,
    ) -> tuple[float, int]:
        """Return the bits that an equation saves, without those of its own length, and K.

        Parameters
        ----------
        residuals, noise : arrays of shape (n_rows,)
            How far the column is from what the equation says, and the standard deviation of that.
            Infinite noise where the equation says nothing.
        correlated : array of shape (n_rows,)
            Noise that a mere correlation would have.
        exponents : int array of shape (n_terms, n_columns)
            Of the terms of the equation.
        target : int
            The column.
        has_levels : bool
            Whether it has a constant of its own for each trajectory, which a row of it must tell.
        """
        n_terms, n_columns = len(exponents), int(exponents.any(axis=0).sum())
        told = noise <= UNINFORMATIVE * self.spread
        if told.sum() <= n_terms:
            return -np.inf, 1
        off, noise, correlated = (
            np.where(told, each, 1.0) for each in (residuals, noise, correlated)
        )
        exactly, roughly = (
            np.log2(round_normal(off, np.hypot(each, self.unit / np.sqrt(12)), self.unit))
            # A polynomial has several roots, one of which is meant.
            - np.log2(max(exponents[:, target].max(), 1))
            for each in (noise, np.maximum(noise, correlated))
        )
        # Which rows it tells depends on the column itself: that has to be written down, too.
        share_told = float(told.mean())
        flags = (
            -len(told)
            * np.log2([share_told, max(1 - share_told, 1e-300)])
            @ [share_told, 1 - share_told]
        )
        best = -np.inf, 1
        for stride, alone in self.alone.items():
            ratio = np.where(told, exactly - alone, 0.0)
            n_broken = int((ratio < -np.log2(len(ratio) + 2)).sum())
            if n_broken and not are_errors(n_broken, n_broken, int(told.sum()), n_columns):
                continue
            share = (1 + n_broken) / (len(ratio) + 2)
            bits, as_correlation = (
                self._add_up(
                    np.where(told, allow_errors(each - alone, share), 0.0), told, stride, has_levels
                )
                for each in (exactly, roughly)
            )
            if bits - as_correlation >= ENOUGH_BITS + n_terms:
                best = max(best, (bits - flags / stride - np.log2(len(self.alone)), stride))
        return best

    def _add_up(self, gains: FloatArray, told: BoolArray, stride: int, has_levels: bool) -> float:
        """Return the bits of every K-th row; the first of each trajectory may tell its level."""
        sums = np.add.reduceat(gains, self.starts)
        if not has_levels:
            return float(sums.sum()) / stride
        n_rows = np.add.reduceat(told, self.starts, dtype=float)
        n_told = np.maximum(n_rows / stride, 1.0)
        bits = (n_told - 1) * sums / np.maximum(n_rows, 1.0) - 0.5 * np.log2(n_told)
        return float(bits.sum())


def mix(logs: FloatArray) -> FloatArray:
    """Return log₂ of the mixture of probabilities that makes the rows most likely."""
    probabilities = np.exp2(logs - logs.max(axis=0))
    weights = np.full(len(logs), 1 / len(logs))
    for _ in range(ROUNDS):
        shares = weights[:, None] * probabilities
        weights = np.mean(shares / shares.sum(axis=0), axis=1)
    return np.asarray(np.log2(weights @ probabilities) + logs.max(axis=0))


def is_drift(deviations: FloatArray, groups: IntArray) -> bool:
    """Say whether the last rows predict the deviations from an equation, as they do not noise."""
    clipped = np.clip(deviations, *np.quantile(deviations, [0.01, 0.99]))
    sums = np.r_[0.0, np.cumsum(clipped)]
    place = np.arange(len(groups)) - np.searchsorted(groups, groups)
    window = 1
    while window <= place.max():
        rows = np.flatnonzero(place >= window)
        if has_in_common(clipped[rows], sums[rows] - sums[rows - window]):
            return True
        window *= 2
    return False


def is_state(deviations: FloatArray, rows: FloatArray, groups: IntArray, closest: int = 1) -> bool:
    """Say whether deviations are those of other rows that came from a similar state, unlike noise.

    Where a row moves to depends on the row before it, whose noise is another one.
    """
    later = np.flatnonzero(groups[closest:] == groups[:-closest]) + closest
    if len(later) <= SIMILAR:
        return False
    before = rows[later - closest]
    spreads = before.std(axis=0)
    places = before[:, spreads > 0] / spreads[spreads > 0]
    clipped = np.clip(deviations, *np.quantile(deviations, [0.01, 0.99]))[later]
    _, nearest = KDTree(places).query(places, SIMILAR + 1)
    # Two rows that are similar to each other count once.
    return has_in_common(clipped, clipped[nearest[:, 1:]].sum(axis=1), 2 * closest)


def has_in_common(first: FloatArray, second: FloatArray, n_same: int = 1) -> bool:
    """Say whether a positive correlation saves bits, where one of so many rows is independent."""
    sizes = np.linalg.norm(first) * np.linalg.norm(second)
    correlation = max(float(first @ second / sizes), 0.0) if sizes > 0 else 0.0
    return measure_dependence(correlation, len(first) // n_same) > ENOUGH_BITS


def measure_terms(exponents: IntArray) -> float:
    """Return the bits that tell which terms an equation has."""
    terms = [tuple((j, p) for j, p in enumerate(row) if p) for row in exponents.tolist()]
    return measure_structure(Candidate(tuple(terms), (1.0,) * len(terms)), exponents.shape[1])


@np.errstate(all="ignore")  # what is not finite is not taken
def measure_coefficients(law: Law, terms: FloatArray, noise: FloatArray) -> float:
    """Return the bits of the coefficients, as people write them or with the digits that count.

    The digits behind the point: those of a small term are as many as those of a large one.

    Parameters
    ----------
    law : Law
    terms : array of shape (n_rows, n_terms)
        Times their coefficients.
    noise : array of shape (n_rows,)
        Of their sum; 0 or infinite where the equation says nothing.
    """
    sizes = np.sqrt(np.mean(terms**2, axis=0))
    inverse = np.divide(1.0, noise, out=np.zeros(len(noise)), where=noise > 0)
    return measure_digits(law.coefficients.tolist(), terms / sizes * sizes.max() * inverse[:, None])


def divide(exponents: IntArray) -> list[IntArray]:
    """Return terms without their common factor, then without a part of it, and as they are."""
    powers = [range(power, -1, -1) for power in exponents.min(axis=0)]
    divisors = sorted(product(*powers), key=sum, reverse=True)
    return [exponents - np.array(divisor) for divisor in divisors]


def hold_out(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the part that each row's trajectory belongs to, of up to ``FOLDS``."""
    known, numbers = np.unique(groups, return_inverse=True)
    parts = rng.permutation(len(known)) % min(len(known), FOLDS)
    return np.asarray(parts[numbers])


def choose_terms(
    n_columns: int, max_degree: int | None, allowed: IntArray | None, notes: list[str]
) -> int:
    """Return the degree of the search: that of the terms that may appear, if they are given."""
    if allowed is None:
        return choose_degree(n_columns, max_degree, notes)
    degree = max(int(allowed.sum(axis=1).max(initial=0)), 1)
    if max_degree is not None and max_degree < degree:
        raise ValueError(
            f"terms has a term of degree {degree}, but max_degree is {max_degree}; leave out one "
            "of the two"
        )
    if count(n_columns, degree) > MOST_TERMS:
        raise ValueError(
            f"terms of degree {degree} in {n_columns} columns are too many to evaluate; leave out "
            "columns that no term names"
        )
    return degree
