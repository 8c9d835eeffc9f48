"""The cell that breaks a law: which one, and what it should be.

A row breaks a law g if |g| is large for the noise of its cells, s² = Σ_j (ν_j ∂_j g)². A cell
explains the row if some value of it, with all others as they are, restores every law. The laws are
polynomials of that cell alone, so the values are roots of polynomials. If no cell explains the row,
pairs of cells are tried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import combinations, groupby, product
from os.path import commonprefix
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.equations.text import (
    as_given,
    changed_number,
    count_decimals,
    join,
    last_digits,
    printable,
)
from vanishing.laws.law import Law

#: Share of sound rows that may be called broken.
FALSE_ALARMS = 0.005
#: Relative error of numbers that are exact: they were computed in floating-point arithmetic.
ROUNDING = 1e-9
#: Digits of a fix beyond those of its column.
SPARE = 6
#: Rows that tell which columns are rounded.
FEWEST_ROWS = 20
#: Ratio of likelihoods from which on another cell is no explanation.
UNLIKELY = 1e-3
#: How much less likely a fix is that is unlike the other values of its column, and how much more
#: likely one that a common typing error explains.
UNUSUAL, MISTYPED = 0.05, 8.0
#: A fix is unlike its column beyond this share of the range, and the decimal point shifts by so
#: many places at most.
BEYOND, MOST_SHIFTED = 0.5, 3
#: Numbers with fewer digits often differ in one digit by chance.
FEWEST_DIGITS = 3
#: Error of a fix, as a share of it, up to which a shifted decimal point shows.
SHOWS_SHIFT = 0.1
#: Half width of an interval, in standard errors.
WIDTH = 1.96
#: Rows with pairs of broken cells: combinations of columns that are tried.
MOST_PAIRS = 400
#: Standard deviations up to which a law that one cell does not restore is left to noise: of all
#: rows, some are that far off, and a second broken cell is less likely.
LEFT_TO_NOISE = 5.0
#: Rows that are printed of a kind; ``sentences`` and ``to_frame`` have all of them.
MOST_PRINTED = 50
#: Rows that are checked between two calls of a callback.
BLOCK = 500


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
        What the cell holds if that is no number, such as a typo.
    """

    column: str
    value: float
    fix: float
    error: float
    probability: float
    decimals: int | None = None
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fix", self.fix + 0.0)  # 0 instead of -0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the right value lies with a probability of 95 %."""
        return self.fix - WIDTH * self.error, self.fix + WIDTH * self.error

    @property
    def written(self) -> tuple[str, str]:
        """What the cell holds and what it should be.

        The fix has the decimals of its column, or fewer: its standard error warrants two digits of
        that error.
        """
        if np.isnan(self.fix):
            return repr(self.text), ""
        fix = self.fix
        if 0 < self.error < np.inf:
            fix = round(fix, 1 - int(np.floor(np.log10(self.error))))
        if np.isnan(self.value):
            rounded = fix if self.decimals is None else round(fix, self.decimals)
            return repr(self.text) if self.text else "missing", as_given(rounded)
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
        Whether the fixes fill cells that are missing, or that hold no number.
    score : float
        How far the row is off the law that it breaks most, in standard deviations of its noise.
    """

    row: int
    name: Any
    laws: tuple[int, ...]
    fixes: tuple[Fix, ...]
    alternatives: tuple[Fix, ...] = ()
    is_missing: bool = False
    score: float = 0.0

    def __repr__(self) -> str:
        found = [
            f"{printable(fix.column)} {' to '.join(filter(None, fix.typed))}"
            for fix in (*self.fixes, *self.alternatives)
        ]
        cells = (", or " if self.alternatives else " and ").join(found) or "no fix"
        return f"<BrokenRow {printable(str(self.name))}: {cells}>"


class Findings(NamedTuple):
    """Rows that a check found for one reason: "broken", "text" or "missing"."""

    kind: str
    title: str
    check: "Check"


@dataclass(frozen=True)
class Check:
    """What ``Laws.check`` found: a sequence of ``BrokenRow``.

    Parameters
    ----------
    laws : sequence of Law
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
    """

    laws: Sequence[Law]
    rows: list[BrokenRow] = field(default_factory=list)
    n_rows: int = 0
    unchecked: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    gaps: Mapping[str, IntArray] = field(default_factory=dict)

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
        used = {name for law in self.laws for name in law.columns}
        return tuple(name for name in self.columns if name not in used)

    @property
    def has_texts(self) -> bool:
        """Whether some cell holds no number, such as a typo."""
        return any(fix.text for found in self.rows for fix in found.fixes)

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
        """Split what was found: broken rows, cells that are not numbers, and missing cells.

        Returns
        -------
        list of Findings
            Each has a ``kind``, a ``title``, and the rows as a ``check``.
        """
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
        n_broken = int(self.broken.sum())
        fills = [bool(fix.text) for found in self.rows if found.is_missing for fix in found.fixes]
        n_texts, n_filled = fills.count(True), fills.count(False)
        said = []
        if not self.laws:
            said.append("There are no laws to check")
        elif n_broken:
            count = "The row" if self.n_rows == 1 else f"{n_broken} of {self.n_rows} rows"
            said.append(f"{count} break{'s' * (n_broken == 1)} a law")
        elif self.columns or not self.rows:
            said.append(self._say_unbroken())
        if n_texts:
            said.append(
                "1 cell is not a number" if n_texts == 1 else f"{n_texts} cells are not numbers"
            )
        if n_filled:
            said.append(f"{n_filled} missing cell{'s' * (n_filled != 1)} can be filled in")
        return f"{'; '.join(said)}."

    def _say_unbroken(self) -> str:
        """Say what is known if no row breaks a law."""
        if not self.n_rows:
            return "There are no rows to check"
        if len(self.unchecked) == self.n_rows:
            return "No row can be checked"
        if self.gaps:
            return "No row breaks a law"
        who = "The row keeps" if self.n_rows == 1 else f"All {self.n_rows} rows keep"
        return f"{who} the law{'s' * (len(self.laws) != 1)}"

    def coverage(self) -> str:
        """Say which columns the laws check, and how many rows lack cells that they need.

        Returns
        -------
        str
            Empty if there are no laws.
        """
        return " ".join(self._describe_coverage())

    def _describe_coverage(self) -> list[str]:
        """Return a sentence about columns, and one about missing cells."""
        if not self.laws or not self.columns:
            return []
        n_all, unused = len(self.columns), self.in_no_law
        count = f"{n_all - len(unused)} of {n_all} columns are"
        if not unused:
            count = f"All {n_all} columns are" if n_all > 1 else "The column is"
        nothing = f"; nothing checks {join([printable(name) for name in unused])}" if unused else ""
        said = [f"{count} in a law{nothing}."]
        if self.gaps:
            n_rows = len(self.incomplete)
            gaps = sorted(self.gaps.items(), key=lambda gap: -len(gap[1]))
            where = join([f"{printable(name)} in {len(rows)}" for name, rows in gaps])
            rows = "1 row lacks" if n_rows == 1 else f"{n_rows} rows lack"
            said.append(f"{rows} cells that the laws need: {where}.")
        return said

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
        if numbered:
            *first, last = [f"[{k + 1}]" for k in sorted(found.laws)] or [""]
            laws = f"{', '.join(first)} and {last}" if first else last
        else:
            names = [str(self.laws[k]) for k in found.laws]
            laws = " and ".join(names[:2])
            if len(names) > 2:
                laws += f" and {len(names) - 2} more law{'s' * (len(names) > 3)}"
        where = f"row {printable(str(found.name))}: "
        if found.is_missing:
            return where + "; ".join(_fill_sentences(found.fixes, laws)) + "."
        if not found.fixes:
            return f"{where}breaks {laws}; no one or two cells would fix it."
        every = [*found.fixes, *found.alternatives]
        if len(every) > 1:
            # Of two cells that change together, one may be in other laws only.
            ways = (", or " if found.alternatives else " and ").join(
                "{} {} to {}".format(printable(fix.column), *fix.typed) for fix in every
            )
            return f"{where}breaks {laws}; change {ways}."
        value, fix = every[0].typed
        return f"{where}{printable(every[0].column)} {value} breaks {laws}; {fix} would fix it."

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
        return [*lines, *self._describe_coverage()]

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
            law = "; ".join(str(self.laws[k]) for k in found.laws)
            others = "; ".join(f"{fix.column} = {fix.typed[1]}" for fix in found.alternatives)
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


def _fill_sentences(fixes: Sequence[Fix], laws: str) -> list[str]:
    """Say what cells are that are missing or hold no number."""
    said = []
    for fix in fixes:
        now, should = fix.typed
        name = printable(fix.column)
        text = f"{name} {now} is not a number" if fix.text else f"{name} is missing"
        said.append(f"{text}; it is {should} by {laws}" if should else text)
    return said


class Checker:
    """Checks rows against laws.

    Parameters
    ----------
    laws : sequence of Law
    spreads : array of shape (n_columns,)
    ranges : array of shape (2, n_columns)
        Smallest and largest values of the columns.
    whole : boolean array of shape (n_columns,)
        Columns of whole numbers.
    units : array of shape (n_columns,), optional
        Units of the last digits of the columns that the laws were found in; 0 if not rounded.
    noise : array of shape (n_columns,), optional
        Standard deviations of the noise of the columns; by default each law has its own.
    proportional : bool
        Whether the noise of a cell is in proportion to its value, not to the column's spread.
    """

    def __init__(
        self,
        laws: Sequence[Law],
        spreads: FloatArray,
        ranges: FloatArray,
        whole: BoolArray,
        units: FloatArray | None = None,
        noise: FloatArray | None = None,
        proportional: bool = False,
    ) -> None:
        self.laws = laws
        self.spreads = spreads
        self.ranges = ranges
        self.whole = whole
        self.noise = noise
        self.proportional = proportional
        self.units: FloatArray = np.zeros(len(spreads))
        #: Units of columns with fewer digits than those that the laws were found in.
        self.coarser: FloatArray = np.zeros(len(spreads))
        self._learned_units = units
        self.names = laws[0].names if laws else ()
        self.threshold = float(-ndtri(FALSE_ALARMS / 2 / max(len(laws), 1)))

    def law_noise(self, k: int, X: FloatArray, without: int | None = None) -> FloatArray:
        """Return the noise of cells that counts for a law; the column ``without`` has none."""
        law = self.laws[k]
        if law.resolution is not None:  # what is restored is rounded, too
            units = np.maximum(law.resolution, self.coarser)
            return np.broadcast_to(units / np.sqrt(12), X.shape)
        given = law.extent * (np.abs(X) if self.proportional else self.spreads)
        if self.noise is not None:
            given = self.noise
        noise = np.asarray(np.hypot(np.broadcast_to(given, X.shape), self.units / np.sqrt(12)))
        if without is not None:
            noise[..., without] = 0.0
        return noise

    def scores(self, X: FloatArray, without: int | None = None) -> FloatArray:
        """Return g / s of every law in every row, shape (n_rows, n_laws).

        Of a law without noise, s is the share of what rounding may change that makes a row that is
        off by more broken.
        """
        return np.column_stack(
            [
                _score(law, X, self.law_noise(k, X, without))
                if law.resolution is None
                else self.threshold * law.values(X) / tolerate(law, X, self.coarser)
                for k, law in enumerate(self.laws)
            ]
        )

    # A row whose terms overflow is broken, which is all that there is to say.
    @np.errstate(over="ignore", invalid="ignore")
    def check(
        self,
        X: FloatArray,
        row_names: Sequence[Any],
        callback: Callable[[int], object] | None = None,
        texts: Mapping[tuple[int, str], str] | None = None,
    ) -> Check:
        """Find the broken rows and the cells that break them, a block of rows at a time.

        ``texts`` are what cells hold that are no numbers, by row and column.
        """
        found: list[BrokenRow] = []
        unchecked: list[int] = []
        complete = X[~np.isnan(X).any(axis=1)]
        if self.laws and len(complete):
            self.units = last_digits(complete)
            if self._learned_units is not None and len(complete) >= FEWEST_ROWS:
                is_coarser = self.units > self._learned_units
                self.coarser = np.where(is_coarser, self.units, 0.0)
        for start in range(0, len(X) if self.laws else 0, BLOCK):
            block = X[start : start + BLOCK]
            missing = np.asarray(np.isnan(block).any(axis=1))
            scores = np.zeros((len(block), len(self.laws)))
            scores[~missing] = self.scores(block[~missing])
            broken = missing | (np.abs(scores) > self.threshold).any(axis=1)
            broken |= ~np.isfinite(scores).all(axis=1)
            for row in np.flatnonzero(broken).tolist():
                name = row_names[start + row]
                if missing[row]:
                    about, is_checked = self._fill(block[row], start + row, name)
                    found.extend(about)
                    unchecked.extend([] if is_checked else [start + row])
                else:
                    found.append(self.explain(block[row], start + row, name))
            if callback is not None:
                callback(start + len(block))
        found = [self._add_decimals(each) for each in found]
        rows = _add_texts(found, texts or {}, row_names)
        return Check(self.laws, rows, len(X), tuple(unchecked))

    def _add_decimals(self, found: BrokenRow) -> BrokenRow:
        """Tell the fixes of a row how many decimals their columns have."""

        def add(fix: Fix) -> Fix:
            decimals = self._decimals(self.names.index(fix.column))
            if decimals is None:
                return fix
            # Without what floating-point arithmetic adds to it: 151.54, not 151.53999999999996.
            return replace(fix, fix=round(fix.fix, decimals + SPARE), decimals=decimals)

        return replace(
            found,
            fixes=tuple(map(add, found.fixes)),
            alternatives=tuple(map(add, found.alternatives)),
        )

    def _decimals(self, j: int) -> int | None:
        """Return the decimals of a column, None if its numbers are not rounded."""
        units = self.units if self._learned_units is None else self._learned_units
        if self._learned_units is not None and self.units.any():
            units = np.minimum(units, self.units)  # 0 if one of them is not rounded
        return count_decimals(units[j])

    # --- Broken cells -----------------------------------------------------------------------------

    def explain(self, x: FloatArray, row: int, name: Any) -> BrokenRow:
        """Say which laws a row breaks, and which cells would restore them."""
        scores = self.scores(x[None])[0]
        worst = float(np.max(np.nan_to_num(np.abs(scores), nan=np.inf)))
        broken = tuple(int(k) for k in np.flatnonzero(~(np.abs(scores) <= self.threshold)))
        involved = sorted({self.names.index(c) for k in broken for c in self.laws[k].columns})
        tried = [fix for j in involved if (fix := self._restore(x, j)) is not None]
        single = [each[:2] for each in tried if each[2] <= self.threshold + 0.5]
        if not single:
            single = [each[:2] for each in tried if each[2] <= LEFT_TO_NOISE]
        if single:
            best = min(misfit for _, misfit in single)
            weights = np.array([np.exp(-0.5 * min(misfit - best, 700)) for _, misfit in single])
            # What fits is kept, however odd it is; the prior only ranks it.
            kept = np.flatnonzero(weights / weights.sum() >= UNLIKELY)
            shares = weights[kept] * [self._prior(single[i][0]) for i in kept]
            shares /= shares.sum()
            fixes = [
                replace(single[kept[i]][0], probability=float(shares[i]))
                for i in np.argsort(-shares, kind="stable")
            ]
            return BrokenRow(row, name, broken, (fixes[0],), tuple(fixes[1:]), score=worst)
        pairs = self._restore_pair(x, involved)
        return BrokenRow(row, name, broken, pairs, score=worst)

    def _prior(self, fix: Fix) -> float:
        """Return how plausible a fix is by its column, and by how people mistype numbers."""
        j = self.names.index(fix.column)
        low, high = self.ranges[:, j]
        margin = BEYOND * (high - low)
        # A sign that the column never has is unusual however small the number is.
        is_inside = max(low - margin, 0.0 if low >= 0 else -np.inf) <= fix.fix
        is_inside &= fix.fix <= min(high + margin, 0.0 if high <= 0 else np.inf)
        is_typo = _is_typing_error(fix.value, fix.fix, fix.error, self._decimals(j))
        return (1.0 if is_inside else UNUSUAL) * (MISTYPED if is_typo else 1.0)

    def _restore(self, x: FloatArray, j: int) -> tuple[Fix, float, float] | None:
        """Return the value of one cell that restores the laws best.

        With it come the sum of squared scores that it leaves, and the largest of these scores.
        """
        laws = self._laws_of(j)
        best: tuple[float, float] | None = None
        for k in laws:
            for root in self._roots(self.laws[k], x, j):
                value = self._polish(x, j, root, laws)
                misfit = self._misfit(x, j, value)
                if (
                    best is None
                    or misfit < best[1] - 1e-6
                    or (misfit < best[1] + 1e-6 and abs(value - x[j]) < abs(best[0] - x[j]))
                ):
                    best = value, misfit
        if best is None:
            return None
        value = best[0]
        if self.whole[j]:
            value = float(np.round(value))
        if value == x[j]:
            return None
        changed = x.copy()
        changed[j] = value
        scores = self._without(changed, j)
        if not np.isfinite(scores).all():
            return None
        error = self._error(changed, j, laws)
        if self.whole[j]:
            low, high = self.ranges[:, j]
            if {low, high} == {0.0, 1.0} and value not in (0.0, 1.0):
                return None
        fix = Fix(self.names[j], float(x[j]), value, error, 1.0)
        return fix, float(np.sum(scores**2)), float(np.abs(scores).max())

    def _laws_of(self, j: int) -> list[int]:
        """Return the laws that speak about a column."""
        return [k for k, law in enumerate(self.laws) if law.involved[j]]

    def _without(self, x: FloatArray, j: int) -> FloatArray:
        """Return the scores of a row whose cell j has no noise of its own."""
        return np.asarray(self.scores(x[None], j)[0])

    def _misfit(self, x: FloatArray, j: int, value: float) -> float:
        changed = x.copy()
        changed[j] = value
        return float(np.sum(self._without(changed, j) ** 2))

    def _roots(self, law: Law, x: FloatArray, j: int) -> FloatArray:
        """Return the real values of a cell that make a law hold."""
        powers, logs = law.exponents[:, j], np.zeros(len(law.exponents), dtype=np.intp)
        if law.logs is not None:
            logs = law.logs[:, j].astype(np.intp)
        has_log = bool(logs.any())
        if has_log and powers.any():
            return np.empty(0)  # no closed form
        powers = logs if has_log else powers
        others = x.copy()
        others[j] = np.e if has_log else 1.0
        terms = law.coefficients * law.evaluate_terms(others[None])[0]
        polynomial = np.bincount(powers, weights=terms, minlength=2)
        if not np.isfinite(polynomial).all():
            return np.empty(0)
        roots = np.roots(polynomial[::-1])
        real = roots[np.abs(roots.imag) <= 1e-6 * (1 + np.abs(roots.real))].real
        if len(polynomial) == 3 and not len(real) and polynomial[2]:  # the nearest to zero it gets
            real = np.array([-polynomial[1] / (2 * polynomial[2])])
        return np.asarray(np.exp(real) if has_log else real)

    def _polish(self, x: FloatArray, j: int, value: float, laws: list[int]) -> float:
        """Return the value of a cell that fits several laws best (Gauss-Newton)."""
        if len(laws) == 1:
            return value
        changed = x.copy()
        for _ in range(4):
            changed[j] = value
            values, slopes = self._linear(changed, j, laws)
            curvature = float(slopes @ slopes)
            if not np.isfinite(curvature) or curvature == 0:
                break
            value -= float(slopes @ values) / curvature
        return value

    def _linear(self, x: FloatArray, j: int, laws: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return laws and their derivatives by a cell, in units of the other cells' noise."""
        values, slopes = [], []
        for k in laws:
            law, scale = self.laws[k], self._scale(k, x, j)
            values.append(law.values(x[None])[0] / scale)
            slopes.append(law.gradients(x[None])[0][j] / scale)
        return np.array(values), np.array(slopes)

    def _scale(self, k: int, x: FloatArray, without: int | None = None) -> float:
        """Return the standard deviation of a law in a row, by the noise of its cells."""
        law = self.laws[k]
        noise = np.sum((law.gradients(x[None])[0] * self.law_noise(k, x, without)) ** 2)
        size = np.abs(law.coefficients * law.evaluate_terms(x[None])[0]).sum()
        return float(np.sqrt(noise + (ROUNDING * size) ** 2 + 1e-300))

    def _error(self, x: FloatArray, j: int, laws: list[int]) -> float:
        """Return the standard error of a restored cell, its own noise included."""
        _, slopes = self._linear(x, j, laws)
        with np.errstate(over="ignore"):  # cells without noise
            information = float(slopes @ slopes)
        if information <= 0:
            return np.inf
        own = min(float(self.law_noise(k, x)[j]) for k in laws)
        return float(np.sqrt(1 / information + own**2))

    def _restore_pair(self, x: FloatArray, columns: list[int]) -> tuple[Fix, ...]:
        """Return two cells that restore all laws, the most plausible ones."""
        best: tuple[float, tuple[Fix, ...]] | None = None
        # A total of wrong numbers keeps its law, and has to be changed with them.
        laws = {k for j in columns for k in self._laws_of(j)}
        others = {self.names.index(c) for k in laws for c in self.laws[k].columns}
        pairs = [*combinations(columns, 2), *product(columns, sorted(others.difference(columns)))]
        for i, j in pairs[:MOST_PAIRS]:
            changed = self._solve(x, [i, j])
            if changed is None:
                continue
            scores = self.scores(changed[None])[0]
            if not (np.abs(scores) <= self.threshold).all():
                continue
            fixes = tuple(
                Fix(
                    self.names[column],
                    float(x[column]),
                    float(changed[column]),
                    self._error(changed, column, self._laws_of(column)),
                    1.0,
                )
                for column in (i, j)
            )
            priors = [self._prior(fix) for fix in fixes]
            cost = float(np.sum(scores**2) - 2 * np.sum(np.log(priors)))
            if best is None or cost < best[0]:
                best = cost, fixes
        return () if best is None else best[1]

    def _solve(self, x: FloatArray, columns: list[int]) -> FloatArray | None:
        """Return the row with some cells changed so that all laws hold (Gauss-Newton)."""
        changed = x.copy()
        for _ in range(20):
            jacobian, values, weights = [], [], []
            for k, law in enumerate(self.laws):
                gradient = law.gradients(changed[None])[0]
                scale = np.sqrt(np.sum((gradient * self.spreads) ** 2)) + 1e-300
                jacobian.append(gradient[columns] / scale)
                values.append(law.values(changed[None])[0] / scale)
                weights.append(scale / self._scale(k, changed))
            matrix, weight = np.array(jacobian), np.array(weights)
            system = np.column_stack([weight[:, None] * matrix, weight * values])
            if not np.isfinite(system).all() or np.linalg.matrix_rank(matrix) < len(columns):
                return None
            step = np.linalg.lstsq(system[:, :-1], system[:, -1], rcond=None)[0]
            changed[columns] -= step
            if np.all(np.abs(step) <= 1e-12 * self.spreads[columns]):
                break
        for j in columns:
            if self.whole[j]:
                changed[j] = np.round(changed[j])
        return changed

    # --- Missing cells ----------------------------------------------------------------------------

    def _coarseness(self, k: int) -> int:
        """Rank laws: those that hold to the last digit, up to rounding, and with noise."""
        resolution = self.laws[k].resolution
        if resolution is not None:
            return int(resolution.any())
        return 2

    def _fill(self, x: FloatArray, row: int, name: Any) -> tuple[list[BrokenRow], bool]:
        """Fill the missing cells that the laws determine, one after the other.

        Returns what there is to say about the row, and whether a law is left to check.
        """
        filled = x.copy()
        found: list[BrokenRow] = []
        fixes: list[Fix] = []
        used: list[int] = []
        progress = True
        while progress:
            progress = False
            for k in sorted(range(len(self.laws)), key=self._coarseness):
                law = self.laws[k]
                unknown = np.flatnonzero(np.isnan(filled) & law.involved).tolist()
                if len(unknown) != 1:
                    continue
                j = unknown[0]
                value = self._determined(k, filled, j)
                if value is None:
                    continue
                fixes.append(Fix(self.names[j], np.nan, value[0], value[1], 1.0))
                filled[j] = value[0]
                used.append(k)
                progress = True
        for j, value, k in self._jointly(filled):
            fixes.append(Fix(self.names[j], np.nan, value[0], value[1], 1.0))
            filled[j] = value[0]
            used.append(k)
        complete = np.where(np.isnan(filled), 0.0, filled)
        is_kept = np.abs(self.scores(complete[None])[0]) <= self.threshold
        # Where a filled cell breaks another law, it is not what the laws say.
        spoken_of = [
            k for k, law in enumerate(self.laws)
            if np.isfinite(law_cells(law, filled)).all() and np.isnan(law_cells(law, x)).any()
        ]  # fmt: skip
        if fixes and is_kept[spoken_of].all():
            laws = tuple(dict.fromkeys(used))
            found.append(BrokenRow(row, name, laws, tuple(fixes), is_missing=True))
        present = [k for k, law in enumerate(self.laws) if np.isfinite(law_cells(law, x)).all()]
        # Not a number where terms overflow, which breaks a law as well.
        if not is_kept[present].all():
            checker = Checker(
                [self.laws[k] for k in present], self.spreads, self.ranges, self.whole,
                self._learned_units, self.noise, self.proportional,
            )  # fmt: skip
            checker.units, checker.coarser = self.units, self.coarser
            checker.threshold = self.threshold
            broken = checker.explain(np.where(np.isnan(x), 0.0, x), row, name)
            found.append(replace(broken, laws=tuple(present[k] for k in broken.laws)))
        return found, bool(present)

    def _determined(self, k: int, x: FloatArray, j: int) -> tuple[float, float] | None:
        """Return a missing cell and its error, if one law has exactly one value for it."""
        roots = self._roots(self.laws[k], np.where(np.isnan(x), 1.0, x), j)
        low, high = self.ranges[:, j]
        margin = 0.25 * (high - low)
        inside = roots[(roots >= low - margin) & (roots <= high + margin)]
        if len(inside) != 1:
            return None
        value = float(np.round(inside[0])) if self.whole[j] else float(inside[0])
        changed = np.where(np.isnan(x), 1.0, x)
        changed[j] = value
        error = self._error(changed, j, [k])
        return (value, error) if error <= 0.5 * self.spreads[j] else None

    def _jointly(self, x: FloatArray) -> Iterator[tuple[int, tuple[float, float], int]]:
        """Yield missing cells that several linear laws determine together."""
        unknown = np.flatnonzero(np.isnan(x))
        linear = [
            k for k, law in enumerate(self.laws)
            if law.degree == 1 and law.logs is None and np.isnan(law_cells(law, x)).any()
        ]  # fmt: skip
        if len(unknown) < 2 or len(linear) < 2:
            return
        zeros = np.where(np.isnan(x), 0.0, x)
        matrix = np.array([self.laws[k].gradients(zeros[None])[0][unknown] for k in linear])
        values = np.array([self.laws[k].values(zeros[None])[0] for k in linear])
        # Laws without noise count most.
        scales = np.array([self._scale(k, zeros) for k in linear])
        scaled = matrix * self.spreads[unknown] / scales[:, None]
        _, singular, right = np.linalg.svd(scaled, full_matrices=True)
        rank = int(np.sum(singular > 1e-9 * max(singular.max(initial=0.0), 1e-300)))
        free = right[rank:]
        spread = self.spreads[unknown, None] * np.linalg.pinv(scaled, rcond=1e-9) / scales
        solution = -spread @ values
        # Laws share the noise of their columns: x + y + z and x + 2 y + z are off together.
        shares = np.array(
            [self.laws[k].gradients(zeros[None])[0] * self.law_noise(k, zeros) for k in linear]
        )
        shares[:, unknown] = 0.0
        errors = np.linalg.norm(spread @ shares, axis=1)
        for position, j in enumerate(unknown):
            is_free = len(free) and np.abs(free[:, position]).max() > 1e-6
            if is_free or not np.abs(matrix[:, position]).any():
                continue
            value = float(solution[position])
            value = float(np.round(value)) if self.whole[j] else value
            k = linear[int(np.flatnonzero(matrix[:, position])[0])]
            filled = zeros.copy()
            filled[j] = value
            error = float(np.hypot(errors[position], self.law_noise(k, filled)[j]))
            yield int(j), (value, error), k


