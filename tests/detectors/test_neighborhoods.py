"""Evidence of the values of columns and of the nearest rows, through the detector."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from vanishing import VanishingDetector, load


def mixed_columns(n_rows=300, seed=0):
    """A heavy tail, a code of few values, a step and a sum of two of them."""
    rng = np.random.default_rng(seed)
    heavy, code = rng.standard_cauchy(n_rows), rng.choice([1.0, 2.0, 5.0], n_rows)
    return np.column_stack(
        [heavy, code, np.round(rng.normal(size=n_rows), 1), rng.normal(size=n_rows)]
    )


def test_a_code_between_the_known_ones_is_strange():
    X = mixed_columns()
    detector = VanishingDetector().fit(X)
    rows = np.repeat(X[:1], 2, axis=0)
    rows[0, 1], rows[1, 1] = 2.0, 3.5
    known, unknown = detector.score_samples(rows)
    assert unknown < known - 1


@settings(max_examples=5, deadline=None, phases=[Phase.generate])
@given(st.integers(-3, 3), st.integers(0, 3))
def test_units_do_not_matter(power, column):
    X, new = mixed_columns(150), mixed_columns(40, seed=1)
    factor = np.ones(4)
    factor[column] = 10.0**power
    expected = VanishingDetector().fit(X).score_samples(new)
    found = VanishingDetector().fit(X * factor).score_samples(new * factor)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_pasting_a_table_twice_makes_no_difference():
    X, new = mixed_columns(), mixed_columns(40, seed=1)
    once, twice = (VanishingDetector().fit(rows) for rows in (X, np.vstack([X, X])))
    np.testing.assert_allclose(twice.score_samples(new), once.score_samples(new))


def test_rows_that_were_fitted_to_are_judged_without_themselves():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[17] = [6.0, -6.0, 6.0]
    detector = VanishingDetector().fit(X)
    assert np.argmin(detector.score_samples(X)) == 17


def test_saved_neighborhoods_score_the_same(tmp_path):
    X = mixed_columns()
    detector = VanishingDetector().fit(X)
    detector.save(tmp_path / "model")
    new = mixed_columns(40, seed=1)
    np.testing.assert_array_equal(
        load(tmp_path / "model").score_samples(new), detector.score_samples(new)
    )


def test_explanations_of_normal_scores_add_up():
    X = mixed_columns()
    detector = VanishingDetector().fit(X)
    (found,) = detector.explain([[0.1, 3.5, 0.2, 6.0]])
    assert found.attribution.sum() == pytest.approx(found.score - found.counterfactual_score)


def test_graphs_of_neighborhoods_keep_the_scores():
    onnxruntime = pytest.importorskip("onnxruntime")
    X, new = mixed_columns(), mixed_columns(40, seed=1)
    detector = VanishingDetector().fit(X)
    graph = detector.to_onnx(dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (name,) = (each.name for each in session.get_inputs())
    scores = session.run(["scores"], {name: new})[0].ravel()
    np.testing.assert_allclose(scores, detector.score_samples(new), rtol=1e-5, atol=1e-5)
