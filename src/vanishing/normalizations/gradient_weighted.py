"""Coefficients weighted by the mean gradients of their monomials (Kera, 2022)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vanishing._xp import Array, FloatArray, move_to_numpy, namespace
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.polynomials.memory import block_rows
from vanishing.polynomials.monomials import Monomials, monomials


class _SumOfSquares(NamedTuple):
    total: Array
    n_rows: int


@dataclass(frozen=True)
class GradientWeighted(Normalization):
    """𝔑(p, q) = Σ_a w_a² p_a q_a with w_a the root mean square of ‖∇x^a‖ on X over ‖a‖₂.

    The constant has weight 0. A scaling of the data by s scales extents by s, as with the
    gradient, without derivatives of the candidates.
    """

    def form(self, stage: Stage) -> Form:
        """Expand in the original variables and weigh the monomials by moments of X."""
        _, coefficients = stage.expansion()
        table = monomials(stage.n_features, stage.degree)
        return stage.form(_weights(stage, table)[:, None] * coefficients)


def _weights(stage: Stage, table: Monomials) -> FloatArray:
    """‖∇x^a‖² = Σ_k a_k² x^{2(a - e_k)}: means of squared monomials of lower degree."""
    below = monomials(stage.n_features, stage.degree - 1)

    def squares(x: Array) -> _SumOfSquares:
        xp = namespace(x)
        values = below.values(xp.astype(x.T, xp.float64))  # squares overflow single precision
        return _SumOfSquares(xp.sum(values * values, axis=1), int(x.shape[0]))

    def add(first: _SumOfSquares, second: _SumOfSquares) -> _SumOfSquares:
        return _SumOfSquares(first.total + second.total, first.n_rows + second.n_rows)

    rows = block_rows(2 * len(below), cpu=stage.source.cpu, budget_bytes=stage.passes.memory_budget)
    summed = stage.source.map_reduce(squares, add, max_rows=rows)
    mean = move_to_numpy(summed.total) / summed.n_rows
    squared = np.zeros(len(table))
    for variable in range(stage.n_features):
        raised = table.times_variable[variable]
        squared[raised] += table.exponents[raised, variable] ** 2 * mean
    norms = np.linalg.norm(table.exponents, axis=1)
    norms[0] = 1.0
    return np.asarray(np.sqrt(squared) / norms)
