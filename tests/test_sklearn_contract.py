"""The estimators keep scikit-learn's contract."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.cases import NORMALIZATIONS, REDUCTIONS, gaussian_contrast
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    vca,
)
from vanishing.algebra import hilbert_function, minimal_generators
from vanishing.construction.border import Oavi
from vanishing.construction.normalizations import Contrastive, Gradient, resolve_normalization
from vanishing.construction.passes import Gram
from vanishing.contrasts import GaussianNoise, Permuted, Uniform
from vanishing.data import as_source
from vanishing.datasets import make_variety
from vanishing.detectors import ChristoffelDetector, OrientedGradients
from vanishing.ideal import InterpolationWarning

with pytest.MonkeyPatch.context() as patch:
    # scikit-learn 1.6 cannot be imported from here without it where array-api-compat is installed.
    patch.setenv("SCIPY_ARRAY_API", "1")
    from sklearn.utils import estimator_checks
    from sklearn.utils.estimator_checks import parametrize_with_checks

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)
WITHOUT_CONTRAST = [name for name in NORMALIZATIONS if name != "contrastive"]

ESTIMATORS = [
    VanishingIdeal(),
    *(VanishingIdeal(normalization=name, tol=0.5) for name in WITHOUT_CONTRAST),
    VanishingIdeal(normalization=Gradient(), reduction=Gram(), max_degree=1, tol=10.0),
    VanishingIdeal(max_degree=3, tol="gap", reduction="gram", max_nonvanishing=4),
    VanishingIdeal(normalization="vca", tol_norm="euclidean", tol=1.0, output="signed"),
    *(VanishingIdeal(construction=name, tol=0.5) for name in ("abm", "abm-gradient", "oavi")),
    VanishingIdeal(construction=Oavi(oracle="l1", border="full"), normalization="gradient"),
    VanishingIdeal(generators="minimal", tol=1.0, max_degree=3),
    VanishingIdeal(output="nonvanishing"),
    ClassVanishingFeatures(),
    ClassVanishingFeatures(VanishingIdeal(tol=1.0), n_jobs=2),
    TransformationDetector(),
    VanishingDetector(),
    VanishingDetector(VanishingIdeal(tol=10.0)),
    VanishingDetector(VanishingIdeal(tol=10.0, normalization="contrastive"), n_components=3),
    ChristoffelDetector(),
]
#: Checked by make test-all only.
MORE_ESTIMATORS = [
    *(VanishingIdeal(normalization=name, products="all") for name in WITHOUT_CONTRAST),
    TransformationDetector(n_components=2, weighting="convex"),
]


def points(n_samples=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_samples)
    return X


def contrast_for(normalization, X=None):
    X = points() if X is None else np.asarray(X)
    return gaussian_contrast(X) if normalization == "contrastive" else None


def fit(X, normalization="gradient", **parameters):
    ideal = VanishingIdeal(
        normalization=normalization, **{"tol": 0.2, "max_degree": 3, **parameters}
    )
    return ideal.fit(X, contrast=contrast_for(normalization, X))


def frame(X=None, names="abc"):
    return pd.DataFrame(points() if X is None else X, columns=list(names))


def expected_failures(estimator):
    """Where rows that count twice are not the same as rows that come twice."""
    if isinstance(estimator, VanishingIdeal) and estimator.reduction in ("gram", Gram()):
        # The check has more features than rows, so that equations are exact by the dozen.
        reason = "among equations of extent 0 only number and span are promised"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if isinstance(estimator, TransformationDetector | VanishingDetector):
        reason = "the rows that are left out in turn for the threshold, or drawn, are other ones"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    return {}


@pytest.fixture
def array_api(monkeypatch):
    """Without this scikit-learn skips its array API checks. It reads it when they run."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


