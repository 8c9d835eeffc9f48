"""What is known in the middle of a degree, and what a normalization makes of it.

F are the nonvanishing polynomials of lower degree, C the candidates: products C_pre made orthogonal
to F on X by C = C_pre - F L. A form on span(F ∪ C_pre) with factor M gives the form on C the factor
M T with T = [-L; I].
"""

from dataclasses import dataclass

import numpy as np

from vanishing.arrays.factorizations import norms
from vanishing.arrays.memory import BudgetError, as_text
from vanishing.arrays.namespace import Array, FloatArray, IntArray, lazy, move_to_numpy
from vanishing.construction.moments import MomentSource, Pass
from vanishing.construction.reductions import Factor
from vanishing.data.source import LARGEST, SampleSource
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluation import Evaluator
from vanishing.polynomials.expansion import Expansion
from vanishing.polynomials.monomials import count

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Combinations v of the candidates by coordinates of ordinary size, v = plain y.

    Parameters
    ----------
    plain : array of shape (n_candidates, n_directions)
        Orthogonal columns, in the units of the data: errors are small where y is.
    factor : array of shape (n_directions, n_directions)
        The size of v is ‖factor y‖ times 2**exponent. Rows may be of very different sizes, and each
        is known to a unit of its own rounding.
    exponent : int
    condition : float
        By how much rounding errors of the form exceed one unit.
    lost : int
        Number of independent directions whose coefficients are rounding errors.
    """

    plain: FloatArray
    factor: FloatArray
    exponent: int
    condition: float
    lost: int = 0


@dataclass(frozen=True, eq=False)
class Form:
    """A positive semidefinite form on the candidates, by a factor.

    Parameters
    ----------
    factor : array of shape (n_rows, n_candidates)
        B with ‖B v‖² the squared size of C v.
    scale : array of shape (n_candidates,)
        Size of what each column was computed from, before projection.
    error : array of shape (n_candidates,)
        Size of the rounding error of each column.
    subspace : array of shape (n_candidates, n_directions) or None
        Orthonormal directions to which v is restricted; None for all.
    terms : array of shape (n_candidates,) or None
        On the contrast, size of the terms of each column, those of its factors included.
    coordinates : Coordinates or None
        Where the factor alone would lose digits.
    """

    factor: FloatArray
    scale: FloatArray
    error: FloatArray
    subspace: FloatArray | None = None
    terms: FloatArray | None = None
    coordinates: Coordinates | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One degree after its pass over X, seen by a normalization.

    Parameters
    ----------
    n_features : int
    blocks : tuple of DegreeBlock
        The lower degrees.
    left, right : int arrays of shape (n_candidates,)
        The products that are the candidates.
    amplification : array of shape (n_candidates,)
        By how much the rounding errors in the values of each product exceed one unit: the
        nonvanishing polynomials that it multiplies are differences of larger terms.
    source, contrast : SampleSource
        X and, where there is one, Y.
    passes : Pass
        How to go over data.
    paper_norm : bool
        Whether the paper's convention for tolerances is in force.
    all_products : bool
        Whether the candidates are the paper's full list of products, repeats included.
    contrast_terms : tuple of arrays
        Per lower degree from 0, the size on the contrast of the terms of F.
    """

    n_features: int
    blocks: tuple[DegreeBlock, ...]
    left: IntArray
    right: IntArray
    amplification: FloatArray
    source: SampleSource
    contrast: SampleSource | None
    passes: Pass
    paper_norm: bool = False
    all_products: bool = False
    contrast_terms: tuple[FloatArray, ...] = (np.ones(1),)

    @property
    def degree(self) -> int:
        """The degree of the candidates."""
        return len(self.blocks) + 1

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return int(self.left.shape[0])

    @lazy
    def n_lower(self) -> int:
        """Number of nonvanishing polynomials of lower degree, the constant included."""
        return Evaluator(self.blocks).n_nonvanishing

    @lazy
    def on_points(self) -> Factor:
        """The factor of [F C_pre] on X."""
        factor = self.factor_on(self.source)
        if self.degree == 1:
            _check_sizes(factor.column_rms[1:], self.source.name)
        return factor

    @lazy
    def split(self) -> tuple[FloatArray, FloatArray]:
        """L, and the factor of the candidates on X."""
        return self.on_points.split(self.n_lower)

    def factor_on(self, source: SampleSource) -> Factor:
        """Reduce the values of [F C_pre] over the rows of a source.

        Parameters
        ----------
        source : SampleSource
            Any rows, as wide as X.

        Returns
        -------
        Factor
            A triangular one, with as many columns as [F C_pre].
        """
        if isinstance(source, MomentSource):
            return source.factor_with_candidates(
                self.blocks, self.left, self.right, self.amplification
            )
        return self.passes.factor_with_candidates(source, self.blocks, self.left, self.right)

    def values(self, x: Array) -> FloatArray:
        """Return the values of [F C_pre] on a few points.

        Parameters
        ----------
        x : array of shape (n_rows, n_features)
            All at once, so not many.

        Returns
        -------
        array of shape (n_rows, n_lower + n_candidates)
            One column for each polynomial.
        """
        evaluator = Evaluator(self.blocks)
        return move_to_numpy(evaluator.with_candidates(x, self.left, self.right)).T

    def expansion(self, *, in_z: bool = False) -> tuple[Expansion, FloatArray]:
        """Return coefficients of [F C_pre] on monomials.

        Parameters
        ----------
        in_z : bool, default=False
            Whether the monomials are those of z = F_1(x), from degree 2 on, instead of x.

        Returns
        -------
        expansion : Expansion
            Of F.
        coefficients : array of shape (n_monomials, n_lower + n_candidates)
        """
        n_variables = self.blocks[0].nonvanishing.shape[1] if in_z else self.n_features
        n_monomials = count(n_variables, self.degree)
        needed = 8 * n_monomials * (self.n_lower + 2 * self.n_candidates + n_variables)
        if needed > self.passes.memory_budget:
            raise BudgetError(
                f"degree {self.degree} needs the coefficients of {self.n_candidates} candidates on "
                f"{n_monomials} monomials, {as_text(needed)}, over the memory budget of "
                f"{as_text(self.passes.memory_budget)}; lower max_degree, set "
                "max_nonvanishing, choose a normalization that needs no coefficients "
                "('contrastive' or 'vca') or raise memory_budget"
            )
        expansion = Expansion(self.n_features, self.blocks, in_z=in_z)
        coefficients = np.zeros((n_monomials, self.n_lower + self.n_candidates))
        lower = expansion.nonvanishing(self.degree - 1)
        coefficients[: len(lower), : self.n_lower] = lower
        coefficients[:, self.n_lower :] = expansion.candidates(self.degree, self.left, self.right)
        return expansion, coefficients

    def form(self, matrix: FloatArray, relative_error: float | None = None) -> Form:
        """Make the form on C from a factor M of a form on [F C_pre].

        Parameters
        ----------
        matrix : array of shape (n_rows, n_lower + n_candidates)
            M, with ‖M p‖² the squared size of [F C_pre] p.
        relative_error : float, optional
            Of M, relative to the norms of its columns; rounding of float64 by default.

        Returns
        -------
        Form
            On the candidates, made orthogonal to F on X.
        """
        projection = self.split[0]
        lower, products = matrix[:, : self.n_lower], matrix[:, self.n_lower :]
        with np.errstate(over="ignore"):  # infinite sizes are reported where they are used
            scale = norms(products) + norms(lower) @ np.abs(projection)
        # L itself is known only to the accuracy of the pass over X.
        error = max(relative_error or EPS, self.on_points.relative_error)
        return Form(products - lower @ projection, scale, error * self.amplification * scale)


def _check_sizes(sizes: FloatArray, name: str) -> None:
    """Refuse data whose squares are out of the range of double precision.

    Polynomials of higher degree are made of those of degree 1, which have size 1.
    """
    largest = float(np.max(sizes))
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        large = "large" if largest > 1 else "small"
        raise ValueError(
            f"{name} holds numbers about {largest:.0e} in size, too {large} to be squared; rescale "
            "the data before fitting"
        )
