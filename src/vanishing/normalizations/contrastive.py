"""The paper's normalization: root mean square on a second, contrasting set Y."""

from dataclasses import dataclass

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
        return stage.form(on_contrast.R, on_contrast.relative_error)