# The checks fit all kinds of tables, also small ones and such that random maps say little about.
@pytest.mark.filterwarnings("ignore:no equation is smaller on transformation:UserWarning")
@pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no equation is smaller on transformation:UserWarning")
@pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")
@parametrize_with_checks(MORE_ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.usefixtures("array_api")
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")
# The checks fit frames and transform arrays, or the other way round, of which scikit-learn warns.
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [VanishingIdeal(), VanishingIdeal(output="nonvanishing"), ClassVanishingFeatures()],
    ids=repr,
)
@pytest.mark.parametrize(
    "check",
    [
        "check_param_validation",
        "check_parameters_default_constructible",
        "check_dataframe_column_names_consistency",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_output_transform_pandas",
        "check_global_set_output_transform_polars",
        "check_readonly_memmap_input",
        "check_inplace_ensure_writeable",
    ],
)
def test_checks_that_scikit_learn_runs_on_its_own_estimators_only(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [VanishingIdeal, ClassVanishingFeatures, ChristoffelDetector])
def test_constructor_only_assigns(kind):
    parameters = [name for name in inspect.signature(kind).parameters if name != "self"]
    given = {name: object() for name in parameters}
    estimator = kind(**given)
    assert vars(estimator) == given
    assert estimator.get_params(deep=False) == given


def test_every_parameter_is_validated():
    for kind in (VanishingIdeal, ClassVanishingFeatures, ChristoffelDetector):
        assert set(kind._parameter_constraints) == set(kind().get_params(deep=False))


def test_clone_copies_parameters_and_nothing_else():
    ideal = VanishingIdeal(tol=0.3, normalization=Contrastive(), reduction="gram", max_degree=3)
    X = points()
    fitted = clone(ideal).fit(X, contrast=gaussian_contrast(X))
    copy = clone(fitted)
    assert copy.get_params() == ideal.get_params()
    assert not hasattr(copy, "basis_")
    nested = clone(ClassVanishingFeatures(ideal))
    assert nested.ideal is not ideal
    assert nested.get_params()["ideal__tol"] == 0.3


@EVERY
def test_strings_and_objects_are_the_same_normalization(normalization):
    X = points()
    contrast = contrast_for(normalization)
    by_name, by_object = (
        VanishingIdeal(normalization=given, tol=0.3).fit(X, contrast=contrast).transform(X)
        for given in (normalization, resolve_normalization(normalization))
    )
    assert by_name.shape[1] > 0
    np.testing.assert_array_equal(by_name, by_object)


@EVERY
def test_fitting_twice_gives_the_same_bit_for_bit(normalization):
    X = points()
    first, second = fit(X, normalization), fit(X, normalization)
    assert first.basis_.count("vanishing") > 0
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    contrast = contrast_for(normalization)
    refitted = second.fit(points(80, seed=1), contrast=contrast).fit(X, contrast=contrast)
    np.testing.assert_array_equal(first.transform(X), refitted.transform(X))


def test_refit_forgets_names_and_width():
    ideal = VanishingIdeal(max_degree=1, tol=10.0).fit(frame())
    assert ideal.feature_names_in_.tolist() == ["a", "b", "c"]
    for X in (points()[:, :2], [points()[:, :2]]):
        ideal.fit(frame()).fit(X)
        assert ideal.n_features_in_ == 2
        assert not hasattr(ideal, "feature_names_in_")


def test_extents_are_in_the_order_of_the_columns():
    X = points()
    for normalization in NORMALIZATIONS:
        ideal = fit(X, normalization)
        rms = np.sqrt(np.mean(ideal.transform(X) ** 2, axis=0))
        assert len(rms) > 1
        np.testing.assert_allclose(ideal.extents_, rms, rtol=1e-8)


def test_output_is_absolute_or_signed():
    X = points()
    ideal = fit(X)
    signed = ideal.transform(X, output="signed")
    assert (signed < 0).any()
    np.testing.assert_array_equal(ideal.transform(X), np.abs(signed))
    np.testing.assert_array_equal(signed, ideal.basis_.evaluate(X))
    np.testing.assert_array_equal(ideal.set_params(output="signed").transform(X), signed)
    np.testing.assert_array_equal(ideal.transform(X, output="abs"), np.abs(signed))


