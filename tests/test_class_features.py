"""One ideal a class, as features for a linear classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tests.support.cases import NORMALIZATIONS
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.ideal import OverflowWarning

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def rings(n_samples=200, seed=0):
    """Two noisy circles around one centre: no linear classifier separates them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["inner", "outer"], n_samples // 2)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    radius = np.where(y == "inner", 1.0, 1.5) + 0.03 * rng.standard_normal(n_samples)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def digits_accuracy(n_components, tol, C, cv=FOLDS):
    X, y = digits()
    ideal = VanishingIdeal(max_degree=2, tol=tol, normalization="contrastive", reduction="gram")
    model = make_pipeline(
        PCA(n_components, random_state=0),
        ClassVanishingFeatures(ideal),
        LinearSVC(C=C, random_state=0),
    )
    return cross_val_score(model, X, y, cv=cv).mean()


def test_digits():
    """The first fold; all of them have 0.987, and a LinearSVC on the pixels themselves 0.955."""
    split = next(FOLDS.split(*digits()))
    assert digits_accuracy(n_components=15, tol=0.15, C=0.003, cv=[split]) >= 0.98


@pytest.mark.slow
def test_digits_in_more_dimensions():
    # Measured: 0.992.
    assert digits_accuracy(n_components=20, tol=0.1, C=0.003) >= 0.987


@pytest.mark.slow
def test_digits_are_better_than_pixels():
    X, y = digits()
    pixels = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    accuracy = cross_val_score(pixels, X, y, cv=FOLDS).mean()
    assert 0.94 <= accuracy <= 0.97
    assert digits_accuracy(n_components=15, tol=0.15, C=0.003) >= accuracy + 0.02


@pytest.mark.parametrize(("load", "loss"), [(load_iris, 0.01), (load_wine, 0.01)])
def test_the_default_is_as_good_as_the_columns(load, loss):
    """Degree 2 on 13 columns would pass through all rows of a class: accuracy 0.62."""
    X, y = load(return_X_y=True)
    columns = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    features = make_pipeline(ClassVanishingFeatures(), LogisticRegression(max_iter=2000))
    of_columns, of_features = (
        cross_val_score(each, X, y, cv=FOLDS).mean() for each in (columns, features)
    )
    assert of_features >= of_columns - loss


def test_the_degree_of_the_default_follows_from_rows_and_columns():
    X, y = load_wine(return_X_y=True)
    for n_columns, degree in ((4, 2), (13, 1)):  # 15 and 105 terms, 48 rows of the smallest class
        features = ClassVanishingFeatures().fit(X[:, :n_columns], y)
        assert {ideal.max_degree for ideal in features.ideals_} == {degree}
    assert features.ideal is None
    # What is asked for is done.
    given = VanishingIdeal(tol=0.3, normalization="contrastive")
    assert ClassVanishingFeatures(given).fit(X, y).ideals_[0].max_degree == 2


def test_units_of_the_columns_do_not_matter():
    X, y = load_wine(return_X_y=True)
    expected = ClassVanishingFeatures().fit(X, y).transform(X)
    scaled = StandardScaler().fit_transform(X)
    found = ClassVanishingFeatures().fit(scaled, y).transform(scaled)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_circles_become_linearly_separable_under_any_normalization(normalization):
    X, y = rings()
    raw = LinearSVC().fit(X, y).score(X, y)
    assert raw < 0.7
    ideal = VanishingIdeal(max_degree=2, tol=0.3, normalization=normalization)
    model = make_pipeline(ClassVanishingFeatures(ideal), StandardScaler(), LinearSVC())
    model.fit(X, y)
    new, labels = rings(seed=1)
    assert model.score(new, labels) >= 0.98


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_features_are_those_of_each_class_side_by_side(normalization):
    X, y = iris()
    template = VanishingIdeal(max_degree=2, tol=0.2, normalization=normalization)
    features = ClassVanishingFeatures(template).fit(X, y)
    assert len(features.ideals_) == 3
    columns = []
    for label in range(3):
        contrast = X[y != label] if normalization == "contrastive" else None
        ideal = clone(template).fit(X[y == label], contrast=contrast)
        np.testing.assert_allclose(features.ideals_[label].extents_, ideal.extents_, rtol=1e-8)
        columns.append(ideal.transform(X))
    expected = np.hstack(columns)
    assert expected.shape[1] > 0
    np.testing.assert_allclose(features.transform(X), expected, rtol=1e-7, atol=1e-9)


