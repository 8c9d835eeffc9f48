"""The paper's normalization: root mean square on a second, contrasting set Y."""

from dataclasses import dataclass, replace

import numpy as np

from vanishing._xp import FloatArray
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage


@dataclass(frozen=True)
class Contrastive(Normalization):
    """𝔑(p, q) = Σ_y p(y) q(y) / n_Y (paper, Step 2).

    The extent of a polynomial is then its root mean square on X divided by that on Y: a pure
    number, whatever the units of the data.
    """

    needs_contrast = True

    def form(self, stage: Stage) -> Form:
        """Pass over Y."""
        assert stage.contrast is not None
        on_contrast = stage.factor_on(stage.contrast)
        form = stage.form(on_contrast.R, on_contrast.relative_error)
        # F may be small on Y without being small term by term: where all of it vanishes on Y, as
        # on a single point, its values there are rounding errors, and so are those of products.
        terms = _size_of_terms(stage, on_contrast.column_rms)
        return replace(
            form,
            scale=np.maximum(form.scale, terms),
            error=np.maximum(form.error, on_contrast.relative_error * terms),
            terms=terms,
        )


def _size_of_terms(stage: Stage, rms: FloatArray) -> FloatArray:
    """Size on Y of the terms of c = f h - Σ F L, where f and h have terms of their own."""
    of_lower = np.concatenate(stage.contrast_terms)
    of_products = rms[stage.n_lower :]
    if stage.degree > 1:
        first, last = stage.contrast_terms[1], stage.contrast_terms[-1]
        rms_first = rms[1 : 1 + len(first)]
        rms_last = rms[stage.n_lower - len(last) : stage.n_lower]
        of_products = np.maximum(
            rms_first[stage.left] * last[stage.right], first[stage.left] * rms_last[stage.right]
        )
    return np.asarray(of_products + of_lower @ np.abs(stage.split[0]))
