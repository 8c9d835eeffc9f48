"""A kind of view that the library does not have: scored, explained and exported."""

from dataclasses import replace

import numpy as np
import pytest

from vanishing import VanishingDetector, VanishingIdeal
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
