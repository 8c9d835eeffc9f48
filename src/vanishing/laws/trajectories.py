"""Trajectories: several series of the same columns, and what an equation of them is worth.

An equation is fitted to some trajectories and has to save bits on those that were held out. Rows of
one trajectory do not tell an equation of the system from one that holds on this trajectory alone.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, product
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, lazy
from vanishing.arrays.parameters import check_real
from vanishing.data.queries import find_query
from vanishing.data.source import get_columns, wrap_frame
from vanishing.data.whole_tables import open_table, take_columns
from vanishing.laws.candidate import Candidate, measure_coefficients, measure_structure
from vanishing.laws.cells import EM_ROUNDS, Cells, robust_spread, round_normal
from vanishing.laws.fit import Relation, differentiate, evaluate, fit_terms, limit_steepness
from vanishing.laws.law import Law, simplify
from vanishing.laws.model import ENOUGH_BITS, NOISE_OF_CORRELATIONS, allow_errors, are_errors
from vanishing.laws.search import HIGHEST_DEGREE, MOST_TERMS, center, choose_degree
from vanishing.laws.soundness import measure_dependence, measure_likeness
from vanishing.laws.table import refuse_sizes, take_table
from vanishing.levels import FOLDS, ROUNDING, UNINFORMATIVE
from vanishing.polynomials.monomials import count

#: Degree of the polynomials in time that motion follows between a few rows. The error of a
#: derivative then falls with the fourth power of the time between rows; higher degrees need more
#: rows than most records have.
SMOOTH = 4
#: Resolution of a column, relative to its spread: solvers of differential equations have errors of
#: this size, which are the same in rows that follow each other.
INTEGRATION = 1e-5
#: Sets of terms of one size that are judged, which takes a few milliseconds each.
JUDGED = 30


@dataclass
class Trajectories:
    """Rows of several trajectories, one after the other, without missing cells.

    ``groups`` are the numbers of their trajectories, rising, and ``labels`` what these are called.
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

    def find_still(self) -> BoolArray:
        """Return the columns that are constant along each trajectory up to noise, and note them."""
        within = center(self.values, self.groups, np.ones(len(self.values)))
        # The mean of n numbers has n rounding errors at most.
        rounding = len(within) * ROUNDING * np.abs(self.values).max(axis=0, initial=0.0)
        still = within.std(axis=0) <= rounding
        for j in np.flatnonzero(within.std(axis=0) <= NOISE_OF_CORRELATIONS * self.values.std(0)):
            still[j] = still[j] or not is_drift(within[:, j], self.groups)
        self.notes += [
            f"{self.names[j]} is constant along each trajectory" for j in np.flatnonzero(still)
        ]
        return np.asarray(still)


def estimate_noise(values: FloatArray, groups: IntArray) -> FloatArray:
    """Estimate the standard deviation of each column's noise by differences in time.

    Differences of a high order are noise where the motion is smooth between rows. Where it is not,
    the estimate is too large, at most the spread of the column.
    """
    estimates = []
    for order in range(1, SMOOTH + 1):
        same = groups[order:] == groups[:-order]
        # Half of the absolute values of normal noise are below 0.6745 standard deviations.
        sizes = np.median(np.abs(np.diff(values, order, axis=0)[same]), axis=0) / 0.6745
        estimates.append(sizes / np.sqrt(comb(2 * order, order)))
    return np.asarray(np.min(estimates, axis=0))


# --- Reading --------------------------------------------------------------------------------------


def take_trajectories(
    X: Any, groups: Any = None, feature_names: Any = None, t: Any = None
) -> Trajectories:
    """Read a list of tables, or one table with ``groups``, and times as ``discover_odes`` has them.

    Rows with missing cells and trajectories that are too short are left out.
    """
    is_named = isinstance(t, str)
    is_step = t is not None and not is_named and np.ndim(t) == 0
    if is_step:
        t = check_real("t", t, zero=False)
    times = None if is_named or is_step else t
    whole = (_join if _is_list(X) else _divide)(X, groups, feature_names, times)
    if is_named:
        if t not in whole.names:
            raise ValueError(
                f"there is no column {t!r} of numbers for the times; there are "
                f"{', '.join(whole.names)}"
            )
        place = whole.names.index(t)
        whole.times = whole.values[:, place]
        whole.values = np.delete(whole.values, place, axis=1)
        whole.names = (*whole.names[:place], *whole.names[place + 1 :])
    elif is_step:
        starts = np.searchsorted(whole.groups, whole.groups)
        whole.times = t * (np.arange(len(starts)) - starts)
    whole = _leave_out(whole)
    refuse_sizes(whole.names, whole.values, HIGHEST_DEGREE, whole.describe_row)
    return whole


