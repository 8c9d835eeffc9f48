"""``discover_odes``: differential equations of trajectories, in implicit form.

An equation P(x) + Q(x) dx/dt = 0 is a law among the columns and one derivative, and it is found as
such: the noise that counts is that of the derivative, so a polynomial is measured by its root mean
square relative to that of Q. Rational equations dx/dt = -P(x) / Q(x) are polynomials in this form.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.equations.text import plain_symbol, printable
from vanishing.laws.cells import Cells
from vanishing.laws.fit import Relation, evaluate, fit_terms
from vanishing.laws.law import Equations, Law, check_rows
from vanishing.laws.model import ENOUGH_BITS, NOISE_OF_CORRELATIONS
from vanishing.laws.search import (
    HIGHEST_DEGREE,
    MOST_FACTORED,
    Terms,
    center,
    check_options,
    even_weights,
    highest_powers,
    sort_terms,
)
from vanishing.laws.table import refuse_sizes
from vanishing.laws.trajectories import (
    FOLDS,
    Found,
    Series,
    Trajectories,
    choose_terms,
    divide,
    estimate_noise,
    hold_out,
    is_state,
    leave_out_terms,
    measure_coefficients,
    measure_terms,
    parse_terms,
    take_trajectories,
    write_equation,
)
from vanishing.polynomials.monomials import monomials

#: Rows below which a trajectory has no derivatives, and averages below which there is no equation.
FEWEST_TIMES, FEWEST_AVERAGES = 15, 30
#: Relative spread below which a column is constant.
CONSTANT = 1e-12
#: Half width of a test function, relative to that of the best local polynomials.
WIDTH = 0.7
#: Rows on each side of one at which polynomials are fitted to the rows around it.
HALF_WIDTHS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 32, 40, 52, 64)
#: Degree of these polynomials, and of those that show the error they make.
SMOOTH, SMOOTHER = 4, 6
#: Sets of terms that are kept of each size when equations are compared, and that are looked at.
KEPT, COMPARED = 200, 10_000
#: Resolution of a derivative, relative to its spread: errors of local polynomials.
LOCAL = 1e-3
#: Averages that have rows in common with the next.
OVERLAPPING = 4
#: Sets of each size that are judged, and terms of the longest equation.
FITTED, LONGEST = 30, 10


@dataclass(frozen=True, eq=False, repr=False)
class Ode(Law):
    """A polynomial equation among columns and one derivative.

    Parameters
    ----------
    names : tuple of str
        All columns, and the derivative.
    exponents : int array of shape (n_terms, n_columns + 1)
    coefficients : array of shape (n_terms,)
        In the units of the columns. Whole numbers where the data allows it.
    standard_errors : array of shape (n_terms,)
        Of the coefficients. Those that are whole numbers have the error 0, as the one that the
        others are relative to.
    extent : float
        Root mean square error of the derivative that the equation leaves, relative to the spread of
        the derivative, both averaged with test functions.
    p_value : float
        How likely the equation holds as well on trajectories that it was not fitted to if one of
        its columns is shuffled; corrected for the number of candidates.
    rows : int array
        Numbers of the averages for which it holds.
    bits, resolution, logs, n_broken : float, None, None, 0
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
        if not self.is_linear:
            raise ValueError(f"{self} is not linear in {self.derivative}; solve it numerically")
        symbol = sympy.Symbol(self.derivative)
        slope = self.expression.diff(symbol)
        return self.round_numbers(sympy.factor_terms(-self.expression.subs(symbol, 0) / slope))

    @property
    def latex(self) -> str:
        """The equation in LaTeX."""
        if not self.is_linear:
            return super().latex
        from vanishing.equations.latex import latex_symbol

        name = latex_symbol(self.derivative[1:].rpartition("/")[0])
        return f"\\frac{{d {name}}}{{dt}} = {self._write_latex(self.solution)}"

    def __str__(self) -> str:
        if not self.is_linear:
            return super().__str__()
        own = self.exponents[:, -1] == 1
        slope, rest = self._take(own), self._take(~own)
        left = slope.write_terms(range(len(slope.coefficients)), 1.0)
        if len(slope.coefficients) > 1:
            left = f"({left})"
        name, _, time = self.derivative[1:].rpartition("/")
        derivative = f"d{plain_symbol(name)}/{printable(time)}"
        left = derivative if left == "1" else f"{left}*{derivative}"
        return f"{left} = {rest.write_terms(range(len(rest.coefficients)), -1.0)}"

    def _take(self, chosen: BoolArray) -> Law:
        """Return some of the terms, without the derivative."""
        exponents = self.exponents[chosen].copy()
        exponents[:, -1] = 0
        return Law(
            self.names, exponents, self.coefficients[chosen], self.standard_errors[chosen],
            self.extent, self.p_value, self.rows,
        )  # fmt: skip

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
        if not self.is_linear:
            raise ValueError(f"{self} is not linear in {self.derivative}; solve it numerically")
        rows = check_rows(X, self.names[:-1])
        rows = np.column_stack([rows, np.zeros(len(rows))])
        own = self.exponents[:, -1] == 1
        return np.asarray(-self._take(~own).values(rows) / self._take(own).values(rows))


