"""TransformationDetector: the paper's detector, its contract and its errors."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import image_detector
from vanishing.detectors.base import apply_to_unseen
from vanishing.transformations import (
    FunctionTransformation,
    Identity,
    RandomAffine,
    Rotations,
    Translations,
)

ROTATIONS = Rotations(image_shape=(8, 8))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    even = y % 2 == 0
    return X[:1000][even[:1000]] / 16, X[1000:] / 16, even[1000:]


# Rotations make pairs of equal variances: 10 components split none of them.
def detector(**parameters):
    return TransformationDetector(ROTATIONS, preprocessor=PCA(10, random_state=0), **parameters)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
def test_score_is_the_formula_of_the_paper(digits, center, smoothing):
    normal, new, _ = digits
    model = detector(center=center, smoothing=smoothing).fit(normal)
    pca = PCA(10, random_state=0).fit(
        np.vstack([transformation(normal) for transformation in model.transformations_])
    )
    images = [pca.transform(t(normal)) for t in model.transformations_]
    ideals = [
        VanishingIdeal(
            max_degree=2, tol=0.5, normalization="contrastive", reduction="gram", output="signed"
        ).fit(images[i], contrast=np.vstack([z for k, z in enumerate(images) if k != i]))
        for i in range(4)
    ]
    centers = [
        ideal.transform(z).mean(axis=0) * center for ideal, z in zip(ideals, images, strict=True)
    ]
    expected = np.zeros(len(new))
    for i, transformation in enumerate(model.transformations_):
        z = pca.transform(transformation(new))
        D = np.stack(
            [
                np.sum((ideal.transform(z) - c) ** 2, axis=1)
                for ideal, c in zip(ideals, centers, strict=True)
            ],
            axis=1,
        )
        if smoothing:
            p = (np.exp(-D[:, i]) + smoothing) / (np.exp(-D).sum(axis=1) + 4 * smoothing)
            expected += np.log(p)
        else:
            expected += -D[:, i] - logsumexp(-D, axis=1)
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighting", [None, "convex", "descent"])
def test_odd_digits_are_anomalous_among_even_ones(digits, weighting):
    normal, new, even = digits
    scores = detector(weighting=weighting).fit(normal).score_samples(new)
    assert roc_auc_score(even, scores) > 0.83


@pytest.mark.parametrize("normalization", ["vca", "gradient"])
def test_the_paper_s_second_table_is_the_same_class(digits, normalization):
    normal, new, _ = digits
    ideal = VanishingIdeal(max_degree=1, tol=0.5, normalization=normalization)
    assert np.isfinite(detector(ideal=ideal).fit(normal).score_samples(new)).all()


@pytest.mark.slow
def test_pieces_help_and_are_counted(digits):
    normal, new, even = digits
    ideal = VanishingIdeal(max_degree=1, tol=0.7, normalization="contrastive", reduction="gram")
    one = detector(ideal=ideal).fit(normal)
    five = detector(ideal=ideal, n_components=5).fit(normal)
    assert (one.n_components_, five.n_components_) == (1, 5)
    assert [len(row) for row in five.ideals_] == [5] * 4
    aucs = [roc_auc_score(even, model.score_samples(new)) for model in (one, five)]
    assert aucs[1] > aucs[0] > 0.8
    weighted = detector(ideal=ideal, n_components=5, weighting="convex", sparsity=0.0).fit(normal)
    assert weighted.score(normal) > five.score(normal)


def test_convex_weights_lower_the_held_out_loss_further_than_descent(digits):
    normal, new, even = digits
    loss = {
        weighting: -detector(weighting=weighting).fit(normal).score(new[even])
        for weighting in (None, "descent", "convex")
    }
    assert loss["convex"] < loss["descent"] < loss[None]


def test_polynomials_of_weight_zero_are_dropped_without_changing_scores(digits):
    normal, new, _ = digits
    full = detector().fit(normal)
    sparse = detector(weighting="convex", sparsity=300.0).fit(normal)
    kept = [
        np.isin(f[0].extents_, s[0].extents_)
        for f, s in zip(full.ideals_, sparse.ideals_, strict=True)
    ]
    assert 0 < sum(k.sum() for k in kept) < sum(k.size for k in kept)
    components = []
    for i, k in enumerate(kept):
        weights = np.zeros(k.size)
        weights[k] = sparse.weights_[i][0]
        components.append(replace(full.mixtures_[0].components[i], weights=weights))
    mixture = replace(full.mixtures_[0], components=components)
    full.anomaly_score_ = replace(full.anomaly_score_, views=[mixture])
    np.testing.assert_allclose(sparse.score_samples(new), full.score_samples(new), rtol=1e-9)


def test_scores_do_not_depend_on_the_batch(digits):
    normal, new, _ = digits
    model = detector().fit(normal)
    together = model.score_samples(new)
    alone = np.array([model.score_samples(row[None])[0] for row in new[:20]])
    np.testing.assert_allclose(alone, together[:20], rtol=1e-10)


def test_outlier_contract(digits):
    normal, new, _ = digits
    model = detector(contamination=0.1).fit(normal)
    np.testing.assert_allclose(
        model.decision_function(new), model.score_samples(new) - model.offset_
    )
    np.testing.assert_array_equal(model.predict(new) == -1, model.decision_function(new) < 0)
    assert np.mean(model.predict(normal) == -1) == pytest.approx(0.1, abs=0.005)
    assert model.score(normal) == pytest.approx(model.score_samples(normal).mean())


@pytest.mark.slow
def test_conformal_threshold_keeps_its_rate(digits):
    """Mean over seeds of false alarms on normal rows that were not used at all."""
    X, y = load_digits(return_X_y=True)
    normal = X[y % 2 == 0] / 16
    ideal = VanishingIdeal(max_degree=1, tol=0.7, normalization="contrastive", reduction="gram")
    alarms = []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(normal))
        model = detector(ideal=ideal, contamination=0.1, calibration=0.3, random_state=seed)
        model.fit(normal[order[:600]])
        alarms.append(np.mean(model.predict(normal[order[600:]]) == -1))
    error = np.std(alarms) / np.sqrt(len(alarms))
    assert np.mean(alarms) <= 0.1 + 2 * error
    assert np.mean(alarms) >= 0.05


def test_clone_pickle_pipeline_and_grid_search(digits):
    normal, new, _ = digits
    model = clone(detector(contamination=0.05)).fit(normal)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.score_samples(new), model.score_samples(new))
    assert len(pickle.dumps(model)) < 2_000_000
    pipe = make_pipeline(StandardScaler(with_std=False), detector()).fit(normal)
    assert pipe.score_samples(new).shape == (len(new),)
    ideal = VanishingIdeal(max_degree=1, normalization="contrastive", reduction="gram")
    search = GridSearchCV(detector(ideal=ideal), {"ideal__tol": [0.5, 0.8]}, cv=2).fit(normal)
    assert search.best_params_["ideal__tol"] in (0.5, 0.8)


def test_parallel_fits_give_the_same(digits):
    normal, new, _ = digits
    one, two = (detector(n_components=2, n_jobs=n).fit(normal) for n in (1, 2))
    np.testing.assert_array_equal(one.score_samples(new), two.score_samples(new))


def test_any_table_without_arguments():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal(
        (500, 6)
    )
    model = TransformationDetector().fit(pd.DataFrame(X, columns=list("abcdef")))
    off = pd.DataFrame(2 * rng.standard_normal((200, 6)), columns=list("abcdef"))
    on = pd.DataFrame(X[:200], columns=list("abcdef"))
    labels = np.repeat([1, 0], 200)
    scores = np.concatenate([model.score_samples(on), model.score_samples(off)])
    assert roc_auc_score(labels, scores) > 0.9


# --- errors --------------------------------------------------------------------------------------


def refused(kind, match, model, X):
    with pytest.raises(kind, match=match):
        model.fit(X)


def test_image_shape_that_does_not_fit(digits):
    model = TransformationDetector(Rotations(image_shape=(28, 28)))
    refused(ValueError, r"784.*64", model, digits[0])


def test_one_transformation_only(digits):
    refused(ValueError, "at least two are required", TransformationDetector(Identity()), digits[0])


def test_identical_copies(digits):
    same = FunctionTransformation((lambda x: x + 0.0, lambda x: x * 1.0), names=("a", "b"))
    refused(
        ValueError,
        r"0 \('a'\) and 1 \('b'\) give identical",
        TransformationDetector(same),
        digits[0],
    )


def test_nothing_vanishes_for_a_transformation(digits):
    ideal = VanishingIdeal(max_degree=1, tol=1e-6, normalization="contrastive")
    refused(
        ValueError,
        r"no polynomial vanishes on transformation 0 .*smallest extent is 0\.\d+, over tol=1e-06",
        detector(ideal=ideal),
        digits[0],
    )


def test_sparsity_that_leaves_nothing(digits):
    model = detector(weighting="convex", sparsity=1e6)
    refused(
        ValueError, r"sparsity=1000000.0 and \d+ samples all weights are zero", model, digits[0]
    )


def test_guarantee_without_a_rate(digits):
    refused(ValueError, "must be that rate.*got 'auto'", detector(calibration=0.2), digits[0])


def test_nan_and_use_before_fit(digits):
    bad = digits[0].copy()
    bad[3, 5] = np.nan
    refused(ValueError, "NaN", detector(), bad)
    with pytest.raises(NotFittedError):
        detector().score_samples(digits[1])


def test_failed_refit_leaves_the_old_fit_usable(digits):
    normal, new, _ = digits
    model = detector().fit(normal)
    expected = model.score_samples(new)
    with pytest.raises(ValueError, match="784"):
        model.set_params(transformations=Rotations(image_shape=(28, 28))).fit(normal)
    np.testing.assert_array_equal(model.score_samples(new), expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"smoothing": -1.0},
        {"contamination": 0.7},
        {"weighting": "best"},
        {"preprocessor": 3},
        {"transformations": "rotations"},
        {"ideal": StandardScaler()},
    ],
    ids=str,
)
def test_parameters_out_of_range(digits, parameters):
    name = next(iter(parameters))
    refused(ValueError, f"'{name}' parameter", TransformationDetector(**parameters), digits[0])


def test_random_affine_says_less_than_rotations(digits):
    """The paper's claim, on small images: random maps leave the space of images."""
    normal, new, even = digits
    rotations = roc_auc_score(even, detector().fit(normal).score_samples(new))
    model = TransformationDetector(RandomAffine(), preprocessor=PCA(10, random_state=0))
    affine = roc_auc_score(even, model.fit(normal).score_samples(new))
    assert affine < rotations - 0.1


