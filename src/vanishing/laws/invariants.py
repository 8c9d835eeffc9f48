"""``discover_invariants``: polynomials that are constant along trajectories.

A polynomial I is an invariant if it keeps its value along every trajectory and has different values
on different ones. Its deviation g = I - (mean of I along the trajectory) then is a relation with
noise, and the search is the one for laws with moments *within* trajectories in place of moments
around zero. A relation that a single trajectory satisfies is not constant along the others; a
polynomial that has the same value on all of them is a law.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import Annotated, Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.cells import Cells, find_resolution
from vanishing.laws.fit import (
    EXACT,
    Relation,
    differentiate,
    differentiate_along,
    evaluate,
    fit_relation,
    fit_terms,
    limit_steepness,
)
from vanishing.laws.law import Equations, Law, check_rows
from vanishing.laws.model import ENOUGH_BITS, NOISE_OF_CORRELATIONS, UNINFORMATIVE
from vanishing.laws.search import (
    MOST_ELIMINATED,
    MOST_FACTORED,
    ROUNDING,
    Terms,
    center,
    check_options,
    eliminate,
    highest_powers,
    make_terms,
    search_supports,
    shorten,
    smallest_extent,
)
from vanishing.laws.table import frame_like, refuse_sizes
from vanishing.laws.trajectories import (
    FEWEST_ROWS,
    INTEGRATION,
    Found,
    Series,
    Trajectories,
    choose_terms,
    divide,
    estimate_noise,
    hold_out,
    is_drift,
    is_state,
    leave_out_terms,
    measure_coefficients,
    measure_terms,
    parse_terms,
    take_trajectories,
    write_equation,
)

#: Rows that the search looks at, about; coefficients are fitted to all.
SEARCHED_ROWS = 4000
#: Ratio of two noise levels at which sets of terms are looked for one after the other.
STEP = 1.7
#: Sets of terms of a size that may be tried, and those at one noise level that are judged.
MOST_SUPPORTS, MOST_CANDIDATES = 1.2e7, 40
#: Terms that are kept in turn while others are eliminated, and terms of the longest invariant.
MOST_STARTS, LONGEST = 6, 10
#: Most that the noise of a column differs from that of the others, relative to the spreads.
MOST_UNEVEN = 10.0
#: Spread below which a column is constant along a trajectory, and that, relative to its spread
#: over all trajectories, up to which it is constant if it is noise.
CONSTANT, STILL = 1e-12, 0.05
#: Sine of the angle up to which two gradients have the same direction.
SAME_DIRECTION = 0.05


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
    bits, resolution, logs, n_broken : float, None, None, 0
        The bits that it saves when one of its columns is written down from the others; the rest is
        not used.
    """

    levels: Annotated[FloatArray, "n_trajectories"]
    level_errors: Annotated[FloatArray, "n_trajectories"]

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

    def lines(self) -> list[str]:
        """Return the invariants and laws as lines of text.

        Returns
        -------
        list of str
        """
        return super().lines() + [f"{law} on all trajectories" for law in self.laws]

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


@dataclass(frozen=True)
class Scaled:
    """Trajectories with columns of similar size.

    Attributes
    ----------
    rows : array of shape (n_rows, n_columns)
        Divided by ``sizes``.
    groups : int array of shape (n_rows,)
    names : tuple of str
    sizes, spreads, units : arrays of shape (n_columns,)
        Root mean squares of the columns; of the scaled ones, spreads within trajectories, 0 where
        they are constant, and units of the noise.
    level : float
        Noise in these units, as differences in time show it.
    """

    rows: FloatArray
    groups: IntArray
    names: tuple[str, ...]
    sizes: FloatArray
    spreads: FloatArray
    units: FloatArray
    level: float

    def fit(self, exponents: IntArray) -> tuple[Relation, FloatArray]:
        """Fit a polynomial, and return it with its terms minus their means along trajectories."""
        weights = np.ones(len(self.rows))
        relation = fit_relation(self.rows, self.units, exponents, weights, self.groups)
        values = evaluate(exponents, self.rows)
        return relation, center(values, self.groups, weigh_rows(relation.gradients, relation.sound))


def weigh_rows(slopes: FloatArray, sound: BoolArray) -> FloatArray:
    """Return weights of rows for the mean of a polynomial along a trajectory."""
    steepness = limit_steepness(np.linalg.norm(slopes, axis=1))
    # Relative ones: squares of small gradients underflow.
    return np.asarray(sound * (steepness.min(initial=np.inf) / steepness) ** 2)


