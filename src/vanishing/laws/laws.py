"""``discover``: the laws of a table, without a setting."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import compress
from typing import Annotated, Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.arrays.parameters import check_real
from vanishing.data.source import get_columns, have_lost_digits, is_lazy
from vanishing.data.units import measure_unit, read_unit
from vanishing.data.whole_tables import Table
from vanishing.equations.text import join, last_digits, printable
from vanishing.laws.branches import Branches, find_branches
from vanishing.laws.candidate import Candidate, Term, find_complete
from vanishing.laws.cells import Cells
from vanishing.laws.check import Check, add_broken, locate, rule_out
from vanishing.laws.conditions import ConditionCells
from vanishing.laws.derived import DerivedColumn, Keys
from vanishing.laws.derived_check import join_rows
from vanishing.laws.domains import Domain, DomainCells, find_broken, find_domains, write_domains
from vanishing.laws.fit import robust_spread
from vanishing.laws.law import Equations, Law, write_whole
from vanishing.laws.model import ENOUGH_BITS, MISJUDGED, Evidence
from vanishing.laws.noise import fit_candidate
from vanishing.laws.outside import blame_conditions, list_outside
from vanishing.laws.reasons import RuleCells, add_reasons
from vanishing.laws.rows_before import Derivation, Deriver
from vanishing.laws.search import check_options, choose_degree, order_terms
from vanishing.laws.selection import Selection, find_zeros, select_laws
from vanishing.laws.soundness import TELLING_CORRELATION, measure_dependence
from vanishing.laws.table import frame_like, read_labels, refuse_sizes, take_table, whole_columns
from vanishing.laws.totals import TotalRow, Totals, check_totals, find_totals
from vanishing.laws.wrong_cells import Checker, choose_threshold, tolerate
from vanishing.levels import OUTLYING, ROUNDING, SAME, SAME_NUMBER

#: Rows below which nothing is a law: four points lie on some short curve.
FEWEST_EXACT_ROWS = 5
#: Rows in which a law with noise can be told from a correlation.
FEWEST_NOISY_ROWS = math.ceil(ENOUGH_BITS / measure_dependence(TELLING_CORRELATION, 1))
#: Characters of a line within which evidence stands beside a law, those of a terminal.
LINE_WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Laws(Equations):
    """The laws of a table; see ``discover``.

    Parameters
    ----------
    equations : tuple of Law
    noise : float or array of shape (n_columns,)
        One level relative to the columns' spreads, which does not say how it is divided among the
        columns; NaN if there is no law. The noise of each column in its unit, if it was given.
        If ``proportional``, relative to the values.
    names : tuple of str
        The columns that were looked at.
    spreads : array of shape (n_columns,)
        Standard deviations of the columns.
    ranges : array of shape (2, n_columns)
        Smallest and largest values of the columns.
    whole : bool array of shape (n_columns,)
        Whether the columns hold whole numbers.
    n_rows : int
        Rows that were looked at.
    notes : tuple of str
        What was set aside, and what the search restricted itself to.
    units : array of shape (n_columns,), optional
        Units of the last digits of the columns, such as 0.01; 0 for numbers that are not rounded.
    proportional : bool
        Whether the noise of a cell is in proportion to its value, not to the column's spread.
    zeros : tuple of str
        Columns whose blank cells count as 0.
    derived : tuple of DerivedColumn
        Columns that the laws speak about and that are computed from other cells, such as the
        previous balance. In the laws, they come after the columns of the table.
    totals : tuple of TotalRow
        Rows that are sums of others; they are kept out of the equations.
    domains : tuple of Domain
        What else holds in every row and would hardly by chance, such as ``start <= end``.
    column_units : tuple of str
        What the columns are measured in, as headers or a row below them say it; "" if they do not.
    threshold : float, optional
        Standard deviations by which a sound row may be off a law with noise. By default so many
        that one row in 200 is off some law by more.
    proportional_columns : tuple of str
        Columns whose noise is in proportion to their values, if that is not so of all.
    """

    equations: tuple[Law, ...]
    noise: Annotated[float | FloatArray, "names"]
    names: tuple[str, ...]
    spreads: Annotated[FloatArray, "names"]
    ranges: Annotated[FloatArray, "2 names"]
    whole: Annotated[BoolArray, "names"]
    n_rows: int
    notes: tuple[str, ...] = ()
    units: Annotated[FloatArray | None, "names"] = None
    proportional: bool = False
    zeros: tuple[str, ...] = ()
    derived: tuple[DerivedColumn, ...] = field(default=(), kw_only=True)
    totals: tuple[TotalRow, ...] = field(default=(), kw_only=True)
    domains: tuple[Domain, ...] = field(default=(), kw_only=True)
    column_units: tuple[str, ...] = field(default=(), kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    proportional_columns: tuple[str, ...] = field(default=(), kw_only=True)

    def __getitem__(self, index: int) -> Law:
        return self.equations[index]

    # --- What the laws say of rows ----------------------------------------------------------------

    def residuals(self, X: Any) -> Any:
        """Evaluate the laws on rows.

        Parameters
        ----------
        X : table with the columns of the laws

        Returns
        -------
        array of shape (n_rows, n_laws)
            Values of ``expression``, or of the choice of a row that is nearest to 0; NaN where a
            cell is missing, and where the condition of a law does not hold. For a frame, one of
            the same library and with the same index, whose columns are called by the laws.
        """
        _, values, keys = self._read(take_table(X), X)
        values = self._derive(values, keys)
        residuals = np.empty((len(values), len(self.equations)))
        for k, law in enumerate(self.equations):
            residuals[:, k] = law.values(values)
        residuals[~self._find_spoken(keys)] = np.nan
        return frame_like(X, residuals, [str(law) for law in self.equations])

    def check(
        self,
        X: Any,
        *,
        row_names: Sequence[Any] | None = None,
        texts: Mapping[tuple[int, str], str] | None = None,
        callback: Callable[[int], object] | None = None,
    ) -> Check:
        """Find the rows that break the laws, and the cells that break them.

        A row breaks a law if its residual exceeds the tolerance of the law. Rows that are off by
        the rounding or the noise of their cells are not broken. If there are ``totals``, those of X
        are looked for, and checked instead of the laws in these rows. Rows break ``domains``, too,
        whose columns X has; of several fixes of a cell, those are left out that break one.

        Parameters
        ----------
        X : table with the columns of the laws
            Missing cells are filled where the laws determine them. So are the few cells of a column
            of numbers that hold something else, such as a typo.
        row_names : sequence of length n_rows, optional
            What the rows are called: by default the index of a frame, numbers from 0 for an array,
            and for a file its index column, or numbers from 1 below the header.
        texts : mapping of (int, str) to str, optional
            What missing cells hold that are not numbers, by the place of the row, from 0, and the
            column; by default what the table itself shows.
        callback : callable, optional
            Called with the number of rows that are checked so far.

        Returns
        -------
        Check
            A sequence of broken rows with ``to_frame()`` and ``sentences()``. Its laws are the
            equations, followed by the domains.
        """
        table, values, keys = self._read(take_table(X), X)
        names = table.row_names if row_names is None else row_names
        if len(names) != len(values):
            raise ValueError(
                f"row_names has {len(names)} names, but X has {len(values)} rows; pass one a row"
            )
        for row, column in texts or ():
            if not (0 <= row < len(values) and column in self.names):
                raise ValueError(
                    f"texts has the cell {(row, column)!r}, but X has the rows 0 to "
                    f"{len(values) - 1} and the laws the columns {', '.join(self.names)}"
                )
        texts = table.stray_texts if texts is None else texts
        totals = self._find_totals(table)
        is_total = [each.row for each in totals.rows]
        check = partial(self._check, values, keys, names, texts, callback)
        found = check_totals(totals, _fill_blanks(table, self.zeros), names, check)
        found = self._check_domains(found, table, names, is_total)
        rows = found.rows
        if table.places:
            rows = [locate(each, table.places, table.rows[each.row]) for each in rows]
        columns = (*table.shown_names, *(each.name for each in table.set_aside))
        blanks = zip(self.names, np.isnan(values).T, strict=True)
        gaps = {name: np.flatnonzero(blank) for name, blank in blanks}
        conditions = {each.column: each for law in self.equations if (each := law.where)}
        for name, each in conditions.items():
            if name in keys.labels:
                gaps[name] = np.flatnonzero([not text for text in each.write(keys.labels[name])])
        gaps = {name: np.setdiff1d(rows, is_total) for name, rows in gaps.items()}
        kept = np.setdiff1d(np.arange(len(values)), is_total)
        return replace(
            found,
            rows=rows,
            columns=columns if has_names(X) else self.names,
            gaps={name: gap for name, gap in gaps.items() if len(gap)},
            sources=self._list_sources(),
            outside=tuple(
                list_outside(self.equations, self.derived, self._find_spoken(keys)[kept],
                             keys.take(kept), kept, names)
            ),
        )  # fmt: skip

    def _check_domains(
        self, found: Check, table: Table, row_names: Sequence[Any], totals: Sequence[int]
    ) -> Check:
        """Add the rows that break domains, and leave out fixes that would break one."""
        cells = DomainCells.of(table)
        domains = [each for each in self.domains if cells.columns.keys() >= set(each.columns)]
        if not domains:
            return found
        rows, unchecked = found.rows, np.zeros(found.n_rows, dtype=bool)
        unchecked[list(found.unchecked) if self.equations else slice(None)] = True
        for number, each in enumerate(self.domains, len(self.equations)):
            if each in domains:
                broken = find_broken(each, cells)
                broken[totals] = False
                rows = add_broken(rows, np.flatnonzero(broken), number, row_names)
                unchecked &= np.any([cells.levels(name) < 0 for name in each.columns], axis=0)
        sound = np.setdiff1d(np.arange(found.n_rows), [each.row for each in rows])
        rows = rule_out(rows, lambda tried: cells.find_sound(domains, tried, sound))
        said = (RuleCells(each.kind, each.columns) for each in self.domains)
        rules = dict(enumerate(said, len(self.equations)))
        rows = add_reasons(rows, rules, cells, table)
        rows.sort(key=lambda each: each.row)
        places = tuple(np.flatnonzero(unchecked).tolist())
        return replace(found, laws=(*self.equations, *self.domains), rows=rows, unchecked=places)

    @property
    def _checker(self) -> Checker:
        given = np.asarray(self.noise, dtype=float) if np.ndim(self.noise) else None
        # A derived column has the unit of its first source.
        places = [
            *range(len(self.names)),
            *(self.names.index(each.sources[0]) for each in self.derived),
        ]
        return Checker(
            self.equations, self.spreads[places], self.ranges[:, places], self.whole[places],
            self.n_rows, None if self.units is None else self.units[places],
            None if given is None else given[places],
            np.array([self.proportional or name in self.proportional_columns
                      for name in self.names])[places],
            choose_threshold(len(self.equations)) if self.threshold is None else self.threshold,
            range(len(self.equations)), len(self.equations),
        )  # fmt: skip

    def count_broken(self, values: FloatArray) -> "Laws":
        """Return the laws with the rows that keep or break those with noise, as a check counts.

        Parameters
        ----------
        values : array of shape (n_rows, n_columns)
            Columns of the laws, derived ones included.

        Returns
        -------
        Laws
        """
        checker = self._checker.read_units(values)
        lacking = checker.lack(values)
        with np.errstate(all="ignore"):
            is_broken = checker.find_broken(checker.scores(values))
        equations = [
            law
            if law.resolution is not None
            else replace(
                law,
                rows=np.flatnonzero(~lacking[:, k] & ~is_broken[:, k]),
                n_broken=int(is_broken[:, k].sum()),
            )
            for k, law in enumerate(self.equations)
        ]
        return replace(self, equations=tuple(equations))

    def read_digits(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the units of the last digits of a table, and 0 or those coarser than learned.

        Those of derived columns come last.
        """
        table, values, keys = self._read(take_table(X), X)
        totals = [each.row for each in self._find_totals(table).rows]
        kept = np.setdiff1d(np.arange(len(values)), totals)
        checker, rows = join_rows(self._checker, self.derived, values[kept], keys.take(kept))
        read = checker.read_units(rows.join_all())
        n_columns = len(self.names) + len(self.derived)
        units, coarser = (
            np.broadcast_to(each, len(read.spreads))[:n_columns]
            for each in (read.units, read.coarser)
        )
        return units, coarser

    def _find_totals(self, table: Table) -> Totals:
        if not self.totals:
            return Totals()
        exact = {
            name
            for law in self.equations
            if law.resolution is not None
            for name in law.columns
            if not law.resolution[law.names.index(name)]
        }
        found = find_table_totals(table, self.zeros).extend(self.equations)
        told = {name for each in self.totals for name in each.columns}
        return replace(
            found.add_columns(told.intersection(table.shown_names)), exact=frozenset(exact)
        )

    def _check(
        self,
        values: FloatArray,
        keys: Keys,
        row_names: Sequence[Any],
        texts: Mapping[tuple[int, str], str],
        callback: Callable[[int], object] | None,
        kept: IntArray,
    ) -> Check:
        """Check some rows, which are numbered by their places among these."""
        places = {row: place for place, row in enumerate(kept.tolist())}
        names = [row_names[i] for i in kept.tolist()]
        strays = {(places[row], name): text for (row, name), text in texts.items() if row in places}
        chosen = keys.take(kept) if self.derived else keys
        checker, rows = join_rows(self._checker, self.derived, values[kept], chosen)
        spoken = self._find_spoken(keys)[kept]
        found = checker.check(rows, names, callback, strays, spoken)
        told = found.rows
        if not spoken.all():  # some laws speak of some rows: is a row in the right case?
            checker, rows = join_rows(self._checker, self.derived, values[kept], chosen)
            own = keys.take(kept)
            told = [
                blame_conditions(
                    each, self.equations, checker.find_kept(rows.join(each.row)),
                    spoken[each.row], own,
                )
                for each in told
            ]  # fmt: skip
        return replace(found, laws=self.equations, rows=told)

    def _find_spoken(self, keys: Keys) -> BoolArray:
        """Return which laws speak of which rows, shape (n_rows, n_laws)."""
        cells: dict[str, ConditionCells] = {**keys.labels, **keys.columns}
        spoken = np.ones((keys.n_rows, len(self.equations)), dtype=bool)
        for k, law in enumerate(self.equations):
            if law.where is not None:
                spoken[:, k] = law.where.holds(cells[law.where.column])
        return spoken

    def _read(self, table: Table, X: Any) -> tuple[Table, FloatArray, Keys]:
        """Return a table, the columns of the laws, and what tells groups and order of the rows."""
        values = self._take_columns(table, X)
        if not has_names(X):
            table = replace(table, names=self.names)
        columns = dict(zip(table.shown_names, table.values.T, strict=True))
        columns |= dict(zip(self.names, values.T, strict=True))
        return table, values, Keys(len(values), table.texts, columns)

    def _derive(self, values: FloatArray, keys: Keys) -> FloatArray:
        """Return the columns of the laws with the derived ones."""
        derived = (each.compute(keys.columns, keys) for each in self.derived)
        return np.column_stack([values, *derived])

    def _take_columns(self, table: Table, X: Any) -> FloatArray:
        """Return the columns of the laws from a table, by name where it has names."""
        derived = {each.name for each in self.derived}
        named = {name for law in self.equations for name in law.columns}
        needed = sorted((named - derived).union(self._list_sources()))
        if has_names(X):
            known = {*table.shown_names, *table.texts}
            missing = [name for name in needed if name not in known]
            if missing:
                raise ValueError(
                    f"the table lacks {_list(missing)}, which the laws speak about; it has the "
                    f"numeric columns {_list(table.shown_names)}"
                )
            values = np.full((len(table.values), len(self.names)), np.nan)
            for j, name in enumerate(self.names):
                if name in table.shown_names:
                    values[:, j] = table.values[:, table.shown_names.index(name)]
        else:
            if len(table.shown_names) != len(self.names):
                raise ValueError(
                    f"the laws are about {len(self.names)} columns ({_list(self.names)}), but the "
                    f"table has {len(table.shown_names)}; give the same columns in the same order, "
                    "or a frame with their names"
                )
            values = table.values
        # Columns that no law speaks about need not be there.
        unused = [j for j, name in enumerate(self.names) if name not in needed]
        values = values.copy()
        values[:, unused] = 0.0
        for name in self.zeros:
            values[_find_blanks(table, name, values[:, self.names.index(name)]),
                   self.names.index(name)] = 0.0  # fmt: skip
        return values

    def _list_sources(self) -> tuple[str, ...]:
        """Return the columns of a table by which derived columns and conditions are told."""
        derived = (name for each in self.derived for name in each.needed)
        where = (law.where.column for law in self.equations if law.where is not None)
        return (*derived, *where)

    def solve_for(self, name: str) -> list[Any]:
        """Return explicit formulas of a column.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of SymPy expressions
            From each law that names the column, those that SymPy finds; of a law that holds under a
            condition, without it. Numbers have the digits that they have in the laws;
            ``Law.expression`` has all of them. If a formula is a fraction with such numbers, the
            first term of its denominator has the coefficient 1.
        """
        sympy = import_extra("sympy", extra="symbolic", purpose="Laws.solve_for")
        if name not in self.names:
            raise ValueError(f"there is no column {name!r}; there are {_list(self.names)}")
        formulas: list[Any] = []
        for law in self.equations:
            if name in law.columns:
                for solution in _solve(law.expression, sympy.Symbol(name)):
                    tidy = law.round_numbers(solution)
                    if tidy not in formulas:
                        formulas.append(tidy)
        return formulas

    # --- What people see --------------------------------------------------------------------------

    def summary(self) -> str:
        """Return one line: how many laws, and how much noise.

        Returns
        -------
        str
        """
        counts = (len(self.names), "column"), (self.n_rows, "row")
        where = " of ".join(f"{number} {what}{'s' * (number != 1)}" for number, what in counts)
        n_totals = len(self.totals)
        more = f"; {n_totals} total row{'s' * (n_totals > 1)}" if n_totals else ""
        if not self.equations:
            return f"No law found in {where}{more}."
        count = "One law" if len(self.equations) == 1 else f"{len(self.equations)} laws"
        return f"{count} in {where}; {self._noise_text()}{more}."

    def lines(self, *, numbered: bool = False) -> list[str]:
        """Return the laws with their evidence, and what else holds in every row, as lines of text.

        Parameters
        ----------
        numbered : bool
            Whether laws have their numbers, [1], [2], ..., as in ``Check.sentences``.

        Returns
        -------
        list of str
            Evidence is in columns; below a law that is too long to have it at its right.
        """
        laws = [law.with_errors for law in self.equations]
        if numbered:
            laws = [f"{f'[{k}]':<{len(str(len(laws))) + 2}} {law}" for k, law in enumerate(laws, 1)]
        parts = [law.evidence for law in self.equations]
        widths = [max(map(len, column)) for column in zip(*parts, strict=True)]
        evidence = []
        for each in parts:
            padded = [
                f"{text:{side}{n}}" for text, side, n in zip(each, "><><", widths, strict=True)
            ]
            evidence.append("  ".join(compress(padded, widths)).rstrip())
        room = LINE_WIDTH - 4 - max(map(len, evidence), default=0)
        start = max((len(law) for law in laws if len(law) <= room), default=2) + 2
        lines = []
        for law, words in zip(laws, evidence, strict=True):
            lines += [f"{law:<{start}}{words}"] if len(law) <= room else [law, " " * start + words]
        return lines + write_domains(self.domains, len(laws) + 1 if numbered else None)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(text)}</p>" for text in write_domains(self.domains))
        return super()._repr_html_() + said

    def _describe(self, equation: Law) -> str:
        return " · ".join(filter(None, equation.evidence))

    def _noise_text(self) -> str:
        if np.ndim(self.noise):
            return "noise of each column as given"
        if self.noise < SAME_NUMBER:
            return "exact"
        whole = "the values" if self.proportional else "a column's spread"
        if self.proportional_columns:
            names = [printable(name) for name in self.proportional_columns]
            whole += f", or of the values of {join(names)}"
        return f"noise {100 * self.noise:.2g} % of {whole}"

    def plot(
        self, X: Any, *, which: Sequence[int] | None = None, axes: Any = None, titles: bool = True
    ) -> Any:
        """Draw each law on the rows of a table: measured against predicted, and the difference.

        A grey band shows how far noise and rounding may move a row. Rows that break a law are
        marked, and those that are furthest off are named; rows beyond the axes are triangles at
        their edge. Of many sound rows, some are drawn.

        Parameters
        ----------
        X : table with the columns of the laws
        which : sequence of int, optional
            Places of the laws to draw; by default those of the first twelve.
        axes : array of matplotlib axes of shape (n_laws, 2), optional
            By default those of a new figure.
        titles : bool, default=True
            Whether laws are written above their pictures.

        Returns
        -------
        array of matplotlib axes of shape (n_laws, 2)
            For each law, those of the values and, below, of the differences.
        """
        import_extra("matplotlib.pyplot", extra="plot", purpose="Laws.plot")
        from vanishing.laws.picture import MOST_LAWS, Panel, draw_laws

        table, values, keys = self._read(take_table(X), X)
        totals = [each.row for each in self._find_totals(table).rows]  # these are checked as such
        kept = np.setdiff1d(np.arange(len(values)), totals)
        values, spoken = self._derive(values, keys)[kept], self._find_spoken(keys)[kept]
        names = np.array(table.row_names, dtype=object)[kept]
        checker = self._checker.read_units(values)
        places = range(len(self.equations))[:MOST_LAWS] if which is None else which
        with np.errstate(all="ignore"):
            panels = [
                Panel.of(
                    self.equations[k],
                    values,
                    checker.threshold * checker.find_scales(k, values),
                    spoken[:, k],
                )
                for k in places
            ]
        is_part = which is None and len(self.equations) > MOST_LAWS
        title = f"{self.summary()} The first {MOST_LAWS} are drawn." if is_part else self.summary()
        return draw_laws(panels, names, axes, title=title if titles else None)


