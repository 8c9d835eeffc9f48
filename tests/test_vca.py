"""VCA(X, Y) under the paper's name is the estimator, and does what the paper states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import VanishingIdeal, vca
from vanishing.datasets import make_variety
from vanishing.ideal import ContrastError


def points(seed, n_rows=60, n_features=3):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


@given(seed=st.integers(0, 1000), degree=st.integers(1, 3))
def test_polynomials_are_small_on_x_and_have_size_one_on_y(seed, degree):
    """The paper's remark after Step 3: ‖g(Y)‖² / |Y| = 1 and ‖g(X)‖ at most ε."""
    X, Y = points(seed), points(seed + 1, 80)
    ideal = vca(X, Y, tol=0.7, max_degree=degree)
    on_x, on_y = ideal.transform(X), ideal.transform(Y)
    np.testing.assert_allclose(np.sqrt(np.mean(on_y**2, axis=0)), 1, rtol=1e-6)
    assert (np.sqrt(np.mean(on_x**2, axis=0)) <= 0.7 * (1 + 1e-9)).all()


def test_it_is_the_estimator_bit_for_bit():
    X, Y = make_variety("circle", 200, noise=0.01), points(0, 300, 2)
    ideal = vca(X, Y, tol=0.05, max_degree=3)
    assert isinstance(ideal, VanishingIdeal)
    same = VanishingIdeal(normalization="contrastive", tol=0.05, max_degree=3).fit(X, contrast=Y)
    np.testing.assert_array_equal(ideal.transform(Y), same.transform(Y))


def test_tol_is_epsilon_over_the_root_of_the_number_of_points():
    X, Y = make_variety("circle", 400, noise=0.01), points(0, 300, 2)
    paper = VanishingIdeal(normalization="contrastive", tol=0.4, tol_norm="euclidean")
    paper.fit(X, contrast=Y)
    np.testing.assert_array_equal(
        vca(X, Y, tol=0.4 / np.sqrt(len(X))).transform(Y), paper.transform(Y)
    )


def test_without_y_it_is_the_first_published_algorithm():
    X = make_variety("circle", 200)
    ideal = vca(X, tol=1e-9)
    assert ideal.normalization == "vca"
    assert ideal.basis_.count() == 1


def test_no_bound_on_the_degree_runs_until_nothing_is_left():
    """For ε = 0, F ends with as many polynomials as there are points."""
    X, Y = points(0, 7, 2), points(1, 100, 2)
    ideal = vca(X, Y, tol=0, max_degree=None)
    assert ideal.stop_reason_ == "exhausted"
    assert ideal.basis_.count("nonvanishing") == len(X)


def test_y_that_breaks_nothing_is_refused():
    X = make_variety("circle", 200)
    with pytest.raises(ContrastError, match="also vanishes on the contrast"):
        vca(X, X, tol=0)


def test_y_of_another_width_is_refused():
    with pytest.raises(ValueError, match="features"):
        vca(points(0), points(0, 10, 2))
