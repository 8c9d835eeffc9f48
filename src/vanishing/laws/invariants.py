"""``discover_invariants``: polynomials that are constant along trajectories.

A polynomial I is an invariant if it keeps its value along every trajectory and has different values
on different ones. Its deviation g = I - (mean of I along the trajectory) then is a relation with
noise, and the search is the one for laws with moments *within* trajectories in place of moments
around zero. A relation that a single trajectory satisfies is not constant along the others; a
polynomial that has the same value on all of them is a law.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.stats import f as fisher

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.discovery import check_options, highest_powers
from vanishing.laws.fit import EXACT, Relation, evaluate, fit_relation
from vanishing.laws.law import Equations, Law, check_rows, make_law
from vanishing.laws.search import Terms, center, make_terms
from vanishing.laws.table import frame_like, refuse_sizes
from vanishing.laws.trajectories import (
    FEWEST_ROWS,
    INTEGRATION,
    Trajectories,
    TrajectorySearch,
    choose_terms,
    estimate_noise,
    hold_out,
    parse_terms,
    take_trajectories,
)

#: Rows that the search looks at; coefficients are fitted to all.
SEARCHED_ROWS = 4000
#: Neighbours in time by which deviations are predicted.
NEIGHBOURS = 5
#: Largest noise, also relative to the noise that differences in time show and that of a multiple.
MOST_NOISE, MOST_RATIO = 0.05, 2.0
#: Most that the noise of a column differs from that of the others, relative to the spreads.
MOST_UNEVEN = 10.0
#: Spread below which a column is constant along a trajectory, and that, relative to its spread
#: over all trajectories, up to which it is constant if it is noise.
CONSTANT, STILL = 1e-12, 0.05
#: p-value from which on the values on all trajectories are the same, and the smallest difference,
#: in standard deviations of the noise.
DIFFERENT, LEAST_DIFFERENCE = 1e-3, 0.2


@dataclass(frozen=True, eq=False, repr=False)
class Invariant(Law):
    """A polynomial of the columns that is constant along every trajectory, up to noise.

    Parameters
    ----------
    names : tuple of str
        All columns.
    exponents : int array of shape (n_terms, n_columns)
    coefficients : array of shape (n_terms,)
        In the units of the columns. Whole numbers where the data allows it.
    standard_errors : array of shape (n_terms,)
        Of the coefficients. Those that are whole numbers have the error 0, as the one that the
        others are relative to.
    extent : float
        Root mean square distance of the rows from the surfaces on which the polynomial has its mean
        value along the trajectory, relative to the columns' spreads within trajectories.
    p_value : float
        How likely the polynomial stays as constant on trajectories that it was not fitted to if one
        of its columns is shuffled in time; corrected for the number of candidates.
    rows : int array
        Numbers of the rows on which it holds.
    levels : array of shape (n_trajectories,)
        Its mean value along each trajectory.
    level_errors : array of shape (n_trajectories,)
        Standard errors of the levels.
    bits, resolution : None
        Not used.
    """

    levels: FloatArray
    level_errors: FloatArray

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        return f"{self._write_latex(self.expression)} = \\mathrm{{const}}"

    def __str__(self) -> str:
        return f"{self.write_terms(range(len(self.coefficients)), 1.0)} = const"


@dataclass(frozen=True, eq=False, repr=False)
class Invariants(Equations):
    """The invariants of several trajectories; see ``discover_invariants``.

    Parameters
    ----------
    equations : tuple of Invariant
    laws : tuple of Law
        Polynomials that have the same value on all trajectories.
    noise : float
        Level relative to the columns' spreads within trajectories; NaN if nothing was found.
    names : tuple of str
        The columns that were looked at.
    labels : tuple of str, int or float
        What the trajectories are called.
    n_rows : int
        Rows without missing cells, of all trajectories.
    notes : tuple of str
        What was set aside, and what the search restricted itself to.
    """

    equations: tuple[Invariant, ...]
    laws: tuple[Law, ...]
    noise: float
    names: tuple[str, ...]
    labels: tuple[str | int | float, ...]
    n_rows: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, index: int) -> Invariant:
        return self.equations[index]

    def values(self, X: Any) -> Any:
        """Evaluate the invariants on rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            The columns ``names``, or a frame that has them among others.

        Returns
        -------
        array of shape (n_rows, n_invariants)
            For a frame of pandas or polars, a frame whose columns are called by the invariants.
        """
        has_names = hasattr(X, "columns") and set(self.names) <= set(X.columns)
        rows = check_rows(X[list(self.names)] if has_names else X, self.names)
        values = np.empty((len(rows), len(self.equations)))
        for k, invariant in enumerate(self.equations):
            values[:, k] = invariant.values(rows)
        names = [str(each).removesuffix(" = const") for each in self.equations]
        return frame_like(X, values, names)

    def _lines(self) -> list[str]:
        return super()._lines() + [f"{law} on all trajectories" for law in self.laws]

    def summary(self) -> str:
        """Return one line: how many invariants, and how much noise.

        Returns
        -------
        str
        """
        where = f"{len(self.names)} columns of {len(self.labels)} trajectories"
        found = []
        for count, one, several in (
            (len(self.equations), "invariant", "invariants"),
            (len(self.laws), "law", "laws"),
        ):
            if count:
                found.append(f"one {one}" if count == 1 else f"{count} {several}")
        if not found:
            return f"No invariant found in {where}."
        text = " and ".join(found)
        noise = f"noise {100 * self.noise:.2g} % of a column's spread"
        return f"{text[0].upper()}{text[1:]} in {where}; {noise if self.noise else 'exact'}."


@dataclass
class InvariantSearch(TrajectorySearch):
    """One search for the invariants of trajectories.

    ``spreads`` are units of the columns' noise.
    """

    fewest_terms: ClassVar[int] = 1

    def _make_terms(self, rows: IntArray) -> Terms:
        terms = make_terms(
            self.rows[rows], self.spreads, self.degree, self.powers, self.groups[rows]
        )
        return terms.restrict(self.allowed)

    def _is_candidate(self, exponents: IntArray, supports: IntArray) -> BoolArray:
        # x (y + z) may be an invariant where y + z is none.
        return np.ones(len(supports), dtype=bool)

    def _accept_best(self, laws: list[tuple[Relation, float]]) -> bool:
        known: dict[bytes, tuple[Relation, float | None]] = {}
        return super()._accept_best([self._divide(*law, known) for law in laws])

    def _divide(
        self, relation: Relation, p_value: float, known: dict[bytes, tuple[Relation, float | None]]
    ) -> tuple[Relation, float]:
        """Leave out the common factor of the terms, or a part of it, if that is an invariant.

        Where y + z is zero, so is x (y + z), which is closer by chance if x is small in some rows.
        ``known`` holds what was judged before.
        """
        common = relation.exponents.min(axis=0)
        if self.allowed is not None or not common.any():
            return relation, p_value
        divisors = [np.array(each) for each in product(*(range(power + 1) for power in common))]
        for divisor in sorted(divisors, key=np.sum, reverse=True)[:-1]:
            exponents = relation.exponents - divisor
            if not exponents.any(axis=1).all():  # 1 is constant
                continue
            key = exponents.tobytes()
            if key not in known:
                known[key] = self.judge(self.fit(exponents))
            other, its_p_value = known[key]
            if its_p_value is not None and other.noise <= MOST_RATIO * max(relation.noise, EXACT):
                return other, its_p_value
        return relation, p_value

    def _fit_to(self, exponents: IntArray, rows: BoolArray) -> Relation:
        return fit_relation(
            self.rows[rows], self.spreads, exponents, self.row_weights[rows], self.groups[rows]
        )

    def _is_rough(self, relation: Relation) -> bool:
        """Whether columns or neighbours in time predict the deviations, which then are no noise."""
        if relation.noise < INTEGRATION:
            return False
        share, error = correlate_in_time(
            relation.deviations[relation.sound], self.groups[relation.sound]
        )
        return share > max(0.02, 3 * error) or super()._is_rough(relation)

    def _shuffle(self, column: int) -> FloatArray:
        """Shuffle a column in time, or between trajectories if it is constant along each."""
        values = self.rows[:, column]
        if self.spreads[column] > 0:
            return values[np.lexsort((self.rng.random(len(values)), self.groups))]
        _, first, numbers = np.unique(self.groups, return_index=True, return_inverse=True)
        return np.asarray(self.rng.permutation(values[first])[numbers])

    def _center(self, values: FloatArray, weights: FloatArray, rows: BoolArray) -> FloatArray:
        return center(values[:, None], self.groups[rows], weights)[:, 0]


def correlate_in_time(deviations: FloatArray, groups: IntArray) -> tuple[float, float]:
    """Return which share of the deviations is smooth in time, and its error for white noise."""
    clipped = np.clip(deviations, *np.quantile(deviations, [0.01, 0.99]))
    total = float(np.mean(clipped**2))
    products, n_pairs = 0.0, 0
    for lag in range(1, NEIGHBOURS + 1):
        together = groups[lag:] == groups[:-lag]
        products += float(np.sum((clipped[lag:] * clipped[:-lag])[together]))
        n_pairs += int(together.sum())
    if not n_pairs or not total:
        return 0.0, 1.0
    return products / n_pairs / total, 1 / np.sqrt(n_pairs)


def discover_invariants(
    X: Any,
    groups: Any = None,
    feature_names: Any = None,
    *,
    max_degree: int | None = None,
    terms: Sequence[str] | None = None,
    random_state: int | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> Invariants:
    """Find the polynomials that are constant along every trajectory of a system.

    Energies, momenta and total masses are such invariants: they have a value of their own on
    each trajectory. No setting is needed: columns may have any units, noise may be in all of them,
    and equations of motion are not used. Polynomials of invariants, such as their squares, are not
    listed. What has the same value on all trajectories is a law of the columns and listed in
    ``laws``.

    Parameters
    ----------
    X : list of tables, or one table with ``groups``
        Each trajectory has at least 5 rows, in the order of time. A table is an array-like, a
        frame or a path. Rows with missing cells are left out.
    groups : array-like of shape (n_rows,) or str, optional
        If X is one table: the trajectory that each row belongs to, or the name of the column
        that says so.
    feature_names : sequence of str, optional
        Names of the columns.
    max_degree : int, optional
        Largest total degree. By default 4, or less for many columns.
    terms : sequence of str, optional
        Monomials that may appear, such as ``["x^2", "y^2", "x*y"]``; by default all.
    random_state : int, optional
        Seed of the permutations that p-values are computed from.
    callback : callable, optional
        Called with the number of invariants and laws that are found so far, and the share of the
        search for the next one that is done, 0 to 1.

    Returns
    -------
    Invariants

    Examples
    --------
    Five oscillations of different energy, with noise of 1 %:

    >>> import numpy as np
    >>> from vanishing.laws import discover_invariants
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 6, 100)
    >>> trajectories = [
    ...     np.column_stack([a * np.cos(2 * t + b), -2 * a * np.sin(2 * t + b)])
    ...     for a, b in rng.uniform(1, 3, (5, 2))
    ... ]
    >>> noisy = [X + 0.01 * X.std(axis=0) * rng.normal(size=X.shape) for X in trajectories]
    >>> invariants = discover_invariants(noisy, feature_names=["x", "v"])
    >>> print(invariants)
    One invariant in 2 columns of 5 trajectories; noise 0.97 % of a column's spread.
      4*x^2 + v^2 = const
    """
    check_options(max_degree, random_state)
    whole = take_trajectories(X, groups, feature_names)
    if len(whole) < 2:
        raise ValueError(
            f"invariants need at least 2 trajectories of {FEWEST_ROWS} rows or more, got "
            f"{len(whole)}; the relations of a single one are found by discover"
        )
    allowed = None if terms is None else parse_terms(terms, whole.names, "terms")
    rng = np.random.default_rng(0 if random_state is None else random_state)
    scaled, units, sizes, level = _scale(whole)
    degree = choose_terms(len(whole.names), max_degree, allowed, whole.notes)
    refuse_sizes(whole.names, whole.values, degree, whole.describe_row)
    chosen = np.arange(len(scaled))
    if len(chosen) > SEARCHED_ROWS:
        chosen = np.sort(rng.choice(chosen, SEARCHED_ROWS, replace=False))
    found: list[tuple[Relation, float]] = []
    if units.any():
        powers = highest_powers(scaled[chosen], scaled.std(axis=0))
        search = InvariantSearch(
            scaled[chosen], units, np.ones(len(chosen)), degree, powers, rng,
            callback=callback, groups=whole.groups[chosen],
            folds=hold_out(whole.groups[chosen], rng), allowed=allowed,
            most_noise=min(MOST_NOISE, max(MOST_RATIO * level, INTEGRATION)),
        )  # fmt: skip
        found = search.run()
    equations: list[Invariant] = []
    laws: list[Law] = []
    for relation, p_value in found:
        invariant = _make_invariant(relation, p_value, whole, scaled, units, sizes)
        if _differ(invariant, whole):
            equations.append(invariant)
        else:
            laws.append(_make_law(invariant, whole, scaled, units, sizes))
    extents = [law.extent for law in (*equations, *laws)]
    level = float(np.sqrt(np.mean(np.square(extents)))) if extents else float("nan")
    return Invariants(
        tuple(equations),
        tuple(laws),
        0.0 if level < EXACT else level,
        whole.names,
        whole.labels,
        len(whole.values),
        tuple(whole.notes),
    )


def _scale(whole: Trajectories) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return scaled columns, units of their noise, their sizes, and the level of the noise.

    A unit is the spread of a column within trajectories times the ratio of its noise, as
    differences in time show it, to that of the other columns. A level is noise in these units.
    """
    sizes = np.sqrt(np.mean(whole.values**2, axis=0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = whole.values / sizes
    within = center(scaled, whole.groups, np.ones(len(scaled)))
    spreads = within.std(axis=0)
    for j, name in enumerate(whole.names):
        share, error = correlate_in_time(within[:, j], whole.groups)
        still = spreads[j] <= STILL * scaled[:, j].std() and share < 3 * error
        if still or spreads[j] <= CONSTANT:
            scaled[:, j] -= within[:, j]
            spreads[j] = 0.0
            whole.notes.append(f"{name} is constant along each trajectory")
    units = spreads.copy()
    moves = spreads > 0
    if not moves.any():
        return scaled, units, sizes, 0.0
    relative = estimate_noise(scaled, whole.groups)[moves] / spreads[moves]
    level = float(np.sqrt(np.mean(relative**2)))
    if level > 0:
        units[moves] *= np.clip(relative / level, 1 / MOST_UNEVEN, MOST_UNEVEN)
    return scaled, units, sizes, level


def _make_invariant(
    relation: Relation,
    p_value: float,
    whole: Trajectories,
    scaled: FloatArray,
    units: FloatArray,
    sizes: FloatArray,
) -> Invariant:
    """Fit a relation to all rows, and write it in the units of the columns."""
    weights = np.ones(len(scaled))
    relation = fit_relation(scaled, units, relation.exponents, weights, whole.groups)
    extent = relation.noise
    if relation.noise < INTEGRATION:  # errors of integration do not average out
        relation = replace(relation, noise=relation.noise * np.sqrt(len(scaled)))
    steepness = np.linalg.norm(relation.gradients, axis=1)
    weights = relation.sound / np.maximum(steepness, 0.2 * np.median(steepness)) ** 2
    terms = center(evaluate(relation.exponents, scaled), whole.groups, weights)
    law = make_law(relation, sizes, terms, whole.names, p_value, np.arange(len(scaled)))
    signs = np.sign(law.coefficients)
    highest = signs[np.argmax(law.exponents.sum(axis=1) == law.degree)]
    coefficients = law.coefficients * (np.sign(signs.sum()) or highest)
    values = evaluate(law.exponents, whole.values) @ coefficients
    levels, errors = [], []
    for number in range(len(whole)):
        along = values[(whole.groups == number) & relation.sound]
        # In a unit in which squares do not overflow.
        size = np.abs(along).max(initial=0.0) or 1.0
        levels.append(along.mean() if len(along) else np.nan)
        errors.append(size * (along / size).std() / np.sqrt(len(along)) if len(along) else np.inf)
    return Invariant(
        law.names, law.exponents, coefficients, law.standard_errors, extent, p_value,
        law.rows, np.array(levels), np.array(errors),
    )  # fmt: skip


def _differ(invariant: Invariant, whole: Trajectories) -> bool:
    """Whether a polynomial has different values on different trajectories."""
    known = np.isfinite(invariant.levels) & np.isfinite(invariant.level_errors)
    levels, errors = invariant.levels[known], invariant.level_errors[known]
    sizes = np.abs(evaluate(invariant.exponents, whole.values) * invariant.coefficients)
    size = float(sizes.sum(axis=1).mean())
    # In a unit in which squares do not overflow.
    levels, errors, rounding = levels / size, np.maximum(errors / size, 1e-140), INTEGRATION
    lengths = np.bincount(whole.groups)[known]
    mean = np.average(levels, weights=1 / errors**2)
    spread = float(np.std(levels, ddof=1))
    noise = float(np.sqrt(np.mean(errors**2 * lengths)))
    ratio = float(np.mean((levels - mean) ** 2 / errors**2)) * len(levels) / (len(levels) - 1)
    p_value = fisher.sf(ratio, len(levels) - 1, lengths.sum() - len(levels))
    return spread > max(LEAST_DIFFERENCE * noise, rounding) and p_value < DIFFERENT


def _make_law(
    invariant: Invariant,
    whole: Trajectories,
    scaled: FloatArray,
    units: FloatArray,
    sizes: FloatArray,
) -> Law:
    """Return a polynomial that has the same value on all trajectories as a law."""
    exponents = invariant.exponents
    error = float(np.std(invariant.levels, ddof=1) / np.sqrt(len(invariant.levels)))
    if abs(np.mean(invariant.levels)) > 4 * error:
        exponents = np.vstack([exponents, np.zeros((1, exponents.shape[1]), dtype=np.intp)])
    relation = fit_relation(scaled, units, exponents, np.ones(len(scaled)))
    numbers = np.arange(len(scaled))
    terms = evaluate(exponents, scaled)
    return make_law(relation, sizes, terms, whole.names, invariant.p_value, numbers)