def find_table_totals(table: Table, zeros: Sequence[str] = ()) -> Totals:
    """Return the rows of a table that are sums of others.

    If blanks of some columns are ``zeros``, sums that differ from the rows are wrong there.
    """

    def find(table: Table) -> Totals:
        values = np.where(np.isinf(table.values), np.nan, table.values)
        return find_totals(values, table.shown_names, table.row_names, read_labels(table))

    found = find(table)
    if not (zeros and found.rows):
        return found
    again = find(_fill_blanks(table, zeros))
    same = [each.row for each in again.rows] == [each.row for each in found.rows]
    return found.add_columns(again.rows[0].columns) if same else found


def _find_blanks(table: Table, name: str, cells: FloatArray) -> BoolArray:
    """Return the rows in which a column is blank, and does not hold something else."""
    blank = np.isnan(cells)
    blank[[row for row, column in table.stray_texts if column == name]] = False
    return blank


def _fill_blanks(table: Table, zeros: Sequence[str]) -> Table:
    """Return a table in which the blanks of some columns are 0."""
    values = table.values.copy()
    for j, name in enumerate(table.shown_names):
        if name in zeros:
            values[_find_blanks(table, name, values[:, j]), j] = 0.0
    return replace(table, values=values)


def has_names(X: Any) -> bool:
    """Say whether the columns of a table have names, so that they may be in any order."""
    is_read = isinstance(X, (str, os.PathLike, Table)) or is_lazy(X)
    return is_read or get_columns(X) is not None


