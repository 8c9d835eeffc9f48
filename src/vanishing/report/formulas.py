"""Equations of a detector as formulas, in the columns of the table where that can be read."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray
from vanishing._xp.lazy import lazy
from vanishing.anomaly.explain.affine import linear_part
from vanishing.anomaly.parts import Part
from vanishing.export.equation import TidyEquation
from vanishing.export.excerpt import is_quick
from vanishing.export.markup import Element
from vanishing.export.mathml import mathml_equation
from vanishing.export.sizes import DataScale, terms_that_count
from vanishing.export.tidy import tidy
from vanishing.export.writing import all_shortened
from vanishing.polynomials import AffineMap, PolynomialBasis
from vanishing.polynomials.monomials import count

#: Terms of a formula, at most.
MOST_TERMS = 14
#: Digits of the coefficients of tidied equations, at least.
DIGITS = 6
#: Formulas are in the columns unless these are so many times as many as the coordinates.
MOST_COLUMNS = 2
#: Letters of a name in a formula, which does not break inside of a name.
LONGEST_NAME = 24
#: Rows on which the sizes of terms are taken.
ROWS = 300
#: Rows that tell the noise of an equation, at most, and at least for each of its terms.
TIDIED_ROWS, ROWS_PER_TERM = 5000, 3


@dataclass(frozen=True, eq=False)
class Formula:
    """One equation.

    Parameters
    ----------
    element : Element
        The formula.
    usual : float
        How far off it usually is on normal data, in the same units.
    n_left_out : int
        Terms for which dots stand.
    """

    element: Element
    usual: float
    n_left_out: int


@dataclass(frozen=True, eq=False)
class Formulas:
    """The equations of one part of a detector.

    Parameters
    ----------
    part : Part
    rows : array of shape (n_rows, n_features)
        Normal rows, on which the sizes of terms are taken.
    names : tuple of str
        Of the features.
    center, scale : arrays of shape (n_features,)
        Mean and spread of the training data.
    """

    part: Part
    rows: FloatArray
    names: tuple[str, ...]
    center: FloatArray
    scale: FloatArray

    @lazy
    def _seen(self) -> FloatArray:
        """Some rows as the equations see them."""
        step = max(1, len(self.rows) // ROWS)
        return np.asarray(self.part.coordinates(self.rows[::step]), dtype=np.float64)

    @lazy
    def _affine(self) -> AffineMap | None:
        """The map from features to coordinates, where it is to be used."""
        if len(self.names) > MOST_COLUMNS * self._seen.shape[1]:
            return None
        try:
            matrix = linear_part(self.part.coordinates, self.center, self.scale)
            middle = self.part.coordinates(self.center[None, :])[0]
            found = AffineMap(matrix, middle - matrix @ self.center, self.center)
            found.preimage(middle)
        except ValueError:  # a preprocessor that is not affine, or not onto
            return None
        return found

    @lazy
    def _short_names(self) -> list[str]:
        return all_shortened(self.names, LONGEST_NAME)

    @property
    def in_columns(self) -> bool:
        """Whether formulas are in the columns of the table, or else in coordinates u1, u2, ..."""
        return self._affine is not None

    @lazy
    def tidied(self) -> list[TidyEquation]:
        """The equations as short as the noise allows, of one ideal in the columns themselves.

        None where there are too few rows that keep them to tell the noise.
        """
        if self.part.name != "ideal" or len(self.part.ideals) != 1:
            return []
        basis = self.part.ideals[0].basis_
        rows = self.rows[:: max(1, len(self.rows) // TIDIED_ROWS)]
        if len(rows) < ROWS_PER_TERM * count(basis.n_features, len(basis.blocks)):
            return []
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.sqrt(np.mean(basis.evaluate(rows) ** 2, axis=0))
        if not (off <= 2 * self.part.typical[0]).all():
            return []
        try:
            return tidy(basis, rows)
        except ValueError:  # too many terms, or too large ones
            return []

    def _tidied_formula(self, index: int) -> Formula | None:
        if not self.tidied or len(self.tidied[index].coefficients) > MOST_TERMS:
            return None
        equation = self.tidied[index]
        written = mathml_equation(
            equation.exponents,
            [float(c) for c in equation.coefficients],
            self._short_names,
            digits=max(DIGITS, equation.digits),
            relation="≈ 0",
        )
        return Formula(written, equation.extent, 0)

    def formula(self, piece: int, index: int) -> Formula | None:
        """Return one equation, or None if it has too many terms, or too large ones, for that.

        Parameters
        ----------
        piece, index : int
            The polynomial ``index`` of ``part.ideals[piece]``.
        """
        tidied = self._tidied_formula(index)
        if tidied is not None:
            return tidied
        basis = self.part.ideals[piece].basis_
        basis = basis.restricted(np.arange(basis.count()) == index)
        degree = int(basis.degrees()[0])
        basis = PolynomialBasis(basis.n_features, basis.blocks[:degree])
        rows, names = self._seen, [f"u{k + 1}" for k in range(basis.n_features)]
        if self._affine is not None:
            basis = basis.composed_with(self._affine)
            rows, names = self.rows[:: max(1, len(self.rows) // ROWS)], self._short_names
        if not is_quick(basis, degree):
            return None
        exponents, coefficients = basis.expand()
        scale = DataScale(rows)
        sizes = scale.sizes(degree)
        if sizes is None:  # data of such a size that its squares overflow
            return None
        p = coefficients[:, 0].copy()
        p[0] -= self.part.centers[piece][index]
        usual = float(self.part.typical[piece][index])
        leading = 1 + int(np.argmax(np.abs(p[1:]) * sizes[1:]))
        if p[leading] == 0:  # nothing but rounding
            return None
        span, usual = (each / abs(float(p[leading])) for each in (scale.spans(basis)[0], usual))
        p = p / p[leading]
        kept, digits = terms_that_count(p, sizes, span=span, extent=usual)
        order = np.argsort(kept[:MOST_TERMS])
        shown = kept[order]
        left_out = len(kept) - len(shown)
        first = shown[np.argmax(exponents[shown].sum(axis=1))]
        p = p * np.sign(p[first])  # the sign is free, and a formula does not begin with a minus
        equation = mathml_equation(
            exponents[shown],
            p[shown].tolist(),
            names,
            digits=digits[order].tolist(),
            n_left_out=left_out,
            relation="≈ 0",
        )
        return Formula(equation, usual, left_out)
