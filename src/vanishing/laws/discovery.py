"""``discover``: the laws of a table, without a setting."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_real
from vanishing.data.source import have_lost_digits
from vanishing.data.units import measure_unit, read_unit
from vanishing.data.whole_tables import Table
from vanishing.equations.text import join, last_digits, printable
from vanishing.laws.branches import Branches, find_branches
from vanishing.laws.candidate import Candidate, Term, find_complete
from vanishing.laws.cells import Cells
from vanishing.laws.conditions import ConditionCells
from vanishing.laws.derived import Keys
from vanishing.laws.domains import DomainCells, find_domains
from vanishing.laws.fit import robust_spread
from vanishing.laws.law import Law, estimate_errors, write_whole
from vanishing.laws.laws import Laws, SeenTable, find_blanks, find_table_totals
from vanishing.laws.model import ENOUGH_BITS, MISJUDGED, Evidence
from vanishing.laws.noise import fit_candidate
from vanishing.laws.rows_before import Derivation, Deriver
from vanishing.laws.search import check_options, choose_degree, order_terms
from vanishing.laws.selection import Selection, find_zeros, select_laws
from vanishing.laws.soundness import TELLING_CORRELATION, measure_dependence
from vanishing.laws.table import refuse_sizes, take_table, whole_columns
from vanishing.laws.wrong_cells import tolerate
from vanishing.levels import OUTLYING, ROUNDING, SAME

#: Rows below which nothing is a law: four points lie on some short curve.
FEWEST_EXACT_ROWS = 5
#: Rows in which a law with noise can be told from a correlation.
FEWEST_NOISY_ROWS = math.ceil(ENOUGH_BITS / measure_dependence(TELLING_CORRELATION, 1))


def discover(
    X: Any,
    feature_names: Any = None,
    *,
    max_degree: int | None = None,
    noise: Any = None,
    sample_weight: Any = None,
    random_state: int | None = None,
    time_limit: float | None = 20.0,
    callback: Callable[[int, float], object] | None = None,
) -> Laws:
    """Find the polynomial equations that the columns of a table satisfy.

    No setting is needed: columns may have any units, noise may be in all of them, and no column is
    a target. Short equations are preferred to long ones of a lower degree. A table without laws has
    an empty list of equations.

    Parameters
    ----------
    X : array-like, frame, path, Table, chunks or source, of shape (n_rows, n_columns)
        Columns of text and dates are set aside. A row with missing cells counts for the laws of its
        other columns.
    feature_names : sequence of str, optional
        Names of the columns.
    max_degree : int, optional
        Largest total degree. By default 4, or less for tables of many columns.
    noise : float or array of shape (n_columns,), optional
        Standard deviation of the noise: relative to the columns' spreads, or of each column in its
        unit. Estimated by default.
    sample_weight : array-like of shape (n_rows,), optional
    random_state : int, optional
        Seed of the rows that are drawn from large tables, and in the search for laws.
    time_limit : float, optional
        Seconds of processor time after which the search ends, about; None for no limit. ``notes``
        say if something was not tried.
    callback : callable, optional
        Called with the number of laws that are found so far, and the share of the search for the
        next one that is done, 0 to 1.

    Returns
    -------
    Laws

    See Also
    --------
    vanishing.laws.discover_invariants : What is constant along trajectories.
    vanishing.VanishingIdeal : All equations of a set of points up to a degree.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> rng = np.random.default_rng(0)
    >>> m, v = rng.uniform(1, 5, (2, 300))
    >>> laws = discover(np.column_stack([m, v, m * v**2 / 2]), ["m", "v", "E"])
    >>> print(laws)
    One law in 3 columns of 300 rows; exact.
      2*E = m*v^2  9,465 bits  exact  300 rows
    """
    check_options(max_degree, random_state)
    limit = math.inf if time_limit is None else check_real("time_limit", time_limit, zero=False)
    deadline = time.thread_time() + limit
    table = take_table(X, feature_names, sample_weight, tells_notes=True)
    table = _set_aside(table)
    refuse_sizes(
        table.shown_names, np.nan_to_num(table.values),
        choose_degree(len(table.shown_names), max_degree, notes=[]),
        lambda row: f"row {table.row_name(row)}",
    )  # fmt: skip
    _check_noise(noise, len(table.shown_names))
    totals = find_table_totals(table)
    details = np.setdiff1d(np.arange(len(table.values)), [each.row for each in totals.rows])
    read = table
    if totals.rows:
        table = table.keep(details)
    filled, zeros = _fill_zeros(table, random_state or 0, deadline)
    options = max_degree, noise, random_state, deadline, callback
    found = _Search(table, (), *options).run()
    if zeros:
        # Each column whose blanks are zeros is to be named, and together they save ten bits.
        cost = ENOUGH_BITS + len(zeros) * math.log2(len(table.shown_names))
        again = _Search(filled, zeros, *options).run()
        if _sum_bits(again) > _sum_bits(found) + cost:
            found = again
    units = read_units(table)
    written = dict(zip(table.shown_names, units, strict=True))
    domains = find_domains(DomainCells.of(table), found.equations, found.derived, written)
    found = replace(found, domains=domains, column_units=units)
    if not totals.rows:
        return found
    totals = find_table_totals(read, found.zeros).extend(found.equations)
    equations = [replace(law, rows=details[law.rows]) for law in found]
    notes = (*found.notes, totals.describe())
    return replace(found, equations=tuple(equations), totals=totals.rows, notes=notes)


def read_units(table: Table) -> tuple[str, ...]:
    """Return the units of the columns of numbers, "" where the table does not say them."""
    return tuple(table.units.get(name) or read_unit(name) for name in table.shown_names)


def _sum_bits(laws: Laws) -> float:
    """Return the bits of laws: a column that the row before tells is told by one law, not by two.

    balance = previous balance + credit holds where debit is blank, and the other way round.
    """
    best: dict[object, float] = {}
    for k, law in enumerate(laws):
        key = k if law.target is None else law.target
        best[key] = max(best.get(key, 0.0), law.bits or 0.0)
    return sum(best.values())


def _count_broken(laws: Laws, table: Table) -> Laws:
    """Return the laws of a table with the rows that keep or break them, as a check counts."""
    seen = SeenTable(laws, table, is_named=True)
    checker = laws.checker.read_units(seen.all_values)
    checked = seen.spoken & ~checker.lack(seen.all_values)
    with np.errstate(all="ignore"):
        is_broken = checked & checker.find_broken(checker.scores(seen.all_values))
    equations = (
        replace(law, rows=np.flatnonzero(kept), n_broken=int(broken.sum()))
        for law, kept, broken in zip(laws, (checked & ~is_broken).T, is_broken.T, strict=True)
    )
    return replace(laws, equations=tuple(equations))


def _fill_zeros(table: Table, seed: int, deadline: float) -> tuple[Table, tuple[str, ...]]:
    """Fill in blanks that may count as 0, but not cells that hold something else than a number."""
    values, blanks = table.values, find_blanks(table)
    found = find_zeros(np.where(np.isnan(values) & ~blanks, np.inf, values), seed, deadline)
    if blanks.any():
        deriver = _make_deriver(table, np.where(blanks, 0.0, values))
        found = sorted({*found, *deriver.find_zeros(blanks)})
    names = tuple(table.shown_names[j] for j in found)
    filled = blanks & np.isin(np.arange(values.shape[1]), found)
    said = f"blanks in {join([printable(name) for name in names])} count as 0"
    return replace(table, values=np.where(filled, 0.0, values)).tell(said), names


def _make_deriver(table: Table, values: FloatArray) -> Deriver:
    """Return what proposes derived columns of a table."""
    keys = Keys(len(values), table.texts, dict(zip(table.shown_names, values.T, strict=True)))
    return Deriver(values, list(table.shown_names), keys, in_order=table.in_order)


def describe_columns(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the spreads of columns, and their smallest and largest values; blanks do not count."""
    if not values.size:
        return np.zeros(values.shape[1]), np.zeros((2, values.shape[1]))
    present = np.isfinite(values)
    known = np.where(present, values, 0.0)
    # In units in which squares neither overflow nor underflow.
    largest = np.abs(known).max(axis=0)
    scaled = known / np.where(largest > 0, largest, 1.0)
    counted = weights[:, None] * present
    total = np.maximum(counted.sum(axis=0), np.finfo(float).tiny)
    centred = scaled - np.sum(counted * scaled, axis=0) / total
    spreads = largest * np.sqrt(np.sum(counted * centred**2, axis=0) / total)
    low = np.where(present, values, np.inf).min(axis=0)
    high = np.where(present, values, -np.inf).max(axis=0)
    return spreads, np.array([low, high])


