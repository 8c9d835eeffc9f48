"""The cell that breaks a law: which one, and what it should be.

A row breaks a law g if |g| exceeds its tolerance, an expression of the cells of the row: what
rounding may change for a law without noise, otherwise a few standard deviations s of the noise of
its cells, s² = Σ_j (ν_j ∂_j g)². A cell explains the row if some value of it, with all others as
they are, restores every law. The laws are polynomials of that cell alone, so the values are roots
of polynomials. Cells that do are ranked by their likelihood and by how plausible the value is. If
no cell explains the row, pairs of cells are tried.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain, combinations, compress, groupby, islice, product
from os.path import commonprefix
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.data.sheet_layout import CellPlaces
from vanishing.equations.text import (
    as_given,
    changed_number,
    count_decimals,
    join,
    last_digits,
    printable,
)
from vanishing.laws.law import Law
from vanishing.levels import BLOCK, CHANCE, OUTLYING, SAME, SAME_NUMBER

#: Share of sound rows that may be called broken: one in 200, so that errors of three standard
#: deviations are mostly found.
FALSE_ALARMS = 0.005
#: Rows that are printed of a kind; ``sentences`` and ``to_frame`` have all of them.
MOST_PRINTED = 50
#: Ways to mend a row that are named one by one.
MOST_WAYS = 6
#: Added to what is divided by; its square does not underflow.
LEAST = np.sqrt(np.finfo(float).tiny)


@dataclass(frozen=True)
class Fix:
    """A value of one cell that restores the laws of its row.

    Parameters
    ----------
    column : str
    value : float
        What the cell holds; NaN if it is missing.
    fix : float
        What it should be; NaN if the laws do not determine it.
    error : float
        Standard error of the fix, with the noise of the cell itself.
    probability : float
        How likely this is the broken cell, among all that would explain the row.
    decimals : int or None
        Decimals of the numbers of the column; None if they are not rounded.
    text : str
        What the cell holds if that is not a number, such as a typo.
    wanted : str
        What it should be, if that is a text.
    """

    column: str
    value: float
    fix: float
    error: float
    probability: float
    decimals: int | None = None
    text: str = ""
    wanted: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fix", self.fix + 0.0)  # 0 instead of -0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the right value lies with a probability of 95 %."""
        width = float(ndtri(0.975)) * self.error
        return self.fix - width, self.fix + width

    @property
    def written(self) -> tuple[str, str]:
        """What the cell holds and what it should be.

        The fix has the decimals of its column, or fewer: its standard error warrants two digits of
        that error.
        """
        if np.isnan(self.fix):
            return repr(self.text), repr(self.wanted) if self.wanted else ""
        fix = self.fix
        if 0 < self.error < np.inf:
            fix = round(fix, 1 - int(np.floor(np.log10(self.error))))
        if np.isnan(self.value):
            rounded = fix if self.decimals is None else round(fix, self.decimals)
            return repr(self.text) if self.text else "missing", as_given(rounded)
        if self.decimals is not None and round(fix, self.decimals) == self.value:
            return as_given(self.value), as_given(self.value)  # not 1942.38 to 1942.37999
        return changed_number(self.value, fix, self.decimals)

    @property
    def typed(self) -> tuple[str, str]:
        """What ``written`` is, with the hyphen that files have for a minus sign."""
        value, fix = (each.replace("\u2212", "-") for each in self.written)
        return repr(self.text) if self.text else value, fix


@dataclass(frozen=True, repr=False)
class BrokenRow:
    """A row that breaks laws, or lacks cells that the laws determine.

    Parameters
    ----------
    row : int
        Number of the row, from 0.
    name : object
        What the row is called.
    laws : tuple of int
        Numbers of the laws that it breaks.
    fixes : tuple of Fix
        One cell, or the fewest that restore all laws; empty if none do.
    alternatives : tuple of Fix
        Other single cells that restore them as well.
    is_missing : bool
        Whether the fixes fill cells that are missing or are not numbers.
    score : float
        How far the row is off the law that it breaks most, in standard deviations of its noise.
    total_of : str
        What the rows are called that it should be the sum of, if it is a total row.
    sums : tuple of Fix
        Cells of a total row that are not the sums. They are ``fixes`` unless another total tells
        that one of the rows is wrong instead.
    is_searched : bool
        Whether cells were looked for that would restore the laws; not if none of these is an
        equation.
    cells : tuple of (str, str)
        Columns of the rules that it breaks, and what it holds there, if no cell would fix it.
    beside : tuple of str
        What other rows hold instead: "50667 is Köln in the other rows".
    ways : tuple of tuple of Fix
        Other pairs of cells that restore all laws, if no single number does, and the cell of a
        condition, such as a wrong country. They share their probability with the fixes.
    """

    row: int
    name: Any
    laws: tuple[int, ...]
    fixes: tuple[Fix, ...]
    alternatives: tuple[Fix, ...] = ()
    is_missing: bool = False
    score: float = 0.0
    total_of: str = ""
    sums: tuple[Fix, ...] = ()
    is_searched: bool = True
    cells: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    ways: tuple[tuple[Fix, ...], ...] = ()

    @property
    def others(self) -> list[str]:
        """What else would restore the laws, as "gross = 119" or "net = 100 and tax = 19"."""
        return [
            " and ".join(f"{fix.column} = {fix.typed[1]}" for fix in way)
            for way in (*((fix,) for fix in self.alternatives), *self.ways)
        ]

    def __repr__(self) -> str:
        found = [
            f"{printable(fix.column)} {' to '.join(filter(None, fix.typed))}"
            for fix in (*self.fixes, *self.alternatives)
        ]
        cells = (", or " if self.alternatives else " and ").join(found) or "no fix"
        return f"<BrokenRow {printable(str(self.name))}: {cells}>"


class Statement(Protocol):
    """A law or a rule that rows may break; ``str`` writes it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it speaks about."""


class Findings(NamedTuple):
    """Rows that a check found for one reason: "broken", "text" or "missing"."""

    kind: str
    title: str
    check: "Check"