def test_nonvanishing_polynomials_are_uncorrelated_features():
    X = points()
    ideal = fit(X, output="nonvanishing")
    F = ideal.transform(X)
    np.testing.assert_allclose(F.T @ F / len(X), np.eye(F.shape[1]), atol=1e-10)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-10)
    everything = ideal.basis_.evaluate(X, which="nonvanishing")
    np.testing.assert_array_equal(everything[:, 1:], F)
    np.testing.assert_array_equal(fit(X).transform(X, output="nonvanishing"), F)
    names = ideal.get_feature_names_out().tolist()
    degrees = ideal.basis_.degrees(which="nonvanishing")[1:]
    assert names[:4] == ["f1_0", "f1_1", "f1_2", "f2_0"]
    assert [int(name[1]) for name in names] == degrees.tolist()


def test_polynomial_regression_on_nonvanishing_polynomials():
    # On a circle the powers of PolynomialFeatures are dependent, and these are not.
    X = make_variety("circle", 200)
    y = X[:, 0] ** 3 - 2 * X[:, 0] * X[:, 1] + 1
    model = make_pipeline(
        VanishingIdeal(max_degree=3, tol=1e-6, output="nonvanishing"), LinearRegression()
    ).fit(X, y)
    assert len(model[-1].coef_) == 6
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)


def test_nonvanishing_polynomials_in_chunks_and_classes():
    X = points()
    ideal = fit(X, output="nonvanishing")
    blocks = list(ideal.transform([X[:60], X[60:]]).blocks(60))
    np.testing.assert_allclose(np.concatenate(blocks), ideal.transform(X), rtol=1e-12)
    labels = (X[:, 0] > 0).astype(int)
    features = ClassVanishingFeatures(VanishingIdeal(output="nonvanishing")).fit(X, labels)
    assert features.transform(X).shape[1] == len(features.get_feature_names_out()) == 16
    blocks = list(features.transform([X[:60], X[60:]]).blocks(60))
    assert np.concatenate(blocks).shape == (120, 16)


@pytest.mark.parametrize(("own", "other"), [("abs", "nonvanishing"), ("nonvanishing", "signed")])
def test_frames_have_the_columns_of_the_estimator(own, other):
    X = points()
    ideal = fit(X, output=own).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"set_params\(output=\.\.\.\)"):
        ideal.transform(X, output=other)
    frame = ideal.set_params(output=other).transform(X)
    assert list(frame.columns) == ideal.get_feature_names_out().tolist()


# --- minimal generators --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "degree", "expected"),
    [*(("sphere", d, [2]) for d in range(2, 7)), *(("viviani", d, [2, 2]) for d in range(2, 6))],
)
def test_minimal_generators(name, degree, expected):
    X = make_variety(name, 500)
    ideal = VanishingIdeal(max_degree=degree, tol=1e-9, generators="minimal").fit(X)
    assert ideal.basis_.degrees().tolist() == expected
    assert ideal.transform(X).shape == (500, len(expected)) == (500, len(ideal.extents_))
    assert len(ideal.get_feature_names_out()) == len(ideal.to_sympy()) == len(expected)
    everything = VanishingIdeal(max_degree=degree, tol=1e-9).fit(X)
    assert [step.vanishing for step in ideal.trace_] == [
        step.vanishing for step in everything.trace_
    ]
    kept = minimal_generators(everything.basis_)
    np.testing.assert_array_equal(ideal.basis_.evaluate(X), kept.evaluate(X))
    np.testing.assert_array_equal(hilbert_function(ideal.basis_), hilbert_function(kept))