@dataclass(frozen=True)
class Told:
    """What a polynomial says about the columns, in units of their noise.

    Attributes
    ----------
    deviations : array of shape (2, n_rows)
        From its mean along the trajectory, and from that along all of them.
    noise : array of shape (2, n_rows)
        Standard deviations of these.
    directions : array of shape (n_rows, n_columns)
        Its gradient, without the part that known polynomials explain.
    steepness : array of shape (n_rows,)
        Length of that; 0 where the polynomial says nothing new.
    size : array of shape (n_rows,)
        Length of the whole gradient, in spreads of the columns.
    """

    deviations: FloatArray
    noise: FloatArray
    directions: FloatArray
    steepness: FloatArray
    size: FloatArray

    def replace_rows(self, rows: BoolArray, other: "Told") -> None:
        """Take some rows from another polynomial with the same terms."""
        for name in ("directions", "steepness", "size"):
            getattr(self, name)[rows] = getattr(other, name)[rows]
        for name in ("deviations", "noise"):
            getattr(self, name)[:, rows] = getattr(other, name)[:, rows]


@dataclass(frozen=True)
class Constant(Found):
    """A polynomial that is constant along trajectories.

    Attributes
    ----------
    target : int
        The column that is told by the others.
    is_law : bool
        Whether the polynomial has the same value on all trajectories.
    told : Told
    """

    target: int
    is_law: bool
    told: Told


