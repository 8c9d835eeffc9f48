"""VanishingDetector: single ideals as in the paper, pieces, and the recipe for tables."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.contrasts import GaussianNoise, Permuted
from vanishing.detectors import ChristoffelDetector
from vanishing.detectors.mixture import NothingVanishesError

NAMES = ["speed", "force", "power", "mode"]


def machine(n_samples, seed=0, noise=0.02):
    """Sensor readings: power = speed · force, in units of their own, and a constant column."""
    rng = np.random.default_rng(seed)
    speed, force = rng.uniform(1, 2, (2, n_samples))
    power = speed * force * (1 + noise * rng.standard_normal(n_samples))
    return np.column_stack([1e3 * speed, 1e-3 * force, power, np.full(n_samples, 7.0)])


def broken(n_samples, seed=1):
    """Each reading is usual by itself, but power does not follow from the others."""
    X = machine(n_samples, seed)
    X[:, 2] = np.random.default_rng(seed).permutation(X[:, 2])
    return X


def auc(detector, normal, anomalies):
    scores = np.concatenate([detector.score_samples(normal), detector.score_samples(anomalies)])
    return roc_auc_score(np.repeat([1, 0], [len(normal), len(anomalies)]), scores)


@pytest.mark.parametrize("normalization", ["vca", "gradient"])
def test_single_ideal_scores_by_the_norm_of_its_values(normalization):
    ideal = VanishingIdeal(max_degree=2, tol=0.1, normalization=normalization)
    X = machine(300)[:, :3] / [1e3, 1e-3, 1]
    detector = VanishingDetector(ideal).fit(X)
    expected = -np.linalg.norm(clone(ideal).fit(X).transform(X), axis=1)
    np.testing.assert_allclose(detector.score_samples(X), expected, rtol=1e-12, atol=1e-14)


def test_contrast_is_made_of_the_data():
    ideal = VanishingIdeal(max_degree=2, tol=0.3, normalization="contrastive")
    X = machine(500)[:, :3] / [1e3, 1e-3, 1]
    for contrast in (None, Permuted(), GaussianNoise(0.5)):
        detector = VanishingDetector(ideal, contrast=contrast).fit(X)
        assert (
            auc(
                detector,
                machine(200, 5)[:, :3] / [1e3, 1e-3, 1],
                broken(200)[:, :3] / [1e3, 1e-3, 1],
            )
            > 0.9
        )


#: Numbers, small whole numbers with many equal rows, and more columns than rows.
TABLES = {
    "readings": machine(120),
    "counts": np.random.default_rng(0).integers(-1, 3, (150, 4)).astype(float),
    "wide": np.random.default_rng(0).normal(size=(40, 60)),
}
CONTRASTIVE = VanishingIdeal(tol=0.5, normalization="contrastive", reduction="gram")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "detector",
    [
        VanishingDetector(),
        VanishingDetector(contamination=0.1, calibration=0.3),
        VanishingDetector(CONTRASTIVE, n_components=2),
    ],
    ids=["recipe", "calibrated", "clusters"],
)
def test_the_order_of_the_rows_and_copies_of_all_of_them_make_no_difference(detector, name):
    X = TABLES[name]
    rng = np.random.default_rng(1)
    new = X + 0.3 * X.std(axis=0) * rng.normal(size=X.shape)
    expected = detector.fit(X).decision_function(new)
    shuffled = rng.permutation(np.tile(X, (2, 1)))
    shuffled[shuffled == 0] *= rng.choice([-1, 1], np.sum(shuffled == 0))  # the sign of zero
    for rows in (rng.permutation(X), shuffled):
        np.testing.assert_array_equal(detector.fit(rows).decision_function(new), expected)
        assert detector.score(rng.permutation(X)) == detector.score(X)
    if detector.calibration is None:
        detector.fit(rng.permutation(X), sample_weight=np.full(len(X), 3))
        np.testing.assert_array_equal(detector.decision_function(new), expected)


@pytest.mark.parametrize("name", TABLES)
def test_the_order_and_the_units_of_the_columns_make_no_difference(name):
    X = TABLES[name]
    rng = np.random.default_rng(2)
    new = X + 0.3 * X.std(axis=0) * rng.normal(size=X.shape)
    expected = VanishingDetector().fit(X).decision_function(new)
    order, units = rng.permutation(X.shape[1]), 10.0 ** rng.integers(-3, 4, X.shape[1])
    for change in (lambda rows: rows[:, order], lambda rows: (rows * units)[:, order[::-1]]):
        found = VanishingDetector().fit(change(X)).decision_function(change(new))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_equal_rows_are_one_row_with_their_weights():
    rng = np.random.default_rng(0)
    X, weights = machine(60), rng.integers(2, 9, 60)
    expected = VanishingDetector().fit(X, sample_weight=weights).decision_function(X)
    rows = rng.permutation(120)
    twice, split = np.tile(X, (2, 1))[rows], np.append(weights - 1, np.ones(60))[rows]
    for factor in (1, 2):
        found = VanishingDetector().fit(twice, sample_weight=factor * split)
        np.testing.assert_array_equal(found.decision_function(X), expected)


def test_copies_count_where_a_norm_adds_them_up():
    ideal = VanishingIdeal(tol=2.0, tol_norm="euclidean", normalization="vca")
    X = np.tile(machine(60)[:, :3] / [1e3, 1e-3, 1], (4, 1))
    [[found]] = VanishingDetector(ideal).fit(X).ideals_
    np.testing.assert_allclose(found.extents_, clone(ideal).fit(X).extents_, rtol=1e-9)
    assert not np.allclose(found.extents_, clone(ideal).fit(X[:60]).extents_)


@pytest.mark.parametrize("n_rows", [2, 5, 40])
def test_copies_of_one_row(n_rows):
    detector = VanishingDetector().fit(np.tile([[1.0, 2.0]], (n_rows, 1)))
    np.testing.assert_array_equal(detector.predict([[1.0, 2.0], [1.0, 3.0]]), [1, -1])


def test_pieces_follow_a_curve_that_one_line_cannot():
    rng = np.random.default_rng(0)

    def spiral(n):
        t = rng.uniform(0.5, 3, n) * np.pi
        return np.column_stack([t * np.cos(t), t * np.sin(t)]) + 0.05 * rng.standard_normal((n, 2))

    ideal = VanishingIdeal(max_degree=1, tol=10.0, normalization="contrastive")
    off = rng.uniform(-9, 9, (300, 2))
    one, many = (VanishingDetector(ideal, n_components=k).fit(spiral(800)) for k in (1, 20))
    assert len(many.ideals_[0]) == 20
    assert auc(many, spiral(300), off) > 0.9 > auc(one, spiral(300), off)


def test_recipe_finds_broken_relations_in_any_units():
    detector = VanishingDetector().fit(machine(600))
    assert auc(detector, machine(300, 7), broken(300)) > 0.9
    rescaled = VanishingDetector().fit(machine(600) * [1e-6, 1e7, 1e3, 1.0])
    scale = np.array([1e-6, 1e7, 1e3, 1.0])
    np.testing.assert_allclose(
        rescaled.score_samples(broken(50) * scale), detector.score_samples(broken(50)), rtol=1e-5
    )


@pytest.mark.parametrize("seed", range(4))
def test_small_whole_numbers_in_other_units(seed):
    """They are as far from one cluster as from another, up to rounding."""
    rng = np.random.default_rng(seed)
    X, new = rng.integers(0, 5, (150, 4)).astype(float), rng.integers(0, 6, (50, 4)).astype(float)
    expected = VanishingDetector().fit(X).decision_function(new)
    for units in (3.0, 0.1, np.array([3.0, 7.0, 0.1, 1e-5])):
        found = VanishingDetector().fit(X * units).decision_function(new * units)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_recipe_says_what_it_chose():
    chosen = VanishingDetector().fit(machine(600)).chosen_
    assert [line.split(":")[0] for line in chosen] == [
        "all rows, quadratic",
        "clusters",
        "all rows, quadratic, of normal scores",
        "clusters, of normal scores",
        "values of 3 columns",
        "density of rows, by columns",
        "density of rows, by normal scores",
        "1 constant column",
    ]
    assert "Permuted()" in chosen[0]
    assert "degree 1 or 2" in chosen[0]


def test_broken_constant_is_seen():
    detector = VanishingDetector(contamination=0.01).fit(machine(600))
    X = machine(20, 3)
    X[:, 3] = 7.5
    assert (detector.predict(X) == -1).all()
    assert detector.score_samples(X).max() < detector.score_samples(broken(100)).min()


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("detector", [VanishingDetector(), ChristoffelDetector()])
def test_broken_constants_are_seen_in_any_unit(detector, unit):
    rng = np.random.default_rng(0)
    units = np.array([1.0, 1.0, unit])
    X = np.column_stack([rng.normal(size=(200, 2)), np.full(200, 3.0)])
    new = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 3.1], [0.0, 0.0, 6.0]])
    scores = detector.fit(X * units).score_samples(new * units)
    assert (scores[1:] < scores[0] - 5).all()
    assert detector.predict(new * units).tolist() == [1, -1, -1]


def test_constant_table():
    detector = VanishingDetector().fit(np.ones((30, 2)))
    assert detector.predict([[1.0, 1.0], [1.0, 2.0]]).tolist() == [1, -1]


def test_wide_tables_are_reduced():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 40))
    X += 0.1 * rng.standard_normal(X.shape)
    detector = VanishingDetector().fit(X[:200])
    assert auc(detector, X[200:], 2 * rng.standard_normal((100, 40))) > 0.95


def test_scores_do_not_depend_on_the_batch():
    detector = VanishingDetector().fit(machine(400))
    new = broken(30)
    alone = np.array([detector.score_samples(row[None])[0] for row in new])
    np.testing.assert_allclose(alone, detector.score_samples(new), rtol=1e-9)


def test_score_without_labels_prefers_equations_that_say_something():
    """Large tolerances take linear polynomials that are as large on X as on its contrast."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.02 * rng.standard_normal((400, 2))
    ideal = VanishingIdeal(max_degree=2, normalization="contrastive")
    search = GridSearchCV(VanishingDetector(ideal), {"ideal__tol": [0.3, 1.5]}, cv=3).fit(X)
    assert search.best_params_ == {"ideal__tol": 0.3}
    assert search.best_score_ > 0.9


