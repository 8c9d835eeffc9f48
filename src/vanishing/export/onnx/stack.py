"""Several bases in the same variables, padded to one shape and stacked.

A detector has an ideal for each piece of the data, thousands in all, of the same kind. Stacked, a
degree of all of them is one batched matrix product. Padding has matrices of zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vanishing._xp import BoolArray, FloatArray, IntArray
from vanishing.polynomials import DegreeBlock, PolynomialBasis
from vanishing.polynomials.evaluate import last_degree_with_vanishing


@dataclass(frozen=True, eq=False)
class Polynomials:
    """The vanishing polynomials of a basis, shifted and scaled: (g - center) · factor.

    Parameters
    ----------
    basis : PolynomialBasis
    centers, factors : arrays of shape (n_vanishing,)
    """

    basis: PolynomialBasis
    centers: FloatArray
    factors: FloatArray

    @classmethod
    def plain(cls, basis: PolynomialBasis) -> "Polynomials":
        """Return the polynomials as they are."""
        n_vanishing = basis.count()
        return cls(basis, np.zeros(n_vanishing), np.ones(n_vanishing))


@dataclass(frozen=True, eq=False)
class Combination:
    """Polynomials of all bases as matrix times terms plus bias.

    Parameters
    ----------
    matrix : array of shape (n_bases, n_polynomials, n_terms)
        The terms are the variables at degree 1, and F_1, ..., F_{t-1} and the products after that.
    bias : array of shape (n_bases, n_polynomials, 1)
    """

    matrix: FloatArray
    bias: FloatArray

    @classmethod
    def zero(cls, n_bases: int, n_polynomials: int, n_terms: int) -> "Combination":
        """Return polynomials that are all zero."""
        return cls(
            np.zeros((n_bases, n_polynomials, n_terms)), np.zeros((n_bases, n_polynomials, 1))
        )

    def write(
        self, j: int, columns: IntArray, on_candidates: FloatArray, on_lower: FloatArray
    ) -> None:
        """Set the polynomials (C_pre - F L) V of basis j; the columns are those of C_pre and F."""
        count = on_candidates.shape[1]
        self.bias[j, :count, 0] = -on_lower[0]  # what the constant 1 adds
        terms = np.zeros((self.matrix.shape[2], count))
        # Added, since the same variable may stand at several places.
        np.add.at(terms, columns, np.concatenate([on_candidates, -on_lower[1:]]))
        self.matrix[j, :count] = terms.T

    def shift_and_scale(self, j: int, centers: FloatArray, factors: FloatArray) -> None:
        """Replace the polynomials p of basis j by (p - center) · factor."""
        count = len(centers)
        self.bias[j, :count, 0] -= centers
        self.bias[j, :count, 0] *= factors
        self.matrix[j, :count] *= factors[:, None]


@dataclass(frozen=True, eq=False)
class StackedDegree:
    """One degree of all bases.

    Parameters
    ----------
    left, right : int arrays of shape (n_bases, n_products)
        Factors of the products, as rows of F_1 and F_{t-1} of all bases; empty at degree 1.
    nonvanishing, vanishing : Combination
    real : bool array of shape (n_bases, n_vanishing)
        Which of the vanishing polynomials are no padding.
    """

    left: IntArray
    right: IntArray
    nonvanishing: Combination
    vanishing: Combination
    real: BoolArray


def stacked(stack: Sequence[Polynomials]) -> list[StackedDegree]:
    """Stack bases, up to the last degree in which one of them has vanishing polynomials."""
    bases = [_needed(each.basis.blocks) for each in stack]
    widths: list[int] = []  # of F_1, F_2, ... with their padding
    degrees = []
    for t in range(max(map(len, bases))):
        present = [(j, blocks[t]) for j, blocks in enumerate(bases) if t < len(blocks)]
        n_products = max(block.n_candidates for _, block in present) if t else 0
        n_vanishing = max(block.vanishing.shape[1] for _, block in present)
        n_nonvanishing = max(block.nonvanishing.shape[1] for _, block in present)
        n_terms = sum(widths) + n_products if t else stack[0].basis.n_features
        degree = StackedDegree(
            left=np.zeros((len(stack), n_products), dtype=np.intp),
            right=np.zeros((len(stack), n_products), dtype=np.intp),
            nonvanishing=Combination.zero(len(stack), n_nonvanishing, n_terms),
            vanishing=Combination.zero(len(stack), n_vanishing, n_terms),
            real=np.zeros((len(stack), n_vanishing), dtype=np.bool_),
        )
        for j, block in present:
            columns = _columns(block, bases[j][:t], widths)
            degree.nonvanishing.write(j, columns, block.nonvanishing, block.nonvanishing_lower)
            degree.vanishing.write(j, columns, block.vanishing, block.vanishing_lower)
            start = sum(lower.vanishing.shape[1] for lower in bases[j][:t])
            own = slice(start, start + block.vanishing.shape[1])
            degree.vanishing.shift_and_scale(j, stack[j].centers[own], stack[j].factors[own])
            degree.real[j, : block.vanishing.shape[1]] = True
            if t:
                degree.left[j, : block.n_candidates] = block.left
                degree.right[j, : block.n_candidates] = block.right
        if t:
            # In F_1 and F_{t-1} of all bases together.
            degree.left[...] += widths[0] * np.arange(len(stack))[:, None]
            degree.right[...] += widths[-1] * np.arange(len(stack))[:, None]
        degrees.append(degree)
        widths.append(n_nonvanishing)
    return degrees


def _needed(blocks: Sequence[DegreeBlock]) -> list[DegreeBlock]:
    """Return the degrees that G depends on, the last of them without its F."""
    needed = list(blocks[: last_degree_with_vanishing(blocks)])
    return [*needed[:-1], *(replace(b, nonvanishing=b.nonvanishing[:, :0]) for b in needed[-1:])]


def _columns(block: DegreeBlock, lower: Sequence[DegreeBlock], widths: Sequence[int]) -> IntArray:
    """Return the places of a basis's candidates and F_1, ..., F_{t-1} among the terms."""
    if not lower:
        return block.left
    *starts, products = np.cumsum([0, *widths])
    counts = [each.nonvanishing.shape[1] for each in lower]
    places = [start + np.arange(count) for start, count in zip(starts, counts, strict=True)]
    return np.concatenate([products + np.arange(block.n_candidates), *places])
