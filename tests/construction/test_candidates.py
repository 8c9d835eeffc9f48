"""Products without repeats: independent leading forms, chosen the same way every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import KNOWN_IDEALS, NORMALIZATIONS, counts, fit

from vanishing import VanishingIdeal
from vanishing.arrays.blocks import BudgetError
from vanishing.construction.candidates import choose_candidates
from vanishing.polynomials.monomials import (
    independent_columns,
    independent_products,
    leading_forms,
    multiply_forms,
)


@given(
    seed=st.integers(0, 2**32 - 1),
    rank=st.integers(1, 6),
    extra=st.integers(0, 6),
    spread=st.integers(0, 6),
)
def test_independent_columns_are_a_basis_of_the_column_space(seed, rank, extra, spread):
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((10, rank))
    matrix = basis @ rng.standard_normal((rank, rank + extra))
    matrix *= 10.0 ** rng.uniform(-spread / 2, spread / 2, rank + extra)
    chosen, triangle = independent_columns(matrix)
    assert len(chosen) == rank == triangle.shape[0]
    kept = matrix[:, chosen] / np.linalg.norm(matrix[:, chosen], axis=0)
    assert np.linalg.matrix_rank(kept) == rank
    # the triangle spans the row space
    joint = np.vstack([triangle, matrix])
    assert np.linalg.matrix_rank(joint / np.linalg.norm(joint, axis=0), tol=1e-9) == rank


def test_ties_go_to_the_lower_index():
    identity = np.eye(4)
    matrix = np.hstack([identity, identity[:, ::-1]]) * (1 + 1e-13 * np.arange(8))
    np.testing.assert_array_equal(independent_columns(matrix)[0], [0, 1, 2, 3])


def test_degree_two_has_each_pair_once():
    X = np.random.default_rng(0).standard_normal((100, 5))
    block = VanishingIdeal(tol=0.0).fit(X).basis_.blocks[1]
    pairs = list(zip(block.left.tolist(), block.right.tolist(), strict=True))
    assert pairs == [(i, j) for i in range(5) for j in range(i, 5)]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_generic_points_have_as_many_candidates_as_monomials(normalization):
    X = np.random.default_rng(1).standard_normal((300, 3))
    ideal = fit(X, normalization, tol=0.0, max_degree=4)
    assert [step.rank for step in ideal.trace_] == [3, 6, 10, 15]


@pytest.mark.parametrize("known", KNOWN_IDEALS, ids=lambda k: k.name)
@pytest.mark.parametrize("normalization", [n for n in NORMALIZATIONS if n != "vca"])
def test_all_products_find_the_same_nonvanishing_counts(known, normalization):
    few = fit(known.points, normalization, tol=0.0, max_degree=known.max_degree)
    full = fit(known.points, normalization, tol=0.0, max_degree=known.max_degree, products="all")
    assert [f for _, f in counts(few)] == [f for _, f in counts(full)]
    assert all(a.candidates <= b.candidates for a, b in zip(few.trace_, full.trace_, strict=True))


@pytest.mark.filterwarnings("ignore:the memory budget")
def test_budget_caps_the_products_and_says_so():
    X = np.random.default_rng(2).standard_normal((400, 8))
    free = VanishingIdeal(max_degree=3, tol=0.0).fit(X)
    assert all(step.left_out == 0 for step in free.trace_)
    tight = VanishingIdeal(max_degree=3, tol=0.0, memory_budget=2**19).fit(X)
    assert tight.trace_[-1].left_out > 0
    assert tight.trace_[-1].candidates < free.trace_[-1].candidates


def test_budget_below_everything_is_refused_with_numbers():
    X = np.random.default_rng(3).standard_normal((50, 30))
    with pytest.raises(
        BudgetError, match=r"degree 1 has 31 columns.* 97.6 KiB, .* 9.77 KiB.*memory_budget"
    ):
        VanishingIdeal(memory_budget=10_000).fit(X)


def near_torch():
    return pytest.importorskip("torch").zeros(1, dtype=pytest.importorskip("torch").float64)


@pytest.mark.parametrize("place", [lambda: None, near_torch], ids=["processor", "torch"])
@pytest.mark.parametrize("relations", [0, 1, 3])
def test_products_are_chosen_as_by_pivoted_qr(place, relations):
    rng = np.random.default_rng(relations)
    X = rng.normal(size=(500, 6))
    for k in range(relations):
        X[:, k] = X[:, k + 1] * X[:, k + 2]
    blocks = VanishingIdeal(max_degree=2, tol=1e-6).fit(X).basis_.blocks
    forms = leading_forms(blocks)
    n_variables, n_forms = blocks[0].nonvanishing.shape[1], forms.shape[1]
    left, right = np.repeat(np.arange(n_variables), n_forms), np.tile(range(n_forms), n_variables)
    expected, _ = independent_columns(multiply_forms(forms, n_variables, 3, left, right))
    found = independent_products(forms, n_variables, 3, place())
    np.testing.assert_array_equal(found, expected)


def test_products_that_nearly_depend_on_others_are_left_to_pivoted_qr():
    forms = np.eye(3)
    forms[:, 2] = [1.0, 0.0, 1e-6]
    assert independent_products(forms, 2, 3) is None


@pytest.mark.parametrize("error", [1e-6, 1e-3])
def test_products_are_no_more_independent_than_the_errors_of_forms(error):
    """Both ways of choosing see the same products as without errors."""
    exact = np.eye(6)  # all quadratic forms of three variables
    forms = exact * (1 + error * np.random.default_rng(0).uniform(-1, 1, 6))
    forms += error * np.random.default_rng(1).uniform(-0.1, 0.1, (6, 6))
    left, right = np.repeat(np.arange(3), 6), np.tile(range(6), 3)
    assert len(independent_columns(multiply_forms(forms, 3, 3, left, right))[0]) == 10
    rough = forms[:, [1, 2, 4]]  # without squares: 9 products, 7 of which are distinct
    left, right = np.repeat(np.arange(3), 3), np.tile(range(3), 3)
    products = multiply_forms(rough, 3, 3, left, right)
    assert len(independent_columns(products)[0]) == 9
    chosen, _ = independent_columns(products, 4 * error)
    assert len(chosen) == 7
    np.testing.assert_array_equal(independent_products(rough, 3, 3, error=4 * error), chosen)


def test_all_products_need_no_memory_for_leading_forms():
    X = np.random.default_rng(0).standard_normal((22, 20))
    blocks = VanishingIdeal(tol=0, max_degree=2).fit(X).basis_.blocks
    assert [block.nonvanishing.shape[1] for block in blocks] == [20, 1]
    budget = 300_000  # enough for 20 products, but not for the 1540 monomials of their forms
    options = {"uses_all_products": False, "memory_budget": budget}
    chosen = choose_candidates(20, blocks, products="all", **options)
    assert (len(chosen.left), chosen.left_out) == (20, 0)
    with pytest.raises(BudgetError, match="1540 leading monomials"):
        choose_candidates(20, blocks, products="independent", **options)


@pytest.mark.parametrize("seed", range(4))
def test_all_products_beside_a_contrast_much_wider_than_the_points(seed):
    """Equations of low degree are small there; F must not be made of large multiples of them."""
    rng = np.random.default_rng(seed)
    plane = rng.integers(-5, 6, (29, 2))
    X = np.column_stack([plane, np.sum(plane**2, axis=1)])  # on a paraboloid
    Y = rng.integers(-9, 10, (60, 3)) * np.array([6e6, 6e6, 5e7])
    found, expected = (
        VanishingIdeal(max_degree=4, tol=0, **options)
        for options in ({"normalization": "contrastive", "products": "all"}, {})
    )
    steps = zip(found.fit(X, contrast=Y).trace_, expected.fit(X).trace_, strict=True)
    for step, other in steps:
        assert (step.nonvanishing, step.undecided) == (other.nonvanishing, 0)
