"""Hard cases, each of which once went wrong in some implementation."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from tests.support.cases import NORMALIZATIONS, counts, fit

from vanishing import VanishingIdeal


def test_tied_extents_do_not_make_results_depend_on_row_order():
    """Whitened data: all extents of degree 1 are equal, and products of any rotation differ."""
    X = PCA(5, whiten=True, random_state=0).fit_transform(load_digits().data / 16)
    there = VanishingIdeal(max_degree=3, tol=0.4).fit(X)
    back = VanishingIdeal(max_degree=3, tol=0.4).fit(X[::-1])
    assert counts(there) == counts(back)
    np.testing.assert_allclose(back.extents_, there.extents_, rtol=1e-9)
    np.testing.assert_allclose(back.transform(X), there.transform(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_contrast", [3, 4])
def test_contrast_of_few_points_does_not_make_results_depend_on_row_order(n_contrast):
    """Unbounded and dropped directions are as arbitrary as tied ones."""
    rng = np.random.default_rng(n_contrast)
    X = rng.standard_normal((100, 3))
    X = X / np.linalg.norm(X, axis=1, keepdims=True) + 0.01 * rng.standard_normal(X.shape)
    Y, new = 2 * rng.standard_normal((n_contrast, 3)), rng.standard_normal((20, 3))
    there, back = (fit(x, "contrastive", contrast=Y, tol=0.1, max_degree=3) for x in (X, X[::-1]))
    assert sum(step.unbounded for step in there.trace_) > 0
    assert counts(there) == counts(back)
    np.testing.assert_allclose(back.transform(new), there.transform(new), rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore::vanishing.ideal.FragileWarning")  # in single precision
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize(
    ("dtype", "offset"), [(np.float64, 3e4), (np.float64, 1e6), (np.float32, 100)]
)
def test_exact_relation_far_from_the_origin(normalization, dtype, offset):
    """Rounding errors of degree 1 are carried into the products: (x - a)(y - a) = 0 holds."""
    t = np.arange(-16, 17) / 16
    cross = np.vstack([np.column_stack([2 * t, 0 * t]), np.column_stack([0 * t, t])])
    X = (cross + offset).astype(dtype)
    contrast = X[:, ::-1] + np.random.default_rng(0).standard_normal(X.shape).astype(dtype)
    contrast = contrast if normalization == "contrastive" else None
    ideal = fit(X, normalization, contrast=contrast, tol=0.0)
    assert counts(ideal) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(("degree", "tol"), [(22, 0.0095), (34, 0.005)])
def test_gradient_keeps_its_promise_at_high_degree(degree, tol):
    """Monomials of such degrees nearly depend on each other; orthogonal polynomials do not."""
    X = np.linspace(-1, 1, 2000)[:, None]
    ideal = VanishingIdeal(max_degree=degree, tol=tol).fit(X)
    assert ideal.basis_.degrees().tolist() == [degree]
    size = np.sqrt(np.mean(ideal.basis_.jacobian(X) ** 2))
    assert size == pytest.approx(1, abs=1e-10)


def test_gap_is_not_fooled_by_an_exact_relation_beside_a_noisy_one():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 200)
    X = np.column_stack([t, 2 * t + 1e-4 * rng.standard_normal(200), np.ones(200)])
    assert counts(VanishingIdeal(tol="gap", max_degree=1).fit(X)) == [(2, 1)]


def test_gap_lets_a_degree_vanish_as_a_whole():
    """Two noisy points on a line: one candidate at degree 2, to be judged by degree 1."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (200, 1)) + 1e-4 * rng.standard_normal((200, 1))
    ideal = VanishingIdeal(tol="gap", max_degree=None).fit(X)
    assert counts(ideal) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("coarse_first", [True, False])
