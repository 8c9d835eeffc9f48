"""Unit mean gradient on X (Kera and Hasegawa, 2020; the paper's nVCA)."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import Array
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.polynomials.evaluate import Evaluator


@dataclass(frozen=True)
class Gradient(Normalization):
    """𝔑(p, q) = Σ_x ∇p(x)·∇q(x) / N over X.

    The extent of a polynomial is then close to the root mean square distance of X from its zero
    set, in the units of the data.
    """

    def form(self, stage: Stage) -> Form:
        """Differentiate coefficients instead of passing over N·n rows of derivatives.

        From degree 2 on all polynomials are polynomials in z = F_1(x), an affine map with matrix
        W: ∇_x p = W ∇_z p. The derivatives have lower degree, so that R of the monomials of z of
        degree at most t-1 tells all that is to be known of their values on X.
        """
        if stage.degree == 1:
            constant = np.zeros((stage.n_features, 1))
            return stage.form(np.hstack([constant, np.eye(stage.n_features)[:, stage.left]]))
        expansion, coefficients = stage.expansion(in_z=True)
        table = expansion.table(stage.degree)
        below = expansion.table(stage.degree - 1)
        first = Evaluator(stage.blocks[:1])

        def monomials_of_z(x: Array) -> Array:
            return below.values(first.nonvanishing(x)[1:, :])

        on_points = stage.passes.factor(stage.source, monomials_of_z, len(below))
        derivatives = np.stack(
            [
                on_points.R @ table.derivative(coefficients, variable)
                for variable in range(table.n_variables)
            ]
        )
        # The metric W'W enters through its triangular root: m directions instead of n.
        metric = np.linalg.qr(stage.blocks[0].nonvanishing, mode="r")
        gradients = np.tensordot(metric, derivatives, axes=1)
        return stage.form(gradients.reshape(-1, coefficients.shape[1]), on_points.relative_error)
