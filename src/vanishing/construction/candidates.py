"""The candidates of a degree: which products they are, and what is known of them on X.

F are the nonvanishing polynomials of lower degree, starting with the constant 1. The candidates of
degree t are products C_pre of F_1 and F_{t-1}, made orthogonal to F on X: C = C_pre - F L.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from vanishing.arrays.blocks import BudgetError, format_bytes
from vanishing.arrays.kernels import MANY_COLUMNS, norms
from vanishing.arrays.namespace import Array, FloatArray, IntArray, lazy, move_to_numpy
from vanishing.construction.passes import Factor, Pass
from vanishing.data.source import LARGEST, SampleSource
from vanishing.polynomials.evaluation import DegreeBlock, Evaluator
from vanishing.polynomials.monomials import (
    CANCELLED,
    Expansion,
    count,
    independent_columns,
    independent_products,
    leading_forms,
    multiply_forms,
)

# --- Which products become candidates -------------------------------------------------------------
#
# The full list of products F_1 × F_{t-1} is redundant: f·h = h·f, and z_1 (z_2 z_3) = z_2 (z_1
# z_3). The leading form of f·h in the variables z = F_1(x) is the product of the leading forms. A
# maximal set of products with linearly independent leading forms is kept; any other product differs
# from a combination of these by polynomials of lower degree, which F and the ideal already contain.
# So redundant products are found from coefficients alone, before anything is evaluated on the data.
# These coefficients have the rounding errors of the data that they were fitted to: in single
# precision z_1 (z_2 z_3) and z_2 (z_1 z_3) agree to seven digits, and their difference is not an
# equation of the data.

Products = Literal["independent", "all"]


class Candidates(NamedTuple):
    """Pairs (left, right) of factors, and how many polynomials of F_{t-1} were left out."""

    left: IntArray
    right: IntArray
    left_out: int


def choose_candidates(
    n_features: int,
    blocks: tuple[DegreeBlock, ...],
    *,
    products: Products,
    uses_all_products: bool,
    memory_budget: int,
    near: Array | None = None,
    error_of_forms: float = 0.0,
) -> Candidates:
    """Choose the candidates of the degree after ``blocks``, as many as there is memory for."""
    degree = len(blocks) + 1
    n_lower = 1 + sum(block.nonvanishing.shape[1] for block in blocks)
    if degree == 1:
        check_columns(n_lower + n_features, degree, memory_budget)
        return Candidates(np.arange(n_features), np.zeros(n_features, dtype=np.intp), 0)
    n_first, n_last = blocks[0].nonvanishing.shape[1], blocks[-1].nonvanishing.shape[1]
    prune = products == "independent" and not uses_all_products and degree > 2
    n_forms = count(n_first, degree) - count(n_first, degree - 1)
    reads_forms = degree > 2 and products == "independent"

    def fits(n_kept: int) -> bool:
        n_pairs = n_first * n_kept
        n_candidates = min(n_pairs, n_forms) if prune else n_pairs
        if degree == 2 and products == "independent":
            n_candidates = n_pairs - n_kept * (n_kept - 1) // 2
        # Twice, since pivoted QR keeps a copy.
        forms = 2 * 8 * n_forms * n_pairs if reads_forms else 0
        return max(forms, _count_bytes(n_lower + n_candidates)) <= memory_budget

    n_kept = n_last
    if not fits(n_last):
        feasible = [kept for kept in range(n_last) if fits(kept)]
        n_kept = feasible[-1] if feasible else 0
    if n_kept == 0 and n_last > 0:
        check_columns(n_lower + n_first, degree, memory_budget)
        raise BudgetError(
            f"degree {degree} multiplies {n_first} by {n_last} polynomials over {n_forms} "
            f"leading monomials, which does not fit the memory budget of "
            f"{format_bytes(memory_budget)} even for one of them; lower max_degree, set "
            "max_nonvanishing or raise memory_budget"
        )
    left = np.repeat(np.arange(n_first), n_kept)
    right = np.tile(np.arange(n_kept), n_first)
    if degree == 2 and products == "independent":
        # z_i z_j = z_j z_i are the only redundant products.
        first_order = (left <= right) | (left >= n_kept)
        left, right = left[first_order], right[first_order]
    elif prune:
        forms = leading_forms(blocks)[:, :n_kept]
        chosen = None
        if len(left) >= MANY_COLUMNS and 2 * left.nbytes * len(left) <= memory_budget:
            chosen = independent_products(forms, n_first, degree, near, error_of_forms)
        if chosen is None:
            multiplied = multiply_forms(forms, n_first, degree, left, right)
            chosen, _ = independent_columns(multiplied, error_of_forms)
        left, right = left[chosen], right[chosen]
    return Candidates(left, right, n_last - n_kept)


def _count_bytes(n_columns: int) -> int:
    """Return the memory that solving a degree takes: about 13 square matrices, as measured."""
    return 13 * 8 * n_columns**2


def check_columns(n_columns: int, degree: int, memory_budget: int) -> None:
    """Refuse a degree with more columns than there is memory for."""
    if _count_bytes(n_columns) > memory_budget:
        raise BudgetError(
            f"degree {degree} has {n_columns} columns, whose square matrices take "
            f"{format_bytes(_count_bytes(n_columns))}, over the memory budget of "
            f"{format_bytes(memory_budget)}; reduce the number of features (for instance by "
            "PCA), lower max_degree, set max_nonvanishing or raise memory_budget"
        )


# --- What a normalization sees of a degree, and what it returns -----------------------------------

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Combinations v of the candidates by coordinates y of ordinary size."""

    plain: FloatArray  # v = plain y; orthogonal columns
    factor: FloatArray  # v has the size ‖factor y‖ · 2**exponent
    exponent: int
    condition: float  # by how much the rounding errors of the form exceed eps
    lost: int = 0  # directions whose coefficients are rounding errors