def list_texts(texts: Mapping[tuple[int, str], str], row_names: Sequence[Any]) -> Check:
    """Return what cells hold that are no numbers, where there are no laws to fill them by."""
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


def _is_typing_error(value: float, right: float, error: float, decimals: int | None) -> bool:
    """Say whether a common typing error turns the right number into the value.

    These are a shifted decimal point, a lost sign, and a digit that is changed, left out, added or
    swapped with the next one. Digits tell nothing where noise makes the last ones uncertain.
    """
    unit = 0.0 if decimals is None else 10.0**-decimals
    for factor in (-1.0, *(10.0**k for k in range(-MOST_SHIFTED, MOST_SHIFTED + 1) if k)):
        # The digits that a shift moves beyond the last decimal are lost.
        most = WIDTH * error + unit * (1 + abs(factor)) / 2
        if abs(factor * value - right) <= most <= SHOWS_SHIFT * abs(right):
            return True
    if decimals is None or not error < unit / 2:
        return False
    padded = [f"{number:.{decimals}f}" for number in (value, right)]
    if max(sum(map(str.isdigit, text)) for text in padded) < FEWEST_DIGITS:
        return False
    trimmed = [text.rstrip("0").rstrip(".") if decimals else text for text in padded]
    return _differ_by_one(*padded) or _differ_by_one(*trimmed)


