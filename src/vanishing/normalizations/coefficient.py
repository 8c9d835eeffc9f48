"""Unit coefficient vectors (Kera and Hasegawa, 2019)."""

from dataclasses import dataclass

from vanishing.normalizations.graded import columns_in_units, graded_form, is_ordinary
from vanishing.normalizations.normalization import Normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.polynomials.monomials import monomials


@dataclass(frozen=True)
class Coefficient(Normalization):
    """Dot product of the vectors of monomial coefficients.

    Coefficients of different degrees have different units, so that extents depend on the scale of
    the data: standardize it first. Which relations hold exactly does not depend on it.
    """

    def form(self, stage: Stage) -> Form:
        """Expand F and the candidates in the original variables."""
        variables, exponents = columns_in_units(stage)
        if is_ordinary(variables, exponents, stage.degree, homogeneous=False):
            _, coefficients = stage.expansion()
            return stage.form(coefficients)
        powers = monomials(stage.n_features, stage.degree).exponents
        return graded_form(stage, variables, exponents, -(powers @ exponents).astype(float))
