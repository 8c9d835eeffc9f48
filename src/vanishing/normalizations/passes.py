"""One pass over data: evaluate a block of rows, reduce it, merge."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vanishing._xp import Array, IntArray, at_most, namespace
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator
from vanishing.polynomials.memory import block_rows
from vanishing.reductions import Factor, Reduction
from vanishing.samples import SampleSource

#: Square matrices that a thread holds, at most.
SQUARES_PER_THREAD = 3.5


class _Part(NamedTuple):
    """Summary of some rows, and their number or the sum of their weights."""

    summary: Any
    weight: Any


@dataclass(frozen=True, eq=False)
class Pass:
    """How to go over data: the reduction, and the memory that row blocks may take."""

    reduction: Reduction
    memory_budget: int

    def factor(
        self,
        source: SampleSource,
        values: Callable[[Array], Array],
        n_columns: int,
        *,
        per_row: int = 1,
    ) -> Factor:
        """Reduce values, shape (n_columns, n_rows * per_row) a block, over all rows of a source."""
        rows = self._block_rows(n_columns, per_row, cpu=source.cpu)

        def summarize(x: Array, root_weights: Array | None = None) -> _Part:
            with np.errstate(over="ignore", invalid="ignore"):  # seen and said below
                return _summary(x, root_weights)

        def _summary(x: Array, root_weights: Array | None) -> _Part:
            found = values(x)
            if root_weights is None:
                return _Part(self.reduction.summarize(found), int(x.shape[0]))
            xp = namespace(x)
            # Derivatives are several values to a row, each of the weight of the row.
            repeats = found.shape[1] // x.shape[0]
            found *= xp.tile(root_weights, (repeats,))
            # In double precision: roots of weights have the range of single precision, weights not.
            roots = xp.astype(root_weights, xp.float64)
            weight = repeats * xp.sum(roots * roots)
            return _Part(self.reduction.summarize(found), weight)

        def merge(first: _Part, second: _Part) -> _Part:
            summary = self.reduction.merge(first.summary, second.summary)
            return _Part(summary, first.weight + second.weight)

        with at_most(self._threads(n_columns)):
            whole = source.map_reduce(summarize, merge, max_rows=rows)
        factor = self.reduction.resolve(whole.summary)
        if not np.isfinite(factor.R).all():
            raise ValueError(
                f"{source.name} contains NaN, infinity, or numbers too large for their products; "
                "impute, drop or rescale them before fitting"
            )
        return factor.with_weight(float(whole.weight)) if source.weighted else factor

    def _block_rows(self, n_columns: int, per_row: int, *, cpu: bool) -> int:
        """Return how many rows to evaluate at a time.

        A block is held up to three times while it is made: values, products, a gathered factor. If
        it had fewer values of each polynomial than there are polynomials, it would be smaller than
        its summary, and merging take as long as summarizing.
        """
        width = 3 * n_columns * per_row
        usual = block_rows(width, cpu=cpu, budget_bytes=self.memory_budget)
        most = max(1, self.memory_budget // (8 * width))
        return max(usual, min(-(-n_columns // per_row), most))

    def _threads(self, n_columns: int) -> int:
        """Return how many threads there is memory for.

        Each holds a block and up to three summaries, which are square matrices; so does who joins
        what they made.
        """
        squares = self.memory_budget / (8 * n_columns**2)
        return max(1, int(min(squares, 1e6) / SQUARES_PER_THREAD) - 1)

    def factor_with_candidates(
        self,
        source: SampleSource,
        blocks: tuple[DegreeBlock, ...],
        left: IntArray,
        right: IntArray,
    ) -> Factor:
        """Reduce the values of [F C_pre] over all rows of a source."""
        evaluator = Evaluator(blocks)

        def values(x: Array) -> Array:
            return evaluator.with_candidates(x, left, right)

        return self.factor(source, values, evaluator.n_nonvanishing + int(left.shape[0]))