def test_minimal_generators_of_partial_fits_and_noisy_points():
    X = make_variety("viviani", 900, noise=0.01)
    ideal = VanishingIdeal(max_degree=3, tol=0.03, generators="minimal")
    at_once = clone(ideal).fit(X)
    assert at_once.basis_.degrees().tolist() == [2, 2]
    for part in np.array_split(X, 3):
        ideal.partial_fit(part)
    assert ideal.basis_.degrees().tolist() == [2, 2]
    np.testing.assert_allclose(ideal.extents_, at_once.extents_, rtol=1e-6)


# --- names and frames ----------------------------------------------------------------------------


@EVERY
def test_feature_names_say_degree_and_number(normalization):
    X = points()
    ideal = fit(X, normalization)
    names = ideal.get_feature_names_out()
    assert names.dtype == object
    degrees = ideal.basis_.degrees()
    counted = []
    for degree in np.unique(degrees):
        counted += [f"g{degree}_{i}" for i in range(np.sum(degrees == degree))]
    assert names.tolist() == counted
    assert len(names) == ideal.transform(X).shape[1] > 1


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_in_a_frame(library, kind):
    X = points()
    ideal = fit(X)
    expected = ideal.transform(X)
    out = ideal.set_output(transform=library).transform(X)
    assert isinstance(out, kind)
    assert list(out.columns) == ideal.get_feature_names_out().tolist()
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_index_of_a_frame_is_kept():
    X = frame().set_index(np.arange(120) + 500)
    out = fit(X).set_output(transform="pandas").transform(X)
    assert out.index.equals(X.index)


