"""Coefficients weighted by the mean gradients of their monomials (Kera, 2022)."""

from dataclasses import dataclass
from operator import add

import numpy as np

from vanishing._xp import Array, FloatArray, IntArray, move_like, move_to_numpy, namespace
from vanishing.normalizations.graded import columns_in_units, graded_form, is_ordinary
from vanishing.normalizations.moments import MomentSource
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.polynomials.memory import block_rows
from vanishing.polynomials.monomials import Monomials, monomials


@dataclass(frozen=True)
class GradientWeighted(Normalization):
    """𝔑(p, q) = Σ_a w_a² p_a q_a with w_a the root mean square of ‖∇x^a‖ on X over ‖a‖₂.

    The constant has weight 0. A scaling of the data by s scales extents by s, as with the
    gradient, without derivatives of the candidates.
    """

    def form(self, stage: Stage) -> Form:
        """Expand in the original variables and weigh the monomials by moments of X."""
        variables, exponents = columns_in_units(stage)
        table = monomials(stage.n_features, stage.degree)
        if is_ordinary(variables, exponents, stage.degree, homogeneous=True):
            _, coefficients = stage.expansion()
            weights = _weights(stage, table, np.zeros_like(exponents))
            return stage.form(weights[:, None] * coefficients)
        # ∂/∂x_k is as large as ∂/∂u_k in units 2**e_k is, divided by this unit.
        weights = _weights(stage, table, exponents)
        with np.errstate(divide="ignore"):  # the constant weighs nothing
            return graded_form(
                stage, variables, exponents, np.log2(weights) - float(exponents.min())
            )


def _weights(stage: Stage, table: Monomials, exponents: IntArray) -> FloatArray:
    """‖∇x^a‖² = Σ_k a_k² x^{2(a - e_k)}: means of squared monomials of lower degree.

    Columns are in units of ``2**exponents``, derivatives in units of the smallest of these.
    """
    if isinstance(stage.source, MomentSource):
        mean = stage.source.mean_squares(stage.degree - 1, exponents)
    else:
        mean = _mean_squares(stage, monomials(stage.n_features, stage.degree - 1), exponents)
    squared = np.zeros(len(table))
    for variable, unit in enumerate(np.exp2(2.0 * (exponents.min() - exponents))):
        raised = table.times_variable[variable]
        squared[raised] += unit * table.exponents[raised, variable] ** 2 * mean
    norms = np.linalg.norm(table.exponents, axis=1)
    norms[0] = 1.0
    return np.asarray(np.sqrt(squared) / norms)


def _mean_squares(stage: Stage, table: Monomials, exponents: IntArray) -> FloatArray:
    """Go over X once."""
    units = np.ldexp(1.0, -exponents)

    def squares(x: Array, root_weights: Array | None = None) -> Array:
        xp = namespace(x)
        with np.errstate(over="ignore", invalid="ignore"):  # in each of the threads it runs in
            x = xp.astype(x.T, xp.float64)  # squares overflow single precision
            if exponents.any():
                x = x * move_like(units, x)[:, None]
            values = table.values(x)
            if root_weights is not None:
                values *= root_weights
            return xp.sum(values * values, axis=1)

    rows = block_rows(2 * len(table), cpu=stage.source.cpu, budget_bytes=stage.passes.memory_budget)
    total = move_to_numpy(stage.source.map_reduce(squares, add, max_rows=rows))
    if not np.isfinite(total).all():
        raise ValueError(
            f"{stage.source.name} holds numbers too large for squares of monomials of degree "
            f"{table.degree}; rescale the data before fitting"
        )
    # The first monomial is 1: its squares count the rows, or add up their weights.
    return np.asarray(total / total[0])
