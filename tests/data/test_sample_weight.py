"""Weights of whole numbers are repeated rows, zeros removed ones, and scale does not matter."""

import threading

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, counts, gaussian_contrast, tensor

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.data import ArraySource, ConcatenatedSource, DeviceSource, MappedSource, as_source

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)


def points(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    return X


def fit(X, normalization, weights=None, **parameters):
    """Fit with a contrast that does not depend on X."""
    contrast = gaussian_contrast(points()) if normalization == "contrastive" else None
    parameters = {"tol": 0.2, "max_degree": 3, **parameters}
    ideal = VanishingIdeal(normalization=normalization, **parameters)
    return ideal.fit(X, contrast=contrast, sample_weight=weights)


def assert_same(ideal, expected, rtol=1e-8):
    assert counts(ideal) == counts(expected)
    assert expected.basis_.count() > 0
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=rtol, atol=1e-12)
    new = points(20, seed=9)
    values, others = ideal.transform(new), expected.transform(new)
    np.testing.assert_allclose(values, others, rtol=rtol, atol=rtol * np.abs(others).max())


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
@settings(max_examples=15)
@given(weights=st.lists(st.integers(0, 3), min_size=60, max_size=60).filter(lambda w: sum(w) > 40))
def test_whole_numbers_are_repeated_rows(weights, normalization, reduction):
    X = points()
    weighted = fit(X, normalization, weights, reduction=reduction)
    repeated = fit(np.repeat(X, weights, axis=0), normalization, reduction=reduction)
    assert_same(weighted, repeated, rtol=1e-8 if reduction == "tsqr" else 1e-6)


@EVERY
def test_repeated_rows_in_the_published_convention(normalization):
    X, weights = points(), np.random.default_rng(1).integers(0, 4, 60)
    published = {"tol_norm": "euclidean", "tol": 2.0}
    weighted = fit(X, normalization, weights, **published)
    assert_same(weighted, fit(np.repeat(X, weights, axis=0), normalization, **published))


@EVERY
def test_rows_of_weight_zero_are_never_looked_at(normalization):
    X = points()
    far = np.vstack([X[:30], np.full((5, 3), 1e200), X[30:]])  # its products overflow
    weights = np.concatenate([np.ones(30), np.zeros(5), np.ones(30)])
    assert_same(fit(far, normalization, weights), fit(X, normalization))


@EVERY
@settings(max_examples=15)
@given(scale=st.floats(1e-9, 1e9), seed=st.integers(0, 99))
def test_scale_does_not_matter(scale, seed, normalization):
    weights = np.random.default_rng(seed).uniform(0.1, 1, 60)
    X = points()
    assert_same(fit(X, normalization, scale * weights), fit(X, normalization, weights))


@EVERY
def test_extents_are_weighted_means(normalization):
    X, weights = points(), np.random.default_rng(2).uniform(0, 1, 60)
    ideal = fit(X, normalization, weights)
    expected = np.sqrt(np.average(ideal.transform(X) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(ideal.extents_, expected, rtol=1e-9)
    F = ideal.basis_.evaluate(X, which="nonvanishing")
    gram = (F * weights[:, None]).T @ F / weights.sum()
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)


def test_gradients_are_weighted_means():
    X, weights = points(), np.random.default_rng(3).uniform(0, 1, 60)
    ideal = fit(X, "gradient", weights)
    squares = np.sum(ideal.basis_.jacobian(X) ** 2, axis=2)
    np.testing.assert_allclose(np.average(squares, axis=0, weights=weights), 1, rtol=1e-9)


def test_gradients_at_points_are_weighted_means(monkeypatch):
    """The way that is taken where coefficients would cost digits."""
    monkeypatch.setattr(
        "vanishing.construction.normalizations._from_coefficients", lambda stage: None
    )
    X, weights = points(), np.random.default_rng(3).integers(0, 3, 60)
    assert_same(fit(X, "gradient", weights), fit(np.repeat(X, weights, axis=0), "gradient"))


@EVERY
@pytest.mark.parametrize("step", [7, 60])
def test_chunks_and_one_array_are_the_same(normalization, step):
    X, weights = points(), np.random.default_rng(4).integers(0, 3, 60)
    chunks = [X[i : i + step] for i in range(0, 60, step)]
    assert_same(fit(chunks, normalization, weights), fit(X, normalization, weights))


@EVERY
def test_torch(normalization):
    X, weights = points(), np.random.default_rng(4).integers(0, 3, 60)
    expected = fit(X, normalization, weights)
    contrast = gaussian_contrast(points()) if normalization == "contrastive" else None
    ideal = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=3).fit(
        tensor(X),
        contrast=None if contrast is None else tensor(contrast),
        sample_weight=tensor(weights),
    )
    assert_same(ideal, expected)


