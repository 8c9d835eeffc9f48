"""Thresholds: quantiles, the automatic rule, and the guarantee."""

import numpy as np
import pytest

from vanishing.anomaly.threshold import conformal_offset, quantile_offset


@pytest.mark.parametrize("contamination", [0.01, 0.1, 0.5])
def test_quantile_flags_the_given_share(contamination):
    scores = np.random.default_rng(0).standard_normal(1000)
    offset = quantile_offset(scores, contamination)
    assert np.mean(scores < offset) == pytest.approx(contamination, abs=1e-3)


def test_automatic_rule_finds_planted_outliers():
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.uniform(0, 1, 970), rng.uniform(-20, -10, 30)])
    assert np.mean(scores < quantile_offset(scores, "auto")) == 0.03


def test_automatic_rule_flags_at_least_one_in_a_hundred():
    scores = np.linspace(0, 1, 1000)
    assert np.mean(scores < quantile_offset(scores, "auto")) == 0.01


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3])
def test_conformal_rate_of_false_alarms(rate):
    """Mean over 2,000 draws of 99 calibration scores; the standard error is below 0.001."""
    rng = np.random.default_rng(2)
    alarms = []
    for _ in range(2000):
        offset = conformal_offset(rng.gamma(2.0, size=99), rate)
        alarms.append(np.mean(rng.gamma(2.0, size=500) < offset))
    assert np.mean(alarms) <= rate + 0.003
    assert np.mean(alarms) >= rate - 1 / 100 - 0.003, "no wider than the guarantee needs"


def test_too_few_samples_for_the_guarantee():
    with pytest.raises(ValueError, match=r"0.01 cannot be guaranteed with 50 .*at least 99"):
        conformal_offset(np.arange(50.0), 0.01)
