"""VanishingOD against the real PyOD: scores, labels, what PyOD makes of them, ensembles."""

import doctest
import importlib.util
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from tests.support.paths import DOCS

pytest.importorskip("pyod")

from pyod.models.base import BaseDetector
from pyod.models.knn import KNN
from pyod.models.lscp import LSCP
from pyod.utils.data import evaluate_print
from pyod.utils.utility import check_detector, precision_n_scores, standardizer

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import pyod as integration
from vanishing.detectors.pyod import VanishingOD

NAMES = ["speed", "force", "power"]

DETECTORS = [
    None,
    VanishingDetector(),
    VanishingDetector(
        VanishingIdeal(max_degree=2, tol=0.3, normalization="contrastive"), n_components=2
    ),
    TransformationDetector(),
]


def readings(n_samples, seed=0, n_broken=0):
    """Speed, force and power = speed · force; in the last rows power is too large or small."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 2, (n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] * (1 + 0.01 * rng.standard_normal(n_samples))
    X[n_samples - n_broken :, 2] += rng.choice([-0.7, 0.7], n_broken)
    return X


def is_broken(n_samples, n_broken):
    return np.repeat([0, 1], [n_samples - n_broken, n_broken])


TRAIN = readings(200, n_broken=10)
NEW = readings(100, seed=1, n_broken=20)
NEW_LABELS = is_broken(100, 20)


@pytest.fixture(scope="module")
def fitted():
    return VanishingOD(contamination=0.05).fit(TRAIN)


@pytest.fixture(scope="module", params=DETECTORS, ids=repr)
def each(request):
    return VanishingOD(request.param).fit(TRAIN)


# --- scores and labels ----------------------------------------------------------------------------


def test_scores_are_those_of_the_detector_with_the_sign_turned(each):
    ours = clone(VanishingDetector() if each.detector is None else each.detector).fit(TRAIN)
    np.testing.assert_array_equal(each.decision_function(NEW), -ours.score_samples(NEW))
    np.testing.assert_array_equal(each.decision_scores_, each.decision_function(TRAIN))
    # Random affine maps say less about tables; with the wrong sign it would be below a half.
    least = 0.7 if isinstance(each.detector, TransformationDetector) else 0.95
    assert roc_auc_score(NEW_LABELS, each.decision_function(NEW)) > least


@pytest.mark.parametrize("contamination", [0.01, 0.05, 0.5])
def test_contamination_is_the_share_of_labels_in_training(contamination):
    detector = VanishingOD(contamination=contamination).fit(TRAIN)
    assert detector.labels_.sum() == contamination * len(TRAIN)
    assert set(detector.labels_) == {0, 1}
    assert detector.threshold_ == np.quantile(detector.decision_scores_, 1 - contamination)
    np.testing.assert_array_equal(detector.predict(TRAIN), detector.labels_)


def test_labels_are_one_for_anomalies(fitted):
    np.testing.assert_array_equal(fitted.predict([[1.2, 1.5, 1.8], [1.2, 1.5, 2.5]]), [0, 1])
    assert np.mean(fitted.predict(NEW) == NEW_LABELS) > 0.95


class MeanThresholder:
    """What PyOD asks of the thresholders of pythresh."""

    def fit(self, scores):
        self.thresh_ = np.mean(scores)
        self.labels_ = self.predict(scores)

    def predict(self, scores):
        return (scores > self.thresh_).astype(int)

    def eval(self, scores):  # by PyOD 2
        self.fit(scores)
        return self.labels_


def test_thresholder_in_place_of_contamination():
    detector = VanishingOD(contamination=MeanThresholder()).fit(TRAIN)
    assert detector.threshold_ == detector.decision_scores_.mean()
    np.testing.assert_array_equal(detector.predict(TRAIN), detector.labels_)
    assert detector.predict_confidence(NEW).shape == (100,)


@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_infinite_scores_become_the_largest():
    detector = VanishingOD(TransformationDetector()).fit(TRAIN)
    far = np.vstack([NEW, np.full((1, 3), 1e200)])
    assert np.isneginf(detector.detector_.score_samples(far)[-1])
    scores = detector.decision_function(far)
    assert np.argmax(scores) == 100
    for method in ("linear", "unify"):
        assert detector.predict_proba(far, method=method)[-1].tolist() == [0, 1]
    assert np.isfinite(standardizer(scores[:, None])).all()


def test_y_is_ignored():
    detector = VanishingOD().fit(TRAIN, np.arange(len(TRAIN)))
    assert detector.predict_proba(NEW).shape == (100, 2)


def test_frames_keep_their_names(fitted):
    frame = pd.DataFrame(TRAIN, columns=NAMES)
    detector = VanishingOD(contamination=0.05).fit(frame)
    np.testing.assert_array_equal(detector.predict(frame), fitted.labels_)
    assert detector.predict_proba(frame).shape == (200, 2)
    with pytest.raises(ValueError, match="feature names should match"):
        detector.predict(frame[NAMES[::-1]])


# --- what PyOD makes of scores --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "unify"])
def test_probabilities(each, method):
    probabilities, confidence = each.predict_proba(NEW, method=method, return_confidence=True)
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    order = np.argsort(each.decision_function(NEW))
    assert (np.diff(probabilities[order, 1]) >= 0).all()
    np.testing.assert_array_equal(confidence, each.predict_confidence(NEW))


def test_confidence(fitted):
    labels, confidence = fitted.predict(NEW, return_confidence=True)
    np.testing.assert_array_equal(labels, fitted.predict(NEW))
    assert 0 <= confidence.min() < confidence.max() <= 1
    nearest = np.argmin(np.abs(fitted.decision_function(NEW) - fitted.threshold_))
    assert confidence[nearest] < np.median(confidence)


def test_rejection(fitted):
    labels, (expected, bound, cost) = fitted.predict_with_rejection(
        TRAIN, T=5, return_stats=True, c_r=0.05
    )
    rejected = labels == -2
    np.testing.assert_array_equal(labels[~rejected], fitted.labels_[~rejected])
    assert 0 < rejected.mean() <= bound
    assert 0 < expected < 1
    assert cost > 0


def test_fit_predict_and_its_score(fitted, capsys):
    with pytest.warns(FutureWarning, match="fit_predict is deprecated"):
        labels = VanishingOD(contamination=0.05).fit_predict(TRAIN)
    np.testing.assert_array_equal(labels, fitted.labels_)
    y = is_broken(200, 10)
    for scoring in ("roc_auc_score", "prc_n_score"):
        with pytest.warns(FutureWarning, match="fit_predict_score is deprecated"):
            assert VanishingOD().fit_predict_score(TRAIN, y, scoring=scoring) >= 0.9
    assert "roc_auc_score" in capsys.readouterr().out


def test_evaluation(fitted, capsys):
    evaluate_print("equations", NEW_LABELS, fitted.decision_function(NEW))
    assert "equations ROC:" in capsys.readouterr().out
    assert precision_n_scores(NEW_LABELS, fitted.decision_function(NEW)) > 0.9


# --- ensembles ------------------------------------------------------------------------------------


def test_scores_combine_with_those_of_other_detectors(fitted):
    combination = pytest.importorskip("pyod.models.combination")
    members = [fitted, VanishingOD(TransformationDetector()).fit(TRAIN), KNN().fit(TRAIN)]
    train = np.column_stack([member.decision_scores_ for member in members])
    new = np.column_stack([member.decision_function(NEW) for member in members])
    _, new = standardizer(train, new)
    np.testing.assert_allclose(combination.average(new), new.mean(axis=1))
    for combine in (combination.average, combination.maximization, combination.median):
        assert roc_auc_score(NEW_LABELS, combine(new)) > 0.9
    for combine in (combination.aom, combination.moa):
        assert roc_auc_score(NEW_LABELS, combine(new, n_buckets=3, random_state=0)) > 0.9
    votes = combination.majority_vote(np.column_stack([m.predict(NEW) for m in members]))
    assert set(np.ravel(votes)) <= {0, 1}


def test_lscp():
    members = [VanishingOD(), VanishingOD(TransformationDetector()), KNN()]
    ensemble = LSCP(members, n_bins=3, random_state=0).fit(TRAIN)
    assert roc_auc_score(NEW_LABELS, ensemble.decision_function(NEW)) > 0.9


def test_feature_bagging_seeds_its_copies():
    feature_bagging = pytest.importorskip("pyod.models.feature_bagging")
    base = VanishingOD(VanishingDetector())
    ensemble = feature_bagging.FeatureBagging(base, n_estimators=3, random_state=0).fit(TRAIN)
    scores = [
        member.decision_function(NEW[:, columns])
        for member, columns in zip(ensemble, ensemble.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(ensemble.decision_function(NEW), np.mean(scores, axis=0))
    assert len({member.detector_.random_state for member in ensemble}) == 3
    assert base.detector.random_state == 0
    assert not hasattr(base, "detector_")


# --- parameters and files -------------------------------------------------------------------------


def test_it_is_a_detector_of_pyod(fitted):
    assert isinstance(fitted, BaseDetector)
    assert is_outlier_detector(fitted)
    check_detector(fitted)


def test_parameters_and_copies(fitted):
    detector = VanishingOD(TransformationDetector(n_components=2), contamination=0.2)
    copy = clone(detector)
    assert copy.detector is not detector.detector
    assert copy.get_params()["detector__n_components"] == 2
    copy.set_params(detector__n_components=3, contamination=0.3)
    assert (copy.detector.n_components, copy.contamination) == (3, 0.3)
    assert (detector.detector.n_components, detector.contamination) == (2, 0.2)
    assert repr(fitted) == "VanishingOD(contamination=0.05, detector=None)"
    assert not hasattr(clone(fitted), "detector_")


def test_the_detector_given_is_not_fitted():
    given = VanishingDetector()
    VanishingOD(given).fit(TRAIN)
    assert not hasattr(given, "offset_")


def test_files(each, tmp_path):
    path = tmp_path / "detector.joblib"
    joblib.dump(each, path)
    for loaded in (joblib.load(path), pickle.loads(pickle.dumps(each))):
        assert_answers_are_the_same(loaded, each)


def test_files_of_pyod(each, tmp_path):
    persistence = pytest.importorskip("pyod.utils.persistence", reason="comes with PyOD 3.5")
    path = tmp_path / "detector.joblib"
    persistence.save(each, path)
    assert_answers_are_the_same(persistence.load(path, strict=True, trusted=True), each)


def assert_answers_are_the_same(loaded, each):
    np.testing.assert_array_equal(loaded.predict_proba(NEW), each.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.predict(NEW), each.predict(NEW))


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"detector": "vanishing"}, "detector must be a VanishingDetector.*got 'vanishing'"),
        ({"detector": VanishingDetector}, "detector must be a VanishingDetector.*got <class"),
        ({"detector": VanishingIdeal()}, "detector must be a VanishingDetector, another"),
        ({"detector": VanishingDetector(contamination=0.1)}, "contamination of the detector"),
        (
            {"detector": TransformationDetector(contamination=0.1, calibration=0.3)},
            "contamination and calibration of the detector.*pass contamination to VanishingOD",
        ),
        ({"contamination": 0.7}, r"contamination must be a float in \(0, 0.5\].*got 0.7"),
        ({"contamination": 1}, "contamination must be a float.*got 1"),
        ({"contamination": "auto"}, "contamination must be a float.*got 'auto'"),
        ({"contamination": np.float32(0.1)}, r"contamination must be a float.*float32\(0.1\)"),
    ],
    ids=str,
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        VanishingOD().set_params(**parameters).fit(TRAIN)


def test_wrong_data(fitted):
    with pytest.raises(ValueError, match="NaN"):
        VanishingOD().fit(np.where(TRAIN > 2, np.nan, TRAIN))
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.predict(NEW[:, :2])
    for use in (VanishingOD().decision_function, VanishingOD().predict):
        with pytest.raises(NotFittedError):
            use(NEW)


def test_a_fit_that_fails_changes_nothing():
    detector = VanishingOD().fit(TRAIN)
    expected = detector.predict_proba(NEW)
    with pytest.raises(ValueError, match="NaN"):
        detector.fit(np.full((20, 5), np.nan))
    np.testing.assert_array_equal(detector.predict_proba(NEW), expected)


def test_without_pyod_the_error_names_the_extra(monkeypatch, fitted):
    stored = pickle.dumps(fitted)
    monkeypatch.setitem(sys.modules, "pyod.models.base", None)
    spec = importlib.util.spec_from_file_location(integration.__name__, integration.__file__)
    without = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(without)
    monkeypatch.setitem(sys.modules, integration.__name__, without)
    for use in (without.VanishingOD, lambda: pickle.loads(stored)):
        with pytest.raises(ImportError, match=r'pip install "vanishing\[pyod\]"') as caught:
            use()
        assert "pyod.models.base" in str(caught.value.__cause__)


# --- examples -------------------------------------------------------------------------------------


def example_of_the_class():
    (found,) = (t for t in doctest.DocTestFinder().find(VanishingOD, "VanishingOD") if t.examples)
    return found


def example_of_the_documentation():
    section = (DOCS / "detectors.md").read_text(encoding="utf-8").split("## PyOD")[1]
    return doctest.DocTestParser().get_doctest(section, {}, "detectors.md", None, None)


@pytest.mark.parametrize("find", [example_of_the_class, example_of_the_documentation])
def test_examples(find):
    """They skip what needs PyOD, since they are run without it too; here nothing is skipped."""
    example = find()
    for line in example.examples:
        line.options.pop(doctest.SKIP, None)
    results = doctest.DocTestRunner().run(example)
    assert results.attempted > 3
    assert results.failed == 0