class InvariantSearch:
    """One search for the invariants of trajectories.

    An invariant lets one column, its target, be written down from the others and from its level on
    the trajectory. Several have as many targets, and tell them together: to first order, the target
    of the next one moves with those of the known ones such that these stay constant.

    Parameters
    ----------
    scaled : Scaled
    resolution : array of shape (n_columns,)
        Units of the last digits of the scaled columns.
    degree : int
    allowed : int array of shape (n_terms, n_columns) or None
        Monomials that may appear.
    rng : numpy.random.Generator
    callback : callable, optional
    """

    def __init__(
        self,
        scaled: Scaled,
        resolution: FloatArray,
        degree: int,
        allowed: IntArray | None,
        rng: np.random.Generator,
        callback: Callable[[int, float], object] | None,
    ) -> None:
        self.scaled, self.allowed, self.rng, self.callback = scaled, allowed, rng, callback
        self.rows, self.groups, self.units = scaled.rows, scaled.groups, scaled.units
        self.folds = hold_out(self.groups, rng)
        resolution = np.maximum(resolution, INTEGRATION * scaled.spreads)
        parts = np.split(self.rows, np.flatnonzero(np.diff(self.groups)) + 1)
        alone = np.vstack([Cells(part, resolution).log_alone for part in parts])
        #: The columns that may be a target.
        self.series = {
            j: Series(self.rows[:, j], self.groups, alone[:, j], scaled.spreads[j], resolution[j])
            for j in np.flatnonzero(scaled.spreads > 0).tolist()
        }
        powers = highest_powers(self.rows, self.rows.std(axis=0))
        self.terms = make_terms(self.rows, self.units, degree, powers, self.groups)
        self.terms = self.terms.restrict(allowed)
        self.found: list[Constant] = []
        self._rejected: set[bytes] = set()
        # Of the known polynomials: rows in which they say nothing, unit vectors along their
        # gradients, their noise along these, and by how much their targets move with the columns.
        self._quiet = np.zeros(len(self.rows), dtype=bool)
        self._normals: list[FloatArray] = []
        self._noise: list[FloatArray] = []
        self._moved = np.zeros((len(self.rows), 0, len(self.units)))

    def run(self) -> list[Constant]:
        """Find invariants until none is left that pays for itself."""
        while self._run_once():
            pass
        return self.found

    def _run_once(self) -> bool:
        """Accept the next invariants: the shortest ones, at the lowest noise that has any."""
        self._report(0.0)
        terms = self._leave_out_known()
        levels = self._choose_levels(terms)
        attempts: list[Callable[[], list[IntArray]]] = [
            partial(self._list_short, terms, noise, size) for size in (1, 2, 3) for noise in levels
        ]
        attempts += [partial(self._list_longer, terms, noise) for noise in levels]
        attempts += [partial(self._eliminate, terms, noise, 3) for noise in levels]
        for number, propose in enumerate(attempts):
            self._report(number / len(attempts))
            if self._accept_all(propose()):
                return True
        return False

    def _report(self, share: float) -> None:
        if self.callback is not None:
            self.callback(len(self.found), share)

    # --- Proposals --------------------------------------------------------------------------------

    def _leave_out_known(self) -> Terms:
        """Return the terms with gradients that known polynomials do not explain.

        So what follows from these has no small extent.
        """
        known = np.zeros_like(self.terms.values)
        for normal in self._normals:
            slopes = differentiate_along(self.terms.exponents, self.rows, self.units * normal)
            slopes *= np.sqrt(self.terms.weights)[:, None]
            known += slopes.T @ slopes
        return replace(
            self.terms,
            values=self.terms.values + ROUNDING * known,
            gradients=self.terms.gradients - known,
            known=known,
        )

    def _choose_levels(self, terms: Terms) -> FloatArray:
        """Return noise levels, from that of the smallest polynomial to that of the columns."""
        lows = [np.sqrt(ROUNDING)]
        for degree in range(1, int(terms.degrees.max(initial=0)) + 1):
            chosen = np.flatnonzero(terms.degrees <= degree)
            if len(chosen) > min(len(self.rows) / 2, MOST_FACTORED):
                break
            if len(chosen):
                lows.append(smallest_extent(terms.take(chosen)))
        low = max(lows[0], min(lows[1:], default=0.0))
        high = min(2 * max(self.scaled.level, INTEGRATION), NOISE_OF_CORRELATIONS)
        n_steps = np.ceil(np.log(max(high / low, 0.1)) / np.log(STEP))
        return np.asarray(low * STEP ** (np.arange(max(n_steps, 0)) + 0.5))

    def _list_short(self, terms: Terms, noise: float, size: int) -> list[IntArray]:
        """Return sets of a few terms that carry a relation at a noise level."""
        degree = int(terms.degrees.max(initial=0))
        while degree > 1 and comb(int(np.sum(terms.degrees <= degree)), size) > MOST_SUPPORTS:
            degree -= 1
        terms = terms.take(np.flatnonzero(terms.degrees <= degree))
        if len(terms.exponents) < size or comb(len(terms.exponents), size) > MOST_SUPPORTS:
            return []
        supports = search_supports(terms, noise, size)
        if len(supports):
            supports = supports[np.argsort(terms.extents(supports))[:MOST_CANDIDATES]]
        return list(terms.exponents[supports])

    def _list_longer(self, terms: Terms, noise: float) -> list[IntArray]:
        """Return sets of four terms, and of more where the terms are linear or quadratic."""
        listed = self._list_short(terms, noise, 4)
        linear = self.terms.take(np.flatnonzero(self.terms.degrees == 1))
        if 1 < len(linear.exponents) <= MOST_FACTORED:
            supports = [list(each) for each in shorten(linear, noise)]
            listed += [linear.exponents[support] for support in supports]
        return listed + self._eliminate(terms, noise, 2)

    def _eliminate(self, terms: Terms, noise: float, degree: int) -> list[IntArray]:
        """Return what is left of the terms of a degree when needless ones are left out."""
        terms = terms.take(np.flatnonzero(terms.degrees <= degree))
        starts = np.flatnonzero(terms.degrees == degree)
        if not len(starts) or len(terms.exponents) > MOST_ELIMINATED:
            return []
        supports = set()
        for start in self.rng.permutation(starts)[:MOST_STARTS]:
            support = eliminate(terms, noise, int(start))
            if support is not None and len(support) <= LONGEST:
                supports.add(support)
        return [terms.exponents[list(each)] for each in sorted(supports, key=len)]

    # --- Decisions --------------------------------------------------------------------------------

    def _accept_all(self, candidates: list[IntArray]) -> bool:
        """Accept candidates, the one with most bits first, until none is left that has enough."""
        if self.allowed is None:
            candidates = [part for each in candidates for part in divide(each)]
        judged = []
        for exponents in candidates:
            key = exponents.tobytes()
            if key in self._rejected or not exponents.any(axis=1).all():  # 1 is constant
                continue
            found = self.judge(exponents)
            if found is None:  # bits only become fewer
                self._rejected.add(key)
            else:
                judged.append(found)
        has_any = bool(judged)
        while judged:
            best = max(judged, key=lambda each: each.bits)
            self._accept(leave_out_terms(best, self.judge))
            again = [self.judge(each.relation.exponents) for each in judged]
            judged = [each for each in again if each is not None]
        return has_any

    def _accept(self, found: Constant) -> None:
        told, target = found.told, found.target
        scale = self._scale_residuals(told, target)
        kind = int(found.is_law)
        self._quiet |= ~(told.noise[kind] * scale <= UNINFORMATIVE * self.scaled.spreads[target])
        length = np.where(told.steepness > 0, told.steepness, 1.0)
        self.found.append(found)
        self._normals.append(told.directions / length[:, None])
        self._noise.append(told.deviations[kind])
        normals = np.stack(self._normals, axis=1)
        by_targets = normals[:, :, [each.target for each in self.found]]
        by_targets[self._quiet] = np.eye(len(self.found))
        self._moved = np.asarray(np.linalg.solve(by_targets, normals))

    def _scale_residuals(self, told: Told, target: int) -> FloatArray:
        """Return by how much the target changes with a deviation of 1; infinite if not at all.

        The targets of known polynomials move with it, so that these stay constant.
        """
        targets = [each.target for each in self.found]
        along = np.sum(told.directions[:, targets] * self._moved[:, :, target], axis=1)
        slopes = np.abs(told.directions[:, target] - along)
        known = (slopes > 0) & (told.steepness > 0)
        lengths = self.units[target] * told.steepness
        return np.asarray(np.divide(lengths, slopes, out=np.full(len(slopes), np.inf), where=known))

    def judge(self, exponents: IntArray) -> Constant | None:
        """Return what speaks for a set of terms with its best target, if it is enough."""
        values = evaluate(exponents, self.rows)
        gradients = differentiate(exponents, self.rows, self.units)

        def fit(rows: BoolArray) -> Relation:
            weights = np.ones(int(rows.sum()))
            return fit_terms(exponents, values[rows], gradients[rows], weights, self.groups[rows])

        everything = np.ones(len(values), dtype=bool)
        relation = fit(everything)

        def tell(coefficients: FloatArray, known: BoolArray) -> Told:
            known = known & relation.sound
            return self._tell(
                values @ coefficients, gradients @ coefficients, known, relation.sound
            )

        told = tell(relation.coefficients, everything)
        kept = relation.sound & (told.steepness > 0)
        if kept.sum() <= len(exponents):
            return None
        deviations, has_noise = told.deviations[0, kept], told.noise[0, 0] > INTEGRATION
        groups = self.groups[kept]
        if has_noise and (
            is_drift(deviations, groups) or is_state(deviations, self.rows[kept], groups)
        ):
            return None
        if self._find_target(relation, told) is None:
            return None
        held_out = tell(relation.coefficients, everything)
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            held_out.replace_rows(out, tell(fit(~out).coefficients, ~out))
        found = self._find_target(relation, held_out)
        if found is None:
            return None
        bits, target, is_law, stride = found
        terms = center(values, self.groups, weigh_rows(relation.gradients, relation.sound))
        if not relation.coefficients.all():
            return None
        law = write_equation(relation, self.scaled.sizes, terms, self.scaled.names)
        noise = np.maximum(told.noise[int(is_law)], INTEGRATION) * told.steepness * stride**0.5
        noise[~relation.sound] = np.inf
        bits -= measure_coefficients(law, terms * relation.coefficients, noise)
        if bits < ENOUGH_BITS:
            return None
        return Constant(relation, law, bits, target, is_law, told)

    def _tell(
        self, values: FloatArray, slopes: FloatArray, known: BoolArray, sound: BoolArray
    ) -> Told:
        """Return what a polynomial says whose level on all trajectories known rows tell."""
        length = np.linalg.norm(slopes, axis=1)
        weights = weigh_rows(slopes, sound)
        common = np.average(values[known], weights=weights[known])
        deviations = np.array(
            [center(values[:, None], self.groups, weights)[:, 0], values - common]
        )
        directions = slopes
        for normal, noise in zip(self._normals, self._noise, strict=True):
            along = np.sum(slopes * normal, axis=1)
            deviations = deviations - along * noise
            directions = directions - along[:, None] * normal
        steepness = np.linalg.norm(directions, axis=1)
        steepness[self._quiet | (steepness <= SAME_DIRECTION * length)] = 0.0
        deviations = deviations / np.where(steepness > 0, steepness, 1.0)
        known = known & (steepness > 0)
        levels = np.sqrt(np.mean(deviations[:, known] ** 2, axis=1)) if known.any() else np.ones(2)
        noise = np.repeat(levels[:, None], len(values), axis=1)
        moves = self.units > 0
        spreads = self.scaled.spreads[moves] / self.units[moves]
        size = np.linalg.norm(slopes[:, moves] * spreads, axis=1)
        return Told(deviations, noise, directions, steepness, size)

    @np.errstate(invalid="ignore")  # infinite scales where the derivative is zero
    def _find_target(self, relation: Relation, told: Told) -> tuple[float, int, bool, int] | None:
        """Return the bits, the target, whether all have one level, and the distance of rows.

        The bits are those without the coefficients.
        """
        best: tuple[float, int, bool, int] | None = None
        length = measure_terms(relation.exponents)
        for j in self.series.keys() - {each.target for each in self.found}:
            scale = self._scale_residuals(told, j)
            told_rows = np.isfinite(scale)
            if not told_rows.any():
                continue
            per_length = np.divide(
                scale, told.steepness, out=np.full(len(scale), np.inf), where=told_rows
            )
            correlated = NOISE_OF_CORRELATIONS * told.size * per_length
            for is_law in (False, True):
                off, noise = told.deviations[int(is_law)], told.noise[int(is_law)]
                bits, stride = self.series[j].measure(
                    np.abs(off) * scale, noise * scale, correlated, relation.exponents, j,
                    has_levels=not is_law,
                )  # fmt: skip
                bits -= length
                if bits > (ENOUGH_BITS if best is None else best[0]):
                    best = bits, j, is_law, stride
        return best


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
    scaled = _scale(whole)
    degree = choose_terms(len(whole.names), max_degree, allowed, whole.notes)
    refuse_sizes(whole.names, whole.values, degree, whole.describe_row)
    found: list[Constant] = []
    if scaled.units.any():
        chosen = np.arange(0, len(whole.values), -(-len(whole.values) // SEARCHED_ROWS))
        digits = np.array([find_resolution(each) for each in whole.values[chosen].T])
        some = replace(scaled, rows=scaled.rows[chosen], groups=scaled.groups[chosen])
        search = InvariantSearch(some, digits / scaled.sizes, degree, allowed, rng, callback)
        found = search.run()
    equations = [_make_invariant(each, scaled, whole) for each in found if not each.is_law]
    laws = [_make_law(each, scaled, whole) for each in found if each.is_law]
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


def _scale(whole: Trajectories) -> Scaled:
    """Scale the columns, and set those that are constant along trajectories to their means.

    A unit of noise is the spread of a column within trajectories times the ratio of its noise, as
    differences in time show it, to that of the other columns.
    """
    sizes = np.sqrt(np.mean(whole.values**2, axis=0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    rows = whole.values / sizes
    within = center(rows, whole.groups, np.ones(len(rows)))
    spreads = within.std(axis=0)
    for j, name in enumerate(whole.names):
        still = spreads[j] <= STILL * rows[:, j].std()
        if spreads[j] <= CONSTANT or (still and not is_drift(within[:, j], whole.groups)):
            rows[:, j] -= within[:, j]
            spreads[j] = 0.0
            whole.notes.append(f"{name} is constant along each trajectory")
    units, level = spreads.copy(), 0.0
    if (moves := spreads > 0).any():
        relative = estimate_noise(rows, whole.groups)[moves] / spreads[moves]
        level = float(np.sqrt(np.mean(relative**2)))
        if level > 0:
            units[moves] *= np.clip(relative / level, 1 / MOST_UNEVEN, MOST_UNEVEN)
    return Scaled(rows, whole.groups, whole.names, sizes, spreads, units, level)


def _make_invariant(found: Constant, scaled: Scaled, whole: Trajectories) -> Invariant:
    """Fit an invariant to all rows, and write it in the units of the columns."""
    relation, terms = scaled.fit(found.relation.exponents)
    law = write_equation(relation, scaled.sizes, terms, scaled.names)
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
        law.names, law.exponents, coefficients, law.standard_errors, relation.noise, found.p_value,
        law.rows, np.array(levels), np.array(errors), bits=found.bits,
    )  # fmt: skip


def _make_law(found: Constant, scaled: Scaled, whole: Trajectories) -> Law:
    """Return a polynomial that has the same value on all trajectories as a law."""
    invariant = _make_invariant(found, scaled, whole)
    exponents = invariant.exponents
    error = float(np.std(invariant.levels, ddof=1) / np.sqrt(len(invariant.levels)))
    if abs(np.mean(invariant.levels)) > 4 * error:
        exponents = np.vstack([exponents, np.zeros((1, exponents.shape[1]), dtype=np.intp)])
    relation = fit_relation(scaled.rows, scaled.units, exponents, np.ones(len(scaled.rows)))
    terms = evaluate(exponents, scaled.rows)
    law = write_equation(relation, scaled.sizes, terms, scaled.names)
    return replace(law, p_value=found.p_value, bits=found.bits)
