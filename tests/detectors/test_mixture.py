"""Weights on polynomials: the analytic gradient, the optimum, and the paper's descent."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.data import ArraySource
from vanishing.detectors import mixture
from vanishing.detectors.mixture import (
    LARGEST_WEIGHT,
    WeightProblem,
    descend,
    fit_linear_components,
    is_linear,
    minimize_convex,
)
from vanishing.detectors.score import negative_log_probability
from vanishing.transformations import RandomAffine


def problem(seed, n_clusters=1, smoothing=0.0, n_points=40):
    """Three transformations; the own deviations are smaller, but not always."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 3 * n_clusters)
    stops = np.concatenate([[0], np.cumsum(sizes)])
    slices = [slice(int(a), int(b)) for a, b in pairwise(stops)]
    squares = []
    for i in range(3):
        deviation = 1.5 * rng.standard_normal((n_points, stops[-1]))
        deviation[:, stops[i * n_clusters] : stops[(i + 1) * n_clusters]] *= 0.6
        squares.append(deviation**2)
    return WeightProblem(squares, slices, n_clusters, smoothing)


@given(
    seed=st.integers(0, 1000),
    n_clusters=st.integers(1, 3),
    smoothing=st.sampled_from([0.0, 1e-3, 0.5]),
)
def test_gradient_agrees_with_finite_differences(seed, n_clusters, smoothing):
    target = problem(seed, n_clusters, smoothing)
    u = np.random.default_rng(seed).uniform(0.1, 2, target.components[-1].stop)
    numerical = approx_fprime(u, lambda v: target.loss_and_gradient(v)[0], 1e-7)
    np.testing.assert_allclose(target.loss_and_gradient(u)[1], numerical, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_loss_is_the_mean_score(n_clusters, smoothing):
    target = problem(0, n_clusters, smoothing)
    u = np.random.default_rng(1).uniform(0, 2, target.components[-1].stop)
    total = 0.0
    for i, squares in enumerate(target.squares):
        deviations = np.stack([squares[:, s] @ u[s] for s in target.components], axis=1)
        own = slice(i * n_clusters, (i + 1) * n_clusters)
        total += negative_log_probability(deviations, own, smoothing).mean()
    assert target.loss_and_gradient(u)[0] == pytest.approx(total, rel=1e-12)


@given(seed=st.integers(0, 1000))
def test_loss_is_convex_for_one_piece(seed):
    target = problem(seed)
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 3, (2, target.components[-1].stop))
    middle = target.loss_and_gradient((a + b) / 2)[0]
    ends = (target.loss_and_gradient(a)[0] + target.loss_and_gradient(b)[0]) / 2
    assert middle <= ends + 1e-12


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize("seed", range(5))
def test_minimize_convex_equal_those_of_a_general_solver(seed):
    target = problem(seed)
    n = target.components[-1].stop
    general = minimize(
        lambda u: target.loss_and_gradient(u)[0],
        np.full(n, 0.5),
        method="trust-constr",
        bounds=[(0, LARGEST_WEIGHT)] * n,
        options={"gtol": 1e-9, "xtol": 1e-12, "maxiter": 3000},
    )
    ours = target.loss_and_gradient(minimize_convex(target))[0]
    assert ours == pytest.approx(general.fun, abs=1e-5)


def test_minimize_convex_do_at_least_as_well_as_descent():
    for seed in range(5):
        target = problem(seed, n_points=400)
        losses = [
            target.loss_and_gradient(u)[0]
            for u in (
                minimize_convex(target),
                descend(target),
                np.ones(target.components[-1].stop),
            )
        ]
        assert losses[0] <= losses[1] <= losses[2]


def test_penalty_drops_weights():
    target = problem(3, n_points=200)
    sums = [np.sum(minimize_convex(target, penalty=p)) for p in (0.0, 0.1, 1.0, 100.0)]
    assert sums == sorted(sums, reverse=True)
    assert sums[-1] == 0


