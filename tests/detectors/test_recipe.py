"""The recipe for tables: rows that are not all normal, wide tables, exact equations, many rows."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from vanishing import VanishingDetector, load
from vanishing.detectors import recipe
from vanishing.detectors.sample_weights import shrunk_covariance
from vanishing.detectors.score import LikelihoodView, SpanView


def blobs(n_rows, seed=0):
    """Two clusters of different shapes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[::2] = X[::2] @ np.diag([0.2, 1, 1, 3]) + [6, 0, 0, 0]
    return X


def sums(n_rows, seed=0):
    """Amounts in whole numbers and their sum."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1000, 5000, (n_rows, 4)).astype(float)
    X[:, 3] = X[:, :3].sum(axis=1)
    return X


# --- rows that are not all normal ----------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [40, 200, 1000])
def test_a_row_of_its_own_is_the_most_anomalous_of_those_that_were_fitted_to(n_rows):
    X = blobs(n_rows)
    X[5] = [30, 30, -30, 30]
    detector = VanishingDetector()
    assert detector.fit_predict(X)[5] == -1
    assert np.argmin(detector.score_samples(X)) == 5
    np.testing.assert_array_equal(detector.predict(X), detector.fit_predict(X))


def test_swapped_columns_in_people():
    """Weight and height of one person are swapped, as in Davis' data."""
    rng = np.random.default_rng(1)
    height = rng.normal(170, 9, 181)
    X = np.column_stack([0.9 * height - 88 + rng.normal(0, 8, 181), height]).round()
    X[11] = [166, 57]
    assert np.argmin(VanishingDetector().fit(X).score_samples(X)) == 11


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_a_share_of_anomalies_among_the_rows(share):
    X = blobs(600)
    n_strange = round(share * len(X))
    rng = np.random.default_rng(1)
    X[:n_strange] = rng.uniform(-9, 12, (n_strange, 4))
    strange = np.arange(len(X)) < n_strange
    found = roc_auc_score(strange, -VanishingDetector().fit(X).score_samples(X))
    forest = IsolationForest(random_state=0).fit(X)
    assert found >= max(0.95, roc_auc_score(strange, -forest.score_samples(X)) - 2e-3)


def test_unseen_normal_rows_raise_few_alarms_after_a_fit_to_mixed_ones():
    X = blobs(600)
    X[:60] = np.random.default_rng(1).uniform(-9, 12, (60, 4))
    detector = VanishingDetector().fit(X)
    assert np.mean(detector.predict(blobs(2000, seed=2)) == -1) <= 0.05


def test_one_huge_number_hides_nothing():
    X = blobs(300)
    X[7, 2] = 1e8
    X[9] = [20, 20, 20, 20]
    assert np.argsort(VanishingDetector().fit(X).score_samples(X))[:2].tolist() == [7, 9]


def test_explanations_agree_with_the_scores_of_rows_that_were_fitted_to():
    X = blobs(200)
    X[5, 1] += 25
    detector = VanishingDetector().fit(X)
    explanation = detector.explain(X[5:6])[0]
    assert explanation.score == pytest.approx(-detector.score_samples(X[5:6])[0])
    assert explanation.ranked(1)[0][0] == "x1"
    assert abs(explanation.counterfactual[1]) < 5


# --- exact equations -----------------------------------------------------------------------------


def test_a_sum_that_is_off_by_a_little():
    X = sums(120)
    X[30, 1] += 15
    X[77, 3] -= 15
    detector = VanishingDetector().fit(X)
    assert any(line.startswith("exact: 1 equation") for line in detector.chosen_)
    assert set(np.argsort(detector.score_samples(X))[:2]) == {30, 77}
    assert np.mean(detector.predict(sums(500, seed=1)) == -1) <= 0.05


def test_a_sum_is_mended_to_the_number():
    X = sums(120)
    detector = VanishingDetector().fit(X)
    broken = X[0] + [0, 0, 0, 40]
    assert detector.explain([broken])[0].counterfactual[3] == pytest.approx(X[0, 3], abs=1e-3)


