"""Choosing between detectors without labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import ChristoffelDetector, image_anomalies, select_without_labels
from vanishing.detectors.unlabeled import Selection
from vanishing.transformations import Rotations, Translations

SHAPE = (8, 8)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    even = y % 2 == 0
    return X[:600][even[:600]] / 16, X[600:] / 16, even[600:]


def candidates():
    return {
        "rotations": TransformationDetector(
            Rotations(SHAPE), preprocessor=PCA(12, random_state=0), contamination=0.05
        ),
        "shifts": TransformationDetector(
            Translations(SHAPE, shift=2), preprocessor=PCA(12, random_state=0), contamination=0.05
        ),
        "one equation": make_pipeline(
            PCA(3), VanishingDetector(VanishingIdeal(max_degree=1, tol=10.0))
        ),
    }


@pytest.mark.slow
def test_the_choice_is_good_on_labels_that_it_never_saw(digits):
    normal, new, even = digits
    found = select_without_labels(candidates(), normal, n_groups=5, representation=PCA(12))
    truth = {
        name: roc_auc_score(even, candidate.fit(normal).score_samples(new))
        for name, candidate in candidates().items()
    }
    assert list(found.names) == sorted(truth, key=lambda name: -truth[name])
    assert found.group_auc.shape == (3, 5)
    np.testing.assert_allclose(found.mean_auc, found.group_auc.mean(axis=1))
    assert roc_auc_score(even, found.best_estimator.score_samples(new)) == truth[found.names[0]]


@pytest.mark.slow
def test_same_seed_same_choice_and_candidates_are_left_unfitted(digits):
    tried = candidates()
    first, second = (
        select_without_labels(tried, digits[0], n_groups=3, representation=PCA(12))
        for _ in range(2)
    )
    assert first.names == second.names
    np.testing.assert_array_equal(first.group_auc, second.group_auc)
    assert not hasattr(tried["rotations"], "offset_")


def test_groups_of_the_user_are_left_out(digits):
    X, y = (each[:600] for each in load_digits(return_X_y=True))
    normal = y % 2 == 0
    tried = {"shifts": candidates()["shifts"]}
    found = select_without_labels(tried, X[normal] / 16, groups=y[normal])
    assert found.group_auc.shape == (1, 5)
    assert found.mean_auc[0] > 0.8


def test_groups_are_found_in_the_coordinates_of_the_user():
    """Two blobs that differ in a column too small to be seen among the others."""
    rng = np.random.default_rng(0)
    X = 100 * rng.standard_normal((120, 6))
    X[:, 0] = np.repeat([0.0, 1.0], 60) + 0.01 * rng.standard_normal(120)
    tried = {"quadratic": ChristoffelDetector(1)}
    first = FunctionTransformer(lambda rows: rows[:, :1])
    mean_auc = [
        float(select_without_labels(tried, X, n_groups=2, representation=each).mean_auc[0])
        for each in (first, None)
    ]
    assert mean_auc[0] > 0.99
    assert mean_auc[1] < 0.95


def test_a_candidate_that_fails_comes_last(digits):
    tried = candidates()
    nothing = VanishingIdeal(max_degree=1, tol=1e-9)
    tried["impossible"] = TransformationDetector(
        Rotations(SHAPE), preprocessor=PCA(12, random_state=0), contamination=0.05, ideal=nothing
    )
    found = select_without_labels(tried, digits[0], n_groups=3)
    assert found.names[-1] == "impossible"
    assert found.mean_auc[-1] == -np.inf
    with pytest.raises(ValueError, match="no candidate could be fitted; 'impossible'"):
        select_without_labels({"impossible": tried["impossible"]}, digits[0], n_groups=3)


def test_bad_input(digits):
    normal = digits[0]
    with pytest.raises(ValueError, match="at least one detector"):
        select_without_labels({}, normal)
    with pytest.raises(ValueError, match="groups has shape"):
        select_without_labels(candidates(), normal, groups=[1, 2])
    with pytest.raises(ValueError, match="at least two groups"):
        select_without_labels(candidates(), normal, groups=np.zeros(len(normal)))
    with pytest.raises(ValueError, match="NaN"):
        select_without_labels(candidates(), np.full((20, 64), np.nan))


def test_a_pipeline_alone_and_names_of_columns(digits):
    pandas = pytest.importorskip("pandas")
    X = PCA(3).fit_transform(digits[0])
    alone = {"pipeline": make_pipeline(PCA(2), VanishingDetector())}
    assert select_without_labels(alone, X, n_groups=3).names == ("pipeline",)
    named = pandas.DataFrame(X, columns=["a", "b", "c"])
    best = select_without_labels({"table": VanishingDetector()}, named, n_groups=3).best_estimator
    assert list(best.feature_names_in_) == ["a", "b", "c"]


def test_kinds_of_strange_images_rank_candidates(digits):
    normal, new, even = digits
    found = select_without_labels(candidates(), normal, anomalies=image_anomalies(SHAPE))
    assert found.group_auc.shape == (3, 9)
    assert found.names[-1] == "one equation"
    assert roc_auc_score(even, found.best_estimator.score_samples(new)) > 0.85


@pytest.mark.parametrize("shape", [(28, 28), (7, 9), (6, 5, 3), (1, 1)])
def test_strange_images_differ_and_keep_their_shape(shape):
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(12, int(np.prod(shape))))
    for name, change in image_anomalies(shape).items():
        changed = change(images.copy(), rng)
        assert changed.shape == images.shape, name
        assert np.isfinite(changed).all(), name
        if min(shape[:2]) > 2:
            assert np.mean(np.any(changed != images, axis=1)) >= 0.75, name


def test_kinds_of_the_user(digits):
    tried = {"shifts": candidates()["shifts"]}
    kinds = {"noise": lambda rows, rng: rows + rng.normal(size=rows.shape)}
    assert select_without_labels(tried, digits[0], anomalies=kinds).mean_auc[0] > 0.9
    with pytest.raises(ValueError, match="'narrow' must be finite rows of 64 columns"):
        select_without_labels(tried, digits[0], anomalies={"narrow": lambda rows, _: rows[:, :3]})
    with pytest.raises(ValueError, match="at least one kind"):
        select_without_labels(tried, digits[0], anomalies={})
    with pytest.raises(ValueError, match="one of the two"):
        select_without_labels(tried, digits[0], anomalies=kinds, groups=np.zeros(len(digits[0])))
    with pytest.raises(ValueError, match="at least 25 are required"):
        select_without_labels(tried, digits[0][:10], anomalies=kinds)
    with pytest.raises(ValueError, match="image_shape must be"):
        image_anomalies((8,))


def test_noise_is_a_small_share_of_the_range_of_pixels():
    images = np.tile([[0.0, 10.0], [5.0, 5.0]], (4000, 1, 1)).reshape(4000, 4)
    noisy = image_anomalies((2, 2))["noise"](images, np.random.default_rng(0))
    assert noisy.min() >= 0.0
    assert noisy.max() <= 10.0
    assert np.std(noisy[:, 2] - 5.0) == pytest.approx(1.5, rel=0.1)


def test_a_selection_lists_its_candidates_in_percent():
    found = Selection(("first", "second"), np.array([0.915, 0.5]), np.ones((2, 1)), None)
    assert str(found) == " 91.50  first\n 50.00  second"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((60, 3)), "all rows of X are the same, so they form no groups"),
        (1e200 * np.random.default_rng(0).normal(size=(60, 3)), "too large to be squared"),
        (1e-200 * np.random.default_rng(0).normal(size=(60, 3)), "too small to be squared"),
    ],
)
def test_tables_without_groups(X, message):
    with pytest.raises(ValueError, match=message):
        select_without_labels({"one": VanishingDetector()}, X)
