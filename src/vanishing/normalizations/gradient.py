"""Unit mean gradient on X (Kera and Hasegawa, 2020; the paper's nVCA)."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import Array, namespace, norms
from vanishing.normalizations.graded import identity_form
from vanishing.normalizations.moments import MomentSource
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.polynomials import jacobian
from vanishing.polynomials.evaluate import Evaluator

#: Sums of terms this much larger than their value are not trusted; four digits are lost then.
LARGEST_CANCELLATION = 1e4


@dataclass(frozen=True)
class Gradient(Normalization):
    """𝔑(p, q) = Σ_x ∇p(x)·∇q(x) / N over X.

    The extent of a polynomial is then close to the root mean square distance of X from its zero
    set, in the units of the data.
    """

    def form(self, stage: Stage) -> Form:
        """Differentiate coefficients where that is accurate, and pass over X where it is not."""
        if stage.degree == 1:
            if (graded := identity_form(stage)) is not None:
                return graded
            constant = np.zeros((stage.n_features, 1))
            return stage.form(np.hstack([constant, np.eye(stage.n_features)[:, stage.left]]))
        if isinstance(stage.source, MomentSource):
            return stage.form(
                *stage.source.gradients(stage.blocks, stage.left, stage.right, stage.amplification)
            )
        return _from_coefficients(stage) or _from_points(stage)


def _from_coefficients(stage: Stage) -> Form | None:
    """Differentiate coefficients instead of passing over N·n rows of derivatives.

    From degree 2 on all polynomials are polynomials in z = F_1(x), an affine map with orthogonal
    columns w_k: ∂_x p = Σ_k w_k ∂_{z_k} p. The derivatives have lower degree, so that R of the
    monomials of z of degree at most t-1 tells all that is to be known of their values on X.
    Monomials of high degree nearly depend on each other; None if that costs digits.
    """
    expansion, coefficients = stage.expansion(in_z=True)
    table, below = expansion.table(stage.degree), expansion.table(stage.degree - 1)
    first = Evaluator(stage.blocks[:1])

    def monomials_of_z(x: Array) -> Array:
        return below.values(first.nonvanishing(x)[1:, :])

    on_points = stage.passes.factor(stage.source, monomials_of_z, len(below))
    lengths = norms(stage.blocks[0].nonvanishing)
    unit = np.max(lengths, initial=0.0) or 1.0  # squares of lengths in units of the data overflow
    lengths = lengths / unit
    parts, terms = [], np.zeros(coefficients.shape[1])
    for variable, length in enumerate(lengths):
        derivative = length * table.derivative(coefficients, variable)
        parts.append(on_points.R @ derivative)
        terms += np.sum((np.abs(on_points.R) @ np.abs(derivative)) ** 2, axis=0)
    gradients = np.vstack(parts)
    if np.any(terms > (LARGEST_CANCELLATION * np.linalg.norm(gradients, axis=0)) ** 2):
        return None
    return stage.form(unit * gradients, on_points.relative_error)


def _from_points(stage: Stage) -> Form:
    """Reduce the derivatives of [F C_pre] at all points, n rows for each."""
    n_columns = stage.n_lower + stage.n_candidates
    # Not the stage, which holds the data: the function may travel to the workers of a cluster.
    blocks, left, right = stage.blocks, stage.left, stage.right

    def derivatives(x: Array) -> Array:
        found = jacobian.with_candidates(blocks, x, left, right)
        return namespace(x).reshape(found, (n_columns, -1))

    on_points = stage.passes.factor(stage.source, derivatives, n_columns, per_row=stage.n_features)
    # Means over N·n rows were taken; the form wants sums over the n derivatives.
    return stage.form(np.sqrt(stage.n_features) * on_points.R, on_points.relative_error)