def test_shifts_of_images(digits):
    normal, new, _ = digits
    ideal = VanishingIdeal(max_degree=1, tol=0.7, normalization="contrastive", reduction="gram")
    model = TransformationDetector(
        Translations(image_shape=(8, 8), shift=2), preprocessor=PCA(20, random_state=0), ideal=ideal
    )
    assert len(model.fit(normal).transformations_) == 9
    assert np.isfinite(model.score_samples(new)).all()


# --- robustness ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_rows_beyond_all_numbers_are_anomalous(digits):
    normal, new, _ = digits
    model = detector().fit(normal)
    far = np.vstack([new[:2], np.full((3, 64), 1e160), np.full((1, 64), 1e80)])
    assert not np.isnan(model.score_samples(far)).any()
    assert (model.predict(far)[2:] == -1).all()


@pytest.mark.slow
def test_scores_do_not_depend_on_the_batch_in_single_precision(digits):
    normal, new, _ = digits
    model = TransformationDetector().fit((normal + 100).astype(np.float32))
    new = (new[:50] + 100).astype(np.float32)
    together = model.score_samples(new)
    alone = np.array([model.score_samples(row[None])[0] for row in new])
    np.testing.assert_allclose(alone, together, rtol=1e-6, atol=1e-6)


def test_columns_in_any_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2)) @ rng.standard_normal((2, 5))
    X += 0.05 * rng.standard_normal(X.shape)
    off = 2 * rng.standard_normal((200, 5))
    units = np.array([1e-3, 1.0, 1e6, 10.0, 1e-2])
    model = TransformationDetector().fit(X[:400] * units)
    scores = np.concatenate(
        [model.score_samples(X[400:] * units), model.score_samples(off * units)]
    )
    assert roc_auc_score(np.repeat([1, 0], 200), scores) > 0.75  # 0.10 without common units