def _is_list(X: Any) -> bool:
    """Whether X is a list of tables, or a stack of them."""
    if getattr(X, "ndim", 0) > 2:
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    try:
        return isinstance(X[0], (str, os.PathLike)) or np.ndim(X[0]) == 2
    except ValueError:  # a table whose rows have different lengths
        return True


def _join(X: Sequence[Any], groups: Any, feature_names: Any, t: Any) -> Trajectories:
    """Join a list of tables. One array of times serves all of them."""
    if groups is not None:
        raise ValueError(
            "groups belongs to one table of all trajectories, but X is a list with one table "
            "for each trajectory; leave groups out"
        )
    tables = [take_table(each, feature_names, tells_notes=True) for each in X]
    names = tables[0].shown_names
    for number, table in enumerate(tables):
        if table.shown_names != names:
            raise ValueError(
                f"trajectory {number} has the columns {', '.join(table.shown_names)}, but the "
                f"first one has {', '.join(names)}; give the same columns in the same order"
            )
    lengths = [len(table.values) for table in tables]
    whole = Trajectories(
        np.concatenate([table.values for table in tables]),
        tuple(names),
        np.repeat(np.arange(len(tables)), lengths),
        tuple(range(len(tables))),
        notes=list(dict.fromkeys(note for table in tables for note in table.sentences())),
    )
    if t is not None:
        is_one = len(t) == 0 or (not isinstance(t[0], (list, tuple)) and np.ndim(t[0]) == 0)
        series = [_read_times(each) for each in ([t] * len(tables) if is_one else t)]
        given = [len(each) for each in series]
        if given != lengths:
            raise ValueError(
                f"t must have one time for each row of each trajectory: the trajectories have "
                f"{lengths[:5]} rows, t has {given[:5]}"
            )
        whole.times = np.concatenate(series)
    return whole


def _divide(X: Any, groups: Any, feature_names: Any, t: Any) -> Trajectories:
    """Divide one table into its trajectories, in the order in which they appear."""
    if isinstance(X, (list, tuple)) and not len(X):
        raise ValueError("X is an empty list; give one table for each trajectory")
    query = find_query(X) if isinstance(groups, str) else None
    if isinstance(groups, str) and (query or isinstance(X, (str, os.PathLike))):
        X = take_columns(open_table(query.path if query else X), row_ids=groups)
        groups = X.row_ids
    elif isinstance(groups, str):
        X, groups = _take_labels(X, groups)
    table = take_table(X, feature_names, tells_notes=True)
    n_rows = len(table.values)
    labels = np.zeros(n_rows, dtype=int) if groups is None else _read_labels(groups)
    times = None if t is None else _read_times(t)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must name the trajectory of each of the {n_rows} rows, got shape "
            f"{labels.shape}"
        )
    if times is not None and times.shape != (n_rows,):
        raise ValueError(
            f"t must have one time for each of the {n_rows} rows, got shape {times.shape}"
        )
    known, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[numbers.reshape(-1)]
    order = np.argsort(numbers, kind="stable")
    named = tuple(
        label if isinstance(label, str | int | float) else str(label)
        for label in known[np.argsort(first)].tolist()
    )
    times = None if times is None else times[order]
    return Trajectories(
        table.values[order],
        tuple(table.shown_names),
        numbers[order],
        named,
        times,
        table.sentences(),
    )


def _read_times(t: Any) -> FloatArray:
    """Return times as numbers, or raise if they are dates or texts."""
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
    """Return the labels of trajectories, as texts if they have several types."""
    labels = np.asarray(groups)
    every = [] if labels.dtype.kind in "biuUS" else list(labels.ravel())
    n_missing = sum(
        str(label) in ("nan", "None", "NaT", "<NA>") and not isinstance(label, str)
        for label in every
    )
    if n_missing:
        raise ValueError(
            f"groups has no label for {n_missing} of {labels.size} rows; leave these rows out, or "
            "give them a label"
        )
    return labels.astype(str) if len(set(map(type, every))) > 1 else labels


def _take_labels(X: Any, column: str) -> tuple[Any, Any]:
    """Return a frame without the column of groups, and that column."""
    if (names := get_columns(X)) is None:
        raise ValueError(
            f"groups={column!r} is the name of a column, but X is an array without names; give "
            "the trajectory of each row as an array"
        )
    if column not in names:
        raise ValueError(
            f"there is no column {column!r} for the groups; there are {', '.join(map(str, names))}"
        )
    frame = wrap_frame(X)
    return frame.drop(column).to_native(), np.asarray(frame[column].to_numpy())


