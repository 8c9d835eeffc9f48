"""Unit coefficient vectors (Kera and Hasegawa, 2019)."""

from dataclasses import dataclass

from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage


@dataclass(frozen=True)
class Coefficient(Normalization):
    """Dot product of the vectors of monomial coefficients.

    Coefficients of different degrees have different units, so that results depend on the scale of
    the data: standardize it first.
    """

    def form(self, stage: Stage) -> Form:
        """Expand F and the candidates in the original variables."""
        _, coefficients = stage.expansion()
        return stage.form(coefficients)