@dataclass(frozen=True, eq=False)
class Form:
    """A positive semidefinite form on the candidates, by a factor.

    Parameters
    ----------
    factor : array of shape (n_rows, n_candidates)
        B with ‖B v‖² the squared size of C v.
    scale : array of shape (n_candidates,)
        Size of the terms that each column was computed from, before projection.
    error : array of shape (n_candidates,)
        Size of the rounding error of each column.
    subspace : array of shape (n_candidates, n_directions) or None
        Orthonormal directions to which v is restricted; None for all.
    terms : array of shape (n_candidates,) or None
        Size on the contrast of the terms of each column, those of its factors included.
    coordinates : Coordinates or None
        Given if the factor alone would lose digits.
    definite : bool
        Whether no polynomial of the candidates has size zero. One that seems to has lost the digits
        of its size; if it is zero on the points, it is a relation.
    """

    factor: FloatArray
    scale: FloatArray
    error: FloatArray
    subspace: FloatArray | None = None
    terms: FloatArray | None = None
    coordinates: Coordinates | None = None
    definite: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """One degree as a normalization sees it, after the pass over X.

    A form on span(F ∪ C_pre) with factor M gives the form on C the factor M T with T = [-L; I].

    Parameters
    ----------
    n_features : int
    blocks : tuple of DegreeBlock
        The lower degrees.
    left, right : int arrays of shape (n_candidates,)
        The factors of the candidates in F_1 and F_{t-1}.
    amplification : array of shape (n_candidates,)
        By how much the rounding errors in the values of each product exceed eps: its factors are
        differences of larger terms.
    source, contrast : SampleSource
        X and, if there is one, Y.
    passes : Pass
        How to pass over rows.
    paper_norm : bool
        Whether tolerances follow the paper's convention.
    all_products : bool
        Whether the candidates are the paper's full list of products.
    contrast_terms : tuple of arrays
        Per lower degree from 0, the size on the contrast of the terms of F.
    error_of_forms : float
        Bound on the relative errors of the leading forms of F_{t-1}.
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
    error_of_forms: float = 0.0

    #: Whether forms are those of C = C_pre - F L.
    projects: ClassVar[bool] = True

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
            check_sizes(factor.column_rms[1:], self.source.name)
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
            With as many columns as [F C_pre].
        """
        if isinstance(source, RecalledSource):
            return source.recall_factor(self)
        # Not the stage, which holds the data: the function may travel to the workers of a cluster.
        evaluator, left, right = Evaluator(self.blocks), self.left, self.right

        def values(x: Array) -> Array:
            return evaluator.with_candidates(x, left, right)

        return self.passes.factor(source, values, self.n_lower + self.n_candidates)

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

    def expansion(
        self, *, in_z: bool = False, exponents: IntArray | None = None
    ) -> tuple[Expansion, FloatArray]:
        """Return coefficients of [F C_pre] on monomials.

        Parameters
        ----------
        in_z : bool, default=False
            Whether the monomials are those of z = F_1(x), from degree 2 on, instead of x.
        exponents : int array of shape (n_features,), optional
            Whether the monomials are those of x / 2**exponents.

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
                f"{n_monomials} monomials, {format_bytes(needed)}, over the memory budget of "
                f"{format_bytes(self.passes.memory_budget)}; lower max_degree, set "
                "max_nonvanishing, choose products='independent' and a normalization that needs no "
                "coefficients ('contrastive' or 'vca'), or raise memory_budget"
            )
        variables = None
        if exponents is not None:
            variables = np.vstack([np.zeros(self.n_features), np.diag(np.ldexp(1.0, exponents))])
        expansion = Expansion(self.n_features, self.blocks, in_z=in_z, variables=variables)
        coefficients = np.zeros((n_monomials, self.n_lower + self.n_candidates))
        lower = expansion.nonvanishing(self.degree - 1)
        coefficients[: len(lower), : self.n_lower] = lower
        coefficients[:, self.n_lower :] = expansion.candidates(self.degree, self.left, self.right)
        return expansion, coefficients

    def coefficients(self) -> FloatArray:
        """Return the coefficients of C on monomials of z = F_1(x), from degree 2 on.

        Returns
        -------
        array of shape (n_monomials, n_candidates)
        """
        _, found = self.expansion(in_z=True)
        return np.asarray(found[:, self.n_lower :] - found[:, : self.n_lower] @ self.split[0])

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
        with np.errstate(over="ignore"):  # infinite sizes are reported later
            scale = norms(products) + norms(lower) @ np.abs(projection)
        # L itself is known only to the accuracy of the pass over X.
        error = max(relative_error or EPS, self.on_points.relative_error)
        return Form(products - lower @ projection, scale, error * self.amplification * scale)

    def form_on_contrast(self) -> Form:
        """Pass over the contrast, and return the form of mean squares there.

        Returns
        -------
        Form
        """
        assert self.contrast is not None
        on_contrast = self.factor_on(self.contrast)
        form = self.form(on_contrast.R, on_contrast.relative_error)
        # Values on Y may be small because terms cancel: if all of F vanishes on Y, as on a single
        # point, its values there are rounding errors, and so are those of products. Errors are
        # therefore relative to the terms, not to the values.
        terms = self._size_of_terms(on_contrast.column_rms)
        # L has the rounding errors of the products on X, also where it should be zero.
        of_lower = np.max(on_contrast.column_rms[: self.n_lower], initial=0.0)
        of_projection = self.on_points.column_rms[self.n_lower :] * of_lower
        error = on_contrast.relative_error * terms
        error = np.maximum(error, self.on_points.relative_error * of_projection)
        return replace(
            form,
            scale=np.maximum(form.scale, terms),
            error=np.maximum(form.error, error),
            terms=terms,
        )

    def _size_of_terms(self, rms: FloatArray) -> FloatArray:
        """Return the size on Y of the terms of c = f h - Σ F L; f and h have terms of their own."""
        of_lower = np.concatenate(self.contrast_terms)
        of_products = rms[self.n_lower :]
        if self.degree > 1:
            first, last = self.contrast_terms[1], self.contrast_terms[-1]
            rms_first = rms[1 : 1 + len(first)]
            rms_last = rms[self.n_lower - len(last) : self.n_lower]
            of_products = np.maximum(
                rms_first[self.left] * last[self.right], first[self.left] * rms_last[self.right]
            )
        return np.asarray(of_products + of_lower @ np.abs(self.split[0]))


class RecalledSource(SampleSource):
    """Points whose rows are gone: what a construction asks of them is known by a summary."""

    @abstractmethod
    def recall_factor(self, stage: Stage) -> Factor:
        """Return the factor of [F C_pre] on the points."""

    @abstractmethod
    def recall_gradients(self, stage: Stage) -> tuple[FloatArray, float]:
        """Return M with ‖M p‖² the mean of ‖∇p‖² for combinations p of [F C_pre], and its error."""

    @abstractmethod
    def recall_mean_squares(self, degree: int, exponents: IntArray) -> FloatArray:
        """Return the means of the squared monomials of x / 2**exponents up to ``degree``."""


def find_distinct_products(stage: Stage) -> FloatArray:
    """Choose candidates of which all others are combinations, up to polynomials that vanish on X.

    Some of all products are equal, and others nearly so: if f = z_1² - 1 + δ z_2², the products z_2
    f and z_1 (z_1 z_2) differ by lower degrees and δ z_2³. Such a difference is known to eps / δ
    only.

    Returns columns of the identity, shape (n_candidates, n_distinct), from degree 2 on.
    """
    error = max(stage.error_of_forms, CANCELLED)
    chosen, _ = independent_columns(stage.coefficients(), error)
    return np.eye(stage.n_candidates)[:, chosen]


def check_sizes(sizes: FloatArray, name: str) -> None:
    """Refuse data whose squares are out of the range of double precision."""
    largest = float(np.max(sizes))
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        large = "large" if largest > 1 else "small"
        raise ValueError(
            f"{name} holds numbers about {largest:.0e} in size, too {large} to be squared; rescale "
            "the data before fitting"
        )