@pytest.mark.parametrize(
    "make", [frame, lambda X, names: pl.DataFrame(X, schema=list(names))], ids=["pandas", "polars"]
)
def test_column_names_are_remembered_and_checked(make):
    ideal = fit(make(points(), "abc"))
    assert ideal.feature_names_in_.tolist() == ["a", "b", "c"]
    expected = fit(points()).transform(points())
    np.testing.assert_array_equal(ideal.transform(make(points(), "abc")), expected)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        ideal.transform(make(points(), "acb"))
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*unseen.*d"):
        ideal.transform(make(points(), "abd"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ideal.transform(points())


def test_contrast_with_the_same_column_names_is_accepted():
    X, Y = points(), gaussian_contrast(points())
    by_frame = VanishingIdeal(normalization="contrastive", tol=0.3).fit(frame(X), contrast=frame(Y))
    by_array = VanishingIdeal(normalization="contrastive", tol=0.3).fit(X, contrast=Y)
    assert by_array.basis_.count("vanishing") > 0
    np.testing.assert_array_equal(by_frame.transform(frame(X)), by_array.transform(X))


# --- pickle --------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_pickle_round_trip_is_exact(normalization, reduction):
    X = points()
    ideal = fit(X, normalization, reduction=reduction)
    new = points(50, seed=3)
    expected = ideal.transform(new)
    copy = pickle.loads(pickle.dumps(ideal))
    assert expected.shape[1] > 0
    np.testing.assert_array_equal(copy.transform(new), expected)
    np.testing.assert_array_equal(copy.extents_, ideal.extents_)
    assert copy.get_feature_names_out().tolist() == ideal.get_feature_names_out().tolist()
    assert not copy.basis_.blocks[0].vanishing.flags.writeable


@EVERY
def test_pickle_holds_no_training_data(normalization):
    few, many = points(200), points(20_000, seed=1)
    parameters = {"tol": 0.0, "max_degree": 2}  # nothing vanishes: the same shapes
    sizes = [len(pickle.dumps(fit(X, normalization, **parameters))) for X in (few, many)]
    assert abs(sizes[0] - sizes[1]) < 200
    assert sizes[0] < 20_000


def test_pickle_does_not_depend_on_earlier_use():
    ideal = fit(points())
    before = pickle.dumps(ideal)
    ideal.transform(points(500))
    ideal.basis_.jacobian(points(500))
    assert pickle.dumps(ideal) == before


# --- composition ---------------------------------------------------------------------------------


def test_pipeline():
    X = 100 * points() + 1000
    pipeline = make_pipeline(StandardScaler(), VanishingIdeal(tol=0.2, max_degree=2))
    scaled = StandardScaler().fit_transform(X)
    expected = VanishingIdeal(tol=0.2, max_degree=2).fit(scaled).transform(scaled)
    assert expected.shape[1] > 0
    np.testing.assert_array_equal(pipeline.fit_transform(X), expected)
    assert pipeline.get_feature_names_out().tolist() == [
        f"g2_{i}" for i in range(expected.shape[1])
    ]


def test_fit_transform_takes_a_contrast():
    X, Y = points(), gaussian_contrast(points())
    ideal = VanishingIdeal(normalization="contrastive", tol=0.3)
    expected = clone(ideal).fit(X, contrast=Y).transform(X)
    assert expected.shape[1] > 0
    np.testing.assert_array_equal(ideal.fit_transform(X, contrast=Y), expected)


def test_contrast_goes_through_a_pipeline():
    X, Y = points(), gaussian_contrast(points())
    pipeline = make_pipeline(VanishingIdeal(normalization="contrastive", tol=0.3))
    expected = VanishingIdeal(normalization="contrastive", tol=0.3).fit(X, contrast=Y).transform(X)
    pipeline.fit(X, vanishingideal__contrast=Y)
    np.testing.assert_array_equal(pipeline.transform(X), expected)


class Scored(VanishingIdeal):
    """An ideal with a score: small features on held-out points are good."""

    n_contrast: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, contrast=None):
        if contrast is not None:
            self.n_contrast.append(as_source(contrast).n_samples)
        return super().fit(X, contrast=contrast)

    def score(self, X, y=None, sample_weight=None):
        return -float(np.mean(self.transform(X)))


def test_grid_search_over_parameters():
    X = points()
    grid = {"tol": [0.2, 5.0], "normalization": ["gradient", "vca"]}
    search = GridSearchCV(Scored(), grid, cv=KFold(3), error_score="raise").fit(X)
    assert search.best_params_["tol"] == 0.2
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    expected = VanishingIdeal(**search.best_params_).fit(X).transform(X)
    np.testing.assert_array_equal(search.transform(X), expected)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        Scored.n_contrast = []
        yield


@pytest.mark.usefixtures("routing")
def test_contrast_is_routed_where_it_was_requested():
    X = points(90)
    Y = as_source(gaussian_contrast(X, n_samples=90))
    ideal = Scored(normalization="contrastive", tol=0.3).set_fit_request(contrast=True)
    cross_validate(ideal, X, cv=KFold(3), params={"contrast": Y}, error_score="raise")
    assert ideal.n_contrast == [90, 90, 90]
    pipeline = make_pipeline(StandardScaler(), ideal)
    search = GridSearchCV(pipeline, {"scored__tol": [0.2, 0.3]}, cv=KFold(3), error_score="raise")
    search.fit(X, contrast=Y)
    assert ideal.n_contrast == [90] * 10


def flowers():
    X, y = load_iris(return_X_y=True)
    return X[y == 1], X[y != 1]


def scaled_pipeline(**parameters):
    ideal = VanishingIdeal(normalization="contrastive", tol=0.3).set_fit_request(contrast=True)
    steps = [("scale", StandardScaler()), ("ideal", ideal)]
    return Pipeline(steps, transform_input=["contrast"]).set_params(**parameters)


def mean_norm(pipeline, X, y=None):
    return -np.mean(np.linalg.norm(pipeline.transform(X), axis=1))


@pytest.mark.parametrize("given", [np.asarray, pd.DataFrame])
@pytest.mark.usefixtures("routing")
def test_steps_before_transform_the_contrast(given):
    X, Y = (given(each) for each in flowers())
    pipeline = scaled_pipeline().fit(X, contrast=Y)
    scaler, ideal = pipeline
    on_contrast = ideal.basis_.evaluate(scaler.transform(Y))
    np.testing.assert_allclose(np.sqrt(np.mean(on_contrast**2, axis=0)), 1)
    by_hand = VanishingIdeal(normalization="contrastive", tol=0.3)
    by_hand.fit(scaler.transform(X), contrast=scaler.transform(Y))
    np.testing.assert_array_equal(ideal.extents_, by_hand.extents_)


@pytest.mark.usefixtures("routing")
def test_the_contrast_is_transformed_in_every_split():
    X, Y = flowers()
    found = cross_validate(
        scaled_pipeline(),
        X,
        params={"contrast": Y},
        scoring=mean_norm,
        cv=KFold(3),
        return_estimator=True,
        error_score="raise",
    )
    for scaler, ideal in found["estimator"]:
        on_contrast = ideal.basis_.evaluate(scaler.transform(Y))
        np.testing.assert_allclose(np.sqrt(np.mean(on_contrast**2, axis=0)), 1)
    grid = {"ideal__tol": [0.2, 0.3]}
    search = GridSearchCV(scaled_pipeline(), grid, scoring=mean_norm, cv=KFold(3))
    search.set_params(error_score="raise").fit(X, contrast=Y)
    expected = scaled_pipeline(**search.best_params_).fit(X, contrast=Y)
    np.testing.assert_array_equal(search.transform(X), expected.transform(X))


def test_a_contrast_that_was_not_scaled_is_warned_of():
    X, Y = flowers()
    pipeline = make_pipeline(StandardScaler(), VanishingIdeal(normalization="contrastive", tol=0.3))
    with pytest.warns(UserWarning, match=r"(?s)the contrast seems not to be.*transform_input"):
        pipeline.fit(X, vanishingideal__contrast=Y)
    constant = np.column_stack([X, np.ones(50)]), np.column_stack([Y, np.ones(100)])
    with pytest.warns(UserWarning, match="the contrast seems not to be"):
        pipeline.fit(constant[0], vanishingideal__contrast=constant[1])


# Warnings are errors.
@pytest.mark.parametrize("maker", [Permuted(), GaussianNoise(), GaussianNoise(10.0), Uniform()])
def test_ordinary_contrasts_are_not_warned_of(maker):
    X, Y = flowers()
    signs = np.sign(np.arange(50) - 24.5)  # which are standardized as they are
    ideal = VanishingIdeal(normalization="contrastive", tol=0.5)
    scaler = StandardScaler().fit(X)
    for rows in (X, scaler.transform(X), np.column_stack([scaler.transform(X), signs])):
        contrast = maker.make(rows, np.random.default_rng(0), 300)
        ideal.fit(rows, contrast=contrast)
        ideal.fit(rows, contrast=10 * contrast)
        ideal.fit(rows, contrast=contrast + 5)
    ideal.fit(X, contrast=Y)
    ideal.fit(scaler.transform(X), contrast=scaler.transform(Y))
    everything = StandardScaler().fit(np.concatenate([X, Y]))
    ideal.fit(everything.transform(X), contrast=everything.transform(Y))


IGNORE_Y = [
    VanishingIdeal(),
    VanishingIdeal(normalization="contrastive"),
    VanishingDetector(),
    TransformationDetector(),
    ChristoffelDetector(),
    OrientedGradients((2, 2)),
]


@pytest.mark.parametrize("estimator", IGNORE_Y, ids=lambda each: type(each).__name__)
def test_points_are_refused_as_y(estimator):
    X, Y = (np.hstack([each, each[:, :1] ** 2]) for each in (points(), points(50, seed=1)))
    numbers = (Y * 10).astype(int)
    for y in (Y, X + 1.0, numbers, frame(Y, "abcd"), Y.tolist(), Y[:, :1], as_source(Y)):
        with pytest.raises(ValueError, match=r"(?s)takes no y.*contrast=Y"):
            clone(estimator).fit(X, y)
    if hasattr(estimator, "partial_fit"):
        with pytest.raises(ValueError, match=r"(?s)takes no y.*contrast=Y"):
            clone(estimator).partial_fit(X, Y)


def test_targets_are_ignored():
    X = points()
    expected = VanishingIdeal().fit_transform(X)
    for y in (X[:, 0], X[:, :1], X[:, 0].tolist(), np.full(120, "a"), frame()["a"]):
        np.testing.assert_array_equal(VanishingIdeal().fit(X, y).transform(X), expected)
    # Of a later step, and as many as there are columns.
    pipeline = make_pipeline(VanishingIdeal(output="nonvanishing"), LinearRegression())
    assert pipeline.fit(X, X).score(X, X) > 0.9


@pytest.mark.usefixtures("routing")
def test_contrast_that_was_not_requested_is_refused():
    X = points(90)
    pipeline = make_pipeline(StandardScaler(), VanishingIdeal(normalization="contrastive"))
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="contrast"):
        pipeline.fit(X, contrast=gaussian_contrast(X))