def test_descent_that_diverges_is_reported(digits):
    ideal = VanishingIdeal(max_degree=1, tol=127.5, normalization="gradient")
    model = detector(ideal=ideal, weighting="descent")
    with np.errstate(over="ignore", invalid="ignore"):
        refused(ValueError, "diverged.*use weighting='convex'", model, 255 * digits[0])


def test_impossible_guarantee_is_refused_before_the_fit(digits):
    model = detector(contamination=0.001, calibration=0.1)
    refused(ValueError, "cannot be guaranteed with .* calibration samples", model, digits[0])


def test_calibration_rows_are_not_fitted(digits):
    """A relation that only the held-out rows break is still found exactly."""
    normal, _, _ = digits
    model = detector(contamination=0.2, calibration=0.5, random_state=3)
    order = np.random.default_rng(3).permutation(len(normal))
    half = round(0.5 * len(normal))
    plain = detector(random_state=3).fit(normal[order[half:]])
    np.testing.assert_allclose(
        model.fit(normal).score_samples(normal), plain.score_samples(normal), rtol=1e-9
    )
    held_out = model.score_samples(normal[order[:half]])
    assert np.mean(held_out < model.offset_) <= 0.2


def test_transformations_that_cannot_be_told_apart_are_warned_of():
    X = np.random.default_rng(0).standard_normal((300, 1))
    with pytest.warns(UserWarning, match="no equation is smaller on transformation"):
        TransformationDetector().fit(X)