def _solve(polynomial: Any, symbol: Any) -> list[Any]:
    """Return the roots of a SymPy polynomial in one of its symbols.

    SymPy solves for letters in place of decimal numbers: it would turn these into fractions of huge
    integers, which roots then are full of.
    """
    sympy = import_extra("sympy", extra="symbolic", purpose="Laws.solve_for")
    numbers = polynomial.atoms(sympy.Float)
    letters = {each: sympy.Dummy(positive=True) for each in {abs(each) for each in numbers}}
    signed = {each: sympy.sign(each) * letters[abs(each)] for each in numbers}
    try:
        roots = sympy.solve(polynomial.xreplace(signed), symbol)
    except NotImplementedError:
        return []
    values = {letter: each for each, letter in letters.items()}
    return [_divide_by_leading(root.xreplace(values)) if values else root for root in roots]


def _divide_by_leading(root: Any) -> Any:
    """Return a fraction of polynomials with 1 as the first coefficient of its denominator."""
    sympy = import_extra("sympy", extra="symbolic", purpose="Laws.solve_for")
    top, bottom = sympy.fraction(sympy.together(root))
    symbols = sorted(root.free_symbols, key=str)
    if not all(each.is_polynomial(*symbols) for each in (top, bottom)):
        return root
    if not bottom.free_symbols:
        return sympy.expand(root)
    (first, leading), *rest = sympy.Poly(bottom, *symbols).terms()
    coefficients = {first: sympy.Integer(1)} | {powers: each / leading for powers, each in rest}
    divided = sympy.Poly.from_dict(coefficients, *symbols, domain="EX").as_expr()
    return sympy.expand(top / leading) / divided


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


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
    found = _find_laws(table, (), max_degree, noise, random_state, deadline, callback)
    if zeros:
        # Each column whose blanks are zeros is to be named, and together they save ten bits.
        cost = ENOUGH_BITS + len(zeros) * math.log2(len(table.shown_names))
        again = _find_laws(filled, zeros, max_degree, noise, random_state, deadline, callback)
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