def test_contrast_and_weights_are_the_only_metadata():
    request = VanishingIdeal().get_metadata_routing()
    assert set(request.fit.requests) == {"contrast", "sample_weight"}
    assert set(request.transform.requests) <= {"output"}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_chunks_are_refused_clearly(library):
    X = points()
    ideal = fit(X).set_output(transform=library)
    with pytest.raises(ValueError, match=f"(?s)transform='{library}'.*X comes in chunks"):
        ideal.transform([X[:60], X[60:]])
    default = ideal.set_output(transform="default").transform([X[:60], X[60:]])
    np.testing.assert_array_equal(np.concatenate(list(default.blocks(60))), fit(X).transform(X))


def test_fewer_rows_than_products_are_warned_of():
    X = np.random.default_rng(0).standard_normal((60, 12))
    with pytest.warns(InterpolationWarning, match="among 78 products, but X has only 60 rows"):
        VanishingIdeal(tol=0.1).fit(X)
    for settings in ({"tol": 0.0}, {"tol": 0.1, "max_degree": 1}):
        VanishingIdeal(**settings).fit(X)


@pytest.mark.parametrize("n_rows", [5, 20, 49, 50])
def test_few_rows_are_warned_of_however_few(n_rows):
    X = np.random.default_rng(0).standard_normal((n_rows, 12))
    with pytest.warns(InterpolationWarning, match=f"X has only {n_rows} rows"):
        VanishingIdeal(tol=0.1).fit(X)


