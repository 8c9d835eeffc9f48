"""Detectors on small tables with exact and nearly exact relations: fresh rows are normal."""

import warnings

import numpy as np
import pytest
from benchmarks.campaigns.detectors import flagged, is_violation, make_table

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import ChristoffelDetector, fit_to_mixed
from vanishing.detectors.base import move_last_digits

#: Tables of which thresholds once called all rows, or far too many, anomalous.
HARD_FOR_VANISHING = [44, 65, 71, 103, 129, 149, 326, 423, 547]
HARD_FOR_TRANSFORMATION = [25, 78, 199, 330, 339, 352, 4152, 16609]
LINEAR = VanishingIdeal(max_degree=1, tol=1e-6)


def units(n_rows, seed=0, noise=0.0):
    """Degrees Celsius and Fahrenheit."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    return np.column_stack([x, 1.8 * x + 32]) + noise * rng.normal(size=(n_rows, 2))


def share_flagged(detector, X):
    return np.mean(detector.predict(X) == -1)


@pytest.mark.parametrize("seed", [*range(15), *HARD_FOR_VANISHING])
def test_fresh_rows_are_normal_to_the_recipe(seed):
    table = make_table(seed)
    share = flagged("vanishing", table)
    assert not is_violation(table, share), f"{share:.0%} of {table}"


@pytest.mark.parametrize("seed", [*range(10), *HARD_FOR_TRANSFORMATION])
def test_fresh_rows_are_normal_under_transformations(seed):
    table = make_table(seed)
    share = flagged("transformation", table)
    assert not is_violation(table, share), f"{share:.0%} of {table}"


def test_tables_of_a_campaign_do_not_change():
    first, second = make_table(7), make_table(7)
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.fresh, second.fresh)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-4])
@pytest.mark.parametrize("n_rows", [10, 20, 24, 50, 55, 61, 65])
def test_a_change_of_units_at_any_number_of_rows(n_rows, noise):
    detector = VanishingDetector().fit(units(n_rows, noise=noise))
    fresh = units(200, seed=1, noise=noise)
    assert share_flagged(detector, fresh) <= (0.15 if n_rows >= 50 else 0.5)
    fresh[:, 1] += 1.0
    assert share_flagged(detector, fresh) == 1.0, "what breaks the relation is found"


@pytest.mark.parametrize("n_rows", [55, 80])
def test_exact_equations_do_not_drown_the_others(n_rows):
    """Rounding in one member of the recipe must not set the threshold for all."""
    exact, noisy = (VanishingDetector().fit(units(n_rows, noise=noise)) for noise in (0.0, 0.1))
    assert 1.25 * noisy.offset_ < exact.offset_ < 0


@pytest.mark.parametrize("n_components", [1, 2])
def test_one_ideal_takes_rounding_for_what_it_is(n_components):
    detector = VanishingDetector(LINEAR, n_components=n_components).fit(units(200))
    fresh = units(1000, seed=1)
    assert share_flagged(detector, fresh) == 0.0
    assert share_flagged(detector, fresh[:1]) == 0.0, "in batches of any size"
    fresh[:, 1] *= 1 + 1e-6
    assert share_flagged(detector, fresh) == 1.0


@pytest.mark.parametrize("share", ["auto", 0.1])
def test_mixed_rows_that_differ_by_rounding_only(share):
    ideal = VanishingIdeal(max_degree=1, tol=0.01)
    detector = VanishingDetector(ideal, contamination=share)
    X = units(200)
    assert share_flagged(fit_to_mixed(detector, X), X) == 0.0
    X[:7, 1] += 0.01
    found = fit_to_mixed(detector, X).predict(X)
    assert (found[:7] == -1).all()


def test_rounding_in_single_precision():
    detector = VanishingDetector(VanishingIdeal(max_degree=1, tol=1e-3))
    detector.fit(units(200).astype(np.float32))
    assert share_flagged(detector, units(1000, seed=1).astype(np.float32)) <= 0.05


@pytest.mark.parametrize(
    "detector",
    [VanishingDetector(), VanishingDetector(LINEAR), VanishingDetector(LINEAR, n_components=2)],
    ids=["recipe", "one ideal", "pieces"],
)
def test_constant_rows_are_normal(detector):
    X = np.full((50, 3), 0.1) * [1, 3, 7]
    detector.fit(X)
    assert share_flagged(detector, X) == 0.0
    assert share_flagged(detector, X[:1]) == 0.0
    assert share_flagged(detector, X + np.array([0, 0, 1e-3])) == 1.0


def test_explanations_agree_that_rounding_is_usual():
    detector = VanishingDetector(LINEAR).fit(units(200))
    usual, broken = detector.explain(np.vstack([units(1, seed=5), [[0.0, 40.0]]]))
    assert not np.any(usual.attribution)
    assert np.any(broken.attribution)


@pytest.mark.parametrize("seed", range(3))
def test_one_outlier_does_not_make_all_rows_anomalous(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(81, 3))
    X[80] = 1e4
    detector = TransformationDetector().fit(X)
    assert share_flagged(detector, rng.normal(size=(200, 3))) <= 0.15


@pytest.mark.parametrize("detector", [VanishingDetector, TransformationDetector])
def test_at_most_one_training_row_in_twenty_is_anomalous(detector):
    """Scores far from a normal distribution, of which box plots call many outliers."""
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(400, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert share_flagged(detector().fit(X), X) <= 0.05


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_last_digits(dtype):
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(dtype)
    X[0, 0] = 0.0
    moved = move_last_digits(X)
    assert moved.dtype == dtype
    assert moved[0, 0] == 0.0
    relative = np.abs(moved - X)[X != 0] / np.abs(X[X != 0]) / np.finfo(dtype).eps
    assert (relative > 4).all()
    assert (relative < 16).all()

    assert set(np.sign((moved - X) * X)[X != 0]) == {-1, 1}  # sums of columns change, too


def test_one_row_is_too_few_however_it_comes():
    torch = pytest.importorskip("torch")
    row = np.ones((1, 2))
    for X in (row, [row], torch.ones((1, 2))):
        with pytest.raises(ValueError, match=r"1 (row|sample)"):
            VanishingDetector().fit(X)


def test_explanations_and_calibrations_that_make_no_sense():
    X = np.random.default_rng(0).normal(size=(40, 2))
    detector = VanishingDetector().fit(X)
    with pytest.raises(
        ValueError, match="n_equations must be a whole number of at least 0, got -1"
    ):
        detector.explain(X[:1], n_equations=-1)
    with pytest.raises(
        ValueError, match="leaves 0 to calibrate on and 3 to fit to; both need at least one"
    ):
        VanishingDetector(calibration=0.1, contamination=0.1).fit(X[:3])


def test_rows_that_are_too_many_for_a_table(monkeypatch):
    monkeypatch.setattr("vanishing.data.inputs.MEMORY", 200)
    chunks = [np.random.default_rng(i).normal(size=(40, 3)) for i in range(3)]
    with pytest.raises(ValueError, match="100 bytes; pass a part of them as an array"):
        ChristoffelDetector().fit(np.vstack(chunks)).explain(chunks)


def test_many_columns_of_a_small_rank():
    """Directions without variance hold no equation but that the rows are in their span."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 30))
    detector = VanishingDetector().fit(X)
    off = X[:5] + 0.5 * rng.normal(size=(5, 30))
    assert detector.predict(off).tolist() == [-1] * 5
    assert (detector.predict(X) == 1).mean() > 0.9


def test_two_rows_are_enough_however_they_come():
    X = np.array([[0.0, 1.0], [1.0, 3.0]])
    whole, chunks = (VanishingDetector().fit(rows) for rows in (X, [X[:1], X[1:]]))
    np.testing.assert_array_equal(whole.score_samples(X), chunks.score_samples(X))
