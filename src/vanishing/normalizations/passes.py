"""One pass over data: evaluate a block of rows, reduce it, merge."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vanishing._xp import Array, IntArray, namespace
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator
from vanishing.polynomials.memory import block_rows
from vanishing.reductions import Factor, Reduction
from vanishing.samples import SampleSource


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
        self, source: SampleSource, values: Callable[[Array], Array], n_columns: int
    ) -> Factor:
        """Reduce the values, shape (n_columns, n_rows) a block, over all rows of a source."""
        # A block is held up to three times while it is made: values, products, a gathered factor.
        rows = block_rows(3 * n_columns, cpu=source.cpu, budget_bytes=self.memory_budget)

        def summarize(x: Array, root_weights: Array | None = None) -> _Part:
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

        whole = source.map_reduce(summarize, merge, max_rows=rows)
        factor = self.reduction.resolve(whole.summary)
        if not np.isfinite(factor.R).all():
            raise ValueError(
                f"{source.name} contains NaN, infinity, or numbers too large for their products; "
                "impute, drop or rescale them before fitting"
            )
        return factor.with_weight(float(whole.weight)) if source.weighted else factor

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