def test_several_resolutions_are_means_of_standardized_logarithms(digits):
    normal, new, _ = digits
    model = detector(n_components=(1, 4)).fit(normal)
    assert model.n_components_ == 5
    assert [len(row) for row in model.ideals_] == [5] * 4
    expected = np.zeros(len(new))
    for n_components in (1, 4):
        single = detector(n_components=n_components).fit(normal)
        trained, tested = (np.log(1e-3 - single.score_samples(X)) for X in (normal, new))
        expected -= (tested - trained.mean()) / trained.std() / 2
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-6, atol=1e-6)


def test_starts_of_k_means_share_the_weight_of_a_resolution(digits):
    normal, new, _ = digits
    model = detector(n_components=(1, 4, 4)).fit(normal)
    assert model.n_components_ == 9
    expected = np.zeros(len(new))
    for n_components, seed, weight in ((1, 0, 1 / 2), (4, 0, 1 / 4), (4, 1, 1 / 4)):
        single = detector(n_components=n_components, random_state=seed).fit(normal)
        trained, tested = (np.log(1e-3 - single.score_samples(X)) for X in (normal, new))
        expected -= weight * (tested - trained.mean()) / trained.std()
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_rows_some_are_scored_in_the_fit(digits, monkeypatch, weighted):
    normal, new, _ = digits
    rows = np.repeat(normal, 2, axis=0)
    weights = np.linspace(1.0, 2.0, len(rows)) if weighted else None
    model = detector(n_components=(1, 4), distance_weight=0.5, contamination=0.1)
    whole = clone(model).fit(rows, sample_weight=weights)
    monkeypatch.setattr("vanishing.detectors.transformation.FITTED_ROWS", len(rows) // 2)
    part = clone(model).fit(rows, sample_weight=weights)
    expected, found = whole.score_samples(new), part.score_samples(new)
    assert not np.array_equal(found, expected)
    assert np.corrcoef(found, expected)[0, 1] > 0.999
    assert abs(np.average(part.predict(rows) < 0, weights=weights) - 0.1) < 0.03


def test_resolutions_and_distance_find_more(digits):
    normal, new, even = digits
    plain, several, far = (
        roc_auc_score(even, detector(**parameters).fit(normal).score_samples(new))
        for parameters in ({}, {"n_components": (1, 5)}, {"distance_weight": 0.5})
    )
    assert several > plain + 0.01
    assert far > plain + 0.01


def test_distance_sees_what_probabilities_do_not(digits):
    """Far from every copy one of them may still fit much better than the others."""
    normal, _, _ = digits
    plain = detector().fit(normal)
    with_distance = detector(distance_weight=1.0).fit(normal)
    trained = with_distance.score_samples(normal)
    blank = np.zeros((1, 64))
    assert with_distance.score_samples(blank)[0] < np.quantile(trained, 0.05)
    distance, coordinates = with_distance.anomaly_score_.views[-1], plain.anomaly_score_.coordinates
    far, near = (
        distance.value(distance.measure(coordinates.image(0, rows)))
        for rows in (5 * normal[:1], normal[:1])
    )
    assert far > near


@pytest.mark.parametrize("n_components", [(), (2, 0), (1.5, 2), "12", [[1, 2]]])
def test_resolutions_that_make_no_sense(digits, n_components):
    with pytest.raises(ValueError, match="n_components"):
        detector(n_components=n_components).fit(digits[0])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_components": (1, 3), "distance_weight": 0.5},
        {"contamination": 0.1, "calibration": 0.3},
    ],
)
def test_torch_gives_the_answers_of_numpy(digits, parameters):
    torch = pytest.importorskip("torch")
    normal, new, _ = digits
    expected = detector(**parameters).fit(normal)
    model = detector(**parameters).fit(torch.asarray(normal))
    scores = model.score_samples(torch.asarray(new))
    assert isinstance(scores, torch.Tensor)
    np.testing.assert_allclose(scores.numpy(), expected.score_samples(new), rtol=1e-6, atol=1e-8)
    assert model.offset_ == pytest.approx(expected.offset_, rel=1e-8)
    labels = model.predict(torch.asarray(new))
    np.testing.assert_array_equal(labels.numpy(), expected.predict(new))