def test_deviations_that_underflow_are_scored():
    """In log space: e^-5000 is zero as a number."""
    deviations = np.array([[5000.0, 5010.0], [0.0, 9000.0]])
    expected = [np.log1p(np.exp(-10)), 0.0]
    found = negative_log_probability(deviations, slice(0, 1), 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    smoothed = negative_log_probability(deviations, slice(0, 1), 1e-3)
    np.testing.assert_allclose(smoothed[0], np.log(2), rtol=1e-12)


def test_linear_ideals_do_not_depend_on_where_the_rows_are():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(3, 3)) * [1.0, 0.3, 0.01]
    copies = [rng.normal(size=(60, 3)) @ mixing + shift for shift in (0.0, 0.5)]
    ideal = VanishingIdeal(max_degree=1, tol=0.5, normalization="contrastive")
    rows = [np.arange(30), np.arange(30, 60)]
    for weights in (None, rng.integers(1, 4, 60).astype(float)):
        near, _ = fit_linear_components(copies, rows, ideal, weights)
        far, _ = fit_linear_components([copy + 1000.0 for copy in copies], rows, ideal, weights)
        for one, other in zip(near, far, strict=True):
            assert one is not None
            np.testing.assert_allclose(other.ideal.extents_, one.ideal.extents_, rtol=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        {"max_degree": 2},
        {"max_degree": None},
        {"tol": "gap"},
        {"tol_norm": "euclidean"},
        {"max_nonvanishing": 3},
        {"construction": "oavi"},
        {"normalization": "gradient"},
        {"reduction": "tsqr"},
    ],
)
def test_only_linear_ideals_of_gram_matrices_are_fitted_at_once(other):
    asked = {"max_degree": 1, "tol": 0.1, "normalization": "contrastive", "reduction": "gram"}
    assert is_linear(VanishingIdeal(**asked))
    assert not is_linear(VanishingIdeal(**asked | other))


def test_no_common_metric_where_the_contrast_is_flat():
    rng = np.random.default_rng(0)
    rows = [np.arange(30), np.arange(30, 60)]
    ideal = VanishingIdeal(max_degree=1, tol=0.5, normalization="contrastive")
    round_ = rng.normal(size=(60, 3))
    assert fit_linear_components([round_], rows, ideal, None)[1] is not None
    flat = round_ * [1.0, 1e-5, 0.0] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert fit_linear_components([flat], rows, ideal, None)[1] is None


def test_weights_of_many_rows_come_from_as_many_as_fit_into_memory(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    X[:, 1] = X[:, 0] ** 2 + 0.05 * np.random.default_rng(1).normal(size=400)
    sizes = []

    class Problem(mixture.WeightProblem):
        def __init__(self, squares, *rest):
            sizes.append((squares[0].shape, len(squares)))
            super().__init__(squares, *rest)

    monkeypatch.setattr(mixture, "WeightProblem", Problem)
    detector = TransformationDetector(RandomAffine(3), weighting="convex", random_state=0)
    detector.fit(X)
    (n_rows, n_polynomials), n_copies = sizes[0]
    assert n_rows == 400
    sizes.clear()
    budget = 16 * 100 * n_polynomials * n_copies
    detector.set_params(ideal=clone(mixture.DEFAULT_IDEAL).set_params(memory_budget=budget))
    detector.fit(X)
    assert sizes[0] == ((100, n_polynomials), n_copies)


def test_contrasts_of_many_rows_are_drawn(monkeypatch):
    """Clusters with equations of degree 2 are contrasted with some rows of all copies."""
    sizes = []

    class Watched(ArraySource):
        def __init__(self, array):
            super().__init__(array)
            sizes.append(len(array))

    monkeypatch.setattr(mixture, "ArraySource", Watched)
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    X[:, 1] = X[:, 0] ** 2
    ideal = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive")
    template = TransformationDetector(RandomAffine(3), ideal=ideal, n_components=2, random_state=0)
    detector = clone(template).fit(X)
    whole = detector.score_samples(X)
    assert max(sizes) == len(detector.transformations_) * 200
    sizes.clear()
    monkeypatch.setattr(mixture, "BLOCK", 150)
    drawn, same = (clone(template).fit(X).score_samples(X) for _ in range(2))
    assert max(sizes) == 150
    np.testing.assert_array_equal(drawn, same)
    assert np.corrcoef(drawn, whole)[0, 1] > 0.8
