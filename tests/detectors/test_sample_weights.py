"""``sample_weight`` of the detectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.detectors import ChristoffelDetector, image_detector
from vanishing.detectors.sample_weights import drop_zero_weights, fit_pca, quantiles

SINGLE = VanishingDetector(VanishingIdeal(tol=0.2), contamination=0.1)


def points(n_rows=300, seed=0):
    """Rows near z = x y in two blobs, far from each other in x."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] += 20 * (np.arange(n_rows) % 2)
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=n_rows)
    return X


def plane(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    X[:, 1] = X[:, 0] ** 2 + 0.05 * rng.normal(size=n_rows)
    return X


def times(n_rows=300, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n_rows)


# --- quantiles and principal components ----------------------------------------------------------


@given(
    arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6)),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_quantiles_of_whole_numbers_are_those_of_repeated_values(values, shares, seed):
    counts = np.random.default_rng(seed).integers(1, 5, len(values)).astype(float)
    expected = np.quantile(np.repeat(values, counts.astype(int)), shares)
    scale = np.abs(values).max(initial=1.0)
    np.testing.assert_allclose(quantiles(values, shares, counts), expected, atol=1e-9 * scale)


@given(st.integers(2, 40), st.integers(0, 2**32))
def test_quantiles_lie_among_the_values_and_grow(n_rows, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_rows)
    counts = drop_zero_weights(values[:, None], rng.uniform(0.01, 5, n_rows))[1]
    found = quantiles(values, np.linspace(0, 1, 21), counts)
    assert (np.diff(found) >= -1e-12).all()
    assert values.min() <= found[0]
    assert found[-1] == pytest.approx(values.max(), abs=1e-9)


def test_a_weighted_quantile_has_the_weight_below_it():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(2, 5000))
    weights = np.exp(weights)
    counts = drop_zero_weights(values[:, None], weights)[1]
    for share in (0.01, 0.1, 0.5):
        below = values < quantiles(values, [share], counts)[0]
        assert np.average(below, weights=weights) == pytest.approx(share, abs=0.003)


@pytest.mark.parametrize("parameters", [{}, {"whiten": True}, {"n_components": 0.9}])
def test_principal_components_of_whole_numbers_are_those_of_repeated_rows(parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 10
    counts = times(50) + 1
    pca = PCA(**{"n_components": 3, **parameters}, svd_solver="full")
    found = fit_pca(pca, X, counts.astype(float))
    repeated = PCA(**pca.get_params()).fit(np.repeat(X, counts, axis=0))
    for name in ("mean_", "components_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(found, name), getattr(repeated, name), rtol=1e-9)
    np.testing.assert_allclose(found.noise_variance_, repeated.noise_variance_, rtol=1e-9)
    np.testing.assert_allclose(found.transform(X), repeated.transform(X), atol=1e-9)


# --- whole numbers are repeated rows -------------------------------------------------------------


def assert_same(weighted, repeated, X, *, usual=True):
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-7)
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-7)
    np.testing.assert_allclose(
        weighted.anomaly_score_.normal.mean, repeated.anomaly_score_.normal.mean, rtol=1e-9
    )
    np.testing.assert_allclose(
        weighted.anomaly_score_.normal.spread, repeated.anomaly_score_.normal.spread, rtol=1e-9
    )
    if usual:
        assert weighted.anomaly_score_.normal.score == pytest.approx(
            repeated.anomaly_score_.normal.score, rel=1e-7
        )


@pytest.mark.parametrize("contamination", ["auto", 0.03])
@pytest.mark.parametrize("normalization", ["gradient", "vca", "coefficient"])
def test_one_ideal(normalization, contamination):
    X, counts = plane(700), times(700)
    ideal = VanishingIdeal(tol=0.2, normalization=normalization)
    # So many rows that none is left out in turn, which would be other ones.
    weighted = VanishingDetector(ideal, contamination=contamination).fit(X, sample_weight=counts)
    repeated = VanishingDetector(ideal, contamination=contamination).fit(np.repeat(X, counts, 0))
    assert_same(weighted, repeated, plane(20, seed=2))


def test_pieces():
    X, counts = points(700), times(700)
    detector = VanishingDetector(VanishingIdeal(tol=0.2), n_components=2, contamination=0.1)
    weighted = detector.fit(X, sample_weight=counts)
    repeated = clone(detector).fit(np.repeat(X, counts, axis=0))
    assert_same(weighted, repeated, points(20, seed=2), usual=False)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"center": False},
        {"weighting": "convex"},
        {"weighting": "descent"},
        {"n_components": 2, "distance_weight": 0.5},
        {"preprocessor": PCA(2)},
        {"preprocessor": StandardScaler()},
    ],
    ids=str,
)
def test_transformations(parameters):
    X, counts = points(200), times(200)
    detector = TransformationDetector(contamination=0.1, **parameters)
    weighted = detector.fit(X, sample_weight=counts)
    repeated = clone(detector).fit(np.repeat(X, counts, axis=0))
    new = points(20, seed=2)
    rtol = 1e-3 if parameters.get("weighting") == "convex" else 1e-6  # as far as it iterates
    np.testing.assert_allclose(weighted.score_samples(new), repeated.score_samples(new), rtol=rtol)
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=rtol)


# --- what else weights do ------------------------------------------------------------------------

EVERY = pytest.mark.parametrize(
    "detector",
    [
        VanishingDetector(),
        SINGLE,
        VanishingDetector(VanishingIdeal(tol=0.9, normalization="contrastive")),
        VanishingDetector(VanishingIdeal(tol=0.9, normalization="contrastive"), n_components=2),
        TransformationDetector(),
    ],
    ids=str,
)


