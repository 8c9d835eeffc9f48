"""Thresholds: quantiles, the automatic rule, and the guarantee."""

import numpy as np
import pytest
from scipy.stats import beta

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors.base import (
    MOST_ANOMALIES,
    apply_to_unseen,
    conformal_threshold,
    most_anomalies,
    quantile_threshold,
)
from vanishing.detectors.score import Score
from vanishing.transformations import RandomAffine


@pytest.mark.parametrize("contamination", [0.01, 0.1, 0.5])
def test_quantile_flags_the_given_share(contamination):
    scores = np.random.default_rng(0).standard_normal(1000)
    offset = quantile_threshold(scores, contamination)
    assert np.mean(scores < offset) == pytest.approx(contamination, abs=1e-3)


def test_automatic_rule_finds_planted_outliers():
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.uniform(0, 1, 970), rng.uniform(-20, -10, 30)])
    assert np.mean(scores < quantile_threshold(scores, "auto")) == 0.03


def test_automatic_rule_flags_at_least_one_in_a_hundred():
    scores = np.linspace(0, 1, 1000)
    assert np.mean(scores < quantile_threshold(scores, "auto")) == 0.01


@pytest.mark.parametrize("contamination", ["auto", 0.01, 0.1, 0.5])
@pytest.mark.parametrize("n_infinite", [1, 5, 60, 99])
def test_infinite_scores_are_below_a_finite_threshold(contamination, n_infinite):
    scores = np.random.default_rng(0).standard_normal(100)
    scores[:n_infinite] = -np.inf
    offset = quantile_threshold(scores, contamination)
    assert np.isfinite(offset)
    assert (scores[:n_infinite] - offset < 0).all()
    assert not np.isnan(scores - offset).any()


def test_nothing_but_infinite_scores_is_refused():
    with pytest.raises(ValueError, match="scores of all training rows are infinite"):
        quantile_threshold(np.full(10, -np.inf), "auto")
    with pytest.raises(ValueError, match="cannot be guaranteed: the scores of 5 of 99"):
        conformal_threshold(np.r_[np.full(5, -np.inf), np.zeros(94)], 0.02)


@pytest.mark.parametrize("contamination", ["auto", 0.01])
@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_training_rows_whose_equations_overflow_are_anomalous(contamination, monkeypatch):
    score_samples = Score.score_samples

    def overflowing(self, X):
        scores = score_samples(self, X)
        scores[X[:, 0] > 10] = -np.inf
        return scores

    monkeypatch.setattr(Score, "score_samples", overflowing)
    X = np.random.default_rng(0).standard_normal((1000, 3))
    X[:12, 0] = 20
    ideal = VanishingIdeal(tol=10.0, max_degree=1)
    detector = VanishingDetector(ideal, contamination=contamination).fit(X)
    assert np.isfinite([detector.offset_, detector.anomaly_score_.normal.score]).all()
    assert not np.isnan(detector.decision_function(X)).any()
    assert (detector.predict(X[:12]) == -1).all()


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3])
def test_conformal_rate_of_false_alarms(rate):
    """Mean over 2,000 draws of 99 calibration scores; the standard error is below 0.001."""
    rng = np.random.default_rng(2)
    alarms = []
    for _ in range(2000):
        offset = conformal_threshold(rng.gamma(2.0, size=99), rate)
        alarms.append(np.mean(rng.gamma(2.0, size=500) < offset))
    assert np.mean(alarms) <= rate + 0.003
    assert np.mean(alarms) >= rate - 1 / 100 - 0.003, "no wider than the guarantee needs"


def test_rows_are_left_out_in_turn():
    def remember(rest, unseen):
        assert sorted([*rest, *unseen]) == list(range(33))
        return 2.0 * unseen

    values, rows = apply_to_unseen(33, remember, seed=0)
    assert sorted(rows) == list(range(33))
    np.testing.assert_array_equal(values, 2 * rows)
    np.testing.assert_array_equal(apply_to_unseen(33, remember, seed=0)[0], values)


def test_no_more_rows_are_left_out_than_quantiles_need():
    fits = []
    values, rows = apply_to_unseen(
        20_000, lambda rest, unseen: fits.append(len(rest)) or unseen, seed=0
    )
    assert fits == [16_000]
    assert len(values) == len(rows) == 4_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "detector",
    [
        VanishingDetector(VanishingIdeal(max_degree=1, tol=0.3, normalization="vca")),
        TransformationDetector(RandomAffine(n_transformations=2)),
    ],
    ids=["one ideal", "transformations"],
)
@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_detectors_keep_the_promised_rate(detector, rate):
    """Mean over 100 fits, each with data of its own: at most the rate, up to its standard error."""
    n_calibration = 59

    def plane(n_samples, rng):
        x, y = rng.uniform(-1, 1, (2, n_samples))
        return np.column_stack([x, y, x + y + 0.1 * rng.standard_normal(n_samples)])

    alarms = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        detector.set_params(contamination=rate, calibration=n_calibration / 150, random_state=seed)
        detector.fit(plane(150, rng))
        alarms.append(np.mean(detector.predict(plane(1000, rng)) == -1))
    error = np.std(alarms) / np.sqrt(len(alarms))
    assert np.mean(alarms) <= rate + 2 * error
    assert np.mean(alarms) >= rate - 1 / (n_calibration + 1) - 2 * error, "no wider than needed"


def test_too_few_samples_for_the_guarantee():
    with pytest.raises(ValueError, match=r"0.01 cannot be guaranteed with 50 .*at least 99"):
        conformal_threshold(np.arange(50.0), 0.01)


@pytest.mark.parametrize("n_rows", [30, 100, 300, 1000, 10**6])
def test_few_rows_are_called_anomalous_only_if_the_rate_is_certain(n_rows):
    share = most_anomalies(n_rows)
    below = round(share * min(n_rows, 1000))
    n_rows = min(n_rows, 1000)
    assert beta.sf(MOST_ANOMALIES, below + 1, n_rows - below) <= 0.1 or below == 0
    assert beta.sf(MOST_ANOMALIES, below + 2, n_rows - below - 1) > 0.1


@pytest.mark.parametrize("n_rows", [45, 60, 76, 120, 200])
def test_no_more_rows_are_below_than_the_rate_allows(n_rows):
    """One in a hundred is a wish, the rate of false alarms a promise."""
    scores = -np.random.default_rng(n_rows).exponential(size=n_rows)
    most = most_anomalies(n_rows)
    offset = quantile_threshold(scores, "auto", most=most)
    assert np.mean(scores < offset) <= most + 1e-12


def test_what_is_lower_than_a_skewed_distribution_is_comes_on_top():
    rng = np.random.default_rng(2)
    normal = -rng.gamma(2.0, size=900)
    scores = np.append(normal, rng.uniform(-90, -80, 100))
    most = most_anomalies(1000)
    assert np.mean(normal < quantile_threshold(normal, "auto", most=most)) <= MOST_ANOMALIES
    assert np.mean(scores < quantile_threshold(scores, "auto", most=most)) > 2 * MOST_ANOMALIES