@pytest.mark.slow
def test_conformal_threshold_keeps_its_rate():
    alarms = []
    for seed in range(25):
        detector = VanishingDetector(contamination=0.1, calibration=0.3, random_state=seed)
        detector.fit(machine(300, seed))
        alarms.append(np.mean(detector.predict(machine(300, 1000 + seed)) == -1))
    assert np.mean(alarms) <= 0.1 + 2 * np.std(alarms) / 5
    assert np.mean(alarms) >= 0.05


IDEAL = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive")


@pytest.mark.parametrize(
    ("detector", "shape"),
    [
        (VanishingDetector(), (100, 30)),  # fewer rows than quadratic monomials
        (VanishingDetector(), (300, 30)),
        (VanishingDetector(), (60, 12)),
        (VanishingDetector(IDEAL), (100, 10)),
        (VanishingDetector(IDEAL, n_components=2), (100, 10)),
    ],
)
def test_automatic_threshold_holds_for_unseen_rows(detector, shape):
    """Thresholds by the rows that were fitted to call half of all unseen ones anomalous, or all."""
    false_alarms = []
    for seed in range(2):
        rows = np.random.default_rng(seed).standard_normal((shape[0] + 500, shape[1]))
        detector.fit(rows[:-500])
        false_alarms.append(np.mean(detector.predict(rows[-500:]) == -1))
    assert np.mean(false_alarms) < 0.1