@dataclass(frozen=True)
class Outside:
    """Rows of which laws do not speak, though they speak of rows like these.

    Parameters
    ----------
    laws : tuple of int
        Numbers of the laws.
    rows : tuple of int
        Numbers of the rows.
    reason : str
        Why: "Land = De (row 12)" if they are in no case of the laws, or "no previous row by
        account" if the laws compare them with that.
    is_case : bool
        Whether the laws are the cases of a condition.
    """

    laws: tuple[int, ...]
    rows: tuple[int, ...]
    reason: str
    is_case: bool


@dataclass(frozen=True)
class Check:
    """What ``Laws.check`` found: a sequence of ``BrokenRow``.

    Parameters
    ----------
    laws : sequence of Law or Rule
    rows : list of BrokenRow
    n_rows : int
        Rows of the table.
    unchecked : tuple of int
        Numbers of the rows in which no law can be checked, since cells are missing. Those that can
        be filled in are among them: the laws fill such a row, and say nothing else about it.
    columns : tuple of str
        All columns of the table, also those of text; empty if rows were not checked.
    gaps : mapping of str to int array
        Numbers of the rows that lack a cell, for each column of the laws that has such rows.
    sources : tuple of str
        Columns that others are computed from, such as the previous balance by account.
    n_totals : int
        Rows that are sums of others, which are checked as such.
    outside : tuple of Outside
        Rows that are in no case of the laws of a condition, or have no row before.
    """

    laws: Sequence[Statement]
    rows: list[BrokenRow] = field(default_factory=list)
    n_rows: int = 0
    unchecked: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    gaps: Mapping[str, IntArray] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    n_totals: int = 0
    outside: tuple[Outside, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[BrokenRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> BrokenRow:
        return self.rows[index]

    @property
    def broken(self) -> BoolArray:
        """Which rows break a law, shape (n_rows,)."""
        flags = np.zeros(self.n_rows, dtype=bool)
        flags[[found.row for found in self.rows if not found.is_missing]] = True
        return flags

    @property
    def incomplete(self) -> tuple[int, ...]:
        """Numbers of the rows that lack a cell of a law, which is not checked there."""
        return tuple(sorted(set().union(*(rows.tolist() for rows in self.gaps.values()))))

    @property
    def in_no_law(self) -> tuple[str, ...]:
        """Columns of the table that no law speaks about."""
        used = {name for law in self.laws for name in law.columns} | set(self.sources)
        return tuple(name for name in self.columns if name not in used)

    def ranked(self) -> "Check":
        """Return the same rows in another order.

        Returns
        -------
        Check
            Rows that are furthest off first, those with missing cells last.
        """
        rows = sorted(self.rows, key=lambda found: (found.is_missing, -found.score))
        return replace(self, rows=rows)

    def sections(self) -> list[Findings]:
        """Split what was found: broken rows, cells that are not numbers, and missing cells."""
        rows: dict[str, list[BrokenRow]] = {"broken": [], "text": [], "missing": []}
        for found in self.rows:
            has_text = any(fix.text for fix in found.fixes)
            kind = "broken" if not found.is_missing else "text" if has_text else "missing"
            rows[kind].append(found)
        titles = ("Broken cells", "Cells that are not numbers", "Missing cells")
        return [
            Findings(kind, title, replace(self, rows=rows[kind]))
            for kind, title in zip(rows, titles, strict=True)
            if rows[kind]
        ]

    def summary(self) -> str:
        """Say how many rows break a law, which cells are missing, and what the laws cover.

        Returns
        -------
        str
        """
        return " ".join(filter(None, [self.verdict(), self.coverage()]))

    def verdict(self) -> str:
        """Return one sentence: how many rows break a law, and which cells are missing.

        Returns
        -------
        str
        """
        n_wrong = sum(bool(found.total_of) for found in self.rows)
        n_broken = len({found.row for found in self.rows if not found.is_missing}) - n_wrong
        n_rows = self.n_rows - self.n_totals
        fills = [bool(fix.text) for found in self.rows if found.is_missing for fix in found.fixes]
        n_texts, n_filled = fills.count(True), fills.count(False)
        said = []
        if not self.laws and not self.n_totals:
            said.append("There are no laws to check")
        elif n_broken:
            count = "The row" if n_rows == 1 else f"{n_broken} of {n_rows} rows"
            said.append(f"{count} break{'s' * (n_broken == 1)} a law")
        elif self.laws and (self.columns or not self.rows):
            said.append(self._say_unbroken())
        if self.n_totals == 1:
            said.append(f"the total is {'not ' * n_wrong}the sum of its rows")
        elif self.n_totals:
            are = f"{n_wrong} of {self.n_totals} totals are not" if n_wrong else "all totals are"
            said.append(f"{are} the sums of their rows")
        if n_texts:
            said.append(
                "1 cell is not a number" if n_texts == 1 else f"{n_texts} cells are not numbers"
            )
        if n_filled:
            said.append(f"{n_filled} missing cell{'s' * (n_filled != 1)} can be filled in")
        text = "; ".join(said)
        return f"{text[:1].upper()}{text[1:]}."

    def _say_unbroken(self) -> str:
        """Say what is known if no row breaks a law."""
        n_rows = self.n_rows - self.n_totals
        if not n_rows:
            return "There are no rows to check"
        if len(self.unchecked) == n_rows:
            return "No row can be checked"
        if self.gaps:
            return "No row breaks a law"
        n_kept = n_rows - len(set().union(*(each.rows for each in self.outside)))
        who = "The row keeps" if n_rows == 1 else f"All {n_rows} rows keep"
        if not n_kept:
            return "No row breaks a law"
        if n_kept < n_rows:
            who = f"{n_kept} of {n_rows} rows keep{'s' * (n_kept == 1)}"
        return f"{who} the law{'s' * (len(self.laws) != 1)}"

    def coverage(self) -> str:
        """Say which columns the laws check, and how many rows lack cells that they need.

        Returns
        -------
        str
            Empty if there are no laws.
        """
        return " ".join(self._describe_coverage())

    def _describe_coverage(self, numbered: bool = False) -> list[str]:
        """Return a sentence about columns, one about missing cells, and those about other rows."""
        if not self.laws or not self.columns:
            return []
        n_all, unused = len(self.columns), self.in_no_law
        count = f"{n_all - len(unused)} of {n_all} columns are"
        if not unused:
            count = f"All {n_all} columns are" if n_all > 1 else "The column is"
        nothing = f"; nothing checks {join([printable(name) for name in unused])}" if unused else ""
        equations = replace(self, laws=[law for law in self.laws if isinstance(law, Law)])
        rule = " or a rule" if len(equations.in_no_law) > len(unused) else ""
        said = [f"{count} in a law{rule}{nothing}."]
        if self.gaps:
            n_rows = len(self.incomplete)
            gaps = sorted(self.gaps.items(), key=lambda gap: -len(gap[1]))
            where = join([f"{printable(name)} in {len(rows)}" for name, rows in gaps])
            rows = "1 row lacks" if n_rows == 1 else f"{n_rows} rows lack"
            said.append(f"{rows} cells that the laws need: {where}.")
        for each in self.outside:
            laws, n_rows = self._write_laws(each.laws, numbered), len(each.rows)
            rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
            if each.is_case:
                said.append(f"{rows} {'is' if n_rows == 1 else 'are'} in no case of {laws}: "
                            f"{each.reason}.")  # fmt: skip
            else:
                has = "has" if n_rows == 1 else "have"
                are = "is" if len(each.laws) == 1 else "are"
                said.append(f"{laws} {are} not checked in {rows} that {has} {each.reason}.")
        return said

    def _write_laws(self, laws: Sequence[int], numbered: bool) -> str:
        """Write the numbers of some laws, or the first of them."""
        if numbered:
            return join([f"[{k + 1}]" for k in sorted(laws)], len(laws))
        n_more = len(laws[2:])
        said = " and ".join(str(self.laws[k]) for k in laws[:2])
        return said + (f" and {n_more} more law{'s' * (n_more > 1)}" if n_more else "")

    def sentences(self, *, numbered: bool = False) -> list[str]:
        """Return one sentence for each row.

        Parameters
        ----------
        numbered : bool
            Whether laws are called by their numbers, [1], [2], ..., instead of written out.

        Returns
        -------
        list of str
        """
        return [self._sentence(found, numbered) for found in self.rows]

    def _sentence(self, found: BrokenRow, numbered: bool) -> str:
        laws = self._write_laws(found.laws, numbered)
        where = f"row {printable(str(found.name))}: "
        if found.total_of:
            return f"{where[:-2]} (total of {found.total_of}): {_say_sums(found)}."
        if found.is_missing:
            return where + "; ".join(_fill_sentences(found.fixes, laws)) + "."
        if not found.fixes and not found.ways and found.cells:
            held = join([f"{printable(name)} {text}" for name, text in found.cells])
            break_them = "break" if len(found.cells) > 1 else "breaks"
            return f"{'; '.join([f'{where}{held} {break_them} {laws}', *found.beside])}."
        if not found.fixes and not found.ways:
            unfixed = "; no one or two cells would fix it" * found.is_searched
            return f"{where}breaks {laws}{unfixed}."
        every = [*found.fixes, *found.alternatives]
        if len(every) > 1 or found.ways:
            # Of two cells that change together, one may be in other laws only.
            ways = [
                " and ".join("{} {} to {}".format(printable(fix.column), *fix.typed) for fix in way)
                for way in (found.fixes, *((fix,) for fix in found.alternatives), *found.ways)
                if way
            ]
            if (n_left := len(ways) - MOST_WAYS) > 1:
                ways[MOST_WAYS:] = [f"one of {n_left} other ways"]
            return f"{where}breaks {laws}; change {', or '.join(ways)}."
        value, fix = every[0].typed
        return f"{where}{printable(every[0].column)} {value} breaks {laws}; {fix} would fix it."

    def name_laws(self, found: BrokenRow) -> str:
        """Return the laws of a row in one line, or what it is the total of."""
        if found.total_of:
            return f"total of {found.total_of}"
        return "; ".join(str(self.laws[k]) for k in found.laws)

    def lines(
        self, *, numbered: bool = False, most: int = MOST_PRINTED, more: str = ""
    ) -> list[str]:
        """Return the whole as lines of text: the verdict, a sentence for each row, the coverage.

        Parameters
        ----------
        numbered : bool
            Whether laws are called by their numbers, as in ``sentences``.
        most : int
            Rows that are listed of each of the ``sections``.
        more : str
            How to see the others.

        Returns
        -------
        list of str
        """
        lines, sections = [self.verdict()], self.sections()
        for kind, title, part in sections:
            if kind != "broken" or len(sections) > 1:
                lines.append(f"{title}:")
            shown = replace(part, rows=part.rows[:most])
            lines += [f"  {sentence}" for sentence in shown.sentences(numbered=numbered)]
            if len(part) > most:
                lines.append(f"  ... and {len(part) - most} more of {len(part)} rows{more}")
        return [*lines, *self._describe_coverage(numbered)]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def to_frame(self) -> Any:
        """Return a pandas frame with one line for each cell.

        Columns: ``row``, ``cell``, ``value``, ``fix``, ``interval`` (low, high), ``law``,
        ``probability`` and ``alternatives`` (a text). A broken row that no change of one or two
        cells restores has a line without a cell.

        Returns
        -------
        pandas.DataFrame
        """
        lines: list[tuple[Any, ...]] = []
        for found in self.rows:
            law = self.name_laws(found)
            others = "; ".join(found.others)
            if not found.fixes:
                lines.append((found.name, None, np.nan, np.nan, None, law, np.nan, others))
            for fix in found.fixes:
                lines.append(
                    (found.name, fix.column, fix.text or fix.value, fix.fix, fix.interval, law,
                     fix.probability, others)
                )  # fmt: skip
        columns = ["row", "cell", "value", "fix", "interval", "law", "probability", "alternatives"]
        pandas = import_extra("pandas", extra="frames", purpose="Check.to_frame")
        return pandas.DataFrame(lines, columns=columns)

    def _repr_html_(self) -> str:
        html = ""
        for is_row, lines in groupby(self.lines(), key=lambda line: line.startswith("  ")):
            tag = "li" if is_row else "p"
            items = "".join(f"<{tag}>{escape(line.strip())}</{tag}>" for line in lines)
            html += f"<ul>{items}</ul>" if is_row else items
        return html


def add_broken(
    rows: list[BrokenRow], broken: IntArray, rule: int, row_names: Sequence[Any]
) -> list[BrokenRow]:
    """Add a rule to the rows that break it."""
    left = set(broken.tolist())
    added = []
    for each in rows:
        if each.row in left and not each.is_missing:
            left.remove(each.row)
            each = replace(each, laws=tuple(sorted({*each.laws, rule})))
        added.append(each)
    for row in sorted(left):
        added.append(BrokenRow(row, row_names[row], (rule,), (), is_searched=False))
    return added


def rule_out(
    rows: list[BrokenRow], find_sound: Callable[[list[tuple[int, Fix]]], BoolArray]
) -> list[BrokenRow]:
    """Leave out fixes of single cells that break other rules, where others do not."""
    tried = [(i, fix) for i, each in enumerate(rows) if each.alternatives
             for fix in (*each.fixes, *each.alternatives)]  # fmt: skip
    is_sound = find_sound([(rows[i].row, fix) for i, fix in tried]) if tried else np.empty(0)
    left = list(rows)
    for i, pairs in groupby(compress(tried, is_sound.tolist()), key=lambda pair: pair[0]):
        fixes = [fix for _, fix in pairs]
        total = sum(fix.probability for fix in fixes)
        if len(fixes) <= len(rows[i].alternatives) and total:
            fixes = [replace(fix, probability=fix.probability / total) for fix in fixes]
            left[i] = replace(rows[i], fixes=(fixes[0],), alternatives=tuple(fixes[1:]))
    return left


def locate(found: BrokenRow, places: CellPlaces, row: int) -> BrokenRow:
    """Return a row that is called by its cells on the sheet, too; ``row`` is counted from 1."""
    fixes = dict.fromkeys(fix.column for fix in (*found.fixes, *found.sums))
    cells = ", ".join(filter(None, (places.address(row, column) for column in fixes)))
    shown = [found.name, cells, *(places.address(row, fix.column) for fix in found.alternatives)]
    return replace(found, name=" or ".join(filter(None, shown)).replace(" or ", ", ", 1))


def _say_sums(found: BrokenRow) -> str:
    """Say which cells of a total row are not the sums, and if one of the rows is wrong instead."""
    said = [
        "{} {} is not the sum {}".format(printable(fix.column), *fix.typed) for fix in found.sums
    ]
    if found.fixes:
        return "; ".join(said)
    return f"{'; '.join(said)}; other totals agree with it, so one of its rows is wrong"


def _fill_sentences(fixes: Sequence[Fix], laws: str) -> list[str]:
    """Say what cells should be that are missing or are not numbers."""
    said = []
    for fix in fixes:
        now, should = fix.typed
        name = printable(fix.column)
        text = f"{name} {now} is not a number" if fix.text else f"{name} is missing"
        said.append(f"{text}; it is {should} by {laws}" if should else text)
    return said


def choose_threshold(n_laws: int) -> float:
    """Return how many standard deviations a sound row may be off some law."""
    return float(-ndtri(FALSE_ALARMS / 2 / max(n_laws, 1)))


def tolerate(law: Law, X: FloatArray, units: FloatArray | float = 0.0) -> FloatArray:
    """Return how far a law without noise may be off in each row.

    That is half a unit of the last digit of each rounded cell, to first order, and the rounding
    errors of the computation: ½ Σ_j |∂_j g| δ_j + 10⁻⁹ Σ |terms|. The numbers may be rounded to
    ``units`` that are coarser than those that the law was found in.
    """
    assert law.resolution is not None
    rounding = np.abs(law.gradients(X)) @ np.maximum(law.resolution, units) / 2
    sizes = np.abs(law.weigh_terms(X)).sum(axis=1)
    return np.asarray(rounding * (1 + SAME_NUMBER) + SAME_NUMBER * sizes + LEAST)


@dataclass(frozen=True, eq=False)
class Model:
    """What is known of rows: their laws, the noise of their cells, and the columns.

    ``noise`` is that of each column if it was given; by default each law has its own. ``units`` are
    those of the last digits of the rows that are checked, ``learned_units`` those of the table in
    which the laws were found, and ``coarser`` are the units of columns with fewer digits than that.
    ``ranges`` are the smallest and largest values of the ``n_rows`` rows of that table.
    """

    laws: Sequence[Law]
    spreads: FloatArray
    ranges: FloatArray
    whole: BoolArray
    n_rows: int
    learned_units: FloatArray | None
    noise: FloatArray | None
    #: Whether the noise of each column is in proportion to its values.
    proportional: BoolArray
    #: Standard deviations by which a sound row may be off a law with noise.
    threshold: float
    #: Places of the laws in the list of the user; the first ``n_laws`` are those of the row itself.
    numbers: Sequence[int]
    n_laws: int
    units: FloatArray | float = 0.0
    coarser: FloatArray | float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return self.laws[0].names

    def find_noise(self, k: int, X: FloatArray, without: Sequence[int] = ()) -> FloatArray:
        """Return the noise of cells that counts for a law; some columns may have none."""
        law = self.laws[k]
        if law.resolution is not None:  # what is restored is rounded, too
            units = np.maximum(law.resolution, self.coarser)
            return np.broadcast_to(units / np.sqrt(12), X.shape)
        given: FloatArray = law.extent * np.where(self.proportional, np.abs(X), self.spreads)
        if self.noise is not None:
            given = self.noise
        noise = np.asarray(np.hypot(np.broadcast_to(given, X.shape), self.units / np.sqrt(12)))
        noise[..., list(without)] = 0.0
        return noise

    def measure(
        self, laws: Sequence[int], X: FloatArray, without: Sequence[int] = ()
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return residuals g of laws, their gradients, and their standard deviations s in rows.

        With the laws first: shapes (n_laws, n_rows), (n_laws, n_rows, n_columns), (n_laws, n_rows).
        """
        terms = [self.laws[k].weigh_terms(X) for k in laws]
        slopes = np.array([self.laws[k].gradients(X) for k in laws])
        sizes = np.array([np.abs(each).sum(axis=1) for each in terms])
        noise = np.array([self.find_noise(k, X, without) for k in laws])
        # Not a sum of squares, which overflows: a cell of 1e200 would break no law.
        deviations = np.hypot(np.hypot.reduce(slopes * noise, axis=2), SAME_NUMBER * sizes)
        values = np.array([each.sum(axis=1) for each in terms])
        return values, slopes, np.hypot(deviations, LEAST)

    def score(self, k: int, X: FloatArray, without: Sequence[int] = ()) -> FloatArray:
        """Return the residuals of a law in units in which the tolerance is the threshold.

        For a law with noise, these are standard deviations.
        """
        law = self.laws[k]
        if law.resolution is not None:
            return np.asarray(self.threshold * law.values(X) / tolerate(law, X, self.coarser))
        values, _, deviations = self.measure([k], X, without)
        return np.asarray(values[0] / deviations[0])

    def find_limits(self, k: int, X: FloatArray) -> FloatArray:
        """Return how far each row may be off a law by rounding or noise."""
        if self.laws[k].resolution is not None:
            return tolerate(self.laws[k], X, self.coarser)
        return np.asarray(self.threshold * self.measure([k], X)[2][0])

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of all laws, shape (n_rows, n_laws); 0 where a cell is missing."""
        known = np.where(np.isnan(X), 0.0, X)
        scores = [self.score(k, known) for k in range(len(self.laws))]
        return np.where(self.lack(X), 0.0, np.column_stack(scores))

    @property
    def involved(self) -> BoolArray:
        """Whether each law speaks about each column, shape (n_laws, n_columns)."""
        return np.array([law.involved for law in self.laws])

    def lack(self, X: FloatArray) -> BoolArray:
        """Return whether rows lack cells of laws, shape (n_rows, n_laws)."""
        return np.asarray(np.isnan(X) @ self.involved.T)

    def complete(self, x: FloatArray) -> FloatArray:
        """Compute the cells of a row again that are functions of others."""
        return x

    def solve(self, x: FloatArray, columns: list[int], laws: Sequence[int]) -> FloatArray:
        """Return a row with some cells changed so that laws hold best (Gauss-Newton).

        If the laws do not determine the cells, the row stays as it is.
        """
        changed = x.copy()
        units = np.where(self.spreads > 0, self.spreads, 1.0)[columns]
        for _ in range(20):
            values, slopes, scales = self.measure(laws, changed[None], columns)
            # At least the last digits of usual values: where all terms are zero, there are none.
            least = SAME_NUMBER * np.linalg.norm(units * slopes[:, 0, columns], axis=1)
            scales = np.hypot(scales[:, 0], least)[:, None]
            system, values = units * slopes[:, 0, columns] / scales, values[:, 0] / scales[:, 0]
            if not (np.isfinite(system).all() and np.isfinite(values).all()):
                return x.copy()
            step, _, rank, _ = np.linalg.lstsq(system, values, rcond=None)
            if rank < len(columns):
                return x.copy()
            changed[columns] -= units * step
            if np.abs(system @ step).max() <= np.sqrt(SAME):  # standard deviations
                break
        return changed

    def find_error(self, x: FloatArray, j: int, laws: Sequence[int]) -> float:
        """Return the standard error of a restored cell, its own noise included."""
        _, slopes, scales = self.measure(laws, x[None], [j])
        with np.errstate(over="ignore"):  # cells without noise
            information = float(np.sum((slopes[:, :, j] / scales) ** 2))
        if information <= 0:
            return np.inf
        own = min(float(self.find_noise(k, x)[j]) for k in laws if self.laws[k].involved[j])
        return float(np.sqrt(1 / information + own**2))

    def count_decimals(self, j: int) -> int | None:
        """Return the decimals of the numbers of a column; None if they are not rounded."""
        units = np.broadcast_to(self.units, len(self.names))
        if self.learned_units is not None:  # 0 if one of them is not rounded
            units = np.minimum(units, self.learned_units) if units.any() else self.learned_units
        return count_decimals(units[j])

    def clean(self, j: int, value: float) -> float:
        """Return a number without what floating-point arithmetic adds: 151.54, not 151.5399999."""
        decimals = self.count_decimals(j)
        rounded = value if decimals is None else round(value, decimals)
        return (
            rounded
            if abs(rounded - value) <= SAME_NUMBER * (abs(value) + self.spreads[j])
            else value
        )

    def make_fix(self, j: int, value: float, fix: float, error: float) -> Fix:
        """Return a fix with the decimals of its column."""
        fix = self.clean(j, float(fix))
        return Fix(self.names[j], float(value), fix, error, 1.0, self.count_decimals(j))

    def weigh(self, fix: Fix, j: int) -> float:
        """Return how plausible a fix is by its column, and by how people mistype numbers.

        The next value is beyond n others with a probability of about 1 / n, and rarely far beyond.
        A number of d digits has about 20 d neighbors: in each place, another digit may stand, or
        one more. So a value among them is that much more likely by a slip than by chance.
        """
        low, high = self.ranges[:, j]
        reach = float(high - low) or 1.0
        is_of_other_sign = fix.fix < 0 <= low or high <= 0 < fix.fix
        beyond = max(low - fix.fix, fix.fix - high, 0.0) / reach + is_of_other_sign
        width = min(_find_slips(fix), default=reach)
        n_values = reach / max(width, SAME_NUMBER * reach)
        slip = max(n_values / (20 * np.log10(max(n_values, 10.0))), 1.0)
        return float(slip / (1 + np.sqrt(self.n_rows) * beyond) ** 2)


class Restored(NamedTuple):
    """Cells with other values, and how well these explain a row."""

    fixes: tuple[Fix, ...]
    misfit: float
    prior: float


class Rows:
    """Rows in the order in which they are checked."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        self.order: IntArray = np.arange(len(values))

    def join(self, row: int) -> FloatArray:
        """Return a row with the cells of other rows that its laws speak about."""
        return np.asarray(self.values[row])

    def join_all(self) -> FloatArray:
        """Return all rows, as ``join`` does."""
        return self.values

    def change(self, row: int, found: BrokenRow) -> None:
        """Put wrong cells right that laws of later rows speak about."""


class Checker(Model):
    """Finds rows that break laws, and the cells that do.

    Rows may be longer than those of the table: only the first cells are looked at then.
    """

    @property
    def n_cells(self) -> int:
        """How many of the cells are those of the row itself."""
        return len(self.spreads)

    # A row whose terms overflow is broken, which is all that there is to say.
    @np.errstate(over="ignore", invalid="ignore")
    def check(
        self,
        rows: Rows,
        row_names: Sequence[Any],
        callback: Callable[[int], object] | None,
        texts: Mapping[tuple[int, str], str],
        applies: BoolArray,
    ) -> Check:
        """Find the broken rows and the cells that break them.

        ``texts`` are what cells hold that are not numbers, by row and column. ``applies`` says
        which laws speak of which rows, shape (n_rows, n_laws).
        """
        X = rows.join_all()
        spoken = np.ones((len(X), len(self.laws)), dtype=bool)
        spoken[:, : self.n_laws] = applies
        suspect, is_checked = np.zeros((2, len(X)), dtype=bool)
        checker = self.read_units(X) if self.laws else self
        n_block = max(BLOCK // max(len(self.laws) * X.shape[1], 1), 1)
        for start in range(0, len(X) if self.laws else 0, n_block):
            block = slice(start, start + n_block)
            lacking, broken = checker.lack(X[block]), checker.find_broken(checker.scores(X[block]))
            is_checked[block] = (spoken[block] & ~lacking).any(axis=1)
            suspect[block] = ((broken | lacking) & spoken[block])[:, : self.n_laws].any(axis=1)
        found: list[BrokenRow] = []
        for row in rows.order[suspect[rows.order]].tolist():
            part = checker.select(spoken[row])
            for each in part.examine(rows.join(row), row, row_names[row]):
                found.append(each)
                rows.change(row, each)
            if callback is not None:
                callback(row + 1)
        if callback is not None:
            callback(len(X))
        unchecked = tuple(np.flatnonzero(~is_checked).tolist() if self.laws else ())
        return Check(self.laws, _add_texts(found, texts, row_names), len(X), unchecked)

    def select(self, chosen: BoolArray) -> Self:
        """Return a checker of some of the laws."""
        if chosen.all():
            return self
        laws, numbers = list(compress(self.laws, chosen)), list(compress(self.numbers, chosen))
        return replace(self, laws=laws, numbers=numbers, n_laws=int(chosen[: self.n_laws].sum()))

    def examine(self, x: FloatArray, row: int, name: Any) -> Iterator[BrokenRow]:
        """Yield what is missing in a row, and what is broken."""
        lacking = self.lack(x[None])[0]
        if lacking[: self.n_laws].any():
            yield from self.fill(x, row, name)
        found = self.select(~lacking).explain(np.where(np.isnan(x), 0.0, x), row, name)
        if found is not None:
            yield found

    def name_laws(self, laws: Iterable[int]) -> tuple[int, ...]:
        """Return the places of laws in the list of the user."""
        return tuple(dict.fromkeys(self.numbers[k] for k in laws))

    def find_broken(self, scores: FloatArray) -> BoolArray:
        """Return which scores are those of broken laws."""
        return np.asarray(~(np.abs(scores) <= self.threshold))

    def find_kept(self, x: FloatArray) -> BoolArray:
        """Return which laws of a row itself it keeps, whether they speak of it or not."""
        is_kept = ~self.find_broken(self.scores(x[None])[0]) & ~self.lack(x[None])[0]
        return np.asarray(is_kept[: self.n_laws])

    def read_units(self, X: FloatArray) -> Self:
        """Return a checker that knows how many digits the rows have."""
        complete = X[~np.isnan(X).any(axis=1)]
        if not len(complete):
            return self
        units = last_digits(complete)
        # Half of the numbers of a column may lack its last digit, all of n with chance 2^-n.
        if self.learned_units is None or 2.0 ** -len(complete) > CHANCE:
            return replace(self, units=units)
        return replace(self, units=units, coarser=np.where(units > self.learned_units, units, 0.0))

    # --- Broken cells -----------------------------------------------------------------------------

    def explain(self, x: FloatArray, row: int, name: Any) -> BrokenRow | None:
        """Say which laws a row breaks, and which cells would restore them.

        One wrong cell is more likely than two, and a law with noise that is a few deviations off
        more likely than either. Of single cells, all that are likely are told.
        """
        if not self.laws:
            return None
        scores = self.scores(x[None])[0]
        is_broken = self.find_broken(scores)
        if not is_broken[: self.n_laws].any():
            return None
        broken = self.name_laws(np.flatnonzero(is_broken).tolist())
        worst = float(np.max(np.nan_to_num(np.abs(scores), nan=np.inf)))
        restored: list[Restored] = []
        for n_cells in (1, 2):
            tried = (self._restore(x, each, scores) for each in self._list_cells(scores, n_cells))
            restored = restored or [each for each in tried if each is not None]
        if not restored and len(self.laws) > self.n_laws:  # other rows have wrong cells, too
            return self.select(np.arange(len(self.laws)) < self.n_laws).explain(x, row, name)
        if not restored:
            return BrokenRow(row, name, broken, (), score=worst)
        best = min(each.misfit for each in restored)
        likelihoods = np.array([np.exp((best - each.misfit) / 2) for each in restored])
        # What fits is kept, however odd it is; the prior only ranks it.
        likelihoods[likelihoods < CHANCE * likelihoods.sum()] = 0.0
        if len(restored[0].fixes) > 1 and not np.any(self._limits == OUTLYING):
            likelihoods[:] = 1.0  # all are right up to rounding, which may leave anything
        shares = likelihoods * [each.prior for each in restored]
        order = [i for i in np.argsort(-shares, kind="stable").tolist() if likelihoods[i]]
        ways = [
            tuple(replace(fix, probability=float(shares[i] / shares.sum()))
                  for fix in restored[i].fixes)
            for i in order
        ]  # fmt: skip
        if len(ways[0]) > 1:
            return BrokenRow(row, name, broken, ways[0], ways=tuple(ways[1:]), score=worst)
        single = tuple(fix for (fix,) in ways)
        return BrokenRow(row, name, broken, single[:1], single[1:], score=worst)

    @property
    def _limits(self) -> FloatArray:
        """Scores up to which a law may be left: of exact ones their tolerance, of others noise."""
        is_noisy = np.array([law.resolution is None for law in self.laws])
        return np.where(is_noisy, OUTLYING, self.threshold)

    def _list_cells(self, scores: FloatArray, n_cells: int) -> Iterator[list[int]]:
        """Yield the columns that may be wrong, one or two.

        They must be in every law that is off by more than noise. A total of wrong numbers keeps its
        law and is changed with them, so that the second column need not be in a broken law.
        """
        involved = self.involved
        broken = np.asarray(involved[self.find_broken(scores)].any(axis=0))
        beyond = involved[~(np.abs(scores) <= self._limits)]
        linked = involved[involved[:, broken].any(axis=1)].any(axis=0)
        is_own = np.arange(len(broken)) < self.n_cells
        first, others = np.flatnonzero(broken & is_own), np.flatnonzero(linked & ~broken & is_own)
        cells = chain(combinations(first, n_cells), product(first, others) if n_cells > 1 else ())
        most = max(BLOCK // involved.size, 1)  # as many derivatives as fit into a block
        yield from islice(
            (list(each) for each in cells if beyond[:, list(each)].any(axis=1).all()), most
        )

    def _restore(self, x: FloatArray, cells: list[int], before: FloatArray) -> Restored | None:
        """Return the values of cells that restore the laws best, None if none do."""
        laws = np.flatnonzero(self.involved[:, cells].any(axis=1)).tolist()
        found = []
        for start in self._list_starts(x, cells, laws):
            changed = start if len(laws) == 1 else self.solve(start, cells, laws)
            changed = np.where(self.whole & (changed != x), np.round(changed), changed)
            # Without rounding errors: these break tax = 0.
            changed[cells] = [self.clean(j, float(changed[j])) for j in cells]
            changed = self.complete(changed)
            scores = before.copy()
            scores[laws] = [self.score(k, changed[None], cells)[0] for k in laws]
            found.append((changed, scores, float(np.sum(scores**2))))
        least = min((misfit for *_, misfit in found if np.isfinite(misfit)), default=np.inf)
        # Of two roots that fit equally well, the one nearest to the cell.
        near = [each for each in found if each[2] <= least + SAME]
        if not near or least == np.inf:
            return None
        changed, scores, misfit = min(near, key=lambda each: np.abs(each[0] - x).max())
        if (changed == x)[cells].any() or not (np.abs(scores) <= self._limits).all():
            return None
        is_switch = self.whole & (self.ranges == [[0.0], [1.0]]).all(axis=0)
        if (is_switch & ~np.isin(changed, [0.0, 1.0]))[cells].any():
            return None
        fixes = tuple(
            self.make_fix(j, x[j], changed[j], self.find_error(changed, j, laws)) for j in cells
        )
        if any(before == after for before, after in (fix.typed for fix in fixes)):
            return None  # another law holds the cell where it is
        prior = np.prod([self.weigh(fix, j) for fix, j in zip(fixes, cells, strict=True)])
        return Restored(fixes, misfit, float(prior))

    def _list_starts(
        self, x: FloatArray, cells: list[int], laws: list[int]
    ) -> Iterator[FloatArray]:
        """Yield rows to start solving from: for one cell, with the roots of each law."""
        if len(cells) > 1:
            yield x
            return
        for k in laws:
            for root in _find_roots(self.laws[k], x, cells[0]):
                start = x.copy()
                start[cells] = root
                yield start

    # --- Missing cells ----------------------------------------------------------------------------

    def fill(self, x: FloatArray, row: int, name: Any) -> list[BrokenRow]:
        """Fill the missing cells that the laws determine, one after the other, then together."""
        filled, fixes, used = x.copy(), [], []
        # Those that hold to the last digit come first, then those up to rounding.
        noise = [2 if law.resolution is None else int(law.resolution.any()) for law in self.laws]
        laws = np.argsort(noise, kind="stable").tolist()
        while True:
            told = next(filter(None, (self._determine(k, filled) for k in laws)), None)
            for j, value, error, k in self._determine_jointly(filled) if told is None else [told]:
                if j < self.n_cells:
                    fixes.append(self.make_fix(j, np.nan, value, error))
                filled[j] = value
                used.append(k)
            if told is None:
                break
        # Where a filled cell breaks another law, it is not what the laws say.
        is_new = self.lack(x[None])[0] & ~self.lack(filled[None])[0]
        if not fixes or self.find_broken(self.scores(filled[None])[0])[is_new].any():
            return []
        return [BrokenRow(row, name, self.name_laws(used), tuple(fixes), is_missing=True)]

    def _determine(self, k: int, x: FloatArray) -> tuple[int, float, float, int] | None:
        """Return a missing cell, its value, its error and a law that has one value for it.

        The value must be near the range of the column, and be told better than by its mean.
        """
        law, changed = self.laws[k], np.where(np.isnan(x), 1.0, x)
        unknown = np.flatnonzero(np.isnan(x) & law.involved).tolist()
        if len(unknown) != 1:
            return None
        j = unknown[0]
        low, high = self.ranges[:, j] + self.spreads[j] * np.array([-1.0, 1.0])
        roots = _find_roots(law, changed, j)
        inside = roots[(roots >= low) & (roots <= high)]
        if len(inside) != 1:
            return None
        changed[j] = np.round(inside[0]) if self.whole[j] else inside[0]
        error = self.find_error(changed, j, [k])
        return (j, float(changed[j]), error, k) if error < self.spreads[j] else None

    def _determine_jointly(self, x: FloatArray) -> Iterator[tuple[int, float, float, int]]:
        """Yield missing cells that several linear laws determine together, as ``_determine``."""
        unknown, lacking = np.flatnonzero(np.isnan(x)), self.lack(x[None])[0]
        linear = [
            k for k, law in enumerate(self.laws)
            if lacking[k] and law.degree == 1 and law.logs is None
        ]  # fmt: skip
        if len(unknown) < 2 or len(linear) < 2:
            return
        zeros = np.where(np.isnan(x), 0.0, x)[None]
        values, slopes, scales = (each[:, 0] for each in self.measure(linear, zeros))
        # Laws without noise count most.
        scaled = slopes[:, unknown] * self.spreads[unknown] / scales[:, None]
        inverse = np.linalg.pinv(scaled, rcond=SAME_NUMBER)
        told = np.sum(inverse * scaled.T, axis=1)  # 1 for cells that the laws determine, or less
        inverse = self.spreads[unknown, None] * inverse / scales
        solution = -inverse @ values
        # Laws share the noise of their columns: x + y + z and x + 2 y + z are off together.
        shares = slopes * [self.find_noise(k, zeros)[0] for k in linear]
        shares[:, unknown] = 0.0
        errors = np.linalg.norm(inverse @ shares, axis=1)
        for i in np.flatnonzero(told > 1 - SAME).tolist():
            j, k = int(unknown[i]), linear[int(np.flatnonzero(slopes[:, unknown[i]])[0])]
            value = float(np.round(solution[i]) if self.whole[j] else solution[i])
            filled = zeros[0].copy()
            filled[j] = value
            yield j, value, float(np.hypot(errors[i], self.find_noise(k, filled)[j])), k


def list_texts(texts: Mapping[tuple[int, str], str], row_names: Sequence[Any]) -> Check:
    """Return the cells that are not numbers, if there are no laws to fill them by."""
    return Check((), _add_texts([], texts, row_names), len(row_names))


def _add_texts(
    found: list[BrokenRow], texts: Mapping[tuple[int, str], str], row_names: Sequence[Any]
) -> list[BrokenRow]:
    """Say of missing cells what they hold, and list those that no law determines."""
    left = dict(texts)
    told = []
    for each in found:
        fixes = tuple(
            replace(fix, text=left.pop((each.row, fix.column), "")) if each.is_missing else fix
            for fix in each.fixes
        )
        told.append(replace(each, fixes=fixes))
    for (row, column), text in left.items():
        fix = Fix(column, np.nan, np.nan, np.nan, 1.0, text=text)
        told.append(BrokenRow(row, row_names[row], (), (fix,), is_missing=True))
    return sorted(told, key=lambda each: each.row)


def _find_roots(law: Law, x: FloatArray, j: int) -> FloatArray:
    """Return the real values of a cell that make a law hold, or bring it nearest to that."""
    if law.choices is not None:
        return np.concatenate([_find_roots(each, x, j) for each in law.split_choices()])
    powers, logs = law.exponents[:, j], np.zeros(len(law.exponents), dtype=np.intp)
    if law.logs is not None:
        logs = law.logs[:, j].astype(np.intp)
    has_log = bool(logs.any())
    if has_log and powers.any():
        return np.empty(0)  # no closed form
    others = x.copy()
    others[j] = np.e if has_log else 1.0
    terms = law.coefficients * law.evaluate_terms(others[None])[0]
    polynomial = np.bincount(logs if has_log else powers, weights=terms, minlength=2)[::-1]
    with np.errstate(all="ignore"):
        leading = polynomial[np.flatnonzero(polynomial)[:1]]
        if not len(leading) or not np.isfinite(polynomial / leading).all():
            return np.empty(0)
    for each in (polynomial, np.polyder(polynomial)):
        roots = np.roots(each)
        # Rounding moves double roots off the real line by half of the digits.
        real = roots[np.abs(roots.imag) <= np.sqrt(SAME) * np.abs(roots)].real
        if len(real):
            break
    return np.asarray(np.exp(real) if has_log else real)


def _find_slips(fix: Fix) -> Iterator[float]:
    """Yield how precisely common typing errors give the value of a cell, if they do.

    These are a shifted decimal point, a lost sign, and a digit that is changed, left out, added or
    swapped with the next one. Digits tell nothing where noise makes the last ones uncertain.
    """
    unit = 0.0 if fix.decimals is None else 10.0**-fix.decimals
    ratio = fix.fix / fix.value if fix.value else 0.0
    if ratio and np.isfinite(ratio):
        factor = np.copysign(10.0 ** np.round(np.log10(abs(ratio))), ratio)
        # The digits that a shift moves beyond the last decimal are lost.
        width = fix.interval[1] - fix.interval[0] + unit * (1 + abs(factor))
        if factor != 1 and 2 * abs(factor * fix.value - fix.fix) <= width:
            yield width
    if fix.decimals is not None and fix.error < unit / 2:
        padded = [f"{number:.{fix.decimals}f}" for number in (fix.value, fix.fix)]
        trimmed = [text.rstrip("0").rstrip(".") if fix.decimals else text for text in padded]
        if _differ_by_one(*padded) or _differ_by_one(*trimmed):
            yield unit


def _differ_by_one(text: str, other: str) -> bool:
    """Say whether one character is changed, left out, added, or swapped with the next one."""
    # Of letters, as is meant here, and not of folders.
    start = len(commonprefix([text, other]))  # noqa: RUF071
    text, other = text[start:], other[start:]
    end = len(commonprefix([text[::-1], other[::-1]]))  # noqa: RUF071
    text, other = text[: len(text) - end], other[: len(other) - end]
    return max(len(text), len(other)) <= 1 or (len(text) == 2 and text == other[::-1])
