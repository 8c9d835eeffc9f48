"""What a check says: the rows that break laws, the cells that do, and what they should be.

``wrong_cells.py`` finds them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import compress, groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, IntArray, import_extra
from vanishing.data.sheet_layout import CellPlaces
from vanishing.equations.text import as_given, changed_number, join, printable
from vanishing.laws.law import Law

#: Rows that are printed of a kind; ``sentences`` and ``to_frame`` have all of them.
MOST_PRINTED = 50
#: Ways to mend a row that are named one by one.
MOST_WAYS = 6


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
    def every_way(self) -> list[tuple[Fix, ...]]:
        """What would restore the laws: cells to change together, the likeliest ones first."""
        ways = [self.fixes, *((fix,) for fix in self.alternatives), *self.ways]
        return list(filter(None, ways))

    @property
    def others(self) -> list[str]:
        """What else would restore the laws, as "gross = 119" or "net = 100 and tax = 19"."""
        return [
            " and ".join(f"{fix.column} = {fix.typed[1]}" for fix in way)
            for way in self.every_way[bool(self.fixes) :]
        ]

    def write_sentence(self, laws: str) -> str:
        """Say in one sentence what is wrong with the row, or missing, by laws as they are named."""
        where = f"row {printable(str(self.name))}"
        if self.total_of:
            return f"{where} (total of {self.total_of}): {self._describe_sums()}."
        if self.is_missing:
            return f"{where}: {'; '.join(self._describe_missing(laws))}."
        ways = [
            " and ".join("{} {} to {}".format(printable(fix.column), *fix.typed) for fix in way)
            for way in self.every_way
        ]
        if not ways and self.cells:
            held = join([f"{printable(name)} {text}" for name, text in self.cells])
            break_them = "break" if len(self.cells) > 1 else "breaks"
            return f"{'; '.join([f'{where}: {held} {break_them} {laws}', *self.beside])}."
        if not ways:
            unfixed = "; no one or two cells would fix it" * self.is_searched
            return f"{where}: breaks {laws}{unfixed}."
        if len(self.fixes) == len(ways) == 1:
            value, right = self.fixes[0].typed
            cell = printable(self.fixes[0].column)
            return f"{where}: {cell} {value} breaks {laws}; {right} would fix it."
        if (n_left := len(ways) - MOST_WAYS) > 1:
            ways[MOST_WAYS:] = [f"one of {n_left} other ways"]
        # Of two cells that change together, one may be in other laws only.
        return f"{where}: breaks {laws}; change {', or '.join(ways)}."

    def _describe_sums(self) -> str:
        """Say which cells of a total row are not the sums, and if one of its rows is wrong."""
        said = [
            "{} {} is not the sum {}".format(printable(fix.column), *fix.typed) for fix in self.sums
        ]
        if not self.fixes:
            said.append("other totals agree with it, so one of its rows is wrong")
        return "; ".join(said)

    def _describe_missing(self, laws: str) -> Iterator[str]:
        """Say what cells should be that are missing or are not numbers."""
        for fix in self.fixes:
            now, should = fix.typed
            what = f"{now} is not a number" if fix.text else "is missing"
            by_laws = f"; it is {should} by {laws}" if should else ""
            yield f"{printable(fix.column)} {what}{by_laws}"

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
            are = "is not a number" if n_texts == 1 else "are not numbers"
            said.append(f"{_count(n_texts, 'cell')} {are}")
        if n_filled:
            said.append(f"{_count(n_filled, 'missing cell')} can be filled in")
        text = "; ".join(said)
        return f"{text[:1].upper()}{text[1:]}."

    def _say_unbroken(self) -> str:
        """Say what is known if no row breaks a law."""
        n_rows = self.n_rows - self.n_totals
        n_kept = n_rows - len(set().union(*(each.rows for each in self.outside)))
        if not n_rows:
            return "There are no rows to check"
        if len(self.unchecked) == n_rows:
            return "No row can be checked"
        if self.gaps or not n_kept:
            return "No row breaks a law"
        who = "The row keeps" if n_rows == 1 else f"All {n_rows} rows keep"
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
        if n_rows := len(self.incomplete):
            gaps = sorted(self.gaps.items(), key=lambda gap: -len(gap[1]))
            where = join([f"{printable(name)} in {len(rows)}" for name, rows in gaps])
            lack = "lacks" if n_rows == 1 else "lack"
            said.append(f"{_count(n_rows, 'row')} {lack} cells that the laws need: {where}.")
        for each in self.outside:
            laws, is_one = self._write_laws(each.laws, numbered), len(each.rows) == 1
            rows = _count(len(each.rows), "row")
            if each.is_case:
                are = "is" if is_one else "are"
                said.append(f"{rows} {are} in no case of {laws}: {each.reason}.")
            else:
                has, are = "has" if is_one else "have", "is" if len(each.laws) == 1 else "are"
                said.append(f"{laws} {are} not checked in {rows} that {has} {each.reason}.")
        return said

    def _write_laws(self, laws: Sequence[int], numbered: bool) -> str:
        """Write the numbers of some laws, or the first of them."""
        if numbered:
            return join([f"[{k + 1}]" for k in sorted(laws)], len(laws))
        said = " and ".join(str(self.laws[k]) for k in laws[:2])
        return said + (f" and {_count(len(laws) - 2, 'more law')}" if len(laws) > 2 else "")

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
        return [found.write_sentence(self._write_laws(found.laws, numbered)) for found in self.rows]

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
        pandas = import_extra("pandas", extra="frames", purpose="Check.to_frame")
        columns = ["row", "cell", "value", "fix", "interval", "law", "probability", "alternatives"]
        nothing = None, np.nan, np.nan, None, np.nan
        lines: list[tuple[Any, ...]] = []
        for found in self.rows:
            law, others = self.name_laws(found), "; ".join(found.others)
            cells: list[tuple[Any, ...]] = [
                (fix.column, fix.text or fix.value, fix.fix, fix.interval, fix.probability)
                for fix in found.fixes
            ]
            for *cell, probability in cells or [nothing]:
                lines.append((found.name, *cell, law, probability, others))
        return pandas.DataFrame(lines, columns=columns)

    def _repr_html_(self) -> str:
        html = ""
        for is_row, lines in groupby(self.lines(), key=lambda line: line.startswith("  ")):
            tag = "li" if is_row else "p"
            items = "".join(f"<{tag}>{escape(line.strip())}</{tag}>" for line in lines)
            html += f"<ul>{items}</ul>" if is_row else items
        return html


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


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


def add_texts(
    found: Sequence[BrokenRow], texts: Mapping[tuple[int, str], str], row_names: Sequence[Any]
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


def list_texts(texts: Mapping[tuple[int, str], str], row_names: Sequence[Any]) -> Check:
    """Return the cells that are not numbers, if there are no laws to fill them by."""
    return Check((), add_texts([], texts, row_names), len(row_names))