def _leave_out(whole: Trajectories) -> Trajectories:
    """Leave out rows with missing cells, and trajectories that are too short for their noise."""
    sound = np.asarray(np.isfinite(whole.values).all(axis=1))
    if whole.times is not None:
        sound &= np.isfinite(whole.times)
    if not sound.all():
        whole.notes.append(
            f"{np.sum(~sound)} of {len(sound)} rows have missing cells and were left out"
        )
    short = np.bincount(whole.groups[sound], minlength=len(whole)) <= SMOOTH
    if short.any():
        whole.notes.append(
            f"{np.sum(short)} of {len(whole)} trajectories have fewer than {SMOOTH + 1} rows and "
            "were left out"
        )
    kept = sound & ~short[whole.groups]
    return Trajectories(
        whole.values[kept],
        whole.names,
        (np.cumsum(~short) - 1)[whole.groups[kept]],
        tuple(compress(whole.labels, ~short)),
        None if whole.times is None else whole.times[kept],
        whole.notes,
    )


def parse_terms(terms: Sequence[str], names: Sequence[str]) -> IntArray:
    """Return the exponents of monomials that are written as text, such as ``x^2*y`` or ``1``."""
    is_list = isinstance(terms, (list, tuple, set, frozenset, np.ndarray))
    if not is_list or not len(terms):
        raise ValueError(f"terms must be a list of terms such as ['x', 'x*y'], got {terms!r}")
    exponents = np.zeros((len(terms), len(names)), dtype=np.intp)
    for row, term in zip(exponents, terms, strict=True):
        for factor in str(term).replace("**", "^").split("*"):
            name, _, power = factor.strip().partition("^")
            name = name.strip()
            if name == "1" and not power:
                continue
            if name not in names or (power and not power.strip().isdigit()):
                raise ValueError(
                    f"terms has the term {term!r}, which is no product of powers of "
                    f"{', '.join(names)}; write it as {names[0]}^2*{names[-1]}"
                )
            row[list(names).index(name)] += int(power or 1)
    return np.unique(exponents, axis=0)


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


# --- What an equation is worth --------------------------------------------------------------------


