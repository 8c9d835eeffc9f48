"""Rows of which most are normal, judged by models that did not see them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import fit_to_mixed, score_unseen
from vanishing.detectors.base import quantile_threshold

ONE_IDEAL = VanishingDetector(VanishingIdeal(tol=0.1))


def mixed(n_rows=60, n_strange=4, seed=0):
    """Rows near y = x², the first ones off it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n_rows)
    X = np.column_stack([x, x**2 + 0.02 * rng.normal(size=n_rows)])
    X[:n_strange, 1] += rng.uniform(1, 2, n_strange)
    return X


def plain_scores(detector, X, seed):
    """What score_unseen does, in few words."""
    scores = np.empty(len(X))
    order = np.lexsort(X.T[::-1])[np.random.default_rng(seed).permutation(len(X))]
    for unseen in np.array_split(order, 5):
        fitted = clone(detector).fit(np.delete(X, unseen, axis=0))
        scores[unseen] = fitted.score_samples(X[unseen])
    return scores


@pytest.mark.parametrize("seed", [0, 5])
def test_scores_are_those_of_models_that_did_not_see_the_row(seed):
    X = mixed()
    found = score_unseen(ONE_IDEAL, X, random_state=seed)
    np.testing.assert_array_equal(found, plain_scores(ONE_IDEAL, X, seed))


def test_the_order_of_the_rows_and_copies_of_all_of_them_make_no_difference():
    X = mixed()
    order = np.random.default_rng(1).permutation(len(X))
    scores, offset = score_unseen(ONE_IDEAL, X), fit_to_mixed(ONE_IDEAL, X).offset_
    np.testing.assert_array_equal(score_unseen(ONE_IDEAL, X[order]), scores[order])
    np.testing.assert_array_equal(score_unseen(ONE_IDEAL, np.tile(X, (3, 1))), np.tile(scores, 3))
    assert fit_to_mixed(ONE_IDEAL, X[order]).offset_ == offset
    assert fit_to_mixed(ONE_IDEAL, np.tile(X, (3, 1))).offset_ == offset


def test_a_row_of_its_own_does_not_get_equations_of_its_own():
    X = mixed(n_strange=1)
    assert np.argmin(score_unseen(VanishingDetector(), X)) == 0


@pytest.mark.parametrize("n_rows", [3, 4, 7])
def test_few_rows_are_scored_as_far_as_the_rest_can_be_fitted(n_rows):
    X = mixed(n_rows, n_strange=0)
    assert np.isfinite(score_unseen(IsolationForest(random_state=0), X)).all()


def test_any_detector_is_taken():
    X = mixed()
    pipeline = make_pipeline(StandardScaler(), VanishingDetector(VanishingIdeal(tol=0.5)))
    expected = plain_scores(pipeline, X, 0)
    np.testing.assert_allclose(score_unseen(pipeline, X), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, "arrow"])
def test_frames_keep_their_names(frame):
    X = mixed()
    names = ["länge", "b"]
    table = pa.table(list(X.T.copy()), names=names) if frame == "arrow" else frame(X, columns=names)
    fitted = fit_to_mixed(ONE_IDEAL, table)
    assert list(fitted.feature_names_in_) == names
    assert fitted.offset_ == pytest.approx(fit_to_mixed(ONE_IDEAL, X).offset_, rel=1e-9)


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    X = mixed()
    np.testing.assert_allclose(
        score_unseen(ONE_IDEAL, torch.asarray(X)), score_unseen(ONE_IDEAL, X), rtol=1e-6
    )


@pytest.mark.parametrize("share", ["auto", 0.05, 0.2])
def test_the_worst_rows_are_left_out_and_the_threshold_is_that_of_all(share):
    X = mixed()
    detector = clone(ONE_IDEAL).set_params(contamination=share)
    scores = score_unseen(detector, X)
    kept = scores > np.quantile(scores, 0.2 if share == 0.2 else 0.1, method="lower")
    expected = clone(detector).fit(X[kept])
    found = fit_to_mixed(detector, X)
    np.testing.assert_array_equal(found.score_samples(X), expected.score_samples(X))
    on = scores if share == "auto" else expected.score_samples(X)
    assert found.offset_ == quantile_threshold(on, share)
    assert set(np.flatnonzero(found.predict(X) == -1)) >= ({0, 1} if share == 0.05 else {0, 1, 2})
    assert not hasattr(detector, "offset_")  # left as it was


def test_progress_is_told():
    told = []
    fit_to_mixed(ONE_IDEAL, mixed(), callback=told.append)
    assert told == list(range(1, 6 + 1))


def test_few_rows_are_all_fitted_to():
    X = mixed(12, n_strange=0)
    detector = VanishingDetector(VanishingIdeal(tol=0.5))
    assert fit_to_mixed(detector, X).offset_ == clone(detector).fit(X).offset_


def test_equal_rows_are_judged():
    detector = fit_to_mixed(VanishingDetector(), np.ones((30, 2)))
    assert (detector.predict(np.ones((2, 2))) == 1).all()


def test_transformation_detectors_are_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = X[:, 0] + 0.01 * rng.normal(size=60)
    found = fit_to_mixed(TransformationDetector(contamination=0.1), X)
    assert 0 < np.sum(found.predict(X) == -1) <= 6


def test_refusals():
    with pytest.raises(ValueError, match="calibration needs rows that are known"):
        fit_to_mixed(VanishingDetector(calibration=0.3, contamination=0.1), mixed())
    with pytest.raises(TypeError, match="got IsolationForest; score_unseen takes any"):
        fit_to_mixed(IsolationForest(), mixed())
    with pytest.raises(ValueError, match="X has 2 rows, but at least 3"):
        score_unseen(ONE_IDEAL, mixed(2, 0))
    with pytest.raises(ValueError, match="NaN"):
        fit_to_mixed(ONE_IDEAL, np.full((30, 2), np.nan))


def test_frames_of_dask_are_read():
    dask_frame = pytest.importorskip("dask.dataframe")
    X = mixed()
    frame = dask_frame.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
    np.testing.assert_allclose(score_unseen(ONE_IDEAL, frame), score_unseen(ONE_IDEAL, X))