def test_usual_score_is_that_of_unseen_rows():
    rows = np.random.default_rng(0).standard_normal((800, 30))
    detector = VanishingDetector().fit(rows[:300])
    assert np.mean(-detector.score_samples(rows[300:]) < detector.anomaly_score_.normal.score) > 0.8


def test_small_tables_with_anomalies_are_not_accepted_wholesale():
    """Between as many rows as monomials and three times as many, the threshold is of use too."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((4, 30))
    X = rng.standard_normal((450, 4)) @ mixing + 0.3 * rng.standard_normal((450, 30))
    for n_rows in (250, 350):
        detector = VanishingDetector().fit(X[:n_rows])
        assert np.mean(detector.predict(X[350:]) == -1) < 0.1
        assert np.mean(detector.predict(3 * rng.standard_normal((100, 30))) == -1) > 0.9


def test_contamination_is_the_share_of_the_training_data():
    X = np.random.default_rng(0).standard_normal((200, 10))
    detector = VanishingDetector(contamination=0.1).fit(X)
    assert np.mean(detector.predict(X) == -1) == pytest.approx(0.1, abs=0.005)


def test_large_tables_are_fitted_once(monkeypatch):
    def unwanted(*args, **kwargs):
        raise AssertionError("rows were left out")

    monkeypatch.setattr("vanishing.detectors.base.apply_to_unseen", unwanted)
    X = machine(500)[:, :3] / [1e3, 1e-3, 1]
    VanishingDetector(IDEAL).fit(X)
    with pytest.raises(AssertionError, match="left out"):
        VanishingDetector(IDEAL).fit(X[:100])


def test_frames_clone_and_pickle():
    frame = pd.DataFrame(machine(300), columns=NAMES)
    detector = clone(VanishingDetector()).fit(frame)
    assert detector.feature_names_in_.tolist() == NAMES
    loaded = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(loaded.score_samples(frame), detector.score_samples(frame))
    assert len(pickle.dumps(VanishingDetector().fit(machine(4000)))) < 1_000_000


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (VanishingDetector(contrast=Permuted()), "contrast would have no effect.*pass an ideal"),
        (VanishingDetector(n_components=3), "n_components would have no effect"),
        (VanishingDetector(VanishingIdeal(), contrast=Permuted()), "does not use one"),
        (VanishingDetector(VanishingIdeal(tol=0.0)), "no polynomial vanishes.*raise tol"),
        (VanishingDetector(calibration=0.2), "must be that rate"),
        (VanishingDetector("gradient"), "'ideal' parameter"),
        (VanishingDetector(contamination=0.9), "'contamination' parameter"),
    ],
)
def test_errors(detector, message):
    with pytest.raises(ValueError, match=message):
        detector.fit(machine(100)[:, :3])


def test_use_before_fit():
    with pytest.raises(NotFittedError):
        VanishingDetector().score_samples(machine(5))


@pytest.fixture(scope="module")
def readings():
    rng = np.random.default_rng(0)
    speed, force = rng.uniform(1, 2, (2, 200))
    return np.column_stack([speed, force, speed * force * (1 + 0.02 * rng.normal(size=200))])


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 1e-13), (1.0, 2e-13)])
def test_columns_in_small_units_and_nearly_constant_ones_raise_no_alarm(readings, mean, spread):
    column = mean + spread * np.random.default_rng(1).normal(size=len(readings))
    X = np.column_stack([readings, column])
    model = VanishingDetector().fit(X)
    assert np.mean(model.predict(X) == -1) < 0.1
    X[:, 3] += 0.1
    assert np.all(model.predict(X) == -1)


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("normalization", [None, "gradient", "contrastive"])
@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_rows_beyond_all_numbers_are_anomalous(readings, normalization, n_components):
    if normalization is None:
        model = VanishingDetector()
    else:
        ideal = VanishingIdeal(max_degree=3, tol=0.3, normalization=normalization)
        model = VanishingDetector(ideal, n_components=n_components)
    far = np.array([[1e200, 1, 1], [1e300, -1e300, 1e308], [1.7e308, -1.7e308, 1.7e308]])
    model.fit(readings)
    assert np.all(model.score_samples(far) == -np.inf)
    assert np.all(model.predict(far) == -1)
    assert 0.5 < model.score(np.vstack([readings, far])) <= 1


@pytest.mark.parametrize(("n_rows", "n_columns"), [(3, 25), (20, 25), (40, 3)])
def test_scores_of_exact_equations_do_not_depend_on_the_batch(n_rows, n_columns):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n_rows, n_columns))
    if n_columns == 3:
        X = (X > 1.4).astype(float)
    model = VanishingDetector().fit(X)
    one_by_one = np.concatenate([model.score_samples(row[None]) for row in X])
    np.testing.assert_allclose(one_by_one, model.score_samples(X), rtol=1e-4, atol=1e-3)


def test_a_column_that_differs_in_one_row_only():
    X = np.zeros((15, 1))
    X[4] = 1
    assert np.isfinite(VanishingDetector().fit(X).offset_)


def test_frames_made_by_scikit_learn():
    X = np.random.default_rng(0).normal(size=(60, 25))  # more columns than are taken as they are
    expected = VanishingDetector().fit(X).score_samples(X)
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(VanishingDetector().fit(X).score_samples(X), expected)


def test_failed_refit_with_other_parameters_leaves_the_old_fit_usable(readings):
    model = VanishingDetector().fit(readings)
    expected = model.score_samples(readings)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(ideal=VanishingIdeal(tol=0.1), n_components=2).fit([[np.nan] * 3] * 5)
    np.testing.assert_array_equal(model.score_samples(readings), expected)


def test_more_clusters_than_rows(readings):
    with pytest.raises(ValueError, match="n_components=500 clusters cannot be made of 200 rows"):
        VanishingDetector(VanishingIdeal(max_degree=1), n_components=500).fit(readings)


def test_error_of_no_equation_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(NothingVanishesError(0.5, 0.1)))
    assert "smallest extent is 0.5, over tol=0.1" in str(error)
    assert (error.smallest, error.tol) == (0.5, 0.1)


@pytest.mark.parametrize("n_rows", [300, 30_000])
def test_progress_goes_from_zero_to_one(n_rows):
    rng = np.random.default_rng(0)
    shares = []
    VanishingDetector().fit(rng.normal(size=(n_rows, 4)), callback=shares.append)
    assert len(shares) >= 10
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert shares[-1] == pytest.approx(1.0)


def test_jobs_change_nothing():
    X = np.random.default_rng(1).normal(size=(200, 4))
    one, two = (VanishingDetector(n_jobs=n).fit(X) for n in (None, 2))
    np.testing.assert_array_equal(one.score_samples(X), two.score_samples(X))
    assert one.offset_ == two.offset_