def test_chunks_of_mixed_precision_count_as_the_coarser(coarse_first):
    angle = np.random.default_rng(2).uniform(0, 6, 100)
    ellipse = np.column_stack([3 * np.cos(angle), np.sin(angle)])
    chunks = [ellipse[:50].astype(np.float32), ellipse[50:]]
    ideal = VanishingIdeal(tol=0.0).fit(chunks if coarse_first else chunks[::-1])
    assert counts(ideal) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_large_numbers_in_single_precision_do_not_overflow_unseen(normalization):
    X = 3e6 * np.random.default_rng(3).standard_normal((50, 2))
    exact = fit(X, normalization, tol=0.0, max_degree=4)
    single = fit(X.astype(np.float32), normalization, tol=0.0, max_degree=4)
    assert [f for _, f in counts(single)] == [f for _, f in counts(exact)] == [2, 3, 4, 5]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_numbers_too_large_to_square_are_refused(normalization):
    X = 1e160 * np.random.default_rng(4).standard_normal((50, 2))
    with pytest.raises(ValueError, match=r"X.* too large .*rescale"):
        fit(X, normalization, contrast=X[:5] if normalization == "contrastive" else None)


def test_vca_counts_pairs_that_the_budget_left_in_one_order():
    """With f_1 .. f_k on the right only, f_i f_j with i > k occurs once: its weight is 1."""
    X = np.random.default_rng(5).standard_normal((300, 6)) * [1, 0.9, 0.8, 0.7, 0.6, 0.5]
    with pytest.warns(UserWarning, match="left out products"):
        ideal = VanishingIdeal(normalization="vca", tol=0.0, memory_budget=43_334).fit(X)
    F = ideal.basis_.evaluate(X, which="nonvanishing")[:, :7]  # 1, f_1 .. f_6
    n_kept = 6 - ideal.trace_[1].left_out
    assert 1 < n_kept < 6
    columns = []
    for i in range(6):
        for j in range(n_kept):
            if i == j or i >= n_kept:
                columns.append(F[:, 1 + i] * F[:, 1 + j])
            elif i < j:  # the unit vector between both orders
                columns.append(np.sqrt(2) * F[:, 1 + i] * F[:, 1 + j])
    C = np.column_stack(columns)
    C -= F @ np.linalg.lstsq(F, C, rcond=None)[0]
    expected = np.sort(np.linalg.svd(C, compute_uv=False)) / np.sqrt(300)
    np.testing.assert_allclose(ideal.trace_[1].spectrum, expected, rtol=1e-9)


def test_expanding_hands_out_copies():
    angle = np.linspace(0, 6, 40)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    ideal = VanishingIdeal(tol=0.0).fit(circle)
    exponents, coefficients = ideal.basis_.expand()
    exponents[:], coefficients[:] = 0, 0
    assert counts(VanishingIdeal(tol=0.0).fit(circle)) == [(0, 2), (1, 2)]
    assert ideal.basis_.expand()[0].any()
    assert ideal.basis_.expand()[1].any()


# Which of the polynomials of degree 3 vanish is hidden by rounding.
@pytest.mark.filterwarnings("ignore::vanishing.ideal.UndecidedWarning")
@pytest.mark.filterwarnings("ignore::vanishing.ideal.FragileWarning")
@pytest.mark.parametrize("seed", [71, 5288])
def test_size_holds_where_rounding_is_large(seed):
    """Nearly flat data far from the origin, fewer rows than candidates (found by search)."""
    rng = np.random.default_rng(seed)
    n_features, n_samples = int(rng.integers(1, 5)), int(rng.integers(1, 61))
    rank = int(rng.integers(1, n_features + 1))
    X = rng.standard_normal((n_samples, rank)) @ rng.standard_normal((rank, n_features))
    if rng.random() < 0.5:
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X + rng.choice([0, 1e-3]) * rng.standard_normal(X.shape)
    Y = rng.standard_normal((int(rng.integers(20, 81)), n_features))
    offset = rng.choice([0, 1, 30.0])
    ideal = fit(X + offset, "contrastive", contrast=Y + offset, tol=0.0, max_degree=3)
    # All of degree 3 have a size on the contrast, even if the errors on X are larger.
    assert all(step.dropped == 0 for step in ideal.trace_)
    size = np.sqrt(np.mean(ideal.transform(Y + offset) ** 2, axis=0))
    condition = max(step.condition for step in ideal.trace_)
    assert np.abs(size - 1).max() <= max(1e-10, 100 * np.finfo(float).eps * condition)
    assert np.abs(size - 1).max() < 1e-4