def _check_noise(noise: Any, n_columns: int) -> None:
    if noise is None:
        return
    try:
        given = np.asarray(noise)
        levels = given.astype(float) if given.dtype.kind in "iufO" else np.array(np.nan)
    except (TypeError, ValueError):
        levels = np.array(np.nan)
    if levels.shape not in ((), (n_columns,)) or not (np.isfinite(levels) & (levels >= 0)).all():
        raise ValueError(
            f"noise must be a number from 0 on, or one for each of the {n_columns} numeric "
            f"columns, got {noise!r}"
        )


def _set_aside(table: Table) -> Table:
    """Leave out rows of weight 0, and columns that hold no number or none that can be told apart.

    The latter differ in digits that floating-point numbers do not have.
    """
    table = replace(table, values=np.where(np.isinf(table.values), np.nan, table.values))
    table = table.keep(table.sample_weight > 0)
    is_empty = np.isnan(table.values).all(axis=0) & bool(len(table))
    lost = have_lost_digits(np.nan_to_num(table.values))
    for j in reversed(np.flatnonzero(is_empty).tolist()):
        said = f"{table.shown_names[j]} is set aside: 100% of it is missing"
        table = table.tell(said)
    for j in reversed(np.flatnonzero(lost & ~is_empty).tolist()):
        said = (
            f"{table.shown_names[j]} is set aside: its numbers, about {table.values[0, j]:.3g}, "
            "differ in digits that floating-point numbers do not have; subtract a constant from "
            "them"
        )
        table = table.tell(said)
    return table.drop(is_empty | lost)


