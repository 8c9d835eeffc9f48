"""The rows that break laws, the cell of each that is wrong, and what it should be.

A row breaks a law g if |g| exceeds its tolerance, an expression of the cells of the row: what
rounding may change for a law without noise, otherwise a few standard deviations s of the noise of
its cells, s² = Σ_j (ν_j ∂_j g)². A cell explains the row if some value of it, with all others as
they are, restores every law. The laws are polynomials of that cell alone, so the values are roots
of polynomials. Cells that do are ranked by their likelihood and by how plausible the value is. If
no cell explains the row, pairs of cells are tried.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, compress, islice, product
from os.path import commonprefix
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.text import count_decimals, last_digits
from vanishing.laws.check import BrokenRow, Check, Fix, add_texts
from vanishing.laws.law import Law
from vanishing.levels import BLOCK, CHANCE, OUTLYING, SAME, SAME_NUMBER

#: Share of sound rows that may be called broken: one in 200, so that errors of three standard
#: deviations are mostly found.
FALSE_ALARMS = 0.005
#: Added to what is divided by; its square does not underflow.
LEAST = np.sqrt(np.finfo(float).tiny)


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
        """Return the noise of cells that counts for a law; some columns may have none.

        All cells of a law without noise are rounded, also one that is restored.
        """
        law = self.laws[k]
        if law.resolution is not None:
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

    def find_tolerance(self, k: int, X: FloatArray, without: Sequence[int] = ()) -> FloatArray:
        """Return how far a row may be off a law: a row that is further off is broken."""
        if self.laws[k].resolution is not None:
            return tolerate(self.laws[k], X, self.coarser)
        return np.asarray(self.threshold * self.measure([k], X, without)[2][0])

    def score(self, k: int, X: FloatArray, without: Sequence[int] = ()) -> FloatArray:
        """Return the residuals of a law in units in which the tolerance is the threshold.

        For a law with noise, these are standard deviations.
        """
        off = self.laws[k].values(X) / self.find_tolerance(k, X, without)
        return np.asarray(self.threshold * off)

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
        telling = [k for k in laws if self.laws[k].involved[j]]
        # Laws without noise know already that the cell is rounded.
        is_known = any(self.laws[k].resolution is not None for k in telling)
        own = 0.0 if is_known else min(float(self.find_noise(k, x)[j]) for k in telling)
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
        added = SAME_NUMBER * (abs(value) + self.spreads[j])
        return rounded if abs(rounded - value) <= added else value

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
        return Check(self.laws, add_texts(found, texts, row_names), len(X), unchecked)

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
        found = self.select(~lacking).find_wrong_cells(np.where(np.isnan(x), 0.0, x), row, name)
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

    def find_wrong_cells(self, x: FloatArray, row: int, name: Any) -> BrokenRow | None:
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
            tried = (self.restore(x, each, scores) for each in self._list_cells(scores, n_cells))
            restored = restored or [each for each in tried if each is not None]
        if not restored and len(self.laws) > self.n_laws:  # other rows have wrong cells, too
            return self.select(np.arange(len(self.laws)) < self.n_laws).find_wrong_cells(
                x, row, name
            )
        if not restored:
            return BrokenRow(row, name, broken, (), score=worst)
        ways = self._rank(restored)
        if len(ways[0]) > 1:
            return BrokenRow(row, name, broken, ways[0], ways=tuple(ways[1:]), score=worst)
        single = tuple(fix for (fix,) in ways)
        return BrokenRow(row, name, broken, single[:1], single[1:], score=worst)

    def _rank(self, restored: list[Restored]) -> list[tuple[Fix, ...]]:
        """Return the ways to restore a row with their probabilities, the likeliest first."""
        misfits = np.array([each.misfit for each in restored])
        likelihoods = np.exp((misfits.min() - misfits) / 2)
        # What fits is kept, however odd it is; the prior only ranks it.
        likelihoods[likelihoods < CHANCE * likelihoods.sum()] = 0.0
        if len(restored[0].fixes) > 1 and not np.any(self._limits == OUTLYING):
            likelihoods[:] = 1.0  # all are right up to rounding, which may leave anything
        shares = likelihoods * [each.prior for each in restored]
        shares /= shares.sum()
        return [
            tuple(replace(fix, probability=float(shares[i])) for fix in restored[i].fixes)
            for i in np.argsort(-shares, kind="stable").tolist()
            if likelihoods[i]
        ]

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

    def restore(self, x: FloatArray, cells: list[int], before: FloatArray) -> Restored | None:
        """Return the values of cells that restore the laws best, None if none do."""
        laws = np.flatnonzero(self.involved[:, cells].any(axis=1)).tolist()
        found = []
        for start in self.list_starts(x, cells, laws):
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

    def list_starts(self, x: FloatArray, cells: list[int], laws: list[int]) -> Iterator[FloatArray]:
        """Yield rows to start solving from: for one cell, with the roots of each law."""
        if len(cells) > 1:
            yield x
            return
        for k in laws:
            for root in find_roots(self.laws[k], x, cells[0]):
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
        roots = find_roots(law, changed, j)
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


def find_roots(law: Law, x: FloatArray, j: int) -> FloatArray:
    """Return the real values of a cell that make a law hold, or bring it nearest to that."""
    if law.choices is not None:
        return np.concatenate([find_roots(each, x, j) for each in law.split_choices()])
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
