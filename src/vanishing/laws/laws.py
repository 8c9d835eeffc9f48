"""The laws of a table, and what they say of its rows and of others."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import compress
from typing import Annotated, Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra, lazy
from vanishing.data.source import get_columns, is_lazy
from vanishing.data.whole_tables import Table
from vanishing.equations.text import join, printable
from vanishing.laws.check import Check, add_broken, locate, rule_out
from vanishing.laws.conditions import ConditionCells
from vanishing.laws.derived import DerivedColumn, Keys
from vanishing.laws.derived_check import join_rows
from vanishing.laws.domains import Domain, DomainCells, find_broken, write_domains
from vanishing.laws.law import Equations, Law
from vanishing.laws.outside import blame_conditions, list_outside
from vanishing.laws.reasons import RuleCells, add_reasons
from vanishing.laws.table import frame_like, read_labels, take_table
from vanishing.laws.totals import TotalRow, Totals, check_totals, find_totals
from vanishing.laws.wrong_cells import Checker, Rows, choose_threshold
from vanishing.levels import SAME_NUMBER

#: Characters of a line within which evidence stands beside a law, those of a terminal.
LINE_WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Laws(Equations[Law]):
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
        seen = SeenTable(self, take_table(X), has_names(X))
        residuals = np.empty((len(seen.values), len(self.equations)))
        for k, law in enumerate(self.equations):
            residuals[:, k] = law.values(seen.all_values)
        residuals[~seen.spoken] = np.nan
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
        seen = SeenTable(self, take_table(X), has_names(X))
        table, n_rows = seen.table, len(seen.values)
        names = table.row_names if row_names is None else row_names
        if len(names) != n_rows:
            raise ValueError(
                f"row_names has {len(names)} names, but X has {n_rows} rows; pass one a row"
            )
        for row, column in texts or ():
            if not (0 <= row < n_rows and column in self.names):
                raise ValueError(
                    f"texts has the cell {(row, column)!r}, but X has the rows 0 to {n_rows - 1} "
                    f"and the laws the columns {', '.join(self.names)}"
                )
        return seen.check(names, table.stray_texts if texts is None else texts, callback)

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns of a table by which derived columns and conditions are told."""
        derived = (name for each in self.derived for name in each.needed)
        where = (law.where.column for law in self.equations if law.where is not None)
        return (*derived, *where)

    @property
    def checker(self) -> Checker:
        """What finds the rows that break the equations, and the cells that do."""
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
            is_rounded = any(
                np.any(law.resolution) for law in self.equations if law.resolution is not None
            )
            return "exact up to rounding" if is_rounded else "exact"
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

        seen = SeenTable(self, take_table(X), has_names(X))
        kept = seen.kept  # total rows are checked as such
        values, spoken = seen.all_values[kept], seen.spoken[kept]
        names = np.array(seen.table.row_names, dtype=object)[kept]
        checker = self.checker.read_units(values)
        places = range(len(self.equations))[:MOST_LAWS] if which is None else which
        with np.errstate(all="ignore"):
            panels = [
                Panel.of(self.equations[k], values, checker.find_tolerance(k, values), spoken[:, k])
                for k in places
            ]
        is_part = which is None and len(self.equations) > MOST_LAWS
        title = f"{self.summary()} The first {MOST_LAWS} are drawn." if is_part else self.summary()
        return draw_laws(panels, names, axes, title=title if titles else None)


