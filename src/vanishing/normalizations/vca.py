"""Plain VCA (Livni et al., 2013): unit vectors of coefficients on the products."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from vanishing._xp import FloatArray
from vanishing.normalizations.graded import identity_form
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import EPS, Form, Stage
from vanishing.polynomials.expand import leading_forms, products_of_forms
from vanishing.polynomials.independent import independent_columns


@dataclass(frozen=True)
class Vca(Normalization):
    """Identity in the coordinates of the candidates.

    The products F_1 × F_{t-1} repeat themselves (f·h = h·f); coordinates are taken in the
    orthogonal complement of the kernel of the product map, where none of them is zero. With
    ``products="all"`` they are taken as they come, and some polynomials are identically zero.

    At degree 1 the coordinates are measured in units of the largest spread of X, so that extents
    are pure numbers at every degree; the paper's convention leaves them in the units of the data.
    """

    uses_all_products = True

    def form(self, stage: Stage) -> Form:
        """Return the identity, weighted or restricted where products coincide."""
        n_candidates = stage.n_candidates
        if stage.degree == 1:
            unit = 1.0 if stage.paper_norm else _largest_spread(stage)
            return identity_form(stage, unit) or _diagonal(np.full(n_candidates, unit))
        if stage.all_products:
            return _diagonal(np.ones(n_candidates))
        if stage.degree == 2:
            # Pairs i < j stand for both orders, f_i f_j = (f_i f_j + f_j f_i) / 2, unless the
            # budget left out the products with f_i on the right.
            both = (stage.left != stage.right) & (stage.left <= stage.right.max(initial=0))
            return _diagonal(np.where(both, np.sqrt(0.5), 1.0))
        n_variables = stage.blocks[0].nonvanishing.shape[1]
        forms = products_of_forms(
            leading_forms(stage.blocks), n_variables, stage.degree, stage.left, stage.right
        )
        pivots, triangle = independent_columns(forms)
        # The rows of the triangle span the row space; each may be scaled on its own.
        rows = triangle / np.linalg.norm(triangle, axis=1, keepdims=True)
        subspace = qr(rows.T, mode="economic")[0][:, : len(pivots)]
        return replace(_diagonal(np.ones(n_candidates)), subspace=subspace)


def _largest_spread(stage: Stage) -> float:
    """Largest principal standard deviation of X; 1 if X is a single point up to rounding."""
    residual = stage.split[1]
    rms = stage.on_points.column_rms[stage.n_lower :]
    unit = np.max(rms)
    if unit == 0:
        return 1.0
    spread = float(np.linalg.norm(residual / unit, 2)) if residual.size else 0.0
    rounding = 64 * stage.on_points.relative_error * np.linalg.norm(rms / unit)
    return float(spread * unit) if spread > rounding else 1.0


def _diagonal(entries: FloatArray) -> Form:
    return Form(np.diag(entries), entries, EPS * entries)
