"""``discover_odes``: differential equations of trajectories, in implicit form.

An equation P(x) + Q(x) dx/dt = 0 is a law among the columns and one derivative, and it is found as
such: the noise that counts is that of the derivative, so a polynomial is measured by its root mean
square relative to that of Q. Rational equations dx/dt = -P(x) / Q(x) are polynomials in this form.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.equations.text import latex_symbol, plain_symbol, printable
from vanishing.laws.fit import evaluate
from vanishing.laws.law import (
    Equations,
    Law,
    LawWriter,
    NumberWriter,
    check_rows,
    write_coefficient,
    write_latex,
    write_with_error,
)
from vanishing.laws.search import (
    HIGHEST_DEGREE,
    check_options,
    even_weights,
    highest_powers,
    sort_terms,
)
from vanishing.laws.table import refuse_sizes
from vanishing.laws.trajectories import (
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
from vanishing.levels import BLOCK, FOLDS, ROUNDING, SAME
from vanishing.polynomials.monomials import monomials

#: Resolution of a derivative, relative to its spread: errors of local polynomials, which are the
#: same in rows that follow each other.
LOCAL = 1e-3
#: Terms of the longest equation. It bounds the time of a search that finds nothing.
LONGEST_ODE = 10
#: Sets of terms of one size that are compared, which takes a tenth of a second.
COMPARED = 5000


@dataclass(frozen=True, eq=False, repr=False)
class Ode(Law):
    """A polynomial equation among columns and one derivative.

    Parameters
    ----------
    names : tuple of str
        All columns, and the derivative.
    exponents, coefficients, standard_errors : as those of a ``Law``
    extent : float
        Root mean square error of the derivative that the equation leaves, relative to the spread of
        the derivative, both averaged with test functions.
    p_value : float
        How likely chance saves as many bits on trajectories that it was not fitted to.
    rows : int array
        Numbers of the averages for which it holds.
    bits, resolution, logs, n_broken, n_derived, target, where, choices : float, None and 0
        The bits that it saves when one of its columns is written down from the others; the rest is
        not used.
    """

    @property
    def derivative(self) -> str:
        """The derivative, such as ``dx/dt``."""
        return self.names[-1]

    @property
    def is_linear(self) -> bool:
        """Whether the equation is linear in the derivative."""
        return int(self.exponents[:, -1].max()) == 1

    @property
    def solution(self) -> Any:
        """The derivative as a SymPy expression of the columns, if the equation is linear in it."""
        sympy = import_extra("sympy", extra="symbolic", purpose="Ode.solution")
        slope, rest = self._split()
        return self.round_numbers(sympy.factor_terms(-rest.expression / slope.expression))

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        if not self.is_linear:
            return super().latex
        name = latex_symbol(self.derivative[1:].rpartition("/")[0])
        return f"\\frac{{d {name}}}{{dt}} = {write_latex(self.solution, self.names)}"

    def __str__(self) -> str:
        return self._write_solved(write_coefficient) if self.is_linear else super().__str__()

    @property
    def with_errors(self) -> str:
        """The equation as text, with standard errors as in ``sides``."""
        return self._write_solved(write_with_error) if self.is_linear else super().with_errors

    def _write_solved(self, write_number: NumberWriter) -> str:
        """Write the derivative with its factor on the left."""
        slope, rest = self._split()
        left, right = (
            LawWriter(each, write_number).write_terms(range(len(each.coefficients)), sign)
            for each, sign in ((slope, 1.0), (rest, -1.0))
        )
        if len(slope.coefficients) > 1:
            left = f"({left})"
        name, _, time = self.derivative[1:].rpartition("/")
        derivative = f"d{plain_symbol(name)}/{printable(time)}"
        left = derivative if left == "1" else f"{left}*{derivative}"
        return f"{left} = {right}"

    def _split(self) -> tuple[Law, Law]:
        """Return the factor of the derivative, and the terms without it."""
        if not self.is_linear:
            raise ValueError(f"{self} is not linear in {self.derivative}; solve it numerically")
        exponents, own = self.exponents.copy(), self.exponents[:, -1] == 1
        exponents[:, -1] = 0
        slope, rest = (
            Law(
                self.names, exponents[chosen], self.coefficients[chosen],
                self.standard_errors[chosen], self.extent, self.p_value, self.rows,
            )
            for chosen in (own, ~own)
        )  # fmt: skip
        return slope, rest

    def evaluate(self, X: FloatArray) -> FloatArray:
        """Evaluate the derivative, if the equation is linear in it.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The columns, without derivatives.

        Returns
        -------
        array of shape (n_rows,)
        """
        slope, rest = self._split()
        rows = check_rows(X, self.names[:-1])
        rows = np.column_stack([rows, np.zeros(len(rows))])
        return np.asarray(-rest.values(rows) / slope.values(rows))


@dataclass(frozen=True, eq=False, repr=False)
class Odes(Equations[Ode]):
    """The differential equations of trajectories; see ``discover_odes``.

    Parameters
    ----------
    equations : tuple of Ode
    names : tuple of str
        The columns.
    labels : tuple of str, int or float
        What the trajectories are called.
    n_rows : int
        Rows without missing cells, of all trajectories.
    notes : tuple of str
        What was set aside, and what the search restricted itself to.
    """

    equations: tuple[Ode, ...]
    names: tuple[str, ...]
    labels: tuple[str | int | float, ...]
    n_rows: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: int | str) -> Ode:
        if not isinstance(key, str):
            return self.equations[key]
        for equation in self.equations:
            if equation.derivative == _derivative(key):
                return equation
        raise KeyError(f"there is no equation for {key!r}")

    def rhs(self, t: float, x: Any) -> FloatArray:
        """Return the derivatives of a state, as ``scipy.integrate.solve_ivp`` asks for them.

        Parameters
        ----------
        t : float
            Not used: the equations do not depend on time.
        x : array-like of shape (n_columns,)

        Returns
        -------
        array of shape (n_columns,)
        """
        state = np.asarray(x, dtype=float)[None]
        if state.shape != (1, len(self.names)):
            raise ValueError(
                f"expected a state of {len(self.names)} numbers ({', '.join(self.names)}), got "
                f"shape {state.shape[1:]}"
            )
        known = {equation.derivative for equation in self.equations}
        missing = [name for name in self.names if _derivative(name) not in known]
        if missing:
            raise ValueError(f"there is no equation for {', '.join(missing)}")
        return np.array([self[name].evaluate(state)[0] for name in self.names])

    def summary(self) -> str:
        """Return one line: how many equations were found.

        Returns
        -------
        str
        """
        many = len(self.equations)
        count = {0: "No equation found", 1: "One equation"}.get(many, f"{many} equations")
        columns = "one column" if len(self.names) == 1 else f"{len(self.names)} columns"
        runs = "one trajectory" if len(self.labels) == 1 else f"{len(self.labels)} trajectories"
        return f"{count} for {columns} of {runs}."


class Smoothed(NamedTuple):
    """Columns and their derivatives at rows that have enough neighbors.

    ``half_widths`` are those of the test functions that the rest of the noise is averaged with.
    """

    values: FloatArray
    derivatives: FloatArray
    groups: IntArray
    half_widths: IntArray


def smooth(whole: Trajectories) -> Smoothed:
    """Estimate the derivatives of trajectories by local polynomials.

    A polynomial in time is fitted to the rows around each row. Many rows leave little noise, few
    rows little error of the polynomial. For each column the number with the smallest estimated
    error of the derivative is found. The values and derivatives are those of a third of it: they
    have more noise and less error of the polynomial, and the noise goes when equations are averaged
    over the rest.
    """
    assert whole.times is not None
    noise = estimate_noise(whole.values, whole.groups)
    series = list(zip(whole.split(whole.values), whole.split(whole.times), strict=True))
    half = SMOOTH // 2 + 1  # enough rows for the polynomials that show the error of the others
    halves: list[int] = []
    risks: list[FloatArray] = []
    fits = []
    widest = (min(len(times) for _, times in series) // 3 - 1) // 2  # three of them fit
    # Wider windows are tried as long as they are better for some column.
    while not halves or (half <= widest and np.argmin(risks, axis=0).max() == len(risks) - 1):
        parts = [
            _smooth_rows(values, times, half, rows)
            for values, times in series
            for rows in _list_blocks(len(values), half)
        ]
        values, slopes, gaps, noise_of_slope, noise_of_gap = map(
            np.concatenate, zip(*parts, strict=True)
        )
        bias = np.mean(gaps**2, axis=0) - noise**2 * np.mean(noise_of_gap**2)
        risks.append(np.maximum(bias, 0) + noise**2 * np.mean(noise_of_slope**2))
        fits.append((values, slopes))
        halves.append(half)
        half += max(1, half // 4)  # errors change little from one width to the next
    widths = np.array(halves)
    best = np.argmin(risks, axis=0)
    narrow = np.searchsorted(widths, widths[best] / 3)
    kept = _inside(whole.groups, int(widths[narrow].max()))
    columns = []
    for j, choice in enumerate(narrow):
        rows = kept[_inside(whole.groups, int(widths[choice]))]
        columns.append([each[rows, j] for each in fits[choice]])
    values, derivatives = np.transpose(columns, (1, 2, 0))
    rest = np.maximum(widths[best] - widths[narrow], 1)
    return Smoothed(values, derivatives, whole.groups[kept], rest)


def _inside(groups: IntArray, half: int) -> BoolArray:
    """Return the rows with half as many neighbors on each side, or more."""
    quarter = half // 2
    inside = np.zeros(len(groups), dtype=bool)
    inside[quarter : len(groups) - quarter] = (
        groups[2 * quarter :] == groups[: len(groups) - 2 * quarter]
    )
    return inside


def _list_blocks(n_rows: int, half: int) -> list[IntArray]:
    """Return the rows of a trajectory that have derivatives, in blocks of limited windows.

    Those nearest to the ends, where derivatives are noisiest, are left out.
    """
    rows = np.arange(half // 2, n_rows - half // 2)
    return np.array_split(rows, -(-len(rows) * 2 * half // BLOCK))


def _smooth_rows(
    values: FloatArray, times: FloatArray, half: int, rows: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Fit polynomials to the rows around some rows, which near the ends are not in the middle.

    Returns values, derivatives, by how much the derivatives of polynomials of a higher degree
    differ, and the standard deviations of the last two for noise of size 1.
    """
    starts = np.clip(rows - half, 0, len(values) - 2 * half - 1)
    windows = np.arange(2 * half + 1) + starts[:, None]
    centred = times[windows] - times[rows, None]
    steps = np.diff(times)
    number = np.arange(len(rows))
    # The weights of evenly spaced rows depend on the place in the window only.
    if np.ptp(steps) <= SAME * steps.max():
        _, first, number = np.unique(rows - starts, return_index=True, return_inverse=True)
        centred = centred[first]
    scale = np.abs(centred).max(axis=1)
    powers = (centred / scale[:, None])[:, :, None] ** np.arange(SMOOTH + 3)
    weights = np.linalg.pinv(powers[:, :, : SMOOTH + 1])[:, :2]
    value, slope = weights[:, 0], weights[:, 1] / scale[:, None]
    gap = slope - np.linalg.pinv(powers)[:, 1] / scale[:, None]
    around = values[windows]

    def combine(each: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("iw,iwj->ij", each[number], around))

    def size(each: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(each, axis=1)[number])

    return combine(value), combine(slope), combine(gap), size(slope), size(gap)


