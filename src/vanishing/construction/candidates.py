"""Which products F_1 × F_{t-1} become candidates (MATH §3).

The full list repeats itself. The leading form of f·h is the product of the leading forms, a form in
the variables z = F_1; a maximal set of products with independent leading forms is kept, and the
rest differs from it by polynomials of lower degree that F and the ideal already hold. The data is
not touched.
"""

from typing import Literal, NamedTuple

import numpy as np

from vanishing.arrays.memory import BudgetError, as_text
from vanishing.arrays.namespace import IntArray
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.expansion import leading_forms, products_of_forms
from vanishing.polynomials.monomials import count, independent_columns

Products = Literal["independent", "all"]


class Candidates(NamedTuple):
    """Pairs (left, right), and how many polynomials of the degree below were left out."""

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
) -> Candidates:
    """Choose the candidates of the degree after ``blocks``.

    Parameters
    ----------
    n_features : int
    blocks : tuple of DegreeBlock
    products : {"independent", "all"}
        Whether repeats are left out.
    uses_all_products : bool
        Whether the normalization needs the full list; exact repeats, f·h = h·f at degree 2, are
        left out all the same.
    memory_budget : int
        Bytes that the matrices of this choice and of the candidates may take. Above it only the
        polynomials of largest extent are multiplied further.
    """
    degree = len(blocks) + 1
    n_lower = 1 + sum(block.nonvanishing.shape[1] for block in blocks)
    if degree == 1:
        _check_budget(n_lower + n_features, degree, memory_budget)
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
        # pivoted QR keeps a copy
        forms = 2 * 8 * n_forms * n_pairs if reads_forms else 0
        return max(forms, _pair_bytes(n_lower + n_candidates)) <= memory_budget

    n_kept = n_last
    if not fits(n_last):
        feasible = [kept for kept in range(n_last) if fits(kept)]
        n_kept = feasible[-1] if feasible else 0
    if n_kept == 0 and n_last > 0:
        _check_budget(n_lower + n_first, degree, memory_budget)
        raise BudgetError(
            f"degree {degree} multiplies {n_first} by {n_last} polynomials over {n_forms} "
            f"leading monomials, which does not fit the memory budget of "
            f"{as_text(memory_budget)} even for one of them; lower max_degree, set "
            "max_nonvanishing or raise memory_budget"
        )
    left = np.repeat(np.arange(n_first), n_kept)
    right = np.tile(np.arange(n_kept), n_first)
    if degree == 2 and products == "independent":
        # z_i z_j = z_j z_i are the only repeats.
        first_order = (left <= right) | (left >= n_kept)
        left, right = left[first_order], right[first_order]
    elif prune:
        forms = products_of_forms(leading_forms(blocks), n_first, degree, left, right)
        chosen, _ = independent_columns(forms)
        left, right = left[chosen], right[chosen]
    return Candidates(left, right, n_last - n_kept)


def _pair_bytes(n_columns: int) -> int:
    """Memory in which the pair of a degree is solved: about 13 square matrices, as measured."""
    return 13 * 8 * n_columns**2


def _check_budget(n_columns: int, degree: int, memory_budget: int) -> None:
    if _pair_bytes(n_columns) > memory_budget:
        raise BudgetError(
            f"degree {degree} has {n_columns} columns, whose square matrices take "
            f"{as_text(_pair_bytes(n_columns))}, over the memory budget of "
            f"{as_text(memory_budget)}; reduce the number of features (for instance by "
            "PCA), lower max_degree, set max_nonvanishing or raise memory_budget"
        )