@dataclass(frozen=True, eq=False)
class SeenTable:
    """A table as laws see it: their columns, which rows they speak of, and which are totals.

    Columns are taken by their names if it ``is_named``, otherwise in their order.
    """

    laws: Laws
    given: Table
    is_named: bool

    @lazy
    def table(self) -> Table:
        """The table; columns without names are called as the laws call them."""
        return self.given if self.is_named else replace(self.given, names=self.laws.names)

    @lazy
    def values(self) -> FloatArray:
        """The columns of the laws; 0 in columns that no law speaks about, which may be missing."""
        laws, table = self.laws, self.given
        derived = {each.name for each in laws.derived}
        named = {name for law in laws.equations for name in law.columns}
        needed = sorted((named - derived).union(laws.sources))
        places = {name: j for j, name in enumerate(table.shown_names)}
        if self.is_named:
            missing = [name for name in needed if name not in {*places, *table.texts}]
            if missing:
                raise ValueError(
                    f"the table lacks {_list(missing)}, which the laws speak about; it has the "
                    f"numeric columns {_list(table.shown_names)}"
                )
        elif len(places) != len(laws.names):
            raise ValueError(
                f"the laws are about {len(laws.names)} columns ({_list(laws.names)}), but the "
                f"table has {len(places)}; give the same columns in the same order, "
                "or a frame with their names"
            )
        else:
            places = {name: j for j, name in enumerate(laws.names)}
        blanks, values = find_blanks(table), np.full((len(table.values), len(laws.names)), np.nan)
        for j, name in enumerate(laws.names):
            if name not in needed:
                values[:, j] = 0.0
            elif name in places:
                values[:, j] = table.values[:, places[name]]
                if name in laws.zeros:
                    values[blanks[:, places[name]], j] = 0.0
        return values

    @lazy
    def keys(self) -> Keys:
        """What tells the groups and the order of the rows."""
        columns = dict(zip(self.table.shown_names, self.table.values.T, strict=True))
        columns |= dict(zip(self.laws.names, self.values.T, strict=True))
        return Keys(len(self.values), self.table.texts, columns)

    @lazy
    def all_values(self) -> FloatArray:
        """The columns of the laws, with the derived ones."""
        derived = (self.keys.compute(each, self.keys.columns) for each in self.laws.derived)
        return np.column_stack([self.values, *derived])

    @lazy
    def spoken(self) -> BoolArray:
        """Which laws speak of which rows, shape (n_rows, n_laws)."""
        cells: dict[str, ConditionCells] = {**self.keys.labels, **self.keys.columns}
        spoken = np.ones((len(self.values), len(self.laws)), dtype=bool)
        for k, law in enumerate(self.laws):
            if law.where is not None:
                spoken[:, k] = law.where.holds(cells[law.where.column])
        return spoken

    @lazy
    def totals(self) -> Totals:
        """The rows that are sums of others, if laws were learned from a table with such rows."""
        if not self.laws.totals:
            return Totals()
        exact = {
            name
            for law in self.laws.equations
            if law.resolution is not None
            for name in law.columns
            if not law.resolution[law.names.index(name)]
        }
        found = find_table_totals(self.table, self.laws.zeros).extend(self.laws.equations)
        told = {name for each in self.laws.totals for name in each.columns}
        found = found.add_columns(told.intersection(self.table.shown_names))
        return replace(found, exact=frozenset(exact))

    @property
    def kept(self) -> IntArray:
        """The rows that are not totals."""
        totals = [each.row for each in self.totals.rows]
        return np.setdiff1d(np.arange(len(self.values)), totals)

    def join_rows(self, kept: IntArray) -> tuple[Checker, Rows]:
        """Return what checks some rows, and these rows with their derived cells."""
        keys = self.keys.take(kept) if self.laws.derived else self.keys
        return join_rows(self.laws.checker, self.laws.derived, self.values[kept], keys)

    def read_digits(self) -> tuple[FloatArray, FloatArray]:
        """Return the units of the last digits of the columns, and 0 or those coarser than learned.

        Those of derived columns come last.
        """
        checker, rows = self.join_rows(self.kept)
        read = checker.read_units(rows.join_all())
        n_columns = len(self.laws.names) + len(self.laws.derived)
        units, coarser = (
            np.broadcast_to(each, len(read.spreads))[:n_columns]
            for each in (read.units, read.coarser)
        )
        return units, coarser

    def check(
        self,
        row_names: Sequence[Any],
        texts: Mapping[tuple[int, str], str],
        callback: Callable[[int], object] | None,
    ) -> Check:
        """Check equations, totals and domains; see ``Laws.check``."""
        laws, table, kept = self.laws, self.table, self.kept
        filled = _fill_blanks(table, laws.zeros)
        found = check_totals(
            self.totals, filled, row_names,
            lambda kept: self._check_equations(row_names, texts, callback, kept),
        )  # fmt: skip
        found = self._check_domains(found, row_names)
        rows = found.rows
        if table.places:
            rows = [locate(each, table.places, table.rows[each.row]) for each in rows]
        columns = (*table.shown_names, *(each.name for each in table.set_aside))
        outside = list_outside(
            laws.equations, laws.derived, self.spoken[kept], self.keys.take(kept), kept, row_names
        )
        return replace(
            found, rows=rows, columns=columns if self.is_named else laws.names,
            gaps=self._list_gaps(), sources=laws.sources, outside=tuple(outside),
        )  # fmt: skip

    def _list_gaps(self) -> dict[str, IntArray]:
        """Return the rows that lack a cell, for each column of the laws that has such rows."""
        blanks = dict(zip(self.laws.names, np.isnan(self.values).T, strict=True))
        for law in self.laws.equations:
            if law.where is not None and law.where.column in self.keys.labels:
                written = law.where.write(self.keys.labels[law.where.column])
                blanks[law.where.column] = np.array([not text for text in written], dtype=bool)
        gaps = {name: self.kept[blank[self.kept]] for name, blank in blanks.items()}
        return {name: rows for name, rows in gaps.items() if len(rows)}

    def _check_equations(
        self,
        row_names: Sequence[Any],
        texts: Mapping[tuple[int, str], str],
        callback: Callable[[int], object] | None,
        kept: IntArray,
    ) -> Check:
        """Check some rows, which are numbered by their places among these."""
        places = {row: place for place, row in enumerate(kept.tolist())}
        names = [row_names[i] for i in kept.tolist()]
        strays = {(places[row], name): text for (row, name), text in texts.items() if row in places}
        checker, rows = self.join_rows(kept)
        spoken = self.spoken[kept]
        found = checker.check(rows, names, callback, strays, spoken)
        told = found.rows
        if not spoken.all():  # some laws speak of some rows: is a row in the right case?
            checker, rows = self.join_rows(kept)
            own = self.keys.take(kept)
            told = [
                blame_conditions(
                    each, self.laws.equations, checker.find_kept(rows.join(each.row)),
                    spoken[each.row], own,
                )
                for each in told
            ]  # fmt: skip
        return replace(found, laws=self.laws.equations, rows=told)

    def _check_domains(self, found: Check, row_names: Sequence[Any]) -> Check:
        """Add the rows that break domains, and leave out fixes that would break one."""
        cells, laws = DomainCells.of(self.table), self.laws
        domains = [each for each in laws.domains if cells.columns.keys() >= set(each.columns)]
        if not domains:
            return found
        rows, unchecked = found.rows, np.zeros(found.n_rows, dtype=bool)
        unchecked[list(found.unchecked) if laws.equations else slice(None)] = True
        for number, each in enumerate(laws.domains, len(laws)):
            if each in domains:
                broken = self.kept[find_broken(each, cells)[self.kept]]
                rows = add_broken(rows, broken, number, row_names)
                unchecked &= np.any([cells.levels(name) < 0 for name in each.columns], axis=0)
        sound = np.setdiff1d(np.arange(found.n_rows), [each.row for each in rows])
        rows = rule_out(rows, lambda tried: cells.find_sound(domains, tried, sound))
        said = (RuleCells(each.kind, each.columns) for each in laws.domains)
        rows = add_reasons(rows, dict(enumerate(said, len(laws))), cells, self.table)
        rows.sort(key=lambda each: each.row)
        places = tuple(np.flatnonzero(unchecked).tolist())
        return replace(found, laws=(*laws.equations, *laws.domains), rows=rows, unchecked=places)


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


def find_blanks(table: Table) -> BoolArray:
    """Return which cells of numbers are blank, and do not hold something else."""
    blanks = np.isnan(table.values)
    places = {name: j for j, name in enumerate(table.shown_names)}
    for row, name in table.stray_texts:
        if name in places:
            blanks[row, places[name]] = False
    return blanks


def _fill_blanks(table: Table, zeros: Sequence[str]) -> Table:
    """Return a table in which the blanks of some columns are 0."""
    filled = find_blanks(table)
    filled[:, [name not in zeros for name in table.shown_names]] = False
    return replace(table, values=np.where(filled, 0.0, table.values))


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