def average(groups: IntArray, half: int) -> tuple[csr_array, IntArray, int]:
    """Return the weights of averages over rows of one trajectory, and its number for each.

    The weights are those of a test function (1 - u²)² with ``half`` rows on each side. The last
    result is the distance of averages that have no rows in common.
    """
    u = np.linspace(-1, 1, 2 * half + 3)[1:-1]
    weights = (1 - u**2) ** 2
    weights /= weights.sum()
    middles = np.flatnonzero(_inside(groups, 2 * half))
    place = middles - np.searchsorted(groups, groups[middles])
    step = -(-half // 2)
    middles = middles[(place - half) % step == 0]
    columns = middles[:, None] + np.arange(-half, half + 1)
    places = np.tile(weights, len(middles)), columns.ravel(), len(u) * np.arange(len(middles) + 1)
    matrix = csr_array(places, shape=(len(middles), len(groups)))
    return matrix, groups[middles], -(-2 * half // step)


@dataclass
class OdeSearch(Judge):
    """One search for the equation of a derivative, which is the last column.

    An equation holds at every time, so its terms may be averaged with a test function, over as many
    rows as it takes to get rid of the noise (the weak form). The derivative is the target: its
    noise is the one that counts. ``averages`` are the weights of rows of ``data``, the columns
    divided by ``sizes``.
    """

    data: FloatArray
    averages: csr_array

    def evaluate(self, exponents: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return averages of terms, and their gradients, which are those by the derivative."""
        own = np.flatnonzero(exponents[:, -1])
        lower = exponents[own] - np.eye(len(self.names), dtype=np.intp)[-1]
        gradients = np.zeros((len(self.rows), len(self.names), len(exponents)))
        gradients[:, -1, own] = self.averages @ (
            evaluate(lower, self.data) * (exponents[own, -1] * self.units[-1])
        )
        return self.averages @ evaluate(exponents, self.data), gradients

    def run(
        self, exponents: IntArray, may_divide: bool, report: Callable[[float], object]
    ) -> Found | None:
        """Return the equation with most bits; longer ones are tried as long as they have more."""
        best: Found | None = None
        seen: set[bytes] = set()
        for size, supports in enumerate(self._find_supports(exponents), 2):
            report(size / LONGEST_ODE)
            for terms in exponents[supports[:JUDGED]]:
                shortest = divide(terms)[0] if may_divide else terms
                if shortest.tobytes() not in seen:
                    seen.add(shortest.tobytes())
                    found = self.judge(shortest)
                    if found is not None and (best is None or found.bits > best.bits):
                        best = found
            if best is not None and len(best.relation.exponents) < size - 1:
                break
        return None if best is None else self.leave_out_terms(best)

    def _find_supports(self, exponents: IntArray) -> Iterator[IntArray]:
        """Yield sets of 2, 3, ... terms in which a polynomial is small, the best ones first.

        Each set of one size is extended by every other term, and the best ones are kept: those with
        a small c'Ac / c'Bc for some coefficients c, where A and B are the mean products of the
        values and of their slopes.
        """
        values, gradients = self.evaluate(exponents)
        roots = np.sqrt(even_weights(values.T))[:, None]
        scale = roots / np.linalg.norm(roots * values, axis=0)
        values, slopes = values * scale, gradients[:, -1] * scale
        n_terms = len(exponents)
        # A is positive definite for all that rounding errors may do.
        products = values.T @ values + n_terms * len(values) * ROUNDING * np.eye(n_terms)
        squares = slopes.T @ slopes
        supports = np.flatnonzero(exponents[:, -1])[:, None]
        for _ in range(2, min(LONGEST_ODE, n_terms) + 1):
            every = np.repeat(np.arange(n_terms), len(supports))[:, None]
            extended = np.sort(np.hstack([np.tile(supports, (n_terms, 1)), every]), axis=1)
            extended = np.unique(extended[(np.diff(extended) > 0).all(axis=1)], axis=0)
            block = extended[:, :, None], extended[:, None, :]
            try:
                root = np.linalg.cholesky(products[block])
            except np.linalg.LinAlgError:
                break
            # The largest eigenvalue of A⁻¹B is the reciprocal of the smallest ratio.
            half = np.linalg.solve(root, squares[block])
            whole = np.linalg.solve(root, np.swapaxes(half, 1, 2))
            largest = np.linalg.eigvalsh(whole)[:, -1]
            kept = max(1, COMPARED // n_terms)
            supports = extended[np.argsort(-largest, kind="stable")[:kept]]
            yield supports


def discover_odes(
    X: Any,
    t: Any,
    groups: Any = None,
    feature_names: Any = None,
    *,
    max_degree: int | None = None,
    terms: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    random_state: int | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> Odes:
    """Find the differential equations of trajectories, in implicit form.

    For each column x the shortest polynomial equation among the columns and dx/dt is searched that
    is linear in dx/dt. So rational equations are found, and solved for the derivative. Derivatives
    come from local polynomials, and the terms of an equation are averaged with test functions (the
    weak form), so noise of 1 % does no harm where the motion is smooth between the rows. A column
    without such an equation has none in the result.

    Parameters
    ----------
    X : list of tables, or one table
        One trajectory or several, with rows in the order of time. A table is an array-like, a
        frame or a path. Rows with missing cells are left out.
    t : float, array-like, list of array-likes or str
        The time between two rows, the times of all rows or of each trajectory, or the name of the
        column that holds them.
    groups : array-like of shape (n_rows,) or str, optional
        If X is one table: the trajectory that each row belongs to, or the name of the column
        that says so.
    feature_names : sequence of str, optional
        Names of the columns.
    max_degree : int, optional
        Largest total degree, dx/dt included. By default 4, or less for many columns.
    terms : sequence of str or dict, optional
        Monomials that may appear, such as ``["1", "x", "x*y", "x*dx/dt"]``, for all equations or
        for each column; by default all. Terms without a derivative make up the right-hand side
        of dx/dt = .... Powers of a derivative appear only if they are named here.
    random_state : int, optional
        Seed of the choice of trajectories that are held out together.
    callback : callable, optional
        Called with the number of equations that are found so far, and the share of the search for
        the next one that is done, 0 to 1.

    Returns
    -------
    Odes

    Examples
    --------
    A reaction that saturates, dx/dt = -x / (1 + x), from five noisy records:

    >>> import numpy as np
    >>> from scipy.integrate import solve_ivp
    >>> from vanishing.laws import discover_odes
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 8, 200)
    >>> records = [
    ...     solve_ivp(lambda t, x: -x / (1 + x), (0, 8), [start], t_eval=t, rtol=1e-8).y.T
    ...     for start in (1, 2, 3, 4, 5)
    ... ]
    >>> noisy = [x + 0.01 * x.std() * rng.normal(size=x.shape) for x in records]
    >>> odes = discover_odes(noisy, t, feature_names=["x"])
    >>> print(odes)
    One equation for one column of 5 trajectories.
      (x + 1)*dx/dt = -x
    >>> odes["x"].solution
    -x/(x + 1)
    """
    check_options(max_degree, random_state)
    whole = take_trajectories(X, groups, feature_names, t)
    _check_times(whole)
    targets = _choose_targets(whole, terms)
    if not targets:
        return Odes((), whole.names, whole.labels, len(whole.values), tuple(whole.notes))
    rng = np.random.default_rng(0 if random_state is None else random_state)
    equations: list[Ode] = []
    smoothed = smooth(whole)
    for j, supports in targets.items():
        report = partial(callback or (lambda n_found, share: None), len(equations))
        found = _find(whole, smoothed, j, max_degree, supports, rng, report)
        if found is not None:
            equations.append(found)
    notes = tuple(dict.fromkeys(whole.notes))
    return Odes(tuple(equations), whole.names, whole.labels, len(whole.values), notes)


def _check_times(whole: Trajectories) -> None:
    fewest = 2 * (SMOOTH + 3) + 1  # two windows of the finer polynomials, and a row between
    if not len(whole):
        raise ValueError(f"X has no trajectory of {fewest} rows or more: too few for derivatives")
    if whole.times is None:
        raise ValueError(
            "derivatives need times: give the time between two rows as t, or all times"
        )
    refuse_sizes(["t"], whole.times[:, None], HIGHEST_DEGREE, whole.describe_row)
    for label, times in zip(whole.labels, whole.split(whole.times), strict=True):
        if len(times) < fewest:
            raise ValueError(
                f"trajectory {label!r} has {len(times)} rows, but derivatives need {fewest} or "
                "more; leave it out"
            )
        if not (np.diff(times) > 0).all():
            raise ValueError(
                f"the times of trajectory {label!r} must rise from row to row; sort its rows"
            )


def _choose_targets(whole: Trajectories, terms: Any) -> dict[int, IntArray | None]:
    """Return the columns whose derivatives have equations, with the terms that may appear."""
    names = whole.names
    moving = np.flatnonzero(~whole.find_still()).tolist()
    if terms is None:
        return dict.fromkeys(moving)
    if isinstance(terms, Mapping):
        unknown = [name for name in terms if name not in names]
        if unknown:
            raise ValueError(
                f"terms has equations for {unknown[0]!r}, but the columns are {', '.join(names)}"
            )
    derivatives = [_derivative(name) for name in names]
    targets: dict[int, IntArray | None] = {}
    for j in moving:
        given = terms.get(names[j]) if isinstance(terms, Mapping) else terms
        if given is None:
            continue
        exponents = parse_terms(given, (*names, *derivatives))
        others = [len(names) + i for i in range(len(names)) if i != j]
        own = exponents[(exponents[:, others] == 0).all(axis=1)]
        own = own[:, [*range(len(names)), len(names) + j]]
        if not exponents[:, len(names) :].any():
            own = np.vstack([own, np.eye(len(names) + 1, dtype=np.intp)[-1]])
        if own[:, -1].any():
            targets[j] = own
    if not targets:
        raise ValueError("terms has no term that any equation may have; name derivatives as dx/dt")
    return targets


def _derivative(name: str) -> str:
    return f"d{name}/dt"


def _find(
    whole: Trajectories,
    smoothed: Smoothed,
    j: int,
    max_degree: int | None,
    allowed: IntArray | None,
    rng: np.random.Generator,
    callback: Callable[[float], object],
) -> Ode | None:
    """Find the equation of one derivative."""
    names = (*whole.names, _derivative(whole.names[j]))
    columns = np.column_stack([smoothed.values, smoothed.derivatives[:, j]])
    degree = choose_terms(len(names), max_degree, allowed, whole.notes)
    labels = [whole.labels[group] for group in smoothed.groups]
    refuse_sizes(names, columns, degree, lambda row: f"trajectory {labels[row]!r}")
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = columns / sizes
    # Of short records, narrower averages: each part that is held out has one of its own.
    for half in range(int(smoothed.half_widths[j]), 0, -1):
        averages, groups, closest = average(smoothed.groups, half)
        if len(groups) >= FOLDS * closest:
            break
    else:
        whole.notes.append(f"there are too few rows for an equation of {names[-1]}")
        return None
    # A single trajectory is held out in parts.
    parts = groups if len(whole) > 1 else np.arange(len(groups)) * FOLDS // len(groups)
    rows = averages @ scaled
    units = rows.std(axis=0) * np.eye(len(names))[-1]
    search = OdeSearch(
        rows, groups, hold_out(parts, rng), names, sizes, units, units, LOCAL * units, LOCAL,
        closest, False, scaled, averages,
    )  # fmt: skip
    exponents = monomials(len(names), degree).exponents if allowed is None else allowed
    powers = highest_powers(rows, rows.std(axis=0))
    powers[-1] = 2 if allowed is None else allowed[:, -1].max() + 1
    exponents = sort_terms(exponents[(exponents < powers).all(axis=1)])
    found = search.run(exponents, allowed is None, callback)
    return None if found is None else _make_ode(found)


def _make_ode(found: Found) -> Ode:
    """Return an equation with the derivative on the left."""
    law = found.law
    own = np.flatnonzero(law.exponents[:, -1])
    factor = law.coefficients[own[np.argmin(law.exponents[own].sum(axis=1))]]
    divided = law.coefficients[law.standard_errors == 0] / factor
    if len(own) > 1 or not np.allclose(divided, divided.round(4), rtol=1e-9, atol=0):
        factor = np.sign(factor)  # 3 dx/dt = x rather than dx/dt = 0.333333 x
    return Ode(
        law.names, law.exponents, law.coefficients / factor, law.standard_errors / abs(factor),
        found.relation.noise, found.p_value, law.rows, bits=found.bits,
    )  # fmt: skip
