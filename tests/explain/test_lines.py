"""Equations along lines: the same as evaluated point by point, and far fewer evaluations."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.explain.test_explain import BROKEN, NORMAL, VIEWS, sensors, view_and_coordinates
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors.mixture import scale_component
from vanishing.detectors.score import ClusterView
from vanishing.explain.attribution import Changes
from vanishing.explain.view import Bundle, Component
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.evaluation import vanishing_along_lines

# --- polynomials ---------------------------------------------------------------------------------


@cache
def basis(normalization, max_degree):
    """Of points near a circle in a tilted plane."""
    rng = np.random.default_rng(3)
    angles = rng.uniform(0, 2 * np.pi, 40)
    X = np.column_stack([np.cos(angles), np.sin(angles), np.cos(angles) + np.sin(angles)])
    X += 0.01 * rng.standard_normal(X.shape)
    return fit(X, normalization, max_degree=max_degree, tol=0.1).basis_


@pytest.mark.parametrize("max_degree", [1, 2, 4])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**16),
    meet=st.booleans(),
    sparse=st.booleans(),
    length=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_coefficients_are_those_of_the_values(
    normalization, max_degree, seed, meet, sparse, length
):
    polynomials = basis(normalization, max_degree)
    assert polynomials.count()
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1 if meet else 5, 3))
    directions = length * rng.standard_normal((5, 3)) * rng.integers(0, 2, (5, 3))
    given_as = csr_array(directions) if sparse else directions
    coefficients = vanishing_along_lines(polynomials.blocks, x, given_as)
    assert len(coefficients) == polynomials.degrees().max() + 1
    assert coefficients[0].shape == (polynomials.count(), len(x))
    np.testing.assert_allclose(coefficients[0].T, polynomials.evaluate(x), rtol=1e-9, atol=1e-12)
    for t in (0.5 / length, -2.0 / length):
        powers = [c * t**k for k, c in enumerate(coefficients)]
        size = 1 + np.abs(polynomials.evaluate(x + t * directions)).max()
        expected = polynomials.evaluate(x + t * directions).T
        np.testing.assert_allclose(sum(powers), expected, rtol=0, atol=1e-10 * size)


def test_coefficients_of_very_different_sizes():
    """Values at any points of a line this long would have lost the lower powers."""
    circle = VanishingIdeal(max_degree=2, tol=1e-9).fit(
        np.column_stack([np.cos(np.arange(9.0)), np.sin(np.arange(9.0))])
    )
    constant, slope, square = vanishing_along_lines(
        circle.basis_.blocks, np.array([[3.0, 0.0]]), np.array([[1e100, 0.0]])
    )
    # A multiple of x² + y² - 1 at x = 3 + 10¹⁰⁰ t.
    np.testing.assert_allclose(slope / constant, 6e100 / 8)
    np.testing.assert_allclose(square / constant, 1e200 / 8)


# --- deviations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEWS.keys())
@settings(max_examples=8)
@given(seed=st.integers(0, 2**16), size=st.floats(0.1, 5.0))
def test_deviations_of_views_along_lines(name, seed, size):
    view, coordinates = view_and_coordinates(name)
    rng = np.random.default_rng(seed)
    z = coordinates(size * rng.standard_normal((4, NORMAL.shape[1])))
    directions = size * rng.standard_normal(z.shape)
    which, t = np.array([3, 0, 0]), rng.uniform(-1, 1, (3, 5))
    found = view.lines(directions)(z, np.arange(4))(which, t)
    points = (z[which, None] + t[:, :, None] * directions[which, None]).reshape(-1, z.shape[1])
    np.testing.assert_allclose(found, view.deviations(points), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(view.contribution(found), view.contributions(points), atol=1e-7)
    sparse = view.lines(csr_array(directions))(z, np.arange(4))(which, t)
    np.testing.assert_allclose(sparse, found, rtol=1e-8, atol=1e-12)
    from_one = view.lines(csr_array(directions))(z[:1], np.arange(4))(which, t)
    points = (z[:1, None] + t[:, :, None] * directions[which, None]).reshape(-1, z.shape[1])
    np.testing.assert_allclose(from_one, view.deviations(points), rtol=1e-8, atol=1e-12)


def test_small_deviations_beside_large_coefficients():
    """Squares that were multiplied out would be off by 10⁴ here."""
    ideal = fit(np.outer(np.linspace(-1, 1, 9), [1.0, 1.0]), "vca", max_degree=1, tol=1e-9)
    component = Component(ideal, np.zeros(1), np.ones(1), np.ones(1))
    along = Bundle([component], np.array([[-1e10, 1.0]])).through(
        np.array([[1e10, 0.0]]), np.array([0])
    )
    expected = ideal.basis_.evaluate(np.array([[0.0, 1.0]]))[0] ** 2
    np.testing.assert_allclose(along(np.array([0]), np.array([[1.0]])), [expected], rtol=1e-4)


def test_nothing_is_near_a_cluster_that_has_lost_its_equations():
    full = basis("vca", 2)
    ideal, empty = VanishingIdeal(), VanishingIdeal()
    ideal.basis_, empty.basis_ = full, full.restrict(np.zeros(full.count(), dtype=bool))
    near, lost = (
        scale_component(each, np.zeros(count), np.ones(count))
        for each, count in ((ideal, full.count()), (empty, 0))
    )
    both, alone = ClusterView(("both",), [lost, near]), ClusterView(("alone",), [near])
    points = np.random.default_rng(0).standard_normal((2, 3))
    found = both.lines(np.ones((2, 3)))(points, np.arange(2))(np.arange(2), np.zeros((2, 1)))
    np.testing.assert_allclose(found, both.deviations(points))
    expected = alone.contributions(points)
    np.testing.assert_allclose(both.contribution(found), expected)
    np.testing.assert_allclose(both.gradients(points), alone.gradients(points))
    deviations = both.deviations(points[:1])
    assert {e.ideal for _, e in both.equations(points[:1], deviations)} == {(0, 1)}


# --- changes of one feature ----------------------------------------------------------------------


def wide(n_samples, rng, n_columns=40):
    """More columns than the recipe has quadratic equations in."""
    mixing = np.random.default_rng(7).standard_normal((4, n_columns)) / 2
    mixed = rng.uniform(-1.7, 1.7, (n_samples, 4)) @ mixing
    return mixed + 0.3 * mixed**2 + 0.02 * rng.standard_normal(mixed.shape)


def with_constant(n_samples, rng):
    return np.column_stack([sensors(n_samples, rng), np.full(n_samples, 7.0)])


CHANGED = {
    "recipe": (VanishingDetector(), sensors),
    "principal components": (VanishingDetector(), wide),
    "constant": (VanishingDetector(), with_constant),
    "norm": (VanishingDetector(VanishingIdeal(max_degree=3, tol=0.3)), sensors),
    "pieces": (VanishingDetector(VanishingIdeal(tol=0.3), n_components=3), sensors),
    "transformations": (TransformationDetector(contamination=0.05), sensors),
    "weights, distances": (
        TransformationDetector(
            weighting="convex", distance_weight=0.5, n_components=[1, 2], contamination=0.05
        ),
        sensors,
    ),
}


@cache
def detector_and_faults(name):
    """A fitted detector, and rows with no, one, two near and two far values that are wrong."""
    detector, make = CHANGED[name]
    rng = np.random.default_rng(1)
    detector.fit(make(300, rng))
    X = make(4, rng)
    X[1, 3] += 2.0
    X[2, [0, 5]] -= 2.5
    X[3, [2, 6]] = 300.0, -1e9
    return detector, X


def one_by_one(landscape, point, features, values):
    """The scores after changes of one feature, row by row."""
    rows = np.tile(point, (values.size, 1))
    rows[np.arange(values.size), np.repeat(features, values.shape[1])] = values.ravel()
    return landscape.score(rows).reshape(values.shape)


@pytest.mark.parametrize("name", CHANGED.keys())
def test_scores_of_changes(name):
    detector, X = detector_and_faults(name)
    landscape = detector.anomaly_score_.landscape
    rng = np.random.default_rng(2)
    features = np.r_[np.arange(X.shape[1]), [3, 3, 6]]  # in any order, some again
    for point in X:
        values = landscape.center[features, None] + landscape.scale[features, None] * (
            rng.uniform(-4, 4, (len(features), 6))
        )
        values[:, 0] = landscape.center[features]
        found = Changes(landscape, point).scores(features, values)
        expected = one_by_one(landscape, point, features, values)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", CHANGED.keys())
def test_explanations_are_those_of_single_changes_scored_row_by_row(name, monkeypatch):
    detector, X = detector_and_faults(name)
    explanations = detector.explain(X)
    monkeypatch.setattr(
        Changes, "__init__", lambda self, *given: setattr(self, "given", given) or None
    )
    monkeypatch.setattr(Changes, "scores", lambda self, *changes: one_by_one(*self.given, *changes))
    for found, expected in zip(explanations, detector.explain(X), strict=True):
        spread = detector.anomaly_score_.normal.spread
        np.testing.assert_allclose(
            found.counterfactual / spread, expected.counterfactual / spread, atol=1e-6
        )
        tolerance = 1e-6 * (1 + np.abs(expected.attribution).max())
        np.testing.assert_allclose(found.attribution, expected.attribution, atol=tolerance)
        assert [e.index for e in found.equations] == [e.index for e in expected.equations]


def test_a_wide_row_takes_few_evaluations(monkeypatch):
    """As many as a narrow one, whereas 129 values of each column are looked at."""
    detector, X = detector_and_faults("principal components")
    evaluate, n_rows = PolynomialBasis.evaluate, []
    monkeypatch.setattr(
        PolynomialBasis,
        "evaluate",
        lambda self, x, **options: n_rows.append(len(x)) or evaluate(self, x, **options),
    )
    explanation = detector.explain(X[1:2])[0]
    assert explanation.ranked(1)[0][0] == "x3"
    n_clusters = sum(map(len, detector.ideals_))
    assert sum(n_rows) / n_clusters < 129


def test_far_in_every_feature():
    detector, _ = detector_and_faults("recipe")
    explanation = detector.explain(1e3 + 100 * BROKEN[:1])[0]
    assert explanation.counterfactual_score <= detector.anomaly_score_.normal.score