def _find_laws(
    table: Table,
    zeros: tuple[str, ...],
    max_degree: int | None,
    noise: Any,
    random_state: int | None,
    deadline: float,
    callback: Callable[[int, float], object] | None,
) -> Laws:
    """Find the laws of a table in which the blanks of some columns are filled with zeros."""
    values, n_rows = table.values, len(table.values)
    spreads, ranges = describe_columns(values, table.sample_weight)
    equations: list[Law] = []
    derived: tuple[DerivedColumn, ...] = ()
    beside: list[FloatArray] = []
    level = float("nan")
    proportional: tuple[str, ...] = ()
    if n_rows < FEWEST_EXACT_ROWS:
        rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
        said = f"{rows} too few for a law: at least {FEWEST_EXACT_ROWS} are needed"
        table = table.tell(said)
    else:
        derivation = _make_deriver(table, values).derive()
        search = _Search(
            table, spreads, max_degree, noise, random_state, deadline, callback, derivation
        )
        equations, level, proportional = search.run()
        table, noise = search.table, search.noise
        equations, derived = _drop_unused(equations, derivation.columns)
        pairs = zip(derivation.columns, derivation.values, strict=True)
        beside = [each for column, each in pairs if column in derived]
        if not equations and len(table.shown_names) > 1 and n_rows < FEWEST_NOISY_ROWS:
            said = f"{n_rows} rows are too few for a law with noise: at least {FEWEST_NOISY_ROWS}"
            table = table.tell(f"{said} are needed")
    given = noise if noise is not None and np.ndim(noise) else None
    sources = {each.name: each.sources[0] for each in derived}
    noisy = {
        sources.get(name, name)
        for law in equations if law.resolution is None for name in law.columns
    }  # fmt: skip
    is_alike = bool(noisy) and noisy.issubset(proportional)
    laws = Laws(
        tuple(equations),
        level if given is None else np.asarray(given, dtype=float),
        tuple(table.shown_names),
        spreads,
        ranges,
        whole_columns(values),
        n_rows,
        tuple(table.sentences()),
        last_digits(np.nan_to_num(values)) if n_rows else None,
        is_alike,
        zeros,
        derived=derived,
        proportional_columns=() if is_alike else proportional,
    )
    return laws.count_broken(np.column_stack([values, *beside])) if equations else laws