def test_columns_of_few_values_have_no_exact_equations():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 5)) < 0.3).astype(float)
    X[:, 4] = X[:, 0]
    assert not any(line.startswith("exact") for line in VanishingDetector().fit(X).chosen_)


# --- more columns than rows ----------------------------------------------------------------------


def wide(n_rows, n_columns=300, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(5, n_columns))
    return rng.normal(size=(n_rows, 5)) @ mixing + 0.5 * rng.normal(size=(n_rows, n_columns))


def test_wide_tables_have_one_view_of_their_span():
    detector = VanishingDetector().fit(wide(60))
    (view,) = detector.anomaly_score_.views
    assert isinstance(view, SpanView)
    assert view.directions.shape == (59, 300)
    off = wide(50, seed=1) + 1.0 * np.random.default_rng(2).normal(size=(50, 300))
    normal = detector.score_samples(wide(50, seed=3))
    assert normal.min() > detector.score_samples(off).max()
    assert np.mean(detector.predict(wide(500, seed=4)) == -1) <= 0.1


def test_distances_are_those_of_a_shrunk_covariance():
    from sklearn.covariance import LedoitWolf

    X, new = wide(60), wide(30, seed=1)
    detector = VanishingDetector().fit(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = LedoitWolf().fit(scaled).mahalanobis((new - X.mean(axis=0)) / X.std(axis=0))
    view = detector.anomaly_score_.views[0]
    found = np.exp(detector.anomaly_score_.measure(new)[0]) * 300
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert view.rest > 0


def test_anomalies_among_the_rows_of_a_wide_table():
    X, rng = wide(300, 120), np.random.default_rng(5)
    X[:30] += 0.3 * rng.normal(size=(30, 8)) @ rng.normal(size=(8, 120))
    scores = VanishingDetector(contamination=0.1).fit(X).score_samples(X)
    assert scores[:30].max() < scores[30:].min()


def test_ten_thousand_columns():
    rng = np.random.default_rng(0)
    detector = VanishingDetector().fit(rng.normal(size=(30, 10_000)))
    scores = detector.score_samples(rng.normal(size=(5, 10_000)) * [[1], [1], [1], [1], [2]])
    assert np.argmin(scores) == 4


@pytest.mark.parametrize("n_rows", [2, 3])
def test_few_wide_rows(n_rows):
    detector = VanishingDetector().fit(wide(n_rows, 50))
    assert np.isfinite(detector.score_samples(wide(2, 50, seed=1))).all()


@pytest.mark.parametrize("rows", [blobs(300), wide(40, 60)], ids=["clusters", "span"])
def test_model_files_and_graphs_keep_the_scores(rows, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    detector = VanishingDetector().fit(rows)
    expected = detector.score_samples(rows)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").score_samples(rows), expected)
    graph = detector.to_onnx(dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (name,) = (each.name for each in session.get_inputs())
    np.testing.assert_allclose(
        session.run(["scores"], {name: rows})[0].ravel(), expected, rtol=1e-6
    )


def test_wide_rows_are_explained():
    X = wide(40, 60)
    detector = VanishingDetector().fit(X)
    broken = wide(1, 60, seed=1)
    broken[0, 17] += 20 * X[:, 17].std()
    explanation = detector.explain(broken)[0]
    assert explanation.ranked(1)[0][0] == "x17"
    difference = explanation.score - explanation.counterfactual_score
    assert explanation.attribution.sum() == pytest.approx(difference, rel=1e-6)


# --- many rows -----------------------------------------------------------------------------------


def test_many_rows_are_drawn_from(monkeypatch):
    monkeypatch.setattr(recipe, "FITTED_ROWS", 2000)
    X, new = blobs(6000), blobs(1000, seed=1)
    drawn = VanishingDetector(contamination=0.02).fit(X)
    assert drawn.chosen_[0] == "fitted to 2000 of 6000 rows"
    assert np.mean(drawn.predict(X) == -1) == pytest.approx(0.02, abs=0.002)
    monkeypatch.setattr(recipe, "FITTED_ROWS", 10**9)
    every = VanishingDetector(contamination=0.02).fit(X)
    agreement = np.corrcoef(drawn.score_samples(new), every.score_samples(new))[0, 1]
    assert agreement > 0.9


def test_likelihoods_grow_like_logarithms_far_from_all_clusters():
    detector = VanishingDetector().fit(blobs(300))
    far = np.outer(10.0 ** np.arange(1, 80, 8), np.ones(4))
    scores = detector.score_samples(far)
    assert (np.diff(scores) < 0).all()
    assert scores[-1] > -1e4
    views = [v for v in detector.anomaly_score_.views if isinstance(v, LikelihoodView)]
    assert len(views) == 2


def test_clusters_have_the_densities_of_their_shapes():
    """The density of one is its mass times the determinant of its factor, up to a constant."""
    rng = np.random.default_rng(0)
    # So few rows make two clusters.
    wide, narrow = 3.0 * rng.normal(size=(12, 2)), 0.2 * rng.normal(size=(8, 2)) + 40.0
    views = VanishingDetector().fit(np.vstack([wide, narrow])).anomaly_score_.views
    (view,) = [each for each in views if each.names == ("clusters",)]
    factors = view.factors.reshape(2, 2, 2)
    determinants = np.log(np.abs(np.linalg.det(factors)))
    masses = np.log([len(wide) / 20, len(narrow) / 20])
    if view.centers[0, 0] > view.centers[1, 0]:
        masses = masses[::-1]
    rest = view.log_masses - masses - determinants
    assert rest[0] == pytest.approx(rest[1])


def test_clusters_of_decorrelated_columns_are_seen_across_a_long_direction():
    """Two parallel lines, much closer to each other than they are long."""
    rng = np.random.default_rng(0)
    along, side = rng.uniform(-10, 10, 400), rng.choice([-1.0, 1.0], 400)
    across = 0.3 * side + 0.02 * rng.normal(size=400)
    detector = VanishingDetector().fit(np.column_stack([along + across, along - across]))
    score = detector.anomaly_score_
    (view,) = [view for view in score.views if view.names == ("clusters",)]
    centers = score.coordinates.scaler.inverse_transform(view.centers)
    np.testing.assert_allclose(np.abs(centers @ [0.5, -0.5]), 0.3, atol=0.02)


def test_graphs_of_exact_equations_keep_the_scores():
    """Up to rounding errors, which exact equations measure."""
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = sums(300)
    detector = VanishingDetector().fit(rows)
    rows[:5, 3] += [1, 5, 50, -3, -500]
    graph = detector.to_onnx(dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    (name,) = (each.name for each in session.get_inputs())
    scores = session.run(["scores"], {name: rows})[0].ravel()
    assert scores[:5].max() < scores[5:].min()
    np.testing.assert_allclose(scores, detector.score_samples(rows), rtol=1e-4, atol=1e-3)


def test_what_was_chosen_is_told_in_one_or_several_equations():
    X = sums(120)
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    chosen = VanishingDetector().fit(X).chosen_
    assert any(line.startswith("exact: 2 equations of") for line in chosen)
    chosen = VanishingDetector().fit(X[:, :1]).chosen_
    assert any(line.startswith("values of 1 column:") for line in chosen)


def test_errors_of_fits_to_some_of_the_rows_are_not_hidden(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))

    def fail_on_few(z, sample_weight, ridge=None):
        if len(z) < len(X) * 0.7:
            raise ValueError("a defect of the fit")
        return shrunk_covariance(z, sample_weight, ridge)

    monkeypatch.setattr("vanishing.detectors.recipe.shrunk_covariance", fail_on_few)
    with pytest.raises(ValueError, match="a defect of the fit"):
        VanishingDetector().fit(X)


def test_rows_that_are_the_same_in_some_parts():
    X = np.tile(np.random.default_rng(0).normal(size=3), (40, 1))
    X[:2] += 1
    labels = VanishingDetector().fit_predict(X)
    np.testing.assert_array_equal(labels, np.repeat([-1, 1], [2, 38]))