def _differ_by_one(text: str, other: str) -> bool:
    """Say whether one character is changed, left out, added, or swapped with the next one."""
    # Of letters, as is meant here, and not of folders.
    start = len(commonprefix([text, other]))  # noqa: RUF071
    text, other = text[start:], other[start:]
    end = len(commonprefix([text[::-1], other[::-1]]))  # noqa: RUF071
    text, other = text[: len(text) - end], other[: len(other) - end]
    return max(len(text), len(other)) <= 1 or (len(text) == 2 and text == other[::-1])


def tolerate(law: Law, X: FloatArray, units: FloatArray | float = 0.0) -> FloatArray:
    """Return how far a law without noise may be off in each row.

    That is half a unit of the last digit of each rounded cell, to first order, and the rounding
    errors of the computation: ½ Σ_j |∂_j g| δ_j + 10⁻⁹ Σ |terms|. The numbers may be rounded to
    ``units`` that are coarser than those that the law was found in.
    """
    assert law.resolution is not None
    sizes = np.abs(law.coefficients * law.evaluate_terms(X)).sum(axis=1)
    rounding = np.abs(law.gradients(X)) @ np.maximum(law.resolution, units) / 2
    return np.asarray(rounding * (1 + ROUNDING) + ROUNDING * sizes + 1e-150)


def law_cells(law: Law, x: FloatArray) -> FloatArray:
    """Return the cells of a row that a law speaks about."""
    return x[law.involved]


def _score(law: Law, X: FloatArray, noises: FloatArray) -> FloatArray:
    """Return g / s in every row, NaN where a term is beyond all numbers."""
    # Not sums of squares, which overflow: a cell of 1e200 would break no law.
    noise = np.hypot.reduce(law.gradients(X) * noises, axis=1)
    sizes = np.abs(law.coefficients * law.evaluate_terms(X)).sum(axis=1)
    return np.asarray(law.values(X) / np.hypot(np.hypot(noise, ROUNDING * sizes), 1e-150))