def test_weights_of_the_contrast():
    X, Y = points(), gaussian_contrast(points())
    weights = np.random.default_rng(5).integers(0, 4, len(Y))
    ideal = VanishingIdeal(normalization="contrastive", tol=0.3)
    repeated = np.repeat(Y, weights, axis=0)
    expected = VanishingIdeal(normalization="contrastive", tol=0.3).fit(X, contrast=repeated)
    assert_same(ideal.fit(X, contrast=as_source(Y, weights=weights)), expected)


def test_composed_sources_keep_their_weights():
    X, weights = points(), np.random.default_rng(6).integers(0, 3, 60)
    halves = [as_source(X[:30], weights=weights[:30]), as_source(X[30:], weights=weights[30:])]
    doubled = MappedSource(ConcatenatedSource(halves), lambda x: 2 * x)
    assert doubled.weighted
    expected = VanishingIdeal(tol=0.4).fit(2 * np.repeat(X, weights, axis=0))
    assert_same(VanishingIdeal(tol=0.4).fit(doubled), expected)
    some = ConcatenatedSource([halves[0], ArraySource(X[30:])])
    ones = np.concatenate([weights[:30], np.ones(30, dtype=int)])
    assert_same(VanishingIdeal(tol=0.2).fit(some), fit(X, "gradient", ones, max_degree=2))