class Series:
    """A column of trajectories, and how likely its numbers are without an equation.

    Motion is smooth, so rows that follow each other closely say the same over and over. An equation
    therefore tells every K-th row only; the rows between cost as much with it as without it.
    Without it, a row is told by the other values of the column, or by the rows K before and K after
    it. K is the multiple of ``closest``, the distance of rows with independent noise, by a power of
    two with which the equation saves most.
    """

    def __init__(
        self, values: FloatArray, spread: float, unit: float, groups: IntArray, closest: int
    ) -> None:
        self.spread, self.unit = spread, unit
        self.starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])
        lengths = np.diff(np.r_[self.starts, len(groups)])
        parts = np.split(values, self.starts[1:])
        cells = [Cells(part[:, None], np.array([unit])).log_alone[:, 0] for part in parts]
        centred = values - np.repeat([part.mean() for part in parts], lengths)
        widths = np.repeat([part.std() for part in parts], lengths)
        places = np.arange(len(values))
        first, last = np.repeat([self.starts, self.starts + lengths - 1], lengths, axis=1)
        #: log₂ of the probability of each number, by the distance K of the rows that tell it.
        self.alone: dict[int, FloatArray] = {}
        for stride in closest * 2 ** np.arange(max(int(lengths.max() // closest).bit_length(), 1)):
            before, after = np.maximum(places - stride, first), np.minimum(places + stride, last)
            off = np.abs(values - (values[before] + values[after]) / 2)
            sizes = [robust_spread(np.r_[each, -each]) for each in np.split(off, self.starts[1:])]
            codes = [np.concatenate(cells), self._code(np.abs(centred), widths)]
            codes.append(self._code(off, np.repeat(sizes, lengths)))
            self.alone[int(stride)] = mix(np.array(codes))

    def _code(self, off: FloatArray, noise: FloatArray) -> FloatArray:
        """Return log₂ of the probability of numbers with normal noise, and errors of rounding."""
        return np.log2(round_normal(off, np.hypot(noise, self.unit / np.sqrt(12)), self.unit))

    def measure(
        self, off: FloatArray, noise: FloatArray, exponents: IntArray, target: int, has_levels: bool
    ) -> tuple[float, int]:
        """Return the bits that an equation saves, without those of its own length, and K.

        Numbers are ``off`` what it says, with some noise, which is infinite where it says nothing.
        With ``has_levels``, it has a constant of its own for each trajectory, which one of the rows
        must tell.
        """
        n_terms, n_columns = len(exponents), int(exponents.any(axis=0).sum())
        told = noise <= UNINFORMATIVE * self.spread
        if told.sum() <= n_terms:
            return -np.inf, 1
        off, noise = np.where(told, [off, noise], 1.0)
        # A polynomial has several roots, one of which is meant.
        choice = np.log2(max(exponents[:, target].max(), 1))
        correlated = np.maximum(noise, NOISE_OF_CORRELATIONS * self.spread)
        exactly, roughly = (self._code(off, each) - choice for each in (noise, correlated))
        # Which rows it tells depends on the column itself: that has to be written down, too.
        share_told = float(told.mean())
        flags = len(told) * (entr(share_told) + entr(1 - share_told)) / np.log(2)
        best = -np.inf, 1
        for stride, alone in self.alone.items():
            n_broken = int((told & (exactly - alone < -np.log2(len(told) + 2))).sum())
            if n_broken and not are_errors(n_broken, n_broken, int(told.sum()), n_columns):
                continue
            share = (1 + n_broken) / (len(told) + 2)
            bits, as_correlation = (
                self._add_up(told * allow_errors(each - alone, share), told, stride, has_levels)
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
    for _ in range(EM_ROUNDS):
        shares = weights[:, None] * probabilities
        weights = np.mean(shares / shares.sum(axis=0), axis=1)
    return np.asarray(np.log2(weights @ probabilities) + logs.max(axis=0))


def is_drift(deviations: FloatArray, groups: IntArray) -> bool:
    """Say whether the rows before predict deviations from an equation, unlike noise."""
    sums = np.r_[0.0, np.cumsum(deviations)]
    place = np.arange(len(groups)) - np.searchsorted(groups, groups)
    window = 1
    while window <= place.max():
        rows = np.flatnonzero(place >= window)
        first, second = deviations[rows], sums[rows] - sums[rows - window]
        sizes = np.linalg.norm(first) * np.linalg.norm(second)
        correlation = max(float(first @ second / sizes), 0.0) if sizes > 0 else 0.0
        if measure_dependence(correlation, len(rows)) > ENOUGH_BITS:
            return True
        window *= 2
    return False


def is_state(deviations: FloatArray, rows: FloatArray, groups: IntArray, closest: int) -> bool:
    """Say whether deviations are those of another row that came from a similar state, unlike noise.

    Where a row moves to depends on the row before it, whose noise is another one.
    """
    later = np.flatnonzero(groups[closest:] == groups[:-closest]) + closest
    if len(later) < 2:
        return False
    # Of so many rows that follow each other, one is independent.
    return measure_likeness(deviations[later], rows[later - closest]) > ENOUGH_BITS * closest


class Told(NamedTuple):
    """What a polynomial says about the columns, in units of their noise, row by row.

    ``deviations`` and ``noise`` have one column for each kind of level. ``directions`` are the
    gradients without the part that known polynomials explain, and ``steepness`` their lengths,
    0 where the polynomial says nothing new.
    """

    deviations: FloatArray
    noise: FloatArray
    directions: FloatArray
    steepness: FloatArray


@dataclass(frozen=True)
class Found:
    """An equation that was found, the column that it tells, and the bits that it saves.

    ``is_law`` says whether it has the same level on all trajectories.
    """

    relation: Relation
    law: Law
    bits: float
    target: int
    is_law: bool
    told: Told

    @property
    def p_value(self) -> float:
        """How likely chance gives as many bits."""
        return float(min(1.0, 2.0**-self.bits))


@dataclass
class Judge:
    """Judges equations of trajectories by the bits that they save on those that are held out.

    An equation lets one column, its target, be written down from the others and, if ``has_levels``,
    from its mean along the trajectory. Several have as many targets, and tell them together: to
    first order, the target of the next one moves with those of the known ones such that these stay
    constant.

    The columns are ``rows`` times ``sizes``; ``spreads``, ``units`` of noise and ``resolution`` are
    those of ``rows``. Noise below ``least``, relative to the spreads, may be errors of integration,
    and rows less than ``closest`` apart share some of it. ``folds`` are held out in turn.
    """

    rows: FloatArray
    groups: IntArray
    folds: IntArray
    names: tuple[str, ...]
    sizes: FloatArray
    spreads: FloatArray
    units: FloatArray
    resolution: FloatArray
    least: float
    closest: int
    has_levels: bool

    def __post_init__(self) -> None:
        self.found: list[Found] = []
        # Of the known polynomials: rows in which they say nothing, unit vectors along their
        # gradients, their noise along these, and by how much their targets move with the columns.
        self._quiet = np.zeros(len(self.rows), dtype=bool)
        self.normals: list[FloatArray] = []
        self._noise: list[FloatArray] = []
        self._moved = np.zeros((len(self.rows), 0, len(self.units)))

    @lazy
    def series(self) -> dict[int, Series]:
        """The columns that may be a target."""
        shared = self.groups, self.closest
        return {
            j: Series(self.rows[:, j], self.spreads[j], self.resolution[j], *shared)
            for j in np.flatnonzero(self.spreads).tolist()
        }

    def evaluate(self, exponents: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the values and gradients of terms."""
        return evaluate(exponents, self.rows), differentiate(exponents, self.rows, self.units)

    def judge(self, exponents: IntArray) -> Found | None:
        """Return what speaks for a set of terms with its best target, if it is enough."""
        values, gradients = self.evaluate(exponents)

        def fit(rows: BoolArray) -> Relation:
            groups = self.groups[rows] if self.has_levels else None
            weights = np.ones(int(rows.sum()))
            return fit_terms(exponents, values[rows], gradients[rows], weights, groups)

        everything = np.ones(len(values), dtype=bool)
        relation = fit(everything)

        def tell(fitted: Relation, known: BoolArray) -> Told:
            polynomial = values @ fitted.coefficients, gradients @ fitted.coefficients
            return self._tell(*polynomial, known & relation.sound, relation.sound)

        told = tell(relation, everything)
        kept = relation.sound & (told.steepness > 0)
        if kept.sum() <= len(exponents):
            return None
        # Deviations must be noise. The quickest tests come first.
        deviations, groups = told.deviations[kept, 0], self.groups[kept]
        may_drift = told.noise[0, 0] > self.least
        if may_drift and self.has_levels and is_drift(deviations, groups):
            return None
        if self._find_target(exponents, told) is None:
            return None
        if may_drift and is_state(deviations, self.rows[kept], groups, self.closest):
            return None
        held_out = Told(*(each.copy() for each in told))
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            for rows, others in zip(held_out, tell(fit(~out), ~out), strict=True):
                rows[out] = others[out]
        found = self._find_target(exponents, held_out)
        # A term without a coefficient is not one of the equation.
        if found is None or not relation.coefficients.all():
            return None
        bits, target, kind, stride = found
        values, law = self.write(relation, values, self.groups if self.has_levels else None)
        noise = np.maximum(told.noise[:, kind], self.least) * told.steepness * stride**0.5
        noise[~relation.sound] = np.inf
        bits -= measure_law(law, values * relation.coefficients, noise)
        if bits < ENOUGH_BITS:
            return None
        return Found(relation, law, bits, target, bool(kind), told)

    def _tell(
        self, values: FloatArray, slopes: FloatArray, known: BoolArray, sound: BoolArray
    ) -> Told:
        """Return what a polynomial says whose noise and common level known rows tell."""
        deviations = values[:, None]
        if self.has_levels:
            weights = weigh_rows(slopes, sound)
            common = np.average(values[known], weights=weights[known])
            own = center(deviations, self.groups, weights)
            deviations = np.column_stack([own, values - common])
        directions = slopes
        for normal, noise in zip(self.normals, self._noise, strict=True):
            along = np.sum(slopes * normal, axis=1, keepdims=True)
            deviations = deviations - along * noise[:, None]
            directions = directions - along * normal
        steepness = np.linalg.norm(directions, axis=1)
        speaks = ~self._quiet & (steepness > NOISE_OF_CORRELATIONS * np.linalg.norm(slopes, axis=1))
        steepness[~speaks] = 0.0
        deviations = deviations / np.where(speaks, steepness, 1.0)[:, None]
        known = known & speaks
        levels = np.sqrt(np.mean(deviations[known] ** 2, axis=0)) if known.any() else np.inf
        noise = np.full(deviations.shape, levels)
        return Told(deviations, noise, directions, steepness)

    @np.errstate(invalid="ignore")  # infinite scales where the derivative is zero
    def _find_target(self, exponents: IntArray, told: Told) -> tuple[float, int, int, int] | None:
        """Return the bits without the coefficients, the target, the kind of level, and K."""
        best: tuple[float, int, int, int] | None = None
        terms = [tuple((j, p) for j, p in enumerate(row) if p) for row in exponents.tolist()]
        candidate = Candidate(tuple(terms), (1.0,) * len(terms))
        length = measure_structure(candidate, exponents.shape[1])  # which terms it has
        for j in self.series.keys() - {each.target for each in self.found}:
            scale = self._scale_residuals(told, j)
            for kind in range(told.noise.shape[1]):
                off, noise = np.abs(told.deviations[:, kind]) * scale, told.noise[:, kind] * scale
                has_levels = self.has_levels and not kind
                bits, stride = self.series[j].measure(off, noise, exponents, j, has_levels)
                bits -= length
                if bits > (ENOUGH_BITS if best is None else best[0]):
                    best = bits, j, kind, stride
        return best

    def _scale_residuals(self, told: Told, target: int) -> FloatArray:
        """Return by how much the target changes with a deviation of 1; infinite if not at all.

        The targets of known polynomials move with it, so that these stay constant.
        """
        targets = [each.target for each in self.found]
        along = np.sum(told.directions[:, targets] * self._moved[:, :, target], axis=1)
        slopes = np.abs(told.directions[:, target] - along)
        unknown = np.full(len(slopes), np.inf)
        known = (slopes > 0) & (told.steepness > 0)
        sizes = self.units[target] * told.steepness
        return np.asarray(np.divide(sizes, slopes, out=unknown, where=known))

    def write(
        self, relation: Relation, terms: FloatArray, groups: IntArray | None
    ) -> tuple[FloatArray, Law]:
        """Return the terms, minus their means if there are groups, and the law that they make."""
        if groups is not None:
            terms = center(terms, groups, weigh_rows(relation.gradients, relation.sound))
        if relation.noise < self.least:  # errors of integration do not average out
            relation = replace(relation, noise=relation.noise * np.sqrt(len(terms)))
        coefficients, errors = simplify(relation, self.sizes, terms)[0]
        rows = np.flatnonzero(relation.sound)
        return terms, Law(
            self.names, relation.exponents, coefficients, errors, relation.noise, np.nan, rows
        )

    def accept(self, found: Found) -> None:
        """Add an equation to those that are known."""
        told, kind = found.told, int(found.is_law)
        noise = told.noise[:, kind] * self._scale_residuals(told, found.target)
        self._quiet |= ~(noise <= UNINFORMATIVE * self.spreads[found.target])
        length = np.where(told.steepness > 0, told.steepness, 1.0)
        self.found.append(found)
        self.normals.append(told.directions / length[:, None])
        self._noise.append(told.deviations[:, kind])
        normals = np.stack(self.normals, axis=1)
        by_targets = normals[:, :, [each.target for each in self.found]]
        by_targets[self._quiet] = np.eye(len(self.found))
        self._moved = np.asarray(np.linalg.solve(by_targets, normals))

    def leave_out_terms(self, found: Found) -> Found:
        """Leave out terms of an equation as long as that saves bits."""
        exponents = found.relation.exponents
        shorter = [np.delete(exponents, i, axis=0) for i in range(len(exponents))]
        judged = filter(None, map(self.judge, shorter if len(exponents) > 1 else []))
        best = max(judged, key=lambda each: each.bits, default=found)
        return self.leave_out_terms(best) if best.bits > found.bits else found


def weigh_rows(slopes: FloatArray, sound: BoolArray) -> FloatArray:
    """Return weights of rows for the mean of a polynomial along a trajectory."""
    steepness = limit_steepness(np.linalg.norm(slopes, axis=1))
    # Relative ones: squares of small gradients underflow.
    return np.asarray(sound * (steepness.min(initial=np.inf) / steepness) ** 2)


@np.errstate(all="ignore")  # what is not finite is not taken
def measure_law(law: Law, terms: FloatArray, noise: FloatArray) -> float:
    """Return the bits of the coefficients, as people write them or with the digits that count.

    The digits behind the point: those of a small term are as many as those of a large one.
    ``noise`` is that of the sum of the terms, 0 or infinite where the equation says nothing.
    """
    sizes = np.sqrt(np.mean(terms**2, axis=0))
    inverse = np.divide(1.0, noise, out=np.zeros(len(noise)), where=noise > 0)
    influences = terms / sizes * sizes.max() * inverse[:, None]
    return measure_coefficients(law.coefficients.tolist(), influences)[0]


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