@dataclass(frozen=True, eq=False, repr=False)
class Odes(Equations):
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


@dataclass(frozen=True)
class Smoothed:
    """Columns and their derivatives at rows that have enough neighbours.

    Attributes
    ----------
    values, derivatives : arrays of shape (n_rows, n_columns)
    groups : int array of shape (n_rows,)
    errors : array of shape (n_columns,)
        Root mean square errors of the derivatives.
    half_widths : int array of shape (n_columns,)
        Neighbours on each side that were used.
    """

    values: FloatArray
    derivatives: FloatArray
    groups: IntArray
    errors: FloatArray
    half_widths: IntArray


def smooth(whole: Trajectories) -> Smoothed:
    """Estimate the derivatives of trajectories by local polynomials.

    A polynomial of degree 4 in time is fitted to the rows around each row. Many rows leave little
    noise, few rows little error of the polynomial. For each column the number with the smallest
    estimated error of the derivative is found. The values and derivatives are those of a third of
    it: they have more noise and less error of the polynomial, and the noise goes when equations are
    averaged over the rest.
    """
    assert whole.times is not None
    noise = estimate_noise(whole.values, whole.groups)
    series = list(zip(whole.split(whole.values), whole.split(whole.times), strict=True))
    shortest = min(len(times) for _, times in series)
    widths = np.array([half for half in HALF_WIDTHS if half == 3 or 6 * half + 3 <= shortest])
    fits, risks = [], []
    for half in widths:
        parts = [_smooth_one(values, times, half) for values, times in series]
        values, slopes, gaps, noise_of_slope, noise_of_gap = map(
            np.concatenate, zip(*parts, strict=True)
        )
        bias = np.mean(gaps**2, axis=0) - noise**2 * np.mean(noise_of_gap**2)
        risks.append(np.maximum(bias, 0) + noise**2 * np.mean(noise_of_slope**2))
        fits.append((values, slopes))
    best = np.argmin(risks, axis=0)
    narrow = np.searchsorted(widths, widths[best] / 3)
    kept = _inside(whole.groups, int(widths[narrow].max()))
    columns = []
    for j, choice in enumerate(narrow):
        rows = kept[_inside(whole.groups, int(widths[choice]))]
        columns.append([each[rows, j] for each in fits[choice]])
    values, derivatives = np.transpose(columns, (1, 2, 0))
    errors = np.sqrt(np.min(risks, axis=0))
    return Smoothed(values, derivatives, whole.groups[kept], errors, widths[best])


def _inside(groups: IntArray, half: int) -> BoolArray:
    """Return the rows with half as many neighbours on each side, or more."""
    quarter = half // 2
    inside = np.zeros(len(groups), dtype=bool)
    inside[quarter : len(groups) - quarter] = (
        groups[2 * quarter :] == groups[: len(groups) - 2 * quarter]
    )
    return inside


