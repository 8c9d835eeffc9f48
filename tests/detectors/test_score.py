"""A kind of view that the library does not have: scored, explained and exported."""

from dataclasses import replace

import numpy as np
import pytest

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.detectors.score import (
    ConstantColumns,
    LikelihoodView,
    Mixture,
    NormView,
    make_linear_component,
)
from vanishing.equations import to_onnx
from vanishing.explain.view import NearestView


class BoundedView(NearestView):
    """As in docs/architecture.md."""

    def of_nearest(self, deviation):
        return deviation / (deviation + 1.0)

    def slope_of_nearest(self, deviation):
        return 1 / (deviation + 1.0) ** 2

    def nodes(self, deviations):
        nearest = deviations.reduce("Min", axis=0)
        return nearest / (nearest + 1.0)


@pytest.fixture(scope="module")
def detector():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=300)
    fitted = VanishingDetector(VanishingIdeal(max_degree=2, tol=0.1)).fit(X)
    score = fitted.anomaly_score_
    view = BoundedView(("bounded",), score.views[0].components, shift=0.1, spread=0.5)
    normal = replace(score.normal, score=0.0)
    fitted.anomaly_score_ = replace(score, views=[view], normal=normal)
    return fitted


NEW = np.array([[0.5, 0.5, 0.25], [0.5, 0.5, 0.9], [0.1, -0.8, 0.5]])


def test_it_is_scored(detector):
    deviations = np.sum(detector.ideals_[0][0].transform(NEW) ** 2, axis=1)
    expected = -(deviations / (deviations + 1) - 0.1) / 0.5
    np.testing.assert_allclose(detector.score_samples(NEW), expected, rtol=1e-9)


def test_it_is_explained(detector):
    for explanation in detector.explain(NEW[1:]):
        assert explanation.score > explanation.counterfactual_score
        difference = explanation.score - explanation.counterfactual_score
        assert explanation.attribution.sum() == pytest.approx(difference, rel=1e-6)
        assert {equation.part for equation in explanation.equations} == {"bounded"}


def test_it_is_exported(detector):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(detector, dtype="float64").SerializeToString())
    scores, labels = session.run(["scores", "label"], {"X": NEW})
    np.testing.assert_allclose(scores, detector.score_samples(NEW), rtol=1e-9)
    np.testing.assert_array_equal(labels, detector.predict(NEW))


def test_the_slope_of_a_norm_at_zero_is_zero():
    view = NormView(("the ideal",), [])
    np.testing.assert_array_equal(view.slope_of_nearest(np.array([0.0, 4.0])), [0.0, 0.25])


def test_linear_components_measure_standardized_distances():
    spreads = np.array([0.5, 3.0])
    component = make_linear_component(np.array([1.0, -2.0]), np.eye(2), spreads, 0.25)
    rows = np.array([[1.0, -2.0], [1.5, -2.0], [1.0, 1.0], [2.0, 4.0]])
    expected = 0.25 * np.sum(((rows - [1.0, -2.0]) / spreads) ** 2, axis=1)
    found = component.residuals(rows) ** 2 @ component.weights
    np.testing.assert_allclose(found, expected)


def test_equations_are_important_beyond_what_is_typical():
    """One that is as far off as usual has no importance, whatever usual is."""
    spreads = np.array([0.1, 5.0])
    component = make_linear_component(np.zeros(2), np.eye(2), spreads, 1.0)
    view = Mixture(("one",), [component])
    np.testing.assert_allclose(view.importance(component, spreads), 0.0, atol=1e-12)
    assert (view.importance(component, 2 * spreads) > 0).all()


def test_rounding_breaks_no_large_constant():
    constants = ConstantColumns(np.array([True, True]), np.array([1e6, 0.0]), 10.0)
    added = constants(np.array([[1e6 * (1 + 1e-9), 1e-9], [1e6 + 10.0, 1e-3]]), same=1e-8)
    np.testing.assert_array_equal(added > 0, [[False, False], [True, True]])


@pytest.mark.parametrize("unit", [1e-300, 1e-5, 1e6, 1e300])
def test_broken_constants_count_the_same_in_any_unit(unit):
    constants = ConstantColumns(np.array([True, False]), np.array([-2.0, 0.5]), 10.0)
    scaled = replace(constants, values=unit * constants.values)
    X = np.array([[-2.0, 3.0], [-1.5, 3.0], [40.0, 3.0]])
    np.testing.assert_allclose(scaled(unit * X), constants(X), rtol=1e-12)


def test_rows_in_several_blocks_score_as_in_one():
    X = np.random.default_rng(0).normal(size=(40, 2))
    detector = VanishingDetector().fit(X)
    many = np.repeat(X, 5000, axis=0)
    expected = np.repeat(detector.score_samples(X), 5000)
    np.testing.assert_allclose(detector.score_samples(many), expected, rtol=1e-12)


def test_residuals_are_those_of_the_likeliest_cluster():
    """Of a far more frequent one, though the other is a little nearer."""
    view = LikelihoodView(
        ("clusters",),
        [],
        log_masses=np.array([0.0, -10.0]),
        centers=np.array([[0.0], [1.0]]),
        factors=np.array([[1.0], [1.0]]),
    )
    residuals, slopes = view.residuals(np.array([[0.6]]))
    np.testing.assert_allclose(residuals, [0.6])
    np.testing.assert_allclose(slopes, [[1.0]])