def _drop_unused(
    laws: list[Law], columns: list[DerivedColumn]
) -> tuple[list[Law], tuple[DerivedColumn, ...]]:
    """Return the laws without the derived columns that none of them speaks about."""
    used = {name for law in laws for name in law.columns}
    derived = tuple(each for each in columns if each.name in used)
    unused = {each.name for each in columns} - used
    shorter = []
    for law in laws:
        kept = [j for j, name in enumerate(law.names) if name not in unused]
        shorter.append(
            replace(
                law,
                names=tuple(law.names[j] for j in kept),
                exponents=law.exponents[:, kept],
                resolution=None if law.resolution is None else law.resolution[kept],
                logs=None if law.logs is None else law.logs[:, kept],
                n_derived=len(derived),
            )
        )
    return shorter, derived


def _fill_zeros(table: Table, seed: int, deadline: float) -> tuple[Table, tuple[str, ...]]:
    """Fill in blanks that may count as 0, but not cells that hold something else than a number."""
    filled = replace(table, values=table.values.copy())
    is_stray = np.zeros(table.values.shape, dtype=bool)
    for row, name in table.stray_texts:
        if name in table.shown_names:
            is_stray[row, table.shown_names.index(name)] = True
    blanks = np.isnan(table.values) & ~is_stray
    is_stray &= np.isnan(table.values)
    found = find_zeros(np.where(is_stray, np.inf, table.values), seed, deadline)
    if blanks.any():
        deriver = _make_deriver(table, np.where(blanks, 0.0, table.values))
        found = sorted({*found, *deriver.find_zeros(blanks)})
    for j in found:
        filled.values[blanks[:, j], j] = 0.0
    names = tuple(table.shown_names[j] for j in found)
    said = f"blanks in {join([printable(name) for name in names])} count as 0"
    return filled.tell(said), names


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
    """The search for all laws of a table: constants, laws without noise, laws with noise."""

    table: Table
    spreads: FloatArray
    max_degree: int | None
    noise: Any
    random_state: int | None
    deadline: float
    callback: Callable[[int, float], object] | None
    derivation: Derivation
    progress: tuple[int, float] = (0, 0.0)

    def __post_init__(self) -> None:
        columns, names = self.derivation.columns, self.table.shown_names
        #: Places of the columns that have the unit of each column.
        self.places = [*range(len(names)), *(names.index(each.sources[0]) for each in columns)]
        self.names = (*names, *(each.name for each in columns))
        self.spreads = self.spreads[self.places]
        dimensions = list(map(measure_unit, read_units(self.table)))
        #: What the units of the columns measure, None where they are not known.
        self.dimensions = [dimensions[j] for j in self.places]
        #: What may tell which rows a law speaks of.
        self.conditions: dict[str, ConditionCells] = dict(self.table.texts) | dict(
            zip(names, self.table.values.T, strict=True)
        )

    @np.errstate(all="ignore")  # units may be so large that products overflow
    def run(self) -> tuple[list[Law], float, tuple[str, ...]]:
        """Return the laws, the level of the noise, and the columns that have it in proportion."""
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
        if not measured:
            return laws + exact, 0.0 if laws + exact else float("nan"), ()
        level = float(np.sqrt(np.mean([law.extent**2 for law in measured])))
        names = tuple(name for j, name in enumerate(self.table.shown_names) if j in proportional)
        return laws + exact + measured, level, names

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
        names = self.names
        cells = self.table.values[:, column]
        rows = np.flatnonzero(np.isfinite(cells))
        exponents = np.zeros((2, len(names)), dtype=np.intp)
        exponents[0, column] = 1
        coefficients = np.array([1.0, -cells[rows[0]]])
        return Law(
            names, exponents, coefficients, np.zeros(2), 0.0, 0.0, rows,
            resolution=np.zeros(len(names)), n_derived=len(self.derivation.columns),
        )  # fmt: skip

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
        law = self._make_law(exponents, coefficients, evidence.bits, evidence.rounded, cells)
        law = replace(law, logs=logs, target=self._choose_target(evidence))
        return self._keep_rows(law, find_complete(candidate, cells), cells)

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
            law = self._make_law(exponents, choices[0], found.bits, rounded, cells)
            yield self._keep_rows(replace(law, choices=choices), complete, cells)
            return
        for branch, coefficients in zip(found.branches, choices, strict=True):
            powers = exponents.copy()
            powers[-1] *= bool(branch.number)  # tax = 0
            law = self._make_law(powers, coefficients, branch.bits, branch.rounded, cells)
            rows = complete
            if (where := branch.condition) is not None:
                rows = complete & where.holds(self.conditions[where.column])
            yield self._keep_rows(replace(law, where=where), rows, cells)

    def _make_law(
        self,
        exponents: IntArray,
        coefficients: FloatArray,
        bits: float,
        rounded: Iterable[int],
        cells: Cells,
    ) -> Law:
        """Return a law without noise, still without its rows."""
        resolution = np.zeros(len(self.names))
        resolution[list(rounded)] = cells.resolution[list(rounded)]
        return Law(
            self.names, exponents, coefficients, np.zeros(len(coefficients)), 0.0,
            min(1.0, 2.0**-bits), np.empty(0, dtype=np.intp), bits=bits, resolution=resolution,
            n_derived=len(self.derivation.columns),
        )  # fmt: skip

    def _keep_rows(self, law: Law, speaking: BoolArray, cells: Cells) -> Law:
        """Return a law without noise with the rows that keep it, and how far off these are."""
        rows = np.flatnonzero(speaking)
        values = np.nan_to_num(cells.values[rows])
        off, slopes = law.values(values), law.gradients(values)
        kept = np.abs(off) <= tolerate(law, values)
        steepness = np.linalg.norm(slopes * self.spreads, axis=1)
        steep = kept & (steepness > 0)
        extent = np.sqrt(np.mean((off[steep] / steepness[steep]) ** 2)) if steep.any() else 0.0
        return replace(law, rows=rows[kept], extent=float(extent), n_broken=int((~kept).sum()))

    def _make_noisy(self, evidence: Evidence, cells: Cells, proportional: frozenset[int]) -> Law:
        """Return a law with noise, fitted to all rows."""
        candidate = evidence.candidate
        order, exponents, logs = self._write_terms(candidate)
        rows = np.flatnonzero(find_complete(candidate, cells))
        relation, found = fit_candidate(
            candidate,
            cells.values[rows],
            proportional,
            cells.resolution,
            self.table.sample_weight[rows],
        )
        as_judged = np.array(candidate.coefficients), np.zeros(len(order))
        coefficients, errors = found[0] if found else as_judged
        law = Law(
            self.names, exponents, coefficients[order], errors[order], relation.noise,
            min(1.0, 2.0**-evidence.bits), rows[relation.sound], bits=evidence.bits, logs=logs,
            n_broken=int((~relation.sound).sum()), n_derived=len(self.derivation.columns),
        )  # fmt: skip
        if found:
            return law
        # Many wrong cells: the fit followed them, and says nothing about the law as it was judged.
        values = np.nan_to_num(cells.values[rows])
        by_value = np.isin(np.arange(len(self.names)), list(proportional))
        units = np.where(by_value, np.abs(values), self.spreads)
        deviations = law.values(values) / np.linalg.norm(law.gradients(values) * units, axis=1)
        sound = np.abs(deviations) <= OUTLYING * robust_spread(deviations, np.ones(len(rows)))
        noise = float(np.sqrt(np.mean(deviations[sound] ** 2)))
        return replace(law, extent=noise, rows=rows[sound], n_broken=int((~sound).sum()))
