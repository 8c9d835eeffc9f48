"""Trajectories: several series of the same columns, and the search for what holds on all of them.

A polynomial that is fitted to some trajectories has to hold on those that were held out.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar

import numpy as np
from scipy.stats import t as student

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_real
from vanishing.data.whole_tables import open_table, take_columns
from vanishing.laws.discovery import (
    HIGHEST_DEGREE,
    MOST_TERMS,
    PERMUTATIONS,
    Search,
    choose_degree,
    per_degree,
    solved_for,
)
from vanishing.laws.fit import (
    EXACT,
    Relation,
    differentiate,
    evaluate,
    explained_share,
    fit_terms,
)
from vanishing.laws.search import Terms
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


# --- The search -----------------------------------------------------------------------------------

#: Parts into which trajectories are divided: each is held out once.
FOLDS = 5
#: How much larger the deviations may be on trajectories that a polynomial was not fitted to.
MOST_GROWTH = 1.5
#: Deviations below this, relative to the spreads, may be errors of integration.
INTEGRATION = 1e-5
#: Smallest share of rows that are no outliers.
LEAST_SOUND = 0.9
#: Twice the logarithm of a likelihood ratio up to which a term is needless.
NEEDLESS = 10.0


@dataclass
class TrajectorySearch(Search):
    """A search for polynomials that hold on all trajectories.

    Attributes
    ----------
    groups : int array of shape (n_rows,)
        Trajectory of each row.
    folds : int array of shape (n_rows,)
        Part that a row is held out with.
    allowed : int array of shape (n_terms, n_columns) or None
        Monomials that may appear.
    most_noise : float
    """

    groups: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    folds: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    allowed: IntArray | None = None
    most_noise: float = np.inf
    rows_per_term: ClassVar[int] = 25

    def _find_outliers(self) -> BoolArray | None:
        return None

    def _prefer_proportions(
        self, laws: list[tuple[Relation, float]]
    ) -> list[tuple[Relation, float]]:
        return laws

    def _try_ratios(self, rows: BoolArray, most: float) -> bool:
        return False  # an equation of a trajectory is not one of a row

    def _try_draws(self, rows: BoolArray) -> bool:
        return False

    def _complete(self, relation: Relation) -> Relation:
        return relation

    def _simplify_one(self) -> bool:
        return False  # not beyond the monomials that may appear

    def _make_terms(self, rows: IntArray) -> Terms:
        return super()._make_terms(rows).restrict(self.allowed)

    def _rank(self, relation: Relation) -> float:
        # Equations hold for integrals along trajectories, which have no distances from a zero set.
        return float(
            max(relation.noise, EXACT) * per_degree(len(relation.exponents)) ** relation.degree
        )

    def fit(self, exponents: IntArray, start: BoolArray | None = None) -> Relation:
        """Fit the coefficients of given terms, to all rows."""
        return self._fit_to(exponents, np.ones(len(self.rows), dtype=bool))

    def _fit_to(self, exponents: IntArray, rows: BoolArray) -> Relation:
        values, gradients = self.evaluate(exponents, self._data, rows)
        return fit_terms(exponents, values, gradients, self.row_weights[rows])

    def judge(self, relation: Relation) -> tuple[Relation, float | None]:
        """Say whether a relation holds: its p-value, or None; needless terms are left out."""
        relation, p_value = super().judge(relation)
        if p_value is None:
            return relation, None
        if relation.noise > self.most_noise or relation.sound.mean() < LEAST_SOUND:
            return relation, None
        # Whether the deviations of a long polynomial are noise shows in many rows only.
        n_terms = len(relation.exponents)
        is_long = relation.noise > EXACT and n_terms > 3
        if is_long and len(self.rows) < self.rows_per_term * n_terms:
            return relation, None
        fewer = self._prune(relation)
        return (relation, p_value) if fewer is relation else self.judge(fewer)

    def _prune(self, relation: Relation) -> Relation:
        """Leave out the terms without which the deviations are not significantly larger."""
        while len(relation.exponents) > 2:
            shorter = [
                self.fit(np.delete(relation.exponents, i, axis=0))
                for i in range(len(relation.exponents))
            ]
            best = min(shorter, key=lambda each: each.noise)
            growth = (best.noise / max(relation.noise, 1e-300)) ** 2 - 1
            if best.noise > EXACT and len(self.rows) * growth > NEEDLESS:
                break
            relation = best
        return relation

    def _is_rough(self, relation: Relation) -> bool:
        sound = relation.sound
        spreads = self.rows.std(axis=0)
        share, error = explained_share(
            relation.deviations[sound],
            self.rows[sound],
            np.where(spreads > 0, spreads, 1.0),
            solved_for(relation),
        )
        return share > max(0.01, 2 * error)

    def _p_value(self, relation: Relation) -> float:
        """Return how likely chance makes the polynomial hold on other trajectories.

        It is fitted to all trajectories but those held out, and its deviations there are compared
        with those after one column is shuffled. The largest of the p-values counts, so that every
        column it names is needed.
        """
        everything = np.ones(len(self.rows), dtype=bool)
        terms = self.evaluate(relation.exponents, self._data, everything)
        fitted = []
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            fit = self._fit_to(relation.exponents, ~out)
            inside, outside = (self._deviation(each, terms, out) for each in (relation, fit))
            if outside > max(MOST_GROWTH * inside, EXACT):
                return 1.0
            fitted.append((fit, out))

        def deviate(terms: tuple[FloatArray, FloatArray]) -> float:
            return float(np.mean([np.log(self._deviation(fit, terms, out)) for fit, out in fitted]))

        observed = deviate(terms)
        worst = 0.0
        for column in relation.columns:
            shuffled = []
            for _ in range(PERMUTATIONS):
                changed = self._data.copy()
                changed[:, column] = self._shuffle(column)
                shuffled.append(deviate(self.evaluate(relation.exponents, changed, everything)))
            if np.mean(shuffled) - observed < np.log(1.15):  # the column hardly matters
                return 1.0
            spread = np.std(shuffled, ddof=1) * np.sqrt(1 + 1 / PERMUTATIONS)
            gap = (np.mean(shuffled) - observed) / max(spread, 1e-3)
            worst = max(worst, float(student.sf(gap, PERMUTATIONS - 1)))
        return worst

    @property
    def _data(self) -> FloatArray:
        """The table that columns are shuffled in."""
        return self.rows

    def _shuffle(self, column: int) -> FloatArray:
        return np.asarray(self.rng.permutation(self._data[:, column]))

    def evaluate(
        self, exponents: IntArray, data: FloatArray, rows: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the values of terms in some rows, and their gradients."""
        return evaluate(exponents, data[rows]), differentiate(exponents, data[rows], self.spreads)

    def _center(self, values: FloatArray, weights: FloatArray, rows: BoolArray) -> FloatArray:
        return values

    def _deviation(
        self, relation: Relation, terms: tuple[FloatArray, FloatArray], rows: BoolArray
    ) -> float:
        """Return the mean absolute deviation of some rows, by the values and gradients of terms."""
        values, gradients = (each[rows] for each in terms)
        steepness = np.linalg.norm(gradients @ relation.coefficients, axis=1)
        steepness = np.maximum(steepness, 0.2 * np.median(steepness) + 1e-300)
        # Relative ones: squares of tiny gradients underflow.
        weights = (steepness.min(initial=np.inf) / steepness) ** 2
        centred = self._center(values @ relation.coefficients, weights, rows)
        return float(np.mean(np.abs(centred) / steepness)) + 1e-16


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
