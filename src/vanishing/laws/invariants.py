"""``discover_invariants``: polynomials that are constant along trajectories.

A polynomial I is an invariant if it keeps its value along every trajectory and has different values
on different ones. Its deviation g = I - (mean of I along the trajectory) then is a relation with
noise, and the search is the one for laws with moments *within* trajectories in place of moments
around zero. A relation that a single trajectory satisfies is not constant along the others; a
polynomial that has the same value on all of them is a law.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb
from typing import Annotated, Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.data.source import get_columns, wrap_frame
from vanishing.laws.cells import find_resolution
from vanishing.laws.fit import Relation, differentiate, evaluate, fit_relation
from vanishing.laws.law import Equations, Law, LawWriter, check_rows, write_latex, write_with_error
from vanishing.laws.model import NOISE_OF_CORRELATIONS
from vanishing.laws.search import (
    MOST_ELIMINATED,
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
    INTEGRATION,
    JUDGED,
    SMOOTH,
    Found,
    Judge,
    Trajectories,
    choose_terms,
    divide,
    estimate_noise,
    hold_out,
    parse_terms,
    take_trajectories,
)
from vanishing.levels import BLOCK, OUTLYING, ROUNDING, SAME

#: Rows that the search looks at, about: they judge a set of terms in a few milliseconds. The
#: coefficients are fitted to all rows.
SEARCHED_ROWS = 4000


@dataclass(frozen=True, eq=False, repr=False)
class Invariant(Law):
    """A polynomial of the columns that is constant along every trajectory, up to noise.

    Parameters
    ----------
    names : tuple of str
        All columns.
    exponents, coefficients, standard_errors : as those of a ``Law``
    extent : float
        Root mean square distance of the rows from the surfaces on which the polynomial has its mean
        value along the trajectory, relative to the columns' spreads within trajectories.
    p_value : float
        How likely chance saves as many bits on trajectories that it was not fitted to.
    rows : int array
        Numbers of the rows on which it holds.
    levels : array of shape (n_trajectories,)
        Its mean value along each trajectory.
    level_errors : array of shape (n_trajectories,)
        Standard errors of the levels.
    bits, resolution, logs, n_broken, n_derived, target, where, choices : float, None and 0
        The bits that it saves when one of its columns is written down from the others; the rest is
        not used.
    """

    levels: Annotated[FloatArray, "n_trajectories"]
    level_errors: Annotated[FloatArray, "n_trajectories"]

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        return f"{write_latex(self.expression, self.names)} = \\mathrm{{const}}"

    def __str__(self) -> str:
        return f"{LawWriter(self).write_terms(range(len(self.coefficients)))} = const"

    @property
    def with_errors(self) -> str:
        """The equation as text, with standard errors as in ``sides``."""
        writer = LawWriter(self, write_with_error)
        return f"{writer.write_terms(range(len(self.coefficients)))} = const"


@dataclass(frozen=True, eq=False, repr=False)
class Invariants(Equations[Invariant]):
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

    def values(self, X: Any) -> Any:
        """Evaluate the invariants on rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            The columns ``names``, or a frame that has them among others.

        Returns
        -------
        array of shape (n_rows, n_invariants)
            For a frame, one of the same library, whose columns are called by the invariants.
        """
        frame = X
        if set(self.names) <= set(get_columns(X) or ()):
            frame = wrap_frame(X).select(self.names).to_native()
        rows = check_rows(frame, self.names)
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
        return super().lines() + [f"{law.with_errors} on all trajectories" for law in self.laws]

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
class InvariantSearch(Judge):
    """One search for the invariants of trajectories, for short ones and at little noise first.

    The columns have ``level`` units of noise. If there are ``allowed`` monomials, only these may
    appear.
    """

    level: float
    degree: int
    allowed: IntArray | None

    def run(self, report: Callable[[int, float], object]) -> list[Found]:
        """Find invariants until none is left that pays for itself."""
        powers = highest_powers(self.rows, self.rows.std(axis=0))
        terms = make_terms(self.rows, self.units, self.degree, powers, self.groups)
        terms = terms.restrict(self.allowed)
        rejected: set[bytes] = set()
        n_found = -1
        while len(self.found) > n_found:
            n_found = len(self.found)
            report(n_found, 0.0)
            for share, candidates in self._propose(self._leave_out_known(terms)):
                report(n_found, share)
                self._accept_all(candidates, rejected)
                if len(self.found) > n_found:
                    break
        return self.found

    def _propose(self, terms: Terms) -> Iterator[tuple[float, list[IntArray]]]:
        """Yield the share of the search that is done, and sets of terms: the shortest first."""
        ways: list[tuple[Callable[[Terms, int, float], list[IntArray]], int]]
        ways = [(self._list_short, size) for size in (1, 2, 3)]
        ways += [(self._list_longer, 2), (self._eliminate, 3)]
        steps = list(product(ways, self._choose_levels(terms)))
        for number, ((propose, size), noise) in enumerate(steps):
            yield number / len(steps), propose(terms, size, noise)

    def _leave_out_known(self, terms: Terms) -> Terms:
        """Return the terms with gradients that known polynomials do not explain.

        What follows from these then has a large extent.
        """
        known = np.zeros_like(terms.values)
        for normal in self.normals:
            slopes = differentiate(terms.exponents, self.rows, self.units * normal).sum(axis=1)
            slopes *= np.sqrt(terms.weights)[:, None]
            known += slopes.T @ slopes
        values, gradients = terms.values + ROUNDING * known, terms.gradients - known
        return replace(terms, values=values, gradients=gradients, known=known)

    def _choose_levels(self, terms: Terms) -> FloatArray:
        """Return noise levels, doubling from that of the smallest polynomial to the columns'."""
        # Of more terms than half of the rows, some polynomials are small by chance.
        most, low = min(len(self.rows) / 2, terms.factor.shape[1]), INTEGRATION
        degrees = [d for d in np.unique(terms.degrees) if np.sum(terms.degrees <= d) <= most]
        if degrees:
            chosen = np.flatnonzero(terms.degrees <= degrees[-1])
            low = max(low, smallest_extent(terms.take(chosen)))
        high = min(2 * self.level, NOISE_OF_CORRELATIONS)
        n_steps = np.ceil(np.log2(max(high / low, 1.0)))
        return np.asarray(low * 2 ** (np.arange(n_steps) + 0.5))

    def _list_short(self, terms: Terms, size: int, noise: float) -> list[IntArray]:
        """Return sets of a few terms that carry a relation at a noise level.

        They are of the highest degree at which all sets of this size can be tried.
        """
        for degree in np.unique(terms.degrees)[::-1]:
            few = terms.take(np.flatnonzero(terms.degrees <= degree))
            if comb(len(few.exponents), size) <= BLOCK:
                supports = search_supports(few, noise, size)
                return list(few.exponents[supports[np.argsort(few.extents(supports))[:JUDGED]]])
        return []

    def _list_longer(self, terms: Terms, degree: int, noise: float) -> list[IntArray]:
        """Return sets of four terms, and longer ones of linear terms and those up to a degree."""
        listed = self._list_short(terms, 4, noise)
        linear = terms.take(np.flatnonzero(terms.degrees == 1))
        if 1 < len(linear.exponents) <= linear.factor.shape[1]:
            listed += [linear.exponents[list(each)] for each in shorten(linear, noise)]
        return listed + self._eliminate(terms, degree, noise)

    def _eliminate(self, terms: Terms, degree: int, noise: float) -> list[IntArray]:
        """Return what is left of the terms up to a degree when needless ones are left out."""
        terms = terms.take(np.flatnonzero(terms.degrees <= degree))
        if not 0 < len(terms.exponents) <= MOST_ELIMINATED:
            return []
        support = eliminate(terms, noise)
        return [] if support is None else [terms.exponents[list(support)]]

    def _accept_all(self, candidates: list[IntArray], rejected: set[bytes]) -> None:
        """Accept candidates, the one with most bits first, until none is left that has enough."""
        if self.allowed is None:
            candidates = [part for each in candidates for part in divide(each)]
        judged = []
        for exponents in candidates:
            key = exponents.tobytes()
            if key in rejected or not exponents.any(axis=1).all():  # 1 is constant
                continue
            found = self.judge(exponents)
            if found is None:  # bits only become fewer
                rejected.add(key)
            else:
                judged.append(found)
        while judged:
            self.accept(self.leave_out_terms(max(judged, key=lambda each: each.bits)))
            again = [self.judge(each.relation.exponents) for each in judged]
            judged = [each for each in again if each is not None]


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
        Seed of the choice of trajectories that are held out together.
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
            f"invariants need at least 2 trajectories of {SMOOTH + 1} rows or more, got "
            f"{len(whole)}; the relations of a single one are found by discover"
        )
    allowed = None if terms is None else parse_terms(terms, whole.names)
    rng = np.random.default_rng(0 if random_state is None else random_state)
    degree = choose_terms(len(whole.names), max_degree, allowed, whole.notes)
    refuse_sizes(whole.names, whole.values, degree, whole.describe_row)
    every = _scale(whole, degree, allowed, rng)
    some = slice(None, None, -(-len(every.rows) // SEARCHED_ROWS))
    search = replace(
        every, rows=every.rows[some], groups=every.groups[some], folds=every.folds[some]
    )
    found = search.run(callback or (lambda n_found, share: None)) if every.units.any() else []
    equations = [_make_invariant(each, every, whole) for each in found if not each.is_law]
    laws = [_make_law(each, every, whole) for each in found if each.is_law]
    extents = [law.extent for law in (*equations, *laws)]
    level = float(np.sqrt(np.mean(np.square(extents)))) if extents else float("nan")
    return Invariants(
        tuple(equations),
        tuple(laws),
        0.0 if level < SAME else level,
        whole.names,
        whole.labels,
        len(whole.values),
        tuple(whole.notes),
    )


def _scale(
    whole: Trajectories, degree: int, allowed: IntArray | None, rng: np.random.Generator
) -> InvariantSearch:
    """Scale the columns, and set those that are constant along trajectories to their means.

    A unit of noise is the spread of a column within trajectories times the ratio of its noise, as
    differences in time show it, to that of the other columns.
    """
    still = whole.find_still()
    sizes = np.sqrt(np.mean(whole.values**2, axis=0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    rows = whole.values / sizes
    within = center(rows, whole.groups, np.ones(len(rows)))
    rows[:, still] -= within[:, still]
    spreads = np.where(still, 0.0, within.std(axis=0))
    noise = estimate_noise(rows, whole.groups)[~still] / spreads[~still]
    relative = np.maximum(noise, INTEGRATION)
    level = float(np.sqrt(np.mean(relative**2))) if len(relative) else 0.0
    units = spreads.copy()
    units[~still] *= relative / level
    some = whole.values[:: -(-len(rows) // SEARCHED_ROWS)]
    digits = np.array([find_resolution(column) for column in some.T]) / sizes
    return InvariantSearch(
        rows, whole.groups, hold_out(whole.groups, rng), whole.names, sizes, spreads, units,
        np.maximum(digits, INTEGRATION * spreads), INTEGRATION, 1, True, level, degree, allowed,
    )  # fmt: skip


def _fit(
    every: InvariantSearch, exponents: IntArray, groups: IntArray | None
) -> tuple[Relation, Law]:
    """Fit a polynomial to all rows, minus its means along trajectories if there are groups."""
    relation = fit_relation(every.rows, every.units, exponents, np.ones(len(every.rows)), groups)
    _, law = every.write(relation, evaluate(exponents, every.rows), groups)
    return relation, law


def _make_invariant(found: Found, every: InvariantSearch, whole: Trajectories) -> Invariant:
    """Fit an invariant to all rows, and write it in the units of the columns."""
    relation, law = _fit(every, found.relation.exponents, every.groups)
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


def _make_law(found: Found, every: InvariantSearch, whole: Trajectories) -> Law:
    """Return a polynomial that has the same value on all trajectories as a law."""
    invariant = _make_invariant(found, every, whole)
    exponents = invariant.exponents
    error = float(np.std(invariant.levels, ddof=1) / np.sqrt(len(invariant.levels)))
    if abs(np.mean(invariant.levels)) > OUTLYING * error:
        exponents = np.vstack([exponents, np.zeros((1, exponents.shape[1]), dtype=np.intp)])
    _, law = _fit(every, exponents, None)
    return replace(law, p_value=found.p_value, bits=found.bits)