def test_features_are_small_on_the_own_class_and_large_on_others():
    X, y = iris()
    features = ClassVanishingFeatures(
        VanishingIdeal(max_degree=2, tol=0.1, normalization="contrastive")
    ).fit(X, y)
    for label, ideal in enumerate(features.ideals_):
        values = ideal.transform(X)
        assert values.shape[1] > 0
        rms = [np.sqrt(np.mean(values[mask] ** 2, axis=0)) for mask in (y == label, y != label)]
        assert np.all(rms[0] <= 0.1)
        np.testing.assert_allclose(rms[1], 1.0, rtol=1e-8)


def test_template_is_not_fitted():
    X, y = iris()
    template = VanishingIdeal(max_degree=1, tol=0.5)
    features = ClassVanishingFeatures(template).fit(X, y)
    assert not hasattr(template, "basis_")
    assert features.ideal is template


def test_feature_names_say_class_degree_and_number():
    X, y = rings()
    ideal = VanishingIdeal(max_degree=3, tol=0.2, normalization="contrastive")
    features = ClassVanishingFeatures(ideal).fit(X, y)
    names = features.get_feature_names_out()
    assert names.shape == (features.transform(X).shape[1],)
    assert names[0] == "inner_g2_0"
    assert len(set(names)) == len(names)
    expected = [
        f"{label}_{name}"
        for label, of_class in zip(features.classes_, features.ideals_, strict=True)
        for name in of_class.get_feature_names_out()
    ]
    assert names.tolist() == expected
    assert any(name.startswith("outer_g2_") for name in names)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_the_ideals_do_not_reach_the_features(library):
    rng = np.random.default_rng(0)
    line = np.linspace(-1, 1, 40)
    X = np.vstack([np.column_stack([line, line]), rng.standard_normal((40, 2))])
    y = np.repeat(["line", "cloud"], 40)  # nothing vanishes on the cloud
    ideal = VanishingIdeal(max_degree=1, tol=1e-6)
    expected = ClassVanishingFeatures(ideal).fit(X, y).transform(X)
    assert expected.shape == (80, 1)
    features = ClassVanishingFeatures(clone(ideal).set_output(transform=library)).fit(X, y)
    for found in (
        features.transform(X),
        np.vstack(list(features.transform([X[:30], X[30:]]).blocks(50))),
    ):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
    with config_context(transform_output=library):
        out = ClassVanishingFeatures(ideal).fit(X, y).transform(X)
    assert type(out).__module__.startswith(library)
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_frames_come_out_as_frames():
    X, y = rings()
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(len(X)) + 1000)
    features = ClassVanishingFeatures().set_output(transform="pandas").fit(frame, y)
    out = features.transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == features.get_feature_names_out().tolist()
    assert out.index.equals(frame.index)
    np.testing.assert_array_equal(features.feature_names_in_, ["u", "v"])
    plain = ClassVanishingFeatures().fit(X, y).transform(X)
    assert plain.shape[1] > 0
    np.testing.assert_array_equal(out.to_numpy(), plain)
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(frame[["v", "u"]])


def test_single_precision_stays_single():
    X, y = rings()
    features = ClassVanishingFeatures().fit(X.astype(np.float32), y)
    assert features.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        features.transform(X), ClassVanishingFeatures().fit(X, y).transform(X), atol=1e-3
    )


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_grid_search_reaches_into_the_default_ideal(in_pipeline):
    X, y = load_iris(return_X_y=True)
    features = ClassVanishingFeatures()
    if in_pipeline:
        model = make_pipeline(StandardScaler(), features, LinearSVC())
        name, scoring = "classvanishingfeatures__ideal__tol", None
    else:
        model, name = features, "ideal__tol"
        scoring = lambda fitted, X, y: -fitted.transform(X).mean()  # noqa: E731
    search = GridSearchCV(model, {name: [0.1, 0.3]}, cv=FOLDS, scoring=scoring, error_score="raise")
    search.fit(X, y)
    assert features.ideal is None, "the default of what was passed stays"
    found = search.best_estimator_
    ideal = found[1].ideal if in_pipeline else found.ideal
    assert ideal.tol == search.best_params_[name]
    assert (ideal.max_degree, ideal.normalization) == (2, "contrastive")


