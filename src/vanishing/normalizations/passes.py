"""One pass over data: evaluate a block of rows, reduce it, merge."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vanishing._xp import Array, IntArray
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluate import Evaluator
from vanishing.polynomials.memory import block_rows
from vanishing.reductions import Factor, Reduction
from vanishing.samples import SampleSource


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
        summary = source.map_reduce(
            lambda x: self.reduction.summarize(values(x)), self.reduction.merge, max_rows=rows
        )
        factor = self.reduction.resolve(summary)
        if not np.isfinite(factor.R).all():
            raise ValueError(
                f"{source.name} contains NaN, infinity, or numbers too large for their products; "
                "impute, drop or rescale them before fitting"
            )
        return factor

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