@dataclass
class _Search:
    """The search for all laws of a table: constants, laws without noise, laws with noise.

    Blanks of the columns ``zeros`` are filled with 0.
    """

    table: Table
    zeros: tuple[str, ...]
    max_degree: int | None
    noise: Any
    random_state: int | None
    deadline: float
    callback: Callable[[int, float], object] | None
    progress: tuple[int, float] = (0, 0.0)

    def run(self) -> Laws:
        """Find the laws of the table."""
        values, n_rows = self.table.values, len(self.table.values)
        spreads, ranges = describe_columns(values, self.table.sample_weight)
        equations: list[Law] = []
        proportional: tuple[str, ...] = ()
        if n_rows < FEWEST_EXACT_ROWS:
            rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
            said = f"{rows} too few for a law: at least {FEWEST_EXACT_ROWS} are needed"
            self.table = self.table.tell(said)
        else:
            self._derive(spreads)
            equations, proportional = self._find_equations()
            if not equations and len(self.table.shown_names) > 1 and n_rows < FEWEST_NOISY_ROWS:
                said = f"{n_rows} rows are too few for a law with noise: at least "
                self.table = self.table.tell(f"{said}{FEWEST_NOISY_ROWS} are needed")
        noisy = [law for law in equations if law.resolution is None]
        used = {name for law in equations for name in law.columns}
        # Two derived columns of one name differ at most in how the first row of a group begins.
        columns = {each.name: each for each in self.derivation.columns} if used else {}
        derived = tuple(each for name, each in columns.items() if name in used)
        sources = {each.name: each.sources[0] for each in derived}
        of_noise = {sources.get(name, name) for law in noisy for name in law.columns}
        is_alike = bool(of_noise) and of_noise.issubset(proportional)
        level = float(np.sqrt(np.mean([law.extent**2 for law in noisy]))) if noisy else 0.0
        is_given = self.noise is not None and np.ndim(self.noise)
        names = tuple(self.table.shown_names)
        laws = Laws(
            tuple(law.move((*names, *sources), n_derived=len(derived)) for law in equations),
            np.asarray(self.noise, dtype=float) if is_given else level if equations else np.nan,
            names,
            spreads,
            ranges,
            whole_columns(values),
            n_rows,
            tuple(self.table.sentences()),
            last_digits(np.nan_to_num(values)) if n_rows else None,
            is_alike,
            self.zeros,
            derived=derived,
            proportional_columns=() if is_alike else proportional,
        )
        return _count_broken(laws, self.table) if equations else laws

    def _derive(self, spreads: FloatArray) -> None:
        """Find what may be computed from other cells, as further columns."""
        self.derivation: Derivation = _make_deriver(self.table, self.table.values).derive()
        columns, names = self.derivation.columns, self.table.shown_names
        #: Places of the columns that have the unit of each column.
        self.places = [*range(len(names)), *(names.index(each.sources[0]) for each in columns)]
        self.names = (*names, *(each.name for each in columns))
        self.spreads = spreads[self.places]
        dimensions = list(map(measure_unit, read_units(self.table)))
        #: What the units of the columns measure, None where they are not known.
        self.dimensions = [dimensions[j] for j in self.places]
        #: What may tell which rows a law speaks of.
        self.conditions: dict[str, ConditionCells] = dict(self.table.texts) | dict(
            zip(names, self.table.values.T, strict=True)
        )

    @np.errstate(all="ignore")  # units may be so large that products overflow
    def _find_equations(self) -> tuple[list[Law], tuple[str, ...]]:
        """Return the laws, and the columns that have noise in proportion."""
        values = self.table.values
        present = np.isfinite(values)
        largest = np.abs(np.where(present, values, 0.0)).max(axis=0)
        # Up to the rounding errors of the sums that spreads are computed from.
        low = np.where(present, values, np.inf).min(axis=0)
        constant = np.where(present, values, -np.inf).max(axis=0) - low <= 4 * ROUNDING * largest
        is_mostly_there = 2 * present.sum(axis=0) >= len(values)
        laws = [self._make_constant(int(j)) for j in np.flatnonzero(constant & is_mostly_there)]
        given = None
        if self.noise is not None:
            given = np.asarray(self.noise, dtype=float)
            given = given[self.places] if given.ndim else given * self.spreads
        usable = np.where(constant | self._find_gross_errors(), np.nan, values)
        branching: list[Branches] = []

        def divide(selection: Selection, rows: IntArray, is_last: bool) -> None:
            conditions = {name: np.asarray(each)[rows] for name, each in self.conditions.items()}
            found = find_branches(selection, self.names, conditions, self.deadline, is_last=is_last)
            branching.extend(found)

        found, cells, notes = select_laws(
            np.column_stack([usable, *self.derivation.values]),
            max_degree=self.max_degree,
            noise=given,
            seed=0 if self.random_state is None else self.random_state,
            deadline=self.deadline,
            callback=lambda n_laws, share: self._report(len(laws) + n_laws, share),
            derived=self.derivation.indices,
            functions={
                j: frozenset(map(self.names.index, sources))
                for j, sources in self.derivation.functions.items()
            },
            dimensions=self.dimensions,
            proposed=self.derivation.candidates,
            divide=divide,
        )
        self.table = self.table.tell(*notes)
        noisy = [law for law in found if law.noise]
        if given is not None and given.any():
            self._compare_noise(noisy, has_laws=bool(found or branching))
        exact = [self._make_exact(law, cells) for law in found if not law.noise]
        exact += [law for each in branching for law in self._make_branches(each, cells)]
        # One kind of noise for each column: the one with more bits.
        more_bits = np.zeros(len(values.T))
        for law in noisy:
            for j in law.candidate.columns:
                more_bits[self.places[j]] += law.bits if j in law.proportional else -law.bits
        proportional = frozenset(np.flatnonzero(more_bits[self.places] > 0).tolist())
        measured = [self._make_noisy(law, cells, proportional) for law in noisy]
        names = tuple(name for j, name in enumerate(self.table.shown_names) if j in proportional)
        return laws + exact + measured, names

    def _compare_noise(self, noisy: Sequence[Evidence], *, has_laws: bool) -> None:
        """Tell how the noise that is found differs from the one that was given."""
        if not noisy:
            if has_laws:
                return
            self.table = self.table.tell(
                f"laws were looked for with 1/{MISJUDGED:g} to {MISJUDGED:g} times the noise that "
                "was given; without it, the noise is estimated"
            )
            return
        n_rows = sum(law.n_rows for law in noisy)
        level = math.sqrt(sum(law.n_rows * law.noise**2 for law in noisy) / n_rows)
        # Beyond the standard error of a standard deviation.
        if abs(math.log(level)) > OUTLYING / 2 / math.sqrt(2 * n_rows):
            self.table = self.table.tell(f"the noise is {level:.2g} times the one that was given")
            self.noise = np.asarray(self.noise, dtype=float) * level

    def _find_gross_errors(self) -> BoolArray:
        """Return cells that are beyond comparison with the rest of their column.

        Laws are fitted to sums of squares, in which cells that are larger by 1 / √SAME take half of
        the digits of the others: laws of the other rows would be lost in the rounding errors of
        that one, or hold because it dwarfs all others. Up to √n cells of a column may be wrong.
        """
        values, names = self.table.values, self.table.shown_names
        distances = np.nan_to_num(np.abs(values - np.nanmedian(values, axis=0)))
        usual = np.sort(distances, axis=0)[-1 - math.isqrt(len(values))]
        gross = (usual > 0) & (distances * np.sqrt(SAME) > usual)
        self.table = self.table.tell(*(
            f"no law was fitted to a row with {values[np.argmax(gross[:, j]), j]:.3g} in "
            f"{names[j]}, which is beyond comparison with the other rows"
            for j in np.flatnonzero(gross.any(axis=0)).tolist()
        ))  # fmt: skip
        return np.asarray(gross)

    def _report(self, n_laws: int, share: float) -> None:
        self.progress = max(self.progress, (n_laws, share))  # never back, but with the next law
        if self.callback is not None:
            self.callback(*self.progress)

    def _make_constant(self, column: int) -> Law:
        cells = self.table.values[:, column]
        exponents = np.zeros((2, len(self.names)), dtype=np.intp)
        exponents[0, column] = 1
        coefficients = np.array([1.0, -cells[np.isfinite(cells)][0]])
        resolution = np.zeros(len(self.names))
        law = self._make_law(exponents, coefficients, math.inf, resolution=resolution)
        return replace(law, bits=None)

    def _write_powers(self, terms: Sequence[Term]) -> IntArray:
        exponents = np.zeros((len(terms), len(self.names)), dtype=np.intp)
        for i, term in enumerate(terms):
            for j, power in term:
                exponents[i, j] += power
        return exponents

    def _write_terms(self, candidate: Candidate) -> tuple[IntArray, IntArray, BoolArray | None]:
        """Return the order of the terms, their exponents, and which of them have logarithms."""
        exponents = self._write_powers(candidate.terms)
        logs = np.zeros(exponents.shape, dtype=bool)
        for i, term in enumerate(candidate.terms):
            logs[i, [j for j, power in term if not power]] = True
        order = order_terms(exponents + logs)
        # The previous balance comes before what is added to it.
        is_derived = exponents[order][:, len(self.table.shown_names) :].any(axis=1)
        order = order[np.argsort(~is_derived, kind="stable")]
        return order, exponents[order], logs[order] if logs.any() else None

    def _make_exact(self, evidence: Evidence, cells: Cells) -> Law:
        """Return a law without noise in the form in which people write it."""
        candidate = evidence.candidate
        order, exponents, logs = self._write_terms(candidate)
        letters = exponents if logs is None else exponents + logs
        coefficients = write_whole(np.array(candidate.coefficients)[order], letters)
        law = self._make_law(
            exponents, coefficients, evidence.bits, logs=logs, target=self._choose_target(evidence),
            resolution=self._list_units(evidence.rounded, cells),
        )  # fmt: skip
        return self._measure(law, find_complete(candidate, cells), cells)

    def _choose_target(self, evidence: Evidence) -> str | None:
        """Return the column that stands on the left of a law with a derived column.

        It is the balance if there is a previous balance, even if the law tells the debit.
        """
        columns = evidence.candidate.columns
        derived = [self.derivation.columns[j - len(self.table.shown_names)]
                   for j in columns if j in self.derivation.indices]  # fmt: skip
        sources = {each.sources[0] for each in derived if each.is_of_other_row}
        beside = [self.names[j] for j in columns if self.names[j] in sources]
        return (beside or [self.names[evidence.target]])[0] if derived else None

    def _make_branches(self, found: Branches, cells: Cells) -> Iterator[Law]:
        """Yield the law of each condition, or one law of several numbers."""
        complete = find_complete(found.form.make(1.0), cells)
        # The term whose coefficient differs comes last.
        fixed = [value for _, value in found.form.fixed]
        exponents = self._write_powers([*(term for term, _ in found.form.fixed), found.form.free])
        choices = np.array([[*fixed, -each.number] for each in found.branches])
        if found.branches[0].condition is None:
            rounded = {j for each in found.branches for j in each.rounded}
            law = self._make_law(
                exponents, choices[0], found.bits, choices=choices,
                resolution=self._list_units(rounded, cells),
            )  # fmt: skip
            yield self._measure(law, complete, cells)
            return
        for branch, coefficients in zip(found.branches, choices, strict=True):
            powers = exponents.copy()
            powers[-1] *= bool(branch.number)  # tax = 0
            rows = complete
            if (where := branch.condition) is not None:
                rows = complete & where.holds(self.conditions[where.column])
            law = self._make_law(
                powers, coefficients, branch.bits, where=where,
                resolution=self._list_units(branch.rounded, cells),
            )  # fmt: skip
            yield self._measure(law, rows, cells)

    def _list_units(self, rounded: Iterable[int], cells: Cells) -> FloatArray:
        """Return the units of the last digits of columns that are rounded, 0 for others."""
        units = np.zeros(len(self.names))
        units[list(rounded)] = cells.resolution[list(rounded)]
        return units

    def _make_law(
        self, exponents: IntArray, coefficients: FloatArray, bits: float, **details: Any
    ) -> Law:
        """Return a law; a check tells which rows keep it."""
        return Law(
            self.names, exponents, coefficients, np.zeros(len(coefficients)), 0.0,
            min(1.0, 2.0**-bits), np.empty(0, dtype=np.intp), bits=bits,
            n_derived=len(self.derivation.columns), **details,
        )  # fmt: skip

    def _measure(self, law: Law, speaking: BoolArray, cells: Cells) -> Law:
        """Return a law without noise with its errors, and how far the rows that keep it are off."""
        values = np.nan_to_num(cells.values[speaking])
        off, slopes = law.values(values), law.gradients(values)
        steepness = np.linalg.norm(slopes * self.spreads, axis=1)
        kept = np.abs(off) <= tolerate(law, values)
        steep = kept & (steepness > 0)
        extent = np.sqrt(np.mean((off[steep] / steepness[steep]) ** 2)) if steep.any() else 0.0
        law = replace(law, extent=float(extent))
        if law.where is None and law.choices is None:  # others have short numbers
            law = replace(law, standard_errors=estimate_errors(law, values[kept]))
        return law

    def _make_noisy(self, evidence: Evidence, cells: Cells, proportional: frozenset[int]) -> Law:
        """Return a law with noise, fitted to all rows."""
        candidate = evidence.candidate
        order, exponents, logs = self._write_terms(candidate)
        rows = np.flatnonzero(find_complete(candidate, cells))
        values, weights = cells.values[rows], self.table.sample_weight[rows]
        relation, found = fit_candidate(candidate, values, proportional, cells.resolution, weights)
        as_judged = np.array(candidate.coefficients), np.zeros(len(order))
        coefficients, errors = found[0] if found else as_judged
        law = self._make_law(exponents, coefficients[order], evidence.bits, logs=logs)
        law = replace(law, standard_errors=errors[order], extent=relation.noise)
        if found:
            return law
        # Many wrong cells: the fit followed them, and says nothing about the law as it was judged.
        values = np.nan_to_num(values)
        by_value = np.isin(np.arange(len(self.names)), list(proportional))
        units = np.where(by_value, np.abs(values), self.spreads)
        deviations = law.values(values) / np.linalg.norm(law.gradients(values) * units, axis=1)
        sound = np.abs(deviations) <= OUTLYING * robust_spread(deviations, np.ones(len(rows)))
        return replace(law, extent=float(np.sqrt(np.mean(deviations[sound] ** 2))))
