"""Equations of most rows, whatever the rest does."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from vanishing import VanishingIdeal, load
from vanishing.construction.outliers import find_boundaries
from vanishing.datasets import make_variety
from vanishing.polynomials.monomials import monomials

DEGREES = {
    "lemniscate": 4,
    "cayley-cubic": 3,
    "viviani": 2,
    "nodal-cubic": 3,
    "axes": 2,
    "circle": 2,
}


def with_outliers(name, share, seed=0, n_samples=800, noise=0.0):
    """Standardized points and outliers in their bounding box, enlarged by half."""
    X = make_variety(name, n_samples, random_state=seed, noise=noise)
    rng = np.random.default_rng(seed + 100)
    low, high = X.min(axis=0), X.max(axis=0)
    n_outliers = round(n_samples * share / (1 - share))
    box = rng.uniform(-1.5, 1.5, size=(n_outliers, X.shape[1]))
    X = np.vstack([X, (low + high) / 2 + box * (high - low) / 2])
    return (X - X.mean(axis=0)) / X.std(axis=0), np.arange(len(X)) >= n_samples


def angle(found, true, degree):
    """Largest principal angle between spans of coefficients, in degrees."""
    table = monomials(found.n_features, degree)
    spans = []
    for basis in (found, true):
        exponents, coefficients = basis.expand()
        assert len(exponents) <= len(table)
        padded = np.zeros((len(table), coefficients.shape[1]))
        padded[: len(exponents)] = coefficients
        spans.append(padded)
    if spans[0].shape != spans[1].shape:
        return 90.0
    return np.degrees(subspace_angles(*spans).max())


class TestOutliers:
    @pytest.mark.parametrize("share", [0.05, 0.2])
    @pytest.mark.parametrize("name", sorted(DEGREES))
    def test_equations_are_those_of_the_other_rows(self, name, share):
        X, outlying = with_outliers(name, share)
        degree = DEGREES[name]
        robust = VanishingIdeal(max_degree=degree, tol="auto", robust=True).fit(X)
        true = VanishingIdeal(max_degree=degree, tol=0).fit(X[~outlying])
        assert angle(robust.basis_, true.basis_, degree) < 0.1
        assert not robust.inlier_mask_[outlying].any()
        assert robust.inlier_mask_[~outlying].all()

    def test_noise_and_outliers(self):
        X, outlying = with_outliers("cayley-cubic", 0.05, noise=0.01)
        robust = VanishingIdeal(max_degree=3, tol="auto", robust=True).fit(X)
        clean = VanishingIdeal(max_degree=3, tol="auto").fit(X[~outlying])
        assert robust.basis_.degrees().tolist() == [3]
        assert robust.noise_.level == pytest.approx(clean.noise_.level, rel=0.1)
        assert angle(robust.basis_, clean.basis_, 3) < 2
        assert robust.inlier_mask_[~outlying].mean() > 0.98

    @pytest.mark.parametrize("seed", range(3))
    def test_nothing_is_left_out_of_sound_rows(self, seed):
        X = make_variety("torus", 600, noise=0.01, random_state=seed)
        robust = VanishingIdeal(max_degree=4, tol="auto", robust=True).fit(X)
        assert robust.inlier_mask_.mean() > 0.98

    def test_rows_without_equations(self):
        X = np.random.default_rng(0).normal(size=(500, 3))
        robust = VanishingIdeal(tol="auto", robust=True).fit(X)
        assert robust.inlier_mask_.mean() > 0.7
        assert robust.basis_.count() == 0

    def test_chunks_and_weights(self):
        X, outlying = with_outliers("circle", 0.1)
        weights = np.random.default_rng(0).uniform(1, 2, size=len(X))
        whole = VanishingIdeal(tol="auto", robust=True).fit(X, sample_weight=weights)
        chunks = [X[:100], X[100:101], X[101:]]
        parts = VanishingIdeal(tol="auto", robust=True).fit(chunks, sample_weight=weights)
        np.testing.assert_array_equal(whole.inlier_mask_, ~outlying)
        np.testing.assert_array_equal(parts.inlier_mask_, ~outlying)
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)

    def test_saved(self, tmp_path):
        X, _ = with_outliers("circle", 0.1)
        ideal = VanishingIdeal(robust=True).fit(X)
        ideal.save(tmp_path / "model.vanishing")
        again = load(tmp_path / "model.vanishing")
        np.testing.assert_array_equal(again.inlier_mask_, ideal.inlier_mask_)

    def test_partial_fit_is_refused(self):
        with pytest.raises(ValueError, match="robust=True"):
            VanishingIdeal(robust=True).partial_fit(np.eye(3))

    @pytest.mark.parametrize("X", [np.eye(2), np.ones((5, 2)), np.zeros((1, 3))])
    def test_tiny_tables(self, X):
        assert VanishingIdeal(tol=0, robust=True).fit_transform(X).shape[0] == len(X)


def test_outliers_of_a_line_are_found_by_linear_polynomials():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    rows = np.column_stack([x, 2 * x + 1])
    rows[:20, 1] += 5.0
    boundaries = find_boundaries(rows, 1)
    inside = np.all([boundary.contains(rows) for boundary in boundaries], axis=0)
    np.testing.assert_array_equal(inside, np.arange(200) >= 20)
    np.testing.assert_array_equal(
        np.all([b.contains(1e6 * rows) for b in find_boundaries(1e6 * rows, 1)], axis=0),
        inside,
    )


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_outliers_do_not_depend_on_units(scale):
    X, outlying = with_outliers("circle", 0.2, n_samples=300)
    boundaries = find_boundaries(scale * X, 2)
    inside = np.all([boundary.contains(scale * X) for boundary in boundaries], axis=0)
    np.testing.assert_array_equal(inside, ~outlying)
    assert {boundary.degree for boundary in boundaries} == {2}


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_rows_far_along_a_curve_are_no_outliers_in_any_units(scale):
    """Most rows are close to a line, too, but only the parabola is close to all."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-0.2, 0.2, 340), rng.uniform(1, 2, 60)])
    rows = scale * np.column_stack([x, x**2])
    rows[:8, 1] += scale * rng.uniform(1, 2, 8)
    boundaries = find_boundaries(rows, 2)
    inside = np.all([boundary.contains(rows) for boundary in boundaries], axis=0)
    np.testing.assert_array_equal(inside, np.arange(400) >= 8)