def _smooth_one(
    values: FloatArray, times: FloatArray, half: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Fit polynomials to the rows around each row of one trajectory.

    Near the ends the row is not in the middle. Those nearest to them, where derivatives are
    noisiest, are left out.

    Returns
    -------
    values, derivatives : arrays of shape (n_kept, n_columns)
    gaps : array of shape (n_kept, n_columns)
        By how much the derivatives of polynomials of a higher degree differ.
    noise_of_slope, noise_of_gap : arrays of shape (n_kept,)
        Standard deviations of derivatives and gaps, for noise of size 1.
    """
    rows = np.arange(half // 2, len(values) - half // 2)
    starts = np.clip(rows - half, 0, len(values) - 2 * half - 1)
    windows = np.arange(2 * half + 1) + starts[:, None]
    centred = times[windows] - times[rows, None]
    steps = np.diff(times)
    number = np.arange(len(rows))
    if np.ptp(steps) <= 1e-6 * steps.max():  # the weights depend on the place in the window only
        _, first, number = np.unique(rows - starts, return_index=True, return_inverse=True)
        centred = centred[first]
    scale = np.abs(centred).max(axis=1)
    powers = (centred / scale[:, None])[:, :, None] ** np.arange(SMOOTHER + 1)
    weights = np.linalg.pinv(powers[:, :, : SMOOTH + 1])[:, :2]
    value, slope = weights[:, 0], weights[:, 1] / scale[:, None]
    gap = slope - np.linalg.pinv(powers)[:, 1] / scale[:, None]
    around = values[windows]

    def combine(each: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("iw,iwj->ij", each[number], around))

    def size(each: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(each, axis=1)[number])

    return combine(value), combine(slope), combine(gap), size(slope), size(gap)


def average(groups: IntArray, half: int) -> tuple[csr_array, IntArray]:
    """Return the weights of averages over rows of one trajectory, and its number for each.

    The weights are those of a test function (1 - u²)² with ``half`` rows on each side.
    """
    u = np.linspace(-1, 1, 2 * half + 3)[1:-1]
    weights = (1 - u**2) ** 2
    weights /= weights.sum()
    middles = np.flatnonzero(_inside(groups, 2 * half))
    place = middles - np.searchsorted(groups, groups[middles])
    middles = middles[(place - half) % max(1, half // 2) == 0]
    columns = middles[:, None] + np.arange(-half, half + 1)
    rows = np.broadcast_to(np.arange(len(middles))[:, None], columns.shape)
    values = np.broadcast_to(weights, columns.shape)
    matrix = coo_array(
        (values.ravel(), (rows.ravel(), columns.ravel())), shape=(len(middles), len(groups))
    )
    return matrix.tocsr(), groups[middles]


class OdeSearch:
    """One search for the equation of a derivative, which is the last column.

    An equation holds at every time, so its terms may be averaged with a test function, over as many
    rows as it takes to get rid of the noise (the weak form). The derivative is the target: its
    noise is the one that counts.

    Parameters
    ----------
    data : array of shape (n, n_columns)
        Divided by ``sizes``.
    sizes : array of shape (n_columns,)
    names : tuple of str
    averages : sparse array of shape (n_rows, n)
    groups, folds : int arrays of shape (n_rows,)
        Trajectory of each average, and the part that it is held out with.
    exponents : int array of shape (n_terms, n_columns)
        Monomials that may appear.
    may_divide : bool
        Whether terms may be divided by a common factor.
    """

    def __init__(
        self,
        data: FloatArray,
        sizes: FloatArray,
        names: tuple[str, ...],
        averages: csr_array,
        groups: IntArray,
        folds: IntArray,
        exponents: IntArray,
        may_divide: bool,
    ) -> None:
        self.data, self.averages, self.groups, self.folds = data, averages, groups, folds
        self.exponents, self.may_divide = exponents, may_divide
        self.sizes, self.names = sizes, names
        self.rows = averages @ data
        derivative = self.rows[:, -1]
        self.unit = float(derivative.std())
        resolution = LOCAL * self.unit
        alone = Cells(derivative[:, None], np.array([resolution])).log_alone[:, 0]
        self.series = Series(derivative, groups, alone, self.unit, resolution, OVERLAPPING)

    def run(self, report: Callable[[float], object]) -> Found | None:
        """Return the equation with most bits; longer ones are tried as long as they have more."""
        best: Found | None = None
        seen: set[bytes] = set()
        for size, supports in enumerate(find_supports(self._make_terms(), LONGEST), 2):
            report(size / LONGEST)
            for exponents in self.exponents[supports[:FITTED]]:
                shortest = divide(exponents)[0] if self.may_divide else exponents
                if shortest.tobytes() not in seen:
                    seen.add(shortest.tobytes())
                    found = self.judge(shortest)
                    if found is not None and (best is None or found.bits > best.bits):
                        best = found
            if best is not None and len(best.relation.exponents) < size - 1:
                break
        return None if best is None else leave_out_terms(best, self.judge)

    def _make_terms(self) -> Terms:
        values, slopes = self.evaluate(self.exponents)
        weights = even_weights(values.T)
        roots = np.sqrt(weights)[:, None]
        values, slopes = roots * values, roots * slopes
        factor = np.asarray(np.linalg.qr(values[:, :MOST_FACTORED], mode="r"))
        return Terms(self.exponents, values.T @ values, slopes.T @ slopes, factor, weights)

    def evaluate(self, exponents: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return averages of terms, and of their slopes by the derivative, for one spread of it."""
        lower = exponents - np.eye(self.data.shape[1], dtype=np.intp)[-1]
        own = np.flatnonzero(exponents[:, -1])
        slopes = np.zeros((self.averages.shape[0], len(exponents)))
        slopes[:, own] = self.averages @ (
            evaluate(lower[own], self.data) * (exponents[own, -1] * self.unit)
        )
        return self.averages @ evaluate(exponents, self.data), slopes

    def judge(self, exponents: IntArray) -> Found | None:
        """Return the bits that an equation saves on trajectories that it was not fitted to."""
        values, slopes = self.evaluate(exponents)
        gradients = np.zeros((len(values), self.data.shape[1], len(exponents)))
        gradients[:, -1] = slopes

        def fit(rows: BoolArray) -> Relation:
            return fit_terms(exponents, values[rows], gradients[rows], np.ones(int(rows.sum())))

        def deviate(relation: Relation) -> FloatArray:
            off, slope = np.abs([each @ relation.coefficients for each in (values, slopes)])
            found = np.divide(off, slope, out=np.full(len(off), np.inf), where=slope > 0)
            return np.asarray(found)

        relation = fit(np.ones(len(values), dtype=bool))
        bits, _ = self._measure(deviate(relation), np.full(len(values), relation.noise), exponents)
        sound = relation.sound
        if bits < ENOUGH_BITS or (
            relation.noise > LOCAL
            and is_state(
                relation.deviations[sound], self.rows[sound], self.groups[sound], OVERLAPPING
            )
        ):
            return None
        held_out, noise = np.empty((2, len(values)))
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            fitted = fit(~out)
            held_out[out], noise[out] = deviate(fitted)[out], fitted.noise
        bits, stride = self._measure(held_out, noise, exponents)
        # A term without a coefficient is not one of the equation.
        if bits < ENOUGH_BITS or not relation.coefficients.all():
            return None
        law = write_equation(relation, self.sizes, values, self.names, LOCAL)
        noise = np.abs(slopes @ relation.coefficients) * max(relation.noise, LOCAL)
        noise[~sound] = np.inf
        bits -= measure_coefficients(law, values * relation.coefficients, noise * stride**0.5)
        return Found(relation, law, bits) if bits >= ENOUGH_BITS else None

    def _measure(
        self, off: FloatArray, noise: FloatArray, exponents: IntArray
    ) -> tuple[float, int]:
        """Return the bits without those of the coefficients, and the distance of the rows."""
        correlated = np.full(len(off), NOISE_OF_CORRELATIONS * self.unit)
        bits, stride = self.series.measure(
            off * self.unit, noise * self.unit, correlated, exponents, -1, has_levels=False,
        )  # fmt: skip
        return bits - measure_terms(exponents), stride


def find_supports(terms: Terms, longest: int) -> Iterator[IntArray]:
    """Yield sets of 2, 3, ... terms in which a polynomial is small, the best ones first.

    Each set of one size is extended by every other term, and the best ones are kept: those with a
    small c'Ac / c'Bc for some coefficients c.
    """
    n_terms = len(terms.exponents)
    scale = 1 / np.sqrt(np.diag(terms.values))
    values, gradients = (scale[:, None] * each * scale for each in (terms.values, terms.gradients))
    values += 1e-13 * np.eye(n_terms)  # makes it positive definite
    kept = max(1, min(KEPT, COMPARED // n_terms))
    supports = np.flatnonzero(terms.exponents[:, -1])[:, None]
    for _ in range(2, min(longest, n_terms) + 1):
        every = np.repeat(np.arange(n_terms), len(supports))[:, None]
        extended = np.sort(np.hstack([np.tile(supports, (n_terms, 1)), every]), axis=1)
        extended = np.unique(extended[(np.diff(extended) > 0).all(axis=1)], axis=0)
        block = extended[:, :, None], extended[:, None, :]
        try:
            root = np.linalg.cholesky(values[block])
        except np.linalg.LinAlgError:
            break
        # The largest eigenvalue of A⁻¹B is the reciprocal of the smallest ratio.
        half = np.linalg.solve(root, gradients[block])
        whole = np.linalg.solve(root, np.swapaxes(half, 1, 2))
        largest = np.linalg.eigvalsh(whole)[:, -1]
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
        Seed of the permutations that p-values are computed from.
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
    smoothed = smooth(whole) if targets else None
    rng = np.random.default_rng(0 if random_state is None else random_state)
    equations: list[Ode] = []
    for j, supports in targets.items():
        assert smoothed is not None

        def report(share: float, n_found: int = len(equations)) -> None:
            if callback is not None:
                callback(n_found, share)

        found = _find(whole, smoothed, j, max_degree, supports, rng, report)
        if found is not None:
            equations.append(found)
    notes = tuple(dict.fromkeys(whole.notes))
    return Odes(tuple(equations), whole.names, whole.labels, len(whole.values), notes)


def _check_times(whole: Trajectories) -> None:
    if not len(whole):
        raise ValueError(
            f"X has no trajectory of {FEWEST_TIMES} rows or more: too few for derivatives"
        )
    if whole.times is None:
        raise ValueError(
            "derivatives need times: give the time between two rows as t, or all times"
        )
    refuse_sizes(["t"], whole.times[:, None], HIGHEST_DEGREE, whole.describe_row)
    for label, times in zip(whole.labels, whole.split(whole.times), strict=True):
        if len(times) < FEWEST_TIMES:
            raise ValueError(
                f"trajectory {label!r} has {len(times)} rows, but derivatives need "
                f"{FEWEST_TIMES} or more; leave it out"
            )
        if not (np.diff(times) > 0).all():
            raise ValueError(
                f"the times of trajectory {label!r} must rise from row to row; sort its rows"
            )


def _choose_targets(whole: Trajectories, terms: Any) -> dict[int, IntArray | None]:
    """Return the columns whose derivatives have equations, with the terms that may appear."""
    names = whole.names
    spreads = center(whole.values, whole.groups, np.ones(len(whole.values))).std(axis=0)
    still = spreads <= CONSTANT * np.abs(whole.values).max(axis=0)
    whole.notes.extend(
        f"{names[j]} is constant along each trajectory" for j in np.flatnonzero(still)
    )
    moving = [j for j in range(len(names)) if not still[j]]
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
        exponents = parse_terms(given, (*names, *derivatives), "terms")
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
    averages, groups = average(smoothed.groups, int(np.ceil(WIDTH * smoothed.half_widths[j])))
    rows = averages @ scaled
    if len(rows) < FEWEST_AVERAGES:
        whole.notes.append(f"there are too few rows for an equation of {names[-1]}")
        return None
    exponents = monomials(len(names), degree).exponents if allowed is None else allowed
    powers = highest_powers(rows, rows.std(axis=0))
    powers[-1] = 2 if allowed is None else allowed[:, -1].max() + 1
    # A single trajectory is held out in parts.
    parts = groups if len(whole) > 1 else np.arange(len(rows)) * FOLDS // len(rows)
    search = OdeSearch(
        scaled, sizes, names, averages, groups, hold_out(parts, rng),
        sort_terms(exponents[(exponents < powers).all(axis=1)]), allowed is None,
    )  # fmt: skip
    found = search.run(callback)
    return None if found is None else _make_ode(found)


def _make_ode(found: Found) -> Ode:
    """Return an equation with the derivative on the left."""
    law = found.law
    own = np.flatnonzero(law.exponents[:, -1])
    lowest = own[np.argmin(law.exponents[own].sum(axis=1))]
    factor = law.coefficients[lowest]
    divided = law.coefficients[law.standard_errors == 0] / factor
    if len(own) > 1 or not np.allclose(divided, divided.round(4), rtol=1e-9, atol=0):
        factor = np.sign(factor)  # 3 dx/dt = x rather than dx/dt = 0.333333 x
    return Ode(
        law.names, law.exponents, law.coefficients / factor, law.standard_errors / abs(factor),
        found.relation.noise, found.p_value, law.rows, bits=found.bits,
    )  # fmt: skip