@EVERY
def test_ones_are_no_weights(detector):
    X = points(80)
    without = detector.fit(X).decision_function(X)
    np.testing.assert_array_equal(
        detector.fit(X, sample_weight=np.ones(80)).decision_function(X), without
    )


@EVERY
def test_the_scale_of_weights_does_not_matter(detector):
    X, weights = points(80), np.random.default_rng(0).uniform(0.1, 2, 80)
    found = detector.fit(X, sample_weight=weights).decision_function(X)
    for scale in (1e-3, 1e50):
        again = detector.fit(X, sample_weight=scale * weights).decision_function(X)
        np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-6)


@EVERY
def test_rows_without_weight_are_not_looked_at(detector):
    X, weights = points(80), np.random.default_rng(0).uniform(0.1, 2, 80)
    found = detector.fit(X, sample_weight=weights).decision_function(X)
    more = np.concatenate([X, np.full((3, 3), 1e6)])
    again = detector.fit(more, sample_weight=np.append(weights, [0, 0, 0])).decision_function(X)
    np.testing.assert_allclose(again, found, rtol=1e-9)


def test_the_recipe_learns_what_counts():
    """Two parabolas: that of small weight is the anomalous one."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 400)
    up = np.arange(400) < 200
    X = np.column_stack([x, np.where(up, x**2, 2 - x**2) + 0.02 * rng.normal(size=400)])
    detector = VanishingDetector(contamination=0.05)
    detector.fit(X, sample_weight=np.where(up, 1.0, 1e-4))
    alarms = detector.predict(X) == -1
    assert alarms[up].mean() < 0.1
    assert np.average(alarms, weights=np.where(up, 1.0, 1e-4)) == pytest.approx(0.05, abs=0.01)
    assert alarms[~up].mean() > 2 * alarms[up].mean()


def test_wide_tables_are_reduced_with_their_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(480, 3)) @ rng.normal(size=(3, 25)) + 0.01 * rng.normal(size=(480, 25))
    fitted = VanishingDetector().fit(X, sample_weight=rng.uniform(0.5, 2, 480))
    assert fitted.anomaly_score_.coordinates.maps[0] is not None
    assert (fitted.predict(X) == 1).mean() > 0.9
    assert (fitted.predict(rng.normal(size=(20, 25))) == -1).all()


def test_images_are_weighted():
    from sklearn.datasets import load_digits

    X = load_digits().data[:150]
    weights = np.random.default_rng(0).uniform(0.5, 2, 150)
    detector = image_detector((8, 8), n_components=(1, 3)).fit(X, sample_weight=weights)
    assert np.isfinite(detector.score_samples(X)).all()
    assert detector.explain(X[:1])[0].attribution.shape == (64,)


def test_tensors_are_weighted():
    torch = pytest.importorskip("torch")
    X, counts = points(60), times(60)
    for detector in (SINGLE, TransformationDetector(contamination=0.1)):
        expected = detector.fit(X, sample_weight=counts).offset_
        found = detector.fit(torch.asarray(X), sample_weight=torch.asarray(counts)).offset_
        assert found == pytest.approx(expected, rel=1e-6)


def test_tensors_are_preprocessed_on_the_host(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, counts = points(60), times(60)
    detector = TransformationDetector(preprocessor=PCA(2), contamination=0.1)
    expected = detector.fit(X, sample_weight=counts).offset_
    found = detector.fit(torch.asarray(X), sample_weight=counts).offset_
    assert found == pytest.approx(expected, rel=1e-6)
    with (
        config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="takes NumPy arrays"),
    ):
        detector.fit(torch.asarray(X), sample_weight=counts)


def test_chunks_take_one_array_of_weights():
    X, counts = points(60), times(60)
    expected = SINGLE.fit(X, sample_weight=counts).offset_
    assert SINGLE.fit([X[:25], X[25:]], sample_weight=counts).offset_ == pytest.approx(expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_the_share_of_weight_below_the_threshold(seed):
    rng = np.random.default_rng(seed)
    X, weights = plane(300, seed=seed), rng.uniform(0.1, 3, 300)
    alarms = SINGLE.fit(X, sample_weight=weights).predict(X) == -1
    assert np.average(alarms, weights=weights) == pytest.approx(0.1, abs=0.02)


# --- refusals ------------------------------------------------------------------------------------


def test_refusals(monkeypatch):
    X, ones = points(40), np.full(40, 2.0)
    for detector in (VanishingDetector, TransformationDetector):
        with pytest.raises(ValueError, match="calibration guarantees a rate"):
            detector(calibration=0.3, contamination=0.2).fit(X, sample_weight=ones)
        with pytest.raises(ValueError, match="negative"):
            detector().fit(X, sample_weight=-ones)
        with pytest.raises(ValueError, match="weights of X leave 1 row"):
            detector().fit(X, sample_weight=np.eye(40)[0])
        with pytest.raises(ValueError, match="39"):
            detector().fit(X, sample_weight=ones[1:])
    for preprocessor in (TruncatedSVD(2), make_pipeline(StandardScaler(), PCA(2))):
        detector = TransformationDetector(preprocessor=preprocessor)
        with pytest.raises(ValueError, match=f"{type(preprocessor).__name__} takes none"):
            detector.fit(X, sample_weight=ones)
        assert not hasattr(detector, "n_features_in_")
    monkeypatch.setattr("vanishing.data.inputs.MEMORY", 200)
    with pytest.raises(ValueError, match="sample_weight of a detector needs all rows"):
        SINGLE.fit([X, X], sample_weight=np.ones(80))


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.0])
@pytest.mark.parametrize("detector", [VanishingDetector, ChristoffelDetector])
def test_a_guaranteed_rate_lies_between_0_and_1(detector, rate):
    with pytest.raises(ValueError, match="'calibration' parameter"):
        detector(calibration=rate).fit(points(80))