def test_torch_tables_without_arguments(digits):
    torch = pytest.importorskip("torch")
    normal, new, _ = digits
    for made in (TransformationDetector(), VanishingDetector()):
        expected = clone(made).fit(normal[:, 10:20]).score_samples(new[:, 10:20])
        scores = made.fit(torch.asarray(normal[:, 10:20])).score_samples(
            torch.asarray(new[:, 10:20])
        )
        np.testing.assert_allclose(scores.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_new_normal_rows_are_seldom_called_anomalous_with_few_rows():
    """Training rows are fitted more closely than new ones, so these set the threshold."""
    rates = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((1100, 4)) @ rng.standard_normal((4, 10))
        rows += 0.3 * rng.standard_normal(rows.shape)
        model = TransformationDetector().fit(rows[:100])
        rates.append(np.mean(model.predict(rows[100:]) == -1))
    assert np.mean(rates) < 0.1


def test_pieces_that_lose_all_polynomials_are_left_out_of_the_distance():
    sparse = {"weighting": "convex", "n_components": 4, "distance_weight": 0.3}
    X, y = load_digits(return_X_y=True)
    few = X[:200][y[:200] % 2 == 0] / 16
    model = TransformationDetector(
        ROTATIONS, preprocessor=PCA(6, random_state=0), sparsity=23.5, **sparse
    ).fit(few)
    counts = [len(weights) for weights in model.weights_[0]]
    assert min(counts) == 0 < max(counts)
    assert np.isfinite(model.score_samples(X[900:960] / 16)).all()
    assert np.isfinite(model.offset_)


def test_distance_from_a_transformation_that_loses_all_polynomials(digits, monkeypatch):
    def nothing_for_the_first(problem, *, penalty):
        u = np.ones(problem.components[-1].stop)
        u[problem.components[0]] = 0.0
        return u

    monkeypatch.setattr("vanishing.detectors.mixture.minimize_convex", nothing_for_the_first)
    model = detector(weighting="convex", distance_weight=0.3)
    refused(ValueError, "lower sparsity, or leave distance_weight out", model, digits[0])


def test_failed_refit_with_another_score_leaves_the_old_fit_usable(digits):
    normal, new, _ = digits
    model = detector().fit(normal)
    expected = model.score_samples(new)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(distance_weight=0.5).fit(np.full_like(normal, np.nan))
    np.testing.assert_array_equal(model.score_samples(new), expected)


def test_preprocessor_that_makes_frames(digits):
    normal, new, _ = digits
    expected = detector().fit(normal).score_samples(new)
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(detector().fit(normal).score_samples(new), expected)


def test_images_that_are_not_square_with_transformations_of_the_user():
    shifts = Translations((4, 8), shift=1)
    assert image_detector((4, 8), transformations=shifts).transformations is shifts


@pytest.mark.parametrize("n_components", [(1, 2), (1, 2, 2, 3)])
def test_progress_goes_from_zero_to_one(n_components):
    X = np.random.default_rng(0).normal(size=(120, 4))
    shares = []
    TransformationDetector(n_components=n_components).fit(X, callback=shares.append)
    assert len(shares) >= 10
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("preprocessor", [None, StandardScaler()])
def test_moved_pixels_without_principal_components(digits, preprocessor):
    """Their images are made one by one, and are those of the transformations."""
    normal, new, _ = digits
    center = [18, 19, 20, 26, 27, 28, 34, 35, 36]  # of the image: 3 x 3 pixels that all vary
    rotations = Rotations(image_shape=(3, 3))
    model = TransformationDetector(rotations, preprocessor=preprocessor).fit(normal[:, center])
    coordinates = model.anomaly_score_.coordinates
    for image, rotate in zip(
        coordinates.each(new[:5, center]), model.transformations_, strict=True
    ):
        expected = rotate(coordinates.scale(new[:5, center]))
        if preprocessor is not None:
            expected = coordinates.preprocessor.transform(expected)
        np.testing.assert_allclose(image, expected)


@pytest.mark.parametrize(
    ("contamination", "n_rows", "are_left_out"),
    [("auto", 60, True), ("auto", 8, False), ("auto", 90, False), (0.1, 60, False)],
)
def test_rows_are_left_out_for_the_automatic_threshold_of_few(
    contamination, n_rows, are_left_out, monkeypatch
):
    calls = []

    def record(n_rows, score, **options):
        calls.append(n_rows)
        return apply_to_unseen(n_rows, score, **options)

    monkeypatch.setattr("vanishing.detectors.base.apply_to_unseen", record)
    monkeypatch.setattr("vanishing.detectors.transformation.ENOUGH_ROWS", 40)
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    ideal = VanishingIdeal(max_degree=1, tol=2.0, normalization="contrastive")
    model = TransformationDetector(
        RandomAffine(2), ideal=ideal, contamination=contamination, random_state=0
    )
    model.fit(X)
    assert calls == ([n_rows] if are_left_out else [])


@pytest.mark.parametrize("n_components", [1, (1, 5)])
def test_weights_of_views_are_shares(digits, n_components):
    normal, _, _ = digits
    model = detector(n_components=n_components, distance_weight=0.5).fit(normal)
    weights = np.array([view.weight for view in model.anomaly_score_.views])
    losses, distances = np.split(weights, 2)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(distances, 0.5 * losses)


def curve(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n_rows)
    return np.column_stack([x, x**2, x**3]) + 0.02 * rng.normal(size=(n_rows, 3))


@pytest.mark.parametrize(
    "parameters",
    [
        {"weighting": "convex", "n_components": 2},
        {"weighting": "convex", "n_components": 2, "distance_weight": 1.0},
        {"n_components": 2},
        {"smoothing": 0.1},
    ],
    ids=str,
)
def test_cells_far_outside_of_their_range_are_anomalous(parameters):
    # Without the equations that got no weight, images may be perfectly told apart far away.
    normal = curve()
    model = TransformationDetector(**parameters).fit(normal)
    sizes = 10.0 ** np.array([2, 4, 8, 20, 100])
    for column in range(3):
        far = np.repeat(normal[:1], 2 * len(sizes), axis=0)
        far[:, column] = np.append(sizes, -sizes)
        assert (model.predict(far) == -1).all()
        (why,) = model.explain(far[:1])
        assert np.argmax(why.attribution) == column
        assert abs(why.counterfactual[column]) < 2


def test_a_pixel_that_was_always_black_is_not_out_of_range(digits):
    normal, new, _ = digits
    model = detector().fit(normal * (np.arange(64) > 0))
    gray = new[:20].copy()
    gray[:, 0] = 0.5
    np.testing.assert_allclose(
        model.score_samples(gray), -model.anomaly_score_.add_up(model.anomaly_score_.measure(gray))
    )