@pytest.mark.parametrize(("n_rows", "warns"), [(20, True), (21, False)])
def test_rows_that_lower_degrees_use_up_are_counted(n_rows, warns):
    """15 products, 5 variables and the constant fit any 20 rows; 21 rows leave no equation."""
    X = np.random.default_rng(0).standard_normal((n_rows, 5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ideal = VanishingIdeal(tol=1e-6).fit(X)
    assert bool(ideal.basis_.count()) == warns
    assert [each.category for each in caught] == [InterpolationWarning] * warns
    assert all("15 products beside 6 polynomials" in str(each.message) for each in caught)


def test_warnings_of_vca_point_at_its_caller():
    X = np.random.default_rng(0).standard_normal((20, 5))
    for call in (lambda: vca(X), lambda: VanishingIdeal().fit(X)):
        with pytest.warns(InterpolationWarning) as caught:
            call()
        assert {each.filename for each in caught} == {__file__}


def test_without_a_difference_no_tolerance_is_recommended():
    """Larger on X than on the contrast: a tolerance of 1 or more gives nothing worth having."""
    rng = np.random.default_rng(0)
    X, Y = 2 * rng.standard_normal((200, 2)), rng.standard_normal((300, 2))
    assert "choose another contrast" in str(vca(X, Y))
    assert "tol=" not in str(vca(X, Y)).split(": ", 1)[1].replace("tol=0.1", "")
