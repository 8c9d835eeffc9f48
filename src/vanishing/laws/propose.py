"""Proposals: equations that might be laws. Anybody may propose, only ``model.judge`` decides.

Each proposer looks at some rows in which its own columns are present, and yields what most of them
keep up to rounding. False proposals cost time and nothing else, so they need not be avoided.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.laws.candidate import (
    DENOMINATORS,
    Candidate,
    Term,
    measure_number,
)
from vanishing.laws.cells import Cells
from vanishing.levels import BLOCK, ROUNDING, SAME_NUMBER, UNINFORMATIVE

#: Rows that most proposers look at. Chance rarely keeps an equation in so many.
SOME_ROWS = 40
#: Rows of a smaller draw, in which equations of three columns and a constant are determined.
FEW_ROWS = 12
#: Share of these rows that keep an equation which is worth a closer look.
MOST = 0.75
#: Combinations of columns that are tried one by one, and the columns that have as many pairs.
MOST_COMBINATIONS = 40_000
MOST_COLUMNS = math.isqrt(2 * MOST_COMBINATIONS)
#: Rows that are looked at first, where there are many equations: half of them must keep one.
FIRST_ROWS = 8
#: Equations of a target and one of its factors that are proposed.
MOST_OF_EACH = 5
#: Relative error of a number of which not even one digit is known.
UNKNOWN = 0.2
#: Digits of a coefficient beyond those that floating-point arithmetic may have changed.
DIGITS = 13


class Proposer:
    """Proposes equations that some rows of a table keep, which are drawn at random.

    Until the ``deadline`` by the thread's time.
    """

    def __init__(self, cells: Cells, rng: np.random.Generator, deadline: float) -> None:
        self.cells = cells
        self.rng = rng
        self.deadline = deadline
        n_rows = len(cells.values)
        self.rows: IntArray = np.arange(n_rows)
        if n_rows > SOME_ROWS:
            self.rows = np.sort(rng.choice(n_rows, SOME_ROWS, replace=False))
        self.some = cells.values[self.rows]
        #: Some of them, which are looked at first.
        self.few = slice(None, None, max(1, len(self.rows) // FIRST_ROWS))
        self.scale = n_rows / len(self.rows)
        #: Bits that a row may give, at most.
        self.worth = -cells.log_alone[self.rows] * self.scale

    def measure(
        self,
        off: FloatArray,
        size: FloatArray,
        rounding: FloatArray | float,
        slope: FloatArray | float,
        targets: IntArray,
        n_terms: int,
    ) -> FloatArray:
        """Return about the bits of equations, of which we know how far off they are in each row.

        Positive if they hold in most rows, up to ``rounding`` where this leaves something to tell,
        and the others cost less than these save: zeros that are zeros mostly are no evidence.
        """
        spreads = self.cells.spreads[targets] * np.abs(slope)
        told = rounding <= UNINFORMATIVE * math.sqrt(12 * n_terms) * spreads
        kept = off <= 64 * ROUNDING * size + np.where(told, rounding / 2, 0.0)
        return self.weigh(kept, np.isfinite(off), targets, n_terms)

    def weigh(
        self, kept: BoolArray, known: BoolArray, targets: IntArray, n_terms: int
    ) -> FloatArray:
        """Return about the bits of equations that some of the known rows keep."""
        n_known, n_kept = known.sum(axis=0), kept.sum(axis=0)
        share = (n_known - n_kept) / np.maximum(n_known, 1)
        cost = -np.log2(np.maximum(share, 1 / (len(self.cells.values) + 2)))
        gain = np.sum(kept * self.worth[:, targets], axis=0)
        gain = gain - self.scale * (n_known - n_kept) * cost
        least = n_terms * math.log2(max(len(self.cells.varying), 2))
        return np.where(n_kept >= MOST * n_known, gain - least, -np.inf)

    def list_proposals(self, *, only_sums: bool = False) -> list[Callable[[], Iterable[Candidate]]]:
        """Return functions that propose, the cheapest first; or those of sums of columns alone."""
        simple = [self.sums_and_products, self.totals_of_neighbors]
        longer = [self.sums_of_four, self.sparse_combinations]
        if only_sums:
            return [*simple, *longer]
        return [
            self.ratios_and_differences,
            self.multiples,
            *simple,
            self.sums_of_products,
            *longer,
            self.combinations_of_three,
            self.quotients,
            self.shifted_quotients,
        ]

    # --- Pairs of columns, products and quotients -------------------------------------------------

    def ratios_and_differences(self) -> Iterator[Candidate]:
        """Propose y = k x, y = x + k, y = k - x and y = x²."""
        units = self.cells.resolution
        for a, b in combinations(self.cells.varying.tolist(), 2):
            both = self.cells.present[:, [a, b]].all(axis=1)
            x, y = self.cells.values[both, a], self.cells.values[both, b]
            nonzero = (x != 0) & (y != 0)
            if nonzero.sum() > 1:
                for ratio in _find_ratios(x[nonzero], y[nonzero], units[a], units[b]):
                    yield linear([b, a], [1.0, -ratio])
            for sign in (1.0, -1.0):
                for shift in _find_shifts(y - sign * x, units[a], units[b]):
                    yield linear([b, a], [1.0, -sign], -shift)
            for base, square, p, q in ((a, b, x, y), (b, a, y, x)):
                near = np.abs(p**2 - q) <= np.abs(p) * units[base] + units[square]
                if len(p) and np.mean(near) >= MOST:
                    yield Candidate((((base, 2),), ((square, 1),)), (1.0, -1.0))

    def sums_and_products(self) -> Iterator[Candidate]:
        """Propose c = a + b and c = a b for all pairs: first, some of the rows tell which."""
        columns, units = self.cells.varying, self.cells.resolution
        first, second = np.triu_indices(len(columns), 1)
        few = self.some[self.few]
        for pairs in _split(np.arange(len(first)), few[:, columns].ravel()):
            a, b = columns[first[pairs]], columns[second[pairs]]
            for is_sum in (True, False):
                value, size, unit = self._combine(few, a, b, is_sum)
                off = np.abs(value[:, :, None] - few[:, None, columns])
                most = (unit[:, :, None] + units[columns]) / 2 + 64 * ROUNDING * size[:, :, None]
                good = 2 * np.sum(off <= most, axis=0) >= np.isfinite(off).sum(axis=0)
                place, targets = np.nonzero(good)
                i, j, k = a[place], b[place], columns[targets]
                value, size, unit = self._combine(self.some, i, j, is_sum)
                off = np.abs(value - self.some[:, k])
                slopes = (1.0, 1.0) if is_sum else (self.some[:, j], self.some[:, i])
                gains = [
                    self.measure(off, size, unit + units[k], slope, column, 3)
                    for column, slope in ((k, 1.0), (i, slopes[0]), (j, slopes[1]))
                ]
                likely = (np.max(gains, axis=0) > 0) & (k != i) & (k != j)
                for one, other, target in np.column_stack([i, j, k])[likely].tolist():
                    if is_sum:
                        yield linear([one, other, target], [1.0, 1.0, -1.0])
                    else:
                        yield Candidate((multiply(one, other), ((target, 1),)), (1.0, -1.0))

    def _combine(
        self, rows: FloatArray, a: IntArray, b: IntArray, is_sum: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return sums or products of columns, their sizes, and how far rounding may move them."""
        x, y, units = rows[:, a], rows[:, b], self.cells.resolution
        if is_sum:
            total = np.abs(x) + np.abs(y)
            return x + y, total, np.broadcast_to(units[a] + units[b], total.shape)
        return x * y, np.abs(x * y), np.abs(x) * units[b] + np.abs(y) * units[a]

    def multiples(self) -> Iterator[Candidate]:
        """Propose c = k a b, c = k a², c = k a³ and c = k log a."""
        columns, x = self.cells.varying, self.some[:, self.cells.varying]
        units = self.cells.resolution[columns]
        first, second = np.triu_indices(len(columns))
        products, _, unit = self._combine(self.some, columns[first], columns[second], is_sum=False)
        logs = np.log(np.where(x > 0, x, np.nan))
        values = np.hstack([products, x**3, logs])
        errors = np.hstack([unit, 3 * x**2 * units, units / np.abs(x)]) / 2
        pairs = zip(columns[first].tolist(), columns[second].tolist(), strict=True)
        terms = [multiply(a, b) for a, b in pairs]
        terms += [((a, power),) for power in (3, 0) for a in columns.tolist()]
        for c in columns.tolist():
            for place in self._match_ratio(c, values, errors, len(columns)).tolist():
                if c not in dict(terms[place]):
                    yield from self._scale_product(terms[place], None, c)

    def _scale_product(
        self, term: Term, other: tuple[Term, float] | None, column: int
    ) -> Iterator[Candidate]:
        """Propose column = k (term + sign other) with the numbers k that rounding allows."""
        terms = (term,) if other is None else (term, other[0])
        signs = (1.0,) if other is None else (1.0, other[1])
        product = Candidate(terms, signs)
        columns = [*product.columns, column]
        rows = self.cells.values[self.cells.present[:, columns].all(axis=1)]
        x, y = product.evaluate_terms(rows).sum(axis=1), rows[:, column]
        nonzero = (x != 0) & (y != 0)
        units = self.cells.resolution
        errors = sum(np.abs(product.differentiate(rows, j)) * units[j] for j in product.columns)
        if nonzero.sum() > 1:
            for k in _find_ratios(
                x[nonzero], y[nonzero], np.asarray(errors)[nonzero], units[column]
            ):
                yield Candidate((*terms, ((column, 1),)), (*(k * sign for sign in signs), -1.0))

    def quotients(self) -> Iterator[Candidate]:
        """Propose a = k b (c ± d)."""
        columns, units = self.cells.varying, self.cells.resolution
        n_columns = len(columns)
        if n_columns**2 * math.comb(n_columns, 2) > 100 * MOST_COMBINATIONS:
            return
        first, second = np.triu_indices(n_columns, 1)
        c, d = columns[first], columns[second]
        for sign in (1.0, -1.0):
            sums = self.some[:, c] + sign * self.some[:, d]
            unit = (units[c] + units[d]) / 2
            size = np.abs(self.some[:, c]) + np.abs(self.some[:, d])
            for b in columns.tolist():
                factor = self.some[:, [b]]
                products = factor * sums
                of_sums = np.abs(factor) * (unit + 32 * ROUNDING * size)
                most = of_sums + np.abs(sums) * units[b] / 2
                for a in columns.tolist():
                    if a == b:
                        continue
                    for place in self._match_ratio(a, products, most, MOST_OF_EACH).tolist():
                        i, j = int(c[place]), int(d[place])
                        if a not in (i, j) and b not in (i, j):
                            other = multiply(b, j), sign
                            yield from self._scale_product(multiply(b, i), other, a)

    def _match_ratio(
        self, column: int, products: FloatArray, errors: FloatArray, most: int
    ) -> IntArray:
        """Return the products that a column is a multiple of, those worth most first, a few."""
        some = np.arange(products.shape[1])
        # A few of the rows that have the column, and then all: blanks refute nothing.
        known = np.flatnonzero(np.isfinite(self.some[:, column]))
        for rows in (known[:: max(1, len(known) // FIRST_ROWS)], np.arange(len(self.some))):
            target, product = self.some[rows, column][:, None], products[rows][:, some]
            with np.errstate(all="ignore"):
                ratios = target / product
            ratios[~np.isfinite(ratios) | (ratios == 0)] = np.nan
            k = _median(ratios)
            off = np.abs(target - k * product)
            rounding = self.cells.resolution[column] + 2 * np.abs(k) * errors[rows][:, some]
            size = np.abs(target) + np.abs(k * product)
            near = (off <= rounding / 2 + 64 * ROUNDING * size) & np.isfinite(ratios)
            n_known = np.isfinite(ratios).sum(axis=0)
            good = (2 * near.sum(axis=0) >= n_known) & (n_known > 2)
            some, off, size, rounding = some[good], off[:, good], size[:, good], rounding[:, good]
        gain = self.measure(off, size, rounding, 1.0, np.full(len(some), column), 4)
        best = np.argsort(-gain, kind="stable")[: min(most, int(np.sum(gain > 0)))]
        return np.asarray(some[best])

    def shifted_quotients(self) -> Iterator[Candidate]:
        """Propose a = b (k c + m), such as net = gross (1 - rate)."""
        columns = self.cells.varying
        if len(columns) ** 3 > 10 * MOST_COMBINATIONS:
            return
        for b in columns.tolist():
            with np.errstate(all="ignore"):
                ratios = self.some / self.some[:, [b]]
            ratios[~np.isfinite(ratios)] = np.nan
            for a in columns.tolist():
                if a != b:
                    for c in self._find_lines(ratios[:, a], columns):
                        if c not in (a, b):
                            yield from self._shift(a, b, c)

    def _find_lines(self, ratio: FloatArray, columns: IntArray) -> list[int]:
        """Return the columns of which a ratio is nearly a linear function."""
        rows = np.flatnonzero(np.isfinite(ratio))
        if len(rows) < 5:
            return []
        x, y = self.some[np.ix_(rows, columns)], ratio[rows, None]
        known = np.isfinite(x)
        x, y = np.where(known, x, 0.0), np.where(known, y, 0.0)
        n = np.maximum(known.sum(axis=0), 1)
        x, y = (np.where(known, each - each.sum(axis=0) / n, 0.0) for each in (x, y))
        squares, spread = np.sum(x**2, axis=0), np.sqrt(np.sum(y**2, axis=0) / n)
        slope = np.sum(x * y, axis=0) / np.where(squares > 0, squares, 1.0)
        off = np.median(np.abs(y - slope * x), axis=0)
        close = (off <= 1e-3 * spread) & (squares > 0) & (spread > 0) & (n > 4)
        return [int(j) for j in columns[close]]

    def _shift(self, a: int, b: int, c: int) -> Iterator[Candidate]:
        rows = self.cells.present[:, [a, b, c]].all(axis=1) & (self.cells.values[:, b] != 0)
        values = self.cells.values[rows]
        ratio = values[:, a] / values[:, b]
        design = np.column_stack([values[:, c], np.ones(len(values))])
        near = np.ones(len(values), dtype=bool)
        for _ in range(4):
            found = np.linalg.lstsq(design[near], ratio[near], rcond=None)[0]
            off = np.abs(ratio - design @ found)
            near = off <= np.quantile(off, MOST)
        for error in (1e-10, 1e-6):
            k, m = (tidy(float(value), error) for value in found)
            if k and m:
                terms = (multiply(b, c), ((b, 1),), ((a, 1),))
                yield Candidate(terms, (k, m, -1.0))

    # --- Linear equations of many columns, and sums of products -----------------------------------

    def totals_of_neighbors(self) -> Iterator[Candidate]:
        """Propose totals over columns that stand side by side, as differences of running sums."""
        n_columns, units = self.some.shape[1], self.cells.resolution
        known = np.isfinite(self.some)

        def run(values: FloatArray | BoolArray) -> FloatArray:
            return np.insert(np.cumsum(values, axis=-1, dtype=float), 0, 0.0, axis=-1)

        sums, sizes = (
            run(np.where(known, self.some, 0.0)),
            run(np.where(known, np.abs(self.some), 0.0)),
        )
        blanks, digits = run(~known), run(units)
        for length in range(3, n_columns):
            first = np.arange(n_columns - length + 1)
            last = first + length
            total = np.where(
                blanks[:, last] > blanks[:, first], np.nan, sums[:, last] - sums[:, first]
            )
            for c in self.cells.varying.tolist():
                size = sizes[:, last] + np.abs(self.some[:, [c]])
                off = np.abs(total - self.some[:, [c]])
                rounding = digits[last] - digits[first] + units[c]
                targets = np.full(len(first), c)
                good = self.measure(off, size, rounding, 1.0, targets, 3) > 0
                for start in first[good].tolist():
                    summed = [j for j in range(start, start + length) if self._is_nonzero(j)]
                    if not start <= c < start + length and len(summed) > 1:
                        yield linear([*summed, c], [1.0] * len(summed) + [-1.0])

    def _is_nonzero(self, column: int) -> bool:
        return bool(np.nan_to_num(self.cells.values[:, column]).any())

    def sums_of_four(self) -> Iterator[Candidate]:
        """Propose a ± b = ± c ± d by meeting in the middle.

        What holds in each row holds for random combinations of rows too. So each column becomes a
        few numbers, and equal sums of two of these are found by sorting. Of several draws of rows,
        some have no wrong cell.
        """
        for n_rows in (20, 8, 8, 8):
            drawn = self._draw_complete(n_rows)
            if drawn is not None:
                yield from self._match_sums(*drawn)

    def _draw_complete(self, n_rows: int, n_columns: int = 4) -> tuple[IntArray, IntArray] | None:
        """Draw rows, and the columns that are present and vary in them."""
        present = self.cells.present
        start = int(self.rng.integers(len(present)))
        order = self.rng.permutation(np.flatnonzero((present >= present[start]).all(axis=1)))
        rows = order[:n_rows]
        varies = np.ptp(np.where(present[start], self.cells.values[rows], 0.0), axis=0) > 0
        columns = np.flatnonzero(varies & present[start])
        return (rows, columns) if len(rows) > 4 and len(columns) >= n_columns else None

    def _match_sums(self, rows: IntArray, columns: IntArray) -> Iterator[Candidate]:
        values = self.cells.values[np.ix_(rows, columns)]
        mixing = self.rng.normal(size=(3, len(rows)))
        numbers, sizes = mixing @ values, np.abs(mixing) @ np.abs(values)
        errors = np.linalg.norm(mixing, axis=1)[:, None] * self.cells.resolution[columns] / 2
        errors = errors + 64 * ROUNDING * sizes
        a, b = np.triu_indices(len(columns), 1)
        sums = np.hstack([numbers[:, a] + numbers[:, b], numbers[:, a] - numbers[:, b]])
        errors = np.tile(errors[:, a] + errors[:, b], 2)
        signs, a, b = np.repeat([1.0, -1.0], len(a)), np.tile(a, 2), np.tile(b, 2)
        order = np.argsort(sums[0])
        margin = 3 * float(np.median(errors[0]))
        for flip in (1.0, -1.0):
            low, high = (
                np.searchsorted(sums[0], flip * sums[0] + side * margin, sorter=order)
                for side in (-1, 1)
            )
            if np.sum(high - low) > BLOCK:
                continue
            left, right = _list_ranges(low, high)
            right = order[right]
            for k in range(len(sums)):
                off = np.abs(sums[k, left] - flip * sums[k, right])
                near = (left < right) & (off <= 2 * (errors[k, left] + errors[k, right]))
                left, right = left[near], right[near]
            chosen = columns[np.column_stack([a[left], b[left], a[right], b[right]])]
            ones = np.ones(len(left))
            weights = np.column_stack([ones, signs[left], -flip * ones, -flip * signs[right]])
            for i in self._find_likely(chosen, weights).tolist():
                total: dict[int, float] = {}
                for column, sign in zip(chosen[i].tolist(), weights[i].tolist(), strict=True):
                    total[column] = total.get(column, 0.0) + sign
                yield linear(list(total), list(total.values()))

    def _find_likely(self, chosen: IntArray, weights: FloatArray) -> IntArray:
        """Return the sums of columns that most rows keep, and that tell one of these columns.

        Rounding tells nothing of a column that varies by less.
        """
        found = []
        for places in _split(np.arange(len(chosen)), self.some):
            columns = chosen[places]
            terms = self.some[:, columns] * weights[places]
            off, size = np.abs(terms.sum(axis=2)), np.abs(terms).sum(axis=2)
            rounding = self.cells.resolution[columns].sum(axis=1)
            likely = [
                self.measure(off, size, rounding, 1.0, target, columns.shape[1]) > 0
                for target in columns.T
            ]
            found.append(places[np.logical_or.reduce(likely)])
        return np.concatenate(found)

    def sums_of_products(self) -> Iterator[Candidate]:
        """Propose a column = ± a b ± c d for products of two columns, squares and columns."""
        for n_rows in (20, 8):
            drawn = self._draw_complete(n_rows, 2)
            if drawn is not None:
                yield from self._match_products(*drawn)

    def _match_products(self, rows: IntArray, columns: IntArray) -> Iterator[Candidate]:
        """Propose sums of two products that are equal to a column, by sorting them.

        All are exact but for the column, which may be rounded.
        """
        n_columns, units = len(columns), self.cells.resolution
        i, j = np.triu_indices(n_columns)
        factors = np.vstack(
            [np.column_stack([columns, np.full(n_columns, -1)]), columns[np.column_stack([i, j])]]
        )

        def multiply_all(values: FloatArray, pairs: IntArray) -> FloatArray:
            padded = np.column_stack([values, np.ones(len(values))])
            return np.asarray(padded[:, pairs[:, 0]] * padded[:, pairs[:, 1]])

        mixing = self.rng.normal(size=(3, len(rows)))
        values = multiply_all(self.cells.values[rows], factors)
        # Products of zeros and ones repeat each other, and other columns.
        _, first = np.unique(mixing[0] @ values, return_index=True)
        first = first[np.ptp(values[:, first], axis=0) > 0]
        factors, values = factors[first], values[:, first]
        some, repeats = multiply_all(self.some, factors), np.zeros(len(factors), dtype=bool)
        for column in factors[factors[:, 1] < 0, 0].tolist():
            off = np.abs(some - self.some[:, [column]])
            targets = np.full(len(factors), column)
            repeats |= self.measure(off, np.abs(some), units[column], 1.0, targets, 2) > 0
        kept = (factors[:, 1] < 0) | ~repeats
        factors, values = factors[kept], values[:, kept]
        numbers, sizes = mixing @ values, np.abs(mixing) @ np.abs(values)
        is_column = factors[:, 1] < 0
        some = multiply_all(self.some, factors)
        for t in np.flatnonzero(is_column).tolist():
            if time.thread_time() > self.deadline:
                return
            target = int(factors[t, 0])
            # Two standard deviations, of numbers that are rounded.
            margins = np.linalg.norm(mixing, axis=1) * units[target] / math.sqrt(3)
            margins += 64 * ROUNDING * (sizes[:, t] + sizes.max(axis=1))
            for sign, other in ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
                wanted = other * (numbers[:, [t]] - sign * numbers)
                low, high = (
                    np.searchsorted(numbers[0], wanted[0] + side * margins[0]) for side in (-1, 1)
                )
                left, right = _list_ranges(low, high)
                is_new = (left != t) & (right != t) & (left != right)
                is_new &= ~(is_column[left] & is_column[right]) & ((left < right) | (sign != other))
                left, right = left[is_new], right[is_new]
                for k in (1, 2):
                    near = np.abs(wanted[k, left] - numbers[k, right]) <= margins[k]
                    left, right = left[near], right[near]
                for some_left, some_right in zip(
                    _split(left, some), _split(right, some), strict=True
                ):
                    parts = sign * some[:, some_left], other * some[:, some_right]
                    total, size = sum(parts), sum(np.abs(each) for each in parts)
                    off = np.abs(total - self.some[:, [target]])
                    targets = np.full(len(some_left), target)
                    likely = self.measure(off, size, units[target], 1.0, targets, 3) > 0
                    for i, j in np.column_stack([some_left, some_right])[likely].tolist():
                        terms = (_as_term(factors[i]), _as_term(factors[j]), ((target, 1),))
                        yield Candidate(terms, (sign, other, -1.0))

    def combinations_of_three(self) -> Iterator[Candidate]:
        """Propose linear equations of two or three columns with any coefficients.

        Of several draws of rows, some have no wrong cell.
        """
        n_rows = len(self.cells.values)
        few = min(n_rows, FEW_ROWS)
        draws = [self.some]
        draws += [self.cells.values[self.rng.choice(n_rows, few, replace=False)] for _ in range(3)]
        for size, has_constant in ((2, True), (3, False), (3, True)):
            if math.comb(len(self.cells.varying), size) > MOST_COMBINATIONS:
                continue
            chosen = np.array(list(combinations(self.cells.varying.tolist(), size)), dtype=np.intp)
            for some in np.array_split(chosen, 1 + len(chosen) // 2000):
                found: dict[int, FloatArray] = {}
                for rows in draws if len(some) else ():
                    for i, vector in self._find_null_vectors(rows, some, has_constant):
                        found.setdefault(i, vector)
                for i, vector in found.items():
                    yield from self._refine(some[i], vector, has_constant)

    def _find_null_vectors(
        self, rows: FloatArray, chosen: IntArray, has_constant: bool
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield which columns keep one linear equation in the rows up to rounding, and its numbers.

        Most of the rows that proposers look at keep it, too.
        """
        values, complete = self._take_complete(rows, chosen, has_constant)
        units = self.cells.resolution[chosen] / 2
        if has_constant:
            units = np.column_stack([units, np.zeros(len(chosen))])
        sizes = np.sqrt(np.sum(values**2, axis=1))
        sizes[sizes == 0] = 1.0
        _, singular, right = np.linalg.svd(values / sizes[:, None], full_matrices=False)
        if singular.shape[1] < values.shape[2]:
            return
        # What rounding leaves of a row, at most; two such vectors are equations of fewer columns.
        vectors = right[:, -2:] / sizes[:, None]
        rounding = np.einsum("ikj,ij->ik", np.abs(vectors), units)
        n_complete = complete.sum(axis=1)
        most = np.sqrt(n_complete)[:, None] * rounding + 64 * ROUNDING * singular[:, :1]
        close = (singular[:, -1] <= most[:, 1]) & (singular[:, -2] > most[:, 0])
        close &= n_complete > values.shape[2] + 1
        places = np.flatnonzero(close)
        values, complete = self._take_complete(self.some, chosen[places], has_constant)
        vectors, most = vectors[places, 1], rounding[places, 1, None]
        off = np.abs(np.einsum("irj,ij->ir", values, vectors))
        most = most + 64 * ROUNDING * np.einsum("irj,ij->ir", np.abs(values), np.abs(vectors))
        # Rows of zeros repeat each other.
        told = complete & values[:, :, : chosen.shape[1]].any(axis=2)
        near = (off <= 4 * most) & told
        gains = [
            self.weigh(near.T, told.T, targets, values.shape[2]) for targets in chosen[places].T
        ]
        keep = np.max(gains, axis=0) > 0
        yield from zip(places[keep].tolist(), vectors[keep], strict=True)

    def _take_complete(
        self, rows: FloatArray, chosen: IntArray, has_constant: bool
    ) -> tuple[FloatArray, BoolArray]:
        """Return the columns of each choice in the rows, zeros in rows that lack one of them."""
        values = np.moveaxis(rows[:, chosen], 0, 1)
        complete = np.asarray(np.isfinite(values).all(axis=2))
        values = np.where(complete[:, :, None], values, 0.0)
        if has_constant:
            values = np.concatenate([values, complete[:, :, None].astype(float)], axis=2)
        return values, complete

    def sparse_combinations(self) -> Iterator[Candidate]:
        """Propose the shortest linear equation of each column, by linear programming.

        Columns that are present together, in half of the rows that have one of them, have a null
        space, in which the vector with the smallest sum of absolute values is nearly always the one
        with the fewest terms.
        """
        tried = set()
        for j in self.cells.varying.tolist():
            rows = np.flatnonzero(self.cells.present[:, j])
            beside = self.cells.present[rows][:, self.cells.varying]
            order = np.argsort(-beside.sum(axis=0), kind="stable")
            complete = np.logical_and.accumulate(beside[:, order], axis=1)
            n_columns = int((2 * complete.sum(axis=0) >= len(rows)).sum())
            columns = np.sort(self.cells.varying[order[:n_columns]])
            rows = rows[complete[:, n_columns - 1]]
            key = rows.tobytes(), columns.tobytes()
            if time.thread_time() > self.deadline:
                return
            if key in tried or len(columns) < 3:
                continue
            tried.add(key)
            yield from self._find_sparse(rows, columns)
            n_rows = len(rows)
            while n_rows > len(columns) + 4:  # the fewer rows, the likelier without a wrong cell
                n_rows = max(len(columns) + 4, n_rows // 2)
                for _ in range(2):
                    yield from self._find_sparse(self.rng.permutation(rows)[:n_rows], columns)

    def _find_sparse(self, rows: IntArray, columns: IntArray) -> Iterator[Candidate]:
        values = np.column_stack([self.cells.values[np.ix_(rows, columns)], np.ones(len(rows))])
        n_rows, n_terms = values.shape
        if n_rows <= n_terms:
            return
        sizes = np.abs(values).max(axis=0)
        sizes[sizes == 0] = 1.0
        _, singular, right = np.linalg.svd(values / sizes, full_matrices=False)
        rounding = float(np.median(self.cells.resolution[columns] / sizes[:-1]))
        null = right[singular <= max(1e-11 * singular[0], rounding * math.sqrt(n_rows))].T
        for j in range(len(columns) if null.size else 0):
            if np.linalg.norm(null[j]) < 1e-6 or time.thread_time() > self.deadline:
                continue
            vector = _find_shortest(null, j)
            if vector is None:
                continue
            vector = np.where(np.abs(vector) > 1e-7 * np.abs(vector).max(), vector, 0.0) / sizes
            used = np.flatnonzero(vector[:-1])
            if len(used) > 1:
                kept = np.append(used, n_terms - 1) if vector[-1] else used
                yield from self._refine(columns[used], vector[kept], bool(vector[-1]))

    def _refine(
        self, columns: IntArray, coefficients: FloatArray, has_constant: bool
    ) -> Iterator[Candidate]:
        """Propose a linear equation with coefficients that are fitted to the rows that keep it."""
        complete = self.cells.present[:, columns].all(axis=1)
        values, units = self.cells.values[np.ix_(complete, columns)], self.cells.resolution[columns]
        if has_constant:
            values = np.column_stack([values, np.ones(len(values))])
            units = np.append(units, 0.0)

        def measure(found: FloatArray) -> tuple[FloatArray, FloatArray]:
            rounding = np.abs(found) @ units / 2
            return np.abs(values @ found), rounding + 64 * ROUNDING * np.abs(values) @ np.abs(found)

        before: BoolArray | None = None
        for _ in range(4):
            off, most = measure(coefficients)
            near = off <= np.maximum(most, _find_most(off))
            if near.sum() <= len(coefficients):
                return
            if before is not None and np.array_equal(near, before):
                break
            before = near
            sizes = np.sqrt(np.mean(values[near] ** 2, axis=0))
            sizes[sizes == 0] = 1.0
            # Regression of the column whose rounding matters most: the others are nearly exact.
            target = int(np.argmax(np.abs(coefficients) * units))
            scaled = values[near] / sizes
            others = np.delete(np.arange(len(units)), target)
            fitted = np.linalg.lstsq(scaled[:, others], -scaled[:, target], rcond=None)[0]
            coefficients = np.insert(fitted, target, 1.0) / sizes
        off, most = measure(coefficients)
        sizes = np.abs(values * coefficients).max(axis=0)
        noise = _find_most(off)
        if np.mean(off <= 4 * most) < MOST or (sizes <= 8 * noise).any():
            return
        for unit in range(len(columns)):
            ratios = coefficients / coefficients[unit]
            errors = _estimate_errors(values, ratios, noise / abs(coefficients[unit]), unit)
            found = [tidy(r, e) for r, e in zip(ratios.tolist(), errors.tolist(), strict=True)]
            constant = found.pop() if has_constant else 0.0
            yield linear(columns.tolist(), found, constant)
        exact = [tidy(value, 0.0) for value in (coefficients / coefficients[0]).tolist()]
        constant = exact.pop() if has_constant else 0.0
        yield linear(columns.tolist(), exact, constant)


def _find_most(off: FloatArray) -> float:
    """Return what most residuals are not larger than; a quantile with interpolation is slow."""
    place = math.ceil(MOST * (len(off) - 1))
    return float(np.partition(off, place)[place])


def _split(places: IntArray, values: FloatArray) -> list[IntArray]:
    """Return blocks of places, for each of which some values are worked on at a time."""
    return np.array_split(places, 1 + len(places) * len(values) // BLOCK)


def _as_term(factors: IntArray) -> Term:
    """Return a product of two columns, or one column if the second is -1."""
    first, second = factors.tolist()
    return multiply(first, second) if second >= 0 else ((first, 1),)


def _list_ranges(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pairs (i, k) with low[i] <= k < high[i]."""
    counts = np.maximum(high - low, 0)
    first = np.repeat(np.arange(len(counts)), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return first, low[first] + offsets


def multiply(a: int, b: int) -> Term:
    """Return the product of two columns."""
    return ((a, 2),) if a == b else ((min(a, b), 1), (max(a, b), 1))


def linear(columns: list[int], coefficients: list[float], constant: float = 0.0) -> Candidate:
    """Return a linear equation, without columns whose coefficients are zero."""
    terms: list[Term] = [((j, 1),) for j in columns]
    numbers = [*coefficients, constant]
    terms.append(())
    kept = [i for i, number in enumerate(numbers) if number]
    return Candidate(tuple(terms[i] for i in kept), tuple(float(numbers[i]) for i in kept))


def tidy(value: float, error: float) -> float:
    """Return the shortest number within a relative error of a value."""
    if not value or not math.isfinite(value):
        return 0.0
    error = min(max(error, 10.0**-DIGITS), UNKNOWN)
    low, high = abs(value) * (1 - error), abs(value) * (1 + error)
    return math.copysign(_shortest(low, high, abs(value)), value)


def _shortest(low: float, high: float, middle: float) -> float:
    found = [float(f"{middle:.{DIGITS}g}")]
    power = math.floor(math.log10(high))
    for n_digits in range(DIGITS):
        unit = 10.0 ** (power - n_digits)
        if (number := math.ceil(low / unit) * unit) <= high:
            found.append(float(f"{number:.{DIGITS}g}"))
            break
    for denominator in (1, *DENOMINATORS):
        if (numerator := math.ceil(low * denominator)) / denominator <= high:
            found.append(numerator / denominator)
            break
    return min(filter(None, found), key=lambda each: measure_number(float(f"{each:.12g}")))


def _find_ratios(
    x: FloatArray, y: FloatArray, x_unit: FloatArray | float, y_unit: float
) -> set[float]:
    """Return numbers k with y = k x in most rows: the median ratio, and the shortest nearby."""
    ratio = float(np.median(y / x))
    most = y_unit / 2 + abs(ratio) * x_unit / 2 + 16 * ROUNDING * np.abs(y)
    near = np.abs(y - ratio * x) <= most
    if not math.isfinite(ratio) or np.mean(near) < MOST - 0.05:
        return set()
    # What all rows allow, or all but a few that may be wrong, with x rounded or exact.
    found = {tidy(ratio, 0.0)}
    for share, unit in product((1.0, 0.9), (x_unit, 0.0 * x_unit)):
        errors = (y_unit / 2 + abs(ratio) * unit / 2 + 16 * ROUNDING * np.abs(y)) / np.abs(x)
        low = float(np.quantile(y / x - errors, share))
        high = float(np.quantile(y / x + errors, 1 - share))
        if not low < high or low * high <= 0:
            continue
        small, large = sorted((abs(low), abs(high)))
        shortest = _shortest(small, large, (small + large) / 2)
        inverse = _shortest(1 / large, 1 / small, 2 / (small + large))
        found |= {math.copysign(shortest, ratio), math.copysign(1 / inverse, ratio)}
    return found


def _find_shifts(shifts: FloatArray, x_unit: float, y_unit: float) -> set[float]:
    """Return numbers that most of some differences are up to rounding: the median, and short ones.

    Differences of numbers that are rounded alike are on both sides of a number with more digits.
    """
    rounding = (x_unit + y_unit) / 2
    middle = float(np.median(shifts)) if len(shifts) else 0.0
    if not len(shifts) or np.mean(np.abs(shifts - middle) <= rounding) < MOST:
        return set()
    found = {tidy(middle, 1e-11)}
    for share in (1.0, 0.9) if x_unit == y_unit else ():
        low, high = np.quantile(shifts, share) - rounding, np.quantile(shifts, 1 - share) + rounding
        if low < high and low + high:
            error = (high - low) / abs(low + high) * (1 - SAME_NUMBER)  # between, not at the ends
            found.add(tidy(float(low + high) / 2, float(error)))
    return found - {0.0}


def _estimate_errors(values: FloatArray, ratios: FloatArray, noise: float, unit: int) -> FloatArray:
    """Return how far off each coefficient may be, relative to it: three standard errors."""
    others = [i for i in range(len(ratios)) if i != unit]
    noise += 1e-15 * float(np.abs(values * ratios).max())
    sizes = np.sqrt(np.mean(values**2, axis=0))
    sizes[sizes == 0] = 1.0
    scaled = values[:, others] / sizes[others]
    inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
    errors = np.zeros(len(ratios))
    errors[others] = 3 * noise * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / sizes[others]
    return np.asarray(np.maximum(errors / np.maximum(np.abs(ratios), 1e-300), 1e-11))


def _find_shortest(null: FloatArray, j: int) -> FloatArray | None:
    """Return the vector of a null space with v_j = 1 and the smallest sum of absolute values."""
    n_terms, n_vectors = null.shape
    identity = np.eye(n_terms)
    solution = linprog(
        np.repeat([0.0, 1.0], [n_vectors, n_terms]),
        A_ub=np.block([[null, -identity], [-null, -identity]]),
        b_ub=np.zeros(2 * n_terms),
        A_eq=np.append(null[j], np.zeros(n_terms))[None],
        b_eq=[1.0],
        bounds=[(None, None)] * n_vectors + [(0, None)] * n_terms,
        method="highs-ds",
    )
    return null @ solution.x[:n_vectors] if solution.status == 0 else None


def _median(columns: FloatArray) -> FloatArray:
    """Return the medians of columns without NaN, NaN where there is no number."""
    counts = np.isfinite(columns).sum(axis=0)
    ordered = np.sort(columns, axis=0)  # NaN last
    return np.asarray(ordered[np.maximum(counts - 1, 0) // 2, np.arange(columns.shape[1])])