def test_features_of_classes():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((150, 3)) * [1, 1, 0.1]
    y = rng.integers(0, 3, 150)
    X[:, 2] += y
    weights = rng.integers(0, 3, 150)
    weights[y == 2] = 0  # no row of that class is left
    weighted = ClassVanishingFeatures().fit(X, y, sample_weight=weights)
    repeated = ClassVanishingFeatures().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.classes_, [0, 1])
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), "there are 59 weights, but X has 60 rows"),
        (np.ones((60, 1)), "must be 1-D"),
        (3.0, "must be 1-D"),
        (-np.ones(60), "negative"),
        (np.full(60, np.nan), "NaN"),
        (np.zeros(60), "all zero"),
        (["a"] * 60, "real numbers"),
        (np.ones(60) + 1j, "real numbers: they are complex"),
        (np.full(60, 1e-310), "go up to 1e-310, .* divide them by their mean"),
        (np.full(60, 1e307), "go up to 1e.307, .* divide them by their mean"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    ideal = VanishingIdeal()
    with pytest.raises(ValueError, match=message):
        ideal.fit(points(), sample_weight=weights)
    assert not hasattr(ideal, "basis_")


@pytest.mark.parametrize(("n_weights", "n_rows"), [(59, "at least 60"), (61, "60")])
def test_chunks_of_another_length_are_refused(n_weights, n_rows):
    chunks = [points()[:20], points()[20:]]
    with pytest.raises(ValueError, match=f"there are {n_weights} weights, but X has {n_rows} rows"):
        VanishingIdeal().fit(chunks, sample_weight=np.ones(n_weights))


def test_two_sets_of_weights_are_refused():
    with pytest.raises(ValueError, match="has weights already"):
        VanishingIdeal().fit(as_source(points(), weights=np.ones(60)), sample_weight=np.ones(60))


def test_weights_are_copied_and_not_changed():
    weights = np.arange(60.0)
    source = as_source(points(), weights=weights)
    VanishingIdeal().fit(source)
    np.testing.assert_array_equal(weights, np.arange(60.0))
    weights[:] = 0
    assert VanishingIdeal().fit(source).n_features_in_ == 3


def test_weights_are_routed_and_split_with_the_rows():
    seen = []

    class Remembering(VanishingIdeal):
        def fit(self, X, y=None, *, contrast=None, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, sample_weight=sample_weight)

    weights = np.arange(1.0, 61.0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            Remembering().set_fit_request(sample_weight=True),
        )
        cross_validate(
            pipeline,
            points(),
            cv=KFold(3),
            params={"sample_weight": weights},
            scoring=lambda model, X: 0.0,
            error_score="raise",
        )
    for fold, given_weights in zip(KFold(3).split(weights), seen, strict=True):
        np.testing.assert_array_equal(given_weights, weights[fold[0]])


def test_every_row_gets_its_features():
    X = points()
    weights = np.ones(len(X))
    weights[[0, 7]] = 0
    source = as_source([X[:20], X[20:]], weights=weights)
    ideal = VanishingIdeal(tol=0.2).fit(source)
    features = ideal.transform(source)
    assert features.n_samples == len(X)
    found = np.concatenate(list(features.blocks(10)))
    np.testing.assert_allclose(found, ideal.transform(X), rtol=1e-12, atol=1e-14)


def test_weights_of_a_device_source():
    pytest.importorskip("torch")
    X, weights = points(), np.arange(60) % 3
    with pytest.raises(ValueError, match=r"as_source\(DeviceSource"):
        DeviceSource(as_source(X, weights=weights), "cpu")
    source = as_source(DeviceSource(X, "cpu"), weights=weights)
    expected = VanishingIdeal(tol=0.2).fit(np.repeat(X, weights, axis=0))
    assert_same(VanishingIdeal(tol=0.2).fit(source), expected)


@pytest.mark.parametrize("most_bytes", [2**31, 200])
@pytest.mark.parametrize("detector", [VanishingDetector(), TransformationDetector()], ids=str)
def test_detectors_take_weights_by_themselves(detector, most_bytes, monkeypatch):
    monkeypatch.setattr("vanishing.data.inputs.MEMORY", most_bytes)
    X = points()
    with pytest.raises(ValueError, match="pass the weights as sample_weight"):
        detector.fit(as_source(X, weights=np.ones(len(X))))


def chunks_that_fail():
    yield points(20)
    yield points(20) * np.nan


def device_source(chunks):
    pytest.importorskip("torch")
    return DeviceSource(chunks, "cpu")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda chunks: as_source(chunks, weights=np.ones(40)),
        device_source,
    ],
    ids=["weights", "device"],
)
def test_errors_name_the_contrast(wrap):
    ideal = VanishingIdeal(normalization="contrastive")
    with pytest.raises(ValueError, match="chunk 1 of contrast contains NaN"):
        ideal.fit(points(), contrast=wrap(chunks_that_fail))


def test_no_thread_is_left_after_an_error():
    def fails(rows, root_weights):
        raise RuntimeError("in the kernel")

    source = as_source(lambda: iter([points(20)] * 3), weights=np.ones(60))
    with pytest.raises(RuntimeError, match="in the kernel"):  # its traceback is still held below
        source.map_reduce(fails, max, max_rows=10)
    assert not [t for t in threading.enumerate() if t.name.startswith("vanishing-prefetch")]


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_scale_of_weights_beyond_single_precision(scale):
    X = points().astype(np.float32)
    found = VanishingIdeal(tol=0.2).fit(X, sample_weight=np.full(len(X), scale))
    assert_same(found, VanishingIdeal(tol=0.2).fit(X), rtol=1e-4)


def test_weights_too_small_for_single_precision_beside_others():
    X = points().astype(np.float32)
    weights = np.repeat([1.0, 1e-300], 30)
    found = VanishingIdeal(tol=0.2).fit([X[:30], X[30:]], sample_weight=weights)
    assert_same(found, VanishingIdeal(tol=0.2).fit(X[:30]), rtol=1e-4)