def test_parameters_of_the_default_ideal():
    changed = ClassVanishingFeatures().set_params(ideal=None, ideal__tol=0.2, n_jobs=2)
    assert (changed.ideal.tol, changed.n_jobs) == (0.2, 2)
    given = ClassVanishingFeatures(VanishingIdeal(max_degree=3)).set_params(ideal__tol=0.2)
    assert (given.ideal.tol, given.ideal.max_degree) == (0.2, 3)
    detector = TransformationDetector().set_params(ideal__tol=0.2)
    assert (detector.ideal.tol, detector.ideal.max_degree) == (0.2, 2)
    with pytest.raises(ValueError, match="has no parameters of an ideal; pass one as well"):
        VanishingDetector().set_params(ideal__tol=0.2)
    assert VanishingDetector(VanishingIdeal()).set_params(ideal__tol=0.2).ideal.tol == 0.2


def test_grid_search_reaches_into_the_ideal():
    X, y = rings()
    model = make_pipeline(
        ClassVanishingFeatures(VanishingIdeal(normalization="contrastive")),
        LinearSVC(random_state=0),
    )
    # With the large tolerance all of degree 1 vanishes, and nothing is left to be squared.
    grid = {"classvanishingfeatures__ideal__tol": [0.3, 5.0]}
    search = GridSearchCV(model, grid, cv=FOLDS, error_score="raise").fit(X, y)
    assert search.best_params_ == {"classvanishingfeatures__ideal__tol": 0.3}
    good, bad = search.cv_results_["mean_test_score"]
    assert good >= 0.98
    assert bad < good
    assert search.best_estimator_[0].ideals_[0].tol == 0.3


def test_jobs_do_not_change_the_result():
    X, y = iris()
    one, two = (ClassVanishingFeatures(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.transform(X).shape[1] > 0
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()


@pytest.mark.parametrize("labels", [["a"], [3], [True]])
def test_one_class_only_is_refused(labels):
    X = iris()[0]
    y = np.repeat(labels, len(X))
    with pytest.raises(ValueError, match=r"one class only .*at least two"):
        ClassVanishingFeatures().fit(X, y)


def test_class_inside_the_variety_of_another_is_refused():
    X, _ = rings()
    circle = X / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match="inside the variety"):
        ClassVanishingFeatures().fit(circle, y)


def test_nothing_vanishes():
    X = np.random.default_rng(0).standard_normal((100, 2))
    y = np.arange(100) % 2
    ideal = VanishingIdeal(tol=0.0)
    features = ClassVanishingFeatures(ideal).fit(X, y)
    assert features.transform(X).shape == (100, 0)
    assert features.get_feature_names_out().shape == (0,)


def test_labels_may_be_anything_that_can_be_sorted():
    X, y = rings()
    expected = ClassVanishingFeatures().fit(X, y)
    for other in (np.where(y == "inner", -5, 7), np.where(y == "inner", 0.0, 1.0), y == "outer"):
        features = ClassVanishingFeatures().fit(X, other)
        np.testing.assert_array_equal(features.classes_, np.unique(other))
        np.testing.assert_array_equal(features.transform(X), expected.transform(X))


def test_pickle_holds_no_training_data():
    sizes = []
    for n_samples in (200, 20_000):
        X, y = rings(n_samples)
        features = ClassVanishingFeatures().fit(X, y)
        state = pickle.dumps(features)
        np.testing.assert_array_equal(pickle.loads(state).transform(X), features.transform(X))
        sizes.append(len(state))
    assert abs(sizes[0] - sizes[1]) < 500


def test_rows_that_overflow_are_warned_of_once():
    X, y = load_iris(return_X_y=True)
    features = ClassVanishingFeatures().fit(X, y)
    with pytest.warns(OverflowWarning, match="polynomials overflow on row 0") as caught:
        features.transform(1e200 * X[:1])
    assert len(caught) == 1
